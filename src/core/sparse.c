/*
 * sparse.c
 *		Distances and order of sparse vectors.
 *
 * Two ascending lists of indices are merged.  If dims is small and enough elements are stored
 * (hy_sparse_better_dense), the vectors are made dense and passed to the dense kernels instead,
 * which give the same bits.
 */
#include "core/sparse.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "core/distance.h"
#include "core/fma.h"

/* elements between two flushes of the lanes to their twins, in the dense order */
#define HY_BLOCK (HY_LANES * HY_FLUSH_STEPS)

/*
 * A merge step takes about ten cycles, because the previous step must first decide which list
 * advances.  A dense kernel takes about one cycle for eight elements, absent or not, but all
 * elements must be written first.  DENSE_DIMS_AN_ELEMENT is the number of dims per stored element
 * up to which the dense kernel is faster.
 */
#define DENSE_DIMS_AN_ELEMENT 16

#define HY_INLINE static inline __attribute__((always_inline))

typedef enum SumOp
{
	SUM_L2SQ,
	SUM_IP,
	SUM_L1,
	SUM_NORM /* the inner product with itself */
} SumOp;

/*
 * Lanes: the state of a canonical sum.  A lane is flushed to its twin when an element of a later
 * block is added to it, or at the end.  Until then, absent elements would only add +0 to the lane.
 */
typedef struct Lanes
{
	float lane[HY_LANES];
	uint32_t block[HY_LANES]; /* number of the block whose elements are in the lane */
	double twin[HY_LANES];
} Lanes;

/* DensePair: two vectors with zeros for their absent elements. */
typedef struct DensePair
{
	float left[HY_SPARSE_DENSE_DIMS];
	float right[HY_SPARSE_DENSE_DIMS];
} DensePair;

typedef struct Merge
{
	const HySparse *a;
	const HySparse *b;
	int32_t i;
	int32_t j;
} Merge;

/* Pair: the elements of both vectors at one index where at least one is present. */
typedef struct Pair
{
	int32_t index;
	float x;
	float y;
} Pair;

static void make_dense(DensePair *dense, const HySparse *a, const HySparse *b);
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

	if (hy_sparse_better_dense(a, b))
	{
		DensePair dense;

		make_dense(&dense, a, b);
		return hy_distance(metric, dense.left, dense.right, a->dims);
	}
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
			aa = sum_of(SUM_NORM, a, a);
			bb = sum_of(SUM_NORM, b, b);
			break;
	}
	return hy_distance_from_sums(metric, sum, aa, bb);
}

double
hy_sparse_l2_squared(const HySparse *a, const HySparse *b)
{
	if (hy_sparse_better_dense(a, b))
	{
		DensePair dense;

		make_dense(&dense, a, b);
		return hy_l2_squared(dense.left, HY_F32, dense.right, a->dims);
	}
	return (double) sum_of(SUM_L2SQ, a, b);
}

static void
make_dense(DensePair *dense, const HySparse *a, const HySparse *b)
{
	hy_sparse_make_dense(dense->left, a);
	hy_sparse_make_dense(dense->right, b);
}

bool
hy_sparse_better_dense(const HySparse *a, const HySparse *b)
{
	return a->dims <= HY_SPARSE_DENSE_DIMS &&
	       a->dims <= DENSE_DIMS_AN_ELEMENT * (a->count + b->count);
}

void
hy_sparse_make_dense(float *dense, const HySparse *a)
{
	int32_t i;

	memset(dense, 0, sizeof(float) * (size_t) a->dims);
	for (i = 0; i < a->count; i++)
		dense[a->indices[i]] = a->values[i];
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

/* next_pair: advance to the next index.  Returns false at the end of both lists. */
HY_INLINE bool
next_pair(Merge *merge, Pair *pair)
{
	const HySparse *a = merge->a;
	const HySparse *b = merge->b;
	int32_t i = merge->i;
	int32_t j = merge->j;

	if (i < a->count && j < b->count)
	{
		/* Which list has the next index is unpredictable, so this code does not branch on it. */
		int32_t left = a->indices[i];
		int32_t right = b->indices[j];
		bool from_a = left <= right;
		bool from_b = right <= left;
		float x = a->values[i];
		float y = b->values[j];

		pair->index = from_a ? left : right;
		pair->x = from_a ? x : 0.0f;
		pair->y = from_b ? y : 0.0f;
		merge->i = i + from_a;
		merge->j = j + from_b;
		return true;
	}
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

/*
 * multiply_add: return a * b + c, rounded once.  `fused` says whether the enclosing function may
 * use the processor's FMA instruction.
 */
HY_INLINE float
multiply_add(bool fused, float a, float b, float c)
{
	return fused ? __builtin_fmaf(a, b, c) : hy_fma(a, b, c);
}

/*
 * float_if: return value if wanted, else +0.  There is no branch, because it would be
 * unpredictable.
 */
HY_INLINE float
float_if(bool wanted, float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	bits &= -(uint32_t) wanted;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* add_pair: add the elements x and y at index.  One of them may be absent. */
HY_INLINE void
add_pair(SumOp op, bool fused, Lanes *lanes, int32_t index, float x, float y)
{
	uint32_t block = (uint32_t) index / HY_BLOCK;
	uint32_t i = (uint32_t) index % HY_LANES;
	bool same = lanes->block[i] == block;
	float before = lanes->lane[i];
	float sum = float_if(same, before);
	float d = x - y;

	if (op == SUM_L2SQ)
		sum = multiply_add(fused, d, d, sum);
	else if (op == SUM_IP)
		sum = multiply_add(fused, x, y, sum);
	else
		sum += fabsf(d);
	lanes->lane[i] = sum;
	lanes->block[i] = block;
	lanes->twin[i] += (double) float_if(!same, before);
}

HY_INLINE float
fold(Lanes *lanes)
{
	double sum[HY_LANES];
	int i;

	for (i = 0; i < HY_LANES; i++)
		sum[i] = lanes->twin[i] + (double) lanes->lane[i];
#define FOLD_ONCE(h)                                                                               \
	for (i = 0; i < (h); i++)                                                                      \
		sum[i] += sum[i + (h)];
	FOLD_ONCE(32)
	FOLD_ONCE(16)
	FOLD_ONCE(8)
	FOLD_ONCE(4)
	FOLD_ONCE(2)
	FOLD_ONCE(1)
#undef FOLD_ONCE
	return (float) sum[0];
}

HY_INLINE float
sum_pairs(SumOp op, bool fused, const HySparse *a, const HySparse *b)
{
	Lanes lanes;
	/* local copies, so that compilers know that writes to lanes do not change them */
	const int32_t *left = a->indices;
	const int32_t *right = b->indices;
	const float *x = a->values;
	const float *y = b->values;
	size_t left_count = (size_t) a->count;
	size_t right_count = (size_t) b->count;
	size_t i = 0;
	size_t j = 0;

	memset(&lanes, 0, sizeof(lanes));
	if (op == SUM_NORM)
	{
		for (; i < left_count; i++)
			add_pair(SUM_IP, fused, &lanes, left[i], x[i], x[i]);
		return fold(&lanes);
	}
	while (i < left_count && j < right_count)
	{
		int32_t first = left[i];
		int32_t second = right[j];
		bool from_a = first <= second;
		bool from_b = second <= first;

		/* A product with an absent element is zero. */
		if (op != SUM_IP)
			add_pair(op, fused, &lanes, from_a ? first : second, float_if(from_a, x[i]),
			         float_if(from_b, y[j]));
		else if (first == second)
			add_pair(op, fused, &lanes, first, x[i], y[j]);
		i += from_a;
		j += from_b;
	}
	for (; op != SUM_IP && i < left_count; i++)
		add_pair(op, fused, &lanes, left[i], x[i], 0.0f);
	for (; op != SUM_IP && j < right_count; j++)
		add_pair(op, fused, &lanes, right[j], 0.0f, y[j]);
	return fold(&lanes);
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
		case SUM_NORM:
			return sum_pairs(SUM_NORM, false, a, b);
		case SUM_L1:
			break;
	}
	return sum_pairs(SUM_L1, false, a, b);
}

#if defined(__x86_64__)

/* Every level except scalar has the fused instruction.  Wider registers would not help here. */
static __attribute__((target("avx2,fma"))) float
sum_fused(SumOp op, const HySparse *a, const HySparse *b)
{
	switch (op)
	{
		case SUM_L2SQ:
			return sum_pairs(SUM_L2SQ, true, a, b);
		case SUM_IP:
			return sum_pairs(SUM_IP, true, a, b);
		case SUM_NORM:
			return sum_pairs(SUM_NORM, true, a, b);
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
