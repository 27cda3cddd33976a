/*
 * read.c
 *		Read all live entries of an index, list by list.
 *
 * Exact scans and callers of server/store.h read this way. The lists are those of the tree at the start of
 * the read. No lock is held between two calls. A read that stopped within a page continues at the next
 * slot, because entries do not move. If an entry was put into a slot that has already been read, it belongs
 * to a row that the snapshot does not see.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "core/distance.h"
#include "server/compat.h"
#include "server/position.h"

#include "index/tree/read.h"
#include "index/tree/tree.h"
#include "index/page/distance_bound.h"

static HyDtype dtype_of(const HybridLayout *layout);
static Size stride_of(const HybridLayout *layout);
static void yield_vector(HybridStore *store, const HybridStored *stored, char *out, float *norm,
                         float *residual);
static bool describe_store(Relation index, HybridStoreShape *shape);
static HybridStore *begin_store(Relation index, Snapshot snapshot);
static double share_of_store(const HybridStore *store);
static void end_store(HybridStore *store);

const HybridStoreMethods hybrid_store_methods = {.describe = describe_store,
                                                 .begin = begin_store,
                                                 .read = hybrid_store_read,
                                                 .unit = hybrid_store_unit,
                                                 .again = hybrid_store_again,
                                                 .unchanged = hybrid_store_unchanged,
                                                 .pass = hybrid_store_pass,
                                                 .share = share_of_store,
                                                 .end = end_store,
                                                 .probe = hybrid_probe_init,
                                                 .lost = hybrid_lost,
                                                 .cover = hybrid_loss_cover,
                                                 .lower_bound = hybrid_lower_bound};

void
hybrid_store_init(HybridStore *store, Relation index, Snapshot snapshot, const HybridIndex *open)
{
	memset(store, 0, sizeof(*store));
	store->index = index;
	store->snapshot = snapshot;
	store->open = *open;
	store->context = CurrentMemoryContext;
	store->dtype = dtype_of(&open->layout);
	store->stride = stride_of(&open->layout);
	if (RelationGetNumberOfBlocks(index) > (BlockNumber) NBuffers / 4)
		store->strategy = GetAccessStrategy(BAS_BULKREAD);
	store->vector = palloc(open->layout.leaf.stride);
	store->widened = palloc(open->layout.floats * sizeof(float));
}

void
hybrid_store_rewind(HybridStore *store)
{
	MemoryContext old = MemoryContextSwitchTo(store->context);
	HybridTree tree;

	/* The current tree has all rows that the snapshot sees: they were in the index before the snapshot was taken. */
	hybrid_tree_read(store->index, &tree);
	if (store->lists != NULL)
		pfree(store->lists);
	store->lists = hybrid_tree_leaves(store->index, &store->open, &tree, store->snapshot,
	                                  store->conditions, store->conditions_count, &store->count);
	store->stop = store->count;
	store->list = 0;
	store->block = store->count > 0 ? store->lists[0].head : InvalidBlockNumber;
	store->slot = 0;
	store->pages = 0;
	store->least = PG_INT64_MIN;
	store->most = PG_INT64_MAX;
	store->excluded = 0;
	MemoryContextSwitchTo(old);
}

int
hybrid_store_read(HybridStore *store, const HybridStoreRows *rows, int most)
{
	int filled = 0;

	while (filled < most && store->list < store->stop)
	{
		CHECK_FOR_INTERRUPTS();
		filled = hybrid_store_read_page(store, rows, filled, most);
	}
	return filled;
}

int
hybrid_store_read_page(HybridStore *store, const HybridStoreRows *rows, int filled, int most)
{
	const HybridLayout *layout = &store->open.layout;
	const HybridListLayout *shape = &layout->leaf;
	Buffer buffer = hybrid_list_read(store->index, layout, &store->lists[store->list], 0,
	                                 store->block, store->strategy);
	Page page = BufferGetPage(buffer);
	const HybridListPage *content = hybrid_list_page(page);
	uint32 wanted = PG_UINT32_MAX;
	BlockNumber next;
	int judged = -1; /* block that `wanted` is for */
	bool done;

	TestForOldSnapshot(store->snapshot, store->index, page);
	while (store->slot < content->used && filled < most)
	{
		int i = store->slot++;
		HybridBlock *block = hybrid_block(shape, page, i / HY_CODE_ROWS);
		HybridStored stored;
		float norm, residual;
		int64 position;

		if ((block->live & (1U << i % HY_CODE_ROWS)) == 0)
			continue;
		if (store->conditions_count > 0 && judged != i / HY_CODE_ROWS)
		{
			wanted = hy_words_mask(store->conditions, store->conditions_count,
			                       hybrid_block_words(block), block->live);
			judged = i / HY_CODE_ROWS;
		}
		if ((wanted & (1U << i % HY_CODE_ROWS)) == 0)
		{
			store->excluded++;
			continue;
		}
		position = hybrid_position(&block->tid[i % HY_CODE_ROWS]);
		if (position < store->least || position > store->most)
			continue;
		if (rows->positions != NULL)
			rows->positions[filled] = position;
		if (rows->vectors == NULL)
		{
			filled++;
			continue;
		}
		hybrid_vector_read(store->index, layout, (HybridSlot){page, 0, i}, &stored, store->vector,
		                   store->strategy);
		yield_vector(store, &stored, rows->vectors + filled * store->stride, &norm, &residual);
		if (rows->norms != NULL)
			rows->norms[filled] = norm;
		if (rows->residuals != NULL)
			rows->residuals[filled] = residual;
		filled++;
	}
	done = store->slot >= content->used;
	next = content->next;
	UnlockReleaseBuffer(buffer);
	if (done)
		hybrid_store_pass_page(store, next);
	return filled;
}

void
hybrid_store_pass_page(HybridStore *store, BlockNumber next)
{
	store->slot = 0;
	store->block = next;
	if (BlockNumberIsValid(next))
	{
		hybrid_chain_step(store->index, &store->lists[store->list], &store->pages);
		return;
	}
	store->pages = 0;
	if (++store->list < store->count)
		store->block = store->lists[store->list].head;
}

bool
hybrid_store_read_slot(HybridStore *store, const HybridLink *list, BlockNumber block, int slot)
{
	const HybridLayout *layout = &store->open.layout;
	Buffer buffer = hybrid_list_read(store->index, layout, list, 0, block, NULL);
	Page page = BufferGetPage(buffer);
	HybridStored stored;
	bool live = slot < hybrid_list_page(page)->used &&
	            (hybrid_block(&layout->leaf, page, slot / HY_CODE_ROWS)->live &
	             (1U << slot % HY_CODE_ROWS)) != 0;

	TestForOldSnapshot(store->snapshot, store->index, page);
	if (live)
		hybrid_vector_read(store->index, layout, (HybridSlot){page, 0, slot}, &stored,
		                   store->vector, NULL);
	UnlockReleaseBuffer(buffer);
	return live;
}

/* dtype_of: return the element type of the vectors that readers get. Valid for dense types only. */
static HyDtype
dtype_of(const HybridLayout *layout)
{
	return layout->leaf.storage == HYBRID_FLOAT16 ? HY_F16 : HY_F32;
}

/* stride_of: return the maximum number of bytes of a value in the form that readers get. */
static Size
stride_of(const HybridLayout *layout)
{
	if (!hybrid_storage_is_dense(layout->leaf.storage))
		return layout->leaf.stride;
	return layout->dims * hy_dtype_size(dtype_of(layout));
}

/* yield_vector: convert store->vector to the element type that readers get, and set its norm and residual. */
static void
yield_vector(HybridStore *store, const HybridStored *stored, char *out, float *norm,
             float *residual)
{
	const HybridLayout *layout = &store->open.layout;
	int dims = layout->dims, i;
	double sum = 0;

	*norm = stored->norm;
	*residual = stored->residual;
	if (layout->packed)
	{
		memcpy(out, store->vector, hybrid_stored_bytes(layout->leaf.storage, dims, store->vector));
		return;
	}
	if (!hybrid_storage_is_dense(layout->leaf.storage) || layout->leaf.storage == HYBRID_FLOAT32 ||
	    (layout->leaf.storage == HYBRID_FLOAT16 && stored->scale == 1))
	{
		memcpy(out, store->vector, store->stride);
		return;
	}
	hybrid_widen_vector(layout->leaf.storage, stored, store->vector, dims, store->widened);
	if (store->dtype == HY_F32)
	{
		memcpy(out, store->widened, store->stride);
		return;
	}
	/* converting to binary16 without a scale adds a rounding error to the row's residual */
	for (i = 0; i < dims; i++)
	{
		uint16 half = hy_float_to_half(fmaxf(fminf(store->widened[i], 65504.0f), -65504.0f));
		double lost = (double) store->widened[i] - (double) hy_half_to_float(half);

		memcpy(out + i * sizeof(half), &half, sizeof(half));
		sum += lost * lost;
	}
	*norm = hy_norm_sq(HY_F16, out, dims);
	*residual = nextafterf((float) ((sqrt(sum) + *residual) * (1 + 1e-6)), INFINITY);
}

static bool
describe_store(Relation index, HybridStoreShape *shape)
{
	const HybridListLayout *leaf;
	HybridIndex open;

	if (index->rd_rel->relkind != RELKIND_INDEX || !hybrid_is_our_index(index))
		return false;
	open = hybrid_index_open(index);
	leaf = &open.layout.leaf;
	if (!open.opclass->type->dense || open.opclass->many)
		return false;
	shape->metric = open.metric;
	shape->dtype = dtype_of(&open.layout);
	shape->dims = open.layout.dims;
	shape->stride = stride_of(&open.layout);
	shape->lossless = open.lossless;
	shape->keys = open.keys;
	/* besides each list page, the file has the list page's pages of codes and vectors */
	shape->places = (int64) RelationGetNumberOfBlocks(index) * leaf->rows /
	                (1 + leaf->code_pages + leaf->vector_pages);
	return true;
}

static HybridStore *
begin_store(Relation index, Snapshot snapshot)
{
	HybridIndex open = hybrid_index_open(index);
	HybridStore *store = palloc(sizeof(HybridStore));

	/* Entries are copied and not pinned. Before the caller uses them, a row may be removed and its TID reused. */
	if (!IsMVCCSnapshot(snapshot))
		elog(ERROR, "non-MVCC snapshots are not supported with access method hybrid");
	PredicateLockRelation(index, snapshot);
	pgstat_count_index_scan(index);
	hybrid_store_init(store, index, snapshot, &open);
	hybrid_store_rewind(store);
	return store;
}

static double
share_of_store(const HybridStore *store)
{
	return store->count > 0 ? (double) store->list / store->count : 1;
}

static void
end_store(HybridStore *store)
{
	if (store->strategy != NULL)
		FreeAccessStrategy(store->strategy);
	pfree(store->lists);
	pfree(store->vector);
	pfree(store->widened);
	pfree(store);
}
