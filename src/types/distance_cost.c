/*
 * distance_cost.c
 *		Reports to the planner the cost of detoasting stored values for a distance.
 *
 * For a sequential scan the planner charges only the pages of the table. But a vector of 500 dimensions or more is
 * usually stored in the TOAST table, and each distance has to fetch it from there. Fetching takes about ten times as
 * long as the distance itself: it searches the TOAST table's index and reads the chunks and their pages. Rows are
 * usually stored in the TOAST table in the order of the table, so its pages are read in sequence.
 *
 * The distance of a foreign table's column costs one operator, because the foreign server computes it if it sorts
 * the rows. postgres_fdw compares a remote LIMIT with a local LIMIT above the same remote sort. For the remote
 * LIMIT, it adds a fifth to the cost of everything that is sorted, including the distance. If a distance cost nine
 * operators or more, the local LIMIT would therefore seem cheaper. This server would then fetch up to 100 rows, even
 * if fewer are wanted.
 *
 * The COST of MaxSim in CREATE FUNCTION is for a query with HYBRID_QUERY_VECTORS vectors. The cost reported here is
 * proportional to the number of vectors of the query.
 *
 * An index stores copies of the values, so the cost of an index scan must exclude detoasting. index/cost.c therefore
 * asks without a PlannerInfo, and such a request gets the cost of CREATE FUNCTION.
 */
#include "postgres.h"
#include "fmgr.h"

#include <math.h>

#include "access/detoast.h"
#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "storage/bufmgr.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/spccache.h"
#include "utils/syscache.h"
#include "utils/varbit.h"

#include "server/row_estimate.h"
#include "types/dense.h"

#define LEVELS 2           /* height of the TOAST table's index */
#define LEVEL_OPERATORS 50 /* cost of one index level in operators, as for a btree in selfuncs.c */

static const RangeTblEntry *table_of(PlannerInfo *root, const Node *argument, const Var **column);
static bool is_foreign(PlannerInfo *root, const Node *argument);
static Cost price_of_detoasting(PlannerInfo *root, const Node *argument, const Node *other);
static double share_out_of_line(Oid relation, AttrNumber column, double size);
static bool has_toast_table(Oid relation);
static double value_size(const RangeTblEntry *table, const Var *column, const Node *other);
static double toast_of_row(Oid relation);
static Cost price_by_procost(Oid function);

PG_FUNCTION_INFO_V1(hybrid_distance_cost);

Datum
hybrid_distance_cost(PG_FUNCTION_ARGS)
{
	Node *node = (Node *) PG_GETARG_POINTER(0);
	SupportRequestCost *request;
	List *arguments = NIL;
	Cost detoasting;
	double share = 1;

	if (!IsA(node, SupportRequestCost))
		PG_RETURN_POINTER(NULL);
	request = (SupportRequestCost *) node;
	if (request->root != NULL && request->node != NULL)
	{
		if (IsA(request->node, OpExpr))
			arguments = ((OpExpr *) request->node)->args;
		else if (IsA(request->node, FuncExpr))
			arguments = ((FuncExpr *) request->node)->args;
	}
	if (list_length(arguments) != 2)
		PG_RETURN_POINTER(NULL);

	if (is_foreign(request->root, linitial(arguments)) ||
	    is_foreign(request->root, lsecond(arguments)))
	{
		request->startup = 0;
		request->per_tuple = cpu_operator_cost;
		PG_RETURN_POINTER(request);
	}
	detoasting = price_of_detoasting(request->root, linitial(arguments), lsecond(arguments)) +
	             price_of_detoasting(request->root, lsecond(arguments), linitial(arguments));
	if (OidIsValid(get_element_type(getBaseType(exprType(linitial(arguments))))))
		share = hybrid_query_vectors(request->root, arguments) / HYBRID_QUERY_VECTORS;
	if (detoasting == 0 && share == 1)
		PG_RETURN_POINTER(NULL);
	request->startup = 0;
	request->per_tuple = price_by_procost(request->funcid) * share + detoasting;
	PG_RETURN_POINTER(request);
}

/*
 * table_of: return the table that an argument reads, and the column in *column. The argument must be a
 * column of a table, or a function of a column such as a cast. Returns NULL for any other argument.
 */
static const RangeTblEntry *
table_of(PlannerInfo *root, const Node *argument, const Var **column)
{
	const RangeTblEntry *table;

	while ((IsA(argument, FuncExpr) && ((const FuncExpr *) argument)->args != NIL) ||
	       IsA(argument, RelabelType))
		argument = IsA(argument, FuncExpr) ? linitial(((const FuncExpr *) argument)->args)
		                                   : (Node *) ((const RelabelType *) argument)->arg;
	*column = (const Var *) argument;
	if (!IsA(argument, Var) || (*column)->varlevelsup > 0 || (*column)->varattno <= 0 ||
	    (*column)->varno <= 0 || (*column)->varno >= root->simple_rel_array_size)
		return NULL;
	table = planner_rt_fetch((*column)->varno, root);
	return table->rtekind == RTE_RELATION ? table : NULL;
}

/* is_foreign: test whether an argument is a column of a foreign table, or a function of one. */
static bool
is_foreign(PlannerInfo *root, const Node *argument)
{
	const Var *column;
	const RangeTblEntry *table = table_of(root, argument, &column);

	return table != NULL && table->relkind == RELKIND_FOREIGN_TABLE;
}

/*
 * price_of_detoasting: return the cost of detoasting an argument. Returns 0 if the argument reads no table, or if
 * the values are not in TOAST.
 */
static Cost
price_of_detoasting(PlannerInfo *root, const Node *argument, const Node *other)
{
	const Var *column;
	const RangeTblEntry *table = table_of(root, argument, &column);
	double size, share, chunks, sequential_page;

	if (table == NULL)
		return 0;
	size = value_size(table, column, other);
	share = share_out_of_line(table->relid, column->varattno, size);
	if (share <= 0)
		return 0;

	/* if the size is unknown, assume the smallest size at which this value alone makes a row too large */
	if (size == 0)
		size = TOAST_TUPLE_TARGET;
	chunks = ceil(size / TOAST_MAX_CHUNK_SIZE);
	get_tablespace_page_costs(get_rel_tablespace(table->relid), NULL, &sequential_page);
	return share * (size / (EXTERN_TUPLES_PER_PAGE * TOAST_MAX_CHUNK_SIZE) * sequential_page +
	                (LEVELS + 1) * LEVEL_OPERATORS * cpu_operator_cost +
	                chunks * (cpu_index_tuple_cost + cpu_tuple_cost));
}

/*
 * share_out_of_line: return the share of a column's values that are stored in TOAST, from 0 to 1. size is the size
 * of a value in bytes, or 0 if unknown. The share follows from the average width in the statistics, which counts
 * only the pointer of a value in TOAST. Without statistics, the share is 1 if the column's storage allows TOAST and
 * a value of this size is too large for the table, else 0.
 *
 * For a partition, the planner uses the cost of the expression on the partitioned table. That table has statistics
 * of all partitions but no TOAST table.
 */
static double
share_out_of_line(Oid relation, AttrNumber column, double size)
{
	bool partitioned = get_rel_relkind(relation) == RELKIND_PARTITIONED_TABLE;
	HeapTuple tuple;
	int32 width = 0;
	char storage;

	if (!partitioned && !has_toast_table(relation))
		return 0;
	tuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(relation), Int16GetDatum(column),
	                        BoolGetDatum(partitioned));
	if (HeapTupleIsValid(tuple))
	{
		width = ((Form_pg_statistic) GETSTRUCT(tuple))->stawidth;
		ReleaseSysCache(tuple);
	}
	if (width > 0)
	{
		if (size == 0)
			return width == TOAST_POINTER_SIZE ? 1 : 0;
		if (size <= 2 * TOAST_POINTER_SIZE)
			return 0;
		return Max((size - width) / (size - TOAST_POINTER_SIZE), 0);
	}
	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relation), Int16GetDatum(column));
	if (!HeapTupleIsValid(tuple))
		return 0;
	storage = ((Form_pg_attribute) GETSTRUCT(tuple))->attstorage;
	ReleaseSysCache(tuple);
	return (storage == TYPSTORAGE_EXTERNAL || storage == TYPSTORAGE_EXTENDED) &&
	               size + MAXALIGN(SizeofHeapTupleHeader) > TOAST_TUPLE_THRESHOLD
	           ? 1
	           : 0;
}

static bool
has_toast_table(Oid relation)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
	bool has;

	if (!HeapTupleIsValid(tuple))
		return false;
	has = OidIsValid(((Form_pg_class) GETSTRUCT(tuple))->reltoastrelid);
	ReleaseSysCache(tuple);
	return has;
}

/*
 * value_size: return the size in bytes of a column's values, or 0 if it is unknown. For arrays, this is an estimate
 * from the size of the TOAST table. For other types, the size follows from the type modifier or, without a modifier,
 * from the constant that the column is compared with.
 */
static double
value_size(const RangeTblEntry *table, const Var *column, const Node *other)
{
	int32 typmod = column->vartypmod;
	Oid base = getBaseTypeAndTypmod(column->vartype, &typmod);
	HeapTuple tuple;
	Size size = 0;

	if (OidIsValid(get_element_type(base)))
		return toast_of_row(table->relid);
	if (typmod > 0 && base == BITOID)
		return VARBITTOTALLEN(typmod);
	if (typmod > 0 && HeapTupleIsValid(tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(base))))
	{
		const char *name = NameStr(((Form_pg_type) GETSTRUCT(tuple))->typname);

		if (strcmp(name, hybrid_vector_type.name) == 0)
			size = hybrid_dense_size(&hybrid_vector_type, typmod);
		else if (strcmp(name, hybrid_halfvec_type.name) == 0)
			size = hybrid_dense_size(&hybrid_halfvec_type, typmod);
		ReleaseSysCache(tuple);
	}
	if (size == 0 && IsA(other, Const) && ((const Const *) other)->consttype == base &&
	    !((const Const *) other)->constisnull)
		size = toast_raw_datum_size(((const Const *) other)->constvalue);
	return (double) size;
}

/* toast_of_row: return the mean number of bytes that a row has in the TOAST table, or 0 if that is unknown. */
static double
toast_of_row(Oid relation)
{
	Relation table = table_open(relation, NoLock), toast;
	double rows = table->rd_rel->reltuples, bytes = 0;

	if (rows > 0 && OidIsValid(table->rd_rel->reltoastrelid))
	{
		toast = table_open(table->rd_rel->reltoastrelid, AccessShareLock);
		bytes = (double) RelationGetNumberOfBlocks(toast) * BLCKSZ / rows;
		table_close(toast, AccessShareLock);
	}
	table_close(table, NoLock);
	return bytes;
}

static Cost
price_by_procost(Oid function)
{
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Cost price;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", function);
	price = ((Form_pg_proc) GETSTRUCT(tuple))->procost * cpu_operator_cost;
	ReleaseSysCache(tuple);
	return price;
}
