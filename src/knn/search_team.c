/*
 * search_team.c
 *		Searches an index by codes for many queries, in several processes: see search_team.h.
 *
 * A search reads pages of the index, so it cannot run on a thread. PostgreSQL's parallel workers run it, as many
 * as a parallel query may have. Shared memory holds the queries and the entries found, for a few thousand queries
 * at a time, because a container may have little shared memory. Each process takes a few queries at a time, in
 * order: if successive queries are near each other, so are the queries of a process. The leader takes queries,
 * too, including those left by workers that start late or never.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/parallel.h"
#include "access/xact.h"
#include "executor/instrument.h"
#include "knn/search_team.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "port/atomics.h"
#include "server/threads.h"
#include "tcop/tcopprot.h"
#include "utils/backend_status.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#define KEY_SHARED UINT64CONST(0xB1)
#define KEY_WAL UINT64CONST(0xB2)
#define KEY_BUFFERS UINT64CONST(0xB3)
#define KEY_QUERY UINT64CONST(0xB4)

#define SEGMENT_BYTES (4 * 1024 * 1024) /* approximate maximum of shared memory */
#define AT_A_TIME 16                    /* number of queries that a process takes at a time */
/*
 * minimum number of queries for each process; a worker takes 1 to 3 ms to start, and a search .1 ms or more
 */
#define WORTHWHILE 128

/* Shared: the work of all processes. The queries, the counts and the entries found follow this struct. */
typedef struct Shared
{
	Oid index;
	double recall;
	int dims;
	int queries;
	int many;
	int room; /* number of entries per query for which there is space */
	pg_atomic_uint32 next;
	Size counts; /* offsets of the counts and the entries, from the beginning of this struct */
	Size found;
} Shared;

PGDLLEXPORT void hybrid_search_worker(dsm_segment *segment, shm_toc *toc);

static int workers_for(const HybridCandidates *candidates, int queries);
static int slice_of(const HybridQueries *queries, int room);
static bool search_together(const HybridCandidates *candidates, const HybridQueries *queries,
                            int first, Shared *shape, int workers, HybridTakeFound take, void *arg);
static void search_alone(const HybridCandidates *candidates, const HybridQueries *queries,
                         const Shared *shape, int first, HybridTakeFound take, void *arg);
static Size lay_out(Shared *shape);
static Shared *share_work(ParallelContext *context, const Shared *shape, const float *x);
static void search_some(Shared *shared, HybridIndexSearch *search, HybridProgress *progress);
static void finish(ParallelContext *context);

void
hybrid_search_team(const HybridCandidates *candidates, const HybridQueries *queries, int many,
                   HybridTakeFound take, void *arg)
{
	/* includes space for some entries that rounded copies add; if they add more, the leader repeats the search */
	Shared shape = {.index = RelationGetRelid(candidates->index),
	                .recall = candidates->recall,
	                .dims = queries->dims,
	                .many = many,
	                .room = (int) Min((int64) many + many / 4 + 8, PG_INT32_MAX)};
	int slice = slice_of(queries, shape.room);
	int first;

	for (first = 0; first < queries->count; first += shape.queries)
	{
		int workers;

		shape.queries = Min(slice, queries->count - first);
		workers = workers_for(candidates, shape.queries);
		hybrid_progress_update(candidates->progress, (double) first / queries->count);
		if (workers == 0 ||
		    !search_together(candidates, queries, first, &shape, workers, take, arg))
			search_alone(candidates, queries, &shape, first, take, arg);
	}
}

/* workers_for: return the number of workers for this many queries. */
static int
workers_for(const HybridCandidates *candidates, int queries)
{
	/* workers see no temporary tables of this session */
	if (RelationUsesLocalBuffers(candidates->index))
		return 0;
	return Min(hybrid_threads_limit(), Max(queries / WORTHWHILE, 1)) - 1;
}

/* slice_of: return the number of queries at a time that fit into SEGMENT_BYTES, at least 1. */
static int
slice_of(const HybridQueries *queries, int room)
{
	Size each =
		queries->dims * sizeof(float) + sizeof(int32) + (Size) room * sizeof(HybridFoundRow);

	return (int) Max(Min(SEGMENT_BYTES / each, (Size) queries->count), 1);
}

/* search_together: search with workers. Returns false if there is no shared memory for them. */
static bool
search_together(const HybridCandidates *candidates, const HybridQueries *queries, int first,
                Shared *shape, int workers, HybridTakeFound take, void *arg)
{
	ParallelContext *context;
	Shared *shared;
	const int32 *counts;
	const HybridFoundRow *found;
	int i;

	EnterParallelMode();
	context = CreateParallelContext("$libdir/hybrid", "hybrid_search_worker", workers);
	shared = share_work(context, shape, hybrid_query(queries, first));
	if (shared == NULL)
	{
		DestroyParallelContext(context);
		ExitParallelMode();
		return false;
	}
	LaunchParallelWorkers(context);
	search_some(shared, candidates->search, candidates->progress);
	finish(context);
	counts = (const int32 *) ((char *) shared + shared->counts);
	found = (const HybridFoundRow *) ((char *) shared + shared->found);
	for (i = 0; i < shared->queries; i++)
	{
		int count = counts[i];
		const HybridFoundRow *rows = found + (Size) i * shared->room;

		CHECK_FOR_INTERRUPTS();
		if (count > shared->room)
			rows = hybrid_searches()->find(candidates->search, hybrid_query(queries, first + i),
			                               shared->many, &count);
		take(arg, first + i, rows, count);
	}
	DestroyParallelContext(context);
	ExitParallelMode();
	return true;
}

/* search_alone: search in this process only. */
static void
search_alone(const HybridCandidates *candidates, const HybridQueries *queries, const Shared *shape,
             int first, HybridTakeFound take, void *arg)
{
	int i;

	for (i = 0; i < shape->queries; i++)
	{
		int count;
		const HybridFoundRow *found = hybrid_searches()->find(
			candidates->search, hybrid_query(queries, first + i), shape->many, &count);

		CHECK_FOR_INTERRUPTS();
		take(arg, first + i, found, count);
		if (i % AT_A_TIME == 0)
			hybrid_progress_update(candidates->progress, (double) (first + i) / queries->count);
	}
}

/* lay_out: set the offsets in shared memory, and return its size. */
static Size
lay_out(Shared *shape)
{
	Size size = MAXALIGN(sizeof(Shared));

	size = add_size(size, MAXALIGN(mul_size(shape->queries, shape->dims * sizeof(float))));
	shape->counts = size;
	size = add_size(size, MAXALIGN(mul_size(shape->queries, sizeof(int32))));
	shape->found = size;
	return add_size(size, mul_size(mul_size(shape->queries, shape->room), sizeof(HybridFoundRow)));
}

/* share_work: put the work into shared memory. Returns NULL if there is no shared memory for it. */
static Shared *
share_work(ParallelContext *context, const Shared *shape, const float *x)
{
	Shared own = *shape, *shared;
	Size size = lay_out(&own), length = debug_query_string != NULL ? strlen(debug_query_string) : 0;
	char *text;

	shm_toc_estimate_chunk(&context->estimator, size);
	shm_toc_estimate_chunk(&context->estimator, mul_size(sizeof(WalUsage), context->nworkers));
	shm_toc_estimate_chunk(&context->estimator, mul_size(sizeof(BufferUsage), context->nworkers));
	shm_toc_estimate_chunk(&context->estimator, length + 1);
	shm_toc_estimate_keys(&context->estimator, 4);
	InitializeParallelDSM(context);
	if (context->seg == NULL)
		return NULL;
	shared = shm_toc_allocate(context->toc, size);
	*shared = own;
	pg_atomic_init_u32(&shared->next, 0);
	memcpy((char *) shared + MAXALIGN(sizeof(Shared)), x,
	       (Size) own.queries * own.dims * sizeof(float));
	memset((char *) shared + own.counts, 0, own.queries * sizeof(int32));
	shm_toc_insert(context->toc, KEY_SHARED, shared);
	shm_toc_insert(context->toc, KEY_WAL,
	               shm_toc_allocate(context->toc, mul_size(sizeof(WalUsage), context->nworkers)));
	shm_toc_insert(
		context->toc, KEY_BUFFERS,
		shm_toc_allocate(context->toc, mul_size(sizeof(BufferUsage), context->nworkers)));
	text = shm_toc_allocate(context->toc, length + 1);
	strcpy(text, length > 0 ? debug_query_string : "");
	shm_toc_insert(context->toc, KEY_QUERY, text);
	return shared;
}

/* search_some: search for queries that no other process has taken. progress is NULL in a worker. */
static void
search_some(Shared *shared, HybridIndexSearch *search, HybridProgress *progress)
{
	const float *x = (const float *) ((char *) shared + MAXALIGN(sizeof(Shared)));
	int32 *counts = (int32 *) ((char *) shared + shared->counts);
	HybridFoundRow *found = (HybridFoundRow *) ((char *) shared + shared->found);
	uint32 first;

	while ((first = pg_atomic_fetch_add_u32(&shared->next, AT_A_TIME)) < (uint32) shared->queries)
	{
		int end = Min((int) first + AT_A_TIME, shared->queries);
		int i;

		for (i = (int) first; i < end; i++)
		{
			int count;
			const HybridFoundRow *rows =
				hybrid_searches()->find(search, x + (Size) i * shared->dims, shared->many, &count);

			CHECK_FOR_INTERRUPTS();
			if (count <= shared->room)
				memcpy(found + (Size) i * shared->room, rows, count * sizeof(HybridFoundRow));
			counts[i] = count;
		}
		if (progress != NULL)
			hybrid_progress_update(progress, -1);
	}
}

/* finish: wait for the workers, and add their buffer and WAL usage to that of this process. */
static void
finish(ParallelContext *context)
{
	WalUsage *wal = shm_toc_lookup(context->toc, KEY_WAL, false);
	BufferUsage *buffers = shm_toc_lookup(context->toc, KEY_BUFFERS, false);
	int i;

	WaitForParallelWorkersToFinish(context);
	for (i = 0; i < context->nworkers_launched; i++)
		InstrAccumParallelQuery(&buffers[i], &wal[i]);
}

/* hybrid_search_worker: run a worker, from its start to its end. */
void
hybrid_search_worker(dsm_segment *segment, shm_toc *toc)
{
	Shared *shared = shm_toc_lookup(toc, KEY_SHARED, false);
	WalUsage *wal = shm_toc_lookup(toc, KEY_WAL, false);
	BufferUsage *buffers = shm_toc_lookup(toc, KEY_BUFFERS, false);
	HybridIndexSearch *search;
	Relation index;

	(void) segment;
	debug_query_string = shm_toc_lookup(toc, KEY_QUERY, false);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);
	InstrStartParallelQuery();
	index = index_open(shared->index, AccessShareLock);
	search = hybrid_searches()->begin(index, GetActiveSnapshot(), shared->recall);
	search_some(shared, search, NULL);
	hybrid_searches()->end(search);
	index_close(index, NoLock);
	InstrEndParallelQuery(&buffers[ParallelWorkerNumber], &wal[ParallelWorkerNumber]);
}
