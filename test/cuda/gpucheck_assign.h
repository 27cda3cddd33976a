/*
 * gpucheck_assign.h
 *		The part of gpucheck_filter that assigns rows to many centroids.  The answers must have the
 *		CPU's bits.
 */
#ifndef HY_TEST_GPUCHECK_ASSIGN_H
#define HY_TEST_GPUCHECK_ASSIGN_H

#include "core/assign.h"

/* How vectors are drawn. */
typedef enum Spread
{
	ANYWHERE,
	IN_HEAPS, /* two clusters; bfloat16 hardly distinguishes the vectors within one */
	ON_A_GRID /* few different values: many equal distances */
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

/*
 * as_expected: check that the task chooses the CPU's centroids.  Sets *took to the device memory
 * that the task takes while it runs.
 */
static void
as_expected(const HyTask *task, const int32_t *expected, uint64_t *took)
{
	const HyAssignTask *a = &task->u.assign;
	uint64_t before = 0;
	uint64_t after = 0;
	uint64_t total;
	HyTimings timings;
	HyTicket ticket;
	HyStatus status;
	bool done = false;
	int64_t i;

	memset(a->nearest, 0x5a, (size_t) a->rows.rows * sizeof(int32_t));
	(void) cuda->mem_info(device, &before, &total);
	status = cuda->submit(device, task, &ticket);
	(void) cuda->mem_info(device, &after, &total);
	while (status == HY_OK && !done)
		status = cuda->poll(device, ticket, &done, &timings);
	if (status != HY_OK)
		say_failure(device, "assign", status);
	for (i = 0; i < a->rows.rows && status == HY_OK; i++)
	{
		CHECK_MSG(a->nearest[i] == expected[i],
		          "dims %d, %lld%s rows to %d centroids: row %lld goes to %d, expected %d",
		          (int) a->rows.dims, (long long) a->rows.rows,
		          a->rows.buffer != NULL ? " resident" : "", (int) a->centroids.rows, (long long) i,
		          (int) a->nearest[i], (int) expected[i]);
		assigned++;
	}
	*took = before - after;
}

/*
 * assign_to: check an assignment of rows in host memory and of the same rows resident. `filtered`
 * tells whether the task must be filtered.
 */
static void
assign_to(Spread spread, int32_t dims, int64_t rows, int32_t centroids, bool filtered)
{
	size_t vector = (size_t) dims * sizeof(float);
	float *x = malloc((size_t) rows * vector);
	float *c = malloc((size_t) centroids * vector);
	int32_t *nearest = malloc((size_t) rows * sizeof(int32_t));
	int32_t *expected = malloc((size_t) rows * sizeof(int32_t));
	HyTask task = {.op = HY_OP_ASSIGN, .allocator = &hy_malloc_allocator};
	HyAssignTask *a = &task.u.assign;
	HyBuffer *buffer = NULL;
	uint64_t took;

	draw_vectors(spread, x, rows, dims);
	draw_vectors(spread, c, centroids, dims);
	a->rows = (HyMatrix){.dims = dims, .rows = rows, .stride = vector, .data = x};
	a->centroids = (HyMatrix){.dims = dims, .rows = centroids, .stride = vector, .data = c};
	a->groups.centers.dims = dims;
	a->nearest = nearest;
	CHECK_INT(hy_assign(&a->rows, &a->centroids, NULL, &hy_malloc_allocator, expected, NULL),
	          HY_OK);
	as_expected(&task, expected, &took);
	/*
	 * the filter takes memory in addition to the centroids; a block may be half again as large as
	 * requested
	 */
	CHECK((took > (uint64_t) centroids * vector * 3 / 2 + 1024) == filtered);

	/* exactly the bytes of the rows, which follow one other number */
	CHECK_INT(cuda->buf_alloc(device, sizeof(float) + (uint64_t) rows * vector, &buffer), HY_OK);
	CHECK_INT(cuda->upload(device, buffer, sizeof(float), x, (uint64_t) rows * vector), HY_OK);
	a->rows.data = NULL;
	a->rows.buffer = buffer;
	a->rows.offset = sizeof(float);
	as_expected(&task, expected, &took);
	cuda->buf_free(device, buffer);
	free(x);
	free(c);
	free(nearest);
	free(expected);
}

/*
 * dims around steps and segments, tiles that are not full, and data for which the filter decides
 * little
 */
static void
many_centroids(void)
{
	static const int32_t dims[] = {31, 32, 33, 100, 768, 1025, 3072};
	int spread;
	size_t i;

	for (spread = ANYWHERE; spread <= ON_A_GRID; spread++)
	{
		assign_to((Spread) spread, 40, 150, 300, measured);
		for (i = 0; i < sizeof(dims) / sizeof(dims[0]) && !small; i++)
			assign_to((Spread) spread, dims[i], 3001, 300 + 91 * (int32_t) i, measured);
	}
	if (small)
		return;
	assign_to(ANYWHERE, 768, 40000, 4096, measured);
	assign_to(ANYWHERE, 96, 100000, 20000, measured);
	assign_to(IN_HEAPS, 300, 10000, 9000, measured);
}

#endif
