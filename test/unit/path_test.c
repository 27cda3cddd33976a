/*
 * path_test.c
 *		Shortest paths against the distances of all pairs (R. Floyd, 1962).
 */
#include "graph_stage.h"

#include "core/path.h"

#define MOST 40

typedef struct Search
{
	const HyCsr *graph;
	uint32_t source;
	uint32_t target;
	bool weighted;
	HyPath path;
} Search;

static HyStatus
run(void *arg, const HyAllocator *allocator, const HyCancel *cancel)
{
	Search *s = arg;

	return hy_path(s->graph, s->source, s->target, s->weighted, allocator, cancel, &s->path);
}

/* length_of: the smallest length of an edge between two nodes, INFINITY if there is none. */
static double
length_of(const HyEdge *edges, int64_t count, int64_t source, int64_t target, bool weighted)
{
	double least = INFINITY;
	int64_t i;

	for (i = 0; i < count; i++)
	{
		if (edges[i].source == source && edges[i].target == target)
			least = fmin(least, weighted ? edges[i].weight : 1);
	}
	return least;
}

static void
check_all_pairs(const HyEdge *edges, int64_t count, bool weighted)
{
	HyCsr graph = stage_graph(edges, count, HY_DIRECTION_OUT, HY_MERGE_LEAST);
	double distance[MOST][MOST];
	uint32_t step[MOST];
	double cost[MOST];
	int64_t n = graph.nodes;
	int64_t i;
	int64_t j;
	int64_t k;

	for (i = 0; i < n; i++)
	{
		for (j = 0; j < n; j++)
			distance[i][j] =
				i == j ? 0 : length_of(edges, count, graph.ids[i], graph.ids[j], weighted);
	}
	for (k = 0; k < n; k++)
	{
		for (i = 0; i < n; i++)
		{
			for (j = 0; j < n; j++)
				distance[i][j] = fmin(distance[i][j], distance[i][k] + distance[k][j]);
		}
	}
	for (i = 0; i < n; i++)
	{
		for (j = 0; j < n; j++)
		{
			Search s = {&graph, (uint32_t) i, (uint32_t) j, weighted, {step, cost, 7}};

			CHECK_INT(run(&s, &hy_malloc_allocator, NULL), HY_OK);
			CHECK(isinf(distance[i][j]) == (s.path.steps == 0));
			if (s.path.steps == 0)
				continue;
			CHECK_INT(step[0], i);
			CHECK_INT(step[s.path.steps - 1], j);
			CHECK_SAME_F64(cost[0], 0);
			CHECK_SAME_F64(cost[s.path.steps - 1], distance[i][j]);
			for (k = 1; k < s.path.steps; k++)
				CHECK_SAME_F64(
					cost[k] - cost[k - 1],
					length_of(edges, count, graph.ids[step[k - 1]], graph.ids[step[k]], weighted));
		}
	}
	hy_csr_free(&graph, &hy_malloc_allocator);
}

static void
test_random_graphs(void)
{
	UnitRandom random = {73};
	int round;

	for (round = 0; round < 60; round++)
	{
		int64_t nodes = 2 + (int64_t) unit_random_below(&random, MOST - 2);
		int64_t count = 1 + (int64_t) unit_random_below(&random, 100);
		HyEdge *edges = stage_edges(&random, nodes, count);

		check_all_pairs(edges, count, true);
		check_all_pairs(edges, count, false);
		free(edges);
	}
}

/* The detour is longer in edges and shorter in weight; of equal paths, the choice is always one. */
static void
test_choice(void)
{
	HyEdge edge[] = {{1, 9, 10}, {1, 2, 3}, {2, 9, 3}, {1, 3, 2}, {3, 9, 4}};
	HyEdge turned[5];
	uint32_t step[4];
	double cost[4];
	int i;

	for (i = 0; i < 5; i++)
		turned[i] = edge[4 - i];
	for (i = 0; i < 2; i++)
	{
		HyCsr graph = stage_graph(i == 0 ? edge : turned, 5, HY_DIRECTION_OUT, HY_MERGE_LEAST);
		Search s = {&graph, 0, 3, true, {step, cost, 0}};

		CHECK_INT(run(&s, &hy_malloc_allocator, NULL), HY_OK);
		CHECK_INT(s.path.steps, 3);
		CHECK_INT(step[1], 1);
		CHECK_SAME_F64(cost[1], 3);
		CHECK_SAME_F64(cost[2], 6);
		s.weighted = false;
		CHECK_INT(run(&s, &hy_malloc_allocator, NULL), HY_OK);
		CHECK_INT(s.path.steps, 2);
		CHECK_SAME_F64(cost[1], 1);
		hy_csr_free(&graph, &hy_malloc_allocator);
	}
}

static void
test_memory_and_cancel(void)
{
	HyCsr graph = stage_chain(3 * HY_CANCEL_BLOCK, HY_DIRECTION_OUT);
	Search s = {&graph, 0, 3 * HY_CANCEL_BLOCK, true, {NULL, NULL, 0}};

	s.path.step = malloc(sizeof(uint32_t) * (size_t) graph.nodes);
	s.path.cost = malloc(sizeof(double) * (size_t) graph.nodes);
	CHECK_INT(stage_allocations(run, &s), 4);
	CHECK(stage_polls(run, &s) >= 5);
	CHECK_INT(s.path.steps, 3 * HY_CANCEL_BLOCK + 1);
	s.weighted = false;
	CHECK_INT(stage_allocations(run, &s), 2);
	CHECK(stage_polls(run, &s) >= 5);
	free(s.path.step);
	free(s.path.cost);
	hy_csr_free(&graph, &hy_malloc_allocator);
}

int
main(void)
{
	UNIT_RUN(test_random_graphs);
	UNIT_RUN(test_choice);
	UNIT_RUN(test_memory_and_cancel);
	return unit_finish();
}
