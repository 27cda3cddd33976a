/*
 * emulated_memory_test.c
 *		The emulated device's memory: buffers, limits, and that its contents are never passed on.
 */
#include "emulated_stage.h"

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

/* rows to be assigned may be resident as well: then only centroids go up */
static void
test_rows_to_assign(void)
{
	const HyMatrix centroids = {.dims = DIMS, .rows = 2, .stride = DIMS * 4, .data = vectors};
	HyMatrix rows = {.dims = DIMS, .rows = ROWS / 2, .stride = 2 * DIMS * 4};
	HyTask task = {.op = HY_OP_ASSIGN, .allocator = &memory.allocator};
	int32_t nearest[ROWS / 2];
	int32_t wanted[ROWS / 2];
	HyTimings timings;
	HyDevice *device;
	HyDevice *other;
	HyBuffer *buffer;
	HyShape shape;
	bool done;

	begin();
	device = open_device(0);
	rows.data = vectors + 2 * DIMS;
	CHECK_INT(hy_assign(&rows, &centroids, NULL, &memory.allocator, wanted, NULL), HY_OK);
	CHECK_INT(device_of->buf_alloc(device, ROWS * DIMS * 4 + 64, &buffer), HY_OK);
	CHECK_INT(device_of->upload(device, buffer, 64, rows.data, ROWS * DIMS * 4), HY_OK);
	rows.data = NULL;
	rows.buffer = buffer;
	rows.offset = 64;
	memset(nearest, 0xcc, sizeof(nearest));
	task.u.assign = (HyAssignTask){.rows = rows, .centroids = centroids, .nearest = nearest};
	CHECK_INT(run(device, &task, &done, &timings), HY_OK);
	CHECK(done);
	CHECK_INT(memcmp(nearest, wanted, sizeof(nearest)), 0);
	CHECK_INT(timings.bytes_up, 2 * DIMS * 4);
	shape = hy_task_shape(&task);
	CHECK_INT(device_of->estimate(device, &shape).bytes_up, 2 * DIMS * 4);
	shape.resident = false;
	CHECK_INT(device_of->estimate(device, &shape).bytes_up, (2 + ROWS / 2) * DIMS * 4);
	task.u.assign.rows.offset = 64 + DIMS * 4 + 4;
	CHECK_INT(run(device, &task, &done, &timings), HY_INVALID); /* beyond its end */
	task.u.assign.rows.offset = 64;
	other = open_device(0);
	CHECK_INT(run(other, &task, &done, &timings), HY_INVALID); /* another context's */
	device_of->close(other);
	device_of->buf_free(device, buffer);
	device_of->close(device);
	CHECK_INT(memory.outstanding, 0);
}

/* Recycler: an allocator that hands out the block returned last, with its old contents. */
typedef struct Recycler
{
	HyAllocator allocator;
	size_t size;
	void *block;
	const char *held; /* the last of that size that was handed out */
	int reused;
	int wiped; /* that held nothing any more when they came back */
} Recycler;

static void *
recycler_alloc(void *arg, size_t size)
{
	Recycler *recycler = arg;
	void *block = recycler->block;

	if (block != NULL && recycler->size == size)
	{
		recycler->block = NULL;
		recycler->reused++;
	}
	else
		block = malloc(size);
	if (recycler->size == size)
		recycler->held = block;
	return block;
}

static void
recycler_free(void *arg, void *pointer)
{
	Recycler *recycler = arg;

	size_t i;

	if (pointer == NULL || recycler->held != pointer)
	{
		free(pointer);
		return;
	}
	for (i = 0; i < recycler->size && recycler->held[i] == 0; i++)
		;
	recycler->wiped += i == recycler->size;
	/* whoever has it next finds this, unless he wipes it again */
	memset(pointer, 's', recycler->size);
	recycler->held = NULL;
	recycler->block = pointer;
}

/*
 * Data that one role left in device memory is not visible to the next role: neither in a new buffer
 * of the same context, as in a session after SET ROLE, nor in one of another context.
 */
static void
test_nothing_is_handed_on(void)
{
	static char secret[12345];
	static char found[12345];
	Recycler recycler = {{recycler_alloc, recycler_free, NULL}, sizeof(secret), NULL, NULL, 0, 0};
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
	CHECK_INT(recycler.wiped, 3);  /* and held it no more when it was given back */
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

int
main(void)
{
	UNIT_RUN(test_buffers);
	UNIT_RUN(test_rows_to_assign);
	UNIT_RUN(test_nothing_is_handed_on);
	UNIT_RUN(test_limits);
	UNIT_RUN(test_short_of_host_memory);
	return unit_finish();
}
