/*
 * pagerank.c
 *		hybrid_pagerank: PageRank, global or personalized, as a spreading of activation.
 *
 * With start vector v (the seeds, summing to 1), damping d and T_ij = w_ij / s_i, PageRank is the
 * solution of
 *
 *		p = d T^T p + d D v + (1 - d) v			D: the sum of p over nodes without outgoing weight
 *
 * so p is the multiple of (I - d T^T)^-1 v = sum_h (d T^T)^h v whose sum is 1. Spreading from v with
 * fan 1, decay d and no limit of hops computes this series (L. Page, S. Brin, R. Motwani and T.
 * Winograd, "The PageRank citation ranking", 1999; A. Langville and C. Meyer, "Deeper inside
 * PageRank", 2004, on nodes without outgoing edges).
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "graph/arguments.h"
#include "graph/ranking.h"
#include "graph/seeds.h"
#include "graph/spreading.h"
#include "miscadmin.h"
#include "utils/float.h"

PG_FUNCTION_INFO_V1(hybrid_pagerank);

enum PagerankArgument
{
	GRAPH_ARGUMENT,
	DAMPING_ARGUMENT,
	SEEDS_ARGUMENT,
	ACTIVATION_ARGUMENT,
	DIRECTION_ARGUMENT,
	TYPES_ARGUMENT,
	TOLERANCE_ARGUMENT,
	K_ARGUMENT,
	PARAMS_ARGUMENT
};

static void read_params(FunctionCallInfo fcinfo, HySpreadParams *params);

Datum
hybrid_pagerank(PG_FUNCTION_ARGS)
{
	static const HybridArguments arguments = {GRAPH_ARGUMENT, TYPES_ARGUMENT, PARAMS_ARGUMENT};
	HybridCall call;
	HySpreadParams params;
	HybridSeed *seeds;
	int seed_count;
	int64 start[2] = {0, 0};
	HySpreadSeeds set = {.sets = 1, .start = start};
	uint32 *node;
	double *value;
	double *activation;
	int32 *hop;
	HybridRanking ranking;
	double lane[HY_SPREAD_LANES] = {0};
	int64 k;
	int64 i;

	hybrid_call_begin(&call, fcinfo);
	read_params(fcinfo, &params);
	k = hybrid_call_limit(&call, K_ARGUMENT);
	seeds = hybrid_seeds_argument(fcinfo, -1, SEEDS_ARGUMENT, &seed_count);
	if (seeds == NULL && !PG_ARGISNULL(ACTIVATION_ARGUMENT))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
		                errmsg("seeds cannot be NULL if activation is given")));
	hybrid_call_open(&call, &arguments, hybrid_call_direction(&call, DIRECTION_ARGUMENT),
	                 HY_MERGE_SUM);
	/*
	 * memory for each node: y, charge, start and activation; its number and hop; a row of the answer
	 */
	hybrid_call_reserve(
		&call, 4 * sizeof(double) + sizeof(uint32) + sizeof(int32) + sizeof(HybridScored), 0);
	node = hybrid_call_array(&call, Max(call.csr->nodes, seed_count), sizeof(uint32));
	value = hybrid_call_array(&call, Max(call.csr->nodes, seed_count), sizeof(double));
	activation = hybrid_call_array(&call, call.csr->nodes, sizeof(double));
	hop = hybrid_call_array(&call, call.csr->nodes, sizeof(int32));
	ranking = hybrid_ranking(&call, call.csr->nodes, k);

	start[1] = hybrid_seeds_of_rank(call.csr, seeds, seed_count, node, value);
	set.node = node;
	set.value = value;
	hybrid_spreading_run(&call, &params, &set, &(HySpreadResult){activation, hop, NULL}, NULL);
	for (i = 0; i < call.csr->nodes; i++)
	{
		CHECK_FOR_INTERRUPTS();
		lane[i % HY_SPREAD_LANES] += activation[i];
		if (activation[i] > 0 && hybrid_ranking_takes(&ranking, activation[i]))
			hybrid_ranking_add(
				&ranking, &(HybridScored){call.csr->ids[i], activation[i], hop[i], (uint32) i});
	}
	hybrid_ranking_answer(&ranking, &call, hy_spread_fold(lane));
	return hybrid_call_end(&call);
}

static void
read_params(FunctionCallInfo fcinfo, HySpreadParams *params)
{
	static const HybridRange dampings = {0, 1 - DBL_EPSILON / 2, .words = "at least 0 and below 1"};
	double tolerance;

	*params = (HySpreadParams){.fan = 1, .hops = -1, .combine = HY_COMBINE_SUM};
	params->decay = hybrid_number_argument(fcinfo, DAMPING_ARGUMENT, "damping", &dampings);
	tolerance = hybrid_spreading_tolerance(fcinfo, TOLERANCE_ARGUMENT);
	/* a change of less than half a unit in the last place of the ranks' sum is lost in rounding */
	params->tolerance = Max(tolerance, DBL_EPSILON / 2);
	if (hybrid_spreading_steps(params->decay, params->tolerance) > HYBRID_MOST_STEPS)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("damping %s and tolerance %s may take more than %d steps",
		                       float8out_internal(params->decay), float8out_internal(tolerance),
		                       HYBRID_MOST_STEPS),
		                errhint("Lower damping, or raise tolerance.")));
}
