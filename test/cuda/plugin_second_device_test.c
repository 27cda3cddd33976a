/*
 * plugin_second_device_test.c
 *		The plug-in on the second of two devices, while another library in the process keeps
 *		selecting the first one.  Also the thread that closes an unused context: a new thread starts
 *		with the first device selected.
 */
#include "plugged.h"

#include <math.h>
#include <unistd.h>

#define DIMS 24
#define ROWS 90
#define QUERIES 6
#define NEAREST 4

static UnitRandom randomness = {31};
static const char *timeout_text = "0";

static const char *
setting_text(void *arg, const char *name)
{
	(void) arg;
	return strcmp(name, "gpu_idle_timeout") == 0 ? timeout_text : NULL;
}

static HyDevice *
open_second(const char *timeout)
{
	HyLimits limits = {.memory = UINT64_C(4) << 20};
	HyDevice *device = NULL;

	timeout_text = timeout;
	hy_fake.devices = 2;
	CHECK_INT(cuda->open(1, &limits, &device), HY_OK);
	return device;
}

/* other_library: act as the other library, between any two calls of ours. */
static void
other_library(void)
{
	CHECK_INT(cudaSetDevice(0), cudaSuccess);
}

/* nearest: search resident rows, each of which is its own nearest. */
static void
nearest(HyDevice *device)
{
	float rows[ROWS * DIMS];
	HyNeighbor out[QUERIES * NEAREST];
	int32_t counts[QUERIES];
	HyBuffer *buffer = NULL;
	HyTask task = {.op = HY_OP_TOPK, .allocator = &memory.allocator};
	HyTimings timings;
	HyTicket ticket;
	bool done = false;
	int i;

	for (i = 0; i < ROWS * DIMS; i++)
		rows[i] = unit_random_float(&randomness);
	other_library();
	CHECK_INT(cuda->buf_alloc(device, sizeof(rows), &buffer), HY_OK);
	other_library();
	CHECK_INT(cuda->upload(device, buffer, 0, rows, sizeof(rows)), HY_OK);
	task.u.topk = (HyTopKTask){
		.metric = HY_METRIC_L2,
		.queries = {.dims = DIMS, .rows = QUERIES, .stride = DIMS * sizeof(float), .data = rows},
		.targets = {.dims = DIMS, .rows = ROWS, .stride = DIMS * sizeof(float), .buffer = buffer},
		.k = NEAREST,
		.out = out,
		.counts = counts};
	other_library();
	CHECK_INT(cuda->submit(device, &task, &ticket), HY_OK);
	while (!done)
	{
		HyStatus status;

		other_library();
		status = cuda->poll(device, ticket, &done, &timings);
		CHECK_INT(status, HY_OK);
		if (status != HY_OK)
			break;
	}
	for (i = 0; i < QUERIES; i++)
	{
		CHECK_INT(counts[i], NEAREST);
		CHECK_INT(out[i * NEAREST].row, i);
	}
	other_library();
	cuda->buf_free(device, buffer);
}

static void
another_device_is_current(void)
{
	HyDevice *device = open_second("0");

	nearest(device);
	other_library();
	close_one(device);
	CHECK_INT(hy_fake_resets(), 1);
	CHECK_INT(hy_fake_reset_device(), 1);
}

static void
the_thread_has_none(void)
{
	HyDevice *device = open_second("300");
	int i;

	nearest(device);
	for (i = 0; i < 30000 && !cuda->idle(device); i++)
		usleep(1000);
	CHECK(cuda->idle(device));
	CHECK_INT(hy_fake_live(), 0);
	CHECK_INT(hy_fake_leaked(), 0);
	CHECK_INT(hy_fake_resets(), 1);
	CHECK_INT(hy_fake_reset_device(), 1);
	close_one(device);
	/* and it opens again */
	device = open_second("0");
	nearest(device);
	close_one(device);
}

int
main(void)
{
	host.setting = setting_text;
	if (!plug_in())
		return 1;
	RUN(another_device_is_current);
	RUN(the_thread_has_none);
	return unit_finish();
}
