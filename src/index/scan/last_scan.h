/*
 * last_scan.h
 *		What the session's last index scan did.
 */
#ifndef HYBRID_INDEX_LAST_SCAN_H
#define HYBRID_INDEX_LAST_SCAN_H

#include "postgres.h"

#include "index/scan/lookup.h"

/* HybridScanDone: what one scan has done so far. */
typedef struct HybridScanDone
{
	Oid index;             /* InvalidOid: it has not begun */
	double target;         /* recall asked for; 1 where all stored vectors are read */
	int probes;            /* hybrid.probes, 0 where all stored vectors are read */
	int64 rounds;          /* searches: the first, and one more whenever its rows were not enough */
	int64 returned;        /* rows handed to the executor */
	double expected;       /* recall of the last round, as hybrid_lookup_expected_recall */
	HybridLookupWork work; /* of all rounds */
} HybridScanDone;

/* HybridLastScan: the scan that ended last. */
typedef struct HybridLastScan
{
	uint64 number; /* scans that have ended in this session, this one included */
	HybridScanDone done;
} HybridLastScan;

/*
 * hybrid_last_scan_end: Note that a scan has ended, unless it has not begun. The argument is its
 * HybridScanDone, which is cleared. It serves as a MemoryContextCallbackFunction, because an error ends a scan
 * by deleting its memory.
 */
extern void hybrid_last_scan_end(void *done);

/* hybrid_last_scan_get: number 0: no scan has ended. */
extern const HybridLastScan *hybrid_last_scan_get(void);

#endif
