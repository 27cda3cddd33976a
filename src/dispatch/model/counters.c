/*
 * counters.c
 *		Counts tasks and their latencies: see counters.h.
 */
#include "dispatch/model/counters.h"

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
