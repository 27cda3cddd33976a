/*
 * topk_test.c
 *		Runs the kernels of 'topk' on fibers.  The rows and the bits must be those of the CPU's
 *		search.
 */
#include "kinds.h"

#include "core/topk.h"

typedef struct Case
{
	HyMetric metric;
	HyDtype dtype;
	int32_t dims;
	int32_t queries;
	int64_t rows;
	int32_t k;
	Kind kind;
	/* order of the rows by their distance to the first query: 1 ascending, -1 descending, 0 none */
	int order;
	int pieces;             /* number of pieces of rows */
	int multiprocessors;    /* number of multiprocessors for which the grid is made */
	int lists;              /* capacity of the lists per query */
	const double *quantile; /* the limit of a query is the distance at this part of its k best */
} Case;

static int64_t compared;

typedef struct Ranked
{
	double distance;
	int64_t row;
	int order;
} Ranked;

static int
by_rank(const void *a, const void *b)
{
	const Ranked *x = a;
	const Ranked *y = b;

	if (x->distance == y->distance || isnan(x->distance) || isnan(y->distance))
		return (x->row > y->row) - (x->row < y->row);
	return x->distance < y->distance ? -x->order : x->order;
}

/* rearrange: order the rows by ascending or descending distance to the first query. */
static void
rearrange(const Case *c, const float *query, char *targets, size_t row_bytes)
{
	Ranked *ranked = malloc((size_t) c->rows * sizeof(Ranked));
	char *copy = malloc((size_t) c->rows * row_bytes);
	int64_t i;

	memcpy(copy, targets, (size_t) c->rows * row_bytes);
	for (i = 0; i < c->rows; i++)
	{
		ranked[i].distance =
			hy_distance_to(c->metric, query, c->dtype, copy + (size_t) i * row_bytes, c->dims);
		ranked[i].row = i;
		ranked[i].order = c->order;
	}
	qsort(ranked, (size_t) c->rows, sizeof(Ranked), by_rank);
	for (i = 0; i < c->rows; i++)
		memcpy(targets + (size_t) i * row_bytes, copy + (size_t) ranked[i].row * row_bytes,
		       row_bytes);
	free(ranked);
	free(copy);
}

/* begin_best: make empty lists.  If the case has limits, remove the expected rows beyond them. */
static void
begin_best(const Case *c, HyNeighbor *best, double *limits, const HyNeighbor *expected,
           int32_t *counts)
{
	int32_t q;
	int32_t i;

	for (q = 0; q < c->queries; q++)
	{
		double limit = INFINITY;

		if (c->quantile != NULL && counts[q] > 0)
		{
			int32_t at = (int32_t) (*c->quantile * (counts[q] - 1));

			limit = expected[(int64_t) q * c->k + at].distance;
			while (counts[q] > 0 && expected[(int64_t) q * c->k + counts[q] - 1].distance > limit)
				counts[q]--;
		}
		limits[q] = limit;
		for (i = 0; i < c->k; i++)
			best[(int64_t) q * c->k + i] = (HyNeighbor){limit, HY_CUDA_NO_ROW};
	}
}

static void
check_best(const Case *c, const HyNeighbor *best, const HyNeighbor *expected, const int32_t *counts)
{
	int32_t q;
	int32_t i;

	for (q = 0; q < c->queries; q++)
	{
		for (i = 0; i < c->k; i++)
		{
			const HyNeighbor *is = &best[(int64_t) q * c->k + i];
			const HyNeighbor *should = &expected[(int64_t) q * c->k + i];
			bool right = i < counts[q] ? is->row == should->row &&
			                                 unit_same_f64(is->distance, should->distance)
			                           : is->row == HY_CUDA_NO_ROW;

			CHECK_MSG(right,
			          "%s %s dims %d %d x %lld k %d kind %d order %d pieces %d: query %d has %d, "
			          "[%d] is %lld at %a, expected %lld at %a",
			          hy_metric_name(c->metric), hy_dtype_name(c->dtype), (int) c->dims,
			          (int) c->queries, (long long) c->rows, (int) c->k, (int) c->kind, c->order,
			          c->pieces, (int) q, (int) counts[q], (int) i, (long long) is->row,
			          is->distance, (long long) should->row, should->distance);
			compared++;
		}
	}
}

/*
 * Device: the device memory of a case.  The kernels are called as topk.c calls them, or as other
 * code does.
 */
typedef struct Device
{
	cudaStream_t stream;
	void *best; /* filled with other bytes if the lists start empty */
	void *limits;
	void *arrived;
	void *norms;
	HyNeighbor *pinned; /* receives the answers of the last piece; NULL: not used */
	bool empty;         /* the empty lists are not uploaded */
} Device;

static void
device_begin(Device *device, const Case *c, const HyNeighbor *best, const double *limits,
             size_t best_bytes, HyCudaTopK *args)
{
	const unsigned none = 0;
	char *other = malloc(best_bytes);

	memset(other, 0x3f, best_bytes);
	device->empty = unit_random_below(&randomness, 2) != 0;
	device->best =
		to_device(device->empty ? (const void *) other : best, best_bytes, device->stream);
	free(other);
	device->limits = to_device(limits, (size_t) c->queries * sizeof(double), device->stream);
	device->arrived = to_device(&none, sizeof(none), device->stream);
	device->pinned = NULL;
	if (unit_random_below(&randomness, 2) != 0)
		CHECK_INT(cudaHostAlloc((void **) &device->pinned, best_bytes, cudaHostAllocDefault),
		          cudaSuccess);
	args->best = device->best;
	args->limits = c->quantile != NULL || unit_random_below(&randomness, 2) ? device->limits : NULL;
	args->arrived = unit_random_below(&randomness, 4) != 0 ? device->arrived : NULL;

	CHECK_INT(cudaMalloc(&device->norms, (size_t) c->queries * sizeof(float)), cudaSuccess);
	args->rows.query_norms = device->norms;
	if (c->queries == 1 && c->dims <= HY_CUDA_OWN_NORM && unit_random_below(&randomness, 4) != 0)
		args->rows.query_norms = NULL;
	CHECK_INT(hy_cuda_launch_norms(args->rows.queries, c->queries, c->dims, device->norms,
	                               device->stream),
	          cudaSuccess);
}

/* device_end: fetch the answers and check that the counter has been reset. */
static void
device_end(Device *device, HyNeighbor *best, size_t best_bytes)
{
	unsigned arrived = 1;

	CHECK_INT(cudaMemcpyAsync(&arrived, device->arrived, sizeof(arrived), cudaMemcpyDeviceToHost,
	                          device->stream),
	          cudaSuccess);
	CHECK_INT(arrived, 0);
	if (device->pinned == NULL)
		CHECK_INT(
			cudaMemcpyAsync(best, device->best, best_bytes, cudaMemcpyDeviceToHost, device->stream),
			cudaSuccess);
	CHECK_INT(cudaStreamSynchronize(device->stream), cudaSuccess);
	if (device->pinned != NULL)
	{
		memcpy(best, device->pinned, best_bytes);
		cudaFreeHost(device->pinned);
	}
	cudaFree(device->best);
	cudaFree(device->limits);
	cudaFree(device->arrived);
	cudaFree(device->norms);
}

static void
run_case(const Case *c)
{
	size_t row_bytes = (size_t) c->dims * hy_dtype_size(c->dtype);
	size_t target_bytes = (size_t) c->rows * row_bytes;
	size_t query_bytes = (size_t) c->queries * c->dims * sizeof(float);
	size_t best_bytes = (size_t) c->queries * c->k * sizeof(HyNeighbor);
	size_t list_bytes = best_bytes * (size_t) c->lists;
	char *targets = malloc(target_bytes);
	float *queries = malloc(query_bytes);
	HyNeighbor *best = malloc(best_bytes);
	HyNeighbor *expected = malloc(best_bytes);
	int32_t *counts = malloc((size_t) c->queries * sizeof(int32_t));
	double *limits = malloc((size_t) c->queries * sizeof(double));
	HyMatrix query_matrix = {.dims = c->dims, .rows = c->queries, .data = queries};
	HyMatrix target_matrix = {
		.dtype = c->dtype, .dims = c->dims, .rows = c->rows, .stride = row_bytes, .data = targets};
	HyCudaTopK args = {.k = c->k, .list_bytes = list_bytes};
	const char *on_device;
	const char *fault;
	Device device;
	int64_t first = 0;
	int piece;

	query_matrix.stride = (size_t) c->dims * sizeof(float);
	fill(targets, c->dtype, c->kind, target_bytes / hy_dtype_size(c->dtype));
	fill(queries, HY_F32, c->kind, query_bytes / sizeof(float));
	if (c->order != 0)
		rearrange(c, queries, targets, row_bytes);
	CHECK_INT(
		hy_topk_search(c->metric, &query_matrix, &target_matrix, c->k, expected, counts, NULL),
		HY_OK);
	begin_best(c, best, limits, expected, counts);

	CHECK_INT(cudaStreamCreateWithFlags(&device.stream, 0), cudaSuccess);
	on_device = to_device(targets, target_bytes, device.stream);
	args.rows.queries = to_device(queries, query_bytes, device.stream);
	CHECK_INT(cudaMalloc((void **) &args.lists, list_bytes), cudaSuccess);
	device_begin(&device, c, best, limits, best_bytes, &args);
	args.rows.stride = (int64_t) row_bytes;
	args.rows.query_count = c->queries;
	args.rows.dims = c->dims;
	for (piece = 0; piece < c->pieces; piece++)
	{
		int64_t end = c->rows * (piece + 1) / c->pieces;

		if (end == first)
			continue;
		args.rows.targets = on_device + (size_t) first * row_bytes;
		args.rows.rows = end - first;
		args.first_row = first;
		args.empty = device.empty && first == 0;
		args.answer = end == c->rows ? device.pinned : NULL;
		CHECK_INT(
			hy_cuda_launch_topk(c->metric, c->dtype, &args, c->multiprocessors, device.stream),
			cudaSuccess);
		first = end;
	}
	device_end(&device, best, best_bytes);
	fault = hy_fake_fault();
	CHECK_MSG(fault == NULL, "%s", fault);
	check_best(c, best, expected, counts);

	cudaFree((void *) on_device);
	cudaFree((void *) args.rows.queries);
	cudaFree(args.lists);
	cudaStreamDestroy(device.stream);
	free(limits);
	free(targets);
	free(queries);
	free(best);
	free(expected);
	free(counts);
}

/* run_all: run every metric and element type of one case. */
static void
run_all(Case c)
{
	int metric;
	int dtype;

	for (metric = 0; metric < HY_METRIC_COUNT; metric++)
	{
		for (dtype = 0; dtype < HY_DTYPE_COUNT; dtype++)
		{
			c.metric = (HyMetric) metric;
			c.dtype = (HyDtype) dtype;
			run_case(&c);
		}
	}
}

static const Case plain = {
	.dims = 9, .queries = 1, .rows = 300, .k = 10, .pieces = 1, .multiprocessors = 1, .lists = 40};

/* rows around the sizes of warps, turns, tiles and buffers; k around all of its limits */
static void
every_boundary_of_rows_and_k(void)
{
	static const int64_t rows[] = {1,   2,   4,   5,   31,  32,  33,  63,  64,  65,
	                               127, 128, 129, 191, 255, 256, 257, 383, 385, 1030};
	static const int32_t k[] = {1, 2, 10, 63, 64, 65, 100, 127, 128};
	size_t i;
	size_t j;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
	{
		for (j = 0; j < sizeof(k) / sizeof(k[0]); j++)
		{
			Case c = plain;

			c.metric = (HyMetric) ((i + j) % HY_METRIC_COUNT);
			c.dtype = (HyDtype) ((i + j / 2) % HY_DTYPE_COUNT);
			c.rows = rows[i];
			c.k = k[j];
			run_case(&c);
			c.queries = 1 + (int32_t) (i + j) % 9;
			run_case(&c);
		}
	}
}

/* equal distances, in one block and across several, in one piece and across several */
static void
ties_go_by_row(void)
{
	static const int32_t k[] = {1, 3, 20, 128};
	size_t i;
	int pieces;

	for (i = 0; i < sizeof(k) / sizeof(k[0]); i++)
	{
		for (pieces = 1; pieces <= 3; pieces += 2)
		{
			Case c = plain;

			c.kind = KIND_FEW;
			c.k = k[i];
			c.pieces = pieces;
			c.dims = 1;
			c.rows = 600;
			run_all(c);
			c.dims = 3;
			c.queries = 5;
			c.rows = 300;
			run_all(c);
		}
	}
}

/*
 * each row nearer than all before it, or the nearest first: the most and the fewest rows that enter
 */
static void
rows_in_order(void)
{
	static const int32_t k[] = {1, 10, 128};
	size_t i;
	int order;

	for (i = 0; i < sizeof(k) / sizeof(k[0]); i++)
	{
		for (order = -1; order <= 1; order += 2)
		{
			Case c = plain;

			c.k = k[i];
			c.order = order;
			c.rows = 1500;
			run_all(c);
			c.pieces = 4;
			c.queries = 2;
			run_all(c);
		}
	}
}

static void
rows_beyond_a_limit_are_left_out(void)
{
	static const double quantile[] = {0, 0.3, 1};
	size_t i;
	int kind;

	for (i = 0; i < sizeof(quantile) / sizeof(quantile[0]); i++)
	{
		for (kind = 0; kind < KIND_COUNT; kind++)
		{
			Case c = plain;

			c.quantile = &quantile[i];
			c.kind = (Kind) kind;
			c.queries = 3;
			c.k = kind % 2 ? 12 : 100;
			c.pieces = 2;
			run_all(c);
		}
	}
}

/* sums that overflow to infinities and NaN, subnormal sums, vectors without an angle */
static void
extremes(void)
{
	static const int32_t dims[] = {1, 2, 100, 1100, 2500};
	size_t i;
	int kind;

	for (kind = 1; kind < KIND_COUNT; kind++)
	{
		for (i = 0; i < sizeof(dims) / sizeof(dims[0]); i++)
		{
			Case c = plain;

			c.kind = (Kind) kind;
			c.dims = dims[i];
			c.rows = dims[i] < 1000 ? 150 : 30;
			c.k = 30;
			run_all(c);
			c.queries = 3;
			c.rows /= 2;
			run_all(c);
		}
	}
}

static void
random_shapes(void)
{
	int i;

	for (i = 0; i < 100; i++)
	{
		Case c = plain;

		c.dims = 1 + (int32_t) unit_random_below(&randomness, i % 10 == 0 ? 2100 : 70);
		c.queries = 1 + (int32_t) unit_random_below(&randomness, 10);
		c.rows = 1 + (int64_t) unit_random_below(&randomness, i % 10 == 0 ? 50 : 600);
		c.k = 1 + (int32_t) unit_random_below(&randomness, HY_CUDA_MAX_K);
		c.kind = (Kind) unit_random_below(&randomness, KIND_COUNT);
		c.pieces = 1 + (int) unit_random_below(&randomness, 4);
		c.multiprocessors = 1 + (int) unit_random_below(&randomness, 12);
		c.lists = unit_random_below(&randomness, 3) == 0 ? 1 : 40;
		c.metric = (HyMetric) unit_random_below(&randomness, HY_METRIC_COUNT);
		c.dtype = (HyDtype) unit_random_below(&randomness, HY_DTYPE_COUNT);
		run_case(&c);
	}
}

/* more lists than a merge reads at a time, some of them short */
static void
many_lists(void)
{
	Case c = plain;

	c.dims = 2;
	c.rows = 34000;
	c.multiprocessors = 400;
	c.lists = 1000;
	c.k = 65;
	run_case(&c);
	c.kind = KIND_FEW;
	c.k = 128;
	run_case(&c);
}

int
main(void)
{
	hy_fake_reset();
	CHECK_INT(hy_kernels_force(HY_SIMD_SCALAR), HY_OK);
	UNIT_RUN(every_boundary_of_rows_and_k);
	UNIT_RUN(ties_go_by_row);
	UNIT_RUN(rows_in_order);
	UNIT_RUN(rows_beyond_a_limit_are_left_out);
	UNIT_RUN(extremes);
	UNIT_RUN(random_shapes);
	UNIT_RUN(many_lists);
	printf("# %lld entries compared, %d left allocated\n", (long long) compared, hy_fake_live());
	return unit_finish();
}
