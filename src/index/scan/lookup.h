/*
 * lookup.h
 *		Search for the nearest rows by their codes, one batch after another.
 */
#ifndef HYBRID_INDEX_LOOKUP_H
#define HYBRID_INDEX_LOOKUP_H

#include "dispatch/model/decision.h"

#include "index/scan/found_rows.h"
#include "index/scan/scan_quals.h"
#include "index/page/index.h"
#include "index/tree/scorer.h"

#define HYBRID_CLEAR 16.0 /* number of dimensions below which a nearly exact result costs little */

/* HybridOutliers: outliers of their lists among the rows that a search has sampled. */
typedef struct HybridOutliers
{
	int rows; /* sampled rows */
	int count;
	double squares; /* sum of their squared distances from the centroids, in squared radii */
} HybridOutliers;

/* number of leaf lists that a search orders at first, if there are more (frontier.c) */
#define HYBRID_LISTS_OPENED 8192

/*
 * HybridLookupLimits: how far a search goes. Calibration sets the number of rows that a search may expect
 * to miss. It is the number that equally difficult searches for rows of the index have missed.
 */
typedef struct HybridLookupLimits
{
	/* rows that a search may expect to miss, per row wanted, by difficulty; negative if unknown */
	float missing[HYBRID_DIFFICULTIES];
	float other; /* the same for a query of unknown difficulty, or outside this range of nearness */
	float target; /* the same by the target recall alone */
	/* upper limit of `missing` before a search has compared its estimate with what it found */
	float first;
	/*
	 * upper limit of the rows, per row wanted, that were found in the last third of the rows scored; also
	 * the upper limit of `missing` if more than half of the k best rows are copies of one row
	 */
	float lately;
	/* upper limit of `missing` if more rows than `lately` were found in the last half of those scored */
	float trusted;
	float nearness[2];
	float outliers; /* as in HybridCurve; 0: unknown */
	float outlier_reach;
	bool known; /* the index has a curve that is not outdated */
	float eps;  /* standard deviations allowed to the estimates from codes */
	/* examine only this many leaf lists, the nearest ones; 0: until few enough rows are missing */
	int probes;
} HybridLookupLimits;

/* HybridLookupWork: work that a search has done so far. */
typedef struct HybridLookupWork
{
	int64 lists;    /* number of leaf lists examined */
	int64 rows;     /* number of rows of these lists; each row counts once */
	int64 rescored; /* number of rows whose vectors were read */
	/* number of rows that the filter rejected, so that their vectors were not read */
	int64 rejected;
	/* number of rows in these lists that the conditions on words exclude */
	int64 excluded;
} HybridLookupWork;

typedef struct HybridLookup HybridLookup;

/*
 * hybrid_lookup_new: allocate memory for searches in this index, below the current memory context.
 * snapshot may be NULL. If it is not, searches raise snapshot_too_old if rows that the snapshot sees may
 * have been removed.
 */
extern HybridLookup *hybrid_lookup_new(Relation index, const HybridIndex *open, Snapshot snapshot);

/*
 * hybrid_lookup_end: end a search, and keep its memory for the next one. It need not be called after an
 * error, which frees the memory in any case.
 */
extern void hybrid_lookup_end(HybridLookup *search);

/*
 * hybrid_lookup_query: begin a search for probe->x in the current tree, which is returned. The search adds up its
 * work in *work. The caller keeps probe and work valid.
 */
extern const HybridTree *
hybrid_lookup_query(HybridLookup *search, const HybridProbe *probe, HybridLookupWork *work);

/* hybrid_lookup_limit: set how far this search goes. Call it before the first rows are requested. */
extern void hybrid_lookup_limit(HybridLookup *search, const HybridLookupLimits *limits);

/* hybrid_lookup_target: set how far this search goes from a target recall: see hybrid_lookup_limits. */
extern void hybrid_lookup_target(HybridLookup *search, double recall, int probes);

/*
 * hybrid_lookup_bound: let this search end when it has rescored or rejected this number of rows, or when its rows
 * and lists take more than this number of bytes. Without this call it has no bounds.
 */
extern void hybrid_lookup_bound(HybridLookup *search, int64 rows, double memory);

/*
 * hybrid_lookup_filter: check rows by this filter from now on, before their vectors are read. No page is locked
 * while the filter runs. If `bounded` is not set, the bounds of the search apply only after k rows are found.
 */
extern void hybrid_lookup_filter(HybridLookup *search, HybridScanQuals *filter, bool bounded);

/*
 * hybrid_lookup_words: set conditions on the words of included columns. Call it before the first rows are
 * requested. The caller keeps the conditions valid. Rows that they exclude are not found.
 */
extern void hybrid_lookup_words(HybridLookup *search, const HyWordCondition *conditions, int count);

/*
 * hybrid_lookup_next: return the next *count rows, sorted by distance and position. These are the k
 * nearest rows, and any rows that may be nearer than one of these because their copies are rounded. Fewer
 * than k rows mean that there are no more. The rows come after the rows returned before, with the
 * exception of rows that were found late. Late rows that are nearer than `after` are left out. The array
 * belongs to the search and is valid until the next call. If the search has reached one of its bounds, the result
 * is all rows that were found and not yet returned.
 */
extern const HybridFoundRow *
hybrid_lookup_next(HybridLookup *search, int k, double after, int *count);

/*
 * hybrid_lookup_further: continue the search for the rows of the last call. The limits must go at least
 * as far as before. Returns the improved result.
 */
extern const HybridFoundRow *
hybrid_lookup_further(HybridLookup *search, const HybridLookupLimits *limits, int *count);

/*
 * hybrid_lookup_place: return the number of rows that the search had scored when it had scored half of the list of a row
 * that it has found.
 */
extern int64 hybrid_lookup_place(const HybridLookup *search, const HybridFoundRow *row);

/*
 * hybrid_lookup_keep_pages: let the search of this query remember where it has found its rows. Call it before the first
 * rows are requested.
 */
extern void hybrid_lookup_keep_pages(HybridLookup *search);

/* HybridPlace: where a search has found a row. */
typedef struct HybridPlace
{
	HybridLink root; /* of the tree that it has searched */
	HybridLink list;
	BlockNumber page; /* list page of the row's entry */
	HybridVectorPosition vector;
} HybridPlace;

/* hybrid_lookup_where: return where a search that keeps pages has found a row. */
extern HybridPlace hybrid_lookup_where(const HybridLookup *search, const HybridFoundRow *row);

/*
 * hybrid_lookup_complete: return a distance such that all rows that the search has found and not returned are at that
 * distance or farther. Returns -INFINITY if the search has fewer than k rows or has reached a bound.
 */
extern double hybrid_lookup_complete(const HybridLookup *search);

/* hybrid_lookup_reached: return the bound that ended the search, or HY_SCAN_NO_LIMIT. */
extern HyScanLimit hybrid_lookup_reached(const HybridLookup *search);

/*
 * hybrid_lookup_expected_recall: return the recall that the search expects for the rows of the last call.
 * It is at least the target recall if the search itself decided to stop, 1 if all lists were examined,
 * and NaN if it is unknown.
 */
extern double hybrid_lookup_expected_recall(const HybridLookup *search);

/*
 * hybrid_lookup_difficulty: classify the query by the k-th best row so far, from 0, the most difficult,
 * to HYBRID_DIFFICULTIES - 1. A query is difficult if its k-th best row is about as far from it as the rows
 * of one list are from each other. It is easy if that row is much nearer. Returns -1 if fewer than k rows
 * are known.
 */
extern int hybrid_lookup_difficulty(const HybridLookup *search);

/*
 * hybrid_lookup_nearness: return the squared distance from the query to the nearest centroids, divided by
 * the squared radius of their lists. It is about 1 for a row of the index. For inner products, which have
 * no such distance, it is the mean of -<q,c> / (|q| R). Returns NaN if this is not known.
 */
extern float hybrid_lookup_nearness(const HybridLookup *search);

/* hybrid_lookup_outliers: return the outliers among the rows sampled so far. There are none for inner products. */
extern HybridOutliers hybrid_lookup_outliers(const HybridLookup *search);

/* hybrid_lookup_memory: return the bytes that the rows scored and found take. */
extern Size hybrid_lookup_memory(const HybridLookup *search);

/*
 * hybrid_lookup_memory_of_all: estimate the bytes that a search needs if it scores `rows` rows and
 * returns `wanted` of them.
 */
extern double hybrid_lookup_memory_of_all(double rows, double wanted);

/*
 * hybrid_lookup_eps: return the number of standard deviations to allow for the estimates at this target
 * recall.
 */
extern float hybrid_lookup_eps(double recall);

/*
 * hybrid_curve_outdated: test whether the number of lists has doubled or halved since the curve was
 * measured. VACUUM then measures it again. The index must have a curve.
 */
extern bool hybrid_curve_outdated(const HybridTree *tree);

/*
 * hybrid_lookup_limits: set the limits for a target recall from 0.5 to 1, using the calibration curve of
 * the index, which has this number of dimensions.
 */
extern void hybrid_lookup_limits(const HybridTree *tree, int dims, double recall, int probes,
                                 HybridLookupLimits *limits);

/*
 * hybrid_curve_rows: return the number of rows that a search scores at this recall. The curve must have
 * points.
 */
extern double hybrid_curve_rows(const HybridTree *tree, double recall);

/*
 * Number of rows of the first pass of a scan whose limit is unknown. If the limit is known, this is the
 * minimum, unless conditions are checked early. That of a search by codes is HYBRID_FIRST_NEAREST.
 */
#define HYBRID_FIRST_CANDIDATES 512 /* for an exact scan */

/*
 * hybrid_scan_candidates: return the number of rows that pass number `pass` keeps, if the first pass,
 * number 0, keeps `first` rows. They fit into mem_multiplier times work_mem.
 */
extern int hybrid_scan_candidates(int pass, int first, double mem_multiplier);

#endif
