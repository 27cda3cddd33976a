/*
 * spread_plan_test.c
 *		The steps of 'spread' cover a graph and its sets once a hop, in order, and fit their room.
 */
#include "unit.h"

#include "cuda/spread_plan.h"

static UnitRandom randomness = {9};

/* rows of a graph: only where they begin, which is all that the plan looks at */
static HyCsr
make_rows(int64_t nodes, int64_t longest)
{
	HyCsr graph = {.nodes = nodes};
	int64_t i;

	graph.row_start = malloc(sizeof(int64_t) * (size_t) (nodes + 1));
	graph.row_start[0] = 0;
	for (i = 0; i < nodes; i++)
	{
		double skew = unit_random_unit(&randomness);
		int64_t entries = (int64_t) ((double) longest * skew * skew * skew * skew * skew);

		if (unit_random_below(&randomness, 3) == 0)
			entries = (int64_t) unit_random_below(&randomness, 12);
		graph.row_start[i + 1] = graph.row_start[i] + entries;
	}
	graph.edges = graph.row_start[nodes];
	return graph;
}

/* Seen: how far a walk over the steps has come, and what it did in the hop. */
typedef struct Seen
{
	int64_t done[HY_CUDA_SPREAD_LISTS];
	int64_t from; /* of a long row */
	int64_t summed;
	int64_t cleared;
	int64_t wiped;
	int64_t seeds;
	int64_t down;
	uint32_t hop;
	uint32_t turns;
} Seen;

static void
see(const HyCudaSpreadPlan *plan, const HyCsr *graph, const HyCudaSpreadStep *step, Seen *seen)
{
	const HyCudaSpreadLists *lists = &plan->lists;
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
			CHECK_INT(seen->summed, plan->hops == -1 ? plan->nodes : 0);
			for (list = 0; list < HY_CUDA_SPREAD_LISTS; list++)
			{
				CHECK_INT(seen->done[list], step->hop == 0 ? 0 : lists->rows[list]);
				seen->done[list] = 0;
			}
			seen->summed = 0;
			seen->turns++;
			seen->hop = step->hop;
			break;
		case HY_CUDA_SPREAD_DOWN:
			CHECK_INT(step->first, seen->down);
			seen->down += step->count;
			break;
	}
}

static void
walk(const HyCsr *graph, const HySpreadSeeds *seeds, int32_t hops, int32_t widest, uint64_t pace)
{
	HyCudaSpreadPlan plan = {.nodes = graph->nodes,
	                         .seeds = seeds,
	                         .hops = hops,
	                         .widest = widest,
	                         .node_bytes = hy_cuda_spread_node_bytes(hops == -1, false)};
	int64_t sets = 0;
	Seen seen = {0};
	int32_t first_set = 0;
	int32_t group = 0;
	int32_t width = 0;
	int pieces = 0;

	CHECK_INT(hy_cuda_spread_lists_make(graph, &hy_malloc_allocator, NULL, &plan.lists), HY_OK);
	hy_cuda_spread_plan_begin(&plan);
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

		/* of a walk without end, some hops */
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
			CHECK_INT(seen.cleared, graph->nodes * width * (int64_t) plan.node_bytes);
			CHECK_INT(seen.wiped, plan.hops == 0 || plan.hops == 1 ? 0 : graph->nodes * width * 8);
			if (hops >= 0)
				CHECK_INT(seen.turns, plan.hops == 0 ? 0 : plan.hops + 1);
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
	hy_cuda_spread_lists_free(&plan.lists, &hy_malloc_allocator);
}

static void
steps_cover_all_once(void)
{
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
		     UINT64_C(1) << ((round % 5 == 0 ? 20 : 10) + unit_random_below(&randomness, 10)));
		free(start);
		free(graph.row_start);
	}
}

static bool
at_once(void *arg)
{
	(void) arg;
	return true;
}

static void
lists_know_their_rows(void)
{
	HyCancel cancel = {at_once, NULL};
	HyCsr graph = make_rows(500, 20000);
	HyCudaSpreadLists lists;
	UnitMemory memory;
	uint64_t entries = 0;
	int64_t rows = 0;
	int64_t with = 0;
	int64_t i;
	int l;

	CHECK_INT(hy_cuda_spread_lists_make(&graph, &hy_malloc_allocator, NULL, &lists), HY_OK);
	for (i = 0; i < graph.nodes; i++)
		with += graph.row_start[i] != graph.row_start[i + 1];
	for (l = 0; l < HY_CUDA_SPREAD_LISTS; l++)
	{
		int64_t blocks = l < 2 ? (lists.rows[l] + 63) / 64 : lists.rows[l];

		CHECK(lists.rows[l] > 0);
		rows += lists.rows[l];
		entries += lists.sum[l][blocks];
	}
	CHECK_INT(rows, with);
	CHECK_INT(entries, graph.edges + 4 * rows);
	hy_cuda_spread_lists_free(&lists, &hy_malloc_allocator);

	CHECK_INT(hy_cuda_spread_lists_make(&graph, &hy_malloc_allocator, &cancel, &lists),
	          HY_CANCELLED);
	hy_cuda_spread_lists_free(&lists, &hy_malloc_allocator);
	for (i = 1; i <= HY_CUDA_SPREAD_LISTS; i++)
	{
		unit_memory_init(&memory, i);
		CHECK_INT(hy_cuda_spread_lists_make(&graph, &memory.allocator, NULL, &lists), HY_NOMEM);
		hy_cuda_spread_lists_free(&lists, &memory.allocator);
		CHECK_INT(memory.outstanding, 0);
	}
	/* rows that go back, that end beyond the edges, or before all of them */
	graph.row_start[7] = graph.row_start[8] + 1;
	CHECK_INT(hy_cuda_spread_lists_make(&graph, &hy_malloc_allocator, NULL, &lists), HY_INVALID);
	hy_cuda_spread_lists_free(&lists, &hy_malloc_allocator);
	graph.row_start[7] = graph.row_start[8];
	graph.edges++;
	CHECK_INT(hy_cuda_spread_lists_make(&graph, &hy_malloc_allocator, NULL, &lists), HY_INVALID);
	hy_cuda_spread_lists_free(&lists, &hy_malloc_allocator);
	free(graph.row_start);
}

/* after the last hop, or of another group, there is nothing to be stopped */
static void
quiet_ends_the_hops_of_its_group(void)
{
	HyCsr graph = make_rows(100, 10);
	int64_t start[] = {0, 1, 2};
	HySpreadSeeds seeds = {2, start, NULL, NULL};
	HyCudaSpreadPlan plan = {
		.nodes = 100, .seeds = &seeds, .hops = INT32_MAX, .widest = 1, .node_bytes = 28};
	HyCudaSpreadRoom room = {1 << 20, 1 << 20, 10, 10, true};
	HyCudaSpreadStep step;

	CHECK_INT(hy_cuda_spread_lists_make(&graph, &hy_malloc_allocator, NULL, &plan.lists), HY_OK);
	hy_cuda_spread_plan_begin(&plan);
	hy_cuda_spread_quiet(&plan, 0);
	CHECK_INT(plan.stage, HY_CUDA_STAGE_CLEAR);
	while (plan.hop < 3)
		CHECK(hy_cuda_spread_step(&plan, &room, &step));
	hy_cuda_spread_quiet(&plan, 1);
	CHECK(plan.stage != HY_CUDA_STAGE_DOWN);
	hy_cuda_spread_quiet(&plan, 0);
	CHECK_INT(plan.stage, HY_CUDA_STAGE_DOWN);
	CHECK(hy_cuda_spread_step(&plan, &room, &step));
	hy_cuda_spread_quiet(&plan, 0);
	CHECK_INT(plan.at, 10);
	hy_cuda_spread_lists_free(&plan.lists, &hy_malloc_allocator);
	free(graph.row_start);
}

int
main(void)
{
	UNIT_RUN(steps_cover_all_once);
	UNIT_RUN(lists_know_their_rows);
	UNIT_RUN(quiet_ends_the_hops_of_its_group);
	return unit_finish();
}
