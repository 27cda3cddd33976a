/*
 * shared.h
 *		The table that all backends share, when the library is preloaded.
 */
#ifndef HYBRID_SHARED_H
#define HYBRID_SHARED_H

#include "postgres.h"

#include "dispatch/share.h"

/* hybrid_shared_init: from _PG_init; asks for shared memory while the postmaster preloads. */
extern void hybrid_shared_init(void);

/* hybrid_shared_table: NULL unless hybrid is in shared_preload_libraries. */
extern HySharedTable *hybrid_shared_table(void);

/* hybrid_shared_host: what the executor needs to use that table. */
extern const HyShareHost *hybrid_shared_host(void);

/* hybrid_shared_session: this backend's number in the table. */
extern uint64 hybrid_shared_session(void);

#endif
