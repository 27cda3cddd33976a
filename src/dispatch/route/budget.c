/*
 * budget.c
 *		Computes how much of a device's memory tasks and resident units may use.
 *
 * The budget is the smallest of
 *
 *		80% of the memory that is free now;
 *		an equal share of the quota.  The quota is hybrid.gpu_memory_limit, or 80% of the
 *		device's memory if that is 0.  All open contexts on the device share it, including
 *		contexts of other processes if the executor uses a shared table;
 *		a cap after an out-of-memory failure.  The cap starts at half of the size that did not
 *		fit.  It grows by an eighth of that half with each second, and with each task that
 *		fits and uses more than half of the cap.  It is removed when it no longer limits the
 *		budget.  (Additive increase, multiplicative decrease: V. Jacobson, "Congestion avoidance
 *		and control", 1988.)
 *
 * When a context opens, the shares of the other contexts shrink from their next task or piece on.
 * Tasks already in flight keep the old share.
 */
#include "dispatch/route/budget.h"

#include "dispatch/route/session.h"

#define MAY_TAKE 0.8 /* share of the free memory, and of the total */
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
	/*
	 * The step by which the cap grows is set by the largest task refused.  It stays the same if a
	 * later failure lowers the cap.
	 */
	if (member->cap_bytes == 0 || member->cap_step < bytes / 2 / CAP_STEPS + 1)
		member->cap_step = bytes / 2 / CAP_STEPS + 1;
	member->cap_bytes = bytes / 2;
	member->cap_since_ns = now;
}

void
hy_member_fitted(HyMember *member, uint64_t bytes)
{
	/* A task much smaller than the cap does not show that the cap is too low. */
	if (member->cap_bytes > 0 && bytes > member->cap_bytes / 2)
		member->cap_bytes += member->cap_step;
}

uint64_t
hy_member_room(HyExecutor *executor, HyMember *member, uint64_t now)
{
	uint64_t room = free_now(executor, member, now);
	uint64_t share = share_of_quota(executor, member);

	/* memory of resident units is not free, but this process could free it */
	if (room <= UINT64_MAX - member->resident.bytes)
		room += member->resident.bytes;
	if (share < room)
		room = share;
	room /= 2;
	return room < executor->config.resident_limit ? room : executor->config.resident_limit;
}

void
hy_member_units_changed(HyMember *member, uint64_t before)
{
	uint64_t now = member->resident.bytes;

	if (now <= before)
		member->free_bytes += before - now;
	else
		member->free_bytes -= now - before < member->free_bytes ? now - before : member->free_bytes;
}

static uint64_t
budget_now(HyExecutor *executor, HyMember *member, uint64_t now)
{
	uint64_t available = free_now(executor, member, now);
	uint64_t share = share_of_quota(executor, member);
	uint64_t cap;

	/*
	 * Resident units reduce the share by at most half.  hy_member_yield evicts the units beyond
	 * that.
	 */
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

/* free_now: return MAY_TAKE of the free memory; UINT64_MAX if the free memory is not known. */
static uint64_t
free_now(HyExecutor *executor, HyMember *member, uint64_t now)
{
	/*
	 * A query of the free memory can cost more than a task, so its result is reused for a while.
	 * With an outdated result, the task may fall back to the CPU, but its answer is still right.
	 */
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

/*
 * share_of_quota: return this context's share of the quota; UINT64_MAX if the device's memory size
 * is not known and no limit is set.
 */
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
	return quota / hy_share_contexts(&executor->share, (int32_t) (member - executor->member),
	                                 &member->place);
}
