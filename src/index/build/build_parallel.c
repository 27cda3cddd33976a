/*
 * build_parallel.c
 *		CREATE INDEX: scans the table with all processes of the team.
 *
 * All processes read blocks of the same scan, assign their rows with the same centroids, and sort them.
 * The leader is one of them, and merges the sorts. The list of a row, and its place in that list, depend
 * only on the row. The index therefore has the same bytes for any number of processes.
 */
#include "postgres.h"

#include "access/tableam.h"
#include "catalog/index.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "utils/backend_progress.h"

#include "index/build/build.h"

static void scan_part(HybridBuild *build);

void
hybrid_build_scan(HybridBuild *build)
{
	HybridTeam *team = build->team;
	SortCoordinateData coordinate;

	hybrid_team_expect(team, 0);
	hybrid_team_meet(team);
	if (team->participants == 1)
	{
		hybrid_build_begin_rows(build, 1, NULL);
		build->heap_tuples = table_index_build_scan(build->heap, build->index, build->info, true,
		                                            true, hybrid_build_add_row, build, NULL);
		hybrid_build_end_rows(build);
		pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, HYBRID_PHASE_SORT);
		tuplesort_performsort(build->sort.state);
		return;
	}

	/* the leader, like the workers, writes its sorted part to disk */
	scan_part(build);
	hybrid_team_meet(team);
	if (team->me != 0)
		return;
	hybrid_build_add_up(build);
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
	hybrid_build_begin_rows(build, shared->share, &coordinate);
	tuples = table_index_build_scan(build->heap, build->index, build->info, true, team->me == 0,
	                                hybrid_build_add_row, build,
	                                table_beginscan_parallel(build->heap, team->scan));
	hybrid_build_end_rows(build);
	tuplesort_performsort(build->sort.state);
	hybrid_row_sort_end(&build->sort);
	hybrid_team_trim_heap();
	memcpy(team->list_rows + stride * team->me, build->list_rows,
	       Max(build->centroids.count, 1) * sizeof(int64));

	SpinLockAcquire(&shared->mutex);
	shared->heap_tuples += tuples;
	shared->stored += build->stored;
	shared->broken_hot_chain |= build->info->ii_BrokenHotChain;
	SpinLockRelease(&shared->mutex);
}

void
hybrid_build_add_up(HybridBuild *build)
{
	const HybridTeam *team = build->team;
	Size stride = Max(team->shared->plan.lists, 1);
	int lists = Max(build->centroids.count, 1), p, i;

	build->heap_tuples = team->shared->heap_tuples;
	build->stored = team->shared->stored;
	build->info->ii_BrokenHotChain |= team->shared->broken_hot_chain;
	memset(build->list_rows, 0, lists * sizeof(int64));
	for (p = 0; p < team->participants; p++)
	{
		for (i = 0; i < lists; i++)
			build->list_rows[i] += team->list_rows[stride * p + i];
	}
}
