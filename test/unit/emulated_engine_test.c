/*
 * emulated_engine_test.c
 *		Tasks on the emulated device: the right bits, in simulated time only, one after another.
 */
#include "emulated_stage.h"

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
	CHECK(!timings.may_skip);       /* waiting is wanted */
	CHECK_INT(timings.total_ns, 0); /* it has just begun */
	CHECK(out[0] == 0);             /* nothing is written before it is done */
	clock_.time += 1000;
	CHECK_INT(device_of->poll(device, ticket, &done, &timings), HY_OK);
	CHECK_INT(timings.total_ns, 1000); /* it moves on */
	clock_.time += timings.remaining_ns;
	CHECK_INT(device_of->poll(device, ticket, &done, &timings), HY_OK);
	CHECK(done);
	CHECK_INT(memcmp(out, expected, sizeof(out)), 0);
	CHECK_INT(clock_.time - before, timings.total_ns);
	CHECK_INT(clock_.skips, 0);
	CHECK_INT(device_of->poll(device, ticket, &done, &timings), HY_INVALID);
	device_of->close(device);
}

/* Ticking: a clock that advances by a microsecond whenever it is read. */
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
	clock_.time += 1000;
	for (i = 0; i < 3; i++)
	{
		CHECK_INT(device_of->poll(i == 1 ? second : first, ticket[i], &done, &timings), HY_OK);
		CHECK_INT(timings.total_ns, i == 0 ? 1000 : 0); /* the others have not begun */
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
		CHECK_INT(timings.total_ns, 0); /* nothing moves */
	}
	device_of->cancel(device, ticket);
	CHECK_INT(device_of->poll(device, ticket, &done, &timings), HY_CANCELLED);
	CHECK_INT(device_of->mem_info(device, &free_bytes, &total), HY_OK);
	CHECK(free_bytes == total);
	device_of->close(device);
}

int
main(void)
{
	UNIT_RUN(test_same_bits_in_virtual_time);
	UNIT_RUN(test_waiting);
	UNIT_RUN(test_its_own_time_is_taken_out);
	UNIT_RUN(test_one_engine);
	UNIT_RUN(test_hang_and_cancel);
	return unit_finish();
}
