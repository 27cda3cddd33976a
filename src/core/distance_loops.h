/*
 * distance_loops.h
 *		The canonical reduction of distance.h, shared by all instruction sets.
 *
 * A file that includes this header first defines its registers:
 *
 *		HY_LEVEL, HY_TABLE		level and name of the table of kernels
 *		HY_TARGET				function attribute that enables the instructions, or nothing
 *		HY_UNROLL				pragma that unrolls a loop of at most 16 iterations, or nothing
 *		HyVec, HY_WIDTH			a register of HY_WIDTH fp32 lanes
 *		HyWide, HY_WIDE_WIDTH	a register of fp64 lanes
 *		HY_PAIR_STEPS			steps that ip_norm takes at once, see steps_both
 *
 *		vec_zero()				vec_load(p)		vec_load_half(p)
 *		vec_load_part(p, n)		vec_load_half_part(p, n)	n in 1 .. HY_WIDTH - 1, the rest +0
 *		vec_store(p, v)			vec_store_half(p, v), rounded to nearest even
 *		vec_add(a, b)			vec_sub(a, b)	vec_abs(a)
 *		vec_sub_apart(a, b)		same as vec_sub, for use while the add unit is busy
 *		vec_fma(a, b, c)		fl(a * b + c)
 *		wide_from(p)			HY_WIDE_WIDTH lanes in memory as fp64
 *		wide_load(p)			wide_store(p, w)	wide_add(a, b)
 *		wide_fold(w)			sum of its lanes, folded as a tree, h = HY_WIDE_WIDTH / 2 ... 1
 *
 * Lanes live in registers: every index into acc below is a constant once its loop is unrolled.  The
 * operation and the element type are constants too, because everything is inlined into the entry
 * points at the end.
 *
 * The twins of distance.h start from +0.  Here they start from the lanes of the first flush.  When
 * there is only one flush, no twins are stored, and the fold starts from the widened lanes.  The
 * only visible difference would be a sum of -0, which products that underflow can produce.  So fold
 * adds +0 to an inner product, which turns -0 into +0.  The other sums have no negative terms and
 * are never -0.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HY_INLINE static inline __attribute__((always_inline)) HY_TARGET

#define HY_VECS (HY_LANES / HY_WIDTH)
#define HY_WIDES (HY_LANES / HY_WIDE_WIDTH)
#define HY_BLOCK (HY_LANES * HY_FLUSH_STEPS)
#define HY_AHEAD 1024 /* prefetch distance in bytes */

#define KEEP_STORED(p) __asm__ volatile("" : : "r"(p) : "memory")

typedef enum SumOp
{
	SUM_L2SQ,
	SUM_IP,
	SUM_L1,
	SUM_NORM /* used only next to SUM_IP */
} SumOp;

/* row_from: return the address of element i of b. */
HY_INLINE const void *
row_from(HyDtype dtype, const void *b, int i)
{
	return (const char *) b + (size_t) i * hy_dtype_size(dtype);
}

/* load_right: load n elements of b starting at element i.  n = HY_WIDTH loads a whole register. */
HY_INLINE HyVec
load_right(HyDtype dtype, const void *b, int i, int n)
{
	if (dtype == HY_F32)
	{
		const float *p = (const float *) b + i;

		return n == HY_WIDTH ? vec_load(p) : vec_load_part(p, n);
	}
	else
	{
		const uint16_t *p = (const uint16_t *) b + i;

		return n == HY_WIDTH ? vec_load_half(p) : vec_load_half_part(p, n);
	}
}

HY_INLINE HyVec
load_left(const float *a, int i, int n)
{
	return n == HY_WIDTH ? vec_load(a + i) : vec_load_part(a + i, n);
}

HY_INLINE HyVec
accumulate(SumOp op, HyDtype dtype, HyVec acc, HyVec a, HyVec b)
{
	HyVec d;

	if (op == SUM_IP)
		return vec_fma(a, b, acc);
	d = dtype == HY_F32 && op == SUM_L2SQ ? vec_sub(a, b) : vec_sub_apart(a, b);
	if (op == SUM_L2SQ)
		return vec_fma(d, d, acc);
	return vec_add(acc, vec_abs(d));
}

/*
 * store_lanes: store the lanes to memory, where wide_from reads them.  Extracting lanes from
 * registers is slower.  KEEP_STORED prevents the compiler from extracting them anyway.
 */
HY_INLINE void
store_lanes(float *lanes, const HyVec *acc)
{
	int j;

	HY_UNROLL
	for (j = 0; j < HY_VECS; j++)
		vec_store(lanes + j * HY_WIDTH, acc[j]);
	KEEP_STORED(lanes);
}

/* flush: add the lanes to their twins, or initialize the twins if `first` is set. */
HY_INLINE void
flush(bool first, double *twin, const HyVec *acc)
{
	float lanes[HY_LANES] __attribute__((aligned(64)));
	int j;

	store_lanes(lanes, acc);
	for (j = 0; j < HY_LANES; j += HY_WIDE_WIDTH)
	{
		HyWide sum = wide_from(lanes + j);

		wide_store(twin + j, first ? sum : wide_add(wide_load(twin + j), sum));
	}
}

/* fold: add the lanes to their twins, unless twin is NULL, and fold them as a tree. */
HY_INLINE float
fold(SumOp op, const double *twin, const HyVec *acc)
{
	float lanes[HY_LANES] __attribute__((aligned(64)));
	HyWide sum[HY_WIDES];
	double total;
	int j;

	store_lanes(lanes, acc);
	HY_UNROLL
	for (j = 0; j < HY_WIDES; j++)
	{
		sum[j] = wide_from(lanes + j * HY_WIDE_WIDTH);
		if (twin != NULL)
			sum[j] = wide_add(wide_load(twin + j * HY_WIDE_WIDTH), sum[j]);
	}
#define FOLD_ONCE(h)                                                                               \
	HY_UNROLL                                                                                      \
	for (j = 0; j < (h) / HY_WIDE_WIDTH; j++)                                                      \
		sum[j] = wide_add(sum[j], sum[j + (h) / HY_WIDE_WIDTH]);
	FOLD_ONCE(32)
	FOLD_ONCE(16)
	FOLD_ONCE(8)
	FOLD_ONCE(4)
	FOLD_ONCE(2)
	FOLD_ONCE(1)
#undef FOLD_ONCE
	total = wide_fold(sum[0]);
	return (float) (op == SUM_IP ? total + 0.0 : total);
}

/*
 * fetch_ahead: prefetch the elements of b that a later step of HY_LANES elements will need, from
 * this row or the next one in memory.  Only binary16 elements are prefetched.  For floats, loads
 * are already the bottleneck.
 */
HY_INLINE void
fetch_ahead(HyDtype dtype, const void *b, int i)
{
	int line;

	if (dtype == HY_F32)
		return;
	HY_UNROLL
	for (line = 0; line < HY_LANES * 2; line += 64)
		__builtin_prefetch((const char *) row_from(dtype, b, i) + HY_AHEAD + line);
}

/* steps: add n whole steps of HY_LANES elements each to the lanes. */
HY_INLINE void
steps(SumOp op, HyDtype dtype, HyVec *acc, const float *a, const void *b, int n)
{
	int i;
	int j;

	for (i = 0; i < n * HY_LANES; i += HY_LANES)
	{
		fetch_ahead(dtype, b, i);
		HY_UNROLL
		for (j = 0; j < HY_VECS; j++)
			acc[j] = accumulate(op, dtype, acc[j], vec_load(a + i + j * HY_WIDTH),
			                    load_right(dtype, b, i + j * HY_WIDTH, HY_WIDTH));
	}
}

/* tail: add the last elements, fewer than HY_LANES.  Lanes without an element keep their values. */
HY_INLINE void
tail(SumOp op, HyDtype dtype, HyVec *acc, const float *a, const void *b, int n)
{
	int j;

	HY_UNROLL
	for (j = 0; j < HY_VECS; j++)
	{
		int i = j * HY_WIDTH;

		if (n - i >= HY_WIDTH)
			acc[j] =
				accumulate(op, dtype, acc[j], vec_load(a + i), load_right(dtype, b, i, HY_WIDTH));
		else if (n - i > 0)
			acc[j] = accumulate(op, dtype, acc[j], load_left(a, i, n - i),
			                    load_right(dtype, b, i, n - i));
	}
}

HY_INLINE void
clear(HyVec *acc)
{
	int j;

	HY_UNROLL
	for (j = 0; j < HY_VECS; j++)
		acc[j] = vec_zero();
}

/* flush_block: add HY_BLOCK elements to lanes, and flush the lanes to their twins. */
HY_INLINE void
flush_block(SumOp op, HyDtype dtype, bool first, double *twin, const float *a, const void *b)
{
	HyVec acc[HY_VECS];

	clear(acc);
	steps(op, dtype, acc, a, b, HY_FLUSH_STEPS);
	flush(first, twin, acc);
}

/*
 * end_pair: add at most HY_BLOCK final elements, and fold.  twin is NULL if there are no earlier
 * blocks.
 */
HY_INLINE float
end_pair(SumOp op, HyDtype dtype, const double *twin, const float *a, const void *b, int dims)
{
	HyVec acc[HY_VECS];
	int rest = dims % HY_LANES;

	clear(acc);
	steps(op, dtype, acc, a, b, dims / HY_LANES);
	if (rest != 0)
		tail(op, dtype, acc, a + (dims - rest), row_from(dtype, b, dims - rest), rest);
	return fold(op, twin, acc);
}

HY_INLINE float
sum_pair(SumOp op, HyDtype dtype, const float *a, const void *b, int dims)
{
	double twin[HY_LANES];
	int i;

	if (dims <= HY_BLOCK)
		return end_pair(op, dtype, NULL, a, b, dims);
	flush_block(op, dtype, true, twin, a, b);
	for (i = HY_BLOCK; dims - i > HY_BLOCK; i += HY_BLOCK)
		flush_block(op, dtype, false, twin, a + i, row_from(dtype, b, i));
	return end_pair(op, dtype, twin, a + i, row_from(dtype, b, i), dims - i);
}

/* add_both: add n elements, starting at element i, to one register of each sum. */
HY_INLINE void
add_both(HyDtype dtype, HyVec *ip, HyVec *norm, const float *a, const void *b, int i, int n)
{
	HyVec right = load_right(dtype, b, i, n);

	*ip = vec_fma(load_left(a, i, n), right, *ip);
	*norm = vec_fma(right, right, *norm);
}

/*
 * steps_both: add n elements to both sums.  n is a multiple of together * HY_LANES.
 *
 * One pass over the row serves both sums, to save memory bandwidth.  The two sums may need one
 * register more than the processor has.  The compiler then keeps one accumulator in memory.  To
 * load and store it in every step would be slow.  So each accumulator is loaded and stored only
 * once per `together` steps.
 */
HY_INLINE void
steps_both(HyDtype dtype, int together, HyVec *ip, HyVec *norm, const float *a, const void *b,
           int n)
{
	int i;
	int j;
	int step;

	for (i = 0; i < n; i += together * HY_LANES)
	{
		HY_UNROLL
		for (step = 0; step < together; step++)
			fetch_ahead(dtype, b, i + step * HY_LANES);
		HY_UNROLL
		for (j = 0; j < HY_VECS; j++)
		{
			HY_UNROLL
			for (step = 0; step < together; step++)
				add_both(dtype, &ip[j], &norm[j], a, b, i + step * HY_LANES + j * HY_WIDTH,
				         HY_WIDTH);
		}
	}
}

/* block_ip_norm: compute both sums, in registers, over at most HY_BLOCK elements. */
HY_INLINE void
block_ip_norm(HyDtype dtype, HyVec *ip, HyVec *norm, const float *a, const void *b, int dims)
{
	int together = dims - dims % (HY_PAIR_STEPS * HY_LANES);
	int whole = dims - dims % HY_LANES;
	int j;

	clear(ip);
	clear(norm);
	steps_both(dtype, HY_PAIR_STEPS, ip, norm, a, b, together);
	if (HY_PAIR_STEPS > 1)
		steps_both(dtype, 1, ip, norm, a + together, row_from(dtype, b, together),
		           whole - together);
	if (whole == dims)
		return;
	HY_UNROLL
	for (j = 0; j < HY_VECS; j++)
	{
		int i = whole + j * HY_WIDTH;

		if (dims - i >= HY_WIDTH)
			add_both(dtype, &ip[j], &norm[j], a, b, i, HY_WIDTH);
		else if (dims - i > 0)
			add_both(dtype, &ip[j], &norm[j], a, b, i, dims - i);
	}
}

/* end_ip_norm: add at most HY_BLOCK final elements to both sums, and fold. */
HY_INLINE void
end_ip_norm(HyDtype dtype, const double *twin_ip, const double *twin_norm, const float *a,
            const void *b, int dims, float out[2])
{
	HyVec ip[HY_VECS];
	HyVec norm[HY_VECS];

	block_ip_norm(dtype, ip, norm, a, b, dims);
	out[0] = fold(SUM_IP, twin_ip, ip);
	out[1] = fold(SUM_NORM, twin_norm, norm);
}

/*
 * flush_block_ip_norm: add HY_BLOCK elements to the lanes of both sums, and flush the lanes to
 * their twins.
 */
HY_INLINE void
flush_block_ip_norm(HyDtype dtype, bool first, double *twin_ip, double *twin_norm, const float *a,
                    const void *b)
{
	HyVec ip[HY_VECS];
	HyVec norm[HY_VECS];

	block_ip_norm(dtype, ip, norm, a, b, HY_BLOCK);
	flush(first, twin_ip, ip);
	flush(first, twin_norm, norm);
}

HY_INLINE void
sum_ip_norm(HyDtype dtype, const float *a, const void *b, int dims, float out[2])
{
	double twin_ip[HY_LANES];
	double twin_norm[HY_LANES];
	int i;

	if (dims <= HY_BLOCK)
	{
		end_ip_norm(dtype, NULL, NULL, a, b, dims, out);
		return;
	}
	flush_block_ip_norm(dtype, true, twin_ip, twin_norm, a, b);
	for (i = HY_BLOCK; dims - i > HY_BLOCK; i += HY_BLOCK)
		flush_block_ip_norm(dtype, false, twin_ip, twin_norm, a + i, row_from(dtype, b, i));
	end_ip_norm(dtype, twin_ip, twin_norm, a + i, row_from(dtype, b, i), dims - i, out);
}

/* The entry points, for both element types. */
#define HY_ENTRY(name, dtype)                                                                      \
	static HY_TARGET float l2sq_##name(const float *a, const void *b, int dims)                    \
	{                                                                                              \
		return sum_pair(SUM_L2SQ, dtype, a, b, dims);                                              \
	}                                                                                              \
	static HY_TARGET float ip_##name(const float *a, const void *b, int dims)                      \
	{                                                                                              \
		return sum_pair(SUM_IP, dtype, a, b, dims);                                                \
	}                                                                                              \
	static HY_TARGET float l1_##name(const float *a, const void *b, int dims)                      \
	{                                                                                              \
		return sum_pair(SUM_L1, dtype, a, b, dims);                                                \
	}                                                                                              \
	static HY_TARGET void ip_norm_##name(const float *a, const void *b, int dims, float out[2])    \
	{                                                                                              \
		sum_ip_norm(dtype, a, b, dims, out);                                                       \
	}

HY_ENTRY(f32, HY_F32)
HY_ENTRY(f16, HY_F16)

static HY_TARGET void
widen_f16(float *dst, const uint16_t *src, int n)
{
	int i;

	for (i = 0; i + HY_WIDTH <= n; i += HY_WIDTH)
		vec_store(dst + i, vec_load_half(src + i));
	for (; i < n; i++)
		dst[i] = hy_half_to_float(src[i]);
}

static HY_TARGET void
narrow_f16(uint16_t *dst, const float *src, int n)
{
	int i;

	for (i = 0; i + HY_WIDTH <= n; i += HY_WIDTH)
		vec_store_half(dst + i, vec_load(src + i));
	for (; i < n; i++)
		dst[i] = hy_float_to_half(src[i]);
}

#define HY_KERNELS_OF(level)                                                                       \
	{                                                                                              \
		level, {{l2sq_f32, ip_f32, l1_f32, ip_norm_f32}, {l2sq_f16, ip_f16, l1_f16, ip_norm_f16}}, \
			widen_f16, narrow_f16                                                                  \
	}

const HyKernels HY_TABLE = HY_KERNELS_OF(HY_LEVEL);
