/*
 * communities_test.c
 *		Leiden and label propagation: against the best of all partitions of small graphs, against
 *		communities that are there by construction, and on graphs whose best modularity is known.
 */
#include "graph_stage.h"

#include "core/components.h"
#include "core/label_propagation.h"
#include "core/leiden.h"

#define SMALL 8
#define PLANTED 40 /* nodes of a planted community */

typedef struct Search
{
	const HyCsr *graph;
	double resolution;
	uint64_t seed;
	bool leiden;
	uint32_t *community;
	double modularity;
} Search;

/* Zachary's karate club (W. Zachary, 1977): pairs of nodes, whose best modularity is 0.41979. */
static const uint8_t karate[][2] = {
	{0, 1},   {0, 2},   {0, 3},   {0, 4},   {0, 5},   {0, 6},   {0, 7},   {0, 8},   {0, 10},
	{0, 11},  {0, 12},  {0, 13},  {0, 17},  {0, 19},  {0, 21},  {0, 31},  {1, 2},   {1, 3},
	{1, 7},   {1, 13},  {1, 17},  {1, 19},  {1, 21},  {1, 30},  {2, 3},   {2, 7},   {2, 8},
	{2, 9},   {2, 13},  {2, 27},  {2, 28},  {2, 32},  {3, 7},   {3, 12},  {3, 13},  {4, 6},
	{4, 10},  {5, 6},   {5, 10},  {5, 16},  {6, 16},  {8, 30},  {8, 32},  {8, 33},  {9, 33},
	{13, 33}, {14, 32}, {14, 33}, {15, 32}, {15, 33}, {18, 32}, {18, 33}, {19, 33}, {20, 32},
	{20, 33}, {22, 32}, {22, 33}, {23, 25}, {23, 27}, {23, 29}, {23, 32}, {23, 33}, {24, 25},
	{24, 27}, {24, 31}, {25, 31}, {26, 29}, {26, 33}, {27, 33}, {28, 31}, {28, 33}, {29, 32},
	{29, 33}, {30, 32}, {30, 33}, {31, 32}, {31, 33}, {32, 33}};

static HyStatus
run(void *arg, const HyAllocator *allocator, const HyCancel *cancel)
{
	Search *s = arg;

	if (!s->leiden)
		return hy_label_propagation(s->graph, s->seed, allocator, cancel, s->community);
	return hy_leiden(s->graph, s->resolution, s->seed, allocator, cancel, s->community,
	                 &s->modularity);
}

/* modularity_of: by its definition, over all pairs of nodes. */
static double
modularity_of(const HyCsr *graph, const uint32_t *community, double resolution)
{
	double all = 0;
	double sum = 0;
	int64_t i;
	int64_t j;
	int64_t e;

	for (i = 0; i < graph->nodes; i++)
		all += graph->out_weight[i];
	for (i = 0; i < graph->nodes; i++)
	{
		for (e = graph->row_start[i]; e < graph->row_start[i + 1]; e++)
			sum += community[i] == community[graph->column[e]] ? graph->weight[e] : 0;
		for (j = 0; j < graph->nodes; j++)
			sum -= community[i] == community[j]
			           ? resolution * graph->out_weight[i] * graph->out_weight[j] / all
			           : 0;
	}
	return sum / all;
}

/* check_named: each community has the number of its smallest node, and is connected. */
static void
check_named(const HyCsr *graph, const uint32_t *community, bool connected)
{
	uint32_t *part = malloc(sizeof(uint32_t) * (size_t) graph->nodes);
	int64_t wrong = 0;
	int64_t i;
	int64_t e;

	for (i = 0; i < graph->nodes; i++)
		part[i] = (uint32_t) i;
	for (i = 0; i < graph->nodes; i++)
	{
		for (e = graph->row_start[i]; e < graph->row_start[i + 1]; e++)
		{
			if (graph->weight[e] > 0 && community[i] == community[graph->column[e]])
				hy_components_join(part, (uint32_t) i, graph->column[e]);
		}
		wrong += community[i] > i || community[community[i]] != community[i];
	}
	for (i = 0; connected && i < graph->nodes; i++)
		wrong += hy_components_root(part, (uint32_t) i) != community[i];
	CHECK_INT(wrong, 0);
	free(part);
}

/* best_of_all: the largest modularity of a partition; node `next` and those after it are open. */
static double
best_of_all(const HyCsr *graph, double resolution, uint32_t *community, int64_t next, uint32_t used)
{
	double best = -INFINITY;
	uint32_t c;

	if (next == graph->nodes)
		return modularity_of(graph, community, resolution);
	for (c = 0; c <= used; c++)
	{
		community[next] = c;
		best = fmax(best, best_of_all(graph, resolution, community, next + 1, used + (c == used)));
	}
	return best;
}

static void
test_small_graphs(void)
{
	UnitRandom random = {76};
	int best = 0;
	int rounds = 150;
	int round;

	for (round = 0; round < rounds; round++)
	{
		int64_t nodes = 2 + (int64_t) unit_random_below(&random, SMALL - 1);
		int64_t count = 1 + (int64_t) unit_random_below(&random, 14);
		HyEdge *edges = stage_edges(&random, nodes, count);
		HyCsr graph = stage_graph(edges, count, HY_DIRECTION_BOTH, HY_MERGE_SUM);
		uint32_t community[SMALL];
		uint32_t scratch[SMALL];
		Search s = {&graph, round % 3 == 0 ? 0.5 : 1, (uint64_t) round, true, community, 0};
		double most;
		double all = 0;
		int64_t i;

		for (i = 0; i < graph.nodes; i++)
			all += graph.out_weight[i];
		CHECK_INT(run(&s, &hy_malloc_allocator, NULL), HY_OK);
		check_named(&graph, community, true);
		if (all > 0)
		{
			most = best_of_all(&graph, s.resolution, scratch, 0, 0);
			CHECK_NEAR(s.modularity, modularity_of(&graph, community, s.resolution), 1e-12);
			CHECK(s.modularity <= most + 1e-12);
			CHECK_MSG(s.modularity >= most - 0.06, "%g of %g", s.modularity, most);
			best += s.modularity >= most - 1e-12;
		}
		else
			best++;
		hy_csr_free(&graph, &hy_malloc_allocator);
		free(edges);
	}
	CHECK_MSG(best >= rounds * 9 / 10, "the best partition in %d of %d", best, rounds);
}

static void
test_karate_club(void)
{
	int64_t count = (int64_t) (sizeof(karate) / sizeof(karate[0]));
	HyEdge edges[sizeof(karate) / sizeof(karate[0])];
	uint32_t community[34];
	HyCsr graph;
	uint64_t seed;
	int64_t i;

	for (i = 0; i < count; i++)
		edges[i] = (HyEdge){karate[i][0], karate[i][1], 1};
	graph = stage_graph(edges, count, HY_DIRECTION_BOTH, HY_MERGE_SUM);
	CHECK_INT(graph.nodes, 34);
	for (seed = 0; seed < 20; seed++)
	{
		Search s = {&graph, 1, seed, true, community, 0};

		CHECK_INT(run(&s, &hy_malloc_allocator, NULL), HY_OK);
		check_named(&graph, community, true);
		CHECK_MSG(s.modularity > 0.99 * 0.41979, "%g", s.modularity);
		CHECK(s.modularity < 0.4198);
	}
	hy_csr_free(&graph, &hy_malloc_allocator);
}

/*
 * planted: five communities.  Of the edges of a node, `degree` on average, about one of 11 leads to
 * another community.
 */
static HyCsr
planted(uint64_t seed, int degree)
{
	UnitRandom random = {seed};
	int64_t count = 5 * PLANTED * degree / 2;
	HyEdge *edges = malloc(sizeof(HyEdge) * (size_t) count);
	HyCsr graph;
	int64_t i;

	for (i = 0; i < count; i++)
	{
		int64_t source = (int64_t) unit_random_below(&random, 5 * PLANTED);
		int64_t base = i % 9 == 0 ? (int64_t) unit_random_below(&random, 5) * PLANTED
		                          : source / PLANTED * PLANTED;

		edges[i] = (HyEdge){source, base + (int64_t) unit_random_below(&random, PLANTED), 1};
	}
	graph = stage_graph(edges, count, HY_DIRECTION_BOTH, HY_MERGE_SUM);
	free(edges);
	return graph;
}

/*
 * misplaced: the number of nodes that are not in the community of most nodes of their planted
 * community.  *found is the number of different communities of most nodes.
 */
static int
misplaced(const uint32_t *community, int *found)
{
	bool seen[5 * PLANTED] = {false};
	int wrong = 0;
	int g;
	int i;

	*found = 0;
	for (g = 0; g < 5 * PLANTED; g += PLANTED)
	{
		int nodes[5 * PLANTED] = {0};
		int most = g;

		for (i = g; i < g + PLANTED; i++)
			nodes[community[i]]++;
		for (i = 0; i < 5 * PLANTED; i++)
			most = nodes[i] > nodes[most] ? i : most;
		wrong += PLANTED - nodes[most];
		*found += !seen[most];
		seen[most] = true;
	}
	return wrong;
}

static void
test_planted_communities(void)
{
	uint64_t seed;

	for (seed = 0; seed < 10; seed++)
	{
		/* label propagation needs more edges to agree */
		HyCsr graph = planted(77 + seed, seed % 2 == 0 ? 9 : 20);
		uint32_t expected[5 * PLANTED];
		uint32_t community[5 * PLANTED];
		uint32_t again[5 * PLANTED];
		int method;
		int64_t i;

		CHECK_INT(graph.nodes, 5 * PLANTED);
		for (i = 0; i < graph.nodes; i++)
			expected[i] = (uint32_t) (i / PLANTED * PLANTED);
		for (method = 0; method < 1 + (int) (seed % 2); method++)
		{
			Search s = {&graph, 1, seed, method == 0, community, 0};
			int found;
			int wrong;

			CHECK_INT(run(&s, &hy_malloc_allocator, NULL), HY_OK);
			check_named(&graph, community, method == 0);
			wrong = misplaced(community, &found);
			CHECK_MSG(wrong <= 15 && found == 5, "method %d: %d misplaced, %d communities", method,
			          wrong, found);
			if (method == 0)
				CHECK(s.modularity >= modularity_of(&graph, expected, 1) - 1e-12);
			s.community = again;
			CHECK_INT(run(&s, &hy_malloc_allocator, NULL), HY_OK);
			CHECK(memcmp(community, again, sizeof(again)) == 0);
		}
		hy_csr_free(&graph, &hy_malloc_allocator);
	}
}

/* A larger resolution gives more communities; 0 gives the components; a very large one, nodes. */
static void
test_resolution(void)
{
	HyCsr graph = planted(90, 9);
	uint32_t community[5 * PLANTED];
	double resolution[] = {0, 1, 4, 1e9};
	int64_t before = 0;
	int i;

	for (i = 0; i < 4; i++)
	{
		Search s = {&graph, resolution[i], 1, true, community, 0};
		int64_t found = 0;
		int64_t j;

		CHECK_INT(run(&s, &hy_malloc_allocator, NULL), HY_OK);
		check_named(&graph, community, true);
		for (j = 0; j < graph.nodes; j++)
			found += community[j] == j;
		CHECK(found > before);
		if (i == 0)
			CHECK_INT(found, 1);
		if (i == 3)
			CHECK_INT(found, graph.nodes);
		before = found;
		CHECK_INT(hy_leiden(&graph,
		                    i == 0   ? -1
		                    : i == 1 ? NAN
		                             : INFINITY,
		                    1, &hy_malloc_allocator, NULL, community, &s.modularity),
		          HY_INVALID);
	}
	hy_csr_free(&graph, &hy_malloc_allocator);
}

/* Edges of weight 0 and self loops connect nobody; an empty graph has no communities. */
static void
test_graphs_without_weight(void)
{
	HyEdge edges[] = {{1, 2, 0}, {3, 3, 5}, {2, 3, 0}};
	HyCsr none = stage_graph(NULL, 0, HY_DIRECTION_BOTH, HY_MERGE_SUM);
	int method;
	int count;
	int i;

	for (method = 0; method < 2; method++)
	{
		for (count = 1; count <= 3; count++)
		{
			HyCsr graph = stage_graph(edges, count, HY_DIRECTION_BOTH, HY_MERGE_SUM);
			uint32_t community[3];
			Search s = {&graph, 1, 1, method == 0, community, 7};

			CHECK_INT(run(&s, &hy_malloc_allocator, NULL), HY_OK);
			for (i = 0; i < graph.nodes; i++)
				CHECK_INT(community[i], i);
			s.graph = &none;
			CHECK_INT(run(&s, &hy_malloc_allocator, NULL), HY_OK);
			hy_csr_free(&graph, &hy_malloc_allocator);
		}
	}
	hy_csr_free(&none, &hy_malloc_allocator);
}

static void
test_memory(void)
{
	HyCsr graph = planted(91, 9);
	uint32_t community[5 * PLANTED];
	Search s = {&graph, 1, 1, true, community, 0};

	CHECK(stage_allocations(run, &s) > 13);
	s.leiden = false;
	CHECK_INT(stage_allocations(run, &s), 4);
	hy_csr_free(&graph, &hy_malloc_allocator);
}

static void
test_cancel(void)
{
	HyCsr graph = stage_chain(HY_CANCEL_BLOCK / 2, HY_DIRECTION_BOTH);
	Search s = {&graph, 1, 1, true, malloc(sizeof(uint32_t) * (size_t) graph.nodes), 0};

	CHECK(stage_polls(run, &s) > 10);
	s.leiden = false;
	CHECK(stage_polls(run, &s) > 2);
	free(s.community);
	hy_csr_free(&graph, &hy_malloc_allocator);
}

int
main(void)
{
	UNIT_RUN(test_small_graphs);
	UNIT_RUN(test_karate_club);
	UNIT_RUN(test_planted_communities);
	UNIT_RUN(test_resolution);
	UNIT_RUN(test_graphs_without_weight);
	UNIT_RUN(test_memory);
	UNIT_RUN(test_cancel);
	return unit_finish();
}
