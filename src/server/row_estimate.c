/*
 * row_estimate.c
 *		Estimates for the planner how many rows a function with a parameter k returns.
 *
 * Such a function returns at most k rows, or at most k rows for each element of an array or each row of a table. The
 * estimate is this maximum. If the number of elements or rows is not known, a fixed guess replaces it. If k is not
 * known at planning, the planner uses the estimate of CREATE FUNCTION.
 */
#include "postgres.h"
#include "fmgr.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "server/row_estimate.h"

/* Groups: a function that returns k rows for each element of an array, or for each row of a table. */
typedef struct Groups
{
	const char *function; /* name in C */
	const char *argument; /* name of the parameter that is this array or table */
	double unknown;       /* estimate of the number of elements or rows if it is not known */
} Groups;

/* clang-format off */
static const Groups groups[] = {
	{"hybrid_knn", "queries", 100},
	{"hybrid_knn_sharded", "queries", 100},
	{"hybrid_knn_join", "left_rel", 1000},
	{"hybrid_knn_graph", "rel", 1000},
	{"hybrid_spread_batch", "sets", 10},
};
/* clang-format on */

static double rows_of(const SupportRequestRows *request, HeapTuple function, const List *arguments);
static Node *argument_of(const SupportRequestRows *request, HeapTuple function,
                         const List *arguments, const char *name);
static double count_of(Node *argument);
static double elements_of(Node *argument);

PG_FUNCTION_INFO_V1(hybrid_row_estimate);
Datum
hybrid_row_estimate(PG_FUNCTION_ARGS)
{
	Node *node = (Node *) PG_GETARG_POINTER(0);
	SupportRequestRows *request;
	HeapTuple function;

	if (!IsA(node, SupportRequestRows))
		PG_RETURN_POINTER(NULL);
	request = (SupportRequestRows *) node;
	if (request->node == NULL || !IsA(request->node, FuncExpr))
		PG_RETURN_POINTER(NULL);
	function = SearchSysCache1(PROCOID, ObjectIdGetDatum(request->funcid));
	if (!HeapTupleIsValid(function))
		PG_RETURN_POINTER(NULL);
	request->rows = rows_of(request, function, ((FuncExpr *) request->node)->args);
	ReleaseSysCache(function);
	PG_RETURN_POINTER(request->rows > 0 ? request : NULL);
}

/* rows_of: return the estimated number of rows of a call of a function, or 0 if k is not known. */
static double
rows_of(const SupportRequestRows *request, HeapTuple function, const List *arguments)
{
	const Node *k = argument_of(request, function, arguments, "k");
	Datum source;
	bool isnull;
	char *name;
	double count;
	int i;

	if (k == NULL || !IsA(k, Const) || ((const Const *) k)->constisnull)
		return 0;
	count = DatumGetInt32(((const Const *) k)->constvalue);
	source = SysCacheGetAttr(PROCOID, function, Anum_pg_proc_prosrc, &isnull);
	name = TextDatumGetCString(source);
	for (i = 0; i < (int) lengthof(groups); i++)
	{
		if (strcmp(name, groups[i].function) == 0)
		{
			double number = count_of(argument_of(request, function, arguments, groups[i].argument));

			return count * (number < 0 ? groups[i].unknown : Max(number, 1));
		}
	}
	return count;
}

/*
 * argument_of: return the argument with this name, as a constant if its value can be estimated; NULL if there is no
 * such argument.
 */
static Node *
argument_of(const SupportRequestRows *request, HeapTuple function, const List *arguments,
            const char *name)
{
	Oid *types;
	char **names, *modes;
	int count = get_func_arg_info(function, &types, &names, &modes), i;

	for (i = 0; names != NULL && i < count && i < list_length(arguments); i++)
	{
		if (strcmp(names[i], name) == 0)
		{
			Node *argument = (Node *) list_nth(arguments, i);

			return request->root != NULL ? estimate_expression_value(request->root, argument)
			                             : argument;
		}
	}
	return NULL;
}

double
hybrid_query_vectors(PlannerInfo *root, const List *arguments)
{
	ListCell *cell;

	foreach (cell, arguments)
	{
		double count = elements_of(estimate_expression_value(root, lfirst(cell)));

		if (count >= 0)
			return Max(count, 1);
	}
	return HYBRID_QUERY_VECTORS;
}

/* count_of: return the number of elements of an array or of rows of a table, or -1 if it is not known. */
static double
count_of(Node *argument)
{
	const Const *value = (const Const *) argument;
	double count = -1;
	HeapTuple table;

	if (argument == NULL)
		return -1;
	if (!IsA(argument, Const) || value->consttype != REGCLASSOID)
		return elements_of(argument);
	if (value->constisnull)
		return -1;
	table = SearchSysCache1(RELOID, value->constvalue);
	if (!HeapTupleIsValid(table))
		return -1;
	/* -1: the rows were never counted; 0: the table was empty when it was counted, and may have rows now */
	if (((Form_pg_class) GETSTRUCT(table))->reltuples > 0)
		count = ((Form_pg_class) GETSTRUCT(table))->reltuples;
	ReleaseSysCache(table);
	return count;
}

/* elements_of: return the number of elements of an array, or -1 if it is not known. */
static double
elements_of(Node *argument)
{
	const Const *value = (const Const *) argument;
	const ArrayType *array;

	if (IsA(argument, ArrayExpr) && !((const ArrayExpr *) argument)->multidims)
		return list_length(((const ArrayExpr *) argument)->elements);
	if (!IsA(argument, Const) || value->constisnull ||
	    !OidIsValid(get_element_type(getBaseType(value->consttype))))
		return -1;
	array = DatumGetArrayTypeP(value->constvalue);
	return ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
}
