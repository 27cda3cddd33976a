/*
 * cost_model.h
 *		Models the time of a task on the CPU or on one device: T = a + b * work + c * bytes + d *
 *		serial, in ns.
 *
 * The serial term stands for time that more cores do not shorten.  On the CPU, which the model
 * treats as one core, the term is the number of results.  Each result has a fixed cost in addition
 * to the cost of its dimensions.  For tasks with a k, insertions into heaps count as well.  A
 * device with spare cores computes all rows at once, so its serial term is the length of one row.
 *
 * The fit is recursive least squares on the relative error.  Each observation is a row (1, work,
 * bytes, serial) / T whose right-hand side is 1.  So a task of a microsecond has as much weight as
 * a task of a second.  The state holds sums over the rows (the information form) instead of the
 * coefficients.  So the states of several processes can be added.
 *
 * Forgetting is directional: an observation replaces old information only along its own direction,
 * with the factor 1 - 1 / window.  (R. Kulhavy, "Restricted exponential forgetting in real-time
 * identification", Automatica 23, 1987.)  Ordinary forgetting would lose what is known of the
 * launch time while all tasks are large.
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
 * HyModelState: the sums from which the coefficients are computed.  It has no pointers.  In the
 * empty state, all fields are zero.
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
 * and back, without a resident input.  On the CPU, serial is the number of results, queries x
 * targets.  If the task has a k, each insertion into a query's heap counts as three more results.
 * About k (1 + ln (targets / k)) insertions are expected per query.  On a device, serial is dims.
 * For spread, serial is 0.
 */
extern HyCostTerms hy_cost_terms(const HyShape *shape, bool cpu);

/*
 * hy_model_observe: add count observations of one shape that took ns each.  The first observation
 * ever is set aside (cold start), even after a merge.  Returns false if no other observation was
 * added.
 */
extern bool
hy_model_observe(HyModelState *state, HyCostTerms terms, double ns, int32_t count, int32_t window);

/*
 * hy_model_count: add observations like hy_model_observe, but set nothing aside and forget nothing.
 * Used for a state that is later merged into another.
 */
extern void hy_model_count(HyModelState *state, HyCostTerms terms, double ns, int32_t count);

/*
 * hy_model_merge: add the sums of another state, without the observation set aside there.  If their
 * weight exceeds `most` observations, they are scaled down to it.  A state with a number that is
 * not finite adds nothing.
 */
extern void hy_model_merge(HyModelState *into, const HyModelState *from, double most);

/*
 * Special values of the argument launch_ns.  Any other value is the launch time in ns to assume
 * until a launch was measured.
 */
#define HY_LAUNCH_NONE 0.0     /* the CPU: time is proportional to the task */
#define HY_LAUNCH_UNKNOWN -1.0 /* assume that launch, work and bytes take a third each */

/*
 * hy_model_regularize: pull a state with few observations toward `like`, the state of similar tasks
 * on the same device.  Times per unit of work, byte and serial term are similar for such tasks, so
 * these coefficients are pulled strongly.  The launch time can differ by orders of magnitude, so it
 * is pulled only weakly.  If launch_ns > 0, the launch time is also pulled toward launch_ns.
 */
extern void hy_model_regularize(HyModelState *state, const HyModelState *like, double launch_ns);

/*
 * hy_model_solve: compute the coefficients.  For an empty state, returns false and sets all
 * coefficients to 0.  If the observation set aside is the only one, it is used.  launch_ns has a
 * noticeable effect only if the observations cannot separate the launch time from the other terms.
 */
extern bool
hy_model_solve(const HyModelState *state, double launch_ns, HyCoefficients *coefficients);

/* hy_cost_predict: compute the predicted time in ns, at least 1 and finite. */
extern double hy_cost_predict(const HyCoefficients *coefficients, HyCostTerms terms);

/* HyBatchTest: returns whether the device is at least as fast as the CPU with this many targets. */
typedef bool (*HyBatchTest)(void *arg, int64_t targets);

/*
 * hy_cost_break_even: find the smallest number of targets from which on faster() holds, by doubling
 * from 1 and then bisection.  Assumes that faster() changes only once.  Returns -1 if it does not
 * hold at limit.
 */
extern int64_t hy_cost_break_even(HyBatchTest faster, void *arg, int64_t limit);

#endif
