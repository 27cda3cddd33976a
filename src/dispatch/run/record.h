/*
 * record.h
 *		Declares the ring of events, which has the latest calls of an executor.
 */
#ifndef HY_RECORD_H
#define HY_RECORD_H

#include "dispatch/model/decision.h"
#include "dispatch/route/config.h"

/*
 * hy_event_slot: return the slot for the next event.
 * hy_event_keep: keep the event that was written into that slot.  If the ring is full, the oldest
 * event is dropped.
 */
extern HyDecision *hy_event_slot(HyExecutor *executor);
extern void hy_event_keep(HyExecutor *executor);

/*
 * hy_executor_events: return the number of events, at most HY_EVENT_RING.
 * hy_executor_event: return event i, counted from the oldest (0); NULL if there is none.
 */
extern int32_t hy_executor_events(const HyExecutor *executor);
extern const HyDecision *hy_executor_event(const HyExecutor *executor, int32_t i);

/* hy_executor_limited: count an index scan that this limit ended. */
extern void hy_executor_limited(HyExecutor *executor, HyScanLimit limit);

#endif
