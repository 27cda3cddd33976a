/*
 * record.c
 *		Records the calls of an executor in counters, latencies and the ring of events.
 *
 * All of these have a fixed size.  Each bucket of latencies covers a power of two, so a quantile is
 * exact to within its bucket.
 */
#include "dispatch/executor_state.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const reason_names[HY_REASON_COUNT] = {
	"user preference", "no device",     "unsupported",  "below minimum batch",
	"unreliable",      "out of memory", "not open yet", "cost",
	"exploration",     "probe",         "split"};

static const char *const flush_names[] = {"none", "size", "time", "memory", "end"};

static const char *const scan_limit_names[] = {"none", "max_scan_tuples", "memory"};

_Static_assert(sizeof(HyDecision) < 1024, "a call must cost less than 1 KB of memory");

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
	/* hy_memo_fold counts the calls in the latest `uncounted` slots, and this event takes a slot */
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
hy_count_attempt(HyCounters *counters, HyStatus status)
{
	counters->by_status[status]++;
	if (status != HY_OK)
		counters->failures++;
}

void
hy_count_fallback(HyCounters *counters, HyStatus status)
{
	counters->fallbacks++;
	counters->by_cause[status]++;
}

void
hy_count_call(HyCounters *counters, int64_t items, uint64_t ns)
{
	int bucket = 63 - __builtin_clzll(ns | 1);

	counters->calls++;
	if (__builtin_add_overflow(counters->items, items, &counters->items))
		counters->items = INT64_MAX;
	counters->total_ns += ns;
	counters->latency[bucket < HY_MAX_LATENCIES ? bucket : HY_MAX_LATENCIES - 1]++;
}

double
hy_counters_quantile(const HyCounters *counters, double q)
{
	double wanted;
	int64_t below = 0;
	int64_t calls = 0;
	int b;

	for (b = 0; b < HY_MAX_LATENCIES; b++)
		calls += counters->latency[b];
	if (calls == 0)
		return 0;
	wanted = (q < 0 ? 0 : q > 1 ? 1 : q) * (double) calls;
	for (b = 0; b < HY_MAX_LATENCIES; b++)
	{
		int64_t here = counters->latency[b];

		if (here > 0 && (double) (below + here) >= wanted)
		{
			double start = (double) (UINT64_C(1) << b);

			/* assume that the calls of a bucket are spread evenly over it */
			return start + start * (wanted - (double) below) / (double) here;
		}
		below += here;
	}
	return (double) (UINT64_C(1) << HY_MAX_LATENCIES);
}

const char *
hy_reason_name(HyReason reason)
{
	if ((int) reason < 0 || (int) reason >= HY_REASON_COUNT)
		return "unknown";
	return reason_names[reason];
}

const char *
hy_flush_name(HyFlush cause)
{
	if ((int) cause < 0 || (int) cause >= HY_FLUSH_COUNT)
		return "unknown";
	return flush_names[cause];
}

const char *
hy_scan_limit_name(HyScanLimit limit)
{
	if ((int) limit < 0 || (int) limit >= HY_SCAN_LIMIT_COUNT)
		return "unknown";
	return scan_limit_names[limit];
}

void
hy_executor_limited(HyExecutor *executor, HyScanLimit limit)
{
	executor->member[0].counters[HY_OP_DISTANCE].scan_limits[limit]++;
	/* flush this count to the table even if no later call does */
	executor->share.postponed = true;
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
