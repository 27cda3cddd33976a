/*
 * join.c
 *		Finds the nearest rows of one relation for each row of another: see join.h.
 *
 * The left rows are read one at a time, in the order of hybrid_target_read, and gathered as queries. When work_mem
 * cannot hold more queries and their results, one search of the right relation serves the whole group.
 */
#include "postgres.h"

#include "core/distance.h"
#include "knn/join.h"
#include "miscadmin.h"
#include "server/position.h"
#include "utils/memutils.h"

/* Join: the state of hybrid_join. */
typedef struct Join
{
	HybridRows *left;
	HybridTarget *right;
	Size beside;
	HybridTakeJoined take;
	void *arg;

	MemoryContext context; /* holds the arrays of the group; later groups reuse them */
	MemoryContext group_context;
	HybridQueries queries;
	int group; /* number of queries in a full group; 0 before the first row */
	int room;  /* number of queries for which the arrays are allocated */
	int64 *positions;
	int64 *ids;
	double done; /* share of the left rows that were read before this group */
} Join;

static bool take_left(void *arg, const HybridRow *row);
static void grow(Join *join);
static void search_group(Join *join, double done);

void
hybrid_join(HybridRows *left, HybridTarget *right, Size beside, HybridTakeJoined take, void *arg)
{
	Join join = {.left = left, .right = right, .beside = beside, .take = take, .arg = arg};

	join.context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid join", ALLOCSET_DEFAULT_SIZES);
	join.group_context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid join group", ALLOCSET_DEFAULT_SIZES);
	hybrid_target_read(right, left, take_left, &join);
	if (join.queries.count > 0)
		search_group(&join, 1);
	MemoryContextDelete(join.group_context);
	MemoryContextDelete(join.context);
}

static bool
take_left(void *arg, const HybridRow *row)
{
	Join *join = (Join *) arg;
	HybridQueries *queries = &join->queries;
	int i = queries->count;
	float *query;

	if (join->group == 0)
	{
		Size each = row->dims * sizeof(float) + 2 * sizeof(int64);

		queries->dims = row->dims;
		join->group = hybrid_target_group(join->right, queries->dims, each + join->beside);
	}
	if (row->dims != queries->dims)
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
		                errmsg("different vector dimensions %d and %d", queries->dims, row->dims)));
	if (i == join->room)
		grow(join);
	query = queries->x + (Size) i * queries->dims;
	hy_widen(hybrid_rows_dtype(join->left), row->x, row->dims, query);
	join->positions[i] = hybrid_position(&row->tid);
	join->ids[i] = row->id;
	queries->count++;
	if (queries->count == join->group)
		search_group(join, hybrid_rows_share(join->left));
	return true;
}

/* grow: double the capacity of the arrays, up to a full group. */
static void
grow(Join *join)
{
	MemoryContext before = MemoryContextSwitchTo(join->context);
	int room = Min(Max(2 * join->room, 64), join->group);
	Size vectors = (Size) room * join->queries.dims * sizeof(float);

	if (join->room == 0)
	{
		join->queries.x = MemoryContextAllocHuge(join->context, vectors);
		join->positions = MemoryContextAllocHuge(join->context, room * sizeof(int64));
		join->ids = MemoryContextAllocHuge(join->context, room * sizeof(int64));
	}
	else
	{
		join->queries.x = repalloc_huge(join->queries.x, vectors);
		join->positions = repalloc_huge(join->positions, room * sizeof(int64));
		join->ids = repalloc_huge(join->ids, room * sizeof(int64));
	}
	join->room = room;
	MemoryContextSwitchTo(before);
}

/*
 * search_group: search for the gathered rows and pass the results to join->take. `done` is the share of the
 * left rows read so far; < 0 if unknown.
 */
static void
search_group(Join *join, double done)
{
	MemoryContext before = MemoryContextSwitchTo(join->group_context);
	HybridJoined joined = {
		.count = join->queries.count, .positions = join->positions, .ids = join->ids};

	hybrid_target_range(join->right, join->done, done < 0 ? join->done : done);
	join->done = Max(done, join->done);
	joined.answers = hybrid_nearest(join->right, &join->queries);
	join->take(join->arg, &joined);
	MemoryContextSwitchTo(before);
	MemoryContextReset(join->group_context);
	join->queries.count = 0;
}
