/*
 * stage_device.h
 *		The CPU and the scripted devices of the dispatcher's tests: their speed and failures are what the
 *		test sets.
 *
 * A device computes with the CPU backend, so its answers can be compared bit by bit.
 */
#ifndef STAGE_DEVICE_H
#define STAGE_DEVICE_H

#include "dispatch/route/budget.h"
#include "dispatch/route/decide.h"
#include "dispatch/route/gauge.h"
#include "dispatch/route/memo.h"
#include "dispatch/route/session.h"
#include "dispatch/run/attempt.h"
#include "dispatch/run/backend_cpu.h"
#include "dispatch/run/device_run.h"
#include "dispatch/run/dispatcher.h"
#include "dispatch/run/flush.h"
#include "dispatch/run/member.h"
#include "dispatch/run/pieces.h"
#include "dispatch/run/record.h"
#include "dispatch/run/resident.h"
#include "unit.h"

#define STAGE_LINES 64
#define STAGE_SCRIPT 8
#define STAGE_TICKETS 128
#define STAGE_DIMS 16
#define STAGE_SLOTS 2 /* pieces of a task that a device holds at once */

typedef struct StageTicket
{
	HyTicket number; /* 0: free */
	int32_t device;
	HyTask task;
	HyStatus ends;
	uint64_t start_ns;
	uint64_t end_ns;
	bool cancelled;

	/* of a task that goes in pieces */
	int64_t left;                       /* that the device does not hold yet */
	uint64_t piece_end_ns[STAGE_SLOTS]; /* 0: a free slot */
	uint64_t moved_ns;                  /* HyTimings.total_ns */
} StageTicket;

typedef struct Stage
{
	UnitClock clock;
	UnitMemory memory;
	UnitCancel cancel;
	HyExecutor *executor;
	HyConfig config;
	int lines;
	char line[STAGE_LINES][320];

	/* the CPU and the device, in ns */
	double cpu_item_ns;
	double device_launch_ns;
	double device_item_ns;
	bool virtual_time;
	uint64_t open_cost_ns;

	/* the device's manners */
	int32_t devices;
	bool unsupported;
	int64_t max_targets;
	int32_t max_k;
	HyClass numeric_class;
	uint64_t free_bytes;
	uint64_t item_bytes;
	HyStatus open_status;
	HyStatus script[STAGE_SCRIPT]; /* of the next submits; HY_OK when used up */
	int scripted;
	bool fail_in_poll; /* the script speaks from poll, after writing garbage */
	bool always_fail;  /* the first entry of the script for ever */
	bool hang;         /* until cancelled */
	bool deaf;         /* not even then */
	int64_t
		pieces; /* of every task; only a poll hands the device more of them.  0: it goes whole */
	uint64_t piece_ns; /* what one takes */
	uint64_t poll_ns;  /* what a poll of such a task takes */

	int opens, closes, submits, cancels;
	bool device_open;

	/* the devices: what is under way on each, and how much slower than the first it is */
	StageTicket tickets[STAGE_TICKETS];
	HyTask task; /* that was done last */
	uint64_t busy_until_ns[HY_MAX_DEVICES];
	double slowness[HY_MAX_DEVICES]; /* 0: as fast */
	int32_t script_device;           /* the script is this one's; -1: of any */
	int32_t stuck_device;            /* hang and deaf too */
	int64_t most_items;              /* more are out of memory; 0: no limit */
	char handle[HY_MAX_DEVICES];

	/* a task to run: distances of one query to rows */
	int64_t rows;
	float *vectors;
	double *out;
	double *expected;
} Stage;

static Stage stage;

static UNIT_UNUSED HyStatus
stage_count(int32_t *count)
{
	*count = stage.devices;
	return HY_OK;
}

static UNIT_UNUSED HyStatus
stage_probe(int32_t device, HyDeviceInfo *info)
{
	(void) device;
	memset(info, 0, sizeof(*info));
	strcpy(info->name, "scripted device");
	info->memory_total = stage.free_bytes;
	info->memory_free = stage.free_bytes;
	info->open_cost_ns = stage.open_cost_ns;
	info->virtual_time = stage.virtual_time;
	return HY_OK;
}

static UNIT_UNUSED HyStatus
stage_open(int32_t device, const HyLimits *limits, HyDevice **opened)
{
	(void) limits;
	stage.opens++;
	if (stage.open_status != HY_OK)
		return stage.open_status;
	stage.device_open = true;
	*opened = (HyDevice *) &stage.handle[device];
	return HY_OK;
}

static UNIT_UNUSED void
stage_close(HyDevice *device)
{
	(void) device;
	stage.closes++;
	stage.device_open = false;
}

static UNIT_UNUSED HyCaps
stage_caps(const HyDevice *device, const HyShape *shape)
{
	HyCaps caps = {.ok = !stage.unsupported,
	               .max_targets = stage.max_targets,
	               .max_k = stage.max_k,
	               .numeric_class = stage.numeric_class,
	               .reason = stage.unsupported ? "it was told not to" : NULL};

	(void) device;
	(void) shape;
	return caps;
}

static UNIT_UNUSED HyEstimate
stage_estimate(const HyDevice *device, const HyShape *shape)
{
	HyEstimate estimate = {.device_bytes = (uint64_t) hy_shape_items(shape) * stage.item_bytes};

	(void) device;
	return estimate;
}

static UNIT_UNUSED HyStatus
stage_mem_info(HyDevice *device, uint64_t *free_bytes, uint64_t *total_bytes)
{
	(void) device;
	*free_bytes = stage.free_bytes;
	*total_bytes = stage.free_bytes;
	return HY_OK;
}

/* stage_number: the device that a handle stands for. */
static UNIT_UNUSED int32_t
stage_number(const HyDevice *device)
{
	return (int32_t) ((const char *) device - stage.handle);
}

/* stage_fill: the free slots get pieces, which the device takes one after the other. */
static UNIT_UNUSED void
stage_fill(StageTicket *slot)
{
	uint64_t *busy = &stage.busy_until_ns[slot->device];
	int i;

	for (i = 0; i < STAGE_SLOTS && slot->left > 0; i++)
	{
		if (slot->piece_end_ns[i] != 0)
			continue;
		slot->left--;
		*busy = (*busy > stage.clock.time ? *busy : stage.clock.time) + stage.piece_ns;
		slot->piece_end_ns[i] = *busy;
	}
}

/* stage_move: pieces that have ended make room for others; true: none is left. */
static UNIT_UNUSED bool
stage_move(StageTicket *slot)
{
	bool none = true;
	int i;

	stage.clock.time += stage.poll_ns;
	for (i = 0; i < STAGE_SLOTS; i++)
	{
		if (slot->piece_end_ns[i] == 0 || slot->piece_end_ns[i] > stage.clock.time)
			continue;
		slot->piece_end_ns[i] = 0;
		slot->moved_ns = stage.clock.time - slot->start_ns;
	}
	stage_fill(slot);
	for (i = 0; i < STAGE_SLOTS; i++)
		none = none && slot->piece_end_ns[i] == 0;
	return none;
}

static UNIT_UNUSED HyStatus
stage_submit(HyDevice *device, const HyTask *task, HyTicket *ticket)
{
	HyShape shape = hy_task_shape(task);
	int32_t number = stage_number(device);
	uint64_t *busy = &stage.busy_until_ns[number];
	StageTicket *slot = stage.tickets;
	HyStatus st = HY_OK;

	if (stage.script_device < 0 || stage.script_device == number)
	{
		if (stage.always_fail)
			st = stage.script[0];
		else if (stage.scripted < STAGE_SCRIPT)
			st = stage.script[stage.scripted++];
	}
	stage.submits++;
	if (stage.most_items > 0 && hy_shape_items(&shape) > stage.most_items)
		st = HY_NOMEM;
	if (st != HY_OK && !stage.fail_in_poll)
		return st;
	while (slot->number != 0)
	{
		if (++slot == stage.tickets + STAGE_TICKETS)
			return HY_BUSY;
	}
	*slot = (StageTicket){.number = (HyTicket) stage.submits, .device = number};
	slot->task = *task;
	slot->ends = st;
	/* one engine a device */
	if (*busy < stage.clock.time)
		*busy = stage.clock.time;
	slot->start_ns = *busy;
	slot->left = stage.pieces;
	if (stage.pieces > 0)
		stage_fill(slot);
	*ticket = slot->number;
	if (stage.pieces > 0)
		return HY_OK;
	*busy += (uint64_t) ((stage.device_launch_ns +
	                      stage.device_item_ns * (double) hy_shape_items(&shape)) *
	                     (stage.slowness[number] > 0 ? stage.slowness[number] : 1));
	slot->end_ns = *busy;
	return HY_OK;
}

static UNIT_UNUSED StageTicket *
stage_find(const HyDevice *device, HyTicket ticket)
{
	StageTicket *slot;

	for (slot = stage.tickets; slot < stage.tickets + STAGE_TICKETS; slot++)
	{
		if (slot->number == ticket && ticket != 0 && slot->device == stage_number(device))
			return slot;
	}
	return NULL;
}

static UNIT_UNUSED HyStatus
stage_poll(HyDevice *device, HyTicket ticket, bool *done, HyTimings *timings)
{
	StageTicket *slot = stage_find(device, ticket);
	bool stuck = stage.stuck_device < 0 || stage.stuck_device == stage_number(device);
	HyTicket cpu_ticket;
	HyTimings ignored;
	HyStatus st;

	if (slot == NULL)
		return HY_INVALID;
	memset(timings, 0, sizeof(*timings));
	if (stage.deaf && stuck)
		return HY_OK;
	if (slot->cancelled)
	{
		uint64_t *busy = &stage.busy_until_ns[stage_number(device)];

		/* the last in line gives its time back */
		if (*busy == slot->end_ns)
			*busy = slot->start_ns > stage.clock.time ? slot->start_ns : stage.clock.time;
		slot->number = 0;
		return HY_CANCELLED;
	}
	if (stage.hang && stuck)
		return HY_OK;
	if (stage.pieces > 0 && !stage_move(slot))
	{
		timings->total_ns = slot->moved_ns;
		return HY_OK;
	}
	if (stage.clock.time < slot->end_ns)
	{
		timings->remaining_ns = slot->end_ns - stage.clock.time;
		timings->may_skip = stage.virtual_time;
		return HY_OK;
	}
	if (slot->ends != HY_OK)
	{
		HyShape shape = hy_task_shape(&slot->task);
		int64_t q;

		for (q = 0; slot->task.op == HY_OP_DISTANCE && q < shape.queries; q++)
			memset(slot->task.u.distance.out + q * hy_distance_stride(&slot->task.u.distance), 0xcc,
			       (size_t) shape.targets * sizeof(double));
		slot->number = 0;
		return slot->ends;
	}
	slot->number = 0;
	stage.task = slot->task;
	st = hy_backend_cpu.submit(stage.executor->member[0].device, &slot->task, &cpu_ticket);
	if (st == HY_OK)
		st = hy_backend_cpu.poll(stage.executor->member[0].device, cpu_ticket, done, &ignored);
	return st;
}

static UNIT_UNUSED void
stage_cancel(HyDevice *device, HyTicket ticket)
{
	StageTicket *slot = stage_find(device, ticket);

	stage.cancels++;
	if (slot != NULL)
		slot->cancelled = true;
}

static UNIT_UNUSED void
stage_last_error(const HyDevice *device, HyFailure *failure)
{
	failure->native_code = device != NULL ? 77 : 78;
	strcpy(failure->text, "as the script says");
}

static UNIT_UNUSED HyStatus
stage_no_buffer(HyDevice *device, uint64_t bytes, HyBuffer **buffer)
{
	(void) device;
	(void) bytes;
	*buffer = NULL;
	return HY_UNSUPPORTED;
}

static UNIT_UNUSED void
stage_buffer_free(HyDevice *device, HyBuffer *buffer)
{
	(void) device;
	(void) buffer;
}

static UNIT_UNUSED HyStatus
stage_upload(HyDevice *device, HyBuffer *buffer, uint64_t offset, const void *data, uint64_t bytes)
{
	(void) device;
	(void) buffer;
	(void) offset;
	(void) data;
	(void) bytes;
	return HY_UNSUPPORTED;
}

static UNIT_UNUSED HyStatus
stage_download(HyDevice *device, const HyBuffer *buffer, uint64_t offset, void *data,
               uint64_t bytes)
{
	(void) device;
	(void) buffer;
	(void) offset;
	(void) data;
	(void) bytes;
	return HY_UNSUPPORTED;
}

static UNIT_UNUSED const HyBackend stage_backend = {.abi = HY_BACKEND_ABI,
                                                    .size = sizeof(HyBackend),
                                                    .name = "scripted",
                                                    .device_count = stage_count,
                                                    .probe = stage_probe,
                                                    .open = stage_open,
                                                    .close = stage_close,
                                                    .caps = stage_caps,
                                                    .estimate = stage_estimate,
                                                    .mem_info = stage_mem_info,
                                                    .buf_alloc = stage_no_buffer,
                                                    .buf_free = stage_buffer_free,
                                                    .upload = stage_upload,
                                                    .download = stage_download,
                                                    .submit = stage_submit,
                                                    .poll = stage_poll,
                                                    .cancel = stage_cancel,
                                                    .last_error = stage_last_error};

/* The real CPU backend, with time that passes. */
static UNIT_UNUSED HyStatus
stage_cpu_submit(HyDevice *device, const HyTask *task, HyTicket *ticket)
{
	HyShape shape = hy_task_shape(task);

	stage.clock.time += (uint64_t) (stage.cpu_item_ns * (double) hy_shape_items(&shape));
	return hy_backend_cpu.submit(device, task, ticket);
}

#endif
