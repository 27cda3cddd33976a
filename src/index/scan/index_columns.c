/*
 * index_columns.c
 *		The columns of an index, computed from a row of the table.
 */
#include "postgres.h"

#include "catalog/index.h"
#include "executor/executor.h"

#include "index/scan/index_columns.h"

void
hybrid_index_columns_init(HybridIndexColumns *columns, Relation index)
{
	columns->info = BuildIndexInfo(index);
	columns->state = CreateExecutorState();
}

void
hybrid_index_columns_form(const HybridIndexColumns *columns, TupleTableSlot *slot, Datum *values,
                          bool *nulls)
{
	GetPerTupleExprContext(columns->state)->ecxt_scantuple = slot;
	FormIndexDatum(columns->info, slot, columns->state, values, nulls);
}

MemoryContext
hybrid_index_columns_memory(const HybridIndexColumns *columns)
{
	return GetPerTupleMemoryContext(columns->state);
}

void
hybrid_index_columns_clear(const HybridIndexColumns *columns)
{
	ResetPerTupleExprContext(columns->state);
}

void
hybrid_index_columns_end(const HybridIndexColumns *columns)
{
	FreeExecutorState(columns->state);
}
