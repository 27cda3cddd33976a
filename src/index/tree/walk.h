/*
 * walk.h
 *		Visit all lists of an index, level by level.
 */
#ifndef HYBRID_INDEX_WALK_H
#define HYBRID_INDEX_WALK_H

#include "index/page/index.h"

/* HybridWalked: a list and the position of the entry that names it. */
typedef struct HybridWalked
{
	HybridLink link;
	/*
	 * list that has this entry; its head is invalid if `link` is the root, which the meta page names
	 * instead of an entry
	 */
	HybridLink above;
	BlockNumber block; /* page with this entry */
	int slot;          /* slot of the entry on that page */
	float radius;      /* radius in the entry, encoded by hybrid_radius */
} HybridWalked;

/* HybridLevel: the lists of one level. */
typedef struct HybridLevel
{
	int64 count;
	int64 allocated;
	HybridWalked *lists;
} HybridLevel;

/* hybrid_walk_root: make a level that contains only the root. */
extern void hybrid_walk_root(const HybridTree *tree, HybridLevel *level);

/*
 * hybrid_walk_below: append to `below` the lists that an inner list of this level names. If the inner list
 * changes meanwhile, it is read again. Memory comes from the current memory context.
 */
extern void hybrid_walk_below(Relation index, const HybridLayout *layout, const HybridLink *list,
                              int level, HybridLevel *below);

/* HybridAhead: state of prefetching the heads of lists. */
typedef struct HybridAhead
{
	Relation index;
	BlockNumber blocks; /* number of blocks of the file */
	int64 next;         /* number of the next list to prefetch */
	int64 distance;     /* number of lists to prefetch ahead of the one that is read */
} HybridAhead;

/*
 * hybrid_walk_ahead: begin to prefetch lists that are read one after another. maintenance_io_concurrency
 * sets the number of lists to prefetch ahead.
 */
extern void hybrid_walk_ahead(HybridAhead *ahead, Relation index);

/*
 * hybrid_walk_more_ahead: test whether list number ahead->next of `count` lists should be prefetched while
 * list number `at` is read.
 */
static inline bool
hybrid_walk_more_ahead(const HybridAhead *ahead, int64 at, int64 count)
{
	return ahead->next < Min(at + ahead->distance, count);
}

/* hybrid_walk_expect: prefetch this list, which is number ahead->next. */
extern void hybrid_walk_expect(HybridAhead *ahead, const HybridLink *list);

/* hybrid_walk_free: free a level. */
extern void hybrid_walk_free(HybridLevel *level);

#endif
