/*
 * nearest.h
 *		Finds the k nearest rows of a relation, from the table or from the store of an index.
 *		The search behind hybrid_knn, hybrid_knn_join and hybrid_knn_graph.
 *
 * Results do not depend on where the vectors are read from. The rows, the bits of their distances
 * and their order are the same. They are ordered by (distance, position of the visible version).
 */
#ifndef HYBRID_NEAREST_H
#define HYBRID_NEAREST_H

#include "postgres.h"

#include "core/topk.h"
#include "knn/queries.h"
#include "knn/rows.h"

/* HybridTarget: a relation to search, on the active snapshot. */
typedef struct HybridTarget HybridTarget;

typedef struct HybridTargetOptions
{
	const char *what; /* function name, for messages */
	HyMetric metric;
	int32 k;               /* accepted by hybrid_check_k */
	const char *filter;    /* as in hybrid_rows_open, or NULL */
	const char *id_column; /* as in hybrid_rows_open, or NULL */
} HybridTargetOptions;

/* hybrid_check_k: raise unless k is at least 1 and the k results of one query fit work_mem. */
extern void hybrid_check_k(int32 k);

/* hybrid_check_k_plus: do the same for a caller that searches for `besides` more rows than k. */
extern void hybrid_check_k_plus(int32 k, int32 besides);

/*
 * hybrid_target_open: open the relation and run the filter. Raises as hybrid_rows_open does.
 * Allocates in the current memory context.
 */
extern HybridTarget *
hybrid_target_open(Oid relid, const char *column, const HybridVectorTypes *types,
                   const HybridTargetOptions *options);

/*
 * hybrid_target_rows: return the reader of its rows, which may be used while no search is in
 * progress.
 */
extern HybridRows *hybrid_target_rows(const HybridTarget *target);

/*
 * hybrid_target_group: return how many queries of `dims` dimensions can be searched at once within
 * work_mem, at least 1. The caller itself uses `beside` bytes for each query.
 */
extern int hybrid_target_group(const HybridTarget *target, int dims, Size beside);

/*
 * hybrid_target_stretch: set which part of the whole call the next search covers, for progress
 * reports.
 */
extern void hybrid_target_stretch(HybridTarget *target, double from, double to);

/*
 * hybrid_nearest: return for each query its nearest rows, at most k, sorted. The row of a result is
 * its position (server/position.h). Allocates in the current memory context and does not free its
 * working memory.
 */
extern HyTopK *hybrid_nearest(HybridTarget *target, const HybridQueries *queries);

/*
 * hybrid_target_close: close the relation. If nothing was searched, start reading it first, so that
 * a relation that cannot be read raises its error.
 */
extern void hybrid_target_close(HybridTarget *target);

#endif
