/*
 * postings_test.c
 *		Bounds of distances from inverted lists.
 */
#include "unit.h"

#include <float.h>
#include <math.h>

#include "core/postings.h"

#define DIMS 60
#define ROWS 300
#define MOST 40 /* elements of a row */

/* Rows: rows and their inverted lists. */
typedef struct Rows
{
	int32_t indices[ROWS][MOST];
	float values[ROWS][MOST];
	HySparse views[ROWS];
	uint16_t rows[DIMS][ROWS];
	float elements[DIMS][ROWS];
	int counts[DIMS];
} Rows;

static const HyMetric metrics[] = {HY_METRIC_L2, HY_METRIC_IP, HY_METRIC_COSINE, HY_METRIC_L1};
static float sums[HY_POSTING_ROWS];
static int all_excluded; /* number of rows that tests have excluded */

/* value_of: a random value, not 0, around `scale`; if spread > 0, scales of rows differ by up to 10^spread. */
static float
value_of(UnitRandom *random, double scale, double spread)
{
	double size = scale * pow(10, spread * (unit_random_unit(random) - 0.5));
	float value = (float) (size * unit_random_gaussian(random));

	return value == 0 || !isfinite(value) ? (float) scale : value;
}

static void
make_row(Rows *all, int row, UnitRandom *random, double scale, double spread, bool positive)
{
	int count = 0, dim;

	for (dim = 0; dim < DIMS && count < MOST; dim++)
	{
		/* the first dimensions are in most rows, the last in few */
		if (unit_random_below(random, (uint64_t) (dim + 2)) > 1)
			continue;
		all->indices[row][count] = dim;
		all->values[row][count] = value_of(random, scale, spread);
		if (positive)
			all->values[row][count] = fabsf(all->values[row][count]);
		all->rows[dim][all->counts[dim]] = (uint16_t) row;
		all->elements[dim][all->counts[dim]++] = all->values[row][count++];
	}
	all->views[row] = (HySparse){DIMS, count, all->indices[row], all->values[row]};
}

/* add_lists: add the terms of all dimensions that the query has; a list comes in two parts, as from two pages. */
static void
add_lists(const Rows *all, const HySparse *query, HyMetric metric, HyPostingsBounds *bounds)
{
	int i;

	hy_postings_clear(sums);
	hy_postings_begin(bounds, metric, query);
	for (i = 0; i < query->count; i++)
	{
		int dim = query->indices[i], count = all->counts[dim], first = count / 3;
		float step[2] = {0, 0}, loss[2] = {0, 0};
		int16_t multiples[ROWS];

		hy_postings_round(all->elements[dim], first, multiples, &step[0], &loss[0]);
		hy_postings_add(metric, query->values[i], step[0], all->rows[dim], multiples, first, sums);
		hy_postings_round(all->elements[dim] + first, count - first, multiples, &step[1], &loss[1]);
		hy_postings_add(metric, query->values[i], step[1], all->rows[dim] + first, multiples,
		                count - first, sums);
		hy_postings_dimension(bounds, query->values[i], fmaxf(step[0], step[1]),
		                      fmaxf(loss[0], loss[1]));
	}
}

/* check_test: check that rows that the test excludes are beyond the limit, for limits around distances of rows. */
static void
check_test(const Rows *all, const HySparse *query, HyMetric metric, const HyPostingsBounds *bounds)
{
	float measures[ROWS];
	int row, i;

	for (row = 0; row < ROWS; row++)
		measures[row] = hy_postings_measure(metric, &all->views[row]);
	for (row = 0; row < ROWS; row += 37)
	{
		double limit = hy_sparse_distance(metric, query, &all->views[row]);
		HyPostingsTest test;

		hy_postings_test_init(&test, bounds, limit);
		for (i = 0; i + 32 <= ROWS; i++)
		{
			uint32_t near = hy_postings_near(&test, sums + i, measures + i);

			if ((near & 1) == 0)
			{
				double exact = hy_sparse_distance(metric, query, &all->views[i]);

				CHECK_MSG(isnan(exact) || exact > limit, "metric %d, row %d: %.9g within %.9g",
				          (int) metric, i, exact, limit);
				all_excluded++;
			}
		}
	}
}

/* check_rows: check the bounds of all rows for this query. Returns the greatest width. */
static double
check_rows(const Rows *all, const HySparse *query, HyMetric metric)
{
	HyPostingsBounds bounds;
	double widest = 0;
	int row;

	add_lists(all, query, metric, &bounds);
	for (row = 0; row < ROWS; row++)
	{
		double exact = hy_sparse_distance(metric, query, &all->views[row]), lower, upper;

		hy_postings_bound(&bounds, sums[row], hy_postings_measure(metric, &all->views[row]), &lower,
		                  &upper);
		if (isnan(exact))
			CHECK(isinf(lower) && isinf(upper));
		else
			CHECK_MSG(lower <= exact && exact <= upper, "metric %d, row %d: %.9g not in %.9g, %.9g",
			          (int) metric, row, exact, lower, upper);
		widest = fmax(widest, upper - lower);
	}
	check_test(all, query, metric, &bounds);
	return widest;
}

/* No distance is outside of its bounds, whatever the scale of the values. */
static void
test_bounds_hold(void)
{
	static const double scales[] = {1,    1e-3,  1e3,   1e-18, 1e-22, 1e-23,
	                                1e18, 1e-38, 1e-44, 1e37,  2e38};
	static Rows all;
	UnitRandom random = {1};
	size_t i, m;
	int spread, row;

	for (i = 0; i < sizeof(scales) / sizeof(scales[0]); i++)
	{
		for (spread = 0; spread < 3; spread++)
		{
			memset(&all, 0, sizeof(all));
			for (row = 0; row < ROWS; row++)
				make_row(&all, row, &random, scales[i], 3 * spread, spread == 1);
			for (m = 0; m < sizeof(metrics) / sizeof(metrics[0]); m++)
			{
				for (row = 0; row < 10; row++)
					check_rows(&all, &all.views[row], metrics[m]);
			}
		}
	}
}

/* For usual values, the bounds are so near to each other that they separate rows. */
static void
test_bounds_are_tight(void)
{
	static Rows all;
	UnitRandom random = {2};
	size_t m;
	int row;

	for (row = 0; row < ROWS; row++)
		make_row(&all, row, &random, 1, 0, true);
	all_excluded = 0;
	for (m = 0; m < sizeof(metrics) / sizeof(metrics[0]); m++)
	{
		/* the distance of a row from itself is where the square root is steepest */
		double most = metrics[m] == HY_METRIC_L2 ? 0.2 : 5e-3,
			   width = check_rows(&all, &all.views[1], metrics[m]);

		CHECK_MSG(width < most, "metric %d: %g", (int) metrics[m], width);
	}
	CHECK(all_excluded > 1000);
}

/* A row without an element that the query has, and a query without elements. */
static void
test_nothing_in_common(void)
{
	static Rows all;
	UnitRandom random = {3};
	HySparse none = {DIMS, 0, NULL, NULL};
	size_t m;
	int row;

	for (row = 0; row < ROWS; row++)
	{
		if (row % 3 == 0)
			all.views[row] = none;
		else
			make_row(&all, row, &random, 1, 0, false);
	}
	for (m = 0; m < sizeof(metrics) / sizeof(metrics[0]); m++)
	{
		double width = check_rows(&all, &none, metrics[m]);

		CHECK(metrics[m] != HY_METRIC_IP || width == 0);
		check_rows(&all, &all.views[1], metrics[m]);
	}
}

/* A row whose only terms are zeros, of either sign, is not taken for a row without terms. */
static void
test_terms_of_zero(void)
{
	int32_t index = 0;
	float value = 1;
	HySparse query = {DIMS, 1, &index, &value};
	uint16_t row = 7;
	int16_t multiple = 0;
	HyPostingsBounds bounds;
	double lower, upper;

	hy_postings_clear(sums);
	hy_postings_begin(&bounds, HY_METRIC_IP, &query);
	hy_postings_add(HY_METRIC_IP, -value, 1, &row, &multiple, 1, sums);
	hy_postings_dimension(&bounds, value, 1, 0.5f);
	hy_postings_bound(&bounds, sums[7], 0, &lower, &upper);
	CHECK(lower <= -0.5 && upper >= 0.5);
	hy_postings_bound(&bounds, sums[8], 0, &lower, &upper);
	CHECK(lower == 0 && upper == 0);
}

/* Rounded values differ from the given ones by the loss at most, which is small, also for values of any size. */
static void
test_rounding(void)
{
	static const double scales[] = {1, 1e-44, 1e-38, 1e38};
	UnitRandom random = {4};
	float values[100], step, loss;
	int16_t multiples[100];
	size_t i;
	int j;

	for (i = 0; i < sizeof(scales) / sizeof(scales[0]); i++)
	{
		float most = 0;

		for (j = 0; j < 100; j++)
		{
			values[j] = value_of(&random, scales[i] / 10, 0);
			most = fmaxf(most, fabsf(values[j]));
		}
		hy_postings_round(values, 100, multiples, &step, &loss);
		for (j = 0; j < 100; j++)
			CHECK(fabs((double) values[j] - (double) step * multiples[j]) <= (double) loss);
		CHECK(scales[i] < 1e-30 || (double) loss < 2e-5 * (double) most);
	}
	values[0] = FLT_MAX;
	hy_postings_round(values, 1, multiples, &step, &loss);
	CHECK(isfinite(loss) && loss <= step);
	hy_postings_round(values, 0, multiples, &step, &loss);
	CHECK(step > 0 && loss >= 0);
}

int
main(void)
{
	UNIT_RUN(test_bounds_hold);
	UNIT_RUN(test_bounds_are_tight);
	UNIT_RUN(test_nothing_in_common);
	UNIT_RUN(test_terms_of_zero);
	UNIT_RUN(test_rounding);
	return unit_finish();
}
