/*
 * list_graph.h
 *		The nearest rows of each row of a table, found with the lists of an index.
 */
#ifndef HYBRID_LIST_GRAPH_H
#define HYBRID_LIST_GRAPH_H

#include "postgres.h"

#include "core/topk.h"
#include "knn/candidates.h"

/*
 * HybridTakeNeighbors: receive the nearest rows of row number `row`, sorted by (distance, position). The
 * field row of a neighbor is a row number, too. ids holds the id of each row.
 */
typedef void (*HybridTakeNeighbors)(void *arg, int64 row, const HyTopK *best, const int64 *ids);

/*
 * hybrid_list_graph: find the candidates->k nearest rows of each row that the index contains, and pass them
 * to `take`. `rows` must read the table of the candidates, the column of the index, and ids. Returns false
 * before the first call of `take` if k or the recall is too large, if work_mem does not hold all vectors and
 * neighbors, or if a sample of the rows does not reach candidates->recall. Then the caller must search for
 * each row.
 */
extern bool hybrid_list_graph(const HybridCandidates *candidates, HybridRows *rows,
                              HybridTakeNeighbors take, void *arg);

#endif
