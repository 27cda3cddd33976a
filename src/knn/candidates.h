/*
 * candidates.h
 *		Searches the store of an index for candidates and verifies them in the table.
 */
#ifndef HYBRID_CANDIDATES_H
#define HYBRID_CANDIDATES_H

#include "postgres.h"

#include "core/topk.h"
#include "knn/progress.h"
#include "knn/queries.h"
#include "knn/rows.h"
#include "server/store.h"

/* HybridCandidates: a table, and an index whose store can be searched instead of the table. */
typedef struct HybridCandidates
{
	const HybridRows *rows;
	Relation index;
	HybridStoreShape shape;
	HyMetric metric;
	int32 k;
	HybridProgress *progress;
	/* searches the index by codes, so that results are approximate; NULL: the whole store is read */
	HybridIndexSearch *search;
	double recall; /* target recall of `search` */
} HybridCandidates;

/*
 * hybrid_find_store: find an index whose store can replace the table for this metric. The store
 * must show this user every row that the table would show. If such an index exists, open it, store
 * it in candidates->index and return true. If `ordered` is set, the index must order by this metric,
 * and neither the filter nor enable_indexscan matters.
 */
extern bool hybrid_find_store(const HybridRows *rows, HyMetric metric, bool ordered,
                              HybridCandidates *candidates);

/*
 * hybrid_few_allowed: return whether a filter allows so few rows that reading only these rows from the table is
 * faster.
 */
extern bool hybrid_few_allowed(const HybridRows *rows, const HybridStoreShape *shape);

/* hybrid_candidates_first: return the number of candidates per query in the first search. */
extern int64 hybrid_candidates_first(const HybridCandidates *candidates);

/*
 * hybrid_candidates_bytes: return the bytes per query of a search with `many` candidates, including
 * the results.
 */
extern Size hybrid_candidates_bytes(const HybridCandidates *candidates, int64 many);

/*
 * hybrid_candidates_search: read the store once, or search the index by codes, take `many` candidates per query, look
 * them up in the table, and put the nearest visible rows into answers. answers holds one empty heap of size k per
 * query.
 *
 * Sets sure[i] if no other row can belong to the results of query i. Otherwise, clears sure[i] and
 * empties the heap again. Returns whether a search with more candidates may help the queries that
 * are not sure.
 */
extern bool
hybrid_candidates_search(const HybridCandidates *candidates, const HybridQueries *queries,
                         int64 many, HyTopK *answers, bool *sure);

#endif
