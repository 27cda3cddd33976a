/*
 * constant.c
 *		Determines whether an edges query returns the same rows when it is run again: see
 *		constant.h.
 *
 * It is not enough to check the volatility of the functions in the query. The query may call
 * functions that do not appear in its text. Examples are functions in the defaults of arguments,
 * which the planner adds, and the functions that implement an aggregate. The query may also read
 * relations that do not follow its snapshot.
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

#define DEEPEST 8 /* nesting levels of argument defaults */

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

/*
 * varies: return whether node may vary for a reason that contain_volatile_functions does not check.
 * context points to the nesting depth of argument defaults.
 */
static bool
varies(Node *node, void *context)
{
	const int *depth = (const int *) context;

	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_RangeTblEntry:
			/* the walker visits the contents of range table entries itself */
			return ((RangeTblEntry *) node)->rtekind == RTE_RELATION &&
			       !has_snapshot((RangeTblEntry *) node);
		case T_TableSampleClause:
			/* without REPEATABLE, each run samples different rows */
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
 * defaults_vary: return whether the defaults of omitted arguments vary. A call may omit any
 * argument that has a default. A default may itself call functions that have defaults. Beyond
 * DEEPEST levels, which no normal query reaches, defaults are assumed to vary.
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

/*
 * aggregate_varies: return whether a function that implements the aggregate is volatile. Returns
 * false for a window function that is not an aggregate, because contain_volatile_functions checks
 * it.
 */
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

/* order_varies: return whether an operator of the clause is volatile. */
static bool
order_varies(const SortGroupClause *clause)
{
	return (OidIsValid(clause->eqop) && op_volatile(clause->eqop) == PROVOLATILE_VOLATILE) ||
	       (OidIsValid(clause->sortop) && op_volatile(clause->sortop) == PROVOLATILE_VOLATILE);
}

/*
 * has_snapshot: return whether reads of the relation follow the snapshot. Reads of sequences and
 * foreign tables do not follow it. Neither do reads of a table that has a foreign table among its
 * children.
 */
static bool
has_snapshot(const RangeTblEntry *relation)
{
	ListCell *cell;

	if (relation->relkind == RELKIND_SEQUENCE || relation->relkind == RELKIND_FOREIGN_TABLE)
		return false;
	if (!relation->inh || !has_subclass(relation->relid))
		return true;
	/*
	 * no lock is needed: the planner locks the children that it reads, and new or dropped children
	 * send invalidations
	 */
	foreach (cell, find_all_inheritors(relation->relid, NoLock, NULL))
	{
		if (get_rel_relkind(lfirst_oid(cell)) == RELKIND_FOREIGN_TABLE)
			return false;
	}
	return true;
}
