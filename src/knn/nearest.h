/*
 * nearest.h
 *		Finds the k nearest rows of a relation, from the table or from the store of an index.
 *		hybrid_knn, hybrid_knn_join and hybrid_knn_graph use this search.
 *
 * Exact results do not depend on the source of the vectors. The rows, the bits of their distances and
 * their order are always the same. An approximate search may miss rows, but the distances have the same
 * bits. Rows are ordered by (distance, position of the visible version).
 */
#ifndef HYBRID_NEAREST_H
#define HYBRID_NEAREST_H

#include "postgres.h"

#include "core/topk.h"
#include "knn/candidates.h"
#include "knn/queries.h"
#include "knn/rows.h"

/* HybridTarget: a relation to search, on the active snapshot. */
typedef struct HybridTarget HybridTarget;

typedef struct HybridTargetOptions
{
	const char *what; /* function name, for messages */
	HyMetric metric;
	int32 k;               /* a value that hybrid_check_k accepts */
	const char *filter;    /* filter query as in hybrid_rows_open, or NULL */
	const char *id_column; /* name of the id column as in hybrid_rows_open, or NULL */
	double recall;         /* as hybrid_recall_argument returns it */
} HybridTargetOptions;

/* hybrid_check_k: raise unless k is at least 1 and the k results of one query fit work_mem. */
extern void hybrid_check_k(int32 k);

/* hybrid_check_k_plus: make the same checks for a caller that searches for k + `besides` rows. */
extern void hybrid_check_k_plus(int32 k, int32 besides);

/*
 * hybrid_target_open: open the relation and run the filter. Raises as hybrid_rows_open does.
 * Allocates in the current memory context.
 */
extern HybridTarget *
hybrid_target_open(Oid relid, const char *column, const HybridVectorTypes *types,
                   const HybridTargetOptions *options);

/*
 * hybrid_target_group: return the number of queries, at least 1, that can be searched at once
 * within work_mem. dims is the number of dimensions of a query. `beside` is the number of bytes
 * that the caller holds for each query.
 */
extern int hybrid_target_group(const HybridTarget *target, int dims, Size beside);

/*
 * hybrid_target_range: for progress reports, declare that the next search covers the part of the whole call
 * from the share `from` to the share `to`.
 */
extern void hybrid_target_range(HybridTarget *target, double from, double to);

/*
 * hybrid_target_read: pass the rows of a relation to `take`, as hybrid_rows_read does. If an approximate
 * search searches the same column, the rows come in an order that makes these searches fast.
 */
extern void
hybrid_target_read(const HybridTarget *target, HybridRows *rows, HybridTakeRow take, void *arg);

/*
 * hybrid_target_candidates: return the index that an approximate search reads, if `rows` reads the same column
 * directly from the same table. Returns NULL otherwise.
 */
extern const HybridCandidates *
hybrid_target_candidates(const HybridTarget *target, const HybridRows *rows);

/*
 * hybrid_nearest: return at most k nearest rows for each query, sorted. The field row of a result
 * is the row's position (server/position.h). Allocates in the current memory context and does not
 * free its working memory.
 */
extern HyTopK *hybrid_nearest(HybridTarget *target, const HybridQueries *queries);

/*
 * hybrid_target_close: close the relation. If nothing was searched, first begins to read the relation, so that
 * an unreadable relation raises its error.
 */
extern void hybrid_target_close(HybridTarget *target);

#endif
