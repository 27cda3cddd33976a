/*
 * dispatch_stage.h
 *		A stage for the dispatcher's tests: time that stands still, the CPU and devices of stage_device.h,
 *		a log that is kept, tasks, and what must hold after them.
 */
#ifndef DISPATCH_STAGE_H
#define DISPATCH_STAGE_H

#include "core/distance.h"
#include "dispatch/tools/explain.h"
#include "stage_device.h"

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
	hy_decide(stage.executor, &shape, task.numeric_class, stage.clock.time, &choice);
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
