/*
 * trials.h
 *		Rule 9 of decide.c: decides whether a task runs on a side (the CPU or a device) only to
 *		measure that side.
 *
 * Sides without history are tried first, devices before the CPU, each until it has one observation
 * besides its cold start.  A device is not tried if similar kinds of task predict that it would
 * take more than 16 times as long.  It is not tried, either, if the predicted loss exceeds both 20
 * ms and the limit of 1% below, or while long tasks of other clients occupy the device.  A device
 * that refuses every task (for example, because it is busy) never gets a history.  So after the
 * first refusal, tries of the device stop when the limit of 1% is reached.
 *
 * From then on, a side other than the best is tried after a number of tasks of the kind have run
 * elsewhere.  This number is 8 while the side's regression rests on few observations, or while the
 * side has few samples of this size and takes less than 1.5 times the best time.  It is 32 while
 * the side has hardly run this size, and 256 otherwise.  The predicted time must be 1/4 to 4 times
 * the best time.  All trials together may lose at most 1% of the time spent.
 *
 * If a device has run only much smaller tasks, its prediction is too high, because launch time and
 * work cannot be told apart.  The true time lies between the time of the largest task so far and
 * that time scaled by size.  So the geometric mean of the largest task's time and the prediction is
 * used.  In this case, the trial is allowed even if the device is predicted to be more than 4 times
 * as fast.
 */
#ifndef HY_TRIALS_H
#define HY_TRIALS_H

#include "dispatch/route/gauge.h"

#define HY_REGRET_SHARE 0.01 /* maximum time lost by trials, as a share of all time spent */

/*
 * hy_untried: return a side without history, or with only a cold start, devices first; NULL if no
 * such side is worth a try.  sides[0] is the CPU.
 */
extern const HySide *hy_untried(const HyExecutor *executor, const HySide *sides, int count);

/* hy_worth_trying: return whether to run this call on `other` instead of `best`, as a trial. */
extern bool hy_worth_trying(const HyExecutor *executor, const HySide *best, const HySide *other);

/*
 * hy_tasks_until_trial: return the number of tasks after which to check again whether a trial of
 * `other` is due and cheap enough.  The number is valid as long as the predictions stay the same.
 */
extern int32_t
hy_tasks_until_trial(const HyExecutor *executor, const HySide *best, const HySide *other);

#endif
