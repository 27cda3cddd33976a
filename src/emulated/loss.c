/*
 * loss.c
 *		Records which contexts and devices a requested fault has made unusable, and whether it
 *		has made the process unusable.
 *
 * A context stays lost until it is closed, or until a call for it notices a change of the setting.
 * A device or the process stays lost until the setting changes.
 */
#include "emulated/device.h"

#include <stdio.h>
#include <string.h>

static bool process_lost;
static bool gone[EMULATED_DEVICES];

HyStatus
emulated_fail(HyFailure *failure, HyStatus status, int32_t code, const char *text)
{
	failure->native_code = code;
	snprintf(failure->text, sizeof(failure->text), "%s", text);
	return status;
}

HyStatus
emulated_lost(const HyDevice *device, int32_t number, HyFailure *failure)
{
	HyStatus st = HY_OK;

	if (process_lost)
		st = HY_PROCESS_LOST;
	else if (gone[number])
		st = HY_DEVICE_GONE;
	else if (device != NULL && device->lost)
		st = HY_CONTEXT_LOST;
	if (st == HY_OK)
		return HY_OK;
	return emulated_fail(failure, st, NATIVE_FAULT + (int32_t) st, "lost by an earlier fault");
}

HyStatus
emulated_look_up_fault(HyDevice *device, int32_t number, FaultPlace call, HyOp op, uint64_t bytes,
                       FaultVerdict *fault, HyFailure *failure)
{
	emulated_fault(emulated_host, call, op, number, bytes, fault);
	if (fault->fresh)
	{
		emulated_loss_reset();
		if (device != NULL)
			device->lost = false;
	}
	if (fault->kind == FAULT_SYNTAX)
		return emulated_fail(failure, HY_INVALID, NATIVE_SYNTAX, fault->text);
	return emulated_lost(device, number, failure);
}

HyStatus
emulated_apply_fault(HyDevice *device, int32_t number, const FaultVerdict *fault,
                     HyFailure *failure)
{
	/* a hanging task needs a ticket; open and upload have none, so they time out at once */
	HyStatus st = fault->kind == FAULT_STATUS ? fault->status : HY_TIMEOUT;

	if (st == HY_PROCESS_LOST)
		process_lost = true;
	else if (st == HY_DEVICE_GONE)
		gone[number] = true;
	else if (st == HY_CONTEXT_LOST && device != NULL)
		device->lost = true;
	return emulated_fail(failure, st, NATIVE_FAULT + (int32_t) st, fault->text);
}

void
emulated_loss_reset(void)
{
	process_lost = false;
	memset(gone, 0, sizeof(gone));
}
