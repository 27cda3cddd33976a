/*
 * explain.h
 *		Explains the decision that the dispatcher would make, and the data behind it, without
 *		running a task.
 */
#ifndef HY_EXPLAIN_H
#define HY_EXPLAIN_H

#include "dispatch/model/breaker.h"
#include "dispatch/model/tracker.h"
#include "dispatch/route/config.h"

/* HySideCost: the cost of a task on one device (0: the CPU). */
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
	int32_t steps;    /* powers of two above the observed sizes; 0: within; < 0: below */
	bool cold;        /* its history has only the first observation (cold start) */
	HyEstimate needs; /* resources needed, as estimated by the backend */
} HySideCost;

/*
 * hy_explain: set *decision to what hy_dispatch would decide for an exact task of this shape, and
 * *costs to the cost on the CPU and on each device.  costs is an array of HY_MAX_DEVICES entries,
 * of which *count are filled, the CPU first.  A backend without a device is left out unless the
 * decision is about it.  Returns HY_OK, HY_INVALID for a shape that no task can have, or the status
 * of hy_dispatch if the task would be refused.  The call runs no task and changes no later
 * decision.
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
	 * number of targets from which on the device takes no longer than the CPU, for tasks otherwise
	 * like row.shape; -1: none up to 10^9, or not known
	 */
	int64_t break_even;
	HyBreakerState breaker;
	double success_rate;
} HyHistory;

/* hy_executor_history: get row number i, from 0.  Returns false if there is no such row. */
extern bool hy_executor_history(HyExecutor *executor, int32_t i, HyHistory *history);

/*
 * hy_executor_breaker: return a device's breaker for an operation.  It exists even if the device
 * never succeeded and so has no history.
 * hy_tracker_history: do the same as hy_executor_history, for a tracker.  A tracker has no
 * breakers, so history->breaker is closed and the success rate is 1.
 */
extern const HyBreaker *hy_executor_breaker(const HyExecutor *executor, int32_t device, HyOp op);
extern bool hy_tracker_history(const HyTracker *tracker, int32_t i, HyHistory *history);

#endif
