/*
 * virtual_cpu.h
 *		A CPU whose time is made up, so that what is decided by time is the same on every machine.
 *
 * It computes nothing: distances stay as they are, and nothing is near.  Its law has what that of
 * real ones has and a regression does not: a cost an element that rises where the data outgrow one
 * cache after the other, a cost a candidate in top-k, jitter of 10%, and now and then a call that
 * takes three times as long.
 */
#ifndef VIRTUAL_CPU_H
#define VIRTUAL_CPU_H

#include <math.h>
#include <string.h>

#include "dispatch/route/session.h"
#include "dispatch/run/backend_cpu.h"
#include "dispatch/run/dispatcher.h"

static HyBackend virtual_cpu;
static const HyClock *virtual_cpu_clock;
static uint64_t virtual_cpu_state = 1234567;

/* virtual_cpu_element_ns: by the bytes that a pass goes over. */
static double
virtual_cpu_element_ns(double bytes)
{
	double ns = 0.03;

	ns += 0.015 / (1 + exp(-4 * log2(bytes / (1 << 20))));  /* beyond 1 MB */
	ns += 0.055 / (1 + exp(-4 * log2(bytes / (24 << 20)))); /* beyond 24 MB */
	return ns;
}

static double
virtual_cpu_ns(const HyShape *shape)
{
	double pairs = (double) shape->queries * (double) shape->targets;
	double bytes = 4.0 * (double) shape->targets * shape->dims;
	double ns = 150;

	if (shape->op == HY_OP_SPREAD)
		return ns + 300 +
		       pairs * 10 * (1 + 20 * virtual_cpu_element_ns(12.0 * (double) shape->targets));
	if (shape->op == HY_OP_SCORE_CODES)
		/* codes stay in a cache while all queries meet them */
		return ns + pairs * (3 + shape->dims * 0.012) +
		       12.0 * (double) shape->queries * shape->k * log(2 + (double) shape->targets);
	ns += pairs * (6 + shape->dims * virtual_cpu_element_ns(bytes));
	if (shape->op == HY_OP_TOPK)
		ns += 1.5 * pairs +
		      12.0 * (double) shape->queries * shape->k * log(2 + (double) shape->targets);
	return ns;
}

static HyEstimate
virtual_cpu_estimate(const HyDevice *device, const HyShape *shape)
{
	HyEstimate estimate = {.virtual_ns = (uint64_t) virtual_cpu_ns(shape)};

	(void) device;
	return estimate;
}

static HyStatus
virtual_cpu_submit(HyDevice *device, const HyTask *task, HyTicket *ticket)
{
	HyShape shape = hy_task_shape(task);
	double ns = virtual_cpu_ns(&shape);
	double shake;

	(void) device;
	/* nothing was found: who joins the answers of pieces must not read what is not there */
	if (task->op == HY_OP_TOPK)
		memset(task->u.topk.counts, 0, (size_t) shape.queries * sizeof(int32_t));
	if (task->op == HY_OP_SCORE_CODES)
		memset(task->u.score.counts, 0, (size_t) shape.queries * sizeof(int32_t));
	virtual_cpu_state = virtual_cpu_state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	shake = (double) (virtual_cpu_state >> 11) * 0x1p-53;
	ns *= 0.9 + 0.2 * shake;
	if (virtual_cpu_state >> 33 & 127)
		virtual_cpu_clock->skip(virtual_cpu_clock->arg, (int64_t) ns);
	else
		virtual_cpu_clock->skip(virtual_cpu_clock->arg, (int64_t) (3 * ns));
	*ticket = 1;
	return HY_OK;
}

static HyStatus
virtual_cpu_poll(HyDevice *device, HyTicket ticket, bool *done, HyTimings *timings)
{
	(void) device;
	(void) ticket;
	memset(timings, 0, sizeof(*timings));
	*done = true;
	return HY_OK;
}

/* virtual_cpu_use: the executor's CPU becomes this one; clock is the executor's, and can skip. */
static void
virtual_cpu_use(HyExecutor *executor, const HyClock *clock)
{
	virtual_cpu = hy_backend_cpu;
	virtual_cpu.submit = virtual_cpu_submit;
	virtual_cpu.poll = virtual_cpu_poll;
	virtual_cpu.estimate = virtual_cpu_estimate;
	virtual_cpu_clock = clock;
	executor->member[0].backend = &virtual_cpu;
	executor->member[0].info.virtual_time = true;
}

#endif
