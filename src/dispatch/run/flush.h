/*
 * flush.h
 *		Exchanges counters, events, models and breakers with the table that all processes share.
 *
 * The executor counts and decides with its own copies, and reads the table only occasionally.
 * Counters, successes and events are flushed every HY_SHARE_CALLS calls or HY_SHARE_NS, whichever
 * comes first.  If calls are very short, a flush is put off until HY_SHARE_LEAST_NS have passed
 * since the last flush, or until the ring of events would overflow.  A flush includes the calls
 * that memo.h has logged.  Models are written to the table at most every HY_SHARE_NS, or when
 * hy_executor_flush is called.  They are copied to an executor only when it attaches to the table.
 */
#ifndef HY_FLUSH_H
#define HY_FLUSH_H

#include "dispatch/route/config.h"
#include "dispatch/share/share.h"

#define HY_SHARE_CALLS 64
#define HY_SHARE_NS UINT64_C(100000000)
/* minimum interval between flushes, unless events would be lost */
#define HY_SHARE_LEAST_NS UINT64_C(1000000)

/*
 * hy_executor_share: attach the executor to the table.  Registers the executor's current devices in
 * the table, and copies their models and breakers from it.  Call it at most once per executor.
 */
extern void hy_executor_share(HyExecutor *executor, HySharedTable *table, const HyShareHost *host);

/*
 * hy_executor_flush: add everything new in this process to the table, and apply a reset by another
 * process.
 * hy_executor_settle: do the same, but write models only if HY_SHARE_NS have passed since they were
 * last written.  Costs almost nothing if neither the process nor the table has anything new.
 */
extern void hy_executor_flush(HyExecutor *executor);
extern void hy_executor_settle(HyExecutor *executor);

/*
 * hy_executor_follow: close the contexts of devices that have closed themselves.  If another
 * process has reset the table or changed a breaker, apply that (hy_executor_settle).
 */
extern void hy_executor_follow(HyExecutor *executor);

/* hy_executor_table_device: return the device's number in the table, or HY_TABLE_NO_DEVICE. */
extern int32_t hy_executor_table_device(const HyExecutor *executor, int32_t device);

/* hy_flush_tick: record that a call ended at time `now`, and flush if a flush is due. */
extern void hy_flush_tick(HyExecutor *executor, uint64_t now);

/* hy_flush_reset: reset the table.  The caller has called hy_executor_forget. */
extern void hy_flush_reset(HyExecutor *executor);

#endif
