/*
 * score_launch.h
 *		The kernels of 'score_codes' as the host calls them.  The interface between C and CUDA
 *		C++.
 *
 * A row that a query may keep is one number, its key, and a lower key is better.  From the high
 * bits down, the key has three parts.  The first is the bits of the bound, changed so that they
 * ascend with the bound.  The second is the row number.  The third tells whether the bound was -0,
 * which equals +0 but must be returned unchanged.
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
#define HY_CUDA_SCORE_GROUP 512               /* most queries of a group */

	/* HyCudaScoreQuery: data of a query in addition to its tables (HyCodeQuery). */
	typedef struct HyCudaScoreQuery
	{
		float scale;
		float offset;
		float slack;
		float unused;
	} HyCudaScoreQuery;

	/*
	 * HyCudaScoreReach: data of a list and a query.  The device adds the fields that bounds need
	 * (HyCodeBounds).
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
		const uint8_t *tables; /* of the queries, packed */
		const HyCudaScoreQuery *query;
		const uint8_t *codes; /* of the blocks, packed; aligned to 16 bytes */
		const HyCodeFactors *factors;
		const int32_t *list;     /* list of each block, within the piece */
		const uint32_t *live;    /* per block; bit i is set if row i counts */
		HyCudaScoreReach *reach; /* list l and query q at l * query_count + q */
		int32_t query_count;     /* 1 .. HY_CUDA_SCORE_GROUP */
		int32_t blocks;          /* >= 1 */
		int32_t lists;
		int32_t padded;
		int32_t k;
		float eps;
		uint32_t first_row;        /* number of row 0 */
		uint32_t room;             /* rows that a query may find in one step, >= HY_CODE_ROWS */
		unsigned long long *best;  /* query_count * k keys, ascending */
		unsigned long long *found; /* query_count * room */
		unsigned *counts;          /* query_count: number of keys in found */
	} HyCudaScore;

	/* hy_cuda_launch_score: queue the kernels that update best. */
	extern cudaError_t
	hy_cuda_launch_score(const HyCudaScore *args, int multiprocessors, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
