/*
 * assign_test.c
 *		Runs the kernels of 'assign' on fibers.  They must choose the same centroids as the CPU.
 */
#include "kinds.h"

#include "core/assign.h"
#include "cuda/assign_launch.h"

typedef struct Case
{
	int32_t dims;
	int32_t rows;
	int32_t centroids;
	int32_t groups; /* 0: none */
	int32_t probes;
	Kind kind;
	int pieces; /* number of pieces of centroids, without groups */
	int multiprocessors;
	int lists; /* capacity of the lists per row */
	bool same; /* rows are among the centroids */
} Case;

static int64_t compared;
static int64_t tied;

/* groups_of: divide the centroids into random groups, some of them empty. */
static int32_t *
groups_of(const Case *c)
{
	int32_t *begin = calloc((size_t) c->groups + 1, sizeof(int32_t));
	int32_t g;
	int32_t i;

	for (i = 0; i < c->centroids; i++)
		begin[1 + unit_random_below(&randomness, (uint64_t) c->groups)]++;
	for (g = 0; g < c->groups; g++)
		begin[g + 1] += begin[g];
	return begin;
}

static HyMatrix
matrix(float *data, int32_t rows, int32_t dims)
{
	return (HyMatrix){
		.dims = dims, .rows = rows, .stride = (size_t) dims * sizeof(float), .data = data};
}

/* make_groups: set up the arrays that assign.c passes to the kernels to sort rows by group. */
static HyCudaAssignGroups
make_groups(const Case *c, const float *centers, const int32_t *begin, cudaStream_t stream)
{
	size_t met = (size_t) c->rows * (size_t) c->probes;
	size_t list_bytes = met * sizeof(HyNeighbor) * (size_t) c->lists;
	size_t counts = ((size_t) c->groups + 1) * sizeof(int32_t);
	HyCudaAssignGroups groups = {
		.groups = c->groups, .probes = c->probes, .list_bytes = list_bytes};
	int32_t g;

	groups.centers = to_device(centers, (size_t) c->groups * c->dims * sizeof(float), stream);
	groups.begin = to_device(begin, counts, stream);
	for (g = 0; g < c->groups; g++)
		groups.largest =
			groups.largest > begin[g + 1] - begin[g] ? groups.largest : begin[g + 1] - begin[g];
	CHECK_INT(cudaMalloc((void **) &groups.met, met * sizeof(HyNeighbor)), cudaSuccess);
	CHECK_INT(cudaMalloc((void **) &groups.members, met * sizeof(int32_t)), cudaSuccess);
	CHECK_INT(cudaMalloc((void **) &groups.counts, counts - sizeof(int32_t)), cudaSuccess);
	CHECK_INT(cudaMalloc((void **) &groups.firsts, counts), cudaSuccess);
	CHECK_INT(cudaMalloc((void **) &groups.tiles, counts), cudaSuccess);
	CHECK_INT(cudaMalloc((void **) &groups.lists, list_bytes), cudaSuccess);
	return groups;
}

static void
free_groups(HyCudaAssignGroups *groups)
{
	cudaFree((void *) groups->centers);
	cudaFree((void *) groups->begin);
	cudaFree(groups->met);
	cudaFree(groups->members);
	cudaFree(groups->counts);
	cudaFree(groups->firsts);
	cudaFree(groups->tiles);
	cudaFree(groups->lists);
}

/* on_device: compute the kernels' answer. */
static void
on_device(const Case *c, const float *rows, const float *centroids, const float *centers,
          const int32_t *begin, int32_t *nearest)
{
	size_t vector = (size_t) c->dims * sizeof(float);
	size_t found_bytes = (size_t) c->rows * sizeof(uint64_t);
	uint64_t *found = malloc(found_bytes);
	uint64_t *least = malloc(found_bytes);
	HyCudaAssign args = {.row_stride = c->dims, .row_count = c->rows, .dims = c->dims};
	const char *fault;
	cudaStream_t stream;
	int piece;
	int32_t i;

	CHECK_INT(cudaStreamCreateWithFlags(&stream, 0), cudaSuccess);
	args.rows = to_device(rows, (size_t) c->rows * vector, stream);
	args.centroids = to_device(centroids, (size_t) c->centroids * vector, stream);
	CHECK_INT(cudaMalloc((void **) &args.found, found_bytes), cudaSuccess);
	if (c->groups > 0)
		args.groups = make_groups(c, centers, begin, stream);
	memset(least, 0xff, found_bytes);
	for (piece = 0; piece < (c->groups > 0 ? 1 : c->pieces); piece++)
	{
		args.first = args.end;
		args.end = c->groups > 0 ? c->centroids : c->centroids * (piece + 1) / c->pieces;
		CHECK_INT(hy_cuda_launch_assign(&args, c->multiprocessors, stream), cudaSuccess);
		CHECK_INT(cudaMemcpyAsync(found, args.found, found_bytes, cudaMemcpyDeviceToHost, stream),
		          cudaSuccess);
		CHECK_INT(cudaStreamSynchronize(stream), cudaSuccess);
		for (i = 0; i < c->rows; i++)
			least[i] = found[i] < least[i] ? found[i] : least[i];
	}
	fault = hy_fake_fault();
	CHECK_MSG(fault == NULL, "%s", fault);
	for (i = 0; i < c->rows; i++)
		nearest[i] = least[i] == HY_CUDA_ASSIGN_NONE ? 0 : (int32_t) (least[i] & UINT32_MAX);
	cudaFree((void *) args.rows);
	cudaFree((void *) args.centroids);
	cudaFree(args.found);
	if (c->groups > 0)
		free_groups(&args.groups);
	cudaStreamDestroy(stream);
	free(found);
	free(least);
}

static void
run_case(const Case *c)
{
	size_t vector = (size_t) c->dims * sizeof(float);
	float *rows = malloc((size_t) c->rows * vector);
	float *centroids = malloc((size_t) c->centroids * vector);
	float *centers = malloc((size_t) (c->groups + 1) * vector);
	int32_t *nearest = malloc((size_t) c->rows * sizeof(int32_t));
	int32_t *expected = malloc((size_t) c->rows * sizeof(int32_t));
	int32_t *begin = c->groups > 0 ? groups_of(c) : NULL;
	HyMatrix row_matrix = matrix(rows, c->rows, c->dims);
	HyMatrix centroid_matrix = matrix(centroids, c->centroids, c->dims);
	HyGroups groups = {matrix(centers, c->groups, c->dims), begin, c->probes};
	int32_t i;

	fill(rows, HY_F32, c->kind, (size_t) c->rows * c->dims);
	fill(centroids, HY_F32, c->kind, (size_t) c->centroids * c->dims);
	fill(centers, HY_F32, c->kind, (size_t) c->groups * c->dims);
	for (i = 0; c->same && i < c->rows; i++)
		memcpy(rows + (size_t) i * c->dims, centroids + (size_t) (i % c->centroids) * c->dims,
		       vector);
	CHECK_INT(hy_assign(&row_matrix, &centroid_matrix, c->groups > 0 ? &groups : NULL,
	                    &hy_malloc_allocator, expected, NULL),
	          HY_OK);
	on_device(c, rows, centroids, centers, begin, nearest);
	for (i = 0; i < c->rows; i++)
	{
		double distance = hy_distance(HY_METRIC_L2, rows + (size_t) i * c->dims,
		                              centroids + (size_t) expected[i] * c->dims, c->dims);
		int32_t other;

		CHECK_MSG(nearest[i] == expected[i],
		          "dims %d, %d rows to %d centroids, %d groups, %d probes, kind %d: row %d goes to "
		          "%d, expected %d",
		          (int) c->dims, (int) c->rows, (int) c->centroids, (int) c->groups,
		          (int) c->probes, (int) c->kind, (int) i, (int) nearest[i], (int) expected[i]);
		compared++;
		for (other = expected[i] + 1; other < c->centroids && c->centroids < 100; other++)
		{
			if (hy_distance(HY_METRIC_L2, rows + (size_t) i * c->dims,
			                centroids + (size_t) other * c->dims, c->dims) == distance)
			{
				tied++;
				break;
			}
		}
	}
	free(rows);
	free(centroids);
	free(centers);
	free(nearest);
	free(expected);
	free(begin);
}

static const Case plain = {
	.dims = 9, .rows = 40, .centroids = 30, .pieces = 1, .multiprocessors = 1, .lists = 8};

/*
 * numbers of rows around the size of a tile; numbers of centroids around the sizes of warps, turns
 * and shares
 */
static void
every_boundary_of_rows_and_centroids(void)
{
	static const int32_t rows[] = {1, 2, 7, 8, 9, 15, 16, 17, 33};
	static const int32_t centroids[] = {1, 2, 3, 15, 16, 17, 31, 33, 127, 128, 129, 260};
	size_t i;
	size_t j;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
	{
		for (j = 0; j < sizeof(centroids) / sizeof(centroids[0]); j++)
		{
			Case c = plain;

			c.rows = rows[i];
			c.centroids = centroids[j];
			c.multiprocessors = 1 + (int) (i + j) % 3;
			run_case(&c);
		}
	}
}

static void
every_boundary_of_dims(void)
{
	static const int32_t dims[] = {1, 2, 31, 32, 33, 63, 64, 65, 128, 1023, 1024, 1025, 2049, 3000};
	size_t i;

	for (i = 0; i < sizeof(dims) / sizeof(dims[0]); i++)
	{
		Case c = plain;

		c.dims = dims[i];
		c.rows = 19;
		run_case(&c);
		c.groups = 5;
		c.probes = 2;
		run_case(&c);
	}
}

/*
 * among equal distances, the centroid with the lower number wins, whichever block, share or piece
 * it is in
 */
static void
ties_go_by_centroid(void)
{
	int pieces;
	int groups;

	tied = 0;
	for (pieces = 1; pieces <= 4; pieces++)
	{
		for (groups = 0; groups < 9; groups += 4)
		{
			Case c = plain;

			c.kind = KIND_FEW;
			c.dims = 1 + pieces;
			c.rows = 60;
			c.centroids = 90;
			c.pieces = pieces;
			c.groups = groups;
			c.probes = 1 + groups / 4;
			run_case(&c);
			c.centroids = 700;
			c.multiprocessors = 40;
			run_case(&c);
		}
	}
	CHECK(tied > 200);
}

/* infinite and subnormal sums, sums that depend on the order, rows that equal centroids */
static void
extremes(void)
{
	static const int32_t dims[] = {1, 3, 100, 1100};
	size_t i;
	int kind;
	int same;

	for (kind = 1; kind < KIND_COUNT; kind++)
	{
		for (i = 0; i < sizeof(dims) / sizeof(dims[0]); i++)
		{
			for (same = 0; same < 2; same++)
			{
				Case c = plain;

				c.kind = (Kind) kind;
				c.dims = dims[i];
				c.same = same != 0;
				run_case(&c);
				c.groups = 7;
				c.probes = 3;
				run_case(&c);
			}
		}
	}
}

static void
random_shapes(void)
{
	int i;

	for (i = 0; i < 150 / unit_share(); i++)
	{
		Case c = plain;

		c.dims = 1 + (int32_t) unit_random_below(&randomness, i % 10 == 0 ? 2100 : 70);
		c.rows = 1 + (int32_t) unit_random_below(&randomness, 80);
		c.centroids = 1 + (int32_t) unit_random_below(&randomness, i % 7 == 0 ? 900 : 150);
		c.groups = i % 2 == 0 ? 0 : 2 + (int32_t) unit_random_below(&randomness, 40);
		c.probes = 1 + (int32_t) unit_random_below(&randomness, HY_ASSIGN_PROBES);
		if (c.probes >= c.groups)
			c.probes = c.groups > 0 ? c.groups - 1 : 0;
		c.kind = (Kind) unit_random_below(&randomness, KIND_COUNT);
		c.pieces = 1 + (int) unit_random_below(&randomness, 3);
		if (c.pieces > c.centroids)
			c.pieces = c.centroids;
		c.multiprocessors = 1 + (int) unit_random_below(&randomness, 12);
		c.lists = unit_random_below(&randomness, 3) == 0 ? 1 : 8;
		run_case(&c);
	}
}

/* more groups than threads in a block; mostly empty groups */
static void
many_groups(void)
{
	Case c = plain;

	c.dims = 5;
	c.groups = 700;
	c.probes = 16;
	c.centroids = 500;
	c.rows = 100;
	run_case(&c);
	c.groups = 257;
	c.probes = 1;
	c.kind = KIND_FEW;
	run_case(&c);
}

int
main(void)
{
	hy_fake_reset();
	UNIT_RUN(every_boundary_of_rows_and_centroids);
	UNIT_RUN(every_boundary_of_dims);
	UNIT_RUN(ties_go_by_centroid);
	UNIT_RUN(extremes);
	UNIT_RUN(random_shapes);
	UNIT_RUN(many_groups);
	printf("# %lld rows compared, %d left allocated\n", (long long) compared, hy_fake_live());
	return unit_finish();
}
