/*
 * trials.c
 *		Decides which side is tried, and when: see trials.h.
 */
#include "dispatch/route/trials.h"

#include "dispatch/route/session.h"

#include <math.h>

#define TRY_FEW 8
#define TRY_UNSEEN 32
#define TRY_STALE 256
#define FEW_SAMPLES 2
#define FEW_WEIGHT 12
#define ENOUGH_SAMPLES 5
#define EVEN_RATIO 1.5
#define RATIO_LIMIT 4.0
/*
 * RATIO_LIMIT squared: a hint, the prediction from other kinds of task, may itself be wrong by
 * RATIO_LIMIT
 */
#define HINT_LIMIT 16.0
#define LEAST_QUEUE_NS 1e6
/* predicted loss that a first try may have, whatever the limit of 1% (trials.h) allows */
#define FIRST_TRY_NS 2e7

static bool worth_a_first_try(const HyExecutor *executor, double hint, double best);
static int32_t due_after(const HySide *best, const HySide *other);
static double trial_loss(const HySide *best, const HySide *other);

/*
 * hy_untried: return a side without history (see trials.h).  The time of the CPU grows with the
 * task, so the CPU is tried with a task no larger than the smallest that any other side has run, or
 * after TRY_FEW tasks on devices.
 */
const HySide *
hy_untried(const HyExecutor *executor, const HySide *sides, int count)
{
	const HySide *found = NULL;
	double best = -1;
	bool smallest = true;
	int i;

	for (i = 0; i < count; i++)
	{
		if (sides[i].ns < 0 || sides[i].forecast.cold)
			continue;
		if (best < 0 || sides[i].ns < best)
			best = sides[i].ns;
		if (sides[i].forecast.above > 0)
			smallest = false;
	}
	/* if no side has history, compare with the CPU's cold start or its hint */
	if (best < 0)
		best = sides[0].ns >= 0 ? sides[0].ns : sides[0].forecast.hint_ns;
	for (i = 1; i < count; i++)
	{
		double hint = sides[i].forecast.hint_ns;

		if (sides[i].ns >= 0 && !sides[i].forecast.cold)
			continue;
		if (best >= 0 && sides[i].ns < 0 && !worth_a_first_try(executor, hint, best))
			continue;
		/* do not try a device on which long tasks of other clients wait or are in flight */
		if (executor->member[sides[i].device].queue.ns >
		    (best >= 0 ? RATIO_LIMIT * best : LEAST_QUEUE_NS))
			continue;
		if (found == NULL || hy_gauge_less(executor, sides[i].device, found->device))
			found = &sides[i];
	}
	if (found == NULL && (sides[0].ns < 0 || sides[0].forecast.cold) &&
	    (smallest || sides[0].forecast.unseen >= TRY_FEW))
		found = &sides[0];
	return found;
}

/*
 * worth_a_first_try: return whether to try a device without history.  hint is the device's time as
 * predicted by similar kinds of task (< 0: no prediction).  best is the time of the best other side.
 */
static bool
worth_a_first_try(const HyExecutor *executor, double hint, double best)
{
	double regret = hint - best;

	return hint <= HINT_LIMIT * best &&
	       (regret <= FIRST_TRY_NS ||
	        executor->regret_ns + regret <= HY_REGRET_SHARE * executor->spent_ns);
}

/*
 * due_after: return how many tasks of a kind must run elsewhere before the next trial of `other`.
 * If both sides are about equally fast, a trial costs little and says most about the break-even
 * point.
 */
static int32_t
due_after(const HySide *best, const HySide *other)
{
	const HyForecast *forecast = &other->forecast;

	if (forecast->weight < FEW_WEIGHT)
		return TRY_FEW;
	if (forecast->samples < ENOUGH_SAMPLES && other->ns < EVEN_RATIO * best->ns)
		return TRY_FEW;
	return forecast->samples < FEW_SAMPLES ? TRY_UNSEEN : TRY_STALE;
}

/*
 * trial_loss: return the predicted loss of a trial compared with the best side, 0 if the trial
 * would be faster, and < 0 if a trial is ruled out by the predicted times or by a missing
 * prediction.
 */
static double
trial_loss(const HySide *best, const HySide *other)
{
	const HyForecast *forecast = &other->forecast;
	double expected = other->ns;

	if (expected < 0 || forecast->cold)
		return -1;
	if (other->device != 0 && forecast->samples == 0 && forecast->steps > forecast->span)
		expected = sqrt(expected * forecast->largest_ns);
	else if (expected * RATIO_LIMIT < best->ns)
		return -1;
	if (expected > best->ns * RATIO_LIMIT)
		return -1;
	return expected > best->ns ? expected - best->ns : 0;
}

bool
hy_worth_trying(const HyExecutor *executor, const HySide *best, const HySide *other)
{
	double loss = trial_loss(best, other);

	return loss >= 0 && other->forecast.unseen >= due_after(best, other) &&
	       executor->regret_ns + loss <= HY_REGRET_SHARE * executor->spent_ns;
}

int32_t
hy_tasks_until_trial(const HyExecutor *executor, const HySide *best, const HySide *other)
{
	double loss = trial_loss(best, other);
	int64_t left = due_after(best, other) - other->forecast.unseen;
	double until;

	if (loss < 0)
		return INT32_MAX;
	if (left > 0)
		return (int32_t) left;
	/* the trial is due, but the limit allows it only after this many more calls on the best side */
	until = ((executor->regret_ns + loss) / HY_REGRET_SHARE - executor->spent_ns) / best->ns;
	return !(until > TRY_STALE) ? TRY_STALE : until < INT32_MAX ? (int32_t) until : INT32_MAX;
}
