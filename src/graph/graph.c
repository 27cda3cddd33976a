/*
 * graph.c
 *		The graph over which a graph function computes: see graph.h.
 *
 * A graph is allocated in a memory context of its own, a child of the call's context, so that an
 * error frees the graph. If the graph is kept with a copy of the edges (copy.c), its context becomes
 * a child of the copy's context.
 */
#include "postgres.h"

#include "core/csr_build.h"
#include "graph/copy.h"
#include "graph/device.h"
#include "graph/edge.h"
#include "graph/graph.h"
#include "graph/registered.h"
#include "graph/shared_graphs.h"
#include "server/memory.h"
#include "server/report.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

static HybridGraph *graph_of_query(const HybridEdgesQuery *query);
static HyStatus make_own(void *arg);
static void check(HyStatus status, const char *what);

HybridGraph *
hybrid_graph_of(const HybridEdgesQuery *query)
{
	const char *name = text_to_cstring(query->text);
	HybridEdgesQuery by_query = *query;
	HybridRegistered registered;
	HybridValidation validation;
	HybridGraph *graph = NULL;

	if (hybrid_is_edges_query(name))
		return graph_of_query(query);
	hybrid_registered_open(name, &registered);
	if (hybrid_registered_may_copy(&registered))
		graph = hybrid_copy_open(&registered, query, &validation);
	if (graph == NULL)
	{
		hybrid_registered_query(&registered, &by_query);
		graph = graph_of_query(&by_query);
	}
	hybrid_registered_close(&registered);
	return graph;
}

/* graph_of_query: read the edges and build a graph. */
static HybridGraph *
graph_of_query(const HybridEdgesQuery *query)
{
	HybridEdges edges;
	HybridGraph *graph;

	hybrid_read_edges(query, &edges);
	graph = hybrid_graph_build(&edges, query->direction, query->merge);
	graph->typed = edges.typed;
	return graph;
}

const double *
hybrid_graph_hub(HybridGraph *graph, double exponent)
{
	if (exponent == 0)
		return NULL;
	if (graph->hub_exponent != exponent)
	{
		/* the graph's unit on a device holds the old divisors */
		hybrid_graph_unpack(graph);
		graph->hub_exponent = 0;
		if (graph->hub == NULL)
			graph->hub = MemoryContextAllocHuge(graph->context,
			                                    sizeof(double) * (Size) Max(graph->csr.nodes, 1));
		check(hy_spread_hub(&graph->csr, exponent, &hybrid_cancel, graph->hub),
		      "sum the weights of edges");
		graph->hub_exponent = exponent;
	}
	return graph->hub;
}

bool
hybrid_graph_converges(HybridGraph *graph, const HySpreadParams *params, double *norm)
{
	double exponent = params->hub == NULL ? 0 : graph->hub_exponent;

	if (!graph->normed || graph->decay != params->decay || graph->fan != params->fan ||
	    graph->normed_hub != exponent)
	{
		graph->normed = false;
		if (params->hub == NULL)
			graph->converges = hy_spread_converges(&graph->csr, params, &graph->norm);
		else
		{
			double *scratch = MemoryContextAllocHuge(
				CurrentMemoryContext, sizeof(double) * (Size) Max(graph->csr.nodes, 1));

			check(hy_spread_hub_norm(&graph->csr, params, &hybrid_cancel, scratch, &graph->norm),
			      "check that spreading converges");
			pfree(scratch);
			graph->converges = graph->norm < 1;
		}
		graph->decay = params->decay;
		graph->fan = params->fan;
		graph->normed_hub = exponent;
		graph->normed = true;
	}
	*norm = graph->norm;
	return graph->converges;
}

bool
hybrid_graph_read_types(const HybridGraph *graph, const HybridEdgesQuery *query)
{
	const char *name = text_to_cstring(query->text);
	HybridEdgesQuery by_query = *query;
	HybridRegistered registered;
	HybridEdges edges;
	bool typed;

	if (hybrid_is_edges_query(name))
	{
		if (graph->typed)
			hybrid_read_edges(query, &edges);
		return graph->typed;
	}
	hybrid_registered_open(name, &registered);
	typed = RelationGetNumberOfAttributes(registered.index) > HYBRID_EDGE_TYPE;
	if (typed)
	{
		hybrid_registered_query(&registered, &by_query);
		hybrid_read_edges(&by_query, &edges);
	}
	hybrid_registered_close(&registered);
	return typed;
}

HybridGraph *
hybrid_graph_make(MemoryContext parent)
{
	MemoryContext context = AllocSetContextCreate(parent, "hybrid graph", ALLOCSET_DEFAULT_SIZES);
	HybridGraph *graph = MemoryContextAllocZero(context, sizeof(HybridGraph));

	graph->context = context;
	return graph;
}

HybridGraph *
hybrid_graph_build(HybridEdges *edges, HyDirection direction, HyMerge merge)
{
	HybridGraph *graph = hybrid_graph_make(CurrentMemoryContext);
	HyAllocator allocator = hybrid_allocator(graph->context);
	HyCsrInput input = {.edge = edges->edge,
	                    .origin = edges->origin,
	                    .count = edges->count,
	                    .owned = true,
	                    .direction = direction,
	                    .merge = merge};

	check(hy_csr_build_from(&input, &allocator, &hybrid_cancel, &graph->csr, &graph->origins),
	      "build the graph");
	edges->edge = NULL;
	edges->origin = NULL;
	return graph;
}

void
hybrid_graph_patch(HybridGraph *graph, const HyCsrPatch *patch)
{
	HyAllocator allocator = hybrid_allocator(graph->context);
	HyCsrPatch what = *patch;
	bool differs = false;
	HyStatus status;

	what.before_change = make_own;
	what.arg = graph;
	status =
		hy_csr_patch(&graph->csr, &graph->origins, &what, &allocator, &hybrid_cancel, &differs);
	if (status != HY_OK)
	{
		MemoryContextDelete(graph->context);
		check(status, "patch the graph");
	}
	if (!differs)
		return;
	hybrid_graph_unpack(graph);
	if (graph->hub != NULL)
		pfree(graph->hub);
	graph->hub = NULL;
	graph->hub_exponent = 0;
	graph->normed = false;
	hybrid_graph_keep(graph);
}

/* make_own: give a graph arrays of its own, before it changes. */
static HyStatus
make_own(void *arg)
{
	return hybrid_shared_graph_leave((HybridGraph *) arg);
}

/*
 * check: raise unless status is HY_OK. HY_INVALID can only mean that a sum of weights overflowed, because
 * each weight was checked when it was read.
 */
static void
check(HyStatus status, const char *what)
{
	if (status == HY_INVALID)
		ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
		                errmsg("sum of the weights of parallel graph edges is out of the range of "
		                       "real")));
	if (status == HY_QUOTA)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
		                errmsg("graph has too many nodes or edges"),
		                errdetail("A graph can have 2^31 nodes and 2^32 - 1 edges, or half as "
		                          "many edges if their direction is ignored.")));
	hybrid_check(status, what);
}

void
hybrid_graph_keep(HybridGraph *graph)
{
	static uint64 numbers = 0;

	graph->number = ++numbers;
}
