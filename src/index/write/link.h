/*
 * link.h
 *		Which list names a list, and putting others in its place there.
 */
#ifndef HYBRID_INDEX_LINK_H
#define HYBRID_INDEX_LINK_H

#include "index/page/frame.h"

/* HybridPart: a list that takes the place of others, or of a part of one. */
typedef struct HybridPart
{
	HybridLink link;
	const HybridStored *stored; /* its centroid */
	const void *vector;
	const float *place; /* of the centroid, as stored */
	float radius;
} HybridPart;

/*
 * hybrid_link_parts: up to two parts take the place of one or two lists of this level, not the root,
 * whose locks the caller holds; they are moved then.  No part (count 0): an empty list goes, and
 * parts[0].link is where who comes by it is sent.  *above is the list above as far as it is known,
 * and as it was found; *due, whether that should be copied now.  false: two lists are not in the same
 * list above any more, and nothing happened.
 */
extern bool hybrid_link_parts(Relation index, const HybridIndex *open, HybridFrame *frame,
                              const HybridLink *lists, int lists_count, int level,
                              const HybridPart *parts, int count, HybridLink *above, bool *due);

/* hybrid_mark_moved: on the head of a list, in a record of the caller's. */
extern void
hybrid_mark_moved(HybridListPage *head, HybridLink to, HybridLink and_to, FullTransactionId now);

/* hybrid_list_limit: entries of a list of this level beyond which it is split. */
extern uint32 hybrid_list_limit(const HybridIndex *open, int level);

/* hybrid_list_wasteful: whether most slots of an inner list are dead; they are never filled again. */
extern bool hybrid_list_wasteful(const HybridLayout *layout, const HybridListPage *head);

#endif
