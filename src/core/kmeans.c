/*
 * kmeans.c
 *		Lloyd's iterations, and a balanced variant for two clusters.
 */
#include "core/kmeans.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/assign.h"
#include "core/assign_tile.h"
#include "core/distance.h"
#include "core/random.h"

#define POLL 256 /* distance computations, or rows added, between two polls */

/* Start values for the counters of random numbers.  Each use has its own range. */
#define DRAW_POOL ((uint64_t) 1 << 40)
#define DRAW_SEED ((uint64_t) 2 << 40)
#define DRAW_REFILL ((uint64_t) 3 << 40)

typedef struct Clustering
{
	const HyKmeans *task;
	HyMatrix centroids;
	float *values; /* data of centroids */
	double *sums;
	int64_t *counts;
	int32_t *nearest;
	double *distances; /* squared distances of rows, used as weights for drawing a row */
	uint64_t refills;
} Clustering;

typedef struct Preference
{
	double difference; /* negative: nearer to centroid 0 */
	int64_t row;
} Preference;

static HyStatus seed_centroids(Clustering *clustering);
static HyStatus lloyd(Clustering *clustering);
static HyStatus assign_rows(Clustering *clustering);
static HyStatus add_up(Clustering *clustering);
static void mean_of(const double *sums, int64_t count, int dims, float *out);
static HyStatus refill(Clustering *clustering, int32_t empty, int32_t largest, bool *moved);
static void leave_out_empty(Clustering *clustering, int32_t *found);
static int64_t draw(const double *weights, int64_t count, double where);
static HyStatus square_to(const HyMatrix *rows, const float *center, bool least,
                          const HyCancel *cancel, double *squares);
static HyStatus split_seeds(const HyMatrix *rows, uint64_t seed, double *squares,
                            const HyCancel *cancel, float *centroids);
static int compare_preference(const void *a, const void *b);
static int64_t cut(const Preference *preferences, int64_t count, double share);
static bool valid_rows(const HyMatrix *rows, int64_t least);

HyStatus
hy_kmeans(const HyKmeans *task, float *centroids, int32_t *nearest, int64_t *counts, int32_t *found)
{
	const HyAllocator *allocator = task->allocator;
	Clustering clustering = {.task = task, .values = centroids, .nearest = nearest};
	size_t numbers;
	HyStatus status = HY_NOMEM;

	if (task->k < 1 || !valid_rows(task->rows, 1))
		return HY_INVALID;
	clustering.centroids = (HyMatrix){.dtype = HY_F32,
	                                  .dims = task->rows->dims,
	                                  .rows = task->k,
	                                  .stride = (size_t) task->rows->dims * sizeof(float),
	                                  .data = centroids};
	numbers = (size_t) task->k * (size_t) task->rows->dims;
	clustering.sums = hy_alloc_array(allocator, numbers, sizeof(double));
	clustering.counts = hy_alloc_array(allocator, (size_t) task->k, sizeof(int64_t));
	clustering.distances = hy_alloc_array(allocator, (size_t) task->rows->rows, sizeof(double));
	if (nearest == NULL)
		clustering.nearest = hy_alloc_array(allocator, (size_t) task->rows->rows, sizeof(int32_t));
	if (clustering.sums != NULL && clustering.counts != NULL && clustering.distances != NULL &&
	    clustering.nearest != NULL)
		status = seed_centroids(&clustering);
	if (status == HY_OK)
		status = lloyd(&clustering);
	if (status == HY_OK)
	{
		leave_out_empty(&clustering, found);
		if (counts != NULL)
			memcpy(counts, clustering.counts, (size_t) *found * sizeof(int64_t));
	}
	if (nearest == NULL)
		hy_free(allocator, clustering.nearest);
	hy_free(allocator, clustering.distances);
	hy_free(allocator, clustering.counts);
	hy_free(allocator, clustering.sums);
	return status;
}

/*
 * seed_centroids: choose the first centroids by k-means++ from a pool of rows.  Finds fewer than k
 * if the pool has fewer distinct rows.
 */
static HyStatus
seed_centroids(Clustering *clustering)
{
	const HyKmeans *task = clustering->task;
	const HyMatrix *rows = task->rows;
	size_t bytes = clustering->centroids.stride;
	int64_t size = (int64_t) task->k * HY_KMEANS_POOL;
	int64_t step = rows->rows > size ? rows->rows / size : 1;
	int64_t first = (int64_t) (hy_random(task->seed, DRAW_POOL) % (uint64_t) step);
	HyMatrix pool = *rows;
	int32_t c;

	/* The pool is every step-th row, from a random start. */
	pool.data = hy_matrix_row(rows, first);
	pool.rows = (rows->rows - first + step - 1) / step;
	pool.stride = rows->stride * (size_t) step;

	for (c = 0; c < task->k; c++)
	{
		float *centroid = (float *) (void *) ((char *) clustering->values + (size_t) c * bytes);
		double where = hy_random_unit(task->seed, DRAW_SEED + (uint64_t) c);
		int64_t drawn;
		HyStatus status;

		drawn = c == 0 ? (int64_t) (where * (double) pool.rows)
		               : draw(clustering->distances, pool.rows, where);
		if (drawn < 0)
			break;
		memcpy(centroid, hy_matrix_row(&pool, drawn), bytes);
		status = square_to(&pool, centroid, c > 0, task->cancel, clustering->distances);
		if (status != HY_OK)
			return status;
	}
	clustering->centroids.rows = c;
	return HY_OK;
}

static HyStatus
lloyd(Clustering *clustering)
{
	const HyKmeans *task = clustering->task;
	int dims = clustering->centroids.dims;
	int iteration;
	HyStatus status;

	status = assign_rows(clustering);
	for (iteration = 0; status == HY_OK && iteration < task->iterations; iteration++)
	{
		int32_t largest = 0;
		int32_t c;
		bool moved = false;

		status = add_up(clustering);
		if (status != HY_OK)
			return status;
		for (c = 0; c < clustering->centroids.rows; c++)
		{
			float *centroid = clustering->values + (size_t) c * (size_t) dims;
			float mean[HY_MAX_DIMS];

			if (clustering->counts[c] == 0)
				continue;
			mean_of(clustering->sums + (size_t) c * (size_t) dims, clustering->counts[c], dims,
			        mean);
			moved |= memcmp(mean, centroid, clustering->centroids.stride) != 0;
			memcpy(centroid, mean, clustering->centroids.stride);
		}
		for (c = 0; c < clustering->centroids.rows; c++)
		{
			int32_t other;

			if (clustering->counts[c] != 0)
				continue;
			for (other = 0; other < clustering->centroids.rows; other++)
			{
				if (clustering->counts[other] > clustering->counts[largest])
					largest = other;
			}
			status = refill(clustering, c, largest, &moved);
			if (status != HY_OK)
				return status;
		}
		if (!moved)
			break;
		status = assign_rows(clustering);
	}
	return status == HY_OK ? add_up(clustering) : status;
}

static HyStatus
assign_rows(Clustering *clustering)
{
	const HyKmeans *task = clustering->task;
	HyKmeansHere here = {task->allocator, task->cancel};

	if (task->assign != NULL)
		return task->assign(task->assign_arg, task->rows, &clustering->centroids,
		                    clustering->nearest);
	return hy_kmeans_assign(&here, task->rows, &clustering->centroids, clustering->nearest);
}

/* add_up: compute the sums and counts of the clusters from the current assignment. */
static HyStatus
add_up(Clustering *clustering)
{
	const HyMatrix *rows = clustering->task->rows;
	size_t clusters = (size_t) clustering->centroids.rows;
	int dims = rows->dims;
	int64_t i;

	memset(clustering->sums, 0, clusters * (size_t) dims * sizeof(double));
	memset(clustering->counts, 0, clusters * sizeof(int64_t));
	for (i = 0; i < rows->rows; i++)
	{
		const float *row = hy_matrix_row(rows, i);
		int32_t c = clustering->nearest[i];
		double *sum;

		if (i % POLL == 0 && hy_cancelled(clustering->task->cancel))
			return HY_CANCELLED;
		if (c < 0 || c >= clustering->centroids.rows)
			return HY_BUG;
		sum = clustering->sums + (size_t) c * (size_t) dims;
		hy_kmeans_add(sum, row, dims);
		clustering->counts[c]++;
	}
	return HY_OK;
}

void
hy_kmeans_add(double *sums, const float *row, int dims)
{
	hy_assign_tiles()->add(sums, row, dims);
}

/*
 * Adding the grid to a number and subtracting it again rounds the number to a multiple of the
 * grid's last place.  The grid is 3 * 2^51 of these units.  If every row had the largest number,
 * their sum would still be less than 2^53 units, so sums are exact.
 */
double
hy_kmeans_grid(double largest, int64_t rows)
{
	int exponent = 0;
	int more = 0;

	(void) frexp(largest, &exponent);
	(void) frexp((double) rows, &more);
	return ldexp(1.5, exponent + (more > 2 ? more : 2));
}

void
hy_kmeans_add_on_grid(double *sums, const float *row, int dims, double grid)
{
	hy_assign_tiles()->add_rounded(sums, row, dims, grid);
}

static void
mean_of(const double *sums, int64_t count, int dims, float *out)
{
	int d;

	for (d = 0; d < dims; d++)
		out[d] = (float) (sums[d] / (double) count);
}

/*
 * refill: move an empty centroid into the largest cluster, and set *moved.  If all rows of the
 * cluster are identical, there is nothing to split off, and nothing moves.  Either way, the counts
 * are changed as if half of the cluster had moved to the empty centroid.  So the next empty
 * centroid may choose another cluster.
 */
static HyStatus
refill(Clustering *clustering, int32_t empty, int32_t largest, bool *moved)
{
	const HyKmeans *task = clustering->task;
	const HyMatrix *rows = task->rows;
	size_t dims = (size_t) rows->dims;
	const float *center = clustering->values + (size_t) largest * dims;
	uint64_t counter = DRAW_REFILL + clustering->refills++;
	int64_t drawn;
	int64_t i;

	for (i = 0; i < rows->rows; i++)
	{
		if (i % POLL == 0 && hy_cancelled(task->cancel))
			return HY_CANCELLED;
		clustering->distances[i] =
			clustering->nearest[i] == largest
				? hy_l2_squared(center, HY_F32, hy_matrix_row(rows, i), rows->dims)
				: 0.0;
	}
	drawn = draw(clustering->distances, rows->rows, hy_random_unit(task->seed, counter));
	if (drawn >= 0)
	{
		memcpy(clustering->values + (size_t) empty * dims, hy_matrix_row(rows, drawn),
		       dims * sizeof(float));
		*moved = true;
	}
	clustering->counts[empty] = clustering->counts[largest] / 2;
	clustering->counts[largest] -= clustering->counts[empty];
	return HY_OK;
}

static void
leave_out_empty(Clustering *clustering, int32_t *found)
{
	size_t dims = (size_t) clustering->centroids.dims;
	int32_t *places = (int32_t *) (void *) clustering->sums; /* the sums are no longer needed */
	int32_t kept = 0;
	int32_t c;
	int64_t i;

	for (c = 0; c < clustering->centroids.rows; c++)
	{
		places[c] = kept;
		if (clustering->counts[c] == 0)
			continue;
		memmove(clustering->values + (size_t) kept * dims, clustering->values + (size_t) c * dims,
		        dims * sizeof(float));
		clustering->counts[kept] = clustering->counts[c];
		kept++;
	}
	for (i = 0; i < clustering->task->rows->rows && kept < clustering->centroids.rows; i++)
		clustering->nearest[i] = places[clustering->nearest[i]];
	*found = kept;
}

HyStatus
hy_kmeans_assign(void *here, const HyMatrix *rows, const HyMatrix *centroids, int32_t *nearest)
{
	const HyKmeansHere *with = here;

	return hy_assign(rows, centroids, NULL, with->allocator, nearest, with->cancel);
}

HyStatus
hy_kmeans_split(const HyMatrix *rows, double share, uint64_t seed, const HyAllocator *allocator,
                const HyCancel *cancel, float *centroids, uint8_t *side)
{
	size_t dims = (size_t) rows->dims;
	Preference *preferences;
	double *squares;
	double *sums;
	int64_t n = rows->rows;
	int iteration;
	HyStatus status = HY_NOMEM;

	if (!valid_rows(rows, 2) || !(share >= 0.0 && share <= 0.5))
		return HY_INVALID;
	preferences = hy_alloc_array(allocator, (size_t) n, sizeof(Preference));
	squares = hy_alloc_array(allocator, (size_t) n * 2, sizeof(double));
	sums = hy_alloc_array(allocator, dims * 2, sizeof(double));
	if (preferences != NULL && squares != NULL && sums != NULL)
		status = split_seeds(rows, seed, squares, cancel, centroids);

	memset(side, 2, (size_t) n);
	for (iteration = 0; iteration < HY_KMEANS_ITERATIONS && status == HY_OK; iteration++)
	{
		bool changed = false;
		int64_t first;
		int64_t i;

		status = square_to(rows, centroids, false, cancel, squares);
		if (status == HY_OK)
			status = square_to(rows, centroids + dims, false, cancel, squares + n);
		if (status != HY_OK)
			break;
		for (i = 0; i < n; i++)
		{
			double difference = squares[i] - squares[n + i];

			/* The difference of two infinities is NaN, and becomes 0. */
			preferences[i].difference = difference == difference ? difference : 0.0;
			preferences[i].row = i;
		}
		qsort(preferences, (size_t) n, sizeof(Preference), compare_preference);
		first = cut(preferences, n, share);

		for (i = 0; i < n; i++)
		{
			uint8_t now = i >= first;

			changed |= side[preferences[i].row] != now;
			side[preferences[i].row] = now;
		}
		if (!changed)
			break;
		memset(sums, 0, dims * 2 * sizeof(double));
		for (i = 0; i < n; i++)
		{
			hy_kmeans_add(sums + side[i] * dims, hy_matrix_row(rows, i), rows->dims);
		}
		mean_of(sums, first, rows->dims, centroids);
		mean_of(sums + dims, n - first, rows->dims, centroids + dims);
	}
	hy_free(allocator, sums);
	hy_free(allocator, squares);
	hy_free(allocator, preferences);
	return status;
}

/*
 * split_seeds: pick a random row, and draw a second row with a probability proportional to its
 * squared distance from the first.  If all rows are identical, the first row is taken twice.
 */
static HyStatus
split_seeds(const HyMatrix *rows, uint64_t seed, double *squares, const HyCancel *cancel,
            float *centroids)
{
	size_t bytes = (size_t) rows->dims * sizeof(float);
	int64_t drawn = (int64_t) (hy_random_unit(seed, DRAW_SEED) * (double) rows->rows);
	HyStatus status;

	memcpy(centroids, hy_matrix_row(rows, drawn), bytes);
	status = square_to(rows, centroids, false, cancel, squares);
	if (status != HY_OK)
		return status;
	drawn = draw(squares, rows->rows, hy_random_unit(seed, DRAW_SEED + 1));
	memcpy(centroids + rows->dims, drawn >= 0 ? hy_matrix_row(rows, drawn) : centroids, bytes);
	return HY_OK;
}

/*
 * cut: return the number of sorted rows that go to centroid 0.  These are the rows nearer to
 * centroid 0, and as many equidistant rows as make the two halves as equal as possible.  Each side
 * gets at least its minimum share.
 */
static int64_t
cut(const Preference *preferences, int64_t count, double share)
{
	int64_t least = (int64_t) (share * (double) count);
	int64_t nearer = 0;
	int64_t not_farther;
	int64_t first;

	while (nearer < count && preferences[nearer].difference < 0)
		nearer++;
	not_farther = nearer;
	while (not_farther < count && preferences[not_farther].difference <= 0)
		not_farther++;
	first = count / 2;
	first = first < nearer ? nearer : first > not_farther ? not_farther : first;
	least = least > 1 ? least : 1;
	return first < least ? least : first > count - least ? count - least : first;
}

static int
compare_preference(const void *a, const void *b)
{
	const Preference *x = a;
	const Preference *y = b;

	if (x->difference != y->difference)
		return x->difference < y->difference ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

/*
 * draw: draw an entry with a probability proportional to its weight.  where is in [0, 1).  Returns
 * -1 if no weight is above 0.  Infinite and NaN weights count as 0, because otherwise nothing else
 * could be drawn.
 */
static int64_t
draw(const double *weights, int64_t count, double where)
{
	double total = 0.0;
	double sum = 0.0;
	int64_t last = -1;
	int64_t i;

	for (i = 0; i < count; i++)
		total += isfinite(weights[i]) ? weights[i] : 0.0;
	for (i = 0; i < count && !(sum > where * total); i++)
	{
		if (isfinite(weights[i]) && weights[i] > 0.0)
		{
			sum += weights[i];
			last = i;
		}
	}
	return last;
}

/*
 * square_to: set squares[i] to the squared distance of row i from center.  If `least` is set, keeps
 * squares[i] if it is smaller.
 */
static HyStatus
square_to(const HyMatrix *rows, const float *center, bool least, const HyCancel *cancel,
          double *squares)
{
	int64_t i;

	for (i = 0; i < rows->rows; i++)
	{
		double square;

		if (i % POLL == 0 && hy_cancelled(cancel))
			return HY_CANCELLED;
		square = hy_l2_squared(center, HY_F32, hy_matrix_row(rows, i), rows->dims);
		if (!least || square < squares[i])
			squares[i] = square;
	}
	return HY_OK;
}

static bool
valid_rows(const HyMatrix *rows, int64_t least)
{
	return rows->dtype == HY_F32 && rows->data != NULL && rows->dims >= 1 &&
	       rows->dims <= HY_MAX_DIMS && rows->rows >= least;
}
