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
 * hybrid_rows_open: a reader over column of relation relid on the active snapshot.  vector_type is
 * the Oid of the vector type.  filter, when not NULL, is a query that returns tids: only those rows
 * come.  Raises for a partitioned table or one with children, a column that is missing or of
 * another type, and a lack of rights.
 */
extern HybridRows *
hybrid_rows_open(Oid relid, const char *column, Oid vector_type, const char *filter);

/* HybridTakeRow: what is done with a row; the vector goes with the call.  False: no more are wanted. */
typedef bool (*HybridTakeRow)(void *arg, ItemPointer tid, const HybridVector *vector);

/*
 * hybrid_rows_read: all rows whose vector is not NULL, each as soon as it is there; as often as
 * wanted, on the same snapshot.  take runs in a memory context that is emptied after each row.
 */
extern void hybrid_rows_read(HybridRows *rows, HybridTakeRow take, void *arg);

extern void hybrid_rows_close(HybridRows *rows);

#endif
