/*
 * link.c
 *		Finds the parent of a list, and replaces entries there.
 *
 * The vectors and codes of the new entries are written into free slots first. Then one WAL record of at
 * most four pages makes the new entries live, makes the old entries dead, and marks the old lists as
 * moved. If more pages change, the heads of the old lists go into a second record (see replace). The
 * caller holds the heavyweight locks of the old lists. This file takes the lock of the parent list, so
 * that no other session adds to it.
 *
 * New lists may be far from the other lists below their parent list. So the radius of the parent list
 * is computed again, and recorded in the list above it. Otherwise a search that has not opened the
 * parent list would expect no near rows below it (scan/frontier.c).
 */
#include "postgres.h"

#include <math.h>

#include "access/generic_xlog.h"
#include "access/transam.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "index/write/link.h"
#include "index/page/lock.h"
#include "index/write/overflow.h"
#include "index/tree/free_pages.h"
#include "index/tree/tree.h"

#define TRIES 100
#define NOTABLE                                                                                    \
	0.03f           /* minimum relative change of an inner list's radius for which it is recorded */
#define NEW_LISTS 2 /* maximum number of new lists that replace others */
#define LISTS 2     /* maximum number of lists that are replaced */
/*
 * maximum number of pages of a change: the old heads, the head of the parent list, the page with free
 * slots, and the pages of the old entries
 */
#define PAGES (LISTS + 2 + LISTS)

/* NewEntries: the contents of the new entries in the parent list, besides links and radii. */
typedef struct NewEntries
{
	BlockNumber *directory;
	uint8 *bits; /* one code after another */
	HyCode codes[NEW_LISTS];
	HybridBounds bounds[NEW_LISTS]; /* in an index with keys */
} NewEntries;

/* Above: the parent list, and the locations in it that a change needs. */
typedef struct Above
{
	HybridLink link;
	int level;
	BlockNumber tail;
	uint32 total;
	BlockNumber entry_block[LISTS]; /* blocks of the live entries that name the lists */
	int entry_slot[LISTS];
	HybridBounds bounds[LISTS]; /* bounds of these entries, in an index with keys */
	BlockNumber free_block; /* a page with slots that were never filled, or InvalidBlockNumber */
	int free_slot;          /* first of the page's slots that were never filled */
	/* list above this one; its head is invalid if unknown, or if this is the root */
	HybridLink over;
} Above;

/* Change: locked buffers that are changed together, and their images in the WAL records. */
typedef struct Change
{
	int count;
	Buffer buffers[PAGES];
	Page images[PAGES];
} Change;

static bool
find_above(Relation index, const HybridIndex *open, HybridLink list, int level, HybridLink *above);
static int find_entries(Relation index, const HybridIndex *open, const HybridLink *lists, int count,
                        int wanted, Above *above);
static bool differs(float recorded, float radius);
static float *place_of_list(Relation index, const HybridIndex *open, Above *list);
static void record_spread(Relation index, const HybridIndex *open, const Above *list);
static bool
replace(Relation index, const HybridIndex *open, HybridFrame *frame, const HybridReplaced *old,
        const HybridReplacement *new_lists, int count, Above *above);
static void
write_parts(Relation index, const HybridIndex *open, HybridFrame *frame,
            const HybridReplacement *new_lists, int count, Above *above, NewEntries *entries);
static void bound_lists(const HybridLayout *layout, const HybridReplaced *old, const Above *above,
                        const HybridReplacement *new_lists, int count, HybridBounds *bounds);
static void lock_pages(Relation index, const HybridReplaced *old, const Above *above, int count,
                       Change *change);
static void lock_page(Relation index, BlockNumber block, Change *change);
static Page image_of(const Change *change, BlockNumber block);

bool
hybrid_replace_entries(Relation index, const HybridIndex *open, HybridFrame *frame,
                       HybridReplaced *old, const HybridReplacement *new_lists, int count)
{
	Above at;
	int i;

	Assert(old->count >= 1 && old->count <= LISTS && count <= NEW_LISTS);
	memset(&at, 0, sizeof(at));
	at.level = old->level + 1;
	at.link = old->above;
	for (i = 0;; i++)
	{
		int found;

		CHECK_FOR_INTERRUPTS();
		if (i == TRIES)
			ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
			                errmsg("index \"%s\" has no list that refers to list %u",
			                       RelationGetRelationName(index), old->lists[0].head),
			                errhint("REINDEX it.")));
		if ((i > 0 || !BlockNumberIsValid(at.link.head)) &&
		    !find_above(index, open, old->lists[0], old->level, &at.link))
			continue;
		hybrid_lock(index, at.link.head, ExclusiveLock);
		found = find_entries(index, open, old->lists, old->count, count, &at);
		/* an inner list must not become empty */
		if (found == old->count && at.total + count > (uint32) old->count)
			break;
		hybrid_unlock(index, at.link.head, ExclusiveLock);
		/* the parent list would become empty, or a split has given the two lists different parents */
		if (found > 0)
			return false;
	}
	at.over.head = InvalidBlockNumber;
	old->due = replace(index, open, frame, old, new_lists, count, &at);
	if (BlockNumberIsValid(at.over.head))
		record_spread(index, open, &at);
	hybrid_unlock(index, at.link.head, ExclusiveLock);
	old->above = at.link;
	return true;
}

void
hybrid_link_radius(Relation index, const HybridIndex *open, HybridLink list, int level,
                   HybridLink above, float radius)
{
	GenericXLogState *record;
	Change change;
	float *recorded;
	Above at;
	int i;

	memset(&at, 0, sizeof(at));
	memset(&change, 0, sizeof(change));
	at.level = level + 1;
	at.link = above;
	/* entries stay in their slots while this lock is held in share mode */
	hybrid_lock(index, above.head, ShareLock);
	if (find_entries(index, open, &list, 1, 0, &at) == 1)
	{
		lock_page(index, above.head, &change);
		lock_page(index, at.entry_block[0], &change);
		record = GenericXLogStart(index);
		for (i = 0; i < change.count; i++)
			change.images[i] = GenericXLogRegisterBuffer(record, change.buffers[i], 0);
		recorded = &hybrid_block_radii(
			hybrid_block(&open->layout.inner, image_of(&change, at.entry_block[0]),
		                 at.entry_slot[0] / HY_CODE_ROWS))[at.entry_slot[0] % HY_CODE_ROWS];
		if (level == 0 ? *recorded < radius : differs(*recorded, radius))
		{
			*recorded = radius;
			hybrid_list_page(image_of(&change, above.head))->changes++;
			GenericXLogFinish(record);
		}
		else
			GenericXLogAbort(record);
		while (change.count > 0)
			UnlockReleaseBuffer(change.buffers[--change.count]);
	}
	hybrid_unlock(index, above.head, ShareLock);
}

void
hybrid_bounds_inherit(HybridBounds *made, int count, const HybridBounds *old)
{
	HybridBounds *first = &made[0], *second = &made[count - 1];

	if (second->least < first->least)
	{
		first = second;
		second = &made[0];
	}
	/*
	 * A single leaf gets all of the old bounds. If all rows of both leaves have the same key, the first
	 * leaf gets the old bounds, and the second keeps the bounds of that key alone.
	 */
	if (count == 1 || first->most >= second->least)
	{
		*first = *old;
		return;
	}
	first->least = old->least;
	first->most = second->least - 1;
	second->most = old->most;
}

uint32
hybrid_list_limit(const HybridIndex *open, int level)
{
	return level == 0 ? (uint32) open->list_size : HYBRID_INNER_SIZE;
}

bool
hybrid_list_mostly_dead(const HybridLayout *layout, const HybridListPage *head)
{
	uint32 rows = (uint32) layout->inner.rows;

	return (uint64) head->pages * rows > 2 * ((uint64) head->total + rows);
}

void
hybrid_mark_moved(HybridListPage *head, HybridLink to, HybridLink and_to, FullTransactionId now)
{
	head->state = HYBRID_LIST_MOVED;
	head->forward[0] = to;
	head->forward[1] = and_to;
	head->moved = now;
	head->changes++;
}

/*
 * differs: test whether an encoded radius of an inner list, or the number of lists encoded in it, has
 * changed enough to be recorded. Small changes are not recorded, because after each change all backends
 * must read the list with this entry again.
 */
static bool
differs(float recorded, float radius)
{
	return hybrid_radius_rows(recorded) != hybrid_radius_rows(radius) ||
	       !(fabsf(radius - recorded) <= NOTABLE * recorded);
}

/* find_above: search all lists of the level above for the one that names the list. */
static bool
find_above(Relation index, const HybridIndex *open, HybridLink list, int level, HybridLink *above)
{
	HybridTree tree;
	HybridLink *lists;
	int count, i;

	hybrid_tree_read(index, &tree);
	lists = hybrid_tree_lists(index, open, &tree, level + 1, NULL, &count);
	for (i = 0; i < count; i++)
	{
		Above at;

		CHECK_FOR_INTERRUPTS();
		memset(&at, 0, sizeof(at));
		at.level = level + 1;
		at.link = lists[i];
		if (find_entries(index, open, &list, 1, 0, &at) == 1)
		{
			*above = lists[i];
			pfree(lists);
			return true;
		}
	}
	pfree(lists);
	return false;
}

/*
 * find_entries: find the entries of above->link that name the lists, and a page with `wanted` slots
 * that were never filled. Dead slots are not refilled, because a reader that has read the list's links
 * may later read the centroid of a dead entry. Returns the number of lists that are named, or 0 if
 * above->link is no longer a live list.
 */
static int
find_entries(Relation index, const HybridIndex *open, const HybridLink *lists, int count,
             int wanted, Above *above)
{
	const HybridLayout *layout = &open->layout;
	const HybridListLayout *shape = &layout->inner;
	BlockNumber block = above->link.head;
	int found = 0;
	uint32 pages = 0;

	above->free_block = InvalidBlockNumber;
	while (BlockNumberIsValid(block))
	{
		Buffer buffer = ReadBuffer(index, block);
		Page page = BufferGetPage(buffer);
		const HybridListPage *content = hybrid_list_page(page);
		int slot, i;

		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		if (!hybrid_page_belongs(page, HYBRID_PAGE_LIST, &above->link) ||
		    (block == above->link.head && content->state != HYBRID_LIST_LIVE))
		{
			UnlockReleaseBuffer(buffer);
			return 0;
		}
		hybrid_list_page_check(index, layout, page, block, above->level);
		if (block == above->link.head)
		{
			above->tail = content->tail;
			above->total = content->total;
		}
		for (slot = 0; slot < content->used && found < count; slot++)
		{
			const HybridBlock *entries = hybrid_block(shape, page, slot / HY_CODE_ROWS);
			HybridLink named;

			if ((entries->live & (1U << slot % HY_CODE_ROWS)) == 0)
				continue;
			named = hybrid_tid_link(&entries->tid[slot % HY_CODE_ROWS]);
			for (i = 0; i < count; i++)
			{
				if (named.head != lists[i].head || named.generation != lists[i].generation)
					continue;
				above->entry_block[i] = block;
				above->entry_slot[i] = slot;
				if (layout->bounds > 0)
					hybrid_bounds_get(layout, (HybridSlot){page, above->level, slot},
					                  &above->bounds[i]);
				found++;
			}
		}
		if (!BlockNumberIsValid(above->free_block) && wanted > 0 &&
		    content->used + wanted <= shape->rows)
		{
			above->free_block = block;
			above->free_slot = content->used;
		}
		block = content->next;
		UnlockReleaseBuffer(buffer);
		hybrid_chain_step(index, &above->link, &pages);
	}
	return found;
}

/*
 * place_of_list: return the centroid of a list, minus the center, and set list->over to the list above.
 * Returns NULL if the list is the root, whose centroid is the center.
 */
static float *
place_of_list(Relation index, const HybridIndex *open, Above *list)
{
	const HybridLayout *layout = &open->layout;
	int dims = layout->dims, i;
	HybridTree tree;

	for (i = 0; i < TRIES; i++)
	{
		Above above;

		CHECK_FOR_INTERRUPTS();
		hybrid_tree_read(index, &tree);
		list->over.head = InvalidBlockNumber;
		if (tree.root.head == list->link.head && tree.root.generation == list->link.generation)
			return NULL;
		memset(&above, 0, sizeof(above));
		above.level = list->level + 1;
		if (find_above(index, open, list->link, list->level, &above.link) &&
		    find_entries(index, open, &list->link, 1, 0, &above) == 1)
		{
			Buffer buffer = hybrid_list_read(index, layout, &above.link, above.level,
			                                 above.entry_block[0], NULL);
			float *place = palloc(dims * sizeof(float));
			void *vector = palloc(layout->inner.stride);
			HybridStored stored;

			/* if the parent list has been moved since, its entries are still there */
			hybrid_vector_read(
				index, layout,
				(HybridSlot){BufferGetPage(buffer), above.level, above.entry_slot[0]}, &stored,
				vector, NULL);
			UnlockReleaseBuffer(buffer);
			hybrid_widen_vector(layout->inner.storage, &stored, vector, dims, place);
			pfree(vector);
			list->over = above.link;
			return place;
		}
	}
	ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
	                errmsg("index \"%s\" has no list that refers to list %u",
	                       RelationGetRelationName(index), list->link.head),
	                errhint("REINDEX it.")));
}

/*
 * record_spread: record the present state of an inner list in the list above it: its number of entries,
 * and as its radius the root mean square distance of all rows below it from its centroid. The caller
 * holds the lock of the inner list, so that no older state is recorded later.
 */
static void
record_spread(Relation index, const HybridIndex *open, const Above *list)
{
	const HybridLayout *layout = &open->layout;
	BlockNumber block = list->link.head;
	double spread = 0;
	uint32 pages = 0;
	int64 count = 0;

	while (BlockNumberIsValid(block))
	{
		Buffer buffer = hybrid_list_read(index, layout, &list->link, list->level, block, NULL);
		Page page = BufferGetPage(buffer);
		int slot;

		for (slot = 0; slot < hybrid_list_page(page)->used; slot++)
		{
			HybridBlock *entries = hybrid_block(&layout->inner, page, slot / HY_CODE_ROWS);
			int row = slot % HY_CODE_ROWS;
			double radius = hybrid_block_radii(entries)[row];

			if ((entries->live & (1U << row)) == 0)
				continue;
			spread += hy_code_square(open->metric, &entries->factors, row, layout->padded) +
			          radius * radius;
			count++;
		}
		block = hybrid_list_page(page)->next;
		UnlockReleaseBuffer(buffer);
		hybrid_chain_step(index, &list->link, &pages);
	}
	/* for vectors of lengths of about 1e19, the factors of codes overflow, and no radius is recorded */
	if (spread >= 0 && isfinite(spread))
		hybrid_link_radius(index, open, list->link, list->level, list->over,
		                   hybrid_radius(sqrt(spread / Max(count, 1)), count));
}

/*
 * replace: do the work of hybrid_replace_entries. The caller holds the lock of the parent list. Returns
 * whether that list should now be split or copied.
 *
 * The record that changes the parent list comes first. It includes the heads of the old lists if they fit.
 * Otherwise the heads of two old lists go into a second record. The second record follows at once, with
 * all pages locked and no step in between that could fail. A crash between the two records leaves two
 * lists that are marked live but that no list names. No session that knew their names survives the crash,
 * and VACUUM finds them.
 */
static bool
replace(Relation index, const HybridIndex *open, HybridFrame *frame, const HybridReplaced *old,
        const HybridReplacement *new_lists, int count, Above *above)
{
	const HybridLayout *layout = &open->layout;
	const HybridListLayout *shape = &layout->inner;
	int named = shape->code_pages + shape->vector_pages, level = above->level, i;
	Size bits_size = hy_code_bits_size(layout->padded);
	NewEntries entries;
	GenericXLogState *record, *second;
	FullTransactionId now;
	HybridListPage *head;
	Change change;
	bool due;

	entries.directory = palloc(named * sizeof(BlockNumber));
	entries.bits = palloc(NEW_LISTS * bits_size);
	if (count > 0 && !BlockNumberIsValid(above->free_block))
	{
		above->free_block = hybrid_list_extend(index, layout, &above->link, level, above->tail);
		above->free_slot = 0;
	}
	if (count > 0)
		write_parts(index, open, frame, new_lists, count, above, &entries);
	bound_lists(layout, old, above, new_lists, count, entries.bounds);

	lock_pages(index, old, above, count, &change);
	now = ReadNextFullTransactionId();
	record = second = GenericXLogStart(index);
	if (change.count > MAX_GENERIC_XLOG_PAGES)
		second = GenericXLogStart(index);
	for (i = 0; i < change.count; i++)
		change.images[i] =
			GenericXLogRegisterBuffer(i < old->count ? second : record, change.buffers[i], 0);

	for (i = 0; i < old->count; i++)
	{
		Page entry = image_of(&change, above->entry_block[i]);

		hybrid_mark_moved(hybrid_list_page(change.images[i]), new_lists[0].link,
		                  new_lists[Max(count, 1) - 1].link, now);
		hybrid_block(shape, entry, above->entry_slot[i] / HY_CODE_ROWS)->live &=
			~(1U << above->entry_slot[i] % HY_CODE_ROWS);
		hybrid_list_page(entry)->live--;
	}
	for (i = 0; i < count; i++)
	{
		Page page = image_of(&change, above->free_block);
		ItemPointerData tid = hybrid_link_tid(new_lists[i].link);
		HybridSlot slot = {page, level, above->free_slot + i};

		memcpy(hybrid_directory(page), entries.directory, named * sizeof(BlockNumber));
		hybrid_list_put(layout, slot, entries.bits + i * bits_size, &entries.codes[i], &tid,
		                new_lists[i].radius);
		if (layout->bounds > 0)
			hybrid_bounds_put(layout, slot, &entries.bounds[i]);
	}
	head = hybrid_list_page(image_of(&change, above->link.head));
	head->total += count - old->count;
	head->changes++;
	due = head->total > hybrid_list_limit(open, level) || hybrid_list_mostly_dead(layout, head);
	GenericXLogFinish(record);
	if (second != record)
		GenericXLogFinish(second);
	while (change.count > 0)
		UnlockReleaseBuffer(change.buffers[--change.count]);
	if (level == 1 && count != old->count)
		hybrid_tree_add_leaves(index, count - old->count);
	for (i = 0; i < old->count; i++)
		hybrid_moved_remember(index, &old->lists[i], now);
	pfree(entries.directory);
	pfree(entries.bits);
	return due;
}

/*
 * write_parts: write the vectors and long codes of the new entries to pages of their own. Sets the
 * codes in `entries`, and the directory of the list page that receives the entries.
 */
static void
write_parts(Relation index, const HybridIndex *open, HybridFrame *frame,
            const HybridReplacement *new_lists, int count, Above *above, NewEntries *entries)
{
	const HybridLayout *layout = &open->layout;
	const HybridListLayout *shape = &layout->inner;
	float *centroid = place_of_list(index, open, above);
	float *rotated = palloc(layout->padded * sizeof(float)), *rotated_centroid = NULL;
	Size bits_size = hy_code_bits_size(layout->padded);
	Buffer page;
	int i;

	if (centroid != NULL)
	{
		rotated_centroid = palloc(layout->padded * sizeof(float));
		hy_rotation_apply(frame->rotation, centroid, rotated_centroid);
	}
	page = hybrid_list_read(index, layout, &above->link, above->level, above->free_block, NULL);
	memcpy(entries->directory, hybrid_directory(BufferGetPage(page)),
	       (shape->code_pages + shape->vector_pages) * sizeof(BlockNumber));
	UnlockReleaseBuffer(page);
	for (i = 0; i < count; i++)
	{
		HybridOverflow slot = {&above->link, above->level, above->free_slot + i,
		                       entries->directory};

		hy_rotation_apply(frame->rotation, new_lists[i].place, rotated);
		(void) hybrid_frame_encode(frame, new_lists[i].place, rotated, centroid, rotated_centroid,
		                           &entries->codes[i]);
		memcpy(entries->bits + i * bits_size, frame->bits, bits_size);
		hybrid_write_codes(index, layout, &slot, frame->bits, &entries->codes[i]);
		hybrid_write_vector(index, layout, &slot, new_lists[i].stored, new_lists[i].vector);
	}
	pfree(rotated);
}

/*
 * bound_lists: in an index with keys, compute the bounds of the new lists. The bounds of new leaves are
 * widened, so that together they cover those of the old leaves. The bounds of new inner lists need not
 * be widened, because their entries already cover the bounds of the old lists.
 */
static void
bound_lists(const HybridLayout *layout, const HybridReplaced *old, const Above *above,
            const HybridReplacement *new_lists, int count, HybridBounds *bounds)
{
	HybridBounds all = above->bounds[0];
	int i;

	if (layout->bounds == 0)
		return;
	for (i = 1; i < old->count; i++)
	{
		all.least = Min(all.least, above->bounds[i].least);
		all.most = Max(all.most, above->bounds[i].most);
	}
	for (i = 0; i < count; i++)
		bounds[i] = *hybrid_bounds(layout, unconstify(void *, new_lists[i].vector));
	if (old->level == 0 && count > 0)
		hybrid_bounds_inherit(bounds, count, &all);
}

/*
 * lock_pages: lock the heads of the old lists first, then the head of the parent list, and then the
 * other pages of the parent list that change when it names `count` new lists.
 */
static void
lock_pages(Relation index, const HybridReplaced *old, const Above *above, int count, Change *change)
{
	int i;

	memset(change, 0, sizeof(*change));
	for (i = 0; i < old->count; i++)
		lock_page(index, old->lists[i].head, change);
	lock_page(index, above->link.head, change);
	lock_page(index, Min(above->entry_block[0], above->entry_block[old->count - 1]), change);
	lock_page(index, Max(above->entry_block[0], above->entry_block[old->count - 1]), change);
	if (count > 0)
		lock_page(index, above->free_block, change);
}

/* lock_page: lock a page exclusively, unless it is locked already. */
static void
lock_page(Relation index, BlockNumber block, Change *change)
{
	Buffer buffer;
	int i;

	for (i = 0; i < change->count; i++)
	{
		if (BufferGetBlockNumber(change->buffers[i]) == block)
			return;
	}
	buffer = ReadBuffer(index, block);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	change->buffers[change->count++] = buffer;
}

/* image_of: return the image of a page in the WAL record. */
static Page
image_of(const Change *change, BlockNumber block)
{
	int i;

	for (i = 0; i < change->count; i++)
	{
		if (BufferGetBlockNumber(change->buffers[i]) == block)
			return change->images[i];
	}
	elog(ERROR, "a page is missing from a WAL record");
}
