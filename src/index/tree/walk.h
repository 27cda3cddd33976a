/*
 * walk.h
 *		All lists of an index, level by level, for who looks at the whole of it.
 */
#ifndef HYBRID_INDEX_WALK_H
#define HYBRID_INDEX_WALK_H

#include "index/page/index.h"

/* HybridWalked: a list, and the entry that names it. */
typedef struct HybridWalked
{
	HybridLink link;
	HybridLink above;  /* the list with that entry; the root: no block, the meta page names it */
	BlockNumber block; /* page of that list */
	int slot;          /* on that page */
	float radius;
} HybridWalked;

/* HybridLevel: the lists of one level. */
typedef struct HybridLevel
{
	int64 count;
	int64 allocated;
	HybridWalked *lists;
} HybridLevel;

/* hybrid_walk_root: a level of nothing but the root. */
extern void hybrid_walk_root(const HybridTree *tree, HybridLevel *level);

/*
 * hybrid_walk_below: adds the lists that an inner list of this level names, as of one moment, to
 * `below`, in the current memory context.
 */
extern void hybrid_walk_below(Relation index, const HybridLayout *layout, const HybridLink *list,
                              int level, HybridLevel *below);

/* HybridAhead: heads of lists that are asked for ahead of the one that is read. */
typedef struct HybridAhead
{
	Relation index;
	BlockNumber blocks; /* of the file */
	int64 next;         /* list to be asked for */
	int64 distance;
} HybridAhead;

/* hybrid_walk_ahead: of lists that are read one after the other, as many as maintenance_io_concurrency says. */
extern void hybrid_walk_ahead(HybridAhead *ahead, Relation index);

/* hybrid_walk_more_ahead: whether list ahead->next of `count` is to be asked for while list `at` is read. */
static inline bool
hybrid_walk_more_ahead(const HybridAhead *ahead, int64 at, int64 count)
{
	return ahead->next < Min(at + ahead->distance, count);
}

/* hybrid_walk_expect: that list ahead->next is this one. */
extern void hybrid_walk_expect(HybridAhead *ahead, const HybridLink *list);

/* hybrid_walk_free: of a level that was walked. */
extern void hybrid_walk_free(HybridLevel *level);

#endif
