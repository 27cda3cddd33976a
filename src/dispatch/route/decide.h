/*
 * decide.h
 *		Chooses the side of a task by the rules in the head of decide.c.
 */
#ifndef HY_DECIDE_H
#define HY_DECIDE_H

#include "dispatch/route/choice.h"

/*
 * hy_decide: choose a side for a valid task of this shape and class at time now.  Only the cached
 * memory figures of the devices are changed.
 */
extern void hy_decide(HyExecutor *executor, const HyShape *shape, HyClass numeric_class,
                      uint64_t now, HyChoice *choice);

/*
 * hy_decision_begin: initialize a decision about decision->shape.
 * hy_decision_describe: copy the choice into the decision.
 */
extern void hy_decision_begin(const HyExecutor *executor, uint64_t now, HyDecision *decision);
extern void hy_decision_describe(const HyChoice *choice, HyDecision *decision);

/*
 * hy_route_note: record that a task of this class (hy_shape_class) went to 'device' for this reason.
 * If 'fallback' is set, the task then ran on the CPU.
 */
extern void hy_route_note(HyExecutor *executor, uint32_t number, int32_t device, HyReason reason,
                          bool fallback);

/*
 * hy_open_credit_add: add the CPU time of a task to the ski rental of a device that stayed closed.
 * If a prediction for the device exists because the device was open before, only the difference is
 * added.
 */
extern void
hy_open_credit_add(HyExecutor *executor, int32_t device, double cpu_ns, double device_ns);

#endif
