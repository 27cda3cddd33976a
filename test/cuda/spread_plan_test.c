/*
 * spread_plan_test.c
 *		Checks that the steps of 'spread' cover a graph and its sets once per hop, in order, and fit
 *		their pieces.
 */
#include "unit.h"

#include "cuda/spread_plan.h"

static UnitRandom randomness = {9};

/*
 * make_rows: make a graph whose entries all come from the first node, because the plan uses only
 * lengths.
 */
static HyCsr
make_rows(int64_t nodes, int64_t longest)
{
	HyCsr graph = {.nodes = nodes};
	int64_t i;

	graph.row_start = malloc(sizeof(uint32_t) * (size_t) (nodes + 1));
	graph.row_start[0] = 0;
	for (i = 0; i < nodes; i++)
	{
		double skew = unit_random_unit(&randomness);
		int64_t entries = (int64_t) ((double) longest * skew * skew * skew * skew * skew);

		if (unit_random_below(&randomness, 3) == 0)
			entries = (int64_t) unit_random_below(&randomness, 12);
		graph.row_start[i + 1] = graph.row_start[i] + (uint32_t) entries;
	}
	graph.edges = graph.row_start[nodes];
	graph.column = calloc((size_t) graph.edges + 1, sizeof(uint32_t));
	return graph;
}

/* Seen: the progress of a walk over the steps, and what the current hop has processed. */
typedef struct Seen
{
	int64_t done[HY_PACKED_LISTS];
	int64_t from; /* of a long row */
	int64_t summed;
	int64_t cleared;
	int64_t wiped;
	int64_t seeds;
	int64_t down;
	uint32_t hop;
	uint32_t turns;
} Seen;

/* end_hop: check that all lists were processed, and nodes summed if required. */
static void
end_hop(const HyCudaSpreadPlan *plan, uint32_t hop, Seen *seen)
{
	int list;

	CHECK_INT(seen->summed, plan->hops == -1 ? plan->nodes : 0);
	for (list = 0; list < HY_PACKED_LISTS; list++)
	{
		CHECK_INT(seen->done[list], hop == 0 ? 0 : plan->packed->rows[list]);
		seen->done[list] = 0;
	}
	seen->summed = 0;
	seen->hop = hop;
}

static void
see(const HyCudaSpreadPlan *plan, const HyCsr *graph, const HyCudaSpreadStep *step, Seen *seen)
{
	int list = (int) step->kind - (int) HY_CUDA_SPREAD_SHORTS;

	(void) graph;
	switch (step->kind)
	{
		case HY_CUDA_SPREAD_CLEAR:
			CHECK_INT(step->first, step->hop == 0 ? seen->cleared : seen->wiped);
			*(step->hop == 0 ? &seen->cleared : &seen->wiped) += step->count;
			CHECK(step->hop < 2);
			break;
		case HY_CUDA_SPREAD_SEEDS:
			CHECK_INT(step->first, seen->seeds);
			seen->seeds += step->count;
			break;
		case HY_CUDA_SPREAD_SHORTS:
		case HY_CUDA_SPREAD_ROWS:
		case HY_CUDA_SPREAD_LONG:
			/* without turns, a hop ends when the next one begins */
			if (!plan->turns && step->hop == seen->hop + 2)
				end_hop(plan, seen->hop + 1, seen);
			CHECK_INT(step->hop, seen->hop + 1);
			CHECK_INT(step->first, seen->done[list]);
			CHECK_INT(step->from, seen->from);
			CHECK(step->count >= 1);
			if (step->to > 0)
			{
				CHECK(step->kind == HY_CUDA_SPREAD_LONG && step->count == 1);
				CHECK(step->to > step->from);
				CHECK(step->last || step->to % HY_CUDA_SPREAD_WINDOW == 0);
				CHECK(step->to - step->from <= 1 << 18);
				seen->from = step->last ? 0 : step->to;
			}
			if (step->last || step->to == 0)
				seen->done[list] += step->count;
			break;
		case HY_CUDA_SPREAD_SUM:
			CHECK_INT(step->first, seen->summed);
			CHECK_INT(step->first % 32, 0);
			seen->summed += step->count;
			break;
		case HY_CUDA_SPREAD_TURN:
			CHECK(plan->turns);
			end_hop(plan, step->hop, seen);
			seen->turns++;
			break;
		case HY_CUDA_SPREAD_DOWN:
			if (!plan->turns && seen->down == 0 && plan->hops > 0)
				end_hop(plan, seen->hop + 1, seen);
			if (seen->down == 0 && plan->hops != -1)
				CHECK_INT(seen->hop, plan->hops);
			CHECK_INT(step->first, seen->down);
			seen->down += step->count;
			break;
	}
}

static void
walk(const HyCsr *graph, const HySpreadSeeds *seeds, int32_t hops, int32_t widest, uint64_t pace,
     bool *turns)
{
	HyPackedGraph packed;
	HyCudaSpreadPlan plan = {.packed = &packed,
	                         .nodes = graph->nodes,
	                         .seeds = seeds,
	                         .hops = hops,
	                         .widest = widest,
	                         .node_bytes = hy_cuda_spread_node_bytes(hops == -1, false, false)};
	int64_t sets = 0;
	Seen seen = {0};
	int32_t first_set = 0;
	int32_t group = 0;
	int32_t width = 0;
	int pieces = 0;
	bool full;

	CHECK_INT(hy_packed_graph_make(graph, false, &hy_malloc_allocator, NULL, &packed), HY_OK);
	hy_cuda_spread_plan_begin(&plan);
	*turns = plan.turns;
	full = hy_cuda_spread_rows(&packed) == plan.nodes;
	for (;;)
	{
		HyCudaSpreadRoom room = {
			.pace = pace,
			.left = pace,
			.seeds = 1 + (int64_t) unit_random_below(&randomness, 10),
			.nodes = 1 + (int64_t) unit_random_below(&randomness, (uint64_t) graph->nodes),
			.empty = true};
		HyCudaSpreadStep step;
		bool ended = false;

		/* stop a walk without end after some hops */
		if (hops == -1 && plan.hop > 4)
			hy_cuda_spread_quiet(&plan, plan.first_set);
		first_set = plan.first_set;
		group = plan.sets;
		width = plan.width;
		while (!ended && hy_cuda_spread_step(&plan, &room, &step))
		{
			CHECK(room.empty || step.work <= room.left);
			room.empty = false;
			room.left -= step.work < room.left ? step.work : room.left;
			if (step.kind == HY_CUDA_SPREAD_SEEDS)
				room.seeds = 0;
			see(&plan, graph, &step, &seen);
			ended = step.kind == HY_CUDA_SPREAD_DOWN;
		}
		if (unit_failed_checks > 0)
			break;
		if (ended && seen.down == graph->nodes)
		{
			CHECK(width >= group && width <= widest);
			CHECK_INT(seen.seeds, seeds->start[first_set + group] - seeds->start[first_set]);
			/* the first group's memory is new */
			CHECK_INT(seen.cleared, first_set == 0
			                            ? 0
			                            : HY_CUDA_SPREAD_CONTROL +
			                                  graph->nodes * width * (int64_t) plan.node_bytes);
			CHECK_INT(seen.wiped,
			          (plan.hops >= 0 && plan.hops < 3) || full ? 0 : graph->nodes * width * 8);
			if (hops >= 0)
				CHECK_INT(seen.turns, plan.hops == 0 || !plan.turns ? 0 : plan.hops + 1);
			else
				CHECK(plan.turns || plan.hops == 0);
			sets += group;
			memset(&seen, 0, sizeof(seen));
		}
		if (room.empty)
			break;
		if (++pieces > 1000000)
		{
			CHECK(false);
			break;
		}
	}
	CHECK_INT(plan.stage, HY_CUDA_STAGE_END);
	CHECK_INT(sets, seeds->sets);
	hy_packed_graph_free(&packed, &hy_malloc_allocator);
}

static void
steps_cover_all_once(void)
{
	int with[2] = {0};
	bool turns;
	int round;

	for (round = 0; round < 400 && unit_failed_checks == 0; round++)
	{
		HyCsr graph = make_rows(1 + (int64_t) unit_random_below(&randomness, 600),
		                        round % 5 == 0 ? 900000 : 3000);
		int32_t sets = (int32_t) unit_random_below(&randomness, 20);
		int64_t *start = malloc(sizeof(int64_t) * (size_t) (sets + 1));
		HySpreadSeeds seeds = {sets, start, NULL, NULL};
		int32_t s;

		start[0] = 5;
		for (s = 0; s < sets; s++)
			start[s + 1] = start[s] + (int64_t) unit_random_below(&randomness, 30);
		walk(&graph, &seeds, (int32_t) unit_random_below(&randomness, 6) - 1,
		     1 << unit_random_below(&randomness, 4),
		     UINT64_C(1) << ((round % 5 == 0 ? 20 : 10) + unit_random_below(&randomness, 10)),
		     &turns);
		with[turns]++;
		free(start);
		free(graph.row_start);
		free(graph.column);
	}
	CHECK(with[false] > 50 && with[true] > 50);
}

/* there are turns if hops may end early, are many or are long */
static void
who_asks_between_hops(void)
{
	HyCsr small = make_rows(100, 10);
	HyCsr large = make_rows(40000, 100);
	struct
	{
		const HyCsr *graph;
		int32_t hops;
		bool turns;
	} cases[] = {{&small, 3, false}, {&small, 32, false}, {&small, 33, true},
	             {&small, -1, true}, {&large, 1, true},   {&large, -1, true}};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		int64_t start[] = {0, 1};
		HySpreadSeeds seeds = {1, start, NULL, NULL};
		bool turns = !cases[i].turns;

		walk(cases[i].graph, &seeds, cases[i].hops, 1, 1 << 24, &turns);
		CHECK_INT(turns, cases[i].turns);
	}
	free(small.row_start);
	free(small.column);
	free(large.row_start);
	free(large.column);
}

/*
 * narrower groups are better if their charges stay in the cache, although the graph is read more
 * often
 */
static void
groups_are_as_wide_as_the_cache_allows(void)
{
	static const struct
	{
		int64_t sets, nodes, edges;
		uint64_t cache;
		int32_t width;
	} cases[] = {{64, 1000000, 16000000, 50 << 20, 4},
	             {64, 1000000, 16000000, 0, 8},
	             {64, 1000000, 16000000, 4 << 20, 8},
	             {64, 1000000, 16000000, 128 << 20, 8},
	             {64, 2000000, 32000000, 50 << 20, 2},
	             {64, 120000, 360000, 50 << 20, 8},
	             {3, 1000000, 16000000, 50 << 20, 4},
	             {1, 1000000, 16000000, 50 << 20, 1},
	             {64, 1000000, 1000000, 50 << 20, 4},
	             {0, 10, 10, 50 << 20, 1},
	             {9, 10, 0, 50 << 20, 8}};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		int32_t width = hy_cuda_spread_best_width(cases[i].sets, cases[i].nodes, cases[i].nodes,
		                                          cases[i].edges, cases[i].cache);

		CHECK_MSG(width == cases[i].width, "%d sets, %d nodes, %d edges, a cache of %d: %d wide",
		          (int) cases[i].sets, (int) cases[i].nodes, (int) cases[i].edges,
		          (int) cases[i].cache, (int) width);
	}
}

/* after the last hop, or for another group, quiet has no effect */
static void
quiet_ends_the_hops_of_its_group(void)
{
	HyCsr graph = make_rows(100, 10);
	int64_t start[] = {0, 1, 2};
	HySpreadSeeds seeds = {2, start, NULL, NULL};
	HyPackedGraph packed;
	HyCudaSpreadPlan plan = {.packed = &packed,
	                         .nodes = 100,
	                         .seeds = &seeds,
	                         .hops = INT32_MAX,
	                         .widest = 1,
	                         .node_bytes = 28};
	HyCudaSpreadRoom room = {1 << 20, 1 << 20, 10, 10, true};
	HyCudaSpreadStep step;

	CHECK_INT(hy_packed_graph_make(&graph, false, &hy_malloc_allocator, NULL, &packed), HY_OK);
	hy_cuda_spread_plan_begin(&plan);
	hy_cuda_spread_quiet(&plan, 0);
	CHECK_INT(plan.stage, HY_CUDA_STAGE_CLEAR);
	CHECK(hy_cuda_spread_step(&plan, &room, &step));
	CHECK_INT(step.kind, HY_CUDA_SPREAD_SEEDS);
	while (plan.hop < 3)
		CHECK(hy_cuda_spread_step(&plan, &room, &step));
	hy_cuda_spread_quiet(&plan, 1);
	CHECK(plan.stage != HY_CUDA_STAGE_DOWN);
	hy_cuda_spread_quiet(&plan, 0);
	CHECK_INT(plan.stage, HY_CUDA_STAGE_DOWN);
	CHECK(hy_cuda_spread_step(&plan, &room, &step));
	hy_cuda_spread_quiet(&plan, 0);
	CHECK_INT(plan.at, 10);
	hy_packed_graph_free(&packed, &hy_malloc_allocator);
	free(graph.row_start);
	free(graph.column);
}

int
main(void)
{
	UNIT_RUN(steps_cover_all_once);
	UNIT_RUN(who_asks_between_hops);
	UNIT_RUN(groups_are_as_wide_as_the_cache_allows);
	UNIT_RUN(quiet_ends_the_hops_of_its_group);
	return unit_finish();
}
