/*
 * knn_graph.c
 *		hybrid_knn_graph: the nearest rows of each row of a relation as weighted edges.
 *
 * The search for each row requests k + 1 neighbors, because a row is usually among its own results.
 * A row is missing from its own results if k + 1 other rows come before it. By inner product, other
 * rows can have smaller distances than the row itself. By the other metrics, such rows are usually
 * equally near. An approximate search can also miss the row.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "funcapi.h"
#include "knn/arguments.h"
#include "knn/join.h"
#include "knn/list_graph.h"
#include "miscadmin.h"
#include "server/position.h"
#include "server/report.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

PG_FUNCTION_INFO_V1(hybrid_knn_graph);

typedef enum WeightKind
{
	WEIGHT_SIMILARITY,
	WEIGHT_ONE
} WeightKind;

/* Graph: the state of put_edges. */
typedef struct Graph
{
	ReturnSetInfo *rsinfo;
	HybridRows *rows;
	HyMetric metric;
	WeightKind weight;
	int32 k;
} Graph;

static WeightKind parse_weight(const char *name, HyMetric metric);
static void put_edges(void *arg, const HybridJoined *joined);
static void put_neighbors(void *arg, int64 row, const HyTopK *best, const int64 *ids);
static void put_edge(const Graph *graph, int64 source, int64 target, double distance);
static int64 *find_targets(const HybridJoined *joined, int64 *count);
static float edge_weight(const Graph *graph, double distance);

Datum
hybrid_knn_graph(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"rel", "id", "col", "k", "metric", "weight"};
	HybridVectorTypes types = hybrid_vector_types(fcinfo);
	HybridTargetOptions options = {.what = "hybrid_knn_graph"};
	Graph graph = {.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo};
	MemoryContext context;
	MemoryContext previous;
	HybridTarget *target;
	const HybridCandidates *candidates;
	HybridRows *rows;
	const char *column;

	hybrid_check_arguments(fcinfo, names, lengthof(names));
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid_knn_graph", ALLOCSET_DEFAULT_SIZES);
	previous = MemoryContextSwitchTo(context);
	graph.k = PG_GETARG_INT32(3);
	hybrid_check_k_plus(graph.k, 1);
	options.k = graph.k + 1;
	options.recall = hybrid_recall_argument(fcinfo, 6);
	graph.metric = hybrid_parse_metric(text_to_cstring(PG_GETARG_TEXT_PP(4)));
	graph.weight = parse_weight(text_to_cstring(PG_GETARG_TEXT_PP(5)), graph.metric);
	options.metric = graph.metric;
	column = NameStr(*PG_GETARG_NAME(2));
	rows = hybrid_rows_open(PG_GETARG_OID(0), column, &types, NULL, NameStr(*PG_GETARG_NAME(1)));
	target = hybrid_target_open(PG_GETARG_OID(0), column, &types, &options);
	graph.rows = rows;
	candidates = hybrid_target_candidates(target, rows);
	/* a cosine index has no entries for zero vectors, so the ids of all rows are checked here */
	if (candidates != NULL && graph.metric == HY_METRIC_COSINE)
		hybrid_rows_check_ids(rows);
	if (candidates == NULL || !hybrid_list_graph(candidates, rows, put_neighbors, &graph))
		hybrid_join(rows, target, 2 * sizeof(int64) * options.k, put_edges, &graph);
	hybrid_target_close(target);
	hybrid_rows_close(rows);
	MemoryContextSwitchTo(previous);
	MemoryContextDelete(context);
	return (Datum) 0;
}

static WeightKind
parse_weight(const char *name, HyMetric metric)
{
	if (strcmp(name, "one") == 0)
		return WEIGHT_ONE;
	if (strcmp(name, "similarity") != 0)
		ereport(ERROR,
		        (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("unknown weight \"%s\"", name),
		         errhint("Weights are \"similarity\" and \"one\".")));
	if (metric == HY_METRIC_IP)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("an inner product cannot be converted to a similarity weight"),
		                errhint("Use the metric \"cosine\", or the weight \"one\".")));
	return WEIGHT_SIMILARITY;
}

static void
put_edges(void *arg, const HybridJoined *joined)
{
	const Graph *graph = (const Graph *) arg;
	int64 count;
	int64 *targets = find_targets(joined, &count);
	int64 *ids = MemoryContextAllocHuge(CurrentMemoryContext, Max(count, 1) * sizeof(int64));
	int i;

	if (count > 0)
		hybrid_rows_ids(graph->rows, targets, count, ids);
	for (i = 0; i < joined->count; i++)
	{
		const HyTopK *best = &joined->answers[i];
		int32 edges = 0;
		int32 n;

		for (n = 0; n < best->count && edges < graph->k; n++)
		{
			const HyNeighbor *item = &best->items[n];
			int64 *target;

			CHECK_FOR_INTERRUPTS();
			if (item->row == joined->positions[i])
				continue;
			target = bsearch(&item->row, targets, count, sizeof(int64), hybrid_compare_positions);
			put_edge(graph, joined->ids[i], ids[target - targets], item->distance);
			edges++;
		}
	}
}

static void
put_neighbors(void *arg, int64 row, const HyTopK *best, const int64 *ids)
{
	const Graph *graph = (const Graph *) arg;
	int32 edges = 0;
	int32 n;

	for (n = 0; n < best->count && edges < graph->k; n++)
	{
		const HyNeighbor *item = &best->items[n];

		if (item->row == row)
			continue;
		put_edge(graph, ids[row], ids[item->row], item->distance);
		edges++;
	}
}

static void
put_edge(const Graph *graph, int64 source, int64 target, double distance)
{
	bool nulls[3] = {false, false, false};
	Datum values[3];

	values[0] = Int64GetDatum(source);
	values[1] = Int64GetDatum(target);
	values[2] = Float4GetDatum(edge_weight(graph, distance));
	tuplestore_putvalues(graph->rsinfo->setResult, graph->rsinfo->setDesc, values, nulls);
}

/* find_targets: return the positions of all results in ascending order, without duplicates. */
static int64 *
find_targets(const HybridJoined *joined, int64 *count)
{
	int64 total = 0;
	int64 *targets;
	int64 i;
	int32 n;

	for (i = 0; i < joined->count; i++)
		total += joined->answers[i].count;
	targets = MemoryContextAllocHuge(CurrentMemoryContext, Max(total, 1) * sizeof(int64));
	total = 0;
	for (i = 0; i < joined->count; i++)
	{
		for (n = 0; n < joined->answers[i].count; n++)
			targets[total++] = joined->answers[i].items[n].row;
	}
	qsort(targets, total, sizeof(int64), hybrid_compare_positions);
	*count = 0;
	for (i = 0; i < total; i++)
	{
		if (*count == 0 || targets[*count - 1] != targets[i])
			targets[(*count)++] = targets[i];
	}
	return targets;
}

/* edge_weight: return a weight that is finite and not negative. */
static float
edge_weight(const Graph *graph, double distance)
{
	if (graph->weight == WEIGHT_ONE)
		return 1;
	if (graph->metric == HY_METRIC_COSINE)
		return (float) Max(0, 1 - distance);
	return (float) (1 / (1 + distance));
}
