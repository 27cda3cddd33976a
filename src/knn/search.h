/*
 * search.h
 *		The nearest of the rows that pass by, for many queries at once.
 *
 * Rows are gathered into packed batches, of a size that the dispatcher learns
 * (dispatch/accumulator.h); each batch goes through it as one fused search for all queries, and its
 * answers enter a bounded heap for each query.  The heaps are ordered by (distance, position), so
 * neither the size of a batch nor the order of the rows matters.
 */
#ifndef HYBRID_SEARCH_H
#define HYBRID_SEARCH_H

#include "postgres.h"

#include "core/topk.h"
#include "dispatch/accumulator.h"
#include "dispatch/resident.h"
#include "knn/queries.h"

typedef struct HybridSearch
{
	HyMetric metric;
	HyDtype dtype; /* of the rows */
	Size stride;   /* bytes of a row's vector */
	const HybridQueries *queries;
	int32 k;
	HyTopK *best; /* a heap for each query; rows are positions */

	/* called after each batch, or NULL: a good time to say how far things are */
	void (*went)(void *arg);
	void *went_arg;

	/* the batch; room for `capacity` rows, of which gathered.count are there */
	MemoryContext context;
	HyAccumulator gathered;
	Size row_bytes;
	int64 capacity;
	char *vectors;
	float *norms; /* known where with_norms */
	int64 *positions;
	bool with_norms;
	bool ordered;      /* positions ascend */
	HyNeighbor *found; /* queries * found_each */
	int64 found_each;
	int32 *counts;  /* queries */
	double *limits; /* queries: nothing beyond is wanted any more */
} HybridSearch;

/*
 * hybrid_search_begin: for queries, which stay the caller's; all that the search holds is in
 * context.  best are its heaps, of k each and empty.  Batches take half of work_mem at most.
 */
extern void
hybrid_search_begin(HybridSearch *search, MemoryContext context, HyMetric metric, HyDtype dtype,
                    bool with_norms, const HybridQueries *queries, int32 k, HyTopK *best);

/* hybrid_search_add: a row, copied; position is what its answers carry. */
extern void hybrid_search_add(HybridSearch *search, const void *vector, int64 position);

/*
 * hybrid_search_room: how many rows, 1 .. most, may be put straight into the batch behind those that
 * are there; hybrid_search_took: so many were.
 */
extern int hybrid_search_room(HybridSearch *search, int most);
extern void hybrid_search_took(HybridSearch *search, int rows);

/*
 * hybrid_search_stage: the batch goes, and so many rows can be put into its place, from the beginning;
 * no more than hybrid_search_piece, and they take a quarter of work_mem, where one row does not take
 * more.  hybrid_search_staged: so many were; they are in order of position now.
 * hybrid_search_discard: and they are not looked at any more.
 */
extern int64 hybrid_search_piece(const HybridSearch *search);
extern void hybrid_search_stage(HybridSearch *search, int64 rows);
extern void hybrid_search_staged(HybridSearch *search, int64 rows);
extern void hybrid_search_discard(HybridSearch *search);

/* hybrid_search_shape: of a task of so many rows. */
extern HyShape hybrid_search_shape(const HybridSearch *search, int64 rows);

/*
 * hybrid_search_resident: rows that are on a device, in order of these positions, are searched there;
 * false: it failed.
 */
extern bool
hybrid_search_resident(HybridSearch *search, HyResident *resident, const int64 *positions);

/* hybrid_search_end: the last batch goes; the heaps hold the answer, not sorted yet. */
extern void hybrid_search_end(HybridSearch *search);

/* hybrid_sort_answers: ascending; the heap is spent.  Heeds a cancel, however many they are. */
extern void hybrid_sort_answers(HyTopK *best);

#endif
