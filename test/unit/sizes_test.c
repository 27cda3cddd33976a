/*
 * sizes_test.c
 *		Means of size classes, and what they imply for other sizes.
 */
#include "dispatch/model/kind.h"
#include "dispatch/model/sizes.h"
#include "unit.h"

/* the line with which the classes are compared: 1 ns per unit of work */
static const HyCoefficients fit = {.work_ns = 1};

static HyShape
shape_of(int64_t queries, int64_t targets, int32_t k)
{
	return (HyShape){.op = HY_OP_TOPK, .dims = 1, .queries = queries, .targets = targets, .k = k};
}

/*
 * observe: record count tasks of this many targets that took this many times as long as the line
 * says.
 */
static void
observe(HySizes *sizes, int64_t targets, double times, int32_t count, uint64_t now)
{
	HyShape shape = shape_of(1, targets, 1);
	HyCostTerms terms = hy_cost_terms(&shape, true);

	hy_size_observe(hy_sizes_claim(sizes, hy_shape_size(&shape, terms.work), now), terms,
	                times * terms.work, count, 100);
}

static double
correction(const HySizes *sizes, int64_t targets)
{
	HyShape shape = shape_of(1, targets, 1);

	return hy_sizes_correction(sizes, &fit,
	                           hy_shape_size(&shape, hy_cost_terms(&shape, true).work));
}

static void
test_nothing_known(void)
{
	static HySizes sizes;
	HyShape shape = shape_of(1, 100, 1);

	CHECK(hy_sizes_find(&sizes, hy_shape_size(&shape, 100)) == NULL);
	CHECK(correction(&sizes, 100) == 1);
}

static void
test_own_class(void)
{
	static HySizes sizes;
	HyShape shape = shape_of(1, 100, 1);

	observe(&sizes, 100, 2, 50, 1);
	CHECK_NEAR(correction(&sizes, 100), 2, 0.05);
	CHECK_NEAR(correction(&sizes, 127), 2, 0.05);
	CHECK(hy_sizes_find(&sizes, hy_shape_size(&shape, 64))->samples == 50);
	CHECK(hy_sizes_find(&sizes, hy_shape_size(&shape, 63)) == NULL);
	/* one observation is half believed, and the window forgets */
	observe(&sizes, 1000, 4, 1, 2);
	CHECK(correction(&sizes, 1000) > 1.5 && correction(&sizes, 1000) < 3.5);
	observe(&sizes, 100, 1, 1000, 3);
	CHECK_NEAR(correction(&sizes, 100), 1, 0.02);
}

static void
test_between_and_beyond(void)
{
	static HySizes sizes;

	observe(&sizes, 100, 2, 50, 1);
	observe(&sizes, 100000, 8, 50, 2);
	/* 3000 is half way, by powers of two */
	CHECK_NEAR(correction(&sizes, 3000), 4, 0.3);
	CHECK(correction(&sizes, 1000000) < 8 && correction(&sizes, 1000000) > 4);
	CHECK(correction(&sizes, 10) < 2 && correction(&sizes, 10) > 1.2);
}

/* A class counts with its observations; its neighbors together count as half of one. */
static void
test_own_observations_against_the_neighbours(void)
{
	static HySizes sizes;

	observe(&sizes, 1000, 1, 50, 1);
	observe(&sizes, 4000, 1, 50, 2);
	observe(&sizes, 2000, 4, 1, 3);
	/* two thirds of one that is itself half doubted, in powers of four */
	CHECK_NEAR(log(correction(&sizes, 2000)) / log(4), 2.0 / 3 * 2 / 3, 0.02);
	observe(&sizes, 2000, 4, 5, 4);
	CHECK(correction(&sizes, 2000) > 3.2);
}

/*
 * The part of a correction that is left beyond the sizes seen: nearly all next to them, half after
 * 7 doublings.
 */
static void
test_how_a_correction_fades(void)
{
	int up;

	for (up = 0; up < 2; up++)
	{
		static HySizes none;
		HySizes sizes = none;
		double before = 1;
		int away;

		observe(&sizes, INT64_C(1) << 30, 4, 1000, 1);
		for (away = 1; away <= 25; away++)
		{
			double left =
				log(correction(&sizes, INT64_C(1) << (up ? 30 + away : 30 - away))) / log(4);

			CHECK(left > 0 && (left < before || away == 1));
			before = left;
			if (away == 1)
				CHECK(left > 0.95);
			if (away == 7)
				CHECK_NEAR(left, 0.5, 0.01);
			if (away == 25)
				CHECK(left < 0.25);
		}
	}
}

/*
 * Sizes whose transfers or merging differ, by a factor of four in queries or k, reveal nothing
 * about each other.
 */
static void
test_each_fourfold_is_a_count_class(void)
{
	static const int64_t queries[] = {1, 3, 4, 15, 16, 63, 64, 1000000};
	static const int32_t ks[] = {1, 3, 4, 15, 16, 63, 64, 255, 256};
	HySizes sizes;
	int i;
	int j;

	for (i = 0; i < 8; i++)
	{
		HyShape seen = shape_of(queries[i], 1, 1);

		memset(&sizes, 0, sizeof(sizes));
		hy_sizes_claim(&sizes, hy_shape_size(&seen, 1e9), 1);
		for (j = 0; j < 8; j++)
		{
			HyShape asked = shape_of(queries[j], 1, 1);

			/* pairs of these are alike */
			CHECK_INT(hy_sizes_find(&sizes, hy_shape_size(&asked, 1e9)) != NULL, i / 2 == j / 2);
		}
	}
	for (i = 0; i < 9; i++)
	{
		HyShape seen = shape_of(1, 1, ks[i]);

		memset(&sizes, 0, sizeof(sizes));
		hy_sizes_claim(&sizes, hy_shape_size(&seen, 1e9), 1);
		for (j = 0; j < 9; j++)
		{
			HyShape asked = shape_of(1, 1, ks[j]);

			CHECK_INT(hy_sizes_find(&sizes, hy_shape_size(&asked, 1e9)) != NULL, i / 2 == j / 2);
		}
	}
}

static void
test_count_classes_do_not_mix(void)
{
	static HySizes sizes;
	HyShape many = shape_of(64, 100, 1);
	HyShape deep = shape_of(1, 6400, 100);

	observe(&sizes, 6400, 3, 50, 1);
	CHECK(hy_sizes_correction(&sizes, &fit, hy_shape_size(&many, 6400)) == 1);
	CHECK(hy_sizes_correction(&sizes, &fit, hy_shape_size(&deep, 6400)) == 1);
	CHECK_NEAR(correction(&sizes, 6400), 3, 0.1);
}

static void
test_least_recently_used_gives_way(void)
{
	static HySizes sizes;
	HyShape first = shape_of(1, 1, 1);
	HyShape second = shape_of(1, 2, 1);
	int i;

	for (i = 0; i < HY_SIZES; i++)
		observe(&sizes, INT64_C(1) << i, 2, 1, (uint64_t) i + 1);
	observe(&sizes, 1, 2, 1, 100);
	observe(&sizes, INT64_C(1) << HY_SIZES, 2, 1, 101);
	CHECK(hy_sizes_find(&sizes, hy_shape_size(&first, 1)) != NULL);
	CHECK(hy_sizes_find(&sizes, hy_shape_size(&second, 2)) == NULL);
}

/* Whatever was measured, a prediction is a finite number. */
static void
test_nonsense(void)
{
	static HySizes sizes;

	observe(&sizes, 100, 1e300, 3, 1);
	CHECK(isfinite(correction(&sizes, 100)) && correction(&sizes, 100) > 1);
	/* a million times either way is the most that is believed */
	observe(&sizes, 100, 1e300, 1000, 1);
	CHECK_NEAR(correction(&sizes, 100) / 1e6, 1, 0.25);
	observe(&sizes, 10000, 1e-300, 1000, 1);
	CHECK_NEAR(correction(&sizes, 10000) * 1e6, 1, 0.25);
	observe(&sizes, 1000000, NAN, 3, 2);
	CHECK(isfinite(correction(&sizes, 1000000)) && correction(&sizes, 1000000) > 0);
	CHECK_INT(hy_log2_floor(0.5), 0);
	CHECK_INT(hy_log2_floor(-1), 0);
	CHECK_INT(hy_log2_floor(NAN), 0);
	CHECK_INT(hy_log2_floor(1023), 9);
	CHECK_INT(hy_log2_floor(1e300), 63);
	CHECK_INT(hy_log2_floor(INFINITY), 63);
}

int
main(void)
{
	UNIT_RUN(test_nothing_known);
	UNIT_RUN(test_own_class);
	UNIT_RUN(test_between_and_beyond);
	UNIT_RUN(test_own_observations_against_the_neighbours);
	UNIT_RUN(test_how_a_correction_fades);
	UNIT_RUN(test_each_fourfold_is_a_count_class);
	UNIT_RUN(test_count_classes_do_not_mix);
	UNIT_RUN(test_least_recently_used_gives_way);
	UNIT_RUN(test_nonsense);
	return unit_finish();
}
