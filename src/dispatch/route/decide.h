/*
 * decide.h
 *		Chooses where a task runs, on the CPU or on which device, by the rules in the head of
 *		decide.c.
 */
#ifndef HY_DECIDE_H
#define HY_DECIDE_H

#include "dispatch/route/choice.h"

/*
 * hy_decide: choose where a valid task of this shape and numeric class runs.  `now` is the current
 * time.  Changes only cached figures, such as the free memory of a device.
 */
extern void hy_decide(HyExecutor *executor, const HyShape *shape, HyClass numeric_class,
                      uint64_t now, HyChoice *choice);

/*
 * hy_decision_begin: initialize a decision whose `shape` is already set.
 * hy_decision_describe: copy the choice into the decision.
 */
extern void hy_decision_begin(const HyExecutor *executor, uint64_t now, HyDecision *decision);
extern void hy_decision_describe(const HyChoice *choice, HyDecision *decision);

/*
 * hy_route_note: record that a task was sent to `device` for this reason.  `number` is its
 * hy_shape_class.  If `fallback` is set, the device failed and the CPU ran the task.
 */
extern void hy_route_note(HyExecutor *executor, uint32_t number, int32_t device, HyReason reason,
                          bool fallback);

/*
 * hy_open_credit_add: add the CPU time of a task to the ski rental credit of a device that stayed
 * closed.  The device opens when this credit reaches its open cost.  If the device has a
 * prediction, because it was open before, only the time that it would have saved is added.
 */
extern void
hy_open_credit_add(HyExecutor *executor, int32_t device, double cpu_ns, double device_ns);

#endif
