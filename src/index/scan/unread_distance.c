/*
 * unread_distance.c
 *		The distance that rows are ordered by, in plans where nobody reads it.
 *
 * What a query is ordered by is a column of its plan, though the client never sees it.  Where a sort
 * sorts by it, that must be.  A scan of our index gives rows in that order, and to compute the column
 * again for each row takes the vector out of the table, which is as much work as an easy search.  So
 * when a plan is ready, such a column is taken away from it, where the scan is all there is, but for a
 * Limit above it: at the top of the plan, or of a subquery's, be it joined with others.  What lies
 * between is left alone: it may pass on all columns that it gets.
 *
 * Whether rows are in order is checked as before: the scan has the expression for itself.
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
static bool is_ours(const IndexScan *scan);
static bool is_order(const IndexScan *scan, const TargetEntry *entry);
static bool is_passed_on(const TargetEntry *entry, const TargetEntry *below);

void
hybrid_unread_init(void)
{
	next_planner = planner_hook;
	planner_hook = plan_query;
	/* a statement may have loaded us that is being planned, and its plan be kept for the session */
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
		/* a hole is left where one was not needed in the end */
		if (lfirst(each) != NULL)
			leave_out((Plan *) lfirst(each), 1);
		visit((Plan *) lfirst(each));
	}
	return planned;
}

/* visit: the subqueries of a plan, those in other subqueries too. */
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
		/* they pick columns, of a subquery those that are no secret of its own */
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

/* leave_out: the last columns, while they are nothing but what our index orders by; the first ones are kept. */
static void
leave_out(Plan *top, int kept)
{
	Plan *below = IsA(top, Limit) ? outerPlan(top) : top;

	/* with ties: rows that are as far as the last one are told by that column */
	if (below == NULL || !IsA(below, IndexScan) || !is_ours((IndexScan *) below) ||
	    (top != below && ((Limit *) top)->limitOption != LIMIT_OPTION_COUNT) ||
	    list_length(top->targetlist) != list_length(below->targetlist))
		return;
	while (list_length(below->targetlist) > kept &&
	       is_order((IndexScan *) below, llast_node(TargetEntry, below->targetlist)) &&
	       (top == below || is_passed_on(llast_node(TargetEntry, top->targetlist),
	                                     llast_node(TargetEntry, below->targetlist))))
	{
		if (top != below)
			top->targetlist = list_delete_last(top->targetlist);
		below->targetlist = list_delete_last(below->targetlist);
	}
}

/* columns_read: a scan that passes on all columns passes on hidden ones, too. */
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

static bool
is_ours(const IndexScan *scan)
{
	Relation index;
	bool ours;

	if (scan->indexorderby == NIL)
		return false;
	/* the planner has it locked */
	index = index_open(scan->indexid, NoLock);
	ours = hybrid_is_our_index(index);
	index_close(index, NoLock);
	return ours;
}

/* is_order: a column that is there for the order's sake only. */
static bool
is_order(const IndexScan *scan, const TargetEntry *entry)
{
	return entry->resjunk && list_member(scan->indexorderbyorig, entry->expr);
}

/* is_passed_on: a column of the Limit is this one of the scan, and not for anybody above. */
static bool
is_passed_on(const TargetEntry *entry, const TargetEntry *below)
{
	const Var *column = (const Var *) entry->expr;

	return entry->resjunk && IsA(column, Var) && column->varno == OUTER_VAR &&
	       column->varattno == below->resno;
}
