/*
 * copy.h
 *		Copies of lists: the live entries of one or more lists become one or two new lists.
 */
#ifndef HYBRID_INDEX_COPY_H
#define HYBRID_INDEX_COPY_H

#include "index/page/new_list.h"
#include "index/write/link.h"

#define HYBRID_COPIES 2 /* maximum number of new lists of one copy */

/* HybridContents: the live entries of some lists of one level. */
typedef struct HybridContents
{
	int count;
	ItemPointerData *tids;
	HybridStored *stored;
	char *vectors;
	float *places;
	float *radii;
	bool inner; /* the entries are links to lists, and have bounds instead of words */
} HybridContents;

/* HybridCopy: the entries and centroid of a new list, and its link once it is written. */
typedef struct HybridCopy
{
	const HybridContents *contents;
	const HybridLayout *layout;
	int *order;
	int count;
	int next;
	float *place; /* the list's centroid minus the center, as stored */
	HybridStored stored;
	char *vector;
	HybridLink link;
	float radius;
} HybridCopy;

/* HybridKeyedEntry: the number of an entry of HybridContents, and the bounds of its first key. */
typedef struct HybridKeyedEntry
{
	HybridBounds bounds; /* for a row, both are the word of its first key */
	int number;
} HybridKeyedEntry;

/*
 * hybrid_entries_by_key: in an index with keys, return the entries in the order of their bounds, in a
 * palloc'd array.
 */
extern HybridKeyedEntry *
hybrid_entries_by_key(const HybridLayout *layout, const HybridContents *contents);

/*
 * hybrid_copy_load: load the live entries of `count` lists of a level. The caller holds the locks
 * of these lists exclusively. Returns false if one of them was moved.
 */
extern bool
hybrid_copy_load(Relation index, const HybridIndex *open, const HybridFrame *frame,
                 const HybridLink *lists, int count, int level, HybridContents *contents);

/* hybrid_copy_center: return the mean of the entries, and subtract it from each of them. */
extern float *hybrid_copy_center(const HybridIndex *open, HybridContents *contents);

/*
 * hybrid_copy_distribute: assign the entries to `into` copies, one or two, and compute the centroids of
 * the copies. Entries are divided by key, in an index with keys, unless all rows have the same key;
 * otherwise by k-means.
 */
extern void hybrid_copy_distribute(const HybridIndex *open, const HybridContents *contents,
                                   int into, HybridCopy *copies);

/*
 * hybrid_copy_make: make a copy of the entries whose numbers are in `order`, with this centroid. The
 * caller keeps `order` valid.
 */
extern void hybrid_copy_make(const HybridIndex *open, const HybridContents *contents, int *order,
                             int count, const float *centroid, HybridCopy *copy);

/*
 * hybrid_copy_write: write a copy as a list that no other list names yet. With `central`, its centroid
 * is the center of the index.
 */
extern void
hybrid_copy_write(HybridSink *sink, HybridFrame *frame, int level, HybridCopy *copy, bool central);

/* hybrid_copy_part: return the data that the parent list's entry for this copy will have. */
extern HybridReplacement hybrid_copy_part(const HybridCopy *copy);

#endif
