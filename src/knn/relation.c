/*
 * relation.c
 *		Refuses relations whose rows cannot be read here, or cannot be identified by a tid: see
 *		relation.h.
 *
 * A tid identifies a row within one table. The rows of a partitioned table lie in several tables,
 * and so may those of a view. For a view, this file follows the column ctid to its tables, through
 * subqueries, WITH, UNION and other views. If the column is computed in any other way, the author of
 * the view is responsible for its values.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/sysattr.h"
#include "catalog/pg_inherits.h"
#include "knn/relation.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteHandler.h"
#include "server/citus.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#define NAMED_TABLES 5

/* Trace: the search for the tables that the column ctid of a view comes from. */
typedef struct Trace
{
	List *tables; /* OIDs of the tables found so far */
	List *views;  /* OIDs of the views being looked into, from the outermost to the innermost */
} Trace;

static void refuse_citus(Relation relation, const char *column);
static void add_relation(List **relids, Oid relid);
static bool add_relations(Node *node, void *context);
static void refuse_children(Relation relation);
static List *leaf_tables(Oid relid, LOCKMODE lock);
static const char *name_tables(const List *tables);
static void check_view(Relation view);
static void trace_column(const Query *query, AttrNumber column, Trace *trace);
static void
trace_operation(const Query *query, const Node *operation, AttrNumber column, Trace *trace);
static void trace_entry(const Query *query, Index entry, AttrNumber column, Trace *trace);
static void trace_relation(const RangeTblEntry *entry, AttrNumber column, Trace *trace);
static void
trace_cte(const Query *query, const RangeTblEntry *entry, AttrNumber column, Trace *trace);

void
hybrid_check_relation(Relation relation, const char *column)
{
	refuse_citus(relation, column);
	refuse_children(relation);
	if (relation->rd_rel->relkind == RELKIND_VIEW)
		check_view(relation);
}

static void
refuse_citus(Relation relation, const char *column)
{
	const char *name = RelationGetRelationName(relation);
	List *relids = NIL;
	Oid found;

	add_relation(&relids, RelationGetRelid(relation));
	found = hybrid_citus_table(relids);
	list_free(relids);
	if (!OidIsValid(found))
		return;
	ereport(
		ERROR,
		(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
	     found == RelationGetRelid(relation)
	         ? errmsg("cannot read the rows of \"%s\", because Citus keeps them in shards", name)
	         : errmsg("cannot read the rows of \"%s\", because Citus keeps those of \"%s\" in "
	                  "shards",
	                  name, get_rel_name(found)),
	     errhint("Run SELECT ... FROM %s ORDER BY %s <-> query LIMIT k for each query. Citus runs "
	             "it on the shards. hybrid_knn_sharded does so for many queries.",
	             quote_identifier(name), quote_identifier(column))));
}

/*
 * add_relation: add the relation to the list, followed by its partitions and children, or by the
 * relations that a view reads. The list may contain a table twice.
 */
static void
add_relation(List **relids, Oid relid)
{
	CHECK_FOR_INTERRUPTS();
	check_stack_depth();
	if (list_member_oid(*relids, relid))
		return; /* a view's definition also names the view itself */
	*relids = lappend_oid(*relids, relid);
	if (get_rel_relkind(relid) == RELKIND_VIEW)
	{
		Relation view = relation_open(relid, AccessShareLock);

		(void) add_relations((Node *) get_view_query(view), relids);
		relation_close(view, NoLock);
	}
	else if (has_subclass(relid))
		/* no lock is needed, because only OIDs are compared: a child may be dropped meanwhile */
		*relids = list_concat(*relids, find_all_inheritors(relid, NoLock, NULL));
}

static bool
add_relations(Node *node, void *context)
{
	List **relids = (List **) context;

	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
	{
		const RangeTblEntry *entry = (const RangeTblEntry *) node;

		if (entry->rtekind == RTE_RELATION)
			add_relation(relids, entry->relid);
		/* the walker visits the contents of range table entries itself */
		return false;
	}
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, add_relations, context, QTW_EXAMINE_RTES_BEFORE);
	return expression_tree_walker(node, add_relations, context);
}

/* refuse_children: raise if the relation is partitioned or has child tables. */
static void
refuse_children(Relation relation)
{
	Oid relid = RelationGetRelid(relation);
	bool partitioned = relation->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;
	List *leaves;

	if (!partitioned && !has_subclass(relid))
		return;
	leaves = list_delete_oid(leaf_tables(relid, AccessShareLock), relid);
	if (leaves == NIL && !partitioned)
		return; /* relhassubclass stays set after the last child is dropped */
	ereport(ERROR,
	        (errcode(ERRCODE_WRONG_OBJECT_TYPE),
	         errmsg("\"%s\" has partitions or child tables, so a tid does not identify a row",
	                RelationGetRelationName(relation)),
	         leaves == NIL ? errdetail("It has no leaf table.")
	                       : errdetail("Its leaf tables are %s.", name_tables(leaves)),
	         errhint("Call the function for each leaf table.")));
}

/* leaf_tables: return the table and all its partitions and children, except partitioned tables. */
static List *
leaf_tables(Oid relid, LOCKMODE lock)
{
	List *inheritors = find_all_inheritors(relid, lock, NULL);
	List *leaves = NIL;
	ListCell *cell;

	foreach (cell, inheritors)
	{
		CHECK_FOR_INTERRUPTS();
		if (get_rel_relkind(lfirst_oid(cell)) != RELKIND_PARTITIONED_TABLE)
			leaves = lappend_oid(leaves, lfirst_oid(cell));
	}
	list_free(inheritors);
	return leaves;
}

/* name_tables: return the names of the first few tables and the number of the others. */
static const char *
name_tables(const List *tables)
{
	StringInfoData names;
	int i;

	initStringInfo(&names);
	for (i = 0; i < list_length(tables) && i < NAMED_TABLES; i++)
		appendStringInfo(&names, "%s\"%s\"", i > 0 ? ", " : "",
		                 get_rel_name(list_nth_oid(tables, i)));
	if (list_length(tables) > NAMED_TABLES)
		appendStringInfo(&names, " and %d more", list_length(tables) - NAMED_TABLES);
	return names.data;
}

/* check_view: raise if the view has no column ctid, or if that column comes from several tables. */
static void
check_view(Relation view)
{
	AttrNumber column = get_attnum(RelationGetRelid(view), "ctid");
	Trace trace = {NIL, NIL};

	if (column == InvalidAttrNumber)
		ereport(ERROR,
		        (errcode(ERRCODE_UNDEFINED_COLUMN),
		         errmsg("view \"%s\" has no column \"ctid\"", RelationGetRelationName(view)),
		         errhint("Add the ctid of its table, as in CREATE VIEW ... AS SELECT ctid, ...")));
	trace.views = list_make1_oid(RelationGetRelid(view));
	trace_column(get_view_query(view), column, &trace);
	if (list_length(trace.tables) > 1)
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
		                errmsg("the ctids of view \"%s\" come from several tables, so a tid does "
		                       "not identify a row",
		                       RelationGetRelationName(view)),
		                errdetail("The tables are %s.", name_tables(trace.tables)),
		                errhint("Call the function for each table, or for a materialized view, "
		                        "which has ctids of its own.")));
}

/*
 * trace_column: add to trace->tables the tables whose ctids a column of the query's result may
 * contain.
 */
static void
trace_column(const Query *query, AttrNumber column, Trace *trace)
{
	const TargetEntry *target;

	check_stack_depth();
	if (query->setOperations != NULL)
	{
		trace_operation(query, query->setOperations, column, trace);
		return;
	}
	target = get_tle_by_resno(query->targetList, column);
	if (target != NULL && IsA(target->expr, Var))
	{
		const Var *var = (const Var *) target->expr;

		if (var->varlevelsup == 0)
			trace_entry(query, var->varno, var->varattno, trace);
	}
}

/* trace_operation: do the same as trace_column for a tree of UNION, INTERSECT and EXCEPT. */
static void
trace_operation(const Query *query, const Node *operation, AttrNumber column, Trace *trace)
{
	check_stack_depth();
	if (IsA(operation, SetOperationStmt))
	{
		const SetOperationStmt *set = (const SetOperationStmt *) operation;

		trace_operation(query, set->larg, column, trace);
		/* INTERSECT and EXCEPT return rows of the left side */
		if (set->op == SETOP_UNION)
			trace_operation(query, set->rarg, column, trace);
	}
	else
		trace_entry(query, castNode(RangeTblRef, operation)->rtindex, column, trace);
}

/* trace_entry: do the same as trace_column for a column of a range table entry. */
static void
trace_entry(const Query *query, Index number, AttrNumber column, Trace *trace)
{
	const RangeTblEntry *entry = rt_fetch(number, query->rtable);

	switch (entry->rtekind)
	{
		case RTE_RELATION:
			trace_relation(entry, column, trace);
			break;
		case RTE_SUBQUERY:
			trace_column(entry->subquery, column, trace);
			break;
		case RTE_CTE:
			trace_cte(query, entry, column, trace);
			break;
		default:
			break;
	}
}

static void
trace_relation(const RangeTblEntry *entry, AttrNumber column, Trace *trace)
{
	if (entry->relkind == RELKIND_VIEW)
	{
		Relation view;

		/* views that refer to each other end here; a query on them raises the usual error */
		if (list_member_oid(trace->views, entry->relid))
			return;
		trace->views = lappend_oid(trace->views, entry->relid);
		view = relation_open(entry->relid, AccessShareLock);
		trace_column(get_view_query(view), column, trace);
		relation_close(view, NoLock);
		trace->views = list_delete_last(trace->views);
	}
	else if (column == SelfItemPointerAttributeNumber)
	{
		if (entry->inh && has_subclass(entry->relid))
			trace->tables =
				list_concat_unique_oid(trace->tables, leaf_tables(entry->relid, NoLock));
		else
			trace->tables = list_append_unique_oid(trace->tables, entry->relid);
	}
}

static void
trace_cte(const Query *query, const RangeTblEntry *entry, AttrNumber column, Trace *trace)
{
	ListCell *cell;

	if (entry->ctelevelsup != 0)
		return;
	foreach (cell, query->cteList)
	{
		const CommonTableExpr *cte = lfirst_node(CommonTableExpr, cell);

		if (strcmp(cte->ctename, entry->ctename) == 0 && IsA(cte->ctequery, Query))
			trace_column((const Query *) cte->ctequery, column, trace);
	}
}
