/*
 * last_scan.h
 *		Records the work of the session's last index scan.
 */
#ifndef HYBRID_INDEX_LAST_SCAN_H
#define HYBRID_INDEX_LAST_SCAN_H

#include "postgres.h"

#include "index/scan/lookup.h"

/* HybridScanDone: work that one scan has done so far. */
typedef struct HybridScanDone
{
	Oid index;     /* index that is scanned; InvalidOid if the scan has not begun */
	double target; /* target recall; 1 if all stored vectors are read */
	int probes;    /* value of hybrid.probes; 0 if all stored vectors are read */
	/* number of passes or batches: one, plus one each time the rows found were not enough; 1 without ORDER BY */
	int64 rounds;
	int64 returned; /* number of rows returned to the executor */
	/* recall expected for the last round, from hybrid_lookup_expected_recall; NaN if unknown */
	double expected;
	HybridLookupWork work; /* work of all rounds */
} HybridScanDone;

/* hybrid_scan_scored: return the number of rows of the examined lists, without those that conditions excluded. */
static inline int64
hybrid_scan_scored(const HybridScanDone *done)
{
	return Max(done->work.rows - done->work.excluded, 0);
}

/* HybridLastScan: the scan that ended last. */
typedef struct HybridLastScan
{
	uint64 number; /* number of scans that this session has ended, including this one */
	HybridScanDone done;
} HybridLastScan;

/*
 * hybrid_last_scan_end: if a scan has begun, record its work as that of the last scan. The argument is the
 * scan's HybridScanDone, which is then cleared. The function has the type MemoryContextCallbackFunction,
 * because an error ends a scan by deleting its memory.
 */
extern void hybrid_last_scan_end(void *done);

/* hybrid_last_scan_get: return the last scan. Its number is 0 if no scan has ended. */
extern const HybridLastScan *hybrid_last_scan_get(void);

#endif
