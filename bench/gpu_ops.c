/*
 * gpu_ops.c
 *		The part of gpubench that assigns rows to centroids, and scores codes.
 */
#include "gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/score.h"

#define INSTRUCTIONS 2 /* of a pair's element: a difference, and its square added */
#define LIST_BLOCKS 32
#define CENTROID_SEED (UINT64_C(1) << 40)
#define CENTER_SEED (UINT64_C(1) << 41)

static void assign(int32_t dims, int64_t rows, int32_t centroids, int32_t groups, int32_t probes,
                   bool resident, GpuAsked asked);
static void score_make(HyScoreTask *s, int32_t padded, int32_t blocks, int32_t queries, int32_t k);
static void score_free(HyScoreTask *s);
static void score(int32_t padded, int64_t rows, int32_t queries, int32_t k);

void
gpu_assign(void)
{
	int32_t centroids = (int32_t) gpu_size(4096, 64);

	assign(768, gpu_size(20000, 200), (int32_t) gpu_size(256, 16), 0, 0, false, GPU_NOTHING);
	gpu_assign_kernels();
	assign(768, gpu_size(1000000, 300), centroids, 0, 0, true, GPU_AT_LEAST(0.5));
	assign(768, gpu_size(1000000, 300), centroids, 0, 0, false, GPU_NOTHING);
	/* so many centroids that what comes over the bus does not count */
	assign(768, gpu_size(250000, 100), (int32_t) gpu_size(65536, 128), 0, 0, false, GPU_NOTHING);
	assign(768, gpu_size(1000000, 300), centroids, (int32_t) gpu_size(64, 8),
	       (int32_t) gpu_size(8, 2), false, GPU_NOTHING);
}

void
gpu_codes(void)
{
	int64_t rows = gpu_size(1000000, 2048);

	score(768, rows, 1, 100);
	score(768, rows, (int32_t) gpu_size(64, 4), 100);
	score(768, rows, (int32_t) gpu_size(512, 8), 100);
	score(768, rows, (int32_t) gpu_size(512, 8), (int32_t) gpu_size(1000, 200));
}

/*
 * assign: with groups, as many as centroids in each; rows that are resident, as k-means has them, or come over the
 * bus.
 */
static void
assign(int32_t dims, int64_t rows, int32_t centroids, int32_t groups, int32_t probes, bool resident,
       GpuAsked asked)
{
	HyTask task = {.op = HY_OP_ASSIGN, .allocator = &hy_malloc_allocator};
	HyAssignTask *a = &task.u.assign;
	int32_t *begin = gpu_room((size_t) groups + 1, sizeof(int32_t));
	char name[96];
	double operations;
	double copies;
	double us;
	int32_t g;

	for (g = 0; g <= groups; g++)
		begin[g] = groups > 0 ? (int32_t) ((int64_t) centroids * g / groups) : 0;
	a->rows = resident ? gpu_rows_resident(HY_F32, dims, rows) : gpu_rows(HY_F32, dims, rows);
	a->centroids = gpu_matrix(dims, centroids, CENTROID_SEED);
	a->groups = (HyGroups){gpu_matrix(dims, groups, CENTER_SEED), begin, probes};
	a->nearest = gpu_room((size_t) rows, sizeof(int32_t));
	operations = 2.0 * (double) rows * (double) hy_task_shape(&task).targets * dims;
	copies = (double) rows * (double) a->rows.stride / gpu.up;
	us = gpu_task_us(&task);

	snprintf(name, sizeof(name), "assign_%d_%lldx%d_%d_%s", (int) dims, (long long) rows,
	         (int) centroids, (int) probes, resident ? "resident" : "host");
	if (resident)
		gpu_print(name, us, "us");
	else
		gpu_print_beside(name, us, "us", GPU_NOTHING, "the rows take %.6g us over the bus", copies);
	gpu_print_matrix_share(name, operations / us, asked);
	gpu_print_beside(gpu_name("%s_share_of_fp32", name),
	                 operations / 2 * INSTRUCTIONS / us / gpu.fp32, "ratio", GPU_NOTHING,
	                 "of what the cores can start");
	if (!resident)
		gpu_print_cpu(name, &task, us, GPU_NOTHING);
	gpu_matrix_free(&a->centroids);
	gpu_matrix_free(&a->groups.centers);
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
	uint8_t *codes = gpu_room((size_t) blocks, size);
	HyCodeFactors *factors = gpu_room((size_t) blocks, sizeof(HyCodeFactors));
	uint32_t *live = gpu_room((size_t) blocks, sizeof(uint32_t));
	int32_t *begin = gpu_room((size_t) lists + 1, sizeof(int32_t));
	HyCodeQuery *query = gpu_room((size_t) queries, sizeof(HyCodeQuery));
	HyScoreReach *reach = gpu_room((size_t) queries * (size_t) lists, sizeof(HyScoreReach));
	uint8_t *entries = gpu_room((size_t) queries, tables);
	float *rotated = gpu_room((size_t) padded, sizeof(float));
	size_t i;
	int32_t q;

	for (i = 0; i < (size_t) blocks * size; i++)
		codes[i] = (uint8_t) (int) (gpu_noise(i) * 127 + 128);
	for (i = 0; i < (size_t) blocks * HY_CODE_ROWS; i++)
	{
		HyCodeFactors *own = &factors[i / HY_CODE_ROWS];

		own->add[i % HY_CODE_ROWS] = (float) padded * (1 + gpu_noise(i) / 10);
		own->rescale[i % HY_CODE_ROWS] = -2;
		own->error[i % HY_CODE_ROWS] = 1;
	}
	memset(live, 0xff, (size_t) blocks * sizeof(uint32_t));
	for (i = 0; i <= (size_t) lists; i++)
		begin[i] = (int32_t) i * LIST_BLOCKS < blocks ? (int32_t) i * LIST_BLOCKS : blocks;
	for (i = 0; i < (size_t) queries * (size_t) lists; i++)
		reach[i] = (HyScoreReach){(float) padded, 1 + gpu_noise(i) / 10};
	for (q = 0; q < queries; q++)
	{
		for (i = 0; i < (size_t) padded; i++)
			rotated[i] = gpu_noise((uint64_t) q * (uint64_t) padded + i);
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
	s->out = gpu_room((size_t) queries * (size_t) k, sizeof(HyNeighbor));
	s->counts = gpu_room((size_t) queries, sizeof(int32_t));
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
score(int32_t padded, int64_t rows, int32_t queries, int32_t k)
{
	HyTask task = {.op = HY_OP_SCORE_CODES, .allocator = &hy_malloc_allocator};
	HyScoreTask *s = &task.u.score;
	char name[96];
	double bytes;
	double us;

	score_make(s, padded, (int32_t) (rows / HY_CODE_ROWS), queries, k);
	bytes = (double) s->rows.blocks * (double) (hy_code_block_size(padded) + sizeof(HyCodeFactors));
	us = gpu_task_us(&task);

	snprintf(name, sizeof(name), "score_codes_%d_%dx%lld_%d", (int) padded, (int) queries,
	         (long long) rows, (int) k);
	gpu_print(gpu_name("%s_host", name), us, "us");
	/* codes come over the bus first: of the device's memory this is a small part, of the bus all there is */
	gpu_print_beside(gpu_name("%s_codes", name), bytes / us / 1000, "GB/s", GPU_NOTHING,
	                 "of %.6g GB/s from pinned memory", gpu.up / 1000);
	gpu_print_beside(gpu_name("%s_share_of_read_bandwidth", name), bytes / us / gpu.read, "ratio",
	                 GPU_NOTHING, "of %.6g GB/s", gpu.read / 1000);
	gpu_print_cpu(name, &task, us, GPU_NOTHING);
	score_free(s);
}
