/*
 * shared.h
 *		The table that all backends share, when the library is preloaded.
 */
#ifndef HYBRID_SHARED_H
#define HYBRID_SHARED_H

#include "postgres.h"

#include "dispatch/queue.h"
#include "dispatch/share.h"

/* hybrid_shared_init: from _PG_init; asks for shared memory while the postmaster preloads. */
extern void hybrid_shared_init(void);

/* hybrid_shared_table: NULL unless hybrid is in shared_preload_libraries. */
extern HySharedTable *hybrid_shared_table(void);

/* hybrid_shared_host: what the executor needs to use that table. */
extern const HyShareHost *hybrid_shared_host(void);

/*
 * hybrid_shared_seat: this backend's place at the queue for devices, for an executor that uses the
 * table; lives as long as the backend.  hybrid_leave_queue: it wants nothing any more.
 */
extern const HyQueueSeat *hybrid_shared_seat(const HyExecutor *executor, Oid role);
extern void hybrid_leave_queue(void);

/* hybrid_shared_session: this backend's number in the table. */
extern uint64 hybrid_shared_session(void);

#endif
