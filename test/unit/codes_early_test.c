/*
 * codes_early_test.c
 *		Codes: blocks that are given up after their first tables contain a near row as rarely as
 *		a normal law says.
 */
#include "unit.h"

#include "core/codes.h"
#include "core/rotation.h"

#define MOST 1600 /* dims */
#define ROWS HY_CODE_ROWS
#define BLOCKS 24

/*
 * Blocks: rows around a centroid, and a query at some distance, both far from the root, which is
 * the origin.
 */
typedef struct Blocks
{
	int dims;
	HyRotation rotation;
	float centroid[MOST];
	float query[MOST];
	float turned_centroid[MOST];
	float turned_query[MOST];
	uint8_t tables[MOST * 4];
	HyCodeQuery prepared;
	uint8_t codes[BLOCKS][MOST * 4];
	HyCodeFactors factors[BLOCKS];
	HyCodeLimits limits;
} Blocks;

static void
fill(Blocks *blocks, int dims, uint64_t seed)
{
	UnitRandom random = {seed};
	double reach = 0;
	int row;
	int i;

	memset(blocks, 0, sizeof(*blocks));
	blocks->dims = dims;
	CHECK_INT(hy_rotation_init(&blocks->rotation, dims, seed, &hy_malloc_allocator), HY_OK);
	for (i = 0; i < dims; i++)
	{
		blocks->centroid[i] = (float) unit_random_gaussian(&random);
		blocks->query[i] = blocks->centroid[i] + (float) unit_random_gaussian(&random);
		reach += ((double) blocks->query[i] - blocks->centroid[i]) *
		         ((double) blocks->query[i] - blocks->centroid[i]);
	}
	hy_rotation_apply(&blocks->rotation, blocks->centroid, blocks->turned_centroid);
	hy_rotation_apply(&blocks->rotation, blocks->query, blocks->turned_query);
	hy_code_query_init(&blocks->prepared, blocks->turned_query, blocks->rotation.padded,
	                   blocks->tables);
	blocks->limits.base = (float) reach;
	blocks->limits.reach = (float) sqrt(reach);
	for (row = 0; row < BLOCKS * ROWS; row++)
	{
		float residual[MOST];
		uint8_t bits[MOST / 8];
		HyCode code;

		for (i = 0; i < dims; i++)
			residual[i] = (float) unit_random_gaussian(&random);
		hy_rotation_apply(&blocks->rotation, residual, residual);
		hy_code_encode(HY_METRIC_L2, residual, blocks->turned_centroid, blocks->rotation.padded, 0,
		               bits, &code);
		hy_code_put(blocks->codes[row / ROWS], &blocks->factors[row / ROWS],
		            blocks->rotation.padded, row % ROWS, bits, &code);
	}
	hy_rotation_free(&blocks->rotation);
}

/*
 * score: score a block by all tables or, if early > 0, by the first tables with this many
 * deviations allowed to them.
 */
static uint32_t
score(const Blocks *blocks, int block, float threshold, float early, float *estimate, float *lower)
{
	HyCodeLimits limits = blocks->limits;
	HyCodeBlocks one = {
		.codes = blocks->codes[block], .factors = &blocks->factors[block], .count = 1};
	uint32_t mask;

	limits.eps = 2;
	limits.threshold = threshold;
	limits.early = early;
	hy_code_score(&blocks->prepared, &one, &limits, estimate, lower, &mask);
	return mask;
}

/*
 * With the distance of its nearest row as the threshold, a block is given up as rarely as its
 * deviations say.
 */
static void
test_near_rows_are_kept(void)
{
	static const int dims[] = {768, 1000, 1536};
	static const float early[] = {1, 2, 3};
	/* of a normal law, beyond so many deviations on one side */
	static const double beyond[] = {0.1587, 0.0228, 0.00135};
	static Blocks blocks;
	int d;
	int e;

	for (d = 0; d < 3; d++)
	{
		int lost[3] = {0};
		double n = 0;
		uint64_t seed;

		for (seed = 1; seed <= 30; seed++)
		{
			int block;

			fill(&blocks, dims[d], seed * 3 + (uint64_t) d);
			CHECK(blocks.prepared.early_count > 0);
			for (block = 0; block < BLOCKS; block++)
			{
				float estimate[ROWS];
				float lower[ROWS];
				float least = INFINITY;
				int i;

				(void) score(&blocks, block, INFINITY, 0, estimate, lower);
				for (i = 0; i < ROWS; i++)
					least = fminf(least, estimate[i]);
				for (e = 0; e < 3; e++)
					lost[e] += score(&blocks, block, least, early[e], estimate, lower) == 0;
				n++;
			}
		}
		/* some are kept for another row's sake; those with the least estimates err to that side themselves */
		for (e = 0; e < 3; e++)
			CHECK_MSG(lost[e] <= 1.5 * n * beyond[e] + 3 * sqrt(n * beyond[e]) + 1,
			          "%d dims, %g deviations: %d of %g blocks are given up", dims[d],
			          (double) early[e], lost[e], n);
	}
}

/*
 * A block far from the threshold is given up, if it has enough tables to decide; its mask is 0
 * either way.
 */
static void
test_far_blocks_are_given_up(void)
{
	static const int dims[] = {8, 128, 768, 1536};
	static Blocks blocks;
	int d;

	for (d = 0; d < 4; d++)
	{
		int given_up = 0;
		int block;

		fill(&blocks, dims[d], 77 + (uint64_t) d);
		for (block = 0; block < BLOCKS; block++)
		{
			float estimate[2][ROWS];
			float lower[2][ROWS];
			float threshold = 0.5f * blocks.limits.base;

			CHECK_INT(score(&blocks, block, threshold, 3, estimate[1], lower[1]),
			          score(&blocks, block, threshold, 0, estimate[0], lower[0]));
			given_up += memcmp(estimate[0], estimate[1], sizeof(estimate[0])) != 0;
		}
		CHECK_INT(given_up, dims[d] >= 768 ? BLOCKS : 0);
	}
}

/* For a query with a NaN or infinite element nothing is given up. */
static void
test_no_query(void)
{
	static Blocks blocks;
	float estimate[ROWS];
	float lower[ROWS];
	int kind;

	fill(&blocks, 768, 5);
	for (kind = 0; kind < 2; kind++)
	{
		blocks.turned_query[3] = kind == 0 ? NAN : INFINITY;
		hy_code_query_init(&blocks.prepared, blocks.turned_query, 768, blocks.tables);
		CHECK_INT((int) score(&blocks, 0, 0, 3, estimate, lower), -1);
	}
}

int
main(void)
{
	UNIT_RUN(test_near_rows_are_kept);
	UNIT_RUN(test_far_blocks_are_given_up);
	UNIT_RUN(test_no_query);
	return unit_finish();
}
