/*
 * split.c
 *		Splits a list that has grown too long, by copying, and replaces lists, including the root.
 *
 * A session that copies a list holds its heavyweight lock exclusively: no other session adds to the
 * list, VACUUM waits, and readers are not affected. The new lists are written on pages that no reader
 * can reach yet. Then one record makes them live in the parent list, and marks the old entries there
 * dead and the old lists moved. A reader that has already read the parent list continues with the old
 * lists. The old lists never change again, and they still have every entry that the reader's snapshot
 * can see.
 *
 * No list is above the root. When the root is split, a new root is written that names the two copies,
 * and the record changes the meta page. The first split of an index that grew from nothing also gives
 * the index its center.
 *
 * Locks are taken in this order, and never in the reverse order: the gate in share mode, the lock of
 * the meta page in share mode, the locks of lists, and the locks of the lists above them.
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "access/transam.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "index/write/copy.h"
#include "index/page/lock.h"
#include "index/tree/free_pages.h"
#include "index/write/split.h"
#include "index/tree/tree.h"

/* Moved: a list, and the lists that have its entries now. */
typedef struct Moved
{
	HybridLink list;
	HybridLink to[2];
} Moved;

/* nowhere: target of a moved list that has no successor. */
static const HybridLink nowhere = {InvalidBlockNumber, 0};

static bool is_root(const HybridTree *tree, const HybridLink *list);
static int copies_of(Relation index, const HybridIndex *open, const HybridLink *list, int level);
static HybridLink
write_root(Relation index, HybridFrame *frame, int level, HybridCopy *copies, int count);
static void bound_leaves(const HybridLayout *layout, HybridCopy *copies);
static void next_copy(void *arg, HybridNewEntry *entry);
static bool
only_child(Relation index, const HybridIndex *open, const HybridTree *tree, HybridLink *child);
static bool
raise_child(Relation index, const HybridIndex *open, const HybridTree *tree, HybridLink child);
static void replace_root(Relation index, const HybridIndex *open, const Moved *moved, int count,
                         HybridLink root, int height, const BlockNumber *center);
static BlockNumber write_center(Relation index, const HybridIndex *open, const float *center);

void
hybrid_split(Relation index, const HybridIndex *open, HybridLink list, HybridLink hint, int level)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid split", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	HybridLink made[HYBRID_COPIES];

	for (;;)
	{
		HybridReplaced lists = {&list, 1, level, hint, false};
		int into;

		hybrid_moved_reclaim(index, &open->layout);
		hybrid_lock(index, HYBRID_GATE, ShareLock);
		/*
		 * VACUUM may have replaced the tree of this leaf; it then marked the inner lists before it
		 * opened the gate
		 */
		if (level == 0 && BlockNumberIsValid(hint.head) && !hybrid_list_lives(index, &hint))
		{
			hybrid_unlock(index, HYBRID_GATE, ShareLock);
			break;
		}
		/* without this lock, VACUUM would treat reserved pages that are not yet written as lost pages */
		hybrid_lock(index, HYBRID_META_BLOCK, ShareLock);
		if (hybrid_lock_now(index, list.head, ExclusiveLock))
		{
			into = copies_of(index, open, &list, level);
			if (into > 0)
				(void) hybrid_copy_lists(index, open, &lists, into, made);
			hybrid_unlock(index, list.head, ExclusiveLock);
		}
		hybrid_unlock(index, HYBRID_META_BLOCK, ShareLock);
		hybrid_unlock(index, HYBRID_GATE, ShareLock);
		if (!lists.due)
			break;
		list = lists.above;
		hint.head = InvalidBlockNumber;
		level++;
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

bool
hybrid_copy_lists(Relation index, const HybridIndex *open, HybridReplaced *old, int into,
                  HybridLink *made)
{
	HybridCopy copies[HYBRID_COPIES];
	HybridContents contents;
	HybridFrame frame;
	HybridTree tree;
	float *center = NULL;
	bool replaced;
	int i;

	old->due = false;
	hybrid_tree_read(index, &tree);
	hybrid_frame_open(&frame, index, open, tree.center);
	if (!hybrid_copy_load(index, open, &frame, old->lists, old->count, old->level, &contents) ||
	    (into == 2 && contents.count < 2))
		return false;
	if (is_root(&tree, &old->lists[0]) && into == 2 && old->level == 0 &&
	    !BlockNumberIsValid(tree.center))
	{
		center = hybrid_copy_center(open, &contents);
		hybrid_frame_init(&frame, open, center);
	}
	hybrid_copy_distribute(open, &contents, into, copies);
	replaced = hybrid_copies_replace(index, open, &frame, old, copies, into, center);
	for (i = 0; i < into; i++)
		made[i] = copies[i].link;
	return replaced;
}

bool
hybrid_copies_replace(Relation index, const HybridIndex *open, HybridFrame *frame,
                      HybridReplaced *old, HybridCopy *copies, int into, const float *center)
{
	HybridReplacement new_lists[HYBRID_COPIES];
	HybridLoggedSink sink;
	BlockNumber center_block = InvalidBlockNumber;
	HybridTree tree;
	Moved moved;
	bool root, empty;
	int level = old->level, i;

	old->due = false;
	hybrid_tree_read(index, &tree);
	root = is_root(&tree, &old->lists[0]);
	hybrid_logged_sink_init(&sink, index);
	for (i = 0; i < into; i++)
	{
		hybrid_copy_write(&sink.sink, frame, level, &copies[i], root && into == 1);
		new_lists[i] = hybrid_copy_part(&copies[i]);
	}
	if (!root)
		return hybrid_replace_entries(index, open, frame, old, new_lists, into);
	if (level == 0 && into == 2 && open->layout.bounds > 0)
		bound_leaves(&open->layout, copies);
	/*
	 * an index that becomes empty loses its center, because later rows need not be near its former rows
	 */
	empty = level == 0 && into == 1 && copies[0].count == 0;
	moved.list = old->lists[0];
	moved.to[0] = copies[0].link;
	moved.to[1] = copies[into - 1].link;
	/* the old root has no successor: no list of its level has its entries */
	if (tree.height != level)
		moved.to[0] = moved.to[1] = nowhere;
	if (center != NULL)
		center_block = write_center(index, open, center);
	replace_root(index, open, &moved, 1,
	             into == 1 ? copies[0].link : write_root(index, frame, level + 1, copies, into),
	             level + into - 1, center != NULL || empty ? &center_block : NULL);
	return true;
}

bool
hybrid_shrink_root(Relation index, const HybridIndex *open)
{
	HybridTree tree, now;
	HybridLink child;
	bool shrunk = false;

	hybrid_tree_read(index, &tree);
	if (tree.height == 0 || !only_child(index, open, &tree, &child))
		return false;
	hybrid_lock(index, child.head, ExclusiveLock);
	hybrid_lock(index, tree.root.head, ExclusiveLock);
	hybrid_tree_read(index, &now);
	if (is_root(&now, &tree.root))
		shrunk = raise_child(index, open, &now, child);
	hybrid_unlock(index, tree.root.head, ExclusiveLock);
	hybrid_unlock(index, child.head, ExclusiveLock);
	return shrunk;
}

static bool
is_root(const HybridTree *tree, const HybridLink *list)
{
	return tree->root.head == list->head && tree->root.generation == list->generation;
}

/*
 * copies_of: return the number of copies that replace a list: 2 if the list is too long, 1 if it is an
 * inner list with mostly dead slots, else 0.
 */
static int
copies_of(Relation index, const HybridIndex *open, const HybridLink *list, int level)
{
	Buffer buffer = ReadBuffer(index, list->head);
	Page page = BufferGetPage(buffer);
	int copies = 0;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	if (hybrid_page_belongs(page, HYBRID_PAGE_LIST, list) &&
	    hybrid_list_page(page)->state == HYBRID_LIST_LIVE)
	{
		hybrid_list_page_check(index, &open->layout, page, list->head, level);
		if (hybrid_list_page(page)->total > hybrid_list_limit(open, level))
			copies = 2;
		else if (level > 0 && hybrid_list_mostly_dead(&open->layout, hybrid_list_page(page)))
			copies = 1;
	}
	UnlockReleaseBuffer(buffer);
	return copies;
}

/*
 * write_root: write a new root whose entries link to the copies. Its centroid is the center of the
 * index.
 */
static HybridLink
write_root(Relation index, HybridFrame *frame, int level, HybridCopy *copies, int count)
{
	HybridCopy *next = copies;
	HybridNewEntries entries = {count, next_copy, &next};
	HybridLoggedSink sink;
	float radius;

	hybrid_logged_sink_init(&sink, index);
	return hybrid_new_list(frame, &sink.sink, level, NULL, &entries, &radius);
}

/*
 * bound_leaves: widen the bounds of the two leaves that replace the only leaf. Together they cover all
 * words.
 */
static void
bound_leaves(const HybridLayout *layout, HybridCopy *copies)
{
	static const HybridBounds all = {0, PG_UINT64_MAX};
	HybridBounds made[2] = {*hybrid_bounds(layout, copies[0].vector),
	                        *hybrid_bounds(layout, copies[1].vector)};
	int i;

	hybrid_bounds_inherit(made, 2, &all);
	for (i = 0; i < 2; i++)
		*hybrid_bounds(layout, copies[i].vector) = made[i];
}

/* next_copy: return the next entry of a new root, for HybridNewEntries. */
static void
next_copy(void *arg, HybridNewEntry *entry)
{
	HybridCopy **next = (HybridCopy **) arg;
	HybridCopy *copy = (*next)++;

	entry->tid = hybrid_link_tid(copy->link);
	entry->stored = &copy->stored;
	entry->vector = copy->vector;
	entry->place = copy->place;
	entry->radius = copy->radius;
}

/* only_child: test whether the root names only one list. If so, sets *child to that list. */
static bool
only_child(Relation index, const HybridIndex *open, const HybridTree *tree, HybridLink *child)
{
	int count;
	HybridLink *lists = hybrid_tree_lists(index, open, tree, tree->height - 1, NULL, &count);
	bool only = count == 1;

	if (only)
		*child = lists[0];
	pfree(lists);
	return only;
}

/*
 * raise_child: replace the root by a copy of its only child. The copy's centroid is the center of the
 * index. The caller holds the locks of the root and the child. Returns false if the child is no longer
 * the only one, or was moved.
 */
static bool
raise_child(Relation index, const HybridIndex *open, const HybridTree *tree, HybridLink child)
{
	static const BlockNumber no_center = InvalidBlockNumber;
	HybridContents contents;
	HybridCopy copy;
	HybridLoggedSink sink;
	HybridFrame frame;
	HybridLink still;
	Moved moved[2];

	hybrid_frame_open(&frame, index, open, tree->center);
	if (!only_child(index, open, tree, &still) || still.head != child.head ||
	    still.generation != child.generation ||
	    !hybrid_copy_load(index, open, &frame, &child, 1, tree->height - 1, &contents))
		return false;
	hybrid_copy_distribute(open, &contents, 1, &copy);
	hybrid_logged_sink_init(&sink, index);
	hybrid_copy_write(&sink.sink, &frame, tree->height - 1, &copy, true);
	moved[0].list = child;
	moved[0].to[0] = moved[0].to[1] = copy.link;
	moved[1].list = tree->root;
	/* the old root has no successor: no list of its level has its entries */
	moved[1].to[0] = moved[1].to[1] = nowhere;
	replace_root(index, open, moved, 2, copy.link, tree->height - 1,
	             contents.count == 0 && tree->height == 1 ? &no_center : NULL);
	return true;
}

/*
 * replace_root: mark the old lists as moved, and set the new root in the meta page, in one WAL record.
 * Then enter the old lists, and the pages of a replaced center, into the ring of moved lists. *center
 * is the first page of the new center, or invalid for no center; NULL leaves the center as it is.
 */
static void
replace_root(Relation index, const HybridIndex *open, const Moved *moved, int count,
             HybridLink root, int height, const BlockNumber *center)
{
	Buffer buffers[MAX_GENERIC_XLOG_PAGES];
	BlockNumber old_center;
	GenericXLogState *record;
	FullTransactionId now;
	HybridMeta *meta;
	int center_pages = hybrid_center_pages(&open->layout), i;

	for (i = 0; i < count; i++)
	{
		buffers[i] = ReadBuffer(index, moved[i].list.head);
		LockBuffer(buffers[i], BUFFER_LOCK_EXCLUSIVE);
	}
	buffers[count] = ReadBuffer(index, HYBRID_META_BLOCK);
	LockBuffer(buffers[count], BUFFER_LOCK_EXCLUSIVE);
	(void) hybrid_meta_check(index, BufferGetPage(buffers[count]));
	now = ReadNextFullTransactionId();
	record = GenericXLogStart(index);
	for (i = 0; i < count; i++)
		hybrid_mark_moved(hybrid_list_page(GenericXLogRegisterBuffer(record, buffers[i], 0)),
		                  moved[i].to[0], moved[i].to[1], now);
	meta = hybrid_meta(GenericXLogRegisterBuffer(record, buffers[count], 0));
	old_center = meta->center;
	if (height == 0)
		meta->leaves = 1;
	else if (meta->height == 0)
		meta->leaves = 2;
	meta->root = root.head;
	meta->root_generation = root.generation;
	meta->height = (uint16) height;
	if (center != NULL)
		meta->center = *center;
	/* an index without a center is empty, so the measured curve no longer applies */
	if (center != NULL && !BlockNumberIsValid(*center))
	{
		memset(&meta->curve, 0, sizeof(meta->curve));
		meta->regroup_leaves = 0;
	}
	GenericXLogFinish(record);
	for (i = 0; i <= count; i++)
		UnlockReleaseBuffer(buffers[i]);
	for (i = 0; i < count; i++)
		hybrid_moved_remember(index, &moved[i].list, now);
	while (center != NULL && BlockNumberIsValid(old_center))
	{
		HybridLink page = {old_center, HYBRID_CENTER_GENERATION};

		hybrid_moved_remember(index, &page, now);
		old_center = --center_pages > 0 ? old_center + 1 : InvalidBlockNumber;
	}
}

/* write_center: write the center to new, consecutive pages. Returns the first page. */
static BlockNumber
write_center(Relation index, const HybridIndex *open, const float *center)
{
	bool lock = !RELATION_IS_LOCAL(index);
	Size left = open->layout.dims * sizeof(float);
	const char *from = (const char *) center;
	BlockNumber first = InvalidBlockNumber;
	PGAlignedBlock image;
	Page page = (Page) image.data;

	if (lock)
		LockRelationForExtension(index, ExclusiveLock);
	while (left > 0)
	{
		Buffer buffer = ReadBuffer(index, P_NEW);
		BlockNumber block = BufferGetBlockNumber(buffer);
		Size length;

		ReleaseBuffer(buffer);
		if (!BlockNumberIsValid(first))
			first = block;
		length = hybrid_center_page(page, from, left);
		hybrid_page_write(index, block, page);
		from += length;
		left -= length;
	}
	if (lock)
		UnlockRelationForExtension(index, ExclusiveLock);
	return first;
}
