/*
 * trials.h
 *		Rule 9 of decide.c: chooses the side that runs a task in order to be measured.
 *
 * With no history, a device is tried and then the CPU, each until it has one observation more than
 * its cold start.  No loss can be predicted yet.  A device is left untried only if similar kinds of
 * task predict that it would take more than 16 times as long, or would lose more than 20 ms and
 * more than the limit below.  A device that only refuses (for example, busy) never gets a history.
 * So after the first refusal such tries count towards the limit of 1% below, and end there.
 *
 * From then on, another side is tried after 8 tasks of the kind while its regression rests on
 * little, or while it has few samples of this size and takes less than 1.5 times the best time.  It
 * is tried after 32 tasks while it has hardly run this size, and after 256 otherwise.  This happens
 * only if it is predicted to take 1/4 to 4 times as long, and only while all exploration together
 * lost less than 1% of the time spent.
 *
 * The prediction for a device that has only seen much smaller tasks is too high, since launch and
 * work cannot be told apart.  The true time lies between that of the largest task seen and that
 * time scaled by size.  So the geometric mean is used, and here a predicted win of more than 4
 * times does not prevent the trial.
 */
#ifndef HY_TRIALS_H
#define HY_TRIALS_H

#include "dispatch/executor_state.h"

#define HY_REGRET_SHARE 0.01 /* share of the time spent that exploration may lose */

/* HySide: a side that is able to run the task, and its predicted time. */
typedef struct HySide
{
	int32_t device;
	HyForecast forecast;
	double ns; /* including load and tasks in flight, < 0: not known */
} HySide;

/*
 * hy_untried: a side without history, or with only a cold start, devices first; NULL when there is
 * no such side worth a try.  sides[0] is the CPU.
 */
extern const HySide *hy_untried(const HyExecutor *executor, const HySide *sides, int count);

/* hy_worth_trying: whether a side that is predicted to be worse may get this call. */
extern bool hy_worth_trying(const HyExecutor *executor, const HySide *best, const HySide *other);

/*
 * hy_tasks_until_trial: number of tasks after which to check again whether a trial of the side is due and
 * cheap enough, as long as the predictions stay the same.
 */
extern int32_t
hy_tasks_until_trial(const HyExecutor *executor, const HySide *best, const HySide *other);

#endif
