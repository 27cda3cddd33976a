/*
 * explain.h
 *		The decision that the dispatcher would make, and the data behind it, without running anything.
 */
#ifndef HY_EXPLAIN_H
#define HY_EXPLAIN_H

#include "dispatch/model/breaker.h"
#include "dispatch/model/tracker.h"
#include "dispatch/route/config.h"

/* HySideCost: the cost of one side of a decision. */
typedef struct HySideCost
{
	int32_t device;
	bool able;      /* rules 3 to 7 allow the task there */
	bool open;      /* its context is open */
	double ns;      /* predicted time, including load and tasks in flight; < 0: no history */
	double hint_ns; /* without history: prediction from similar kinds of tasks, < 0: none */
	double in_flight_ns;
	double weight;    /* number of observations in the regression */
	int32_t samples;  /* observations of the task's own size */
	int32_t steps;    /* powers of two above the sizes seen; 0: within them; < 0: below them */
	bool cold;        /* its history has only the first observation (cold start) */
	HyEstimate needs; /* resources needed, as estimated by the backend */
} HySideCost;

/*
 * hy_explain: return the decision of hy_dispatch for any exact task of this shape, and the cost of
 * each side.  costs is an array of HY_MAX_DEVICES entries, of which *count are filled, the CPU
 * first.  A missing backend is left out unless the decision is about it.  Returns HY_OK, HY_INVALID
 * for a shape that no task can have, or the status with which a forced device is refused. The call
 * runs no task and changes no decision.
 */
extern HyStatus hy_explain(HyExecutor *executor, const HyShape *shape, HyDecision *decision,
                           HySideCost *costs, int32_t *count);

/* HyHistory: one kind of task on one device, for hybrid_tracker. */
typedef struct HyHistory
{
	HyTrackerRow row;
	double predicted_ns; /* predicted time of row.shape on the device, < 0: not known */
	double speedup;      /* CPU time / device time of row.shape, < 0: not known; 1 for the CPU */
	/*
	 * number of targets at or above which the device is faster, in a task that otherwise has
	 * row.shape; -1: none below 10^9
	 */
	int64_t break_even;
	HyBreakerState breaker;
	double success_rate;
} HyHistory;

/* hy_executor_history: return row number i, from 0.  Returns false when there are fewer rows. */
extern bool hy_executor_history(HyExecutor *executor, int32_t i, HyHistory *history);

/*
 * hy_executor_breaker: return a device's breaker for an operation.  Unlike history, a breaker
 * exists even for a device that never succeeded.
 * hy_tracker_history: do the same as hy_executor_history, for a tracker.  A tracker has no
 * breakers, so the row shows a closed breaker without failures.
 */
extern const HyBreaker *hy_executor_breaker(const HyExecutor *executor, int32_t device, HyOp op);
extern bool hy_tracker_history(const HyTracker *tracker, int32_t i, HyHistory *history);

#endif
