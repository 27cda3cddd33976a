/*
 * emulated_test.c
 *		The emulated device: right answers, made-up time, and every failure on demand.
 */
#include "core/distance.h"
#include "core/topk.h"
#include "dispatch/dispatcher.h"
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
/* Contexts of a device that does not hear are left behind on purpose; this keeps them in sight. */
static void *left_behind[4];
static int left;

static const char *
setting_text(void *arg, const char *name)
{
	int i;

	(void) arg;
	for (i = 0; i < setting_count; i++)
	{
		if (strcmp(settings[i].name, name) == 0)
			return settings[i].text;
	}
	return NULL;
}

static void
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
static void
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

static HyTask
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

static HyDevice *
open_device(uint64_t limit)
{
	HyLimits limits = {.memory = limit};
	HyDevice *device = NULL;

	CHECK_INT(device_of->open(0, &limits, &device), HY_OK);
	return device;
}

/* run: submit, poll, skip what remains, poll. */
static HyStatus
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

static HyStatus
run_status(HyDevice *device, int64_t rows)
{
	HyTask task = task_of(rows);
	HyTimings timings;
	bool done;

	return run(device, &task, &done, &timings);
}

static void
test_same_bits_in_virtual_time(void)
{
	HyDevice *device;
	HyTask task;
	HyTimings timings;
	uint64_t before;
	bool done;

	begin();
	device = open_device(0);
	task = task_of(ROWS);
	before = clock_.time;
	CHECK_INT(run(device, &task, &done, &timings), HY_OK);
	CHECK(done);
	CHECK_INT(clock_.time - before, timings.total_ns);
	CHECK_INT(clock_.waits, 0);
	CHECK_INT(memcmp(out, expected, sizeof(out)), 0);
	CHECK_INT(timings.bytes_up, (ROWS + 2) * DIMS * 4);
	CHECK_INT(timings.bytes_down, 2 * ROWS * 8);
	CHECK(timings.total_ns > 11 * 20000 * 0.9); /* launch and warm-up */
	device_of->close(device);
	CHECK_INT(memory.outstanding, 0);
}

static void
test_waiting(void)
{
	HyDevice *device;
	HyTask task;
	HyTicket ticket;
	HyTimings timings;
	uint64_t before;
	bool done = false;

	begin();
	set("emulated_wait", "on");
	set("emulated_open_ms", "5");
	before = clock_.time;
	device = open_device(0);
	CHECK_INT(clock_.time - before, 5000000);
	task = task_of(ROWS);
	before = clock_.time;
	CHECK_INT(device_of->submit(device, &task, &ticket), HY_OK);
	CHECK_INT(device_of->poll(device, ticket, &done, &timings), HY_OK);
	CHECK(!done);
	CHECK(!timings.may_skip); /* waiting is wanted */
	CHECK(out[0] == 0);       /* nothing is written before it is done */
	clock_.time += timings.remaining_ns;
	CHECK_INT(device_of->poll(device, ticket, &done, &timings), HY_OK);
	CHECK(done);
	CHECK_INT(memcmp(out, expected, sizeof(out)), 0);
	CHECK_INT(clock_.time - before, timings.total_ns);
	CHECK_INT(clock_.skips, 0);
	CHECK_INT(device_of->poll(device, ticket, &done, &timings), HY_INVALID);
	device_of->close(device);
}

/* Ticking: a clock that moves on by a microsecond whenever somebody looks. */
typedef struct Ticking
{
	HyClock clock;
	uint64_t time;
} Ticking;

static uint64_t
ticking_now(void *arg)
{
	return ((Ticking *) arg)->time += 1000;
}

static void
ticking_skip(void *arg, int64_t ns)
{
	((Ticking *) arg)->time += (uint64_t) ns;
}

static void
test_its_own_time_is_taken_out(void)
{
	Ticking ticking = {{ticking_now, NULL, ticking_skip, &ticking}, 5000};
	HyTask task;
	HyDevice *device;
	HyTicket ticket;
	HyTimings timings;
	bool done;

	begin();
	host.clock = &ticking.clock;
	set("emulated_open_ms", "2");
	device = open_device(0);
	CHECK_INT(ticking.time, 5000 + 2000000);
	task = task_of(ROWS);
	/* each call looks at the clock first; whatever it looks later is taken back */
	CHECK_INT(device_of->submit(device, &task, &ticket), HY_OK);
	CHECK_INT(ticking.time, 2005000 + 1000);
	CHECK_INT(device_of->poll(device, ticket, &done, &timings), HY_OK);
	CHECK(!done);
	CHECK_INT(ticking.time, 2005000 + 2000);
	ticking.time += timings.remaining_ns;
	CHECK_INT(device_of->poll(device, ticket, &done, &timings), HY_OK);
	CHECK(done);
	CHECK_INT(ticking.time, 2006000 + timings.total_ns + 1000);
	device_of->close(device);
}

static void
test_one_engine(void)
{
	HyDevice *first;
	HyDevice *second;
	HyTask task;
	HyTicket ticket[3];
	HyTimings timings;
	uint64_t end[3];
	bool done;
	int i;

	begin();
	first = open_device(0);
	second = open_device(0); /* another context of the same device */
	task = task_of(ROWS);
	CHECK_INT(device_of->submit(first, &task, &ticket[0]), HY_OK);
	CHECK_INT(device_of->submit(second, &task, &ticket[1]), HY_OK);
	CHECK_INT(device_of->submit(first, &task, &ticket[2]), HY_OK);
	for (i = 0; i < 3; i++)
	{
		CHECK_INT(device_of->poll(i == 1 ? second : first, ticket[i], &done, &timings), HY_OK);
		CHECK(!done);
		end[i] = clock_.time + timings.remaining_ns;
	}
	CHECK(end[1] > end[0] + 10 * 20000); /* a context of its own warms up by itself */
	CHECK(end[2] > end[1] + 20000 * 0.9);
	clock_.time = end[0];
	CHECK_INT(device_of->poll(second, ticket[1], &done, &timings), HY_OK);
	CHECK(!done);
	CHECK_INT(device_of->poll(first, ticket[0], &done, &timings), HY_OK);
	CHECK(done);
	/* the last in the queue is cancelled: its time is free again */
	device_of->cancel(first, ticket[2]);
	CHECK_INT(device_of->poll(first, ticket[2], &done, &timings), HY_CANCELLED);
	clock_.time = end[1];
	CHECK_INT(device_of->poll(second, ticket[1], &done, &timings), HY_OK);
	CHECK(done);
	CHECK_INT(timings.total_ns, end[1] - 1000);
	CHECK_INT(device_of->submit(second, &task, &ticket[1]), HY_OK);
	CHECK_INT(device_of->poll(second, ticket[1], &done, &timings), HY_OK);
	CHECK(timings.remaining_ns < 50000);
	device_of->close(first);
	device_of->close(second);
}

/* time_of: of the n-th run of rows items. */
static uint64_t
time_of(int64_t rows, int n)
{
	HyDevice *device = open_device(0);
	HyTask task = task_of(rows);
	HyTimings timings = {0};
	bool done;
	int i;

	for (i = 0; i < n; i++)
		CHECK_INT(run(device, &task, &done, &timings), HY_OK);
	device_of->close(device);
	return timings.total_ns;
}

static void
test_law_of_time(void)
{
	begin();
	set("emulated_bandwidth_gbs", "0");
	CHECK(time_of(100, 1) > 5 * time_of(100, 2)); /* warm-up */
	CHECK_INT(time_of(100, 3), time_of(100, 3));  /* the same on every machine and day */
	CHECK(time_of(100, 3) != time_of(100, 4));    /* jitter */
	CHECK_NEAR((double) time_of(100, 3), (double) time_of(100, 4), 0.25 * time_of(100, 4));
	set("emulated_launch_us", "2000");
	CHECK(time_of(100, 2) > 1700000);
	set("emulated_launch_us", "0");
	set("emulated_rate_gflops", "1");
	CHECK(time_of(100, 2) > 1000000); /* one wave of 40,960 items of 96 flop: 3.9 ms */
	CHECK_NEAR((double) time_of(100, 2), (double) time_of(900, 2), 1); /* still the same wave */
	set("emulated_rate_gflops", "1000000");
	set("emulated_bandwidth_gbs", "0.001");
	CHECK(time_of(ROWS, 2) > UINT64_C(128000) * 1000 * 0.9); /* 128 kB at 1 kB/ms */
}

static void
test_profiles(void)
{
	HyDevice *device;
	uint64_t plain;
	int failed = 0;
	int i;

	begin();
	plain = time_of(100, 2);
	set("emulated_launch_us", "7777"); /* a profile takes its place */
	set("emulated_profile", "pcie");
	CHECK_INT(time_of(100, 2), plain);
	set("emulated_profile", "integrated");
	CHECK_NEAR((double) time_of(100, 2), 5000 + 40960 * 96 / 400.0, 0.11 * (5000 + 9830));
	set("emulated_profile", "");
	CHECK(time_of(100, 2) > 7000000);
	set("emulated_profile", "bad");
	device = open_device(0);
	for (i = 0; i < 400; i++)
		failed += run_status(device, 10) == HY_TRANSIENT;
	CHECK(failed > 15 && failed < 80);
	set("emulated_faults", "fail_at=99999"); /* the user's own faults */
	for (i = 0; i < 100; i++)
		CHECK_INT(run_status(device, 10), HY_OK);
	device_of->close(device);
	CHECK(time_of(100, 2) > 300000 * 0.9 + 40960 * 96 / 25 * 0.9);
}

static void
test_buffers(void)
{
	HyDevice *device;
	HyDevice *other;
	HyTask task;
	HyTimings timings;
	HyBuffer *buffer;
	HyBuffer *second;
	uint64_t free_bytes;
	uint64_t total;
	char zero[64];
	bool done;

	begin();
	set("emulated_memory_mb", "1");
	device = open_device(0);
	CHECK_INT(device_of->mem_info(device, &free_bytes, &total), HY_OK);
	CHECK(free_bytes == 1048576 && total == 1048576);
	CHECK_INT(device_of->buf_alloc(device, ROWS * DIMS * 4 + 64, &buffer), HY_OK);
	memset(zero, 1, sizeof(zero));
	CHECK_INT(device_of->download(device, buffer, ROWS * DIMS * 4, zero, 64), HY_OK);
	CHECK(zero[0] == 0 && zero[63] == 0); /* reads as zero */
	CHECK_INT(device_of->download(device, buffer, ROWS * DIMS * 4 + 1, zero, 64), HY_INVALID);
	CHECK_INT(device_of->upload(device, buffer, UINT64_MAX, zero, 64), HY_INVALID);
	CHECK_INT(device_of->upload(device, buffer, 64, vectors + 2 * DIMS, ROWS * DIMS * 4), HY_OK);
	CHECK_INT(device_of->mem_info(device, &free_bytes, &total), HY_OK);
	CHECK_INT(free_bytes, 1048576 - (ROWS * DIMS * 4 + 64));
	CHECK_INT(device_of->buf_alloc(device, 1048576, &second), HY_NOMEM);
	CHECK(second == NULL);

	task = task_of(ROWS);
	task.u.distance.targets.data = NULL;
	task.u.distance.targets.buffer = buffer;
	task.u.distance.targets.offset = 64;
	CHECK_INT(run(device, &task, &done, &timings), HY_OK);
	CHECK(done);
	CHECK_INT(memcmp(out, expected, sizeof(out)), 0);
	CHECK_INT(timings.bytes_up, 2 * DIMS * 4); /* what is resident does not travel */
	task.u.distance.targets.offset = 68;
	CHECK_INT(run(device, &task, &done, &timings), HY_INVALID); /* beyond its end */
	task.u.distance.targets.offset = 64;
	other = open_device(0);
	CHECK_INT(run(other, &task, &done, &timings), HY_INVALID); /* another context's */
	device_of->close(other);
	device_of->buf_free(device, buffer);
	CHECK_INT(device_of->mem_info(device, &free_bytes, &total), HY_OK);
	CHECK_INT(free_bytes, 1048576);
	CHECK_INT(device_of->buf_alloc(device, 0, &buffer), HY_OK);
	device_of->close(device); /* gives back what is left */
	CHECK_INT(memory.outstanding, 0);
}

/* Recycler: an allocator that hands out what was given back last, as it was left. */
typedef struct Recycler
{
	HyAllocator allocator;
	size_t size;
	void *block;
	int reused;
} Recycler;

static void *
recycler_alloc(void *arg, size_t size)
{
	Recycler *recycler = arg;

	if (recycler->block != NULL && recycler->size == size)
	{
		void *block = recycler->block;

		recycler->block = NULL;
		recycler->reused++;
		return block;
	}
	return malloc(size);
}

static void
recycler_free(void *arg, void *pointer)
{
	Recycler *recycler = arg;

	if (pointer != NULL && recycler->block == NULL && recycler->size > 0 &&
	    *(const char *) pointer == 's')
		recycler->block = pointer;
	else
		free(pointer);
}

/*
 * What one role left in device memory is not there for the next one: neither in a new buffer of the
 * same context, as a session has after SET ROLE, nor in one of another.
 */
static void
test_nothing_is_handed_on(void)
{
	static char secret[12345];
	static char found[12345];
	Recycler recycler = {{recycler_alloc, recycler_free, NULL}, sizeof(secret), NULL, 0};
	HyDevice *device;
	HyBuffer *buffer;
	int round;
	size_t i;

	begin();
	recycler.allocator.arg = &recycler;
	host.allocator = &recycler.allocator;
	memset(secret, 's', sizeof(secret));
	device = open_device(0);
	for (round = 0; round < 3; round++)
	{
		CHECK_INT(device_of->buf_alloc(device, sizeof(secret), &buffer), HY_OK);
		CHECK_INT(device_of->download(device, buffer, 0, found, sizeof(found)), HY_OK);
		for (i = 0; i < sizeof(found) && found[i] == 0; i++)
			;
		CHECK_INT(i, sizeof(found));
		CHECK_INT(device_of->upload(device, buffer, 0, secret, sizeof(secret)), HY_OK);
		if (round == 0)
			device_of->buf_free(device, buffer);
		else
		{
			device_of->close(device);
			device = open_device(0);
		}
	}
	CHECK_INT(recycler.reused, 2); /* it was the very memory that held the secret */
	device_of->close(device);
	free(recycler.block);
}

static void
test_limits(void)
{
	HyDevice *device;
	HyFailure failure;

	begin();
	device = open_device(100000);
	CHECK_INT(run_status(device, ROWS), HY_QUOTA);
	device_of->last_error(device, &failure);
	CHECK(failure.native_code != 0 && failure.text[0] != '\0');
	CHECK_INT(run_status(device, 100), HY_OK);
	device_of->close(device);
	device = open_device(0);
	set("emulated_memory_mb", "0.1");
	CHECK_INT(run_status(device, ROWS), HY_NOMEM);
	device_of->close(device);
}

static void
test_short_of_host_memory(void)
{
	HyLimits limits = {0};
	HyDevice *device;
	HyBuffer *buffer;
	int64_t fail_at;

	for (fail_at = 1; fail_at <= 3; fail_at++)
	{
		begin();
		unit_memory_init(&memory, fail_at);
		CHECK_INT(device_of->open(0, &limits, &device), fail_at == 1 ? HY_NOMEM : HY_OK);
		if (fail_at > 1)
		{
			CHECK_INT(device_of->buf_alloc(device, 100, &buffer), HY_NOMEM);
			CHECK_INT(device_of->buf_alloc(device, 100, &buffer), HY_OK);
			device_of->close(device);
		}
		CHECK_INT(memory.outstanding, 0);
	}
}

static void
test_fail_at_and_every(void)
{
	HyDevice *device;
	HyFailure failure;
	int i;

	begin();
	device = open_device(0);
	set("emulated_faults", "fail_at=3, status=busy");
	for (i = 1; i <= 6; i++)
		CHECK_INT(run_status(device, 10), i == 3 ? HY_BUSY : HY_OK);
	set("emulated_faults", "fail_every=3");
	for (i = 1; i <= 9; i++)
		CHECK_INT(run_status(device, 10), i % 3 == 0 ? HY_TRANSIENT : HY_OK);
	device_of->last_error(device, &failure);
	CHECK_INT(failure.native_code, 900 + HY_TRANSIENT);
	CHECK_STR(failure.text, "fault 1 of emulated_faults");
	set("emulated_faults", "");
	CHECK_INT(run_status(device, 10), HY_OK);
	/* set again, it counts from 1 again */
	set("emulated_faults", "fail_at=1;fail_at=2,status=nomem");
	CHECK_INT(run_status(device, 10), HY_TRANSIENT);
	CHECK_INT(run_status(device, 10), HY_NOMEM);
	CHECK_INT(run_status(device, 10), HY_OK);
	device_of->close(device);
}

static void
test_every_status_in_every_place(void)
{
	static const struct
	{
		const char *name;
		HyStatus status;
	} kinds[] = {{"unsupported", HY_UNSUPPORTED},
	             {"nomem", HY_NOMEM},
	             {"quota", HY_QUOTA},
	             {"busy", HY_BUSY},
	             {"transient", HY_TRANSIENT},
	             {"timeout", HY_TIMEOUT},
	             {"cancelled", HY_CANCELLED},
	             {"context_lost", HY_CONTEXT_LOST},
	             {"process_lost", HY_PROCESS_LOST},
	             {"sticky", HY_PROCESS_LOST},
	             {"device_gone", HY_DEVICE_GONE},
	             {"invalid", HY_INVALID},
	             {"bug", HY_BUG}};
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
	{
		HyStatus wanted = kinds[i].status;
		bool lasts = wanted == HY_PROCESS_LOST || wanted == HY_DEVICE_GONE;
		HyLimits limits = {0};
		char text[64];
		HyDevice *device;

		begin();
		device = open_device(0);
		snprintf(text, sizeof(text), "in=submit,fail_at=1,status=%s", kinds[i].name);
		set("emulated_faults", text);
		CHECK_INT(run_status(device, 10), wanted);
		CHECK_INT(run_status(device, 10), lasts || wanted == HY_CONTEXT_LOST ? wanted : HY_OK);
		device_of->close(device);

		begin();
		device = open_device(0);
		snprintf(text, sizeof(text), "in=poll,fail_at=2,status=%s", kinds[i].name);
		set("emulated_faults", text);
		CHECK_INT(run_status(device, 10), HY_OK);
		CHECK_INT(run_status(device, 10), wanted);
		CHECK_INT(*(const unsigned char *) out, 0xcc); /* garbage is left */
		device_of->close(device);

		begin();
		snprintf(text, sizeof(text), "in=open,fail_at=1,status=%s", kinds[i].name);
		set("emulated_faults", text);
		CHECK_INT(device_of->open(0, &limits, &device), wanted);
		CHECK_INT(device_of->open(0, &limits, &device), lasts ? wanted : HY_OK);
		if (!lasts)
			device_of->close(device);
		CHECK_INT(memory.outstanding, 0);
	}
}

static void
test_what_is_lost_comes_back_with_the_setting(void)
{
	HyDevice *device;
	HyDevice *second;

	begin();
	device = open_device(0);
	set("emulated_faults", "fail_at=1,status=context_lost");
	CHECK_INT(run_status(device, 10), HY_CONTEXT_LOST);
	second = open_device(0); /* a new context works */
	CHECK_INT(run_status(second, 10), HY_OK);
	CHECK_INT(run_status(device, 10), HY_CONTEXT_LOST);
	set("emulated_faults", "fail_at=1,status=sticky");
	CHECK_INT(run_status(device, 10), HY_PROCESS_LOST);
	CHECK_INT(run_status(second, 10), HY_PROCESS_LOST); /* all of the process */
	set("emulated_faults", "");
	CHECK_INT(run_status(device, 10), HY_OK);
	CHECK_INT(run_status(second, 10), HY_OK);
	device_of->close(device);
	device_of->close(second);
}

static void
test_above(void)
{
	HyDevice *device;

	begin();
	device = open_device(0);
	set("emulated_faults", "above=100k");
	CHECK_INT(run_status(device, 100), HY_OK);
	CHECK_INT(run_status(device, ROWS), HY_NOMEM); /* 144 kB */
	set("emulated_faults", "above=14656");         /* what 100 rows need */
	CHECK_INT(run_status(device, 100), HY_OK);
	set("emulated_faults", "above=14655");
	CHECK_INT(run_status(device, 100), HY_NOMEM);
	set("emulated_faults", "above=1m");
	CHECK_INT(run_status(device, ROWS), HY_OK);
	set("emulated_faults", "above=5");
	CHECK_INT(run_status(device, 1), HY_NOMEM);
	device_of->close(device);
}

static void
test_only_some_calls(void)
{
	HyDevice *device;

	begin();
	device = open_device(0);
	set("emulated_faults", "op=topk");
	CHECK_INT(run_status(device, 10), HY_OK);
	set("emulated_faults", "op=distance");
	CHECK_INT(run_status(device, 10), HY_TRANSIENT);
	set("emulated_faults", "device=1");
	CHECK_INT(run_status(device, 10), HY_OK);
	set("emulated_faults", "device=0");
	CHECK_INT(run_status(device, 10), HY_TRANSIENT);
	device_of->close(device);
}

static void
test_random_rate(void)
{
	HyDevice *device;
	int failed[3] = {0, 0, 0};
	uint64_t pattern[3] = {0, 0, 0};
	int round;
	int i;

	begin();
	device = open_device(0);
	for (round = 0; round < 3; round++)
	{
		set("emulated_faults", "");
		CHECK_INT(run_status(device, 1), HY_OK);
		set("emulated_faults", round == 2 ? "fail_rate=0.25,seed=8" : "fail_rate=0.25,seed=7");
		for (i = 0; i < 400; i++)
		{
			bool bad = run_status(device, 1) != HY_OK;

			failed[round] += bad;
			if (i < 64)
				pattern[round] |= (uint64_t) bad << i;
		}
		CHECK(failed[round] > 60 && failed[round] < 140);
	}
	CHECK(pattern[0] == pattern[1]);
	CHECK(pattern[0] != pattern[2]);
	device_of->close(device);
}

static void
test_hang_and_cancel(void)
{
	HyDevice *device;
	HyTask task;
	HyTicket ticket;
	HyTimings timings;
	uint64_t free_bytes;
	uint64_t total;
	bool done = false;
	int i;

	begin();
	device = open_device(0);
	set("emulated_faults", "status=hang");
	task = task_of(10);
	CHECK_INT(device_of->submit(device, &task, &ticket), HY_OK);
	clock_.time += UINT64_C(1000000000000);
	for (i = 0; i < 5; i++)
	{
		CHECK_INT(device_of->poll(device, ticket, &done, &timings), HY_OK);
		CHECK(!done);
	}
	device_of->cancel(device, ticket);
	CHECK_INT(device_of->poll(device, ticket, &done, &timings), HY_CANCELLED);
	CHECK_INT(device_of->mem_info(device, &free_bytes, &total), HY_OK);
	CHECK(free_bytes == total);
	device_of->close(device);
}

static void
test_grammar(void)
{
	static const char *const bad[] = {
		"nonsense",    "fail_at=0", "fail_at=x",   "fail_at=", "fail_rate=2", "status=ill",
		"op=dance",    "in=bed",    "above=-5",    "above=5q", "device=-1",   "fail_every=0",
		"fail_at=1,,", "seed=-1",   "fail_at=1 2", "=",        "a;b;c"};
	HyDevice *device;
	HyFailure failure;
	char longer[700];
	size_t i;

	begin();
	device = open_device(0);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
	{
		set("emulated_faults", bad[i]);
		CHECK_MSG(run_status(device, 10) == HY_INVALID, "%s", bad[i]);
		device_of->last_error(device, &failure);
		CHECK_MSG(strstr(failure.text, "emulated_faults: cannot read") == failure.text, "%s",
		          failure.text);
	}
	memset(longer, ' ', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	set("emulated_faults", longer);
	CHECK_INT(run_status(device, 10), HY_INVALID);
	set("emulated_faults", "fail_at=9;;;;fail_at=9;fail_at=9;fail_at=9;fail_at=9;fail_at=9;"
	                       "fail_at=9;fail_at=9;fail_at=9");
	CHECK_INT(run_status(device, 10), HY_INVALID);
	set("emulated_faults", " ; fail_at = 2 , status = quota ; ");
	CHECK_INT(run_status(device, 10), HY_OK);
	CHECK_INT(run_status(device, 10), HY_QUOTA);
	device_of->close(device);
}

static void
test_wrong_abi(void)
{
	begin();
	CHECK_INT(device_of->abi, HY_BACKEND_ABI);
	set("emulated_faults", "wrong_abi");
	CHECK_INT(hy_plugin_entry(&host)->abi, HY_BACKEND_ABI + 1);
	set("emulated_faults", "");
	CHECK_INT(hy_plugin_entry(&host)->abi, HY_BACKEND_ABI);
	host.abi = HY_BACKEND_ABI + 1;
	CHECK(hy_plugin_entry(&host) == NULL);
}

static void
test_devices_and_caps(void)
{
	HyDeviceInfo info;
	HyShape shape = {.op = HY_OP_TOPK, .dims = 8, .queries = 1, .targets = 10, .k = 3};
	int32_t count;

	begin();
	set("emulated_devices", "3");
	set("emulated_open_ms", "250");
	CHECK_INT(device_of->device_count(&count), HY_OK);
	CHECK_INT(count, 3);
	CHECK_INT(device_of->probe(2, &info), HY_OK);
	CHECK_STR(info.name, "emulated device 2");
	CHECK(info.virtual_time);
	CHECK_INT(info.open_cost_ns, 250000000);
	CHECK_INT(device_of->probe(3, &info), HY_INVALID);
	set("emulated_devices", "0");
	CHECK_INT(device_of->device_count(&count), HY_OK);
	CHECK_INT(count, 0);
	CHECK(device_of->caps(NULL, &shape).ok);
	CHECK_INT(device_of->caps(NULL, &shape).max_k, 1024);
	shape.op = HY_OP_ASSIGN;
	CHECK(!device_of->caps(NULL, &shape).ok && device_of->caps(NULL, &shape).reason != NULL);
	shape.op = HY_OP_DISTANCE;
	CHECK_INT(device_of->estimate(NULL, &shape).device_bytes, 8 * 4 + 80 * 4 + 80);
}

/* Every operation, each fault, through the dispatcher: always the CPU's answer. */
static void
test_under_the_dispatcher(void)
{
	static const char *const faults[] = {"",
	                                     "fail_at=1",
	                                     "in=poll",
	                                     "in=poll,status=context_lost",
	                                     "status=context_lost,fail_every=2",
	                                     "in=open,status=busy",
	                                     "status=hang",
	                                     "above=10",
	                                     "fail_rate=0.5,in=poll,status=quota",
	                                     "in=poll,status=device_gone",
	                                     "status=sticky",
	                                     "cannot be read"};
	static HyEdge edges[200];
	HyCsr graph;
	double gain[50];
	int64_t start[3] = {0, 1, 2};
	uint32_t node[2] = {3, 7};
	double value[2] = {1, 2};
	double activation[2][100];
	int32_t hop[2][100];
	size_t f;
	int i;

	begin();
	for (i = 0; i < 200; i++)
		edges[i] = (HyEdge){i % 50, (i * 7 + i / 50) % 50, (float) (1 + i % 3)};
	CHECK_INT(hy_csr_build(edges, 200, HY_DIRECTION_OUT, &hy_malloc_allocator, NULL, &graph),
	          HY_OK);
	hy_spread_gain(&graph, 0.85, 1, gain);
	for (f = 0; f < sizeof(faults) / sizeof(faults[0]); f++)
	{
		HyExecutor *executor;
		HyConfig config;

		begin();
		set("emulated_faults", faults[f]);
		set("emulated_wait", f % 2 ? "on" : "off");
		CHECK_INT(hy_executor_create(&memory.allocator, &clock_.clock, NULL, &executor), HY_OK);
		CHECK_INT(hy_executor_add_backend(executor, device_of), HY_OK);
		hy_config_default(&config);
		config.execution = HY_EXECUTION_PREFER_GPU;
		config.timeout_ns = 10000000;
		hy_executor_configure(executor, &config);
		for (i = 0; i < 12; i++)
		{
			HyTask task = task_of(ROWS);
			HyNeighbor found[2][2 * 5];
			int32_t counts[2][2];

			CHECK_INT(hy_dispatch(executor, &task, NULL), HY_OK);
			CHECK_INT(memcmp(out, expected, sizeof(out)), 0);

			memset(found, 0, sizeof(found));
			hy_topk_search(HY_METRIC_L2, &task.u.distance.queries, &task.u.distance.targets, 5,
			               found[0], counts[0], NULL);
			task.op = HY_OP_TOPK;
			task.u.topk =
				(HyTopKTask){HY_METRIC_L2, (HyMatrix){0}, (HyMatrix){0}, 5, found[1], counts[1]};
			task.u.topk.queries =
				(HyMatrix){.dims = DIMS, .rows = 2, .stride = DIMS * 4, .data = vectors};
			task.u.topk.targets = task.u.topk.queries;
			task.u.topk.targets.rows = ROWS;
			task.u.topk.targets.data = vectors + 2 * DIMS;
			CHECK_INT(hy_dispatch(executor, &task, NULL), HY_OK);
			CHECK_INT(memcmp(found[0], found[1], sizeof(found[0])), 0);
			CHECK_INT(memcmp(counts[0], counts[1], sizeof(counts[0])), 0);

			task.op = HY_OP_SPREAD;
			memset(&task.u, 0, sizeof(task.u));
			task.u.spread.graph = &graph;
			task.u.spread.gain = gain;
			task.u.spread.params = (HySpreadParams){.decay = 0.85, .fan = 1, .hops = 4};
			task.u.spread.seeds = (HySpreadSeeds){2, start, node, value};
			task.u.spread.activation = activation[1];
			task.u.spread.hop = hop[1];
			CHECK_INT(hy_spread(&graph, gain, &task.u.spread.params, &task.u.spread.seeds,
			                    &hy_malloc_allocator, NULL, activation[0], hop[0]),
			          HY_OK);
			CHECK_INT(hy_dispatch(executor, &task, NULL), HY_OK);
			CHECK_INT(memcmp(activation[0], activation[1], sizeof(activation[0])), 0);
			CHECK_INT(memcmp(hop[0], hop[1], sizeof(hop[0])), 0);
		}
		if (f == 0)
			CHECK_INT(hy_executor_counters(executor, 1, HY_OP_SPREAD)->calls, 12);
		hy_executor_destroy(executor);
		CHECK_INT(memory.outstanding, 0);
	}
	hy_csr_free(&graph, &hy_malloc_allocator);
}

static void *
remember_alloc(void *arg, size_t size)
{
	void *block = unit_memory_alloc(arg, size);

	if (left < 4)
		left_behind[left++] = block;
	return block;
}

static void
test_deaf_under_the_dispatcher(void)
{
	HyExecutor *executor;
	HyAllocator allocator;
	HyConfig config;
	HyDecision decision;
	HyTask task;
	HyDeviceState state;

	begin();
	allocator = memory.allocator;
	allocator.alloc = remember_alloc;
	host.allocator = &allocator;
	set("emulated_faults", "status=deaf");
	CHECK_INT(hy_executor_create(&hy_malloc_allocator, &clock_.clock, NULL, &executor), HY_OK);
	CHECK_INT(hy_executor_add_backend(executor, device_of), HY_OK);
	hy_config_default(&config);
	hy_executor_configure(executor, &config);
	task = task_of(ROWS);
	CHECK_INT(hy_dispatch(executor, &task, &decision), HY_OK);
	CHECK_INT(memcmp(out, expected, sizeof(out)), 0);
	CHECK_INT(decision.status, HY_TIMEOUT);
	clock_.time += 50000000;
	CHECK_INT(hy_dispatch(executor, &task, &decision), HY_OK);
	hy_executor_device(executor, 1, &state);
	CHECK(state.latched);
	CHECK_STR(state.why, "it does not answer");
	hy_executor_destroy(executor);
	CHECK_INT(memory.outstanding, 1);
	unit_memory_free(&memory, left_behind[0]);
}

int
main(void)
{
	UNIT_RUN(test_same_bits_in_virtual_time);
	UNIT_RUN(test_waiting);
	UNIT_RUN(test_its_own_time_is_taken_out);
	UNIT_RUN(test_one_engine);
	UNIT_RUN(test_law_of_time);
	UNIT_RUN(test_profiles);
	UNIT_RUN(test_buffers);
	UNIT_RUN(test_nothing_is_handed_on);
	UNIT_RUN(test_limits);
	UNIT_RUN(test_short_of_host_memory);
	UNIT_RUN(test_fail_at_and_every);
	UNIT_RUN(test_every_status_in_every_place);
	UNIT_RUN(test_what_is_lost_comes_back_with_the_setting);
	UNIT_RUN(test_above);
	UNIT_RUN(test_only_some_calls);
	UNIT_RUN(test_random_rate);
	UNIT_RUN(test_hang_and_cancel);
	UNIT_RUN(test_grammar);
	UNIT_RUN(test_wrong_abi);
	UNIT_RUN(test_devices_and_caps);
	UNIT_RUN(test_under_the_dispatcher);
	UNIT_RUN(test_deaf_under_the_dispatcher);
	return unit_finish();
}
