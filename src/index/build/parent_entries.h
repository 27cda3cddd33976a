/*
 * parent_entries.h
 *		New lists of one level, and the inner lists above them. CREATE INDEX and VACUUM share this
 *		code.
 */
#ifndef HYBRID_INDEX_PARENT_ENTRIES_H
#define HYBRID_INDEX_PARENT_ENTRIES_H

#include "index/write/copy.h"

/* HybridParentEntries: the entries that new lists of one level will have in inner lists. */
typedef struct HybridParentEntries
{
	const HybridIndex *open;
	int level; /* level of these lists */
	MemoryContext context;
	HybridContents lists; /* without `places`, which would take most of the memory */
	int allocated;
} HybridParentEntries;

/*
 * hybrid_parent_entries_init: prepare for lists of a level. Their memory comes from the current memory
 * context.
 */
extern void
hybrid_parent_entries_init(HybridParentEntries *entries, const HybridIndex *open, int level);

/* hybrid_parent_entries_add: add a list that was written. */
extern void hybrid_parent_entries_add(HybridParentEntries *entries, const HybridCopy *list);

/*
 * hybrid_parent_entries_place: convert the stored centroid of a list to floats. It is stored minus the center.
 */
extern void
hybrid_parent_entries_place(const HybridParentEntries *entries, int number, float *place);

/*
 * hybrid_parent_entries_by_key: in an index with keys, set `order` to the numbers of the lists, in the
 * order of their bounds. With `cover`, widen the bounds so that together they cover all words. A key
 * that no list has yet then belongs to one of the lists, too.
 */
extern void hybrid_parent_entries_by_key(HybridParentEntries *entries, int *order, bool cover);

/*
 * hybrid_parent_entries_load: copy the entries whose numbers are in `order`, with centroids as floats.
 * If `order` is NULL, copies all entries. The caller calls hybrid_parent_entries_unload afterwards.
 */
extern void hybrid_parent_entries_load(const HybridParentEntries *entries, const int *order,
                                       int count, HybridContents *loaded);
extern void hybrid_parent_entries_unload(HybridContents *loaded);

/*
 * hybrid_parent_entries_write: write one inner list that names the lists whose numbers are in `order`.
 * Add this inner list to `above`, the entries for the next level. With `root`, its centroid is the
 * center of the index.
 */
extern void hybrid_parent_entries_write(const HybridParentEntries *entries, const int *order,
                                        int count, bool root, HybridFrame *frame, HybridSink *sink,
                                        HybridParentEntries *above);

/* hybrid_parent_entries_end: free the entries. */
extern void hybrid_parent_entries_end(HybridParentEntries *entries);

#endif
