/*
 * filter_words.c
 *		Maps each value to a 64-bit word, and tests conditions on the words of 32 entries at once.
 */
#include "core/filter_words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "core/distance.h"

#define SIGN (UINT64_C(1) << 63)
#define NAN_BITS UINT64_C(0x7ff8000000000000)

static int compare_words(const void *a, const void *b);
static uint32_t in_range(const HyWordCondition *condition, const uint64_t *words);
#if defined(__x86_64__)
static uint32_t in_range_avx2(const uint64_t *words, uint64_t least, uint64_t width);
#endif
static bool in_set(const HyWordCondition *condition, uint64_t word);
static int first_from(const HyWordCondition *condition, uint64_t word);

uint64_t
hy_word_of_integer(int64_t value)
{
	uint64_t word = (uint64_t) value ^ SIGN;

	return word < HY_WORD_LEAST ? HY_WORD_LEAST : word;
}

uint64_t
hy_word_of_double(double value)
{
	uint64_t bits = NAN_BITS;

	if (value == 0)
		bits = 0;
	else if (!isnan(value))
		memcpy(&bits, &value, sizeof(bits));
	/*
	 * the bits of positive numbers have the order of the numbers, those of negative ones the
	 * reverse order
	 */
	return (bits & SIGN) != 0 ? ~bits : bits | SIGN;
}

bool
hy_integer_of_word(uint64_t word, int64_t *value)
{
	*value = (int64_t) (word ^ SIGN);
	return word > HY_WORD_LEAST;
}

bool
hy_double_of_word(uint64_t word, double *value)
{
	uint64_t bits = (word & SIGN) != 0 ? word & ~SIGN : ~word;

	memcpy(value, &bits, sizeof(*value));
	return *value != 0 && !isnan(*value);
}

uint64_t
hy_word_of_hash(uint64_t hash)
{
	return hash < HY_WORD_LEAST ? HY_WORD_LEAST : hash;
}

void
hy_word_above(HyWordCondition *condition, uint64_t word, bool exact)
{
	condition->least = word;
	condition->most = UINT64_MAX;
	condition->set = NULL;
	/* two integers share the smallest word */
	if (!exact || word == HY_WORD_LEAST)
		return;
	condition->least = word < UINT64_MAX ? word + 1 : 1;
	condition->most = word < UINT64_MAX ? UINT64_MAX : 0;
}

void
hy_word_below(HyWordCondition *condition, uint64_t word, bool exact)
{
	condition->least = HY_WORD_LEAST;
	condition->most = exact && word > HY_WORD_LEAST ? word - 1 : word;
	condition->set = NULL;
}

void
hy_word_any(HyWordCondition *condition, uint64_t *words, int count)
{
	qsort(words, (size_t) count, sizeof(uint64_t), compare_words);
	condition->least = count > 0 ? words[0] : 1;
	condition->most = count > 0 ? words[count - 1] : 0;
	condition->set = count > 1 ? words : NULL;
	condition->count = count;
}

bool
hy_word_between(const HyWordCondition *condition, uint64_t least, uint64_t most)
{
	int first;

	if (least < condition->least)
		least = condition->least;
	if (most > condition->most)
		most = condition->most;
	if (least > most || condition->set == NULL)
		return least <= most;
	first = first_from(condition, least);
	return first < condition->count && condition->set[first] <= most;
}

uint32_t
hy_words_mask(const HyWordCondition *conditions, int count, const uint64_t *words, uint32_t live)
{
	int i;

	for (i = 0; i < count && live != 0; i++)
	{
		const HyWordCondition *condition = &conditions[i];
		const uint64_t *column = words + condition->column * HY_WORD_ROWS;
		uint32_t left;

		live &= in_range(condition, column);
		for (left = condition->set != NULL ? live : 0; left != 0; left &= left - 1)
		{
			if (!in_set(condition, column[__builtin_ctz(left)]))
				live &= ~(left & -left);
		}
	}
	return live;
}

static int
compare_words(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

	return (x > y) - (x < y);
}

/* in_range: return the mask of the words in the range of a condition. */
static uint32_t
in_range(const HyWordCondition *condition, const uint64_t *words)
{
	uint64_t least = condition->least, width = condition->most - least;
	uint32_t mask = 0;
	int i;

	if (condition->most < least)
		return 0;
#if defined(__x86_64__)
	if (hy_kernels()->level != HY_SIMD_SCALAR)
		return in_range_avx2(words, least, width);
#endif
	for (i = 0; i < HY_WORD_ROWS; i++)
		mask |= (uint32_t) (words[i] - least <= width) << i;
	return mask;
}

#if defined(__x86_64__)
/*
 * in_range_avx2: do the same as in_range, four words at a time. (The search measured at
 * expect_words in lookup_lists.c takes 10 ms with this function, and 11 ms with the loop of
 * in_range.)
 */
__attribute__((target("avx2"))) static uint32_t
in_range_avx2(const uint64_t *words, uint64_t least, uint64_t width)
{
	/* AVX2 can only compare signed words, so the sign bits are inverted first */
	const __m256i base = _mm256_set1_epi64x((int64_t) least);
	const __m256i sign = _mm256_set1_epi64x(INT64_MIN);
	const __m256i limit = _mm256_set1_epi64x((int64_t) (width ^ SIGN));
	uint32_t outside = 0;
	int i;

	for (i = 0; i < HY_WORD_ROWS; i += 4)
	{
		__m256i word = _mm256_loadu_si256((const __m256i *) (words + i));
		__m256i beyond =
			_mm256_cmpgt_epi64(_mm256_xor_si256(_mm256_sub_epi64(word, base), sign), limit);

		outside |= (uint32_t) _mm256_movemask_pd(_mm256_castsi256_pd(beyond)) << i;
	}
	return ~outside;
}
#endif

static bool
in_set(const HyWordCondition *condition, uint64_t word)
{
	int first = first_from(condition, word);

	return first < condition->count && condition->set[first] == word;
}

/* first_from: return the index of the first word of the set that is at least `word`. */
static int
first_from(const HyWordCondition *condition, uint64_t word)
{
	int low = 0, high = condition->count;

	while (low < high)
	{
		int middle = low + (high - low) / 2;

		if (condition->set[middle] < word)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
