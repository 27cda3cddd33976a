/*
 * split.h
 *		Splits lists that have grown too long, and replaces lists by copies.
 */
#ifndef HYBRID_INDEX_SPLIT_H
#define HYBRID_INDEX_SPLIT_H

#include "index/write/copy.h"

/*
 * hybrid_split: split a list of this level if it is too long, or copy it if it is an inner list with
 * mostly dead slots. Does nothing if another session holds the list's lock, or if VACUUM has replaced
 * the tree to which a leaf belongs. Continues with the parent list if that is now too long or mostly
 * dead. `hint` is the parent list, if known.
 */
extern void
hybrid_split(Relation index, const HybridIndex *open, HybridLink list, HybridLink hint, int level);

/*
 * hybrid_copy_lists: replace lists by `into` copies. The caller holds the locks of the lists
 * exclusively, and the meta page's lock in share mode. Sets `made` to the links of the copies. Returns
 * false and changes nothing if a list was moved, if there are fewer than two entries for two copies, or
 * if hybrid_replace_entries returns false.
 */
extern bool hybrid_copy_lists(Relation index, const HybridIndex *open, HybridReplaced *old,
                              int into, HybridLink *made);

/*
 * hybrid_copies_replace: write one or two copies and replace the old lists by them. The caller holds
 * the same locks as for hybrid_copy_lists. `frame` has the center of the index. `center` is that center
 * if it is new and must be written, else NULL.
 */
extern bool
hybrid_copies_replace(Relation index, const HybridIndex *open, HybridFrame *frame,
                      HybridReplaced *old, HybridCopy *copies, int into, const float *center);

/*
 * hybrid_shrink_root: if the root names only one list, remove the root's level from the tree. Returns
 * whether a level was removed. The caller holds the meta page's lock in share mode.
 */
extern bool hybrid_shrink_root(Relation index, const HybridIndex *open);

#endif
