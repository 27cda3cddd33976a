/*
 * emulated_stage.h
 *		The emulated device with settings and a clock of the test's own.
 */
#ifndef EMULATED_STAGE_H
#define EMULATED_STAGE_H

#include "core/distance.h"
#include "dispatch/backend.h"
#include "unit.h"

#define DIMS 32
#define ROWS 1000

extern const HyBackend *hy_plugin_entry(const HyHost *host);

typedef struct Setting
{
	const char *name;
	const char *text;
} Setting;

static Setting settings[8];
static int setting_count;
static UnitClock clock_;
static UnitMemory memory;
static HyHost host;
static const HyBackend *device_of;
static float vectors[(ROWS + 2) * DIMS];
static double out[2 * ROWS];
static double expected[2 * ROWS];

static UNIT_UNUSED const char *
setting_text(void *arg, const char *name)
{
	int i;

	(void) arg;
	for (i = 0; i < setting_count; i++)
	{
		/* where nobody sets one the compiler knows that there is no name */
		if (settings[i].name != NULL && strcmp(settings[i].name, name) == 0)
			return settings[i].text;
	}
	return NULL;
}

static UNIT_UNUSED void
set(const char *name, const char *text)
{
	int i;

	for (i = 0; i < setting_count; i++)
	{
		if (strcmp(settings[i].name, name) == 0)
		{
			settings[i].text = text;
			return;
		}
	}
	settings[setting_count++] = (Setting){name, text};
}

/* begin: the plug-in with default settings. */
static UNIT_UNUSED void
begin(void)
{
	UnitRandom random = {77};
	int i;

	setting_count = 0;
	unit_clock_init(&clock_, 1000);
	unit_memory_init(&memory, 0);
	host = (HyHost){.abi = HY_BACKEND_ABI,
	                .clock = &clock_.clock,
	                .allocator = &memory.allocator,
	                .setting = setting_text};
	device_of = hy_plugin_entry(&host);
	for (i = 0; i < (ROWS + 2) * DIMS; i++)
		vectors[i] = unit_random_float(&random);
}

static UNIT_UNUSED HyTask
task_of(int64_t rows)
{
	HyTask task = {.op = HY_OP_DISTANCE, .allocator = &memory.allocator};

	task.u.distance.metric = HY_METRIC_L2;
	task.u.distance.queries =
		(HyMatrix){.dims = DIMS, .rows = 2, .stride = DIMS * 4, .data = vectors};
	task.u.distance.targets =
		(HyMatrix){.dims = DIMS, .rows = rows, .stride = DIMS * 4, .data = vectors + 2 * DIMS};
	task.u.distance.out = out;
	hy_distance_matrix(HY_METRIC_L2, &task.u.distance.queries, &task.u.distance.targets, expected,
	                   NULL);
	memset(out, 0, sizeof(out));
	return task;
}

static UNIT_UNUSED HyDevice *
open_device(uint64_t limit)
{
	HyLimits limits = {.memory = limit};
	HyDevice *device = NULL;

	CHECK_INT(device_of->open(0, &limits, &device), HY_OK);
	return device;
}

/* run: submit, poll, skip what remains, poll. */
static UNIT_UNUSED HyStatus
run(HyDevice *device, const HyTask *task, bool *done, HyTimings *timings)
{
	HyTicket ticket;
	HyStatus st;

	*done = false;
	memset(timings, 0, sizeof(*timings));
	st = device_of->submit(device, task, &ticket);
	if (st == HY_OK)
		st = device_of->poll(device, ticket, done, timings);
	if (st == HY_OK && !*done)
	{
		CHECK(timings->remaining_ns > 0 && timings->may_skip);
		host.clock->skip(host.clock->arg, (int64_t) timings->remaining_ns);
		st = device_of->poll(device, ticket, done, timings);
	}
	return st;
}

static UNIT_UNUSED HyStatus
run_status(HyDevice *device, int64_t rows)
{
	HyTask task = task_of(rows);
	HyTimings timings;
	bool done;

	return run(device, &task, &done, &timings);
}

#endif
