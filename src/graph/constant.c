/*
 * constant.c
 *		Whether an edges query returns the same rows when it is run again: see constant.h.
 *
 * What the functions that it calls say of themselves is not all.  It may call some that are not in it:
 * defaults of arguments, which the planner adds, and those that an aggregate is made of.  And it may read
 * what shows more than its snapshot does.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_proc.h"
#include "graph/constant.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#define DEEPEST 8 /* defaults within defaults */

static bool varies(Node *node, void *context);
static bool defaults_vary(Oid called, const List *args, int depth);
static bool aggregate_varies(Oid function);
static bool is_volatile(Oid function);
static bool order_varies(const SortGroupClause *clause);
static bool has_snapshot(const RangeTblEntry *relation);

bool
hybrid_query_is_constant(Query *query)
{
	int depth = 0;

	return !contain_volatile_functions((Node *) query) && !varies((Node *) query, &depth);
}

/* varies: whether it does for a reason that contain_volatile_functions does not look for; so many defaults deep. */
static bool
varies(Node *node, void *context)
{
	const int *depth = (const int *) context;

	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_RangeTblEntry:
			/* what is in it comes by itself */
			return ((RangeTblEntry *) node)->rtekind == RTE_RELATION &&
			       !has_snapshot((RangeTblEntry *) node);
		case T_TableSampleClause:
			/* without REPEATABLE it takes other rows each time */
			if (((TableSampleClause *) node)->repeatable == NULL)
				return true;
			break;
		case T_FuncExpr:
			if (defaults_vary(((FuncExpr *) node)->funcid, ((FuncExpr *) node)->args, *depth))
				return true;
			break;
		case T_Aggref:
			if (aggregate_varies(((Aggref *) node)->aggfnoid))
				return true;
			break;
		case T_WindowFunc:
			if (aggregate_varies(((WindowFunc *) node)->winfnoid) ||
			    defaults_vary(((WindowFunc *) node)->winfnoid, ((WindowFunc *) node)->args, *depth))
				return true;
			break;
		case T_SortGroupClause:
			return order_varies((SortGroupClause *) node);
		case T_Query:
			return query_tree_walker((Query *) node, varies, context,
			                         QTW_EXAMINE_RTES_BEFORE | QTW_EXAMINE_SORTGROUP);
		default:
			break;
	}
	return expression_tree_walker(node, varies, context);
}

/*
 * defaults_vary: of a call that leaves arguments out, whichever.  Defaults may call functions that have
 * defaults; so deep that a query would hardly be written so, they are said to vary.
 */
static bool
defaults_vary(Oid called, const List *args, int depth)
{
	HeapTuple function = SearchSysCache1(PROCOID, ObjectIdGetDatum(called));
	Node *defaults = NULL;

	if (!HeapTupleIsValid(function))
		elog(ERROR, "cache lookup failed for function %u", called);
	if (list_length(args) < ((Form_pg_proc) GETSTRUCT(function))->pronargs)
	{
		bool none;
		Datum written = SysCacheGetAttr(PROCOID, function, Anum_pg_proc_proargdefaults, &none);

		if (!none)
			defaults = stringToNode(TextDatumGetCString(written));
	}
	ReleaseSysCache(function);
	if (defaults == NULL)
		return false;
	depth++;
	return depth > DEEPEST || contain_volatile_functions(defaults) || varies(defaults, &depth);
}

/* aggregate_varies: as what it is made of; a window function that is no aggregate is judged by itself. */
static bool
aggregate_varies(Oid function)
{
	HeapTuple tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(function));
	Form_pg_aggregate aggregate;
	bool found;

	if (!HeapTupleIsValid(tuple))
		return false;
	aggregate = (Form_pg_aggregate) GETSTRUCT(tuple);
	found = is_volatile(aggregate->aggtransfn) || is_volatile(aggregate->aggfinalfn) ||
	        is_volatile(aggregate->aggcombinefn) || is_volatile(aggregate->aggserialfn) ||
	        is_volatile(aggregate->aggdeserialfn) || is_volatile(aggregate->aggmtransfn) ||
	        is_volatile(aggregate->aggminvtransfn) || is_volatile(aggregate->aggmfinalfn);
	ReleaseSysCache(tuple);
	return found;
}

static bool
is_volatile(Oid function)
{
	return OidIsValid(function) && func_volatile(function) == PROVOLATILE_VOLATILE;
}

/* order_varies: by its operators. */
static bool
order_varies(const SortGroupClause *clause)
{
	return (OidIsValid(clause->eqop) && op_volatile(clause->eqop) == PROVOLATILE_VOLATILE) ||
	       (OidIsValid(clause->sortop) && op_volatile(clause->sortop) == PROVOLATILE_VOLATILE);
}

/* has_snapshot: not a sequence, nor a foreign table, nor are those that inherit from it. */
static bool
has_snapshot(const RangeTblEntry *relation)
{
	ListCell *cell;

	if (relation->relkind == RELKIND_SEQUENCE || relation->relkind == RELKIND_FOREIGN_TABLE)
		return false;
	if (!relation->inh || !has_subclass(relation->relid))
		return true;
	/* the planner locks those that it reads; of one that comes or goes there is a message */
	foreach (cell, find_all_inheritors(relation->relid, NoLock, NULL))
	{
		if (get_rel_relkind(lfirst_oid(cell)) == RELKIND_FOREIGN_TABLE)
			return false;
	}
	return true;
}
