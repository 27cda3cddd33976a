/*
 * decide.c
 *		Which side a task goes to: the rules in their order, each with its reason.
 *
 *	1	force_cpu, execution = cpu			the CPU
 *	2	gpu, a name, prefer_*				what was asked for; skips 5, 8 and 9, and opens at once
 *										(prefer_gpu waits after an open that failed, and after a turn
 *										on a device that never came)
 *	3	no device that this process can use	the CPU
 *	4	not in the device's capabilities	the CPU
 *	5	fewer items than the minimum		the CPU
 *	6	the breaker is open					the CPU
 *	7	more memory than the budget			in pieces, or the CPU where not even the smallest fits
 *	8	not open yet: ski rental; open: the cheapest side by history, with hysteresis
 *	9	exploration: sides without history first, then now and then another side
 *	10	split: device and CPU at once, where that is predicted to take 0.9 of the better one; where it
 *		is asked for, 0.95, since less is lost again by a prediction that errs by as much; in shares
 *		that the user fixed always, and instead of 9 while a side is without history
 *
 * Several devices: every able one (rules 3 to 7) takes part in 8 and 9 with what it is predicted to
 * take plus what is in flight there; without a prediction the one with the least in flight goes.
 *
 * Exploring.  With no history a device is tried, then the CPU, each until one observation more than
 * its cold start is there.  There is nothing yet to predict a loss from; only where a like kind of
 * task says that a device would take more than 16 times as long, or would lose more than 20 ms and
 * the limit below, is it left alone.  A device that only
 * refuses (busy, say) never gets a history: after the first refusal such tries count towards the
 * limit of 1% below, and end there.  From then on
 * another side is tried after TRY_FEW tasks of the kind while its regression rests on little,
 * TRY_UNSEEN while it has hardly run this size, and TRY_STALE otherwise; only if it is predicted to
 * take 1/4 to 4 times as long, and only while all that exploring ever lost stays below 1% of the
 * time spent.  A device that has only seen much smaller tasks is predicted too high, since what is
 * launch and what is work cannot be told apart; what it may take lies between the largest seen and
 * that scaled by size, so the geometric mean is taken, and there may be more to win than 4 times.
 */
#include "dispatch/executor_state.h"

#include <math.h>
#include <string.h>

#include "dispatch/slice.h"

#define MOST_PIECES 1024 /* smaller ones would be mostly starts */
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
#define REGRET_SHARE 0.01
#define SPLIT_GAIN 0.9
#define SPLIT_ASKED_GAIN 0.95
#define SPLIT_FROM_NS 1e6 /* below that, cutting and joining costs a share of its own */
#define SPLIT_JOIN_NS 5e4
#define SPLIT_STEPS 12

/* Side: one that could have the task, and what that would take. */
typedef struct Side
{
	int32_t device;
	HyForecast forecast;
	double ns; /* with what is waited for and with the load, < 0: not known */
} Side;

static void choose_cpu(HyChoice *choice, HyReason reason);
static int32_t named_device(const HyExecutor *executor, int32_t after);
static bool may_be_meant(const HyConfig *config, const HyMember *member);
static bool goes_by(const HyMember *member, const char *name);
static const char *why_none(const HyExecutor *executor, const HyChoice *choice);
static bool able(HyExecutor *executor, int32_t device, const HyTask *task, const HyShape *shape,
                 uint64_t now, bool skip_minimum, HyChoice *choice);
static bool fits_memory(HyExecutor *executor, HyMember *member, const HyShape *shape, uint64_t now,
                        HyChoice *choice);
static bool cpu_able(const HyExecutor *executor, const HyShape *shape);
static void
weigh(HyExecutor *executor, const HyShape *shape, uint64_t now, uint32_t devices, HyChoice *choice);
static Side side_of(const HyExecutor *executor, const HyShape *shape, int32_t device);
static bool may_open(const HyMember *member, uint64_t now);
static const Side *untried(const HyExecutor *executor, const Side *sides, int count);
static bool worth_a_first_try(const HyExecutor *executor, double hint, double best);
static int32_t due_after(const Side *best, const Side *other);
static double trial_loss(const Side *best, const Side *other);
static int32_t calm_of(const HyExecutor *executor, const Side *best, const Side *other);
static bool worth_trying(const HyExecutor *executor, const Side *best, const Side *other);
static void take(HyChoice *choice, const Side *side, HyReason reason);
static void
consider_split(const HyExecutor *executor, const HyShape *shape, bool asked_for, HyChoice *choice);
static double
part_ns(const HyExecutor *executor, const HyShape *shape, int32_t device, double part);
static HyStatus refusal_status(HyReason reason);
static HyRoute *route_slot(HyExecutor *executor, uint32_t number);

void
hy_decide(HyExecutor *executor, const HyTask *task, const HyShape *shape, uint64_t now,
          HyChoice *choice)
{
	const HyConfig *config = &executor->config;
	bool automatic =
		config->execution == HY_EXECUTION_AUTO || config->execution == HY_EXECUTION_SPLIT;
	uint32_t devices = 0;
	int32_t device = 0;
	int32_t found = 0;

	memset(choice, 0, sizeof(*choice));
	choice->cpu_ns = -1;
	choice->device_ns = -1;
	choice->instead_ns = -1;
	choice->split_ns = -1;
	choice->calm = INT32_MAX;
	choice->holds_ns = UINT64_MAX;
	choice->reason = HY_REASON_NO_DEVICE;
	if (config->force_cpu || config->execution == HY_EXECUTION_CPU ||
	    (config->execution == HY_EXECUTION_NAMED &&
	     strcmp(config->backend_name, executor->member[0].name) == 0))
	{
		choose_cpu(choice, HY_REASON_USER);
		return;
	}
	choice->forced =
		config->execution == HY_EXECUTION_GPU || config->execution == HY_EXECUTION_NAMED;
	if (config->execution == HY_EXECUTION_PREFER_CPU && cpu_able(executor, shape))
	{
		choose_cpu(choice, HY_REASON_USER);
		return;
	}

	/* The reason kept is that of the device that came furthest. */
	while ((device = named_device(executor, device)) != 0)
	{
		if (!able(executor, device, task, shape, now, config->execution != HY_EXECUTION_AUTO,
		          choice))
		{
			choice->unable |= UINT32_C(1) << device;
			continue;
		}
		devices |= UINT32_C(1) << device;
		if (found == 0 || hy_gauge_less(executor, device, found))
			found = device;
	}
	if (found == 0)
	{
		/* A refusal names the device that it is about, where there is one. */
		if (choice->forced)
		{
			choice->refusal = refusal_status(choice->reason);
			choice->why = why_none(executor, choice);
		}
		else
			choose_cpu(choice, choice->reason);
		return;
	}
	choice->why = NULL;
	choice->devices = devices;
	choice->device = found;
	choice->candidate = found;
	choice->reason = HY_REASON_USER;
	if (automatic)
		weigh(executor, shape, now, devices, choice);
	else if (config->execution == HY_EXECUTION_PREFER_GPU &&
	         executor->member[found].device == NULL && now < executor->member[found].open_after_ns)
		choose_cpu(choice, HY_REASON_NOT_OPEN);
	else if (config->execution == HY_EXECUTION_PREFER_GPU &&
	         now < executor->member[found].taken_until_ns && cpu_able(executor, shape))
		choose_cpu(choice, HY_REASON_COST);
	/* What was said of memory last was said of the last device that was looked at. */
	if (choice->candidate != 0)
		(void) fits_memory(executor, &executor->member[choice->candidate], shape, now, choice);
	/* whoever wished for it: what is sent there now says whether the device is back */
	if (choice->device != 0 &&
	    executor->member[choice->device].breakers[shape->op].state != HY_BREAKER_CLOSED)
		choice->reason = HY_REASON_PROBE;
	if (automatic && choice->device != 0 && choice->reason == HY_REASON_PROBE)
		return;
	if (automatic && choice->candidate != 0 &&
	    (choice->reason != HY_REASON_EXPLORATION || config->execution == HY_EXECUTION_SPLIT))
		consider_split(executor, shape, config->execution == HY_EXECUTION_SPLIT, choice);
}

void
hy_route_note(HyExecutor *executor, const HyShape *shape, int32_t device, HyReason reason,
              bool fallback)
{
	uint32_t number = hy_shape_class(shape);
	HyRoute *route = route_slot(executor, number);

	if (route->number != number)
	{
		memset(route, 0, sizeof(*route));
		route->number = number;
	}
	if (fallback)
	{
		device = 0;
		route->refused = true;
	}
	else if (device != 0)
		route->refused = false;
	if (reason == HY_REASON_COST)
		route->on_device = device != 0;
}

double
hy_side_ns(const HyExecutor *executor, const HyShape *shape, int32_t device)
{
	return side_of(executor, shape, device).ns;
}

bool
hy_side_able(HyExecutor *executor, const HyShape *shape, uint64_t now, int32_t device)
{
	HyChoice scratch = {.device = 0};

	if (device == 0)
		return cpu_able(executor, shape);
	return able(executor, device, NULL, shape, now, executor->config.execution != HY_EXECUTION_AUTO,
	            &scratch);
}

bool
hy_side_can(HyExecutor *executor, const HyShape *shape, int32_t device)
{
	HyMember *member = &executor->member[device];
	HyChoice scratch = {.device = 0};
	HyCaps caps;

	if (device == 0)
		return cpu_able(executor, shape);
	if (member->backend == NULL || member->latched || executor->foreign)
		return false;
	caps = member->backend->caps(member->device, shape);
	return caps.ok && shape->targets <= caps.max_targets && shape->k <= caps.max_k &&
	       caps.numeric_class == HY_CLASS_EXACT &&
	       fits_memory(executor, member, shape, hy_now(executor), &scratch);
}

bool
hy_side_fits(HyExecutor *executor, const HyShape *shape, int32_t device)
{
	HyMember *member = &executor->member[device];
	HyChoice scratch = {.device = 0};

	return device == 0 ||
	       (fits_memory(executor, member, shape, hy_now(executor), &scratch) && !scratch.chunked);
}

static void
choose_cpu(HyChoice *choice, HyReason reason)
{
	choice->device = 0;
	choice->reason = reason;
}

/* named_device: the next device after this one that the user's wish allows, 0 when there is none. */
static int32_t
named_device(const HyExecutor *executor, int32_t after)
{
	const HyConfig *config = &executor->config;
	int32_t i;

	for (i = after + 1; i < executor->members; i++)
	{
		const HyMember *member = &executor->member[i];

		/* one that could not be had has no number, and still says why */
		if (!hy_left_out(config, member) && may_be_meant(config, member))
			return i;
	}
	return 0;
}

static bool
may_be_meant(const HyConfig *config, const HyMember *member)
{
	return config->execution != HY_EXECUTION_NAMED || goes_by(member, config->backend_name);
}

/*
 * goes_by: whether a device is the one called name.  Of a plug-in that could not be had only the
 * file's name is known, such as hybrid_cuda; what follows the last underscore stands for it.
 */
static bool
goes_by(const HyMember *member, const char *name)
{
	const char *tail = strrchr(member->name, '_');

	if (strcmp(member->name, name) == 0)
		return true;
	return member->backend == NULL && tail != NULL && strcmp(tail + 1, name) == 0;
}

/*
 * why_none: why no device can be had; that one is there and is left out says more than that a plug-in
 * has none.
 */
static const char *
why_none(const HyExecutor *executor, const HyChoice *choice)
{
	int32_t i;

	if (choice->device != 0 && executor->member[choice->device].backend != NULL)
		return choice->why;
	for (i = 1; i < executor->members; i++)
	{
		if (hy_left_out(&executor->config, &executor->member[i]) &&
		    may_be_meant(&executor->config, &executor->member[i]))
			return "it is left out: hybrid.gpu_device does not name it";
	}
	return choice->why;
}

/*
 * able: rules 3 to 7 for one device.  When it is not, choice->reason becomes the rule that says
 * so, unless an earlier device came further.
 */
static bool
able(HyExecutor *executor, int32_t device, const HyTask *task, const HyShape *shape, uint64_t now,
     bool skip_minimum, HyChoice *choice)
{
	HyMember *member = &executor->member[device];
	HyReason reason;
	const char *why;

	if (member->backend == NULL || member->latched || executor->foreign)
	{
		reason = HY_REASON_NO_DEVICE;
		why =
			executor->foreign ? "the process was forked after the device was set up" : member->why;
	}
	else if (task != NULL && hy_task_check(task) != HY_OK)
	{
		/* The CPU will say so as well; a backend shall not be asked about nonsense. */
		reason = HY_REASON_UNSUPPORTED;
		why = "the task contradicts itself";
	}
	else
	{
		HyCaps caps = member->backend->caps(member->device, shape);

		if (!caps.ok || shape->targets > caps.max_targets || shape->k > caps.max_k ||
		    ((task == NULL || task->numeric_class == HY_CLASS_EXACT) &&
		     caps.numeric_class != HY_CLASS_EXACT))
		{
			reason = HY_REASON_UNSUPPORTED;
			why = !caps.ok && caps.reason != NULL                ? caps.reason
			      : caps.ok && shape->targets > caps.max_targets ? "too many targets"
			      : caps.ok && shape->k > caps.max_k             ? "k is too large"
			                                                     : "it cannot give exact results";
		}
		else if (!skip_minimum && hy_shape_items(shape) < executor->config.min_batch[shape->op])
		{
			reason = HY_REASON_BELOW_MIN;
			why = "the batch is too small";
		}
		else if (!hy_breaker_would_allow(&member->breakers[shape->op], now))
		{
			const HyBreaker *breaker = &member->breakers[shape->op];
			uint64_t until = breaker->state == HY_BREAKER_OPEN ? breaker->open_until_ns : now;

			if (until < choice->holds_ns)
				choice->holds_ns = until;
			reason = HY_REASON_UNRELIABLE;
			why = "it failed too often lately";
		}
		else if (!fits_memory(executor, member, shape, now, choice))
		{
			reason = HY_REASON_MEMORY;
			why = "the task does not fit its memory budget";
		}
		else
			return true;
	}
	if (choice->why == NULL || reason > choice->reason)
	{
		choice->device = device;
		choice->reason = reason;
		choice->why = why;
	}
	return false;
}

/* fits_memory: rule 7, whole or in pieces. */
static bool
fits_memory(HyExecutor *executor, HyMember *member, const HyShape *shape, uint64_t now,
            HyChoice *choice)
{
	HyEstimate estimate = member->backend->estimate(member->device, shape);
	uint64_t available = hy_member_budget(executor, member, now);

	choice->bytes_required = estimate.device_bytes;
	choice->bytes_available = available;
	choice->chunked = false;
	if (estimate.device_bytes <= available)
		return true;
	if (executor->cuts && hy_shape_extent(shape) > 1)
	{
		int64_t least = hy_shape_extent(shape) / MOST_PIECES;
		HyShape piece = hy_shape_slice(shape, least > 1 ? least : 1);

		choice->chunked =
			member->backend->estimate(member->device, &piece).device_bytes <= available;
	}
	return choice->chunked;
}

static bool
cpu_able(const HyExecutor *executor, const HyShape *shape)
{
	const HyMember *cpu = &executor->member[0];

	return cpu->backend->caps(cpu->device, shape).ok;
}

/* weigh: rules 8 and 9, the able devices against the CPU. */
static void
weigh(HyExecutor *executor, const HyShape *shape, uint64_t now, uint32_t devices, HyChoice *choice)
{
	Side sides[HY_MAX_DEVICES]; /* the CPU, then the devices that could have it at once */
	Side closed = {.device = 0};
	const Side *best;
	const Side *other;
	double enter = executor->config.speedup_threshold;
	uint32_t number = hy_shape_class(shape);
	const HyRoute *route = route_slot(executor, number);
	int count = 1;
	int best_device = 0;
	int32_t d;
	int i;

	sides[0] = side_of(executor, shape, 0);
	for (d = 1; d < executor->members; d++)
	{
		const HyMember *member = &executor->member[d];
		Side side;

		if (!(devices >> d & 1))
			continue;
		side = side_of(executor, shape, d);
		if (member->device != NULL || may_open(member, now))
		{
			sides[count] = side;
			/* the cheapest, a device without history last */
			if (side.ns >= 0 && (best_device == 0 || side.ns < sides[best_device].ns))
				best_device = count;
			count++;
		}
		else if (closed.device == 0 || (side.ns >= 0 && (closed.ns < 0 || side.ns < closed.ns)))
			closed = side;
	}
	choice->cpu_ns = sides[0].ns;
	if (count == 1)
	{
		choice->candidate = closed.device;
		choice->device_ns = closed.ns;
		choose_cpu(choice, HY_REASON_NOT_OPEN);
		return;
	}
	other = untried(executor, sides, count);
	if (other != NULL)
	{
		for (best = NULL, i = 0; i < count; i++)
		{
			if (sides[i].ns >= 0 && !sides[i].forecast.cold &&
			    (best == NULL || sides[i].ns < best->ns))
				best = &sides[i];
		}
		choice->candidate = other->device != 0 ? other->device : sides[best_device].device;
		choice->device_ns = other->device != 0 ? other->ns : sides[best_device].ns;
		choice->instead_ns = best != NULL ? best->ns : -1;
		if (other->device != 0 && best != NULL && best->device == 0 && route->number == number &&
		    route->refused && executor->regret_ns > REGRET_SHARE * executor->spent_ns)
			take(choice, best, HY_REASON_COST);
		else
			take(choice, other, HY_REASON_EXPLORATION);
		return;
	}
	/* What is without history now has a hint against it, or waits for a smaller task. */
	if (best_device == 0)
	{
		choice->candidate = sides[1].device;
		take(choice, &sides[0], HY_REASON_COST);
		return;
	}
	if (sides[0].ns < 0)
	{
		choice->candidate = sides[best_device].device;
		choice->device_ns = sides[best_device].ns;
		take(choice, &sides[best_device], HY_REASON_COST);
		return;
	}
	choice->candidate = sides[best_device].device;
	choice->device_ns = sides[best_device].ns;
	if (route->number == number && route->on_device && enter > 1.0)
		enter = 1.0;
	best = &sides[sides[0].ns >= enter * sides[best_device].ns ? best_device : 0];
	for (other = NULL, i = 0; i < count; i++)
	{
		if (&sides[i] != best && calm_of(executor, best, &sides[i]) < choice->calm)
			choice->calm = calm_of(executor, best, &sides[i]);
		if (&sides[i] != best && !executor->no_trials && worth_trying(executor, best, &sides[i]) &&
		    (other == NULL || sides[i].forecast.unseen > other->forecast.unseen))
			other = &sides[i];
	}
	if (other == NULL)
	{
		take(choice, best, HY_REASON_COST);
		return;
	}
	choice->instead_ns = best->ns;
	if (other->device != 0)
	{
		choice->candidate = other->device;
		choice->device_ns = other->ns;
	}
	take(choice, other, HY_REASON_EXPLORATION);
}

static Side
side_of(const HyExecutor *executor, const HyShape *shape, int32_t device)
{
	Side side = {.device = device,
	             .forecast = hy_tracker_forecast(executor->tracker, shape, device)};

	side.ns = hy_gauge_ns(executor, shape, device, side.forecast.ns);
	return side;
}

static bool
may_open(const HyMember *member, uint64_t now)
{
	return member->rent_ns >= (double) member->info.open_cost_ns && now >= member->open_after_ns;
}

/*
 * untried: a side of which nothing is known but perhaps a cold start, devices first; NULL when all
 * are known or hopeless.  The CPU, whose time grows with the task, waits a little for one that is as
 * small as any seen.
 */
static const Side *
untried(const HyExecutor *executor, const Side *sides, int count)
{
	const Side *found = NULL;
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
	        executor->regret_ns + regret <= REGRET_SHARE * executor->spent_ns);
}

/*
 * due_after: how many tasks of a kind pass a side by before it is due a trial.  Where both sides
 * are about even a trial costs little, and says most of where the one overtakes the other.
 */
static int32_t
due_after(const Side *best, const Side *other)
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
trial_loss(const Side *best, const Side *other)
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

/* worth_trying: rule 9, whether a side that is predicted to be worse could get this call. */
static bool
worth_trying(const HyExecutor *executor, const Side *best, const Side *other)
{
	double loss = trial_loss(best, other);

	return loss >= 0 && other->forecast.unseen >= due_after(best, other) &&
	       executor->regret_ns + loss <= REGRET_SHARE * executor->spent_ns;
}

/*
 * calm_of: how many tasks may go by without asking again whether a trial of the side is due and not
 * too dear, as long as the predictions stay what they are.
 */
static int32_t
calm_of(const HyExecutor *executor, const Side *best, const Side *other)
{
	double loss = trial_loss(best, other);
	int64_t left = due_after(best, other) - other->forecast.unseen;
	double until;

	if (loss < 0)
		return INT32_MAX;
	if (left > 0)
		return (int32_t) left;
	/* it is due, and too dear before so many calls like this one have been paid for */
	until = ((executor->regret_ns + loss) / REGRET_SHARE - executor->spent_ns) / best->ns;
	return !(until > TRY_STALE) ? TRY_STALE : until < INT32_MAX ? (int32_t) until : INT32_MAX;
}

static void
take(HyChoice *choice, const Side *side, HyReason reason)
{
	choice->device = side->device;
	choice->reason = reason;
}

/*
 * consider_split: rule 10, the candidate and the CPU at once.  The device's share is the one at
 * which both are predicted to end together, or what the user has fixed.  Where a split is asked for
 * and a side is not known, or by a cold start only, the split is the trial.
 */
static void
consider_split(const HyExecutor *executor, const HyShape *shape, bool asked_for, HyChoice *choice)
{
	const HyMember *member = &executor->member[choice->candidate];
	bool fixed = executor->config.split_percent >= 0;
	double gain = asked_for ? SPLIT_ASKED_GAIN : SPLIT_GAIN;
	bool known = choice->device_ns >= 0 && choice->cpu_ns >= 0;
	double better = choice->device_ns < choice->cpu_ns ? choice->device_ns : choice->cpu_ns;
	double low = 0;
	double high = 1;
	double device_ns;
	double cpu_ns;
	int i;

	if (!executor->cuts || !cpu_able(executor, shape) || hy_shape_extent(shape) < 2)
		return;
	/* a trial opens what is paid for, as it does without a split */
	if (member->device == NULL && choice->reason != HY_REASON_EXPLORATION)
		return;
	if (!asked_for && (!known || better < SPLIT_FROM_NS))
		return;
	if (asked_for && (hy_tracker_forecast(executor->tracker, shape, choice->candidate).cold ||
	                  hy_tracker_forecast(executor->tracker, shape, 0).cold))
		known = false;
	/* even where each side's time fell in proportion to its part, too little would be won */
	if (known && !fixed &&
	    choice->device_ns * choice->cpu_ns / (choice->device_ns + choice->cpu_ns) > gain * better)
		return;
	choice->share = 0.5;
	if (known)
	{
		for (i = 0; i < SPLIT_STEPS; i++)
		{
			double part = (low + high) / 2;

			if (part_ns(executor, shape, choice->candidate, part) >
			    part_ns(executor, shape, 0, 1 - part))
				high = part;
			else
				low = part;
		}
		choice->share = (low + high) / 2;
	}
	if (fixed)
		choice->share = executor->config.split_percent / 100.0;
	device_ns = part_ns(executor, shape, choice->candidate, choice->share);
	cpu_ns = part_ns(executor, shape, 0, 1 - choice->share);
	if (device_ns >= 0 && cpu_ns >= 0)
		choice->split_ns = SPLIT_JOIN_NS + (device_ns > cpu_ns ? device_ns : cpu_ns);
	choice->split = (asked_for && (fixed || !known)) ||
	                (choice->split_ns >= 0 && choice->split_ns <= gain * better);
}

/* part_ns: what a side is predicted to take for a part of a task, < 0: not known. */
static double
part_ns(const HyExecutor *executor, const HyShape *shape, int32_t device, double part)
{
	int64_t rows = (int64_t) ((double) hy_shape_extent(shape) * part + 0.5);
	HyShape piece = hy_shape_slice(shape, rows);

	if (rows <= 0)
		return 0;
	return side_of(executor, &piece, device).ns;
}

static HyStatus
refusal_status(HyReason reason)
{
	switch (reason)
	{
		case HY_REASON_UNRELIABLE:
			return HY_BUSY;
		case HY_REASON_MEMORY:
			return HY_NOMEM;
		default:
			return HY_UNSUPPORTED;
	}
}

static HyRoute *
route_slot(HyExecutor *executor, uint32_t number)
{
	return &executor->routes[(number * UINT32_C(2654435769)) >> 23];
}
