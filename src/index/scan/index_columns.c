/*
 * index_columns.c
 *		The columns of an index, computed from a row of the table.
 *
 * Expressions of columns that are not wanted are not computed. They may be slow: a condition on an included column is
 * checked on many rows, and the vector may be an expression. They would also run as the user of the query, although the
 * query does not name them. (3,000 rows, a condition that a thirtieth of them satisfies, LIMIT 20: in a version that
 * computed all expressions, an index-only scan called the function of the vector column 504 times.)
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/index.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"

#include "index/scan/index_columns.h"

void
hybrid_index_columns_init(HybridIndexColumns *columns, Relation index, const bool *wanted)
{
	IndexInfo *info = BuildIndexInfo(index);
	ListCell *cell = list_head(info->ii_Expressions);
	int i;

	for (i = 0; i < info->ii_NumIndexAttrs; i++)
	{
		Node *expression;

		columns->wanted[i] = wanted[i];
		if (info->ii_IndexAttrNumbers[i] != 0)
			continue;
		expression = lfirst(cell);
		if (!wanted[i])
			lfirst(cell) = makeNullConst(exprType(expression), exprTypmod(expression),
			                             exprCollation(expression));
		cell = lnext(info->ii_Expressions, cell);
	}
	columns->info = info;
	columns->state = CreateExecutorState();
}

void
hybrid_index_columns_in(const List *expressions, bool *wanted)
{
	Bitmapset *columns = NULL;
	int i;

	pull_varattnos((Node *) unconstify(List *, expressions), (Index) INDEX_VAR, &columns);
	for (i = 0; i < INDEX_MAX_KEYS; i++)
		wanted[i] |= bms_is_member(i + 1 - FirstLowInvalidHeapAttributeNumber, columns);
	bms_free(columns);
}

void
hybrid_index_columns_form(const HybridIndexColumns *columns, TupleTableSlot *slot, Datum *values,
                          bool *nulls)
{
	int i;

	GetPerTupleExprContext(columns->state)->ecxt_scantuple = slot;
	FormIndexDatum(columns->info, slot, columns->state, values, nulls);
	for (i = 0; i < columns->info->ii_NumIndexAttrs; i++)
		nulls[i] |= !columns->wanted[i];
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
