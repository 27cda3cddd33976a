/*
 * reach_test.c
 *		Breadth-first search against repeated passes over all edges.
 */
#include "graph_stage.h"

#include "core/reach.h"

typedef struct Search
{
	const HyCsr *graph;
	HyDirection direction;
	HyReachStarts starts;
	int64_t hops;
	HyReached reached;
} Search;

static HyStatus
run(void *arg, const HyAllocator *allocator, const HyCancel *cancel)
{
	Search *s = arg;

	return hy_reach(s->graph, s->direction, &s->starts, s->hops, allocator, cancel, &s->reached);
}

/* by_passes: the same, by one pass over all edges for each hop. */
static void
by_passes(const Search *s, int32_t *hop)
{
	int32_t h;
	bool more = true;
	int64_t row;
	int64_t e;

	for (e = 0; e < s->graph->nodes; e++)
		hop[e] = -1;
	for (e = 0; e < s->starts.count; e++)
		hop[s->starts.node[e]] = 0;
	for (h = 0; more && (s->hops < 0 || h < s->hops); h++)
	{
		more = false;
		for (row = 0; row < s->graph->nodes; row++)
		{
			for (e = s->graph->row_start[row]; e < s->graph->row_start[row + 1]; e++)
			{
				int64_t ends[2] = {s->graph->column[e], row};
				int way;

				for (way = 0; way < 2; way++)
				{
					if (s->direction == (way == 0 ? HY_DIRECTION_IN : HY_DIRECTION_OUT))
						continue;
					if (hop[ends[way]] == h && hop[ends[1 - way]] < 0)
					{
						hop[ends[1 - way]] = h + 1;
						more = true;
					}
				}
			}
		}
	}
}

static void
test_random_graphs(void)
{
	UnitRandom random = {71};
	int round;

	for (round = 0; round < 600; round++)
	{
		int64_t nodes = 2 + (int64_t) unit_random_below(&random, 60);
		int64_t count = 1 + (int64_t) unit_random_below(&random, 90);
		HyEdge *edges = stage_edges(&random, nodes, count);
		HyCsr graph = stage_graph(edges, count, HY_DIRECTION_OUT, HY_MERGE_SUM);
		int32_t hop[64];
		int32_t expected[64];
		uint32_t order[64];
		uint32_t start[3];
		Search s = {
			&graph, (HyDirection) (round % 3), {start, round % 4}, round % 5 - 1, {hop, order, 0}};
		int64_t found = 0;
		int64_t i;

		for (i = 0; i < s.starts.count; i++)
			start[i] = (uint32_t) unit_random_below(&random, (uint64_t) graph.nodes);
		CHECK_INT(run(&s, &hy_malloc_allocator, NULL), HY_OK);
		by_passes(&s, expected);
		for (i = 0; i < graph.nodes; i++)
		{
			CHECK_INT(hop[i], expected[i]);
			found += expected[i] >= 0;
		}
		CHECK_INT(s.reached.count, found);
		for (i = 0; i < s.reached.count; i++)
		{
			CHECK(hop[order[i]] >= 0);
			CHECK(i == 0 || hop[order[i - 1]] < hop[order[i]] ||
			      (hop[order[i - 1]] == hop[order[i]] && order[i - 1] < order[i]));
		}
		hy_csr_free(&graph, &hy_malloc_allocator);
		free(edges);
	}
}

static void
test_empty_graph(void)
{
	HyCsr graph = stage_graph(NULL, 0, HY_DIRECTION_OUT, HY_MERGE_SUM);
	Search s = {&graph, HY_DIRECTION_BOTH, {NULL, 0}, HY_REACH_UNLIMITED, {NULL, NULL, 7}};

	CHECK_INT(run(&s, &hy_malloc_allocator, NULL), HY_OK);
	CHECK_INT(s.reached.count, 0);
	hy_csr_free(&graph, &hy_malloc_allocator);
}

static void
test_memory_and_cancel(void)
{
	HyCsr graph = stage_chain(3 * HY_CANCEL_BLOCK, HY_DIRECTION_OUT);
	uint32_t start = 0;
	Search s = {&graph, HY_DIRECTION_BOTH, {&start, 1}, HY_REACH_UNLIMITED, {NULL, NULL, 0}};

	s.reached.hop = malloc(sizeof(int32_t) * (size_t) graph.nodes);
	s.reached.order = malloc(sizeof(uint32_t) * (size_t) graph.nodes);
	CHECK_INT(stage_allocations(run, &s), 1);
	CHECK(stage_polls(run, &s) >= 6);
	CHECK_INT(s.reached.hop[3 * HY_CANCEL_BLOCK], 3 * HY_CANCEL_BLOCK);
	free(s.reached.hop);
	free(s.reached.order);
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
