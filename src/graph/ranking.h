/*
 * ranking.h
 *		The first k rows of an answer that is ordered by score.
 */
#ifndef HYBRID_GRAPH_RANKING_H
#define HYBRID_GRAPH_RANKING_H

#include "postgres.h"

#include "graph/call.h"

/* HybridScored: a row of the answer. */
typedef struct HybridScored
{
	int64 id;
	double score;
	int32 hop;
	uint32 node; /* node number of the row's id */
} HybridScored;

/* HybridRanking: the first rows so far, by descending score, then by id. */
typedef struct HybridRanking
{
	HybridScored *row; /* once full, a heap whose root is the last row in this order */
	int64 count;
	int64 room; /* at least 1 */
} HybridRanking;

/* hybrid_ranking: make a ranking of the first k of at most this many rows. */
extern HybridRanking hybrid_ranking(HybridCall *call, int64 rows, int64 k);

/* hybrid_ranking_takes: return whether a row with this score may be among the first k. */
static inline bool
hybrid_ranking_takes(const HybridRanking *ranking, double score)
{
	return ranking->count < ranking->room || score >= ranking->row[0].score;
}

/* hybrid_ranking_add: add a row if it is among the first k so far. */
extern void hybrid_ranking_add(HybridRanking *ranking, const HybridScored *row);

/* hybrid_ranking_sort: sort the rows. No row can be added afterward, unless count is set to 0. */
extern void hybrid_ranking_sort(HybridRanking *ranking);

/* hybrid_ranking_answer: sort the rows, and store each as (id, score / divisor). */
extern void hybrid_ranking_answer(HybridRanking *ranking, HybridCall *call, double divisor);

#endif
