/*
 * unread_distance.c
 *		Remove the distance column of ORDER BY from plans in which no node reads it.
 *
 * An ORDER BY expression is a column of the plan, although the client never sees it. A sort needs this
 * column. A scan of a hybrid index returns rows in order without it. For example, in
 *
 *		SELECT id FROM t ORDER BY v <-> q LIMIT 10
 *
 * the executor would read the vector of each row from the table to compute a distance that nobody reads.
 * This takes as much work as an easy search. The column is therefore removed when the plan is ready. It is
 * removed if the plan, or the plan of a subquery, consists only of the scan and perhaps a Limit node above
 * it. The subquery may be joined with others. Plans with other nodes in between are not changed, because
 * such nodes may pass on all columns that they get.
 *
 * The order of the rows does not change, because the scan node has its own copy of the expression.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/sysattr.h"
#include "miscadmin.h"
#include "nodes/plannodes.h"
#include "optimizer/optimizer.h"
#include "optimizer/planner.h"
#include "utils/plancache.h"
#include "utils/rel.h"

#include "index/page/index.h"
#include "index/scan/unread_distance.h"

static planner_hook_type next_planner = NULL;

static PlannedStmt *
plan_query(Query *query, const char *text, int options, ParamListInfo parameters);
static void visit(Plan *plan);
static void visit_all(List *plans);
static void leave_out(Plan *top, int kept);
static int columns_read(const SubqueryScan *scan);
static List *order_of(const Plan *plan);
static bool is_ours(Oid id);
static bool is_passed_on(const TargetEntry *entry, const TargetEntry *below);

void
hybrid_unread_init(void)
{
	next_planner = planner_hook;
	planner_hook = plan_query;
	/*
	 * The library may have been loaded while a statement was planned. Its plan may be cached for the
	 * session, and would keep the column.
	 */
	if (!process_shared_preload_libraries_in_progress)
		ResetPlanCache();
}

static PlannedStmt *
plan_query(Query *query, const char *text, int options, ParamListInfo parameters)
{
	PlannedStmt *planned = next_planner != NULL
	                           ? next_planner(query, text, options, parameters)
	                           : standard_planner(query, text, options, parameters);
	ListCell *each;

	if (planned->commandType == CMD_SELECT && planned->planTree != NULL)
		leave_out(planned->planTree, 1);
	visit(planned->planTree);
	foreach (each, planned->subplans)
	{
		/* the list has NULL for a subplan that is not needed */
		if (lfirst(each) != NULL)
			leave_out((Plan *) lfirst(each), 1);
		visit((Plan *) lfirst(each));
	}
	return planned;
}

/* visit: remove unread distance columns from the subqueries and the inputs of joins in a plan. */
static void
visit(Plan *plan)
{
	if (plan == NULL)
		return;
	check_stack_depth();
	if (IsA(plan, SubqueryScan))
	{
		leave_out(((SubqueryScan *) plan)->subplan, columns_read((SubqueryScan *) plan));
		visit(((SubqueryScan *) plan)->subplan);
	}
	else if (IsA(plan, NestLoop) || IsA(plan, MergeJoin) || IsA(plan, HashJoin))
	{
		/* joins select columns; they never read the hidden columns of a subquery */
		leave_out(outerPlan(plan), 1);
		leave_out(innerPlan(plan), 1);
	}
	else if (IsA(plan, Append))
		visit_all(((Append *) plan)->appendplans);
	else if (IsA(plan, MergeAppend))
		visit_all(((MergeAppend *) plan)->mergeplans);
	visit(outerPlan(plan));
	visit(innerPlan(plan));
}

static void
visit_all(List *plans)
{
	ListCell *each;

	foreach (each, plans)
		visit((Plan *) lfirst(each));
}

/*
 * leave_out: remove the last columns of a plan that serve only to order the rows of a scan of our index. The first
 * `kept` columns stay.
 */
static void
leave_out(Plan *top, int kept)
{
	Plan *below = IsA(top, Limit) ? outerPlan(top) : top;
	List *order = below != NULL ? order_of(below) : NIL;
	const TargetEntry *last;

	/* a Limit node WITH TIES needs the column to find rows at the same distance as the last row */
	if (order == NIL || (top != below && ((Limit *) top)->limitOption != LIMIT_OPTION_COUNT) ||
	    list_length(top->targetlist) != list_length(below->targetlist))
		return;
	while (list_length(below->targetlist) > kept)
	{
		last = llast_node(TargetEntry, below->targetlist);
		/* the column must serve only the order of the rows */
		if (!last->resjunk || !list_member(order, last->expr) ||
		    (top != below && !is_passed_on(llast_node(TargetEntry, top->targetlist), last)))
			break;
		if (top != below)
			top->targetlist = list_delete_last(top->targetlist);
		below->targetlist = list_delete_last(below->targetlist);
	}
}

/*
 * columns_read: return the number of the last column of its subplan that a subquery scan reads, at least
 * 1. A scan that passes on all columns also reads the hidden ones.
 */
static int
columns_read(const SubqueryScan *scan)
{
	Bitmapset *columns = NULL;
	int last = -1, most = 1;

	pull_varattnos((Node *) scan->scan.plan.targetlist, scan->scan.scanrelid, &columns);
	pull_varattnos((Node *) scan->scan.plan.qual, scan->scan.scanrelid, &columns);
	while ((last = bms_next_member(columns, last)) >= 0)
		most = Max(most, last + FirstLowInvalidHeapAttributeNumber);
	bms_free(columns);
	return most;
}

/* order_of: return the expressions by which a scan of our index orders its rows; NIL for any other plan. */
static List *
order_of(const Plan *plan)
{
	List *order = NIL;
	Oid index = InvalidOid;

	if (IsA(plan, IndexScan))
	{
		order = ((const IndexScan *) plan)->indexorderbyorig;
		index = ((const IndexScan *) plan)->indexid;
	}
	else if (IsA(plan, IndexOnlyScan))
	{
		/* here, these expressions and the plan's target list refer to columns of the index */
		order = ((const IndexOnlyScan *) plan)->indexorderby;
		index = ((const IndexOnlyScan *) plan)->indexid;
	}
	return order != NIL && is_ours(index) ? order : NIL;
}

static bool
is_ours(Oid id)
{
	/* the planner holds a lock on this index */
	Relation index = index_open(id, NoLock);
	bool ours = hybrid_is_our_index(index);

	index_close(index, NoLock);
	return ours;
}

/*
 * is_passed_on: test whether a column of the Limit node is this column of the scan, and no node above
 * reads it.
 */
static bool
is_passed_on(const TargetEntry *entry, const TargetEntry *below)
{
	const Var *column = (const Var *) entry->expr;

	return entry->resjunk && IsA(column, Var) && column->varno == OUTER_VAR &&
	       column->varattno == below->resno;
}
