/*
 * call.c
 *		One call of a graph function: see call.h.
 */
#include "postgres.h"

#include "funcapi.h"
#include "graph/arguments.h"
#include "graph/call.h"
#include "graph/edges.h"
#include "graph/scratch.h"
#include "miscadmin.h"
#include "server/report.h"
#include "server/settings.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#define MOST_COLUMNS 8

/* Bytes of a graph for each node and each entry of its adjacency lists: see HyCsr. */
#define NODE_BYTES (sizeof(int64) + 2 * sizeof(uint32) + sizeof(double))
#define EDGE_BYTES (2 * sizeof(uint32) + sizeof(float))

/* in the order of HyDirection */
static const HybridWords directions = {{"out", "in", "both"},
                                       "Directions are \"out\", \"in\" and \"both\"."};

void
hybrid_call_begin(HybridCall *call, FunctionCallInfo fcinfo)
{
	memset(call, 0, sizeof(*call));
	call->fcinfo = fcinfo;
	call->result = (ReturnSetInfo *) fcinfo->resultinfo;
	call->context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid graph call", ALLOCSET_DEFAULT_SIZES);
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	Assert(call->result->setDesc->natts <= MOST_COLUMNS);
	call->caller = MemoryContextSwitchTo(call->context);
	call->allocator = hybrid_scratch(call->context);
}

void
hybrid_call_open(HybridCall *call, const HybridArguments *arguments, HyDirection direction,
                 HyMerge merge)
{
	HybridEdgesQuery query = hybrid_call_query(call, arguments);

	query.direction = direction;
	query.merge = merge;
	call->graph = hybrid_graph_of(&query);
	call->csr = &call->graph->csr;
}

HybridEdgesQuery
hybrid_call_query(HybridCall *call, const HybridArguments *arguments)
{
	FunctionCallInfo fcinfo = call->fcinfo;
	HybridEdgesQuery query = {.direction = HY_DIRECTION_OUT};

	hybrid_require_argument(fcinfo, arguments->graph, "graph");
	query.text = PG_GETARG_TEXT_PP(arguments->graph);
	if (!PG_ARGISNULL(arguments->types))
		query.types = PG_GETARG_ARRAYTYPE_P(arguments->types);
	if (!PG_ARGISNULL(arguments->params))
		query.params = PG_GETARG_ARRAYTYPE_P(arguments->params);
	return query;
}

void
hybrid_call_reserve(HybridCall *call, uint64 node_bytes, uint64 edge_bytes)
{
	const HyCsr *csr = call->csr;
	uint64 bytes = (NODE_BYTES + node_bytes) * (uint64) csr->nodes +
	               (EDGE_BYTES + edge_bytes) * (uint64) csr->edges;

	hybrid_check_graph_memory(bytes, csr->nodes, csr->edges);
	call->room = (uint64) hybrid_graph_memory_limit * 1024 - bytes;
}

void *
hybrid_call_array(HybridCall *call, int64 count, Size size)
{
	void *array = hy_alloc_array(&call->allocator, (size_t) Max(count, 1), size);

	if (array == NULL)
		hybrid_check(HY_NOMEM, "allocate arrays over the nodes of the graph");
	return array;
}

HyDirection
hybrid_call_direction(HybridCall *call, int n)
{
	return (HyDirection) hybrid_word_argument(call->fcinfo, n, "direction", &directions);
}

const char *
hybrid_direction_name(HyDirection direction)
{
	return directions.word[direction];
}

uint32 *
hybrid_call_nodes(HybridCall *call, int n, const char *name, int64 *count)
{
	FunctionCallInfo fcinfo = call->fcinfo;
	ArrayType *ids;
	const int64 *id;
	uint32 *nodes;
	int given;
	int i;

	hybrid_require_argument(fcinfo, n, name);
	ids = PG_GETARG_ARRAYTYPE_P(n);
	hybrid_check_array(ids, name);
	given = ArrayGetNItems(ARR_NDIM(ids), ARR_DIMS(ids));
	id = (const int64 *) ARR_DATA_PTR(ids);
	nodes = hybrid_call_array(call, given, sizeof(uint32));
	*count = 0;
	for (i = 0; i < given; i++)
	{
		int64 node = hy_csr_find(call->csr, id[i]);

		CHECK_FOR_INTERRUPTS();
		if (node >= 0)
			nodes[(*count)++] = (uint32) node;
	}
	return nodes;
}

int64
hybrid_call_limit(HybridCall *call, int n)
{
	return hybrid_count_argument(call->fcinfo, n, "k", 1, PG_INT64_MAX, NULL);
}

void
hybrid_call_row(HybridCall *call, const Datum *values)
{
	static const bool nulls[MOST_COLUMNS] = {false};

	hybrid_call_row_with_nulls(call, values, nulls);
}

void
hybrid_call_row_with_nulls(HybridCall *call, const Datum *values, const bool *nulls)
{
	CHECK_FOR_INTERRUPTS();
	tuplestore_putvalues(call->result->setResult, call->result->setDesc,
	                     unconstify(Datum *, values), unconstify(bool *, nulls));
}

Datum
hybrid_call_end(HybridCall *call)
{
	MemoryContextSwitchTo(call->caller);
	MemoryContextDelete(call->context);
	return (Datum) 0;
}
