/*
 * limit.h
 *		How many rows a scan will be asked for.
 *
 * An access method is not told of the LIMIT above its scan, and it matters: the search for the 10
 * nearest rows is another than that for 1,000.  So plans are looked at when they start.
 */
#ifndef HYBRID_INDEX_LIMIT_H
#define HYBRID_INDEX_LIMIT_H

#include "postgres.h"

#include "access/genam.h"

/* hybrid_limit_init: from _PG_init. */
extern void hybrid_limit_init(void);

/* hybrid_limit_of: the rows that are wanted of a scan, or -1: not known. */
extern int64 hybrid_limit_of(IndexScanDesc scan);

#endif
