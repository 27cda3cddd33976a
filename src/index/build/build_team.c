/*
 * build_team.c
 *		CREATE INDEX: starts parallel workers, shares memory with them, and waits for them at
 *		barriers.
 */
#include "postgres.h"

#include <math.h>

#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "commands/progress.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "pgstat.h"
#include "tcop/tcopprot.h"
#include "utils/backend_progress.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "index/build/build.h"

/* Keys of the shared memory. */
#define KEY_SHARED UINT64CONST(0xB100000000000001)
#define KEY_SORT UINT64CONST(0xB100000000000002)
#define KEY_ARRAYS UINT64CONST(0xB100000000000003)
#define KEY_QUERY UINT64CONST(0xB100000000000005)
#define KEY_BUFFERS UINT64CONST(0xB100000000000006)
#define KEY_WAL UINT64CONST(0xB100000000000007)
#define KEY_SCAN UINT64CONST(0xB100000000000008)

#define TELL_MS 200 /* milliseconds between two progress reports while waiting */
#define ADDED 16    /* number of values that are added while a spinlock is held */

static int plan_workers(Relation heap, Relation index);
static bool launch(HybridTeam *team, const HybridBuild *build, int workers);
static void
begin_shared(HybridTeam *team, const HybridBuild *build, const HybridBuildPlan *plan, int workers);
static void publish(HybridTeam *team, int participants);
static Size arrays(HybridTeam *team, char *from, int dims, const HybridBuildPlan *plan, int most);
static void *take(char *from, Size *used, Size count, Size size);
static void wait_for_start(HybridTeam *team);

PGDLLEXPORT void hybrid_build_worker(dsm_segment *segment, shm_toc *toc);

HybridTeam *
hybrid_team_begin(const HybridBuild *build, const HybridBuildPlan *plan)
{
	int workers = plan_workers(build->heap, build->index);
	int dims = build->definition.layout.dims;
	HybridTeam *team = palloc0(sizeof(HybridTeam));
	Size bytes;
	char *room;

	if (workers > 0)
	{
		team->shared = palloc(sizeof(HybridTeamShared));
		begin_shared(team, build, plan, workers);
		if (launch(team, build, workers))
			return team;
		memset(team, 0, sizeof(*team));
	}
	team->shared = palloc(sizeof(HybridTeamShared));
	begin_shared(team, build, plan, 0);
	bytes = arrays(team, NULL, dims, plan, 1);
	room = MemoryContextAllocHuge(CurrentMemoryContext, bytes);
	memset(room, 0, bytes);
	(void) arrays(team, room, dims, plan, 1);
	publish(team, 1);
	return team;
}

HybridTeam *
hybrid_team_alone(void)
{
	HybridTeam *team = palloc0(sizeof(HybridTeam));

	team->shared = palloc(sizeof(HybridTeamShared));
	begin_shared(team, NULL, NULL, 0);
	publish(team, 1);
	return team;
}

/*
 * plan_workers: return the number of workers that PostgreSQL would use for a table as large as this one
 * and its TOAST table together. Most vectors are in TOAST, so hardly any table would be large enough
 * without its TOAST table.
 */
static int
plan_workers(Relation heap, Relation index)
{
	int least = min_parallel_table_scan_size, workers = 0;
	double pages = RelationGetNumberOfBlocks(heap), outside = 0;

	if (OidIsValid(heap->rd_rel->reltoastrelid))
	{
		Relation toast = table_open(heap->rd_rel->reltoastrelid, AccessShareLock);

		outside = RelationGetNumberOfBlocks(toast);
		table_close(toast, AccessShareLock);
	}
	PG_TRY();
	{
		/* lowering the minimum size has the same effect as a larger table */
		if (outside > 0)
			min_parallel_table_scan_size = (int) (least * (pages / (pages + outside)));
		workers = plan_create_index_workers(RelationGetRelid(heap), RelationGetRelid(index));
	}
	PG_FINALLY();
	{
		min_parallel_table_scan_size = least;
	}
	PG_END_TRY();
	return workers;
}

/* launch: start the workers. Returns false if no worker was started. */
static bool
launch(HybridTeam *team, const HybridBuild *build, int workers)
{
	const HybridBuildPlan *plan = &team->shared->plan;
	int dims = build->definition.layout.dims;
	Size sort_bytes, scan_bytes, array_bytes;
	ParallelContext *context;
	void *place;

	EnterParallelMode();
	context = CreateParallelContext("$libdir/hybrid", "hybrid_build_worker", workers);
	team->context = context;
	/* a concurrent build ignores rows that are inserted meanwhile: PostgreSQL adds them afterwards */
	team->snapshot =
		build->info->ii_Concurrent ? RegisterSnapshot(GetTransactionSnapshot()) : SnapshotAny;

	array_bytes = arrays(team, NULL, dims, plan, workers + 1);
	sort_bytes = tuplesort_estimate_shared(workers + 1);
	scan_bytes = table_parallelscan_estimate(build->heap, team->snapshot);
	shm_toc_estimate_chunk(&context->estimator, sizeof(HybridTeamShared));
	shm_toc_estimate_chunk(&context->estimator, array_bytes);
	shm_toc_estimate_chunk(&context->estimator, sort_bytes);
	shm_toc_estimate_chunk(&context->estimator, scan_bytes);
	shm_toc_estimate_chunk(&context->estimator, mul_size(sizeof(WalUsage), workers));
	shm_toc_estimate_chunk(&context->estimator, mul_size(sizeof(BufferUsage), workers));
	shm_toc_estimate_keys(&context->estimator, 6);
	if (debug_query_string != NULL)
	{
		shm_toc_estimate_chunk(&context->estimator, strlen(debug_query_string) + 1);
		shm_toc_estimate_keys(&context->estimator, 1);
	}
	InitializeParallelDSM(context);
	if (context->seg == NULL)
	{
		hybrid_team_end(team);
		return false;
	}

	place = shm_toc_allocate(context->toc, sizeof(HybridTeamShared));
	memcpy(place, team->shared, sizeof(HybridTeamShared));
	team->shared = place;
	shm_toc_insert(context->toc, KEY_SHARED, place);
	place = shm_toc_allocate(context->toc, array_bytes);
	memset(place, 0, array_bytes);
	(void) arrays(team, place, dims, &team->shared->plan, workers + 1);
	shm_toc_insert(context->toc, KEY_ARRAYS, place);
	team->sort = shm_toc_allocate(context->toc, sort_bytes);
	tuplesort_initialize_shared(team->sort, workers + 1, context->seg);
	shm_toc_insert(context->toc, KEY_SORT, team->sort);
	team->scan = shm_toc_allocate(context->toc, scan_bytes);
	table_parallelscan_initialize(build->heap, team->scan, team->snapshot);
	shm_toc_insert(context->toc, KEY_SCAN, team->scan);
	team->wal = shm_toc_allocate(context->toc, mul_size(sizeof(WalUsage), workers));
	shm_toc_insert(context->toc, KEY_WAL, team->wal);
	team->buffers = shm_toc_allocate(context->toc, mul_size(sizeof(BufferUsage), workers));
	shm_toc_insert(context->toc, KEY_BUFFERS, team->buffers);
	if (debug_query_string != NULL)
	{
		place = shm_toc_allocate(context->toc, strlen(debug_query_string) + 1);
		strcpy(place, debug_query_string);
		shm_toc_insert(context->toc, KEY_QUERY, place);
	}

	LaunchParallelWorkers(context);
	if (context->nworkers_launched == 0)
	{
		hybrid_team_end(team);
		return false;
	}
	/* do not wait for a worker that never starts */
	WaitForParallelWorkersToAttach(context);
	publish(team, context->nworkers_launched + 1);
	ereport(DEBUG1,
	        (errmsg_internal("index \"%s\" is built with %d parallel workers",
	                         RelationGetRelationName(build->index), team->participants - 1)));
	return true;
}

void
hybrid_team_end(HybridTeam *team)
{
	int i;

	if (team->context == NULL)
		return;
	WaitForParallelWorkersToFinish(team->context);
	for (i = 0; i < team->context->nworkers_launched; i++)
		InstrAccumParallelQuery(&team->buffers[i], &team->wal[i]);
	if (IsMVCCSnapshot(team->snapshot))
		UnregisterSnapshot(team->snapshot);
	DestroyParallelContext(team->context);
	ExitParallelMode();
	team->context = NULL;
}

/*
 * begin_shared: initialize team->shared, which launch later copies to shared memory if there are
 * workers.
 */
static void
begin_shared(HybridTeam *team, const HybridBuild *build, const HybridBuildPlan *plan, int workers)
{
	HybridTeamShared *shared = team->shared;
	int i;

	memset(shared, 0, sizeof(*shared));
	if (build != NULL)
	{
		shared->heap = RelationGetRelid(build->heap);
		shared->index = RelationGetRelid(build->index);
		shared->concurrent = build->info->ii_Concurrent;
		shared->plan = *plan;
	}
	shared->share = workers + 1;
	shared->query_id = pgstat_get_my_query_id();
	SpinLockInit(&shared->mutex);
	pg_atomic_init_u64(&shared->next, 0);
	pg_atomic_init_u64(&shared->done, 0);
	pg_atomic_init_u64(&shared->sampled, 0);
	ConditionVariableInit(&shared->changed);
	for (i = 0; i < HYBRID_STRIPES; i++)
		SpinLockInit(&shared->stripes[i]);
}

/* publish: set the number of processes. The workers wait until it is set. */
static void
publish(HybridTeam *team, int participants)
{
	team->participants = participants;
	SpinLockAcquire(&team->shared->mutex);
	team->shared->participants = participants;
	SpinLockRelease(&team->shared->mutex);
	ConditionVariableBroadcast(&team->shared->changed);
}

/*
 * arrays: set the pointers to the arrays in the memory at `from`, sized for `most` processes. Returns the
 * size in bytes. If `from` is NULL, only computes the size.
 */
static Size
arrays(HybridTeam *team, char *from, int dims, const HybridBuildPlan *plan, int most)
{
	/*
	 * without planned lists (as for sparsevec), arrays of vectors are empty, and dims may be
	 * 1,000,000,000
	 */
	Size used = 0, numbers = plan->lists > 0 ? dims : 0, row = numbers * sizeof(float);
	Size lists = Max(plan->lists, 1);
	Size groups = plan->lists > 0 ? HYBRID_GROUPS_MOST * (Size) ceil(sqrt(plan->lists)) + 1 : 0;

	team->chunk_rows = take(from, &used, plan->chunks, sizeof(int32));
	team->places = take(from, &used, plan->lists, row);
	team->groups = take(from, &used, groups, row + sizeof(int));
	team->sums = take(from, &used, plan->window, numbers * sizeof(double));
	team->sum_rows = take(from, &used, lists, sizeof(int64));
	team->list_rows = take(from, &used, mul_size(lists, most), sizeof(int64));
	team->queries = take(from, &used, plan->queries, row);
	team->positions = take(from, &used, plan->queries, sizeof(int64));
	team->measured = take(from, &used, 1, hybrid_calibrate_bytes(plan->queries));
	return Max(used, MAXIMUM_ALIGNOF);
}

static void *
take(char *from, Size *used, Size count, Size size)
{
	void *place = from == NULL ? NULL : from + *used;

	*used = add_size(*used, MAXALIGN(mul_size(count, size)));
	return place;
}

void
hybrid_team_barrier(HybridTeam *team)
{
	HybridTeamShared *shared = team->shared;
	uint64 barrier, barriers;

	SpinLockAcquire(&shared->mutex);
	barrier = shared->barriers;
	if (++shared->arrived == team->participants)
	{
		shared->arrived = 0;
		pg_atomic_write_u64(&shared->next, 0);
		pg_atomic_write_u64(&shared->done, 0);
		shared->barriers++;
	}
	barriers = shared->barriers;
	SpinLockRelease(&shared->mutex);
	if (barriers != barrier)
	{
		if (team->participants > 1)
			ConditionVariableBroadcast(&shared->changed);
		CHECK_FOR_INTERRUPTS();
		return;
	}
	for (;;)
	{
		SpinLockAcquire(&shared->mutex);
		barriers = shared->barriers;
		SpinLockRelease(&shared->mutex);
		if (barriers != barrier)
			break;
		hybrid_team_done(team, 0);
		ConditionVariableTimedSleep(&shared->changed, TELL_MS,
		                            WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN);
	}
	ConditionVariableCancelSleep();
}

int64
hybrid_team_next(HybridTeam *team)
{
	return (int64) pg_atomic_fetch_add_u64(&team->shared->next, 1);
}

void
hybrid_team_add(slock_t *lock, double *sums, const double *ours, int count)
{
	int first, i;

	for (first = 0; first < count; first += ADDED)
	{
		int end = Min(first + ADDED, count);

		SpinLockAcquire(lock);
		for (i = first; i < end; i++)
			sums[i] += ours[i];
		SpinLockRelease(lock);
	}
}

void
hybrid_team_expect(HybridTeam *team, int64 rows)
{
	if (team->me == 0 && OidIsValid(team->shared->index))
		pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_TOTAL, rows);
}

void
hybrid_team_done(HybridTeam *team, int64 rows)
{
	int64 done = (int64) pg_atomic_add_fetch_u64(&team->shared->done, rows);

	/*
	 * PostgreSQL shows only the leader's progress. In VACUUM, where the index is not set, nothing is
	 * reported, because VACUUM reports other counts.
	 */
	if (team->me == 0 && OidIsValid(team->shared->index))
		pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, done);
}

/* hybrid_build_worker: run a worker, from its start to its end. */
void
hybrid_build_worker(dsm_segment *segment, shm_toc *toc)
{
	WalUsage *wal = shm_toc_lookup(toc, KEY_WAL, false);
	BufferUsage *buffers = shm_toc_lookup(toc, KEY_BUFFERS, false);
	HybridTeamShared *shared = shm_toc_lookup(toc, KEY_SHARED, false);
	HybridBuild build;
	HybridTeam team;

	debug_query_string = shm_toc_lookup(toc, KEY_QUERY, true);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);
	pgstat_report_query_id(shared->query_id, false);

	/* the lock modes are those of the leader; members of a lock group do not wait for each other */
	memset(&build, 0, sizeof(build));
	build.heap =
		table_open(shared->heap, shared->concurrent ? ShareUpdateExclusiveLock : ShareLock);
	build.index =
		index_open(shared->index, shared->concurrent ? RowExclusiveLock : AccessExclusiveLock);
	build.info = BuildIndexInfo(build.index);
	build.info->ii_Concurrent = shared->concurrent;
	hybrid_index_define(build.index, &build.definition);

	memset(&team, 0, sizeof(team));
	team.shared = shared;
	team.me = ParallelWorkerNumber + 1;
	team.sort = shm_toc_lookup(toc, KEY_SORT, false);
	team.scan = shm_toc_lookup(toc, KEY_SCAN, false);
	(void) arrays(&team, shm_toc_lookup(toc, KEY_ARRAYS, false), build.definition.layout.dims,
	              &shared->plan, shared->share);
	wait_for_start(&team);
	build.team = &team;

	tuplesort_attach_shared(team.sort, segment);
	InstrStartParallelQuery();
	hybrid_build_as_worker(&build);
	InstrEndParallelQuery(&buffers[ParallelWorkerNumber], &wal[ParallelWorkerNumber]);
	index_close(build.index, NoLock);
	table_close(build.heap, NoLock);
}

/* wait_for_start: wait until the leader knows the number of processes. */
static void
wait_for_start(HybridTeam *team)
{
	HybridTeamShared *shared = team->shared;

	for (;;)
	{
		SpinLockAcquire(&shared->mutex);
		team->participants = shared->participants;
		SpinLockRelease(&shared->mutex);
		if (team->participants > 0)
			break;
		ConditionVariableSleep(&shared->changed, WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN);
	}
	ConditionVariableCancelSleep();
}
