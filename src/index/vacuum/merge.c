/*
 * merge.c
 *		VACUUM: merges two lists that have lost many of their entries into one.
 *
 * The lists below every inner list are processed, level by level from the leaves up. A list that lost a
 * quarter of its entries is merged with its nearest neighbor if the merged list has room to grow.
 * Otherwise it is written again without its dead entries. An empty list is removed, unless it is the
 * last. Inner lists are merged when they are nearly empty. If the root names only one list, that list
 * becomes the root.
 *
 * Lists are merged and rewritten by copying, as in a split. The merged list is written on pages that no
 * reader can reach yet. Then one record names it in the parent list and marks the old entries there dead
 * (link.c).
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"

#include "core/distance.h"

#include "index/page/lock.h"
#include "index/vacuum/merge.h"
#include "index/tree/free_pages.h"
#include "index/write/split.h"
#include "index/tree/tree.h"
#include "index/tree/walk.h"

#define COPIES_AT_A_TIME 16
/* maximum number of passes over the tree; removing a level may bring neighbors together */
#define ROUNDS 8

/* Child: a list below the inner list that is processed. */
typedef struct Child
{
	HybridLink link;
	uint32 total;
	bool due;  /* the list is to be merged, rewritten or removed */
	bool gone; /* the list has been processed, or cannot be */
	float *place;
} Child;

/* Family: the lists below one inner list. */
typedef struct Family
{
	Relation index;
	const HybridIndex *open;
	HybridLink above;
	int level;
	int count;
	int left; /* number of lists that the inner list names now */
	Child *children;
} Family;

static bool
list_of_level(Relation index, const HybridIndex *open, int level, int which, HybridLink *list);
static bool merge_below(Relation index, const HybridIndex *open, const HybridLinks *sparse,
                        HybridLink above, int level);
static void read_family(Family *family, const HybridLinks *sparse, const HybridLevel *below);
static bool read_head(const Family *family, Child *child, const HybridLinks *sparse);
static void read_places(Family *family, const HybridLevel *below);
static int smallest_due(const Family *family);
static int nearest(const Family *family, int which, uint32 room);
static bool merge_pair(Family *family, int which, int with);
static bool copy_alone(Family *family, int which);
static bool remove_empty(Family *family, int which);
static void copy_root(Relation index, const HybridIndex *open, HybridLink root, int height,
                      const HybridLinks *sparse);
static int compare_links(const void *a, const void *b);

void
hybrid_links_add(HybridLinks *links, HybridLink link)
{
	if (links->count == links->allocated)
	{
		links->allocated = Max(64, links->allocated * 2);
		links->links = links->links == NULL
		                   ? palloc(links->allocated * sizeof(HybridLink))
		                   : repalloc_huge(links->links, links->allocated * sizeof(HybridLink));
	}
	links->links[links->count++] = link;
}

void
hybrid_links_sort(HybridLinks *links)
{
	if (links->count > 1)
		qsort(links->links, links->count, sizeof(HybridLink), compare_links);
}

bool
hybrid_links_has(const HybridLinks *links, const HybridLink *link)
{
	return links->count > 0 &&
	       bsearch(link, links->links, links->count, sizeof(HybridLink), compare_links) != NULL;
}

void
hybrid_merge(Relation index, const HybridIndex *open, const HybridLinks *sparse)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid merge", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	HybridTree tree;
	HybridLink list;
	bool again = true;
	int round, level, i;

	for (round = 0; round < ROUNDS && again; round++)
	{
		again = false;
		hybrid_tree_read(index, &tree);
		for (level = 0; level < tree.height; level++)
		{
			for (i = 0; list_of_level(index, open, level + 1, i, &list); i++)
			{
				/* when inner lists are merged, the lists below them get new neighbors */
				if (merge_below(index, open, sparse, list, level) && level > 0)
					again = true;
				hybrid_moved_reuse(index, &open->layout);
			}
			hybrid_tree_read(index, &tree);
		}
		while (hybrid_shrink_root(index, open))
			again = true;
		MemoryContextReset(context);
	}
	hybrid_tree_read(index, &tree);
	copy_root(index, open, tree.root, tree.height, sparse);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/*
 * list_of_level: get list number `which` of a level of the current tree. Returns false if the level has
 * fewer lists.
 */
static bool
list_of_level(Relation index, const HybridIndex *open, int level, int which, HybridLink *list)
{
	HybridLink *lists;
	HybridTree tree;
	int count;

	hybrid_tree_read(index, &tree);
	lists = hybrid_tree_lists(index, open, &tree, level, NULL, &count);
	if (which < count)
		*list = lists[which];
	pfree(lists);
	return which < count;
}

/*
 * merge_below: process the lists that an inner list names. Returns whether any were merged or
 * removed.
 */
static bool
merge_below(Relation index, const HybridIndex *open, const HybridLinks *sparse, HybridLink above,
            int level)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid merge lists", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	uint32 limit = hybrid_list_limit(open, level);
	/*
	 * A list of fewer than `few` entries is merged. An inner list that small is always due, because a
	 * split leaves more entries. A merged list has at most `most` entries, so it has room to grow.
	 */
	uint32 few = level == 0 ? limit / 2 : limit / 8, most = limit / 4 * 3;
	bool merged = false;
	HybridLevel below;
	Family family;
	int which, copied = 0;

	memset(&below, 0, sizeof(below));
	memset(&family, 0, sizeof(family));
	family.index = index;
	family.open = open;
	family.above = above;
	family.level = level;
	hybrid_walk_below(index, &open->layout, &above, level + 1, &below);
	read_family(&family, sparse, &below);
	while ((which = smallest_due(&family)) >= 0)
	{
		Child *child = &family.children[which];
		int with = -1;

		if (child->total < few)
			with = nearest(&family, which, child->total == 0 ? PG_UINT32_MAX : most - child->total);
		if (child->total == 0 && family.left > 1 && with >= 0)
			merged |= remove_empty(&family, which);
		else if (child->total > 0 && with >= 0)
			merged |= merge_pair(&family, which, with);
		else if (child->total > 0)
			(void) copy_alone(&family, which);
		child->gone = true;
		/* if lists are freed while the lock is released, that is detected later */
		if (++copied % COPIES_AT_A_TIME == 0)
			hybrid_moved_reuse(index, &open->layout);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return merged;
}

/*
 * read_family: read the lists, and determine which of them are due. Places are read only if a list is
 * due.
 */
static void
read_family(Family *family, const HybridLinks *sparse, const HybridLevel *below)
{
	bool due = false;
	int i;

	/* each merged pair adds one child */
	family->children = palloc0(2 * Max(below->count, 1) * sizeof(Child));
	for (i = 0; i < below->count; i++)
	{
		Child *child = &family->children[family->count++];

		child->link = below->lists[i].link;
		child->gone = !read_head(family, child, sparse);
		family->left += child->gone ? 0 : 1;
		due |= child->due;
	}
	if (due)
		read_places(family, below);
}

/*
 * read_head: read a child's size and determine whether it is due. Returns false if the list was moved or
 * no longer exists.
 */
static bool
read_head(const Family *family, Child *child, const HybridLinks *sparse)
{
	const HybridLayout *layout = &family->open->layout;
	Buffer buffer = ReadBuffer(family->index, child->link.head);
	const HybridListPage *head = hybrid_list_page(BufferGetPage(buffer));
	bool there;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	there = hybrid_page_belongs(BufferGetPage(buffer), HYBRID_PAGE_LIST, &child->link) &&
	        head->state == HYBRID_LIST_LIVE;
	child->total = head->total;
	if (family->level == 0)
		child->due = there && (head->total == 0 || hybrid_links_has(sparse, &child->link));
	else
		child->due =
			there && (head->total < HYBRID_INNER_SIZE / 8 || hybrid_list_mostly_dead(layout, head));
	UnlockReleaseBuffer(buffer);
	return there;
}

/* read_places: read the places of the centroids from the inner list. */
static void
read_places(Family *family, const HybridLevel *below)
{
	const HybridLayout *layout = &family->open->layout;
	char *vector = palloc(layout->stride);
	HybridStored stored;
	int i;

	for (i = 0; i < family->count; i++)
	{
		Buffer buffer = hybrid_list_read(family->index, layout, &family->above, family->level + 1,
		                                 below->lists[i].block, NULL);

		hybrid_vector_read(
			family->index, layout,
			(HybridSlot){BufferGetPage(buffer), family->level + 1, below->lists[i].slot}, &stored,
			vector, NULL);
		UnlockReleaseBuffer(buffer);
		family->children[i].place = palloc(layout->dims * sizeof(float));
		hybrid_widen_vector(layout->storage, &stored, vector, layout->dims,
		                    family->children[i].place);
	}
	pfree(vector);
}

/*
 * smallest_due: return the smallest list that is due, or -1. Merging the smallest list first copies the
 * fewest rows.
 */
static int
smallest_due(const Family *family)
{
	int smallest = -1, i;

	for (i = 0; i < family->count; i++)
	{
		const Child *child = &family->children[i];

		if (child->due && !child->gone &&
		    (smallest < 0 || child->total < family->children[smallest].total))
			smallest = i;
	}
	return smallest;
}

/* nearest: return the nearest other list with at most `room` entries, or -1 if there is none. */
static int
nearest(const Family *family, int which, uint32 room)
{
	int dims = family->open->layout.dims, found = -1, i;
	double least = DBL_MAX;

	for (i = 0; i < family->count; i++)
	{
		const Child *child = &family->children[i];
		double squared;

		if (i == which || child->gone || child->total > room)
			continue;
		squared = hy_l2_squared(family->children[which].place, HY_F32, child->place, dims);
		if (found < 0 || squared < least)
		{
			found = i;
			least = squared;
		}
	}
	return found;
}

/* merge_pair: merge two lists into one. The merged list is due again if it has few entries. */
static bool
merge_pair(Family *family, int which, int with)
{
	Child *a = &family->children[which], *b = &family->children[with], *made;
	HybridLink lists[2] = {a->link, b->link}, copies[HYBRID_COPIES];
	HybridReplaced old = {lists, 2, family->level, family->above, false};
	int dims = family->open->layout.dims, i;
	bool merged;

	/*
	 * two locks of one level cannot deadlock: no other session waits for a list while it holds another of
	 * the same level
	 */
	hybrid_lock(family->index, a->link.head, ExclusiveLock);
	hybrid_lock(family->index, b->link.head, ExclusiveLock);
	merged = hybrid_copy_lists(family->index, family->open, &old, 1, copies);
	hybrid_unlock(family->index, b->link.head, ExclusiveLock);
	hybrid_unlock(family->index, a->link.head, ExclusiveLock);
	if (!merged)
		return false;
	a->gone = b->gone = true;
	family->left--;
	made = &family->children[family->count++];
	made->link = copies[0];
	made->total = a->total + b->total;
	made->due = made->total < hybrid_list_limit(family->open, family->level) / 4;
	made->place = palloc(dims * sizeof(float));
	for (i = 0; i < dims; i++)
		made->place[i] = (a->place[i] * a->total + b->place[i] * b->total) / Max(made->total, 1);
	return true;
}

/* copy_alone: rewrite a list without its dead entries. */
static bool
copy_alone(Family *family, int which)
{
	Child *child = &family->children[which];
	HybridReplaced old = {&child->link, 1, family->level, family->above, false};
	HybridLink copies[HYBRID_COPIES];
	bool copied;

	hybrid_lock(family->index, child->link.head, ExclusiveLock);
	copied = hybrid_copy_lists(family->index, family->open, &old, 1, copies);
	hybrid_unlock(family->index, child->link.head, ExclusiveLock);
	return copied;
}

/* remove_empty: remove an empty list from the parent list. */
static bool
remove_empty(Family *family, int which)
{
	Child *child = &family->children[which];
	HybridReplaced old = {&child->link, 1, family->level, family->above, false};
	bool removed = false;
	HybridReplacement forward;
	Child now = *child;
	HybridLinks none;

	memset(&forward, 0, sizeof(forward));
	memset(&none, 0, sizeof(none));
	forward.link = family->children[nearest(family, which, PG_UINT32_MAX)].link;
	hybrid_lock(family->index, child->link.head, ExclusiveLock);
	if (read_head(family, &now, &none) && now.total == 0)
		removed = hybrid_replace_entries(family->index, family->open, NULL, &old, &forward, 0);
	hybrid_unlock(family->index, child->link.head, ExclusiveLock);
	if (removed)
		family->left--;
	return removed;
}

/*
 * copy_root: rewrite the root if it is a leaf that has lost entries, or an inner list with mostly
 * dead slots.
 */
static void
copy_root(Relation index, const HybridIndex *open, HybridLink root, int height,
          const HybridLinks *sparse)
{
	HybridReplaced old = {&root, 1, height, {InvalidBlockNumber, 0}, false};
	HybridLink copies[HYBRID_COPIES];
	bool due;

	hybrid_lock(index, root.head, ExclusiveLock);
	if (height == 0)
		due = hybrid_links_has(sparse, &root);
	else
	{
		Buffer buffer = hybrid_list_read(index, &open->layout, &root, height, root.head, NULL);

		due = hybrid_list_mostly_dead(&open->layout, hybrid_list_page(BufferGetPage(buffer)));
		UnlockReleaseBuffer(buffer);
	}
	if (due)
		(void) hybrid_copy_lists(index, open, &old, 1, copies);
	hybrid_unlock(index, root.head, ExclusiveLock);
}

static int
compare_links(const void *a, const void *b)
{
	const HybridLink *x = (const HybridLink *) a, *y = (const HybridLink *) b;

	if (x->head != y->head)
		return x->head < y->head ? -1 : 1;
	return (x->generation > y->generation) - (x->generation < y->generation);
}
