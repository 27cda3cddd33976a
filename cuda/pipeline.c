/*
 * pipeline.c
 *		Runs the pieces of a task through the slots.
 *
 * hy_cuda_submit queues the first pieces and returns.  Each hy_cuda_poll collects the pieces that
 * are done and queues the next ones.  So one slot copies data while the other slot computes.  A
 * device runs one task at a time.  A second task gets HY_BUSY.
 */
#include "cuda/pipeline.h"

#include <string.h>
#include <unistd.h>

#include "cuda/filter.h"

static const HyCudaOperation *find(HyOp op);
static HyStatus fill_slots(HyDevice *device);
static HyStatus queue_piece(HyDevice *device, HyCudaSlot *slot);
static HyStatus collect(HyDevice *device);
static HyCudaSlot *oldest(HyDevice *device);
static void end_task(HyDevice *device);

HyCaps
hy_cuda_caps(const HyDevice *device, const HyShape *shape)
{
	const HyCudaOperation *operation = find(shape->op);

	(void) device;
	if (operation == NULL)
		return (HyCaps){.numeric_class = HY_CLASS_EXACT,
		                .reason = "the CUDA backend has no such operation"};
	return operation->caps(shape);
}

HyEstimate
hy_cuda_estimate(const HyDevice *device, const HyShape *shape)
{
	HyEstimate estimate = {0};
	HyCudaScratch scratch;

	HyCaps caps = hy_cuda_caps(device, shape);

	if (!caps.ok || shape->targets > caps.max_targets || shape->k > caps.max_k)
		return estimate;
	if (device != NULL)
		scratch = device->scratch;
	else
		(void) hy_cuda_scratch_plan(UINT64_MAX, &scratch);
	estimate.device_bytes = hy_cuda_scratch_bytes(&scratch);
	estimate.pinned_bytes = hy_cuda_pinned_bytes(&scratch);
	find(shape->op)->estimate(&scratch, shape, &estimate);
	if (shape->op == HY_OP_TOPK)
		hy_cuda_filter_estimate(device, shape, &estimate);
	return estimate;
}

HyStatus
hy_cuda_submit(HyDevice *device, const HyTask *task, HyTicket *ticket)
{
	HyCudaTask *current = &device->task;
	const HyCudaOperation *operation;
	uint64_t held;
	HyStatus status;
	HyShape shape;
	HyCaps caps;

	*ticket = 0;
	status = hy_cuda_enter(device);
	if (status != HY_OK)
		return status;
	hy_cuda_timer_set(device);
	operation = find(task->op);
	if (operation == NULL)
		return hy_cuda_refuse(device, HY_UNSUPPORTED, "the CUDA backend does not run '%s'",
		                      hy_op_name(task->op));
	status = hy_task_check(task);
	if (status != HY_OK)
		return hy_cuda_refuse(device, status, "the task contradicts itself");
	shape = hy_task_shape(task);
	caps = operation->caps(&shape);
	if (!caps.ok || shape.targets > caps.max_targets || shape.k > caps.max_k)
		return hy_cuda_refuse(device, HY_UNSUPPORTED, "the task is beyond the CUDA backend");
	if (current->active)
		return hy_cuda_refuse(device, HY_BUSY, "the device already runs a task");
	status = operation->check(device, task);
	if (status != HY_OK)
		return status;

	memset(current, 0, sizeof(*current));
	current->operation = operation;
	current->task = *task;
	current->started = device->host->clock->now(device->host->clock->arg);
	current->active = true;
	operation->begin(device);
	held = device->pool.payload;
	if (operation->start != NULL)
		status = operation->start(device);
	if (hy_cuda_pool_task(&device->pool, device->pool.payload > held))
		hy_cuda_trim(device);
	if (status == HY_OK)
		status = fill_slots(device);
	if (status != HY_OK)
	{
		hy_cuda_drain(device);
		return status;
	}
	current->ticket = ++device->last_ticket;
	*ticket = current->ticket;
	return HY_OK;
}

HyStatus
hy_cuda_poll(HyDevice *device, HyTicket ticket, bool *done, HyTimings *timings)
{
	HyCudaTask *current = &device->task;
	HyStatus status;

	*done = false;
	/* CUDA does not tell how long a queued piece will take, so remaining_ns stays 0 */
	if (timings != NULL)
		memset(timings, 0, sizeof(*timings));
	if (!current->active || ticket != current->ticket)
		return hy_cuda_refuse(device, HY_INVALID, "no task has ticket %llu",
		                      (unsigned long long) ticket);
	status = hy_cuda_enter(device);
	if (status == HY_OK)
		status = collect(device);
	if (status == HY_OK && !current->stopping)
	{
		if (hy_cancelled(current->task.cancel))
			current->stopping = true;
		else
			status = fill_slots(device);
	}
	if (status != HY_OK)
	{
		hy_cuda_drain(device);
		*done = true;
		return status;
	}
	if (!hy_cuda_all_idle(device) || !(current->exhausted || current->stopping))
	{
		if (timings != NULL)
			timings->total_ns = current->moved_ns;
		return HY_OK;
	}

	*done = true;
	end_task(device);
	/* If all results have been delivered already, a cancel has no effect. */
	if (current->stopping && (!current->exhausted || current->dropped))
		return hy_cuda_refuse(device, HY_CANCELLED, "cancelled");
	if (timings != NULL)
	{
		timings->total_ns = device->host->clock->now(device->host->clock->arg) - current->started;
		timings->bytes_up = current->bytes_up;
		timings->bytes_down = current->bytes_down;
	}
	return HY_OK;
}

void
hy_cuda_cancel(HyDevice *device, HyTicket ticket)
{
	if (device->task.active && ticket == device->task.ticket)
		device->task.stopping = true;
}

void
hy_cuda_drain(HyDevice *device)
{
	bool ours = device->pid == getpid();
	int i;

	for (i = 0; i < HY_CUDA_SLOTS; i++)
	{
		if (ours && device->slots[i].stream != NULL && device->task.active)
			(void) cudaStreamSynchronize(device->slots[i].stream);
		device->slots[i].busy = false;
	}
	if (ours)
		(void) cudaGetLastError();
	end_task(device);
}

/* A piece without a copy to the host is done when its kernels are done. */
cudaError_t
hy_cuda_piece_query(const HyCudaSlot *slot)
{
	return cudaEventQuery(slot->nothing_down ? slot->kernel_end : slot->done);
}

bool
hy_cuda_all_idle(const HyDevice *device)
{
	int i;

	for (i = 0; i < HY_CUDA_SLOTS; i++)
	{
		if (device->slots[i].busy)
			return false;
	}
	return true;
}

/* find: return the function table of an operation, or NULL. */
static const HyCudaOperation *
find(HyOp op)
{
	switch (op)
	{
		case HY_OP_DISTANCE:
			return &hy_cuda_distance;
		case HY_OP_TOPK:
			return &hy_cuda_topk;
		case HY_OP_SPREAD:
			return &hy_cuda_spread;
		case HY_OP_ASSIGN:
			return &hy_cuda_assign;
		case HY_OP_SCORE_CODES:
			return &hy_cuda_score;
		default:
			return NULL;
	}
}

/* fill_slots: queue pieces until no slot is free or no piece is left. */
static HyStatus
fill_slots(HyDevice *device)
{
	HyCudaTask *task = &device->task;
	HyStatus status;
	int i;

	for (i = 0; i < HY_CUDA_SLOTS && !task->exhausted; i++)
	{
		HyCudaSlot *slot = &device->slots[i];
		HyCudaNext next;

		if (slot->busy)
			continue;
		slot->pace = &device->pace[task->task.op];
		next = task->operation->next(device, slot);
		if (next == HY_CUDA_WAIT)
			break;
		if (next == HY_CUDA_END)
		{
			task->exhausted = true;
			break;
		}
		slot->busy = true;
		slot->number = task->queued++;
		status = queue_piece(device, slot);
		if (status != HY_OK)
			return status;
	}
	return HY_OK;
}

static HyStatus
queue_piece(HyDevice *device, HyCudaSlot *slot)
{
	const HyCudaOperation *operation = device->task.operation;
	cudaError_t error;
	HyStatus status;

	status = operation->up(device, slot);
	if (status != HY_OK)
		return status;
	error = cudaEventRecord(slot->kernel_start, slot->stream);
	if (error == cudaSuccess)
		error = operation->launch(device, slot);
	if (error == cudaSuccess)
		error = cudaEventRecord(slot->kernel_end, slot->stream);
	if (error != cudaSuccess)
		return hy_cuda_fail(device, error, "starting a kernel");
	slot->nothing_down = false;
	status = operation->down(device, slot);
	if (status != HY_OK || slot->nothing_down)
		return status;
	error = cudaEventRecord(slot->done, slot->stream);
	if (error != cudaSuccess)
		return hy_cuda_fail(device, error, "ending a piece");
	return HY_OK;
}

/*
 * collect: deliver the pieces that are done, in the order in which they were queued, and adjust the
 * work limit to the time of their kernels.  A piece that ends early waits for the earlier piece.
 */
static HyStatus
collect(HyDevice *device)
{
	HyCudaTask *task = &device->task;
	HyCudaSlot *slot;

	while ((slot = oldest(device)) != NULL)
	{
		cudaError_t error = hy_cuda_piece_query(slot);
		float milliseconds;

		if (error == cudaErrorNotReady)
		{
			(void) cudaGetLastError();
			break;
		}
		if (error != cudaSuccess)
			return hy_cuda_fail(device, error, "running a kernel");
		/* After a cancel, the caller may already use the task's memory for something else. */
		if (task->stopping)
			task->dropped = true;
		else
			task->operation->collect(device, slot);
		slot->busy = false;
		task->ended++;
		task->moved_ns = device->host->clock->now(device->host->clock->arg) - task->started;
		error = cudaEventElapsedTime(&milliseconds, slot->kernel_start, slot->kernel_end);
		if (error != cudaSuccess)
			return hy_cuda_fail(device, error, "reading the kernel's time");
		hy_cuda_pace_adjust(slot->pace, slot->work, milliseconds * 1000.0);
		if (milliseconds * 1000.0 > device->longest_us)
			device->longest_us = milliseconds * 1000.0;
	}
	return HY_OK;
}

/* oldest: return the busy slot whose piece is collected next, or NULL. */
static HyCudaSlot *
oldest(HyDevice *device)
{
	int i;

	for (i = 0; i < HY_CUDA_SLOTS; i++)
	{
		HyCudaSlot *slot = &device->slots[i];

		if (slot->busy && slot->number == device->task.ended)
			return slot;
	}
	return NULL;
}

/* end_task: end the task after success, failure or cancellation. */
static void
end_task(HyDevice *device)
{
	if (device->task.active && device->task.operation->end != NULL)
		device->task.operation->end(device);
	device->task.active = false;
}
