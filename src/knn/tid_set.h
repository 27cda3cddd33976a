/*
 * tid_set.h
 *		The set of tids that a user's query returns.
 */
#ifndef HYBRID_TID_SET_H
#define HYBRID_TID_SET_H

#include "postgres.h"

#include "storage/itemptr.h"

typedef struct HybridTidSet
{
	ItemPointerData *tids; /* ascending, without duplicates; some may belong to no row */
	int64 count;
} HybridTidSet;

/*
 * hybrid_tid_set_read: run the query and return its tids, in the current memory context. Raises
 * unless the query returns one column of type tid.
 */
extern HybridTidSet *hybrid_tid_set_read(const char *query);

/* hybrid_tid_set_allows: return whether tid is in the set. */
extern bool hybrid_tid_set_allows(const HybridTidSet *filter, const ItemPointerData *tid);

#endif
