/*
 * free_pages.h
 *		Allocate pages for new lists, and free the pages of moved lists.
 */
#ifndef HYBRID_INDEX_FREE_PAGES_H
#define HYBRID_INDEX_FREE_PAGES_H

#include "index/page/new_list.h"

/*
 * hybrid_page_allocate: return an unused page, pinned and exclusively locked. Sets *generation to the
 * generation that the page would have as the head of a list. If the caller does not write to the page,
 * the page stays unused until VACUUM finds it.
 */
extern Buffer hybrid_page_allocate(Relation index, uint16 *generation);

/*
 * hybrid_page_give_back: free a page that a HybridLoggedSink has reserved, and to which nothing was
 * written. No other process may know of the page.
 */
extern void hybrid_page_give_back(Relation index, BlockNumber block);

/* HybridLoggedSink: a sink that writes to pages from hybrid_page_allocate, with WAL. */
typedef struct HybridLoggedSink
{
	HybridSink sink; /* must be first: callbacks get a pointer to it */
	Relation index;
} HybridLoggedSink;

extern void hybrid_logged_sink_init(HybridLoggedSink *sink, Relation index);

/*
 * hybrid_list_extend: append an empty page to a list and return its block. The caller holds the list's
 * lock exclusively.
 */
extern BlockNumber hybrid_list_extend(Relation index, const HybridLayout *layout,
                                      const HybridLink *list, int level, BlockNumber tail);

/* hybrid_page_write: overwrite a page with an image, with WAL. */
extern void hybrid_page_write(Relation index, BlockNumber block, Page image);

/* HYBRID_CENTER_GENERATION: a generation that no list has. In the ring, it marks a page of a center. */
#define HYBRID_CENTER_GENERATION 0

/*
 * hybrid_moved_remember: add a moved list, or a page of a replaced center, to the ring on the meta page.
 * hybrid_moved_reclaim frees its pages once no session reads them any more. If the ring is full, a list
 * is not added, and VACUUM finds it later.
 */
extern void hybrid_moved_remember(Relation index, const HybridLink *list, FullTransactionId since);

/* hybrid_tree_add_leaves: add `leaves` to the leaf count of the tree. The number may be negative. */
extern void hybrid_tree_add_leaves(Relation index, int leaves);

/*
 * hybrid_tree_set_leaves: set the leaf count of a newly built tree, and the count at or above which
 * VACUUM builds the next tree. The caller holds the gate exclusively, so that no session splits a list.
 */
extern void hybrid_tree_set_leaves(Relation index, int leaves);

/* hybrid_moved_known: test whether a list is in the ring. */
extern bool hybrid_moved_known(Relation index, const HybridLink *list);

/*
 * hybrid_moved_reclaim: free the pages of the oldest lists in the ring, up to the first list that a
 * session may still read. Does nothing if the meta page's lock is not available.
 */
extern void hybrid_moved_reclaim(Relation index, const HybridLayout *layout);

/*
 * hybrid_moved_reuse: call hybrid_moved_reclaim for VACUUM while it makes new lists. The caller holds the
 * meta page's lock in share mode. This function releases the lock, frees pages, and takes the lock again.
 */
extern void hybrid_moved_reuse(Relation index, const HybridLayout *layout);

/*
 * hybrid_no_readers: test that nothing else in this process has the index open, and that no other process or replication
 * slot has an xmin. The second test is omitted if the index is local to the transaction. If the result is true and the
 * caller holds the meta page's lock exclusively, nobody reads any list moved so far.
 */
extern bool hybrid_no_readers(Relation index);

/*
 * hybrid_list_free: free the pages of a moved list if no session can be reading the list. `unread` says
 * that the caller knows this already. Returns the number of pages freed.
 */
extern int
hybrid_list_free(Relation index, const HybridLayout *layout, HybridLink list, bool unread);

/*
 * hybrid_pages_free: free pages that belong to a list although no list page names them. The list itself
 * may be gone. Pages that do not belong to the list are not changed. Returns the number of pages freed.
 */
extern int
hybrid_pages_free(Relation index, const HybridLink *list, const BlockNumber *blocks, int count);

#endif
