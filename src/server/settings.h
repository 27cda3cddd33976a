/*
 * settings.h
 *		The settings under "hybrid." and what they mean to the dispatcher.
 */
#ifndef HYBRID_SETTINGS_H
#define HYBRID_SETTINGS_H

#include "postgres.h"

#include "dispatch/dispatcher.h"

#define HYBRID_DEFAULT_PLUGINS "hybrid_cuda"

extern int hybrid_graph_memory_limit; /* kB */
extern char *hybrid_plugins;          /* comma-separated bare file names */

/* hybrid_settings_generation: raised whenever a setting that the dispatcher reads is assigned. */
extern uint64 hybrid_settings_generation;

/* hybrid_device_generation: grows when a setting changes what an emulated device is. */
extern uint64 hybrid_device_generation;

/* hybrid_define_settings: from _PG_init; also reserves the prefix. */
extern void hybrid_define_settings(void);

/* hybrid_settings_config: the settings as the dispatcher takes them. */
extern void hybrid_settings_config(HyConfig *config);

/* hybrid_setting_text: what HyHost.setting returns: the text of "hybrid.<name>", or NULL. */
extern const char *hybrid_setting_text(void *arg, const char *name);

#endif
