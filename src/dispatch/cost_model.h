/*
 * cost_model.h
 *		What a task takes on one side: T = a + b * work + c * bytes, in ns, no coefficient below 0.
 *
 * Fitted by recursive least squares on the relative error: a row is (1, work, bytes) / T with the
 * answer 1, so that a microsecond's task has as much say as a second's.  The state is what the
 * method sums up (the information form), not the coefficients: states of several processes add up.
 *
 * Forgetting is directional: an observation takes the place of old information only along its own
 * direction, with the factor 1 - 1 / window.  (R. Kulhavy, "Restricted exponential forgetting in
 * real-time identification", Automatica 23, 1987.)  Ordinary forgetting would unlearn what the
 * launch costs while all tasks are large.
 *
 * Non-negativity is by active set: of the sets of coefficients that are free, the one whose
 * solution is feasible and fits best; with three coefficients all seven are looked at.
 */
#ifndef HY_COST_MODEL_H
#define HY_COST_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "dispatch/backend.h"

/* HyCostTerms: what a task asks of a side, whichever it is; see hy_cost_terms. */
typedef struct HyCostTerms
{
	double work;
	double bytes;
} HyCostTerms;

/* HyModelState: plain data with no pointer in it; all zero knows nothing. */
typedef struct HyModelState
{
	double information[6]; /* sum of x x', x = (1, work, bytes) / T: 11 12 13 22 23 33 */
	double response[3];    /* sum of x */
	double weight;         /* observations it rests on; at most the window */
	double first_ns;       /* set aside, > 0 once there is one */
	HyCostTerms first;
} HyModelState;

#define HY_MODEL_NUMBERS (sizeof(HyModelState) / sizeof(double))

/* HyCoefficients: the fit of a state, each >= 0. */
typedef struct HyCoefficients
{
	double launch_ns;
	double work_ns; /* a unit of work */
	double byte_ns;
} HyCoefficients;

/*
 * hy_cost_terms: work is multiplications (queries x targets x dims; edges x seed sets for spread),
 * bytes what has to be moved to the device and back; a resident input stays where it is.  Saturates.
 */
extern HyCostTerms hy_cost_terms(const HyShape *shape);

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

/*
 * hy_model_lean: makes the state lean on what like tasks on the same side were found to take, where
 * it knows nothing itself.  What a unit of work or a byte takes is much the same for them, so that
 * is believed to within its own size; what a launch takes can be of another order, and is hardly
 * believed.  With nothing known of like tasks it changes nothing.
 */
extern void hy_model_lean(HyModelState *state, const HyModelState *like);

/*
 * hy_model_solve: the coefficients; false and all 0 with nothing to go by.  While there is only the
 * observation set aside, it speaks.  proportional: where nothing tells the launch from the rest,
 * there is none (the CPU); else each term is taken to have had an equal part in it.
 */
extern bool
hy_model_solve(const HyModelState *state, bool proportional, HyCoefficients *coefficients);

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
