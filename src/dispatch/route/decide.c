/*
 * decide.c
 *		Chooses the side of a task: the rules in their order, each with its reason.
 *
 *	1	force_cpu, execution = cpu			the CPU
 *	2	gpu, a name, prefer_*				the requested side, opened at once; skips 5, 8 and 9
 *										(prefer_gpu waits after a failed open, and after a turn
 *										in the queue that never came)
 *	3	no device that this process can use	the CPU
 *	4	not in the device's capabilities	the CPU
 *	5	fewer items than the minimum		the CPU (execution = split skips this rule)
 *	6	the breaker is open					the CPU
 *	7	more memory than the budget			in pieces, or the CPU if even the smallest does not fit
 *	8	not open yet: ski rental; open: the fastest side by history, with hysteresis
 *	9	exploration: first sides without history, then an occasional trial of another side (trials.h)
 *	10	split: device and CPU at once, if that is predicted to take at most 0.9 of the better side's
 *		time.  If the user asked for a split, the limit is 0.95, since the error of the prediction
 *		could cancel a smaller gain.  A requested split is always made if the user fixed the shares.
 *		It is also made while a side has no history, and then replaces rule 9
 *
 * With several devices, each device that rules 3 to 7 allow takes part in rules 8 and 9.  It is
 * rated by its predicted time plus the work in flight there.  Without a prediction, the device with
 * the least work in flight is chosen.
 */
#include "dispatch/route/decide.h"

#include <stdio.h>
#include <string.h>

#include "dispatch/model/slice.h"
#include "dispatch/route/budget.h"
#include "dispatch/route/gauge.h"
#include "dispatch/route/session.h"
#include "dispatch/route/splitting.h"
#include "dispatch/route/trials.h"

#define MOST_PIECES 1024 /* smaller pieces would spend most of their time starting */

/* Sides: what rules 8 and 9 choose from. */
typedef struct Sides
{
	HySide side[HY_MAX_DEVICES]; /* the CPU, then the devices that are open or may be opened now */
	int count;
	int fastest;   /* the fastest device in side[] that has a prediction, or 0 */
	HySide closed; /* the fastest device that may not be opened yet; number 0 if there is none */
} Sides;

static void choice_init(HyChoice *choice);
static void choose_cpu(HyChoice *choice, HyReason reason);
static bool cpu_requested(const HyExecutor *executor, const HyShape *shape);
static int32_t find_devices(HyExecutor *executor, const HyTask *task, const HyShape *shape,
                            uint64_t now, HyChoice *choice);
static void choose_none(const HyExecutor *executor, HyChoice *choice);
static void
choose_preferred(HyExecutor *executor, const HyShape *shape, uint64_t now, HyChoice *choice);
static int32_t named_device(const HyExecutor *executor, int32_t after);
static bool may_be_meant(const HyConfig *config, const HyMember *member);
static bool goes_by(const HyMember *member, const char *name);
static const char *why_none(const HyExecutor *executor, const HyChoice *choice);
static const HyMember *told_of(const HyExecutor *executor, const HyChoice *choice);
static bool able(HyExecutor *executor, int32_t device, const HyTask *task, const HyShape *shape,
                 uint64_t now, bool skip_minimum, HyChoice *choice);
static bool fits_memory(HyExecutor *executor, HyMember *member, const HyShape *shape, uint64_t now,
                        HyChoice *choice);
static bool cpu_able(const HyExecutor *executor, const HyShape *shape);
static void weigh(HyExecutor *executor, const HyShape *shape, uint64_t now, HyChoice *choice);
static void collect_sides(const HyExecutor *executor, const HyShape *shape, uint64_t now,
                          uint32_t devices, Sides *sides);
static void explore(const HyExecutor *executor, const HyRoute *route, const Sides *sides,
                    const HySide *untried, HyChoice *choice);
static const HySide *
faster_side(const HyExecutor *executor, const HyRoute *route, const Sides *sides);
static const HySide *
trial_side(HyExecutor *executor, const Sides *sides, const HySide *best, HyChoice *choice);
static HySide side_of(const HyExecutor *executor, const HyShape *shape, int32_t device);
static bool may_open(const HyMember *member, uint64_t now);
static void take(HyChoice *choice, const HySide *side, HyReason reason);
static HyStatus refusal_status(HyReason reason);
static HyRoute *route_slot(HyExecutor *executor, uint32_t number);

void
hy_decide(HyExecutor *executor, const HyTask *task, const HyShape *shape, uint64_t now,
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
	choice->candidate = find_devices(executor, task, shape, now, choice);
	if (choice->candidate == 0)
	{
		choose_none(executor, choice);
		return;
	}
	choice->why = NULL;
	choice->device = choice->candidate;
	choice->reason = HY_REASON_USER;
	if (automatic)
		weigh(executor, shape, now, choice);
	else if (config->execution == HY_EXECUTION_PREFER_GPU)
		choose_preferred(executor, shape, now, choice);
	/*
	 * The memory figures belong to the last device examined, so compute them again for the
	 * candidate.
	 */
	if (choice->candidate != 0)
		(void) fits_memory(executor, &executor->member[choice->candidate], shape, now, choice);
	/*
	 * If the breaker is not closed, the task is the probe of the device, whatever rule chose the
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

void
hy_decision_begin(const HyExecutor *executor, const HyShape *shape, uint64_t now,
                  HyDecision *decision)
{
	decision->time_ns = now;
	decision->shape = *shape;
	decision->items = hy_shape_items(shape);
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
	/* no device has this name; otherwise the device would have given a reason */
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

bool
hy_device_meant(const HyExecutor *executor, int32_t device)
{
	const HyMember *member = &executor->member[device];

	return !hy_left_out(&executor->config, member) && may_be_meant(&executor->config, member);
}

bool
hy_executor_called(const HyExecutor *executor, int32_t device, const char *name)
{
	return goes_by(&executor->member[device], name);
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

/* cpu_requested: return whether rules 1 and 2 give the task to the CPU. */
static bool
cpu_requested(const HyExecutor *executor, const HyShape *shape)
{
	const HyConfig *config = &executor->config;

	if (config->force_cpu || config->execution == HY_EXECUTION_CPU)
		return true;
	if (config->execution == HY_EXECUTION_NAMED)
		return strcmp(config->backend_name, executor->member[0].name) == 0;
	return config->execution == HY_EXECUTION_PREFER_CPU && cpu_able(executor, shape);
}

/*
 * find_devices: apply rules 3 to 7 to every device that the settings allow, and set
 * choice->devices and choice->unable.  Returns the able device with the least work in flight.  If
 * no device is able, returns 0, and the choice has the reason of the device that passed the most
 * rules.
 */
static int32_t
find_devices(HyExecutor *executor, const HyTask *task, const HyShape *shape, uint64_t now,
             HyChoice *choice)
{
	bool skip_minimum = executor->config.execution != HY_EXECUTION_AUTO;
	int32_t device = 0;
	int32_t found = 0;

	while ((device = named_device(executor, device)) != 0)
	{
		if (!able(executor, device, task, shape, now, skip_minimum, choice))
		{
			choice->unable |= UINT32_C(1) << device;
			continue;
		}
		choice->devices |= UINT32_C(1) << device;
		if (found == 0 || hy_gauge_less(executor, device, found))
			found = device;
	}
	return found;
}

/* choose_none: refuse the task if it must run on a device, otherwise give it to the CPU. */
static void
choose_none(const HyExecutor *executor, HyChoice *choice)
{
	choice->why = why_none(executor, choice);
	choice->missed = told_of(executor, choice);
	if (choice->forced)
		choice->refusal = refusal_status(choice->reason);
	else
		choose_cpu(choice, choice->reason);
}

/*
 * choose_preferred: let the CPU take a task that prefers the candidate, while the candidate waits
 * after a failed open or after a turn in the queue that never came.
 */
static void
choose_preferred(HyExecutor *executor, const HyShape *shape, uint64_t now, HyChoice *choice)
{
	const HyMember *member = &executor->member[choice->candidate];

	if (member->device == NULL && now < member->open_after_ns)
		choose_cpu(choice, HY_REASON_NOT_OPEN);
	else if (now < member->taken_until_ns && cpu_able(executor, shape))
		choose_cpu(choice, HY_REASON_COST);
}

/*
 * named_device: return the next device after this one that the settings allow; 0 when there is
 * none.
 */
static int32_t
named_device(const HyExecutor *executor, int32_t after)
{
	int32_t i;

	for (i = after + 1; i < executor->members; i++)
	{
		/*
		 * A plug-in that could not be loaded has no devices, but its entry still supplies the
		 * reason.
		 */
		if (hy_device_meant(executor, i))
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
 * goes_by: return whether a device has this name.  For a plug-in that could not be loaded, only the
 * file name is known, such as hybrid_cuda.  The part after the last underscore then counts as its
 * name.
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
 * why_none: explain why no device can be used.  If a device exists but the settings leave it out,
 * that explanation is preferred to one about a plug-in without a device.
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
 * told_of: return the device whose reason the decision should report, if choice->why is the reason
 * of a device.  The reason is reported if the settings ask for a device, or if a driver exists and
 * failed.  Otherwise returns NULL, because a machine without a card is a normal case.
 */
static const HyMember *
told_of(const HyExecutor *executor, const HyChoice *choice)
{
	const HyMember *member = &executor->member[choice->device];

	if (choice->device == 0 || choice->why != member->why)
		return NULL;
	return hy_device_asked(&executor->config) || (member->native_code != 0 && !member->absent)
	           ? member
	           : NULL;
}

/*
 * able: apply rules 3 to 7 to one device.  If a rule excludes the device, choice->reason becomes
 * that rule, unless an earlier device passed more rules.
 */
static bool
able(HyExecutor *executor, int32_t device, const HyTask *task, const HyShape *shape, uint64_t now,
     bool skip_minimum, HyChoice *choice)
{
	HyMember *member = &executor->member[device];
	const uint64_t required = choice->bytes_required;
	const uint64_t available = choice->bytes_available;
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
		/*
		 * The CPU backend reports this too.  A device backend must not be asked about an invalid
		 * task.
		 */
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
	else
	{
		/* keep the memory figures of the device that choice->reason is about */
		choice->bytes_required = required;
		choice->bytes_available = available;
	}
	return false;
}

/* fits_memory: apply rule 7, for the whole task or in pieces. */
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

/* weigh: apply rules 8 and 9 to the CPU and the devices that passed rules 3 to 7. */
static void
weigh(HyExecutor *executor, const HyShape *shape, uint64_t now, HyChoice *choice)
{
	Sides sides;
	const HySide *best;
	const HySide *other;
	uint32_t number = hy_shape_class(shape);
	const HyRoute *route = route_slot(executor, number);

	if (route->number != number)
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
	/* No device has a prediction, and hy_untried found none of them worth a trial. */
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

	sides->side[0] = side_of(executor, shape, 0);
	sides->count = 1;
	sides->fastest = 0;
	*closed = (HySide){.device = 0};
	for (d = 1; d < executor->members; d++)
	{
		const HyMember *member = &executor->member[d];
		HySide side;

		if (!(devices >> d & 1))
			continue;
		side = side_of(executor, shape, d);
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
 * explore: try a side without history.  If an earlier trial of this kind of task was refused and
 * the trials have used up their share of the time, the best known side takes the task if it is the
 * CPU.  route is NULL if nothing is known of this kind of task.
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

/* faster_side: return the CPU or the fastest device, with hysteresis. */
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
 * trial_side: return the side other than the best whose trial is due and has waited longest, or
 * NULL.  Also sets choice->tasks_until_trial.
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

static HySide
side_of(const HyExecutor *executor, const HyShape *shape, int32_t device)
{
	HySide side = {.device = device,
	               .forecast = hy_tracker_forecast(executor->tracker, shape, device)};

	side.ns = hy_gauge_ns(executor, shape, device, side.forecast.ns);
	return side;
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
