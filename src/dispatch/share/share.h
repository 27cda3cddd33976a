/*
 * share.h
 *		Breakers and contexts that several processes share through a table.
 *
 * A failure changes the breaker in the table at once.  Breakers are evaluated in the table, so that
 * each transition happens once.  Successes under a closed breaker wait for the next flush (flush.h),
 * since they cause no transition.
 *
 * Times in the table are from a clock that is the same in every process.  An executor's own clock
 * may be shifted against that clock, so each function takes the time by the executor's clock.
 */
#ifndef HY_SHARE_H
#define HY_SHARE_H

#include "dispatch/share/shared_table.h"

/* HyShareHost: services of the executor's process; lives as long as the executor. */
typedef struct HyShareHost
{
	HyLock lock;          /* guards the table */
	const HyClock *clock; /* a clock that is the same in every process */
	/* returns the origin of this process's events, and the current calendar time */
	void (*origin)(void *arg, HyOrigin *origin, int64_t *wall_us);
	void *arg;
} HyShareHost;

/*
 * HyShare: the state of an executor's exchange with the shared table.  Devices are numbered as in
 * the executor.
 */
typedef struct HyShare
{
	HySharedTable *table; /* NULL: nothing is shared */
	const HyShareHost *host;
	uint64_t epoch;
	uint64_t transitions;
	uint64_t flushed_ns;     /* time of the last flush by the executor's clock */
	uint64_t flushed_events; /* HyExecutor.kept at the last flush */
	uint64_t models_ns;      /* time of the last flush of the models */
	bool postponed; /* some calls made before until_flush was last set are not flushed yet */
	int32_t slot[HY_MAX_DEVICES];
	/* successes that were not reported to the shared breaker yet */
	int32_t successes[HY_MAX_DEVICES][HY_OP_COUNT];
	HyCounters flushed[HY_MAX_DEVICES][HY_OP_COUNT];
} HyShare;

/* HyOutcome: what an attempt shows about the device. */
typedef enum HyOutcome
{
	HY_OUTCOME_NONE = 0, /* nothing: canceled, out of memory, ... */
	HY_OUTCOME_SUCCESS,
	HY_OUTCOME_FAILURE
} HyOutcome;

/*
 * hy_share_allow: return whether a task may go to the device now, as hy_breaker_allow.  Applies to
 * the executor's breaker of the device and op and, if it is shared, to the table's breaker.  Also
 * returns false while another process runs the only probe.
 * hy_share_report: report the outcome of an attempt to the same breakers; return true when the state
 * changed.
 */
extern bool
hy_share_allow(HyShare *share, int32_t device, HyOp op, HyBreaker *breaker, uint64_t now);
extern bool hy_share_report(HyShare *share, int32_t device, HyOp op, HyBreaker *breaker,
                            uint64_t now, HyOutcome outcome, double threshold);

/*
 * hy_share_adopt: copy the table's breaker, if it is shared.
 * hy_share_flush_successes: report the successes that wait for a flush.  The caller holds the
 * table's lock.
 */
extern void
hy_share_adopt(HyShare *share, int32_t device, HyOp op, HyBreaker *breaker, uint64_t now);
extern void hy_share_flush_successes(HyShare *share);

/*
 * hy_share_take_context: count one more context of the device; returns false when `most` contexts
 * are open (0: no limit).  hy_table_give_context ends the count.
 * hy_share_contexts: return the number of open contexts on the device over all processes of the
 * table.  The number includes the context of this place, even before it is open.  Returns 1 if
 * nothing is shared.
 */
extern bool
hy_share_take_context(HyShare *share, int32_t device, int32_t most, HyTablePlace *place);
extern uint64_t hy_share_contexts(const HyShare *share, int32_t device, const HyTablePlace *place);

#endif
