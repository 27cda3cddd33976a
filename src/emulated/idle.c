/*
 * idle.c
 *		Closes a context that has not been used for hybrid.gpu_idle_timeout.
 *
 * There is no thread and no timer. The context is closed by the next call that finds that the
 * timeout has passed. That call runs in the caller's own thread, so memory can be freed at once.
 * The idle time is measured with the host's clock, which includes virtual time.
 */
#include "emulated/device.h"

#include <stdlib.h>

static uint64_t timeout_ns(void);
static bool has_work(const HyDevice *device);

bool
emulated_idle(const HyDevice *device)
{
	HyDevice *self = (HyDevice *) device;
	uint64_t expected = device->place_value;
	uint64_t timeout;
	uint64_t now;

	if (device->idle)
		return true;
	timeout = timeout_ns();
	if (timeout == 0 || has_work(device))
		return false;
	now = emulated_host->clock->now(emulated_host->clock->arg);
	/*
	 * the context has not been used since it was opened: its idle time starts with the first check
	 */
	if (device->used_ns == 0)
		self->used_ns = now;
	/* the emulation's own time is subtracted from the clock, so now may be before used_ns */
	if (now < device->used_ns + timeout)
		return false;
	self->idle = true;
	emulated_free_data(self);
	if (device->place != NULL)
		(void) __atomic_compare_exchange_n(device->place, &expected, 0, false, __ATOMIC_ACQ_REL,
		                                   __ATOMIC_RELAXED);
	return true;
}

void
emulated_used(HyDevice *device)
{
	device->used_ns = emulated_host->clock->now(emulated_host->clock->arg);
}

HyStatus
emulated_check_not_idle(HyDevice *device)
{
	if (emulated_idle(device))
		return emulated_fail(&device->failure, HY_CONTEXT_LOST, NATIVE_ARGUMENT,
		                     "nobody used it, and it closed itself");
	emulated_used(device);
	return HY_OK;
}

static uint64_t
timeout_ns(void)
{
	const char *text = emulated_host->setting != NULL
	                       ? emulated_host->setting(emulated_host->setting_arg, "gpu_idle_timeout")
	                       : NULL;
	long long ms = text != NULL ? strtoll(text, NULL, 10) : 0;

	return ms > 0 ? (uint64_t) ms * 1000000 : 0;
}

/*
 * has_work: return whether a task is running. A canceled task counts only if it ignores the cancel.
 */
static bool
has_work(const HyDevice *device)
{
	int i;

	for (i = 0; i < EMULATED_TICKETS; i++)
	{
		const Ticket *ticket = &device->tickets[i];

		if (ticket->state == TICKET_RUNNING ||
		    (ticket->state == TICKET_CANCELLED && ticket->fault.kind == FAULT_DEAF))
			return true;
	}
	return false;
}
