/*
 * budget.h
 *		Computes how much of a device's memory a task, and resident units, may use.
 */
#ifndef HY_BUDGET_H
#define HY_BUDGET_H

#include "dispatch/route/config.h"

/*
 * hy_member_budget: return the bytes that all tasks in flight on the device may use together.
 * hy_member_refused: record that a task of this many bytes did not fit.
 * hy_member_fitted: record that a task of this many bytes fitted.
 */
extern uint64_t hy_member_budget(HyExecutor *executor, HyMember *member, uint64_t now);
extern void hy_member_refused(HyMember *member, uint64_t bytes, uint64_t now);
extern void hy_member_fitted(HyMember *member, uint64_t bytes);

/*
 * hy_member_room: return the bytes that resident units may use: half of the memory that this
 * process may use.
 */
extern uint64_t hy_member_room(HyExecutor *executor, HyMember *member, uint64_t now);

/*
 * hy_member_units_changed: adjust the recorded free memory after resident units took or freed
 * memory.  `before` is the number of bytes that all units took before.
 */
extern void hy_member_units_changed(HyMember *member, uint64_t before);

#endif
