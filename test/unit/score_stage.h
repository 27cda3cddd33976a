/*
 * score_stage.h
 *		Lists of made-up codes for the tests that score them: dead rows, tails, ties, and what is no
 *		number.
 */
#ifndef HY_SCORE_STAGE_H
#define HY_SCORE_STAGE_H

#include "core/rotation.h"
#include "core/score.h"
#include "unit.h"

#define SCORE_PADDED 128
#define SCORE_LISTS 23
#define SCORE_BLOCKS 67
#define SCORE_QUERIES 9
#define SCORE_AHEAD 2 /* blocks before the first list, which belong to none */

/* ScoreBlock: as on a page: factors beside the codes, and a gap. */
typedef struct ScoreBlock
{
	HyCodeFactors factors;
	uint8_t codes[SCORE_PADDED / 8 * HY_CODE_ROWS];
	uint8_t gap[12];
} ScoreBlock;

typedef struct ScoreStage
{
	ScoreBlock block[SCORE_BLOCKS];
	uint32_t live[SCORE_BLOCKS];
	int32_t begin[SCORE_LISTS + 1];
	uint8_t tables[SCORE_QUERIES][SCORE_PADDED * 4];
	HyCodeQuery query[SCORE_QUERIES];
	HyScoreReach reach[SCORE_QUERIES][SCORE_LISTS + 3];
	HyScoreRows rows;
	HyScoreQueries queries;
} ScoreStage;

/* score_stage_init: lists of no block to 8; with odd true some numbers are none, or beyond all others. */
static UNIT_UNUSED void
score_stage_init(ScoreStage *stage, UnitRandom *random, bool odd)
{
	int b;
	int i;
	int j;

	memset(stage, 0, sizeof(*stage));
	stage->begin[0] = SCORE_AHEAD;
	for (i = 1; i < SCORE_LISTS; i++)
	{
		int left = SCORE_BLOCKS - stage->begin[i - 1];
		int most = left < 7 ? left : 7;

		stage->begin[i] = stage->begin[i - 1] +
		                  (int) unit_random_below(random, (uint64_t) most + 1) * (i % 3 > 0);
	}
	stage->begin[SCORE_LISTS] = SCORE_BLOCKS;
	for (b = 0; b < SCORE_BLOCKS; b++)
	{
		ScoreBlock *block = &stage->block[b];

		for (i = 0; i < (int) sizeof(block->codes); i++)
			block->codes[i] = (uint8_t) unit_random_below(random, 256);
		for (i = 0; i < HY_CODE_ROWS; i++)
		{
			block->factors.add[i] = unit_random_float(random);
			block->factors.rescale[i] = -(float) unit_random_unit(random) / 16;
			block->factors.error[i] = (float) unit_random_unit(random) / 16;
			/* these have the same bound wherever they are in a list */
			if (unit_random_below(random, 3) == 0)
			{
				block->factors.add[i] = -0.25f;
				block->factors.rescale[i] = block->factors.error[i] = 0;
			}
			if (odd && unit_random_below(random, 40) == 0)
				block->factors.error[i] = INFINITY;
			if (odd && unit_random_below(random, 40) == 0)
				block->factors.add[i] = unit_random_below(random, 2) ? NAN : INFINITY;
		}
		stage->live[b] = (uint32_t) unit_random_below(random, UINT64_C(1) << 32) |
		                 (uint32_t) unit_random_below(random, UINT64_C(1) << 32);
		/* some tails, and blocks without a row */
		if (b % 5 == 0)
			stage->live[b] &= (UINT32_C(1) << unit_random_below(random, 32)) - 1;
	}
	for (i = 0; i < SCORE_QUERIES; i++)
	{
		float vector[SCORE_PADDED];

		for (j = 0; j < SCORE_PADDED; j++)
			vector[j] = unit_random_float(random);
		if (odd && i == SCORE_QUERIES - 1)
			vector[3] = INFINITY;
		hy_code_query_init(&stage->query[i], vector, SCORE_PADDED, stage->tables[i]);
		for (j = 0; j < SCORE_LISTS; j++)
		{
			float reach = (float) unit_random_below(random, 8) / 4;

			stage->reach[i][j] = (HyScoreReach){reach * reach, reach};
			if (odd && unit_random_below(random, 50) == 0)
				stage->reach[i][j] = (HyScoreReach){INFINITY, INFINITY};
		}
	}
	stage->rows = (HyScoreRows){.padded = SCORE_PADDED,
	                            .lists = SCORE_LISTS,
	                            .begin = stage->begin,
	                            .codes = stage->block[0].codes,
	                            .code_stride = sizeof(ScoreBlock),
	                            .factors = &stage->block[0].factors,
	                            .factor_stride = sizeof(ScoreBlock),
	                            .live = stage->live,
	                            .first = SCORE_AHEAD,
	                            .blocks = SCORE_BLOCKS - SCORE_AHEAD};
	stage->queries = (HyScoreQueries){.count = SCORE_QUERIES,
	                                  .query = stage->query,
	                                  .reach = stage->reach[0],
	                                  .reach_stride = SCORE_LISTS + 3,
	                                  .eps = 1.9f};
}

#endif
