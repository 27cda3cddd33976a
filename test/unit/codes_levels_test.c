/*
 * codes_levels_test.c
 *		Codes: the layout that an index stores, and the same bits at every level.
 */
#include "unit.h"

#include "core/codes.h"

#define MOST 2048 /* dims */
#define ROWS HY_CODE_ROWS

static void
test_put_and_get(void)
{
	UnitRandom random = {31};
	int padded;
	int turn;
	int i;
	int b;

	for (padded = 64; padded <= 1024; padded += 192)
	{
		uint8_t *block = malloc(hy_code_block_size(padded));
		static uint8_t rows[ROWS][MOST / 8];
		HyCode codes[ROWS];
		HyCodeFactors factors;

		/* what was there before must not shine through, nor a neighbour be touched */
		memset(block, 0xff, hy_code_block_size(padded));
		for (turn = 0; turn < 200; turn++)
		{
			i = turn < ROWS ? turn : (int) unit_random_below(&random, ROWS);
			for (b = 0; b < padded / 8; b++)
				rows[i][b] = (uint8_t) unit_random(&random);
			codes[i].add = unit_random_float(&random);
			codes[i].rescale = unit_random_float(&random);
			codes[i].error = unit_random_float(&random);
			hy_code_put(block, &factors, padded, i, rows[i], &codes[i]);
		}
		for (i = 0; i < ROWS; i++)
		{
			uint8_t bits[MOST / 8];
			HyCode code;
			int d;

			hy_code_get(block, &factors, padded, i, bits, &code);
			CHECK(memcmp(bits, rows[i], hy_code_bits_size(padded)) == 0);
			CHECK(memcmp(&code, &codes[i], sizeof(code)) == 0);
			/* the layout that an index stores */
			for (d = 0; d < padded; d++)
				CHECK_INT(block[d / 4 * 16 + i % 16] >> (i / 16 * 4 + d % 4) & 1,
				          rows[i][d / 8] >> d % 8 & 1);
		}
		free(block);
	}
}

/*
 * check_score: check that a block is given up if its first tables show that none of its rows is
 * near, and otherwise has the bounds of all tables.  The same at every level.
 */
static void
check_score(const HyCodeKernels *kernels, UnitRandom *random, int count, const uint8_t *tables,
            const uint8_t *codes, HyCodeFactors factors, const HyCodeBounds *bounds)
{
	const HyCodeKernels *plain = hy_code_kernels_at(HY_SIMD_SCALAR);
	int given_up = 0;
	int turn;
	int i;

	for (turn = 0; turn < 8; turn++)
	{
		uint64_t some = unit_random_below(random, (uint64_t) count / 16);
		HyCodeEarly early = {.count = turn == 1 ? 16 : 16 + (int) some * 16, .bounds = *bounds};
		size_t after = (size_t) early.count * 16;
		uint32_t sums[ROWS] = {0};
		float estimate[2][ROWS];
		float lower[2][ROWS];
		uint32_t masks[2];
		HyCodeScorer scorer;

		/* one that has no bound keeps its block */
		factors.error[7] = turn % 4 == 3 ? NAN : 1;
		factors.error[8] = 1;
		early.bounds.threshold = turn % 2 == 0 ? INFINITY : -INFINITY;
		plain->sums(tables, codes, codes, early.count, sums);
		masks[0] = plain->bounds(&early.bounds, sums, &factors, estimate[0], lower[0]);
		if (early.count < count && masks[0] == 0)
			given_up++;
		else
		{
			plain->sums(tables + after, codes + after, codes, count - early.count, sums);
			masks[0] = plain->bounds(bounds, sums, &factors, estimate[0], lower[0]);
		}
		scorer = (HyCodeScorer){kernels, tables, count, *bounds, early};
		masks[1] = kernels->score(&scorer, codes, codes, &factors, estimate[1], lower[1]);
		CHECK_INT(masks[1], masks[0]);
		for (i = 0; i < ROWS; i++)
		{
			CHECK_SAME_F32(estimate[1][i], estimate[0][i]);
			CHECK_SAME_F32(lower[1][i], lower[0][i]);
		}
		CHECK(early.count == count || masks[0] == 0 || turn % 4 != 1);
	}
	CHECK_MSG(given_up <= 2 && (given_up > 0 || count == 16), "%d of 8 are given up", given_up);
}

/* check_level: check that all results of a level have the bits of plain C, for these numbers. */
static void
check_level(const HyCodeKernels *kernels, UnitRandom *random, int padded, int kind)
{
	const HyCodeKernels *plain = hy_code_kernels_at(HY_SIMD_SCALAR);
	int count = padded / 4;
	/* exactly what is needed, for the sanitizers */
	float *q = malloc((size_t) padded * sizeof(float));
	float *c = malloc((size_t) padded * sizeof(float));
	uint8_t *tables[2];
	uint8_t *codes = malloc(hy_code_block_size(padded));
	uint8_t *bits[2];
	uint32_t sums[2][ROWS];
	float losses[2][16];
	float estimate[2][ROWS];
	float lower[2][ROWS];
	uint32_t entries[2];
	uint32_t masks[2];
	HyCodeSums parts[2];
	HyCodeFactors factors;
	HyCodeBounds bounds = {.scale = unit_random_float(random),
	                       .offset = -500 * unit_random_float(random),
	                       .base = 100,
	                       .slack = 3,
	                       .margin = 5,
	                       .threshold = 0};
	float most;
	int i;
	int k;

	for (i = 0; i < padded; i++)
	{
		/* of one size; of all sizes; all alike, so that a code of ones sums what a byte can hold */
		q[i] = kind == 0   ? unit_random_float(random)
		       : kind == 1 ? ldexpf(unit_random_float(random), -(int) unit_random_below(random, 40))
		                   : 1;
		if (i % 11 == 5 && kind < 2)
			q[i] = i % 2 == 0 ? 0.0f : -0.0f;
		c[i] = unit_random_float(random);
	}
	for (i = 0; i < padded * 4; i++)
		codes[i] = kind == 2 ? 0xff : (uint8_t) unit_random(random);
	for (i = 0; i < ROWS; i++)
	{
		factors.add[i] = 100 * unit_random_float(random);
		factors.rescale[i] = unit_random_float(random);
		factors.error[i] = i == 7 ? INFINITY : i == 8 ? NAN : unit_random_float(random);
	}

	most = plain->widest(q, count);
	CHECK(most > 0);
	CHECK_SAME_F32(kernels->widest(q, count), most);
	for (k = 0; k < 2; k++)
	{
		const HyCodeKernels *level = k == 0 ? plain : kernels;

		tables[k] = malloc(hy_code_tables_size(padded));
		bits[k] = malloc(hy_code_bits_size(padded));
		for (i = 0; i < 16; i++)
			losses[k][i] = (float) i;
		entries[k] = level->tables(q, count, 127 / most, tables[k], losses[k]);
		for (i = 0; i < ROWS; i++)
			sums[k][i] = (uint32_t) i;
		level->sums(tables[0], codes, codes, count, sums[k]);
		masks[k] = level->bounds(&bounds, sums[k], &factors, estimate[k], lower[k]);
		level->encode(q, c, padded, bits[k], &parts[k]);
	}
	CHECK_MSG(memcmp(tables[0], tables[1], hy_code_tables_size(padded)) == 0, "tables");
	CHECK_MSG(memcmp(losses[0], losses[1], sizeof(losses[0])) == 0, "losses");
	CHECK_INT(entries[1], entries[0]);
	CHECK_MSG(memcmp(sums[0], sums[1], sizeof(sums[0])) == 0, "sums");
	CHECK_INT(masks[1], masks[0]);
	for (i = 0; i < ROWS; i++)
	{
		CHECK_SAME_F32(estimate[1][i], estimate[0][i]);
		CHECK_SAME_F32(lower[1][i], lower[0][i]);
	}
	CHECK(masks[0] >> 7 & 1 && masks[0] >> 8 & 1);
	if (count <= 512)
		check_score(kernels, random, count, tables[0], codes, factors, &bounds);
	CHECK_MSG(memcmp(bits[0], bits[1], hy_code_bits_size(padded)) == 0, "bits");
	CHECK_MSG(memcmp(&parts[0], &parts[1], sizeof(parts[0])) == 0, "sums of a row");
	if (kind == 2)
		CHECK_INT(sums[0][9], 9 + 127 * count);

	/* not a number and infinite, wherever they are */
	q[unit_random_below(random, (uint64_t) padded)] = kind == 0 ? -INFINITY : -NAN;
	CHECK_SAME_F32(kernels->widest(q, count), kind == 0 ? INFINITY : NAN);
	for (k = 0; k < 2; k++)
	{
		free(tables[k]);
		free(bits[k]);
	}
	free(codes);
	free(q);
	free(c);
}

static void
test_same_bits_on_every_level(void)
{
	static const int padded[] = {64,   128,  192,  256,  320,  448,  512,  768,
	                             1024, 1536, 2048, 2112, 4096, 8256, 16000};
	UnitRandom random = {41};
	int level;
	int kind;
	int n;

	for (level = 0; level < HY_SIMD_COUNT; level++)
	{
		const HyCodeKernels *kernels = hy_code_kernels_at((HySimd) level);

		CHECK_INT(kernels != NULL, hy_simd_available((HySimd) level));
		for (n = 0; kernels != NULL && n < 15; n++)
		{
			for (kind = 0; kind < 3; kind++)
				check_level(kernels, &random, padded[n], kind);
		}
	}
}

int
main(void)
{
	UNIT_RUN(test_put_and_get);
	UNIT_RUN(test_same_bits_on_every_level);
	return unit_finish();
}
