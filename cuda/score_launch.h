/*
 * score_launch.h
 *		What the host side asks the kernels of 'score_codes' to do.  C on one side, CUDA C++ on the
 *		other.
 *
 * A row that a query may keep is one number, of which less is better: the bits of its bound, so
 * changed that they ascend as bounds do, above the number of the row, above whether the bound was -0,
 * which is as much as +0 and must come back as it was.
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

#define HY_CUDA_SCORE_NONE UINT64_MAX         /* where a query keeps no row */
#define HY_CUDA_SCORE_ROWS (INT64_C(1) << 31) /* that can be told apart */
#define HY_CUDA_SCORE_GROUP 512               /* queries at a time, at most */

	/* HyCudaScoreQuery: what is known of a query beside its tables (HyCodeQuery). */
	typedef struct HyCudaScoreQuery
	{
		float scale;
		float offset;
		float slack;
		float unused;
	} HyCudaScoreQuery;

	/* HyCudaScoreReach: of a list and a query; the device adds what their bounds need (HyCodeBounds). */
	typedef struct HyCudaScoreReach
	{
		float base;
		float reach;
		float slack;
		float margin;
	} HyCudaScoreReach;

	/* HyCudaScore: a group of queries and a piece of blocks; every pointer is the device's. */
	typedef struct HyCudaScore
	{
		const uint8_t *tables; /* of the queries, packed */
		const HyCudaScoreQuery *query;
		const uint8_t *codes; /* of the blocks, packed; aligned to 16 bytes */
		const HyCodeFactors *factors;
		const int32_t *list;     /* of a block: which of the piece's */
		const uint32_t *live;    /* of a block: bit i: row i counts */
		HyCudaScoreReach *reach; /* of list l and query q: number l * query_count + q */
		int32_t query_count;     /* 1 .. HY_CUDA_SCORE_GROUP */
		int32_t blocks;          /* >= 1 */
		int32_t lists;
		int32_t padded;
		int32_t k;
		float eps;
		uint32_t first_row;        /* number of row 0 */
		uint32_t room;             /* rows that a query may find in one step, >= HY_CODE_ROWS */
		unsigned long long *best;  /* query_count * k, ascending */
		unsigned long long *found; /* query_count * room */
		unsigned *counts;          /* query_count: of what is found */
	} HyCudaScore;

	/* hy_cuda_launch_score: queues the kernels that bring best up to date. */
	extern cudaError_t
	hy_cuda_launch_score(const HyCudaScore *args, int multiprocessors, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
