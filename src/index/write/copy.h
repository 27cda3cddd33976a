/*
 * copy.h
 *		Lists copied: what is live in one or several of them becomes one new list, or two.
 */
#ifndef HYBRID_INDEX_COPY_H
#define HYBRID_INDEX_COPY_H

#include "index/page/new_list.h"
#include "index/write/link.h"

#define HYBRID_COPIES 2 /* of a copy, at most */

/* HybridContents: the live entries of some lists of one level. */
typedef struct HybridContents
{
	int count;
	ItemPointerData *tids;
	HybridStored *stored;
	char *vectors;
	float *places;
	float *radii;
} HybridContents;

/* HybridCopy: what a new list is made of, and became. */
typedef struct HybridCopy
{
	const HybridContents *contents;
	const HybridLayout *layout;
	int *order;
	int count;
	int next;
	float *place; /* of its centroid, as stored */
	HybridStored stored;
	char *vector;
	HybridLink link;
	float radius;
} HybridCopy;

/*
 * hybrid_copy_load: the live entries of `count` lists of a level, whose locks the caller holds
 * exclusively.  false: one of them was moved.
 */
extern bool
hybrid_copy_load(Relation index, const HybridIndex *open, const HybridFrame *frame,
                 const HybridLink *lists, int count, int level, HybridContents *contents);

/* hybrid_copy_centre: the mean of the entries, whose places are relative to it from now on. */
extern float *hybrid_copy_centre(const HybridIndex *open, HybridContents *contents);

/* hybrid_copy_distribute: which entries go into which of one or two copies, and their centroids. */
extern void hybrid_copy_distribute(const HybridIndex *open, const HybridContents *contents,
                                   int into, HybridCopy *copies);

/* hybrid_copy_of: a copy of the entries with these numbers, which stay the caller's, around a centroid. */
extern void hybrid_copy_of(const HybridIndex *open, const HybridContents *contents, int *order,
                           int count, const float *centroid, HybridCopy *copy);

/* hybrid_copy_write: a copy becomes a list that nobody names; central: around the centre. */
extern void
hybrid_copy_write(HybridSink *sink, HybridFrame *frame, int level, HybridCopy *copy, bool central);

/* hybrid_copy_part: as the list above takes it. */
extern HybridPart hybrid_copy_part(const HybridCopy *copy);

#endif
