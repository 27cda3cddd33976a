/*
 * similar_test.c
 *		Similarity of nodes against the sets of their neighbors.
 */
#include "graph_stage.h"

#include "core/similar.h"

#define MOST 40

typedef struct Search
{
	const HyCsr *graph;
	uint32_t node;
	HySimilarity method;
	double *similarity;
} Search;

static HyStatus
run(void *arg, const HyAllocator *allocator, const HyCancel *cancel)
{
	Search *s = arg;

	(void) allocator;
	return hy_similar(s->graph, s->node, s->method, cancel, s->similarity);
}

/* expected: the similarity by a look at each possible neighbor; in a set, bit j is node j. */
static double
expected_of(const uint64_t *set, int nodes, int a, int b, HySimilarity method)
{
	double sum = 0;
	int j;
	int k;

	if (a == b || (set[a] & set[b]) == 0)
		return 0;
	if (method == HY_SIMILARITY_JACCARD)
		return (double) __builtin_popcountll(set[a] & set[b]) /
		       (double) __builtin_popcountll(set[a] | set[b]);
	for (j = 0; j < nodes; j++)
	{
		int having = 0;

		for (k = 0; k < nodes; k++)
			having += (int) (set[k] >> j & 1);
		if (set[a] & set[b] & (uint64_t) 1 << j)
			sum += 1 / log(having);
	}
	return sum;
}

static void
test_random_graphs(void)
{
	UnitRandom random = {75};
	int round;

	for (round = 0; round < 120; round++)
	{
		int nodes = 2 + (int) unit_random_below(&random, MOST - 2);
		int64_t count = 1 + (int64_t) unit_random_below(&random, 150);
		HyDirection direction = (HyDirection) (round % 3);
		HyEdge *edges = stage_edges(&random, nodes, count);
		HyCsr graph = stage_graph(edges, count, direction, HY_MERGE_SUM);
		uint64_t set[MOST] = {0};
		double similarity[MOST];
		int64_t i;
		int64_t j;

		for (i = 0; i < count; i++)
		{
			if (direction != HY_DIRECTION_IN)
				set[edges[i].source] |= (uint64_t) 1 << edges[i].target;
			if (direction != HY_DIRECTION_OUT)
				set[edges[i].target] |= (uint64_t) 1 << edges[i].source;
		}
		for (i = 0; i < graph.nodes; i++)
		{
			Search s = {&graph, (uint32_t) i, (HySimilarity) (round % 2), similarity};

			CHECK_INT(run(&s, NULL, NULL), HY_OK);
			for (j = 0; j < graph.nodes; j++)
				CHECK_SAME_F64(similarity[j], expected_of(set, nodes, (int) graph.ids[i],
				                                          (int) graph.ids[j], s.method));
		}
		hy_csr_free(&graph, &hy_malloc_allocator);
		free(edges);
	}
}

/* A star: each node has the center as its only neighbor. */
static void
test_cancel(void)
{
	int64_t count = 3 * HY_CANCEL_BLOCK;
	HyEdge *edges = malloc(sizeof(HyEdge) * (size_t) count);
	Search s = {NULL, 1, HY_SIMILARITY_JACCARD, malloc(sizeof(double) * (size_t) (count + 1))};
	HyCsr graph;
	int64_t i;

	for (i = 0; i < count; i++)
		edges[i] = (HyEdge){i + 1, 0, 1};
	graph = stage_graph(edges, count, HY_DIRECTION_BOTH, HY_MERGE_SUM);
	s.graph = &graph;
	CHECK_INT(stage_polls(run, &s), 3);
	CHECK_SAME_F64(s.similarity[0], 0);
	CHECK_SAME_F64(s.similarity[1], 0);
	CHECK_SAME_F64(s.similarity[2], 1);
	hy_csr_free(&graph, &hy_malloc_allocator);
	free(edges);
	free(s.similarity);
}

int
main(void)
{
	UNIT_RUN(test_random_graphs);
	UNIT_RUN(test_cancel);
	return unit_finish();
}
