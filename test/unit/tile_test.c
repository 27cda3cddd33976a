/*
 * tile_test.c
 *		Every available level of the tiles against plain arithmetic.
 */
#include "unit.h"

#include "core/tile.h"

#define MOST_PAIRS 70

static const HyTileKernels *
level(int i)
{
	return hy_tile_kernels_at((HySimd) i);
}

/* fill: rows of int16 as long as tile.h allows, now and then with the largest elements there are. */
static void
fill(UnitRandom *random, int16_t *rows, int count, int length)
{
	int kind = (int) unit_random_below(random, 3);
	int most = (int) (HY_TILE_LENGTH / sqrt((double) length));
	int i;

	for (i = 0; i < count * length; i++)
		rows[i] = kind == 0   ? (int16_t) ((int) unit_random_below(random, 2 * most + 1) - most)
		          : kind == 1 ? (int16_t) (unit_random_below(random, 2) == 0 ? -most : most)
		                      : (int16_t) (i % length == 1   ? -32767
		                                   : i % length == 0 ? 32000
		                                                     : 0);
}

static void
test_products_are_exact(void)
{
	static int16_t left[HY_TILE_QUERIES * 2 * MOST_PAIRS];
	static int16_t right[HY_TILE_TARGETS * 2 * MOST_PAIRS];
	static int16_t left_panel[HY_TILE_QUERIES * 2 * MOST_PAIRS];
	static int16_t right_panel[HY_TILE_TARGETS * 2 * MOST_PAIRS];
	static float dots[HY_TILE_QUERIES * HY_TILE_TARGETS];
	UnitRandom random = {51};
	int pairs;
	int l;

	for (l = 0; l < HY_SIMD_COUNT; l++)
	{
		const HyTileKernels *tiles = level(l);

		if (tiles == NULL)
			continue;
		CHECK(tiles->queries <= HY_TILE_QUERIES && tiles->targets <= HY_TILE_TARGETS);
		for (pairs = 1; pairs <= MOST_PAIRS; pairs++)
		{
			int length = 2 * pairs;
			int i;
			int j;
			int e;

			fill(&random, left, tiles->queries, length);
			fill(&random, right, tiles->targets, length);
			hy_tile_pack(left, (size_t) length, tiles->queries, length, tiles->queries, left_panel);
			hy_tile_pack(right, (size_t) length, tiles->targets, length, tiles->targets,
			             right_panel);
			tiles->dots(left_panel, right_panel, pairs, dots);
			for (i = 0; i < tiles->queries; i++)
			{
				for (j = 0; j < tiles->targets; j++)
				{
					int64_t sum = 0;

					for (e = 0; e < length; e++)
						sum += (int64_t) left[i * length + e] * right[j * length + e];
					CHECK(sum >= INT32_MIN && sum <= INT32_MAX);
					CHECK_SAME_F32(dots[i * tiles->targets + j], (float) sum);
				}
			}
		}
	}
}

static void
test_panels(void)
{
	static int16_t rows[HY_TILE_TARGETS * 2 * MOST_PAIRS];
	static int16_t panel[HY_TILE_TARGETS * 2 * MOST_PAIRS];
	static int16_t same[HY_TILE_TARGETS * 2 * MOST_PAIRS];
	UnitRandom random = {52};
	int length;
	int l;

	fill(&random, rows, HY_TILE_TARGETS, 2 * MOST_PAIRS);
	for (length = 2; length <= 2 * MOST_PAIRS; length += 2)
	{
		int count;
		int i;
		int e;

		for (count = 1; count <= 6; count++)
		{
			memset(panel, 0x55, sizeof(panel));
			hy_tile_pack(rows, 2 * MOST_PAIRS, count, length, 6, panel);
			for (i = 0; i < 6; i++)
			{
				for (e = 0; e < length; e++)
					CHECK_INT(panel[(e / 2 * 6 + i) * 2 + e % 2],
					          i < count ? rows[i * 2 * MOST_PAIRS + e] : 0);
			}
		}
		for (l = 0; l < HY_SIMD_COUNT; l++)
		{
			const HyTileKernels *tiles = level(l);

			if (tiles == NULL)
				continue;
			memset(same, 0x55, sizeof(same));
			hy_tile_pack(rows, 2 * MOST_PAIRS, tiles->targets, length, tiles->targets, panel);
			tiles->interleave(rows, 2 * MOST_PAIRS, length, same);
			CHECK(memcmp(panel, same, (size_t) (length * tiles->targets) * sizeof(int16_t)) == 0);
		}
	}
}

static void
test_reaching(void)
{
	float dots[HY_TILE_TARGETS];
	float factor[HY_TILE_TARGETS];
	float reach[HY_TILE_TARGETS];
	float shift[HY_TILE_TARGETS];
	HyTileRows rows = {factor, reach, shift};
	UnitRandom random = {53};
	int repeat;
	int l;

	for (l = 0; l < HY_SIMD_COUNT; l++)
	{
		const HyTileKernels *tiles = level(l);

		for (repeat = 0; tiles != NULL && repeat < 2000; repeat++)
		{
			/* small integers: the sums are exact, with or without contraction */
			float weight = (float) unit_random_below(&random, 4);
			float threshold = (float) ((int) unit_random_below(&random, 9) - 4);
			uint32_t bits;
			int j;

			if (repeat % 10 == 9)
				threshold = repeat % 20 == 19 ? INFINITY : -INFINITY;
			for (j = 0; j < tiles->targets; j++)
			{
				dots[j] = (float) ((int) unit_random_below(&random, 5) - 2);
				factor[j] = (float) unit_random_below(&random, 3);
				reach[j] = (float) unit_random_below(&random, 3);
				shift[j] = (float) ((int) unit_random_below(&random, 3) - 1);
				if (unit_random_below(&random, 20) == 0)
				{
					factor[j] = shift[j] = 0.0f;
					reach[j] = unit_random_below(&random, 2) == 0 ? INFINITY : -INFINITY;
				}
			}
			bits = tiles->reaching(dots, &rows, weight, threshold);
			for (j = 0; j < tiles->targets; j++)
				CHECK_INT(bits >> j & 1,
				          factor[j] * dots[j] + reach[j] + shift[j] * weight >= threshold);
			CHECK(tiles->targets == 32 || bits >> tiles->targets == 0);
		}
	}
}

static void
test_rounding(void)
{
	float x[300];
	int16_t whole[300];
	UnitRandom random = {54};
	int n;
	int l;

	for (l = 0; l < HY_SIMD_COUNT; l++)
	{
		const HyTileKernels *tiles = level(l);

		for (n = 1; tiles != NULL && n < 300; n++)
		{
			float scale = 0.001f * (float) (1 + unit_random_below(&random, 100));
			float largest = 0.0f;
			double sum = 0;
			float said;
			int i;

			for (i = 0; i < n; i++)
			{
				x[i] = unit_random_float(&random) * 30000.0f * scale;
				largest = fmaxf(largest, fabsf(x[i]));
			}
			CHECK_SAME_F32(tiles->largest(x, n), largest);
			said = tiles->quantise(x, n, 1.0f / scale, scale, whole);
			for (i = 0; i < n; i++)
			{
				double rest = (double) x[i] - (double) scale * whole[i];

				CHECK_INT(whole[i], (int) rintf(x[i] * (1.0f / scale)));
				sum += rest * rest;
			}
			CHECK_NEAR(said, sum, 0.02 * sum);
		}
	}
}

int
main(void)
{
	UNIT_RUN(test_products_are_exact);
	UNIT_RUN(test_panels);
	UNIT_RUN(test_reaching);
	UNIT_RUN(test_rounding);
	return unit_finish();
}
