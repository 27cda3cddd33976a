/*
 * scan_quals.c
 *		The conditions of a plan, on rows that a scan has found and not returned yet.
 *
 * Conditions are asked beforehand unless they cost more than what is saved, such as those with subqueries
 * and slow functions, unless they look at the vector itself, of which the order says more, and unless
 * they are volatile.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/sysattr.h"
#include "access/tableam.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "nodes/plannodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "server/position.h"

#include "index/page/buffers.h"
#include "index/scan/scan_quals.h"

#define MOST_OPERATORS 50 /* that conditions may cost as much as */

struct HybridScanQuals
{
	IndexScanDesc scan;
	IndexScanState *node; /* whose conditions these are */
	ExprState *conditions;
	ExprContext *context;
	double share;
	bool heap; /* the table is one of PostgreSQL's own kind */
	/* once it is asked, in that memory context */
	MemoryContext memory;
	IndexFetchTableData *fetch;
	TupleTableSlot *slot;
};

static bool may_be_asked(const IndexScanState *node, Relation index);
static bool has_subplan(Node *node, void *context);
static double share_of(const IndexScanState *node);
static void begin(HybridScanQuals *filter);
static void expect_rows(const HybridScanQuals *filter, const int64 *positions, int count);
static bool fetch(HybridScanQuals *filter, ItemPointerData *tid);
static bool fetch_from_heap(HybridScanQuals *filter, ItemPointerData *tid);
static bool meets_conditions(HybridScanQuals *filter);

HybridScanQuals *
hybrid_scan_quals_new(IndexScanDesc scan, IndexScanState *node)
{
	HybridScanQuals *filter = palloc0(sizeof(HybridScanQuals));

	filter->scan = scan;
	filter->share = 1;
	filter->heap = scan->heapRelation->rd_tableam == GetHeapamTableAmRoutine();
	filter->memory = CurrentMemoryContext;
	if (node == NULL || node->ss.ps.qual == NULL || !may_be_asked(node, scan->indexRelation))
		return filter;
	filter->node = node;
	filter->conditions = node->ss.ps.qual;
	filter->share = share_of(node);
	return filter;
}

double
hybrid_scan_quals_share(const HybridScanQuals *filter)
{
	return filter->share;
}

void
hybrid_scan_quals_passes(HybridScanQuals *filter, const int64 *positions, int count, bool *passes)
{
	int i;

	if (filter->slot == NULL)
		begin(filter);
	if (filter->heap)
		expect_rows(filter, positions, count);
	for (i = 0; i < count; i++)
	{
		ItemPointerData tid = hybrid_position_tid(positions[i]);

		passes[i] = fetch(filter, &tid) && meets_conditions(filter);
	}
}

void
hybrid_scan_quals_rest(HybridScanQuals *filter)
{
	if (filter->slot == NULL)
		return;
	(void) ExecClearTuple(filter->slot);
	table_index_fetch_reset(filter->fetch);
}

void
hybrid_scan_quals_end(HybridScanQuals *filter)
{
	if (filter->slot == NULL)
		return;
	ExecDropSingleTupleTableSlot(filter->slot);
	table_index_fetch_end(filter->fetch);
	if (filter->context != NULL)
		FreeExprContext(filter->context, true);
}

/* may_be_asked: whether to ask for the conditions of a node beforehand does no harm. */
static bool
may_be_asked(const IndexScanState *node, Relation index)
{
	const Scan *plan = (const Scan *) node->ss.ps.plan;
	AttrNumber column = index->rd_index->indkey.values[0];
	Bitmapset *columns = NULL;
	QualCost cost;

	if (contain_volatile_functions((Node *) plan->plan.qual) ||
	    has_subplan((Node *) plan->plan.qual, NULL))
		return false;
	pull_varattnos((Node *) plan->plan.qual, plan->scanrelid, &columns);
	if (bms_is_member(column - FirstLowInvalidHeapAttributeNumber, columns) ||
	    bms_is_member(-FirstLowInvalidHeapAttributeNumber, columns))
		return false;
	cost_qual_eval(&cost, plan->plan.qual, NULL);
	return cost.per_tuple <= MOST_OPERATORS * cpu_operator_cost;
}

/* has_subplan: an expression_tree_walker's; what is in one is not in the expression. */
static bool
has_subplan(Node *node, void *context)
{
	if (node == NULL)
		return false;
	return IsA(node, SubPlan) || IsA(node, AlternativeSubPlan) ||
	       expression_tree_walker(node, has_subplan, context);
}

/* share_of: by the planner's guess and the size that the table had when it was analyzed. */
static double
share_of(const IndexScanState *node)
{
	double rows = node->ss.ss_currentRelation->rd_rel->reltuples;

	if (rows < 1)
		return 0;
	return Min(node->ss.ps.plan->plan_rows / rows, 1);
}

/* begin: what rows are fetched with; most filters are never asked. */
static void
begin(HybridScanQuals *filter)
{
	MemoryContext old = MemoryContextSwitchTo(filter->memory);

	filter->fetch = table_index_fetch_begin(filter->scan->heapRelation);
	if (filter->conditions != NULL)
		filter->context = CreateExprContext(filter->node->ss.ps.state);
	filter->slot = table_slot_create(filter->scan->heapRelation, NULL);
	MemoryContextSwitchTo(old);
}

/* expect_rows: where they are said to be on their pages, and then where they are. */
static void
expect_rows(const HybridScanQuals *filter, const int64 *positions, int count)
{
	int item, i;

	for (item = 0; item < 2; item++)
	{
		for (i = 0; i < count; i++)
		{
			ItemPointerData tid = hybrid_position_tid(positions[i]);

			hybrid_buffer_expect_row(filter->scan->heapRelation, &tid, item != 0);
		}
	}
}

/* fetch: the version of a row that the scan's snapshot sees, into the slot; false: there is none. */
static bool
fetch(HybridScanQuals *filter, ItemPointerData *tid)
{
	bool again = false, dead = false;

	if (filter->heap)
		return fetch_from_heap(filter, tid);
	return table_index_fetch_tuple(filter->fetch, tid, filter->scan->xs_snapshot, filter->slot,
	                               &again, &dead);
}

/* fetch_from_heap: what the table's own function does, but for looking for the page, and tidying it. */
static bool
fetch_from_heap(HybridScanQuals *filter, ItemPointerData *tid)
{
	Relation heap = filter->scan->heapRelation;
	HeapTuple tuple = &((BufferHeapTupleTableSlot *) filter->slot)->base.tupdata;
	Buffer buffer;
	bool found;

	(void) ExecClearTuple(filter->slot);
	buffer = hybrid_buffer_read(heap, ItemPointerGetBlockNumber(tid), NULL);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	TestForOldSnapshot(filter->scan->xs_snapshot, heap, BufferGetPage(buffer));
	found = heap_hot_search_buffer(tid, heap, buffer, filter->scan->xs_snapshot, tuple, NULL, true);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	if (found)
		ExecStorePinnedBufferHeapTuple(tuple, filter->slot, buffer);
	else
		ReleaseBuffer(buffer);
	return found;
}

/* meets_conditions: of the row in the slot. */
static bool
meets_conditions(HybridScanQuals *filter)
{
	if (filter->conditions == NULL)
		return true;
	filter->context->ecxt_scantuple = filter->slot;
	if (ExecQualAndReset(filter->conditions, filter->context))
		return true;
	InstrCountFiltered1(filter->node, 1);
	return false;
}
