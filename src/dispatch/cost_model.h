/*
 * cost_model.h
 *		What a task takes on one side: T = a + b * work + c * bytes + d * serial, in ns, no
 *		coefficient below 0.
 *
 * Serial is what more cores do not shorten.  On the CPU, which is one here, that is a cost a result
 * beside that of its dims, and in top-k what goes into a heap; on a device, while it has cores to
 * spare, the time of one row, however many there are.
 *
 * Fitted by recursive least squares on the relative error: a row is (1, work, bytes, serial) / T with the
 * answer 1, so that a microsecond's task has as much say as a second's.  The state is what the
 * method sums up (the information form), not the coefficients: states of several processes add up.
 *
 * Forgetting is directional: an observation takes the place of old information only along its own
 * direction, with the factor 1 - 1 / window.  (R. Kulhavy, "Restricted exponential forgetting in
 * real-time identification", Automatica 23, 1987.)  Ordinary forgetting would unlearn what the
 * launch costs while all tasks are large.
 *
 * Non-negativity is by active set, after Lawson and Hanson.
 */
#ifndef HY_COST_MODEL_H
#define HY_COST_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "dispatch/backend.h"

/* HyCostTerms: what a task asks of a side; see hy_cost_terms. */
typedef struct HyCostTerms
{
	double work;
	double bytes;
	double serial;
} HyCostTerms;

#define HY_COST_TERMS 4
#define HY_COST_PRODUCTS (HY_COST_TERMS * (HY_COST_TERMS + 1) / 2)

/* HyModelState: plain data with no pointer in it; all zero knows nothing. */
typedef struct HyModelState
{
	double information[HY_COST_PRODUCTS]; /* sum of x x', x = (1, work, bytes, serial) / T */
	double response[HY_COST_TERMS];       /* sum of x */
	double weight;                        /* observations it rests on; at most the window */
	double first_ns;                      /* set aside, > 0 once there is one */
	HyCostTerms first;
} HyModelState;

#define HY_MODEL_NUMBERS (sizeof(HyModelState) / sizeof(double))

/* HyCoefficients: the fit of a state, each >= 0. */
typedef struct HyCoefficients
{
	double launch_ns;
	double work_ns; /* a unit of work */
	double byte_ns;
	double serial_ns; /* the CPU: a result; a device: a dimension of a row */
} HyCoefficients;

/*
 * hy_cost_terms: work is multiplications (queries x targets x dims; edges x seed sets for spread),
 * bytes what has to be moved to the device and back; a resident input stays where it is.  Serial is
 * results on the CPU (queries x targets, and three for each of the k (1 + ln (targets / k)) that are
 * expected to enter a query's heap), dims on a device, and 0 for spread.  Saturates.
 */
extern HyCostTerms hy_cost_terms(const HyShape *shape, bool cpu);

/*
 * hy_model_learn: count observations of one shape that took ns each.  The first one ever is set
 * aside (cold start), whatever was merged in before; false when that was all.
 */
extern bool
hy_model_learn(HyModelState *state, HyCostTerms terms, double ns, int32_t count, int32_t window);

/* hy_model_count: the same, setting nothing aside and forgetting nothing: what to hand on. */
extern void hy_model_count(HyModelState *state, HyCostTerms terms, double ns, int32_t count);

/*
 * hy_model_merge: adds what another state knows, no more of it than most observations' worth, and
 * leaves out its first observation.  A state that is not finite adds nothing.
 */
extern void hy_model_merge(HyModelState *into, const HyModelState *from, double most);

/* What a launch is believed to take until it has been seen, in ns; or one of these. */
#define HY_LAUNCH_NONE 0.0     /* the CPU: time is in proportion to the task */
#define HY_LAUNCH_UNKNOWN -1.0 /* each term is taken to have had an equal part in it */

/*
 * hy_model_lean: makes the state lean on what like tasks on the same side were found to take, where
 * it knows nothing itself.  What a unit of work, a byte or a result takes is much the same for them,
 * so that is believed to within its own size; what a launch takes can be of another order, and is
 * hardly believed, but not to be many times launch_ns, where that is > 0.
 */
extern void hy_model_lean(HyModelState *state, const HyModelState *like, double launch_ns);

/*
 * hy_model_solve: the coefficients; false and all 0 with nothing to go by.  While there is only the
 * observation set aside, it speaks.  launch_ns matters where nothing tells the launch from the rest.
 */
extern bool
hy_model_solve(const HyModelState *state, double launch_ns, HyCoefficients *coefficients);

/* hy_cost_predict: ns, at least 1 and finite. */
extern double hy_cost_predict(const HyCoefficients *coefficients, HyCostTerms terms);

/* HyBatchTest: whether the second side is at least as fast with so many targets. */
typedef bool (*HyBatchTest)(void *arg, int64_t targets);

/*
 * hy_cost_break_even: the smallest number of targets from which on faster() holds, looked for by
 * doubling from 1 and then by bisection; -1 when it does not at limit.
 */
extern int64_t hy_cost_break_even(HyBatchTest faster, void *arg, int64_t limit);

#endif
