/*
 * approximate.h
 *		Searches an index by codes for the nearest rows of many queries.
 *
 * Codes are quantized copies of the vectors (index/README.md). A search by codes reads only some lists of
 * the index, so it may miss rows.
 */
#ifndef HYBRID_APPROXIMATE_H
#define HYBRID_APPROXIMATE_H

#include "postgres.h"

#include "core/topk.h"
#include "knn/candidates.h"

/* hybrid_approximate_bytes: return the bytes per query of a search with `many` candidates. */
extern Size hybrid_approximate_bytes(int64 many);

/*
 * hybrid_approximate_search: find `many` candidates for each query by candidates->search, look them up in the
 * table, and put the nearest visible rows into answers, which are empty heaps. Sets sure[i] if heap i is full, or
 * if the search found fewer than `many` candidates for query i. Otherwise clears sure[i] and empties heap i. Does
 * not free its working memory.
 */
extern void
hybrid_approximate_search(const HybridCandidates *candidates, const HybridQueries *queries,
                          int many, HyTopK *answers, bool *sure);

/*
 * hybrid_approximate_read: pass the rows of the table to `take` as hybrid_rows_read does, but in the order of
 * the lists of the index. (WordNet, 2,000 rows as queries: with 32 MB of shared buffers, the searches take .67 s of
 * processor time in this order, and 1.2 s in the order of the table. With the whole index in shared buffers, 16,000
 * queries take 4.8 to 5.2 s in either order.) `rows` must read the table of the candidates and the index's column.
 */
extern void hybrid_approximate_read(const HybridCandidates *candidates, HybridRows *rows,
                                    HybridTakeRow take, void *arg);

#endif
