/*
 * explain.h
 *		What the dispatcher would do and what it knows, without running anything.
 */
#ifndef HY_EXPLAIN_H
#define HY_EXPLAIN_H

#include "dispatch/dispatcher.h"

/* HySideCost: one side of a decision. */
typedef struct HySideCost
{
	int32_t device;
	bool able;      /* rules 3 to 7 let the task go there */
	bool open;      /* its context is */
	double ns;      /* predicted, with the load and what is in flight there, < 0: no history */
	double hint_ns; /* without history: by a like kind of task, < 0: none */
	double in_flight_ns;
	double weight;    /* observations behind the regression */
	int32_t samples;  /* and of the task's own size */
	int32_t steps;    /* powers of two beyond the sizes seen, < 0: below them */
	bool cold;        /* it rests on a first observation only */
	HyEstimate needs; /* by the backend */
} HySideCost;

/*
 * hy_explain: the decision hy_dispatch would take for any exact task of this shape, and what each
 * side would cost; costs has room for HY_MAX_DEVICES, *count of them are filled, the CPU first.  A backend
 * without a device has none, unless the decision is about it.
 * HY_OK, HY_INVALID for a shape that no task has, or the status that a forced device is refused
 * with.  Changes nothing.
 */
extern HyStatus hy_explain(HyExecutor *executor, const HyShape *shape, HyDecision *decision,
                           HySideCost *costs, int32_t *count);

/* HyHistory: one kind of task on one device, for hybrid_tracker. */
typedef struct HyHistory
{
	HyTrackerRow row;
	double predicted_ns; /* of row.shape here, < 0: not known */
	double speedup; /* CPU time / time here, of row.shape, < 0: one is not known; 1 for the CPU */
	int64_t break_even; /* targets from which on it wins, else as row.shape; -1: none below 10^9 */
	HyBreakerState breaker;
	double success_rate;
} HyHistory;

/*
 * hy_executor_history: row number i, from 0; false when there are not so many.  hy_tracker_history:
 * the same of a tracker, which has no breakers: closed, no failure.
 */
extern bool hy_executor_history(HyExecutor *executor, int32_t i, HyHistory *history);

/* hy_executor_breaker: of a device for an operation; a device that never succeeded has no history. */
extern const HyBreaker *hy_executor_breaker(const HyExecutor *executor, int32_t device, HyOp op);
extern bool hy_tracker_history(const HyTracker *tracker, int32_t i, HyHistory *history);

#endif
