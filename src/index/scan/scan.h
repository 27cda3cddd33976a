/*
 * scan.h
 *		An index scan. scan.c has the callbacks for the executor, and scan_batches.c has the search with
 *		codes.
 */
#ifndef HYBRID_INDEX_SCAN_H
#define HYBRID_INDEX_SCAN_H

#include "postgres.h"

#include "access/relscan.h"
#include "utils/memutils.h"

#include "core/topk.h"
#include "dispatch/run/dispatcher.h"

#include "index/scan/included_quals.h"
#include "index/scan/scan_quals.h"
#include "index/scan/last_scan.h"
#include "index/scan/index_only.h"
#include "index/scan/plan_limit.h"
#include "index/scan/lookup.h"
#include "index/scan/settings.h"
#include "index/scan/true_order.h"
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
	HybridScanSettings settings;
	MemoryContext scan_context;
	/* callback of scan_context that records the work done, also after an error */
	MemoryContextCallback end;
	HybridScanDone done;
	MemoryContext context; /* memory of the query, a child of scan_context; a rescan resets it */
	MemoryContext scratch; /* memory of one dispatch */
	bool first;
	bool null_query; /* the query is NULL: return every row, in heap order */
	bool ordered;    /* there is an ORDER BY */
	HybridProbe query;
	const void *value; /* the query as a value, for exact distances, if its type is not dense */
	/* fields set from the conditions */
	double radius; /* maximum distance of the rows wanted; infinite if all rows are wanted */
	bool within;   /* there are conditions; a row whose distance is NaN satisfies none */
	bool nothing;  /* no row can satisfy the conditions */
	bool recheck;  /* the executor must check the conditions */
	bool exact;    /* read every stored vector instead of the codes */
	HybridScanBatch batch;
	HybridStore store;
	HybridLookup *search;
	HybridPlanLimit asked;
	HybridIncludedQuals *included; /* conditions that words judge; NULL if there are none */
	bool planned;                  /* `included` is set */
	int64 counted;                 /* excluded rows of this query that EXPLAIN counts already */
	HybridScanQuals *filter;
	int filtered; /* number of passes that have used the filter */
	HyScanLimit limit_reached;
	int pass;
	int first_candidates; /* number of candidates of the first pass */
	HyTopK candidates;
	int next;                    /* number of candidates of this pass that were returned */
	bool exhausted;              /* no rows follow this pass */
	bool bounded;                /* `last` is set */
	HyNeighbor last;             /* last candidate that was returned */
	const HybridFoundRow *found; /* candidates of this pass, in a scan with codes */
	double farthest;             /* upper bound of the distances of all rows returned */
	double complete; /* rows of later batches are not nearer than this; -INFINITY if unknown */
	bool reorders;   /* rows are ordered by values from the table */
	HybridTrueOrder *order;    /* rows found and not returned yet; NULL until they are needed */
	const HyNeighbor *waiting; /* next row for `order`; NULL until it is known */
	bool waiting_in_place;     /* the bounds prove that it comes before all later ones */
	struct HybridPostingsPass *postings; /* state of passes over sparse vectors; else NULL */
	struct HybridDocuments *documents;   /* the search of an index on arrays; else NULL */
	HybridIndexOnly *only;               /* forms the rows of an index-only scan; else NULL */
	Oid *orderby_types;
	IndexOrderByDistance *distances;
} HybridScan;

/* hybrid_scan_batch_rows: return the number of candidates that the next pass finds. */
extern int hybrid_scan_batch_rows(HybridScan *state);

/*
 * hybrid_scan_next_batch: find the next candidates, sorted. The search with codes continues where
 * it stopped.
 */
extern void hybrid_scan_next_batch(HybridScan *state);

/* hybrid_scan_offer: offer a row as a candidate of an exact pass. Those up to state->last were returned before. */
extern void hybrid_scan_offer(HybridScan *state, double distance, int64 position);

/* hybrid_scan_score_batch: push the rows of the batch as candidates, and empty the batch. */
extern void hybrid_scan_score_batch(IndexScanDesc scan);

/* hybrid_scan_excluded: record the number of rows that words have excluded in this query so far. */
extern void hybrid_scan_excluded(HybridScan *state, int64 excluded);

/* hybrid_scan_ended: record the bound that has ended a scan, if one has, and warn if the plan reads all rows. */
extern void hybrid_scan_ended(IndexScanDesc scan);

/* Callbacks of IndexAmRoutine. */
extern IndexScanDesc hybridbeginscan(Relation index, int keys, int orderbys);
extern void
hybridrescan(IndexScanDesc scan, ScanKey keys, int nkeys, ScanKey orderbys, int norderbys);
extern bool hybridgettuple(IndexScanDesc scan, ScanDirection direction);
extern int64 hybridgetbitmap(IndexScanDesc scan, TIDBitmap *bitmap);
extern void hybridendscan(IndexScanDesc scan);

#endif
