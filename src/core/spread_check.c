/*
 * spread_check.c
 *		Checks the arguments of hy_spread.  Plug-ins link this file without spread.c.
 */
#include "core/spread.h"

#include <math.h>

static bool params_valid(const HyCsr *graph, const HySpreadParams *params);
static bool seeds_valid(const HyCsr *graph, const HySpreadSeeds *seeds);

bool
hy_spread_converges(const HyCsr *graph, const HySpreadParams *params, double *norm)
{
	double largest = 0;
	double product;
	int64_t i;

	for (i = 0; i < graph->nodes; i++)
	{
		if (graph->out_weight[i] > largest)
			largest = graph->out_weight[i];
	}
	if (params->fan == 1)
		largest = largest > 0 ? 1 : 0;
	else if (params->fan == 0.5)
		largest = sqrt(largest);
	product = params->decay * largest;
	if (norm != NULL)
		*norm = product;
	return product < 1;
}

HyStatus
hy_spread_check(const HyCsr *graph, const HySpreadParams *params, const HySpreadSeeds *seeds)
{
	return params_valid(graph, params) && seeds_valid(graph, seeds) ? HY_OK : HY_INVALID;
}

static bool
params_valid(const HyCsr *graph, const HySpreadParams *params)
{
	if (!(params->decay >= 0 && params->decay <= 1))
		return false;
	if (params->fan != 0 && params->fan != 0.5 && params->fan != 1)
		return false;
	if (!(params->threshold >= 0) || params->refire < 0 || params->hops < -1)
		return false;
	if (params->combine != HY_COMBINE_SUM && params->combine != HY_COMBINE_MAX)
		return false;
	if (params->hops == -1)
		/*
		 * The host may have no sums for a graph that lies on a device.  Convergence was then
		 * checked where the sums are.
		 */
		return params->tolerance > 0 && (graph->out_weight == NULL || params->hub != NULL ||
		                                 hy_spread_converges(graph, params, NULL));
	return true;
}

static bool
seeds_valid(const HyCsr *graph, const HySpreadSeeds *seeds)
{
	int32_t set;
	int64_t i;

	if (seeds->sets < 0)
		return false;
	for (set = 0; set < seeds->sets; set++)
	{
		if (seeds->start[set] < 0 || seeds->start[set] > seeds->start[set + 1])
			return false;
		for (i = seeds->start[set]; i < seeds->start[set + 1]; i++)
		{
			if (seeds->node[i] >= graph->nodes)
				return false;
			if (!(seeds->value[i] >= 0) || isinf(seeds->value[i]))
				return false;
		}
	}
	return true;
}
