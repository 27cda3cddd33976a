/*
 * scan.h
 *		An index scan. scan.c has the callbacks for the executor, and scan_batches.c runs the search with
 *		codes.
 *
 * A *pass* finds the next candidates of a scan. A pass of an exact scan reads the whole store, or all documents. In a
 * scan with codes, each pass is a *batch*: the search continues where it stopped. hybrid_last_scan() reports the number
 * of passes as *rounds*. (A HybridScanBatch is something else: rows that an exact pass has read and scores together.)
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

/* HybridScanBatch: live rows copied from the index, whose distances are computed together. */
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
	bool first;            /* no row of the current query was requested yet */
	bool null_query;       /* the query is NULL or an empty array: return all, in heap order */
	bool ordered;          /* there is an ORDER BY */
	HybridProbe query;
	const void *value; /* the query as a value, for exact distances, if its type is not dense */
	/* fields set from the conditions */
	double radius; /* maximum distance of the rows wanted; infinite if all rows are wanted */
	bool within;   /* there are spheres; a row whose distance is NaN is in none of them */
	bool nothing;  /* no row can satisfy the conditions */
	bool recheck;  /* the executor must check the conditions */
	bool exact;    /* read every stored vector instead of the codes */
	HybridScanBatch batch;
	HybridStore store;
	HybridLookup *search;
	HybridPlanLimit asked;         /* what the plan requests from the scan */
	HybridIncludedQuals *included; /* conditions that words judge; NULL if there are none */
	bool planned;                  /* `included` is set */
	int64 counted;                 /* number of excluded rows that EXPLAIN has counted so far */
	HybridScanQuals *filter;
	int filtered;              /* number of passes that have used the filter */
	HyScanLimit limit_reached; /* see hybrid_lookup_reached */
	int pass;                  /* number of passes so far */
	int first_candidates;      /* number of candidates of the first pass */
	HyTopK candidates;
	int next;                    /* number of candidates of this pass that were taken */
	bool exhausted;              /* no rows follow this pass */
	bool bounded;                /* `last` is set: later candidates must come after it */
	HyNeighbor last;             /* last candidate that was taken */
	const HybridFoundRow *found; /* candidates of this pass, in a scan with codes */
	double farthest;             /* upper bound of the distances of all candidates taken */
	double complete; /* rows of later batches are not nearer than this; -INFINITY if unknown */
	bool reorders;   /* rows are ordered by values from the table */
	HybridTrueOrder *order;    /* queue of rows found and not returned yet; NULL until needed */
	const HyNeighbor *waiting; /* candidate taken and not returned or in `order` yet, or NULL */
	bool waiting_in_place;     /* return this candidate next, without its value from the table */
	struct HybridPostingsPass *postings; /* state of passes over sparse vectors; else NULL */
	struct HybridDocuments *documents;   /* the search of an index on arrays; else NULL */
	HybridIndexOnly *only;               /* forms the rows of an index-only scan; else NULL */
	Oid *orderby_types;
	IndexOrderByDistance *distances;
} HybridScan;

/* hybrid_scan_batch_rows: return the number of candidates that the next pass finds. */
extern int hybrid_scan_batch_rows(HybridScan *state);

/*
 * hybrid_scan_next_batch: set state->candidates to the next batch, sorted. The search with codes continues where
 * it stopped.
 */
extern void hybrid_scan_next_batch(HybridScan *state);

/* hybrid_scan_offer: offer a row as a candidate of an exact pass. Rows up to state->last are ignored as returned. */
extern void hybrid_scan_offer(HybridScan *state, double distance, int64 position);

/* hybrid_scan_score_batch: compute the distances of the rows of state->batch, offer the rows, and empty the batch. */
extern void hybrid_scan_score_batch(IndexScanDesc scan);

/* hybrid_scan_excluded: record the number of rows that conditions on words have excluded in this query so far. */
extern void hybrid_scan_excluded(HybridScan *state, int64 excluded);

/*
 * hybrid_scan_ended: if a bound on rows or memory has ended the scan, record this, and warn the user if the plan should
 * have read all rows.
 */
extern void hybrid_scan_ended(IndexScanDesc scan);

/* Callbacks of IndexAmRoutine. */
extern IndexScanDesc hybridbeginscan(Relation index, int keys, int orderbys);
extern void
hybridrescan(IndexScanDesc scan, ScanKey keys, int nkeys, ScanKey orderbys, int norderbys);
extern bool hybridgettuple(IndexScanDesc scan, ScanDirection direction);
extern int64 hybridgetbitmap(IndexScanDesc scan, TIDBitmap *bitmap);
extern void hybridendscan(IndexScanDesc scan);

#endif
