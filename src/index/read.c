/*
 * read.c
 *		A way through all live entries of an index, in the order of its file.
 *
 * Index scans go it, and so does whoever reads a store through server/store.h.  No lock is held
 * between two calls.  A way that stopped within a group goes on at the next slot: live entries do
 * not move, and what was put into the slots passed meanwhile belongs to rows that the snapshot does
 * not see.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "index/index.h"

static int read_group(HybridStore *store, const HybridStoreRows *rows, int filled, int most);
static bool describe_store(Relation index, HybridStoreShape *shape);
static HybridStore *begin_store(Relation index, Snapshot snapshot);
static double share_of_store(const HybridStore *store);
static void end_store(HybridStore *store);

const HybridStoreMethods hybrid_store_methods = {.describe = describe_store,
                                                 .begin = begin_store,
                                                 .read = hybrid_store_read,
                                                 .share = share_of_store,
                                                 .end = end_store,
                                                 .probe = hybrid_probe_init,
                                                 .lost = hybrid_lost,
                                                 .cover = hybrid_loss_cover,
                                                 .lower_bound = hybrid_lower_bound};

void
hybrid_store_init(HybridStore *store, Relation index, Snapshot snapshot, const HybridLayout *layout)
{
	store->index = index;
	store->snapshot = snapshot;
	store->layout = *layout;
	store->strategy = NULL;
	if (RelationGetNumberOfBlocks(index) > (BlockNumber) NBuffers / 4)
		store->strategy = GetAccessStrategy(BAS_BULKREAD);
	hybrid_store_rewind(store);
}

void
hybrid_store_rewind(HybridStore *store)
{
	/* Rows that the snapshot sees were in the index before the snapshot was taken. */
	store->groups = hybrid_groups(&store->layout, RelationGetNumberOfBlocks(store->index));
	store->group = 0;
	store->slot = 0;
}

int
hybrid_store_read(HybridStore *store, const HybridStoreRows *rows, int most)
{
	int filled = 0;

	while (filled < most && store->group < store->groups)
	{
		CHECK_FOR_INTERRUPTS();
		filled = read_group(store, rows, filled, most);
	}
	return filled;
}

/* read_group: the group's live entries from store->slot on; returns how many are there then. */
static int
read_group(HybridStore *store, const HybridStoreRows *rows, int filled, int most)
{
	const HybridLayout *layout = &store->layout;
	BlockNumber head = hybrid_group_head(layout, store->group);
	Buffer buffer =
		ReadBufferExtended(store->index, MAIN_FORKNUM, head, RBM_NORMAL, store->strategy);
	Page page = BufferGetPage(buffer);
	int count = 0;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	if (!PageIsNew(page))
	{
		TestForOldSnapshot(store->snapshot, store->index, page);
		hybrid_page_check(store->index, layout, page, head, HYBRID_PAGE_HEAD);
		count = hybrid_special(page)->count;
	}
	while (store->slot < count && filled < most)
	{
		int i = store->slot++;
		const HybridSlot *slot = hybrid_slot(page, i);

		if ((slot->flags & HYBRID_SLOT_LIVE) == 0)
			continue;
		hybrid_copy_vector(store->index, layout, page, head, i,
		                   rows->vectors + filled * layout->stride, store->strategy);
		if (rows->norms != NULL)
			rows->norms[filled] = slot->norm;
		if (rows->residuals != NULL)
			rows->residuals[filled] = slot->residual;
		if (rows->positions != NULL)
			rows->positions[filled] = hybrid_position(&slot->tid);
		filled++;
	}
	if (store->slot >= count)
	{
		store->group++;
		store->slot = 0;
	}
	UnlockReleaseBuffer(buffer);
	return filled;
}

static bool
describe_store(Relation index, HybridStoreShape *shape)
{
	HybridIndex open;

	/* by its routine, as in hybrid_open_index */
	if (index->rd_rel->relkind != RELKIND_INDEX || index->rd_indam->ambuild != hybridbuild)
		return false;
	open = hybrid_index_open(index);
	shape->metric = open.metric;
	shape->dtype = open.layout.dtype;
	shape->dims = open.layout.dims;
	shape->stride = open.layout.stride;
	shape->places = (int64) hybrid_groups(&open.layout, RelationGetNumberOfBlocks(index)) *
	                open.layout.capacity;
	return true;
}

static HybridStore *
begin_store(Relation index, Snapshot snapshot)
{
	HybridIndex open = hybrid_index_open(index);
	HybridStore *store = palloc(sizeof(HybridStore));

	/* An entry is copied without a pin while its row may be removed and the place reused. */
	if (!IsMVCCSnapshot(snapshot))
		elog(ERROR, "non-MVCC snapshots are not supported with access method hybrid");
	PredicateLockRelation(index, snapshot);
	pgstat_count_index_scan(index);
	hybrid_store_init(store, index, snapshot, &open.layout);
	return store;
}

static double
share_of_store(const HybridStore *store)
{
	return store->groups > 0 ? (double) store->group / store->groups : 1;
}

static void
end_store(HybridStore *store)
{
	if (store->strategy != NULL)
		FreeAccessStrategy(store->strategy);
	pfree(store);
}
