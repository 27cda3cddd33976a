/*
 * check.h
 *		Declarations shared by the files of hybrid_index_check().
 */
#ifndef HYBRID_INDEX_CHECK_H
#define HYBRID_INDEX_CHECK_H

#include "index/page/frame.h"
#include "index/tree/walk.h"

/* HybridCheckedEntry: a live entry of a leaf, and its location. */
typedef struct HybridCheckedEntry
{
	int64 position; /* heap position of the row, from hybrid_position() */
	int64 list;     /* number of the leaf in HybridCheck.leaves */
	BlockNumber block;
	int slot;
} HybridCheckedEntry;

typedef struct HybridCheck
{
	Relation heap;
	Relation index;
	HybridIndex open;
	HybridTree tree; /* the tree as it was at the beginning */
	HybridFrame frame;
	BufferAccessStrategy strategy;
	HybridLevel leaves;
	HybridCheckedEntry *entries;
	Size count;
	Size allocated;
	BlockNumber blocks; /* number of blocks of the file at the beginning */
	/*
	 * for each block, the head of the list or segment that owns it; InvalidBlockNumber if none was
	 * found
	 */
	BlockNumber *owners;
	/* working memory */
	char *vector;   /* a vector as the index stores it */
	char *expected; /* the same vector as formed from the table's row */
	float *widened;
	float *place;
	float *rotated;
	uint8 *codes; /* codes of a block that has them on separate pages */
	uint8 *bits;
	MemoryContext row_context;
} HybridCheck;

/* HybridCheckedList: the list that is being checked. */
typedef struct HybridCheckedList
{
	const HybridWalked *walked;
	int64 number; /* number of the list in its level */
	int level;
	bool known;          /* the list's entry in the parent list, with the centroid, still exists */
	HybridBounds bounds; /* bounds of the list, in an index with keys, if `known` */
	float *centroid;     /* the centroid minus the center; NULL if it is the center */
	float *rotated_centroid; /* `centroid`, rotated; NULL if `centroid` is NULL */
} HybridCheckedList;

/*
 * hybrid_check_tree (check_tree.c): check the tree and the pages of its lists, and collect the
 * leaves and their live entries.
 */
extern void hybrid_check_tree(HybridCheck *check);

/* hybrid_check_holds: test whether a slot of a list still has a live entry with this TID or link. */
extern bool hybrid_check_holds(HybridCheck *check, const HybridLink *list, int level,
                               BlockNumber block, int slot, const ItemPointerData *tid);

/* hybrid_check_copy: copy a page of a list, under a buffer lock. */
extern void hybrid_check_copy(HybridCheck *check, const HybridLink *list, int level,
                              BlockNumber block, Page copy);

/*
 * hybrid_check_entries (check_entry.c): check the live entries of a list page. `page` is a copy of
 * the page.
 */
extern void hybrid_check_entries(HybridCheck *check, const HybridCheckedList *list,
                                 BlockNumber block, Page page);

/*
 * hybrid_check_own (check_tree.c): record the owner of a page: a list or a segment. Raises an error if
 * the page already has an owner, except on a standby.
 */
extern void hybrid_check_own(HybridCheck *check, BlockNumber block, const HybridLink *list);

/* hybrid_check_segments (check_segments.c): check the segments of an index on sparse vectors. */
extern void hybrid_check_segments(HybridCheck *check);

/*
 * hybrid_check_file (check_file.c): check the meta page, and raise a NOTICE if the file has pages that
 * belong to no list.
 */
extern void hybrid_check_file(HybridCheck *check);

#endif
