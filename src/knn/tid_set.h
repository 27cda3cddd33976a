/*
 * tid_set.h
 *		The tids that a user's query lets through.
 */
#ifndef HYBRID_TID_SET_H
#define HYBRID_TID_SET_H

#include "postgres.h"

#include "storage/itemptr.h"

typedef struct HybridTidSet
{
	ItemPointerData *tids; /* ascending and distinct; not all of them need be rows' */
	int64 count;
} HybridTidSet;

/* hybrid_tid_set_read: runs the query; in the current memory context. Raises at other columns. */
extern HybridTidSet *hybrid_tid_set_read(const char *query);

/* hybrid_tid_set_allows: whether tid is one of them. */
extern bool hybrid_tid_set_allows(const HybridTidSet *filter, const ItemPointerData *tid);

#endif
