/*
 * decide.c
 *		Chooses where a task runs.
 *
 * The rules apply in the order of their numbers, with one exception: the first part of rule 9, the
 * trial of a side without history, comes before rule 8 compares the times.  (A side is the CPU or a
 * device.)
 *
 *	1	force_cpu, execution = cpu			the CPU
 *	2	gpu, a name, prefer_*				the CPU or device requested, opened at once; skips 5 and
 *										8 to 10 (for some time after a failed open or a failed
 *										wait for a slot in the queue, prefer_gpu uses the CPU)
 *	3	no device that this process can use	the CPU
 *	4	not in the device's capabilities	the CPU
 *	5	fewer items than the minimum		the CPU (execution = split skips this rule)
 *	6	the breaker is open					the CPU
 *	7	more memory than the budget			in pieces; the CPU if even the smallest does not fit
 *	8	a device that is not open is opened only when its ski rental is paid; of the CPU and the
 *		open devices, the fastest by history is chosen, with hysteresis
 *	9	exploration: sides without history are tried first, others occasionally (trials.h)
 *	10	split: device and CPU at once, if that is predicted to take at most 0.9 of the time of the
 *		faster of the two.  If the user asked for a split, the limit is 0.95, because errors of the
 *		prediction could cancel a smaller gain.  A requested split is always made if the user fixed
 *		the shares.  It is also made while the CPU or the device has no history, instead of rule 9.
 *
 * Ski rental: a device opens when the tasks that it could have run have cost the CPU as much time as
 * opening the device takes (hy_open_credit_add).
 *
 * If execution is gpu or the name of a device's backend, rules 3, 4, 6 and 7 refuse the task
 * instead of giving it to the CPU.
 *
 * Each device that rules 3 to 7 allow takes part in rules 8 and 9.  It is rated by its predicted
 * time plus the work that waits or is in flight there.  Of several devices without a prediction, the
 * one with the least such work is tried.
 */
#include "dispatch/route/decide.h"

#include <stdio.h>
#include <string.h>

#include "dispatch/route/able.h"
#include "dispatch/route/session.h"
#include "dispatch/route/splitting.h"
#include "dispatch/route/trials.h"

/* Sides: the CPU and the devices among which rules 8 and 9 choose. */
typedef struct Sides
{
	HySide side[HY_MAX_DEVICES]; /* the CPU, then the devices that are open or may open now */
	int count;
	int fastest;   /* the fastest device in side[] that has a prediction, or 0 */
	HySide closed; /* the fastest device that is closed and must stay so for now; number 0: none */
} Sides;

static void choice_init(HyChoice *choice);
static void choose_cpu(HyChoice *choice, HyReason reason);
static bool cpu_requested(const HyExecutor *executor, const HyShape *shape);
static void choose_none(HyChoice *choice);
static void
choose_preferred(HyExecutor *executor, const HyShape *shape, uint64_t now, HyChoice *choice);
static void weigh(HyExecutor *executor, const HyShape *shape, uint64_t now, HyChoice *choice);
static void collect_sides(const HyExecutor *executor, const HyShape *shape, uint64_t now,
                          uint32_t devices, Sides *sides);
static void explore(const HyExecutor *executor, const HyRoute *route, const Sides *sides,
                    const HySide *untried, HyChoice *choice);
static const HySide *
faster_side(const HyExecutor *executor, const HyRoute *route, const Sides *sides);
static const HySide *
trial_side(HyExecutor *executor, const Sides *sides, const HySide *best, HyChoice *choice);
static bool may_open(const HyMember *member, uint64_t now);
static void take(HyChoice *choice, const HySide *side, HyReason reason);
static HyStatus refusal_status(HyReason reason);
static HyRoute *route_slot(HyExecutor *executor, uint32_t number);

void
hy_decide(HyExecutor *executor, const HyShape *shape, HyClass numeric_class, uint64_t now,
          HyChoice *choice)
{
	const HyConfig *config = &executor->config;
	bool automatic =
		config->execution == HY_EXECUTION_AUTO || config->execution == HY_EXECUTION_SPLIT;

	choice_init(choice);
	if (cpu_requested(executor, shape))
	{
		choose_cpu(choice, HY_REASON_USER);
		return;
	}
	choice->forced =
		config->execution == HY_EXECUTION_GPU || config->execution == HY_EXECUTION_NAMED;
	choice->candidate = hy_find_devices(executor, shape, numeric_class, now, choice);
	if (choice->candidate == 0)
	{
		choose_none(choice);
		return;
	}
	choice->number = hy_shape_class(shape);
	choice->device = choice->candidate;
	choice->reason = HY_REASON_USER;
	if (automatic)
		weigh(executor, shape, now, choice);
	else if (config->execution == HY_EXECUTION_PREFER_GPU)
		choose_preferred(executor, shape, now, choice);
	/*
	 * The memory figures in the choice are those of the last device examined.  Replace them by
	 * those of the candidate.
	 */
	if (choice->candidate != 0)
		(void) hy_fits_memory(executor, choice->candidate, shape, now, choice);
	/*
	 * If the breaker of the device is not closed, the task is a probe, whatever rule chose the
	 * device.
	 */
	if (choice->device != 0 &&
	    executor->member[choice->device].breakers[shape->op].state != HY_BREAKER_CLOSED)
		choice->reason = HY_REASON_PROBE;
	if (automatic && choice->device != 0 && choice->reason == HY_REASON_PROBE)
		return;
	if (automatic && choice->candidate != 0 &&
	    (choice->reason != HY_REASON_EXPLORATION || config->execution == HY_EXECUTION_SPLIT))
		hy_consider_split(executor, shape, config->execution == HY_EXECUTION_SPLIT, choice);
}

void
hy_route_note(HyExecutor *executor, uint32_t number, int32_t device, HyReason reason, bool fallback)
{
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

void
hy_decision_begin(const HyExecutor *executor, uint64_t now, HyDecision *decision)
{
	decision->time_ns = now;
	decision->items = hy_shape_items(&decision->shape);
	decision->execution =
		executor->config.force_cpu ? HY_EXECUTION_CPU : executor->config.execution;
	if (decision->execution == HY_EXECUTION_NAMED)
		memcpy(decision->named, executor->config.backend_name, sizeof(decision->named));
	decision->device = 0;
	decision->reason = HY_REASON_USER;
	decision->fallback = false;
	decision->status = HY_OK;
	decision->failure.native_code = 0;
	decision->failure.text[0] = '\0';
	decision->predicted_cpu_ns = -1;
	decision->predicted_device_ns = -1;
	decision->actual_ns = 0;
	decision->virtual_time = false;
	decision->bytes_required = 0;
	decision->bytes_available = 0;
	decision->load = executor->load.runnable;
	decision->queue = -1;
	decision->split_share = -1;
	decision->pieces = 0;
}

void
hy_decision_describe(const HyChoice *choice, HyDecision *decision)
{
	decision->device = choice->device;
	decision->reason = choice->reason;
	decision->predicted_cpu_ns = choice->cpu_ns;
	decision->predicted_device_ns = choice->device_ns;
	decision->bytes_required = choice->bytes_required;
	decision->bytes_available = choice->bytes_available;
	if (choice->split)
	{
		decision->split_share = choice->share;
		decision->device = choice->candidate;
		decision->reason = HY_REASON_SPLIT;
	}
	decision->status = choice->refusal;
	if (choice->missed != NULL)
		hy_member_failure(choice->missed, &decision->failure);
	if (choice->refusal == HY_OK || choice->missed != NULL)
		return;
	/* without a reason, no device has this name */
	if (choice->why == NULL && decision->execution == HY_EXECUTION_NAMED)
		snprintf(decision->failure.text, sizeof(decision->failure.text),
		         "no backend is called \"%s\"", decision->named);
	else
		snprintf(decision->failure.text, sizeof(decision->failure.text), "%s",
		         choice->why != NULL ? choice->why : "there is none");
}

void
hy_open_credit_add(HyExecutor *executor, int32_t device, double cpu_ns, double device_ns)
{
	HyMember *member = &executor->member[device];
	double cost = (double) member->info.open_cost_ns;
	double saved = device_ns >= 0 ? cpu_ns - device_ns : cpu_ns;

	if (!(saved > 0))
		return;
	if (member->open_credit_ns < cost && member->open_credit_ns + saved >= cost)
		executor->generation++;
	member->open_credit_ns += saved;
}

static void
choice_init(HyChoice *choice)
{
	memset(choice, 0, sizeof(*choice));
	choice->cpu_ns = -1;
	choice->device_ns = -1;
	choice->instead_ns = -1;
	choice->split_ns = -1;
	choice->tasks_until_trial = INT32_MAX;
	choice->holds_ns = UINT64_MAX;
	choice->reason = HY_REASON_NO_DEVICE;
}

static void
choose_cpu(HyChoice *choice, HyReason reason)
{
	choice->device = 0;
	choice->reason = reason;
}

/* cpu_requested: return whether rule 1 or 2 sends the task to the CPU. */
static bool
cpu_requested(const HyExecutor *executor, const HyShape *shape)
{
	const HyConfig *config = &executor->config;

	if (config->force_cpu || config->execution == HY_EXECUTION_CPU)
		return true;
	if (config->execution == HY_EXECUTION_NAMED)
		return strcmp(config->backend_name, executor->member[0].name) == 0;
	return config->execution == HY_EXECUTION_PREFER_CPU && hy_cpu_able(executor, shape);
}

/* choose_none: refuse the task if it must run on a device, otherwise choose the CPU. */
static void
choose_none(HyChoice *choice)
{
	if (choice->forced)
		choice->refusal = refusal_status(choice->reason);
	else
		choose_cpu(choice, choice->reason);
}

/*
 * choose_preferred: apply rule 2 to prefer_gpu.  For some time after the device could not be
 * opened, or after a failed wait for a slot in its queue, choose the CPU instead.
 */
static void
choose_preferred(HyExecutor *executor, const HyShape *shape, uint64_t now, HyChoice *choice)
{
	const HyMember *member = &executor->member[choice->candidate];

	if (member->device == NULL && now < member->open_after_ns)
		choose_cpu(choice, HY_REASON_NOT_OPEN);
	else if (now < member->missed_turn_until_ns && hy_cpu_able(executor, shape))
		choose_cpu(choice, HY_REASON_COST);
}

/*
 * weigh: apply rules 8 and 9 to the CPU and the devices that passed rules 3 to 7.  A side without
 * history is tried (rule 9) before the times are compared (rule 8).
 */
static void
weigh(HyExecutor *executor, const HyShape *shape, uint64_t now, HyChoice *choice)
{
	Sides sides;
	const HySide *best;
	const HySide *other;
	const HyRoute *route = route_slot(executor, choice->number);

	if (route->number != choice->number)
		route = NULL;
	collect_sides(executor, shape, now, choice->devices, &sides);
	choice->cpu_ns = sides.side[0].ns;
	if (sides.count == 1)
	{
		choice->candidate = sides.closed.device;
		choice->device_ns = sides.closed.ns;
		choose_cpu(choice, HY_REASON_NOT_OPEN);
		return;
	}
	other = hy_untried(executor, sides.side, sides.count);
	if (other != NULL)
	{
		explore(executor, route, &sides, other, choice);
		return;
	}
	/* no device has a prediction, and hy_untried found none worth a trial */
	if (sides.fastest == 0)
	{
		choice->candidate = sides.side[1].device;
		take(choice, &sides.side[0], HY_REASON_COST);
		return;
	}
	choice->candidate = sides.side[sides.fastest].device;
	choice->device_ns = sides.side[sides.fastest].ns;
	if (sides.side[0].ns < 0)
	{
		take(choice, &sides.side[sides.fastest], HY_REASON_COST);
		return;
	}
	best = faster_side(executor, route, &sides);
	other = trial_side(executor, &sides, best, choice);
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

/* collect_sides: predict the times of the CPU and of the devices in the set. */
static void
collect_sides(const HyExecutor *executor, const HyShape *shape, uint64_t now, uint32_t devices,
              Sides *sides)
{
	HySide *closed = &sides->closed;
	int32_t d;

	sides->side[0] = hy_gauge_side(executor, shape, 0);
	sides->count = 1;
	sides->fastest = 0;
	*closed = (HySide){.device = 0};
	for (d = 1; d < executor->members; d++)
	{
		const HyMember *member = &executor->member[d];
		HySide side;

		if (!(devices >> d & 1))
			continue;
		side = hy_gauge_side(executor, shape, d);
		if (member->device != NULL || may_open(member, now))
		{
			sides->side[sides->count] = side;
			if (side.ns >= 0 && (sides->fastest == 0 || side.ns < sides->side[sides->fastest].ns))
				sides->fastest = sides->count;
			sides->count++;
		}
		else if (closed->device == 0 || (side.ns >= 0 && (closed->ns < 0 || side.ns < closed->ns)))
			*closed = side;
	}
}

/*
 * explore: try a side without history.  But choose the CPU if it is the best known side, an earlier
 * trial of this kind of task was refused, and trials have used up their share of the time.  `route`
 * is NULL if nothing is known of this kind of task.
 */
static void
explore(const HyExecutor *executor, const HyRoute *route, const Sides *sides, const HySide *untried,
        HyChoice *choice)
{
	const HySide *shown = untried->device != 0 ? untried : &sides->side[sides->fastest];
	const HySide *best = NULL;
	int i;

	for (i = 0; i < sides->count; i++)
	{
		const HySide *side = &sides->side[i];

		if (side->ns >= 0 && !side->forecast.cold && (best == NULL || side->ns < best->ns))
			best = side;
	}
	choice->candidate = shown->device;
	choice->device_ns = shown->ns;
	choice->instead_ns = best != NULL ? best->ns : -1;
	if (untried->device != 0 && best != NULL && best->device == 0 && route != NULL &&
	    route->refused && executor->regret_ns > HY_REGRET_SHARE * executor->spent_ns)
		take(choice, best, HY_REASON_COST);
	else
		take(choice, untried, HY_REASON_EXPLORATION);
}

/* faster_side: return the CPU or the fastest device, whichever is faster, with hysteresis. */
static const HySide *
faster_side(const HyExecutor *executor, const HyRoute *route, const Sides *sides)
{
	double enter = executor->config.speedup_threshold;

	if (route != NULL && route->on_device && enter > 1.0)
		enter = 1.0;
	return &sides->side[sides->side[0].ns >= enter * sides->side[sides->fastest].ns ? sides->fastest
	                                                                                : 0];
}

/*
 * trial_side: return a side other than `best` whose trial is due, or NULL if there is none.  Of
 * several, return the one that has missed the most tasks of the kind since it last ran one.  Also
 * sets choice->tasks_until_trial.
 */
static const HySide *
trial_side(HyExecutor *executor, const Sides *sides, const HySide *best, HyChoice *choice)
{
	const HySide *found = NULL;
	int i;

	for (i = 0; i < sides->count; i++)
	{
		const HySide *side = &sides->side[i];
		int32_t tasks;

		if (side == best)
			continue;
		tasks = hy_tasks_until_trial(executor, best, side);
		if (tasks < choice->tasks_until_trial)
			choice->tasks_until_trial = tasks;
		if (!executor->no_trials && hy_worth_trying(executor, best, side) &&
		    (found == NULL || side->forecast.unseen > found->forecast.unseen))
			found = side;
	}
	return found;
}

static bool
may_open(const HyMember *member, uint64_t now)
{
	return member->open_credit_ns >= (double) member->info.open_cost_ns &&
	       now >= member->open_after_ns;
}

static void
take(HyChoice *choice, const HySide *side, HyReason reason)
{
	choice->device = side->device;
	choice->reason = reason;
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
