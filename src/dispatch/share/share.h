/*
 * share.h
 *		Shares breakers, and the count of open contexts, between processes through a table.
 *
 * A failure changes the breaker in the table at once.  The table's breaker decides, so each
 * transition happens once and not once per process.  Successes under a closed breaker cause no
 * transition, so they are added at the next flush (flush.h).
 *
 * Times in the table are from a clock that is the same in every process.  An executor's own clock
 * may be ahead of it.  Each function takes the time by the executor's clock and converts it.
 */
#ifndef HY_SHARE_H
#define HY_SHARE_H

#include "dispatch/share/shared_table.h"

/* HyShareHost: services of the executor's process; lives as long as the executor. */
typedef struct HyShareHost
{
	HyLock lock;          /* guards the table */
	const HyClock *clock; /* a clock that is the same in every process */
	/* sets the origin of this process's events, and the current calendar time */
	void (*origin)(void *arg, HyOrigin *origin, int64_t *wall_us);
	void *arg;
} HyShareHost;

/*
 * HyShare: an executor's connection to the shared table.  The arrays are indexed by the executor's
 * device numbers.
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
	bool postponed;          /* there is something to flush, even if until_flush does not show it */
	int32_t slot[HY_MAX_DEVICES];
	/* successes not reported to the shared breaker yet */
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
 * hy_share_allow: return whether a task may go to the device now, as hy_breaker_allow does.
 * `breaker` is the executor's breaker of the device and op.  If it is not closed and the device is
 * in the table, the table's breaker decides.  Then the result is also false while another process
 * runs the probe.
 * hy_share_report: report the outcome of an attempt to the executor's breaker and, if the device is
 * in the table, to the table's breaker (a success under a closed breaker only at the next flush).
 * Returns true if the state changed.
 */
extern bool
hy_share_allow(HyShare *share, int32_t device, HyOp op, HyBreaker *breaker, uint64_t now);
extern bool hy_share_report(HyShare *share, int32_t device, HyOp op, HyBreaker *breaker,
                            uint64_t now, HyOutcome outcome, double threshold);

/*
 * hy_share_adopt: copy the table's breaker to the executor, if the device is in the table.
 * hy_share_flush_successes: add the waiting successes to the table's breakers, and drop those for
 * breakers that are no longer closed.  The caller holds the table's lock.
 */
extern void
hy_share_adopt(HyShare *share, int32_t device, HyOp op, HyBreaker *breaker, uint64_t now);
extern void hy_share_flush_successes(HyShare *share);

/*
 * hy_share_take_context: count the caller's context as open on the device.  Returns false if there
 * is a limit (`most` > 0) and it is reached, or the table has no free word.  hy_table_give_context
 * stops counting it.
 * hy_share_contexts: return the number of open contexts on the device over all processes of the
 * table.  The number includes the caller's own context, even before it is open.  Returns 1 if the
 * device is in no table.
 */
extern bool
hy_share_take_context(HyShare *share, int32_t device, int32_t most, HyTablePlace *place);
extern uint64_t hy_share_contexts(const HyShare *share, int32_t device, const HyTablePlace *place);

#endif
