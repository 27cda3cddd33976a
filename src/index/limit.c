/*
 * limit.c
 *		How many rows a scan will be asked for, by the Limit node above it.
 *
 * When a plan starts, its Limit nodes are found, and the scans of our indexes below them with nothing
 * in between that changes how many rows there are.  The pairs are kept for as long as the memory of
 * the query, and a scan finds its own by its descriptor.  The Limit node has evaluated its expression
 * before it asks for the first row.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "nodes/execnodes.h"
#include "nodes/nodeFuncs.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "index/index.h"
#include "index/limit.h"

/* LimitedScan: a scan and the Limit above it. */
typedef struct LimitedScan
{
	const IndexScanState *scan;
	const LimitState *limit;
	struct LimitedScan *next;
} LimitedScan;

/* LimitedQuery: those of one query; in its memory. */
typedef struct LimitedQuery
{
	LimitedScan *scans;
	MemoryContextCallback end;
	struct LimitedQuery *next;
} LimitedQuery;

/* Walk: of one plan. */
typedef struct Walk
{
	LimitedQuery *query;
	MemoryContext context;
} Walk;

static ExecutorStart_hook_type next_start = NULL;
static LimitedQuery *queries = NULL;

static void start_query(QueryDesc *query, int flags);
static bool walk(PlanState *state, void *arg);
static void note_scans(Walk *found, const LimitState *limit, PlanState *below);
static void forget_query(void *arg);

void
hybrid_limit_init(void)
{
	next_start = ExecutorStart_hook;
	ExecutorStart_hook = start_query;
}

int64
hybrid_limit_of(IndexScanDesc scan)
{
	const LimitedQuery *query;
	const LimitedScan *limited;

	for (query = queries; query != NULL; query = query->next)
	{
		for (limited = query->scans; limited != NULL; limited = limited->next)
		{
			const LimitState *limit = limited->limit;

			if (limited->scan->iss_ScanDesc != scan)
				continue;
			if (limit->noCount || limit->lstate == LIMIT_INITIAL)
				return -1;
			return limit->offset + limit->count;
		}
	}
	return -1;
}

static void
start_query(QueryDesc *query, int flags)
{
	Walk found;

	if (next_start != NULL)
		next_start(query, flags);
	else
		standard_ExecutorStart(query, flags);
	found.query = NULL;
	found.context = query->estate->es_query_cxt;
	(void) walk(query->planstate, &found);
}

/* walk: a planstate_tree_walker's. */
static bool
walk(PlanState *state, void *arg)
{
	if (state == NULL)
		return false;
	if (IsA(state, LimitState))
		note_scans((Walk *) arg, (const LimitState *) state, outerPlanState(state));
	return planstate_tree_walker(state, walk, arg);
}

/* note_scans: the scans below, through what gives each row as it got it. */
static void
note_scans(Walk *found, const LimitState *limit, PlanState *below)
{
	LimitedScan *limited;
	int i;

	if (below == NULL)
		return;
	switch (nodeTag(below))
	{
		case T_ResultState:
		case T_LockRowsState:
			note_scans(found, limit, outerPlanState(below));
			return;
		case T_SubqueryScanState:
			note_scans(found, limit, ((SubqueryScanState *) below)->subplan);
			return;
		case T_MergeAppendState:
			for (i = 0; i < ((MergeAppendState *) below)->ms_nplans; i++)
				note_scans(found, limit, ((MergeAppendState *) below)->mergeplans[i]);
			return;
		case T_IndexScanState:
			break;
		default:
			return;
	}
	if (((IndexScanState *) below)->iss_RelationDesc == NULL ||
	    ((IndexScanState *) below)->iss_RelationDesc->rd_indam->ambuild != hybridbuild)
		return;
	if (found->query == NULL)
	{
		found->query = MemoryContextAllocZero(found->context, sizeof(LimitedQuery));
		found->query->end.func = forget_query;
		found->query->end.arg = found->query;
		found->query->next = queries;
		queries = found->query;
		MemoryContextRegisterResetCallback(found->context, &found->query->end);
	}
	limited = MemoryContextAlloc(found->context, sizeof(LimitedScan));
	limited->scan = (const IndexScanState *) below;
	limited->limit = limit;
	limited->next = found->query->scans;
	found->query->scans = limited;
}

/* forget_query: its memory goes, whatever ended it. */
static void
forget_query(void *arg)
{
	LimitedQuery **link = &queries;

	while (*link != NULL && *link != (LimitedQuery *) arg)
		link = &(*link)->next;
	if (*link != NULL)
		*link = (*link)->next;
}
