/*
 * build_rows.c
 *		CREATE INDEX: scans the table with all processes of the team, and sorts its rows by list.
 *
 * All processes read blocks of the same scan, assign their rows with the same centroids, and sort them.
 * The leader is one of them, and merges the sorts. The list of a row and its position in the sort
 * depend only on the row. The leader cuts lists and sets outliers aside in all of maintenance_work_mem,
 * for any number of workers. The index therefore has the same bytes for any number of processes.
 *
 * The table is read twice, because the sample was taken before. (Keeping all rows in shared memory
 * instead, and writing lists with all processes, takes 5.6 s instead of 5.9 s for 116,649 rows of 768
 * dimensions and two processes. These 5% are too little for a second way to write lists.)
 */
#include "postgres.h"

#include "access/tableam.h"
#include "catalog/index.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "utils/backend_progress.h"
#include "utils/memutils.h"

#include "index/build/build.h"

static void scan_part(HybridBuild *build);
static double scan(HybridBuild *build, SortCoordinate coordinate, TableScanDesc part);
static void
add_row(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool alive, void *arg);
static void assign(HybridBuild *build);
static void add_up(HybridBuild *build);

void
hybrid_build_scan(HybridBuild *build)
{
	HybridTeam *team = build->team;
	SortCoordinateData coordinate;

	hybrid_leaves_init(&build->leaves, &build->definition, &build->frame, &build->centroids,
	                   (Size) maintenance_work_mem * 1024 / team->shared->share);
	hybrid_team_expect(team, 0);
	hybrid_team_barrier(team);
	if (team->participants == 1)
	{
		build->heap_tuples = scan(build, NULL, NULL);
		return;
	}

	/* the leader, like the workers, writes its sorted part to disk */
	scan_part(build);
	hybrid_team_barrier(team);
	if (team->me != 0)
		return;
	add_up(build);
	coordinate.isWorker = false;
	coordinate.nParticipants = team->participants;
	coordinate.sharedsort = team->sort;
	/* the workers have freed their shares of maintenance_work_mem */
	build->leaves.memory = (Size) maintenance_work_mem * 1024;
	hybrid_leaves_merge(&build->leaves, &coordinate);
}

/* scan_part: assign and sort the rows that this process reads. */
static void
scan_part(HybridBuild *build)
{
	HybridTeam *team = build->team;
	HybridTeamShared *shared = team->shared;
	Size stride = Max(shared->plan.lists, 1);
	SortCoordinateData coordinate;
	double tuples;

	coordinate.isWorker = true;
	coordinate.nParticipants = -1;
	coordinate.sharedsort = team->sort;
	tuples = scan(build, &coordinate, table_beginscan_parallel(build->heap, team->scan));
	hybrid_leaves_end(&build->leaves);
	memcpy(team->list_rows + stride * team->me, build->leaves.list_rows,
	       Max(build->centroids.count, 1) * sizeof(int64));

	SpinLockAcquire(&shared->mutex);
	shared->heap_tuples += tuples;
	shared->stored += build->leaves.rows;
	shared->broken_hot_chain |= build->info->ii_BrokenHotChain;
	SpinLockRelease(&shared->mutex);
}

/*
 * scan: assign and sort the rows of the table, or of the part that this process reads. Returns the number
 * of table rows read, including rows that are not indexed.
 */
static double
scan(HybridBuild *build, SortCoordinate coordinate, TableScanDesc part)
{
	bool leader = build->team->me == 0;
	double tuples;

	hybrid_leaves_begin_rows(&build->leaves, 0, coordinate);
	tuples = table_index_build_scan(build->heap, build->index, build->info, true, leader, add_row,
	                                build, part);
	assign(build);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, HYBRID_PHASE_SORT);
	hybrid_leaves_end_rows(&build->leaves);
	return tuples;
}

/* add_row: add a row of the table; an IndexBuildCallback. */
static void
add_row(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool alive, void *arg)
{
	HybridBuild *build = (HybridBuild *) arg;
	HybridLeaves *leaves = &build->leaves;
	HybridRow row;
	int i;

	(void) index;
	(void) alive;
	hybrid_row_begin(&build->definition, values, isnull, &row);
	for (i = 0; i < row.entries; i++)
	{
		MemoryContext old = MemoryContextSwitchTo(leaves->context);

		if (hybrid_entry_form(&build->definition, &row, i, tid, hybrid_leaves_entry(leaves)))
			hybrid_leaves_add(leaves);
		MemoryContextSwitchTo(old);
		MemoryContextReset(leaves->context);
		if (hybrid_leaves_full(leaves))
			assign(build);
	}
	hybrid_row_end(&build->definition, &row);
}

static void
assign(HybridBuild *build)
{
	hybrid_team_done(build->team, hybrid_leaves_assign(&build->leaves));
}

/* add_up: add up the row counts of all processes. */
static void
add_up(HybridBuild *build)
{
	const HybridTeam *team = build->team;
	Size stride = Max(team->shared->plan.lists, 1);
	int lists = Max(build->centroids.count, 1), p, i;

	build->heap_tuples = team->shared->heap_tuples;
	build->info->ii_BrokenHotChain |= team->shared->broken_hot_chain;
	build->leaves.rows = team->shared->stored;
	memset(build->leaves.list_rows, 0, lists * sizeof(int64));
	for (p = 0; p < team->participants; p++)
	{
		for (i = 0; i < lists; i++)
			build->leaves.list_rows[i] += team->list_rows[stride * p + i];
	}
}
