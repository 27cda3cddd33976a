/*
 * share.h
 *		An executor's part in a table of several processes.
 *
 * The executor counts and decides with its own copies and reads the table only now and then.
 * Counters, successes and events are flushed every HY_SHARE_CALLS calls or HY_SHARE_NS, whichever
 * comes first.  While calls are so short that flushing would never stop, the flush waits until the
 * ring of events would overflow, and then includes the calls that memo.h has logged.  Learned times
 * go to the table at most every HY_SHARE_NS, and come back only when an executor joins.  A failure,
 * and the breaker's reaction to it, goes to the table at once.  Breakers are evaluated there, so
 * that a transition happens once.
 *
 * Times in the table are from a clock that is the same in every process; an executor's own clock
 * may be shifted against it.
 */
#ifndef HY_SHARE_H
#define HY_SHARE_H

#include "dispatch/shared_table.h"

#define HY_SHARE_CALLS 64
#define HY_SHARE_NS UINT64_C(100000000)
/* minimum interval between flushes, unless events would be lost */
#define HY_SHARE_LEAST_NS UINT64_C(1000000)

/* HyShareHost: services of the executor's process; lives as long as the executor. */
typedef struct HyShareHost
{
	HyTableLock lock;
	const HyClock *clock; /* the same in every process */
	/* the origin of the events of this process, and the calendar time now */
	void (*origin)(void *arg, HyOrigin *origin, int64_t *wall_us);
	void *arg;
} HyShareHost;

/*
 * hy_executor_share: join the table with the executor's current devices, and start from its times
 * and breakers for them.  At most once per executor.
 */
extern void hy_executor_share(HyExecutor *executor, HySharedTable *table, const HyShareHost *host);

/*
 * hy_executor_flush: write everything that happened here to the table, and follow a reset by
 * another process.
 * hy_executor_settle: the same, but learned times may wait for their interval.  It costs nothing if
 * neither side has anything new.
 */
extern void hy_executor_flush(HyExecutor *executor);
extern void hy_executor_settle(HyExecutor *executor);

/*
 * hy_executor_follow: apply a reset or breaker changes by other processes.  Mark devices that have
 * closed themselves as closed.
 */
extern void hy_executor_follow(HyExecutor *executor);

/* hy_executor_table_device: the device's number in the table, or HY_TABLE_NO_DEVICE. */
extern int32_t hy_executor_table_device(const HyExecutor *executor, int32_t device);

#endif
