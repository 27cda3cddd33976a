/*
 * gpu_overlap.c
 *		The part of gpubench that measures the plug-in as a whole: whether copies and kernels overlap,
 *		and how much memory the pool holds beyond what is in use.
 */
#include "gpu.h"

#include <stdlib.h>

#include "cuda/copy.h"

#define PIECE (16 * GPU_MIB) /* bytes that the plug-in uploads at once */
#define STREAMS 2
#define MOST_QUERIES 32768
#define QUERY_SEED (UINT64_C(1) << 40)
#define LIVE 16  /* buffers at once, at most */
#define TURNS 50 /* from one batch to the next */

/* Copies: rows on their way up, through pinned memory as the plug-in has it. */
typedef struct Copies
{
	const char *from;
	size_t bytes;
	void *pinned[STREAMS];
	void *on_device[STREAMS];
	cudaStream_t stream[STREAMS];
} Copies;

static double copies_us(const HyMatrix *rows);
static void run_copies(void *arg);
static double kernels_us(int64_t queries, const HyMatrix *resident);
static void overlap(int64_t queries, const HyMatrix *rows, const HyMatrix *resident, double copies);
static uint64_t churn(const HyTask *batch, uint64_t base, uint64_t *most_held);
static uint64_t free_memory(void);

/*
 * gpu_overlap: a search whose rows come over the bus, against the longer of its copies alone and of its
 * kernels alone: for one query, for as many that both take about as long, and for four times as many.
 */
void
gpu_overlap(void)
{
	int64_t rows_wanted = gpu_size(200000, 600);
	HyMatrix rows = gpu_rows(HY_F32, 768, rows_wanted);
	HyMatrix resident = gpu_rows_resident(HY_F32, 768, rows_wanted);
	double copies = copies_us(&rows);
	int64_t queries = 1;

	gpu_print_beside("overlap_copies_alone", copies, "us", GPU_NOTHING,
	                 "%.6g GB/s packed on %d threads and copied; of %.6g GB/s from pinned memory",
	                 (double) rows.rows * (double) rows.stride / copies / 1000, gpu.threads,
	                 gpu.up / 1000);
	while (queries < gpu_size(MOST_QUERIES / 4, 8) && kernels_us(queries, &resident) < 0.8 * copies)
		queries *= 2;
	overlap(1, &rows, &resident, copies);
	if (queries > 1)
		overlap(queries, &rows, &resident, copies);
	overlap(4 * queries, &rows, &resident, copies);
}

/*
 * gpu_pool: buffers of many sizes come and go, with batches in between that take memory of their own.
 * What the driver has given, less what the plug-in has opened with, against what is in use.
 */
void
gpu_pool(void)
{
	HyMatrix queries = gpu_matrix(768, gpu_size(1000, 16), QUERY_SEED);
	HyMatrix rows = gpu_rows(HY_F32, 768, gpu_size(100000, 200));
	HyTask batch = gpu_topk_task(HY_METRIC_L2, &queries, &rows);
	uint64_t most = 0;
	uint64_t payload;
	uint64_t base;

	gpu_open();
	base = free_memory();
	payload = churn(&batch, base, &most);
	gpu_print_beside("pool_held_above_payload", (double) (most - payload) / (double) payload,
	                 "ratio", GPU_AT_MOST(0.5), "%.6g MiB held for %.6g MiB in use at the worst",
	                 (double) most / (double) GPU_MIB, (double) payload / (double) GPU_MIB);
	gpu_topk_free(&batch);
	gpu_matrix_free(&queries);
	gpu_close();
}

static double
copies_us(const HyMatrix *rows)
{
	Copies copies = {.from = rows->data, .bytes = (size_t) rows->rows * rows->stride};
	double us;
	int i;

	for (i = 0; i < STREAMS; i++)
	{
		gpu_check(cudaHostAlloc(&copies.pinned[i], PIECE, cudaHostAllocDefault), "pinning memory");
		gpu_check(cudaMalloc(&copies.on_device[i], PIECE), "allocating");
		gpu_check(cudaStreamCreateWithFlags(&copies.stream[i], cudaStreamNonBlocking),
		          "making a stream");
	}
	us = gpu_median_us(run_copies, &copies);
	for (i = 0; i < STREAMS; i++)
	{
		gpu_check(cudaFreeHost(copies.pinned[i]), "freeing");
		gpu_check(cudaFree(copies.on_device[i]), "freeing");
		gpu_check(cudaStreamDestroy(copies.stream[i]), "giving a stream back");
	}
	return us;
}

static void
run_copies(void *arg)
{
	const Copies *copies = arg;
	size_t at;
	int i = 0;

	for (at = 0; at < copies->bytes; at += PIECE, i = (i + 1) % STREAMS)
	{
		size_t bytes = copies->bytes - at < PIECE ? copies->bytes - at : PIECE;
		HyCudaCopy pack;

		gpu_check(cudaStreamSynchronize(copies->stream[i]), "copying");
		pack = hy_cuda_copy_of(HY_CUDA_COPY_UP, copies->pinned[i], copies->from + at, bytes);
		hy_cuda_copy(&gpu.host, HY_OP_TOPK, &pack, 1);
		gpu_check(cudaMemcpyAsync(copies->on_device[i], copies->pinned[i], bytes,
		                          cudaMemcpyHostToDevice, copies->stream[i]),
		          "copying");
	}
	for (i = 0; i < STREAMS; i++)
		gpu_check(cudaStreamSynchronize(copies->stream[i]), "copying");
}

static double
kernels_us(int64_t queries, const HyMatrix *resident)
{
	HyMatrix asking = gpu_matrix(768, queries, QUERY_SEED);
	HyTask task = gpu_topk_task(HY_METRIC_L2, &asking, resident);
	double us = gpu_task_us(&task);

	gpu_topk_free(&task);
	gpu_matrix_free(&asking);
	return us;
}

static void
overlap(int64_t queries, const HyMatrix *rows, const HyMatrix *resident, double copies)
{
	double kernels = kernels_us(queries, resident);
	double both = kernels_us(queries, rows);
	double longer = kernels > copies ? kernels : copies;

	gpu_print_beside(gpu_name("overlap_%lldx%lldx768", (long long) queries, (long long) rows->rows),
	                 both / longer, "ratio", GPU_AT_MOST(1.15),
	                 "%.6g us; copies alone %.6g us; kernels alone %.6g us", both, copies, kernels);
}

/*
 * churn: of the moments when memory was asked for, that with the most beyond what was in use: its
 * payload, which is returned, and what was held.
 */
static uint64_t
churn(const HyTask *batch, uint64_t base, uint64_t *most_held)
{
	HyBuffer *buffer[LIVE] = {NULL};
	uint64_t bytes[LIVE] = {0};
	uint64_t state = 1;
	uint64_t payload = 0;
	uint64_t worst = 1;
	int turns = (int) gpu_size(600, 2 * TURNS);
	int i;

	for (i = 0; i < turns; i++)
	{
		uint64_t held;
		int at;

		state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		at = (int) (state >> 33) % LIVE;
		if (buffer[at] != NULL)
		{
			gpu.cuda->buf_free(gpu.device, buffer[at]);
			payload -= bytes[at];
			buffer[at] = NULL;
		}
		if (i % TURNS == TURNS - 1)
			gpu_run_task(batch);
		/* some turns only give back */
		if (state >> 60 < 4)
			continue;
		bytes[at] = (uint64_t) gpu_size((int64_t) (4 * GPU_MIB), 65536) * (1 + (state >> 45) % 48);
		if (gpu.cuda->buf_alloc(gpu.device, bytes[at], &buffer[at]) != HY_OK)
			gpu_give_up("a buffer");
		payload += bytes[at];
		held = base - free_memory();
		if (held < payload)
			held = payload;
		if (*most_held == 0 ||
		    (double) held / (double) payload > (double) *most_held / (double) worst)
		{
			*most_held = held;
			worst = payload;
		}
	}
	for (i = 0; i < LIVE; i++)
	{
		if (buffer[i] != NULL)
			gpu.cuda->buf_free(gpu.device, buffer[i]);
	}
	return worst;
}

static uint64_t
free_memory(void)
{
	size_t free_bytes;
	size_t total;

	gpu_check(cudaMemGetInfo(&free_bytes, &total), "asking for memory");
	return free_bytes;
}
