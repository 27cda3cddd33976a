/*
 * triangles.c
 *		hybrid_triangles: the number of triangles at each node, and its clustering coefficient.
 */
#include "postgres.h"

#include "core/triangles.h"
#include "graph/call.h"
#include "server/report.h"
#include "server/threads.h"

PG_FUNCTION_INFO_V1(hybrid_triangles);

enum TrianglesArgument
{
	GRAPH_ARGUMENT,
	TYPES_ARGUMENT,
	PARAMS_ARGUMENT
};

Datum
hybrid_triangles(PG_FUNCTION_ARGS)
{
	static const HybridArguments arguments = {GRAPH_ARGUMENT, TYPES_ARGUMENT, PARAMS_ARGUMENT};
	HybridCall call;
	int64_t *triangles;
	double *clustering;
	HyStatus status;
	int64 i;

	hybrid_call_begin(&call, fcinfo);
	hybrid_call_open(&call, &arguments, HY_DIRECTION_BOTH, HY_MERGE_SUM);
	/*
	 * memory for each node: start and mark in core, and the answer; for each entry: half an element
	 * in core
	 */
	hybrid_call_reserve(&call, 2 * sizeof(int64) + sizeof(uint32) + sizeof(double),
	                    sizeof(uint32) / 2);
	triangles = hybrid_call_array(&call, call.csr->nodes, sizeof(int64_t));
	clustering = hybrid_call_array(&call, call.csr->nodes, sizeof(double));
	/* as many threads as the memory limit allows */
	hybrid_threads_take(hy_triangles_work(call.csr->nodes, call.csr->edges),
	                    call.room / (HY_TRIANGLES_THREAD * (uint64) Max(call.csr->nodes, 1)));
	status = hy_triangles(call.csr, &call.allocator, &hybrid_cancel, triangles, clustering);
	hybrid_threads_give();
	hybrid_check(status, "count the triangles");
	for (i = 0; i < call.csr->nodes; i++)
	{
		Datum values[] = {Int64GetDatum(call.csr->ids[i]), Int64GetDatum(triangles[i]),
		                  Float8GetDatum(clustering[i])};

		hybrid_call_row(&call, values);
	}
	return hybrid_call_end(&call);
}
