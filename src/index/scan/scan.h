/*
 * scan.h
 *		An index scan, in two files: scan.c is what the executor calls, scan_batches.c the way by codes.
 */
#ifndef HYBRID_INDEX_SCAN_H
#define HYBRID_INDEX_SCAN_H

#include "postgres.h"

#include "access/relscan.h"
#include "utils/memutils.h"

#include "core/topk.h"
#include "dispatch/dispatcher.h"

#include "index/scan/scan_quals.h"
#include "index/scan/last_scan.h"
#include "index/scan/plan_limit.h"
#include "index/scan/lookup.h"
#include "index/tree/read.h"

/* HybridScanBatch: live rows copied from the index. */
typedef struct HybridScanBatch
{
	int rows;
	int capacity;
	HybridStoreRows store;
	double *distances;
} HybridScanBatch;

typedef struct HybridScan
{
	HybridIndex index;
	MemoryContext scan_context;
	MemoryContextCallback end; /* of scan_context: notes what was done, after an error, too */
	HybridScanDone done;
	MemoryContext context; /* of the query: reset at rescan; a child of that of the scan */
	MemoryContext scratch; /* of one dispatch */
	bool first;
	bool null_query; /* ORDER BY distance to NULL: every row, in heap order */
	bool ordered;    /* there is an ORDER BY */
	HybridProbe query;
	const void *value; /* the query itself, of a type that is not dense */
	/* of the conditions */
	double radius; /* rows farther from the query than this are not wanted; infinite: all are */
	bool within;   /* there are conditions: a row whose distance is NaN meets none */
	bool nothing;  /* no row meets them */
	bool recheck;  /* the executor is to check them */
	bool exact;    /* every stored vector is looked at, not the codes */
	HybridScanBatch batch;
	HybridStore store;
	HybridLookup *search;
	HybridPlanLimit asked;
	HybridScanQuals *filter;
	int filtered; /* passes that have asked it */
	HyScanLimit limit_reached;
	int pass;
	int first_candidates; /* of the first pass */
	HyTopK candidates;
	int next;                    /* candidates handed out of this pass */
	bool exhausted;              /* nothing lies beyond this pass */
	bool bounded;                /* last is set */
	HyNeighbor last;             /* last candidate handed out */
	const HybridFoundRow *finds; /* by codes: the candidates of this pass */
	double farthest;             /* upper bound of the distances of all that were handed out */
	Oid *orderby_types;
	IndexOrderByDistance *distances;
} HybridScan;

/* hybrid_scan_first_lot: how many candidates the first pass is to have. */
extern int hybrid_scan_first_lot(const HybridScan *state);

/* hybrid_scan_next_lot: the next candidates, sorted: the search by codes goes on where it stopped. */
extern void hybrid_scan_next_lot(HybridScan *state);

/* Callbacks of IndexAmRoutine. */
extern IndexScanDesc hybridbeginscan(Relation index, int keys, int orderbys);
extern void
hybridrescan(IndexScanDesc scan, ScanKey keys, int nkeys, ScanKey orderbys, int norderbys);
extern bool hybridgettuple(IndexScanDesc scan, ScanDirection direction);
extern int64 hybridgetbitmap(IndexScanDesc scan, TIDBitmap *bitmap);
extern void hybridendscan(IndexScanDesc scan);

#endif
