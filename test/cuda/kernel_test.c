/*
 * kernel_test.c
 *		Runs the kernels' own source on fibers.  The results must have the bits of the CPU's scalar
 *		kernels.
 *
 * Rows and results lie in allocations of exactly their size, so that accesses beyond an end are
 * detected.
 */
#include "kinds.h"

typedef struct Case
{
	HyMetric metric;
	HyDtype dtype;
	int32_t dims;
	int32_t queries;
	int64_t rows;
	int64_t gap;    /* unused elements between two rows */
	int64_t before; /* elements before the first row */
	Kind kind;
} Case;

static int64_t compared;

static void
run_case(const Case *c)
{
	size_t element = hy_dtype_size(c->dtype);
	int64_t stride = (c->dims + c->gap) * (int64_t) element;
	size_t before = (size_t) c->before * element;
	size_t target_bytes = (size_t) ((c->rows - 1) * stride) + (size_t) c->dims * element;
	size_t query_bytes = (size_t) c->queries * c->dims * sizeof(float);
	size_t out_bytes = (size_t) (c->queries * c->rows) * sizeof(double);
	char *all = malloc(before + target_bytes);
	char *targets = all + before;
	char *on_device;
	float *queries = malloc(query_bytes);
	double *out = malloc(out_bytes);
	double *expected = malloc(out_bytes);
	HyMatrix query_matrix = {0};
	HyMatrix target_matrix = {0};
	HyCudaDistance args = {0};
	cudaStream_t stream;
	void *norms;
	const char *fault;
	int64_t i;

	fill(all, c->dtype, c->kind, (before + target_bytes) / element);
	fill(queries, HY_F32, c->kind, query_bytes / sizeof(float));
	/* a query equal to a row: distances of exactly 0 and 1 */
	if (c->dtype == HY_F32)
		memcpy(queries, targets, (size_t) c->dims * sizeof(float));

	query_matrix.dtype = HY_F32;
	query_matrix.dims = target_matrix.dims = c->dims;
	query_matrix.rows = c->queries;
	query_matrix.stride = (size_t) c->dims * sizeof(float);
	query_matrix.data = queries;
	target_matrix.dtype = c->dtype;
	target_matrix.rows = c->rows;
	target_matrix.stride = (size_t) stride;
	target_matrix.data = targets;
	CHECK_INT(hy_distance_matrix(c->metric, &query_matrix, &target_matrix, expected, NULL), HY_OK);

	CHECK_INT(cudaStreamCreateWithFlags(&stream, 0), cudaSuccess);
	on_device = to_device(all, before + target_bytes, stream);
	args.rows.targets = on_device + before;
	args.rows.queries = to_device(queries, query_bytes, stream);
	memset(out, 0xee, out_bytes);
	args.out = to_device(out, out_bytes, stream);
	CHECK_INT(cudaMalloc(&norms, (size_t) c->queries * sizeof(float)), cudaSuccess);
	args.rows.query_norms = norms;
	args.rows.stride = stride;
	args.rows.rows = c->rows;
	args.rows.query_count = c->queries;
	args.rows.dims = c->dims;
	args.out_stride = c->rows;
	/* sometimes give the norms to the kernel, sometimes let the kernel compute them */
	if (c->queries == 1 && c->dims <= HY_CUDA_OWN_NORM && unit_random_below(&randomness, 2))
		args.rows.query_norms = NULL;
	CHECK_INT(hy_cuda_launch_norms(args.rows.queries, c->queries, c->dims, norms, stream),
	          cudaSuccess);
	/* with one multiprocessor, blocks have several turns even in small cases */
	CHECK_INT(hy_cuda_launch_distance(c->metric, c->dtype, &args, 1, stream), cudaSuccess);
	CHECK_INT(cudaMemcpyAsync(out, args.out, out_bytes, cudaMemcpyDeviceToHost, stream),
	          cudaSuccess);
	CHECK_INT(cudaStreamSynchronize(stream), cudaSuccess);
	fault = hy_fake_fault();
	CHECK_MSG(fault == NULL, "%s", fault);

	for (i = 0; i < c->queries * c->rows; i++)
	{
		CHECK_MSG(unit_same_f64(out[i], expected[i]),
		          "%s %s dims %d queries %d rows %lld gap %d before %d kind %d: [%lld] is %a, "
		          "expected %a",
		          hy_metric_name(c->metric), hy_dtype_name(c->dtype), (int) c->dims,
		          (int) c->queries, (long long) c->rows, (int) c->gap, (int) c->before,
		          (int) c->kind, (long long) i, out[i], expected[i]);
		compared++;
	}

	cudaFree(on_device);
	cudaFree((void *) args.rows.queries);
	cudaFree(args.out);
	cudaFree(norms);
	cudaStreamDestroy(stream);
	free(all);
	free(queries);
	free(out);
	free(expected);
}

/* run_placed: run every metric and element type for one shape. */
static void
run_placed(int32_t dims, int32_t queries, int64_t rows, int64_t gap, int64_t before, Kind kind)
{
	int metric;
	int dtype;

	for (metric = 0; metric < HY_METRIC_COUNT; metric++)
	{
		for (dtype = 0; dtype < HY_DTYPE_COUNT; dtype++)
		{
			Case c = {(HyMetric) metric, (HyDtype) dtype, dims, queries, rows, gap, before, kind};

			run_case(&c);
		}
	}
}

static void
run_shape(int32_t dims, int32_t queries, int64_t rows, int64_t gap, Kind kind)
{
	run_placed(dims, queries, rows, gap, 0, kind);
}

/* dims around every boundary of the reduction: warp, step, flush, several flushes */
static void
every_boundary_of_dims(void)
{
	static const int32_t dims[] = {1,    2,    3,    31,   32,   33,   63,   64,    65,   95,
	                               96,   97,   127,  128,  129,  768,  1000, 1023,  1024, 1025,
	                               1087, 1088, 2047, 2048, 2049, 3000, 4096, 15999, 16000};
	size_t i;

	for (i = 0; i < sizeof(dims) / sizeof(dims[0]); i++)
	{
		run_shape(dims[i], 1, 3, 0, KIND_PLAIN);
		run_shape(dims[i], 5, 2, 0, KIND_PLAIN);
	}
}

static void
rows_and_queries_that_fill_no_block(void)
{
	static const int32_t queries[] = {1, 2, 3, 4, 5, 8, 9};
	static const int64_t rows[] = {1, 7, 8, 9, 300};
	size_t q;
	size_t r;

	for (q = 0; q < sizeof(queries) / sizeof(queries[0]); q++)
	{
		for (r = 0; r < sizeof(rows) / sizeof(rows[0]); r++)
			run_shape(17, queries[q], rows[r], 0, KIND_PLAIN);
	}
	/* several turns of a block with more than one segment */
	run_shape(1100, 2, 270, 0, KIND_PLAIN);
}

static void
rows_with_gaps(void)
{
	run_shape(33, 2, 20, 1, KIND_PLAIN);
	run_shape(128, 1, 20, 64, KIND_PLAIN);
	run_shape(1500, 3, 5, 7, KIND_PLAIN);
}

/*
 * For one query, rows are read 16 bytes at a time if their length and alignment allow it.  Covers
 * rows of many lengths and of every alignment, with and without gaps.  With KIND_ABSORB, most sums
 * would have other bits if they were added in another order.
 */
static void
every_dims_and_alignment(void)
{
	static const int32_t several[] = {1028, 1032, 1088, 1100, 1152, 1279, 1280, 1536, 2056, 2071};
	const int32_t few = 200;
	int32_t i;

	for (i = 1; i <= few + (int32_t) (sizeof(several) / sizeof(several[0])); i++)
	{
		int32_t dims = i <= few ? i : several[i - few - 1];
		int64_t aligned = 8 - dims % 8;

		run_placed(dims, 1, 5, 0, 0, KIND_ABSORB);
		run_placed(dims, 1, 5, 0, 1 + i % 7, KIND_PLAIN);
		run_placed(dims, 1, 2, aligned, 8, KIND_ABSORB);
		run_placed(dims, 1, 2, aligned + 1, i % 8, KIND_ABSORB);
	}
}

static void
extremes(void)
{
	static const int32_t dims[] = {1, 2, 5, 64, 100, 1024, 2500};
	size_t i;
	int kind;

	for (kind = 1; kind < KIND_COUNT; kind++)
	{
		for (i = 0; i < sizeof(dims) / sizeof(dims[0]); i++)
		{
			run_shape(dims[i], 1, 9, 0, (Kind) kind);
			run_shape(dims[i], 3, 5, 0, (Kind) kind);
		}
	}
}

static void
random_shapes(void)
{
	int i;

	for (i = 0; i < 60; i++)
		run_placed(1 + (int32_t) unit_random_below(&randomness, i % 4 == 0 ? 3000 : 200),
		           1 + (int32_t) unit_random_below(&randomness, 10),
		           1 + (int64_t) unit_random_below(&randomness, 12),
		           (int64_t) unit_random_below(&randomness, 3),
		           (int64_t) unit_random_below(&randomness, 9),
		           (Kind) unit_random_below(&randomness, KIND_COUNT));
}

/* every finite half is widened exactly: in one dimension its distance to 0 is its magnitude */
static void
every_half(void)
{
	enum
	{
		COUNT = 0x7c00
	};
	uint16_t *halves = malloc(COUNT * sizeof(uint16_t));
	double *out = malloc(COUNT * sizeof(double));
	float zero = 0.0f;
	HyCudaDistance args = {0};
	cudaStream_t stream;
	int i;

	for (i = 0; i < COUNT; i++)
		halves[i] = (uint16_t) i;
	CHECK_INT(cudaStreamCreateWithFlags(&stream, 0), cudaSuccess);
	args.rows.targets = to_device(halves, COUNT * sizeof(uint16_t), stream);
	args.rows.queries = to_device(&zero, sizeof(zero), stream);
	args.out = to_device(out, COUNT * sizeof(double), stream);
	args.rows.stride = sizeof(uint16_t);
	args.rows.rows = COUNT;
	args.rows.query_count = 1;
	args.rows.dims = 1;
	args.out_stride = COUNT;
	CHECK_INT(hy_cuda_launch_distance(HY_METRIC_L1, HY_F16, &args, 4, stream), cudaSuccess);
	CHECK_INT(
		cudaMemcpyAsync(out, args.out, COUNT * sizeof(double), cudaMemcpyDeviceToHost, stream),
		cudaSuccess);
	CHECK_INT(cudaStreamSynchronize(stream), cudaSuccess);
	for (i = 0; i < COUNT; i++)
		CHECK_SAME_F64(out[i], (double) hy_half_to_float((uint16_t) i));
	cudaFree((void *) args.rows.targets);
	cudaFree((void *) args.rows.queries);
	cudaFree(args.out);
	cudaStreamDestroy(stream);
	free(halves);
	free(out);
}

int
main(void)
{
	hy_fake_reset();
	CHECK_INT(hy_kernels_force(HY_SIMD_SCALAR), HY_OK);
	UNIT_RUN(every_boundary_of_dims);
	UNIT_RUN(rows_and_queries_that_fill_no_block);
	UNIT_RUN(rows_with_gaps);
	UNIT_RUN(every_dims_and_alignment);
	UNIT_RUN(extremes);
	UNIT_RUN(random_shapes);
	UNIT_RUN(every_half);
	printf("# %lld distances compared, %d left allocated\n", (long long) compared, hy_fake_live());
	return unit_finish();
}
