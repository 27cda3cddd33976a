/*
 * budget.c
 *		How much of a device's memory a task may take.
 *
 * The least of: 80% of what is free, hybrid.gpu_memory_limit, and a cap that a failure for want of
 * memory left behind: half of what did not fit, raised by an eighth of that with each task near it
 * that fits and with each second, gone when it no longer binds.  (Additive increase, multiplicative decrease: V. Jacobson,
 * "Congestion avoidance and control", 1988.)
 */
#include "dispatch/executor_state.h"

#define FREE_SHARE 0.8
#define FREE_STALE_NS UINT64_C(100000000)
#define CAP_STEPS 8
#define CAP_STEP_NS UINT64_C(1000000000)

uint64_t
hy_member_budget(HyExecutor *executor, HyMember *member, uint64_t now)
{
	uint64_t available = UINT64_MAX;
	uint64_t total;
	uint64_t cap;

	/* Asking can cost more than a task, and a wrong guess costs a fallback, no answer. */
	if (member->device != NULL &&
	    (!member->free_known || now - member->free_at_ns >= FREE_STALE_NS) &&
	    !hy_executor_foreign(executor))
	{
		member->free_known =
			member->backend->mem_info(member->device, &member->free_bytes, &total) == HY_OK;
		member->free_at_ns = now;
	}
	if (member->device != NULL && member->free_known)
		available = (uint64_t) (FREE_SHARE * (double) member->free_bytes);
	else if (member->info.memory_free > 0)
		available = (uint64_t) (FREE_SHARE * (double) member->info.memory_free);
	if (executor->config.memory_limit > 0 && executor->config.memory_limit < available)
		available = executor->config.memory_limit;
	if (member->cap_bytes == 0)
		return available;
	cap = member->cap_bytes + (now - member->cap_since_ns) / CAP_STEP_NS * member->cap_step;
	if (cap < available)
		return cap;
	member->cap_bytes = 0;
	return available;
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
