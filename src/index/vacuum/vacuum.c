/*
 * vacuum.c
 *		VACUUM: marks the entries of removed rows dead, then runs the other steps in order.
 *
 * The names of the leaf lists are read from the tree once. Each list is visited under its lock in share
 * mode, so that it is not copied meanwhile. If a list was moved, the lists that have its entries now are
 * visited, too. Every entry that existed at the start is therefore visited. Entries are only marked: an
 * entry never moves within a list.
 *
 * The cleanup then finds free pages (sweep.c) and merges or rewrites lists that have lost a quarter of their entries
 * (merge.c). If the number of leaves has doubled or a third of them is gone, it rebuilds the leaves (regroup.c). In
 * an index on sparse vectors, it makes inverted lists (write/segments.c). Last, it measures the recall curve again if
 * that is due (recalibrate.c).
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/bufmgr.h"
#include "storage/indexfsm.h"
#include "utils/rel.h"

#include "server/compat.h"

#include "index/build/recalibrate.h"
#include "index/page/lock.h"
#include "index/vacuum/merge.h"
#include "index/vacuum/regroup.h"
#include "index/vacuum/sweep.h"
#include "index/tree/free_pages.h"
#include "index/tree/tree.h"
#include "index/vacuum/vacuum.h"
#include "index/write/segments.h"

typedef struct VacuumState
{
	Relation index;
	HybridIndex open;
	IndexVacuumInfo *info;
	IndexBulkDeleteResult *stats;
	/* selects the entries of removed rows; if NULL, entries are only counted */
	IndexBulkDeleteCallback callback;
	void *callback_state;
	/* without codes: the page on which inserts begin to look for space has been visited */
	bool has_space;
} VacuumState;

static bool vacuum_lists(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
                         IndexBulkDeleteCallback callback, void *callback_state);
static void
make_segments(IndexVacuumInfo *info, const HybridIndex *open, IndexBulkDeleteResult *stats);
static bool visit(VacuumState *vacuum, HybridLink list, HybridLinks *visits);
static int mark_dead(VacuumState *vacuum, Buffer head, Buffer buffer);

IndexBulkDeleteResult *
hybridbulkdelete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
                 IndexBulkDeleteCallback callback, void *state)
{
	if (stats == NULL)
		stats = palloc0(sizeof(IndexBulkDeleteResult));
	(void) vacuum_lists(info, stats, callback, state);
	return stats;
}

IndexBulkDeleteResult *
hybridvacuumcleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats)
{
	HybridIndex open;
	HybridQueries queries = {0};
	bool regrouped = false;

	if (info->analyze_only)
		return stats;
	open = hybrid_index_open(info->index);
	if (stats == NULL)
		stats = palloc0(sizeof(IndexBulkDeleteResult));
	/*
	 * Steps that need disk space follow the steps that free it. If the disk is full, the space that was
	 * freed before the error stays free.
	 */
	hybrid_sweep(info, stats);
	IndexFreeSpaceMapVacuum(info->index);
	if (vacuum_lists(info, stats, NULL, NULL))
		hybrid_sweep(info, stats);
	if (open.layout.packed)
		make_segments(info, &open, stats);
	if (hybrid_regroup_due(info->index, &open))
	{
		hybrid_lock(info->index, HYBRID_META_BLOCK, ShareLock);
		regrouped = hybrid_regroup(info->index, &open, stats->num_index_tuples, info->message_level,
		                           &queries);
		hybrid_unlock(info->index, HYBRID_META_BLOCK, ShareLock);
	}
	else
		/* an error or a crash during an earlier rebuild may have left the log of changed leaves on */
		hybrid_copy_log_end(info->index);
	if (regrouped || hybrid_recalibrate_due(info->index, &open))
	{
		(void) hybrid_recalibrate(info->index, &open, regrouped ? &queries : NULL, NULL, 0);
		stats->num_pages = RelationGetNumberOfBlocks(info->index);
	}
	if (queries.places != NULL)
	{
		pfree(queries.places);
		pfree(queries.positions);
	}
	IndexFreeSpaceMapVacuum(info->index);
	return stats;
}

/*
 * vacuum_lists: visit all leaf lists. With a callback, mark the entries that it selects dead. Without a
 * callback, count the live entries and, in an index with codes, merge or rewrite the lists that lost a
 * quarter of their entries. Returns whether there were such lists in an index with codes.
 */
static bool
vacuum_lists(IndexVacuumInfo *info, IndexBulkDeleteResult *stats, IndexBulkDeleteCallback callback,
             void *callback_state)
{
	VacuumState vacuum;
	HybridTree tree;
	HybridLinks visits, sparse;
	uint32 visited = 0;
	bool merged;

	memset(&vacuum, 0, sizeof(vacuum));
	memset(&sparse, 0, sizeof(sparse));
	vacuum.index = info->index;
	vacuum.open = hybrid_index_open(info->index);
	vacuum.info = info;
	vacuum.stats = stats;
	vacuum.callback = callback;
	vacuum.callback_state = callback_state;
	stats->num_index_tuples = 0;
	stats->estimated_count = false;

	/* this lock keeps moved lists from being freed; VACUUM's snapshot does not */
	hybrid_lock(info->index, HYBRID_META_BLOCK, ShareLock);
	hybrid_tree_read(info->index, &tree);
	visits.links = hybrid_tree_lists(info->index, &vacuum.open, &tree, 0, NULL, &visits.count);
	visits.allocated = visits.count;
	while (visits.count > 0)
	{
		HybridLink list = visits.links[--visits.count];

		vacuum_delay_point(false);
		/*
		 * raises an error after more lists than the file has pages: the links of moved lists then form
		 * a circle
		 */
		hybrid_chain_step(info->index, &list, &visited);
		hybrid_lock(info->index, list.head, ShareLock);
		if (visit(&vacuum, list, &visits))
			hybrid_links_add(&sparse, list);
		hybrid_unlock(info->index, list.head, ShareLock);
	}
	merged = sparse.count > 0 && vacuum.open.coded;
	/* every entry has been visited, so entries may now move to other lists */
	if (merged)
	{
		hybrid_links_sort(&sparse);
		hybrid_merge(info->index, &vacuum.open, &sparse);
	}
	hybrid_unlock(info->index, HYBRID_META_BLOCK, ShareLock);
	pfree(visits.links);
	if (sparse.links != NULL)
		pfree(sparse.links);
	return merged;
}

/* make_segments: make segments for rows that no segment describes. */
static void
make_segments(IndexVacuumInfo *info, const HybridIndex *open, IndexBulkDeleteResult *stats)
{
	HybridLoggedSink sink;
	HybridTree tree;

	hybrid_logged_sink_init(&sink, info->index);
	hybrid_tree_read(info->index, &tree);
	hybrid_segments_make(info->index, open, tree.root, &sink.sink, true);
	stats->num_pages = RelationGetNumberOfBlocks(info->index);
}

/*
 * visit: visit one list. If the list was moved, append its successors to `visits`. Without a callback,
 * returns whether the list has lost a quarter of its entries. With a callback, always returns false.
 */
static bool
visit(VacuumState *vacuum, HybridLink list, HybridLinks *visits)
{
	const HybridLayout *layout = &vacuum->open.layout;
	BlockNumber block = list.head;
	int64 used = 0, live = 0;
	uint32 pages = 0;

	while (BlockNumberIsValid(block))
	{
		Buffer head = ReadBufferExtended(vacuum->index, MAIN_FORKNUM, list.head, RBM_NORMAL,
		                                 vacuum->info->strategy);
		Buffer buffer = head;
		const HybridListPage *content = hybrid_list_page(BufferGetPage(head));
		int i;

		vacuum_delay_point(false);
		LockBuffer(head, BUFFER_LOCK_EXCLUSIVE);
		if (!hybrid_page_belongs(BufferGetPage(head), HYBRID_PAGE_LIST, &list))
			ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
			                errmsg("index \"%s\" refers to block %u as a list, but it is not one",
			                       RelationGetRelationName(vacuum->index), list.head),
			                errhint("REINDEX it.")));
		if (content->state == HYBRID_LIST_MOVED)
		{
			for (i = 0; i < 2; i++)
			{
				/* a list that was replaced by a single list names that list twice */
				if (BlockNumberIsValid(content->forward[i].head) &&
				    (i == 0 || content->forward[1].head != content->forward[0].head))
					hybrid_links_add(visits, content->forward[i]);
			}
			UnlockReleaseBuffer(head);
			return false;
		}
		if (block != list.head)
		{
			buffer = ReadBufferExtended(vacuum->index, MAIN_FORKNUM, block, RBM_NORMAL,
			                            vacuum->info->strategy);
			LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
		}
		hybrid_list_page_check(vacuum->index, layout, BufferGetPage(buffer), block, 0);
		if (!vacuum->open.coded &&
		    block == *hybrid_list_first_with_space(hybrid_list_page(BufferGetPage(head))))
			vacuum->has_space = true;
		if (vacuum->callback != NULL)
			vacuum->stats->tuples_removed += mark_dead(vacuum, head, buffer);
		content = hybrid_list_page(BufferGetPage(buffer));
		vacuum->stats->num_index_tuples += content->live;
		used += content->used;
		live += content->live;
		block = content->next;
		if (buffer != head)
			UnlockReleaseBuffer(buffer);
		UnlockReleaseBuffer(head);
		hybrid_chain_step(vacuum->index, &list, &pages);
	}
	return vacuum->callback == NULL && live < used - used / 4;
}

/*
 * mark_dead: call the callback for every live entry of a locked page, and mark the entries that it
 * selects dead. Returns the number of entries marked.
 */
static int
mark_dead(VacuumState *vacuum, Buffer head, Buffer buffer)
{
	const HybridListLayout *shape = &vacuum->open.layout.leaf;
	Page page = BufferGetPage(buffer);
	int blocks = hybrid_list_blocks(page), died = 0, b;
	GenericXLogState *record = NULL;
	Page head_image = NULL, image = NULL;

	for (b = 0; b < blocks; b++)
	{
		const HybridBlock *block = hybrid_block(shape, page, b);
		uint32 mask = block->live, dead = 0;

		while (mask != 0)
		{
			int row = pg_rightmost_one_pos32(mask);
			ItemPointerData tid = block->tid[row];

			mask &= mask - 1;
			if (vacuum->callback(&tid, vacuum->callback_state))
				dead |= 1U << row;
		}
		if (dead == 0)
			continue;
		if (record == NULL)
		{
			record = GenericXLogStart(vacuum->index);
			head_image = GenericXLogRegisterBuffer(record, head, 0);
			image = head_image;
			if (buffer != head)
				image = GenericXLogRegisterBuffer(record, buffer, 0);
		}
		hybrid_block(shape, image, b)->live &= ~dead;
		died += pg_popcount32(dead);
	}
	if (record != NULL)
	{
		hybrid_list_page(image)->live -= died;
		hybrid_list_page(head_image)->total -= died;
		hybrid_list_page(head_image)->changes++;
		if (!vacuum->open.coded &&
		    (!vacuum->has_space ||
		     !BlockNumberIsValid(*hybrid_list_first_with_space(hybrid_list_page(head_image)))))
			*hybrid_list_first_with_space(hybrid_list_page(head_image)) =
				BufferGetBlockNumber(buffer);
		vacuum->has_space = true;
		GenericXLogFinish(record);
	}
	return died;
}
