/*
 * check.h
 *		What the parts of hybrid_index_check() share.
 */
#ifndef HYBRID_INDEX_CHECK_H
#define HYBRID_INDEX_CHECK_H

#include "index/page/frame.h"
#include "index/tree/walk.h"

/* HybridCheckedEntry: a live entry of a leaf, and where it is. */
typedef struct HybridCheckedEntry
{
	int64 position; /* hybrid_position() */
	int64 list;     /* number of the leaf */
	BlockNumber block;
	int slot;
} HybridCheckedEntry;

typedef struct HybridCheck
{
	Relation heap;
	Relation index;
	HybridIndex open;
	HybridTree tree; /* as it was at the beginning */
	HybridFrame frame;
	BufferAccessStrategy strategy;
	HybridLevel leaves;
	HybridCheckedEntry *entries;
	Size count;
	Size allocated;
	BlockNumber blocks;  /* of the file at the beginning */
	BlockNumber *owners; /* of each: head of the list that it was met in, or no block */
	/* room */
	char *vector;   /* as the index holds it */
	char *expected; /* the same as the table's row makes it */
	float *widened;
	float *place;
	float *rotated;
	uint8 *codes; /* of a block whose codes have pages of their own */
	uint8 *bits;
	MemoryContext row_context;
} HybridCheck;

/* HybridCheckedList: the list that is looked at. */
typedef struct HybridCheckedList
{
	const HybridWalked *walked;
	int64 number; /* in its level */
	int level;
	bool known;              /* its centroid is */
	float *centroid;         /* NULL: the centre */
	float *rotated_centroid; /* NULL: the centre */
} HybridCheckedList;

/* check_tree.c: the tree and the pages of its lists; what entries it has; the leaves. */
extern void hybrid_check_tree(HybridCheck *check);

/*
 * hybrid_check_holds: whether there still is a live entry with this TID, or link, in a slot of a list.
 */
extern bool hybrid_check_holds(HybridCheck *check, const HybridLink *list, int level,
                               BlockNumber block, int slot, const ItemPointerData *tid);

/* hybrid_check_copy: a page of a list, copied. */
extern void hybrid_check_copy(HybridCheck *check, const HybridLink *list, int level,
                              BlockNumber block, Page copy);

/* check_entry.c: the live entries of a list page, of which `page` is a copy. */
extern void hybrid_check_entries(HybridCheck *check, const HybridCheckedList *list,
                                 BlockNumber block, Page page);

/*
 * check_file.c: the meta page's notes on moved lists, and a NOTICE where pages of the file belong to
 * nothing.
 */
extern void hybrid_check_file(HybridCheck *check);

#endif
