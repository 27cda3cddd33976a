/*
 * lookup.h
 *		Search for the nearest rows by codes, one batch after another.
 */
#ifndef HYBRID_INDEX_LOOKUP_H
#define HYBRID_INDEX_LOOKUP_H

#include "index/scan/found_rows.h"
#include "index/page/index.h"

/*
 * HybridLookupLimits: how far a search goes. Calibration sets the number of rows that a search may
 * expect to miss: as many as equally difficult searches for the index's own rows have missed.
 */
typedef struct HybridLookupLimits
{
	/* rows that a search may expect to miss, for each row wanted, by difficulty; negative: not known */
	float missing[HYBRID_DIFFICULTIES];
	float other;  /* the same for a query of unknown difficulty */
	float target; /* the same by the target recall alone */
	float eps;    /* standard deviations allowed to the estimates from codes */
	/* examine only this many leaf lists, the nearest ones; 0: until few enough rows are missing */
	int probes;
} HybridLookupLimits;

/* HybridLookupWork: work that a search has done so far. */
typedef struct HybridLookupWork
{
	int64 lists;    /* leaf lists examined */
	int64 rows;     /* rows whose codes were scored, each counted once */
	int64 rescored; /* rows whose vectors were read */
	int64 rejected; /* rows that the filter rejected, so that their vectors were not read */
} HybridLookupWork;

/*
 * HybridRowFilter: decide which rows are wanted before their vectors are read. Returns how many of the
 * rows, from the first on, it has decided on. If these are fewer than `count`, the search ends.
 */
typedef int (*HybridRowFilter)(void *arg, const int64 *positions, int count, bool *wanted);

typedef struct HybridLookup HybridLookup;

/*
 * hybrid_lookup_new: allocate memory for searches in this index, below the current memory context. With
 * a snapshot, which may be NULL, searches raise snapshot_too_old if rows that it sees may have been
 * removed.
 */
extern HybridLookup *hybrid_lookup_new(Relation index, const HybridIndex *open, Snapshot snapshot);

/*
 * hybrid_lookup_end: end a search and keep its memory for the next one. After an error, the memory is
 * freed anyway.
 */
extern void hybrid_lookup_end(HybridLookup *search);

/* hybrid_lookup_query: begin a search for probe->x in the current tree. probe stays the caller's. */
extern void hybrid_lookup_query(HybridLookup *search, const HybridProbe *probe);

/* hybrid_lookup_tree: return the tree as of hybrid_lookup_query. */
extern const HybridTree *hybrid_lookup_tree(const HybridLookup *search);

/*
 * hybrid_lookup_limit: set how far this search goes. To be called before the first rows are requested.
 */
extern void hybrid_lookup_limit(HybridLookup *search, const HybridLookupLimits *limits);

/*
 * hybrid_lookup_filter: set the filter for rows from now on; NULL: all rows are wanted. No page is
 * locked when it is called.
 */
extern void hybrid_lookup_filter(HybridLookup *search, HybridRowFilter filter, void *arg);

/*
 * hybrid_lookup_next: return the next *count rows, sorted by distance and position: the k nearest, and
 * any that may be nearer than one of these because their copies are rounded. Fewer than k rows mean that
 * there are no more. The rows come after those returned before, except rows that were found late. Such
 * rows are left out if they are nearer than `after`. The array belongs to the search and is valid until
 * the next call.
 */
extern const HybridFoundRow *
hybrid_lookup_next(HybridLookup *search, int k, double after, int *count);

/*
 * hybrid_lookup_further: continue the search for the rows of the last call, with limits that go at least
 * as far. Returns the improved result.
 */
extern const HybridFoundRow *
hybrid_lookup_further(HybridLookup *search, const HybridLookupLimits *limits, int *count);

/*
 * hybrid_lookup_rest: return all rows that were found and not returned, without searching on. *more is
 * set if there may be others.
 */
extern const HybridFoundRow *hybrid_lookup_rest(HybridLookup *search, int *count, bool *more);

/*
 * hybrid_lookup_expected_recall: return the recall that the search expects for the rows of the last
 * call. It is at least the target recall if the search ended by itself, 1 if it has examined all lists,
 * and NaN if it is not known.
 */
extern double hybrid_lookup_expected_recall(const HybridLookup *search);

/*
 * hybrid_lookup_difficulty: classify the query by its k-th row so far, from 0, the most difficult, to
 * HYBRID_INSIDE - 1. A query is difficult if that row is about as far away as the rows of one list
 * are from each other, and easy if it is much nearer. Returns HYBRID_INSIDE if the query is nearer to
 * centroids than rows are, and -1 if fewer than k rows are known.
 */
extern int hybrid_lookup_difficulty(const HybridLookup *search);

/* hybrid_lookup_work: return the work that this search has done. */
extern HybridLookupWork hybrid_lookup_work(const HybridLookup *search);

/* hybrid_lookup_memory: return the bytes that this search's rows and lists take. */
extern Size hybrid_lookup_memory(const HybridLookup *search);

/*
 * hybrid_lookup_memory_of_all: estimate the bytes for a search that scores `rows` rows and returns all
 * `wanted` ones.
 */
extern double hybrid_lookup_memory_of_all(double rows, double wanted);

/*
 * hybrid_lookup_eps: return the margin for errors of the estimates at this target recall, in standard
 * deviations.
 */
extern float hybrid_lookup_eps(double recall);

/*
 * hybrid_lookup_limits: set the limits for a target recall, 0.5 .. 1, from the calibration curve of the
 * index.
 */
extern void
hybrid_lookup_limits(const HybridTree *tree, double recall, int probes, HybridLookupLimits *limits);

/* hybrid_curve_rows: return how many rows are scored at this recall. The curve must have points. */
extern double hybrid_curve_rows(const HybridTree *tree, double recall);

/*
 * Rows of the first pass of a scan whose limit is not known. Also the minimum if it is known, unless
 * conditions are checked early.
 */
#define HYBRID_FIRST_CANDIDATES 512 /* of an exact scan */
#define HYBRID_FIRST_NEAREST 12     /* of a search by codes */
/* rows beyond those wanted, so that the executor knows that the wanted ones are in order */
#define HYBRID_BESIDE 2

/*
 * hybrid_scan_candidates: return how many rows a pass keeps if the first pass keeps `first`. Passes are
 * numbered from 0.
 */
extern int hybrid_scan_candidates(int pass, int first);

#endif
