/*
 * index_columns.h
 *		The columns of an index, computed from a row of the table.
 */
#ifndef HYBRID_INDEX_COLUMNS_H
#define HYBRID_INDEX_COLUMNS_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "nodes/execnodes.h"
#include "utils/relcache.h"

/* HybridIndexColumns: how to compute the columns of an index. */
typedef struct HybridIndexColumns
{
	IndexInfo *info;
	EState *state;               /* executor state for the expressions of the index */
	bool wanted[INDEX_MAX_KEYS]; /* columns to compute; the others are NULL */
} HybridIndexColumns;

/* hybrid_index_columns_init: prepare to compute the wanted columns, in the current memory context. */
extern void
hybrid_index_columns_init(HybridIndexColumns *columns, Relation index, const bool *wanted);

/*
 * hybrid_index_columns_in: set the elements of `wanted` for the columns of the index that expressions of an index-only
 * scan read. `wanted` has INDEX_MAX_KEYS elements.
 */
extern void hybrid_index_columns_in(const List *expressions, bool *wanted);

/*
 * hybrid_index_columns_form: compute the wanted columns from the row in the slot; the others are NULL. The values are
 * valid while the slot has the row, and until hybrid_index_columns_clear.
 */
extern void hybrid_index_columns_form(const HybridIndexColumns *columns, TupleTableSlot *slot,
                                      Datum *values, bool *nulls);

/* hybrid_index_columns_memory, hybrid_index_columns_clear: return or reset the memory context of one row's columns. */
extern MemoryContext hybrid_index_columns_memory(const HybridIndexColumns *columns);
extern void hybrid_index_columns_clear(const HybridIndexColumns *columns);

/* hybrid_index_columns_end: release the resources that memory contexts do not release. */
extern void hybrid_index_columns_end(const HybridIndexColumns *columns);

#endif
