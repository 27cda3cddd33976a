/*
 * descent.c
 *		Compares rows with neighbors of their neighbors: see descent.h.
 *
 * Before a round, the heaps of nearest rows are copied as lists of edges.  During the round, a thread
 * reads these lists and changes only the heaps of the rows of its part.
 */
#include "core/descent.h"

#include <string.h>

#include "core/distance.h"
#include "core/threads.h"

#define PART_ROWS 64
#define PAIRS_PER_K 12  /* per round, a row is compared with at most PAIRS_PER_K * k rows */
#define KNOWN UINT8_MAX /* instead of votes: the row itself, or a row already in its heap */
#define MOST_VOTES 254  /* more votes do not count */
#define FRESH 1         /* flag of an edge; the row number is in the other bits */

/* Worker: the memory of one thread. */
typedef struct Worker
{
	uint8_t *votes;   /* one per row of the matrix; all 0 between two calls of improve */
	int32_t *touched; /* rows with votes */
	int64_t count;
	float *query;
	int64_t kept;
} Worker;

struct HyDescent
{
	HyMetric metric;
	HyMatrix rows;
	int32_t k;
	HyTopK *best;
	int32_t *forward; /* up to k edges per row; an edge is its target's row number and a flag */
	int32_t *forwards;
	int32_t *backward; /* per row, at most k rows with an edge to it, in the same format */
	int32_t *backwards;
	int threads;
	Worker workers[HY_THREADS_MOST];
};

static bool begin_worker(const HyDescent *descent, Worker *worker, const HyAllocator *allocator);
static int64_t end_of_part(const HyDescent *descent, int64_t part);
static HyStatus copy_some(void *arg, int64_t part, int number, const HyCancel *cancel);
static void copy_edges(HyDescent *descent, int64_t row);
static HyStatus turn_edges(HyDescent *descent, const HyCancel *cancel);
static HyStatus improve_some(void *arg, int64_t part, int number, const HyCancel *cancel);
static void improve(HyDescent *descent, Worker *worker, int64_t row);
static void mark(const HyDescent *descent, Worker *worker, int64_t row, uint8_t votes);
static void vote_over(const HyDescent *descent, Worker *worker, int32_t edge);
static inline void vote(Worker *worker, int32_t row);
static int find_least(const Worker *worker, int32_t most, int32_t *spare);

size_t
hy_descent_bytes(int32_t k)
{
	/* both lists of edges and their lengths, and the votes of two threads */
	return 2 * (size_t) k * sizeof(int32_t) + 2 * sizeof(int32_t) + 2 * sizeof(uint8_t);
}

HyDescent *
hy_descent_create(const HyAllocator *allocator, HyMetric metric, const HyMatrix *rows, int32_t k,
                  HyTopK *best, int threads)
{
	HyDescent *descent = hy_alloc_zero(allocator, sizeof(HyDescent));
	size_t count = (size_t) rows->rows;
	int i;

	if (descent == NULL)
		return NULL;
	descent->metric = metric;
	descent->rows = *rows;
	descent->k = k;
	descent->best = best;
	descent->forward = hy_alloc_array(allocator, count * (size_t) k, sizeof(int32_t));
	descent->backward = hy_alloc_array(allocator, count * (size_t) k, sizeof(int32_t));
	descent->forwards = hy_alloc_zero(allocator, count * sizeof(int32_t));
	descent->backwards = hy_alloc_array(allocator, count, sizeof(int32_t));
	threads = threads < HY_THREADS_MOST ? threads : HY_THREADS_MOST;
	for (i = 0; i < threads && begin_worker(descent, &descent->workers[i], allocator); i++)
		descent->threads++;
	if (descent->forward == NULL || descent->backward == NULL || descent->forwards == NULL ||
	    descent->backwards == NULL || descent->threads == 0)
	{
		hy_descent_free(allocator, descent);
		return NULL;
	}
	return descent;
}

void
hy_descent_free(const HyAllocator *allocator, HyDescent *descent)
{
	int i;

	if (descent == NULL)
		return;
	hy_free(allocator, descent->forward);
	hy_free(allocator, descent->forwards);
	hy_free(allocator, descent->backward);
	hy_free(allocator, descent->backwards);
	for (i = 0; i < HY_THREADS_MOST; i++)
	{
		hy_free(allocator, descent->workers[i].votes);
		hy_free(allocator, descent->workers[i].touched);
		hy_free(allocator, descent->workers[i].query);
	}
	hy_free(allocator, descent);
}

double
hy_descent_work(const HyDescent *descent)
{
	return (double) descent->rows.rows * descent->k * PAIRS_PER_K * descent->rows.dims;
}

HyStatus
hy_descent_round(HyDescent *descent, int64_t *kept, const HyCancel *cancel)
{
	int threads = hy_threads_for(hy_descent_work(descent));
	int64_t parts = (descent->rows.rows + PART_ROWS - 1) / PART_ROWS;
	HyStatus status;
	int i;

	if (threads > descent->threads)
		threads = descent->threads;
	status = hy_threads_run(threads, parts, copy_some, descent, cancel);
	if (status == HY_OK)
		status = turn_edges(descent, cancel);
	if (status != HY_OK)
		return status;
	for (i = 0; i < descent->threads; i++)
		descent->workers[i].kept = 0;
	status = hy_threads_run(threads, parts, improve_some, descent, cancel);
	*kept = 0;
	for (i = 0; i < descent->threads; i++)
		*kept += descent->workers[i].kept;
	return status;
}

/* begin_worker: allocate the memory of a worker.  Returns false when out of memory. */
static bool
begin_worker(const HyDescent *descent, Worker *worker, const HyAllocator *allocator)
{
	size_t edges = 2 * (size_t) descent->k;
	size_t paths = edges + edges * edges;
	size_t count = (size_t) descent->rows.rows;

	worker->votes = hy_alloc_zero(allocator, count);
	worker->touched = hy_alloc_array(allocator, paths < count ? paths : count, sizeof(int32_t));
	worker->query = hy_alloc_array(allocator, (size_t) descent->rows.dims, sizeof(float));
	return worker->votes != NULL && worker->touched != NULL && worker->query != NULL;
}

/* end_of_part: return the end of the PART_ROWS rows of a part; the last part may be shorter. */
static int64_t
end_of_part(const HyDescent *descent, int64_t part)
{
	int64_t left = descent->rows.rows - part * PART_ROWS;

	return part * PART_ROWS + (left < PART_ROWS ? left : PART_ROWS);
}

/* copy_some: copy the heaps of PART_ROWS rows. */
static HyStatus
copy_some(void *arg, int64_t part, int number, const HyCancel *cancel)
{
	HyDescent *descent = arg;
	int64_t row = part * PART_ROWS;
	int64_t end = end_of_part(descent, part);

	(void) number;
	if (hy_cancelled(cancel))
		return HY_CANCELLED;
	for (; row < end; row++)
		copy_edges(descent, row);
	return HY_OK;
}

/* copy_edges: copy the heap of a row as edges.  An edge that the last copy did not have is fresh. */
static void
copy_edges(HyDescent *descent, int64_t row)
{
	const HyTopK *best = &descent->best[row];
	int32_t *edges = descent->forward + row * descent->k;
	int32_t before = descent->forwards[row];
	int32_t count = 0;
	int32_t i;
	int32_t n;

	/* edges of the last copy that remain come first, in their old order */
	for (n = 0; n < before; n++)
	{
		int32_t target = edges[n] >> 1;

		for (i = 0; i < best->count && best->items[i].row != target; i++)
			;
		if (i < best->count)
			edges[count++] = target * 2;
	}
	before = count;
	for (i = 0; i < best->count; i++)
	{
		int32_t target = (int32_t) best->items[i].row;

		for (n = 0; n < before && edges[n] >> 1 != target; n++)
			;
		if (n == before && target != row)
			edges[count++] = target * 2 + FRESH;
	}
	descent->forwards[row] = count;
}

/* turn_edges: list the backward edges.  If more than k edges lead to a row, keep the first k. */
static HyStatus
turn_edges(HyDescent *descent, const HyCancel *cancel)
{
	int64_t row;
	int32_t n;

	memset(descent->backwards, 0, (size_t) descent->rows.rows * sizeof(int32_t));
	for (row = 0; row < descent->rows.rows; row++)
	{
		if (row % PART_ROWS == 0 && hy_cancelled(cancel))
			return HY_CANCELLED;
		for (n = 0; n < descent->forwards[row]; n++)
		{
			int32_t edge = descent->forward[row * descent->k + n];
			int32_t target = edge >> 1;

			if (descent->backwards[target] < descent->k)
				descent->backward[(int64_t) target * descent->k + descent->backwards[target]++] =
					(int32_t) row * 2 + (edge & FRESH);
		}
	}
	return HY_OK;
}

/* improve_some: improve the heaps of PART_ROWS rows. */
static HyStatus
improve_some(void *arg, int64_t part, int number, const HyCancel *cancel)
{
	HyDescent *descent = arg;
	int64_t row = part * PART_ROWS;
	int64_t end = end_of_part(descent, part);

	for (; row < end; row++)
	{
		if (hy_cancelled(cancel))
			return HY_CANCELLED;
		improve(descent, &descent->workers[number], row);
	}
	return HY_OK;
}

/* improve: compare a row with the rows to which the most paths of two edges lead. */
static void
improve(HyDescent *descent, Worker *worker, int64_t row)
{
	const int32_t *forward = descent->forward + row * descent->k;
	const int32_t *backward = descent->backward + row * descent->k;
	const HyMatrix *rows = &descent->rows;
	const float *a = hy_matrix_row(rows, row);
	float aa = 0;
	int32_t spare;
	int32_t least;
	int64_t i;

	worker->count = 0;
	mark(descent, worker, row, KNOWN);
	for (i = 0; i < descent->forwards[row]; i++)
		vote_over(descent, worker, forward[i]);
	for (i = 0; i < descent->backwards[row]; i++)
	{
		if (backward[i] & FRESH)
			vote(worker, backward[i] >> 1);
		vote_over(descent, worker, backward[i]);
	}
	mark(descent, worker, row, 0);
	if (rows->dtype != HY_F32)
	{
		hy_kernels()->widen_f16(worker->query, hy_matrix_row(rows, row), rows->dims);
		a = worker->query;
	}
	if (descent->metric == HY_METRIC_COSINE)
		aa = hy_norm_sq(HY_F32, a, rows->dims);
	least = find_least(worker, PAIRS_PER_K * descent->k, &spare);
	for (i = 0; i < worker->count; i++)
	{
		int32_t target = worker->touched[i];
		uint8_t votes = worker->votes[target];
		const void *b = hy_matrix_row(rows, target);
		double distance;

		worker->votes[target] = 0;
		if (votes < least || (votes == least && spare-- <= 0))
			continue;
		distance = descent->metric == HY_METRIC_COSINE
		               ? hy_cosine_to(a, aa, rows->dtype, b, rows->dims)
		               : hy_distance_to(descent->metric, a, rows->dtype, b, rows->dims);
		if (hy_topk_push(&descent->best[row], distance, target))
			worker->kept++;
	}
}

/* mark: set the votes of a row and of the targets of its forward edges. */
static void
mark(const HyDescent *descent, Worker *worker, int64_t row, uint8_t votes)
{
	int32_t n;

	worker->votes[row] = votes;
	for (n = 0; n < descent->forwards[row]; n++)
		worker->votes[descent->forward[row * descent->k + n] >> 1] = votes;
}

/*
 * vote_over: vote for each row that has an edge from or to the row at the end of `edge`.  Paths
 * without a fresh edge do not count.
 */
static void
vote_over(const HyDescent *descent, Worker *worker, int32_t edge)
{
	int64_t by = edge >> 1;
	const int32_t *forward = descent->forward + by * descent->k;
	const int32_t *backward = descent->backward + by * descent->k;
	int32_t n;

	for (n = 0; n < descent->forwards[by]; n++)
	{
		if ((forward[n] | edge) & FRESH)
			vote(worker, forward[n] >> 1);
	}
	for (n = 0; n < descent->backwards[by]; n++)
	{
		if ((backward[n] | edge) & FRESH)
			vote(worker, backward[n] >> 1);
	}
}

static inline void
vote(Worker *worker, int32_t row)
{
	uint8_t votes = worker->votes[row];

	if (votes == KNOWN)
		return;
	if (votes == 0)
		worker->touched[worker->count++] = row;
	if (votes < MOST_VOTES)
		worker->votes[row] = votes + 1;
}

/*
 * find_least: return the number of votes that a row needs to be compared.  At most `most` rows have
 * more votes.  Sets *spare to how many of the rows with exactly this number may be compared too.
 */
static int
find_least(const Worker *worker, int32_t most, int32_t *spare)
{
	int64_t rows[MOST_VOTES + 2] = {0};
	int64_t more = 0;
	int least = MOST_VOTES;
	int64_t i;

	for (i = 0; i < worker->count; i++)
		rows[worker->votes[worker->touched[i]]]++;
	while (least > 1 && more + rows[least] <= most)
		more += rows[least--];
	*spare = most - (int32_t) more;
	return least;
}
