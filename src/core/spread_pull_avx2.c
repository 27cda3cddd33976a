/*
 * spread_pull_avx2.c
 *		Summing whole rows in 256-bit registers.
 *
 * Eight registers of four doubles are the 32 lanes of a row.  A row of at most 32 entries has at
 * most one entry in each lane, so a lane is a product and not a sum.  Such a row uses one register
 * for each four entries.  A switch over the number of registers costs at most one branch
 * misprediction per row.  Two loops, over groups of four entries and over the rest, would cost
 * several.  The fold adds only the registers in use, because adding 0 changes nothing.  The charges
 * are loaded one by one: gather instructions are slower on many processors.
 */
#include "core/spread_pull.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#define WIDTH 4
#define REGISTERS (HY_SPREAD_LANES / WIDTH)

#define PRIMITIVE static inline __attribute__((always_inline, target("avx2,fma")))

/* four_charges: load the charges of four sources. */
PRIMITIVE __m256d
four_charges(const uint32_t *column, const double *charge)
{
	return _mm256_set_pd(charge[column[3]], charge[column[2]], charge[column[1]],
	                     charge[column[0]]);
}

/* products: return the products of four entries. */
PRIMITIVE __m256d
products(const uint32_t *column, const float *weight, const double *charge)
{
	return _mm256_mul_pd(four_charges(column, charge), _mm256_cvtps_pd(_mm_loadu_ps(weight)));
}

/* last_products: return the products of 1 to 4 entries, and 0 in the other lanes. */
PRIMITIVE __m256d
last_products(const uint32_t *column, const float *weight, int64_t count, const double *charge)
{
	static const int32_t ones[2 * WIDTH] = {-1, -1, -1, -1};
	__m128i mask = _mm_loadu_si128((const __m128i *) (ones + WIDTH - count));
	uint32_t source[WIDTH];

	/* a lane beyond the end of the row has the charge of node 0 and a weight of 0 */
	_mm_storeu_si128((__m128i *) source, _mm_maskload_epi32((const int *) column, mask));
	return _mm256_and_pd(
		_mm256_mul_pd(four_charges(source, charge), _mm256_cvtps_pd(_mm_maskload_ps(weight, mask))),
		_mm256_castsi256_pd(_mm256_cvtepi32_epi64(mask)));
}

/* sum_of_four: fold the last four lanes. */
PRIMITIVE double
sum_of_four(__m256d lanes)
{
	__m128d two = _mm_add_pd(_mm256_castpd256_pd128(lanes), _mm256_extractf128_pd(lanes, 1));

	return _mm_cvtsd_f64(two) + _mm_cvtsd_f64(_mm_unpackhi_pd(two, two));
}

/* fold: return the sum of the lanes of the first `used` registers. */
PRIMITIVE double
fold(__m256d *lanes, int used)
{
	int half;
	int r;

#pragma GCC unroll 3
	for (half = REGISTERS / 2; half > 0; half /= 2)
	{
#pragma GCC unroll 4
		for (r = 0; r + half < used; r++)
			lanes[r] = _mm256_add_pd(lanes[r], lanes[r + half]);
		used = used < half ? used : half;
	}
	return sum_of_four(lanes[0]);
}

/* few_fours: return the sum of a row that uses this number of registers, a compile-time constant. */
PRIMITIVE double
few_fours(int registers, const uint32_t *column, const float *weight, int64_t count,
          const double *charge)
{
	__m256d lanes[REGISTERS];
	int last = registers - 1;
	int r;

#pragma GCC unroll 8
	for (r = 0; r < last; r++)
		lanes[r] = products(column + r * WIDTH, weight + r * WIDTH, charge);
	lanes[last] =
		last_products(column + last * WIDTH, weight + last * WIDTH, count - last * WIDTH, charge);
	return fold(lanes, registers);
}

/* long_row: return the sum of a row of more than 32 entries. */
PRIMITIVE double
long_row(const uint32_t *column, const float *weight, int64_t count, const double *charge)
{
	__m256d lanes[REGISTERS];
	double rest[HY_SPREAD_LANES];
	int64_t p;
	int r;
	int l;

#pragma GCC unroll 8
	for (r = 0; r < REGISTERS; r++)
		lanes[r] = products(column + r * WIDTH, weight + r * WIDTH, charge);
	for (p = HY_SPREAD_LANES; p + HY_SPREAD_LANES <= count; p += HY_SPREAD_LANES)
	{
#pragma GCC unroll 8
		for (r = 0; r < REGISTERS; r++)
			lanes[r] =
				_mm256_fmadd_pd(four_charges(column + p + r * WIDTH, charge),
			                    _mm256_cvtps_pd(_mm_loadu_ps(weight + p + r * WIDTH)), lanes[r]);
	}
	if (p == count)
		return fold(lanes, REGISTERS);
#pragma GCC unroll 8
	for (r = 0; r < REGISTERS; r++)
		_mm256_storeu_pd(rest + r * WIDTH, lanes[r]);
	for (l = 0; p < count; p++, l++)
		rest[l] = __builtin_fma(charge[column[p]], weight[p], rest[l]);
#pragma GCC unroll 8
	for (r = 0; r < REGISTERS; r++)
		lanes[r] = _mm256_loadu_pd(rest + r * WIDTH);
	return fold(lanes, REGISTERS);
}

/* row_sum: return the sum of a row. */
PRIMITIVE double
row_sum(const uint32_t *column, const float *weight, int64_t count, const double *charge)
{
	switch ((count + WIDTH - 1) / WIDTH)
	{
		case 0:
			return 0;
		case 1:
			return few_fours(1, column, weight, count, charge);
		case 2:
			return few_fours(2, column, weight, count, charge);
		case 3:
			return few_fours(3, column, weight, count, charge);
		case 4:
			return few_fours(4, column, weight, count, charge);
		case 5:
			return few_fours(5, column, weight, count, charge);
		case 6:
			return few_fours(6, column, weight, count, charge);
		case 7:
			return few_fours(7, column, weight, count, charge);
		case 8:
			return few_fours(8, column, weight, count, charge);
		default:
			return long_row(column, weight, count, charge);
	}
}

__attribute__((target("avx2,fma"))) void
hy_spread_rows_avx2(const HyCsr *graph, const double *charge, int64_t from, int64_t to, double *y)
{
	int64_t row;

	for (row = from; row < to; row++)
	{
		int64_t begin = graph->row_start[row];
		int64_t count = graph->row_start[row + 1] - begin;

		y[row] = row_sum(graph->column + begin, graph->weight + begin, count, charge);
	}
}

#endif
