/*
 * trials.h
 *		Rule 9 of decide.c: which side is run to learn about it, not to be fast.
 *
 * With no history a device is tried, then the CPU, each until one observation more than its cold
 * start is there.  There is nothing yet to predict a loss from; only where a like kind of task says
 * that a device would take more than 16 times as long, or would lose more than 20 ms and the limit
 * below, is it left alone.  A device that only refuses (busy, say) never gets a history: after the
 * first refusal such tries count towards the limit of 1% below, and end there.
 *
 * From then on another side is tried after 8 tasks of the kind while its regression rests on little,
 * 32 while it has hardly run this size, and 256 otherwise; only if it is predicted to take 1/4 to 4
 * times as long, and only while all that exploring ever lost stays below 1% of the time spent.  A
 * device that has only seen much smaller tasks is predicted too high, since what is launch and what
 * is work cannot be told apart; what it may take lies between the largest seen and that scaled by
 * size, so the geometric mean is taken, and there may be more to win than 4 times.
 */
#ifndef HY_TRIALS_H
#define HY_TRIALS_H

#include "dispatch/executor_state.h"

#define HY_REGRET_SHARE 0.01 /* of the time spent that exploring may lose */

/* HySide: one that could have the task, and what that would take. */
typedef struct HySide
{
	int32_t device;
	HyForecast forecast;
	double ns; /* with what is waited for and with the load, < 0: not known */
} HySide;

/*
 * hy_untried: a side of which nothing is known but perhaps a cold start, devices first; NULL when
 * all are known or hopeless.  sides[0] is the CPU.
 */
extern const HySide *hy_untried(const HyExecutor *executor, const HySide *sides, int count);

/* hy_worth_trying: whether a side that is predicted to be worse could get this call. */
extern bool hy_worth_trying(const HyExecutor *executor, const HySide *best, const HySide *other);

/*
 * hy_calm_of: how many tasks may go by without asking again whether a trial of the side is due and
 * not too dear, as long as the predictions stay what they are.
 */
extern int32_t hy_calm_of(const HyExecutor *executor, const HySide *best, const HySide *other);

#endif
