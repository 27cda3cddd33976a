/*
 * idle_test.c
 *		Contexts of the emulated device that close themselves, in simulated time: the device's
 *		own side, and how the dispatcher and the table that counts contexts learn of it.
 */
#include "emulated_stage.h"

#include "dispatch/route/session.h"
#include "dispatch/run/dispatcher.h"
#include "dispatch/run/flush.h"
#include "dispatch/run/record.h"

#define MS UINT64_C(1000000)

static const HyTableLimits limits = {.devices = 4, .models = 64, .events = 16, .contexts = 4};
static HySharedTable *table;
static HyExecutor *parties[2];
static char lines[64][160];
static int line_count;
static HyOrigin origin;

static void
keep_line(void *arg, const char *text)
{
	(void) arg;
	if (line_count < 64)
		snprintf(lines[line_count++], sizeof(lines[0]), "%s", text);
}

static int
logged(const char *text)
{
	int found = 0;
	int i;

	for (i = 0; i < line_count; i++)
		found += strstr(lines[i], text) != NULL;
	return found;
}

static void
origin_of(void *arg, HyOrigin *who, int64_t *wall_us)
{
	(void) arg;
	*who = origin;
	*wall_us = 0;
}

/* begin_parties: set up two executors that share a table, with the emulated device and the CPU. */
static void
begin_parties(const char *timeout, int32_t most)
{
	static const HyLog log = {keep_line, NULL};
	static HyShareHost share_host;
	HyConfig config;
	int op;
	int i;

	begin();
	set("gpu_idle_timeout", timeout);
	line_count = 0;
	share_host = (HyShareHost){.clock = &clock_.clock, .origin = origin_of};
	table = malloc(hy_table_size(&limits));
	hy_table_init(table, &limits);
	hy_config_default(&config);
	config.execution = HY_EXECUTION_GPU;
	config.max_contexts = most;
	for (op = 0; op < HY_OP_COUNT; op++)
		config.min_batch[op] = 1;
	for (i = 0; i < 2; i++)
	{
		CHECK_INT(hy_executor_create(&memory.allocator, &clock_.clock, &log, &parties[i]), HY_OK);
		CHECK_INT(hy_executor_add_backend(parties[i], device_of), HY_OK);
		hy_executor_configure(parties[i], &config);
		hy_executor_share(parties[i], table, &share_host);
	}
}

static void
end_parties(void)
{
	hy_executor_destroy(parties[0]);
	hy_executor_destroy(parties[1]);
	CHECK_INT(hy_table_contexts(table, 1), 0);
	free(table);
	CHECK_INT(memory.outstanding, 0);
}

static HyStatus
dispatch(int party, HyDecision *decision)
{
	HyTask task = task_of(100);
	HyStatus st;

	hy_executor_follow(parties[party]);
	st = hy_dispatch(parties[party], &task, decision);
	if (st == HY_OK)
		CHECK(memcmp(out, expected, 200 * sizeof(double)) == 0);
	return st;
}

static bool
is_open(int party)
{
	HyDeviceState state;

	hy_executor_device(parties[party], 1, &state);
	return state.open;
}

static void
test_the_device_closes_itself(void)
{
	static const char secret[] = "what lies in a buffer";
	uint64_t place = 77;
	HyLimits with_place = {.place = &place};
	HyDevice *device;
	HyBuffer *buffer;
	HyBuffer *more;
	HyTask task = {0};
	HyFailure failure;
	HyTicket ticket;
	HyTimings timings;
	bool done;
	char back[sizeof(secret)];

	begin();
	set("gpu_idle_timeout", "100");
	CHECK_INT(device_of->open(0, &with_place, &device), HY_OK);
	CHECK_INT(device_of->buf_alloc(device, 1000, &buffer), HY_OK);
	CHECK_INT(device_of->upload(device, buffer, 0, secret, sizeof(secret)), HY_OK);
	clock_.time += 90 * MS;
	CHECK(!device_of->idle(device));
	/* each use puts it off; being looked at does not */
	CHECK_INT(device_of->download(device, buffer, 0, back, sizeof(back)), HY_OK);
	CHECK_STR(back, secret);
	clock_.time += 90 * MS;
	CHECK(!device_of->idle(device));
	task = task_of(100);
	CHECK_INT(device_of->submit(device, &task, &ticket), HY_OK);
	CHECK_INT(place, 77);
	/* a task is a use for as long as it runs, though nobody asks */
	clock_.time += 500 * MS;
	CHECK(!device_of->idle(device));
	for (done = false; !done;)
		CHECK_INT(device_of->poll(device, ticket, &done, &timings), HY_OK);
	clock_.time += 99 * MS;
	CHECK(!device_of->idle(device));
	clock_.time += 2 * MS;
	CHECK(device_of->idle(device));
	CHECK_INT(place, 0);
	/* for good */
	place = 78;
	set("gpu_idle_timeout", "0");
	CHECK(device_of->idle(device));
	CHECK_INT(device_of->submit(device, &task, &ticket), HY_CONTEXT_LOST);
	device_of->last_error(device, &failure);
	CHECK_STR(failure.text, "nobody used it, and it closed itself");
	CHECK_INT(device_of->download(device, buffer, 0, back, sizeof(back)), HY_CONTEXT_LOST);
	CHECK_INT(device_of->upload(device, buffer, 0, secret, sizeof(secret)), HY_CONTEXT_LOST);
	CHECK_INT(device_of->buf_alloc(device, 1000, &more), HY_CONTEXT_LOST);
	/* buffers may be freed before it is closed, or not */
	device_of->buf_free(device, buffer);
	device_of->close(device);
	CHECK_INT(place, 78);
	CHECK_INT(memory.outstanding, 0);

	/* without a limit it never does; nor where the host has no such setting */
	CHECK_INT(device_of->open(0, &(HyLimits){0}, &device), HY_OK);
	clock_.time += 1000000 * MS;
	CHECK(!device_of->idle(device));
	device_of->close(device);
	/* a word that is another's by now is left alone */
	set("gpu_idle_timeout", "100");
	place = 5;
	CHECK_INT(device_of->open(0, &with_place, &device), HY_OK);
	CHECK(!device_of->idle(device));
	place = 6;
	clock_.time += 1000 * MS;
	CHECK(device_of->idle(device));
	CHECK_INT(place, 6);
	device_of->close(device);
	CHECK_INT(memory.outstanding, 0);
}

static void
test_cancelled_tasks_are_no_use(void)
{
	HyDevice *device;
	HyTicket ticket;
	HyTimings timings;
	HyTask task;
	bool done;

	begin();
	set("gpu_idle_timeout", "100");
	set("emulated_faults", "status=hang");
	CHECK_INT(device_of->open(0, &(HyLimits){0}, &device), HY_OK);
	task = task_of(100);
	CHECK_INT(device_of->submit(device, &task, &ticket), HY_OK);
	clock_.time += 1000 * MS;
	CHECK(!device_of->idle(device));
	device_of->cancel(device, ticket);
	CHECK(device_of->idle(device));
	CHECK_INT(device_of->poll(device, ticket, &done, &timings), HY_CANCELLED);
	device_of->close(device);
	/* one that does not hear of it holds the device */
	set("emulated_faults", "status=deaf");
	CHECK_INT(device_of->open(0, &(HyLimits){0}, &device), HY_OK);
	CHECK_INT(device_of->submit(device, &task, &ticket), HY_OK);
	device_of->cancel(device, ticket);
	clock_.time += 1000 * MS;
	CHECK(!device_of->idle(device));
	device_of->close(device);
	CHECK_INT(memory.outstanding, 0);
}

static void
test_the_next_task_opens_it_again(void)
{
	HyDecision decision;

	begin_parties("100", 0);
	CHECK_INT(dispatch(0, &decision), HY_OK);
	CHECK_INT(decision.device, 1);
	CHECK(is_open(0));
	CHECK_INT(hy_table_contexts(table, 1), 1);
	clock_.time += 101 * MS;
	/* whoever looks sees it closed, before anybody has needed it */
	CHECK(!is_open(0));
	CHECK_INT(hy_table_contexts(table, 1), 0);
	CHECK_INT(dispatch(0, &decision), HY_OK);
	CHECK_INT(decision.device, 1);
	CHECK(!decision.fallback);
	CHECK_INT(decision.status, HY_OK);
	CHECK_INT(logged("closed: nobody had used it"), 1);
	CHECK_INT(logged("opened"), 2);
	CHECK(is_open(0));
	CHECK_INT(hy_table_contexts(table, 1), 1);
	CHECK_INT(hy_executor_counters(parties[0], 1, HY_OP_DISTANCE)->failures, 0);
	CHECK_INT(hy_executor_counters(parties[0], 1, HY_OP_DISTANCE)->calls, 2);
	end_parties();
}

/*
 * its place is free for another as soon as it has closed itself, even if its own process does
 * nothing
 */
static void
test_its_place_is_free(void)
{
	HyDecision decision;

	begin_parties("100", 1);
	CHECK_INT(dispatch(0, &decision), HY_OK);
	CHECK_INT(dispatch(1, &decision), HY_QUOTA);
	/* which is no lack of memory: no task is cut for it */
	CHECK_INT(parties[1]->member[1].cap_bytes, 0);
	clock_.time += 1101 * MS;
	CHECK(!is_open(0));
	CHECK_INT(dispatch(1, &decision), HY_OK);
	CHECK_INT(hy_table_contexts(table, 1), 1);
	/* the first one finds it closed, gives nothing back twice, and does not get another */
	CHECK_INT(dispatch(0, &decision), HY_QUOTA);
	CHECK_INT(hy_table_contexts(table, 1), 1);
	clock_.time += 1101 * MS;
	CHECK(!is_open(1));
	CHECK_INT(dispatch(0, &decision), HY_OK);
	CHECK_INT(hy_table_contexts(table, 1), 1);
	end_parties();
}

/* late_submit: the context closes between the check that it is open and the task. */
static HyStatus
late_submit(HyDevice *device, const HyTask *task, HyTicket *ticket)
{
	static int times;

	if (times++ % 2 == 0)
		clock_.time += 101 * MS;
	return device_of->submit(device, task, ticket);
}

static void
test_it_closes_while_a_task_waits(void)
{
	HyBackend late;
	HyDecision decision;
	int bulk;
	int i;

	for (bulk = 0; bulk < 2; bulk++)
	{
		begin_parties("100", 0);
		late = *device_of;
		late.submit = late_submit;
		for (i = 0; i < 2; i++)
			parties[i]->member[1].backend = &late;
		if (bulk)
		{
			HyConfig config = parties[0]->config;

			config.execution = HY_EXECUTION_SPLIT;
			config.split_percent = 50;
			hy_executor_configure(parties[0], &config);
		}
		for (i = 0; i < 5; i++)
		{
			CHECK_INT(dispatch(0, &decision), HY_OK);
			CHECK_INT(decision.device, 1);
			CHECK(!decision.fallback);
			CHECK_INT(decision.status, HY_OK);
			CHECK(!bulk || decision.pieces > 1);
			CHECK_INT(hy_table_contexts(table, 1), 1);
		}
		CHECK(logged("closed: nobody had used it") >= 2);
		CHECK_INT(hy_executor_counters(parties[0], 1, HY_OP_DISTANCE)->failures, 0);
		CHECK_INT(parties[0]->member[1].breakers[HY_OP_DISTANCE].state, HY_BREAKER_CLOSED);
		end_parties();
	}
}

int
main(void)
{
	UNIT_RUN(test_the_device_closes_itself);
	UNIT_RUN(test_cancelled_tasks_are_no_use);
	UNIT_RUN(test_the_next_task_opens_it_again);
	UNIT_RUN(test_its_place_is_free);
	UNIT_RUN(test_it_closes_while_a_task_waits);
	return unit_finish();
}
