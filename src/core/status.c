/*
 * status.c
 *		Names of the status codes, as the views and the log print them.
 */
#include "core/status.h"

const char *
hy_status_name(HyStatus status)
{
	static const char *const names[HY_STATUS_COUNT] = {
		"ok",      "unsupported", "out of memory", "quota reached", "busy",        "transient",
		"timeout", "cancelled",   "context lost",  "process lost",  "device gone", "invalid",
		"bug"};

	if ((int) status < 0 || (int) status >= HY_STATUS_COUNT)
		return "unknown";
	return names[status];
}
