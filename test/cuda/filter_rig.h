/*
 * filter_rig.h
 *		Test cases for the kernels of the filter, and the data of a case on the fake device.
 */
#ifndef HY_TEST_FILTER_RIG_H
#define HY_TEST_FILTER_RIG_H

#include "forms.h"

typedef struct Case
{
	HyMetric metric;
	HyDtype dtype;
	int32_t dims;
	int32_t queries;
	int64_t rows;
	int32_t k;
	Kind kind;
	Form form;
	int32_t room;   /* capacity of a list, as a multiple of k */
	bool uneven;    /* the first 8 of every 64 rows are short */
	bool unbounded; /* drop the bound: shows that rows are missed without it */
	const double *limit;
} Case;

/* Rig: the data of a case on the fake device. */
typedef struct Rig
{
	int32_t padded;
	int64_t query_room;
	int64_t row_room;
	cudaStream_t stream;
	float *norms;
	float *middle;
	HyCudaFiltered args;
	int32_t overflow;
} Rig;

static const Case plain = {
	.dtype = HY_F32, .dims = 40, .queries = 20, .rows = 150, .k = 3, .room = 32};

static void *
device_room(size_t bytes)
{
	void *pointer;

	CHECK_INT(cudaMalloc(&pointer, bytes), cudaSuccess);
	return pointer;
}

static void
form_vectors(const Case *c, float *queries, char *targets)
{
	float *x = malloc((size_t) c->dims * sizeof(float));
	int64_t i;
	int32_t j;

	if (c->form == AS_DRAWN)
	{
		fill(targets, c->dtype, c->kind, (size_t) (c->rows * c->dims));
		fill(queries, HY_F32, c->kind, (size_t) c->queries * (size_t) c->dims);
	}
	for (i = 0; i < c->rows && c->form != AS_DRAWN; i++)
	{
		form_vector(c->form, c->kind, x, c->dims, true);
		for (j = 0; j < c->dims; j++)
		{
			if (c->uneven && i % 64 < 8)
				x[j] = ldexpf(x[j], -12);
			if (c->dtype == HY_F32)
				((float *) targets)[i * c->dims + j] = x[j];
			else
				((uint16_t *) targets)[i * c->dims + j] = hy_float_to_half(x[j]);
		}
	}
	for (i = 0; i < c->queries && c->form != AS_DRAWN; i++)
		form_vector(c->form, c->kind, queries + i * c->dims, c->dims, false);
	free(x);
}

/* rig_make: upload the queries and allocate memory on the device.  Rounds nothing yet. */
static void
rig_make(Rig *rig, const Case *c, const float *queries, const HyNeighbor *best)
{
	size_t list = (size_t) c->room * (size_t) c->k;

	memset(rig, 0, sizeof(*rig));
	rig->padded = (c->dims + HY_CUDA_TILE_DIMS - 1) / HY_CUDA_TILE_DIMS * HY_CUDA_TILE_DIMS;
	rig->query_room = whole_tiles(c->queries);
	rig->row_room = whole_tiles(c->rows);
	CHECK_INT(cudaStreamCreateWithFlags(&rig->stream, 0), cudaSuccess);
	rig->norms = device_room((size_t) c->queries * sizeof(float));
	rig->middle = device_room((size_t) c->dims * sizeof(float));
	rig->args.rows = (HyCudaRows){
		.stride = (int64_t) ((size_t) c->dims * hy_dtype_size(c->dtype)),
		.queries =
			to_device(queries, (size_t) c->queries * (size_t) c->dims * sizeof(float), rig->stream),
		.query_norms = rig->norms,
		.query_count = c->queries,
		.dims = c->dims};
	rig->args.k = c->k;
	rig->args.padded = rig->padded;
	rig->args.queries = device_room((size_t) rig->query_room * (size_t) rig->padded * 2);
	rig->args.aim = device_room((size_t) rig->query_room * sizeof(HyCudaAim));
	rig->args.targets = device_room((size_t) rig->row_room * (size_t) rig->padded * 2);
	rig->args.reach = device_room((size_t) rig->row_room * sizeof(HyCudaReach));
	rig->args.found = device_room((size_t) c->queries * list * sizeof(int32_t));
	rig->args.count = device_room((size_t) c->queries * sizeof(int32_t));
	rig->args.list_room = (int32_t) list;
	rig->args.best =
		to_device(best, (size_t) c->queries * (size_t) c->k * sizeof(HyNeighbor), rig->stream);
	rig->args.overflow = to_device(&rig->overflow, sizeof(int32_t), rig->stream);
	CHECK_INT(
		hy_cuda_launch_norms(rig->args.rows.queries, c->queries, c->dims, rig->norms, rig->stream),
		cudaSuccess);
}

static void
rig_free(Rig *rig)
{
	const char *fault;

	CHECK_INT(cudaStreamSynchronize(rig->stream), cudaSuccess);
	fault = hy_fake_fault();
	CHECK_MSG(fault == NULL, "%s", fault);
	cudaFree(rig->norms);
	cudaFree(rig->middle);
	cudaFree((void *) rig->args.rows.queries);
	cudaFree((void *) rig->args.queries);
	cudaFree(rig->args.aim);
	cudaFree((void *) rig->args.targets);
	cudaFree((void *) rig->args.reach);
	cudaFree(rig->args.found);
	cudaFree(rig->args.count);
	cudaFree(rig->args.best);
	cudaFree(rig->args.overflow);
	cudaStreamDestroy(rig->stream);
}

/* round_both: round the rows, and the queries if `queries` is true. */
static void
round_both(Rig *rig, const Case *c, bool queries)
{
	const float *middle = c->metric == HY_METRIC_L2 ? rig->middle : NULL;
	HyCudaRound round = {.rows = rig->args.rows.queries,
	                     .stride = (int64_t) ((size_t) c->dims * sizeof(float)),
	                     .count = c->queries,
	                     .room = rig->query_room,
	                     .dims = c->dims,
	                     .padded = rig->padded,
	                     .middle = middle,
	                     .rounded = (uint16_t *) rig->args.queries,
	                     .aim = rig->args.aim};

	if (queries)
		CHECK_INT(hy_cuda_launch_round(c->metric, HY_F32, &round, rig->stream), cudaSuccess);
	round.rows = rig->args.rows.targets;
	round.stride = rig->args.rows.stride;
	round.count = rig->args.rows.rows;
	round.room = whole_tiles(round.count);
	round.rounded = (uint16_t *) rig->args.targets;
	round.reach = (HyCudaReach *) rig->args.reach;
	round.aim = NULL;
	CHECK_INT(hy_cuda_launch_round(c->metric, c->dtype, &round, rig->stream), cudaSuccess);
}

/* run_filter_tests: a program's. */
static int
run_filter_tests(void (*tests)(void))
{
	hy_fake_reset();
	CHECK_INT(hy_kernels_force(HY_SIMD_SCALAR), HY_OK);
	tests();
	printf("# %lld compared, %d left allocated\n", (long long) compared, hy_fake_live());
	return unit_finish();
}

#endif
