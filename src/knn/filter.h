/*
 * filter.h
 *		The tids that a user's query lets through.
 */
#ifndef HYBRID_FILTER_H
#define HYBRID_FILTER_H

#include "postgres.h"

#include "storage/itemptr.h"

typedef struct HybridFilter
{
	ItemPointerData *tids; /* ascending and distinct; not all of them need be rows' */
	int64 count;
} HybridFilter;

/* hybrid_filter_read: runs the query; in the current memory context. Raises at other columns. */
extern HybridFilter *hybrid_filter_read(const char *query);

/* hybrid_filter_allows: whether tid is one of them. */
extern bool hybrid_filter_allows(const HybridFilter *filter, const ItemPointerData *tid);

#endif
