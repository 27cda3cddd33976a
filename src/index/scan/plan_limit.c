/*
 * plan_limit.c
 *		Find how many rows the plan requests from a scan, and which plan node requests them.
 *
 * When a plan starts, this file finds its scans of hybrid indexes. For each scan it finds the Limit node
 * above, if only nodes that keep the rows and their order are in between. The scans and Limit nodes are
 * recorded in the memory of the query. A scan finds its own record by its scan descriptor. By the time
 * that the executor requests the first row, the Limit node has evaluated its expression.
 */
#include "postgres.h"

#include "common/int.h"
#include "executor/executor.h"
#include "nodes/execnodes.h"
#include "nodes/nodeFuncs.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "index/page/index.h"
#include "index/scan/plan_limit.h"

/* PlannedScan: a scan, and the Limit node above it. `limit` is NULL if there is none. */
typedef struct PlannedScan
{
	ScanState *scan;
	const LimitState *limit;
	int limits; /* number of Limit nodes above the scan, at any distance */
	struct PlannedScan *next;
} PlannedScan;

/* PlannedQuery: the scans of one query, recorded in the query's memory. */
typedef struct PlannedQuery
{
	PlannedScan *scans;
	MemoryContextCallback end;
	struct PlannedQuery *next;
} PlannedQuery;

/* Walk: state of the walk through a plan. */
typedef struct Walk
{
	PlannedQuery *query;
	MemoryContext context;
	int limits; /* number of Limit nodes above the current node */
} Walk;

static ExecutorStart_hook_type next_start = NULL;
static PlannedQuery *queries = NULL;

static void start_query(QueryDesc *query, int flags);
static bool walk(PlanState *state, void *arg);
static void note_scans(Walk *found, const LimitState *limit, PlanState *below);
static void note_scan(Walk *found, const LimitState *limit, ScanState *scan);
static IndexScanDesc descriptor_of(const ScanState *scan);
static Relation index_of(const ScanState *scan);
static bool has_conditions(const ScanState *scan);
static void forget_query(void *arg);

void
hybrid_plan_limit_init(void)
{
	next_start = ExecutorStart_hook;
	ExecutorStart_hook = start_query;
}

HybridPlanLimit
hybrid_plan_limit_of(IndexScanDesc scan)
{
	HybridPlanLimit asked = {NULL, false, -1, false};
	const PlannedQuery *query;
	const PlannedScan *planned;

	for (query = queries; query != NULL; query = query->next)
	{
		for (planned = query->scans; planned != NULL; planned = planned->next)
		{
			const LimitState *limit = planned->limit;

			if (descriptor_of(planned->scan) != scan)
				continue;
			asked.node = planned->scan;
			asked.conditions = has_conditions(planned->scan);
			asked.all = planned->limits == 0;
			if (limit == NULL || limit->lstate == LIMIT_INITIAL)
				return asked;
			/* LIMIT NULL is no limit */
			if (limit->noCount)
				asked.all = planned->limits == 1;
			else
			{
				/* the limit is capped, because a higher one makes no difference */
				if (pg_add_s64_overflow(limit->offset, limit->count, &asked.limit) ||
				    asked.limit > PG_INT32_MAX)
					asked.limit = PG_INT32_MAX;
			}
			return asked;
		}
	}
	return asked;
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
	found.limits = 0;
	found.context = query->estate->es_query_cxt;
	(void) walk(query->planstate, &found);
}

/* walk: record the scans in a plan and their Limit nodes. Also the callback of planstate_tree_walker. */
static bool
walk(PlanState *state, void *arg)
{
	Walk *found = arg;
	int limits;

	if (state == NULL)
		return false;
	limits = IsA(state, LimitState);
	found->limits += limits;
	if (IsA(state, LimitState))
		note_scans(found, (const LimitState *) state, outerPlanState(state));
	else if (IsA(state, IndexScanState) || IsA(state, IndexOnlyScanState))
		note_scan(found, NULL, (ScanState *) state);
	(void) planstate_tree_walker(state, walk, arg);
	found->limits -= limits;
	return false;
}

/*
 * note_scans: record the scans below a Limit node. Only nodes that pass on rows in order may be in between. If such a
 * node has a filter, the executor requests more rows than the limit.
 */
static void
note_scans(Walk *found, const LimitState *limit, PlanState *below)
{
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
		case T_IndexOnlyScanState:
			note_scan(found, limit, (ScanState *) below);
			return;
		default:
			return;
	}
}

/* note_scan: record a scan and its Limit node, unless the scan was recorded already. */
static void
note_scan(Walk *found, const LimitState *limit, ScanState *scan)
{
	Relation index = index_of(scan);
	PlannedScan *planned;

	if (index == NULL || !hybrid_is_our_index(index))
		return;
	if (found->query == NULL)
	{
		found->query = MemoryContextAllocZero(found->context, sizeof(PlannedQuery));
		found->query->end.func = forget_query;
		found->query->end.arg = found->query;
		found->query->next = queries;
		queries = found->query;
		MemoryContextRegisterResetCallback(found->context, &found->query->end);
	}
	for (planned = found->query->scans; planned != NULL; planned = planned->next)
	{
		if (planned->scan == scan)
			return;
	}
	planned = MemoryContextAlloc(found->context, sizeof(PlannedScan));
	planned->scan = scan;
	planned->limit = limit;
	planned->limits = found->limits;
	planned->next = found->query->scans;
	found->query->scans = planned;
}

static IndexScanDesc
descriptor_of(const ScanState *scan)
{
	return IsA(scan, IndexScanState) ? ((const IndexScanState *) scan)->iss_ScanDesc
	                                 : ((const IndexOnlyScanState *) scan)->ioss_ScanDesc;
}

static Relation
index_of(const ScanState *scan)
{
	return IsA(scan, IndexScanState) ? ((const IndexScanState *) scan)->iss_RelationDesc
	                                 : ((const IndexOnlyScanState *) scan)->ioss_RelationDesc;
}

static bool
has_conditions(const ScanState *scan)
{
	return IsA(scan, IndexScanState) ? ((const IndexScanState *) scan)->indexqualorig != NULL
	                                 : ((const IndexOnlyScanState *) scan)->recheckqual != NULL;
}

/* forget_query: remove the record of a query from `queries` when its memory is freed, also after an error. */
static void
forget_query(void *arg)
{
	PlannedQuery **link = &queries;

	while (*link != NULL && *link != (PlannedQuery *) arg)
		link = &(*link)->next;
	if (*link != NULL)
		*link = (*link)->next;
}
