/*
 * able.c
 *		Finds out whether the CPU and which devices may run a task: see able.h.
 */
#include "dispatch/route/able.h"

#include <string.h>

#include "dispatch/model/slice.h"
#include "dispatch/route/budget.h"
#include "dispatch/route/gauge.h"
#include "dispatch/route/session.h"

#define MOST_PIECES 1024 /* with more pieces, most of the time would be start costs */

static int32_t named_device(const HyExecutor *executor, int32_t after);
static bool may_be_meant(const HyConfig *config, const HyMember *member);
static bool goes_by(const HyMember *member, const char *name);
static const char *why_none(const HyExecutor *executor, const HyChoice *choice);
static const HyMember *reported_device(const HyExecutor *executor, const HyChoice *choice);
static bool able(HyExecutor *executor, int32_t device, const HyShape *shape, HyClass numeric_class,
                 uint64_t now, bool skip_minimum, HyChoice *choice);

int32_t
hy_find_devices(HyExecutor *executor, const HyShape *shape, HyClass numeric_class, uint64_t now,
                HyChoice *choice)
{
	bool skip_minimum = executor->config.execution != HY_EXECUTION_AUTO;
	int32_t device = 0;
	int32_t found = 0;

	while ((device = named_device(executor, device)) != 0)
	{
		if (!able(executor, device, shape, numeric_class, now, skip_minimum, choice))
		{
			choice->unable |= UINT32_C(1) << device;
			continue;
		}
		choice->devices |= UINT32_C(1) << device;
		if (found == 0 || hy_gauge_less(executor, device, found))
			found = device;
	}
	if (found == 0)
	{
		choice->why = why_none(executor, choice);
		choice->missed = reported_device(executor, choice);
	}
	else
		choice->why = NULL;
	return found;
}

bool
hy_cpu_able(const HyExecutor *executor, const HyShape *shape)
{
	const HyMember *cpu = &executor->member[0];

	return cpu->backend->caps(cpu->device, shape).ok;
}

bool
hy_fits_memory(HyExecutor *executor, int32_t device, const HyShape *shape, uint64_t now,
               HyChoice *choice)
{
	HyMember *member = &executor->member[device];
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

bool
hy_side_able(HyExecutor *executor, const HyShape *shape, uint64_t now, int32_t device)
{
	HyChoice scratch = {.device = 0};

	if (device == 0)
		return hy_cpu_able(executor, shape);
	return able(executor, device, shape, HY_CLASS_EXACT, now,
	            executor->config.execution != HY_EXECUTION_AUTO, &scratch);
}

bool
hy_side_can(HyExecutor *executor, const HyShape *shape, int32_t device)
{
	HyMember *member = &executor->member[device];
	HyChoice scratch = {.device = 0};
	HyCaps caps;

	if (device == 0)
		return hy_cpu_able(executor, shape);
	if (member->backend == NULL || member->latched || executor->foreign)
		return false;
	caps = member->backend->caps(member->device, shape);
	return caps.ok && shape->targets <= caps.max_targets && shape->k <= caps.max_k &&
	       caps.numeric_class == HY_CLASS_EXACT &&
	       hy_fits_memory(executor, device, shape, hy_now(executor), &scratch);
}

bool
hy_side_fits(HyExecutor *executor, const HyShape *shape, int32_t device)
{
	HyChoice scratch = {.device = 0};

	return device == 0 || (hy_fits_memory(executor, device, shape, hy_now(executor), &scratch) &&
	                       !scratch.chunked);
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

/* named_device: return the next device after `after` that the settings allow; 0: none. */
static int32_t
named_device(const HyExecutor *executor, int32_t after)
{
	int32_t i;

	for (i = after + 1; i < executor->members; i++)
	{
		/* Do not skip a plug-in that could not be loaded: its entry has the reason.  */
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
 * goes_by: return whether the backend of a device has this name.  Of a plug-in that could not be
 * loaded, only the file name is known, such as hybrid_cuda.  The part after the last underscore
 * then counts as the name.
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
 * why_none: explain why no device can be used.  Return choice->why if it is about a device that
 * exists.  Otherwise, if hybrid.gpu_device leaves out a device, say so: this is more useful than
 * the reason why a plug-in could not be loaded.
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
 * reported_device: return the device that choice->why is about, if the decision should report it;
 * else NULL.  An unusable device is reported if the settings ask for a device, or if a driver
 * exists and failed.  A machine without a card is normal and is not reported.
 */
static const HyMember *
reported_device(const HyExecutor *executor, const HyChoice *choice)
{
	const HyMember *member = &executor->member[choice->device];

	if (choice->device == 0 || choice->why != member->why)
		return NULL;
	return hy_device_asked(&executor->config) || (member->native_code != 0 && !member->absent)
	           ? member
	           : NULL;
}

/*
 * able: return whether rules 3 to 7 allow the task on one device.  If a rule excludes the device,
 * choice->reason becomes the reason of that rule, unless an earlier device passed at least as many
 * rules.
 */
static bool
able(HyExecutor *executor, int32_t device, const HyShape *shape, HyClass numeric_class,
     uint64_t now, bool skip_minimum, HyChoice *choice)
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
	else
	{
		HyCaps caps = member->backend->caps(member->device, shape);

		if (!caps.ok || shape->targets > caps.max_targets || shape->k > caps.max_k ||
		    (numeric_class == HY_CLASS_EXACT && caps.numeric_class != HY_CLASS_EXACT))
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
		else if (!hy_fits_memory(executor, device, shape, now, choice))
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
