/*
 * decide.c
 *		Which side a task goes to: the rules in their order, each with its reason.
 *
 *	1	force_cpu, execution = cpu			the CPU
 *	2	gpu, a name, prefer_*				what was asked for; skips 5, 8 and 9, and opens at once
 *										(prefer_gpu waits after an open that failed)
 *	3	no device that this process can use	the CPU
 *	4	not in the device's capabilities	the CPU
 *	5	fewer items than the minimum		the CPU
 *	6	the breaker is open					the CPU
 *	7	more memory than the budget			the CPU
 *	8	not open yet: ski rental; open: the cheaper side by history, with hysteresis
 *	9	exploration: sides without history first, then now and then the other side
 *
 * With several devices the first in order that is able (rules 3 to 7) is weighed against the CPU.
 *
 * Exploring.  With no history the device is tried, then the CPU, each until one observation more
 * than its cold start is there; there is nothing yet to predict a loss from.  A device that only
 * refuses (busy, say) never gets a history: after the first refusal such tries count towards the
 * limit of 1% below, and end there.  With a history, the other side is tried after TRY_FEW calls of
 * the class while it has few observations, after TRY_STALE calls when it has; only if it is
 * predicted to take 1/4 to 4 times as long, and only while all that exploring ever lost stays below
 * 1% of the time spent.  A class that never ran on the device and is predicted from a smaller one
 * is predicted too high, since the launch is scaled along with the work; what it may take lies
 * between the smaller class's time and that time scaled by items, so the geometric mean is taken,
 * and there may be more to win than 4 times.
 */
#include "dispatch/executor_state.h"

#include <math.h>
#include <string.h>

#define TRY_FEW 8
#define TRY_STALE 256
#define FEW_SAMPLES 5
#define RATIO_LIMIT 4.0
#define REGRET_SHARE 0.01
#define FREE_SHARE 0.8
#define FREE_STALE_NS UINT64_C(100000000)

static void choose_cpu(HyChoice *choice, HyReason reason);
static int32_t named_device(const HyExecutor *executor, int32_t after);
static bool goes_by(const HyMember *member, const char *name);
static bool able(HyExecutor *executor, int32_t device, const HyTask *task, const HyShape *shape,
                 uint64_t now, bool skip_minimum, HyChoice *choice);
static bool fits_memory(HyExecutor *executor, HyMember *member, const HyShape *shape, uint64_t now,
                        bool forced, HyChoice *choice);
static bool cpu_able(const HyExecutor *executor, const HyShape *shape);
static void weigh(HyExecutor *executor, const HyShape *shape, uint64_t now, HyChoice *choice);
static bool worth_trying(const HyExecutor *executor, const HyForecast *best,
                         const HyForecast *other, uint32_t since, bool other_is_device);
static HyStatus refusal_status(HyReason reason);
static HyRoute *route_slot(HyExecutor *executor, uint32_t number);

void
hy_decide(HyExecutor *executor, const HyTask *task, const HyShape *shape, uint64_t now,
          HyChoice *choice)
{
	const HyConfig *config = &executor->config;
	bool skip_minimum = config->execution != HY_EXECUTION_AUTO;
	int32_t device = 0;
	int32_t found = 0;

	memset(choice, 0, sizeof(*choice));
	choice->cpu_ns = -1;
	choice->device_ns = -1;
	choice->instead_ns = -1;
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
		if (able(executor, device, task, shape, now, skip_minimum, choice))
		{
			found = device;
			break;
		}
	}
	if (found == 0)
	{
		/* A refusal names the device that it is about, where there is one. */
		if (choice->forced)
			choice->refusal = refusal_status(choice->reason);
		else
			choose_cpu(choice, choice->reason);
		return;
	}
	choice->why = NULL;
	choice->device = found;
	choice->candidate = found;
	choice->reason = HY_REASON_USER;
	if (config->execution == HY_EXECUTION_AUTO)
		weigh(executor, shape, now, choice);
	else if (config->execution == HY_EXECUTION_PREFER_GPU &&
	         executor->member[found].device == NULL && now < executor->member[found].open_after_ns)
		choose_cpu(choice, HY_REASON_NOT_OPEN);
	if (choice->device != 0 && choice->reason != HY_REASON_USER &&
	    executor->member[found].breakers[shape->op].state != HY_BREAKER_CLOSED)
		choice->reason = HY_REASON_PROBE;
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
	route->since_cpu = device == 0 ? 0 : route->since_cpu + 1;
	route->since_device = device != 0 ? 0 : route->since_device + 1;
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
		if (config->execution != HY_EXECUTION_NAMED ||
		    goes_by(&executor->member[i], config->backend_name))
			return i;
	}
	return 0;
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
	else if (hy_task_check(task) != HY_OK)
	{
		/* The CPU will say so as well; a backend shall not be asked about nonsense. */
		reason = HY_REASON_UNSUPPORTED;
		why = "the task contradicts itself";
	}
	else
	{
		HyCaps caps = member->backend->caps(member->device, shape);

		if (!caps.ok || shape->targets > caps.max_targets || shape->k > caps.max_k ||
		    (task->numeric_class == HY_CLASS_EXACT && caps.numeric_class != HY_CLASS_EXACT))
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
			reason = HY_REASON_UNRELIABLE;
			why = "it failed too often lately";
		}
		else if (!fits_memory(executor, member, shape, now, choice->forced, choice))
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

/*
 * fits_memory: rule 7.  Free memory is asked for at most every 100 ms: the question can cost more
 * than a task, and a wrong guess costs a fallback, no answer.
 */
static bool
fits_memory(HyExecutor *executor, HyMember *member, const HyShape *shape, uint64_t now, bool forced,
            HyChoice *choice)
{
	HyEstimate estimate = member->backend->estimate(member->device, shape);
	uint64_t available = UINT64_MAX;
	uint64_t total;

	if (member->device != NULL &&
	    (!member->free_known || now - member->free_at_ns >= FREE_STALE_NS) &&
	    !hy_executor_foreign(executor))
	{
		member->free_known =
			member->backend->mem_info(member->device, &member->free_bytes, &total) == HY_OK;
		member->free_at_ns = now;
	}
	if (member->device != NULL && member->free_known)
		available = (uint64_t) (FREE_SHARE * (double) member->free_bytes);
	else if (member->info.memory_free > 0)
		available = (uint64_t) (FREE_SHARE * (double) member->info.memory_free);
	if (executor->config.memory_limit > 0 && executor->config.memory_limit < available)
		available = executor->config.memory_limit;
	/* A size that was too much a moment ago is not tried again at once, unless the user insists. */
	if (!forced && member->refused_bytes > 0 && now < member->refused_until_ns &&
	    available >= member->refused_bytes)
		available = member->refused_bytes - 1;
	choice->bytes_required = estimate.device_bytes;
	choice->bytes_available = available;
	return estimate.device_bytes <= available;
}

static bool
cpu_able(const HyExecutor *executor, const HyShape *shape)
{
	const HyMember *cpu = &executor->member[0];

	return cpu->backend->caps(cpu->device, shape).ok;
}

/* weigh: rules 8 and 9, the candidate against the CPU. */
static void
weigh(HyExecutor *executor, const HyShape *shape, uint64_t now, HyChoice *choice)
{
	const HyMember *member = &executor->member[choice->candidate];
	uint32_t number = hy_shape_class(shape);
	const HyRoute *route = route_slot(executor, number);
	const HyRoute fresh = {0};
	HyForecast cpu = hy_tracker_forecast(executor->tracker, shape, 0);
	HyForecast device = hy_tracker_forecast(executor->tracker, shape, choice->candidate);
	double enter = executor->config.speedup_threshold;
	double ratio;
	bool on_device;

	choice->cpu_ns = cpu.ns;
	choice->device_ns = device.ns;
	if (member->device == NULL &&
	    (member->rent_ns < (double) member->info.open_cost_ns || now < member->open_after_ns))
	{
		choose_cpu(choice, HY_REASON_NOT_OPEN);
		return;
	}
	choice->reason = HY_REASON_EXPLORATION;
	if (device.ns < 0 || device.cold)
	{
		choice->instead_ns = cpu.ns;
		if (route->number == number && route->refused && cpu.ns >= 0 && !cpu.cold &&
		    executor->regret_ns > REGRET_SHARE * executor->spent_ns)
			choose_cpu(choice, HY_REASON_COST);
		return;
	}
	if (cpu.ns < 0 || cpu.cold)
	{
		choose_cpu(choice, HY_REASON_EXPLORATION);
		choice->instead_ns = device.ns;
		return;
	}

	if (route->number != number)
		route = &fresh;
	/* A time of 0 is a clock that stood still; it must not divide. */
	ratio = cpu.ns / (device.ns > 1 ? device.ns : 1);
	on_device = ratio >= (route->on_device && enter > 1.0 ? 1.0 : enter);
	if (worth_trying(executor, on_device ? &device : &cpu, on_device ? &cpu : &device,
	                 on_device ? route->since_cpu : route->since_device, !on_device))
	{
		choice->instead_ns = on_device ? device.ns : cpu.ns;
		if (on_device)
			choose_cpu(choice, HY_REASON_EXPLORATION);
		return;
	}
	choice->reason = HY_REASON_COST;
	if (!on_device)
		choose_cpu(choice, HY_REASON_COST);
}

/* worth_trying: rule 9, whether the side that is predicted to be worse gets this call. */
static bool
worth_trying(const HyExecutor *executor, const HyForecast *best, const HyForecast *other,
             uint32_t since, bool other_is_device)
{
	double expected = other->ns;
	double regret;

	if (since < (other->samples < FEW_SAMPLES ? TRY_FEW : TRY_STALE))
		return false;
	if (other_is_device && other->samples == 0 && other->steps > 0)
		expected /= sqrt((double) (UINT64_C(1) << other->steps));
	else if (expected * RATIO_LIMIT < best->ns)
		return false;
	if (expected > best->ns * RATIO_LIMIT)
		return false;
	regret = expected > best->ns ? expected - best->ns : 0;
	return executor->regret_ns + regret <= REGRET_SHARE * executor->spent_ns;
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
