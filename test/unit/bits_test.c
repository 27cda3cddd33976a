/*
 * bits_test.c
 *		Every level of bit kernels compared with counting bit by bit.
 */
#include "unit.h"

#include "core/bits.h"
#include "core/distance.h"

#define MAX_BYTES 4096
#define SLACK 64

static uint8_t left[MAX_BYTES + SLACK];
static uint8_t right[MAX_BYTES + SLACK];

typedef enum Filling
{
	FILL_RANDOM,
	FILL_NONE,
	FILL_ALL, /* the largest count that a byte, a register and a string can have */
	FILL_ALL_BUT,
	FILL_EQUAL,
	FILL_OPPOSITE,
	FILL_COUNT
} Filling;

static void
fill(UnitRandom *random, Filling filling)
{
	int i;

	for (i = 0; i < MAX_BYTES + SLACK; i++)
	{
		left[i] = (uint8_t) (unit_random(random) >> 56);
		right[i] = (uint8_t) (unit_random(random) >> 56);
		if (filling == FILL_NONE)
			left[i] = right[i] = 0;
		else if (filling == FILL_ALL)
			left[i] = right[i] = 0xff;
		else if (filling == FILL_ALL_BUT)
		{
			left[i] = 0xff;
			right[i] = i % 7 == 0 ? 0xef : 0;
		}
		else if (filling == FILL_EQUAL)
			right[i] = left[i];
		else if (filling == FILL_OPPOSITE)
			right[i] = (uint8_t) ~left[i];
	}
}

/* count: [0] bits that differ, [1] bits set in both, [2] bits set in either. */
static void
count(const uint8_t *a, const uint8_t *b, size_t bytes, uint64_t counts[3])
{
	size_t i;

	counts[0] = counts[1] = counts[2] = 0;
	for (i = 0; i < 8 * bytes; i++)
	{
		int x = a[i / 8] >> (i % 8) & 1;
		int y = b[i / 8] >> (i % 8) & 1;

		counts[0] += x != y;
		counts[1] += x && y;
		counts[2] += x || y;
	}
}

static void
check_counts(const uint8_t *a, const uint8_t *b, size_t bytes)
{
	uint64_t expected[3];
	int level;

	count(a, b, bytes, expected);
	for (level = 0; level < HY_SIMD_COUNT; level++)
	{
		const HyBitKernels *kernels = hy_bit_kernels_at((HySimd) level);
		uint64_t both = 99;
		uint64_t either = 99;
		uint64_t differing;

		if (kernels == NULL)
			continue;
		differing = kernels->differing(a, b, bytes);
		kernels->common(a, b, bytes, &both, &either);
		CHECK_MSG(differing == expected[0] && both == expected[1] && either == expected[2],
		          "%s, %zu bytes: %llu differ, %llu in both, %llu in either; expected %llu, %llu, "
		          "%llu",
		          hy_simd_name((HySimd) level), bytes, (unsigned long long) differing,
		          (unsigned long long) both, (unsigned long long) either,
		          (unsigned long long) expected[0], (unsigned long long) expected[1],
		          (unsigned long long) expected[2]);
	}
}

static void
test_every_length(void)
{
	UnitRandom random = {1};
	int filling;
	size_t bytes;

	for (filling = 0; filling < FILL_COUNT; filling++)
	{
		fill(&random, (Filling) filling);
		for (bytes = 0; bytes <= 600; bytes++)
			check_counts(left, right, bytes);
		for (; bytes <= MAX_BYTES; bytes += 397)
			check_counts(left, right, bytes);
		check_counts(left, right, MAX_BYTES);
	}
}

static void
test_unaligned(void)
{
	UnitRandom random = {2};
	size_t i;
	size_t j;

	fill(&random, FILL_RANDOM);
	for (i = 0; i < 16; i++)
	{
		for (j = 0; j < 16; j++)
			check_counts(left + i, right + j, 333 + i);
	}
}

/* Each bit counts exactly once. */
static void
test_every_bit(void)
{
	size_t bit;

	memset(left, 0, sizeof(left));
	memset(right, 0, sizeof(right));
	for (bit = 0; bit < (size_t) 8 * 300; bit++)
	{
		left[bit / 8] = (uint8_t) (1u << (bit % 8));
		check_counts(left, right, 300);
		check_counts(left, left, 300);
		left[bit / 8] = 0;
	}
}

/* Nothing outside the strings may be read: they end where a malloc block ends. */
static void
test_reads_within_bounds(void)
{
	UnitRandom random = {3};
	size_t bytes;

	fill(&random, FILL_RANDOM);
	for (bytes = 1; bytes <= 300; bytes++)
	{
		uint8_t *a = malloc(bytes);
		uint8_t *b = malloc(bytes);

		memcpy(a, left, bytes);
		memcpy(b, right, bytes);
		check_counts(a, b, bytes);
		free(a);
		free(b);
	}
}

/* Registers of counts do not overflow for a long string. */
static void
test_long_string(void)
{
	size_t bytes = (size_t) 1 << 22;
	uint8_t *ones = malloc(bytes);
	int level;

	memset(ones, 0xff, bytes);
	for (level = 0; level < HY_SIMD_COUNT; level++)
	{
		const HyBitKernels *kernels = hy_bit_kernels_at((HySimd) level);
		uint64_t both;
		uint64_t either;

		if (kernels == NULL)
			continue;
		kernels->common(ones, ones, bytes, &both, &either);
		CHECK_INT(both, 8 * bytes);
		CHECK_INT(either, 8 * bytes);
		CHECK_INT(kernels->differing(ones, ones, bytes), 0);
		memset(ones, 0, bytes / 2);
		CHECK_INT(kernels->differing(ones, ones + bytes / 2, bytes / 2), 4 * bytes);
		memset(ones, 0xff, bytes / 2);
	}
	free(ones);
}

static void
test_distances(void)
{
	static const uint8_t a[2] = {0xf0, 0x00};
	static const uint8_t b[2] = {0xc3, 0x00};
	static const uint8_t c[2] = {0x0f, 0x00};

	CHECK_SAME_F64(hy_hamming(a, b, 2), 4.0);
	CHECK_SAME_F64(hy_hamming(a, a, 2), 0.0);
	CHECK_SAME_F64(hy_jaccard(a, b, 2), 1.0 - 2.0 / 6.0);
	CHECK_SAME_F64(hy_jaccard(a, a, 2), 0.0);
	CHECK_SAME_F64(hy_jaccard(a, c, 2), 1.0);
	/* No bit in common: as far as can be, also where there is none at all. */
	CHECK_SAME_F64(hy_jaccard(a + 1, b + 1, 1), 1.0);
	CHECK_SAME_F64(hy_jaccard(a, b, 0), 1.0);
	CHECK_SAME_F64(hy_hamming(a, b, 0), 0.0);
}

/* Of all pairs of bytes: the directions are at most this far apart, and as far if as many bits are set. */
static void
test_jaccard_square(void)
{
	int x, y;

	for (x = 1; x < 256; x++)
	{
		for (y = 1; y < 256; y++)
		{
			uint8_t a = (uint8_t) x, b = (uint8_t) y;
			uint64_t both[3], only_a[3], only_b[3];
			double square, most = hy_jaccard_square(hy_jaccard(&a, &b, 1));

			count(&a, &b, 1, both);
			count(&a, &a, 1, only_a);
			count(&b, &b, 1, only_b);
			square = 2 - 2 * (double) both[1] / sqrt((double) only_a[1] * (double) only_b[1]);
			CHECK_MSG(square <= most + 1e-12, "%d and %d: %g > %g", x, y, square, most);
			if (only_a[1] == only_b[1])
				CHECK_MSG(fabs(square - most) <= 1e-12, "%d and %d: %g, not %g", x, y, square,
				          most);
		}
	}
}

/* hybrid.simd selects these kernels too. */
static void
test_follows_the_level_in_use(void)
{
	int level;

	for (level = 0; level < HY_SIMD_COUNT; level++)
	{
		if (hy_kernels_force((HySimd) level) != HY_OK)
		{
			CHECK(hy_bit_kernels_at((HySimd) level) == NULL);
			continue;
		}
		CHECK(hy_bit_kernels() == hy_bit_kernels_at((HySimd) level));
		if (level == HY_SIMD_AVX512 || level == HY_SIMD_AMX)
			CHECK_INT(hy_bit_kernels()->level,
			          hy_simd_has_vpopcntdq() ? HY_SIMD_AVX512 : HY_SIMD_AVX2);
		else
			CHECK_INT(hy_bit_kernels()->level, level);
	}
	hy_kernels_force(hy_simd_best());
}

int
main(void)
{
	UNIT_RUN(test_every_length);
	UNIT_RUN(test_unaligned);
	UNIT_RUN(test_every_bit);
	UNIT_RUN(test_reads_within_bounds);
	UNIT_RUN(test_long_string);
	UNIT_RUN(test_distances);
	UNIT_RUN(test_jaccard_square);
	UNIT_RUN(test_follows_the_level_in_use);
	return unit_finish();
}
