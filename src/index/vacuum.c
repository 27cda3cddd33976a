/*
 * vacuum.c
 *		Marks the slots of removed rows dead, and tells the free space map where there is room.
 *
 * One pass over the heads, in file order; entries never move, so nothing is met twice or missed
 * whatever is inserted meanwhile.  See README.md.
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "commands/vacuum.h"
#include "storage/bufmgr.h"
#include "storage/freespace.h"
#include "storage/indexfsm.h"
#include "utils/rel.h"

#include "index/index.h"

static void vacuum_pass(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
                        IndexBulkDeleteCallback callback, void *state);
static int mark_dead(Relation index, Buffer buffer, IndexBulkDeleteCallback callback, void *state);

IndexBulkDeleteResult *
hybridbulkdelete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
                 IndexBulkDeleteCallback callback, void *state)
{
	if (stats == NULL)
		stats = palloc0(sizeof(IndexBulkDeleteResult));
	vacuum_pass(info, stats, callback, state);
	return stats;
}

IndexBulkDeleteResult *
hybridvacuumcleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats)
{
	if (info->analyze_only)
		return stats;
	/* Nothing was deleted: the pass still finds what a crash left unused. */
	if (stats == NULL)
	{
		stats = palloc0(sizeof(IndexBulkDeleteResult));
		vacuum_pass(info, stats, NULL, NULL);
	}
	IndexFreeSpaceMapVacuum(info->index);
	return stats;
}

static void
vacuum_pass(IndexVacuumInfo *info, IndexBulkDeleteResult *stats, IndexBulkDeleteCallback callback,
            void *state)
{
	Relation index = info->index;
	HybridIndex open = hybrid_index_open(index);
	const HybridLayout *layout = &open.layout;
	BlockNumber blocks = RelationGetNumberOfBlocks(index);
	BlockNumber groups = hybrid_groups(layout, blocks);
	BlockNumber group;

	stats->num_pages = blocks;
	stats->num_index_tuples = 0;
	stats->pages_free = 0;
	stats->estimated_count = false;

	for (group = 0; group < groups; group++)
	{
		BlockNumber head = hybrid_group_head(layout, group);
		Buffer buffer;
		Page page;
		int live = 0;

		vacuum_delay_point();
		buffer = ReadBufferExtended(index, MAIN_FORKNUM, head, RBM_NORMAL, info->strategy);
		LockBuffer(buffer, callback != NULL ? BUFFER_LOCK_EXCLUSIVE : BUFFER_LOCK_SHARE);
		page = BufferGetPage(buffer);
		if (!PageIsNew(page))
		{
			hybrid_page_check(index, layout, page, head, HYBRID_PAGE_HEAD);
			if (callback != NULL)
				stats->tuples_removed += mark_dead(index, buffer, callback, state);
			live = hybrid_special(page)->count - hybrid_special(page)->dead;
		}
		UnlockReleaseBuffer(buffer);

		stats->num_index_tuples += live;
		if (live == 0)
			stats->pages_free += layout->span;
		RecordPageWithFreeSpace(index, head, live < layout->capacity ? HYBRID_FSM_ROOM : 0);
	}
}

/* mark_dead: asks the callback about every live slot; returns how many died. */
static int
mark_dead(Relation index, Buffer buffer, IndexBulkDeleteCallback callback, void *state)
{
	Page page = BufferGetPage(buffer);
	int count = hybrid_special(page)->count;
	uint16 *dead = palloc(count * sizeof(uint16));
	int n = 0, i;

	for (i = 0; i < count; i++)
	{
		HybridSlot *slot = hybrid_slot(page, i);

		if ((slot->flags & HYBRID_SLOT_LIVE) != 0 && callback(&slot->tid, state))
			dead[n++] = (uint16) i;
	}
	if (n > 0)
	{
		GenericXLogState *xlog = GenericXLogStart(index);

		page = GenericXLogRegisterBuffer(xlog, buffer, 0);
		for (i = 0; i < n; i++)
			hybrid_slot(page, dead[i])->flags &= ~HYBRID_SLOT_LIVE;
		hybrid_special(page)->dead += (uint16) n;
		GenericXLogFinish(xlog);
	}
	pfree(dead);
	return n;
}
