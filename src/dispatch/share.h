/*
 * share.h
 *		An executor's part in a table of several processes.
 *
 * The executor counts and decides on its own copies and looks at the table only now and then:
 * counters, successes and events are flushed every HY_SHARE_CALLS calls or HY_SHARE_NS, whichever
 * comes first; but while calls are so short that this would be all the time, only before the ring of
 * events overflows, and then together with what memo.h puts off.  What was learned of times goes there
 * at most every HY_SHARE_NS, and back only when an executor joins.  What others must know at once, a
 * failure and what a breaker makes of it, goes to the table at once: there the breaker is judged, so
 * that a transition happens once.
 *
 * Times in the table are those of a clock that runs alike in every process; an executor's own may
 * be shifted against it.
 */
#ifndef HY_SHARE_H
#define HY_SHARE_H

#include "dispatch/shared_table.h"

#define HY_SHARE_CALLS 64
#define HY_SHARE_NS UINT64_C(100000000)
#define HY_SHARE_LEAST_NS UINT64_C(1000000) /* not sooner, unless events would be lost */

/* HyShareHost: what the executor's process brings; lives as long as the executor. */
typedef struct HyShareHost
{
	HyTableLock lock;
	const HyClock *clock; /* the same in every process */
	/* whose events these are, and what the calendar says now */
	void (*origin)(void *arg, HyOrigin *origin, int64_t *wall_us);
	void *arg;
} HyShareHost;

/*
 * hy_executor_share: joins the table with the devices that the executor has now, and starts from
 * what is known there of their times and their breakers.  At most once an executor.
 */
extern void hy_executor_share(HyExecutor *executor, HySharedTable *table, const HyShareHost *host);

/*
 * hy_executor_flush: the table knows all that happened here, and a reset by somebody else is
 * followed.  hy_executor_settle: the same, but what was learned of times may wait for its turn; it
 * costs nothing when there is nothing new on either side.
 */
extern void hy_executor_flush(HyExecutor *executor);
extern void hy_executor_settle(HyExecutor *executor);

/*
 * hy_executor_follow: what others have changed since, a reset or a breaker, holds here from now on; and
 * devices that have closed themselves are known to be closed.
 */
extern void hy_executor_follow(HyExecutor *executor);

/* hy_executor_table_device: the device's number in the table, HY_TABLE_NO_DEVICE when it has none. */
extern int32_t hy_executor_table_device(const HyExecutor *executor, int32_t device);

#endif
