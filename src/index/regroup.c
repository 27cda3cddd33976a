/*
 * regroup.c
 *		VACUUM makes the leaves of an index that has grown anew.
 *
 * A split looks at one list alone.  What came in before stays where it was, though a list that was
 * made later is nearer: a quarter of the rows of an index that grew from nothing lies in a list that is
 * not the nearest, and a search looks into ten times as many lists.  So when the index has twice
 * as many leaves as when that was done last, the leaves below each inner list become other ones, which
 * are to these rows what those of CREATE INDEX are to the table's.  (Some dozens of neighbouring leaves
 * at a time would be simpler.  It gains next to nothing: in hundreds of dimensions a row's
 * nearest list is one of very many.)
 *
 * Rows are copied while others come in, and what came in meanwhile is copied in turn.  Only the last few
 * are copied behind the gate: nobody adds an entry or splits a list then.  In the record that puts an inner
 * list of the new leaves in the place of the old one, the old one is moved, and all below it with it.
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "access/transam.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "core/kmeans.h"
#include "server/memory.h"
#include "server/report.h"

#include "index/build.h"
#include "index/merge.h"
#include "index/regroup.h"
#include "index/space.h"
#include "index/split.h"
#include "index/tree.h"

#define FEW 256  /* rows that came in meanwhile may be copied behind the gate */
#define ROUNDS 8 /* of copying what came in, at most */
#define RECLAIM 128
#define MOST_LEAVES 16384 /* that are put into other inner lists while nobody may add to them */
#define SHARE 0.4         /* of the leaves that the smaller half has at least */
#define SEED 1

static void regroup_inner(Relation index, const HybridIndex *open, HybridLink list);
static void
write_groups(HybridRegroup *regroup, const HybridContents *leaves, int *order, int count);
static bool next_list(Relation index, const HybridIndex *open, HybridLinks *done, HybridLink *list);
static int
regroup_below(Relation index, const HybridIndex *open, HybridLink list, HybridLink *made);
static int
replace_below(HybridRegroup *regroup, HybridLink list, HybridLevel *leaves, HybridLink *made);
static FullTransactionId mark_lists(const HybridRegroup *regroup, const HybridLevel *lists);
static void remember_lists(const HybridRegroup *regroup, const HybridLevel *lists,
                           FullTransactionId now, int more_leaves);
static void reuse_pages(Relation index, const HybridIndex *open);

bool
hybrid_regroup(Relation index, const HybridIndex *open)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid regroup", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	bool regrouped = false;
	HybridLink list, made[HYBRID_COPIES];
	HybridLinks done;
	HybridTree tree;
	int count, i;

	memset(&done, 0, sizeof(done));
	hybrid_tree_read(index, &tree);
	if (tree.leaves <= MOST_LEAVES && tree.height >= 2)
	{
		HybridLink *lists = hybrid_tree_lists(index, open, &tree, 2, &count);

		for (i = 0; i < count; i++)
			regroup_inner(index, open, lists[i]);
	}
	while (next_list(index, open, &done, &list))
	{
		count = regroup_below(index, open, list, made);
		hybrid_links_add(&done, list);
		for (i = 0; i < count; i++)
			hybrid_links_add(&done, made[i]);
		regrouped |= count > 0;
		reuse_pages(index, open);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return regrouped;
}

/*
 * regroup_inner: the lists of leaves below a list of level 2 are made anew, each of leaves that are near
 * each other.  The leaves stay.
 */
static void
regroup_inner(Relation index, const HybridIndex *open, HybridLink list)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid regroup inner", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	HybridLink above = {InvalidBlockNumber, 0}, *links;
	FullTransactionId now = InvalidFullTransactionId;
	HybridCopy copies[HYBRID_COPIES];
	HybridContents leaves;
	HybridRegroup regroup;
	HybridLevel lists;
	HybridTree tree;
	bool replaced = false, due;
	int64 i;

	memset(&regroup, 0, sizeof(regroup));
	memset(&lists, 0, sizeof(lists));
	regroup.index = index;
	regroup.open = open;
	regroup.context = context;
	hybrid_tree_read(index, &tree);
	hybrid_frame_open(&regroup.frame, index, open, tree.centre);
	LockPage(index, HYBRID_GATE, ExclusiveLock);
	LockPage(index, list.head, ExclusiveLock);
	if (hybrid_list_lives(index, &list))
		hybrid_walk_below(index, &open->layout, &list, 2, &lists);
	links = palloc(Max(lists.count, 1) * sizeof(HybridLink));
	for (i = 0; i < lists.count; i++)
		links[i] = lists.lists[i].link;
	if (lists.count > 1 && hybrid_copy_load(index, open, &regroup.frame, links, (int) lists.count,
	                                        1, &leaves))
	{
		int *order = palloc(Max(leaves.count, 1) * sizeof(int));

		for (i = 0; i < leaves.count; i++)
			order[i] = (int) i;
		write_groups(&regroup, &leaves, order, leaves.count);
		hybrid_copy_distribute(open, &regroup.made, 1, copies);
		replaced = hybrid_copies_replace(index, open, &regroup.frame, &list, 1, 2, copies, 1, NULL,
		                                 &above, &due);
	}
	if (replaced)
		now = mark_lists(&regroup, &lists);
	UnlockPage(index, list.head, ExclusiveLock);
	UnlockPage(index, HYBRID_GATE, ExclusiveLock);
	if (replaced)
		remember_lists(&regroup, &lists, now, 0);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/*
 * write_groups: the leaves with these numbers, which come in another order, become one inner list if they
 * are few enough; else they are split, about evenly.  (Groups by k-means are one large one, and small ones.)
 */
static void
write_groups(HybridRegroup *regroup, const HybridContents *leaves, int *order, int count)
{
	int dims = regroup->open->layout.dims, first = 0, i;
	HyAllocator allocator = hybrid_allocator(CurrentMemoryContext);
	float *centroids = palloc(2 * dims * sizeof(float)), *places;
	uint8 *side;
	int *sorted;
	HyMatrix rows;
	HybridCopy copy;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	if (count <= HYBRID_INNER_SIZE)
	{
		hybrid_mean(leaves->places, order, count, dims, centroids);
		hybrid_copy_of(regroup->open, leaves, order, count, centroids, &copy);
		hybrid_copy_write(regroup->index, &regroup->frame, 1, &copy, false);
		hybrid_regroup_keep(regroup, &copy);
		pfree(centroids);
		return;
	}
	places = MemoryContextAllocHuge(CurrentMemoryContext, (Size) count * dims * sizeof(float));
	side = palloc(count);
	sorted = palloc(count * sizeof(int));
	for (i = 0; i < count; i++)
		memcpy(places + (Size) i * dims, leaves->places + (Size) order[i] * dims,
		       dims * sizeof(float));
	rows = hybrid_places_matrix(places, count, dims);
	hybrid_check(
		hy_kmeans_split(&rows, SHARE, SEED, &allocator, &hybrid_cancel, centroids, side),
		"split an inner list");
	for (i = 0; i < count; i++)
	{
		if (side[i] == 0)
			sorted[first++] = order[i];
	}
	for (i = 0; i < count; i++)
	{
		if (side[i] == 1)
			sorted[first++] = order[i];
	}
	for (i = 0, first = 0; i < count; i++)
		first += side[i] == 0;
	memcpy(order, sorted, count * sizeof(int));
	pfree(places);
	pfree(side);
	pfree(sorted);
	pfree(centroids);
	write_groups(regroup, leaves, order, first);
	write_groups(regroup, leaves, order + first, count - first);
}

/* next_list: an inner list above leaves that was not looked at. */
static bool
next_list(Relation index, const HybridIndex *open, HybridLinks *done, HybridLink *list)
{
	HybridTree tree;
	HybridLink *lists;
	bool found = false;
	int count, i, j;

	hybrid_tree_read(index, &tree);
	lists = hybrid_tree_lists(index, open, &tree, 1, &count);
	for (i = 0; i < count && !found; i++)
	{
		for (j = 0; j < done->count; j++)
		{
			if (lists[i].head == done->links[j].head &&
			    lists[i].generation == done->links[j].generation)
				break;
		}
		found = j == done->count;
		*list = lists[i];
	}
	pfree(lists);
	return found;
}

/*
 * regroup_below: the leaves below an inner list become others; the inner lists that have these, and how
 * many they are; 0: the list was moved meanwhile.
 */
static int
regroup_below(Relation index, const HybridIndex *open, HybridLink list, HybridLink *made)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid regroup below", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	FullTransactionId now = InvalidFullTransactionId;
	HybridRegroup regroup;
	HybridLevel leaves;
	HybridTree tree;
	int replaced = 0;
	int64 i;

	memset(&regroup, 0, sizeof(regroup));
	memset(&leaves, 0, sizeof(leaves));
	regroup.index = index;
	regroup.open = open;
	regroup.context = context;
	hybrid_tree_read(index, &tree);
	hybrid_frame_open(&regroup.frame, index, open, tree.centre);
	for (i = 0; i < ROUNDS; i++)
	{
		leaves.count = 0;
		hybrid_walk_below(index, &open->layout, &list, 1, &leaves);
		if (hybrid_regroup_rows(&regroup, &leaves, false) <= FEW)
			break;
	}

	LockPage(index, HYBRID_GATE, ExclusiveLock);
	LockPage(index, list.head, ExclusiveLock);
	if (hybrid_list_lives(index, &list))
		replaced = replace_below(&regroup, list, &leaves, made);
	if (replaced > 0)
		now = mark_lists(&regroup, &leaves);
	UnlockPage(index, list.head, ExclusiveLock);
	UnlockPage(index, HYBRID_GATE, ExclusiveLock);

	elog(DEBUG1, "index regroup: " INT64_FORMAT " leaves become %d, " INT64_FORMAT " rows, blocks %u",
	     leaves.count, regroup.made.count, regroup.copied_count, RelationGetNumberOfBlocks(index));
	if (replaced > 0)
		remember_lists(&regroup, &leaves, now, regroup.made.count - (int) leaves.count);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return replaced;
}

/*
 * replace_below: an inner list with the new leaves takes the place of one, which is locked like the gate;
 * `leaves` becomes what that had.
 */
static int
replace_below(HybridRegroup *regroup, HybridLink list, HybridLevel *leaves, HybridLink *made)
{
	Relation index = regroup->index;
	const HybridIndex *open = regroup->open;
	HybridLink above = {InvalidBlockNumber, 0};
	HybridCopy copies[HYBRID_COPIES];
	int into, i;
	bool due;

	leaves->count = 0;
	hybrid_walk_below(index, &open->layout, &list, 1, leaves);
	(void) hybrid_regroup_rows(regroup, leaves, true);
	/* no inner list becomes empty */
	if (regroup->made.count == 0)
		return 0;
	into = regroup->made.count > HYBRID_INNER_SIZE ? 2 : 1;
	hybrid_copy_distribute(open, &regroup->made, into, copies);
	if (!hybrid_copies_replace(index, open, &regroup->frame, &list, 1, 1, copies, into, NULL,
	                           &above, &due))
		return 0;
	for (i = 0; i < into; i++)
		made[i] = copies[i].link;
	return into;
}

/*
 * mark_lists: the old ones are moved.  An error here, or a crash, leaves some that say they are live and
 * that nobody names, which VACUUM finds; who comes by their names sees that the list above was moved.
 */
static FullTransactionId
mark_lists(const HybridRegroup *regroup, const HybridLevel *lists)
{
	static const HybridLink nowhere = {InvalidBlockNumber, 0};
	FullTransactionId now = ReadNextFullTransactionId();
	int64 i;

	for (i = 0; i < lists->count; i++)
	{
		Buffer buffer = ReadBuffer(regroup->index, lists->lists[i].link.head);
		GenericXLogState *record;
		Page page;

		LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
		record = GenericXLogStart(regroup->index);
		page = GenericXLogRegisterBuffer(record, buffer, 0);
		hybrid_mark_moved(hybrid_list_page(page), nowhere, nowhere, now);
		GenericXLogFinish(record);
		UnlockReleaseBuffer(buffer);
	}
	return now;
}

/* remember_lists: for their pages to be used again. */
static void
remember_lists(const HybridRegroup *regroup, const HybridLevel *lists, FullTransactionId now,
               int more_leaves)
{
	int64 i;

	for (i = 0; i < lists->count; i++)
	{
		hybrid_moved_remember(regroup->index, &lists->lists[i].link, now,
		                      i == 0 ? more_leaves : 0);
		/* there is not room for a note on each */
		if (i % RECLAIM == RECLAIM - 1)
			reuse_pages(regroup->index, regroup->open);
	}
}

/* reuse_pages: those of lists that were moved serve lists that are yet to be written. */
static void
reuse_pages(Relation index, const HybridIndex *open)
{
	UnlockPage(index, HYBRID_META_BLOCK, ShareLock);
	hybrid_moved_reclaim(index, &open->layout);
	vacuum_delay_point();
	LockPage(index, HYBRID_META_BLOCK, ShareLock);
}
