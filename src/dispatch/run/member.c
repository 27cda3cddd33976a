/*
 * member.c
 *		Manages a device of an executor: see member.h.
 *
 * A leftover is a task that was canceled and has not ended yet.  The device counts as busy until
 * its leftovers have ended.  If a leftover has not ended after GRACE_NS, the device is considered
 * hung.
 */
#include "dispatch/run/member.h"

#include <stdio.h>
#include <string.h>

#include "dispatch/route/budget.h"
#include "dispatch/route/session.h"
#include "dispatch/run/residency.h"

#define OPEN_RETRY_FIRST_NS UINT64_C(1000000000)
#define OPEN_RETRY_LAST_NS UINT64_C(300000000000)
#define GRACE_NS UINT64_C(50000000) /* time for a canceled task to end */
#define SETTLE_WAIT_NS 1000000

static HyStatus open_context(HyExecutor *executor, HyMember *member);
static void ask_leftovers(HyMember *member);
static void note_loss(HyExecutor *executor, const char *backend, int32_t number, const char *why);

HyStatus
hy_member_open(HyExecutor *executor, HyMember *member, uint64_t now)
{
	HyFailure before = member->open_failure;
	HyStatus st = open_context(executor, member);

	executor->generation++;
	member->open_credit_ns = 0;
	member->free_known = false;
	if (st == HY_OK)
	{
		member->opened_limit = executor->config.memory_limit;
		member->open_wait_ns = 0;
		member->open_status = HY_OK;
		hy_log(executor, "device %d (%s %d) opened", (int) (member - executor->member),
		       member->name, (int) member->number);
		return HY_OK;
	}
	member->device = NULL;
	/*
	 * After HY_QUOTA the delay does not grow, since another session may close its context at any
	 * time.
	 */
	if (member->open_wait_ns == 0 || st == HY_QUOTA)
		member->open_wait_ns = OPEN_RETRY_FIRST_NS;
	else if (member->open_wait_ns < OPEN_RETRY_LAST_NS / 2)
		member->open_wait_ns *= 2;
	else
		member->open_wait_ns = OPEN_RETRY_LAST_NS;
	member->open_after_ns = now + member->open_wait_ns;
	/* Do not log the same failure again. */
	if (st != member->open_status || strcmp(before.text, member->open_failure.text) != 0)
		hy_log(executor, "device %d (%s %d) could not be opened: %s%s%s",
		       (int) (member - executor->member), member->name, (int) member->number,
		       hy_status_name(st), member->open_failure.text[0] != '\0' ? ": " : "",
		       member->open_failure.text);
	member->open_status = st;
	return st;
}

void
hy_member_close(HyExecutor *executor, HyMember *member)
{
	if (member->device == NULL)
		return;
	executor->generation++;
	hy_member_forget(member);
	/* Closing a device that does not answer might block forever. */
	if (!hy_executor_foreign(executor) && hy_member_settle_wait(executor, member))
	{
		bool idle = hy_member_idle(member);

		member->backend->close(member->device);
		hy_table_give_context(&member->place);
		hy_log(executor, "device %d (%s %d) closed%s", (int) (member - executor->member),
		       member->name, (int) member->number, idle ? ": nobody had used it" : "");
	}
	member->device = NULL;
	member->leftovers = 0;
	member->open_credit_ns = 0;
	member->free_known = false;
}

bool
hy_member_idle(const HyMember *member)
{
	unsigned char truth;
	bool idle;

	if (member->device == NULL || member->backend->idle == NULL)
		return false;
	idle = member->backend->idle(member->device);
	/* a byte other than 0 and 1 is not a valid bool and must not be read as one */
	memcpy(&truth, &idle, 1);
	return truth != 0;
}

void
hy_member_latch(HyExecutor *executor, HyMember *member, bool all, bool abandon, const char *what)
{
	char why[sizeof(member->why)];
	int32_t i;

	executor->generation++;
	hy_log(executor, "device %d (%s %d) %s and is not used again in this process",
	       (int) (member - executor->member), member->name, (int) member->number, what);
	if (abandon)
	{
		hy_member_forget(member);
		member->device = NULL;
	}
	snprintf(why, sizeof(why), "it %s", what);
	note_loss(executor, member->name, all ? -1 : member->number, why);
	for (i = 1; i < executor->members; i++)
	{
		HyMember *other = &executor->member[i];

		if (other != member && !(all && other->backend == member->backend))
			continue;
		if (other->latched)
			continue;
		hy_member_close(executor, other);
		other->latched = true;
		memcpy(other->why, why, sizeof(other->why));
	}
}

void
hy_member_apply_losses(const HyExecutor *executor, HyMember *member)
{
	const HyLosses *losses = executor->losses;
	int32_t i;

	for (i = 0; losses != NULL && i < losses->count; i++)
	{
		if (strcmp(losses->loss[i].backend, member->name) != 0 ||
		    (losses->loss[i].number != member->number && losses->loss[i].number != -1))
			continue;
		member->latched = true;
		member->native_code = 0;
		memcpy(member->why, losses->loss[i].why, sizeof(member->why));
		return;
	}
}

void
hy_member_yield(HyExecutor *executor, HyMember *member)
{
	uint64_t before = member->resident.bytes;

	if (member->residency == NULL || before == 0 || member->leftovers > 0)
		return;
	hy_residency_trim(member->residency, hy_member_room(executor, member, hy_now(executor)));
	hy_member_units_changed(member, before);
}

void
hy_member_forget(HyMember *member)
{
	hy_residency_destroy(member->residency, false);
	member->residency = NULL;
}

bool
hy_member_settle(HyExecutor *executor, HyMember *member)
{
	ask_leftovers(member);
	if (member->leftovers == 0)
		return true;
	if (hy_now(executor) - member->left_ns >= GRACE_NS)
	{
		member->leftovers = 0;
		hy_member_latch(executor, member, false, true, "does not answer");
	}
	return false;
}

bool
hy_member_settle_wait(HyExecutor *executor, HyMember *member)
{
	uint64_t since = hy_now(executor);

	for (;;)
	{
		ask_leftovers(member);
		if (member->leftovers == 0)
			return true;
		if (hy_now(executor) - since >= GRACE_NS)
			return false;
		executor->clock->wait(executor->clock->arg, SETTLE_WAIT_NS);
	}
}

/*
 * open_context: open the device if the limit of contexts allows it.  On failure, set open_failure.
 */
static HyStatus
open_context(HyExecutor *executor, HyMember *member)
{
	HyLimits limits = {.memory = executor->config.memory_limit};
	HyFailure *failure = &member->open_failure;
	/* a hung context that was left open is still counted */
	bool counted = member->place.word != NULL;
	HyStatus st;

	memset(failure, 0, sizeof(*failure));
	if (!hy_share_take_context(&executor->share, (int32_t) (member - executor->member),
	                           executor->config.max_contexts, &member->place))
	{
		snprintf(failure->text, sizeof(failure->text),
		         "%d contexts are open on it, as many as hybrid.gpu_max_contexts allows",
		         (int) executor->config.max_contexts);
		return HY_QUOTA;
	}
	limits.place = member->place.word;
	member->device = NULL;
	st = member->backend->open(member->number, &limits, &member->device);
	/* the backend reports success but returns no device */
	if (st == HY_OK && member->device == NULL)
		st = HY_BUG;
	if (st == HY_OK)
		return HY_OK;
	if (!counted)
		hy_table_give_context(&member->place);
	member->backend->last_error(NULL, failure);
	hy_clean_text(failure->text, sizeof(failure->text));
	return st;
}

/*
 * note_loss: record a loss in the list.  The number -1 stands for all devices of the backend.  If
 * the list is full, an entry of the same backend is changed to stand for all its devices.
 */
static void
note_loss(HyExecutor *executor, const char *backend, int32_t number, const char *why)
{
	HyLosses *losses = executor->losses;
	int32_t i;

	if (losses == NULL)
		return;
	for (i = 0; i < losses->count; i++)
	{
		if (strcmp(losses->loss[i].backend, backend) == 0 &&
		    (losses->loss[i].number == number || losses->count == HY_MAX_LOSSES))
			break;
	}
	if (i == HY_MAX_LOSSES)
		return;
	if (i < losses->count && losses->loss[i].number != number)
		number = -1;
	if (i == losses->count)
		losses->count++;
	hy_set_text(losses->loss[i].backend, sizeof(losses->loss[i].backend), backend);
	losses->loss[i].number = number;
	hy_set_text(losses->loss[i].why, sizeof(losses->loss[i].why), why);
}

/* ask_leftovers: poll the leftovers and drop those that have ended. */
static void
ask_leftovers(HyMember *member)
{
	int32_t kept = 0;
	int32_t i;

	for (i = 0; i < member->leftovers; i++)
	{
		HyTimings ignored;
		bool done = false;

		if (member->backend->poll(member->device, member->leftover[i], &done, &ignored) == HY_OK &&
		    !done)
			member->leftover[kept++] = member->leftover[i];
	}
	member->leftovers = kept;
}

void
hy_set_text(char *target, size_t size, const char *text)
{
	size_t n = strlen(text);

	if (n >= size)
		n = size - 1;
	memcpy(target, text, n);
	target[n] = '\0';
	hy_clean_text(target, size);
}

void
hy_clean_text(char *text, size_t size)
{
	text[size - 1] = '\0';
	for (; *text != '\0'; text++)
	{
		if (*text < ' ' || *text > '~')
			*text = '?';
	}
}
