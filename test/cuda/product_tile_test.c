/*
 * product_tile_test.c
 *		Runs the tiles of products on fibers.  Each query must meet each row exactly once: for any
 *		numbers of tiles of queries and of rows, and for dims of fewer and of more stages than are
 *		in flight.
 *
 * Elements are small integers, so every product is exact and the order does not matter.
 */
#include "kinds.h"

static int64_t compared;

/* draw_rounded: draw an element of a vector.  Returns its value; *bits are its bits. */
static float
draw_rounded(uint16_t *bits)
{
	float value = (float) unit_random_below(&randomness, 15) - 7;
	uint32_t word;

	memcpy(&word, &value, sizeof(word));
	*bits = (uint16_t) (word >> 16);
	return value;
}

/* vectors: make `count` vectors, with memory for whole tiles.  The other vectors are 0. */
static uint16_t *
vectors(int64_t count, int32_t padded, float *values)
{
	uint16_t *bits = calloc((size_t) (whole_tiles(count) * padded), sizeof(uint16_t));
	int64_t i;

	for (i = 0; i < count * padded; i++)
		values[i] = draw_rounded(&bits[i]);
	return bits;
}

static float
product_of(const float *q, const float *x, int32_t dims)
{
	float sum = 0;
	int32_t i;

	for (i = 0; i < dims; i++)
		sum += q[i] * x[i];
	return sum;
}

static void
check_products(int32_t queries, int64_t rows, int32_t padded)
{
	int64_t query_room = whole_tiles(queries);
	int64_t row_room = whole_tiles(rows);
	size_t bytes = (size_t) (query_room * row_room) * sizeof(float);
	float *q = malloc((size_t) (queries * padded) * sizeof(float));
	float *x = malloc((size_t) (rows * padded) * sizeof(float));
	uint16_t *q_bits = vectors(queries, padded, q);
	uint16_t *x_bits = vectors(rows, padded, x);
	HyNeighbor *best = calloc((size_t) queries, sizeof(HyNeighbor));
	float *products = malloc(bytes);
	void *room = NULL;
	cudaStream_t stream;
	const char *fault;
	int wrong = 0;
	int64_t i;
	int64_t j;

	CHECK_INT(cudaStreamCreateWithFlags(&stream, 0), cudaSuccess);
	memset(products, 0xff, bytes);

	HyCudaFiltered args = {.rows = {.rows = rows, .query_count = queries, .dims = padded},
	                       .k = 1,
	                       .padded = padded,
	                       .queries = to_device(q_bits, (size_t) (query_room * padded) * 2, stream),
	                       .targets = to_device(x_bits, (size_t) (row_room * padded) * 2, stream),
	                       .best = to_device(best, (size_t) queries * sizeof(HyNeighbor), stream),
	                       .products = to_device(products, bytes, stream),
	                       .product_stride = row_room};

	CHECK_INT(cudaMalloc(&room, (size_t) query_room * sizeof(HyCudaAim)), cudaSuccess);
	args.aim = room;
	CHECK_INT(cudaMalloc(&room, (size_t) queries * sizeof(int32_t)), cudaSuccess);
	args.count = room;
	CHECK_INT(hy_cuda_launch_propose(HY_METRIC_IP, &args, stream), cudaSuccess);
	CHECK_INT(cudaMemcpyAsync(products, args.products, bytes, cudaMemcpyDeviceToHost, stream),
	          cudaSuccess);
	CHECK_INT(cudaStreamSynchronize(stream), cudaSuccess);
	fault = hy_fake_fault();
	CHECK_MSG(fault == NULL, "%s", fault);
	for (i = 0; i < queries; i++)
	{
		for (j = 0; j < rows; j++, compared++)
			wrong +=
				!(products[i * row_room + j] == product_of(q + i * padded, x + j * padded, padded));
	}
	/* the products of the vectors that fill up the tiles are 0 */
	for (i = 0; i < query_room; i++)
	{
		for (j = i < queries ? rows : 0; j < row_room; j++)
			wrong += !(products[i * row_room + j] == 0);
	}
	CHECK_MSG(wrong == 0, "%d x %lld of %d dims: %d are wrong", (int) queries, (long long) rows,
	          (int) padded, wrong);
	cudaFree((void *) args.queries);
	cudaFree((void *) args.targets);
	cudaFree(args.best);
	cudaFree(args.products);
	cudaFree(args.aim);
	cudaFree(args.count);
	cudaStreamDestroy(stream);
	free(q);
	free(x);
	free(q_bits);
	free(x_bits);
	free(best);
	free(products);
}

static void
every_query_meets_every_row(void)
{
	check_products(1, 1, 32);
	check_products(128, 256, 64);
	check_products(130, 129, 96);
	check_products(100, 257, 128);
	check_products(5, 700, 160);
	check_products(129, 384, 416);
	/* more tiles of queries than a strip has */
	check_products(1100, 520, 32);
}

/* the shared memory of a device of 8.6 suffices; it is requested again in a new context */
static void
shared_memory_is_asked_for(void)
{
	hy_fake.capability = 8;
	hy_fake.capability_minor = 6;
	check_products(3, 200, 64);
	CHECK_INT(cudaDeviceReset(), cudaSuccess);
	check_products(3, 200, 64);
	hy_fake_reset();
}

int
main(void)
{
	UNIT_RUN(every_query_meets_every_row);
	UNIT_RUN(shared_memory_is_asked_for);
	printf("# %lld compared, %d left allocated\n", (long long) compared, hy_fake_live());
	return unit_finish();
}
