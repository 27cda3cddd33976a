/*
 * components_test.c
 *		Connected components against the spreading of the smallest number.
 */
#include "graph_stage.h"

#include "core/components.h"

typedef struct Search
{
	const HyCsr *graph;
	uint32_t *component;
} Search;

static HyStatus
run(void *arg, const HyAllocator *allocator, const HyCancel *cancel)
{
	Search *s = arg;

	(void) allocator;
	return hy_components(s->graph, cancel, s->component);
}

static void
test_random_graphs(void)
{
	UnitRandom random = {72};
	int round;

	for (round = 0; round < 500; round++)
	{
		int64_t nodes = 2 + (int64_t) unit_random_below(&random, 90);
		int64_t count = (int64_t) unit_random_below(&random, 70);
		HyEdge *edges = stage_edges(&random, nodes, count);
		HyCsr graph = stage_graph(edges, count, (HyDirection) (round % 3), HY_MERGE_SUM);
		uint32_t expected[128];
		uint32_t component[128];
		Search s = {&graph, component};
		bool more = true;
		int64_t row;
		int64_t e;

		for (e = 0; e < graph.nodes; e++)
			expected[e] = (uint32_t) e;
		while (more)
		{
			more = false;
			for (row = 0; row < graph.nodes; row++)
			{
				for (e = graph.row_start[row]; e < graph.row_start[row + 1]; e++)
				{
					uint32_t *a = &expected[row];
					uint32_t *b = &expected[graph.column[e]];

					more = more || *a != *b;
					*a = *b = *a < *b ? *a : *b;
				}
			}
		}
		CHECK_INT(run(&s, NULL, NULL), HY_OK);
		for (e = 0; e < graph.nodes; e++)
			CHECK_INT(component[e], expected[e]);
		hy_csr_free(&graph, &hy_malloc_allocator);
		free(edges);
	}
}

/* A chain whose nodes are joined in both orders, and many polls. */
static void
test_chain_and_cancel(void)
{
	HyCsr graph = stage_chain(3 * HY_CANCEL_BLOCK, HY_DIRECTION_BOTH);
	Search s = {&graph, malloc(sizeof(uint32_t) * (size_t) graph.nodes)};
	int64_t wrong = 0;
	int64_t i;

	CHECK_INT(stage_polls(run, &s), 6);
	for (i = 0; i < graph.nodes; i++)
		wrong += s.component[i] != 0;
	CHECK_INT(wrong, 0);
	free(s.component);
	hy_csr_free(&graph, &hy_malloc_allocator);
}

int
main(void)
{
	UNIT_RUN(test_random_graphs);
	UNIT_RUN(test_chain_and_cancel);
	return unit_finish();
}
