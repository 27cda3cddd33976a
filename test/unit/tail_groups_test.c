/*
 * tail_groups_test.c
 *		The number of a group's members that a tail expects below a limit, compared with a plain loop.
 */
#include "tail_stage.h"

#define MOST_GROUPS 320

/* Groups: arrays of exactly the required size, for the sanitizers. */
typedef struct Groups
{
	float *all[4]; /* middle, inverse, doubt, size */
	float *keys;
	HyTailGroups groups;
} Groups;

static void
groups_init(Groups *made, UnitRandom *random, int count, float doubt)
{
	int i;

	for (i = 0; i < 4; i++)
		made->all[i] = malloc((size_t) (count > 0 ? count : 1) * sizeof(float));
	made->keys = malloc((size_t) (count > 0 ? count : 1) * sizeof(float));
	for (i = 0; i < count; i++)
	{
		made->all[0][i] = 1 + 2 * unit_random_float(random);
		made->all[1][i] = 0.1f + 0.05f * unit_random_float(random);
		made->all[2][i] = (float) unit_random_unit(random) * doubt;
		made->all[3][i] = (float) (1 + unit_random_below(random, 1000));
		made->keys[i] = NAN;
	}
	made->groups = (HyTailGroups){.middle = made->all[0],
	                              .inverse = made->all[1],
	                              .doubt = made->all[2],
	                              .size = made->all[3],
	                              .count = count};
}

static void
groups_free(Groups *made)
{
	int i;

	for (i = 0; i < 4; i++)
		free(made->all[i]);
	free(made->keys);
}

/* distance_of: return the distance from the limit to the middle of a group, in widths. */
static float
distance_of(const HyTailGroups *groups, int i, float limit)
{
	return (groups->middle[i] - limit) * groups->inverse[i];
}

/* expected_of: return the number that a group is expected to have below the limit. */
static double
expected_of(const HyTail *tail, const HyTailGroups *groups, int i, float limit)
{
	double doubt = (double) groups->doubt[i] * tail->steepness;
	double less = doubt < 1 ? doubt * doubt / 2 : 0.5;
	double a = distance_of(groups, i, limit);
	double taken = less / tail->steepness;
	double power = fmax((tail->top - (a + taken)) * tail->steepness,
	                    fmin(tail->far_log, (tail->far_top - (a + taken)) * tail->far_steepness));

	return groups->size[i] * (power < 0 ? exp(power) : 1);
}

static void
test_beyond_is_the_sum(void)
{
	UnitRandom random = {7};
	HyTail tail = {0.04f, 30, NO_FAR};
	int round, i;

	for (round = 0; round < 300; round++)
	{
		int count = HY_TAIL_LANES * (1 + round % 10);
		float limit = unit_random_float(&random);
		double sum = 0, actual;
		Groups made;

		groups_init(&made, &random, count, round % 3 == 0 ? 0 : 0.07f);
		for (i = 0; i < count; i++)
			sum += expected_of(&tail, &made.groups, i, limit);
		actual = hy_tail_beyond(&tail, &made.groups, limit, made.keys);
		CHECK_CLOSE(actual, sum, 1e-4);
		for (i = 0; i < count; i++)
			CHECK_SAME_F32(made.keys[i],
			               distance_of(&made.groups, i, limit) - made.groups.doubt[i]);
		groups_free(&made);
	}
}

/*
 * The sum is computed in lanes, which are then added in order; the terms are those of hy_tail_at.
 */
static void
test_beyond_in_lanes(void)
{
	UnitRandom random = {8};
	HyTail tail = {0.04f, 30, NO_FAR};
	int round, i;

	for (round = 0; round < 300; round++)
	{
		int count = HY_TAIL_LANES * (1 + round % 10);
		float limit = unit_random_float(&random);
		float lanes[HY_TAIL_LANES] = {0};
		double sum = 0;
		Groups made;

		groups_init(&made, &random, count, 0);
		for (i = 0; i < count; i++)
			lanes[i % HY_TAIL_LANES] +=
				made.groups.size[i] * hy_tail_at(&tail, distance_of(&made.groups, i, limit));
		for (i = 0; i < HY_TAIL_LANES; i++)
			sum += lanes[i];
		CHECK_SAME_F64(hy_tail_beyond(&tail, &made.groups, limit, made.keys), sum);
		groups_free(&made);
	}
}

/* Every group counts, wherever it is. */
static void
test_each_group_counts(void)
{
	UnitRandom random = {9};
	HyTail tail = {0.04f, 30, NO_FAR};
	Groups made;
	int i;

	groups_init(&made, &random, MOST_GROUPS, 0.07f);
	for (i = 0; i < MOST_GROUPS; i++)
		made.all[3][i] = 0;
	CHECK(hy_tail_beyond(&tail, &made.groups, 0, made.keys) == 0);
	for (i = 0; i < MOST_GROUPS; i++)
	{
		made.all[3][i] = 100;
		CHECK_CLOSE(hy_tail_beyond(&tail, &made.groups, 0, made.keys),
		            expected_of(&tail, &made.groups, i, 0), 1e-4);
		made.all[3][i] = 0;
	}
	groups_free(&made);
}

/* Missing groups, and groups that are entirely below the limit. */
static void
test_infinite_middles(void)
{
	UnitRandom random = {10};
	HyTail tail = {0.04f, 30, NO_FAR};
	HyTail steepest = {0, 0x1p126f, NO_FAR};
	double whole = 0;
	Groups made;
	int i;

	groups_init(&made, &random, MOST_GROUPS, 0.07f);
	for (i = 0; i < MOST_GROUPS; i++)
		made.all[0][i] = INFINITY;
	CHECK(hy_tail_beyond(&tail, &made.groups, 0.5f, made.keys) >= 0);
	CHECK(hy_tail_beyond(&tail, &made.groups, 0.5f, made.keys) < 1e-30);
	CHECK(hy_tail_beyond(&steepest, &made.groups, 0.5f, made.keys) < 1e-30);
	for (i = 0; i < MOST_GROUPS; i++)
		CHECK(made.keys[i] == INFINITY);

	for (i = 3; i < MOST_GROUPS; i += 7)
	{
		made.all[0][i] = -INFINITY;
		whole += made.groups.size[i];
	}
	CHECK(hy_tail_beyond(&tail, &made.groups, 0.5f, made.keys) == whole);
	CHECK(hy_tail_beyond(&steepest, &made.groups, 0.5f, made.keys) == whole);
	for (i = 0; i < MOST_GROUPS; i++)
		CHECK(made.keys[i] == (i % 7 == 3 ? -INFINITY : INFINITY));
	groups_free(&made);
}

/*
 * Doubt lowers the expected number by its average effect, at most by that of doubt = 1 / steepness.
 */
static void
test_doubt(void)
{
	UnitRandom random = {11};
	HyTail tail = {0.04f, 25, NO_FAR};
	double certain, last;
	Groups made;
	int i, step;

	groups_init(&made, &random, HY_TAIL_LANES, 0);
	for (i = 0; i < HY_TAIL_LANES; i++)
		made.all[0][i] = 2 + unit_random_float(&random);
	certain = last = hy_tail_beyond(&tail, &made.groups, 0, made.keys);
	CHECK(certain > 1);
	for (step = 1; step <= 400; step++)
	{
		float doubt = 0.0004f * (float) step;
		double times = doubt * tail.steepness;
		double actual;

		for (i = 0; i < HY_TAIL_LANES; i++)
			made.all[2][i] = doubt;
		actual = hy_tail_beyond(&tail, &made.groups, 0, made.keys);
		CHECK_CLOSE(actual, certain * exp(times < 1 ? -times * times / 2 : -0.5), 1e-4);
		CHECK(actual >= certain * exp(-0.5) * (1 - 1e-4));
		/* but for what a polynomial's seams may be */
		CHECK(actual <= last * (1 + 1e-4) && (times > 1 || step < 10 || actual < last));
		last = actual;
	}
	/* far too much of it, and none that is known */
	for (i = 0; i < HY_TAIL_LANES; i++)
		made.all[2][i] = i % 2 == 0 ? 1e30f : INFINITY;
	CHECK_CLOSE(hy_tail_beyond(&tail, &made.groups, 0, made.keys), certain * exp(-0.5), 1e-4);
	/* where all is below the limit anyway, doubt takes nothing */
	for (i = 0; i < HY_TAIL_LANES; i++)
		made.all[3][i] = 10;
	CHECK(hy_tail_beyond(&tail, &made.groups, 100, made.keys) == 10 * HY_TAIL_LANES);
	groups_free(&made);
}

static void
test_no_groups(void)
{
	HyTail tail = {0.04f, 25, NO_FAR};
	HyTailGroups groups = {NULL, NULL, NULL, NULL, 0};
	float key = 7;

	CHECK_SAME_F64(hy_tail_beyond(&tail, &groups, 0.5f, &key), 0);
	CHECK(key == 7);
}

/* check_levels: check that every level gives the same bits for these groups. */
static void
check_levels(const HyTail *tail, Groups *made, float limit)
{
	double sum;
	float keys[MOST_GROUPS];
	int level, i;

	hy_kernels_force(HY_SIMD_SCALAR);
	sum = hy_tail_beyond(tail, &made->groups, limit, keys);
	for (level = 0; level < HY_SIMD_COUNT; level++)
	{
		if (hy_kernels_force((HySimd) level) != HY_OK)
			continue;
		memset(made->keys, 0xff, (size_t) made->groups.count * sizeof(float));
		CHECK_SAME_F64(hy_tail_beyond(tail, &made->groups, limit, made->keys), sum);
		for (i = 0; i < made->groups.count; i++)
			CHECK_SAME_F32(made->keys[i], keys[i]);
	}
	hy_kernels_force(hy_simd_best());
}

static void
test_same_bits_on_every_level(void)
{
	UnitRandom random = {12};
	int count, kind, i;

	for (count = 0; count <= 70; count++)
	{
		for (kind = 0; kind < MIXTURES; kind++)
		{
			int several = 1 + (count * 4 + kind) % (MOST_GROUPS / HY_TAIL_LANES);
			float *numbers = sample_mixture(&random, count, kind);
			HyTail tail;
			Groups made;

			hy_tail_fit(&tail, numbers, count, mixture_noise(kind), PRIOR);
			check_sane(&tail);
			groups_init(&made, &random, several * HY_TAIL_LANES, 0.3f);
			/* and some that are not there, or have all below the limit, or no width */
			if (kind % 2 == 1)
			{
				for (i = count % 9; i < made.groups.count; i += 9)
					made.all[i % 3 == 2 ? 1 : 0][i] = i % 3 == 0 ? INFINITY : -INFINITY;
			}
			check_levels(&tail, &made, 0.5f * unit_random_float(&random));
			groups_free(&made);
			free(numbers);
		}
	}
}

int
main(void)
{
	UNIT_RUN(test_beyond_is_the_sum);
	UNIT_RUN(test_beyond_in_lanes);
	UNIT_RUN(test_each_group_counts);
	UNIT_RUN(test_infinite_middles);
	UNIT_RUN(test_doubt);
	UNIT_RUN(test_no_groups);
	UNIT_RUN(test_same_bits_on_every_level);
	return unit_finish();
}
