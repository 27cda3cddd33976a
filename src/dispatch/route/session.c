/*
 * session.c
 *		Detects that the process was forked, and writes the executor's log.
 */
#define _POSIX_C_SOURCE 200809L

#include "dispatch/route/session.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool
hy_executor_foreign(HyExecutor *executor)
{
	if (!executor->foreign && getpid() != executor->owner)
	{
		executor->foreign = true;
		hy_log(executor, "devices are not used: the process was forked after they were set up");
	}
	return executor->foreign;
}

void
hy_member_failure(const HyMember *member, HyFailure *failure)
{
	failure->native_code = member->native_code;
	memcpy(failure->text, member->why, sizeof(failure->text));
}

void
hy_log(const HyExecutor *executor, const char *format, ...)
{
	char text[2 * HY_TEXT_LENGTH];
	va_list args;

	if (executor->log.line == NULL)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	executor->log.line(executor->log.arg, text);
}
