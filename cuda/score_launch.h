/*
 * score_launch.h
 *		The kernels of 'score_codes' as the host calls them.  The interface between C and CUDA
 *		C++.
 *
 * A row that a query may keep is represented by one number, its key.  A lower key is better.  From
 * the high bits to the low bits, the key has three parts.  The first is the bits of the bound,
 * changed so that they ascend with the bound.  The second is the row number.  The third is one bit,
 * which is set if the bound was -0.  This value equals +0 but must be returned unchanged.
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
#define HY_CUDA_SCORE_ROWS (INT64_C(1) << 31) /* number of rows that a key can distinguish */
#define HY_CUDA_SCORE_GROUP 512               /* largest number of queries in a group */

	/* HyCudaScoreQuery: the data of a query (HyCodeQuery) without its tables. */
	typedef struct HyCudaScoreQuery
	{
		float scale;
		float offset;
		float slack;
		float unused;
	} HyCudaScoreQuery;

	/*
	 * HyCudaScoreReach: the data of a list for a query.  A kernel fills in the fields that the
	 * bounds need (HyCodeBounds).
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
		const uint8_t *tables; /* tables of the queries, packed */
		const HyCudaScoreQuery *query;
		const uint8_t *codes; /* codes of the blocks, packed; aligned to 16 bytes */
		const HyCodeFactors *factors;
		const int32_t *list;     /* list of each block, numbered within the piece */
		const uint32_t *live;    /* mask of each block: bit i is set if row i is live */
		HyCudaScoreReach *reach; /* data of list l for query q at l * query_count + q */
		int32_t query_count;     /* number of queries, 1 .. HY_CUDA_SCORE_GROUP */
		int32_t blocks;          /* number of blocks, >= 1 */
		int32_t lists;
		int32_t padded;
		int32_t k;
		float eps;
		uint32_t first_row;        /* number of row 0 */
		uint32_t room;             /* rows per query that fit in one step, >= HY_CODE_ROWS */
		unsigned long long *best;  /* k best keys of each query, ascending */
		unsigned long long *found; /* keys found in a step: query_count * room */
		unsigned *counts;          /* number of keys in found for each query */
	} HyCudaScore;

	/* hy_cuda_launch_score: queue the kernels that update best. */
	extern cudaError_t
	hy_cuda_launch_score(const HyCudaScore *args, int multiprocessors, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
