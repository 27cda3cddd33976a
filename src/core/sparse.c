/*
 * sparse.c
 *		Distances and order of sparse vectors: two ascending lists of indices, merged.
 */
#include "core/sparse.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "core/distance.h"
#include "core/fma.h"

/* Elements between two flushes of a lane to its twin, in the dense order. */
#define HY_BLOCK (HY_LANES * HY_FLUSH_STEPS)

#define HY_INLINE static inline __attribute__((always_inline))

typedef enum SumOp
{
	SUM_L2SQ,
	SUM_IP,
	SUM_L1
} SumOp;

/* Lanes: the state of a canonical sum; a lane whose bit in used is not set is +0. */
typedef struct Lanes
{
	float lane[HY_LANES];
	double twin[HY_LANES];
	uint64_t used;
	uint32_t block;
} Lanes;

typedef struct Merge
{
	const HySparse *a;
	const HySparse *b;
	int32_t i;
	int32_t j;
} Merge;

/* Pair: the elements of both at one index where at least one has any. */
typedef struct Pair
{
	int32_t index;
	bool in_both;
	float x;
	float y;
} Pair;

static float sum_of(SumOp op, const HySparse *a, const HySparse *b);

HySparseFault
hy_sparse_check_indices(const int32_t *indices, int32_t count, int32_t dims)
{
	int32_t i;

	for (i = 0; i < count; i++)
	{
		if (indices[i] < 0 || indices[i] >= dims)
			return HY_SPARSE_OUT_OF_BOUNDS;
		if (i > 0 && indices[i] < indices[i - 1])
			return HY_SPARSE_UNORDERED;
		if (i > 0 && indices[i] == indices[i - 1])
			return HY_SPARSE_DUPLICATE;
	}
	return HY_SPARSE_OK;
}

double
hy_sparse_distance(HyMetric metric, const HySparse *a, const HySparse *b)
{
	float sum = 0.0f;
	float aa = 0.0f;
	float bb = 0.0f;

	switch (metric)
	{
		case HY_METRIC_L2:
			sum = sum_of(SUM_L2SQ, a, b);
			break;
		case HY_METRIC_IP:
			sum = sum_of(SUM_IP, a, b);
			break;
		case HY_METRIC_L1:
			sum = sum_of(SUM_L1, a, b);
			break;
		case HY_METRIC_COSINE:
			sum = sum_of(SUM_IP, a, b);
			aa = sum_of(SUM_IP, a, a);
			bb = sum_of(SUM_IP, b, b);
			break;
	}
	return hy_distance_from_sums(metric, sum, aa, bb);
}

double
hy_sparse_l2_squared(const HySparse *a, const HySparse *b)
{
	return (double) sum_of(SUM_L2SQ, a, b);
}

double
hy_sparse_norm(const HySparse *a)
{
	double sum = 0.0;
	int32_t i;

	for (i = 0; i < a->count; i++)
		sum += (double) a->values[i] * (double) a->values[i];
	return sqrt(sum);
}

HY_INLINE Merge
merge_of(const HySparse *a, const HySparse *b)
{
	Merge merge = {a, b, 0, 0};

	return merge;
}

/* next_pair: steps to the next index; false at the end of both. */
HY_INLINE bool
next_pair(Merge *merge, Pair *pair)
{
	const HySparse *a = merge->a;
	const HySparse *b = merge->b;
	int32_t i = merge->i;
	int32_t j = merge->j;

	if (i < a->count && j < b->count)
	{
		/* Which of two random lists comes next is not to be predicted: no branches on it. */
		int32_t left = a->indices[i];
		int32_t right = b->indices[j];
		bool from_a = left <= right;
		bool from_b = right <= left;
		float x = a->values[i];
		float y = b->values[j];

		pair->index = from_a ? left : right;
		pair->in_both = left == right;
		pair->x = from_a ? x : 0.0f;
		pair->y = from_b ? y : 0.0f;
		merge->i = i + from_a;
		merge->j = j + from_b;
		return true;
	}
	pair->in_both = false;
	pair->x = 0.0f;
	pair->y = 0.0f;
	if (i < a->count)
	{
		pair->index = a->indices[i];
		pair->x = a->values[i];
		merge->i = i + 1;
		return true;
	}
	if (j < b->count)
	{
		pair->index = b->indices[j];
		pair->y = b->values[j];
		merge->j = j + 1;
		return true;
	}
	return false;
}

int
hy_sparse_compare(const HySparse *a, const HySparse *b)
{
	int32_t common = a->dims < b->dims ? a->dims : b->dims;
	Merge merge = merge_of(a, b);
	Pair pair;

	while (next_pair(&merge, &pair) && pair.index < common)
	{
		if (pair.x != pair.y)
			return pair.x < pair.y ? -1 : 1;
	}
	return (a->dims > b->dims) - (a->dims < b->dims);
}

HY_INLINE void
flush(Lanes *lanes)
{
	while (lanes->used != 0)
	{
		int lane = __builtin_ctzll(lanes->used);

		lanes->twin[lane] += (double) lanes->lane[lane];
		lanes->lane[lane] = 0.0f;
		lanes->used &= lanes->used - 1;
	}
}

/* fused: whether the function that this is compiled into has the instruction. */
HY_INLINE float
multiply_add(bool fused, float a, float b, float c)
{
	return fused ? __builtin_fmaf(a, b, c) : hy_fma(a, b, c);
}

HY_INLINE void
add_pair(SumOp op, bool fused, Lanes *lanes, const Pair *pair)
{
	uint32_t block = (uint32_t) pair->index / HY_BLOCK;
	uint32_t i = (uint32_t) pair->index % HY_LANES;
	float d = pair->x - pair->y;

	if (block != lanes->block)
	{
		flush(lanes);
		lanes->block = block;
	}
	lanes->used |= UINT64_C(1) << i;
	if (op == SUM_L2SQ)
		lanes->lane[i] = multiply_add(fused, d, d, lanes->lane[i]);
	else if (op == SUM_IP)
		lanes->lane[i] = multiply_add(fused, pair->x, pair->y, lanes->lane[i]);
	else
		lanes->lane[i] += fabsf(d);
}

HY_INLINE float
sum_pairs(SumOp op, bool fused, const HySparse *a, const HySparse *b)
{
	Lanes lanes;
	Merge merge = merge_of(a, b);
	Pair pair;
	int h;
	int i;

	memset(&lanes, 0, sizeof(lanes));
	while (next_pair(&merge, &pair))
	{
		/* The product with an absent element is a zero. */
		if (op != SUM_IP || pair.in_both)
			add_pair(op, fused, &lanes, &pair);
	}
	flush(&lanes);
	for (h = HY_LANES / 2; h >= 1; h /= 2)
	{
		for (i = 0; i < h; i++)
			lanes.twin[i] += lanes.twin[i + h];
	}
	return (float) lanes.twin[0];
}

static float
sum_plain(SumOp op, const HySparse *a, const HySparse *b)
{
	switch (op)
	{
		case SUM_L2SQ:
			return sum_pairs(SUM_L2SQ, false, a, b);
		case SUM_IP:
			return sum_pairs(SUM_IP, false, a, b);
		case SUM_L1:
			break;
	}
	return sum_pairs(SUM_L1, false, a, b);
}

#if defined(__x86_64__)

/* Every level but the scalar one has the fused instruction; wider registers have no use here. */
static __attribute__((target("avx2,fma"))) float
sum_fused(SumOp op, const HySparse *a, const HySparse *b)
{
	switch (op)
	{
		case SUM_L2SQ:
			return sum_pairs(SUM_L2SQ, true, a, b);
		case SUM_IP:
			return sum_pairs(SUM_IP, true, a, b);
		case SUM_L1:
			break;
	}
	return sum_pairs(SUM_L1, true, a, b);
}

#endif

static float
sum_of(SumOp op, const HySparse *a, const HySparse *b)
{
#if defined(__x86_64__)
	if (hy_kernels()->level != HY_SIMD_SCALAR)
		return sum_fused(op, a, b);
#endif
	return sum_plain(op, a, b);
}
