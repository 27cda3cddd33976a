/*
 * gpu_ops.c
 *		The part of gpubench that assigns rows to centroids, and scores codes.
 */
#include "gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/assign.h"
#include "core/clock.h"
#include "core/score.h"

#define CPU_ROWS 8192  /* of an assignment, that one core is asked for */
#define CPU_QUERIES 4  /* of a scoring */
#define INSTRUCTIONS 2 /* of a pair's element: a difference, and its square added */
#define LIST_BLOCKS 32

static double
now_us(void)
{
	return (double) hy_monotonic_clock.now(hy_monotonic_clock.arg) / 1000;
}

static void *
room(size_t count, size_t size)
{
	void *made = calloc(count, size);

	if (made == NULL)
		exit(1);
	return made;
}

/* noise: number i of a sequence without order, in -1 .. 1. */
static float
noise(uint64_t i)
{
	i = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
	i = (i ^ i >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return (float) (i >> 40) * 0x1p-23f - 1;
}

static HyMatrix
matrix(int32_t dims, int64_t rows, uint64_t seed)
{
	float *data = room((size_t) rows * (size_t) dims + 1, sizeof(float));
	int64_t i;

	for (i = 0; i < rows * dims; i++)
		data[i] = noise(seed + (uint64_t) i);
	return (HyMatrix){
		.dims = dims, .rows = rows, .stride = (size_t) dims * sizeof(float), .data = data};
}

/* bench_assign: with groups, as many as centroids in each. */
static void
bench_assign(HyDevice *device, int32_t dims, int64_t rows, int32_t centroids, int32_t groups,
             int32_t probes, double rate)
{
	HyTask task = {.op = HY_OP_ASSIGN, .allocator = &hy_malloc_allocator};
	HyAssignTask *a = &task.u.assign;
	int32_t *begin = room((size_t) groups + 1, sizeof(int32_t));
	HyMatrix some;
	char name[128];
	char measure[160];
	double pairs;
	double us;
	double cpu;
	int32_t g;

	for (g = 0; g <= groups; g++)
		begin[g] = groups > 0 ? (int32_t) ((int64_t) centroids * g / groups) : 0;
	a->rows = matrix(dims, rows, 1);
	a->centroids = matrix(dims, centroids, UINT64_C(1) << 40);
	a->groups = (HyGroups){matrix(dims, groups, UINT64_C(1) << 41), begin, probes};
	a->nearest = room((size_t) rows, sizeof(int32_t));
	pairs = (double) rows * (double) hy_task_shape(&task).targets;
	us = gpu_task_us(device, &task);
	some = a->rows;
	some.rows = rows < CPU_ROWS ? rows : CPU_ROWS;
	cpu = now_us();
	(void) hy_assign(&some, &a->centroids, groups > 0 ? &a->groups : NULL, &hy_malloc_allocator,
	                 a->nearest, NULL);
	cpu = (now_us() - cpu) * (double) rows / (double) some.rows;

	snprintf(name, sizeof(name), "assign_%d_%lldx%d_%d", (int) dims, (long long) rows,
	         (int) centroids, (int) probes);
	snprintf(measure, sizeof(measure), "%s_host", name);
	gpu_print(measure, us, "us");
	snprintf(measure, sizeof(measure), "%s_share_of_fp32", name);
	gpu_print(measure, pairs * dims * INSTRUCTIONS / us / rate, "ratio");
	snprintf(measure, sizeof(measure), "%s_one_cpu", name);
	gpu_print(measure, cpu, "us");
	snprintf(measure, sizeof(measure), "%s_speedup", name);
	gpu_print(measure, cpu / us, "ratio");
	free((void *) (uintptr_t) a->rows.data);
	free((void *) (uintptr_t) a->centroids.data);
	free((void *) (uintptr_t) a->groups.centers.data);
	free(a->nearest);
	free(begin);
}

/* score_make: codes and queries without order; a CPU's time does not depend on what they say. */
static void
score_make(HyScoreTask *s, int32_t padded, int32_t blocks, int32_t queries, int32_t k)
{
	size_t size = hy_code_block_size(padded);
	size_t tables = hy_code_tables_size(padded);
	int32_t lists = (blocks + LIST_BLOCKS - 1) / LIST_BLOCKS;
	uint8_t *codes = room((size_t) blocks, size);
	HyCodeFactors *factors = room((size_t) blocks, sizeof(HyCodeFactors));
	uint32_t *live = room((size_t) blocks, sizeof(uint32_t));
	int32_t *begin = room((size_t) lists + 1, sizeof(int32_t));
	HyCodeQuery *query = room((size_t) queries, sizeof(HyCodeQuery));
	HyScoreReach *reach = room((size_t) queries * (size_t) lists, sizeof(HyScoreReach));
	uint8_t *entries = room((size_t) queries, tables);
	float *rotated = room((size_t) padded, sizeof(float));
	size_t i;
	int32_t q;

	for (i = 0; i < (size_t) blocks * size; i++)
		codes[i] = (uint8_t) (int) (noise(i) * 127 + 128);
	for (i = 0; i < (size_t) blocks * HY_CODE_ROWS; i++)
	{
		HyCodeFactors *own = &factors[i / HY_CODE_ROWS];

		own->add[i % HY_CODE_ROWS] = (float) padded * (1 + noise(i) / 10);
		own->rescale[i % HY_CODE_ROWS] = -2;
		own->error[i % HY_CODE_ROWS] = 1;
	}
	memset(live, 0xff, (size_t) blocks * sizeof(uint32_t));
	for (i = 0; i <= (size_t) lists; i++)
		begin[i] = (int32_t) i * LIST_BLOCKS < blocks ? (int32_t) i * LIST_BLOCKS : blocks;
	for (i = 0; i < (size_t) queries * (size_t) lists; i++)
		reach[i] = (HyScoreReach){(float) padded, 1 + noise(i) / 10};
	for (q = 0; q < queries; q++)
	{
		for (i = 0; i < (size_t) padded; i++)
			rotated[i] = noise((uint64_t) q * (uint64_t) padded + i);
		hy_code_query_init(&query[q], rotated, padded, entries + (size_t) q * tables);
	}
	free(rotated);
	s->rows = (HyScoreRows){.padded = padded,
	                        .lists = lists,
	                        .begin = begin,
	                        .codes = codes,
	                        .code_stride = size,
	                        .factors = factors,
	                        .factor_stride = sizeof(HyCodeFactors),
	                        .live = live,
	                        .blocks = blocks};
	s->queries = (HyScoreQueries){
		.count = queries, .query = query, .reach = reach, .reach_stride = lists, .eps = 1.9f};
	s->k = k;
	s->out = room((size_t) queries * (size_t) k, sizeof(HyNeighbor));
	s->counts = room((size_t) queries, sizeof(int32_t));
}

static void
score_free(HyScoreTask *s)
{
	free((void *) (uintptr_t) s->rows.begin);
	free((void *) (uintptr_t) s->rows.codes);
	free((void *) (uintptr_t) s->rows.factors);
	free((void *) (uintptr_t) s->rows.live);
	free((void *) (uintptr_t) s->queries.query[0].tables);
	free((void *) (uintptr_t) s->queries.query);
	free((void *) (uintptr_t) s->queries.reach);
	free(s->out);
	free(s->counts);
}

static void
bench_score(HyDevice *device, int32_t padded, int64_t rows, int32_t queries, int32_t k,
            double bandwidth)
{
	HyTask task = {.op = HY_OP_SCORE_CODES, .allocator = &hy_malloc_allocator};
	HyScoreTask *s = &task.u.score;
	HyScoreQueries some;
	char name[128];
	char measure[160];
	double bytes;
	double us;
	double cpu;

	score_make(s, padded, (int32_t) (rows / HY_CODE_ROWS), queries, k);
	bytes = (double) s->rows.blocks * (double) (hy_code_block_size(padded) + sizeof(HyCodeFactors));
	us = gpu_task_us(device, &task);
	some = s->queries;
	some.count = queries < CPU_QUERIES ? queries : CPU_QUERIES;
	cpu = now_us();
	(void) hy_score(&s->rows, &some, k, s->out, s->counts, NULL);
	cpu = (now_us() - cpu) * queries / some.count;

	snprintf(name, sizeof(name), "score_codes_%d_%dx%lld_%d", (int) padded, (int) queries,
	         (long long) rows, (int) k);
	snprintf(measure, sizeof(measure), "%s_host", name);
	gpu_print(measure, us, "us");
	/* codes come over the bus first: of the device's memory this is a small part, of the bus all there is */
	snprintf(measure, sizeof(measure), "%s_codes", name);
	gpu_print(measure, bytes / us / 1000, "GB/s");
	snprintf(measure, sizeof(measure), "%s_share_of_bandwidth", name);
	gpu_print(measure, bytes / us / bandwidth, "ratio");
	snprintf(measure, sizeof(measure), "%s_one_cpu", name);
	gpu_print(measure, cpu, "us");
	snprintf(measure, sizeof(measure), "%s_speedup", name);
	gpu_print(measure, cpu / us, "ratio");
	score_free(s);
}

void
gpu_bench_ops(HyDevice *device, double rate, double bandwidth)
{
	bench_assign(device, 768, 20000, 256, 0, 0, rate);
	bench_assign(device, 768, 1000000, 4096, 0, 0, rate);
	bench_assign(device, 768, 1000000, 4096, 64, 8, rate);
	bench_score(device, 768, 1000000, 1, 100, bandwidth);
	bench_score(device, 768, 1000000, 64, 100, bandwidth);
	bench_score(device, 768, 1000000, 512, 100, bandwidth);
	bench_score(device, 768, 1000000, 512, 1000, bandwidth);
}
