/*
 * executor.c
 *		Creates and destroys an executor, adds its devices, and gives the views access to them.
 *
 * The CPU is member 0 and is always open.  A device is opened when the dispatcher first needs it.
 * Open contexts belong to the process that created the executor.  A forked process inherits the
 * structures but must not use a context, not even to close it.
 */
#define _POSIX_C_SOURCE 200809L

#include "dispatch/run/executor.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dispatch/route/gauge.h"
#include "dispatch/route/memo.h"
#include "dispatch/run/backend_cpu.h"
#include "dispatch/run/flush.h"
#include "dispatch/run/member.h"

static HyMember *new_member(HyExecutor *executor, const char *name);
static void
add_missing(HyExecutor *executor, const char *name, const HyFailure *failure, bool absent);
static void tell(HyExecutor *executor, HyMember *member);
static void leave_silent(HyExecutor *executor, HyMember *member);
static void check_info(HyDeviceInfo *info);

HyStatus
hy_executor_create(const HyAllocator *allocator, const HyClock *clock, const HyLog *log,
                   HyExecutor **executor)
{
	HyExecutor *e = hy_alloc_zero(allocator, sizeof(HyExecutor));
	HyMember *cpu;

	*executor = NULL;
	if (e == NULL)
		return HY_NOMEM;
	e->allocator = allocator;
	e->clock = clock;
	if (log != NULL)
		e->log = *log;
	e->owner = getpid();
	hy_config_default(&e->config);
	e->cuts = true;
	e->tracker = hy_tracker_create(allocator, e->config.window);
	if (e->tracker == NULL)
	{
		hy_free(allocator, e);
		return HY_NOMEM;
	}
	cpu = new_member(e, hy_backend_cpu.name);
	cpu->backend = &hy_backend_cpu;
	cpu->backend->probe(0, &cpu->info);
	cpu->backend->open(0, &(HyLimits){0}, &cpu->device);
	*executor = e;
	return HY_OK;
}

void
hy_executor_destroy(HyExecutor *executor)
{
	const HyAllocator *allocator;

	if (executor == NULL)
		return;
	allocator = executor->allocator;
	hy_executor_flush(executor);
	hy_executor_close_devices(executor);
	hy_tracker_destroy(executor->tracker);
	hy_free(allocator, executor);
}

void
hy_executor_configure(HyExecutor *executor, const HyConfig *config)
{
	int32_t i;

	if (memcmp(&executor->config, config, sizeof(*config)) != 0)
		executor->generation++;
	/*
	 * If the limit of contexts has changed, allow devices that the old limit kept closed to be
	 * tried at once.
	 */
	for (i = 1; i < executor->members; i++)
	{
		if (executor->member[i].open_status == HY_QUOTA &&
		    config->max_contexts != executor->config.max_contexts)
			executor->member[i].open_after_ns = 0;
	}
	executor->config = *config;
	for (i = 1; i < executor->members; i++)
		tell(executor, &executor->member[i]);
	hy_tracker_set_window(executor->tracker, config->window);
}

HyStatus
hy_executor_add_backend(HyExecutor *executor, const HyBackend *backend)
{
	int32_t count = 0;
	int32_t i;
	HyStatus st;

	if (backend->abi != HY_BACKEND_ABI || backend->size != sizeof(HyBackend))
		return HY_INVALID;
	st = backend->device_count(&count);
	if (st != HY_OK || count <= 0)
	{
		HyFailure failure = {0};

		backend->last_error(NULL, &failure);
		hy_clean_text(failure.text, sizeof(failure.text));
		if (failure.text[0] == '\0')
			hy_set_text(failure.text, sizeof(failure.text), "it finds no device");
		add_missing(executor, backend->name, &failure, st == HY_OK);
		return st;
	}
	for (i = 0; i < count; i++)
	{
		HyMember *member = new_member(executor, backend->name);

		if (member == NULL)
		{
			hy_log(executor, "%d of %d devices from %s are left out: there are %d already",
			       (int) (count - i), (int) count, backend->name, HY_MAX_DEVICES - 1);
			return HY_QUOTA;
		}
		member->backend = backend;
		member->number = i;
		if (backend->probe(i, &member->info) != HY_OK)
			leave_silent(executor, member);
		check_info(&member->info);
		hy_member_apply_losses(executor, member);
	}
	return HY_OK;
}

void
hy_executor_set_losses(HyExecutor *executor, HyLosses *losses)
{
	executor->losses = losses;
}

void
hy_executor_add_missing(HyExecutor *executor, const char *name, const char *why, bool absent)
{
	HyFailure failure = {0};

	hy_set_text(failure.text, sizeof(failure.text), why);
	add_missing(executor, name, &failure, absent);
}

void
hy_executor_use_queue(HyExecutor *executor, const HyQueueClient *queue_client)
{
	executor->queued = queue_client != NULL;
	if (queue_client != NULL)
		executor->queue_client = *queue_client;
}

bool
hy_executor_reprobe(HyExecutor *executor)
{
	int32_t i;
	int32_t j;

	if (hy_executor_foreign(executor))
		return true;
	for (i = 1; i < executor->members; i++)
	{
		HyMember *member = &executor->member[i];
		int32_t count = 0;
		int32_t there = 0;
		HyDeviceInfo info;

		if (member->backend == NULL)
			continue;
		for (j = 1; j < executor->members; j++)
			there += executor->member[j].backend == member->backend;
		if (member->backend->device_count(&count) != HY_OK ||
		    (count != there && (count < there || executor->members < HY_MAX_DEVICES)))
			return false;
		if (member->latched || member->backend->probe(member->number, &info) != HY_OK)
			continue;
		check_info(&info);
		if (info.memory_total != member->info.memory_total)
			member->cap_bytes = 0; /* the cap was set for another memory size */
		member->info = info;
		member->free_known = false;
	}
	executor->generation++;
	return true;
}

void
hy_executor_close_devices(HyExecutor *executor)
{
	int32_t i;

	for (i = 1; i < executor->members; i++)
	{
		hy_member_close(executor, &executor->member[i]);
		/* the context of an abandoned device stays open, but must no longer be counted */
		if (!hy_executor_foreign(executor))
			hy_table_give_context(&executor->member[i].place);
	}
}

void
hy_executor_set_load(HyExecutor *executor, const HyLoad *load)
{
	HyTrackerRow row;
	bool seen_here = false;
	int32_t i;

	/*
	 * At the first report, the load during earlier observations is not known.  If all of them are
	 * from other processes, assume that they were made under the current load.
	 */
	if (executor->load.runnable <= 0)
	{
		for (i = 0; !seen_here && hy_tracker_row(executor->tracker, i, &row); i++)
			seen_here = row.observations > 0;
		if (!seen_here)
			executor->load_seen = load->runnable;
	}
	if (load->runnable != executor->load.runnable)
		executor->generation++;
	executor->load = *load;
}

int32_t
hy_executor_devices(const HyExecutor *executor)
{
	return executor->members;
}

void
hy_executor_device(const HyExecutor *executor, int32_t device, HyDeviceState *state)
{
	const HyMember *member = &executor->member[device];
	uint64_t free_bytes;
	uint64_t total_bytes;

	memset(state, 0, sizeof(*state));
	state->backend = member->name;
	state->number = member->number;
	state->info = member->info;
	/* the CPU's instruction set depends on a setting, so probe again */
	if (device == 0)
		member->backend->probe(0, &state->info);
	state->open = member->device != NULL && !hy_member_idle(member);
	state->latched = member->latched;
	state->left_out = device != 0 && hy_left_out(&executor->config, member);
	state->why = member->why[0] != '\0' ? member->why : NULL;
	state->resident = member->resident;
	if (device == 0)
	{
		state->load = executor->load.runnable;
		state->info.memory_free = executor->load.memory;
		if (executor->load.memory > 0 && executor->load.memory < state->info.memory_total)
			state->memory_used = state->info.memory_total - executor->load.memory;
	}
	else
	{
		HyQueueLoad queue = hy_gauge_queue(executor, device);

		state->queue = queue.tasks;
		state->queue_ns = queue.ns;
		if (executor->config.queue_depth > 0)
			state->load = (double) queue.tasks / executor->config.queue_depth;
	}
	if (device != 0 && state->open && getpid() == executor->owner &&
	    member->backend->mem_info(member->device, &free_bytes, &total_bytes) == HY_OK)
	{
		state->info.memory_total = total_bytes;
		state->info.memory_free = free_bytes < total_bytes ? free_bytes : total_bytes;
		state->memory_used = total_bytes > free_bytes ? total_bytes - free_bytes : 0;
	}
}

HyCaps
hy_executor_caps(const HyExecutor *executor, int32_t device, const HyShape *shape)
{
	const HyMember *member = &executor->member[device];

	if (member->backend == NULL || member->latched)
		return (HyCaps){.reason = member->why};
	return member->backend->caps(member->device, shape);
}

const HyCounters *
hy_executor_counters(const HyExecutor *executor, int32_t device, HyOp op)
{
	/* Counting the logged calls changes nothing that the caller can observe. */
	hy_memo_fold((HyExecutor *) executor, false);
	return &executor->member[device].counters[op];
}

const HyTracker *
hy_executor_tracker(const HyExecutor *executor)
{
	hy_memo_fold((HyExecutor *) executor, true);
	return executor->tracker;
}

void
hy_executor_reset(HyExecutor *executor)
{
	hy_executor_forget(executor);
	hy_flush_reset(executor);
}

void
hy_executor_forget(HyExecutor *executor)
{
	int32_t i;
	int op;

	hy_memo_forget(executor);
	executor->generation++;
	for (i = 0; i < executor->members; i++)
	{
		HyMember *member = &executor->member[i];

		memset(member->counters, 0, sizeof(member->counters));
		for (op = 0; op < HY_OP_COUNT; op++)
			hy_breaker_init(&member->breakers[op]);
		member->open_credit_ns = 0;
		member->open_after_ns = 0;
		member->open_wait_ns = 0;
		member->send_after_ns = 0;
		member->cap_bytes = 0;
	}
	memset(executor->routes, 0, sizeof(executor->routes));
	executor->spent_ns = 0;
	memset(executor->batch_tried_ns, 0, sizeof(executor->batch_tried_ns));
	executor->regret_ns = 0;
	/* new observations are made under the current load */
	executor->load_seen = executor->load.runnable;
	executor->events = 0;
	executor->next_event = 0;
	hy_tracker_reset(executor->tracker);
	executor->forgotten++;
}

uint64_t
hy_executor_epoch(const HyExecutor *executor)
{
	return executor->forgotten + 1;
}

static HyMember *
new_member(HyExecutor *executor, const char *name)
{
	HyMember *member;

	if (executor->members == HY_MAX_DEVICES)
		return NULL;
	executor->generation++;
	member = &executor->member[executor->members++];
	memset(member, 0, sizeof(*member));
	hy_set_text(member->name, sizeof(member->name), name);
	return member;
}

/*
 * add_missing: add a member for a backend without a device.  The failure must contain only
 * printable text.
 */
static void
add_missing(HyExecutor *executor, const char *name, const HyFailure *failure, bool absent)
{
	HyMember *member = new_member(executor, name);

	if (member == NULL)
	{
		hy_log(executor, "no device from %s: %s", name, failure->text);
		return;
	}
	member->latched = true;
	member->native_code = failure->native_code;
	member->absent = absent;
	memcpy(member->why, failure->text, sizeof(member->why));
	tell(executor, member);
}

/*
 * tell: log why a backend has no device, once, if that is a failure or the settings ask for a
 * device.
 */
static void
tell(HyExecutor *executor, HyMember *member)
{
	if (member->backend != NULL || member->told ||
	    (member->absent && !hy_device_asked(&executor->config)))
		return;
	hy_log(executor, "no device from %s: %s", member->name, member->why);
	member->told = true;
}

/* leave_silent: latch off a device that the backend counted but that does not answer the probe. */
static void
leave_silent(HyExecutor *executor, HyMember *member)
{
	static const char *const what = "does not answer when probed";
	HyFailure failure = {0};
	char why[2 * HY_TEXT_LENGTH];

	member->backend->last_error(NULL, &failure);
	hy_clean_text(failure.text, sizeof(failure.text));
	memset(&member->info, 0, sizeof(member->info));
	member->latched = true;
	member->native_code = failure.native_code;
	snprintf(why, sizeof(why), "it %s%s%s", what, failure.text[0] != '\0' ? ": " : "",
	         failure.text);
	hy_set_text(member->why, sizeof(member->why), why);
	hy_log(executor, "device %d (%s %d) %s", (int) (member - executor->member), member->name,
	       (int) member->number, why + strlen("it "));
}

/*
 * check_info: replace invalid values, and characters that must not be shown, in what a backend
 * reports.
 */
static void
check_info(HyDeviceInfo *info)
{
	unsigned char truth;

	/* a byte other than 0 and 1 is not a valid bool and must not be read as one */
	memcpy(&truth, &info->virtual_time, 1);
	info->virtual_time = truth != 0;
	hy_clean_text(info->name, sizeof(info->name));
	hy_clean_text(info->architecture, sizeof(info->architecture));
	if (info->cores < 0)
		info->cores = 0;
	if (info->memory_total > INT64_MAX)
		info->memory_total = 0;
	if (info->memory_free > INT64_MAX)
		info->memory_free = info->memory_total;
}
