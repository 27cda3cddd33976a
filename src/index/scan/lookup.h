/*
 * lookup.h
 *		Search for the nearest rows by their codes, one batch after another.
 *
 * Some words have a fixed meaning here. The *limits* of a search say when it has found enough rows
 * (HybridLookupLimits). Its *bounds* are the numbers of rows and bytes at which it ends in any case
 * (hybrid_lookup_bound). A *lower bound* or an *upper bound* always means one of a row's distance.
 */
#ifndef HYBRID_INDEX_LOOKUP_H
#define HYBRID_INDEX_LOOKUP_H

#include "dispatch/model/decision.h"

#include "index/scan/found_rows.h"
#include "index/scan/scan_quals.h"
#include "index/page/index.h"
#include "index/tree/scorer.h"

#define HYBRID_CLEAR 16.0 /* number of dimensions below which a nearly exact result costs little */

/* HybridOutliers: the rows that a search has sampled, and the outliers of their lists among these (stopping.c). */
typedef struct HybridOutliers
{
	int rows;       /* number of sampled rows */
	int count;      /* number of outliers */
	double squares; /* sum of their squared distances from the centroids, in squared radii */
} HybridOutliers;

/* number of leaf lists that a search orders at first; it orders the others only if it needs them (frontier.c) */
#define HYBRID_LISTS_OPENED 8192

/*
 * HybridLookupLimits: how far a search goes. A search ends when it expects to miss few enough rows. For each difficulty,
 * calibration has found how many rows its test searches may expect to miss and still reach the target recall.
 */
typedef struct HybridLookupLimits
{
	/* number of rows that a search may expect to miss, per row wanted, by difficulty; negative if unknown */
	float missing[HYBRID_DIFFICULTIES];
	/* replaces `missing` if that is unknown; upper limit of `missing` if the query is outside `nearness` */
	float other;
	float target; /* share of the rows wanted that may be missed by the target recall: 1 - recall */
	/* upper limit of `missing` at the first check, in HYBRID_CLEAR dimensions or more (stopping.c) */
	float first;
	/*
	 * a search goes on while it has found more rows than this, per row wanted, in the last third of the
	 * rows scored; also the upper limit of `missing` if more than half of the k best rows are copies of
	 * one row
	 */
	float lately;
	/* upper limit of `missing` if more rows than `lately` were found in the last half of the rows scored */
	float trusted;
	float nearness[2]; /* least and greatest nearness for which `missing` was measured */
	float outliers;    /* as in HybridCurve; 0: unknown */
	float outlier_reach;
	bool known; /* the index has a curve that is not outdated */
	float eps;  /* number of standard deviations by which an estimate from a code may be wrong */
	/* number of leaf lists to examine, whatever the other limits say; 0: the other limits apply */
	int probes;
} HybridLookupLimits;

/* HybridLookupWork: work that a search has done so far. */
typedef struct HybridLookupWork
{
	int64 lists;    /* number of leaf lists examined */
	int64 rows;     /* number of rows in these lists; each row counts only once */
	int64 rescored; /* number of rows whose vectors were read */
	/* number of rows that the filter rejected; their vectors were not read */
	int64 rejected;
	/* number of rows in the lists examined that the conditions on words exclude */
	int64 excluded;
} HybridLookupWork;

typedef struct HybridLookup HybridLookup;

/*
 * hybrid_lookup_new: allocate memory for searches in this index, below the current memory context.
 * `snapshot` may be NULL. Otherwise, searches raise snapshot_too_old if rows that the snapshot sees may
 * have been removed.
 */
extern HybridLookup *hybrid_lookup_new(Relation index, const HybridIndex *open, Snapshot snapshot);

/*
 * hybrid_lookup_end: end a search, and keep its memory for the session's next one unless it is large.
 * After an error this call is not necessary, because the error frees the memory.
 */
extern void hybrid_lookup_end(HybridLookup *search);

/*
 * hybrid_lookup_query: begin a search for probe->x in the current tree, and return this tree. The search counts its
 * work in *work, from 0. The caller keeps probe and work valid.
 */
extern const HybridTree *
hybrid_lookup_query(HybridLookup *search, const HybridProbe *probe, HybridLookupWork *work);

/*
 * hybrid_lookup_limit: set how far this search goes, and order the lists by their distance. Call it before the first
 * rows are requested.
 */
extern void hybrid_lookup_limit(HybridLookup *search, const HybridLookupLimits *limits);

/* hybrid_lookup_target: call hybrid_lookup_limit with the limits for a target recall (hybrid_lookup_limits). */
extern void hybrid_lookup_target(HybridLookup *search, double recall, int probes);

/*
 * hybrid_lookup_bound: let this search end when it has rescored or rejected `rows` rows, or when its rows and lists
 * take more than `memory` bytes. The bounds are tested after each batch of k rows, and with a bounded filter also
 * within a batch. Without this call a search has no bounds.
 */
extern void hybrid_lookup_bound(HybridLookup *search, int64 rows, double memory);

/*
 * hybrid_lookup_filter: from now on, check rows by this filter before their vectors are read. No page is locked
 * while the filter runs. If `bounded` is not set, the bounds of the search apply only after k rows are found.
 */
extern void hybrid_lookup_filter(HybridLookup *search, HybridScanQuals *filter, bool bounded);

/*
 * hybrid_lookup_words: set conditions on the words of keys and included columns. The search does not find rows that
 * they exclude. Call this before hybrid_lookup_limit. The caller keeps the conditions valid.
 */
extern void hybrid_lookup_words(HybridLookup *search, const HyWordCondition *conditions, int count);

/*
 * hybrid_lookup_next: return the next batch: *count rows, sorted by distance and position. These are the
 * k nearest rows not returned yet, and all rows that may be nearer than one of these because their copies
 * are rounded. Fewer than k rows mean that the lists to examine have no more, or that a bound has ended the search. Most
 * rows are farther than those of earlier batches, but some are found late. Late rows that are nearer than `after` are
 * left out. The array belongs to the search and is valid until the next call. If a bound has ended the search, the
 * result is all rows that were found and not yet returned.
 */
extern const HybridFoundRow *
hybrid_lookup_next(HybridLookup *search, int k, double after, int *count);

/*
 * hybrid_lookup_further: continue the search for the batch of the last call, with limits that let it go
 * at least as far as before. Returns the improved batch.
 */
extern const HybridFoundRow *
hybrid_lookup_further(HybridLookup *search, const HybridLookupLimits *limits, int *count);

/*
 * hybrid_lookup_place: return when a row was found: the number of rows that the search had scored when it had scored
 * half of the row's list.
 */
extern int64 hybrid_lookup_place(const HybridLookup *search, const HybridFoundRow *row);

/*
 * hybrid_lookup_keep_pages: let the search for this query remember the list page of each row. Call this before the
 * first rows are requested.
 */
extern void hybrid_lookup_keep_pages(HybridLookup *search);

/* HybridPlace: where a search has found a row. */
typedef struct HybridPlace
{
	HybridLink root;  /* root of the tree that was searched */
	HybridLink list;  /* leaf list of the row */
	BlockNumber page; /* list page of the row's entry */
	HybridVectorPosition vector;
} HybridPlace;

/* hybrid_lookup_where: return where a search has found a row. The search must keep pages (hybrid_lookup_keep_pages). */
extern HybridPlace hybrid_lookup_where(const HybridLookup *search, const HybridFoundRow *row);

/*
 * hybrid_lookup_complete: return a lower bound of the distances of all rows that the search has found and not returned.
 * Returns -INFINITY if the search has fewer than k rows, or if it ended early (hybrid_lookup_reached).
 */
extern double hybrid_lookup_complete(const HybridLookup *search);

/*
 * hybrid_lookup_reached: return why hybrid_lookup_bound ended the search: HY_SCAN_TUPLES, HY_SCAN_MEMORY, or
 * HY_SCAN_NO_LIMIT if it did not.
 */
extern HyScanLimit hybrid_lookup_reached(const HybridLookup *search);

/*
 * hybrid_lookup_expected_recall: return the recall that the search expects for the rows of the last call.
 * This is at least the target recall if the search itself decided to stop, 1 if it has examined all
 * lists, and NaN if the recall is unknown.
 */
extern double hybrid_lookup_expected_recall(const HybridLookup *search);

/*
 * hybrid_lookup_difficulty: classify the query by the k-th best row so far: 0 is the most difficult class,
 * HYBRID_DIFFICULTIES - 1 the easiest. A query is difficult if its k-th best row is about as far from it as
 * the rows of one list are from each other. It is easy if that row is much nearer. Returns -1 if fewer than
 * k rows are known.
 */
extern int hybrid_lookup_difficulty(const HybridLookup *search);

/*
 * hybrid_lookup_nearness: return the squared distance from the query to the nearest centroids, divided by
 * the squared radius of their lists. The result is about 1 if the query is a row of the index. For inner
 * products, which have no such distance, it is the mean of -<q,c> / (|q| R), with q, c and R as in
 * frontier.c. Returns NaN if it is not known.
 */
extern float hybrid_lookup_nearness(const HybridLookup *search);

/* hybrid_lookup_outliers: return the outliers among the rows sampled so far. For inner products, no row is one. */
extern HybridOutliers hybrid_lookup_outliers(const HybridLookup *search);

/* hybrid_lookup_memory: return the number of bytes that the rows taken from lists and the rows found take. */
extern Size hybrid_lookup_memory(const HybridLookup *search);

/*
 * hybrid_lookup_memory_of_all: estimate the number of bytes that a search needs if it takes `rows` rows
 * from lists and returns `wanted` of them.
 */
extern double hybrid_lookup_memory_of_all(double rows, double wanted);

/*
 * hybrid_lookup_eps: return the number of standard deviations by which estimates from codes may be wrong,
 * at this target recall.
 */
extern float hybrid_lookup_eps(double recall);

/*
 * hybrid_curve_outdated: test whether the number of lists has doubled or halved since the curve was
 * measured. VACUUM then measures it again. The index must have a curve.
 */
extern bool hybrid_curve_outdated(const HybridTree *tree);

/*
 * hybrid_lookup_limits: set the limits for a target recall by the calibration curve of the tree. The recall is from 0.5
 * to 1, or 0 with a fixed number of lists (`probes`). The index has `dims` dimensions.
 */
extern void hybrid_lookup_limits(const HybridTree *tree, int dims, double recall, int probes,
                                 HybridLookupLimits *limits);

/*
 * hybrid_curve_rows: return the number of rows that a search scores on average at this recall. The curve
 * must have points.
 */
extern double hybrid_curve_rows(const HybridTree *tree, double recall);

/*
 * Number of candidates that the first pass of an exact scan keeps if the number of wanted rows is unknown.
 * If that number is known, this is the minimum. For searches by codes and for passes over inverted lists,
 * HYBRID_FIRST_NEAREST has the same role.
 */
#define HYBRID_FIRST_CANDIDATES 512

/*
 * hybrid_scan_candidates: return the number of candidates of pass (or batch) number `pass` of a scan, if
 * the first pass, number 0, has `first` candidates. Each pass has four times as many as the one before, while they fit
 * into mem_multiplier times work_mem. (Defined in scan_batches.c; declared here for the cost estimate.)
 */
extern int hybrid_scan_candidates(int pass, int first, double mem_multiplier);

#endif
