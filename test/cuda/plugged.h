/*
 * plugged.h
 *		What the tests of the whole plug-in share: the host it sees, a device, a task run to its end.
 */
#ifndef HY_TEST_PLUGGED_H
#define HY_TEST_PLUGGED_H

#include "unit.h"

#include "dispatch/backend.h"
#include "fake.h"

extern const HyBackend *hy_plugin_entry(const HyHost *host);

static UnitMemory memory;
static HyHost host;
static const HyBackend *cuda;

typedef struct Stop
{
	int after; /* polls */
	int asked;
} Stop;

static UNIT_UNUSED bool
stop_requested(void *arg)
{
	Stop *stop = arg;

	return ++stop->asked > stop->after;
}

/* run: submit and poll to the end; the number of polls in *polls where wanted. */
static UNIT_UNUSED HyStatus
run(HyDevice *device, const HyTask *task, int *polls)
{
	HyTicket ticket;
	HyTimings timings = {0};
	HyStatus status = cuda->submit(device, task, &ticket);
	bool done = false;
	int n = 0;

	while (status == HY_OK && !done)
	{
		status = cuda->poll(device, ticket, &done, &timings);
		n++;
		CHECK(n < 1000000);
	}
	if (polls != NULL)
		*polls = n;
	return status;
}

static UNIT_UNUSED HyDevice *
open_one(uint64_t limit)
{
	HyLimits limits = {.memory = limit};
	HyDevice *device = NULL;

	CHECK_INT(cuda->open(0, &limits, &device), HY_OK);
	CHECK(device != NULL);
	return device;
}

static UNIT_UNUSED void
close_one(HyDevice *device)
{
	cuda->close(device);
	CHECK_INT(hy_fake_live(), 0);
	CHECK_INT(hy_fake_leaked(), 0);
	CHECK_INT(memory.outstanding, 0);
	CHECK_MSG(hy_fake_fault() == NULL, "a kernel went wrong");
}

/* plug_in: whether the plug-in takes this host. */
static bool
plug_in(void)
{
	unit_memory_init(&memory, 0);
	host.abi = HY_BACKEND_ABI;
	host.clock = &hy_monotonic_clock;
	host.allocator = &memory.allocator;
	cuda = hy_plugin_entry(&host);
	return cuda != NULL;
}

static void
fresh(void (*function)(void), const char *name)
{
	hy_fake_reset();
	unit_run(name, function);
}

#define RUN(function) fresh(function, #function)

#endif
