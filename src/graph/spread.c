/*
 * spread.c
 *		hybrid_spread: activation spreading over the edges that a query returns.
 *
 * The edges are read and built into a graph, unless the call site has kept the graph since the last
 * call (kept.c). The graph is dispatched with one set of seeds. A seed that occurs in no edge is a
 * node without edges. Such a node keeps its activation and is only added to the result. All memory
 * of a call is in one context, except the tuplestore and a kept graph.
 */
#include "postgres.h"

#include <math.h>

#include "funcapi.h"
#include "graph/arguments.h"
#include "graph/device.h"
#include "graph/edges.h"
#include "graph/kept.h"
#include "miscadmin.h"
#include "server/memory.h"
#include "server/settings.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

PG_FUNCTION_INFO_V1(hybrid_spread);

enum SpreadArgument
{
	GRAPH_ARGUMENT,
	SEEDS_ARGUMENT,
	ACTIVATION_ARGUMENT,
	HOPS_ARGUMENT,
	DECAY_ARGUMENT,
	FAN_ARGUMENT,
	THRESHOLD_ARGUMENT,
	REFIRE_ARGUMENT,
	COMBINE_ARGUMENT,
	DIRECTION_ARGUMENT,
	TYPES_ARGUMENT,
	NORMALIZE_ARGUMENT,
	TOLERANCE_ARGUMENT,
	K_ARGUMENT
};

/* Reached: one row of the result. */
typedef struct Reached
{
	int64 id;
	double activation;
	int32 hop;
} Reached;

typedef struct Answer
{
	Reached *row;
	int64 count;
	double sum; /* sum of all activations, added in canonical order */
} Answer;

static void read_params(FunctionCallInfo fcinfo, HySpreadParams *params);
static HybridGraph *find_graph(FunctionCallInfo fcinfo);
static void check_converges(HybridGraph *graph, const HySpreadParams *params);
static void spread(HybridGraph *graph, const HySpreadParams *params, const HybridSeed *seeds,
                   int seed_count, const HyAllocator *allocator, Answer *answer);
static void
run_task(HybridGraph *graph, const HySpreadParams *params, const HybridSeed *seeds, int seed_count,
         const HyAllocator *allocator, uint64 room, double *activation, int32 *hop);
static void check_activation(int64 id, double activation);
static int compare_reached(const void *a, const void *b);

Datum
hybrid_spread(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext context;
	MemoryContext caller;
	HyAllocator allocator;
	HySpreadParams params;
	HybridSeed *seeds;
	int seed_count;
	bool normalized;
	int64 k;
	HybridGraph *graph;
	Answer answer;
	int64 i;

	context = AllocSetContextCreate(CurrentMemoryContext, "hybrid_spread", ALLOCSET_DEFAULT_SIZES);
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	caller = MemoryContextSwitchTo(context);
	allocator = hybrid_allocator(context);

	read_params(fcinfo, &params);
	hybrid_require_argument(fcinfo, NORMALIZE_ARGUMENT, "normalized");
	normalized = PG_GETARG_BOOL(NORMALIZE_ARGUMENT);
	k = PG_ARGISNULL(K_ARGUMENT) ? PG_INT64_MAX : PG_GETARG_INT32(K_ARGUMENT);
	if (k < 1)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("k must be at least 1, not " INT64_FORMAT, k)));
	hybrid_require_argument(fcinfo, SEEDS_ARGUMENT, "seeds");
	seeds = hybrid_parse_seeds(
		PG_GETARG_ARRAYTYPE_P(SEEDS_ARGUMENT),
		PG_ARGISNULL(ACTIVATION_ARGUMENT) ? NULL : PG_GETARG_ARRAYTYPE_P(ACTIVATION_ARGUMENT),
		&seed_count);
	graph = find_graph(fcinfo);
	check_converges(graph, &params);

	spread(graph, &params, seeds, seed_count, &allocator, &answer);
	qsort(answer.row, answer.count, sizeof(Reached), compare_reached);
	for (i = 0; i < answer.count && i < k; i++)
	{
		Datum values[3];
		bool nulls[3] = {false, false, false};
		double activation = answer.row[i].activation;

		CHECK_FOR_INTERRUPTS();
		values[0] = Int64GetDatum(answer.row[i].id);
		values[1] = Float8GetDatum(normalized ? activation / answer.sum : activation);
		values[2] = Int32GetDatum(answer.row[i].hop);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}

	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	return (Datum) 0;
}

/* read_params: read and check the parameters of the spreading. */
static void
read_params(FunctionCallInfo fcinfo, HySpreadParams *params)
{
	char *combine;

	memset(params, 0, sizeof(*params));
	params->hops = -1;
	if (!PG_ARGISNULL(HOPS_ARGUMENT))
	{
		params->hops = PG_GETARG_INT32(HOPS_ARGUMENT);
		if (params->hops < 0)
			ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			                errmsg("hops must be at least 0, not %d", params->hops),
			                errhint("NULL means until the activation has died away.")));
	}

	hybrid_require_argument(fcinfo, DECAY_ARGUMENT, "decay");
	params->decay = PG_GETARG_FLOAT8(DECAY_ARGUMENT);
	if (!(params->decay >= 0 && params->decay <= 1))
		ereport(ERROR,
		        (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		         errmsg("decay must be between 0 and 1, not %s", float8out_internal(params->decay)),
		         errhint("It is the share that is kept at each hop.")));

	hybrid_require_argument(fcinfo, FAN_ARGUMENT, "fan");
	params->fan = PG_GETARG_FLOAT8(FAN_ARGUMENT);
	if (params->fan != 0 && params->fan != 0.5 && params->fan != 1)
		ereport(ERROR,
		        (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		         errmsg("fan must be 0, 0.5 or 1, not %s", float8out_internal(params->fan))));

	hybrid_require_argument(fcinfo, THRESHOLD_ARGUMENT, "threshold");
	params->threshold = PG_GETARG_FLOAT8(THRESHOLD_ARGUMENT);
	if (!(params->threshold >= 0))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("threshold must be at least 0, not %s",
		                       float8out_internal(params->threshold))));

	if (!PG_ARGISNULL(REFIRE_ARGUMENT))
	{
		params->refire = PG_GETARG_INT32(REFIRE_ARGUMENT);
		if (params->refire < 1)
			ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			                errmsg("refire must be at least 1, not %d", params->refire),
			                errhint("NULL means that a node may fire at every hop.")));
	}

	hybrid_require_argument(fcinfo, COMBINE_ARGUMENT, "combine");
	combine = text_to_cstring(PG_GETARG_TEXT_PP(COMBINE_ARGUMENT));
	if (strcmp(combine, "sum") == 0)
		params->combine = HY_COMBINE_SUM;
	else if (strcmp(combine, "max") == 0)
		params->combine = HY_COMBINE_MAX;
	else
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("unknown combine \"%s\"", combine),
		                errhint("Activation is combined by \"sum\" or \"max\".")));

	hybrid_require_argument(fcinfo, TOLERANCE_ARGUMENT, "tolerance");
	params->tolerance = PG_GETARG_FLOAT8(TOLERANCE_ARGUMENT);
	if (!(params->tolerance > 0))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("tolerance must be above 0, not %s",
		                       float8out_internal(params->tolerance))));
}

/* find_graph: return the graph of the query's edges in the requested direction. */
static HybridGraph *
find_graph(FunctionCallInfo fcinfo)
{
	HybridEdgesQuery query = {0};

	if (!PG_ARGISNULL(TYPES_ARGUMENT))
		query.types = PG_GETARG_ARRAYTYPE_P(TYPES_ARGUMENT);
	hybrid_require_argument(fcinfo, GRAPH_ARGUMENT, "graph");
	hybrid_require_argument(fcinfo, DIRECTION_ARGUMENT, "direction");
	query.text = PG_GETARG_TEXT_PP(GRAPH_ARGUMENT);
	query.direction =
		hybrid_parse_direction(text_to_cstring(PG_GETARG_TEXT_PP(DIRECTION_ARGUMENT)));
	return hybrid_graph_of(fcinfo, &query);
}

/*
 * check_converges: raise if spreading may never end. That is possible if hops is NULL and a hop may
 * pass on at least as much activation as it received.
 */
static void
check_converges(HybridGraph *graph, const HySpreadParams *params)
{
	double norm;

	if (params->hops == -1 && !hybrid_graph_converges(graph, params, &norm))
		ereport(ERROR,
		        (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		         errmsg("spreading until convergence may never end"),
		         errdetail("decay times the largest sum of a node's outgoing weights, each "
		                   "divided by that sum to the power of fan, is %s; it must be below 1.",
		                   float8out_internal(norm)),
		         errhint("Give a number of hops, lower decay, or set fan to 1.")));
}

/*
 * spread: store in answer every node with activation above 0, including seeds that are not in the
 * graph.
 */
static void
spread(HybridGraph *graph, const HySpreadParams *params, const HybridSeed *seeds, int seed_count,
       const HyAllocator *allocator, Answer *answer)
{
	const HyCsr *csr = &graph->csr;
	/*
	 * memory per node: the graph's own arrays, the task's arrays and scratch memory, and a result
	 * row
	 */
	uint64 each = sizeof(int64) * 3 + sizeof(double) * 5 + sizeof(int32) * 2 + sizeof(Reached);
	uint64 bytes =
		each * (uint64) csr->nodes + (sizeof(uint32) * 2 + sizeof(float)) * (uint64) csr->edges;
	double lane[HY_SPREAD_LANES] = {0};
	double *activation;
	int32 *hop;
	int64 node = 0;
	int64 position;
	int next = 0;
	int h;
	int l;

	hybrid_check_graph_memory(bytes, csr->nodes, csr->edges);
	activation =
		MemoryContextAllocHuge(CurrentMemoryContext, sizeof(double) * (Size) Max(csr->nodes, 1));
	hop = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(int32) * (Size) Max(csr->nodes, 1));
	run_task(graph, params, seeds, seed_count, allocator,
	         (uint64) hybrid_graph_memory_limit * 1024 - bytes, activation, hop);

	answer->row = MemoryContextAllocHuge(CurrentMemoryContext,
	                                     sizeof(Reached) * (Size) (csr->nodes + seed_count + 1));
	answer->count = 0;
	for (position = 0; node < csr->nodes || next < seed_count; position++)
	{
		Reached *row = &answer->row[answer->count];

		CHECK_FOR_INTERRUPTS();
		if (next < seed_count && (node == csr->nodes || seeds[next].id < csr->ids[node]))
		{
			row->id = seeds[next].id;
			row->activation = seeds[next].activation;
			row->hop = 0;
			next++;
		}
		else
		{
			if (next < seed_count && seeds[next].id == csr->ids[node])
				next++;
			row->id = csr->ids[node];
			row->activation = activation[node];
			row->hop = hop[node];
			node++;
		}
		check_activation(row->id, row->activation);
		lane[position % HY_SPREAD_LANES] += row->activation;
		if (row->activation > 0)
			answer->count++;
	}
	for (h = HY_SPREAD_LANES / 2; h > 0; h /= 2)
	{
		for (l = 0; l < h; l++)
			lane[l] += lane[l + h];
	}
	answer->sum = lane[0];
}

/*
 * run_task: dispatch the task with the seeds that are nodes of the graph. room is the number of
 * bytes left within the memory limit.
 */
static void
run_task(HybridGraph *graph, const HySpreadParams *params, const HybridSeed *seeds, int seed_count,
         const HyAllocator *allocator, uint64 room, double *activation, int32 *hop)
{
	const HyCsr *csr = &graph->csr;
	Size most = Max(seed_count, 1);
	uint32 *node = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(uint32) * most);
	double *value = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(double) * most);
	int64 start[2] = {0, 0};
	double inside = 0;
	double all = 0;
	HyTask task;
	int i;

	for (i = 0; i < seed_count; i++)
	{
		int64 found = hy_csr_find(csr, seeds[i].id);

		CHECK_FOR_INTERRUPTS();
		all += seeds[i].activation;
		if (found < 0)
			continue;
		inside += seeds[i].activation;
		node[start[1]] = (uint32) found;
		value[start[1]] = seeds[i].activation;
		start[1]++;
	}
	if (start[1] == 0)
	{
		memset(activation, 0, sizeof(double) * (Size) csr->nodes);
		memset(hop, -1, sizeof(int32) * (Size) csr->nodes);
		return;
	}

	memset(&task, 0, sizeof(task));
	task.op = HY_OP_SPREAD;
	task.numeric_class = HY_CLASS_EXACT;
	task.u.spread.graph = csr;
	task.u.spread.gain = hybrid_graph_gain(graph, params->decay, params->fan);
	task.u.spread.params = *params;
	/* the tolerance is relative to the sum of all seeds, including seeds without edges */
	if (inside < all && inside > 0)
		task.u.spread.params.tolerance = params->tolerance * (all / inside);
	task.u.spread.seeds.sets = 1;
	task.u.spread.seeds.start = start;
	task.u.spread.seeds.node = node;
	task.u.spread.seeds.value = value;
	task.u.spread.activation = activation;
	task.u.spread.hop = hop;
	task.allocator = allocator;
	hybrid_graph_run(graph, &task, room);
}

static void
check_activation(int64 id, double activation)
{
	if (isinf(activation) || isnan(activation))
		ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
		                errmsg("activation of node " INT64_FORMAT " is out of range", id),
		                errhint("Lower decay or the number of hops, or set fan to 1.")));
}

/* compare_reached: order by descending activation, then by id. */
static int
compare_reached(const void *a, const void *b)
{
	const Reached *left = a;
	const Reached *right = b;

	CHECK_FOR_INTERRUPTS();
	if (left->activation != right->activation)
		return left->activation > right->activation ? -1 : 1;
	return left->id < right->id ? -1 : left->id > right->id ? 1 : 0;
}
