/*
 * scan_quals.c
 *		Check the conditions of a plan on rows that a scan has found and not returned yet.
 *
 * Some conditions are not checked early. Checking a condition with subqueries or slow functions costs
 * more than it saves. If a condition is on the indexed vector, the order of the rows is a better guide
 * than the condition. Volatile conditions must not be evaluated twice.
 *
 * The conditions of an index-only scan are on the columns of the index. These are computed from the row of the table.
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

#include "server/compat.h"
#include "server/position.h"

#include "index/page/buffers.h"
#include "index/page/included.h"
#include "index/scan/index_columns.h"
#include "index/scan/scan_quals.h"

/* maximum cost of conditions that are checked early, in units of cpu_operator_cost */
#define MOST_OPERATORS 50

struct HybridScanQuals
{
	IndexScanDesc scan;
	ScanState *node; /* plan node that has the conditions */
	ExprState *conditions;
	ExprContext *context;
	double share; /* result of hybrid_scan_quals_share */
	bool heap;    /* the table uses the heap access method */
	/* fields allocated in this memory context when the filter is first used */
	MemoryContext memory;
	IndexFetchTableData *fetch;
	TupleTableSlot *slot;
	TupleTableSlot *indexed; /* for the columns of the index; NULL except in an index-only scan */
	HybridIndexColumns columns;
};

static bool may_be_asked(const ScanState *node, Relation index);
static bool has_subplan(Node *node, void *context);
static double share_of(const ScanState *node);
static void begin(HybridScanQuals *filter);
static bool fetch(HybridScanQuals *filter, ItemPointerData *tid);
static bool fetch_from_heap(HybridScanQuals *filter, ItemPointerData *tid);
static bool meets_conditions(HybridScanQuals *filter);

HybridScanQuals *
hybrid_scan_quals_new(IndexScanDesc scan, ScanState *node, bool judged)
{
	HybridScanQuals *filter = palloc0(sizeof(HybridScanQuals));

	filter->scan = scan;
	filter->share = 1;
	filter->heap = scan->heapRelation->rd_tableam == GetHeapamTableAmRoutine();
	filter->memory = CurrentMemoryContext;
	if (node == NULL || node->ps.qual == NULL || !may_be_asked(node, scan->indexRelation))
		return filter;
	filter->node = node;
	filter->share = share_of(node);
	if (!judged)
		filter->conditions = node->ps.qual;
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

	hybrid_scan_quals_expect(filter, positions, count);
	for (i = 0; i < count; i++)
		passes[i] = hybrid_scan_quals_wanted(filter, positions[i]) != NULL;
}

void
hybrid_scan_quals_expect(const HybridScanQuals *filter, const int64 *positions, int count)
{
	int item, i;

	/* first prefetch the item pointers of all rows, and then the rows that they point to */
	for (item = 0; item < 2 && filter->heap; item++)
	{
		for (i = 0; i < count; i++)
		{
			ItemPointerData tid = hybrid_position_tid(positions[i]);

			hybrid_buffer_expect_row(filter->scan->heapRelation, &tid, item != 0);
		}
	}
}

TupleTableSlot *
hybrid_scan_quals_wanted(HybridScanQuals *filter, int64 position)
{
	TupleTableSlot *slot = hybrid_scan_quals_fetch(filter, position);

	return slot != NULL && meets_conditions(filter) ? slot : NULL;
}

TupleTableSlot *
hybrid_scan_quals_fetch(HybridScanQuals *filter, int64 position)
{
	ItemPointerData tid = hybrid_position_tid(position);

	if (filter->slot == NULL)
		begin(filter);
	return fetch(filter, &tid) ? filter->slot : NULL;
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
	if (filter->indexed != NULL)
	{
		ExecDropSingleTupleTableSlot(filter->indexed);
		hybrid_index_columns_end(&filter->columns);
	}
}

/* may_be_asked: test whether the conditions of a node may be checked early (see the head of this file). */
static bool
may_be_asked(const ScanState *node, Relation index)
{
	const Scan *plan = (const Scan *) node->ps.plan;
	int keys = hybrid_keys_count(index);
	bool only = IsA(node, IndexOnlyScanState);
	Index table = only ? (Index) INDEX_VAR : plan->scanrelid;
	AttrNumber column = only ? (AttrNumber) (keys + 1) : index->rd_index->indkey.values[keys];
	Bitmapset *columns = NULL;
	QualCost cost;

	if (contain_volatile_functions((Node *) plan->plan.qual) ||
	    has_subplan((Node *) plan->plan.qual, NULL))
		return false;
	pull_varattnos((Node *) plan->plan.qual, table, &columns);
	if (bms_is_member(column - FirstLowInvalidHeapAttributeNumber, columns) ||
	    bms_is_member(-FirstLowInvalidHeapAttributeNumber, columns))
		return false;
	cost_qual_eval(&cost, plan->plan.qual, NULL);
	return cost.per_tuple <= MOST_OPERATORS * cpu_operator_cost;
}

/*
 * has_subplan: test whether an expression has a subplan. Subplans are not examined themselves. This is
 * also the callback of expression_tree_walker.
 */
static bool
has_subplan(Node *node, void *context)
{
	if (node == NULL)
		return false;
	return IsA(node, SubPlan) || IsA(node, AlternativeSubPlan) ||
	       expression_tree_walker(node, has_subplan, context);
}

/*
 * share_of: return the planner's estimate of the number of rows of a node, divided by the number of rows
 * that the table had when it was analyzed. Returns 0 if the latter is not known.
 */
static double
share_of(const ScanState *node)
{
	double rows = node->ss_currentRelation->rd_rel->reltuples;

	if (rows < 1)
		return 0;
	return Min(node->ps.plan->plan_rows / rows, 1);
}

/*
 * begin: allocate the resources for fetching rows. They are not allocated earlier, because most filters
 * are never used.
 */
static void
begin(HybridScanQuals *filter)
{
	MemoryContext old = MemoryContextSwitchTo(filter->memory);

	filter->fetch = table_index_fetch_begin(filter->scan->heapRelation);
	if (filter->conditions != NULL)
		filter->context = CreateExprContext(filter->node->ps.state);
	if (filter->conditions != NULL && IsA(filter->node, IndexOnlyScanState))
	{
		Relation index = filter->scan->indexRelation;
		bool wanted[INDEX_MAX_KEYS] = {false};

		hybrid_index_columns_in(filter->node->ps.plan->qual, wanted);
		filter->indexed = MakeSingleTupleTableSlot(RelationGetDescr(index), &TTSOpsVirtual);
		hybrid_index_columns_init(&filter->columns, index, wanted);
	}
	filter->slot = table_slot_create(filter->scan->heapRelation, NULL);
	MemoryContextSwitchTo(old);
}

/*
 * fetch: fetch into the slot the version of a row that the scan's snapshot sees. Returns false if there
 * is none.
 */
static bool
fetch(HybridScanQuals *filter, ItemPointerData *tid)
{
	bool again = false, dead = false;

	if (filter->heap)
		return fetch_from_heap(filter, tid);
	return table_index_fetch_tuple(filter->fetch, tid, filter->scan->xs_snapshot, filter->slot,
	                               &again, &dead);
}

/*
 * fetch_from_heap: fetch a row as the table access method does, but find the page without the buffer
 * table, and do not prune the page. (A search with a filter takes 1.66 times as long with
 * table_index_fetch_tuple instead, measured as in buffers.h.)
 */
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

/* meets_conditions: test whether the row in the slot satisfies the conditions. */
static bool
meets_conditions(HybridScanQuals *filter)
{
	TupleTableSlot *indexed = filter->indexed;
	bool meets;

	if (filter->conditions == NULL)
		return true;
	filter->context->ecxt_scantuple = filter->slot;
	if (indexed != NULL)
	{
		(void) ExecClearTuple(indexed);
		hybrid_index_columns_form(&filter->columns, filter->slot, indexed->tts_values,
		                          indexed->tts_isnull);
		filter->context->ecxt_scantuple = ExecStoreVirtualTuple(indexed);
	}
	meets = ExecQualAndReset(filter->conditions, filter->context);
	if (indexed != NULL)
		hybrid_index_columns_clear(&filter->columns);
	if (!meets)
		InstrCountFiltered1(filter->node, 1);
	return meets;
}
