/*
 * filter_words_test.c
 *		Words keep the order of their values, and masks equal conditions on each word alone.
 */
#include "unit.h"

#include "core/distance.h"
#include "core/filter_words.h"

/* compare_words: return -1, 0 or 1 as the first word is less than, equal to or greater than the second. */
static int
compare_words(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static void
test_integers(void)
{
	static const int64_t values[] = {INT64_MIN, INT64_MIN + 1, INT64_MIN + 2, -1, 0, 1,
	                                 7,         INT64_MAX - 1, INT64_MAX};
	int count = (int) (sizeof(values) / sizeof(values[0])), i, j;

	for (i = 0; i < count; i++)
	{
		int64_t again;

		CHECK(hy_word_of_integer(values[i]) >= HY_WORD_LEAST);
		CHECK(hy_integer_of_word(hy_word_of_integer(values[i]), &again) == (i > 1));
		CHECK(i <= 1 || again == values[i]);
		for (j = 0; j < count; j++)
		{
			int expected = i <= 1 && j <= 1 ? 0 : (i > j) - (i < j);

			CHECK_INT(compare_words(hy_word_of_integer(values[i]), hy_word_of_integer(values[j])),
			          expected);
		}
	}
}

static void
test_doubles(void)
{
	static const double values[] = {-INFINITY, -1e300, -2,  -1,    -4.9e-324, 0,  4.9e-324,
	                                1e-300,    1,      1.5, 1e300, INFINITY,  NAN};
	int count = (int) (sizeof(values) / sizeof(values[0])), i, j;

	for (i = 0; i < count; i++)
	{
		double again;

		CHECK(hy_word_of_double(values[i]) >= HY_WORD_LEAST);
		CHECK(hy_double_of_word(hy_word_of_double(values[i]), &again) ==
		      (values[i] != 0 && !isnan(values[i])));
		CHECK(isnan(values[i]) || again == values[i]);
		for (j = 0; j < count; j++)
			CHECK_INT(compare_words(hy_word_of_double(values[i]), hy_word_of_double(values[j])),
			          (i > j) - (i < j));
	}
	CHECK(hy_word_of_double(-0.0) == hy_word_of_double(0.0));
	CHECK(hy_word_of_double(-(double) NAN) == hy_word_of_double(NAN));
}

static void
test_hashes(void)
{
	CHECK(hy_word_of_hash(0) == HY_WORD_LEAST);
	CHECK(hy_word_of_hash(1) == HY_WORD_LEAST);
	CHECK(hy_word_of_hash(UINT64_MAX) == UINT64_MAX);
}

/* passes: test one word against a condition, without the functions under test. */
static bool
passes(const HyWordCondition *condition, uint64_t word)
{
	int i;

	if (word < condition->least || word > condition->most)
		return false;
	for (i = 0; condition->set != NULL && i < condition->count; i++)
	{
		if (condition->set[i] == word)
			return true;
	}
	return condition->set == NULL;
}

/* A strict comparison excludes the value itself, except where several values may have its word. */
static void
test_comparisons(void)
{
	HyWordCondition condition = {0, 0, 0, NULL, 0};

	hy_word_above(&condition, 10, true);
	CHECK(!passes(&condition, 10) && passes(&condition, 11) && passes(&condition, UINT64_MAX));
	hy_word_above(&condition, 10, false);
	CHECK(!passes(&condition, 9) && passes(&condition, 10));
	hy_word_above(&condition, HY_WORD_LEAST, true);
	CHECK(passes(&condition, HY_WORD_LEAST) && !passes(&condition, HY_WORD_NULL));
	hy_word_above(&condition, UINT64_MAX, true);
	CHECK(!passes(&condition, UINT64_MAX) && !passes(&condition, HY_WORD_NULL));
	hy_word_below(&condition, 10, true);
	CHECK(passes(&condition, 9) && !passes(&condition, 10) && !passes(&condition, HY_WORD_NULL));
	hy_word_below(&condition, 10, false);
	CHECK(passes(&condition, 10) && !passes(&condition, 11));
	hy_word_below(&condition, HY_WORD_LEAST, true);
	CHECK(passes(&condition, HY_WORD_LEAST) && !passes(&condition, HY_WORD_NULL));
}

/* check_masks: masks of random words, ten values so that words repeat, against each word alone. */
static void
check_masks(void)
{
	UnitRandom random = {5};
	int round, i;

	for (round = 0; round < 2000; round++)
	{
		uint64_t words[3 * HY_WORD_ROWS], set[5];
		HyWordCondition conditions[3];
		uint32_t live = unit_random(&random), expected = 0;
		/* close to each other, or over all words */
		uint64_t step = round % 2 == 0 ? 1 : UINT64_MAX / 9;
		int count = (int) (unit_random(&random) % 4), row;

		for (i = 0; i < 3 * HY_WORD_ROWS; i++)
			words[i] =
				unit_random(&random) % 8 == 0 ? UINT64_MAX : unit_random(&random) % 10 * step;
		for (i = 0; i < count; i++)
		{
			memset(&conditions[i], 0, sizeof(conditions[i]));
			conditions[i].column = (int) (unit_random(&random) % 3);
			if (unit_random(&random) % 2 == 0)
			{
				conditions[i].least = unit_random(&random) % 10 * step;
				conditions[i].most = unit_random(&random) % 10 * step;
				continue;
			}
			for (row = 0; row < 5; row++)
				set[row] = unit_random(&random) % 10 * step;
			hy_word_any(&conditions[i], set, (int) (unit_random(&random) % 6));
			/* the set belongs to this condition alone */
			count = i + 1;
		}
		for (row = 0; row < HY_WORD_ROWS; row++)
		{
			bool all = (live >> row & 1) != 0;

			for (i = 0; i < count; i++)
				all =
					all && passes(&conditions[i], words[conditions[i].column * HY_WORD_ROWS + row]);
			expected |= (uint32_t) all << row;
		}
		CHECK_INT(hy_words_mask(conditions, count, words, live), expected);
	}
}

/* Masks are the same at every level. */
static void
test_masks(void)
{
	HySimd best = hy_simd_best(), level;

	for (level = HY_SIMD_SCALAR; level <= HY_SIMD_NEON; level++)
	{
		if (hy_kernels_force(level) == HY_OK)
			check_masks();
	}
	CHECK_INT(hy_kernels_force(best), HY_OK);
}

static void
test_between(void)
{
	UnitRandom random = {6};
	int round, i;

	for (round = 0; round < 5000; round++)
	{
		uint64_t set[5], least = unit_random(&random) % 10, most = unit_random(&random) % 10, word;
		HyWordCondition condition;
		bool expected = false;

		memset(&condition, 0, sizeof(condition));
		condition.least = unit_random(&random) % 10;
		condition.most = unit_random(&random) % 10;
		for (i = 0; i < 5; i++)
			set[i] = unit_random(&random) % 10;
		if (round % 2 == 0)
			hy_word_any(&condition, set, (int) (unit_random(&random) % 6));
		for (word = least; word <= most; word++)
			expected = expected || passes(&condition, word);
		CHECK_INT(hy_word_between(&condition, least, most), expected);
	}
}

int
main(void)
{
	UNIT_RUN(test_integers);
	UNIT_RUN(test_doubles);
	UNIT_RUN(test_hashes);
	UNIT_RUN(test_comparisons);
	UNIT_RUN(test_masks);
	UNIT_RUN(test_between);
	return unit_finish();
}
