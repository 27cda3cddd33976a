/*
 * executor.c
 *		An executor's life, its devices and what the views see of them.
 *
 * The CPU is member 0, always open.  A device is opened when the dispatcher first needs it and
 * belongs to the process that created the executor: a fork inherits the structures but must not
 * touch a context, not even to close it.
 */
#define _POSIX_C_SOURCE 200809L

#include "dispatch/executor_state.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dispatch/backend_cpu.h"

#define OPEN_RETRY_FIRST_NS UINT64_C(1000000000)
#define OPEN_RETRY_LAST_NS UINT64_C(300000000000)

static HyMember *new_member(HyExecutor *executor, const char *name);
static HyStatus open_context(HyExecutor *executor, HyMember *member);
static void heed_losses(const HyExecutor *executor, HyMember *member);
static void note_loss(HyExecutor *executor, const char *backend, int32_t number, const char *why);
static void set_text(char *target, size_t size, const char *text);
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
hy_config_default(HyConfig *config)
{
	int op;

	memset(config, 0, sizeof(*config));
	config->execution = HY_EXECUTION_AUTO;
	for (op = 0; op < HY_OP_COUNT; op++)
		config->min_batch[op] = 64;
	config->speedup_threshold = 1.1;
	config->success_threshold = 0.95;
	config->window = 100;
	config->telemetry = true;
	config->resident_limit = UINT64_MAX;
	config->timeout_ns = UINT64_C(2000000000);
	config->split_percent = -1;
	config->queue_depth = 2;
	config->batch_max = 0;
	config->batch_min = 8;
	config->batch_wait_ns = UINT64_C(10000000);
}

void
hy_executor_configure(HyExecutor *executor, const HyConfig *config)
{
	int32_t i;

	if (memcmp(&executor->config, config, sizeof(*config)) != 0)
		executor->generation++;
	/* who was put off for want of a context need not wait when more may be open */
	for (i = 1; i < executor->members; i++)
	{
		if (executor->member[i].open_status == HY_QUOTA &&
		    config->max_contexts != executor->config.max_contexts)
			executor->member[i].open_after_ns = 0;
	}
	executor->config = *config;
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

		/* a machine without devices is no failure, and still has a reason */
		backend->last_error(NULL, &failure);
		hy_clean_text(failure.text, sizeof(failure.text));
		hy_executor_add_missing(executor, backend->name,
		                        failure.text[0] != '\0' ? failure.text : "it finds no device");
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
		{
			memset(&member->info, 0, sizeof(member->info));
			member->latched = true;
			set_text(member->why, sizeof(member->why), "it does not answer when probed");
		}
		check_info(&member->info);
		heed_losses(executor, member);
	}
	return HY_OK;
}

void
hy_executor_heed(HyExecutor *executor, HyLosses *losses)
{
	executor->losses = losses;
}

void
hy_executor_add_missing(HyExecutor *executor, const char *name, const char *why)
{
	HyMember *member = new_member(executor, name);

	hy_log(executor, "no device from %s: %s", name, why);
	if (member == NULL)
		return;
	member->latched = true;
	set_text(member->why, sizeof(member->why), why);
}

void
hy_executor_use_queue(HyExecutor *executor, const HyQueueSeat *seat)
{
	executor->queued = seat != NULL;
	if (seat != NULL)
		executor->seat = *seat;
}

bool
hy_executor_look_again(HyExecutor *executor)
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
			member->cap_bytes = 0; /* which was learned of less, or more */
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
		/* one that was abandoned was not closed */
		if (!hy_executor_foreign(executor))
			hy_share_give_context(&executor->member[i]);
	}
}

void
hy_executor_set_load(HyExecutor *executor, const HyLoad *load)
{
	HyTrackerRow row;
	bool seen_here = false;
	int32_t i;

	/*
	 * Before the first look nobody knows what history was made under; what came from other processes
	 * was most likely made on a machine as busy as now.
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

HyLoad
hy_executor_load(const HyExecutor *executor)
{
	return executor->load;
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
	/* the CPU's instruction set is a setting */
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
	/* what was jotted down happened before: to the caller nothing changes */
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
	hy_share_reset(executor);
}

void
hy_executor_forget(HyExecutor *executor)
{
	int32_t i;
	int op;

	hy_memo_forget(executor);
	executor->generation++;
	memset(executor->batch_sizes, 0, sizeof(executor->batch_sizes));
	for (i = 0; i < executor->members; i++)
	{
		HyMember *member = &executor->member[i];

		memset(member->counters, 0, sizeof(member->counters));
		for (op = 0; op < HY_OP_COUNT; op++)
			hy_breaker_init(&member->breakers[op]);
		member->rent_ns = 0;
		member->open_after_ns = 0;
		member->open_wait_ns = 0;
		member->cap_bytes = 0;
	}
	memset(executor->routes, 0, sizeof(executor->routes));
	executor->spent_ns = 0;
	executor->regret_ns = 0;
	executor->load_seen = executor->load.runnable; /* what comes is made under it */
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

bool
hy_executor_foreign(HyExecutor *executor)
{
	if (!executor->foreign && getpid() != executor->owner)
	{
		executor->foreign = true;
		hy_log(executor, "devices are not used: the process was forked after they were set up");
	}
	return executor->foreign;
}

HyStatus
hy_member_open(HyExecutor *executor, HyMember *member, uint64_t now)
{
	HyFailure before = member->open_failure;
	HyStatus st = open_context(executor, member);

	executor->generation++;
	member->rent_ns = 0;
	member->free_known = false;
	if (st == HY_OK)
	{
		member->opened_limit = executor->config.memory_limit;
		member->open_wait_ns = 0;
		member->open_status = HY_OK;
		hy_log(executor, "device %d (%s %d) opened", (int) (member - executor->member),
		       member->name, (int) member->number);
		return HY_OK;
	}
	member->device = NULL;
	/* Another session's context may be closed at any time. */
	if (member->open_wait_ns == 0 || st == HY_QUOTA)
		member->open_wait_ns = OPEN_RETRY_FIRST_NS;
	else if (member->open_wait_ns < OPEN_RETRY_LAST_NS / 2)
		member->open_wait_ns *= 2;
	else
		member->open_wait_ns = OPEN_RETRY_LAST_NS;
	member->open_after_ns = now + member->open_wait_ns;
	/* The same again is no news. */
	if (st != member->open_status || strcmp(before.text, member->open_failure.text) != 0)
		hy_log(executor, "device %d (%s %d) could not be opened: %s%s%s",
		       (int) (member - executor->member), member->name, (int) member->number,
		       hy_status_name(st), member->open_failure.text[0] != '\0' ? ": " : "",
		       member->open_failure.text);
	member->open_status = st;
	return st;
}

void
hy_member_close(HyExecutor *executor, HyMember *member)
{
	if (member->device == NULL)
		return;
	executor->generation++;
	hy_member_forget(member);
	/* Closing a device that does not answer might never return. */
	if (!hy_executor_foreign(executor) && hy_member_settle_wait(executor, member))
	{
		bool idle = hy_member_idle(member);

		member->backend->close(member->device);
		hy_share_give_context(member);
		hy_log(executor, "device %d (%s %d) closed%s", (int) (member - executor->member),
		       member->name, (int) member->number, idle ? ": nobody had used it" : "");
	}
	member->device = NULL;
	member->leftovers = 0;
	member->rent_ns = 0;
	member->free_known = false;
}

bool
hy_member_idle(const HyMember *member)
{
	unsigned char truth;
	bool idle;

	if (member->device == NULL || member->backend->idle == NULL)
		return false;
	idle = member->backend->idle(member->device);
	/* a byte that is neither false nor true is no bool, and must not be read as one */
	memcpy(&truth, &idle, 1);
	return truth != 0;
}

void
hy_member_latch(HyExecutor *executor, HyMember *member, bool all, bool abandon, const char *what)
{
	char why[sizeof(member->why)];
	int32_t i;

	executor->generation++;
	hy_log(executor, "device %d (%s %d) %s and is not used again in this process",
	       (int) (member - executor->member), member->name, (int) member->number, what);
	if (abandon)
	{
		hy_member_forget(member);
		member->device = NULL;
	}
	snprintf(why, sizeof(why), "it %s", what);
	note_loss(executor, member->name, all ? -1 : member->number, why);
	for (i = 1; i < executor->members; i++)
	{
		HyMember *other = &executor->member[i];

		if (other != member && !(all && other->backend == member->backend))
			continue;
		if (other->latched)
			continue;
		hy_member_close(executor, other);
		other->latched = true;
		memcpy(other->why, why, sizeof(other->why));
	}
}

/* heed_losses: a device that the process has lost is latched from the start. */
static void
heed_losses(const HyExecutor *executor, HyMember *member)
{
	const HyLosses *losses = executor->losses;
	int32_t i;

	for (i = 0; losses != NULL && i < losses->count; i++)
	{
		if (strcmp(losses->loss[i].backend, member->name) != 0 ||
		    (losses->loss[i].number != member->number && losses->loss[i].number != -1))
			continue;
		member->latched = true;
		memcpy(member->why, losses->loss[i].why, sizeof(member->why));
		return;
	}
}

/* note_loss: number -1: all devices of the backend.  Where there is no room one stands for all. */
static void
note_loss(HyExecutor *executor, const char *backend, int32_t number, const char *why)
{
	HyLosses *losses = executor->losses;
	int32_t i;

	if (losses == NULL)
		return;
	for (i = 0; i < losses->count; i++)
	{
		if (strcmp(losses->loss[i].backend, backend) == 0 &&
		    (losses->loss[i].number == number || losses->count == HY_MAX_LOSSES))
			break;
	}
	if (i == HY_MAX_LOSSES)
		return;
	if (i < losses->count && losses->loss[i].number != number)
		number = -1;
	if (i == losses->count)
		losses->count++;
	set_text(losses->loss[i].backend, sizeof(losses->loss[i].backend), backend);
	losses->loss[i].number = number;
	set_text(losses->loss[i].why, sizeof(losses->loss[i].why), why);
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
	set_text(member->name, sizeof(member->name), name);
	return member;
}

/* open_context: the device opened, if there may be one more context; else open_failure says why not. */
static HyStatus
open_context(HyExecutor *executor, HyMember *member)
{
	HyLimits limits = {.memory = executor->config.memory_limit};
	HyFailure *failure = &member->open_failure;
	/* one that hung and was left open keeps its place */
	bool counted = member->place.word != NULL;
	HyStatus st;

	memset(failure, 0, sizeof(*failure));
	if (!hy_share_take_context(executor, member))
	{
		snprintf(failure->text, sizeof(failure->text),
		         "%d contexts are open on it, as many as hybrid.gpu_max_contexts allows",
		         (int) executor->config.max_contexts);
		return HY_QUOTA;
	}
	limits.place = member->place.word;
	member->device = NULL;
	st = member->backend->open(member->number, &limits, &member->device);
	/* it says that it opened, and hands out nothing that could be closed */
	if (st == HY_OK && member->device == NULL)
		st = HY_BUG;
	if (st == HY_OK)
		return HY_OK;
	if (!counted)
		hy_share_give_context(member);
	member->backend->last_error(NULL, failure);
	hy_clean_text(failure->text, sizeof(failure->text));
	return st;
}

/* set_text: a copy cut to size; the source may be a longer sentence than the views have room for. */
static void
set_text(char *target, size_t size, const char *text)
{
	size_t n = strlen(text);

	if (n >= size)
		n = size - 1;
	memcpy(target, text, n);
	target[n] = '\0';
	hy_clean_text(target, size);
}

void
hy_clean_text(char *text, size_t size)
{
	text[size - 1] = '\0';
	for (; *text != '\0'; text++)
	{
		if (*text < ' ' || *text > '~')
			*text = '?';
	}
}

/* check_info: nothing of what a backend says of its device may confuse whoever shows it. */
static void
check_info(HyDeviceInfo *info)
{
	unsigned char truth;

	/* a byte that is neither false nor true is no bool, and must not be read as one */
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
