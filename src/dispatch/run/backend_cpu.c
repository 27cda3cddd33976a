/*
 * backend_cpu.c
 *		The CPU as a backend: runs each task with the functions of core, before submit returns.
 *
 * submit runs the task to the end, so every ticket stands for a task that has ended but was not
 * polled yet.  A task that fails does so in submit and gets no ticket.  The process has one such
 * device.  The functions of core may use several threads if hy_threads_allow allows them
 * (core/threads.h).  A lender allows threads only while a task runs.
 *
 * The backend has no buffers, because host memory needs no HyBuffer.  HyTimings.total_ns is 0,
 * because the caller already reads its clock around the call.  Two more readings of the clock would
 * cost as much as the rest of the dispatcher.
 */
#define _POSIX_C_SOURCE 200809L

#include "dispatch/run/backend_cpu.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/cpu_features.h"
#include "core/distance.h"
#include "core/prefilter.h"
#include "core/spread.h"
#include "core/threads.h"

#define TICKETS 64

struct HyDevice
{
	uint64_t outstanding;         /* bit i: tickets[i] was not polled yet */
	uint64_t serial;              /* tickets issued so far */
	int32_t threads;              /* threads that the last task was allowed */
	uint64_t main_thread_work_ns; /* HyTimings.main_thread_work_ns of the last task */
	HyTicket tickets[TICKETS];    /* serial * TICKETS + slot */
};

static HyStatus cpu_device_count(int32_t *count);
static HyStatus cpu_probe(int32_t device, HyDeviceInfo *info);
static HyStatus cpu_open(int32_t device, const HyLimits *limits, HyDevice **opened);
static void cpu_close(HyDevice *device);
static HyCaps cpu_caps(const HyDevice *device, const HyShape *shape);
static HyEstimate cpu_estimate(const HyDevice *device, const HyShape *shape);
static HyStatus cpu_mem_info(HyDevice *device, uint64_t *free_bytes, uint64_t *total_bytes);
static HyStatus cpu_buf_alloc(HyDevice *device, uint64_t bytes, HyBuffer **buffer);
static void cpu_buf_free(HyDevice *device, HyBuffer *buffer);
static HyStatus
cpu_upload(HyDevice *device, HyBuffer *buffer, uint64_t offset, const void *data, uint64_t bytes);
static HyStatus
cpu_download(HyDevice *device, const HyBuffer *buffer, uint64_t offset, void *data, uint64_t bytes);
static HyStatus cpu_submit(HyDevice *device, const HyTask *task, HyTicket *ticket);
static HyStatus cpu_poll(HyDevice *device, HyTicket ticket, bool *done, HyTimings *timings);
static void cpu_cancel(HyDevice *device, HyTicket ticket);
static void cpu_last_error(const HyDevice *device, HyFailure *failure);
static HyStatus run_lent(HyDevice *device, const HyTask *task);
static HyStatus run_task(const HyTask *task);

static HyDevice the_cpu;
static const HyLender *lender;

const HyBackend hy_backend_cpu = {.abi = HY_BACKEND_ABI,
                                  .size = sizeof(HyBackend),
                                  .name = "cpu",
                                  .device_count = cpu_device_count,
                                  .probe = cpu_probe,
                                  .open = cpu_open,
                                  .close = cpu_close,
                                  .caps = cpu_caps,
                                  .estimate = cpu_estimate,
                                  .mem_info = cpu_mem_info,
                                  .buf_alloc = cpu_buf_alloc,
                                  .buf_free = cpu_buf_free,
                                  .upload = cpu_upload,
                                  .download = cpu_download,
                                  .submit = cpu_submit,
                                  .poll = cpu_poll,
                                  .cancel = cpu_cancel,
                                  .last_error = cpu_last_error};

const HyLender *
hy_backend_cpu_lend(const HyLender *given)
{
	const HyLender *before = lender;

	lender = given;
	return before;
}

static HyStatus
cpu_device_count(int32_t *count)
{
	*count = 1;
	return HY_OK;
}

static HyStatus
cpu_probe(int32_t device, HyDeviceInfo *info)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	long pages = sysconf(_SC_PHYS_PAGES);
	long page = sysconf(_SC_PAGESIZE);

	if (device != 0)
		return HY_INVALID;
	memset(info, 0, sizeof(*info));
	snprintf(info->name, sizeof(info->name), "CPU");
	snprintf(info->architecture, sizeof(info->architecture), "%s%s",
	         hy_simd_name(hy_kernels()->level), hy_prefilter_allowed() ? "" : " exact");
	info->cores = cores > 0 ? (int32_t) cores : 1;
	if (pages > 0 && page > 0)
		info->memory_total = (uint64_t) pages * (uint64_t) page;
	return HY_OK;
}

static HyStatus
cpu_open(int32_t device, const HyLimits *limits, HyDevice **opened)
{
	(void) limits;
	if (device != 0)
		return HY_INVALID;
	*opened = &the_cpu;
	return HY_OK;
}

static void
cpu_close(HyDevice *device)
{
	(void) device;
}

static HyCaps
cpu_caps(const HyDevice *device, const HyShape *shape)
{
	HyCaps caps = {
		.ok = true, .max_targets = INT64_MAX, .max_k = INT32_MAX, .numeric_class = HY_CLASS_EXACT};

	(void) device;
	if (shape->op != HY_OP_SCORE_CODES && shape->resident)
		caps = (HyCaps){.reason = "the CPU cannot read device memory"};
	else if (shape->op == HY_OP_ASSIGN)
	{
		if (shape->dtype != HY_F32 || shape->metric != HY_METRIC_L2)
			caps = (HyCaps){.reason = "rows are assigned in float32, by Euclidean distance"};
	}
	else if (shape->op == HY_OP_SCORE_CODES)
	{
		caps.max_k = HY_SCORE_MOST;
		if (shape->dtype != HY_F32 || shape->metric != HY_METRIC_L2)
			caps = (HyCaps){.reason = "codes are scored in float32, alike for all metrics"};
	}
	return caps;
}

static HyEstimate
cpu_estimate(const HyDevice *device, const HyShape *shape)
{
	HyEstimate estimate = {0};

	(void) device;
	if (lender != NULL)
		estimate.threads = lender->expect(lender->arg, shape);
	return estimate;
}

static HyStatus
cpu_mem_info(HyDevice *device, uint64_t *free_bytes, uint64_t *total_bytes)
{
	(void) device;
	(void) free_bytes;
	(void) total_bytes;
	return HY_UNSUPPORTED;
}

static HyStatus
cpu_buf_alloc(HyDevice *device, uint64_t bytes, HyBuffer **buffer)
{
	(void) device;
	(void) bytes;
	*buffer = NULL;
	return HY_UNSUPPORTED;
}

static void
cpu_buf_free(HyDevice *device, HyBuffer *buffer)
{
	(void) device;
	(void) buffer;
}

static HyStatus
cpu_upload(HyDevice *device, HyBuffer *buffer, uint64_t offset, const void *data, uint64_t bytes)
{
	(void) device;
	(void) buffer;
	(void) offset;
	(void) data;
	(void) bytes;
	return HY_UNSUPPORTED;
}

static HyStatus
cpu_download(HyDevice *device, const HyBuffer *buffer, uint64_t offset, void *data, uint64_t bytes)
{
	(void) device;
	(void) buffer;
	(void) offset;
	(void) data;
	(void) bytes;
	return HY_UNSUPPORTED;
}

static HyStatus
cpu_submit(HyDevice *device, const HyTask *task, HyTicket *ticket)
{
	HyStatus st;
	int slot;

	if (device->outstanding == UINT64_MAX)
		return HY_BUSY;
	st = hy_task_check(task);
	if (st == HY_OK)
		st = run_lent(device, task);
	if (st != HY_OK)
		return st;
	slot = __builtin_ctzll(~device->outstanding);
	device->outstanding |= UINT64_C(1) << slot;
	device->serial++;
	device->tickets[slot] = device->serial * TICKETS + (uint64_t) slot;
	*ticket = device->tickets[slot];
	return HY_OK;
}

static HyStatus
cpu_poll(HyDevice *device, HyTicket ticket, bool *done, HyTimings *timings)
{
	int slot = (int) (ticket % TICKETS);

	if (!(device->outstanding >> slot & 1) || device->tickets[slot] != ticket)
		return HY_INVALID;
	device->outstanding &= ~(UINT64_C(1) << slot);
	*done = true;
	memset(timings, 0, sizeof(*timings));
	timings->threads = device->threads;
	timings->main_thread_work_ns = device->main_thread_work_ns;
	return HY_OK;
}

static void
cpu_cancel(HyDevice *device, HyTicket ticket)
{
	/* Every ticket belongs to a task that has ended. */
	(void) device;
	(void) ticket;
}

static void
cpu_last_error(const HyDevice *device, HyFailure *failure)
{
	/* the status says everything about a failure */
	(void) device;
	memset(failure, 0, sizeof(*failure));
}

/* run_lent: run a valid task on the threads that the lender allows. */
static HyStatus
run_lent(HyDevice *device, const HyTask *task)
{
	uint64_t before;
	HyStatus st;

	if (lender != NULL && !lender->take(lender->arg, task))
		return HY_NOMEM;
	device->threads = hy_threads_allowed();
	before = hy_threads_main_thread_work_ns();
	st = run_task(task);
	device->main_thread_work_ns = hy_threads_main_thread_work_ns() - before;
	if (lender != NULL)
		lender->give(lender->arg);
	return st;
}

static HyStatus
run_task(const HyTask *task)
{
	switch (task->op)
	{
		case HY_OP_DISTANCE:
		{
			const HyDistanceTask *d = &task->u.distance;

			if (d->targets.rows > 0 && d->targets.data == NULL)
				return HY_UNSUPPORTED;
			return hy_distance_window(d->metric, &d->queries, &d->targets, d->out,
			                          hy_distance_stride(d), task->cancel);
		}
		case HY_OP_TOPK:
		{
			const HyTopKTask *t = &task->u.topk;
			HyNearest nearest = {t->metric, t->k,   &t->queries, &t->targets,
			                     t->limits, t->out, t->counts};

			if (t->targets.rows > 0 && t->targets.data == NULL)
				return HY_UNSUPPORTED;
			return hy_nearest_search(&nearest, task->allocator, task->cancel);
		}
		case HY_OP_SPREAD:
		{
			const HySpreadTask *s = &task->u.spread;

			/* if the graph is in a buffer, the arrays of the host's graph may be missing */
			if (s->buffer != NULL)
				return HY_UNSUPPORTED;
			return hy_spread_reached(s->graph, &s->params, &s->seeds, task->allocator, task->cancel,
			                         &(HySpreadResult){s->activation, s->hop, s->sent}, s->reached);
		}
		case HY_OP_ASSIGN:
		{
			const HyAssignTask *a = &task->u.assign;

			if (a->rows.rows > 0 && a->rows.data == NULL)
				return HY_UNSUPPORTED;
			return hy_assign(&a->rows, &a->centroids, &a->groups,
			                 task->allocator != NULL ? task->allocator : &hy_malloc_allocator,
			                 a->nearest, task->cancel);
		}
		case HY_OP_SCORE_CODES:
		{
			const HyScoreTask *s = &task->u.score;

			return hy_score(&s->rows, &s->queries, s->k, s->out, s->counts, task->cancel);
		}
	}
	return HY_UNSUPPORTED;
}
