/*
 * spread_pull.c
 *		The inner loops of activation spreading.
 *
 * fma() is a call into libm unless the compiler may use the instruction, so the sum is compiled
 * twice.  Both versions round in the same way.
 *
 * When few nodes fire, most of the time is spent waiting for memory: the rows and the charges of
 * their sources are scattered.  So rows are prefetched before they are pulled.  A charge is read
 * only if the bitmap says that its node fires.  The bitmap is small enough for the nearest cache.
 */
#include "core/spread_pull.h"

#include <math.h>

#if defined(__x86_64__) && defined(__GNUC__)
#define HAVE_FMA_VARIANT 1
#endif

/* Rows of at most this many entries are summed without lanes in memory. */
#define SHORT_ROW 4

/* prefetch distances, in listed rows, of the start of a row and of its entries */
#define START_AHEAD 24
#define ENTRIES_AHEAD 12

#define ALWAYS_INLINE static inline __attribute__((always_inline))

static void
rows_sum_plain(const HyCsr *graph, const double *charge, int64_t from, int64_t to, double *y);
static void listed_sum_plain(const HyCsr *graph, const HySpreadCharges *charges,
                             const uint32_t *row, int64_t count, double *y);
static void add_sum_plain(const uint32_t *column, const float *weight, int64_t count,
                          const HySpreadCharges *charges, double *lane);
static void rows_max(const HyCsr *graph, const double *charge, int64_t from, int64_t to, double *y);
static void listed_max(const HyCsr *graph, const HySpreadCharges *charges, const uint32_t *row,
                       int64_t count, double *y);
static void add_max(const uint32_t *column, const float *weight, int64_t count,
                    const HySpreadCharges *charges, double *lane);
#ifdef HAVE_FMA_VARIANT
static void listed_sum_fma(const HyCsr *graph, const HySpreadCharges *charges, const uint32_t *row,
                           int64_t count, double *y);
static void add_sum_fma(const uint32_t *column, const float *weight, int64_t count,
                        const HySpreadCharges *charges, double *lane);
#endif

HySpreadPull
hy_spread_pull(HyCombine combine, bool fma)
{
	if (combine == HY_COMBINE_MAX)
		return (HySpreadPull){rows_max, listed_max, add_max};
#ifdef HAVE_FMA_VARIANT
	if (fma)
		return (HySpreadPull){hy_spread_rows_avx2, listed_sum_fma, add_sum_fma};
#endif
	(void) fma;
	return (HySpreadPull){rows_sum_plain, listed_sum_plain, add_sum_plain};
}

ALWAYS_INLINE bool
fires(const HySpreadCharges *charges, uint32_t node)
{
	return (charges->firing[node / 64] >> node % 64 & 1) != 0;
}

/*
 * firing_entries: list the positions of the entries whose sources fire, and return their number.
 * count is at most HY_SPREAD_LANES.
 */
ALWAYS_INLINE int
firing_entries(const uint32_t *column, int64_t count, const HySpreadCharges *charges,
               uint8_t *place)
{
	int found = 0;
	int p;

	for (p = 0; p < (int) count; p++)
	{
		place[found] = (uint8_t) p;
		found += fires(charges, column[p]);
	}
	return found;
}

/* prefetch_listed: prefetch rows that come later in the list. */
ALWAYS_INLINE void
prefetch_listed(const HyCsr *graph, const uint32_t *row, int64_t i, int64_t count)
{
	if (i + START_AHEAD < count)
		__builtin_prefetch(&graph->row_start[row[i + START_AHEAD]]);
	if (i + ENTRIES_AHEAD < count)
	{
		int64_t begin = graph->row_start[row[i + ENTRIES_AHEAD]];

		__builtin_prefetch(&graph->column[begin]);
		__builtin_prefetch(&graph->weight[begin]);
	}
}

/*
 * add_firing: add to the lanes of a row those of its entries whose sources fire.  The first entry
 * belongs to lane 0.
 */
ALWAYS_INLINE void
add_firing(const uint32_t *column, const float *weight, int64_t count,
           const HySpreadCharges *charges, double *lane)
{
	int64_t begin;

	for (begin = 0; begin < count; begin += HY_SPREAD_LANES)
	{
		int64_t rest = count - begin;
		uint8_t place[HY_SPREAD_LANES];
		int found = firing_entries(column + begin, rest < HY_SPREAD_LANES ? rest : HY_SPREAD_LANES,
		                           charges, place);
		int i;

		for (i = 0; i < found; i++)
		{
			int64_t p = begin + place[i];

			lane[place[i]] = __builtin_fma(charges->charge[column[p]], weight[p], lane[place[i]]);
		}
	}
}

/*
 * few_firing_sum: store the sum of a row of at most HY_SPREAD_LANES entries, each in a lane of its
 * own.  Returns false, and stores nothing, if more than two of the sources fire.
 */
ALWAYS_INLINE bool
few_firing_sum(const uint32_t *column, const float *weight, int64_t count,
               const HySpreadCharges *charges, double *sum)
{
	uint8_t place[HY_SPREAD_LANES];
	int found = firing_entries(column, count, charges, place);

	if (found > 2)
		return false;
	*sum = 0;
	if (found > 0)
		*sum = charges->charge[column[place[0]]] * weight[place[0]];
	if (found > 1)
		*sum += charges->charge[column[place[1]]] * weight[place[1]];
	return true;
}

/* listed_sum: sum whole rows. */
ALWAYS_INLINE void
listed_sum(const HyCsr *graph, const HySpreadCharges *charges, const uint32_t *row, int64_t count,
           double *y)
{
	double lane[HY_SPREAD_LANES];
	int64_t i;
	int l;

	for (i = 0; i < count; i++)
	{
		int64_t begin = graph->row_start[row[i]];
		int64_t entries = graph->row_start[row[i] + 1] - begin;
		const uint32_t *column = graph->column + begin;
		const float *weight = graph->weight + begin;

		prefetch_listed(graph, row, i, count);
		if (entries <= HY_SPREAD_LANES &&
		    few_firing_sum(column, weight, entries, charges, &y[row[i]]))
			continue;
		for (l = 0; l < HY_SPREAD_LANES; l++)
			lane[l] = 0;
		add_firing(column, weight, entries, charges, lane);
		y[row[i]] = hy_spread_fold(lane);
	}
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
 * rows_sum: sum whole rows.  If a row has fewer entries than there are lanes, the fold skips the
 * empty lanes, because adding 0 changes nothing.
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
			y[row] =
				hy_spread_short_row(graph->column + begin, graph->weight + begin, count, charge);
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
rows_sum_plain(const HyCsr *graph, const double *charge, int64_t from, int64_t to, double *y)
{
	rows_sum(graph, charge, from, to, y);
}

static void
listed_sum_plain(const HyCsr *graph, const HySpreadCharges *charges, const uint32_t *row,
                 int64_t count, double *y)
{
	listed_sum(graph, charges, row, count, y);
}

static void
add_sum_plain(const uint32_t *column, const float *weight, int64_t count,
              const HySpreadCharges *charges, double *lane)
{
	add_firing(column, weight, count, charges, lane);
}

#ifdef HAVE_FMA_VARIANT

__attribute__((target("avx2,fma"))) static void
listed_sum_fma(const HyCsr *graph, const HySpreadCharges *charges, const uint32_t *row,
               int64_t count, double *y)
{
	listed_sum(graph, charges, row, count, y);
}

__attribute__((target("avx2,fma"))) static void
add_sum_fma(const uint32_t *column, const float *weight, int64_t count,
            const HySpreadCharges *charges, double *lane)
{
	add_firing(column, weight, count, charges, lane);
}

#endif

/*
 * rows_max, listed_max, add_max: keep the largest product instead of the sum.  The order of the
 * products does not matter.
 */
static void
rows_max(const HyCsr *graph, const double *charge, int64_t from, int64_t to, double *y)
{
	int64_t row;
	int64_t p;

	for (row = from; row < to; row++)
	{
		double largest = 0;

		for (p = graph->row_start[row]; p < graph->row_start[row + 1]; p++)
		{
			double product = charge[graph->column[p]] * graph->weight[p];

			if (product > largest)
				largest = product;
		}
		y[row] = largest;
	}
}

static void
listed_max(const HyCsr *graph, const HySpreadCharges *charges, const uint32_t *row, int64_t count,
           double *y)
{
	int64_t i;

	for (i = 0; i < count; i++)
	{
		int64_t begin = graph->row_start[row[i]];
		double largest = 0;

		prefetch_listed(graph, row, i, count);
		add_max(graph->column + begin, graph->weight + begin, graph->row_start[row[i] + 1] - begin,
		        charges, &largest);
		y[row[i]] = largest;
	}
}

static void
add_max(const uint32_t *column, const float *weight, int64_t count, const HySpreadCharges *charges,
        double *lane)
{
	int64_t p;

	for (p = 0; p < count; p++)
	{
		double product;

		if (!fires(charges, column[p]))
			continue;
		product = charges->charge[column[p]] * weight[p];
		if (product > lane[0])
			lane[0] = product;
	}
}
