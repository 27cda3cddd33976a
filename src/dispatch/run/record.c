/*
 * record.c
 *		Keeps the latest calls of an executor in a ring of events.
 */
#include "dispatch/run/record.h"

#include "dispatch/route/memo.h"

HyDecision *
hy_event_slot(HyExecutor *executor)
{
	return &executor->event[executor->next_event];
}

void
hy_event_keep(HyExecutor *executor)
{
	executor->briefs[executor->next_event].memo = HY_BRIEF_FULL;
	hy_event_step(executor);
	/* hy_memo_fold reads the latest `uncounted` slots, and this event is now one of them */
	if (executor->uncounted > 0)
		executor->uncounted++;
}

int32_t
hy_executor_events(const HyExecutor *executor)
{
	return executor->events;
}

const HyDecision *
hy_executor_event(const HyExecutor *executor, int32_t i)
{
	/* A brief is expanded to a full event in the same slot.  The caller sees no change. */
	HyExecutor *owner = (HyExecutor *) executor;
	int32_t slot = executor->next_event - executor->events + i;

	if (i < 0 || i >= executor->events)
		return NULL;
	slot = (slot + HY_EVENT_SLOTS) % HY_EVENT_SLOTS;
	if (executor->briefs[slot].memo != HY_BRIEF_FULL)
	{
		hy_memo_fold(owner, false);
		hy_brief_expand(owner, &owner->briefs[slot], &owner->event[slot]);
		owner->briefs[slot].memo = HY_BRIEF_FULL;
	}
	return &executor->event[slot];
}

void
hy_executor_limited(HyExecutor *executor, HyScanLimit limit)
{
	executor->member[0].counters[HY_OP_DISTANCE].scan_limits[limit]++;
	/* make sure that this count is flushed to the table, even if no call follows */
	executor->share.postponed = true;
}
