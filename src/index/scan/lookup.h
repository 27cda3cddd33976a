/*
 * lookup.h
 *		The nearest rows by codes, one lot after another.
 */
#ifndef HYBRID_INDEX_LOOKUP_H
#define HYBRID_INDEX_LOOKUP_H

#include "index/scan/found_rows.h"
#include "index/page/index.h"

/*
 * HybridLookupLimits: how far a search goes.  What it is expected to miss, by itself, is set right by what searches for
 * rows of the index that were as difficult have missed.
 */
typedef struct HybridLookupLimits
{
	float missing
		[HYBRID_DIFFICULTIES]; /* rows that it is expected to miss, at most, for each that is wanted */
	float other;               /* the same for a query of whose difficulty nothing is known */
	float eps;                 /* deviations allowed to the estimates of codes */
	int probes; /* leaf lists, the nearest ones, whatever is missing; 0: as many as it takes */
} HybridLookupLimits;

/* HybridLookupWork: what a search has done so far. */
typedef struct HybridLookupWork
{
	int64 lists;    /* leaf lists looked into */
	int64 rows;     /* whose codes were scored, each once */
	int64 rescored; /* whose vectors were read */
	int64 rejected; /* whose vectors were not, since nobody wants them */
} HybridLookupWork;

/*
 * HybridRowFilter: says of rows, whose vectors are about to be read, whether they are wanted.  Returns how
 * many it has looked at, the first ones; fewer than there are: it has had enough, and the search ends.
 */
typedef int (*HybridRowFilter)(void *arg, const int64 *positions, int count, bool *wanted);

typedef struct HybridLookup HybridLookup;

/*
 * hybrid_lookup_new: memory for searches in this index, below the current memory context.  With snapshot,
 * which may be NULL, they raise snapshot_too_old where rows that it sees may have gone.
 */
extern HybridLookup *hybrid_lookup_new(Relation index, const HybridIndex *open, Snapshot snapshot);

/* hybrid_lookup_end: its memory is kept for the next one; after an error it has gone by itself. */
extern void hybrid_lookup_end(HybridLookup *search);

/*
 * hybrid_lookup_query: begins a search, in the tree as it is now, for probe->x with its dims, which
 * stays the caller's.
 */
extern void hybrid_lookup_query(HybridLookup *search, const HybridProbe *probe);

/* hybrid_lookup_tree: as of the query. */
extern const HybridTree *hybrid_lookup_tree(const HybridLookup *search);

/* hybrid_lookup_limit: how far this search goes; before the first rows are asked for. */
extern void hybrid_lookup_limit(HybridLookup *search, const HybridLookupLimits *limits);

/*
 * hybrid_lookup_filter: what says which rows are wanted, from now on; NULL: all are.  No page is locked when
 * it is asked.
 */
extern void hybrid_lookup_filter(HybridLookup *search, HybridRowFilter filter, void *arg);

/*
 * hybrid_lookup_next: the next *count rows by their distances and positions: the k nearest, and any that
 * may be nearer than one of these by what is known of rounded ones; fewer than k when there are no more.  They come after those that were returned before, but for rows that were found
 * late: these are left out if they are nearer than `after`.  The array is the search's own, until
 * the next call.
 */
extern const HybridFoundRow *
hybrid_lookup_next(HybridLookup *search, int k, double after, int *count);

/*
 * hybrid_lookup_further: what the last call returned, once the search has gone on to limits that are not less.
 */
extern const HybridFoundRow *
hybrid_lookup_further(HybridLookup *search, const HybridLookupLimits *limits, int *count);

/*
 * hybrid_lookup_rest: all that were found and have not been returned, likewise; none is looked for.  *more:
 * whether there may be others.
 */
extern const HybridFoundRow *hybrid_lookup_rest(HybridLookup *search, int *count, bool *more);

/*
 * hybrid_lookup_expected_recall: what the search expects to have found of the rows that the last call asked for: at least
 * the recall that was asked for where it ended by itself, 1 where it has looked into all lists, NaN where it cannot
 * tell.
 */
extern double hybrid_lookup_expected_recall(const HybridLookup *search);

/*
 * hybrid_lookup_difficulty: of the query, by the k-th row so far, 0 .. HYBRID_DIFFICULTIES - 1: where it is about
 * as far from that row as rows of one list are from each other it is difficult, and easy where it is much nearer;
 * -1: fewer than k rows are known, or the query is nearer to centroids than rows are.
 */
extern int hybrid_lookup_difficulty(const HybridLookup *search);

/* hybrid_lookup_work: of this search. */
extern HybridLookupWork hybrid_lookup_work(const HybridLookup *search);

/* hybrid_lookup_memory: bytes that this search's rows and lists take. */
extern Size hybrid_lookup_memory(const HybridLookup *search);

/* hybrid_lookup_memory_of_all: the same once it has returned all of so many rows that are wanted. */
extern double hybrid_lookup_memory_of_all(double rows, double wanted);

/* hybrid_lookup_eps: deviations to allow for where that recall is asked for. */
extern float hybrid_lookup_eps(double recall);

/* hybrid_lookup_limits: for that recall, 0.5 .. 1, by what the index has measured. */
extern void
hybrid_lookup_limits(const HybridTree *tree, double recall, int probes, HybridLookupLimits *limits);

/* hybrid_curve_rows: how many rows are looked at for that recall, by a curve that has points. */
extern double hybrid_curve_rows(const HybridTree *tree, double recall);

/* Rows of the first pass of a scan that does not know how many will be wanted, and of others. */
#define HYBRID_FIRST_CANDIDATES 512 /* over all vectors */
#define HYBRID_FIRST_NEAREST 12     /* by codes */
#define HYBRID_BESIDE                                                                              \
	2 /* more than wanted: by which the executor knows that it has them in order */

/* hybrid_scan_candidates: how many rows pass number `pass` keeps, from 0, if the first keeps `first`. */
extern int hybrid_scan_candidates(int pass, int first);

#endif
