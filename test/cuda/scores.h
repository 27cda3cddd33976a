/*
 * scores.h
 *		Tasks of 'score_codes' with random codes, and the CPU's answers.
 */
#ifndef HY_TEST_SCORES_H
#define HY_TEST_SCORES_H

#include "answers.h"

#include "core/score.h"
#include "dispatch/backend.h"

/* How bounds come out. */
typedef enum ScoreKind
{
	SCORE_PLAIN,
	SCORE_FEW, /* many bounds are equal, zeros of both signs among them */
	SCORE_ODD, /* infinite, or no numbers */
	SCORE_KINDS
} ScoreKind;

/* ScoreJob: a task with its own data. */
typedef struct ScoreJob
{
	HyTask task;
	int32_t *begin;
	uint8_t *codes;
	char *factors;
	uint32_t *live;
	HyCodeQuery *query;
	uint8_t *tables;
	HyScoreReach *reach;
	HyNeighbor *out;
	HyNeighbor *expected;
	int32_t *counts;
	int32_t *expected_counts;
	int64_t entries;
} ScoreJob;

static float
score_draw(UnitRandom *randomness, ScoreKind kind)
{
	static const float odd[] = {INFINITY, -INFINITY, NAN, 0, 3e38f, -3e38f, 1e-40f, -0.0f};
	uint64_t which = unit_random_below(randomness, 40);

	if (kind == SCORE_FEW)
		return which % 3 == 0 ? -0.0f : which % 3 == 1 ? 0.0f : 1.0f;
	if (kind == SCORE_ODD && which < sizeof(odd) / sizeof(odd[0]))
		return odd[which];
	return unit_random_float(randomness);
}

/* score_factors: draw factors. `rescale` is never above 0, and `error` is never below 0. */
static void
score_factors(HyCodeFactors *factors, UnitRandom *randomness, ScoreKind kind)
{
	int i;

	for (i = 0; i < HY_CODE_ROWS; i++)
	{
		factors->add[i] = score_draw(randomness, kind);
		factors->rescale[i] =
			kind == SCORE_FEW ? -0.0f : -fabsf(score_draw(randomness, kind)) / 1000;
		factors->error[i] = kind == SCORE_FEW ? 0.0f : fabsf(score_draw(randomness, kind)) / 100;
	}
}

/* score_lists: make random lists, some of them empty, whose blocks begin at block `before`. */
static void
score_lists(ScoreJob *job, UnitRandom *randomness, int32_t before, int32_t all)
{
	int32_t lists = job->task.u.score.rows.lists;
	int32_t l;
	int32_t i;

	job->begin = calloc((size_t) lists + 1, sizeof(int32_t));
	for (i = before; i < all; i++)
		job->begin[1 + unit_random_below(randomness, (uint64_t) lists)]++;
	job->begin[0] = before;
	for (l = 0; l < lists; l++)
		job->begin[l + 1] += job->begin[l];
}

static UNIT_UNUSED void
score_job(ScoreJob *job, UnitRandom *randomness, int32_t padded, int32_t blocks, int32_t lists,
          int32_t queries, int32_t k, ScoreKind kind, size_t gap)
{
	/* blocks before and after the scored range, and blocks without a list */
	int32_t before = gap > 0 ? 2 : 0;
	int32_t all = blocks + 2 * before + 1;
	size_t tables = hy_code_tables_size(padded);
	HyScoreTask *s = &job->task.u.score;
	int32_t q;
	size_t i;

	memset(job, 0, sizeof(*job));
	job->task.op = HY_OP_SCORE_CODES;
	job->task.allocator = &hy_malloc_allocator;
	s->k = k;
	s->rows = (HyScoreRows){.padded = padded,
	                        .lists = lists,
	                        .code_stride = hy_code_block_size(padded) + gap,
	                        .factor_stride = sizeof(HyCodeFactors) + gap * 4,
	                        .first = before + (gap > 0),
	                        .blocks = blocks};
	score_lists(job, randomness, before, all);
	job->codes = malloc((size_t) all * s->rows.code_stride);
	job->factors = calloc((size_t) all, s->rows.factor_stride);
	job->live = malloc((size_t) all * sizeof(uint32_t));
	for (i = 0; i < (size_t) all * s->rows.code_stride; i++)
		job->codes[i] = (uint8_t) unit_random(randomness);
	for (i = 0; i < (size_t) all; i++)
	{
		score_factors((HyCodeFactors *) (void *) (job->factors + i * s->rows.factor_stride),
		              randomness, kind);
		job->live[i] = i % 3 == 0 ? UINT32_MAX : (uint32_t) unit_random(randomness);
	}
	job->query = calloc((size_t) queries + 1, sizeof(HyCodeQuery));
	job->tables = malloc((size_t) queries * tables + 1);
	job->reach = malloc(((size_t) queries * (size_t) (lists + 1) + 1) * sizeof(HyScoreReach));
	for (i = 0; i < (size_t) queries * tables; i++)
		job->tables[i] = (uint8_t) unit_random_below(randomness, 128);
	for (i = 0; i < (size_t) queries * (size_t) (lists + 1); i++)
	{
		job->reach[i].base = score_draw(randomness, kind);
		job->reach[i].reach = kind == SCORE_FEW ? 0 : fabsf(score_draw(randomness, kind));
	}
	for (q = 0; q < queries; q++)
	{
		job->query[q].padded = padded;
		job->query[q].tables = job->tables + (size_t) q * tables;
		job->query[q].scale = kind == SCORE_FEW ? 0 : fabsf(score_draw(randomness, kind));
		job->query[q].offset = kind == SCORE_FEW ? 1 : score_draw(randomness, kind);
		job->query[q].slack = kind == SCORE_FEW ? 0 : fabsf(score_draw(randomness, kind));
	}
	s->rows.begin = job->begin;
	s->rows.codes = job->codes;
	s->rows.factors = (const HyCodeFactors *) (const void *) job->factors;
	s->rows.live = job->live;
	s->queries = (HyScoreQueries){.count = queries,
	                              .query = job->query,
	                              .reach = job->reach,
	                              .reach_stride = lists + 1,
	                              .eps = 1.9f};
	job->entries = (int64_t) queries * k;
	job->out = malloc((size_t) (job->entries + 1) * sizeof(HyNeighbor));
	job->expected = malloc((size_t) (job->entries + 1) * sizeof(HyNeighbor));
	job->counts = malloc((size_t) (queries + 1) * sizeof(int32_t));
	job->expected_counts = malloc((size_t) (queries + 1) * sizeof(int32_t));
	memset(job->out, 0x5a, (size_t) (job->entries + 1) * sizeof(HyNeighbor));
	memset(job->counts, 0x5a, (size_t) (queries + 1) * sizeof(int32_t));
	s->out = job->out;
	s->counts = job->counts;
	CHECK_INT(hy_score(&s->rows, &s->queries, k, job->expected, job->expected_counts, NULL), HY_OK);
}

static UNIT_UNUSED void
score_job_free(ScoreJob *job)
{
	free(job->begin);
	free(job->codes);
	free(job->factors);
	free(job->live);
	free(job->query);
	free(job->tables);
	free(job->reach);
	free(job->out);
	free(job->expected);
	free(job->counts);
	free(job->expected_counts);
}

static UNIT_UNUSED void
score_job_check(const void *of)
{
	const ScoreJob *job = of;
	const HyScoreTask *s = &job->task.u.score;
	Answers answers = {s->queries.count, s->k,        job->out,
	                   job->expected,    job->counts, job->expected_counts};
	char what[96];

	snprintf(what, sizeof(what), "padded %d, %d blocks, %d lists, k %d", (int) s->rows.padded,
	         (int) s->rows.blocks, (int) s->rows.lists, (int) s->k);
	check_answers(&answers, what);
}

#endif
