/*
 * inner.c
 *		Cache of inner lists in the memory of a backend.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "server/compat.h"
#include "core/distance.h"
#include "server/memory.h"

#include "index/tree/inner.h"
#include "index/tree/tree.h"

/* bytes of the cache above which lists that no search uses are dropped */
#define MEMORY_MOST (32 * 1024 * 1024)
/* bytes of the cache above which no more centroids are kept */
#define CENTROIDS_MOST (16 * 1024 * 1024)
#define LENGTHS 32 /* maximum number of lists that hybrid_inner_row_length samples */

/* Key: identity of a list. It includes the index's OID, because invalidations name the relation, not its file. */
typedef struct Key
{
	Oid index;
	Oid file;
	BlockNumber head;
	uint32 generation;
} Key;

/* Remembered: a cached inner list. */
typedef struct Remembered
{
	HybridInner inner; /* must be first: callers get a pointer to it */
	MemoryContext context;
	Key key;
	uint64 changes;   /* change counter of the list when it was read */
	int pins;         /* number of sets that have the list */
	bool current;     /* the list is in the hash table */
	float row_length; /* see hybrid_inner_row_length; 0: not computed yet */
} Remembered;

/* Slot: an entry of the hash table. */
typedef struct Slot
{
	Key key;
	Remembered *list;
} Slot;

/* Entries: state while a list is read. */
typedef struct Entries
{
	Remembered *list;
	int allocated;
	const HybridScorer *scorer;
	int level;
	uint8 *bits;
} Entries;

static HTAB *table = NULL;
static Size memory = 0;

static const void *read_centroid(HybridScorer *scorer, const HybridInner *inner, int level,
                                 int entry, HybridStored *stored);
static void end_set(void *arg);
static void make_table(void);
static Remembered *read_list(const HybridScorer *scorer, const HybridLink *link, int level);
static void add_page(Entries *entries, Page page, BlockNumber block);
static void grow(Entries *entries);
static void forget(Slot *slot);
static void forget_unused(void);
static void release(Remembered *list);
static void relation_changed(Datum arg, Oid relation);

void
hybrid_inner_set_init(HybridInnerSet *set, MemoryContext context)
{
	memset(set, 0, sizeof(*set));
	set->context = context;
	set->end.func = end_set;
	set->end.arg = set;
	MemoryContextRegisterResetCallback(context, &set->end);
}

const HybridInner *
hybrid_inner_set_add(HybridInnerSet *set, const HybridScorer *scorer, const HybridLink *list,
                     int level)
{
	Relation index = scorer->index;
	Remembered *found = NULL;
	Slot *slot;
	Key key;

	memset(&key, 0, sizeof(key));
	key.index = RelationGetRelid(index);
	key.file = index->rd_locator.relNumber;
	key.head = list->head;
	key.generation = list->generation;
	if (table == NULL)
		make_table();
	slot = hash_search(table, &key, HASH_FIND, NULL);
	if (slot != NULL)
	{
		/* if the counter has not changed, the cached copy is up to date */
		if (slot->list->changes ==
		    hybrid_list_changes(index, &scorer->open.layout, list, level, scorer->snapshot))
			found = slot->list;
		/* an invalidation may have dropped the entry while the counter was read */
		else if ((slot = hash_search(table, &key, HASH_FIND, NULL)) != NULL)
			forget(slot);
	}
	if (found == NULL)
	{
		if (memory > MEMORY_MOST)
			forget_unused();
		found = read_list(scorer, list, level);
		found->key = key;
		slot = hash_search(table, &key, HASH_ENTER, NULL);
		slot->list = found;
		found->current = true;
		memory += MemoryContextMemAllocated(found->context, true);
		MemoryContextSetParent(found->context, TopMemoryContext);
	}
	if (set->count == set->allocated)
	{
		set->allocated = Max(16, set->allocated * 2);
		set->items = hybrid_enlarge(set->context, set->items, set->allocated * sizeof(*set->items));
	}
	found->pins++;
	set->items[set->count++] = &found->inner;
	return &found->inner;
}

void
hybrid_inner_set_clear(HybridInnerSet *set)
{
	while (set->count > 0)
	{
		Remembered *list = (Remembered *) unconstify(HybridInner *, set->items[--set->count]);

		Assert(list->pins > 0);
		list->pins--;
		release(list);
	}
}

void
hybrid_inner_score(HybridScorer *scorer, const HybridInner *inner, const HybridReach *reach,
                   float eps, float *estimates, float *lowers)
{
	const HybridLayout *layout = &scorer->open.layout;
	HyCodeLimits limits = {reach->base, reach->reach, eps, INFINITY, 0};
	int most = Max(layout->inner.rows, layout->leaf.rows) / HY_CODE_ROWS, b;

	for (b = 0; b < inner->blocks; b += most)
	{
		HyCodeBlocks blocks;

		blocks.codes = inner->codes + b * layout->code_bytes;
		blocks.code_stride = layout->code_bytes;
		blocks.factors = inner->factors + b;
		blocks.factor_stride = sizeof(HyCodeFactors);
		blocks.count = Min(most, inner->blocks - b);
		blocks.next = NULL;
		hy_code_score(&scorer->query, &blocks, &limits,
		              estimates != NULL ? estimates + b * HY_CODE_ROWS : scorer->estimates,
		              lowers + b * HY_CODE_ROWS, scorer->masks);
	}
}

HybridReach
hybrid_inner_reach(HybridScorer *scorer, const HybridInner *inner, int level, int entry,
                   float *copy)
{
	HybridStored stored;
	const void *vector = read_centroid(scorer, inner, level, entry, &stored);

	return hybrid_scorer_reach(scorer, &stored, vector, copy);
}

float
hybrid_inner_row_length(HybridScorer *scorer, const HybridInner *inner, int level)
{
	Remembered *list = (Remembered *) unconstify(HybridInner *, inner);
	const HybridLayout *layout = &scorer->open.layout;
	const float *center = scorer->frame.center;
	int dims = layout->dims, step = inner->count / LENGTHS + 1, i, lists = 0;
	float center_norm = center != NULL ? hy_norm_sq(HY_F32, center, dims) : 0;
	double squares = 0;

	if (list->row_length > 0 || inner->count == 0)
		return list->row_length;
	for (i = 0; i < inner->count; i += step)
	{
		HybridStored stored;
		HyDtype dtype;
		const void *vector = read_centroid(scorer, inner, level, i, &stored), *view;

		view = hybrid_stored_view(layout->inner.storage, &stored, vector, dims, scorer->widened,
		                          &dtype);
		squares += hy_norm_sq(dtype, view, dims) + inner->radii[i] * inner->radii[i];
		if (center != NULL)
			squares += center_norm - 2 * hy_distance_to(HY_METRIC_IP, center, dtype, view, dims);
		lists++;
	}
	list->row_length = (float) sqrt(squares / lists);
	return list->row_length;
}

/* read_centroid: return the stored centroid of an entry of an inner list, in the cache or in scorer->vector. */
static const void *
read_centroid(HybridScorer *scorer, const HybridInner *inner, int level, int entry,
              HybridStored *stored)
{
	bool keeps = inner->centroids != NULL;
	void *vector = keeps ? inner->centroids + entry * scorer->open.layout.inner.stride
	                     : (char *) scorer->vector;

	if (keeps && inner->kept[entry])
		*stored = inner->stored[entry];
	else
		hybrid_scorer_read(scorer, &inner->link, level, inner->at[entry], stored, vector);
	if (keeps && !inner->kept[entry])
	{
		inner->stored[entry] = *stored;
		inner->kept[entry] = true;
	}
	return vector;
}

static void
end_set(void *arg)
{
	hybrid_inner_set_clear((HybridInnerSet *) arg);
}

static void
make_table(void)
{
	HASHCTL control;

	memset(&control, 0, sizeof(control));
	control.keysize = sizeof(Key);
	control.entrysize = sizeof(Slot);
	control.hcxt = TopMemoryContext;
	table = hash_create("inner lists of hybrid indexes", 64, &control,
	                    HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	CacheRegisterRelcacheCallback(relation_changed, (Datum) 0);
}

/*
 * read_list: read all pages of a list into a memory context below the current one. If the list changes
 * while it is read, it is read again.
 */
static Remembered *
read_list(const HybridScorer *scorer, const HybridLink *link, int level)
{
	const HybridLayout *layout = &scorer->open.layout;
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid inner list", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Entries entries;

	memset(&entries, 0, sizeof(entries));
	entries.scorer = scorer;
	entries.level = level;
	entries.bits = palloc(hy_code_bits_size(layout->padded));
	entries.list = palloc0(sizeof(Remembered));
	entries.list->context = context;
	entries.list->inner.link = *link;
	for (;;)
	{
		BlockNumber block = link->head;
		uint32 pages = 0;

		entries.list->inner.count = 0;
		entries.list->inner.blocks = 0;
		do
		{
			Buffer buffer = hybrid_list_read(scorer->index, layout, link, level, block, NULL);
			Page page = BufferGetPage(buffer);

			TestForOldSnapshot(scorer->snapshot, scorer->index, page);
			if (block == link->head)
				entries.list->changes = hybrid_list_page(page)->changes;
			add_page(&entries, page, block);
			block = hybrid_list_page(page)->next;
			UnlockReleaseBuffer(buffer);
			hybrid_chain_step(scorer->index, link, &pages);
		} while (BlockNumberIsValid(block));
		if (pages == 1 || hybrid_list_changes(scorer->index, layout, link, level,
		                                      scorer->snapshot) == entries.list->changes)
			break;
		CHECK_FOR_INTERRUPTS();
	}
	if (memory < CENTROIDS_MOST && layout->inner.span == 1)
	{
		HybridInner *inner = &entries.list->inner;

		/* the operating system provides the memory of a centroid only when the centroid is stored */
		inner->stored = palloc(inner->count * sizeof(HybridStored));
		inner->kept = palloc0(inner->count * sizeof(bool));
		inner->centroids = MemoryContextAllocHuge(context, inner->count * layout->inner.stride);
	}
	MemoryContextSwitchTo(old);
	return entries.list;
}

/* add_page: add the live entries of a locked list page. */
static void
add_page(Entries *entries, Page page, BlockNumber block)
{
	const HybridScorer *scorer = entries->scorer;
	const HybridLayout *layout = &scorer->open.layout;
	HybridInner *inner = &entries->list->inner;
	uint8 *codes = NULL;
	int slot, i;

	if (layout->inner.code_pages > 0)
	{
		codes = palloc(layout->code_bytes);
		for (i = 0; i < layout->inner.code_pages; i++)
		{
			Buffer buffer = hybrid_part_read(scorer->index, &inner->link, HYBRID_PAGE_CODES,
			                                 hybrid_directory(page)[i], NULL);
			Size begin, length;

			hybrid_codes_range(layout, i, &begin, &length);
			memcpy(codes + begin, PageGetContents(BufferGetPage(buffer)), length);
			UnlockReleaseBuffer(buffer);
		}
	}
	for (slot = 0; slot < hybrid_list_page(page)->used; slot++)
	{
		HybridBlock *from = hybrid_block(&layout->inner, page, slot / HY_CODE_ROWS);
		int row = slot % HY_CODE_ROWS, to = inner->count;
		HyCode code;

		if ((from->live & (1U << row)) == 0)
			continue;
		if (to == entries->allocated)
			grow(entries);
		hy_code_get(codes != NULL ? codes : hybrid_block_codes(&layout->inner, from),
		            &from->factors, layout->padded, row, entries->bits, &code);
		hy_code_put(inner->codes + to / HY_CODE_ROWS * layout->code_bytes,
		            &inner->factors[to / HY_CODE_ROWS], layout->padded, to % HY_CODE_ROWS,
		            entries->bits, &code);
		inner->radii[to] = hybrid_block_radii(from)[row];
		inner->rows[to] = hybrid_radius_rows(inner->radii[to]);
		inner->below[to] = hybrid_tid_link(&from->tid[row]);
		if (layout->bounds > 0)
			hybrid_bounds_get(layout, (HybridSlot){page, entries->level, slot}, &inner->bounds[to]);
		inner->at[to] = hybrid_scorer_position(scorer, page, block, entries->level, slot);
		inner->count = to + 1;
		inner->blocks = to / HY_CODE_ROWS + 1;
	}
	if (codes != NULL)
		pfree(codes);
}

/* grow: double the space for entries, in whole blocks. */
static void
grow(Entries *entries)
{
	HybridInner *inner = &entries->list->inner, old = *inner;
	Size block = entries->scorer->open.layout.code_bytes;
	int had = entries->allocated, rows = Max(had * 2, 4 * HY_CODE_ROWS);
	MemoryContext context = entries->list->context;

	inner->codes = MemoryContextAllocHuge(context, rows / HY_CODE_ROWS * block);
	memset(inner->codes, 0, rows / HY_CODE_ROWS * block);
	inner->factors = MemoryContextAllocZero(context, rows / HY_CODE_ROWS * sizeof(HyCodeFactors));
	inner->radii = MemoryContextAllocZero(context, rows * sizeof(float));
	inner->rows = MemoryContextAllocZero(context, rows * sizeof(float));
	inner->below = MemoryContextAlloc(context, rows * sizeof(HybridLink));
	if (entries->scorer->open.layout.bounds > 0)
		inner->bounds = MemoryContextAlloc(context, rows * sizeof(HybridBounds));
	inner->at = MemoryContextAlloc(context, rows * sizeof(HybridVectorPosition));
	entries->allocated = rows;
	if (had == 0)
		return;
	memcpy(inner->codes, old.codes, had / HY_CODE_ROWS * block);
	memcpy(inner->factors, old.factors, had / HY_CODE_ROWS * sizeof(HyCodeFactors));
	memcpy(inner->radii, old.radii, had * sizeof(float));
	memcpy(inner->rows, old.rows, had * sizeof(float));
	memcpy(inner->below, old.below, had * sizeof(HybridLink));
	memcpy(inner->at, old.at, had * sizeof(HybridVectorPosition));
	if (old.bounds != NULL)
	{
		memcpy(inner->bounds, old.bounds, had * sizeof(HybridBounds));
		pfree(old.bounds);
	}
	pfree(old.codes);
	pfree(old.factors);
	pfree(old.radii);
	pfree(old.rows);
	pfree(old.below);
	pfree(old.at);
}

/* forget: remove a list from the table. Its memory is freed when no set has the list any more. */
static void
forget(Slot *slot)
{
	Remembered *list = slot->list;
	Key key = slot->key;

	list->current = false;
	memory -= MemoryContextMemAllocated(list->context, true);
	(void) hash_search(table, &key, HASH_REMOVE, NULL);
	release(list);
}

static void
forget_unused(void)
{
	HASH_SEQ_STATUS all;
	Slot *slot;

	hash_seq_init(&all, table);
	while ((slot = hash_seq_search(&all)) != NULL)
	{
		if (slot->list->pins == 0)
			forget(slot);
	}
}

static void
release(Remembered *list)
{
	if (list->pins == 0 && !list->current)
		MemoryContextDelete(list->context);
}

/*
 * relation_changed: drop the cached lists of an index. The index may be gone, and its file number may be
 * reused.
 */
static void
relation_changed(Datum arg, Oid relation)
{
	HASH_SEQ_STATUS all;
	Slot *slot;

	(void) arg;
	hash_seq_init(&all, table);
	while ((slot = hash_seq_search(&all)) != NULL)
	{
		if (!OidIsValid(relation) || slot->key.index == relation)
			forget(slot);
	}
}
