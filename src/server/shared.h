/*
 * shared.h
 *		What all backends share when the library is preloaded: the table, the queue for devices and the
 *		count of threads.
 */
#ifndef HYBRID_SHARED_H
#define HYBRID_SHARED_H

#include "postgres.h"

#include "dispatch/run/flush.h"
#include "dispatch/share/queue.h"
#include "port/atomics.h"

/* hybrid_shared_init: request shared memory while the postmaster preloads.  _PG_init calls it. */
extern void hybrid_shared_init(void);

/* hybrid_shared_table: return the table; NULL unless hybrid is in shared_preload_libraries. */
extern HySharedTable *hybrid_shared_table(void);

/* hybrid_shared_host: return the callbacks that the executor needs to use the table. */
extern const HyShareHost *hybrid_shared_host(void);

/*
 * hybrid_shared_queue_client: return this backend as a client of the queue for devices, for an
 * executor that uses the table.  The result exists as long as the backend.
 * hybrid_leave_queue: withdraw this backend from the queue.
 */
extern const HyQueueClient *hybrid_shared_queue_client(const HyExecutor *executor, Oid role);
extern void hybrid_leave_queue(void);

/*
 * hybrid_shared_threads: return the number of threads that all sessions use now, main threads not counted;
 * NULL unless hybrid is in shared_preload_libraries.
 */
extern pg_atomic_uint32 *hybrid_shared_threads(void);

/* hybrid_shared_session: return this backend's number in the table; 0 if there is no table. */
extern uint64 hybrid_shared_session(void);

#endif
