/*
 * assign.c
 *		Assigns rows to centroids, one block of centroids at a time.
 *
 * Take a row x and a centroid c relative to the mean of a sample of the centroids.  A larger value
 * of
 *
 *		<x, c> - |c|^2 / 2
 *
 * means a nearer centroid.  This expression is called the value of the centroid.  A tile's fp32
 * product gives the value with a known error bound.  For each row, the code keeps the largest value
 * that some centroid is known to reach.  It also keeps the few centroids whose value may be at
 * least that large.
 *
 * The rows are divided among the threads, and each thread has an Assignment of its own.
 */
#include "core/assign.h"

#include <math.h>
#include <string.h>

#include "core/assign_state.h"
#include "core/distance.h"
#include "core/prefilter.h"
#include "core/threads.h"
#include "core/topk.h"

#define CHUNK_ROWS 8192
/* size of a block's panels in bytes; the L2 cache holds them and the rows of a tile */
#define BLOCK_BYTES (384 * 1024)
#define BLOCK_ROWS (30 * TARGETS)
#define MIDDLE_ROWS 256
#define LINE 16 /* floats per cache line; panels are aligned to cache lines */
#define POLL_ELEMENTS (4 << 20)
#define FEW_TARGETS 8
#define FEW_ROWS 4 /* minimum number of rows for which building panels is worth the cost */
/* minimum number of centroids for the integer products of prefilter.h */
#define MANY_TARGETS 128

/* Range of squared lengths.  Outside this range, fp32 arithmetic may overflow or underflow. */
#define SHORTEST 1e-30f
#define LONGEST 1e30f

/* Relative error bound of a canonical squared distance, for 16,000 elements in 16 sums. */
#define SQUARE_SLACK 1e-4

#define EXACT_ROWS 64    /* rows per part, if only canonical distances are used */
#define PRODUCT_WORK 0.3 /* work per element of a tile's product, for hy_threads_for */
#define LEAST_CHUNK 256  /* minimum rows per part; each part builds all panels again */

/* Team: the state of the threads that assign rows together. */
typedef struct Team
{
	Assignment workers[HY_THREADS_MOST];
	int64_t rows; /* rows per part */
	int32_t *nearest;
} Team;

static HyStatus assign_some_exactly(void *arg, int64_t part, int worker, const HyCancel *cancel);
static HyStatus
assign_exactly(Assignment *assignment, int64_t first, int64_t count, int32_t *nearest);
static HyStatus
assign_by_filter(const Assignment *assignment, const HyAllocator *allocator, int32_t *nearest);
static HyStatus assign_by_tiles(Team *team, int threads, const HyAllocator *allocator);
static HyStatus assign_chunk(void *arg, int64_t part, int worker, const HyCancel *cancel);
static int64_t chunk_rows(const Assignment *assignment, int threads);
static HyStatus begin(Assignment *assignment, int64_t chunk, const HyAllocator *allocator);
static void end(Assignment *assignment, const HyAllocator *allocator);
static void find_middle(Assignment *assignment);
static void compare_tile(Assignment *assignment, int64_t chunk, const int32_t *members, int count,
                         int64_t first, int n);
static void compare_panel(Assignment *assignment, int64_t chunk, int32_t row, const float *dots,
                          int64_t first, int target, int n);
static void consider(Assignment *assignment, int64_t chunk, int32_t row, float low, float high,
                     int32_t centroid);
static void drop_farther(RowState *state);
static int32_t nearest_kept(const Assignment *assignment, int64_t row, const RowState *state);

HyStatus
hy_assign(const HyMatrix *rows, const HyMatrix *centroids, const HyGroups *groups,
          const HyAllocator *allocator, int32_t *nearest, const HyCancel *cancel)
{
	Assignment assignment = {.rows = rows, .centroids = centroids, .cancel = cancel};
	HyStatus status = hy_assign_check(rows, centroids, groups);
	double compared = (double) centroids->rows;
	Team team;
	int threads;
	int i;

	if (status != HY_OK || rows->rows == 0)
		return status;
	if (rows->data == NULL)
		return HY_INVALID;
	if (groups != NULL && groups->centers.rows > groups->probes)
	{
		assignment.groups = groups;
		assignment.probes = groups->probes;
		compared = compared * groups->probes / (double) groups->centers.rows;
		compared += (double) groups->centers.rows;
	}
	if (hy_prefilter_allowed() && assignment.groups == NULL && rows->rows >= FEW_ROWS &&
	    centroids->rows >= MANY_TARGETS &&
	    hy_prefilter_pays(HY_METRIC_L2, rows->rows, centroids->rows, rows->dims, 1))
		return assign_by_filter(&assignment, allocator, nearest);

	threads = hy_threads_for((double) rows->rows * compared * rows->dims * PRODUCT_WORK);
	for (i = 0; i < threads; i++)
		team.workers[i] = assignment;
	team.nearest = nearest;
	if (!hy_prefilter_allowed() || rows->rows < FEW_ROWS ||
	    (assignment.groups == NULL && centroids->rows < FEW_TARGETS))
	{
		team.rows = EXACT_ROWS;
		return hy_threads_run(threads, (rows->rows + EXACT_ROWS - 1) / EXACT_ROWS,
		                      assign_some_exactly, &team, cancel);
	}
	return assign_by_tiles(&team, threads, allocator);
}

/* assign_some_exactly: assign the rows of a part by canonical distances only. */
static HyStatus
assign_some_exactly(void *arg, int64_t part, int worker, const HyCancel *cancel)
{
	Team *team = arg;
	Assignment *assignment = &team->workers[worker];
	int64_t first = part * team->rows;
	int64_t left = assignment->rows->rows - first;

	assignment->cancel = cancel;
	return assign_exactly(assignment, first, left < team->rows ? left : team->rows, team->nearest);
}

/* assign_by_tiles: assign all rows by fp32 products, on the given number of threads. */
static HyStatus
assign_by_tiles(Team *team, int threads, const HyAllocator *allocator)
{
	Assignment *first = &team->workers[0];
	int64_t rows = first->rows->rows;
	HyStatus status;
	int begun;
	int i;

	team->rows = chunk_rows(first, threads);
	if ((rows + team->rows - 1) / team->rows < threads)
		threads = (int) ((rows + team->rows - 1) / team->rows);
	status = begin(first, team->rows, allocator);
	if (status == HY_OK)
		find_middle(first);
	/* If the memory of a thread cannot be allocated, the other threads assign all rows. */
	for (begun = 1; status == HY_OK && begun < threads; begun++)
	{
		Assignment *other = &team->workers[begun];

		if (begin(other, team->rows, allocator) != HY_OK)
		{
			end(other, allocator);
			break;
		}
		memcpy(other->middle, first->middle, (size_t) first->rows->dims * sizeof(float));
	}
	if (status == HY_OK)
		status = hy_threads_run(begun, (rows + team->rows - 1) / team->rows, assign_chunk, team,
		                        first->cancel);
	for (i = 0; i < begun; i++)
		end(&team->workers[i], allocator);
	return status;
}

/* assign_chunk: assign the rows of a part by fp32 products. */
static HyStatus
assign_chunk(void *arg, int64_t part, int worker, const HyCancel *cancel)
{
	Team *team = arg;
	Assignment *assignment = &team->workers[worker];
	int64_t first = part * team->rows;
	int64_t left = assignment->rows->rows - first;
	int count = left < team->rows ? (int) left : (int) team->rows;
	HyStatus status;
	int i;

	assignment->cancel = cancel;
	for (i = 0; i < count; i++)
		assignment->states[i] = (RowState){.best = -INFINITY, .threshold = -INFINITY};
	if (assignment->groups != NULL)
		status = hy_assign_compare_groups(assignment, first, count);
	else
		status = hy_assign_compare(assignment, first, assignment->all, count, 0,
		                           assignment->centroids->rows);
	for (i = 0; i < count && status == HY_OK; i++)
	{
		if (hy_assign_is_bounded(&assignment->states[i]))
			team->nearest[first + i] = nearest_kept(assignment, first + i, &assignment->states[i]);
		else
			status = assign_exactly(assignment, first + i, 1, team->nearest);
	}
	return status;
}

/*
 * chunk_rows: return the number of rows of a part.  Each part builds all panels, so parts are as
 * large as CHUNK_ROWS allows.  Except for rounding, and unless parts would be smaller than
 * LEAST_CHUNK, the number of parts is a multiple of the number of threads.
 */
static int64_t
chunk_rows(const Assignment *assignment, int threads)
{
	int64_t rows = assignment->rows->rows;
	int64_t rounds = (rows + (int64_t) threads * CHUNK_ROWS - 1) / ((int64_t) threads * CHUNK_ROWS);
	int64_t chunk = (rows + threads * rounds - 1) / (threads * rounds);

	chunk = (chunk + ROWS - 1) / ROWS * ROWS;
	if (chunk < LEAST_CHUNK)
		chunk = LEAST_CHUNK;
	return chunk < rows ? chunk : rows;
}

/* assign_exactly: assign `count` rows by canonical distances only. */
static HyStatus
assign_exactly(Assignment *assignment, int64_t first, int64_t count, int32_t *nearest)
{
	const HyMatrix *rows = assignment->rows;
	const HyGroups *groups = assignment->groups;
	int32_t every[2] = {0, (int32_t) assignment->centroids->rows};
	HyNeighbor met[HY_ASSIGN_PROBES] = {{0, 0}};
	HyNeighbor best;
	int64_t i;

	for (i = first; i < first + count; i++)
	{
		HyTopK found = {met, assignment->probes, 1};
		HyTopK least;
		int32_t m;

		if (groups != NULL)
		{
			found.count = 0;
			for (m = 0; m < groups->centers.rows; m++)
				hy_topk_push(&found, hy_assign_distance(rows, i, &groups->centers, m), m);
		}
		hy_topk_init(&least, &best, 1);
		for (m = 0; m < found.count; m++)
		{
			const int32_t *from = groups != NULL ? groups->begin + met[m].row : every;
			int32_t c;

			for (c = from[0]; c < from[1]; c++)
				hy_topk_push(&least, hy_assign_distance(rows, i, assignment->centroids, c), c);
			if (hy_assign_poll(assignment, from[1] - from[0]))
				return HY_CANCELLED;
		}
		nearest[i] = least.count > 0 ? (int32_t) best.row : 0;
	}
	return HY_OK;
}

/*
 * assign_by_filter: assign all rows with hy_prefilter_search, which finds the nearest of all
 * centroids for each row.
 */
static HyStatus
assign_by_filter(const Assignment *assignment, const HyAllocator *allocator, int32_t *nearest)
{
	const HyMatrix *rows = assignment->rows;
	int64_t most = rows->rows < CHUNK_ROWS ? rows->rows : CHUNK_ROWS;
	HyNeighbor *found = hy_alloc_array(allocator, (size_t) most, sizeof(HyNeighbor));
	int32_t *counts = hy_alloc_array(allocator, (size_t) most, sizeof(int32_t));
	HyStatus status = found != NULL && counts != NULL ? HY_OK : HY_NOMEM;
	int64_t first;
	int64_t i;

	for (first = 0; status == HY_OK && first < rows->rows; first += most)
	{
		HyMatrix some = *rows;
		HyNearest search = {.metric = HY_METRIC_L2,
		                    .k = 1,
		                    .queries = &some,
		                    .targets = assignment->centroids,
		                    .out = found,
		                    .counts = counts};

		some.data = hy_matrix_row(rows, first);
		some.rows = rows->rows - first < most ? rows->rows - first : most;
		status = hy_prefilter_search(&search, allocator, assignment->cancel);
		for (i = 0; i < some.rows && status == HY_OK; i++)
			nearest[first + i] = counts[i] > 0 ? (int32_t) found[i].row : 0;
	}
	hy_free(allocator, counts);
	hy_free(allocator, found);
	return status;
}

/* begin: allocate the memory of a worker that assigns up to `chunk` rows at a time. */
static HyStatus
begin(Assignment *assignment, int64_t chunk, const HyAllocator *allocator)
{
	size_t dims = (size_t) assignment->rows->dims;
	int64_t block = BLOCK_BYTES / (int64_t) (dims * sizeof(float)) / TARGETS * TARGETS;
	int64_t targets = assignment->centroids->rows;
	size_t groups = 0;
	int i;

	if (assignment->groups != NULL)
	{
		groups = (size_t) assignment->groups->centers.rows;
		targets = targets > (int64_t) groups ? targets : (int64_t) groups;
	}
	targets = (targets + TARGETS - 1) / TARGETS * TARGETS;
	block = block > BLOCK_ROWS ? BLOCK_ROWS : block;
	block = block > targets ? targets : block;
	assignment->block = block > 0 ? (int) block : TARGETS;
	assignment->chunk = (int) chunk;
	assignment->tiles = hy_assign_tiles();
	assignment->error = HY_ASSIGN_ERROR((double) dims);
	assignment->slack = SQUARE_SLACK;

	assignment->middle = hy_alloc_array(allocator, dims, sizeof(float));
	assignment->room =
		hy_alloc_array(allocator, (size_t) assignment->block * dims + LINE, sizeof(float));
	assignment->half = hy_alloc_array(allocator, (size_t) assignment->block, sizeof(float));
	assignment->reach = hy_alloc_array(allocator, (size_t) assignment->block, sizeof(float));
	assignment->moved = hy_alloc_array(allocator, ROWS, dims * sizeof(float));
	assignment->states = hy_alloc_array(allocator, (size_t) assignment->chunk, sizeof(RowState));
	assignment->all = hy_alloc_array(allocator, (size_t) assignment->chunk, sizeof(int32_t));
	if (assignment->middle == NULL || assignment->room == NULL || assignment->half == NULL ||
	    assignment->reach == NULL || assignment->moved == NULL || assignment->states == NULL ||
	    assignment->all == NULL)
		return HY_NOMEM;
	if (groups > 0)
	{
		size_t met = (size_t) assignment->chunk * (size_t) assignment->probes;

		assignment->met = hy_alloc_array(allocator, met, sizeof(int32_t));
		assignment->members = hy_alloc_array(allocator, met, sizeof(int32_t));
		assignment->begin = hy_alloc_array(allocator, groups + 3, sizeof(int32_t));
		assignment->center_low = hy_alloc_array(allocator, ROWS * groups, sizeof(float));
		assignment->center_high = hy_alloc_array(allocator, ROWS * groups, sizeof(float));
		if (assignment->met == NULL || assignment->members == NULL || assignment->begin == NULL ||
		    assignment->center_low == NULL || assignment->center_high == NULL)
			return HY_NOMEM;
	}
	assignment->panels =
		assignment->room + (LINE - (uintptr_t) assignment->room / sizeof(float) % LINE);
	memset(assignment->moved, 0, ROWS * dims * sizeof(float));
	for (i = 0; i < assignment->chunk; i++)
		assignment->all[i] = i;
	return HY_OK;
}

static void
end(Assignment *assignment, const HyAllocator *allocator)
{
	hy_free(allocator, assignment->middle);
	hy_free(allocator, assignment->room);
	hy_free(allocator, assignment->half);
	hy_free(allocator, assignment->reach);
	hy_free(allocator, assignment->moved);
	hy_free(allocator, assignment->states);
	hy_free(allocator, assignment->all);
	hy_free(allocator, assignment->met);
	hy_free(allocator, assignment->members);
	hy_free(allocator, assignment->begin);
	hy_free(allocator, assignment->center_low);
	hy_free(allocator, assignment->center_high);
}

/*
 * find_middle: compute the mean of a sample of the centroids.  Vectors relative to this mean are
 * shorter, so bounds are tighter.
 */
static void
find_middle(Assignment *assignment)
{
	const HyMatrix *centroids = assignment->centroids;
	int64_t step = (centroids->rows + MIDDLE_ROWS - 1) / MIDDLE_ROWS;
	int dims = centroids->dims;
	int64_t c;
	int taken = 0;
	int d;

	memset(assignment->middle, 0, (size_t) dims * sizeof(float));
	for (c = 0; c < centroids->rows; c += step, taken++)
	{
		const float *x = hy_matrix_row(centroids, c);

		for (d = 0; d < dims; d++)
			assignment->middle[d] += x[d];
	}
	for (d = 0; d < dims; d++)
	{
		assignment->middle[d] /= (float) taken;
		if (!isfinite(assignment->middle[d]))
			assignment->middle[d] = 0.0f;
	}
}

void
hy_assign_targets(Assignment *assignment, const HyMatrix *targets, int64_t first, int n)
{
	int dims = targets->dims;
	int i;
	int d;

	for (i = 0; i < n; i++)
	{
		float *panel = assignment->panels + (size_t) (i / TARGETS) * TARGETS * (size_t) dims;
		float *to = panel + i % TARGETS;
		float square =
			assignment->tiles->move(hy_matrix_row(targets, first + i), assignment->middle, dims,
		                            assignment->moved, hy_matrix_row(targets, first + (i + 1) % n));

		for (d = 0; d < dims; d++, to += TARGETS)
			*to = assignment->moved[d];
		/*
		 * A value is the product minus half of the squared length.  This half is rounded down, so
		 * that only the error of the product can make a value too low.
		 */
		assignment->half[i] = (float) ((double) square / 2 * (1 - assignment->error));
		if (!(square <= LONGEST))
			assignment->reach[i] = INFINITY;
		else if (square < SHORTEST)
			assignment->reach[i] = 4e-15f; /* a safe bound: over twice the target's length */
		else
			assignment->reach[i] = (float) (sqrt((double) square) * assignment->error * 1.001);
	}
	for (; i % TARGETS != 0; i++)
	{
		float *panel = assignment->panels + (size_t) (i / TARGETS) * TARGETS * (size_t) dims;

		for (d = 0; d < dims; d++)
			panel[d * TARGETS + i % TARGETS] = 0;
		assignment->half[i] = 0;
		assignment->reach[i] = 0;
	}
}

int
hy_assign_rows(Assignment *assignment, int64_t chunk, const int32_t *members, int count)
{
	size_t dims = (size_t) assignment->rows->dims;
	int i;

	for (i = 0; i < ROWS && i < count; i++)
	{
		/* the row at the same position in the next tile, for prefetching */
		int next = i + ROWS < count ? i + ROWS : i;

		assignment->states[members[i]].square = assignment->tiles->move(
			hy_matrix_row(assignment->rows, chunk + members[i]), assignment->middle, (int) dims,
			assignment->moved + (size_t) i * dims,
			hy_matrix_row(assignment->rows, chunk + members[next]));
	}
	return i;
}

HyStatus
hy_assign_compare(Assignment *assignment, int64_t chunk, const int32_t *members, int count,
                  int64_t first, int64_t last)
{
	for (; first < last && count > 0; first += assignment->block)
	{
		int n = last - first < assignment->block ? (int) (last - first) : assignment->block;
		int i;

		hy_assign_targets(assignment, assignment->centroids, first, n);
		for (i = 0; i < count; i += ROWS)
		{
			compare_tile(assignment, chunk, members + i,
			             hy_assign_rows(assignment, chunk, members + i, count - i), first, n);
			if (hy_assign_poll(assignment, (int64_t) n * ROWS))
				return HY_CANCELLED;
		}
	}
	return HY_OK;
}

/* compare_tile: compare the rows of the tile with the centroids of the block. */
static void
compare_tile(Assignment *assignment, int64_t chunk, const int32_t *members, int count,
             int64_t first, int n)
{
	const HyAssignTiles *tiles = assignment->tiles;
	int dims = assignment->rows->dims;
	float dots[HY_ASSIGN_DOTS];
	int t;
	int i;

	for (t = 0; t < n; t += PAIR)
	{
		int panels = ((n - t < PAIR ? n - t : PAIR) + TARGETS - 1) / TARGETS;
		int p;

		tiles->dots(assignment->moved, count, assignment->panels + (size_t) t * (size_t) dims,
		            panels, dims, dots);
		for (p = 0; p < panels; p++)
		{
			for (i = 0; i < count; i++)
				compare_panel(assignment, chunk, members[i], dots + (p * ROWS + i) * TARGETS, first,
				              t + p * TARGETS, n);
		}
	}
}

/*
 * compare_panel: compare a row with one panel of the block.  `target` is the position of the
 * panel's first centroid in the block.  dots holds the inner products.
 */
static void
compare_panel(Assignment *assignment, int64_t chunk, int32_t row, const float *dots, int64_t first,
              int target, int n)
{
	const float *half = assignment->half + target;
	const float *reach = assignment->reach + target;
	const RowState *state = &assignment->states[row];
	uint32_t there = n - target < TARGETS ? (UINT32_C(1) << (n - target)) - 1 : UINT32_MAX;
	float length = sqrtf(state->square) * 1.00001f;
	uint32_t bits;

	if (!hy_assign_is_bounded(state))
		return;
	bits = assignment->tiles->reaching(dots, half, reach, length, state->threshold) & there;
	while (bits != 0)
	{
		int j = __builtin_ctz(bits);
		float reached = reach[j] * length;
		float value = dots[j] - half[j];
		float lost = half[j] * (float) (3 * assignment->error);

		bits &= bits - 1;
		consider(assignment, chunk, row, value - reached - lost, value + reached,
		         (int32_t) (first + target + j));
	}
}

/* consider: record a centroid that may be the nearest.  low and high bound the centroid's value. */
static void
consider(Assignment *assignment, int64_t chunk, int32_t row, float low, float high,
         int32_t centroid)
{
	RowState *state = &assignment->states[row];

	if (low > state->best)
		hy_assign_raise_best(assignment, state, low);
	if (state->count == KEPT)
		drop_farther(state);
	if (state->count == KEPT)
	{
		int32_t nearest = nearest_kept(assignment, chunk + row, state);

		state->kept[0].centroid = nearest;
		state->kept[0].value = INFINITY; /* never dropped */
		state->count = 1;
	}
	state->kept[state->count].value = high;
	state->kept[state->count++].centroid = centroid;
}

/*
 * If d is the exact distance, the canonical squared distance lies within d^2 (1 +- slack).  So
 * canonical distances can contradict the order of two values only if the values differ by less than
 * slack d^2.
 */
void
hy_assign_raise_best(const Assignment *assignment, RowState *state, float best)
{
	double square = (double) state->square * (1 + assignment->error) - 2 * (double) best;
	double margin = (square > 0 ? square : 0) * 1.1 * assignment->slack;

	state->best = best;
	state->threshold = (float) ((double) best - margin - fabs((double) best) * 1e-6);
}

/* drop_farther: remove the kept centroids that are known to be farther than the best one. */
static void
drop_farther(RowState *state)
{
	int kept = 0;
	int i;

	for (i = 0; i < state->count; i++)
	{
		if (!(state->kept[i].value < state->threshold))
			state->kept[kept++] = state->kept[i];
	}
	state->count = kept;
}

bool
hy_assign_is_bounded(const RowState *state)
{
	return state->square >= SHORTEST && state->square <= LONGEST;
}

/* nearest_kept: return the nearest of the kept centroids, by canonical distance. */
static int32_t
nearest_kept(const Assignment *assignment, int64_t row, const RowState *state)
{
	RowState left = *state;
	HyNeighbor best;
	HyTopK least;
	int i;

	drop_farther(&left);
	if (left.count == 1)
		return left.kept[0].centroid;
	hy_topk_init(&least, &best, 1);
	for (i = 0; i < left.count; i++)
		hy_topk_push(
			&least,
			hy_assign_distance(assignment->rows, row, assignment->centroids, left.kept[i].centroid),
			left.kept[i].centroid);
	return least.count > 0 ? (int32_t) best.row : 0;
}

bool
hy_assign_poll(Assignment *assignment, int64_t products)
{
	assignment->work += products * assignment->rows->dims;
	if (assignment->work < POLL_ELEMENTS)
		return false;
	assignment->work = 0;
	return hy_cancelled(assignment->cancel);
}

double
hy_assign_distance(const HyMatrix *rows, int64_t row, const HyMatrix *targets, int64_t target)
{
	return sqrt(hy_l2_squared(hy_matrix_row(rows, row), HY_F32, hy_matrix_row(targets, target),
	                          rows->dims));
}
