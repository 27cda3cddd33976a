/*
 * graph_stage.h
 *		What the tests of graph algorithms share: random graphs, and runs that fail at each allocation
 *		or are cancelled at each poll.
 */
#ifndef HY_TEST_GRAPH_STAGE_H
#define HY_TEST_GRAPH_STAGE_H

#include "unit.h"

#include "core/csr_build.h"

/* StageRun: runs an algorithm with this allocator and cancel. */
typedef HyStatus (*StageRun)(void *arg, const HyAllocator *allocator, const HyCancel *cancel);

/* stage_graph: build a graph of these edges, which stay as they are. */
static UNIT_UNUSED HyCsr
stage_graph(const HyEdge *edges, int64_t count, HyDirection direction, HyMerge merge)
{
	HyEdge *work = malloc(sizeof(HyEdge) * (size_t) (count + 1));
	HyCsrInput input = {.edge = work, .count = count, .direction = direction, .merge = merge};
	HyCsr graph;

	if (count > 0)
		memcpy(work, edges, sizeof(HyEdge) * (size_t) count);
	CHECK_INT(hy_csr_build_from(&input, &hy_malloc_allocator, NULL, &graph, NULL), HY_OK);
	free(work);
	return graph;
}

/*
 * stage_edges: make random edges between ids 0 .. nodes - 1, with self loops, parallel edges and
 * weights 0, 1, 2, ..., whose sums are exact.
 */
static UNIT_UNUSED HyEdge *
stage_edges(UnitRandom *random, int64_t nodes, int64_t count)
{
	HyEdge *edges = malloc(sizeof(HyEdge) * (size_t) (count + 1));
	int64_t i;

	for (i = 0; i < count; i++)
	{
		edges[i].source = (int64_t) unit_random_below(random, (uint64_t) nodes);
		edges[i].target = (int64_t) unit_random_below(random, (uint64_t) nodes);
		edges[i].weight = (float) unit_random_below(random, 8);
	}
	return edges;
}

/* stage_chain: build a graph of the edges i -> i + 1, longer than a few blocks. */
static UNIT_UNUSED HyCsr
stage_chain(int64_t edges, HyDirection direction)
{
	HyEdge *edge = malloc(sizeof(HyEdge) * (size_t) edges);
	HyCsr graph;
	int64_t i;

	for (i = 0; i < edges; i++)
		edge[i] = (HyEdge){i, i + 1, 1};
	graph = stage_graph(edge, edges, direction, HY_MERGE_SUM);
	free(edge);
	return graph;
}

/* stage_allocations: check that a run reports each allocation that fails; return their number. */
static UNIT_UNUSED int64_t
stage_allocations(StageRun run, void *arg)
{
	int64_t fail_at;

	for (fail_at = 1;; fail_at++)
	{
		UnitMemory memory;
		HyStatus status;

		unit_memory_init(&memory, fail_at);
		status = run(arg, &memory.allocator, NULL);
		CHECK_INT(status, memory.failures > 0 ? HY_NOMEM : HY_OK);
		CHECK_INT(memory.outstanding, 0);
		if (memory.failures == 0)
			return fail_at - 1;
	}
}

/*
 * stage_polls: check that a run ends at its polls, or at some of them if they are many, run to the
 * end once more, and return the number of polls.
 */
static UNIT_UNUSED int64_t
stage_polls(StageRun run, void *arg)
{
	UnitCancel cancel;
	int64_t polls;
	int64_t stop;

	unit_cancel_init(&cancel, 0);
	CHECK_INT(run(arg, &hy_malloc_allocator, &cancel.cancel), HY_OK);
	polls = cancel.polls;
	for (stop = 1; stop <= polls; stop += 1 + polls / 16)
	{
		UnitMemory memory;

		unit_cancel_init(&cancel, stop);
		unit_memory_init(&memory, 0);
		CHECK_INT(run(arg, &memory.allocator, &cancel.cancel), HY_CANCELLED);
		CHECK_INT(cancel.polls, stop);
		CHECK_INT(memory.outstanding, 0);
	}
	CHECK_INT(run(arg, &hy_malloc_allocator, NULL), HY_OK);
	return polls;
}

#endif
