/*
 * decision.c
 *		Names the reasons of decisions, the causes of flushes, and the limits of scans.
 */
#include "dispatch/model/decision.h"

static const char *const reason_names[HY_REASON_COUNT] = {
	"user preference", "no device",     "unsupported",  "below minimum batch",
	"unreliable",      "out of memory", "not open yet", "cost",
	"exploration",     "probe",         "split"};

static const char *const flush_names[] = {"none", "size", "time", "memory", "end"};

static const char *const scan_limit_names[] = {"none", "max_scan_tuples", "memory"};

_Static_assert(sizeof(HyDecision) < 1024, "a call must cost less than 1 KB of memory");

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
