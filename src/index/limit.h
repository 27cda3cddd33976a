/*
 * limit.h
 *		How many rows a scan will be asked for, and by which node of a plan.
 *
 * An access method is not told of the LIMIT above its scan, and it matters: the search for the 10
 * nearest rows is another than that for 1,000.  Nor is it told of conditions that it does not serve.
 * So plans are looked at when they start.
 */
#ifndef HYBRID_INDEX_LIMIT_H
#define HYBRID_INDEX_LIMIT_H

#include "postgres.h"

#include "access/genam.h"
#include "nodes/execnodes.h"

/* hybrid_limit_init: from _PG_init. */
extern void hybrid_limit_init(void);

/* HybridAsked: what the plan around a scan asks of it. */
typedef struct HybridAsked
{
	IndexScanState *node; /* NULL: none that is known */
	int64 limit;          /* rows that are wanted, or -1: not known */
	bool
		all; /* nothing in the plan ends before it has all rows, as far as it can be seen: no LIMIT is above */
} HybridAsked;

/* hybrid_asked_of: of a scan that is asked for its first row. */
extern HybridAsked hybrid_asked_of(IndexScanDesc scan);

#endif
