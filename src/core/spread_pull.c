/*
 * spread_pull.c
 *		The inner loops of activation spreading.
 *
 * fma() is a call into libm unless the compiler may use the instruction, so the sum is compiled
 * twice.  Both versions round in the same way.
 */
#include "core/spread_pull.h"

#include <math.h>

#if defined(__x86_64__) && defined(__GNUC__)
#define HAVE_FMA_VARIANT 1
#endif

/* Rows of at most this many entries are summed without lanes in memory. */
#define SHORT_ROW 4

#define ALWAYS_INLINE static inline __attribute__((always_inline))

static void add_sum_plain(const uint32_t *column, const float *weight, int64_t count,
                          const double *charge, double *lane);
static void
rows_sum_plain(const HyCsr *graph, const double *charge, int64_t from, int64_t to, double *y);
static void add_max(const uint32_t *column, const float *weight, int64_t count,
                    const double *charge, double *lane);
static void rows_max(const HyCsr *graph, const double *charge, int64_t from, int64_t to, double *y);
#ifdef HAVE_FMA_VARIANT
static void add_sum_fma(const uint32_t *column, const float *weight, int64_t count,
                        const double *charge, double *lane);
static void
rows_sum_fma(const HyCsr *graph, const double *charge, int64_t from, int64_t to, double *y);
#endif

HySpreadPull
hy_spread_pull(HyCombine combine, bool fma)
{
	if (combine == HY_COMBINE_MAX)
		return (HySpreadPull){rows_max, add_max};
#ifdef HAVE_FMA_VARIANT
	if (fma)
		return (HySpreadPull){rows_sum_fma, add_sum_fma};
#endif
	(void) fma;
	return (HySpreadPull){rows_sum_plain, add_sum_plain};
}

/* add_sum: add the entries of one row to its lanes.  The first entry belongs to lane 0. */
ALWAYS_INLINE void
add_sum(const uint32_t *column, const float *weight, int64_t count, const double *charge,
        double *lane)
{
	int64_t p = 0;
	int l;

	for (; p + HY_SPREAD_LANES <= count; p += HY_SPREAD_LANES)
	{
		for (l = 0; l < HY_SPREAD_LANES; l++)
			lane[l] = __builtin_fma(charge[column[p + l]], weight[p + l], lane[l]);
	}
	for (l = 0; p < count; p++, l++)
		lane[l] = __builtin_fma(charge[column[p]], weight[p], lane[l]);
}

/*
 * short_row_sum: return the sum of a row of 1 to SHORT_ROW entries, each in a lane of its own. The
 * products and sums are those of add_sum and the fold, without empty lanes.
 */
ALWAYS_INLINE double
short_row_sum(const uint32_t *column, const float *weight, int64_t count, const double *charge)
{
	double first = charge[column[0]] * weight[0];
	double second;

	if (count == 1)
		return first;
	second = charge[column[1]] * weight[1];
	if (count == 2)
		return first + second;
	first += charge[column[2]] * weight[2];
	if (count == 4)
		second += charge[column[3]] * weight[3];
	return first + second;
}

/*
 * rows_sum: sum whole rows.  If a row has fewer entries than there are lanes, the fold skips the
 * empty lanes, because x + 0 is x.
 */
ALWAYS_INLINE void
rows_sum(const HyCsr *graph, const double *charge, int64_t from, int64_t to, double *y)
{
	int64_t row;

	for (row = from; row < to; row++)
	{
		int64_t begin = graph->row_start[row];
		int64_t count = graph->row_start[row + 1] - begin;
		double lane[HY_SPREAD_LANES];
		int64_t live = count < HY_SPREAD_LANES ? count : HY_SPREAD_LANES;
		int64_t h;
		int64_t l;

		if (count > 0 && count <= SHORT_ROW)
		{
			y[row] = short_row_sum(graph->column + begin, graph->weight + begin, count, charge);
			continue;
		}
		for (l = 0; l < live; l++)
			lane[l] = 0;
		add_sum(graph->column + begin, graph->weight + begin, count, charge, lane);
		for (h = HY_SPREAD_LANES / 2; h > 0; h /= 2)
		{
			for (l = 0; l + h < live; l++)
				lane[l] += lane[l + h];
			live = live < h ? live : h;
		}
		y[row] = count > 0 ? lane[0] : 0;
	}
}

static void
add_sum_plain(const uint32_t *column, const float *weight, int64_t count, const double *charge,
              double *lane)
{
	add_sum(column, weight, count, charge, lane);
}

static void
rows_sum_plain(const HyCsr *graph, const double *charge, int64_t from, int64_t to, double *y)
{
	rows_sum(graph, charge, from, to, y);
}

#ifdef HAVE_FMA_VARIANT

__attribute__((target("avx2,fma"))) static void
add_sum_fma(const uint32_t *column, const float *weight, int64_t count, const double *charge,
            double *lane)
{
	add_sum(column, weight, count, charge, lane);
}

__attribute__((target("avx2,fma"))) static void
rows_sum_fma(const HyCsr *graph, const double *charge, int64_t from, int64_t to, double *y)
{
	rows_sum(graph, charge, from, to, y);
}

#endif

/*
 * add_max, rows_max: keep the largest product instead of the sum.  The order of the products does
 * not matter.
 */
static void
add_max(const uint32_t *column, const float *weight, int64_t count, const double *charge,
        double *lane)
{
	int64_t p;

	for (p = 0; p < count; p++)
	{
		double product = charge[column[p]] * weight[p];

		if (product > lane[0])
			lane[0] = product;
	}
}

static void
rows_max(const HyCsr *graph, const double *charge, int64_t from, int64_t to, double *y)
{
	int64_t row;

	for (row = from; row < to; row++)
	{
		double largest = 0;

		add_max(graph->column + graph->row_start[row], graph->weight + graph->row_start[row],
		        graph->row_start[row + 1] - graph->row_start[row], charge, &largest);
		y[row] = largest;
	}
}
