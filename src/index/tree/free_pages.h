/*
 * free_pages.h
 *		Pages for new lists, and what becomes of those of lists that were moved.
 */
#ifndef HYBRID_INDEX_FREE_PAGES_H
#define HYBRID_INDEX_FREE_PAGES_H

#include "index/page/new_list.h"

/*
 * hybrid_page_allocate: a page that belongs to nobody, pinned and exclusively locked, and in
 * *generation the one it would have as the head of a list.  It is the caller's from now on: if it is
 * not written, it stays empty until VACUUM comes by.
 */
extern Buffer hybrid_page_allocate(Relation index, uint16 *generation);

/*
 * hybrid_page_give_back: such a page that was named by a HybridLoggedSink, and not written, is free again; the
 * caller is the only one who knows of it.
 */
extern void hybrid_page_give_back(Relation index, BlockNumber block);

/* HybridLoggedSink: a sink that writes to such pages, with WAL. */
typedef struct HybridLoggedSink
{
	HybridSink sink; /* first: it is what others see */
	Relation index;
} HybridLoggedSink;

extern void hybrid_logged_sink_init(HybridLoggedSink *sink, Relation index);

/*
 * hybrid_list_extend: a new, empty page at the end of a list whose lock the caller holds
 * exclusively; returns its block.
 */
extern BlockNumber hybrid_list_extend(Relation index, const HybridLayout *layout,
                                      const HybridLink *list, int level, BlockNumber tail);

/* hybrid_page_write: overwrites a page with an image, with WAL. */
extern void hybrid_page_write(Relation index, BlockNumber block, Page image);

/* HYBRID_CENTRE_GENERATION: no list has it; in a note, the block was a page of the centre. */
#define HYBRID_CENTRE_GENERATION 0

/*
 * hybrid_moved_remember: a list was moved: whoever needs pages later may take its own, once nobody
 * reads them.  Nothing is lost but time where there is no room for the note: VACUUM finds it.
 */
extern void hybrid_moved_remember(Relation index, const HybridLink *list, FullTransactionId since);

/* hybrid_tree_grow: so many leaves more are in the tree, or fewer. */
extern void hybrid_tree_grow(Relation index, int leaves);

/*
 * hybrid_tree_count: so many leaves are in a tree that is new, as who knows says that keeps others from
 * splitting.
 */
extern void hybrid_tree_count(Relation index, int leaves);

/* hybrid_moved_known: whether there is such a note. */
extern bool hybrid_moved_known(Relation index, const HybridLink *list);

/* hybrid_moved_reclaim: frees the pages of the oldest moved lists that nobody can be reading. */
extern void hybrid_moved_reclaim(Relation index, const HybridLayout *layout);

/*
 * hybrid_nobody_reads: whether nobody else has a snapshot, and nothing else here has the index open; who
 * holds the meta page's lock exclusively then knows that nobody reads lists moved so far.
 */
extern bool hybrid_nobody_reads(Relation index);

/*
 * hybrid_list_free: frees the pages of a moved list if nobody can be reading it; returns how many.
 * unread: nobody is, whatever is running.
 */
extern int
hybrid_list_free(Relation index, const HybridLayout *layout, HybridLink list, bool unread);

/*
 * hybrid_pages_free: frees pages that belong to a list, or did when it existed, and that nobody names;
 * returns how many still did.
 */
extern int
hybrid_pages_free(Relation index, const HybridLink *list, const BlockNumber *blocks, int count);

#endif
