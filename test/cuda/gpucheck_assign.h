/*
 * gpucheck_assign.h
 *		The part of gpucheck_filter that assigns rows to many centroids: the CPU's answers, bit for bit.
 */
#ifndef HY_TEST_GPUCHECK_ASSIGN_H
#define HY_TEST_GPUCHECK_ASSIGN_H

#include "core/assign.h"

/* How vectors are drawn. */
typedef enum Spread
{
	ANYWHERE,
	IN_HEAPS, /* two of them, within which bfloat16 sees hardly any difference */
	ON_A_GRID /* of few values: many equal distances */
} Spread;

static int64_t assigned;

static void
draw_vectors(Spread spread, float *x, int64_t count, int32_t dims)
{
	int64_t i;
	int32_t d;

	for (i = 0; i < count; i++)
	{
		float heap = sign();

		for (d = 0; d < dims; d++, x++)
		{
			*x = unit_random_float(&randomness);
			if (spread == IN_HEAPS)
				*x = heap * (1 + *x / 512);
			else if (spread == ON_A_GRID)
				*x = roundf(*x * 2) / 2;
		}
	}
}

/* assign_to: one assignment, beside the CPU's; filtered: whether it should be; resident: of rows that lie there. */
static void
assign_to(Spread spread, int32_t dims, int64_t rows, int32_t centroids, bool filtered,
          bool resident)
{
	size_t vector = (size_t) dims * sizeof(float);
	float *x = malloc((size_t) rows * vector);
	float *c = malloc((size_t) centroids * vector);
	int32_t *nearest = malloc((size_t) rows * sizeof(int32_t));
	int32_t *expected = malloc((size_t) rows * sizeof(int32_t));
	HyTask task = {.op = HY_OP_ASSIGN, .allocator = &hy_malloc_allocator};
	HyAssignTask *a = &task.u.assign;
	uint64_t before = 0;
	uint64_t after = 0;
	uint64_t total;
	HyTimings timings;
	HyTicket ticket;
	HyStatus status;
	bool done = false;
	int64_t i;

	draw_vectors(spread, x, rows, dims);
	draw_vectors(spread, c, centroids, dims);
	memset(nearest, 0x5a, (size_t) rows * sizeof(int32_t));
	a->rows = (HyMatrix){.dims = dims, .rows = rows, .stride = vector, .data = x};
	a->centroids = (HyMatrix){.dims = dims, .rows = centroids, .stride = vector, .data = c};
	a->groups.centers.dims = dims;
	a->nearest = nearest;
	CHECK_INT(hy_assign(&a->rows, &a->centroids, NULL, &hy_malloc_allocator, expected, NULL),
	          HY_OK);
	if (resident)
	{
		CHECK_INT(cuda->buf_alloc(device, (uint64_t) rows * vector, &a->rows.buffer), HY_OK);
		CHECK_INT(cuda->upload(device, a->rows.buffer, 0, x, (uint64_t) rows * vector), HY_OK);
		a->rows.data = NULL;
	}
	(void) cuda->mem_info(device, &before, &total);
	status = cuda->submit(device, &task, &ticket);
	(void) cuda->mem_info(device, &after, &total);
	while (status == HY_OK && !done)
		status = cuda->poll(device, ticket, &done, &timings);
	if (status != HY_OK)
		say_failure(device, "assign", status);
	/* what it takes beside the centroids, of which a block may hold half again */
	CHECK((before - after > (uint64_t) centroids * vector * 3 / 2 + 1024) == filtered);
	for (i = 0; i < rows && status == HY_OK; i++)
	{
		CHECK_MSG(nearest[i] == expected[i],
		          "dims %d, %lld rows%s to %d centroids: row %lld goes to %d, expected %d",
		          (int) dims, (long long) rows, resident ? " there" : "", (int) centroids,
		          (long long) i, (int) nearest[i], (int) expected[i]);
		assigned++;
	}
	cuda->buf_free(device, a->rows.buffer);
	free(x);
	free(c);
	free(nearest);
	free(expected);
}

/* dims around steps and segments, tiles that are not full, and data of which the filter knows little */
static void
many_centroids(void)
{
	static const int32_t dims[] = {31, 32, 33, 100, 768, 1025, 3072};
	int spread;
	size_t i;

	for (spread = ANYWHERE; spread <= ON_A_GRID; spread++)
	{
		assign_to((Spread) spread, 40, 150, 300, measured, spread != ANYWHERE);
		for (i = 0; i < sizeof(dims) / sizeof(dims[0]) && !small; i++)
			assign_to((Spread) spread, dims[i], 3001, 300 + 91 * (int32_t) i, measured, i % 2 != 0);
	}
	if (small)
		return;
	assign_to(ANYWHERE, 768, 40000, 4096, measured, false);
	assign_to(ANYWHERE, 768, 40000, 4096, measured, true);
	assign_to(ANYWHERE, 96, 100000, 20000, measured, true);
	assign_to(IN_HEAPS, 300, 10000, 9000, measured, false);
}

#endif
