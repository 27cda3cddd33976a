/*
 * share.h
 *		Connects an executor to a table shared by several processes.
 *
 * The executor counts and decides with its own copies, and reads the table only occasionally.
 * Counters, successes and events are flushed every HY_SHARE_CALLS calls or HY_SHARE_NS, whichever
 * comes first.  If calls are very short, a flush waits until HY_SHARE_LEAST_NS have passed since the
 * last flush, or until the ring of events would overflow.  A flush includes the calls that memo.h
 * has logged.  Models are written to the table at most every HY_SHARE_NS, and are copied to an
 * executor only when it joins.  A failure changes the breaker in the table at once.  Breakers are
 * evaluated in the table, so that each transition happens once.
 *
 * Times in the table are from a clock that is the same in every process.  An executor's own clock
 * may be shifted against that clock.
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
	const HyClock *clock; /* a clock that is the same in every process */
	/* returns the origin of this process's events, and the current calendar time */
	void (*origin)(void *arg, HyOrigin *origin, int64_t *wall_us);
	void *arg;
} HyShareHost;

/*
 * hy_executor_share: join the table with the executor's current devices, and copy the table's models
 * and breakers of these devices.  Call it at most once per executor.
 */
extern void hy_executor_share(HyExecutor *executor, HySharedTable *table, const HyShareHost *host);

/*
 * hy_executor_flush: write everything that happened in this process to the table, and apply a reset
 * by another process.
 * hy_executor_settle: do the same, but write models only after HY_SHARE_NS.  Costs almost nothing
 * if neither the process nor the table has anything new.
 */
extern void hy_executor_flush(HyExecutor *executor);
extern void hy_executor_settle(HyExecutor *executor);

/*
 * hy_executor_follow: apply a reset or breaker changes by other processes.  Mark devices that have
 * closed themselves as closed.
 */
extern void hy_executor_follow(HyExecutor *executor);

/* hy_executor_table_device: return the device's number in the table, or HY_TABLE_NO_DEVICE. */
extern int32_t hy_executor_table_device(const HyExecutor *executor, int32_t device);

#endif
