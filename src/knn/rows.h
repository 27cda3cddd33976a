/*
 * rows.h
 *		The rows of a relation as (tid, vector or halfvec), as a SELECT by the same user would return them.
 */
#ifndef HYBRID_ROWS_H
#define HYBRID_ROWS_H

#include "postgres.h"

#include "core/batch.h"
#include "knn/arguments.h"
#include "knn/tid_set.h"
#include "storage/itemptr.h"
#include "utils/relcache.h"

typedef struct HybridRows HybridRows;

/* HybridRow: it goes with the call that hands it over. */
typedef struct HybridRow
{
	ItemPointerData tid; /* of the version that the snapshot sees */
	int dims;
	const void *x; /* dims elements, of hybrid_rows_dtype */
	int64 id;      /* of the id column, where one was named */
} HybridRow;

/*
 * hybrid_rows_open: a reader over column of relation relid on the active snapshot; the column is of
 * one of these types, or a domain over one.  filter, when not NULL, is a query that returns tids:
 * only those rows come.  id_column, when not NULL, is an integer column that comes with each row.  Raises for a
 * partitioned table or one with children, a column that is missing or of another type, and a lack
 * of rights.
 */
extern HybridRows *hybrid_rows_open(Oid relid, const char *column, const HybridVectorTypes *types,
                                    const char *filter, const char *id_column);

/* hybrid_rows_dtype: of the elements of the column. */
extern HyDtype hybrid_rows_dtype(const HybridRows *rows);

/* HybridTakeRow: what is done with a row.  False: no more are wanted. */
typedef bool (*HybridTakeRow)(void *arg, const HybridRow *row);

/*
 * hybrid_rows_read: all rows whose vector is not NULL, each as soon as it is there; as often as
 * wanted, on the same snapshot.  take runs in a memory context that is emptied after each row.
 * Raises at such a row whose id is NULL.
 */
extern void hybrid_rows_read(HybridRows *rows, HybridTakeRow take, void *arg);

/* hybrid_rows_share: how much of the relation the read that is under way has seen; < 0: unknown. */
extern double hybrid_rows_share(const HybridRows *rows);

/*
 * hybrid_rows_ids: ids[i] becomes the id of the row at positions[i], which ascend and of which each
 * was handed out by hybrid_rows_read.  Raises where a query has such a row twice, or not any more.
 */
extern void hybrid_rows_ids(HybridRows *rows, const int64 *positions, int64 count, int64 *ids);

/*
 * hybrid_rows_table: the table, where its rows are read straight from it and an index on attnum may
 * serve as well; NULL where they come through a query.
 */
extern Relation hybrid_rows_table(const HybridRows *rows, AttrNumber *attnum);

/* hybrid_rows_filter: what else keeps rows out; NULL: nothing. */
extern const HybridTidSet *hybrid_rows_filter(const HybridRows *rows);

extern void hybrid_rows_close(HybridRows *rows);

#endif
