/*
 * resident_test.c
 *		Tasks over rows that stay on a device: when the rows are sent and used, and what a
 *		failure leaves.
 *
 * The scripted device has buffers in host memory, and its tasks read them.
 */
#include "dispatch_stage.h"

#define ROWS 1000
#define BYTES ((uint64_t) ROWS * STAGE_DIMS * sizeof(float))

struct HyBuffer
{
	uint64_t bytes;
	char *data;
	HyBuffer *next; /* of all that there are */
};

static HyBackend device_of;
static HyStatus upload_status;
static uint64_t held;
static int buffers;
static HyBuffer *first;

static HyStatus
take_buffer(HyDevice *device, uint64_t bytes, HyBuffer **buffer)
{
	(void) device;
	*buffer = malloc(sizeof(HyBuffer));
	(*buffer)->bytes = bytes;
	(*buffer)->data = calloc(1, bytes);
	(*buffer)->next = first;
	first = *buffer;
	held += bytes;
	buffers++;
	return HY_OK;
}

static void
free_buffer(HyDevice *device, HyBuffer *buffer)
{
	HyBuffer **at = &first;

	(void) device;
	while (*at != buffer)
		at = &(*at)->next;
	*at = buffer->next;
	held -= buffer->bytes;
	buffers--;
	free(buffer->data);
	free(buffer);
}

static HyStatus
fill_buffer(HyDevice *device, HyBuffer *buffer, uint64_t offset, const void *data, uint64_t bytes)
{
	(void) device;
	if (upload_status != HY_OK)
		return upload_status;
	memcpy(buffer->data + offset, data, bytes);
	return HY_OK;
}

/*
 * The context closes itself at the check with this number, counted from 0.  A submit counts as a
 * check and is then refused. < 0: never.
 */
static int closes_at;
static int looks;
static bool asleep;

static bool
is_idle(const HyDevice *device)
{
	(void) device;
	if (closes_at >= 0 && looks++ >= closes_at)
		asleep = true;
	return asleep;
}

/* A closed context loses its buffers. */
static void
close_device(HyDevice *device)
{
	while (first != NULL)
		free_buffer(device, first);
	asleep = false;
	closes_at = -1;
	stage_close(device);
}

static HyStatus
submit(HyDevice *device, const HyTask *task, HyTicket *ticket)
{
	HyTask there = *task;
	HyMatrix *targets = &there.u.distance.targets;

	if (is_idle(device))
		return HY_CONTEXT_LOST;
	if (targets->buffer != NULL)
	{
		CHECK(targets->data == NULL);
		targets->data = targets->buffer->data + targets->offset;
		targets->buffer = NULL;
	}
	return stage_submit(device, &there, ticket);
}

/*
 * begin_as: set up an open device.  The times of it with a unit, and of the CPU without, are known
 * unless 0.
 */
static void
begin_as(uint64_t cpu_ns, uint64_t device_ns)
{
	HyTask task;
	HyShape shape;
	HyDecision decision;
	int i;

	stage_begin(0);
	upload_status = HY_OK;
	held = 0;
	buffers = 0;
	asleep = false;
	closes_at = -1;
	stage.devices = 1;
	device_of = stage_backend;
	device_of.buf_alloc = take_buffer;
	device_of.buf_free = free_buffer;
	device_of.upload = fill_buffer;
	device_of.submit = submit;
	device_of.close = close_device;
	device_of.idle = is_idle;
	CHECK_INT(hy_executor_add_backend(stage.executor, &device_of), HY_OK);
	task = stage_task(ROWS);
	shape = hy_task_shape(&task);
	/* opened as the user wishes */
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	hy_executor_configure(stage.executor, &stage.config);
	CHECK_INT(hy_dispatch(stage.executor, &task, &decision), HY_OK);
	CHECK(stage.device_open);
	stage.config.execution = HY_EXECUTION_AUTO;
	stage.config.success_threshold = 0.01;
	hy_executor_configure(stage.executor, &stage.config);
	for (i = 0; i < 20 && cpu_ns > 0; i++)
	{
		hy_tracker_record(stage.executor->tracker, &shape, 0, cpu_ns);
		shape.resident = true;
		hy_tracker_record(stage.executor->tracker, &shape, 1, device_ns);
		shape.resident = false;
	}
}

static void
begin(bool known)
{
	begin_as(known ? 100000 : 0, 10000);
}

static HyResidentAnswer
ask(uint64_t place, HyResident *resident)
{
	HyTask task = stage_task(ROWS);
	HyShape shape = hy_task_shape(&task);
	HyUnitKey key = {.place = {1, 2, place}, .version = {3, 4}};

	return hy_resident_ask(stage.executor, &shape, BYTES, &key, resident);
}

static HyStatus
keep(HyResident *resident)
{
	HyUnitPart part = {.data = stage.vectors + STAGE_DIMS, .bytes = BYTES};
	HyUnitRows rows = {.part = &part, .parts = 1, .bytes = BYTES, .rows = ROWS};

	return hy_resident_keep(stage.executor, &rows, resident);
}

/* run: run a task with rows that only the device has. */
static HyStatus
run(HyResident *resident, HyDecision *decision)
{
	HyTask task = stage_task(ROWS);
	HyStatus st;

	task.u.distance.targets.data = NULL;
	st = hy_resident_run(stage.executor, &task, resident, decision);
	if (st == HY_OK)
		CHECK(stage_right(&task));
	return st;
}

/* settle: make a unit resident. */
static void
settle(HyResident *resident)
{
	CHECK_INT(ask(0, resident), HY_RESIDENT_NOT);
	CHECK_INT(ask(0, resident), HY_RESIDENT_WANTED);
	CHECK_INT(keep(resident), HY_OK);
	CHECK_INT(run(resident, NULL), HY_OK);
}

static void
test_sent_and_found(void)
{
	HyResident resident;
	HyDecision decision;
	uint64_t up;
	int i;

	begin(true);
	CHECK(hy_resident_possible(stage.executor));
	CHECK_INT(ask(0, &resident), HY_RESIDENT_NOT);
	CHECK_INT(ask(0, &resident), HY_RESIDENT_WANTED);
	up = stage_counters(1)->bytes_up;
	CHECK_INT(keep(&resident), HY_OK);
	CHECK_INT(stage_counters(1)->bytes_up - up, BYTES);
	CHECK_INT(run(&resident, &decision), HY_OK);
	CHECK_INT(decision.device, 1);
	CHECK_INT(decision.reason, HY_REASON_COST);
	CHECK(decision.shape.resident);
	CHECK(decision.predicted_cpu_ns > decision.predicted_device_ns);
	CHECK(decision.predicted_device_ns > 0);
	for (i = 0; i < 3; i++)
	{
		CHECK_INT(ask(0, &resident), HY_RESIDENT_THERE);
		CHECK_INT(run(&resident, &decision), HY_OK);
	}
	CHECK_INT(stage_counters(1)->by_reason[HY_REASON_COST], 4);
	CHECK_INT(stage.executor->member[1].resident.hits, 3);
	CHECK_INT(held, BYTES);
	stage_end();
	CHECK_INT(held, 0);
}

/* Nothing is requested from a device that is closed or that the user excludes. */
static void
test_when_it_is_possible(void)
{
	static const HyExecution without[] = {HY_EXECUTION_CPU, HY_EXECUTION_PREFER_CPU};
	static const HyExecution with[] = {HY_EXECUTION_GPU, HY_EXECUTION_PREFER_GPU,
	                                   HY_EXECUTION_SPLIT, HY_EXECUTION_AUTO};
	HyResident resident;
	size_t i;

	begin(true);
	settle(&resident);
	for (i = 0; i < sizeof(without) / sizeof(without[0]); i++)
	{
		stage.config.execution = without[i];
		hy_executor_configure(stage.executor, &stage.config);
		CHECK(!hy_resident_possible(stage.executor));
	}
	for (i = 0; i < sizeof(with) / sizeof(with[0]); i++)
	{
		stage.config.execution = with[i];
		hy_executor_configure(stage.executor, &stage.config);
		CHECK(hy_resident_possible(stage.executor));
		CHECK_INT(ask(0, &resident), HY_RESIDENT_THERE);
	}
	stage.config.force_cpu = true;
	hy_executor_configure(stage.executor, &stage.config);
	CHECK(!hy_resident_possible(stage.executor));
	stage.config.force_cpu = false;
	stage.config.resident_limit = 0;
	hy_executor_configure(stage.executor, &stage.config);
	CHECK(!hy_resident_possible(stage.executor));
	stage.config.resident_limit = UINT64_MAX;
	stage.config.devices = 2; /* number 1, which there is not */
	hy_executor_configure(stage.executor, &stage.config);
	CHECK(!hy_resident_possible(stage.executor));
	CHECK_INT(ask(0, &resident), HY_RESIDENT_NOT);
	stage.config.devices = 0;
	hy_executor_configure(stage.executor, &stage.config);
	hy_executor_close_devices(stage.executor);
	CHECK(!hy_resident_possible(stage.executor));
	CHECK_INT(ask(0, &resident), HY_RESIDENT_NOT);
	CHECK_INT(buffers, 0);
	stage_end();
}

/*
 * Rows for which the CPU is faster are not sent, and resident ones are not used, except for a
 * trial.
 */
static void
test_the_cpu_is_faster(void)
{
	HyResident resident;
	int used = 0;
	int i;

	begin_as(20000, 40000);
	/* while the user wishes for it, it is sent all the same */
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	hy_executor_configure(stage.executor, &stage.config);
	(void) ask(0, &resident);
	CHECK_INT(ask(0, &resident), HY_RESIDENT_WANTED);
	CHECK_INT(keep(&resident), HY_OK);
	stage.config.execution = HY_EXECUTION_AUTO;
	hy_executor_configure(stage.executor, &stage.config);
	for (i = 0; i < 4; i++)
		CHECK_INT(ask(1, &resident), HY_RESIDENT_NOT);
	for (i = 0; i < 128; i++)
	{
		if (ask(0, &resident) == HY_RESIDENT_THERE)
		{
			CHECK(resident.trial);
			used++;
		}
	}
	CHECK_INT(used, 2);
	stage_end();
}

/* If nothing is known about units, a wanted one is the trial. */
static void
test_without_history(void)
{
	HyResident resident;
	HyDecision decision;
	HyTask task;
	HyShape shape;

	begin(false);
	CHECK_INT(ask(0, &resident), HY_RESIDENT_NOT);
	/* nor is anything of the CPU: the common way is to learn that first */
	CHECK_INT(ask(0, &resident), HY_RESIDENT_NOT);
	task = stage_task(ROWS);
	shape = hy_task_shape(&task);
	hy_tracker_record(stage.executor->tracker, &shape, 0, 100000);
	hy_tracker_record(stage.executor->tracker, &shape, 0, 100000);
	CHECK_INT(ask(0, &resident), HY_RESIDENT_WANTED);
	CHECK_INT(keep(&resident), HY_OK);
	CHECK_INT(run(&resident, &decision), HY_OK);
	CHECK_INT(decision.reason, HY_REASON_EXPLORATION);
	CHECK_INT(ask(0, &resident), HY_RESIDENT_THERE);
	CHECK(resident.trial); /* the first was a cold start */
	CHECK_INT(run(&resident, &decision), HY_OK);
	CHECK_INT(ask(0, &resident), HY_RESIDENT_THERE);
	CHECK(!resident.trial);
	stage_end();
}

/*
 * Units take half of the budget and tasks have the rest; units beyond the current half are evicted.
 */
static void
test_memory(void)
{
	HyResident resident;
	HyMember *member;
	uint64_t budget;

	begin(true);
	member = &stage.executor->member[1];
	stage.free_bytes = 10 * BYTES;
	member->free_known = false;
	member->info.memory_total = stage.free_bytes;
	budget = hy_member_budget(stage.executor, member, hy_now(stage.executor));
	CHECK_INT(budget, 8 * BYTES);
	CHECK_INT(hy_member_room(stage.executor, member, hy_now(stage.executor)), 4 * BYTES);
	settle(&resident);
	/* what is there is not free any more, and not for tasks */
	CHECK(hy_member_budget(stage.executor, member, hy_now(stage.executor)) <= 7 * BYTES);
	CHECK_INT(member->resident.bytes, BYTES);
	stage.config.resident_limit = BYTES - 1;
	hy_executor_configure(stage.executor, &stage.config);
	hy_member_yield(stage.executor, member);
	CHECK_INT(member->resident.bytes, 0);
	CHECK_INT(member->resident.evictions, 1);
	CHECK_INT(held, 0);
	CHECK_INT(ask(0, &resident), HY_RESIDENT_NOT);
	CHECK_INT(ask(0, &resident), HY_RESIDENT_NOT);
	CHECK_INT(buffers, 0);
	stage_end();
}

static void
test_what_cannot_be_sent(void)
{
	static const HyStatus failures[] = {HY_NOMEM, HY_QUOTA, HY_UNSUPPORTED, HY_TRANSIENT};
	size_t i;

	for (i = 0; i < sizeof(failures) / sizeof(failures[0]); i++)
	{
		bool counts = failures[i] == HY_TRANSIENT;
		HyResident resident;

		begin(true);
		(void) ask(0, &resident);
		CHECK_INT(ask(0, &resident), HY_RESIDENT_WANTED);
		upload_status = failures[i];
		CHECK_INT(keep(&resident), failures[i]);
		CHECK(resident.unit == NULL);
		CHECK_INT(held, 0);
		CHECK_INT(stage_counters(1)->failures, counts ? 1 : 0);
		/* a second later there may be room */
		CHECK_INT(ask(0, &resident), HY_RESIDENT_NOT);
		stage.clock.time += UINT64_C(1000000000);
		upload_status = HY_OK;
		CHECK_INT(ask(0, &resident), HY_RESIDENT_WANTED);
		CHECK_INT(keep(&resident), HY_OK);
		CHECK_INT(run(&resident, NULL), HY_OK);
		stage_end();
	}
}

/*
 * A task that fails is returned to the caller; a lost context loses all units and is not retried.
 */
static void
test_failing_tasks(void)
{
	static const HyStatus failures[] = {HY_TRANSIENT, HY_NOMEM, HY_CONTEXT_LOST, HY_DEVICE_GONE,
	                                    HY_PROCESS_LOST};
	size_t i;
	int poll;

	for (i = 0; i < 2 * sizeof(failures) / sizeof(failures[0]); i++)
	{
		HyStatus st = failures[i / 2];
		bool lost = st == HY_CONTEXT_LOST || st == HY_DEVICE_GONE || st == HY_PROCESS_LOST;
		HyResident resident;
		HyDecision decision;
		int submits;

		poll = i % 2;
		begin(true);
		settle(&resident);
		CHECK_INT(ask(0, &resident), HY_RESIDENT_THERE);
		stage.fail_in_poll = poll != 0;
		stage.scripted = 0;
		stage.script[0] = st;
		submits = stage.submits;
		CHECK_INT(run(&resident, &decision), st);
		CHECK_INT(stage.submits, submits + 1);
		CHECK_INT(decision.status, st);
		CHECK_INT(stage_counters(1)->by_status[st], 1);
		CHECK_INT(buffers, lost ? 0 : 1);
		CHECK_INT(stage.executor->member[1].resident.units, lost ? 0 : 1);
		CHECK(stage.device_open == !lost);
		if (!lost)
		{
			/* what was too much leaves a cap behind for a while */
			CHECK_INT(ask(0, &resident), st == HY_NOMEM ? HY_RESIDENT_NOT : HY_RESIDENT_THERE);
			stage.clock.time += UINT64_C(20000000000);
			CHECK_INT(ask(0, &resident), HY_RESIDENT_THERE);
			CHECK_INT(run(&resident, &decision), HY_OK);
		}
		else
			CHECK_INT(ask(0, &resident), HY_RESIDENT_NOT);
		stage_end();
	}
}

/*
 * A task that was canceled may still read its rows: they stay, and the device is not asked, until
 * it has ended.
 */
static void
test_cancelled(void)
{
	HyResident resident;
	HyMember *member;

	begin(true);
	member = &stage.executor->member[1];
	settle(&resident);
	CHECK_INT(ask(0, &resident), HY_RESIDENT_THERE);
	stage.hang = stage.deaf = true;
	unit_cancel_init(&stage.cancel, 1);
	CHECK_INT(run(&resident, NULL), HY_CANCELLED);
	unit_cancel_init(&stage.cancel, 0);
	CHECK_INT(member->leftovers, 1);
	stage.config.resident_limit = 1;
	hy_executor_configure(stage.executor, &stage.config);
	hy_member_yield(stage.executor, member);
	CHECK_INT(buffers, 1);
	stage.config.resident_limit = UINT64_MAX;
	hy_executor_configure(stage.executor, &stage.config);
	CHECK_INT(ask(0, &resident), HY_RESIDENT_NOT);
	stage.hang = stage.deaf = false;
	CHECK_INT(ask(0, &resident), HY_RESIDENT_THERE);
	CHECK_INT(run(&resident, NULL), HY_OK);
	stage_end();
}

/*
 * A context that closes itself at any moment loses all units.  Then the caller reads the rows,
 * nothing is sent for rows that are not there, nothing counts as a failure, and the next task opens
 * the device again.
 */
static void
test_closes_itself(void)
{
	int at;
	bool closed = true;

	for (at = 0; closed; at++)
	{
		HyResident resident;
		HyDecision decision;
		HyTask task;
		HyStatus st;

		CHECK(at < 20);
		begin(true);
		settle(&resident);
		CHECK_INT(ask(0, &resident), HY_RESIDENT_THERE);
		looks = 0;
		closes_at = at;
		st = run(&resident, &decision);
		closed = st != HY_OK;
		if (closed)
		{
			CHECK(st == HY_CONTEXT_LOST || st == HY_INVALID);
			CHECK_INT(buffers, 0);
			CHECK_INT(stage.executor->member[1].resident.units, 0);
		}
		CHECK_INT(stage_counters(1)->failures, 0);
		CHECK_INT(stage.executor->member[1].breakers[HY_OP_DISTANCE].state, HY_BREAKER_CLOSED);
		stage.config.execution = HY_EXECUTION_PREFER_GPU;
		hy_executor_configure(stage.executor, &stage.config);
		task = stage_task(ROWS);
		CHECK_INT(hy_dispatch(stage.executor, &task, &decision), HY_OK);
		CHECK_INT(decision.device, 1);
		CHECK(stage_right(&task));
		CHECK(stage.device_open);
		stage_end();
		CHECK_INT(held, 0);
	}
	printf("# %d moments\n", at - 1);
	CHECK(at > 3);
}

/* A forgotten unit stays until its room is needed, and is then evicted before all others. */
static void
test_forgotten(void)
{
	HyUnitKey key = {.place = {1, 2, 1}, .version = {3, 4}};
	HyResident resident;
	uint64_t i;

	begin(true);
	for (i = 0; i < 2; i++)
	{
		CHECK_INT(ask(i, &resident), HY_RESIDENT_NOT);
		CHECK_INT(ask(i, &resident), HY_RESIDENT_WANTED);
		CHECK_INT(keep(&resident), HY_OK);
		CHECK_INT(run(&resident, NULL), HY_OK);
	}
	stage.config.resident_limit = 2 * BYTES;
	hy_executor_configure(stage.executor, &stage.config);
	hy_resident_forget(stage.executor, &key);
	CHECK_INT(held, 2 * BYTES);
	CHECK_INT(ask(2, &resident), HY_RESIDENT_NOT);
	CHECK_INT(ask(2, &resident), HY_RESIDENT_WANTED);
	CHECK_INT(keep(&resident), HY_OK);
	CHECK_INT(held, 2 * BYTES);
	CHECK_INT(ask(0, &resident), HY_RESIDENT_THERE);
	stage_end();
	CHECK_INT(held, 0);
}

/* A reset of failures also resets the record that a unit could not be sent. */
static void
test_reset_sends_again(void)
{
	HyResident resident;

	begin(true);
	/* what the CPU takes is forgotten, too */
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	hy_executor_configure(stage.executor, &stage.config);
	CHECK_INT(ask(0, &resident), HY_RESIDENT_NOT);
	CHECK_INT(ask(0, &resident), HY_RESIDENT_WANTED);
	upload_status = HY_TRANSIENT;
	CHECK_INT(keep(&resident), HY_TRANSIENT);
	upload_status = HY_OK;
	CHECK_INT(ask(0, &resident), HY_RESIDENT_NOT);
	hy_executor_reset(stage.executor);
	CHECK_INT(ask(0, &resident), HY_RESIDENT_WANTED);
	CHECK_INT(keep(&resident), HY_OK);
	stage_end();
}

/* A device that has closed itself holds nothing and is sent nothing. */
static void
test_asks_nobody_who_sleeps(void)
{
	HyResident resident;
	HyUnitPart part = {.data = stage.vectors + STAGE_DIMS, .bytes = BYTES};
	HyUnitRows rows = {.part = &part, .parts = 1, .bytes = BYTES, .rows = ROWS};

	begin(true);
	settle(&resident);
	asleep = true;
	CHECK_INT(ask(0, &resident), HY_RESIDENT_NOT);
	asleep = false;
	CHECK_INT(ask(1, &resident), HY_RESIDENT_NOT);
	CHECK_INT(ask(1, &resident), HY_RESIDENT_WANTED);
	asleep = true;
	CHECK_INT(hy_resident_keep(stage.executor, &rows, &resident), HY_BUSY);
	CHECK_INT(stage_counters(1)->failures, 0);
	asleep = false;
	stage_end();
}

static bool
at_once(void *arg)
{
	(void) arg;
	return true;
}

/*
 * A cancel while a unit is sent is not a failure of the device, but a reported cancel that no one
 * requested is.
 */
static void
test_cancelled_while_sent(void)
{
	const HyCancel cancel = {at_once, NULL};
	HyResident resident;
	HyUnitPart part = {.data = stage.vectors + STAGE_DIMS, .bytes = BYTES};
	HyUnitRows rows = {.part = &part, .parts = 1, .bytes = BYTES, .rows = ROWS, .cancel = &cancel};

	begin(true);
	settle(&resident);
	CHECK_INT(ask(1, &resident), HY_RESIDENT_NOT);
	CHECK_INT(ask(1, &resident), HY_RESIDENT_WANTED);
	CHECK_INT(hy_resident_keep(stage.executor, &rows, &resident), HY_CANCELLED);
	CHECK_INT(stage_counters(1)->failures, 0);
	CHECK_INT(ask(1, &resident), HY_RESIDENT_WANTED);
	upload_status = HY_CANCELLED;
	CHECK_INT(keep(&resident), HY_BUG);
	upload_status = HY_OK;
	CHECK_INT(stage_counters(1)->failures, 1);
	stage_end();
}

/*
 * A context that closes itself between two steps loses the rows that were sent, and no later step
 * touches it.
 */
static void
test_closes_itself_while_sent(void)
{
	int step;

	for (step = 0; step < 2; step++)
	{
		HyUnitPart part = {.bytes = BYTES};
		HyResident resident;

		begin(true);
		part.data = stage.vectors + STAGE_DIMS;
		CHECK_INT(ask(0, &resident), HY_RESIDENT_NOT);
		CHECK_INT(ask(0, &resident), HY_RESIDENT_WANTED);
		CHECK_INT(hy_resident_begin(stage.executor, BYTES, ROWS, &resident), HY_OK);
		CHECK(resident.unit != NULL);
		if (step > 0)
			CHECK_INT(hy_resident_send(stage.executor, &part, NULL, &resident), HY_OK);
		asleep = true;
		if (step > 0)
			CHECK_INT(hy_resident_end(stage.executor, NULL, 0, &resident), HY_BUSY);
		else
			CHECK_INT(hy_resident_send(stage.executor, &part, NULL, &resident), HY_BUSY);
		CHECK(resident.unit == NULL);
		CHECK_INT(hy_resident_end(stage.executor, NULL, 0, &resident), HY_BUSY);
		CHECK_INT(run(&resident, NULL), HY_INVALID);
		CHECK_INT(stage_counters(1)->failures, 0);
		asleep = false;
		stage_end();
	}
}

/*
 * unit_bytes_with: return the bytes of a unit if only this much room of the device is left for
 * units.
 */
static uint64_t
unit_bytes_with(uint64_t room)
{
	HyMember *member = &stage.executor->member[1];

	stage.config.resident_limit = room;
	hy_executor_configure(stage.executor, &stage.config);
	CHECK_INT(hy_member_room(stage.executor, member, hy_now(stage.executor)), room);
	return hy_resident_unit_bytes(stage.executor);
}

/* The size of a unit depends on the room, and stays the same while the room changes little. */
static void
test_unit_bytes(void)
{
	const uint64_t mb = UINT64_C(1) << 20;

	begin(true);
	stage.free_bytes = 100000 * mb;
	stage.executor->member[1].free_known = false;
	stage.executor->member[1].info.memory_total = stage.free_bytes;
	CHECK_INT(unit_bytes_with(8 * mb), mb);
	CHECK_INT(unit_bytes_with(4 * mb), mb);
	CHECK_INT(unit_bytes_with(32 * mb), mb);
	CHECK_INT(unit_bytes_with(4 * mb - 1), mb / 4);
	CHECK_INT(unit_bytes_with(4 * mb), mb / 4);
	CHECK_INT(unit_bytes_with(9 * mb), mb);
	CHECK_INT(unit_bytes_with(511 * mb), 32 * mb);
	CHECK_INT(unit_bytes_with(1024 * mb), 32 * mb);
	CHECK_INT(unit_bytes_with(1025 * mb), HY_UNIT_MOST);
	CHECK_INT(unit_bytes_with(30000 * mb), HY_UNIT_MOST);
	CHECK_INT(unit_bytes_with(256 * mb), HY_UNIT_MOST);
	CHECK_INT(unit_bytes_with(200 * mb), 16 * mb);
	CHECK_INT(unit_bytes_with(1), 1);
	/* of a device that nobody may use nothing is asked */
	asleep = true;
	CHECK_INT(hy_resident_unit_bytes(stage.executor), HY_UNIT_MOST);
	asleep = false;
	stage_end();
}

int
main(void)
{
	UNIT_RUN(test_sent_and_found);
	UNIT_RUN(test_when_it_is_possible);
	UNIT_RUN(test_the_cpu_is_faster);
	UNIT_RUN(test_without_history);
	UNIT_RUN(test_memory);
	UNIT_RUN(test_what_cannot_be_sent);
	UNIT_RUN(test_failing_tasks);
	UNIT_RUN(test_cancelled);
	UNIT_RUN(test_cancelled_while_sent);
	UNIT_RUN(test_closes_itself);
	UNIT_RUN(test_closes_itself_while_sent);
	UNIT_RUN(test_unit_bytes);
	UNIT_RUN(test_forgotten);
	UNIT_RUN(test_reset_sends_again);
	UNIT_RUN(test_asks_nobody_who_sleeps);
	return unit_finish();
}
