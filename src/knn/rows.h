/*
 * rows.h
 *		The rows of a relation as (tid, vector), as a SELECT by the same user would return them.
 */
#ifndef HYBRID_ROWS_H
#define HYBRID_ROWS_H

#include "postgres.h"

#include "storage/itemptr.h"
#include "types/vector.h"

typedef struct HybridRows HybridRows;

/*
 * hybrid_rows_open: a reader over column of relation relid on the active snapshot, in ascending
 * order of tid.  vector_type is the Oid of the vector type.  filter, when not NULL, is a query
 * that returns tids: only those rows come.  Raises for a partitioned table or one with children, a
 * column that is missing or of another type, and a lack of rights.
 */
extern HybridRows *
hybrid_rows_open(Oid relid, const char *column, Oid vector_type, const char *filter);

/*
 * hybrid_rows_next: the next row whose vector is not NULL; false at the end.  The vector stays
 * valid until the next call.
 */
extern bool hybrid_rows_next(HybridRows *rows, ItemPointer tid, const HybridVector **vector);

/* hybrid_rows_rewind: to the first row again, on the same snapshot. */
extern void hybrid_rows_rewind(HybridRows *rows);

extern void hybrid_rows_close(HybridRows *rows);

#endif
