/*
 * score.h
 *		The rows that may be nearest to each of many queries, by codes of many lists.
 *
 * What a search in all lists of an index begins with: of every row a lower bound of its distance
 * (codes.h), of which each query keeps the k least.  Who then looks at vectors, in this order, is done
 * when the next bound is above what he has.
 *
 * Bounds are those of hy_code_score, so that answers have the same bits on every instruction set and
 * every device; and rows are totally ordered by (bound, row), so that they are the same in whatever
 * pieces they are computed.  A bound that is not a number is -INFINITY: its row is never lost.
 */
#ifndef HY_SCORE_H
#define HY_SCORE_H

#include <stdint.h>

#include "core/batch.h"
#include "core/cancel.h"
#include "core/codes.h"
#include "core/status.h"

#define HY_SCORE_MOST 1024 /* rows that a query keeps */

/*
 * HyScoreRows: blocks of codes, list by list.  Row i of block b has the number b * HY_CODE_ROWS + i,
 * whichever blocks count.
 */
typedef struct HyScoreRows
{
	int32_t padded; /* dimensions of codes, a multiple of HY_ROTATION_STEP */
	int32_t lists;
	const int32_t *begin; /* lists + 1: list l has blocks begin[l] .. begin[l + 1] - 1 */
	const uint8_t *codes;
	size_t code_stride; /* bytes from one block's codes to the next */
	const HyCodeFactors *factors;
	size_t factor_stride;  /* bytes, a multiple of 4 */
	const uint32_t *live;  /* of each block: bit i: row i counts */
	int32_t first, blocks; /* that are scored, among those of the lists */
} HyScoreRows;

/* HyScoreReach: how far the centroid of a list is from a query. */
typedef struct HyScoreReach
{
	float base;  /* |q - c|^2, or -<q,c> */
	float reach; /* |q - c| */
} HyScoreReach;

typedef struct HyScoreQueries
{
	int32_t count;
	const HyCodeQuery *query;
	const HyScoreReach *reach; /* of query q and list l: number q * reach_stride + l */
	int64_t reach_stride;
	float eps; /* deviations to allow for */
} HyScoreQueries;

/* hy_score_rows: rows that are scored, live or dead. */
static inline int64_t
hy_score_rows(const HyScoreRows *rows)
{
	return (int64_t) rows->blocks * HY_CODE_ROWS;
}

/* hy_score_check: HY_INVALID unless these are as said above and k is 1 .. HY_SCORE_MOST. */
extern HyStatus hy_score_check(const HyScoreRows *rows, const HyScoreQueries *queries, int32_t k);

/*
 * hy_score: for each query the k live rows with the least lower bounds, ascending by bound and row.
 * out holds count * k entries, those of query q from q * k; counts[q] says how many there are.  Works
 * in place, allocates nothing.  HY_INVALID, HY_CANCELLED, or HY_OK.
 */
extern HyStatus hy_score(const HyScoreRows *rows, const HyScoreQueries *queries, int32_t k,
                         HyNeighbor *out, int32_t *counts, const HyCancel *cancel);

#endif
