/*
 * link.h
 *		Finds the parent of a list, and replaces entries there.
 */
#ifndef HYBRID_INDEX_LINK_H
#define HYBRID_INDEX_LINK_H

#include "index/page/frame.h"

/*
 * HybridReplacement: a new list that replaces one or two old lists, or one of two new lists that
 * replace them.
 */
typedef struct HybridReplacement
{
	HybridLink link;
	const HybridStored *stored; /* centroid of the list in stored form */
	const void *vector;
	const float *place; /* the centroid minus the center, computed from its stored form */
	float radius;
} HybridReplacement;

/* HybridReplaced: one or two lists of a level that are replaced, and their parent list. */
typedef struct HybridReplaced
{
	const HybridLink *lists;
	int count;
	int level;
	HybridLink above; /* in: the parent list, or an invalid head if unknown; out: the one found */
	bool due;         /* out: the parent list should now be split or copied */
} HybridReplaced;

/*
 * hybrid_replace_entries: replace lists by up to two new lists, and mark the old lists as moved. The
 * old lists are not the root, and the caller holds their locks. Without new lists (count 0), the
 * function removes an empty list, and names new_lists[0].link as its successor.
 *
 * If there are new lists, the parent list's radius and number of lists are then recorded in the list
 * above it, if they have changed enough. This is not done if the parent list is the root.
 *
 * Returns false and changes nothing if the two old lists no longer have the same parent list, or if the
 * parent list would become empty.
 */
extern bool
hybrid_replace_entries(Relation index, const HybridIndex *open, HybridFrame *frame,
                       HybridReplaced *old, const HybridReplacement *new_lists, int count);

/*
 * hybrid_link_radius: record a radius (hybrid_radius) of a list of this level in its parent list
 * `above`. A leaf's radius is only ever raised. An inner list's radius is recorded if it differs
 * enough. Changes nothing if `above` no longer names the list. The caller does not hold the lock of
 * `above`, or of a list over it.
 */
extern void hybrid_link_radius(Relation index, const HybridIndex *open, HybridLink list, int level,
                               HybridLink above, float radius);

/* hybrid_mark_moved: mark the head of a list as moved, in the caller's WAL record. */
extern void
hybrid_mark_moved(HybridListPage *head, HybridLink to, HybridLink and_to, FullTransactionId now);

/* hybrid_list_limit: return the number of entries beyond which a list of this level is split. */
extern uint32 hybrid_list_limit(const HybridIndex *open, int level);

/*
 * hybrid_list_mostly_dead: test whether most slots of an inner list are dead. Dead slots of inner lists
 * are never refilled.
 */
extern bool hybrid_list_mostly_dead(const HybridLayout *layout, const HybridListPage *head);

/*
 * hybrid_bounds_inherit: widen the bounds of the one or two new leaves, so that together they cover the
 * bounds of the leaves that they replace. Thus the bounds of all leaves together still cover every
 * possible word.
 */
extern void hybrid_bounds_inherit(HybridBounds *made, int count, const HybridBounds *old);

#endif
