/*
 * counters.h
 *		Counts the tasks and the resident units of a device.
 *
 * All counts have a fixed size.  Each bucket of the latency histogram covers the range from one
 * power of two to the next, so a quantile is exact to within its bucket.
 */
#ifndef HY_COUNTERS_H
#define HY_COUNTERS_H

#include "dispatch/model/decision.h"

#define HY_MAX_LATENCIES 40 /* histogram: bucket b counts latencies in [2^b, 2^(b+1)) ns */

/*
 * HyCounters: counts per device and operation since the executor began or was reset.  All fields
 * are 64-bit sums, so the counters of several processes are added word by word.
 */
typedef struct HyCounters
{
	/*
	 * tasks that this device finished; a task in pieces on several devices counts only for the
	 * device that was chosen first, or for the CPU if the CPU redid failed work
	 */
	int64_t calls;
	/*
	 * pieces that this device finished; a task is cut into pieces if several devices share it, or if
	 * it is too large for one
	 */
	int64_t pieces;
	int64_t items;
	int64_t failures;                   /* failed attempts on this device */
	int64_t by_status[HY_STATUS_COUNT]; /* all attempts by status, with HY_OK for a success */
	int64_t fallbacks; /* tasks that failed on this device and then ran on the CPU */
	int64_t by_cause[HY_STATUS_COUNT];  /* the same tasks by the status of the failed attempt */
	int64_t by_reason[HY_REASON_COUNT]; /* number of tasks sent to this device for each reason */
	uint64_t total_ns;
	uint64_t bytes_up;
	uint64_t bytes_down;
	int64_t latency[HY_MAX_LATENCIES];
	/* batches by the cause of their flush; only in the CPU's counters */
	int64_t flushes[HY_FLUSH_COUNT];
	int64_t
		/* scans ended by a limit; only in the CPU's counters for distances */
		scan_limits[HY_SCAN_LIMIT_COUNT];
} HyCounters;

/*
 * HyResidencyCounts: counts of the resident units of one device (rows or graphs that stay on it),
 * and of the requests for units.  Outlives the cache of units.
 */
typedef struct HyResidencyCounts
{
	int64_t hits;      /* requests that found the unit */
	int64_t misses;    /* requests that did not find the unit */
	int64_t sent;      /* units sent to the device */
	int64_t evictions; /* units evicted to free memory for other units or for tasks */
	int64_t stale;     /* units dropped because their rows have changed */
	int64_t refused;   /* units that the device did not accept */
	int64_t units;     /* units on the device now, complete or being sent */
	uint64_t bytes;    /* bytes of these units */
} HyResidencyCounts;

/* hy_count_attempt: count an attempt that ended with status. */
extern void hy_count_attempt(HyCounters *counters, HyStatus status);

/*
 * hy_count_fallback: count a task that fell back to the CPU after its last attempt on this device
 * ended with status.
 */
extern void hy_count_fallback(HyCounters *counters, HyStatus status);

/* hy_count_call: count a task of this many items that took ns. */
extern void hy_count_call(HyCounters *counters, int64_t items, uint64_t ns);

/*
 * hy_counters_quantile: return the latency in ns below which a share q of the calls lies, or 0 if
 * there are no calls.
 */
extern double hy_counters_quantile(const HyCounters *counters, double q);

#endif
