/*
 * check.c
 *		hybrid_graph_check: compares the session's copy of a registered graph with its table.
 */
#include "postgres.h"

#include "graph/arguments.h"
#include "graph/call.h"
#include "graph/copy.h"
#include "miscadmin.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(hybrid_graph_check);

static int64 count_differences(HybridEdges *copied, HybridEdges *read);
static int compare_edges(const void *a, const void *b);

Datum
hybrid_graph_check(PG_FUNCTION_ARGS)
{
	HybridEdgesQuery query = {.direction = HY_DIRECTION_OUT};
	HybridValidation validation = {0};
	HybridRegistered graph;
	HybridGraph *copy = NULL;
	HybridEdges copied;
	HybridEdges read;
	HybridCall call;
	const char *name;
	int64 differences = 0;

	hybrid_call_begin(&call, fcinfo);
	hybrid_require_argument(fcinfo, 0, "graph");
	name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	if (hybrid_is_edges_query(name))
		ereport(ERROR,
		        (errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("an edges query has no copy to check"),
		         errhint("Give the name of an index that was created with USING hybrid_graph.")));
	hybrid_registered_open(name, &graph);
	if (hybrid_registered_may_copy(&graph))
		copy = hybrid_copy_open(&graph, &query, &validation);
	if (copy != NULL)
		hybrid_copy_edges(copy, &copied);
	hybrid_registered_query(&graph, &query);
	hybrid_read_edges(&query, &read);
	if (copy != NULL)
		differences = count_differences(&copied, &read);
	if (!validation.kept)
		memset(&validation, 0, sizeof(validation));
	{
		Datum values[] = {BoolGetDatum(validation.kept),    Int64GetDatum(validation.by_map),
		                  Int64GetDatum(validation.by_lsn), Int64GetDatum(validation.read),
		                  Int64GetDatum(read.count),        Int64GetDatum(differences),
		                  BoolGetDatum(validation.shared)};

		hybrid_call_row(&call, values);
	}
	hybrid_registered_close(&graph);
	return hybrid_call_end(&call);
}

/* count_differences: count the edges that are in only one of the arrays. Sorts the arrays. */
static int64
count_differences(HybridEdges *copied, HybridEdges *read)
{
	int64 differences = 0;
	int64 i = 0;
	int64 j = 0;

	if (copied->count > 0)
		qsort(copied->edge, (size_t) copied->count, sizeof(HyEdge), compare_edges);
	if (read->count > 0)
		qsort(read->edge, (size_t) read->count, sizeof(HyEdge), compare_edges);
	while (i < copied->count && j < read->count)
	{
		int order = compare_edges(&copied->edge[i], &read->edge[j]);

		if (order <= 0)
			i++;
		if (order >= 0)
			j++;
		differences += order != 0;
	}
	return differences + (copied->count - i) + (read->count - j);
}

static int
compare_edges(const void *a, const void *b)
{
	const HyEdge *left = a;
	const HyEdge *right = b;

	CHECK_FOR_INTERRUPTS();
	if (left->source != right->source)
		return left->source < right->source ? -1 : 1;
	if (left->target != right->target)
		return left->target < right->target ? -1 : 1;
	return memcmp(&left->weight, &right->weight, sizeof(left->weight));
}
