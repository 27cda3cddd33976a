/*
 * search.h
 *		Finds the nearest of a stream of rows, for many queries at once.
 *
 * Rows are gathered into packed batches, whose size the dispatcher calibrates
 * (dispatch/route/accumulator.h). Each batch is dispatched as one fused search for all queries, and its
 * results enter a bounded heap per query. The heaps are ordered by (distance, position). So results
 * depend neither on the size of a batch nor on the order of the rows.
 */
#ifndef HYBRID_SEARCH_H
#define HYBRID_SEARCH_H

#include "postgres.h"

#include "core/topk.h"
#include "dispatch/route/accumulator.h"
#include "dispatch/run/resident.h"
#include "knn/queries.h"

typedef struct HybridSearch
{
	HyMetric metric;
	HyDtype dtype; /* element type of the rows */
	Size stride;   /* bytes of a row's vector */
	const HybridQueries *queries;
	int32 k;
	HyTopK *best; /* one heap per query; the field row of an entry is a position */

	/* called after each batch, to report progress; may be NULL */
	void (*batch_done)(void *arg);
	void *batch_done_arg;

	/*
	 * called while other threads search a batch: reads rows for about 0.1 ms, and passes each to
	 * hybrid_search_ahead; returns false if there are no more; NULL: rows cannot be read ahead
	 */
	bool (*read_ahead)(void *arg);
	void *read_arg;

	/* the batch: arrays with a capacity of `capacity` rows, of which gathered.count are filled */
	MemoryContext context;
	HyAccumulator gathered;
	Size row_bytes;
	int64 capacity;
	char *vectors;
	float *norms; /* filled if with_norms */
	int64 *positions;
	bool with_norms;
	bool ordered;      /* whether the positions ascend */
	HyNeighbor *found; /* results of a batch: found_each entries per query */
	int64 found_each;
	int32 *counts;  /* number of results of each query */
	double *limits; /* for each query, the distance beyond which rows are ignored */

	/* rows read ahead: arrays with a capacity of ahead_capacity rows */
	char *ahead_vectors;
	int64 *ahead_positions;
	int64 ahead_capacity;
	int64 ahead_count;
} HybridSearch;

/*
 * hybrid_search_begin: start a search. The caller has set dtype, metric and k in shape, and keeps the
 * ownership of queries. `best` is an array of empty heaps of size k, one per query. All memory of
 * the search is in context. A batch takes at most half of work_mem, together with rows read ahead.
 */
extern void hybrid_search_begin(HybridSearch *search, MemoryContext context, HyShape shape,
                                bool with_norms, const HybridQueries *queries, HyTopK *best);

/*
 * hybrid_search_read_ahead: set read_ahead, immediately after hybrid_search_begin. Does nothing if only
 * one thread would search a batch.
 *
 * hybrid_search_ahead: keep a row for the next batch. Returns false if no further row fits.
 */
extern void
hybrid_search_read_ahead(HybridSearch *search, bool (*read_ahead)(void *arg), void *arg);
extern bool hybrid_search_ahead(HybridSearch *search, const void *vector, int64 position);

/* hybrid_search_add: copy a row into the batch. Results for the row have this position. */
extern void hybrid_search_add(HybridSearch *search, const void *vector, int64 position);

/*
 * hybrid_search_room: return the number of rows, 1 .. most, that the caller may write directly into
 * the batch after the current rows.
 * hybrid_search_took: record that the caller has written this many rows.
 */
extern int hybrid_search_room(HybridSearch *search, int most);
extern void hybrid_search_took(HybridSearch *search, int rows);

/*
 * hybrid_search_piece: return the largest number of rows that can be staged at once. They take at most a
 * quarter of work_mem, unless a single row takes more.
 * hybrid_search_stage: flush the batch and allocate space for this many rows, at most
 * hybrid_search_piece. The caller writes them from the beginning of the batch.
 * hybrid_search_staged: record that the caller has written this many rows, and sort them by
 * position.
 * hybrid_search_discard: drop the staged rows without searching them.
 */
extern int64 hybrid_search_piece(const HybridSearch *search);
extern void hybrid_search_stage(HybridSearch *search, int64 rows);
extern void hybrid_search_staged(HybridSearch *search, int64 rows);
extern void hybrid_search_discard(HybridSearch *search);

/* hybrid_search_shape: return the shape of a task over this many rows. */
extern HyShape hybrid_search_shape(const HybridSearch *search, int64 rows);

/*
 * hybrid_search_resident: search rows that are on a device. `positions` holds the positions of these rows, in
 * their order on the device. Returns false if the device failed.
 */
extern bool
hybrid_search_resident(HybridSearch *search, HyResident *resident, const int64 *positions);

/* hybrid_search_end: flush the last batch. The heaps then hold the results, not yet sorted. */
extern void hybrid_search_end(HybridSearch *search);

/*
 * hybrid_sort_answers: sort the results, nearest first. best is then no longer a heap. Can be
 * canceled while it sorts many results.
 */
extern void hybrid_sort_answers(HyTopK *best);

#endif
