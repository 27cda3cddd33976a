/*
 * leaves.h
 *		Turns rows into leaves. CREATE INDEX and VACUUM share this code.
 *
 * The caller adds rows one at a time: CREATE INDEX adds rows of the table, VACUUM rows of old leaves.
 * Each row is assigned to the list with the nearest centroid, and goes into a sort by list and heap
 * position. The leaves are then written list by list, to a sink that the caller provides. Lists of
 * outliers come last. In an index with keys, rows are sorted by key first, and leaves are written key
 * by key (leaves_by_key.c).
 */
#ifndef HYBRID_INDEX_LEAVES_H
#define HYBRID_INDEX_LEAVES_H

#include "executor/tuptable.h"
#include "utils/tuplesort.h"

#include "index/build/centroids.h"
#include "index/write/copy.h"

/*
 * HybridRowSort: sorts rows by list, and within a list by heap position. In an index with keys, the word of the first
 * key comes before the list.
 */
typedef struct HybridRowSort
{
	const HybridLayout *layout;
	Tuplesortstate *state;
	TupleTableSlot *given;
	TupleTableSlot *taken;
	bytea *payload;
} HybridRowSort;

/* build_sort.c */

/*
 * hybrid_row_sort_begin: begin a sort with this much memory. `coordinate` is as for
 * tuplesort_begin_heap; NULL means that the sort is not parallel.
 */
extern void hybrid_row_sort_begin(HybridRowSort *sort, const HybridLayout *layout, int kilobytes,
                                  SortCoordinate coordinate);
extern void hybrid_row_sort_put(HybridRowSort *sort, int list, const HybridEntry *entry);

/*
 * hybrid_row_sort_next: get the next row in sorted order. `vector` has space for layout.leaf.carried
 * bytes.
 */
extern void
hybrid_row_sort_next(HybridRowSort *sort, int64 *position, HybridStored *stored, void *vector);
extern void hybrid_row_sort_end(HybridRowSort *sort);

/* leaves.c */

/* HybridLeaves: the rows of one process that are being assigned to leaves and sorted. */
typedef struct HybridLeaves
{
	const HybridIndex *open;
	HybridFrame *frame;
	/* centroids of the lists; if there are none, there is one list */
	const HybridCentroids *centroids;
	int64 *list_rows; /* number of rows of each list */
	int64 rows;       /* number of rows of all lists */
	double spread;    /* root mean square distance of the centroids from the center */
	Size memory;      /* bytes that this process may use */
	HybridRowSort sort;
	/* rows that are assigned together */
	MemoryContext batch_context;
	int batch_rows;
	int batch_size;
	HybridEntry *batch;
	float *batch_places;
	int *batch_lists;
	float *widened;        /* space for one vector */
	MemoryContext context; /* scratch memory, which is freed by the next assignment */
} HybridLeaves;

/*
 * HybridLeafDone: called for each leaf after it was written. `leaf` has the leaf's rows, link and
 * centroid, and is valid only during the call.
 */
typedef void (*HybridLeafDone)(void *arg, const HybridCopy *leaf);

/*
 * hybrid_leaves_init: prepare for rows in the current memory context. The caller keeps the other arguments
 * valid.
 */
extern void hybrid_leaves_init(HybridLeaves *leaves, const HybridIndex *open, HybridFrame *frame,
                               const HybridCentroids *centroids, Size memory);

/*
 * hybrid_leaves_begin_rows: begin a sort. `coordinate` is as for tuplesort_begin_heap; NULL means that
 * the sort is not parallel. When hybrid_leaves_full returns true, the caller may still add `spare` rows
 * before it assigns them.
 */
extern void hybrid_leaves_begin_rows(HybridLeaves *leaves, int spare, SortCoordinate coordinate);

/* hybrid_leaves_entry: return the space for the next row. The caller fills it. */
static inline HybridEntry *
hybrid_leaves_entry(HybridLeaves *leaves)
{
	return &leaves->batch[leaves->batch_rows];
}

/* hybrid_leaves_add: add the row that the caller has filled in. It is not yet assigned to a list. */
extern void hybrid_leaves_add(HybridLeaves *leaves);

/* hybrid_leaves_full: test whether the caller should assign the rows that it added. */
static inline bool
hybrid_leaves_full(const HybridLeaves *leaves)
{
	return leaves->batch_rows >= leaves->batch_size;
}

/*
 * hybrid_leaves_assign: assign the added rows to lists, and put them into the sort. The caller holds no
 * buffer lock. Returns the number of these rows.
 */
extern int hybrid_leaves_assign(HybridLeaves *leaves);

/* hybrid_leaves_end_rows: assign the last rows, and sort all rows. */
extern void hybrid_leaves_end_rows(HybridLeaves *leaves);

/*
 * hybrid_leaves_merge: begin to read the rows that several processes have sorted. The caller has set
 * list_rows and rows to the sums over these processes.
 */
extern void hybrid_leaves_merge(HybridLeaves *leaves, SortCoordinate coordinate);

/*
 * hybrid_leaves_write: write all leaves to `sink`, and call `done` for each. Cuts lists that are too
 * long. Except for inner products, outliers go to lists of their own. Without rows, writes one empty
 * leaf. If `central` is set, and all rows are of one list and fit in one leaf, the centroid of that
 * leaf is the center of the index, and the function returns true. Otherwise it returns false.
 */
extern bool hybrid_leaves_write(HybridLeaves *leaves, HybridSink *sink, bool central,
                                HybridLeafDone done, void *arg);

/*
 * hybrid_leaves_write_stream: write all rows of an index without codes as one list, regardless of their
 * number. Returns the link of the list.
 */
extern HybridLink hybrid_leaves_write_stream(HybridLeaves *leaves, HybridSink *sink);

/* hybrid_leaves_end: end the sort, after the sorted rows have been read. */
extern void hybrid_leaves_end(HybridLeaves *leaves);

#endif
