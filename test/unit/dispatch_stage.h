/*
 * dispatch_stage.h
 *		A stage for the dispatcher's tests: time that stands still, a CPU and a scripted device whose
 *		speed and failures the test sets, and a log that is kept.
 *
 * The device computes with the CPU backend, so its answers can be compared bit by bit.
 */
#ifndef DISPATCH_STAGE_H
#define DISPATCH_STAGE_H

#include "core/distance.h"
#include "dispatch/backend_cpu.h"
#include "dispatch/executor_state.h"
#include "dispatch/explain.h"
#include "unit.h"

#define STAGE_LINES 64
#define STAGE_SCRIPT 8
#define STAGE_TICKETS 128
#define STAGE_DIMS 16

typedef struct StageTicket
{
	HyTicket number; /* 0: free */
	int32_t device;
	HyTask task;
	HyStatus ends;
	uint64_t start_ns;
	uint64_t end_ns;
	bool cancelled;
} StageTicket;

typedef struct Stage
{
	UnitClock clock;
	UnitMemory memory;
	UnitCancel cancel;
	HyExecutor *executor;
	HyConfig config;
	int lines;
	char line[STAGE_LINES][320];

	/* the CPU and the device, in ns */
	double cpu_item_ns;
	double device_launch_ns;
	double device_item_ns;
	bool virtual_time;
	uint64_t open_cost_ns;

	/* the device's manners */
	int32_t devices;
	bool unsupported;
	int64_t max_targets;
	int32_t max_k;
	HyClass numeric_class;
	uint64_t free_bytes;
	uint64_t item_bytes;
	HyStatus open_status;
	HyStatus script[STAGE_SCRIPT]; /* of the next submits; HY_OK when used up */
	int scripted;
	bool fail_in_poll; /* the script speaks from poll, after writing garbage */
	bool always_fail;  /* the first entry of the script for ever */
	bool hang;         /* until cancelled */
	bool deaf;         /* not even then */

	int opens, closes, submits, cancels;
	bool device_open;

	/* the devices: what is under way on each, and how much slower than the first it is */
	StageTicket tickets[STAGE_TICKETS];
	HyTask task; /* that was done last */
	uint64_t busy_until_ns[HY_MAX_DEVICES];
	double slowness[HY_MAX_DEVICES]; /* 0: as fast */
	int32_t script_device;           /* the script is this one's; -1: of any */
	int32_t stuck_device;            /* hang and deaf too */
	int64_t most_items;              /* more are out of memory; 0: no limit */
	char handle[HY_MAX_DEVICES];

	/* a task to run: distances of one query to rows */
	int64_t rows;
	float *vectors;
	double *out;
	double *expected;
} Stage;

static Stage stage;

static UNIT_UNUSED HyStatus
stage_count(int32_t *count)
{
	*count = stage.devices;
	return HY_OK;
}

static UNIT_UNUSED HyStatus
stage_probe(int32_t device, HyDeviceInfo *info)
{
	(void) device;
	memset(info, 0, sizeof(*info));
	strcpy(info->name, "scripted device");
	info->memory_total = stage.free_bytes;
	info->memory_free = stage.free_bytes;
	info->open_cost_ns = stage.open_cost_ns;
	info->virtual_time = stage.virtual_time;
	return HY_OK;
}

static UNIT_UNUSED HyStatus
stage_open(int32_t device, const HyLimits *limits, HyDevice **opened)
{
	(void) limits;
	stage.opens++;
	if (stage.open_status != HY_OK)
		return stage.open_status;
	stage.device_open = true;
	*opened = (HyDevice *) &stage.handle[device];
	return HY_OK;
}

static UNIT_UNUSED void
stage_close(HyDevice *device)
{
	(void) device;
	stage.closes++;
	stage.device_open = false;
}

static UNIT_UNUSED HyCaps
stage_caps(const HyDevice *device, const HyShape *shape)
{
	HyCaps caps = {.ok = !stage.unsupported,
	               .max_targets = stage.max_targets,
	               .max_k = stage.max_k,
	               .numeric_class = stage.numeric_class,
	               .reason = stage.unsupported ? "it was told not to" : NULL};

	(void) device;
	(void) shape;
	return caps;
}

static UNIT_UNUSED HyEstimate
stage_estimate(const HyDevice *device, const HyShape *shape)
{
	HyEstimate estimate = {.device_bytes = (uint64_t) hy_shape_items(shape) * stage.item_bytes};

	(void) device;
	return estimate;
}

static UNIT_UNUSED HyStatus
stage_mem_info(HyDevice *device, uint64_t *free_bytes, uint64_t *total_bytes)
{
	(void) device;
	*free_bytes = stage.free_bytes;
	*total_bytes = stage.free_bytes;
	return HY_OK;
}

/* stage_number: the device that a handle stands for. */
static UNIT_UNUSED int32_t
stage_number(const HyDevice *device)
{
	return (int32_t) ((const char *) device - stage.handle);
}

static UNIT_UNUSED HyStatus
stage_submit(HyDevice *device, const HyTask *task, HyTicket *ticket)
{
	HyShape shape = hy_task_shape(task);
	int32_t number = stage_number(device);
	uint64_t *busy = &stage.busy_until_ns[number];
	StageTicket *slot = stage.tickets;
	HyStatus st = HY_OK;

	if (stage.script_device < 0 || stage.script_device == number)
	{
		if (stage.always_fail)
			st = stage.script[0];
		else if (stage.scripted < STAGE_SCRIPT)
			st = stage.script[stage.scripted++];
	}
	stage.submits++;
	if (stage.most_items > 0 && hy_shape_items(&shape) > stage.most_items)
		st = HY_NOMEM;
	if (st != HY_OK && !stage.fail_in_poll)
		return st;
	while (slot->number != 0)
	{
		if (++slot == stage.tickets + STAGE_TICKETS)
			return HY_BUSY;
	}
	*slot = (StageTicket){.number = (HyTicket) stage.submits, .device = number};
	slot->task = *task;
	slot->ends = st;
	/* one engine a device */
	if (*busy < stage.clock.time)
		*busy = stage.clock.time;
	slot->start_ns = *busy;
	*busy += (uint64_t) ((stage.device_launch_ns +
	                      stage.device_item_ns * (double) hy_shape_items(&shape)) *
	                     (stage.slowness[number] > 0 ? stage.slowness[number] : 1));
	slot->end_ns = *busy;
	*ticket = slot->number;
	return HY_OK;
}

static UNIT_UNUSED StageTicket *
stage_find(const HyDevice *device, HyTicket ticket)
{
	StageTicket *slot;

	for (slot = stage.tickets; slot < stage.tickets + STAGE_TICKETS; slot++)
	{
		if (slot->number == ticket && ticket != 0 && slot->device == stage_number(device))
			return slot;
	}
	return NULL;
}

static UNIT_UNUSED HyStatus
stage_poll(HyDevice *device, HyTicket ticket, bool *done, HyTimings *timings)
{
	StageTicket *slot = stage_find(device, ticket);
	bool stuck = stage.stuck_device < 0 || stage.stuck_device == stage_number(device);
	HyTicket cpu_ticket;
	HyTimings ignored;
	HyStatus st;

	if (slot == NULL)
		return HY_INVALID;
	memset(timings, 0, sizeof(*timings));
	if (stage.deaf && stuck)
		return HY_OK;
	if (slot->cancelled)
	{
		uint64_t *busy = &stage.busy_until_ns[stage_number(device)];

		/* the last in line gives its time back */
		if (*busy == slot->end_ns)
			*busy = slot->start_ns > stage.clock.time ? slot->start_ns : stage.clock.time;
		slot->number = 0;
		return HY_CANCELLED;
	}
	if (stage.hang && stuck)
		return HY_OK;
	if (stage.clock.time < slot->end_ns)
	{
		timings->remaining_ns = slot->end_ns - stage.clock.time;
		timings->may_skip = stage.virtual_time;
		return HY_OK;
	}
	if (slot->ends != HY_OK)
	{
		HyShape shape = hy_task_shape(&slot->task);
		int64_t q;

		for (q = 0; slot->task.op == HY_OP_DISTANCE && q < shape.queries; q++)
			memset(slot->task.u.distance.out + q * hy_distance_stride(&slot->task.u.distance), 0xcc,
			       (size_t) shape.targets * sizeof(double));
		slot->number = 0;
		return slot->ends;
	}
	slot->number = 0;
	stage.task = slot->task;
	st = hy_backend_cpu.submit(stage.executor->member[0].device, &slot->task, &cpu_ticket);
	if (st == HY_OK)
		st = hy_backend_cpu.poll(stage.executor->member[0].device, cpu_ticket, done, &ignored);
	return st;
}

static UNIT_UNUSED void
stage_cancel(HyDevice *device, HyTicket ticket)
{
	StageTicket *slot = stage_find(device, ticket);

	stage.cancels++;
	if (slot != NULL)
		slot->cancelled = true;
}

static UNIT_UNUSED void
stage_last_error(const HyDevice *device, HyFailure *failure)
{
	failure->native_code = device != NULL ? 77 : 78;
	strcpy(failure->text, "as the script says");
}

static UNIT_UNUSED HyStatus
stage_no_buffer(HyDevice *device, uint64_t bytes, HyBuffer **buffer)
{
	(void) device;
	(void) bytes;
	*buffer = NULL;
	return HY_UNSUPPORTED;
}

static UNIT_UNUSED void
stage_buffer_free(HyDevice *device, HyBuffer *buffer)
{
	(void) device;
	(void) buffer;
}

static UNIT_UNUSED HyStatus
stage_upload(HyDevice *device, HyBuffer *buffer, uint64_t offset, const void *data, uint64_t bytes)
{
	(void) device;
	(void) buffer;
	(void) offset;
	(void) data;
	(void) bytes;
	return HY_UNSUPPORTED;
}

static UNIT_UNUSED HyStatus
stage_download(HyDevice *device, const HyBuffer *buffer, uint64_t offset, void *data,
               uint64_t bytes)
{
	(void) device;
	(void) buffer;
	(void) offset;
	(void) data;
	(void) bytes;
	return HY_UNSUPPORTED;
}

static UNIT_UNUSED const HyBackend stage_backend = {.abi = HY_BACKEND_ABI,
                                                    .size = sizeof(HyBackend),
                                                    .name = "scripted",
                                                    .device_count = stage_count,
                                                    .probe = stage_probe,
                                                    .open = stage_open,
                                                    .close = stage_close,
                                                    .caps = stage_caps,
                                                    .estimate = stage_estimate,
                                                    .mem_info = stage_mem_info,
                                                    .buf_alloc = stage_no_buffer,
                                                    .buf_free = stage_buffer_free,
                                                    .upload = stage_upload,
                                                    .download = stage_download,
                                                    .submit = stage_submit,
                                                    .poll = stage_poll,
                                                    .cancel = stage_cancel,
                                                    .last_error = stage_last_error};

/* The real CPU backend, with time that passes. */
static UNIT_UNUSED HyStatus
stage_cpu_submit(HyDevice *device, const HyTask *task, HyTicket *ticket)
{
	HyShape shape = hy_task_shape(task);

	stage.clock.time += (uint64_t) (stage.cpu_item_ns * (double) hy_shape_items(&shape));
	return hy_backend_cpu.submit(device, task, ticket);
}

static HyBackend stage_cpu;

static UNIT_UNUSED void
stage_log(void *arg, const char *text)
{
	(void) arg;
	if (stage.lines < STAGE_LINES)
		snprintf(stage.line[stage.lines], sizeof(stage.line[0]), "%s", text);
	stage.lines++;
}

/* stage_logged: how many lines contain this. */
static UNIT_UNUSED int
stage_logged(const char *text)
{
	int found = 0;
	int i;

	for (i = 0; i < stage.lines && i < STAGE_LINES; i++)
		found += strstr(stage.line[i], text) != NULL;
	return found;
}

/* stage_begin: an executor with the CPU and, unless devices is 0, so many scripted devices. */
static UNIT_UNUSED void
stage_begin(int32_t devices)
{
	static const HyLog log = {stage_log, NULL};

	memset(&stage, 0, sizeof(stage));
	unit_clock_init(&stage.clock, 1000000);
	unit_memory_init(&stage.memory, 0);
	unit_cancel_init(&stage.cancel, 0);
	stage.cpu_item_ns = 100;
	stage.device_launch_ns = 20000;
	stage.device_item_ns = 1;
	stage.devices = devices;
	stage.max_targets = INT64_MAX;
	stage.max_k = INT32_MAX;
	stage.free_bytes = UINT64_C(1) << 40;
	stage.item_bytes = 8;
	stage.script_device = -1;
	stage.stuck_device = -1;
	stage_cpu = hy_backend_cpu;
	stage_cpu.submit = stage_cpu_submit;
	CHECK_INT(
		hy_executor_create(&stage.memory.allocator, &stage.clock.clock, &log, &stage.executor),
		HY_OK);
	stage.executor->member[0].backend = &stage_cpu;
	if (devices > 0)
		CHECK_INT(hy_executor_add_backend(stage.executor, &stage_backend), HY_OK);
	hy_config_default(&stage.config);
}

/* stage_end: nothing is left open or allocated. */
static UNIT_UNUSED void
stage_end(void)
{
	hy_executor_destroy(stage.executor);
	free(stage.vectors);
	free(stage.out);
	free(stage.expected);
	CHECK_INT(stage.memory.outstanding, 0);
}

/* stage_teach: what each side takes, from tasks of several sizes, as if it had run them before. */
static UNIT_UNUSED void
stage_teach(HyExecutor *executor, int32_t devices)
{
	int rows;
	int32_t d;
	int i;

	for (rows = 100; rows <= 819200; rows *= 2)
	{
		HyShape shape = {
			.op = HY_OP_DISTANCE, .dims = STAGE_DIMS, .queries = 1, .targets = (int64_t) rows};

		for (i = 0; i < 3; i++)
		{
			hy_tracker_record(executor->tracker, &shape, 0, (uint64_t) (stage.cpu_item_ns * rows));
			for (d = 1; d <= devices; d++)
			{
				double slowness = stage.slowness[d - 1] > 0 ? stage.slowness[d - 1] : 1;

				hy_tracker_record(
					executor->tracker, &shape, d,
					(uint64_t) (slowness * (stage.device_launch_ns + stage.device_item_ns * rows)));
			}
		}
	}
}

static UNIT_UNUSED HyTask stage_task(int64_t rows);

/* stage_teach_one: history for one class, each side often enough that none is cold. */
static UNIT_UNUSED void
stage_teach_one(int64_t rows, uint64_t cpu_ns, uint64_t device_ns)
{
	HyTask task = stage_task(rows);
	HyShape shape = hy_task_shape(&task);
	int i;

	for (i = 0; i < 20; i++)
	{
		hy_tracker_record(stage.executor->tracker, &shape, 0, cpu_ns);
		hy_tracker_record(stage.executor->tracker, &shape, 1, device_ns);
	}
}

/* stage_task: L2 distances of one query to rows rows; outputs are filled with rubbish first. */
static UNIT_UNUSED HyTask
stage_task(int64_t rows)
{
	HyTask task = {
		.op = HY_OP_DISTANCE, .allocator = &stage.memory.allocator, .cancel = &stage.cancel.cancel};
	UnitRandom random = {12345};
	bool again = stage.vectors != NULL && stage.rows == rows;
	int64_t i;

	if (!again)
	{
		free(stage.vectors);
		free(stage.out);
		free(stage.expected);
		stage.vectors = malloc((size_t) (rows + 1) * STAGE_DIMS * sizeof(float));
		stage.out = malloc((size_t) (rows + 1) * sizeof(double));
		stage.expected = malloc((size_t) (rows + 1) * sizeof(double));
		for (i = 0; i < (rows + 1) * STAGE_DIMS; i++)
			stage.vectors[i] = unit_random_float(&random);
		stage.rows = rows;
	}
	for (i = 0; i < rows; i++)
		stage.out[i] = -7;
	task.u.distance.metric = HY_METRIC_L2;
	task.u.distance.queries = (HyMatrix){.dtype = HY_F32,
	                                     .dims = STAGE_DIMS,
	                                     .rows = 1,
	                                     .stride = STAGE_DIMS * sizeof(float),
	                                     .data = stage.vectors};
	task.u.distance.targets = task.u.distance.queries;
	task.u.distance.targets.rows = rows;
	task.u.distance.targets.data = stage.vectors + STAGE_DIMS;
	task.u.distance.out = stage.out;
	if (!again)
		hy_distance_matrix(HY_METRIC_L2, &task.u.distance.queries, &task.u.distance.targets,
		                   stage.expected, NULL);
	return task;
}

/* stage_right: every output is what the CPU says, bit by bit. */
static UNIT_UNUSED bool
stage_right(const HyTask *task)
{
	return memcmp(stage.out, stage.expected,
	              (size_t) task->u.distance.targets.rows * sizeof(double)) == 0;
}

/* stage_counters: of distances on a device; stage_breaker: of distances on the first. */
static UNIT_UNUSED const HyCounters *
stage_counters(int32_t device)
{
	return hy_executor_counters(stage.executor, device, HY_OP_DISTANCE);
}

static UNIT_UNUSED const HyBreaker *
stage_breaker(void)
{
	return &stage.executor->member[1].breakers[HY_OP_DISTANCE];
}

/* stage_adds_up: the counters agree with each other. */
static UNIT_UNUSED void
stage_adds_up(void)
{
	const HyCounters *cpu = stage_counters(0);
	int64_t fallbacks = 0;
	int64_t errors = 0;
	int32_t d;
	int i;

	for (d = 0; d < hy_executor_devices(stage.executor); d++)
	{
		const HyCounters *c = stage_counters(d);
		int64_t sent = 0;
		int64_t failed = 0;
		int64_t timed = 0;

		for (i = 0; i < HY_REASON_COUNT; i++)
			sent += c->by_reason[i];
		for (i = 1; i < HY_STATUS_COUNT; i++)
			failed += c->by_status[i];
		for (i = 0; i < HY_MAX_LATENCIES; i++)
			timed += c->latency[i];
		CHECK_INT(c->failures, failed);
		CHECK_INT(c->calls, c->by_status[HY_OK]);
		CHECK_INT(c->calls, timed);
		if (d > 0)
		{
			fallbacks += c->fallbacks;
			errors = sent - c->calls - c->fallbacks;
			CHECK(errors >= 0);
		}
	}
	{
		int64_t sent = 0;

		for (i = 0; i < HY_REASON_COUNT; i++)
			sent += cpu->by_reason[i];
		CHECK_INT(cpu->calls + cpu->failures, sent + fallbacks);
		CHECK_INT(cpu->fallbacks, 0);
	}
}

/* stage_chosen: what is decided for rows items as things stand, trials and all. */
static UNIT_UNUSED HyChoice
stage_chosen(int64_t rows)
{
	HyTask task = stage_task(rows);
	HyShape shape = hy_task_shape(&task);
	HyChoice choice;

	hy_executor_configure(stage.executor, &stage.config);
	hy_decide(stage.executor, &task, &shape, stage.clock.time, &choice);
	return choice;
}

/* stage_explain: the decision that hy_dispatch would take for such a task, as users are told it. */
static UNIT_UNUSED HyDecision
stage_explain(const HyTask *task)
{
	HyShape shape = hy_task_shape(task);
	HySideCost costs[HY_MAX_DEVICES];
	HyDecision decision;
	int32_t count;

	hy_explain(stage.executor, &shape, &decision, costs, &count);
	return decision;
}

/* stage_dispatch: rows items under the stage's configuration; checks the answer when there is one. */
static UNIT_UNUSED HyStatus
stage_dispatch(int64_t rows, HyDecision *decision)
{
	HyTask task = stage_task(rows);
	HyStatus st;

	hy_executor_configure(stage.executor, &stage.config);
	st = hy_dispatch(stage.executor, &task, decision);
	if (st == HY_OK)
		CHECK(stage_right(&task));
	return st;
}

/* stage_decided: the decision for rows items as things stand. */
static UNIT_UNUSED HyDecision
stage_decided(int64_t rows)
{
	HyTask task = stage_task(rows);

	hy_executor_configure(stage.executor, &stage.config);
	return stage_explain(&task);
}

static UNIT_UNUSED void
stage_expect(HyDecision decision, int32_t device, HyReason reason)
{
	CHECK_INT(decision.device, device);
	CHECK_STR(hy_reason_name(decision.reason), hy_reason_name(reason));
}

#endif
