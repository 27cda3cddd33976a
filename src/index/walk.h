/*
 * walk.h
 *		All lists of an index, level by level, for who looks at the whole of it.
 */
#ifndef HYBRID_INDEX_WALK_H
#define HYBRID_INDEX_WALK_H

#include "index/index.h"

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

/* hybrid_walk_free: of a level that was walked. */
extern void hybrid_walk_free(HybridLevel *level);

#endif
