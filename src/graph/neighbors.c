/*
 * neighbors.c
 *		hybrid_neighbors: the nodes within a number of hops; and hybrid_subgraph: the edges between
 *		them.
 *
 * A graph does not hold the types of its edges. If they have types, hybrid_subgraph reads the edges
 * again after it has found the nodes, and keeps those between the nodes.
 */
#include "postgres.h"

#include <math.h>

#include "core/reach.h"
#include "graph/arguments.h"
#include "graph/call.h"
#include "miscadmin.h"
#include "server/report.h"

PG_FUNCTION_INFO_V1(hybrid_neighbors);
PG_FUNCTION_INFO_V1(hybrid_subgraph);

enum NeighborsArgument
{
	GRAPH_ARGUMENT,
	NODES_ARGUMENT,
	HOPS_ARGUMENT,
	DIRECTION_ARGUMENT,
	TYPES_ARGUMENT,
	PARAMS_ARGUMENT
};

/* Reached: the nodes within the hops that the arguments ask for. */
typedef struct Reached
{
	HybridCall call;
	HyReached nodes;
} Reached;

/* TypedEdge: an edge of a subgraph. type is NULL if it has none. */
typedef struct TypedEdge
{
	HyEdge edge;
	text *type;
} TypedEdge;

/* TypedEdges: the edges that are read for a subgraph. */
typedef struct TypedEdges
{
	const Reached *reached;
	TypedEdge *edge;
	int64 count;
	int64 capacity;
	uint64 bytes; /* memory of the edges and their types */
} TypedEdges;

static const HybridArguments arguments = {GRAPH_ARGUMENT, TYPES_ARGUMENT, PARAMS_ARGUMENT};

static void answer_untyped(Reached *reached);
static void take_edge(void *arg, const HyEdge *edge, text *type);
static bool is_reached(const Reached *reached, int64 id);
static void answer_typed(Reached *reached, TypedEdges *edges);
static int compare_edges(const void *a, const void *b);
static int compare_parallel(const TypedEdge *left, const TypedEdge *right);
static void find_reached(FunctionCallInfo fcinfo, Reached *reached);

Datum
hybrid_neighbors(PG_FUNCTION_ARGS)
{
	Reached reached;
	int64 i;

	find_reached(fcinfo, &reached);
	for (i = 0; i < reached.nodes.count; i++)
	{
		uint32 node = reached.nodes.order[i];
		Datum values[] = {Int64GetDatum(reached.call.csr->ids[node]),
		                  Int32GetDatum(reached.nodes.hop[node])};

		hybrid_call_row(&reached.call, values);
	}
	return hybrid_call_end(&reached.call);
}

Datum
hybrid_subgraph(PG_FUNCTION_ARGS)
{
	Reached reached;
	TypedEdges edges = {.reached = &reached};
	HybridEdgesQuery query;

	find_reached(fcinfo, &reached);
	query = hybrid_call_query(&reached.call, &arguments);
	query.take = take_edge;
	query.take_arg = &edges;
	if (hybrid_graph_read_types(reached.call.graph, &query))
		answer_typed(&reached, &edges);
	else
		answer_untyped(&reached);
	return hybrid_call_end(&reached.call);
}

/* answer_untyped: store the entries of the graph whose ends are reached. */
static void
answer_untyped(Reached *reached)
{
	static const bool nulls[] = {false, false, false, true};
	const HyCsr *csr = reached->call.csr;
	uint32 *next;
	int64 source;
	int64 i;

	/* next[i]: the next entry of row i to store; both the row and this loop ascend by source */
	next = hybrid_call_array(&reached->call, csr->nodes, sizeof(uint32));
	memcpy(next, csr->row_start, sizeof(uint32) * (Size) csr->nodes);
	for (source = 0; source < csr->nodes; source++)
	{
		for (i = csr->out_start[source]; i < csr->out_start[source + 1]; i++)
		{
			uint32 target = csr->out_row[i];
			int64 entry = next[target]++;

			CHECK_FOR_INTERRUPTS();
			if (reached->nodes.hop[source] >= 0 && reached->nodes.hop[target] >= 0)
			{
				Datum values[] = {Int64GetDatum(csr->ids[source]), Int64GetDatum(csr->ids[target]),
				                  Float4GetDatum(csr->weight[entry]), (Datum) 0};

				hybrid_call_row_with_nulls(&reached->call, values, nulls);
			}
		}
	}
}

/* take_edge: keep an edge whose ends are reached. */
static void
take_edge(void *arg, const HyEdge *edge, text *type)
{
	TypedEdges *edges = arg;
	const HybridCall *call = &edges->reached->call;
	Size length = type == NULL ? 0 : VARSIZE_ANY(type);
	MemoryContext before;

	if (!is_reached(edges->reached, edge->source) || !is_reached(edges->reached, edge->target))
		return;
	/* the array may be copied when it grows */
	edges->bytes += 3 * sizeof(TypedEdge) + length;
	if (edges->bytes > call->room)
		hybrid_report_most_edges(edges->count);
	before = MemoryContextSwitchTo(call->context);
	if (edges->count == edges->capacity)
	{
		edges->capacity = Max(2 * edges->capacity, 64);
		if (edges->edge == NULL)
			edges->edge = palloc(sizeof(TypedEdge) * (Size) edges->capacity);
		else
			edges->edge = repalloc_huge(edges->edge, sizeof(TypedEdge) * (Size) edges->capacity);
	}
	edges->edge[edges->count].edge = *edge;
	edges->edge[edges->count].type = type == NULL ? NULL : memcpy(palloc(length), type, length);
	edges->count++;
	MemoryContextSwitchTo(before);
}

static bool
is_reached(const Reached *reached, int64 id)
{
	int64 node = hy_csr_find(reached->call.csr, id);

	return node >= 0 && reached->nodes.hop[node] >= 0;
}

/* answer_typed: store the edges. The weights of parallel edges of the same type are added. */
static void
answer_typed(Reached *reached, TypedEdges *edges)
{
	int64 i = 0;

	if (edges->count > 0)
		qsort(edges->edge, (size_t) edges->count, sizeof(TypedEdge), compare_edges);
	while (i < edges->count)
	{
		const TypedEdge *first = &edges->edge[i];
		double weight = 0;

		for (; i < edges->count && compare_parallel(first, &edges->edge[i]) == 0; i++)
		{
			CHECK_FOR_INTERRUPTS();
			weight += edges->edge[i].edge.weight;
		}
		if (isinf((float) weight))
			ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			                errmsg("sum of the weights of parallel graph edges is out of the range "
			                       "of real")));
		hybrid_call_row_with_nulls(
			&reached->call,
			(Datum[]){Int64GetDatum(first->edge.source), Int64GetDatum(first->edge.target),
		              Float4GetDatum((float) weight), PointerGetDatum(first->type)},
			(bool[]){false, false, false, first->type == NULL});
	}
}

/* compare_edges: order parallel edges of the same type by weight, so that their sum is the same each time. */
static int
compare_edges(const void *a, const void *b)
{
	const TypedEdge *left = a;
	const TypedEdge *right = b;
	int order = compare_parallel(left, right);

	CHECK_FOR_INTERRUPTS();
	if (order != 0)
		return order;
	return left->edge.weight < right->edge.weight ? -1 : left->edge.weight > right->edge.weight;
}

/* compare_parallel: order edges by source, target and type, bytewise, with NULL last. */
static int
compare_parallel(const TypedEdge *left, const TypedEdge *right)
{
	size_t length;
	size_t other;
	int order;

	if (left->edge.source != right->edge.source)
		return left->edge.source < right->edge.source ? -1 : 1;
	if (left->edge.target != right->edge.target)
		return left->edge.target < right->edge.target ? -1 : 1;
	if (left->type == NULL || right->type == NULL)
		return (left->type == NULL) - (right->type == NULL);
	length = VARSIZE_ANY_EXHDR(left->type);
	other = VARSIZE_ANY_EXHDR(right->type);
	order = memcmp(VARDATA_ANY(left->type), VARDATA_ANY(right->type), Min(length, other));
	return order != 0 ? order : length < other ? -1 : length > other;
}

static void
find_reached(FunctionCallInfo fcinfo, Reached *reached)
{
	HybridCall *call = &reached->call;
	HyDirection direction;
	int64 hops = HY_REACH_UNLIMITED;
	HyReachStarts starts;

	hybrid_call_begin(call, fcinfo);
	direction = hybrid_call_direction(call, DIRECTION_ARGUMENT);
	if (!PG_ARGISNULL(HOPS_ARGUMENT))
	{
		hops = PG_GETARG_INT32(HOPS_ARGUMENT);
		if (hops < 0)
			ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			                errmsg("hops must be at least 0, not " INT64_FORMAT, hops),
			                errhint("NULL means any number of hops.")));
	}
	/* hy_reach can follow the edges of this graph in either direction */
	hybrid_call_open(call, &arguments, HY_DIRECTION_OUT, HY_MERGE_SUM);
	starts.node = hybrid_call_nodes(call, NODES_ARGUMENT, "nodes", &starts.count);
	hybrid_call_reserve(call, sizeof(int32) + 2 * sizeof(uint32) + sizeof(int64), 0);
	reached->nodes.hop = hybrid_call_array(call, call->csr->nodes, sizeof(int32));
	reached->nodes.order = hybrid_call_array(call, call->csr->nodes, sizeof(uint32));
	hybrid_check(hy_reach(call->csr, direction, &starts, hops, &call->allocator, &hybrid_cancel,
	                      &reached->nodes),
	             "search the graph");
}
