/*
 * copy.c
 *		Copies of lists: the live entries of one or more lists become one or two new lists.
 *
 * The copies are written with WAL, on pages that no reader can reach yet. link.c and split.c make
 * them visible.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "core/kmeans.h"
#include "server/memory.h"
#include "server/report.h"

#include "index/write/copy.h"
#include "index/tree/free_pages.h"
#include "index/tree/tree.h"

#define SHARE 0.0625 /* minimum share of the entries for each of two copies */
#define SPLIT_SEED 1

static bool make_room(Relation index, const HybridIndex *open, const HybridLink *lists, int count,
                      int level, HybridContents *contents, Size *room);
static void load_page(Relation index, const HybridIndex *open, const HybridFrame *frame, Page page,
                      int level, HybridContents *contents, Size room);
static bool split_by_key(const HybridIndex *open, const HybridContents *contents, uint8 *side);
static int compare_bounds(const void *a, const void *b);
static HybridBounds bounds_of(const HybridLayout *layout, const HybridContents *contents, int i);
static void bound_copy(HybridCopy *copy);
static void
mean_of(const HybridContents *contents, const uint8 *side, int which, int dims, float *mean);
static void next_entry(void *arg, HybridNewEntry *entry);

bool
hybrid_copy_load(Relation index, const HybridIndex *open, const HybridFrame *frame,
                 const HybridLink *lists, int count, int level, HybridContents *contents)
{
	Size room;
	int i;

	if (!make_room(index, open, lists, count, level, contents, &room))
		return false;
	for (i = 0; i < count; i++)
	{
		BlockNumber block = lists[i].head;
		uint32 pages = 0;

		while (BlockNumberIsValid(block))
		{
			Buffer buffer = hybrid_list_read(index, &open->layout, &lists[i], level, block, NULL);

			load_page(index, open, frame, BufferGetPage(buffer), level, contents, room);
			block = hybrid_list_page(BufferGetPage(buffer))->next;
			UnlockReleaseBuffer(buffer);
			hybrid_chain_step(index, &lists[i], &pages);
		}
	}
	return true;
}

float *
hybrid_copy_center(const HybridIndex *open, HybridContents *contents)
{
	int dims = open->layout.dims, i, j;
	float *center = palloc(dims * sizeof(float));

	mean_of(contents, NULL, 0, dims, center);
	for (i = 0; i < contents->count; i++)
	{
		for (j = 0; j < dims; j++)
			contents->places[(Size) i * dims + j] -= center[j];
	}
	return center;
}

void
hybrid_copy_distribute(const HybridIndex *open, const HybridContents *contents, int into,
                       HybridCopy *copies)
{
	int dims = open->layout.dims, i;
	float *centroids = palloc(HYBRID_COPIES * dims * sizeof(float));
	uint8 *side = palloc(Max(contents->count, 1));
	HyAllocator allocator = hybrid_allocator(CurrentMemoryContext);
	HyMatrix rows;

	memset(&rows, 0, sizeof(rows));
	rows.dtype = HY_F32;
	rows.dims = dims;
	rows.rows = contents->count;
	rows.stride = dims * sizeof(float);
	rows.data = contents->places;
	memset(side, 0, contents->count);
	if (into == 1 || split_by_key(open, contents, side))
	{
		for (i = 0; i < into; i++)
			mean_of(contents, side, i, dims, centroids + i * dims);
	}
	else
		hybrid_check(
			hy_kmeans_split(&rows, SHARE, SPLIT_SEED, &allocator, &hybrid_cancel, centroids, side),
			"split a list");
	for (i = 0; i < into; i++)
	{
		int *order = palloc(Max(contents->count, 1) * sizeof(int)), count = 0, j;

		for (j = 0; j < contents->count; j++)
		{
			if (side[j] == i)
				order[count++] = j;
		}
		hybrid_copy_make(open, contents, order, count, centroids + i * dims, &copies[i]);
	}
}

void
hybrid_copy_make(const HybridIndex *open, const HybridContents *contents, int *order, int count,
                 const float *centroid, HybridCopy *copy)
{
	const HybridLayout *layout = &open->layout;

	memset(copy, 0, sizeof(*copy));
	copy->contents = contents;
	copy->layout = layout;
	copy->order = order;
	copy->count = count;
	copy->place = palloc(layout->dims * sizeof(float));
	copy->vector = palloc(layout->inner.carried);
	if (layout->bounds > 0)
		bound_copy(copy);
	hybrid_store_vector(layout->inner.storage, centroid, layout->dims, copy->vector, &copy->stored);
	hybrid_widen_vector(layout->inner.storage, &copy->stored, copy->vector, layout->dims,
	                    copy->place);
}

void
hybrid_copy_write(HybridSink *sink, HybridFrame *frame, int level, HybridCopy *copy, bool central)
{
	HybridNewEntries entries = {copy->count, next_entry, copy};

	copy->link =
		hybrid_new_list(frame, sink, level, central ? NULL : copy->place, &entries, &copy->radius);
}

HybridReplacement
hybrid_copy_part(const HybridCopy *copy)
{
	HybridReplacement part;

	part.link = copy->link;
	part.stored = &copy->stored;
	part.vector = copy->vector;
	part.place = copy->place;
	part.radius = copy->radius;
	return part;
}

/*
 * make_room: allocate memory for the entries of the lists. The heads of the lists say how many there
 * are. Returns false if one of the lists was moved.
 */
static bool
make_room(Relation index, const HybridIndex *open, const HybridLink *lists, int count, int level,
          HybridContents *contents, Size *room)
{
	const HybridLayout *layout = &open->layout;
	int i;

	*room = 0;
	memset(contents, 0, sizeof(*contents));
	for (i = 0; i < count; i++)
	{
		Buffer buffer = ReadBuffer(index, lists[i].head);
		Page page = BufferGetPage(buffer);
		bool there;

		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		there = hybrid_page_belongs(page, HYBRID_PAGE_LIST, &lists[i]) &&
		        hybrid_list_page(page)->state == HYBRID_LIST_LIVE;
		if (there)
		{
			hybrid_list_page_check(index, layout, page, lists[i].head, level);
			*room += hybrid_list_page(page)->total;
		}
		UnlockReleaseBuffer(buffer);
		if (!there)
			return false;
	}
	contents->tids = palloc(*room * sizeof(ItemPointerData));
	contents->stored = palloc(*room * sizeof(HybridStored));
	contents->vectors = MemoryContextAllocHuge(CurrentMemoryContext,
	                                           *room * hybrid_list_layout(layout, level)->carried);
	contents->places =
		MemoryContextAllocHuge(CurrentMemoryContext, *room * layout->dims * sizeof(float));
	contents->radii = palloc0(*room * sizeof(float));
	contents->inner = level > 0;
	return true;
}

/* load_page: load the live entries of a locked list page. */
static void
load_page(Relation index, const HybridIndex *open, const HybridFrame *frame, Page page, int level,
          HybridContents *contents, Size room)
{
	const HybridLayout *layout = &open->layout;
	const HybridListLayout *shape = hybrid_list_layout(layout, level);
	float *widened = palloc(layout->dims * sizeof(float));
	int slot;

	for (slot = 0; slot < hybrid_list_page(page)->used; slot++)
	{
		HybridBlock *entries = hybrid_block(shape, page, slot / HY_CODE_ROWS);
		int row = slot % HY_CODE_ROWS;
		Size i = contents->count;
		char *vector = contents->vectors + i * shape->carried;

		if ((entries->live & (1U << row)) == 0)
			continue;
		if (i == room)
			ereport(ERROR,
			        (errcode(ERRCODE_INDEX_CORRUPTED),
			         errmsg("list %u of index \"%s\" has more entries than its recorded total",
			                hybrid_special(page)->list, RelationGetRelationName(index)),
			         errhint("REINDEX it.")));
		contents->count++;
		contents->tids[i] = entries->tid[row];
		if (shape->radius)
			contents->radii[i] = hybrid_block_radii(entries)[row];
		hybrid_vector_read(index, layout, (HybridSlot){page, level, slot}, &contents->stored[i],
		                   vector, NULL);
		hybrid_words_get(layout, (HybridSlot){page, level, slot}, vector);
		hybrid_widen_vector(shape->storage, &contents->stored[i], vector, layout->dims, widened);
		/* leaves store vectors; the centroids in inner lists are stored minus the center */
		if (level == 0)
			hybrid_frame_place(frame, widened, contents->stored[i].norm,
			                   contents->places + i * layout->dims);
		else
			memcpy(contents->places + i * layout->dims, widened, layout->dims * sizeof(float));
	}
	pfree(widened);
}

/*
 * split_by_key: in an index with keys, sort the entries by key, divide them near the middle, and set
 * side[i] to 0 or 1, the half to which entry i belongs. A leaf is divided only where the key changes.
 * Returns false if all rows have the same key, or if the index has no keys.
 */
static bool
split_by_key(const HybridIndex *open, const HybridContents *contents, uint8 *side)
{
	int count = contents->count, cut = -1, i;
	HybridKeyedEntry *entries;

	if (open->layout.bounds == 0)
		return false;
	entries = hybrid_entries_by_key(&open->layout, contents);
	for (i = 1; i < count; i++)
	{
		if (!contents->inner && entries[i].bounds.least == entries[i - 1].bounds.least)
			continue;
		if (cut < 0 || abs(2 * i - count) < abs(2 * cut - count))
			cut = i;
	}
	for (i = 0; i < count && cut > 0; i++)
		side[entries[i].number] = i >= cut;
	pfree(entries);
	return cut > 0;
}

HybridKeyedEntry *
hybrid_entries_by_key(const HybridLayout *layout, const HybridContents *contents)
{
	HybridKeyedEntry *entries = palloc(Max(contents->count, 1) * sizeof(HybridKeyedEntry));
	int i;

	for (i = 0; i < contents->count; i++)
	{
		entries[i].bounds = bounds_of(layout, contents, i);
		entries[i].number = i;
	}
	qsort(entries, contents->count, sizeof(HybridKeyedEntry), compare_bounds);
	return entries;
}

/* compare_bounds: order by the least word, then by the greatest, then by number. */
static int
compare_bounds(const void *a, const void *b)
{
	const HybridKeyedEntry *x = (const HybridKeyedEntry *) a, *y = (const HybridKeyedEntry *) b;

	if (x->bounds.least != y->bounds.least)
		return x->bounds.least < y->bounds.least ? -1 : 1;
	if (x->bounds.most != y->bounds.most)
		return x->bounds.most < y->bounds.most ? -1 : 1;
	return x->number - y->number;
}

/* bounds_of: return the bounds of an entry. Both bounds of a row are the word of its first key. */
static HybridBounds
bounds_of(const HybridLayout *layout, const HybridContents *contents, int i)
{
	const HybridListLayout *shape = hybrid_list_layout(layout, contents->inner);
	void *vector = contents->vectors + (Size) i * shape->carried;
	HybridBounds bounds;

	if (contents->inner)
		return *hybrid_bounds(layout, vector);
	bounds.least = bounds.most = *hybrid_words(layout, vector);
	return bounds;
}

/*
 * bound_copy: set the bounds of a copy, so that they include those of its entries. The bounds of an
 * empty list include all words.
 */
static void
bound_copy(HybridCopy *copy)
{
	HybridBounds *all = hybrid_bounds(copy->layout, copy->vector);
	int i;

	all->least = copy->count > 0 ? PG_UINT64_MAX : 0;
	all->most = copy->count > 0 ? 0 : PG_UINT64_MAX;
	for (i = 0; i < copy->count; i++)
	{
		HybridBounds one = bounds_of(copy->layout, copy->contents, copy->order[i]);

		all->least = Min(all->least, one.least);
		all->most = Max(all->most, one.most);
	}
}

/*
 * mean_of: compute the mean of the entries with side[i] == which, or of all entries if `side` is NULL.
 */
static void
mean_of(const HybridContents *contents, const uint8 *side, int which, int dims, float *mean)
{
	double *sums = palloc0(dims * sizeof(double));
	int count = 0, i, j;

	for (i = 0; i < contents->count; i++)
	{
		if (side != NULL && side[i] != which)
			continue;
		count++;
		for (j = 0; j < dims; j++)
			sums[j] += contents->places[(Size) i * dims + j];
	}
	for (j = 0; j < dims; j++)
		mean[j] = (float) (sums[j] / Max(count, 1));
	pfree(sums);
}

/* next_entry: return the next entry of a copy, for HybridNewEntries. */
static void
next_entry(void *arg, HybridNewEntry *entry)
{
	HybridCopy *copy = (HybridCopy *) arg;
	const HybridContents *contents = copy->contents;
	Size i = copy->order[copy->next++];

	entry->tid = contents->tids[i];
	entry->stored = &contents->stored[i];
	entry->vector =
		contents->vectors + i * hybrid_list_layout(copy->layout, contents->inner)->carried;
	entry->place = contents->places + i * copy->layout->dims;
	entry->radius = contents->radii[i];
}
