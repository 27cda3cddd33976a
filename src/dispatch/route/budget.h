/*
 * budget.h
 *		Computes how much of a device's memory tasks and resident units (run/residency.h) may
 *		use.
 */
#ifndef HY_BUDGET_H
#define HY_BUDGET_H

#include "dispatch/route/config.h"

/*
 * hy_member_budget: return the bytes that all tasks of this executor in flight on the device may
 * use together.
 * hy_member_refused: record that a task of this many bytes did not fit.
 * hy_member_fitted: record that a task of this many bytes fitted.
 */
extern uint64_t hy_member_budget(HyExecutor *executor, HyMember *member, uint64_t now);
extern void hy_member_refused(HyMember *member, uint64_t bytes, uint64_t now);
extern void hy_member_fitted(HyMember *member, uint64_t bytes);

/*
 * hy_member_room: return the bytes that resident units may use: half of the memory that this
 * process may use, but at most HyConfig.resident_limit.
 */
extern uint64_t hy_member_room(HyExecutor *executor, HyMember *member, uint64_t now);

/*
 * hy_member_units_changed: adjust the recorded free memory after units were added or dropped.
 * `before` is the number of bytes of all units before that.
 */
extern void hy_member_units_changed(HyMember *member, uint64_t before);

#endif
