/*
 * fetched.c
 *		Reports that a call fetches many rows from a foreign server: see fetched.h.
 */
#include "postgres.h"

#include "knn/fetched.h"
#include "miscadmin.h"
#include "nodes/plannodes.h"
#include "utils/builtins.h"
#include "utils/plancache.h"

#define MANY_FETCHED 100000 /* minimum number of rows that is reported */

static double fetched_by(const Plan *plan);
static double fetched_by_plans(const List *plans);
static void report(HybridFetched *fetched);

void
hybrid_fetched_expect(HybridFetched *fetched, SPIPlanPtr plan)
{
	CachedPlan *cached;
	double rows = 0;
	ListCell *cell;

	fetched->counts = false;
	if (fetched->function == NULL)
		return;
	/* the execution uses the same plan, because the query has no parameters */
	cached = SPI_plan_get_cached_plan(plan);
	if (cached == NULL)
		return;
	foreach (cell, cached->stmt_list)
	{
		const PlannedStmt *statement = lfirst_node(PlannedStmt, cell);

		rows += fetched_by(statement->planTree) + fetched_by_plans(statement->subplans);
		fetched->counts = IsA(statement->planTree, ForeignScan);
	}
	ReleaseCachedPlan(cached, NULL);
	if (rows >= MANY_FETCHED)
		report(fetched);
}

void
hybrid_fetched_row(HybridFetched *fetched)
{
	if (fetched->counts && fetched->function != NULL && ++fetched->rows == MANY_FETCHED)
		report(fetched);
}

/* fetched_by: return how many rows the foreign scans of a plan are expected to fetch. */
static double
fetched_by(const Plan *plan)
{
	double rows = 0;

	if (plan == NULL)
		return 0;
	check_stack_depth();
	switch (nodeTag(plan))
	{
		case T_ForeignScan:
			return plan->plan_rows;
		case T_Append:
			rows = fetched_by_plans(((const Append *) plan)->appendplans);
			break;
		case T_MergeAppend:
			rows = fetched_by_plans(((const MergeAppend *) plan)->mergeplans);
			break;
		case T_SubqueryScan:
			rows = fetched_by(((const SubqueryScan *) plan)->subplan);
			break;
		case T_CustomScan:
			rows = fetched_by_plans(((const CustomScan *) plan)->custom_plans);
			break;
		default:
			break;
	}
	return rows + fetched_by(plan->lefttree) + fetched_by(plan->righttree);
}

static double
fetched_by_plans(const List *plans)
{
	double rows = 0;
	ListCell *cell;

	foreach (cell, plans)
		rows += fetched_by(lfirst(cell));
	return rows;
}

static void
report(HybridFetched *fetched)
{
	ereport(NOTICE,
	        (errmsg("%s fetches %d or more rows of \"%s\" from a foreign server", fetched->function,
	                MANY_FETCHED, fetched->relation),
	         errhint("SELECT ... FROM %s ORDER BY %s <-> query LIMIT k lets the foreign server "
	                 "find the nearest rows, if hybrid is in the server's option "
	                 "\"extensions\". hybrid_knn_sharded does so for many queries.",
	                 quote_identifier(fetched->relation), quote_identifier(fetched->column))));
	fetched->function = NULL;
}
