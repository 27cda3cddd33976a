/*
 * tile_test.c
 *		Every available table of tiles compared with plain arithmetic.
 */
#include "unit.h"

#include "core/tile.h"

#define MOST_PAIRS 70

typedef enum Kind
{
	KIND_INT16,
	KIND_INT8,
	KIND_BFLOAT16
} Kind;

static Kind
kind_of(const HyTileKernels *tiles)
{
	return tiles->element == 1 ? KIND_INT8 : tiles->slack > 0 ? KIND_BFLOAT16 : KIND_INT16;
}

static float
from_bfloat16(int16_t unit)
{
	uint32_t bits = (uint32_t) (uint16_t) unit << 16;
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

/*
 * to_bfloat16: round to nearest even by comparison with both neighbors; values that the unit treats
 * as 0 become 0.
 */
static int16_t
to_bfloat16(float x)
{
	uint32_t bits;
	float down;
	float up;

	memcpy(&bits, &x, sizeof(bits));
	down = from_bfloat16((int16_t) (bits >> 16));
	up = from_bfloat16((int16_t) ((bits >> 16) + 1));
	if (fabsf(up - x) < fabsf(x - down) ||
	    (fabsf(up - x) == fabsf(x - down) && (bits >> 16 & 1) != 0))
		bits += 0x10000;
	return fpclassify(from_bfloat16((int16_t) (bits >> 16))) == FP_NORMAL ? (int16_t) (bits >> 16)
	                                                                      : 0;
}

/* element: return the number that row i holds at position e. */
static double
element(const HyTileKernels *tiles, const int16_t *rows, int length, int i, int e)
{
	if (kind_of(tiles) == KIND_INT8)
		return ((const int8_t *) (rows + i * length))[e];
	if (kind_of(tiles) == KIND_BFLOAT16)
		return from_bfloat16(rows[i * length + e]);
	return rows[i * length + e];
}

/*
 * fill: make rows of length units, the longest that tile.h allows, sometimes with the largest
 * elements.  Returns whether all sums of products of such rows are exact.
 */
static bool
fill(const HyTileKernels *tiles, UnitRandom *random, int16_t *rows, int count, int length, int kind)
{
	int most = (int) (HY_TILE_LENGTH / sqrt((double) length));
	int8_t *bytes = (int8_t *) rows;
	int i;

	if (most > 32767)
		most = 32767;
	for (i = 0; i < count * length * 2 && kind_of(tiles) == KIND_INT8; i++)
		bytes[i] = kind == 0   ? (int8_t) ((int) unit_random_below(random, 255) - 127)
		           : kind == 1 ? (int8_t) (unit_random_below(random, 2) == 0 ? -127 : 127)
		                       : (int8_t) (i % (2 * length) == 3 ? -127 : 0);
	for (i = 0; i < count * length && kind_of(tiles) == KIND_INT16; i++)
		rows[i] = kind == 0   ? (int16_t) ((int) unit_random_below(random, 2 * most + 1) - most)
		          : kind == 1 ? (int16_t) (unit_random_below(random, 2) == 0 ? -most : most)
		                      : (int16_t) (i % length == 1   ? -32767
		                                   : i % length == 0 ? 32000
		                                                     : 0);
	/* small integers; elements about as large; elements of all sizes */
	for (i = 0; i < count * length && kind_of(tiles) == KIND_BFLOAT16; i++)
		rows[i] = to_bfloat16(
			kind == 0   ? (float) ((int) unit_random_below(random, 9) - 4)
			: kind == 1 ? unit_random_float(random)
						: ldexpf(unit_random_float(random), -(int) unit_random_below(random, 150)));
	return kind_of(tiles) != KIND_BFLOAT16 || kind == 0;
}

static void
check_product(const HyTileKernels *tiles, const int16_t *left, int i, const int16_t *right, int j,
              int length, bool exact, float actual)
{
	double sum = 0;
	double left_square = 0;
	double right_square = 0;
	int elements = length * 2 / tiles->element;
	int e;

	for (e = 0; e < elements; e++)
	{
		double x = element(tiles, left, length, i, e);
		double y = element(tiles, right, length, j, e);

		sum += x * y;
		left_square += x * x;
		right_square += y * y;
	}
	CHECK(fabs(sum) <= INT32_MAX);
	if (exact)
		CHECK_SAME_F32(actual, (float) sum);
	else
		CHECK_NEAR(actual, sum,
		           tiles->slack * elements * sqrt(left_square) * sqrt(right_square) + 1e-33);
}

static void
test_products(void)
{
	static int16_t left[HY_TILE_QUERIES * 2 * MOST_PAIRS];
	static int16_t right[HY_TILE_TARGETS * 2 * MOST_PAIRS];
	UnitRandom random = {51};
	const HyTileKernels *tiles;
	int pairs;
	int n;
	int i;
	int j;

	for (n = 0; (tiles = hy_tile_kernels_nth(n)) != NULL; n++)
	{
		CHECK(tiles->queries <= HY_TILE_QUERIES && tiles->targets <= HY_TILE_TARGETS);
		CHECK(tiles->run % 2 == 0);
		for (pairs = tiles->run / 2; pairs <= MOST_PAIRS; pairs += tiles->run / 2)
		{
			int length = 2 * pairs;
			int kind = (int) unit_random_below(&random, 3);
			int there = 1 + (int) unit_random_below(&random, (uint64_t) tiles->queries);
			/* exactly what is needed, for the sanitizers */
			int16_t *left_panel = malloc((size_t) (tiles->queries * length) * sizeof(int16_t));
			int16_t *right_panel = malloc((size_t) (tiles->targets * length) * sizeof(int16_t));
			float *dots = malloc((size_t) (tiles->queries * tiles->targets) * sizeof(float));
			bool exact = fill(tiles, &random, left, tiles->queries, length, kind);

			fill(tiles, &random, right, tiles->targets, length, kind);
			if (pairs % 2 == 0)
				there = tiles->queries;
			hy_tile_pack_runs(left, (size_t) length, there, length, tiles->queries, tiles->run,
			                  left_panel);
			hy_tile_pack(right, (size_t) length, tiles->targets, length, tiles->targets,
			             right_panel);
			memset(left + there * length, 0,
			       (size_t) ((tiles->queries - there) * length) * sizeof(int16_t));
			if (tiles->begin != NULL)
				tiles->begin();
			tiles->dots(left_panel, right_panel, pairs, dots);
			if (tiles->end != NULL)
				tiles->end();
			for (i = 0; i < tiles->queries; i++)
			{
				for (j = 0; j < tiles->targets; j++)
					check_product(tiles, left, i, right, j, length, exact,
					              dots[i * tiles->targets + j]);
			}
			free(left_panel);
			free(right_panel);
			free(dots);
		}
	}
}

/*
 * The longest vectors, with elements whose sums are always rounded in the same direction.  Of
 * inexact sums some are far enough off that the error allowance is needed.
 */
static void
test_long_products(void)
{
	enum
	{
		UNITS = 16000
	};
	int16_t *left = malloc(sizeof(int16_t) * UNITS * HY_TILE_QUERIES);
	int16_t *right = malloc(sizeof(int16_t) * UNITS * HY_TILE_TARGETS);
	int16_t *left_panel = malloc(sizeof(int16_t) * UNITS * HY_TILE_QUERIES);
	int16_t *right_panel = malloc(sizeof(int16_t) * UNITS * HY_TILE_TARGETS);
	float dots[HY_TILE_QUERIES * HY_TILE_TARGETS];
	const HyTileKernels *tiles;
	int n;
	int i;
	int j;

	for (n = 0; (tiles = hy_tile_kernels_nth(n)) != NULL; n++)
	{
		bool exact = kind_of(tiles) != KIND_BFLOAT16;
		int length = kind_of(tiles) == KIND_INT8 ? UNITS / 2 : UNITS;
		double worst = 0;

		for (i = 0; i < HY_TILE_QUERIES; i++)
		{
			int16_t whole = (int16_t) (i - 363);
			int16_t unit = kind_of(tiles) == KIND_INT16  ? whole
			               : kind_of(tiles) == KIND_INT8 ? (int16_t) (0x7f7f - 257 * i)
			                                             : to_bfloat16(0.1f + 0.0123f * (float) i);

			for (j = 0; j < length; j++)
				left[i * length + j] = right[i * length + j] = unit;
		}
		hy_tile_pack_runs(left, (size_t) length, tiles->queries, length, tiles->queries, tiles->run,
		                  left_panel);
		hy_tile_pack(right, (size_t) length, tiles->targets, length, tiles->targets, right_panel);
		if (tiles->begin != NULL)
			tiles->begin();
		tiles->dots(left_panel, right_panel, length / 2, dots);
		if (tiles->end != NULL)
			tiles->end();
		for (i = 0; i < tiles->queries; i++)
		{
			for (j = 0; j < tiles->targets; j++)
			{
				double sum = element(tiles, left, length, i, 0) *
				             element(tiles, right, length, j, 0) * length * 2 / tiles->element;

				check_product(tiles, left, i, right, j, length, exact,
				              dots[i * tiles->targets + j]);
				worst = fmax(worst, fabs(dots[i * tiles->targets + j] / sum - 1));
			}
		}
		CHECK_MSG(exact || worst > 5e-6, "%s: off by %g", tiles->name, worst);
	}
	free(left);
	free(right);
	free(left_panel);
	free(right_panel);
}

static void
test_panels(void)
{
	static int16_t rows[HY_TILE_TARGETS * 2 * MOST_PAIRS];
	static int16_t panel[HY_TILE_TARGETS * 2 * MOST_PAIRS];
	static int16_t same[HY_TILE_TARGETS * 2 * MOST_PAIRS];
	UnitRandom random = {52};
	const HyTileKernels *tiles;
	int length;
	int n;

	fill(&hy_tile_scalar, &random, rows, HY_TILE_TARGETS, 2 * MOST_PAIRS, 0);
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
		for (n = 0; (tiles = hy_tile_kernels_nth(n)) != NULL; n++)
		{
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
	HyTileTargets rows = {factor, reach, shift};
	UnitRandom random = {53};
	const HyTileKernels *tiles;
	int repeat;
	int n;

	for (n = 0; (tiles = hy_tile_kernels_nth(n)) != NULL; n++)
	{
		for (repeat = 0; repeat < 2000; repeat++)
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
	int16_t whole[301];
	UnitRandom random = {54};
	const HyTileKernels *tiles;
	int length;
	int n;
	int i;

	for (n = 0; (tiles = hy_tile_kernels_nth(n)) != NULL; n++)
	{
		Kind kind = kind_of(tiles);

		for (length = 1; length < 300; length++)
		{
			float scale =
				length % 3 == 0 ? 0.125f : 0.001f * (float) (1 + unit_random_below(&random, 100));
			float inverse = 1.0f / scale;
			float most = (float) tiles->largest_element * 0.9f * scale;
			float largest = 0.0f;
			double sum = 0;
			double square = 0;
			float said;

			for (i = 0; i < length; i++)
			{
				x[i] = unit_random_float(&random) * most;
				/* the middle between two, and less than the unit can tell from 0 */
				if (i % 7 == 3)
					x[i] = kind == KIND_BFLOAT16 ? 0x1.03p-4f * scale : 2.5f * scale;
				if (i % 7 == 5)
					x[i] *= ldexpf(1.0f, -(int) unit_random_below(&random, 135));
				largest = fmaxf(largest, fabsf(x[i]));
			}
			CHECK_SAME_F32(tiles->largest(x, length), largest);
			memset(whole, 0x55, sizeof(whole));
			said = tiles->quantize(x, length, inverse, scale, whole);
			for (i = 0; i < length; i++)
			{
				double got = element(tiles, whole, 0, 0, i);
				double rest = (double) x[i] - (double) scale * got;

				if (kind == KIND_BFLOAT16)
					CHECK_INT(whole[i], to_bfloat16(x[i] * inverse));
				else
					CHECK_SAME_F64(got, (double) (int) rintf(x[i] * inverse));
				sum += rest * rest;
				square += (double) x[i] * (double) x[i];
			}
			CHECK_NEAR(sqrt(said), sqrt(sum), 1e-3 * sqrt(sum) + 1e-7 * sqrt(square));
			/* nothing behind the last */
			CHECK_INT(((const char *) whole)[length * tiles->element], 0x55);
		}
	}
}

/* The table of a level is one of all tables, and a forced one takes precedence. */
static void
test_choice(void)
{
	const HyTileKernels *before = hy_tile_kernels();
	const HyTileKernels *tiles;
	int level;
	int n;

	for (level = 0; level < HY_SIMD_COUNT; level++)
	{
		const HyTileKernels *wanted = hy_tile_kernels_at((HySimd) level);

		CHECK_INT(wanted != NULL, hy_simd_available((HySimd) level));
		for (n = 0; wanted != NULL && (tiles = hy_tile_kernels_nth(n)) != NULL; n++)
		{
			if (tiles == wanted)
				break;
		}
		CHECK(wanted == NULL || (tiles == wanted && (int) tiles->level == level));
	}
	for (n = 0; (tiles = hy_tile_kernels_nth(n)) != NULL; n++)
	{
		hy_tile_kernels_force(tiles);
		CHECK(hy_tile_kernels() == tiles);
	}
	hy_tile_kernels_force(NULL);
	CHECK(hy_tile_kernels() == before);
}

int
main(void)
{
	UNIT_RUN(test_products);
	UNIT_RUN(test_long_products);
	UNIT_RUN(test_panels);
	UNIT_RUN(test_reaching);
	UNIT_RUN(test_rounding);
	UNIT_RUN(test_choice);
	return unit_finish();
}
