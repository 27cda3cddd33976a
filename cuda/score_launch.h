/*
 * score_launch.h
 *		The interface between C and CUDA C++ for the kernels of 'score_codes'.
 *
 * One number, the key, represents a row that may be among the k best of a query.  A lower key is
 * better.  From the high bits to the low bits, a key has three parts: the bits of the row's bound,
 * transformed so that they sort like the bound; the row number; and one bit that is set if the
 * bound was -0.  A bound of -0 sorts like +0 but must be returned unchanged.
 */
#ifndef HY_CUDA_SCORE_LAUNCH_H
#define HY_CUDA_SCORE_LAUNCH_H

#include <stdint.h>

#include <cuda_runtime_api.h>

#include "core/codes.h"

#ifdef __cplusplus
extern "C"
{
#endif

#define HY_CUDA_SCORE_NONE UINT64_MAX         /* key of an empty entry */
#define HY_CUDA_SCORE_ROWS (INT64_C(1) << 31) /* number of rows that keys can distinguish */
#define HY_CUDA_SCORE_GROUP 512               /* largest number of queries in a group */

	/* HyCudaScoreQuery: a query (HyCodeQuery) without its lookup tables. */
	typedef struct HyCudaScoreQuery
	{
		float scale;
		float offset;
		float slack;
		float unused;
	} HyCudaScoreQuery;

	/*
	 * HyCudaScoreReach: the data of a list for a query (HyScoreReach).  The host sets `base` and
	 * `reach`.  A kernel computes `slack` and `margin`, which mean the same as in HyCodeBounds.
	 */
	typedef struct HyCudaScoreReach
	{
		float base;
		float reach;
		float slack;
		float margin;
	} HyCudaScoreReach;

	/* HyCudaScore: a group of queries and a piece of blocks.  All pointers are device addresses. */
	typedef struct HyCudaScore
	{
		const uint8_t *tables; /* lookup tables of the queries, packed */
		const HyCudaScoreQuery *query;
		const uint8_t *codes; /* codes of the blocks, packed; aligned to 16 bytes */
		const HyCodeFactors *factors;
		const int32_t *list;     /* list of each block, numbered within the piece */
		const uint32_t *live;    /* one mask per block: bit i is set if row i is live */
		HyCudaScoreReach *reach; /* data of list l for query q at l * query_count + q */
		int32_t query_count;     /* number of queries, 1 .. HY_CUDA_SCORE_GROUP */
		int32_t blocks;          /* number of blocks, >= 1 */
		int32_t lists;
		int32_t padded;
		int32_t k;
		float eps;
		uint32_t first_row;        /* number of the piece's first row within the task */
		uint32_t room;             /* largest number of rows in a step, >= HY_CODE_ROWS */
		unsigned long long *best;  /* k best keys of each query so far, ascending */
		unsigned long long *found; /* keys found in the current step: query_count * room */
		unsigned *counts;          /* number of keys in `found` for each query */
	} HyCudaScore;

	/* hy_cuda_launch_score: queue the kernels that update `best`. */
	extern cudaError_t
	hy_cuda_launch_score(const HyCudaScore *args, int multiprocessors, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
