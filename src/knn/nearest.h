/*
 * nearest.h
 *		The k nearest rows of a relation, from the table or from the store of an index of it: the one
 *		search behind hybrid_knn, hybrid_knn_join and hybrid_knn_graph.
 *
 * Where the vectors are read from changes no answer: not the rows, not the bits of their distances,
 * not their order, which is by (distance, position of the visible version).
 */
#ifndef HYBRID_NEAREST_H
#define HYBRID_NEAREST_H

#include "postgres.h"

#include "core/topk.h"
#include "knn/queries.h"
#include "knn/rows.h"

/* HybridTarget: a relation that is searched, on the active snapshot. */
typedef struct HybridTarget HybridTarget;

typedef struct HybridTargetOptions
{
	const char *what; /* the function, for messages */
	HyMetric metric;
	int32 k;               /* as hybrid_check_k lets it through */
	const char *filter;    /* as of hybrid_rows_open, or NULL */
	const char *id_column; /* as of hybrid_rows_open, or NULL */
} HybridTargetOptions;

/* hybrid_check_k: raises unless k is at least 1 and so many answers of a query fit work_mem. */
extern void hybrid_check_k(int32 k);

/* hybrid_check_k_besides: the same, where the caller looks for some more of its own. */
extern void hybrid_check_k_besides(int32 k, int32 besides);

/*
 * hybrid_target_open: raises as hybrid_rows_open does, and runs the filter.  In the current memory
 * context.
 */
extern HybridTarget *
hybrid_target_open(Oid relid, const char *column, const HybridVectorTypes *types,
                   const HybridTargetOptions *options);

/* hybrid_target_rows: its rows, to be read while no search is under way. */
extern HybridRows *hybrid_target_rows(const HybridTarget *target);

/*
 * hybrid_target_group: how many queries of so many dims can be searched for at once within work_mem,
 * when the caller holds `beside` bytes for each; at least 1.
 */
extern int hybrid_target_group(const HybridTarget *target, int dims, Size beside);

/* hybrid_target_stretch: what the next search is of the whole call, for the progress it reports. */
extern void hybrid_target_stretch(HybridTarget *target, double from, double to);

/*
 * hybrid_nearest: for each query its nearest rows, at most k, sorted; the row of an answer is its
 * position (server/position.h).  In the current memory context, with all that the search leaves behind.
 */
extern HyTopK *hybrid_nearest(HybridTarget *target, const HybridQueries *queries);

/* hybrid_target_close: even where nothing was searched for, a relation that cannot be read is told. */
extern void hybrid_target_close(HybridTarget *target);

#endif
