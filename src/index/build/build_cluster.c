/*
 * build_cluster.c
 *		Finds the centroids of the lists of a new index, by k-means on a sample of the rows.
 *
 * The first centroids are random rows of the sample. Then ROUNDS rounds of Lloyd's algorithm over all
 * centroids follow, each with more rows than the last. A dense region gets as many lists as its number
 * of rows requires. (Cutting the sample into parts, and these into smaller parts, is cheaper but worse.
 * Rows that the first cuts separate never get into one list again. Searches then examine two to six
 * times as many rows.)
 *
 * A list that is still too long is cut into parts by k-means when it is written. Each part is cut again
 * until it is short enough, or until its rows are too alike to be separated. Small parts stay lists of
 * their own, because their rows are close together. If the rows of a small part were moved to
 * neighboring lists, a search for one of them would have to read many other rows.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "core/kmeans.h"
#include "core/random.h"
#include "server/memory.h"
#include "server/report.h"

#include "index/build/build.h"

#define BRANCHES 24  /* maximum number of parts of one cut */
#define ITERATIONS 6 /* iterations of k-means in a cut */
#define ROUNDS 3     /* rounds over all centroids */
/*
 * A group with more than LARGEST_GROUP times the mean number of centroids is cut in two. Each half gets
 * at least the share LEAST_HALF of its centroids. (Before this rule, 24,000 centroids of 1.6 million
 * vectors of words with 128 dimensions had 155 groups, the largest with 5,857 centroids. Each row is
 * compared with the centroids of 8 groups, so many rows were compared with that group.)
 */
#define LARGEST_GROUP 2
#define LEAST_HALF 0.25
/* target size of the lists of a cut, as a share of list_size; lists can then grow before they split */
#define FILL 0.67
#define LONGEST 4 /* a list of more than LONGEST * list_size rows is cut */
/*
 * if k-means leaves a part of more than ALIKE * LONGEST * list_size rows, its rows count as too alike
 * to be separated
 */
#define ALIKE 2
#define SEED 1
#define AT_A_TIME 8192    /* maximum number of rows that are assigned at a time */
#define GATHERED_SHARE 16 /* rows assigned at a time take at most 1/GATHERED_SHARE of the memory */

/* Clustering: rows, and the centroids computed from them so far. */
typedef struct Clustering
{
	const float *places;
	int dims;
	int most;    /* maximum number of rows of a list */
	double fill; /* target number of rows of a list */
	HybridCentroids *centroids;
	int allocated;
	MemoryContext context; /* context of the centroids */
} Clustering;

/* Grouping: centroids that are put into groups. */
typedef struct Grouping
{
	HybridCentroids *centroids;
	int *rows; /* numbers of the centroids, group by group */
	int most;  /* maximum number of centroids of a group */
} Grouping;

static void
find_parts(HybridCentroids *centroids, const float *places, int count, int dims, int list_size);
static int lists_of_alike(int count, int list_size);
static void put_in_order(float *places, const int *order, int count, int dims);
static void add_groups(Grouping *grouping, int first, int end, const float *mean);
static void ungroup(HybridCentroids *centroids);
static void cut(Clustering *clustering, int *rows, int count);
static int k_means(const float *places, const int *rows, int count, int dims, int k,
                   float *centroids, int *part);
static HyStatus
assign_here(void *arg, const HyMatrix *rows, const HyMatrix *centroids, int32_t *nearest);
static int *sort_by_part(int *rows, const int *part, int count, int parts);
static void add_mean(Clustering *clustering, const int *rows, int count);
static void share_groups(HybridBuild *build);
static void group_shared(HybridTeam *team, int dims);
static void
refine(HybridBuild *build, const HybridSample *sample, int step, int *rows, int *nearest);
static int choose_rows(const HybridSample *sample, int queries, int step, int *rows);
static void assign_rows(HybridBuild *build, const HybridSample *sample, const int *rows, int count,
                        int *nearest);
static void add_up(HybridTeam *team, const HybridSample *sample, int dims, int list, int first,
                   const int *rows, int count);
static void take_mean(HybridTeam *team, int dims, int list, int first);
static void leave_out_empty(HybridTeam *team, int dims);

void
hybrid_cluster(HybridBuild *build, const HybridSample *sample)
{
	HybridTeam *team = build->team;
	HybridTeamShared *shared = team->shared;
	int list_size = build->definition.list_size, chunk = 0, i;
	double rows = Max(sample->tuples, (double) sample->total);
	double wanted = rows * HYBRID_LISTS_A_LIST / list_size;
	int count = (int) Min(Max(wanted, 2), Min((double) sample->total, shared->plan.lists));
	Size dims = build->definition.layout.dims;
	int *nearest, *rows_of_round;

	if (rows <= list_size)
		return;
	for (i = 0; i < count; i++)
	{
		int64 first = i * sample->total / count, end = (i + 1) * sample->total / count;
		int64 number = first + (int64) (hy_random(SEED, i) % (uint64) (end - first));
		int64 row = hybrid_sample_find(sample, number, &chunk);

		if (row >= 0)
			memcpy(team->places + i * dims, sample->places + row * dims, dims * sizeof(float));
	}
	if (team->me == 0)
		shared->lists = count;
	nearest = MemoryContextAllocHuge(CurrentMemoryContext, Max(sample->rows, 1) * sizeof(int));
	rows_of_round =
		MemoryContextAllocHuge(CurrentMemoryContext, Max(sample->rows, 1) * sizeof(int));
	for (i = 0; i < ROUNDS; i++)
	{
		share_groups(build);
		/*
		 * Early rounds use fewer rows than later ones. Without groups, all rounds use fewer, because
		 * they compare each row with all centroids.
		 */
		refine(build, sample, ROUNDS - i + (count <= HYBRID_FEW_CENTROIDS), rows_of_round, nearest);
	}
	pfree(nearest);
	pfree(rows_of_round);
	share_groups(build);
}

void
hybrid_cluster_rows(HybridCentroids *centroids, const HybridIndex *open, HybridSample *sample,
                    int queries)
{
	int dims = open->layout.dims, lists, groups;
	Size row = dims * sizeof(float), sums = 2 * row;
	double rows = Max(sample->tuples, (double) sample->rows);
	HybridTeam *team = hybrid_team_alone();
	HybridBuildPlan *plan = &team->shared->plan;
	HybridBuild build;

	plan->lists = (int) Min(ceil(rows * HYBRID_LISTS_A_LIST / open->list_size), sample->rows);
	lists = plan->lists = Max(plan->lists, 2);
	plan->window =
		(int) Max(Min((Size) lists, (Size) hybrid_maintenance_memory() * 1024 / 8 / sums), 1);
	groups = HYBRID_GROUPS_MOST * (int) ceil(sqrt(lists));
	team->places = MemoryContextAllocHuge(CurrentMemoryContext, lists * row);
	team->groups =
		MemoryContextAllocHuge(CurrentMemoryContext, groups * row + (groups + 1) * sizeof(int));
	team->sums = MemoryContextAllocHuge(CurrentMemoryContext, plan->window * sums);
	memset(team->sums, 0, plan->window * sums);
	team->sum_rows = palloc0(lists * sizeof(int64));

	sample->grid = hy_kmeans_grid(hybrid_sample_largest(sample, dims), sample->rows);
	memset(&build, 0, sizeof(build));
	build.definition = *open;
	build.team = team;
	build.queries.kept = queries;
	hybrid_cluster(&build, sample);
	pfree(team->sums);
	*centroids = build.centroids;
}

int
hybrid_cut_rows(const float *places, int count, int dims, int list_size, int *order, int **sizes)
{
	HybridCentroids parts;
	int *nearest, part, lists = 0, next = 0, i;

	if (count <= list_size * LONGEST)
	{
		for (i = 0; i < count; i++)
			order[i] = i;
		*sizes = palloc(sizeof(int));
		**sizes = count;
		return 1;
	}
	nearest = palloc0(count * sizeof(int));
	find_parts(&parts, places, count, dims, list_size);
	/* each row is in only one part, so there are at most this many lists */
	*sizes = palloc((parts.count + lists_of_alike(count, list_size)) * sizeof(int));
	if (parts.count > 1)
		hybrid_assign(&parts, places, count, nearest);
	for (part = 0; part < parts.count; part++)
	{
		int begin = next, alike, list;

		for (i = 0; i < count; i++)
		{
			if (nearest[i] == part)
				order[next++] = i;
		}
		alike = lists_of_alike(next - begin, list_size);
		for (list = 0; list < alike; list++)
			(*sizes)[lists++] = (int) ((int64) (next - begin) * (list + 1) / alike -
			                           (int64) (next - begin) * list / alike);
	}
	pfree(nearest);
	pfree(parts.places);
	return lists;
}

/*
 * lists_of_alike: return the number of lists into which `count` rows with the same nearest centroid are
 * divided. It is 1, unless the rows are too alike to be separated.
 */
static int
lists_of_alike(int count, int list_size)
{
	return count > ALIKE * LONGEST * list_size ? (int) ceil(count / (list_size * FILL)) : 1;
}

/*
 * find_parts: compute centroids for the parts of a list of `count` rows. No part should have more than a
 * few times list_size rows, unless its rows are too alike to be separated.
 */
static void
find_parts(HybridCentroids *centroids, const float *places, int count, int dims, int list_size)
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
	clustering.context = CurrentMemoryContext;
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
	int dims = centroids->dims, count = centroids->count, found, i;
	int *part = palloc(count * sizeof(int)), *begin;
	Size row_bytes = dims * sizeof(float);
	Size most = HYBRID_GROUPS_MOST * (Size) groups;
	float *means = MemoryContextAllocHuge(CurrentMemoryContext, groups * row_bytes);
	Grouping grouping = {.centroids = centroids};

	ungroup(centroids);
	centroids->group_places = MemoryContextAllocHuge(context, most * row_bytes);
	centroids->group_begin = MemoryContextAlloc(context, (most + 1) * sizeof(int));
	grouping.rows = palloc(count * sizeof(int));
	for (i = 0; i < count; i++)
		grouping.rows[i] = i;
	found = k_means(centroids->places, NULL, count, dims, Min(groups, count), means, part);
	begin = sort_by_part(grouping.rows, part, count, found);
	grouping.most = Max(LARGEST_GROUP * count / groups, 1);
	for (i = 0; i < found; i++)
		add_groups(&grouping, begin[i], begin[i + 1], means + (Size) i * dims);
	centroids->group_begin[centroids->groups] = count;
	put_in_order(centroids->places, grouping.rows, count, dims);
	if (order != NULL)
		memcpy(order, grouping.rows, count * sizeof(int));
	pfree(grouping.rows);
	pfree(begin);
	pfree(means);
	pfree(part);
}

/*
 * add_groups: add the centroids rows[first .. end - 1] as one group. If they are too many, cut them in
 * two, and add each half in the same way. `mean` is their mean.
 */
static void
add_groups(Grouping *grouping, int first, int end, const float *mean)
{
	HybridCentroids *centroids = grouping->centroids;
	HyAllocator allocator = hybrid_allocator(CurrentMemoryContext);
	int count = end - first, dims = centroids->dims, left = 0, right = 0, i;
	Size row_bytes = dims * sizeof(float);
	int *rows = grouping->rows + first, *others;
	float *places, *means;
	uint8 *side;
	HyMatrix matrix;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	if (count <= grouping->most)
	{
		memcpy(centroids->group_places + (Size) centroids->groups * dims, mean, row_bytes);
		centroids->group_begin[centroids->groups++] = first;
		return;
	}
	places = MemoryContextAllocHuge(CurrentMemoryContext, count * row_bytes);
	means = palloc(2 * row_bytes);
	side = palloc(count);
	others = palloc(count * sizeof(int));
	for (i = 0; i < count; i++)
		memcpy(places + (Size) i * dims, centroids->places + (Size) rows[i] * dims, row_bytes);
	matrix = hybrid_places_matrix(places, count, dims);
	hybrid_check(
		hy_kmeans_split(&matrix, LEAST_HALF, SEED, &allocator, &hybrid_cancel, means, side),
		"group the lists of an index");
	for (i = 0; i < count; i++)
	{
		if (side[i] == 0)
			rows[left++] = rows[i];
		else
			others[right++] = rows[i];
	}
	memcpy(rows + left, others, right * sizeof(int));
	pfree(places);
	pfree(side);
	pfree(others);
	add_groups(grouping, first, first + left, means);
	add_groups(grouping, first + left, end, means + dims);
	pfree(means);
}

/* put_in_order: reorder the rows in place, so that row i is the old row order[i]. */
static void
put_in_order(float *places, const int *order, int count, int dims)
{
	Size row_bytes = dims * sizeof(float);
	float *first = palloc(row_bytes);
	bool *there = palloc0(count * sizeof(bool));
	int i;

	for (i = 0; i < count; i++)
	{
		int at = i;

		if (there[i])
			continue;
		memcpy(first, places + (Size) i * dims, row_bytes);
		for (; order[at] != i; at = order[at])
		{
			memcpy(places + (Size) at * dims, places + (Size) order[at] * dims, row_bytes);
			there[at] = true;
		}
		memcpy(places + (Size) at * dims, first, row_bytes);
		there[at] = true;
	}
	pfree(there);
	pfree(first);
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

/*
 * cut: add the centroids of the lists for these rows: one centroid if the rows fit in a list or are too
 * alike, else the centroids of their parts. Reorders `rows`.
 */
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
	/* rows too alike to be separated share one centroid, however many they are */
	if (k == 1)
		add_mean(clustering, rows, count);
	for (g = 0; g < k && k > 1; g++)
	{
		if (begin[g + 1] > begin[g])
			cut(clustering, rows + begin[g], begin[g + 1] - begin[g]);
	}
	pfree(begin);
}

/*
 * k_means: run k-means on the vectors whose numbers are in `rows`, or on all vectors if `rows` is NULL.
 * Sets `centroids`, and part[i] to the part of the i-th vector. Returns the number of parts, at most k.
 */
static int
k_means(const float *places, const int *rows, int count, int dims, int k, float *centroids,
        int *part)
{
	Size row_bytes = dims * sizeof(float);
	float *own = NULL;
	HyAllocator allocator = hybrid_allocator(CurrentMemoryContext);
	HyKmeans task;
	HyMatrix matrix;
	int32 found;
	int i;

	if (rows != NULL)
		own = MemoryContextAllocHuge(CurrentMemoryContext, count * row_bytes);
	for (i = 0; i < count && rows != NULL; i++)
		memcpy(own + (Size) i * dims, places + (Size) rows[i] * dims, row_bytes);
	matrix = hybrid_places_matrix(own != NULL ? own : places, count, dims);
	memset(&task, 0, sizeof(task));
	task.rows = &matrix;
	task.k = k;
	task.iterations = ITERATIONS;
	task.seed = SEED;
	task.assign = assign_here;
	task.allocator = &allocator;
	task.cancel = &hybrid_cancel;
	hybrid_check(hy_kmeans(&task, centroids, part, NULL, &found), "place the lists of an index");
	if (own != NULL)
		pfree(own);
	return found;
}

/* assign_here: assign rows through the dispatcher; a HyKmeansAssign. */
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

/*
 * sort_by_part: sort `rows` by part. Returns the index at which each part begins, and the end (parts + 1
 * numbers).
 */
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

/*
 * share_groups: group the centroids if there are many. All processes then have the same centroids and
 * groups.
 */
static void
share_groups(HybridBuild *build)
{
	HybridTeam *team = build->team;
	HybridTeamShared *shared = team->shared;
	HybridCentroids *centroids = &build->centroids;
	Size dims = build->definition.layout.dims;

	hybrid_team_barrier(team);
	if (team->me == 0)
	{
		shared->groups = 0;
		if (shared->lists > HYBRID_FEW_CENTROIDS)
			group_shared(team, (int) dims);
	}
	hybrid_team_barrier(team);
	centroids->dims = (int) dims;
	centroids->count = shared->lists;
	centroids->places = team->places;
	centroids->groups = shared->groups;
	centroids->group_places = team->groups;
	centroids->group_begin = (int *) (void *) (team->groups + shared->groups * dims);
}

static void
group_shared(HybridTeam *team, int dims)
{
	HybridTeamShared *shared = team->shared;
	Size row = dims * sizeof(float);
	HybridCentroids own;

	memset(&own, 0, sizeof(own));
	own.dims = dims;
	own.count = shared->lists;
	own.places = team->places;
	hybrid_group(&own, (int) ceil(sqrt(own.count)), NULL, CurrentMemoryContext);
	memcpy(team->groups, own.group_places, own.groups * row);
	memcpy(team->groups + (Size) own.groups * dims, own.group_begin,
	       (own.groups + 1) * sizeof(int));
	shared->groups = own.groups;
	ungroup(&own);
}

/*
 * refine: replace each centroid by the mean of the rows that are nearest to it, using about one row in
 * `step`. Removes centroids without rows.
 */
static void
refine(HybridBuild *build, const HybridSample *sample, int step, int *rows, int *nearest)
{
	HybridTeam *team = build->team;
	int dims = build->definition.layout.dims, window = team->shared->plan.window;
	int lists = build->centroids.count,
		count = choose_rows(sample, build->queries.kept, step, rows), *begin, first, i;

	hybrid_team_expect(team, sample->total / step);
	assign_rows(build, sample, rows, count, nearest);
	begin = sort_by_part(rows, nearest, count, lists);
	/* the shared sums have space for `window` lists at a time */
	for (first = 0; first < lists; first += window)
	{
		int end = Min(first + window, lists), part = end - first;

		hybrid_team_barrier(team);
		for (i = first; i < end; i++)
			add_up(team, sample, dims, i, first, rows + begin[i], begin[i + 1] - begin[i]);
		hybrid_team_barrier(team);
		for (i = first + (int) ((int64) part * team->me / team->participants);
		     i < first + (int) ((int64) part * (team->me + 1) / team->participants); i++)
			take_mean(team, dims, i, first);
	}
	hybrid_team_barrier(team);
	if (team->me == 0)
		leave_out_empty(team, dims);
	pfree(begin);
}

/*
 * choose_rows: choose about one row in `step`, by a hash of its number in the whole sample. Sets `rows`
 * to the chosen rows of this process, and returns their number. Leaves out rows that become queries,
 * because a query of a user does not affect the centroids either.
 */
static int
choose_rows(const HybridSample *sample, int queries, int step, int *rows)
{
	int count = 0, c;

	for (c = 0; c < sample->chunks; c++)
	{
		const HybridSampleChunk *chunk = &sample->chunk[c];
		int64 end = c + 1 < sample->chunks ? chunk[1].first : sample->rows, row;

		for (row = chunk->first; row < end; row++)
		{
			int64 number = chunk->number_of_first + row - chunk->first;

			/* a hash decides, and not every step-th number, because the queries are evenly spaced */
			if (hy_random(SEED, (uint64) number) % (uint64) step == 0 &&
			    !hybrid_sample_is_query(sample, queries, number))
				rows[count++] = (int) row;
		}
	}
	return count;
}

/* assign_rows: find the nearest centroid of each row, batch by batch. */
static void
assign_rows(HybridBuild *build, const HybridSample *sample, const int *rows, int count,
            int *nearest)
{
	Size dims = build->definition.layout.dims, row = dims * sizeof(float);
	Size memory =
		(Size) hybrid_maintenance_memory() * 1024 / GATHERED_SHARE / build->team->participants;
	int most = (int) Min(Max(memory / row, 64), AT_A_TIME), first, i;
	float *gathered = NULL;

	if (count < sample->rows)
		gathered = MemoryContextAllocHuge(CurrentMemoryContext, most * row);
	for (first = 0; first < count; first += most)
	{
		int some = Min(count - first, most);

		for (i = 0; i < some && gathered != NULL; i++)
			memcpy(gathered + i * dims, sample->places + rows[first + i] * dims, row);
		hybrid_assign(&build->centroids,
		              gathered != NULL ? gathered : sample->places + first * dims, some,
		              nearest + first);
		hybrid_team_done(build->team, some);
	}
	if (gathered != NULL)
		pfree(gathered);
}

/*
 * add_up: add this process's rows of a list to the shared sum of the list. Sums are exact, so the order
 * of the rows does not matter.
 */
static void
add_up(HybridTeam *team, const HybridSample *sample, int dims, int list, int first, const int *rows,
       int count)
{
	slock_t *lock = &team->shared->stripes[list % HYBRID_STRIPES];
	double *sums = team->sums + (Size) (list - first) * dims;
	double own[HY_MAX_DIMS];
	int i;

	if (count == 0)
		return;
	CHECK_FOR_INTERRUPTS();
	memset(own, 0, dims * sizeof(double));
	for (i = 0; i < count; i++)
		hy_kmeans_add_on_grid(own, sample->places + (Size) rows[i] * dims, dims, sample->grid);
	hybrid_team_add(lock, sums, own, dims);
	SpinLockAcquire(lock);
	team->sum_rows[list] += count;
	SpinLockRelease(lock);
}

/*
 * take_mean: replace the centroid of a list by the mean of its rows, if it has any, and clear the sum.
 */
static void
take_mean(HybridTeam *team, int dims, int list, int first)
{
	double *sums = team->sums + (Size) (list - first) * dims;
	float *place = team->places + (Size) list * dims;
	int j;

	for (j = 0; j < dims && team->sum_rows[list] > 0; j++)
		place[j] = (float) (sums[j] / (double) team->sum_rows[list]);
	memset(sums, 0, dims * sizeof(double));
}

static void
leave_out_empty(HybridTeam *team, int dims)
{
	int lists = team->shared->lists, kept = 0, i;
	bool none = true;

	for (i = 0; i < lists && none; i++)
		none = team->sum_rows[i] == 0;
	/* if the sample is so small that no row was chosen, the centroids do not change */
	for (i = 0; i < lists && !none; i++)
	{
		if (team->sum_rows[i] > 0)
			memmove(team->places + (Size) kept++ * dims, team->places + (Size) i * dims,
			        dims * sizeof(float));
		team->sum_rows[i] = 0;
	}
	if (!none)
		team->shared->lists = kept;
}
