/*
 * similar_nodes.c
 *		hybrid_similar_nodes: the nodes that have neighbors in common with a node.
 */
#include "postgres.h"

#include "core/similar.h"
#include "graph/arguments.h"
#include "graph/ranking.h"
#include "miscadmin.h"
#include "server/report.h"

PG_FUNCTION_INFO_V1(hybrid_similar_nodes);

enum SimilarArgument
{
	GRAPH_ARGUMENT,
	NODE_ARGUMENT,
	METHOD_ARGUMENT,
	K_ARGUMENT,
	DIRECTION_ARGUMENT,
	TYPES_ARGUMENT,
	PARAMS_ARGUMENT
};

Datum
hybrid_similar_nodes(PG_FUNCTION_ARGS)
{
	/* in the order of HySimilarity */
	static const HybridWords methods = {{"jaccard", "adamic_adar"},
	                                    "Methods are \"jaccard\" and \"adamic_adar\"."};
	static const HybridArguments arguments = {GRAPH_ARGUMENT, TYPES_ARGUMENT, PARAMS_ARGUMENT};
	HybridCall call;
	HySimilarity method;
	double *similarity;
	HybridRanking ranking;
	int64 node;
	int64 k;
	int64 i;

	hybrid_call_begin(&call, fcinfo);
	hybrid_require_argument(fcinfo, NODE_ARGUMENT, "node");
	method = (HySimilarity) hybrid_word_argument(fcinfo, METHOD_ARGUMENT, "method", &methods);
	k = hybrid_call_limit(&call, K_ARGUMENT);
	hybrid_call_open(&call, &arguments, hybrid_call_direction(&call, DIRECTION_ARGUMENT),
	                 HY_MERGE_SUM);
	hybrid_call_reserve(&call, sizeof(double) + sizeof(HybridScored), 0);
	node = hy_csr_find(call.csr, PG_GETARG_INT64(NODE_ARGUMENT));
	if (node < 0)
		return hybrid_call_end(&call);

	similarity = hybrid_call_array(&call, call.csr->nodes, sizeof(double));
	ranking = hybrid_ranking(&call, call.csr->nodes, k);
	hybrid_check(hy_similar(call.csr, (uint32) node, method, &hybrid_cancel, similarity),
	             "find similar nodes");
	for (i = 0; i < call.csr->nodes; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (similarity[i] > 0)
			hybrid_ranking_add(&ranking,
			                   &(HybridScored){call.csr->ids[i], similarity[i], 0, (uint32) i});
	}
	hybrid_ranking_answer(&ranking, &call, 1);
	return hybrid_call_end(&call);
}
