/*
 * settings.h
 *		The settings under "hybrid." and the dispatcher's configuration from them.
 */
#ifndef HYBRID_SETTINGS_H
#define HYBRID_SETTINGS_H

#include "postgres.h"

#include "dispatch/run/dispatcher.h"

#define HYBRID_DEFAULT_PLUGINS "hybrid_cuda"

extern int hybrid_graph_memory_limit;  /* kB */
extern int hybrid_graph_memory_total;  /* kB; 0: no limit */
extern int hybrid_graph_shared_memory; /* kB */
extern char *hybrid_plugins;           /* comma-separated file names without a path */

/* hybrid_settings_generation: grows whenever a setting that the dispatcher reads is assigned. */
extern uint64 hybrid_settings_generation;

/* hybrid_device_generation: grows when a setting of the emulated devices is assigned. */
extern uint64 hybrid_device_generation;

/* hybrid_define_settings: define the settings and reserve the prefix.  _PG_init calls it. */
extern void hybrid_define_settings(void);

/* hybrid_settings_config: fill in the dispatcher's configuration from the settings. */
extern void hybrid_settings_config(HyConfig *config);

/* hybrid_setting_text: return the text of "hybrid.<name>", or NULL.  This is HyHost.setting. */
extern const char *hybrid_setting_text(void *arg, const char *name);

#endif
