/*
 * merge.c
 *		VACUUM: merges, rewrites or removes lists that have lost many of their entries.
 *
 * The lists below every inner list are processed, level by level from the leaves up. A leaf that lost a
 * quarter of its entries is due. If it is less than half full, it is merged with its nearest neighbor,
 * provided that the merged list has room to grow. Otherwise it is written again without its dead
 * entries. An empty list is removed, unless it is the only one below its parent list. In an index with
 * keys, an empty list is not removed, but merged with a neighbor. An inner list is due when it is
 * nearly empty or most of its slots are dead. If the root names only one list, a copy of that list
 * becomes the root.
 *
 * Lists are merged and rewritten by copying, as in a split. The merged list is written on pages that no
 * reader can reach yet. Then one record names the merged list in the parent list and marks the old
 * entries there dead (link.c).
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"

#include "core/distance.h"
#include "server/memory.h"

#include "index/page/lock.h"
#include "index/vacuum/merge.h"
#include "index/tree/free_pages.h"
#include "index/write/split.h"
#include "index/tree/tree.h"
#include "index/tree/walk.h"

#define COPIES_AT_A_TIME 16
/*
 * maximum number of passes over the tree; merging inner lists gives the lists below them new neighbors
 */
#define ROUNDS 8

/* Sibling: a list below the inner list that is processed. */
typedef struct Sibling
{
	HybridLink link;
	uint32 total;
	bool due;  /* the list is to be merged, rewritten or removed */
	bool gone; /* the list has been processed, or cannot be */
	float *place;
	HybridBounds bounds; /* in an index with keys */
} Sibling;

/* Siblings: the lists below one inner list. */
typedef struct Siblings
{
	Relation index;
	const HybridIndex *open;
	HybridLink above;
	int level;
	int count;
	int left; /* number of lists that the inner list still names */
	Sibling *lists;
} Siblings;

static bool
list_of_level(Relation index, const HybridIndex *open, int level, int which, HybridLink *list);
static bool merge_below(Relation index, const HybridIndex *open, const HybridLinks *sparse,
                        HybridLink above, int level);
static void read_siblings(Siblings *siblings, const HybridLinks *sparse, const HybridLevel *below);
static bool read_head(const Siblings *siblings, Sibling *sibling, const HybridLinks *sparse);
static void read_places(Siblings *siblings, const HybridLevel *below);
static int smallest_due(const Siblings *siblings);
static bool adjoin(const HybridBounds *a, const HybridBounds *b);
static int nearest(const Siblings *siblings, int which, uint32 room);
static bool merge_pair(Siblings *siblings, int which, int with);
static bool copy_alone(Siblings *siblings, int which);
static bool remove_empty(Siblings *siblings, int which);
static void copy_root(Relation index, const HybridIndex *open, HybridLink root, int height,
                      const HybridLinks *sparse);
static int compare_links(const void *a, const void *b);

void
hybrid_links_add(HybridLinks *links, HybridLink link)
{
	if (links->count == links->allocated)
	{
		links->allocated = Max(64, links->allocated * 2);
		links->links = hybrid_enlarge(CurrentMemoryContext, links->links,
		                              links->allocated * sizeof(HybridLink));
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
				/*
				 * when inner lists are merged, the lists below them get new neighbors, so process all
				 * lists again
				 */
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
	 * A due list with fewer than `few` entries is merged. An inner list with fewer entries is always
	 * due. (A split leaves more.) A merged list has at most `most` entries, so it has room to grow.
	 */
	uint32 few = level == 0 ? limit / 2 : limit / 8, most = limit / 4 * 3;
	/*
	 * with keys, an empty list is merged with a neighbor of at most this size; the copy then has the
	 * bounds of both
	 */
	uint32 room = open->layout.bounds > 0 ? limit : PG_UINT32_MAX;
	bool merged = false;
	HybridLevel below;
	Siblings siblings;
	int which, copied = 0;

	memset(&below, 0, sizeof(below));
	memset(&siblings, 0, sizeof(siblings));
	siblings.index = index;
	siblings.open = open;
	siblings.above = above;
	siblings.level = level;
	hybrid_walk_below(index, &open->layout, &above, level + 1, &below);
	read_siblings(&siblings, sparse, &below);
	while ((which = smallest_due(&siblings)) >= 0)
	{
		Sibling *sibling = &siblings.lists[which];
		int with = -1;

		if (sibling->total < few)
			with = nearest(&siblings, which, sibling->total == 0 ? room : most - sibling->total);
		if (sibling->total == 0 && siblings.left > 1 && with >= 0 && open->layout.bounds == 0)
			merged |= remove_empty(&siblings, which);
		else if ((sibling->total > 0 || open->layout.bounds > 0) && with >= 0)
			merged |= merge_pair(&siblings, which, with);
		else if (sibling->total > 0)
			(void) copy_alone(&siblings, which);
		sibling->gone = true;
		/*
		 * This call releases the meta page's lock for a moment, so lists that other sessions have moved
		 * may be freed. Before a list is changed, make_room (write/copy.c) or read_head finds out
		 * whether it is still live, and find_entries (write/link.c) does so for the parent list.
		 */
		if (++copied % COPIES_AT_A_TIME == 0)
			hybrid_moved_reuse(index, &open->layout);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return merged;
}

/*
 * read_siblings: read the heads of the lists, and determine which lists are due. Centroids are read
 * only if a list is due.
 */
static void
read_siblings(Siblings *siblings, const HybridLinks *sparse, const HybridLevel *below)
{
	bool due = false;
	int i;

	/* each merged pair adds one sibling */
	siblings->lists = palloc0(2 * Max(below->count, 1) * sizeof(Sibling));
	for (i = 0; i < below->count; i++)
	{
		Sibling *sibling = &siblings->lists[siblings->count++];

		sibling->link = below->lists[i].link;
		sibling->gone = !read_head(siblings, sibling, sparse);
		siblings->left += sibling->gone ? 0 : 1;
		due |= sibling->due;
	}
	if (due)
		read_places(siblings, below);
}

/*
 * read_head: read a sibling's size and determine whether it is due. Returns false if the list was moved or
 * no longer exists.
 */
static bool
read_head(const Siblings *siblings, Sibling *sibling, const HybridLinks *sparse)
{
	const HybridLayout *layout = &siblings->open->layout;
	Buffer buffer = ReadBuffer(siblings->index, sibling->link.head);
	const HybridListPage *head = hybrid_list_page(BufferGetPage(buffer));
	bool there;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	there = hybrid_page_belongs(BufferGetPage(buffer), HYBRID_PAGE_LIST, &sibling->link) &&
	        head->state == HYBRID_LIST_LIVE;
	sibling->total = head->total;
	if (siblings->level == 0)
		sibling->due = there && (head->total == 0 || hybrid_links_has(sparse, &sibling->link));
	else
		sibling->due =
			there && (head->total < HYBRID_INNER_SIZE / 8 || hybrid_list_mostly_dead(layout, head));
	UnlockReleaseBuffer(buffer);
	return there;
}

/*
 * read_places: read the centroids of the lists, minus the center, and their bounds from the inner list.
 */
static void
read_places(Siblings *siblings, const HybridLevel *below)
{
	const HybridLayout *layout = &siblings->open->layout;
	char *vector = palloc(layout->inner.stride);
	HybridStored stored;
	int i;

	for (i = 0; i < siblings->count; i++)
	{
		Buffer buffer = hybrid_list_read(siblings->index, layout, &siblings->above,
		                                 siblings->level + 1, below->lists[i].block, NULL);

		hybrid_vector_read(
			siblings->index, layout,
			(HybridSlot){BufferGetPage(buffer), siblings->level + 1, below->lists[i].slot}, &stored,
			vector, NULL);
		if (layout->bounds > 0)
			hybrid_bounds_get(
				layout,
				(HybridSlot){BufferGetPage(buffer), siblings->level + 1, below->lists[i].slot},
				&siblings->lists[i].bounds);
		UnlockReleaseBuffer(buffer);
		siblings->lists[i].place = palloc(layout->dims * sizeof(float));
		hybrid_widen_vector(layout->inner.storage, &stored, vector, layout->dims,
		                    siblings->lists[i].place);
	}
	pfree(vector);
}

/*
 * smallest_due: return the smallest list that is due, or -1. Merging the smallest list first copies the
 * fewest rows.
 */
static int
smallest_due(const Siblings *siblings)
{
	int smallest = -1, i;

	for (i = 0; i < siblings->count; i++)
	{
		const Sibling *sibling = &siblings->lists[i];

		if (sibling->due && !sibling->gone &&
		    (smallest < 0 || sibling->total < siblings->lists[smallest].total))
			smallest = i;
	}
	return smallest;
}

/*
 * adjoin: test whether no word lies between the bounds of two lists. Otherwise the bounds of the merged
 * list would include keys of other lists.
 */
static bool
adjoin(const HybridBounds *a, const HybridBounds *b)
{
	return (a->most == PG_UINT64_MAX || b->least <= a->most + 1) &&
	       (b->most == PG_UINT64_MAX || a->least <= b->most + 1);
}

/*
 * nearest: return the nearest other list with at most `room` entries, or -1 if there is none. In an
 * index with keys, only lists whose bounds adjoin are considered.
 */
static int
nearest(const Siblings *siblings, int which, uint32 room)
{
	int dims = siblings->open->layout.dims, found = -1, i;
	double least = DBL_MAX;

	for (i = 0; i < siblings->count; i++)
	{
		const Sibling *sibling = &siblings->lists[i];
		double squared;

		if (i == which || sibling->gone || sibling->total > room)
			continue;
		if (siblings->open->layout.bounds > 0 &&
		    !adjoin(&siblings->lists[which].bounds, &sibling->bounds))
			continue;
		squared = hy_l2_squared(siblings->lists[which].place, HY_F32, sibling->place, dims);
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
merge_pair(Siblings *siblings, int which, int with)
{
	Sibling *a = &siblings->lists[which], *b = &siblings->lists[with], *made;
	HybridLink lists[2] = {a->link, b->link}, copies[HYBRID_COPIES];
	HybridReplaced old = {lists, 2, siblings->level, siblings->above, false};
	int dims = siblings->open->layout.dims, i;
	bool merged;

	/*
	 * Two locks of one level cannot cause a deadlock: no other session waits for a list while it holds
	 * another list of the same level.
	 */
	hybrid_lock(siblings->index, a->link.head, ExclusiveLock);
	hybrid_lock(siblings->index, b->link.head, ExclusiveLock);
	merged = hybrid_copy_lists(siblings->index, siblings->open, &old, 1, copies);
	hybrid_unlock(siblings->index, b->link.head, ExclusiveLock);
	hybrid_unlock(siblings->index, a->link.head, ExclusiveLock);
	if (!merged)
		return false;
	a->gone = b->gone = true;
	siblings->left--;
	made = &siblings->lists[siblings->count++];
	made->link = copies[0];
	made->total = a->total + b->total;
	made->bounds.least = Min(a->bounds.least, b->bounds.least);
	made->bounds.most = Max(a->bounds.most, b->bounds.most);
	made->due = made->total < hybrid_list_limit(siblings->open, siblings->level) / 4;
	made->place = palloc(dims * sizeof(float));
	for (i = 0; i < dims; i++)
		made->place[i] = (a->place[i] * a->total + b->place[i] * b->total) / Max(made->total, 1);
	return true;
}

/* copy_alone: rewrite a list without its dead entries. */
static bool
copy_alone(Siblings *siblings, int which)
{
	Sibling *sibling = &siblings->lists[which];
	HybridReplaced old = {&sibling->link, 1, siblings->level, siblings->above, false};
	HybridLink copies[HYBRID_COPIES];
	bool copied;

	hybrid_lock(siblings->index, sibling->link.head, ExclusiveLock);
	copied = hybrid_copy_lists(siblings->index, siblings->open, &old, 1, copies);
	hybrid_unlock(siblings->index, sibling->link.head, ExclusiveLock);
	return copied;
}

/*
 * remove_empty: remove an empty list from the parent list, and name the nearest list as its successor.
 */
static bool
remove_empty(Siblings *siblings, int which)
{
	Sibling *sibling = &siblings->lists[which];
	HybridReplaced old = {&sibling->link, 1, siblings->level, siblings->above, false};
	bool removed = false;
	HybridReplacement forward;
	Sibling now = *sibling;
	HybridLinks none;

	memset(&forward, 0, sizeof(forward));
	memset(&none, 0, sizeof(none));
	forward.link = siblings->lists[nearest(siblings, which, PG_UINT32_MAX)].link;
	hybrid_lock(siblings->index, sibling->link.head, ExclusiveLock);
	if (read_head(siblings, &now, &none) && now.total == 0)
		removed = hybrid_replace_entries(siblings->index, siblings->open, NULL, &old, &forward, 0);
	hybrid_unlock(siblings->index, sibling->link.head, ExclusiveLock);
	if (removed)
		siblings->left--;
	return removed;
}

/*
 * copy_root: rewrite the root if it is a leaf that has lost a quarter of its entries, or an inner list
 * with mostly dead slots.
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
