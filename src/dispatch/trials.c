/*
 * trials.c
 *		What is tried, and when: see trials.h.
 */
#include "dispatch/trials.h"

#include <math.h>

#define TRY_FEW 8
#define TRY_UNSEEN 32
#define TRY_STALE 256
#define FEW_SAMPLES 2
#define FEW_WEIGHT 12
#define ENOUGH_SAMPLES 5
#define EVEN_RATIO 1.5
#define RATIO_LIMIT 4.0
#define HINT_LIMIT 16.0 /* of other kinds: it may be off by as much as the ratio itself */
#define LEAST_QUEUE_NS 1e6
#define FIRST_TRY_NS 2e7 /* that a first try may cost, whatever has been spent */

static bool worth_a_first_try(const HyExecutor *executor, double hint, double best);
static int32_t due_after(const HySide *best, const HySide *other);
static double trial_loss(const HySide *best, const HySide *other);

/*
 * hy_untried: a side of which nothing is known but perhaps a cold start, devices first; NULL when all
 * are known or hopeless.  The CPU, whose time grows with the task, waits a little for one that is as
 * small as any seen.
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
	/* Of the CPU a hint or a cold start will do: neither is off by as much as the limit. */
	if (best < 0)
		best = sides[0].ns >= 0 ? sides[0].ns : sides[0].forecast.hint_ns;
	for (i = 1; i < count; i++)
	{
		double hint = sides[i].forecast.hint_ns;

		if (sides[i].ns >= 0 && !sides[i].forecast.cold)
			continue;
		if (best >= 0 && sides[i].ns < 0 && !worth_a_first_try(executor, hint, best))
			continue;
		/* nor is it tried first behind others that take their time */
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
 * worth_a_first_try: by what like kinds of task say a device of which nothing is known would take
 * (hint < 0: they say nothing), and the best of the others takes.
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
 * due_after: how many tasks of a kind pass a side by before it is due a trial.  Where both sides
 * are about even a trial costs little, and says most of where the one overtakes the other.
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
 * trial_loss: what a trial is predicted to lose against the best side, 0 where it would win; < 0
 * where the two are too far apart for one, whenever it may be due.
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
hy_calm_of(const HyExecutor *executor, const HySide *best, const HySide *other)
{
	double loss = trial_loss(best, other);
	int64_t left = due_after(best, other) - other->forecast.unseen;
	double until;

	if (loss < 0)
		return INT32_MAX;
	if (left > 0)
		return (int32_t) left;
	/* it is due, and too dear before so many calls like this one have been paid for */
	until = ((executor->regret_ns + loss) / HY_REGRET_SHARE - executor->spent_ns) / best->ns;
	return !(until > TRY_STALE) ? TRY_STALE : until < INT32_MAX ? (int32_t) until : INT32_MAX;
}
