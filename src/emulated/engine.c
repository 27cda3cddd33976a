/*
 * engine.c
 *		Runs tasks on an emulated device, in virtual time.
 *
 * Like a real device, an emulated device works asynchronously. Outputs are written by the poll that
 * reports the end of the task, not by submit. A task that fails in poll leaves garbage in its
 * outputs.
 *
 * A task is done when the host's clock has reached its end time. The time that the host takes for
 * the emulation is subtracted from that clock, so only virtual time passes. With emulated_wait, or
 * with a clock that cannot skip, nothing is subtracted, and waiting takes real time. A device has
 * one engine: a task starts when all tasks before it have ended, no matter which context of the
 * process submitted them.
 */
#include "emulated/device.h"

#include <string.h>

static HyStatus submit(HyDevice *device, const HyTask *task, const EmulatedSettings *settings,
                       uint64_t now, HyTicket *ticket);
static HyStatus end_task(HyDevice *device, Ticket *slot, bool *done, HyTimings *timings);
static Ticket *find_ticket(HyDevice *device, HyTicket ticket);
static void release(HyDevice *device, Ticket *slot);
static uint64_t now_ns(void);
static bool skips(bool wait);
static void take_out(uint64_t since, bool wait);

static uint64_t busy_until_ns[EMULATED_DEVICES]; /* end time of the last task on each device */

HyStatus
emulated_submit(HyDevice *device, const HyTask *task, HyTicket *ticket)
{
	uint64_t now = now_ns();
	EmulatedSettings settings;
	HyStatus st;

	emulated_settings(emulated_host, &settings);
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
		return emulated_fail(&device->failure, HY_INVALID, NATIVE_ARGUMENT,
		                     "the task contradicts itself");
	if (!emulated_caps(device, &shape).ok || shape.k > EMULATED_MAX_K)
		return emulated_fail(&device->failure, HY_UNSUPPORTED, NATIVE_ARGUMENT,
		                     "not in the capabilities");
	st = emulated_check_not_idle(device);
	if (st != HY_OK)
		return st;
	emulated_task_load(task, &load);
	st = emulated_look_up_fault(device, device->number, FAULT_SUBMIT, task->op, load.device_bytes,
	                            &fault, &device->failure);
	if (st != HY_OK)
		return st;
	if (fault.kind == FAULT_STATUS && fault.place == FAULT_SUBMIT)
		return emulated_apply_fault(device, device->number, &fault, &device->failure);
	for (slot = device->tickets; slot->state != TICKET_FREE; slot++)
	{
		if (slot == &device->tickets[EMULATED_TICKETS - 1])
			return emulated_fail(&device->failure, HY_BUSY, NATIVE_ARGUMENT, "no ticket is free");
	}
	st = emulated_reserve(device, load.device_bytes);
	if (st != HY_OK)
		return st;

	memset(slot, 0, sizeof(*slot));
	device->serial++;
	slot->state = TICKET_RUNNING;
	slot->number = device->serial * EMULATED_TICKETS + (uint64_t) (slot - device->tickets);
	slot->task = *task;
	slot->fault = fault;
	slot->load = load;
	slot->wait = settings->wait;
	slot->exact = settings->exact;
	slot->submitted_ns = now;
	slot->start_ns = *busy > now ? *busy : now;
	slot->end_ns = slot->start_ns +
	               emulated_duration(settings, &load, !(device->warm >> task->op & 1),
	                                 device->serial * EMULATED_DEVICES + (uint64_t) device->number);
	/* a hung task does not occupy the engine, as if it waited for something else */
	if (fault.kind != FAULT_HANG && fault.kind != FAULT_DEAF)
		*busy = slot->end_ns;
	device->warm |= UINT32_C(1) << task->op;
	*ticket = slot->number;
	return HY_OK;
}

HyStatus
emulated_poll(HyDevice *device, HyTicket ticket, bool *done, HyTimings *timings)
{
	Ticket *slot = find_ticket(device, ticket);
	uint64_t now = now_ns();
	HyStatus st;

	*done = false;
	memset(timings, 0, sizeof(*timings));
	if (!device->idle)
		device->used_ns = now;
	if (slot == NULL)
		return emulated_fail(&device->failure, HY_INVALID, NATIVE_ARGUMENT,
		                     "there is no such ticket");
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
		if (now > slot->start_ns)
			timings->total_ns = now - slot->submitted_ns;
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
		emulated_fill_with_garbage(&slot->task);
		return emulated_apply_fault(device, device->number, &slot->fault, &device->failure);
	}
	st = emulated_compute(device, &slot->task, slot->exact);
	if (st != HY_OK)
		return emulated_fail(&device->failure, st, NATIVE_ARGUMENT, hy_status_name(st));
	*done = true;
	timings->total_ns = slot->end_ns - slot->submitted_ns;
	timings->bytes_up = slot->load.bytes_up;
	timings->bytes_down = slot->load.bytes_down;
	return HY_OK;
}

void
emulated_cancel(HyDevice *device, HyTicket ticket)
{
	Ticket *slot = find_ticket(device, ticket);

	if (slot != NULL)
		slot->state = TICKET_CANCELLED;
}

void
emulated_engine_reset(void)
{
	memset(busy_until_ns, 0, sizeof(busy_until_ns));
}

static Ticket *
find_ticket(HyDevice *device, HyTicket ticket)
{
	Ticket *slot = &device->tickets[ticket % EMULATED_TICKETS];

	return slot->state != TICKET_FREE && slot->number == ticket ? slot : NULL;
}

/*
 * release: free the ticket. If its task is the last one on the engine and has not reached its end
 * time, the engine becomes free early.
 */
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
	return emulated_host->clock->now(emulated_host->clock->arg);
}

/* skips: return whether virtual time passes by advancing the clock instead of waiting. */
static bool
skips(bool wait)
{
	return !wait && emulated_host->clock->skip != NULL;
}

/*
 * take_out: subtract the time that has passed since `since` from the clock, because the host spent
 * it on the emulation.
 */
static void
take_out(uint64_t since, bool wait)
{
	if (skips(wait))
		emulated_host->clock->skip(emulated_host->clock->arg, (int64_t) (since - now_ns()));
}

void
emulated_pass_time(uint64_t ns, bool wait)
{
	uint64_t since;
	uint64_t passed = 0;

	if (skips(wait))
	{
		emulated_host->clock->skip(emulated_host->clock->arg, (int64_t) ns);
		return;
	}
	since = now_ns();
	while (passed < ns)
	{
		emulated_host->clock->wait(emulated_host->clock->arg, ns - passed);
		passed = now_ns() - since;
	}
}
