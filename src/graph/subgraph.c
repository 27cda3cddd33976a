/*
 * subgraph.c
 *		hybrid_subgraph: the edges between the nodes within a number of hops.
 *
 * A graph does not hold the types of its edges. If they have types, the edges are read again after the
 * nodes are found, and those between the nodes are sorted.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_collation.h"
#include "core/csr_plan.h"
#include "executor/tuptable.h"
#include "graph/reached.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/tuplesort.h"
#include "utils/typcache.h"

PG_FUNCTION_INFO_V1(hybrid_subgraph);

#define COLUMNS 4 /* source, target, weight, type */

/* TypedEdges: the edges that are read again. */
typedef struct TypedEdges
{
	HybridReached reached;
	Tuplesortstate *sort;
	TupleTableSlot *slot;
} TypedEdges;

static void answer_untyped(HybridReached *reached);
static void begin_sort(TypedEdges *edges);
static void take_edge(void *arg, const HyEdge *edge, text *type);
static void answer_typed(TypedEdges *edges);
static bool next_edge(TypedEdges *edges, TupleTableSlot *slot);
static bool is_parallel(const TupleTableSlot *a, const TupleTableSlot *b);

Datum
hybrid_subgraph(PG_FUNCTION_ARGS)
{
	TypedEdges edges;
	HybridEdgesQuery query;

	hybrid_reached_find(fcinfo, &edges.reached);
	query = hybrid_call_query(&edges.reached.call, &hybrid_reached_arguments);
	query.take = take_edge;
	query.take_arg = &edges;
	begin_sort(&edges);
	if (hybrid_graph_read_types(edges.reached.call.graph, &query))
		answer_typed(&edges);
	else
		answer_untyped(&edges.reached);
	tuplesort_end(edges.sort);
	return hybrid_call_end(&edges.reached.call);
}

/* answer_untyped: store the entries of the graph whose ends are reached. */
static void
answer_untyped(HybridReached *reached)
{
	static const bool nulls[COLUMNS] = {false, false, false, true};
	const int32 *hop = reached->nodes.hop;
	const HyCsr *csr = reached->call.csr;
	int64 source;
	int64 i;

	for (source = 0; source < csr->nodes; source++)
	{
		CHECK_FOR_INTERRUPTS();
		for (i = csr->out_start[source]; hop[source] >= 0 && i < csr->out_start[source + 1]; i++)
		{
			uint32 target = csr->out_row[i];
			Datum values[COLUMNS] = {Int64GetDatum(csr->ids[source]),
			                         Int64GetDatum(csr->ids[target])};

			if (hop[target] < 0)
				continue;
			values[2] = Float4GetDatum(csr->weight[hy_csr_first_number(
				csr->column, csr->row_start[target], csr->row_start[target + 1], source)]);
			hybrid_call_row_with_nulls(&reached->call, values, nulls);
		}
	}
}

/* begin_sort: sort by source, target and type, and parallel edges by weight, so that their sum is canonical. */
static void
begin_sort(TypedEdges *edges)
{
	static AttrNumber key[COLUMNS] = {1, 2, 4, 3};
	static Oid collation[COLUMNS] = {[2] = C_COLLATION_OID};
	static bool nulls_first[COLUMNS];
	TupleDesc columns = edges->reached.call.result->setDesc;
	Oid less[COLUMNS];
	int i;

	for (i = 0; i < COLUMNS; i++)
		less[i] = lookup_type_cache(TupleDescAttr(columns, key[i] - 1)->atttypid, TYPECACHE_LT_OPR)
		              ->lt_opr;
	edges->sort = tuplesort_begin_heap(columns, COLUMNS, key, less, collation, nulls_first,
	                                   work_mem, NULL, TUPLESORT_NONE);
	edges->slot = MakeSingleTupleTableSlot(columns, &TTSOpsMinimalTuple);
}

/* take_edge: keep an edge whose ends are reached. */
static void
take_edge(void *arg, const HyEdge *edge, text *type)
{
	TypedEdges *edges = arg;
	const HybridReached *reached = &edges->reached;
	int64 source = hy_csr_find(reached->call.csr, edge->source);
	int64 target = hy_csr_find(reached->call.csr, edge->target);

	if (source < 0 || target < 0 || reached->nodes.hop[source] < 0 ||
	    reached->nodes.hop[target] < 0)
		return;
	ExecClearTuple(edges->slot);
	edges->slot->tts_values[0] = Int64GetDatum(edge->source);
	edges->slot->tts_values[1] = Int64GetDatum(edge->target);
	edges->slot->tts_values[2] = Float4GetDatum(edge->weight);
	edges->slot->tts_values[3] = PointerGetDatum(type);
	memset(edges->slot->tts_isnull, false, COLUMNS);
	edges->slot->tts_isnull[3] = type == NULL;
	ExecStoreVirtualTuple(edges->slot);
	tuplesort_puttupleslot(edges->sort, edges->slot);
}

/* answer_typed: store the edges. The weights of parallel edges of the same type are added. */
static void
answer_typed(TypedEdges *edges)
{
	TupleTableSlot *first = edges->slot;
	TupleTableSlot *next =
		MakeSingleTupleTableSlot(first->tts_tupleDescriptor, &TTSOpsMinimalTuple);
	bool more;

	tuplesort_performsort(edges->sort);
	more = next_edge(edges, first);
	while (more)
	{
		TupleTableSlot *done = first;
		double weight = DatumGetFloat4(first->tts_values[2]);

		while ((more = next_edge(edges, next)) && is_parallel(first, next))
			weight += DatumGetFloat4(next->tts_values[2]);
		if (isinf((float) weight))
			ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			                errmsg("sum of the weights of parallel graph edges is out of the range "
			                       "of real")));
		first->tts_values[2] = Float4GetDatum((float) weight);
		hybrid_call_row_with_nulls(&edges->reached.call, first->tts_values, first->tts_isnull);
		first = next;
		next = done;
	}
}

/* next_edge: get the next edge. Returns false after the last. */
static bool
next_edge(TypedEdges *edges, TupleTableSlot *slot)
{
	CHECK_FOR_INTERRUPTS();
	if (!tuplesort_gettupleslot(edges->sort, true, true, slot, NULL))
		return false;
	slot_getallattrs(slot);
	return true;
}

/* is_parallel: return whether two edges have the same ends and type. */
static bool
is_parallel(const TupleTableSlot *a, const TupleTableSlot *b)
{
	const Datum *left = a->tts_values;
	const Datum *right = b->tts_values;

	return left[0] == right[0] && left[1] == right[1] && a->tts_isnull[3] == b->tts_isnull[3] &&
	       (a->tts_isnull[3] || datum_image_eq(left[3], right[3], false, -1));
}
