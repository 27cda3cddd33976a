/*
 * budget.c
 *		How much of a device's memory a task may take.
 *
 * The least of
 *
 *		80% of what is free there now;
 *		an even share of the quota, which is hybrid.gpu_memory_limit, or 80% of the device's memory
 *		where that is 0, and belongs to all contexts that are open on the device: of all processes
 *		that share a table, else to this one alone;
 *		a cap that a failure for want of memory left behind: half of what did not fit, raised by an
 *		eighth of that with each task near it that fits and with each second, gone when it no longer
 *		binds.  (Additive increase, multiplicative decrease: V. Jacobson, "Congestion avoidance and
 *		control", 1988.)
 *
 * A context that opens makes the shares of the others smaller from their next task or piece on; what
 * they have in flight just then is within the old share.
 */
#include "dispatch/executor_state.h"

#define MAY_TAKE 0.8 /* of what is free, and of what there is */
#define FREE_STALE_NS UINT64_C(100000000)
#define CAP_STEPS 8
#define CAP_STEP_NS UINT64_C(1000000000)

static uint64_t free_now(HyExecutor *executor, HyMember *member, uint64_t now);
static uint64_t budget_now(HyExecutor *executor, HyMember *member, uint64_t now);
static uint64_t share_of_quota(const HyExecutor *executor, const HyMember *member);

uint64_t
hy_member_budget(HyExecutor *executor, HyMember *member, uint64_t now)
{
	member->budget_bytes = budget_now(executor, member, now);
	return member->budget_bytes;
}

void
hy_member_refused(HyMember *member, uint64_t bytes, uint64_t now)
{
	if (bytes < 2)
		return;
	/* However small it gets, it comes back from there in the steps of what was wanted first. */
	if (member->cap_bytes == 0 || member->cap_step < bytes / 2 / CAP_STEPS + 1)
		member->cap_step = bytes / 2 / CAP_STEPS + 1;
	member->cap_bytes = bytes / 2;
	member->cap_since_ns = now;
}

void
hy_member_fitted(HyMember *member, uint64_t bytes)
{
	/* What is far from the cap says nothing of it. */
	if (member->cap_bytes > 0 && bytes > member->cap_bytes / 2)
		member->cap_bytes += member->cap_step;
}

uint64_t
hy_member_room(HyExecutor *executor, HyMember *member, uint64_t now)
{
	uint64_t room = free_now(executor, member, now);
	uint64_t share = share_of_quota(executor, member);

	/* what they have is not free */
	if (room <= UINT64_MAX - member->resident.bytes)
		room += member->resident.bytes;
	if (share < room)
		room = share;
	room /= 2;
	return room < executor->config.resident_limit ? room : executor->config.resident_limit;
}

static uint64_t
budget_now(HyExecutor *executor, HyMember *member, uint64_t now)
{
	uint64_t available = free_now(executor, member, now);
	uint64_t share = share_of_quota(executor, member);
	uint64_t cap;

	/* units that stay there take some of it, and half at most: more would give way (resident.c) */
	if (share != UINT64_MAX)
		share -= member->resident.bytes < share / 2 ? member->resident.bytes : share / 2;
	if (share < available)
		available = share;
	if (member->cap_bytes == 0)
		return available;
	cap = member->cap_bytes + (now - member->cap_since_ns) / CAP_STEP_NS * member->cap_step;
	if (cap < available)
		return cap;
	member->cap_bytes = 0;
	return available;
}

/* free_now: the part of what is free that may be taken; UINT64_MAX where nobody knows. */
static uint64_t
free_now(HyExecutor *executor, HyMember *member, uint64_t now)
{
	/* Asking can cost more than a task, and a wrong guess costs a fallback, no answer. */
	if (member->device != NULL &&
	    (!member->free_known || now - member->free_at_ns >= FREE_STALE_NS) &&
	    !hy_executor_foreign(executor))
	{
		member->free_known = member->backend->mem_info(member->device, &member->free_bytes,
		                                               &member->total_bytes) == HY_OK;
		member->free_at_ns = now;
	}
	if (member->device != NULL && member->free_known)
		return (uint64_t) (MAY_TAKE * ((double) member->free_bytes + (double) member->held_bytes));
	if (member->info.memory_free > 0)
		return (uint64_t) (MAY_TAKE * (double) member->info.memory_free);
	return UINT64_MAX;
}

/* share_of_quota: UINT64_MAX where nobody knows how much memory the device has, and no limit is set. */
static uint64_t
share_of_quota(const HyExecutor *executor, const HyMember *member)
{
	bool known = member->device != NULL && member->free_known;
	uint64_t total = known ? member->total_bytes : member->info.memory_total;
	uint64_t quota = executor->config.memory_limit;

	if (quota == 0 && total == 0)
		return UINT64_MAX;
	if (quota == 0)
		quota = (uint64_t) (MAY_TAKE * (double) total);
	return quota / hy_share_contexts(executor, member);
}
