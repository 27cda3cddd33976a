/*
 * true_order.c
 *		Order rows by the distances of their values in the table.
 *
 * A scan adds rows in the order of lower bounds of their distances. The nearest row in the queue is the
 * next one to return if its distance is at most the lower bound of the next row that the scan would add. (In an index on
 * arrays, rows come in another order, and documents.c says up to which distance the queue is complete.)
 */
#include "postgres.h"

#include "access/relscan.h"
#include "lib/pairingheap.h"
#include "utils/float.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "index/scan/index_columns.h"
#include "index/scan/true_order.h"

/* Row: an element of the queue, with as many values as there are ORDER BY expressions. */
typedef struct Row
{
	pairingheap_node link;
	int64 position;
	IndexOrderByDistance values[FLEXIBLE_ARRAY_MEMBER];
} Row;

struct HybridTrueOrder
{
	IndexScanDesc scan;
	HybridScanQuals *fetcher;
	HybridIndexColumns columns;
	/*
	 * distance function of each ORDER BY expression. These are copies, because at each rescan the functions
	 * of the scan keys lose the pointer to their cached state, but its memory is not freed.
	 */
	FmgrInfo *distances;
	MemoryContext context; /* memory of the rows in the queue */
	pairingheap *queue;
};

static Row *new_row(HybridTrueOrder *order, int64 position, TupleTableSlot *slot);
static int compare_rows(const pairingheap_node *a, const pairingheap_node *b, void *arg);
static int compare_values(const IndexOrderByDistance *a, const IndexOrderByDistance *b, int count);

HybridTrueOrder *
hybrid_true_order_new(IndexScanDesc scan, HybridScanQuals *fetcher)
{
	HybridTrueOrder *order = palloc0(sizeof(HybridTrueOrder));
	bool wanted[INDEX_MAX_KEYS] = {false};
	int i;

	order->scan = scan;
	order->fetcher = fetcher;
	order->distances = palloc(scan->numberOfOrderBys * sizeof(FmgrInfo));
	for (i = 0; i < scan->numberOfOrderBys; i++)
	{
		wanted[scan->orderByData[i].sk_attno - 1] = true;
		fmgr_info_copy(&order->distances[i], &scan->orderByData[i].sk_func, CurrentMemoryContext);
	}
	hybrid_index_columns_init(&order->columns, scan->indexRelation, wanted);
	order->context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid scan order", ALLOCSET_DEFAULT_SIZES);
	order->queue = pairingheap_allocate(compare_rows, order);
	return order;
}

void
hybrid_true_order_add(HybridTrueOrder *order, int64 position, const IndexOrderByDistance *bound)
{
	IndexScanDesc scan = order->scan;
	TupleTableSlot *slot = hybrid_scan_quals_fetch(order->fetcher, position);
	Row *row;

	if (slot == NULL)
		return;
	row = new_row(order, position, slot);
	if (compare_values(row->values, bound, 1) < 0)
		ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
		                errmsg("index \"%s\" has a row that is nearer than the index says",
		                       RelationGetRelationName(scan->indexRelation)),
		                errhint("REINDEX it.")));
	pairingheap_add(order->queue, &row->link);
}

IndexOrderByDistance
hybrid_true_order_measure(HybridTrueOrder *order, int64 position, TupleTableSlot *slot)
{
	Row *row = new_row(order, position, slot);

	pairingheap_add(order->queue, &row->link);
	return row->values[0];
}

void
hybrid_true_order_values(const HybridTrueOrder *order, TupleTableSlot *slot,
                         IndexOrderByDistance *values)
{
	Datum columns[INDEX_MAX_KEYS];
	bool nulls[INDEX_MAX_KEYS];
	MemoryContext old;
	int i;

	hybrid_index_columns_form(&order->columns, slot, columns, nulls);
	old = MemoryContextSwitchTo(hybrid_index_columns_memory(&order->columns));
	for (i = 0; i < order->scan->numberOfOrderBys; i++)
	{
		ScanKey key = &order->scan->orderByData[i];

		values[i].isnull = nulls[key->sk_attno - 1] || (key->sk_flags & SK_ISNULL) != 0;
		values[i].value = 0;
		if (!values[i].isnull)
		{
			LOCAL_FCINFO(call, 2);

			InitFunctionCallInfoData(*call, &order->distances[i], 2, key->sk_collation, NULL, NULL);
			call->args[0] = (NullableDatum){columns[key->sk_attno - 1], false};
			call->args[1] = (NullableDatum){key->sk_argument, false};
			values[i].value = DatumGetFloat8(FunctionCallInvoke(call));
			/* MaxSim of an empty array is NULL */
			values[i].isnull = call->isnull;
		}
	}
	MemoryContextSwitchTo(old);
	hybrid_index_columns_clear(&order->columns);
}

bool
hybrid_true_order_ready(const HybridTrueOrder *order, const IndexOrderByDistance *bound)
{
	const Row *row;

	if (pairingheap_is_empty(order->queue))
		return false;
	row = pairingheap_container(Row, link, pairingheap_first(order->queue));
	if (bound == NULL)
		return true;
	/* with several values, a row to come that ties on the first value may precede this row by its other values */
	return compare_values(row->values, bound, 1) < (order->scan->numberOfOrderBys > 1 ? 0 : 1);
}

int64
hybrid_true_order_remove(HybridTrueOrder *order, IndexOrderByDistance *values)
{
	Row *row = pairingheap_container(Row, link, pairingheap_remove_first(order->queue));
	int64 position = row->position;

	memcpy(values, row->values, order->scan->numberOfOrderBys * sizeof(IndexOrderByDistance));
	pfree(row);
	return position;
}

void
hybrid_true_order_clear(HybridTrueOrder *order)
{
	pairingheap_reset(order->queue);
	MemoryContextReset(order->context);
}

Size
hybrid_true_order_memory(const HybridTrueOrder *order)
{
	return MemoryContextMemAllocated(order->context, false);
}

void
hybrid_true_order_end(HybridTrueOrder *order)
{
	hybrid_index_columns_end(&order->columns);
}

/* new_row: make an element of the queue for the row in the slot, and compute its values. */
static Row *
new_row(HybridTrueOrder *order, int64 position, TupleTableSlot *slot)
{
	Row *row = MemoryContextAlloc(order->context,
	                              offsetof(Row, values) +
	                                  order->scan->numberOfOrderBys * sizeof(IndexOrderByDistance));

	row->position = position;
	hybrid_true_order_values(order, slot, row->values);
	return row;
}

/* compare_rows: compare rows for the queue. A pairing heap yields the greatest element first, so reverse the order. */
static int
compare_rows(const pairingheap_node *a, const pairingheap_node *b, void *arg)
{
	const HybridTrueOrder *order = arg;
	const Row *one = pairingheap_const_container(Row, link, a);
	const Row *other = pairingheap_const_container(Row, link, b);
	int result = compare_values(one->values, other->values, order->scan->numberOfOrderBys);

	if (result == 0)
		result = one->position < other->position ? -1 : one->position > other->position;
	return -result;
}

/* compare_values: compare the first `count` values of two rows as ORDER BY does: NaN after numbers, NULL last. */
static int
compare_values(const IndexOrderByDistance *a, const IndexOrderByDistance *b, int count)
{
	int result = 0, i;

	for (i = 0; i < count && result == 0; i++)
	{
		if (a[i].isnull || b[i].isnull)
			result = (int) a[i].isnull - (int) b[i].isnull;
		else
			result = float8_cmp_internal(a[i].value, b[i].value);
	}
	return result;
}
