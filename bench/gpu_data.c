/*
 * gpu_data.c
 *		What gpubench computes on: vectors without order, made by all cores at once.
 *
 * A vector's elements depend on where they are alone, so that fewer rows are the first of more.  No
 * order is in them: rows that come nearer and nearer would be kept more often than others, and those
 * of a pattern would all have the same candidates.
 */
#include "gpu.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/distance.h"

#define KINDS 4 /* of rows, that are kept */
#define MOST_THREADS 64
#define FEW 100000 /* elements that are not worth a thread */
#define ROWS_SEED 1

/* Kept: rows that were asked for. */
typedef struct Kept
{
	HyMatrix matrix;
	HyBuffer *buffer; /* of all the rows, or NULL */
} Kept;

/* Filling: a thread's part of it. */
typedef struct Filling
{
	HyDtype dtype;
	void *data;
	uint64_t seed;
	size_t first;
	size_t end;
} Filling;

static Kept kept[KINDS];
static int next_kept;

static Kept *keep(HyDtype dtype, int32_t dims, int64_t rows);
static void leave(Kept *k);
static void fill(HyDtype dtype, void *data, size_t elements, uint64_t seed);
static void *fill_part(void *arg);

void *
gpu_room(size_t count, size_t size)
{
	void *made = calloc(count > 0 ? count : 1, size);

	if (made == NULL)
	{
		printf("# out of memory: %zu times %zu bytes\n", count, size);
		exit(1);
	}
	return made;
}

float
gpu_noise(uint64_t i)
{
	i = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
	i = (i ^ i >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return (float) (i >> 40) * 0x1p-23f - 1;
}

HyMatrix
gpu_matrix(int32_t dims, int64_t rows, uint64_t seed)
{
	float *data = gpu_room((size_t) rows * (size_t) dims, sizeof(float));

	fill(HY_F32, data, (size_t) rows * (size_t) dims, seed);
	return (HyMatrix){
		.dims = dims, .rows = rows, .stride = (size_t) dims * sizeof(float), .data = data};
}

void
gpu_matrix_free(HyMatrix *matrix)
{
	free((void *) (uintptr_t) matrix->data);
	matrix->data = NULL;
}

HyMatrix
gpu_rows(HyDtype dtype, int32_t dims, int64_t rows)
{
	HyMatrix matrix = keep(dtype, dims, rows)->matrix;

	matrix.rows = rows;
	return matrix;
}

HyMatrix
gpu_rows_resident(HyDtype dtype, int32_t dims, int64_t rows)
{
	Kept *k = keep(dtype, dims, rows);
	HyMatrix matrix = k->matrix;

	if (k->buffer == NULL)
	{
		uint64_t bytes = (uint64_t) matrix.rows * matrix.stride;

		if (gpu.cuda->buf_alloc(gpu.device, bytes, &k->buffer) != HY_OK ||
		    gpu.cuda->upload(gpu.device, k->buffer, 0, matrix.data, bytes) != HY_OK)
			gpu_give_up("a resident buffer");
	}
	matrix.rows = rows;
	matrix.data = NULL;
	matrix.buffer = k->buffer;
	return matrix;
}

void
gpu_rows_leave(void)
{
	int i;

	for (i = 0; i < KINDS; i++)
		leave(&kept[i]);
}

void
gpu_rows_free(void)
{
	int i;

	gpu_rows_leave();
	for (i = 0; i < KINDS; i++)
		gpu_matrix_free(&kept[i].matrix);
	memset(kept, 0, sizeof(kept));
}

HyTask
gpu_topk_task(HyMetric metric, const HyMatrix *queries, const HyMatrix *targets)
{
	HyTask task = {.op = HY_OP_TOPK, .allocator = &hy_malloc_allocator};

	task.u.topk = (HyTopKTask){.metric = metric,
	                           .queries = *queries,
	                           .targets = *targets,
	                           .k = GPU_K,
	                           .out = gpu_room((size_t) queries->rows * GPU_K, sizeof(HyNeighbor)),
	                           .counts = gpu_room((size_t) queries->rows, sizeof(int32_t))};
	return task;
}

void
gpu_topk_free(HyTask *task)
{
	free(task->u.topk.out);
	free(task->u.topk.counts);
}

/* keep: at least so many rows; what was asked for longest ago gives way. */
static Kept *
keep(HyDtype dtype, int32_t dims, int64_t rows)
{
	Kept *k = NULL;
	size_t row_bytes = (size_t) dims * hy_dtype_size(dtype);
	void *data;
	int i;

	for (i = 0; i < KINDS && k == NULL; i++)
	{
		if (kept[i].matrix.data != NULL && kept[i].matrix.dtype == dtype &&
		    kept[i].matrix.dims == dims)
			k = &kept[i];
	}
	if (k != NULL && k->matrix.rows >= rows)
		return k;
	if (k == NULL)
		k = &kept[next_kept++ % KINDS];
	leave(k);
	gpu_matrix_free(&k->matrix);
	data = malloc((size_t) rows * row_bytes);
	if (data == NULL)
	{
		printf("# out of memory: %lld rows of %zu bytes\n", (long long) rows, row_bytes);
		exit(1);
	}
	fill(dtype, data, (size_t) rows * (size_t) dims, ROWS_SEED);
	k->matrix =
		(HyMatrix){.dtype = dtype, .dims = dims, .rows = rows, .stride = row_bytes, .data = data};
	return k;
}

static void
leave(Kept *k)
{
	if (k->buffer != NULL)
		gpu.cuda->buf_free(gpu.device, k->buffer);
	k->buffer = NULL;
}

static void
fill(HyDtype dtype, void *data, size_t elements, uint64_t seed)
{
	Filling filling[MOST_THREADS];
	pthread_t thread[MOST_THREADS];
	int threads = gpu.cores < MOST_THREADS ? gpu.cores : MOST_THREADS;
	int i;

	if (elements < FEW)
		threads = 1;
	for (i = 0; i < threads; i++)
		filling[i] =
			(Filling){dtype, data, seed, elements / (size_t) threads * (size_t) i,
		              i + 1 < threads ? elements / (size_t) threads * (size_t) (i + 1) : elements};
	for (i = 1; i < threads; i++)
	{
		if (pthread_create(&thread[i], NULL, fill_part, &filling[i]) != 0)
			exit(1);
	}
	(void) fill_part(&filling[0]);
	for (i = 1; i < threads; i++)
		(void) pthread_join(thread[i], NULL);
}

static void *
fill_part(void *arg)
{
	const Filling *filling = arg;
	size_t i;

	for (i = filling->first; i < filling->end; i++)
	{
		float value = gpu_noise(filling->seed + i);

		if (filling->dtype == HY_F32)
			((float *) filling->data)[i] = value;
		else
			((uint16_t *) filling->data)[i] = hy_float_to_half(value);
	}
	return NULL;
}
