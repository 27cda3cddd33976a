/*
 * build_parallel.c
 *		CREATE INDEX: the table is scanned, by as many processes as PostgreSQL grants.
 *
 * All of them read blocks of the same scan, find the lists of their rows with the same centroids and
 * sort them; the leader, one of them, merges.  Where a row goes and where it lies there depends on
 * nothing but the row, so the index has the same bytes however many there were.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "commands/progress.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "pgstat.h"
#include "storage/condition_variable.h"
#include "storage/spin.h"
#include "tcop/tcopprot.h"
#include "utils/backend_progress.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "index/build.h"

/* Keys of the shared memory. */
#define KEY_SHARED UINT64CONST(0xB100000000000001)
#define KEY_SORT UINT64CONST(0xB100000000000002)
#define KEY_NUMBERS UINT64CONST(0xB100000000000003)
#define KEY_LIST_ROWS UINT64CONST(0xB100000000000004)
#define KEY_QUERY UINT64CONST(0xB100000000000005)
#define KEY_BUFFERS UINT64CONST(0xB100000000000006)
#define KEY_WAL UINT64CONST(0xB100000000000007)
#define KEY_SCAN UINT64CONST(0xB100000000000008)

#define TELL_MS 200 /* between two looks at how far the others are */

/* SharedBuild: what a worker is told, and what it tells. */
typedef struct SharedBuild
{
	/* told */
	Oid heap;
	Oid index;
	bool concurrent;
	int share; /* who divides maintenance_work_mem */
	uint64 query_id;
	bool centred; /* there is a centre */
	int centroids;
	int groups;
	/* tells */
	pg_atomic_uint64 assigned;
	ConditionVariable changed;
	slock_t mutex;
	int done; /* participants; with mutex, and so the sums */
	double heap_tuples;
	double stored;
} SharedBuild;

/* HybridTeam: the leader's side of a parallel build. */
typedef struct HybridTeam
{
	ParallelContext *context;
	SharedBuild *shared;
	Sharedsort *sort;
	int64 *list_rows; /* participants * lists */
	Snapshot snapshot;
	WalUsage *wal;
	BufferUsage *buffers;
	int participants; /* workers that were launched, and the leader */
} HybridTeam;

static int plan_workers(Relation heap, Relation index);
static HybridTeam *team_begin(HybridBuild *build, int workers);
static void team_end(HybridTeam *team);
static void share_numbers(const HybridBuild *build, float *numbers);
static void scan_part(HybridBuild *build, SharedBuild *shared, Sharedsort *sort, int64 *list_rows,
                      ParallelTableScanDesc scan, bool progress);
static void wait_for_all(HybridTeam *team);
static void take_numbers(HybridBuild *build, const SharedBuild *shared, float *numbers);

PGDLLEXPORT void hybrid_build_worker(dsm_segment *segment, shm_toc *toc);

static inline int
lists_of(const HybridCentroids *centroids)
{
	return Max(centroids->count, 1);
}

void
hybrid_build_scan(HybridBuild *build)
{
	int workers = plan_workers(build->heap, build->index);
	int lists = lists_of(&build->centroids), p, i;
	SortCoordinateData coordinate;
	HybridTeam *team = workers > 0 ? team_begin(build, workers) : NULL;

	build->team = team;
	if (team == NULL)
	{
		hybrid_build_begin_rows(build, 1, NULL);
		build->heap_tuples = table_index_build_scan(build->heap, build->index, build->info, true,
		                                            true, hybrid_build_add_row, build, NULL);
		hybrid_build_end_rows(build);
		pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, HYBRID_PHASE_SORT);
		tuplesort_performsort(build->sort.state);
		return;
	}

	ereport(DEBUG1,
	        (errmsg_internal("index \"%s\" is built with %d parallel workers",
	                         RelationGetRelationName(build->index), team->participants - 1)));
	scan_part(build, team->shared, team->sort, team->list_rows,
	          shm_toc_lookup(team->context->toc, KEY_SCAN, false), true);
	wait_for_all(team);
	build->heap_tuples = team->shared->heap_tuples;
	build->stored = team->shared->stored;
	memset(build->list_rows, 0, lists * sizeof(int64));
	for (p = 0; p < team->participants; p++)
	{
		for (i = 0; i < lists; i++)
			build->list_rows[i] += team->list_rows[(Size) p * lists + i];
	}
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, HYBRID_PHASE_SORT);
	coordinate.isWorker = false;
	coordinate.nParticipants = team->participants;
	coordinate.sharedsort = team->sort;
	hybrid_row_sort_begin(&build->sort, &build->definition.layout, maintenance_work_mem / 2,
	                      &coordinate);
	tuplesort_performsort(build->sort.state);
}

void
hybrid_build_scan_end(HybridBuild *build)
{
	hybrid_row_sort_end(&build->sort);
	if (build->team != NULL)
		team_end(build->team);
	build->team = NULL;
}

/*
 * plan_workers: as many as PostgreSQL would have for a table of this size, counting what is outside
 * of its rows: vectors are, and without them hardly any table would be large enough.
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
		/* a larger table and a smaller least size are the same */
		min_parallel_table_scan_size = (int) (least * (pages / Max(pages + outside, 1)));
		workers = plan_create_index_workers(RelationGetRelid(heap), RelationGetRelid(index));
	}
	PG_FINALLY();
	{
		min_parallel_table_scan_size = least;
	}
	PG_END_TRY();
	return workers;
}

/* team_begin: workers that begin at once; NULL where none could be had. */
static HybridTeam *
team_begin(HybridBuild *build, int workers)
{
	const HybridCentroids *centroids = &build->centroids;
	bool concurrent = build->info->ii_Concurrent;
	Size dims = build->definition.layout.dims;
	Size numbers, sort_bytes, scan_bytes, rows_bytes;
	HybridTeam *team = palloc0(sizeof(HybridTeam));
	ParallelContext *context;
	SharedBuild *shared;
	float *place;
	void *scan;
	char *query;

	EnterParallelMode();
	context = CreateParallelContext("$libdir/hybrid", "hybrid_build_worker", workers);
	/* rows that are being inserted meanwhile are none of ours */
	team->snapshot = concurrent ? RegisterSnapshot(GetTransactionSnapshot()) : SnapshotAny;

	numbers = (dims * (1 + (Size) centroids->count + centroids->groups) + centroids->groups + 1) *
	          sizeof(float);
	sort_bytes = tuplesort_estimate_shared(workers + 1);
	scan_bytes = table_parallelscan_estimate(build->heap, team->snapshot);
	rows_bytes = mul_size(sizeof(int64), mul_size(workers + 1, lists_of(centroids)));
	shm_toc_estimate_chunk(&context->estimator, sizeof(SharedBuild));
	shm_toc_estimate_chunk(&context->estimator, numbers);
	shm_toc_estimate_chunk(&context->estimator, sort_bytes);
	shm_toc_estimate_chunk(&context->estimator, scan_bytes);
	shm_toc_estimate_chunk(&context->estimator, rows_bytes);
	shm_toc_estimate_chunk(&context->estimator, mul_size(sizeof(WalUsage), workers));
	shm_toc_estimate_chunk(&context->estimator, mul_size(sizeof(BufferUsage), workers));
	shm_toc_estimate_keys(&context->estimator, 7);
	if (debug_query_string != NULL)
	{
		shm_toc_estimate_chunk(&context->estimator, strlen(debug_query_string) + 1);
		shm_toc_estimate_keys(&context->estimator, 1);
	}
	InitializeParallelDSM(context);
	team->context = context;
	if (context->seg == NULL)
	{
		team_end(team);
		return NULL;
	}

	shared = shm_toc_allocate(context->toc, sizeof(SharedBuild));
	memset(shared, 0, sizeof(*shared));
	shared->heap = RelationGetRelid(build->heap);
	shared->index = RelationGetRelid(build->index);
	shared->concurrent = concurrent;
	shared->share = workers + 1;
	shared->query_id = pgstat_get_my_query_id();
	shared->centred = build->frame.centre != NULL;
	shared->centroids = centroids->count;
	shared->groups = centroids->groups;
	pg_atomic_init_u64(&shared->assigned, 0);
	ConditionVariableInit(&shared->changed);
	SpinLockInit(&shared->mutex);
	shm_toc_insert(context->toc, KEY_SHARED, shared);
	team->shared = shared;

	team->sort = shm_toc_allocate(context->toc, sort_bytes);
	tuplesort_initialize_shared(team->sort, workers + 1, context->seg);
	shm_toc_insert(context->toc, KEY_SORT, team->sort);

	scan = shm_toc_allocate(context->toc, scan_bytes);
	place = shm_toc_allocate(context->toc, numbers);
	table_parallelscan_initialize(build->heap, scan, team->snapshot);
	shm_toc_insert(context->toc, KEY_SCAN, scan);
	share_numbers(build, place);
	shm_toc_insert(context->toc, KEY_NUMBERS, place);
	team->list_rows = shm_toc_allocate(context->toc, rows_bytes);
	memset(team->list_rows, 0, rows_bytes);
	shm_toc_insert(context->toc, KEY_LIST_ROWS, team->list_rows);
	team->wal = shm_toc_allocate(context->toc, mul_size(sizeof(WalUsage), workers));
	shm_toc_insert(context->toc, KEY_WAL, team->wal);
	team->buffers = shm_toc_allocate(context->toc, mul_size(sizeof(BufferUsage), workers));
	shm_toc_insert(context->toc, KEY_BUFFERS, team->buffers);
	if (debug_query_string != NULL)
	{
		query = shm_toc_allocate(context->toc, strlen(debug_query_string) + 1);
		strcpy(query, debug_query_string);
		shm_toc_insert(context->toc, KEY_QUERY, query);
	}

	LaunchParallelWorkers(context);
	team->participants = context->nworkers_launched + 1;
	if (context->nworkers_launched == 0)
	{
		team_end(team);
		return NULL;
	}
	/* a worker that does not start at all must not be waited for */
	WaitForParallelWorkersToAttach(context);
	return team;
}

static void
team_end(HybridTeam *team)
{
	int i;

	WaitForParallelWorkersToFinish(team->context);
	for (i = 0; i < team->context->nworkers_launched; i++)
		InstrAccumParallelQuery(&team->buffers[i], &team->wal[i]);
	if (IsMVCCSnapshot(team->snapshot))
		UnregisterSnapshot(team->snapshot);
	DestroyParallelContext(team->context);
	ExitParallelMode();
	pfree(team);
}

/* share_numbers: the centre, the centroids, the centers of groups, and where these begin. */
static void
share_numbers(const HybridBuild *build, float *numbers)
{
	const HybridCentroids *centroids = &build->centroids;
	Size dims = build->definition.layout.dims, row = dims * sizeof(float);

	memset(numbers, 0, row);
	if (build->frame.centre != NULL)
		memcpy(numbers, build->frame.centre, row);
	numbers += dims;
	if (centroids->count > 0)
		memcpy(numbers, centroids->places, centroids->count * row);
	numbers += centroids->count * dims;
	if (centroids->groups > 0)
	{
		memcpy(numbers, centroids->group_places, centroids->groups * row);
		numbers += centroids->groups * dims;
		memcpy(numbers, centroids->group_begin, (centroids->groups + 1) * sizeof(int));
	}
}

/* take_numbers: what share_numbers has put there, where it lies. */
static void
take_numbers(HybridBuild *build, const SharedBuild *shared, float *numbers)
{
	HybridCentroids *centroids = &build->centroids;
	Size dims = build->definition.layout.dims;

	hybrid_frame_init(&build->frame, &build->definition, shared->centred ? numbers : NULL);
	numbers += dims;
	centroids->dims = (int) dims;
	centroids->count = shared->centroids;
	centroids->places = numbers;
	numbers += shared->centroids * dims;
	centroids->groups = shared->groups;
	centroids->group_places = numbers;
	numbers += shared->groups * dims;
	centroids->group_begin = (int *) (void *) numbers;
}

/* scan_part: rows that this process comes to first, assigned and sorted. */
static void
scan_part(HybridBuild *build, SharedBuild *shared, Sharedsort *sort, int64 *list_rows,
          ParallelTableScanDesc scan, bool progress)
{
	SortCoordinateData coordinate;
	double tuples;

	coordinate.isWorker = true;
	coordinate.nParticipants = -1;
	coordinate.sharedsort = sort;
	build->assigned = &shared->assigned;
	hybrid_build_begin_rows(build, shared->share, &coordinate);
	tuples = table_index_build_scan(build->heap, build->index, build->info, true, progress,
	                                hybrid_build_add_row, build,
	                                table_beginscan_parallel(build->heap, scan));
	hybrid_build_end_rows(build);
	tuplesort_performsort(build->sort.state);
	hybrid_row_sort_end(&build->sort);
	memcpy(list_rows, build->list_rows, lists_of(&build->centroids) * sizeof(int64));

	SpinLockAcquire(&shared->mutex);
	shared->done++;
	shared->heap_tuples += tuples;
	shared->stored += build->stored;
	SpinLockRelease(&shared->mutex);
	ConditionVariableSignal(&shared->changed);
}

/* wait_for_all: until every worker has put its part on disk; an error of one of them is ours. */
static void
wait_for_all(HybridTeam *team)
{
	SharedBuild *shared = team->shared;

	for (;;)
	{
		int done;

		SpinLockAcquire(&shared->mutex);
		done = shared->done;
		SpinLockRelease(&shared->mutex);
		if (done == team->participants)
			break;
		pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE,
		                             (int64) pg_atomic_read_u64(&shared->assigned));
		ConditionVariableTimedSleep(&shared->changed, TELL_MS,
		                            WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN);
	}
	ConditionVariableCancelSleep();
}

/* hybrid_build_worker: where a worker begins. */
void
hybrid_build_worker(dsm_segment *segment, shm_toc *toc)
{
	SharedBuild *shared = shm_toc_lookup(toc, KEY_SHARED, false);
	Sharedsort *sort = shm_toc_lookup(toc, KEY_SORT, false);
	int64 *list_rows = shm_toc_lookup(toc, KEY_LIST_ROWS, false);
	WalUsage *wal = shm_toc_lookup(toc, KEY_WAL, false);
	BufferUsage *buffers = shm_toc_lookup(toc, KEY_BUFFERS, false);
	HybridBuild build;

	debug_query_string = shm_toc_lookup(toc, KEY_QUERY, true);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);
	pgstat_report_query_id(shared->query_id, false);

	/* as the leader has them; a member of its lock group does not wait for it */
	memset(&build, 0, sizeof(build));
	build.heap =
		table_open(shared->heap, shared->concurrent ? ShareUpdateExclusiveLock : ShareLock);
	build.index =
		index_open(shared->index, shared->concurrent ? RowExclusiveLock : AccessExclusiveLock);
	build.info = BuildIndexInfo(build.index);
	build.info->ii_Concurrent = shared->concurrent;
	hybrid_index_define(build.index, &build.definition);
	take_numbers(&build, shared, shm_toc_lookup(toc, KEY_NUMBERS, false));
	build.list_rows = palloc0(lists_of(&build.centroids) * sizeof(int64));
	build.widened = palloc(build.definition.layout.floats * sizeof(float));

	tuplesort_attach_shared(sort, segment);
	InstrStartParallelQuery();
	scan_part(&build, shared, sort,
	          list_rows + (Size) (ParallelWorkerNumber + 1) * lists_of(&build.centroids),
	          shm_toc_lookup(toc, KEY_SCAN, false), false);
	InstrEndParallelQuery(&buffers[ParallelWorkerNumber], &wal[ParallelWorkerNumber]);
	index_close(build.index, NoLock);
	table_close(build.heap, NoLock);
}
