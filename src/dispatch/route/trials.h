/*
 * trials.h
 *		Rule 9 of decide.c: chooses the side that runs a task in order to be measured.
 *
 * With no history, a device is tried and then the CPU, each until it has one observation besides its
 * cold start.  No loss can be predicted from history yet.  A device is not tried if similar kinds of
 * task predict that it would take more than 16 times as long, or that it would lose more than 20 ms
 * and exceed the limit of 1% below.  It is also not tried while long tasks of other clients occupy
 * it.  A device that only refuses (for example, because it is busy) never gets a history.  So after
 * the first refusal, such tries count towards the limit of 1%, and stop when the limit is reached.
 *
 * From then on, another side is tried after 8 tasks of the kind while its regression rests on few
 * observations, or while it has few samples of this size and takes less than 1.5 times the best
 * time.  The side is tried after 32 tasks while it has hardly run this size, and after 256 tasks
 * otherwise.  A trial requires that the predicted time is 1/4 to 4 times the best time, and that all
 * exploration together has lost less than 1% of the time spent.
 *
 * The prediction for a device that has only seen much smaller tasks is too high, since launch and
 * work cannot be told apart.  The true time lies between the time of the largest task seen and that
 * time scaled by size.  So the geometric mean of the largest task's time and the prediction is used.
 * In this case, the trial is allowed even if the side is predicted to be more than 4 times as fast.
 */
#ifndef HY_TRIALS_H
#define HY_TRIALS_H

#include "dispatch/route/gauge.h"

#define HY_REGRET_SHARE 0.01 /* maximum time lost by exploration, as a share of all time spent */

/*
 * hy_untried: return a side without history, or with only a cold start, devices first; NULL when no
 * such side is worth a try.  sides[0] is the CPU.
 */
extern const HySide *hy_untried(const HyExecutor *executor, const HySide *sides, int count);

/* hy_worth_trying: return whether a side other than the best may get this call as a trial. */
extern bool hy_worth_trying(const HyExecutor *executor, const HySide *best, const HySide *other);

/*
 * hy_tasks_until_trial: return the number of tasks after which to check again whether a trial of the
 * side is due and cheap enough.  The number is valid as long as the predictions stay the same.
 */
extern int32_t
hy_tasks_until_trial(const HyExecutor *executor, const HySide *best, const HySide *other);

#endif
