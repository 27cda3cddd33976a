/*
 * build_cluster.c
 *		Where the lists of a new index should be.
 *
 * Random rows of the sample, and some rounds of Lloyd's over all of them at once.  Dense regions get as
 * many lists as they have rows for.  (Cutting the rows into parts, and these into parts, is cheaper
 * and worse: what the first cuts separate never meets again.  Searches then look at two to six
 * times as many rows.)
 *
 * A list that becomes too long all the same is cut by k-means into parts, these into parts, until each
 * is short enough.  Small parts stay lists of their own: they are what lies close together, and a
 * search for one of them would go through a crowd if they were given to their neighbours.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "core/kmeans.h"
#include "core/random.h"
#include "server/memory.h"
#include "server/report.h"

#include "index/build.h"

#define BRANCHES 24  /* parts that are cut at once, at most */
#define ITERATIONS 6 /* of a cut */
#define ROUNDS 3     /* over all centroids */
#define FILL 0.67    /* of a list that was cut, that it may grow before it is split */
#define MEAN 1.6     /* lists for as many rows as one may have */
#define LONGEST 4    /* times as many rows stay one list */
#define SEED 1

/* Clustering: rows that get centroids. */
typedef struct Clustering
{
	const float *places;
	int dims;
	int most;    /* rows that a list may have */
	double fill; /* that it is to have */
	HybridCentroids *centroids;
	int allocated;
	MemoryContext context; /* of the centroids */
} Clustering;

static void ungroup(HybridCentroids *centroids);
static void cut(Clustering *clustering, int *rows, int count);
static int k_means(const float *places, const int *rows, int count, int dims, int k,
                   float *centroids, int *part);
static HyStatus
assign_here(void *arg, const HyMatrix *rows, const HyMatrix *centroids, int32_t *nearest);
static int *sort_by_part(int *rows, const int *part, int count, int parts);
static void add_mean(Clustering *clustering, const int *rows, int count);
static void
refine(HybridCentroids *centroids, const float *places, int64 rows, MemoryContext context);

void
hybrid_cluster(HybridCentroids *centroids, const HybridSample *sample, int dims, int list_size,
               MemoryContext context)
{
	double wanted = sample->rows * sample->stands_for * MEAN / list_size;
	int count = (int) Min(Max(wanted, 2), Min((double) sample->rows, PG_INT32_MAX / 2)), i;
	Size row_bytes = dims * sizeof(float);

	memset(centroids, 0, sizeof(*centroids));
	centroids->dims = dims;
	if (sample->rows * sample->stands_for <= list_size)
		return;

	centroids->places = MemoryContextAllocHuge(context, count * row_bytes);
	centroids->count = count;
	for (i = 0; i < count; i++)
	{
		int64 first = i * sample->rows / count, end = (i + 1) * sample->rows / count;
		int64 row = first + (int64) (hy_random(SEED, i) % (uint64) (end - first));

		memcpy((char *) centroids->places + i * row_bytes,
		       (const char *) sample->places + row * row_bytes, row_bytes);
	}
	for (i = 0; i < ROUNDS && centroids->count > 1; i++)
		refine(centroids, sample->places, sample->rows, context);
}

void
hybrid_cut(HybridCentroids *centroids, const float *places, int count, int dims, int list_size,
           MemoryContext context)
{
	Clustering clustering;
	int *rows, i;

	memset(centroids, 0, sizeof(*centroids));
	centroids->dims = dims;
	memset(&clustering, 0, sizeof(clustering));
	clustering.places = places;
	clustering.dims = dims;
	clustering.most = list_size * LONGEST;
	clustering.fill = list_size * FILL;
	clustering.context = context;
	clustering.centroids = centroids;
	rows = palloc(Max(count, 1) * sizeof(int));
	for (i = 0; i < count; i++)
		rows[i] = i;
	cut(&clustering, rows, count);
	pfree(rows);
}

void
hybrid_group(HybridCentroids *centroids, int groups, int *order, MemoryContext context)
{
	int dims = centroids->dims, count = centroids->count, i;
	int *rows = palloc(count * sizeof(int)), *part = palloc(count * sizeof(int));
	Size row_bytes = dims * sizeof(float);
	float *sorted = MemoryContextAllocHuge(context, count * row_bytes);
	MemoryContext old;

	ungroup(centroids);
	centroids->group_places = MemoryContextAllocHuge(context, groups * row_bytes);
	for (i = 0; i < count; i++)
		rows[i] = i;
	centroids->groups = k_means(centroids->places, rows, count, dims, Min(groups, count),
	                            centroids->group_places, part);
	old = MemoryContextSwitchTo(context);
	centroids->group_begin = sort_by_part(rows, part, count, centroids->groups);
	MemoryContextSwitchTo(old);
	for (i = 0; i < count; i++)
		memcpy((char *) sorted + i * row_bytes, (char *) centroids->places + rows[i] * row_bytes,
		       row_bytes);
	if (order != NULL)
		memcpy(order, rows, count * sizeof(int));
	pfree(centroids->places);
	centroids->places = sorted;
	pfree(rows);
	pfree(part);
}

static void
ungroup(HybridCentroids *centroids)
{
	if (centroids->groups > 0)
	{
		pfree(centroids->group_places);
		pfree(centroids->group_begin);
	}
	centroids->group_places = NULL;
	centroids->group_begin = NULL;
	centroids->groups = 0;
}

/* cut: centroids for these rows, whose numbers come in another order. */
static void
cut(Clustering *clustering, int *rows, int count)
{
	int k = count > clustering->most ? (int) Min(rint(count / clustering->fill), BRANCHES) : 1;
	float *centroids;
	int *part, *begin, g;

	check_stack_depth();
	if (k < 2)
	{
		add_mean(clustering, rows, count);
		return;
	}
	centroids = palloc((Size) k * clustering->dims * sizeof(float));
	part = palloc(count * sizeof(int));
	k = k_means(clustering->places, rows, count, clustering->dims, k, centroids, part);
	pfree(centroids);
	begin = sort_by_part(rows, part, count, k);
	pfree(part);
	/* rows that cannot be told apart stay together, however many */
	if (k == 1)
		add_mean(clustering, rows, count);
	for (g = 0; g < k && k > 1; g++)
	{
		if (begin[g + 1] > begin[g])
			cut(clustering, rows + begin[g], begin[g + 1] - begin[g]);
	}
	pfree(begin);
}

/* k_means: of the rows with these numbers; returns how many parts there are. */
static int
k_means(const float *places, const int *rows, int count, int dims, int k, float *centroids,
        int *part)
{
	Size row_bytes = dims * sizeof(float);
	float *own = MemoryContextAllocHuge(CurrentMemoryContext, count * row_bytes);
	HyAllocator allocator = hybrid_allocator(CurrentMemoryContext);
	HyKmeans task;
	HyMatrix matrix;
	int32 found;
	int i;

	for (i = 0; i < count; i++)
		memcpy(own + (Size) i * dims, places + (Size) rows[i] * dims, row_bytes);
	matrix = hybrid_places_matrix(own, count, dims);
	memset(&task, 0, sizeof(task));
	task.rows = &matrix;
	task.k = k;
	task.iterations = ITERATIONS;
	task.seed = SEED;
	task.assign = assign_here;
	task.allocator = &allocator;
	task.cancel = &hybrid_cancel;
	hybrid_check(hy_kmeans(&task, centroids, part, NULL, &found), "place the lists of an index");
	pfree(own);
	return found;
}

/* assign_here: a HyKmeansAssign by way of the dispatcher. */
static HyStatus
assign_here(void *arg, const HyMatrix *rows, const HyMatrix *centroids, int32_t *nearest)
{
	HybridCentroids flat;

	(void) arg;
	memset(&flat, 0, sizeof(flat));
	flat.dims = centroids->dims;
	flat.count = (int) centroids->rows;
	flat.places = unconstify(float *, (const float *) centroids->data);
	hybrid_assign(&flat, (const float *) rows->data, (int) rows->rows, nearest);
	return HY_OK;
}

/* sort_by_part: rows, part by part, and where each part begins (parts + 1 numbers). */
static int *
sort_by_part(int *rows, const int *part, int count, int parts)
{
	int *begin = palloc0((parts + 2) * sizeof(int)), *sorted = palloc(count * sizeof(int)), i;

	for (i = 0; i < count; i++)
		begin[part[i] + 2]++;
	for (i = 0; i < parts; i++)
		begin[i + 2] += begin[i + 1];
	for (i = 0; i < count; i++)
		sorted[begin[part[i] + 1]++] = rows[i];
	memcpy(rows, sorted, count * sizeof(int));
	pfree(sorted);
	return begin;
}

static void
add_mean(Clustering *clustering, const int *rows, int count)
{
	HybridCentroids *centroids = clustering->centroids;
	int dims = clustering->dims;

	if (centroids->count == clustering->allocated)
	{
		Size bytes;

		clustering->allocated = Max(256, clustering->allocated * 2);
		bytes = (Size) clustering->allocated * dims * sizeof(float);
		centroids->places = centroids->places == NULL
		                        ? MemoryContextAllocHuge(clustering->context, bytes)
		                        : repalloc_huge(centroids->places, bytes);
	}
	hybrid_mean(clustering->places, rows, count, dims,
	            centroids->places + (Size) centroids->count++ * dims);
}

/* refine: each centroid becomes the mean of the rows that are nearest to it; who has none goes. */
static void
refine(HybridCentroids *centroids, const float *places, int64 rows, MemoryContext context)
{
	int dims = centroids->dims, *nearest = palloc(rows * sizeof(int)), *numbers, *begin, i;
	int kept = 0;

	if (centroids->count > HYBRID_FEW_CENTROIDS)
		hybrid_group(centroids, (int) ceil(sqrt(centroids->count)), NULL, context);
	hybrid_assign(centroids, places, rows, nearest);
	numbers = palloc(rows * sizeof(int));
	for (i = 0; i < rows; i++)
		numbers[i] = i;
	begin = sort_by_part(numbers, nearest, (int) rows, centroids->count);
	for (i = 0; i < centroids->count; i++)
	{
		if (begin[i + 1] > begin[i])
			hybrid_mean(places, numbers + begin[i], begin[i + 1] - begin[i], dims,
			            centroids->places + (Size) kept++ * dims);
	}
	centroids->count = kept;
	ungroup(centroids);
	pfree(begin);
	pfree(numbers);
	pfree(nearest);
}
