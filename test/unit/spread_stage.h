/*
 * spread_stage.h
 *		What the tests of spreading share: random graphs, and a run.
 */
#ifndef HY_TEST_SPREAD_STAGE_H
#define HY_TEST_SPREAD_STAGE_H

#include "unit.h"

#include "core/csr_build.h"
#include "core/spread.h"

/* Entries or rows between two polls, in spread.c. */
#define BLOCK 65536

/* make_graph: of random edges, with a hub. */
static UNIT_UNUSED HyCsr
make_graph(UnitRandom *random, int64_t nodes, int64_t edges, HyDirection direction)
{
	HyEdge *edge = malloc(sizeof(HyEdge) * (size_t) (edges + 1));
	HyCsr graph;
	int64_t i;

	for (i = 0; i < edges; i++)
	{
		edge[i].source = (int64_t) unit_random_below(random, (uint64_t) nodes) * 3 - nodes;
		edge[i].target = (int64_t) unit_random_below(random, (uint64_t) nodes) * 3 - nodes;
		/* a few hubs, and a few edges that carry nothing */
		if (unit_random_below(random, 4) == 0)
			edge[i].target = -nodes;
		edge[i].weight = unit_random_below(random, 10) == 0 ? 0 : (float) unit_random_unit(random);
	}
	CHECK_INT(hy_csr_build(edge, edges, direction, &hy_malloc_allocator, NULL, &graph), HY_OK);
	free(edge);
	return graph;
}

static UNIT_UNUSED HyStatus
run_spread(const HyCsr *graph, const HySpreadParams *params, const HySpreadSeeds *seeds,
           const HyAllocator *allocator, const HyCancel *cancel, double *a, int32_t *hop)
{
	return hy_spread(graph, params, seeds, allocator, cancel, &(HySpreadResult){a, hop, NULL});
}

#endif
