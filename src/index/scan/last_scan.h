/*
 * last_scan.h
 *		What the session's last index scan did.
 */
#ifndef HYBRID_INDEX_LAST_SCAN_H
#define HYBRID_INDEX_LAST_SCAN_H

#include "postgres.h"

#include "index/scan/lookup.h"

/* HybridScanDone: work that one scan has done so far. */
typedef struct HybridScanDone
{
	Oid index;      /* InvalidOid: the scan has not begun */
	double target;  /* target recall; 1 if all stored vectors are read */
	int probes;     /* hybrid.probes; 0 if all stored vectors are read */
	int64 rounds;   /* searches: the first, and one more whenever its rows were not enough */
	int64 returned; /* rows handed to the executor */
	/* recall expected for the last round, as from hybrid_lookup_expected_recall */
	double expected;
	HybridLookupWork work; /* work of all rounds */
} HybridScanDone;

/* HybridLastScan: the scan that ended last. */
typedef struct HybridLastScan
{
	uint64 number; /* number of scans that have ended in this session, including this one */
	HybridScanDone done;
} HybridLastScan;

/*
 * hybrid_last_scan_end: record that a scan has ended, unless it has not begun. The argument is its
 * HybridScanDone, which is cleared. The function serves as a MemoryContextCallbackFunction, because an
 * error ends a scan by deleting its memory.
 */
extern void hybrid_last_scan_end(void *done);

/* hybrid_last_scan_get: return the last scan. Its `number` is 0 if no scan has ended. */
extern const HybridLastScan *hybrid_last_scan_get(void);

#endif
