/*
 * execution_error.c
 *		The error message for a forced device that could not run a task: see execution_error.h.
 *
 * The message names the setting and its value, because the setting, not the query, causes the error. DETAIL
 * says why the task did not run: no backend has that name, the backend has no device, a rule excludes the
 * device, or an attempt on the device failed with some status. HINT says what the user can do. If no backend
 * has the name, HINT lists the valid values. Otherwise it also says how to continue without a device.
 */
#include "postgres.h"

#include "dispatch/route/able.h"
#include "dispatch/tools/words.h"
#include "lib/stringinfo.h"
#include "server/execution_error.h"

static bool is_known(const HyExecutor *executor, const HyDecision *decision);
static bool has_lost(const HyExecutor *executor, const HyDecision *decision);
static int code_of(const HyDecision *decision);
static char *names_of_backends(const HyExecutor *executor);
static char *detail_of(const HyExecutor *executor, const HyDecision *decision);
static const char *hint_of(const HyExecutor *executor, const HyDecision *decision);

void
hybrid_report_execution_error(const HyExecutor *executor, const HyDecision *decision,
                              const char *what)
{
	bool named = decision->execution == HY_EXECUTION_NAMED;
	const char *value = named ? decision->named : hy_execution_name(decision->execution);
	char list[HY_WORDS_LENGTH];

	if (named && !is_known(executor, decision))
		ereport(
			ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
		     errmsg("could not %s on the device: \"hybrid.execution\" is \"%s\"", what, value),
		     errdetail("No backend has this name. Known backends: %s.",
		               names_of_backends(executor)),
		     errhint(
				 "Valid values are %s, and the names of backends. \"hybrid.plugins\" determines "
				 "which backends are loaded.",
				 hy_words_list(HY_WORDS_EXECUTION, "", ", ", list))));
	ereport(ERROR,
	        (errcode(code_of(decision)),
	         errmsg("could not %s on the device: \"hybrid.execution\" is \"%s\"", what, value),
	         errdetail("%s", detail_of(executor, decision)),
	         errhint("%s Set \"hybrid.execution\" to \"auto\" to let the CPU answer.",
	                 hint_of(executor, decision))));
}

/* is_known: test whether a backend, or a plug-in that could not be loaded, has the requested name. */
static bool
is_known(const HyExecutor *executor, const HyDecision *decision)
{
	int32 device;

	for (device = 1; device < hy_executor_devices(executor); device++)
	{
		if (hy_executor_called(executor, device, decision->named))
			return true;
	}
	return false;
}

/*
 * has_lost: test whether this process has lost the refused device, so that it may not use the device again.
 */
static bool
has_lost(const HyExecutor *executor, const HyDecision *decision)
{
	int32 device;

	for (device = 1; device < hy_executor_devices(executor); device++)
	{
		HyDeviceState state;

		hy_executor_device(executor, device, &state);
		/* ignore devices that never existed, and devices other than the refused one */
		if (state.latched && state.info.name[0] != '\0' && state.why != NULL &&
		    strcmp(state.why, decision->failure.text) == 0)
			return true;
	}
	return false;
}

static int
code_of(const HyDecision *decision)
{
	if (decision->reason == HY_REASON_UNSUPPORTED)
		return ERRCODE_FEATURE_NOT_SUPPORTED;
	if (decision->reason == HY_REASON_MEMORY || decision->status == HY_NOMEM ||
	    decision->status == HY_QUOTA)
		return ERRCODE_INSUFFICIENT_RESOURCES;
	if (decision->status != HY_OK && decision->reason != HY_REASON_NO_DEVICE &&
	    decision->reason != HY_REASON_UNRELIABLE)
		return ERRCODE_SYSTEM_ERROR;
	return ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;
}

/*
 * names_of_backends: list each backend once; after a plug-in that could not be loaded, give the reason in
 * parentheses.
 */
static char *
names_of_backends(const HyExecutor *executor)
{
	const char *before = "";
	StringInfoData names;
	int32 device;

	initStringInfo(&names);
	for (device = 0; device < hy_executor_devices(executor); device++)
	{
		HyDeviceState state;

		hy_executor_device(executor, device, &state);
		/* devices of a backend are adjacent */
		if (strcmp(state.backend, before) == 0)
			continue;
		appendStringInfo(&names, "%s%s", device > 0 ? ", " : "", state.backend);
		if (state.latched && state.why != NULL)
			appendStringInfo(&names, " (%s)", state.why);
		before = state.backend;
	}
	return names.data;
}

static char *
detail_of(const HyExecutor *executor, const HyDecision *decision)
{
	const char *why = decision->failure.text;
	HyDeviceState state;

	switch (decision->reason)
	{
		case HY_REASON_NO_DEVICE:
			return psprintf("No device can be used: %s.", why);
		case HY_REASON_UNSUPPORTED:
			return psprintf("No device can run it: %s.", why);
		case HY_REASON_UNRELIABLE:
			return psprintf("No device is trusted with it at the moment: %s.", why);
		case HY_REASON_MEMORY:
			return psprintf(
				"It needs " UINT64_FORMAT " kB of device memory, may have " UINT64_FORMAT
				" kB, and does not fit in pieces either.",
				(decision->bytes_required + 1023) / 1024, decision->bytes_available / 1024);
		default:
			break;
	}
	hy_executor_device(executor, Max(decision->device, 0), &state);
	return psprintf("Device %d (%s %d) was tried and failed with status \"%s\"%s%s.",
	                (int) decision->device, state.backend, (int) state.number,
	                hy_status_name(decision->status), why[0] != '\0' ? ": " : "", why);
}

static const char *
hint_of(const HyExecutor *executor, const HyDecision *decision)
{
	switch (decision->reason)
	{
		case HY_REASON_NO_DEVICE:
			if (has_lost(executor, decision))
				return "A session does not use a lost device again. Start a new session.";
			return "The view \"hybrid_devices\" shows why a device cannot be used.";
		case HY_REASON_UNSUPPORTED:
			return "The view \"hybrid_capabilities\" says what devices can run.";
		case HY_REASON_UNRELIABLE:
			return "The view \"hybrid_events\" shows its errors. The device is tried again "
				   "automatically.";
		case HY_REASON_MEMORY:
			return "Raise \"hybrid.gpu_memory_limit\", or ask for less at once.";
		default:
			break;
	}
	switch (decision->status)
	{
		case HY_NOMEM:
			return "Ask for less at once, or let fewer sessions use the device.";
		case HY_QUOTA:
			return "Raise \"hybrid.gpu_memory_limit\" or \"hybrid.gpu_max_contexts\".";
		case HY_TIMEOUT:
			return "Raise \"hybrid.gpu_timeout\", if the device was merely slow.";
		case HY_PROCESS_LOST:
		case HY_DEVICE_GONE:
			return "This session does not use the device again. Start a new session.";
		case HY_UNSUPPORTED:
			return "The view \"hybrid_capabilities\" says what devices can run.";
		case HY_INVALID:
			return "The device rejected the request as invalid. If no setting explains this, "
				   "please report it.";
		case HY_BUG:
			return "This is a bug of hybrid or of its plug-in: please report it.";
		default:
			return "The next attempt may succeed.";
	}
}
