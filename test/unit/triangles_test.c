/*
 * triangles_test.c
 *		Triangles and clustering against a look at every three nodes.
 */
#include "graph_stage.h"

#include "core/triangles.h"

#define MOST 40

typedef struct Count
{
	const HyCsr *graph;
	int64_t *triangles;
	double *clustering;
} Count;

static HyStatus
run(void *arg, const HyAllocator *allocator, const HyCancel *cancel)
{
	Count *c = arg;

	return hy_triangles(c->graph, allocator, cancel, c->triangles, c->clustering);
}

static void
test_random_graphs(void)
{
	UnitRandom random = {74};
	int64_t found = 0;
	int round;

	for (round = 0; round < 200; round++)
	{
		int64_t nodes = 2 + (int64_t) unit_random_below(&random, MOST - 2);
		int64_t count = (int64_t) unit_random_below(&random, 200);
		HyEdge *edges = stage_edges(&random, nodes, count);
		HyCsr graph = stage_graph(edges, count, HY_DIRECTION_BOTH, HY_MERGE_SUM);
		bool joined[MOST][MOST] = {{false}};
		int64_t triangles[MOST];
		double clustering[MOST];
		Count c = {&graph, triangles, clustering};
		int64_t i;
		int64_t j;
		int64_t k;

		for (i = 0; i < count; i++)
			joined[edges[i].source][edges[i].target] = joined[edges[i].target][edges[i].source] =
				edges[i].source != edges[i].target;
		CHECK_INT(run(&c, &hy_malloc_allocator, NULL), HY_OK);
		for (i = 0; i < graph.nodes; i++)
		{
			const bool *own = joined[graph.ids[i]];
			int64_t expected = 0;
			int64_t pairs = 0;

			for (j = 0; j < nodes; j++)
			{
				for (k = j + 1; k < nodes; k++)
				{
					pairs += own[j] && own[k];
					expected += own[j] && own[k] && joined[j][k];
				}
			}
			found += expected;
			CHECK_INT(triangles[i], expected);
			CHECK_SAME_F64(clustering[i], pairs == 0 ? 0 : (double) expected / (double) pairs);
		}
		hy_csr_free(&graph, &hy_malloc_allocator);
		free(edges);
	}
	CHECK(found > 1000);
}

static void
test_empty_graph(void)
{
	HyCsr graph = stage_graph(NULL, 0, HY_DIRECTION_BOTH, HY_MERGE_SUM);
	Count c = {&graph, NULL, NULL};

	CHECK_INT(run(&c, &hy_malloc_allocator, NULL), HY_OK);
	hy_csr_free(&graph, &hy_malloc_allocator);
}

static void
test_memory_and_cancel(void)
{
	HyCsr graph = stage_chain(3 * HY_CANCEL_BLOCK, HY_DIRECTION_BOTH);
	Count c = {&graph, malloc(sizeof(int64_t) * (size_t) graph.nodes),
	           malloc(sizeof(double) * (size_t) graph.nodes)};

	CHECK_INT(stage_allocations(run, &c), 3);
	/* each edge is two entries to direct, and two steps to count */
	CHECK(stage_polls(run, &c) >= 6 + 3);
	free(c.triangles);
	free(c.clustering);
	hy_csr_free(&graph, &hy_malloc_allocator);
}

int
main(void)
{
	UNIT_RUN(test_random_graphs);
	UNIT_RUN(test_empty_graph);
	UNIT_RUN(test_memory_and_cancel);
	return unit_finish();
}
