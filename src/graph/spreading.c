/*
 * spreading.c
 *		The operation `spread` of the dispatcher, over the graph of a call: see spreading.h.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "graph/arguments.h"
#include "graph/device.h"
#include "graph/spreading.h"
#include "utils/float.h"

double
hybrid_spreading_tolerance(FunctionCallInfo fcinfo, int n)
{
	static const HybridRange above = {DBL_TRUE_MIN, INFINITY, .words = "above 0"};

	return hybrid_number_argument(fcinfo, n, "tolerance", &above);
}

double
hybrid_spreading_steps(double kept, double tolerance)
{
	return kept > 0 && tolerance < 1 ? ceil(log(tolerance) / log(kept)) : 1;
}

void
hybrid_spreading_check_converges(HybridCall *call, const HySpreadParams *params)
{
	double norm;

	if (params->hops != -1)
		return;
	if (!hybrid_graph_converges(call->graph, params, &norm))
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		     errmsg("spreading until convergence may never end"),
		     errdetail("decay times the largest sum of a node's outgoing weights, each "
		               "divided by that sum to the power of fan%s, is %s; it must be below 1.",
		               params->hub == NULL
		                   ? ""
		                   : " and by the sum of its target's incoming weights to the power of hub",
		               float8out_internal(norm)),
		     params->hub == NULL ? errhint("Give a number of hops, lower decay, or set fan to 1.")
		                         : errhint("Give a number of hops, or lower decay.")));
	if (hybrid_spreading_steps(norm, params->tolerance) > HYBRID_MOST_STEPS)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("spreading until convergence may take more than %d hops",
		                       HYBRID_MOST_STEPS),
		                errdetail("A hop may pass on %s of the activation that it receives.",
		                          float8out_internal(norm)),
		                errhint("Give a number of hops, lower decay, or raise tolerance.")));
}

void
hybrid_spreading_run(HybridCall *call, const HySpreadParams *params, const HySpreadSeeds *seeds,
                     const HySpreadResult *result, uint64 *reached)
{
	Size nodes = (Size) seeds->sets * (Size) call->csr->nodes;
	Size words = (Size) seeds->sets * (Size) hy_spread_words(call->csr->nodes);
	HyTask task;

	if (reached != NULL)
		memset(reached, seeds->start[seeds->sets] == 0 ? 0 : -1, sizeof(uint64) * words);
	if (seeds->start[seeds->sets] == 0)
	{
		if (reached != NULL)
			return;
		memset(result->activation, 0, sizeof(double) * nodes);
		memset(result->hop, -1, sizeof(int32) * nodes);
		if (result->sent != NULL)
			memset(result->sent, 0, sizeof(double) * nodes);
		return;
	}
	memset(&task, 0, sizeof(task));
	task.op = HY_OP_SPREAD;
	task.numeric_class = HY_CLASS_EXACT;
	task.u.spread.graph = call->csr;
	task.u.spread.params = *params;
	task.u.spread.seeds = *seeds;
	task.u.spread.activation = result->activation;
	task.u.spread.hop = result->hop;
	task.u.spread.sent = result->sent;
	task.u.spread.reached = reached;
	task.allocator = &call->allocator;
	hybrid_graph_run(call->graph, &task, call->room);
}
