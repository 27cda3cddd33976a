/*
 * spread_pull_avx2.c
 *		Summing whole rows in 256-bit registers.
 *
 * Eight registers of four doubles are the 32 lanes of a row.  A row shorter than that uses as many
 * registers as it needs.  The fold adds only these, because x + 0 is x.  The charges are loaded one by
 * one: gather instructions are slower on many processors.
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

/* fill: load the charges and weights of 1 to 3 entries, and 0 into the remaining lanes. */
PRIMITIVE void
fill(const uint32_t *column, const float *weight, int64_t count, const double *charge,
     __m256d *charges, __m256d *weights)
{
	double c1 = count > 1 ? charge[column[1]] : 0;
	double c2 = count > 2 ? charge[column[2]] : 0;
	double w1 = count > 1 ? weight[1] : 0;
	double w2 = count > 2 ? weight[2] : 0;

	*charges = _mm256_set_pd(0, c2, c1, charge[column[0]]);
	*weights = _mm256_set_pd(0, w2, w1, weight[0]);
}

/* sum_of_four: fold the last four lanes. */
PRIMITIVE double
sum_of_four(__m256d lanes)
{
	__m128d two = _mm_add_pd(_mm256_castpd256_pd128(lanes), _mm256_extractf128_pd(lanes, 1));

	return _mm_cvtsd_f64(two) + _mm_cvtsd_f64(_mm_unpackhi_pd(two, two));
}

/* long_row: return the sum of a row of more than 4 entries. */
PRIMITIVE double
long_row(const uint32_t *column, const float *weight, int64_t count, const double *charge)
{
	__m256d lanes[REGISTERS];
	int64_t full = count / WIDTH;
	int64_t used = full + (count % WIDTH > 0);
	int64_t r;
	int64_t h;

	used = used < REGISTERS ? used : REGISTERS;
	for (r = 0; r < used; r++)
		lanes[r] = _mm256_setzero_pd();
	for (r = 0; r < full; r++)
		lanes[r % REGISTERS] = _mm256_fmadd_pd(four_charges(column + r * WIDTH, charge),
		                                       _mm256_cvtps_pd(_mm_loadu_ps(weight + r * WIDTH)),
		                                       lanes[r % REGISTERS]);
	if (count % WIDTH > 0)
	{
		__m256d charges, weights;

		fill(column + full * WIDTH, weight + full * WIDTH, count % WIDTH, charge, &charges,
		     &weights);
		lanes[full % REGISTERS] = _mm256_fmadd_pd(charges, weights, lanes[full % REGISTERS]);
	}
	for (h = REGISTERS / 2; h > 0; h /= 2)
	{
		for (r = 0; r + h < used; r++)
			lanes[r] = _mm256_add_pd(lanes[r], lanes[r + h]);
		used = used < h ? used : h;
	}
	return sum_of_four(lanes[0]);
}

__attribute__((target("avx2,fma"))) void
hy_spread_rows_avx2(const HyCsr *graph, const double *charge, int64_t from, int64_t to, double *y)
{
	int64_t row;

	for (row = from; row < to; row++)
	{
		int64_t begin = graph->row_start[row];
		int64_t count = graph->row_start[row + 1] - begin;

		if (count > WIDTH)
			y[row] = long_row(graph->column + begin, graph->weight + begin, count, charge);
		else
			y[row] = count > 0 ? hy_spread_short_row(graph->column + begin, graph->weight + begin,
			                                         count, charge)
			                   : 0;
	}
}

#endif
