/*
 * rows.h
 *		Reads the rows of a relation as (tid, vector or halfvec), as a SELECT by the same user
 *		would return them.
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

/* HybridRow: a row, valid only during the call that passes it. */
typedef struct HybridRow
{
	ItemPointerData tid; /* tid of the row version that the snapshot sees */
	int dims;
	const void *x; /* dims elements of type hybrid_rows_dtype */
	int64 id;      /* value of the id column, if there is one */
} HybridRow;

/*
 * hybrid_rows_open: open a reader of a column of relation relid on the active snapshot. The type of the
 * column must be one of `types`, or a domain over one of them. filter is NULL, or a query that returns tids:
 * only rows with these tids are read. id_column is NULL, or the name of an integer column that is read with
 * each row.
 *
 * Raises if hybrid_check_relation rejects the relation, if a column is missing or has another type, or if
 * the user lacks a privilege.
 */
extern HybridRows *hybrid_rows_open(Oid relid, const char *column, const HybridVectorTypes *types,
                                    const char *filter, const char *id_column);

/*
 * hybrid_rows_check_columns: check the columns as hybrid_rows_open does, and nothing else. The relation
 * may be of any kind.
 */
extern void hybrid_rows_check_columns(Relation relation, const char *column,
                                      const HybridVectorTypes *types, const char *id_column);

/*
 * hybrid_rows_report_fetched: from now on, report once, by a NOTICE, if a read fetches many rows
 * from a foreign server. function is the name of the SQL function; NULL: report nothing, which is
 * the default.
 */
extern void hybrid_rows_report_fetched(HybridRows *rows, const char *function);

/* hybrid_rows_dtype: return the element type of the column. */
extern HyDtype hybrid_rows_dtype(const HybridRows *rows);

/* HybridTakeRow: process a row. Returns false to end the reading. */
typedef bool (*HybridTakeRow)(void *arg, const HybridRow *row);

/*
 * hybrid_rows_read: pass each row whose vector is not NULL to `take`, as soon as it is read. `take`
 * runs in a memory context that is reset after each row. Raises if the id of such a row is NULL.
 * May be called several times, always on the same snapshot.
 */
extern void hybrid_rows_read(HybridRows *rows, HybridTakeRow take, void *arg);

/*
 * hybrid_rows_ahead: pass the next rows, at most `most`, to `take`. Must be called from the `take` function
 * of hybrid_rows_read. hybrid_rows_read then continues after these rows. Ends when `take` returns false.
 * Returns false if there are no more rows, or if the rows come from a query, which cannot be read ahead.
 */
extern bool hybrid_rows_ahead(HybridRows *rows, int most, HybridTakeRow take, void *arg);

/*
 * hybrid_rows_at: pass the visible versions of the rows whose roots are at these positions to `take`, as
 * hybrid_rows_read does. The rows must not come from a query. `share` is the share of the relation that will
 * have been processed after these rows. Returns false if `take` returns false.
 */
extern bool hybrid_rows_at(HybridRows *rows, const int64 *roots, int count, double share,
                           HybridTakeRow take, void *arg);

/*
 * hybrid_rows_share: return the share of the relation that the current read has processed; < 0 if
 * unknown.
 */
extern double hybrid_rows_share(const HybridRows *rows);

/*
 * hybrid_rows_ids: set ids[i] to the id of the row at positions[i]. The positions must ascend, and the rows
 * at them must have been read on this snapshot. If the rows come from a query, raises if the query now
 * returns such a row twice or not at all. Raises if an id is NULL.
 */
extern void hybrid_rows_ids(HybridRows *rows, const int64 *positions, int64 count, int64 *ids);

/*
 * hybrid_rows_check_ids: raise if the id of a row that has a vector is NULL, as hybrid_rows_read does. Reads
 * no vectors. The rows must not come from a query.
 */
extern void hybrid_rows_check_ids(const HybridRows *rows);

/*
 * hybrid_rows_table: return the table if its rows are read directly, or NULL if the rows come from a query.
 * Sets *attnum to the column. An index on this column can replace the table.
 */
extern Relation hybrid_rows_table(const HybridRows *rows, AttrNumber *attnum);

/* hybrid_rows_filter: return the tids that the filter allows, or NULL if there is no filter. */
extern const HybridTidSet *hybrid_rows_filter(const HybridRows *rows);

extern void hybrid_rows_close(HybridRows *rows);

#endif
