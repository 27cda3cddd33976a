/*
 * build.c
 *		CREATE INDEX: the heap's vectors, packed into groups in the order they come.
 *
 * A group is filled in private memory and then copied to new pages of the index, so that no buffer
 * lock is held while the heap scan runs (it may evaluate expressions).  Nobody else can see the
 * file yet: its pages are written without WAL and logged as a whole at the end.
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "access/tableam.h"
#include "access/xloginsert.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/smgr.h"
#include "utils/backend_progress.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "index/index.h"

/* PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE is 1 */
#define PHASE_LOAD 2
#define PHASE_LOG 3

typedef struct BuildState
{
	Relation index;
	HybridIndex definition;
	BufferAccessStrategy strategy;
	MemoryContext row_context; /* reset for every row */
	PGAlignedBlock *pages;     /* the group being filled, span pages */
	void *vector;              /* the row being stored */
	double stored;
} BuildState;

static void
add_row(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool alive, void *arg);
static void begin_group(BuildState *build);
static void write_group(BuildState *build);
static void write_page(BuildState *build, Page page);

IndexBuildResult *
hybridbuild(Relation heap, Relation index, IndexInfo *info)
{
	IndexBuildResult *result = palloc(sizeof(IndexBuildResult));
	const HybridLayout *layout;
	PGAlignedBlock meta;
	BuildState build;

	if (RelationGetNumberOfBlocks(index) != 0)
		elog(ERROR, "index \"%s\" already contains data", RelationGetRelationName(index));

	/* ON COMMIT DELETE ROWS builds anew in the same file */
	hybrid_index_forget(index);

	memset(&build, 0, sizeof(build));
	build.index = index;
	hybrid_index_define(index, &build.definition);
	layout = &build.definition.layout;
	build.strategy = GetAccessStrategy(BAS_BULKWRITE);
	build.row_context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid build row", ALLOCSET_DEFAULT_SIZES);
	build.pages = palloc(layout->span * sizeof(PGAlignedBlock));
	build.vector = palloc(layout->stride);

	hybrid_meta_init((Page) meta.data, layout);
	write_page(&build, (Page) meta.data);

	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, PHASE_LOAD);
	begin_group(&build);
	result->heap_tuples =
		table_index_build_scan(heap, index, info, true, true, add_row, &build, NULL);
	if (hybrid_special((Page) build.pages[0].data)->count > 0)
		write_group(&build);
	result->index_tuples = build.stored;

	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, PHASE_LOG);
	if (RelationNeedsWAL(index))
		log_newpage_range(index, MAIN_FORKNUM, 0, RelationGetNumberOfBlocks(index), true);

	FreeAccessStrategy(build.strategy);
	MemoryContextDelete(build.row_context);
	pfree(build.pages);
	pfree(build.vector);
	return result;
}

void
hybridbuildempty(Relation index)
{
	HybridIndex definition;
	PGAlignedBlock meta;

	hybrid_index_define(index, &definition);
	hybrid_meta_init((Page) meta.data, &definition.layout);
	PageSetChecksumInplace((Page) meta.data, HYBRID_META_BLOCK);

	/*
	 * The init fork is copied over the main fork after a crash, so it must be on disk, and on a
	 * standby too, although the index itself is not logged.  GenericXLog would write nothing.
	 */
	smgrextend(RelationGetSmgr(index), INIT_FORKNUM, HYBRID_META_BLOCK, meta.data, true);
	log_newpage(&RelationGetSmgr(index)->smgr_rnode.node, INIT_FORKNUM, HYBRID_META_BLOCK,
	            (Page) meta.data, true);
	smgrimmedsync(RelationGetSmgr(index), INIT_FORKNUM);
}

char *
hybridbuildphasename(int64 phase)
{
	switch (phase)
	{
		case PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE:
			return "initializing";
		case PHASE_LOAD:
			return "loading vectors";
		case PHASE_LOG:
			return "writing WAL";
		default:
			return NULL;
	}
}

/* add_row: the callback of the heap scan. */
static void
add_row(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool alive, void *arg)
{
	BuildState *build = (BuildState *) arg;
	const HybridLayout *layout = &build->definition.layout;
	Page head = (Page) build->pages[0].data;
	MemoryContext old;
	HybridEntry entry;
	int slot, p;

	(void) index;
	(void) alive;

	if (isnull[0])
		return;

	old = MemoryContextSwitchTo(build->row_context);
	entry.vector = build->vector;
	if (hybrid_entry_form(&build->definition, DatumGetHybridVector(values[0]), tid, &entry))
	{
		slot = hybrid_free_slot(layout, head);
		if (slot < 0)
		{
			write_group(build);
			begin_group(build);
			slot = 0;
		}
		hybrid_put(layout, head, slot, &entry.slot, entry.vector);
		for (p = 1; p < layout->span; p++)
			hybrid_put_tail(layout, (Page) build->pages[p].data, p, entry.vector);
		build->stored++;
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(build->row_context);
}

static void
begin_group(BuildState *build)
{
	int p;

	hybrid_page_init((Page) build->pages[0].data, HYBRID_PAGE_HEAD);
	for (p = 1; p < build->definition.layout.span; p++)
		hybrid_page_init((Page) build->pages[p].data, HYBRID_PAGE_TAIL);
}

static void
write_group(BuildState *build)
{
	int p;

	for (p = 0; p < build->definition.layout.span; p++)
		write_page(build, (Page) build->pages[p].data);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, (int64) build->stored);
}

/* write_page: appends a page to the index. */
static void
write_page(BuildState *build, Page page)
{
	Buffer buffer =
		ReadBufferExtended(build->index, MAIN_FORKNUM, P_NEW, RBM_ZERO_AND_LOCK, build->strategy);

	memcpy(BufferGetPage(buffer), page, BLCKSZ);
	MarkBufferDirty(buffer);
	UnlockReleaseBuffer(buffer);
}
