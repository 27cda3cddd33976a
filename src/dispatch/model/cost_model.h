/*
 * cost_model.h
 *		Models the time of a task on one side: T = a + b * work + c * bytes + d * serial, in ns.
 *
 * Serial is the part of the time that more cores do not shorten.  On the CPU, which the model
 * treats as one core, serial counts the results.  Each result has a fixed cost in addition to the
 * cost of its dims.  In top-k, insertions into heaps count as well.  On a device with spare cores,
 * serial is the time of one row, however many rows there are.
 *
 * The fit is recursive least squares on the relative error: a row is (1, work, bytes, serial) / T
 * with the answer 1.  So a task of a microsecond has as much weight as a task of a second.  The
 * state holds the sums of the method (the information form) instead of the coefficients.  So the
 * states of several processes can be added.
 *
 * Forgetting is directional: an observation replaces old information only along its own direction,
 * with the factor 1 - 1 / window.  (R. Kulhavy, "Restricted exponential forgetting in real-time
 * identification", Automatica 23, 1987.)  Ordinary forgetting would lose the launch cost while all
 * tasks are large.
 *
 * An active set method, after Lawson and Hanson, keeps all coefficients at or above 0.
 */
#ifndef HY_COST_MODEL_H
#define HY_COST_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "dispatch/backend.h"

/* HyCostTerms: the amounts of work, bytes and serial time of a task; see hy_cost_terms. */
typedef struct HyCostTerms
{
	double work;
	double bytes;
	double serial;
} HyCostTerms;

#define HY_COST_TERMS 4
#define HY_COST_PRODUCTS (HY_COST_TERMS * (HY_COST_TERMS + 1) / 2)

/*
 * HyModelState: the sums from which a fit is computed; plain data without pointers; all zero is the
 * empty state.
 */
typedef struct HyModelState
{
	double information[HY_COST_PRODUCTS]; /* sum of x x', x = (1, work, bytes, serial) / T */
	double response[HY_COST_TERMS];       /* sum of x */
	double weight;                        /* number of observations; at most the window */
	double first_ns; /* time of the first observation, which is set aside; 0: no observation yet */
	HyCostTerms first;
} HyModelState;

#define HY_MODEL_NUMBERS (sizeof(HyModelState) / sizeof(double))

/* HyCoefficients: the coefficients computed from a state, each >= 0. */
typedef struct HyCoefficients
{
	double launch_ns;
	double work_ns; /* per unit of work */
	double byte_ns;
	double serial_ns; /* CPU: per result; device: per dimension of a row */
} HyCoefficients;

/*
 * hy_cost_terms: compute the terms of a task of this shape.  Work is the number of multiplications
 * (queries x targets x dims; edges x seed sets for spread).  Bytes is the data moved to the device
 * and back, without a resident input.  On the CPU, serial is the number of results: queries x
 * targets, plus three for each of the k (1 + ln (targets / k)) targets that are expected to enter a
 * query's heap.  On a device, serial is dims.  For spread, serial is 0.
 */
extern HyCostTerms hy_cost_terms(const HyShape *shape, bool cpu);

/*
 * hy_model_observe: add count observations of one shape that took ns each.  The first observation
 * ever is set aside (cold start), even after a merge.  Returns false when only that observation was
 * added.
 */
extern bool
hy_model_observe(HyModelState *state, HyCostTerms terms, double ns, int32_t count, int32_t window);

/*
 * hy_model_count: do the same as hy_model_observe, but set nothing aside and forget nothing.  Used
 * for a state that is passed on.
 */
extern void hy_model_count(HyModelState *state, HyCostTerms terms, double ns, int32_t count);

/*
 * hy_model_merge: add the information of another state without its first observation, scaled down
 * to at most `most` observations.  A state that is not finite adds nothing.
 */
extern void hy_model_merge(HyModelState *into, const HyModelState *from, double most);

/*
 * Special values of launch_ns, which otherwise is the launch time in ns to assume until a launch
 * was measured.
 */
#define HY_LAUNCH_NONE 0.0     /* the CPU: time is proportional to the task */
#define HY_LAUNCH_UNKNOWN -1.0 /* all terms are assumed to have an equal part in the time */

/*
 * hy_model_regularize: pull a state with little information toward the fit of similar tasks on the same
 * side.  The times per unit of work, byte and result are similar for such tasks, so they are pulled
 * strongly.  The launch time can differ by orders of magnitude, so it is pulled only weakly.  If
 * launch_ns > 0, the launch time is also pulled toward launch_ns.
 */
extern void hy_model_regularize(HyModelState *state, const HyModelState *like, double launch_ns);

/*
 * hy_model_solve: compute the coefficients.  For an empty state, returns false and sets all
 * coefficients to 0.  If the observation set aside is the only one, it is used.  launch_ns matters
 * if the data cannot separate the launch from the other terms.
 */
extern bool
hy_model_solve(const HyModelState *state, double launch_ns, HyCoefficients *coefficients);

/* hy_cost_predict: compute the predicted time in ns, at least 1 and finite. */
extern double hy_cost_predict(const HyCoefficients *coefficients, HyCostTerms terms);

/* HyBatchTest: returns whether the second side is at least as fast with this many targets. */
typedef bool (*HyBatchTest)(void *arg, int64_t targets);

/*
 * hy_cost_break_even: find the smallest number of targets at or above which faster() holds, by
 * doubling from 1 and then bisection.  Returns -1 when faster() does not hold at limit.
 */
extern int64_t hy_cost_break_even(HyBatchTest faster, void *arg, int64_t limit);

#endif
