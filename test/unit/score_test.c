/*
 * score_test.c
 *		Each query keeps the rows with the least bounds, as if every row were scored alone and
 *		all were sorted, at every level.
 */
#include "core/score.h"

#include <stdlib.h>

#include "core/distance.h"
#include "core/threads.h"
#include "core/topk.h"
#include "score_stage.h"

#define ROWS (SCORE_BLOCKS * HY_CODE_ROWS)

static ScoreStage stage;
static UnitRandom random_ = {77};

static int
compare(const void *a, const void *b)
{
	return hy_neighbor_compare(a, b);
}

/*
 * expect: score all live rows of a query by their block alone, in plain C, and sort them.  Returns
 * their number.
 */
static int
expect(const ScoreStage *from, int query, HyNeighbor *all)
{
	HySimd level = hy_kernels()->level;
	int count = 0;
	int l;
	int b;
	int i;

	hy_kernels_force(HY_SIMD_SCALAR);
	for (l = 0; l < SCORE_LISTS; l++)
	{
		HyCodeLimits limits = {from->reach[query][l].base, from->reach[query][l].reach,
		                       from->queries.eps, -INFINITY, 0};

		for (b = from->begin[l]; b < from->begin[l + 1]; b++)
		{
			HyCodeBlocks block = {.codes = from->block[b].codes,
			                      .code_stride = 0,
			                      .factors = &from->block[b].factors,
			                      .factor_stride = 0,
			                      .count = 1};
			float estimates[HY_CODE_ROWS];
			float lowers[HY_CODE_ROWS];
			uint32_t mask;

			if (b < from->rows.first || b >= from->rows.first + from->rows.blocks)
				continue;
			hy_code_score(&from->query[query], &block, &limits, estimates, lowers, &mask);
			for (i = 0; i < HY_CODE_ROWS; i++)
			{
				if ((from->live[b] >> i & 1) == 0)
					continue;
				all[count].distance = isnan(lowers[i]) ? -INFINITY : (double) lowers[i];
				all[count++].row = (int64_t) b * HY_CODE_ROWS + i;
			}
		}
	}
	hy_kernels_force(level);
	qsort(all, (size_t) count, sizeof(HyNeighbor), compare);
	return count;
}

/* differences: return the number of results that differ from the expected ones. */
static int
differences(const ScoreStage *from, int32_t k)
{
	static HyNeighbor all[ROWS];
	static HyNeighbor out[SCORE_QUERIES * HY_SCORE_MOST];
	int32_t counts[SCORE_QUERIES];
	int different = 0;
	int q;
	int i;

	memset(out, 0xcc, sizeof(out));
	CHECK_INT(hy_score(&from->rows, &from->queries, k, out, counts, NULL), HY_OK);
	for (q = 0; q < from->queries.count; q++)
	{
		int count = expect(from, q, all);

		count = count < k ? count : k;
		different += counts[q] != count;
		for (i = 0; i < count && counts[q] == count; i++)
			different += out[q * k + i].row != all[i].row ||
			             memcmp(&out[q * k + i].distance, &all[i].distance, sizeof(double)) != 0;
	}
	return different;
}

static void
test_the_least_on_every_level(void)
{
	static const int32_t ks[] = {1, 2, 13, 100, HY_SCORE_MOST};
	int round;
	int level;
	int i;

	for (round = 0; round < 12; round++)
	{
		score_stage_init(&stage, &random_, round % 2 == 1);
		for (level = HY_SIMD_SCALAR; level < HY_SIMD_COUNT; level++)
		{
			if (!hy_simd_available((HySimd) level))
				continue;
			hy_kernels_force((HySimd) level);
			for (i = 0; i < (int) (sizeof(ks) / sizeof(ks[0])); i++)
				CHECK_MSG(differences(&stage, ks[i]) == 0, "%s, k = %d",
				          hy_simd_name((HySimd) level), (int) ks[i]);
		}
		hy_kernels_force(hy_simd_best());
	}
}

static void
test_threads(void)
{
	int threads;

	hy_threads_set_least(1);
	for (threads = 2; threads <= 7; threads++)
	{
		score_stage_init(&stage, &random_, threads % 2 == 1);
		hy_threads_allow(threads);
		CHECK_INT(differences(&stage, 13), 0);
		CHECK_INT(differences(&stage, HY_SCORE_MOST), 0);
	}
	hy_threads_allow(1);
	hy_threads_set_least(0);
	hy_threads_stop();
}

/* Fewer rows than k, blocks that do not count, no live row at all, no list, no query. */
static void
test_few_rows(void)
{
	HyNeighbor out[SCORE_QUERIES];
	int32_t counts[SCORE_QUERIES];
	int first;
	int b;

	score_stage_init(&stage, &random_, true);
	for (first = SCORE_AHEAD; first < SCORE_BLOCKS; first += 5)
	{
		stage.rows.first = first;
		for (stage.rows.blocks = 0;
		     stage.rows.blocks < 4 && first + stage.rows.blocks < SCORE_BLOCKS; stage.rows.blocks++)
			CHECK_INT(differences(&stage, 150), 0);
	}
	for (b = 0; b < SCORE_BLOCKS; b++)
		stage.live[b] = 0;
	stage.rows.first = SCORE_AHEAD;
	stage.rows.blocks = SCORE_BLOCKS - SCORE_AHEAD;
	counts[3] = 7;
	CHECK_INT(hy_score(&stage.rows, &stage.queries, 1, out, counts, NULL), HY_OK);
	CHECK_INT(counts[3], 0);
	stage.rows = (HyScoreRows){.padded = SCORE_PADDED};
	counts[3] = 7;
	CHECK_INT(hy_score(&stage.rows, &stage.queries, 1, out, counts, NULL), HY_OK);
	CHECK_INT(counts[3], 0);
	stage.queries.count = 0;
	CHECK_INT(hy_score(&stage.rows, &stage.queries, 1, NULL, NULL, NULL), HY_OK);
}

/* NaN and -infinity come first, and of equal bounds the lower row. */
static void
test_nothing_is_lost(void)
{
	HyNeighbor out[SCORE_QUERIES * 3];
	int32_t counts[SCORE_QUERIES];
	int i;

	score_stage_init(&stage, &random_, false);
	for (i = 0; i < SCORE_LISTS; i++)
		stage.reach[0][i] = (HyScoreReach){1, 1};
	stage.live[20] = stage.live[30] = stage.live[40] = stage.live[50] = UINT32_MAX;
	stage.block[50].factors.error[31] = INFINITY;
	stage.block[40].factors.add[7] = NAN;
	stage.block[30].factors.rescale[9] = -INFINITY;
	stage.block[20].factors.add[1] = INFINITY;
	CHECK_INT(hy_score(&stage.rows, &stage.queries, 3, out, counts, NULL), HY_OK);
	CHECK_INT(counts[0], 3);
	CHECK_INT(out[0].row, 30 * 32 + 9);
	CHECK_INT(out[1].row, 40 * 32 + 7);
	CHECK_INT(out[2].row, 50 * 32 + 31);
	for (i = 0; i < 3; i++)
		CHECK(out[i].distance == (double) -INFINITY);
	/* with no reach an infinite error says nothing at all */
	for (i = 0; i < SCORE_LISTS; i++)
		stage.reach[0][i] = (HyScoreReach){0, 0};
	stage.query[0].slack = 0;
	CHECK_INT(hy_score(&stage.rows, &stage.queries, 3, out, counts, NULL), HY_OK);
	CHECK(out[0].distance == (double) -INFINITY && out[1].distance == (double) -INFINITY);
	for (i = 0; i < 3 && out[i].row != 50 * 32 + 31; i++)
		;
	CHECK(i < 3);
}

/* refused: check that a statement makes valid arguments HY_INVALID. */
#define refused(statement)                                                                         \
	do                                                                                             \
	{                                                                                              \
		HyScoreRows rows = stage.rows;                                                             \
		HyScoreQueries queries = stage.queries;                                                    \
		int32_t k = 10;                                                                            \
		CHECK_INT(hy_score_check(&rows, &queries, k), HY_OK);                                      \
		statement;                                                                                 \
		CHECK_MSG(hy_score_check(&rows, &queries, k) == HY_INVALID, "%s", #statement);             \
		CHECK_INT(hy_score(&rows, &queries, k, out, counts, NULL), HY_INVALID);                    \
	} while (0)

static void
test_what_makes_no_sense(void)
{
	static HyNeighbor out[SCORE_QUERIES * HY_SCORE_MOST];
	int32_t counts[SCORE_QUERIES];

	score_stage_init(&stage, &random_, false);
	refused(k = 0);
	refused(k = HY_SCORE_MOST + 1);
	refused(rows.padded = 0);
	refused(rows.padded = 100);
	refused(rows.padded = 64); /* the queries have others */
	refused(rows.padded = 16064);
	refused(rows.lists = -1);
	refused(rows.begin = NULL);
	refused(rows.first = 1); /* before the first list */
	refused(rows.first = SCORE_AHEAD + 1);
	refused(rows.blocks = INT32_MAX);
	refused(rows.blocks = -1);
	refused(rows.codes = NULL);
	refused(rows.factors = NULL);
	refused(rows.live = NULL);
	refused(rows.code_stride = SCORE_PADDED * 4 - 1);
	refused(rows.factor_stride = sizeof(HyCodeFactors) - 4);
	refused(rows.factor_stride = sizeof(ScoreBlock) + 2);
	refused(queries.count = -1);
	refused(queries.query = NULL);
	refused(queries.reach = NULL);
	refused(queries.reach_stride = SCORE_LISTS - 1);
	refused(queries.eps = -1);
	refused(queries.eps = NAN);
	refused(queries.eps = INFINITY);
	stage.query[4].tables = NULL;
	CHECK_INT(hy_score_check(&stage.rows, &stage.queries, 10), HY_INVALID);
	stage.query[4].tables = stage.tables[4];
	stage.begin[5] = stage.begin[6] + 1;
	CHECK_INT(hy_score_check(&stage.rows, &stage.queries, 10), HY_INVALID);
	stage.begin[5] = -1;
	CHECK_INT(hy_score_check(&stage.rows, &stage.queries, 10), HY_INVALID);
}

static void
test_cancel(void)
{
	enum
	{
		BLOCKS = 4000
	};
	static HyNeighbor out[SCORE_QUERIES * 10];
	int32_t counts[SCORE_QUERIES];
	int32_t begin[2] = {0, BLOCKS};
	ScoreBlock *blocks = calloc(BLOCKS, sizeof(ScoreBlock));
	uint32_t *live = calloc(BLOCKS, sizeof(uint32_t));
	UnitCancel cancel;
	int64_t polls;
	int64_t at;

	score_stage_init(&stage, &random_, false);
	stage.rows.lists = 1;
	stage.rows.begin = begin;
	stage.rows.codes = blocks->codes;
	stage.rows.factors = &blocks->factors;
	stage.rows.live = live;
	stage.rows.first = 0;
	stage.rows.blocks = BLOCKS;
	unit_cancel_init(&cancel, 0);
	CHECK_INT(hy_score(&stage.rows, &stage.queries, 10, out, counts, &cancel.cancel), HY_OK);
	polls = cancel.polls;
	CHECK_MSG(polls >= 15, "%lld", (long long) polls);
	for (at = 1; at <= polls; at++)
	{
		unit_cancel_init(&cancel, at);
		CHECK_INT(hy_score(&stage.rows, &stage.queries, 10, out, counts, &cancel.cancel),
		          HY_CANCELLED);
		CHECK_INT(cancel.polls, at);
	}
	free(live);
	free(blocks);
}

int
main(void)
{
	UNIT_RUN(test_the_least_on_every_level);
	UNIT_RUN(test_threads);
	UNIT_RUN(test_few_rows);
	UNIT_RUN(test_nothing_is_lost);
	UNIT_RUN(test_what_makes_no_sense);
	UNIT_RUN(test_cancel);
	return unit_finish();
}
