/*
 * emulated.c
 *		A device that is not there: the plug-in hybrid_emulated.so.
 *
 * It computes on the host with core, so its answers are the canonical bits, and makes up how long
 * that would have taken (model.c) and what goes wrong (faults.c).  Everything it reports is marked
 * virtual_time.  Like a real device it works behind the caller's back: outputs are written by the
 * poll that says done, not by submit, and a task that fails there leaves garbage behind.
 *
 * Time: a ticket is done when the host's clock has reached its end.  What the emulation itself takes
 * is taken out of that clock again, so its time passes as the made-up one only; with emulated_wait,
 * or a clock that cannot skip, both pass.  A device is one engine: a task starts when those before
 * it have ended, whichever context of the process they came from.
 */
#include "emulated/emulated.h"

#include <stdio.h>
#include <string.h>

#include "core/distance.h"
#include "core/spread.h"
#include "core/topk.h"

#define TICKETS 16
#define MAX_DEVICES 64
#define MAX_K 1024 /* as devices that keep the heap in fast memory have one */

/* Native codes of the failures; 0 is none. */
#define NATIVE_FAULT 900  /* + HyStatus: asked for by emulated_faults */
#define NATIVE_SYNTAX 800 /* emulated_faults cannot be read */
#define NATIVE_MEMORY 2   /* the device's memory is used up */
#define NATIVE_LIMIT 3    /* the limit given to open is reached */
#define NATIVE_ARGUMENT 1 /* the task or a buffer makes no sense */

typedef enum TicketState
{
	TICKET_FREE = 0,
	TICKET_RUNNING,
	TICKET_CANCELLED
} TicketState;

typedef struct Ticket
{
	TicketState state;
	HyTicket number;
	HyTask task;
	FaultVerdict fault;
	EmulatedLoad load;
	uint64_t submitted_ns; /* by the host's clock, like all that follow */
	uint64_t start_ns;
	uint64_t end_ns;
	bool wait;
} Ticket;

struct HyBuffer
{
	HyDevice *device;
	HyBuffer *previous; /* all buffers of a context, so that closing it gives them back */
	HyBuffer *next;
	uint64_t bytes;
	char *data;
};

struct HyDevice
{
	int32_t number;
	uint64_t limit; /* 0: the memory of the device */
	uint64_t used;  /* buffers and running tasks */
	uint64_t serial;
	uint32_t warm; /* bit op: it has run in this context */
	bool lost;
	HyBuffer *buffers;
	HyFailure failure;
	Ticket tickets[TICKETS];
};

static HyStatus emulated_device_count(int32_t *count);
static HyStatus emulated_probe(int32_t number, HyDeviceInfo *info);
static HyStatus emulated_open(int32_t number, const HyLimits *limits, HyDevice **opened);
static void emulated_close(HyDevice *device);
static HyCaps emulated_caps(const HyDevice *device, const HyShape *shape);
static HyEstimate emulated_estimate(const HyDevice *device, const HyShape *shape);
static HyStatus emulated_mem_info(HyDevice *device, uint64_t *free_bytes, uint64_t *total_bytes);
static HyStatus emulated_buf_alloc(HyDevice *device, uint64_t bytes, HyBuffer **buffer);
static void emulated_buf_free(HyDevice *device, HyBuffer *buffer);
static HyStatus emulated_upload(HyDevice *device, HyBuffer *buffer, uint64_t offset,
                                const void *data, uint64_t bytes);
static HyStatus emulated_download(HyDevice *device, const HyBuffer *buffer, uint64_t offset,
                                  void *data, uint64_t bytes);
static HyStatus emulated_submit(HyDevice *device, const HyTask *task, HyTicket *ticket);
static HyStatus submit(HyDevice *device, const HyTask *task, const EmulatedSettings *settings,
                       uint64_t now, HyTicket *ticket);
static HyStatus emulated_poll(HyDevice *device, HyTicket ticket, bool *done, HyTimings *timings);
static HyStatus end_task(HyDevice *device, Ticket *slot, bool *done, HyTimings *timings);
static void emulated_cancel(HyDevice *device, HyTicket ticket);
static void emulated_last_error(const HyDevice *device, HyFailure *failure);

static HyStatus fail(HyFailure *failure, HyStatus status, int32_t code, const char *text);
static HyStatus lost_status(HyDevice *device, int32_t number, HyFailure *failure);
static void lose(HyDevice *device, int32_t number, HyStatus status);
static void bring_back(HyDevice *device);
static HyStatus reserve(HyDevice *device, uint64_t bytes);
static HyStatus on_host(const HyDevice *device, const HyMatrix *matrix, HyMatrix *host_matrix);
static HyStatus compute(const HyDevice *device, const HyTask *task);
static void scribble(const HyTask *task);
static Ticket *find_ticket(HyDevice *device, HyTicket ticket);
static void release(HyDevice *device, Ticket *slot);
static uint64_t now_ns(void);
static bool skips(bool wait);
static void take_out(uint64_t since, bool wait);
static void pass_time(uint64_t ns, bool wait);

static const HyHost *host;
static HyFailure open_failure;
static bool process_lost;
static bool gone[MAX_DEVICES];
static uint64_t busy_until_ns[MAX_DEVICES]; /* the engine of each device */

static HyBackend backend = {.abi = HY_BACKEND_ABI,
                            .size = sizeof(HyBackend),
                            .name = "emulated",
                            .device_count = emulated_device_count,
                            .probe = emulated_probe,
                            .open = emulated_open,
                            .close = emulated_close,
                            .caps = emulated_caps,
                            .estimate = emulated_estimate,
                            .mem_info = emulated_mem_info,
                            .buf_alloc = emulated_buf_alloc,
                            .buf_free = emulated_buf_free,
                            .upload = emulated_upload,
                            .download = emulated_download,
                            .submit = emulated_submit,
                            .poll = emulated_poll,
                            .cancel = emulated_cancel,
                            .last_error = emulated_last_error};

/* The entry symbol; exported although all else is hidden. */
extern __attribute__((visibility("default"))) const HyBackend *hy_plugin_entry(const HyHost *of);

const HyBackend *
hy_plugin_entry(const HyHost *of)
{
	if (of->abi != HY_BACKEND_ABI)
		return NULL;
	host = of;
	backend.abi = emulated_wrong_abi(of) ? HY_BACKEND_ABI + 1 : HY_BACKEND_ABI;
	process_lost = false;
	memset(gone, 0, sizeof(gone));
	memset(busy_until_ns, 0, sizeof(busy_until_ns));
	return &backend;
}

static HyStatus
emulated_device_count(int32_t *count)
{
	EmulatedSettings settings;

	emulated_settings(host, &settings);
	*count = settings.devices < MAX_DEVICES ? settings.devices : MAX_DEVICES;
	return HY_OK;
}

static HyStatus
emulated_probe(int32_t number, HyDeviceInfo *info)
{
	EmulatedSettings settings;

	emulated_settings(host, &settings);
	if (number < 0 || number >= settings.devices || number >= MAX_DEVICES)
		return HY_INVALID;
	memset(info, 0, sizeof(*info));
	snprintf(info->name, sizeof(info->name), "emulated device %d", (int) number);
	snprintf(info->architecture, sizeof(info->architecture), "virtual");
	info->cores = EMULATED_CORES;
	info->memory_total = settings.memory;
	info->memory_free = settings.memory;
	info->open_cost_ns = settings.open_ns;
	info->virtual_time = true;
	return HY_OK;
}

static HyStatus
emulated_open(int32_t number, const HyLimits *limits, HyDevice **opened)
{
	EmulatedSettings settings;
	FaultVerdict fault;
	HyDevice *device;
	HyStatus st;

	*opened = NULL;
	memset(&open_failure, 0, sizeof(open_failure));
	emulated_settings(host, &settings);
	if (number < 0 || number >= settings.devices || number >= MAX_DEVICES)
		return fail(&open_failure, HY_INVALID, NATIVE_ARGUMENT, "there is no such device");
	emulated_fault(host, true, HY_OP_DISTANCE, number, 0, &fault);
	if (fault.fresh)
		bring_back(NULL);
	if (fault.kind == FAULT_SYNTAX)
		return fail(&open_failure, HY_INVALID, NATIVE_SYNTAX, fault.text);
	st = lost_status(NULL, number, &open_failure);
	if (st != HY_OK)
		return st;
	/* A hang needs a ticket; there is none yet, so opening fails instead. */
	if (fault.kind != FAULT_NONE)
	{
		st = fault.kind == FAULT_STATUS ? fault.status : HY_TIMEOUT;
		lose(NULL, number, st);
		return fail(&open_failure, st, NATIVE_FAULT + (int32_t) st, fault.text);
	}
	device = hy_alloc_zero(host->allocator, sizeof(HyDevice));
	if (device == NULL)
		return fail(&open_failure, HY_NOMEM, NATIVE_MEMORY, "out of host memory");
	device->number = number;
	device->limit = limits->memory;
	pass_time(settings.open_ns, settings.wait);
	*opened = device;
	return HY_OK;
}

static void
emulated_close(HyDevice *device)
{
	while (device->buffers != NULL)
		emulated_buf_free(device, device->buffers);
	hy_free(host->allocator, device);
}

static HyCaps
emulated_caps(const HyDevice *device, const HyShape *shape)
{
	HyCaps caps = {
		.ok = true, .max_targets = INT64_MAX, .max_k = MAX_K, .numeric_class = HY_CLASS_EXACT};

	(void) device;
	if (shape->op != HY_OP_DISTANCE && shape->op != HY_OP_TOPK && shape->op != HY_OP_SPREAD)
		caps = (HyCaps){.reason = "the emulated device does not have this operation"};
	return caps;
}

static HyEstimate
emulated_estimate(const HyDevice *device, const HyShape *shape)
{
	HyEstimate estimate = {0};
	EmulatedSettings settings;
	EmulatedLoad load;

	(void) device;
	emulated_settings(host, &settings);
	emulated_load(shape, &load);
	estimate.device_bytes = load.device_bytes;
	estimate.bytes_up = load.bytes_up;
	estimate.bytes_down = load.bytes_down;
	estimate.virtual_ns = (uint64_t) emulated_expected(&settings, &load);
	return estimate;
}

static HyStatus
emulated_mem_info(HyDevice *device, uint64_t *free_bytes, uint64_t *total_bytes)
{
	EmulatedSettings settings;

	emulated_settings(host, &settings);
	*total_bytes = settings.memory;
	*free_bytes = settings.memory > device->used ? settings.memory - device->used : 0;
	return HY_OK;
}

static HyStatus
emulated_buf_alloc(HyDevice *device, uint64_t bytes, HyBuffer **buffer)
{
	HyBuffer *new;
	HyStatus st;

	*buffer = NULL;
	st = lost_status(device, device->number, &device->failure);
	if (st == HY_OK)
		st = reserve(device, bytes);
	if (st != HY_OK)
		return st;
	new = hy_alloc_zero(host->allocator, sizeof(HyBuffer));
	if (new != NULL && bytes > 0)
		new->data = hy_alloc_zero(host->allocator, bytes);
	if (new == NULL || (bytes > 0 && new->data == NULL))
	{
		hy_free(host->allocator, new);
		device->used -= bytes;
		return fail(&device->failure, HY_NOMEM, NATIVE_MEMORY, "out of host memory");
	}
	new->device = device;
	new->bytes = bytes;
	new->next = device->buffers;
	if (new->next != NULL)
		new->next->previous = new;
	device->buffers = new;
	*buffer = new;
	return HY_OK;
}

static void
emulated_buf_free(HyDevice *device, HyBuffer *buffer)
{
	if (buffer == NULL)
		return;
	if (buffer->previous != NULL)
		buffer->previous->next = buffer->next;
	else
		device->buffers = buffer->next;
	if (buffer->next != NULL)
		buffer->next->previous = buffer->previous;
	device->used -= buffer->bytes;
	hy_free(host->allocator, buffer->data);
	hy_free(host->allocator, buffer);
}

static HyStatus
emulated_upload(HyDevice *device, HyBuffer *buffer, uint64_t offset, const void *data,
                uint64_t bytes)
{
	HyStatus st = lost_status(device, device->number, &device->failure);

	if (st != HY_OK)
		return st;
	if (offset > buffer->bytes || bytes > buffer->bytes - offset)
		return fail(&device->failure, HY_INVALID, NATIVE_ARGUMENT, "outside of the buffer");
	if (bytes > 0)
		memcpy(buffer->data + offset, data, bytes);
	return HY_OK;
}

static HyStatus
emulated_download(HyDevice *device, const HyBuffer *buffer, uint64_t offset, void *data,
                  uint64_t bytes)
{
	HyStatus st = lost_status(device, device->number, &device->failure);

	if (st != HY_OK)
		return st;
	if (offset > buffer->bytes || bytes > buffer->bytes - offset)
		return fail(&device->failure, HY_INVALID, NATIVE_ARGUMENT, "outside of the buffer");
	if (bytes > 0)
		memcpy(data, buffer->data + offset, bytes);
	return HY_OK;
}

static HyStatus
emulated_submit(HyDevice *device, const HyTask *task, HyTicket *ticket)
{
	uint64_t now = now_ns();
	EmulatedSettings settings;
	HyStatus st;

	emulated_settings(host, &settings);
	st = submit(device, task, &settings, now, ticket);
	take_out(now, settings.wait);
	return st;
}

static HyStatus
submit(HyDevice *device, const HyTask *task, const EmulatedSettings *settings, uint64_t now,
       HyTicket *ticket)
{
	EmulatedLoad load;
	FaultVerdict fault;
	Ticket *slot;
	uint64_t *busy = &busy_until_ns[device->number];
	HyStatus st;
	HyShape shape = hy_task_shape(task);

	if (hy_task_check(task) != HY_OK)
		return fail(&device->failure, HY_INVALID, NATIVE_ARGUMENT, "the task contradicts itself");
	if (!emulated_caps(device, &shape).ok || shape.k > MAX_K)
		return fail(&device->failure, HY_UNSUPPORTED, NATIVE_ARGUMENT, "not in the capabilities");
	emulated_task_load(task, &load);
	emulated_fault(host, false, task->op, device->number, load.device_bytes, &fault);
	if (fault.fresh)
		bring_back(device);
	if (fault.kind == FAULT_SYNTAX)
		return fail(&device->failure, HY_INVALID, NATIVE_SYNTAX, fault.text);
	st = lost_status(device, device->number, &device->failure);
	if (st != HY_OK)
		return st;
	if (fault.kind == FAULT_STATUS && fault.place == FAULT_SUBMIT)
	{
		lose(device, device->number, fault.status);
		return fail(&device->failure, fault.status, NATIVE_FAULT + (int32_t) fault.status,
		            fault.text);
	}
	for (slot = device->tickets; slot->state != TICKET_FREE; slot++)
	{
		if (slot == &device->tickets[TICKETS - 1])
			return fail(&device->failure, HY_BUSY, NATIVE_ARGUMENT, "no ticket is free");
	}
	st = reserve(device, load.device_bytes);
	if (st != HY_OK)
		return st;

	memset(slot, 0, sizeof(*slot));
	device->serial++;
	slot->state = TICKET_RUNNING;
	slot->number = device->serial * TICKETS + (uint64_t) (slot - device->tickets);
	slot->task = *task;
	slot->fault = fault;
	slot->load = load;
	slot->wait = settings->wait;
	slot->submitted_ns = now;
	slot->start_ns = *busy > now ? *busy : now;
	slot->end_ns = slot->start_ns +
	               emulated_duration(settings, &load, !(device->warm >> task->op & 1),
	                                 device->serial * MAX_DEVICES + (uint64_t) device->number);
	/* A hang is a wait for something else: it does not keep the engine. */
	if (fault.kind != FAULT_HANG && fault.kind != FAULT_DEAF)
		*busy = slot->end_ns;
	device->warm |= UINT32_C(1) << task->op;
	*ticket = slot->number;
	return HY_OK;
}

static HyStatus
emulated_poll(HyDevice *device, HyTicket ticket, bool *done, HyTimings *timings)
{
	Ticket *slot = find_ticket(device, ticket);
	uint64_t now = now_ns();
	HyStatus st;

	*done = false;
	memset(timings, 0, sizeof(*timings));
	if (slot == NULL)
		return fail(&device->failure, HY_INVALID, NATIVE_ARGUMENT, "there is no such ticket");
	if (slot->fault.kind == FAULT_DEAF)
		return HY_OK;
	if (slot->state == TICKET_CANCELLED)
	{
		release(device, slot);
		return HY_CANCELLED;
	}
	if (slot->fault.kind == FAULT_HANG)
		return HY_OK;
	if (now < slot->end_ns)
	{
		timings->remaining_ns = slot->end_ns - now;
		timings->may_skip = skips(slot->wait);
		return HY_OK;
	}
	st = end_task(device, slot, done, timings);
	take_out(now, slot->wait);
	return st;
}

static HyStatus
end_task(HyDevice *device, Ticket *slot, bool *done, HyTimings *timings)
{
	HyStatus st;

	release(device, slot);
	if (slot->fault.kind == FAULT_STATUS)
	{
		scribble(&slot->task);
		lose(device, device->number, slot->fault.status);
		return fail(&device->failure, slot->fault.status,
		            NATIVE_FAULT + (int32_t) slot->fault.status, slot->fault.text);
	}
	st = compute(device, &slot->task);
	if (st != HY_OK)
		return fail(&device->failure, st, NATIVE_ARGUMENT, hy_status_name(st));
	*done = true;
	timings->total_ns = slot->end_ns - slot->submitted_ns;
	timings->bytes_up = slot->load.bytes_up;
	timings->bytes_down = slot->load.bytes_down;
	return HY_OK;
}

static void
emulated_cancel(HyDevice *device, HyTicket ticket)
{
	Ticket *slot = find_ticket(device, ticket);

	if (slot != NULL)
		slot->state = TICKET_CANCELLED;
}

static void
emulated_last_error(const HyDevice *device, HyFailure *failure)
{
	*failure = device != NULL ? device->failure : open_failure;
}

static HyStatus
fail(HyFailure *failure, HyStatus status, int32_t code, const char *text)
{
	failure->native_code = code;
	snprintf(failure->text, sizeof(failure->text), "%s", text);
	return status;
}

/* lost_status: what every call is answered once the context, the process or the device is lost. */
static HyStatus
lost_status(HyDevice *device, int32_t number, HyFailure *failure)
{
	HyStatus st = HY_OK;

	if (process_lost)
		st = HY_PROCESS_LOST;
	else if (gone[number])
		st = HY_DEVICE_GONE;
	else if (device != NULL && device->lost)
		st = HY_CONTEXT_LOST;
	if (st != HY_OK)
		fail(failure, st, NATIVE_FAULT + (int32_t) st, "lost by an earlier fault");
	return st;
}

static void
lose(HyDevice *device, int32_t number, HyStatus status)
{
	if (status == HY_PROCESS_LOST)
		process_lost = true;
	else if (status == HY_DEVICE_GONE)
		gone[number] = true;
	else if (status == HY_CONTEXT_LOST && device != NULL)
		device->lost = true;
}

static void
bring_back(HyDevice *device)
{
	process_lost = false;
	memset(gone, 0, sizeof(gone));
	if (device != NULL)
		device->lost = false;
}

/* reserve: device memory for a buffer or a task. */
static HyStatus
reserve(HyDevice *device, uint64_t bytes)
{
	EmulatedSettings settings;

	emulated_settings(host, &settings);
	if (device->limit > 0 && (device->used > device->limit || bytes > device->limit - device->used))
		return fail(&device->failure, HY_QUOTA, NATIVE_LIMIT,
		            "the limit of the context is reached");
	if (device->used > settings.memory || bytes > settings.memory - device->used)
		return fail(&device->failure, HY_NOMEM, NATIVE_MEMORY, "out of device memory");
	device->used += bytes;
	return HY_OK;
}

/* on_host: the same matrix with its rows where core can read them. */
static HyStatus
on_host(const HyDevice *device, const HyMatrix *matrix, HyMatrix *host_matrix)
{
	size_t row = (size_t) matrix->dims * hy_dtype_size(matrix->dtype);
	uint64_t room;

	*host_matrix = *matrix;
	if (matrix->buffer == NULL || matrix->rows == 0)
		return HY_OK;
	if (matrix->buffer->device != device || matrix->offset > matrix->buffer->bytes)
		return HY_INVALID;
	room = matrix->buffer->bytes - matrix->offset;
	if (row > room || (uint64_t) (matrix->rows - 1) > (room - row) / matrix->stride)
		return HY_INVALID;
	host_matrix->data = matrix->buffer->data + matrix->offset;
	host_matrix->buffer = NULL;
	host_matrix->offset = 0;
	return HY_OK;
}

static HyStatus
compute(const HyDevice *device, const HyTask *task)
{
	HyMatrix queries;
	HyMatrix targets;
	HyStatus st;

	if (task->op == HY_OP_SPREAD)
	{
		const HySpreadTask *s = &task->u.spread;

		return hy_spread(s->graph, s->gain, &s->params, &s->seeds, task->allocator, task->cancel,
		                 s->activation, s->hop);
	}
	if (task->op == HY_OP_DISTANCE)
	{
		const HyDistanceTask *d = &task->u.distance;

		st = on_host(device, &d->queries, &queries);
		if (st == HY_OK)
			st = on_host(device, &d->targets, &targets);
		if (st == HY_OK)
			st = hy_distance_window(d->metric, &queries, &targets, d->out, hy_distance_stride(d),
			                        task->cancel);
		return st;
	}
	if (task->op == HY_OP_TOPK)
	{
		const HyTopKTask *t = &task->u.topk;

		st = on_host(device, &t->queries, &queries);
		if (st == HY_OK)
			st = on_host(device, &t->targets, &targets);
		if (st == HY_OK)
			st = hy_topk_search(t->metric, &queries, &targets, t->k, t->out, t->counts,
			                    task->cancel);
		return st;
	}
	return HY_UNSUPPORTED;
}

/* scribble: what a failed copy back may leave in the outputs. */
static void
scribble(const HyTask *task)
{
	HyShape shape = hy_task_shape(task);
	size_t items;
	int64_t q;

	switch (task->op)
	{
		case HY_OP_DISTANCE:
			for (q = 0; q < shape.queries; q++)
				memset(task->u.distance.out + q * hy_distance_stride(&task->u.distance), 0xcc,
				       (size_t) (shape.targets + 1) / 2 * sizeof(double));
			break;
		case HY_OP_TOPK:
			if (shape.queries > 0)
			{
				memset(task->u.topk.out, 0xcc,
				       (size_t) shape.queries * (size_t) shape.k * sizeof(HyNeighbor));
				memset(task->u.topk.counts, 0xcc, (size_t) shape.queries * sizeof(int32_t));
			}
			break;
		case HY_OP_SPREAD:
			items = (size_t) task->u.spread.graph->nodes * (size_t) task->u.spread.seeds.sets;
			if (items > 0)
			{
				memset(task->u.spread.activation, 0xcc, items * sizeof(double));
				memset(task->u.spread.hop, 0xcc, items * sizeof(int32_t));
			}
			break;
		case HY_OP_ASSIGN:
		case HY_OP_SCORE_CODES:
			break;
	}
}

static Ticket *
find_ticket(HyDevice *device, HyTicket ticket)
{
	Ticket *slot = &device->tickets[ticket % TICKETS];

	return slot->state != TICKET_FREE && slot->number == ticket ? slot : NULL;
}

/* release: the ticket is free again; one that leaves before its end gives the engine back. */
static void
release(HyDevice *device, Ticket *slot)
{
	uint64_t *busy = &busy_until_ns[device->number];
	uint64_t now = now_ns();

	if (*busy == slot->end_ns && now < slot->end_ns)
		*busy = slot->start_ns > now ? slot->start_ns : now;
	slot->state = TICKET_FREE;
	device->used -= slot->load.device_bytes;
}

static uint64_t
now_ns(void)
{
	return host->clock->now(host->clock->arg);
}

/* skips: whether made-up time passes by skipping. */
static bool
skips(bool wait)
{
	return !wait && host->clock->skip != NULL;
}

/* take_out: what the host needed since then to play the device shall not count. */
static void
take_out(uint64_t since, bool wait)
{
	if (skips(wait))
		host->clock->skip(host->clock->arg, (int64_t) (since - now_ns()));
}

static void
pass_time(uint64_t ns, bool wait)
{
	uint64_t since;
	uint64_t passed = 0;

	if (skips(wait))
	{
		host->clock->skip(host->clock->arg, (int64_t) ns);
		return;
	}
	since = now_ns();
	while (passed < ns)
	{
		host->clock->wait(host->clock->arg, ns - passed);
		passed = now_ns() - since;
	}
}
