/*
 * build_keep.c
 *		CREATE INDEX: if the rows fit in memory, reads them once and keeps them for the whole team.
 *
 * The table is divided into chunks of blocks. Each process takes a free chunk and reads its rows, which
 * all processes can then use. The team samples these rows and assigns them to lists. If there are more
 * rows than may be kept, or less memory than expected, no rows are kept. The table is then read twice,
 * and its rows are sorted (build_parallel.c). The index has the same bytes either way.
 */
#include "postgres.h"

#include <sys/statvfs.h>

#include "access/tableam.h"
#include "miscadmin.h"
#include "storage/dsm_impl.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "server/position.h"

#include "index/build/build.h"

/* Divisor of the memory. Kept rows take this share of it, and the sample takes the other half. */
#define SHARE 2
#define CHUNK_BYTES (512 * 1024) /* approximate bytes of rows per chunk */
#define CHUNK_BLOCKS 64          /* maximum number of blocks per chunk, unless the table is long */
#define CHUNKS 65536             /* approximate limit of the number of chunks */
#define BATCH_ROWS 8192          /* rows that are assigned together */
#define BATCH_LEAST 64
/* bytes kept in addition to a row: its list number and its place in the order */
#define BESIDE_ROW (sizeof(int32) + sizeof(uint64))
/* approximate bytes of rows that are added to the shared count at a time */
#define COUNTED_BYTES 65536

/* Values of shared->over: the reason why no rows are kept. */
#define TOO_MANY 1
#define NO_ROOM 2

/* Keeping: state of a process that reads rows. */
typedef struct Keeping
{
	HybridBuild *build;
	Size row_bytes;
	Size most;  /* maximum number of bytes of all rows */
	char *rows; /* rows of the current chunk */
	int count;
	int counted; /* rows counted in shared->kept, some of them in advance */
	int allocated;
	int64 last; /* heap position of the last row */
	bool disorder;
	int over; /* reason to stop: a value of shared->over; 0: none */
	MemoryContext context;
	MemoryContext row_context; /* reset for every row */
} Keeping;

/* Finding: a batch of rows to be assigned to lists. */
typedef struct Finding
{
	HybridBuild *build;
	int count;
	int most;
	float *places;
	int32 **lists; /* address for each row's list number */
	int *nearest;
	MemoryContext context; /* reset after each batch */
} Finding;

static Size shared_room(void);
static void keep_chunks(Keeping *keeping, double *tuples);
static double read_blocks(Keeping *keeping, int chunk);
static void
keep_row(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool alive, void *arg);
static int count_rows(Keeping *keeping);
static int make_room(Keeping *keeping);
static int keep_chunk(Keeping *keeping, HybridKeptChunk *chunk);
static bool order_rows(HybridBuild *build);
static void find_lists(Finding *finding);
static void put_in_order(HybridBuild *build);

void
hybrid_keep_plan(const HybridBuild *build, HybridBuildPlan *plan)
{
	Size row = hybrid_kept_row_bytes(&build->definition.layout) + BESIDE_ROW;
	Size memory = Min((Size) maintenance_work_mem * 1024 / SHARE, shared_room());
	double density = plan->blocks > 0 ? Max(plan->tuples / plan->blocks, 1) : 1;

	if (!build->definition.coded || plan->tuples * row > memory)
		return;
	plan->keep_bytes = memory;
	plan->keep_blocks = (int) Min(Max(CHUNK_BYTES / (density * row), 1), CHUNK_BLOCKS);
	plan->keep_blocks = (int) Max((BlockNumber) plan->keep_blocks, plan->blocks / CHUNKS);
	plan->keep_chunks = (int) ((plan->blocks + plan->keep_blocks - 1) / plan->keep_blocks);
}

/*
 * shared_room: return the number of bytes of shared memory that may be used, if shared memory has a size
 * limit of its own.
 */
static Size
shared_room(void)
{
	struct statvfs room;

	if (dynamic_shared_memory_type != DSM_IMPL_POSIX || statvfs("/dev/shm", &room) != 0)
		return SIZE_MAX;
	/* segments are larger than their contents, and other processes need some space, too */
	return (Size) room.f_bavail * room.f_frsize / 4;
}

bool
hybrid_keep_rows(HybridBuild *build)
{
	HybridTeam *team = build->team;
	HybridTeamShared *shared = team->shared;
	Keeping keeping;
	double tuples = 0;

	if (shared->plan.keep_bytes == 0)
		return false;
	memset(&keeping, 0, sizeof(keeping));
	keeping.build = build;
	keeping.row_bytes = hybrid_kept_row_bytes(&build->definition.layout);
	keeping.most = shared->plan.keep_bytes;
	keeping.context = CurrentMemoryContext;
	keeping.row_context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid build row", ALLOCSET_DEFAULT_SIZES);
	hybrid_team_expect(team, (int64) shared->plan.tuples);
	keep_chunks(&keeping, &tuples);
	MemoryContextDelete(keeping.row_context);
	if (keeping.rows != NULL)
		pfree(keeping.rows);
	SpinLockAcquire(&shared->mutex);
	shared->heap_tuples += tuples;
	shared->broken_hot_chain |= build->info->ii_BrokenHotChain;
	shared->disorder |= keeping.disorder;
	SpinLockRelease(&shared->mutex);
	hybrid_team_meet(team);
	if (team->me == 0 && pg_atomic_read_u32(&shared->over) == 0 && !order_rows(build))
		pg_atomic_write_u32(&shared->over, NO_ROOM);
	hybrid_team_meet(team);
	if (pg_atomic_read_u32(&shared->over) == 0)
	{
		if (team->me == 0)
			ereport(DEBUG1, (errmsg_internal("index \"%s\": rows are kept in memory",
			                                 RelationGetRelationName(build->index))));
		return true;
	}
	if (team->me == 0 && pg_atomic_read_u32(&shared->over) == TOO_MANY)
		ereport(DEBUG1, (errmsg_internal("index \"%s\": there are too many rows to keep",
		                                 RelationGetRelationName(build->index))));
	else if (team->me == 0)
		hybrid_keep_report_no_memory(build);
	hybrid_keep_give_up(build);
	return false;
}

void
hybrid_keep_report_no_memory(const HybridBuild *build)
{
	ereport(DEBUG1, (errmsg_internal("index \"%s\": there is no room to keep rows",
	                                 RelationGetRelationName(build->index))));
}

/* keep_chunks: read chunks until no chunk is free. */
static void
keep_chunks(Keeping *keeping, double *tuples)
{
	HybridBuild *build = keeping->build;
	HybridTeam *team = build->team;
	int64 chunk;

	while ((chunk = hybrid_team_next(team)) < team->shared->plan.keep_chunks &&
	       pg_atomic_read_u32(&team->shared->over) == 0)
	{
		keeping->count = 0;
		keeping->counted = 0;
		keeping->last = -1;
		*tuples += read_blocks(keeping, (int) chunk);
		if (keeping->over == 0)
			keeping->over = keep_chunk(keeping, &team->kept[chunk]);
		if (keeping->over != 0)
			pg_atomic_write_u32(&team->shared->over, (uint32) keeping->over);
		hybrid_team_done(team, keeping->count);
	}
}

/*
 * read_blocks: read the rows of a chunk into memory. Stops keeping rows if there are too many. Returns
 * the number of tuples.
 */
static double
read_blocks(Keeping *keeping, int chunk)
{
	HybridBuild *build = keeping->build;
	const HybridBuildPlan *plan = &build->team->shared->plan;
	BlockNumber first = (BlockNumber) chunk * plan->keep_blocks;
	BlockNumber count = Min((BlockNumber) plan->keep_blocks, plan->blocks - first);

	/*
	 * With CONCURRENTLY, each chunk has its own snapshot. Rows that none of these snapshots sees are
	 * added when the index is validated.
	 */
	return table_index_build_range_scan(build->heap, build->index, build->info, false, false, false,
	                                    first, count, keep_row, keeping, NULL);
}

static void
keep_row(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool alive, void *arg)
{
	Keeping *keeping = (Keeping *) arg;
	HybridKeptRow *row;
	HybridEntry entry;
	MemoryContext old;

	(void) index;
	(void) alive;
	if (isnull[0] || keeping->over != 0)
		return;
	if (keeping->count == keeping->counted)
		keeping->over = count_rows(keeping);
	if (keeping->over == 0 && keeping->count == keeping->allocated)
		keeping->over = make_room(keeping);
	if (keeping->over != 0)
		return;
	row = (HybridKeptRow *) (void *) (keeping->rows + keeping->count * keeping->row_bytes);
	entry.vector = row->vector;
	old = MemoryContextSwitchTo(keeping->row_context);
	if (hybrid_entry_form(&keeping->build->definition, values[0], tid, &entry))
	{
		row->position = hybrid_position(tid);
		row->stored = entry.stored;
		keeping->disorder |= row->position < keeping->last;
		keeping->last = row->position;
		keeping->count++;
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(keeping->row_context);
}

/*
 * count_rows: add rows to the shared count, some of them in advance. Returns a value of shared->over, or
 * 0. The order of the additions does not matter. Only a sum that is too large does.
 */
static int
count_rows(Keeping *keeping)
{
	pg_atomic_uint64 *kept = &keeping->build->team->shared->kept;
	int some = (int) Max(COUNTED_BYTES / keeping->row_bytes, 1);

	keeping->counted += some;
	return pg_atomic_add_fetch_u64(kept, (int64) (some * (keeping->row_bytes + BESIDE_ROW))) >
	               keeping->most
	           ? TOO_MANY
	           : 0;
}

/* make_room: allocate memory for more rows of the chunk. */
static int
make_room(Keeping *keeping)
{
	int allocated = Max(Max((int) (CHUNK_BYTES / keeping->row_bytes), 16), keeping->allocated * 2);
	char *rows = MemoryContextAllocExtended(keeping->context, allocated * keeping->row_bytes,
	                                        MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);

	if (rows == NULL)
		return NO_ROOM;
	if (keeping->rows != NULL)
	{
		memcpy(rows, keeping->rows, keeping->count * keeping->row_bytes);
		pfree(keeping->rows);
	}
	keeping->rows = rows;
	keeping->allocated = allocated;
	return 0;
}

/* keep_chunk: copy the rows of the chunk into shared memory, with space for their list numbers. */
static int
keep_chunk(Keeping *keeping, HybridKeptChunk *chunk)
{
	HybridTeam *team = keeping->build->team;
	Size rows = keeping->count * keeping->row_bytes;

	pg_atomic_fetch_sub_u64(&team->shared->kept, (int64) ((keeping->counted - keeping->count) *
	                                                      (keeping->row_bytes + BESIDE_ROW)));
	chunk->rows = hybrid_team_allocate(team, rows + keeping->count * sizeof(int32));
	if (chunk->rows == 0)
		return NO_ROOM;
	chunk->count = keeping->count;
	memcpy(hybrid_team_memory(team, chunk->rows), keeping->rows, rows);
	return 0;
}

/* order_rows: allocate the array for the order of all rows. Returns false if there is not enough memory. */
static bool
order_rows(HybridBuild *build)
{
	HybridTeam *team = build->team;
	int64 rows = 0;
	int c;

	for (c = 0; c < team->shared->plan.keep_chunks; c++)
		rows += team->kept[c].count;
	team->shared->order = hybrid_team_allocate(team, rows * sizeof(uint64));
	return team->shared->order != 0;
}

void
hybrid_keep_assign(HybridBuild *build)
{
	HybridTeam *team = build->team;
	HybridTeamShared *shared = team->shared;
	const HybridLayout *layout = &build->definition.layout;
	Size row = 3 * layout->dims * sizeof(float) + sizeof(int32 *) + sizeof(int);
	Size memory = (Size) maintenance_work_mem * 1024 / 4 / team->participants;
	Finding finding;
	int64 number;
	int i;

	memset(&finding, 0, sizeof(finding));
	finding.build = build;
	finding.most = (int) Min(Max(memory / row, BATCH_LEAST), BATCH_ROWS);
	finding.places = MemoryContextAllocHuge(CurrentMemoryContext,
	                                        (Size) finding.most * layout->dims * sizeof(float));
	finding.lists = palloc(finding.most * sizeof(int32 *));
	finding.nearest = palloc0(finding.most * sizeof(int));
	finding.context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid build batch", ALLOCSET_DEFAULT_SIZES);
	hybrid_team_expect(team, 0);
	hybrid_team_meet(team);
	while ((number = hybrid_team_next(team)) < shared->plan.keep_chunks)
	{
		const HybridKeptChunk *chunk = &team->kept[number];
		const char *rows = hybrid_team_memory(team, chunk->rows);
		int32 *lists = hybrid_kept_lists(layout, chunk, rows);

		CHECK_FOR_INTERRUPTS();
		for (i = 0; i < chunk->count; i++)
		{
			if (finding.count == finding.most)
				find_lists(&finding);
			if (build->centroids.count > 0)
				hybrid_kept_place(build, &build->frame, hybrid_kept_row(layout, rows, i),
				                  finding.places + (Size) finding.count * layout->dims);
			finding.lists[finding.count++] = &lists[i];
		}
	}
	find_lists(&finding);
	pfree(finding.places);
	pfree(finding.lists);
	pfree(finding.nearest);
	MemoryContextDelete(finding.context);
	memcpy(team->list_rows + (Size) Max(shared->plan.lists, 1) * team->me, build->list_rows,
	       Max(build->centroids.count, 1) * sizeof(int64));
	SpinLockAcquire(&shared->mutex);
	shared->stored += build->stored;
	SpinLockRelease(&shared->mutex);
	hybrid_team_meet(team);
	hybrid_build_add_up(build);
	if (team->me == 0)
		put_in_order(build);
	hybrid_team_meet(team);
}

/* find_lists: assign the rows of the batch. */
static void
find_lists(Finding *finding)
{
	HybridBuild *build = finding->build;
	MemoryContext old = MemoryContextSwitchTo(finding->context);
	int i;

	if (build->centroids.count > 0 && finding->count > 0)
		hybrid_assign(&build->centroids, finding->places, finding->count, finding->nearest);
	MemoryContextSwitchTo(old);
	MemoryContextReset(finding->context);
	for (i = 0; i < finding->count; i++)
	{
		*finding->lists[i] = finding->nearest[i];
		build->list_rows[finding->nearest[i]]++;
	}
	build->stored += finding->count;
	hybrid_team_done(build->team, finding->count);
	finding->count = 0;
}

/* put_in_order: set the order of all rows: list by list, and within a list in table order. */
static void
put_in_order(HybridBuild *build)
{
	HybridTeam *team = build->team;
	const HybridLayout *layout = &build->definition.layout;
	Size row_bytes = hybrid_kept_row_bytes(layout);
	int lists = Max(build->centroids.count, 1), i, c;
	int64 *next = palloc(lists * sizeof(int64)), begin = 0;
	uint64 *order = hybrid_team_memory(team, team->shared->order);

	for (i = 0; i < lists; i++)
	{
		next[i] = begin;
		begin += build->list_rows[i];
	}
	for (c = 0; c < team->shared->plan.keep_chunks; c++)
	{
		const HybridKeptChunk *chunk = &team->kept[c];
		const int32 *in = hybrid_kept_lists(layout, chunk, hybrid_team_memory(team, chunk->rows));

		CHECK_FOR_INTERRUPTS();
		for (i = 0; i < chunk->count; i++)
			order[next[in[i]]++] = chunk->rows + i * row_bytes;
	}
	pfree(next);
}

void
hybrid_kept_place(HybridBuild *build, const HybridFrame *frame, const HybridKeptRow *row,
                  float *place)
{
	const HybridLayout *layout = &build->definition.layout;

	hybrid_widen_vector(layout->storage, &row->stored, row->vector, layout->dims, build->widened);
	hybrid_frame_place(frame, build->widened, row->stored.norm, place);
}

void
hybrid_keep_end(HybridBuild *build)
{
	HybridTeam *team = build->team;
	HybridTeamShared *shared = team->shared;
	int c;

	hybrid_team_meet(team);
	if (team->area == NULL)
	{
		for (c = 0; c < shared->plan.keep_chunks; c++)
		{
			if (team->kept[c].rows != 0)
				pfree(hybrid_team_memory(team, team->kept[c].rows));
		}
		if (shared->order != 0)
			pfree(hybrid_team_memory(team, shared->order));
		if (shared->leaves != 0)
			pfree(hybrid_team_memory(team, shared->leaves));
	}
	hybrid_team_detach(team);
}

void
hybrid_keep_give_up(HybridBuild *build)
{
	HybridTeam *team = build->team;

	/* at this barrier, all processes have read the counts, so that they can be reset */
	hybrid_keep_end(build);
	if (team->me == 0)
	{
		team->shared->heap_tuples = 0;
		team->shared->stored = 0;
	}
	hybrid_team_meet(team);
	build->kept = false;
	build->stored = 0;
	if (build->list_rows != NULL)
		memset(build->list_rows, 0, Max(build->centroids.count, 1) * sizeof(int64));
}
