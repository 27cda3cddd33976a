/*
 * score.h
 *		Candidate rows for each of many queries, from the codes of many lists.
 *
 * This is the first step of a search through all lists of an index.  Each row gets a lower bound of
 * its distance (codes.h), and each query keeps the k rows with the smallest bounds.  The caller
 * then reads vectors in this order.  It stops when the next bound is above the distances of the
 * nearest rows found so far.
 *
 * Bounds are computed as by hy_code_score, so results have the same bits on every instruction set
 * and device.  Rows are totally ordered by (bound, row), so results do not depend on how the work
 * is divided.  A NaN bound becomes -INFINITY, so its row is never lost.
 */
#ifndef HY_SCORE_H
#define HY_SCORE_H

#include <stdint.h>

#include "core/batch.h"
#include "core/cancel.h"
#include "core/codes.h"
#include "core/status.h"

#define HY_SCORE_MOST 1024 /* maximum number of rows that a query keeps */

/*
 * HyScoreRows: blocks of codes, list by list.  Row i of block b has number b * HY_CODE_ROWS + i, no
 * matter which blocks are scored.
 */
typedef struct HyScoreRows
{
	int32_t padded; /* dimensions of codes, a multiple of HY_ROTATION_STEP */
	int32_t lists;
	const int32_t *begin; /* lists + 1: list l has blocks begin[l] .. begin[l + 1] - 1 */
	const uint8_t *codes;
	size_t code_stride; /* bytes from one block's codes to the next */
	const HyCodeFactors *factors;
	size_t factor_stride;  /* bytes from one block's factors to the next, a multiple of 4 */
	const uint32_t *live;  /* one mask per block; bit i: row i is live */
	int32_t first, blocks; /* range of blocks to score */
} HyScoreRows;

/*
 * HyScoreReach: the distance between a query and the centroid of a list, in the forms that bounds
 * need.
 */
typedef struct HyScoreReach
{
	float base;  /* |q - c|^2, or -<q,c> */
	float reach; /* |q - c| */
} HyScoreReach;

typedef struct HyScoreQueries
{
	int32_t count;
	const HyCodeQuery *query;
	const HyScoreReach *reach; /* entry q * reach_stride + l is for query q and list l */
	int64_t reach_stride;
	float eps; /* standard deviations to allow for */
} HyScoreQueries;

/* hy_score_rows: return the number of rows that are scored, live or dead. */
static inline int64_t
hy_score_rows(const HyScoreRows *rows)
{
	return (int64_t) rows->blocks * HY_CODE_ROWS;
}

/*
 * hy_score_check: return HY_INVALID unless the arguments are as described above and k is 1 ..
 * HY_SCORE_MOST.
 */
extern HyStatus hy_score_check(const HyScoreRows *rows, const HyScoreQueries *queries, int32_t k);

/*
 * hy_score: for each query, find the k live rows with the smallest lower bounds, ascending by bound
 * and row.  out holds count * k entries; the entries of query q start at q * k.  counts[q] is the
 * number of rows found.  Works in place and allocates nothing.  Returns HY_INVALID, HY_CANCELLED,
 * or HY_OK.
 */
extern HyStatus hy_score(const HyScoreRows *rows, const HyScoreQueries *queries, int32_t k,
                         HyNeighbor *out, int32_t *counts, const HyCancel *cancel);

#endif
