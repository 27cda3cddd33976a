/*
 * scan.h
 *		An index scan: scan.c has the callbacks for the executor, scan_batches.c the search by codes.
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
	/* callback of scan_context: records the work done, even after an error */
	MemoryContextCallback end;
	HybridScanDone done;
	MemoryContext context; /* memory of the query: reset by a rescan; a child of scan_context */
	MemoryContext scratch; /* memory of one dispatch */
	bool first;
	bool null_query; /* ORDER BY distance to NULL: return every row, in heap order */
	bool ordered;    /* there is an ORDER BY */
	HybridProbe query;
	const void *value; /* the query itself, if its type is not dense */
	/* from the conditions */
	double radius; /* maximum distance of the rows wanted; infinite: all rows */
	bool within;   /* there are conditions: a row whose distance is NaN meets none */
	bool nothing;  /* no row meets the conditions */
	bool recheck;  /* the executor must check the conditions */
	bool exact;    /* read every stored vector instead of the codes */
	HybridScanBatch batch;
	HybridStore store;
	HybridLookup *search;
	HybridPlanLimit asked;
	HybridScanQuals *filter;
	int filtered; /* number of passes that have used the filter */
	HyScanLimit limit_reached;
	int pass;
	int first_candidates; /* candidates of the first pass */
	HyTopK candidates;
	int next;                    /* number of candidates handed out of this pass */
	bool exhausted;              /* there are no rows beyond this pass */
	bool bounded;                /* last is set */
	HyNeighbor last;             /* last candidate handed out */
	const HybridFoundRow *finds; /* with codes, the candidates of this pass */
	double farthest;             /* upper bound of the distances of all rows handed out */
	Oid *orderby_types;
	IndexOrderByDistance *distances;
} HybridScan;

/* hybrid_scan_first_batch: return the number of candidates for the first pass. */
extern int hybrid_scan_first_batch(const HybridScan *state);

/*
 * hybrid_scan_next_batch: find the next candidates, sorted. The search by codes continues where it
 * stopped.
 */
extern void hybrid_scan_next_batch(HybridScan *state);

/* Callbacks of IndexAmRoutine. */
extern IndexScanDesc hybridbeginscan(Relation index, int keys, int orderbys);
extern void
hybridrescan(IndexScanDesc scan, ScanKey keys, int nkeys, ScanKey orderbys, int norderbys);
extern bool hybridgettuple(IndexScanDesc scan, ScanDirection direction);
extern int64 hybridgetbitmap(IndexScanDesc scan, TIDBitmap *bitmap);
extern void hybridendscan(IndexScanDesc scan);

#endif
