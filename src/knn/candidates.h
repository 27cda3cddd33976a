/*
 * candidates.h
 *		Nearest rows by way of an index's store: candidates from there, certified against the table.
 */
#ifndef HYBRID_CANDIDATES_H
#define HYBRID_CANDIDATES_H

#include "postgres.h"

#include "core/topk.h"
#include "knn/progress.h"
#include "knn/queries.h"
#include "knn/rows.h"
#include "server/store.h"

/* HybridCandidates: a table with an index whose store may stand for it. */
typedef struct HybridCandidates
{
	const HybridRows *rows;
	Relation index;
	HybridStoreShape shape;
	HyMetric metric;
	int32 k;
	HybridProgress *progress;
} HybridCandidates;

/*
 * hybrid_find_store: an open index in candidates->index, when there is one whose store shows this
 * user all that the table would, for this metric; else false.
 */
extern bool
hybrid_find_store(const HybridRows *rows, HyMetric metric, HybridCandidates *candidates);

/* hybrid_candidates_first: how many a query to begin with. */
extern int64 hybrid_candidates_first(const HybridCandidates *candidates);

/* hybrid_candidates_bytes: memory a query takes while so many are looked at, its answers included. */
extern Size hybrid_candidates_bytes(const HybridCandidates *candidates, int64 many);

/*
 * hybrid_candidates_search: reads the store once for `many` candidates a query, looks them up in the
 * table, and puts the nearest visible rows into answers, one empty heap of k a query.  sure[i]
 * becomes whether no other row can belong there; where it is false the heap is empty again.  Returns
 * whether more candidates may help the others.
 */
extern bool
hybrid_candidates_search(const HybridCandidates *candidates, const HybridQueries *queries,
                         int64 many, HyTopK *answers, bool *sure);

#endif
