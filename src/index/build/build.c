/*
 * build.c
 *		CREATE INDEX: computes the centroids of the lists from a sample, assigns every row to the list
 *		with the nearest centroid, and writes the tree.
 *
 * Rows are sorted by list and written list by list. Above the leaves, inner lists are written level by
 * level. No other session can see the file yet, so its pages are written without WAL and logged as a
 * whole at the end.
 */
#include "postgres.h"

#include <math.h>

#include "access/tableam.h"
#include "access/xloginsert.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/smgr.h"
#include "utils/backend_progress.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "server/compat.h"

#include "index/build/build.h"
#include "index/tree/read.h"

static void prepare_lists(HybridBuild *build);
static void place_rows(HybridBuild *build, HybridMeta *meta);
static void begin_measuring(HybridBuild *build);
static void measure(HybridBuild *build, HybridMeta *meta);
static void write_meta(HybridBuild *build, Page meta);
static void write_center(HybridBuild *build, Page meta);
static double expected_blocks(const HybridBuild *build);

IndexBuildResult *
hybridbuild(Relation heap, Relation index, IndexInfo *info)
{
	IndexBuildResult *result = palloc(sizeof(IndexBuildResult));
	PGAlignedBlock meta;
	HybridBuildPlan plan;
	HybridBuild build;

	if (RelationGetNumberOfBlocks(index) != 0)
		elog(ERROR, "index \"%s\" already contains data", RelationGetRelationName(index));
	hybrid_units_forget();

	memset(&build, 0, sizeof(build));
	build.heap = heap;
	build.index = index;
	build.info = info;
	hybrid_index_define(index, &build.definition);
	hybrid_appender_init(&build.appender, index, expected_blocks(&build));
	hybrid_meta_init((Page) meta.data, &build.definition);
	hybrid_appender_put(&build.appender, HYBRID_PAGE_META, (Page) meta.data);

	build.widened = palloc(build.definition.layout.floats * sizeof(float));
	hybrid_sample_plan(&build, &plan);
	build.team = hybrid_team_begin(&build, &plan);
	prepare_lists(&build);
	write_center(&build, (Page) meta.data);
	place_rows(&build, hybrid_meta((Page) meta.data));
	hybrid_appender_finish(&build.appender);
	result->heap_tuples = build.heap_tuples;
	result->index_tuples = (double) build.leaves.rows;

	write_meta(&build, (Page) meta.data);
	begin_measuring(&build);
	/*
	 * Log the file before measuring the recall: logging reads the file into memory in file order, and
	 * the searches then find it there.
	 */
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, HYBRID_PHASE_LOG);
	if (RelationNeedsWAL(index))
		log_newpage_range(index, MAIN_FORKNUM, 0, RelationGetNumberOfBlocks(index), true);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, HYBRID_PHASE_MEASURE);
	measure(&build, hybrid_meta((Page) meta.data));
	hybrid_team_end(build.team);
	if (build.queries.count > 0)
	{
		write_meta(&build, (Page) meta.data);
		if (RelationNeedsWAL(index))
			log_newpage_range(index, MAIN_FORKNUM, HYBRID_META_BLOCK, HYBRID_META_BLOCK + 1, true);
	}

	return result;
}

void
hybrid_build_as_worker(HybridBuild *build)
{
	build->widened = palloc(build->definition.layout.floats * sizeof(float));
	prepare_lists(build);
	place_rows(build, NULL);
	begin_measuring(build);
	measure(build, NULL);
}

char *
hybridbuildphasename(int64 phase)
{
	switch (phase)
	{
		case PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE:
			return "initializing";
		case HYBRID_PHASE_SAMPLE:
			return "sampling the table";
		case HYBRID_PHASE_CLUSTER:
			return "placing lists";
		case HYBRID_PHASE_ASSIGN:
			return "assigning rows to lists";
		case HYBRID_PHASE_SORT:
			return "sorting rows by list";
		case HYBRID_PHASE_WRITE:
			return "writing lists";
		case HYBRID_PHASE_MEASURE:
			return "measuring recall";
		case HYBRID_PHASE_SEGMENTS:
			return "building inverted lists";
		case HYBRID_PHASE_LOG:
			return "writing WAL";
		default:
			return NULL;
	}
}

/*
 * prepare_lists: compute the center of the index, and the centroids of the lists to which rows are
 * assigned. Without centroids, all rows are assigned to one list.
 */
static void
prepare_lists(HybridBuild *build)
{
	const HybridIndex *definition = &build->definition;
	Size row = definition->layout.dims * sizeof(float);
	HybridSample sample;
	MemoryContext context, old;

	memset(&build->centroids, 0, sizeof(build->centroids));
	if (!definition->coded)
	{
		hybrid_frame_init(&build->frame, definition, NULL);
		return;
	}
	context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid build lists", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, HYBRID_PHASE_SAMPLE);
	hybrid_sample_table(build, &sample);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, HYBRID_PHASE_CLUSTER);
	if (sample.total > definition->list_size)
	{
		float *center = MemoryContextAlloc(old, row);

		memcpy(center, sample.center, row);
		if (hybrid_has_curve(definition))
			build->queries.kept = (int) Min(sample.total, build->team->shared->plan.queries);
		build->queries.center = center;
		build->queries.places = build->team->queries;
		build->queries.positions = build->team->positions;
		if (build->queries.kept > 0)
			hybrid_sample_take_queries(&sample, definition->layout.dims, &build->queries);
		hybrid_cluster(build, &sample);
		MemoryContextSwitchTo(old);
		hybrid_frame_init(&build->frame, definition, center);
	}
	else
	{
		MemoryContextSwitchTo(old);
		hybrid_frame_init(&build->frame, definition, NULL);
	}
	MemoryContextDelete(context);
}

/* place_rows: assign all rows to lists and write the lists. In workers, `meta` is NULL. */
static void
place_rows(HybridBuild *build, HybridMeta *meta)
{
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, HYBRID_PHASE_ASSIGN);
	hybrid_build_scan(build);
	/* the leader writes the lists; the workers wait until measuring begins */
	if (meta != NULL)
	{
		pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, HYBRID_PHASE_WRITE);
		hybrid_build_write(build, meta);
		if (!hybrid_has_curve(&build->definition) && meta->height > 0)
			meta->regroup_leaves = hybrid_regroup_next(meta->leaves);
		hybrid_leaves_end(&build->leaves);
	}
}

/*
 * begin_measuring: start measuring the recall, now that the index can be searched. Workers begin to
 * search while the leader writes WAL.
 */
static void
begin_measuring(HybridBuild *build)
{
	HybridTeamShared *shared = build->team->shared;

	if (build->queries.count == 0)
		return;
	if (build->team->me == 0)
	{
		hybrid_calibrate_begin(build->team);
		shared->rows = (double) build->leaves.rows;
		shared->queries = hybrid_calibrate_queries(shared->rows, build->definition.layout.dims,
		                                           build->queries.kept);
	}
	hybrid_team_barrier(build->team);
	build->queries.count = shared->queries;
}

/*
 * measure: measure the recall curve with all processes. The leader stores the curve in `meta`, which is
 * NULL in workers.
 */
static void
measure(HybridBuild *build, HybridMeta *meta)
{
	HybridTeam *team = build->team;
	HybridCurve curve;

	if (build->queries.count == 0)
		return;
	hybrid_calibrate(&curve, build->index, &build->definition, team, &build->queries,
	                 team->shared->rows);
	if (meta == NULL)
		return;
	meta->curve = curve;
	meta->regroup_leaves = hybrid_regroup_next(meta->leaves);
}

/* write_meta: write the meta page as it is now. */
static void
write_meta(HybridBuild *build, Page meta)
{
	Buffer buffer = ReadBuffer(build->index, HYBRID_META_BLOCK);

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	memcpy(BufferGetPage(buffer), meta, BLCKSZ);
	MarkBufferDirty(buffer);
	UnlockReleaseBuffer(buffer);
}

/* write_center: write the center, if there is one, to the pages after the meta page. */
static void
write_center(HybridBuild *build, Page meta)
{
	const char *from = (const char *) build->frame.center;
	Size left = build->definition.layout.dims * sizeof(float);
	PGAlignedBlock image;
	Page page = (Page) image.data;

	if (build->frame.center == NULL)
		return;
	hybrid_meta(meta)->center = build->appender.reserved;
	while (left > 0)
	{
		Size length = hybrid_center_page(page, from, left);

		hybrid_appender_put(&build->appender, HYBRID_PAGE_CENTER, page);
		from += length;
		left -= length;
	}
}

/* expected_blocks: estimate the length of the file, assuming that every row of the table is indexed. */
static double
expected_blocks(const HybridBuild *build)
{
	BlockNumber blocks;
	double tuples, visible;

	table_relation_estimate_size(build->heap, NULL, &blocks, &tuples, &visible);
	return tuples / build->definition.layout.leaf.per_page * build->definition.layout.leaf.span *
	       1.5;
}

void
hybridbuildempty(Relation index)
{
	HybridIndex definition;
	PGIOAlignedBlock meta, root;
	HybridLink link = {HYBRID_META_BLOCK + 1, 1};

	hybrid_index_define(index, &definition);
	hybrid_meta_init((Page) meta.data, &definition);
	hybrid_meta((Page) meta.data)->root = link.head;
	hybrid_meta((Page) meta.data)->root_generation = link.generation;
	hybrid_meta((Page) meta.data)->leaves = 1;
	hybrid_list_page_init(&definition.layout, (Page) root.data, 0, &link, link.head);

	/*
	 * After a crash, the server copies the init fork over the main fork. So the init fork must be on
	 * disk, also on a standby. Generic WAL writes nothing for an unlogged index, so log_newpage is
	 * used.
	 */
	PageSetChecksumInplace((Page) meta.data, HYBRID_META_BLOCK);
	smgrextend(RelationGetSmgr(index), INIT_FORKNUM, HYBRID_META_BLOCK, meta.data, true);
	log_newpage(&index->rd_locator, INIT_FORKNUM, HYBRID_META_BLOCK, (Page) meta.data, true);
	PageSetChecksumInplace((Page) root.data, link.head);
	smgrextend(RelationGetSmgr(index), INIT_FORKNUM, link.head, root.data, true);
	log_newpage(&index->rd_locator, INIT_FORKNUM, link.head, (Page) root.data, true);
	smgrimmedsync(RelationGetSmgr(index), INIT_FORKNUM);
}
