/*
 * triangles.c
 *		Counts triangles along directed edges.
 *
 * Each edge is directed from the node with fewer neighbors to the one with more, and among equals to
 * the larger number.  So no node has more than about sqrt(2 * edges) edges that leave it, and each
 * triangle has one node that two of its edges leave.  Marking the targets of that node finds the
 * triangle once (T. Schank and D. Wagner, "Finding, counting and listing all triangles in large
 * graphs", 2005).
 */
#include "core/triangles.h"

#include <stdbool.h>
#include <string.h>

/* Entries between two polls of the caller's cancel: about 0.3 ms. */
#define BLOCK 65536

#define NONE UINT32_MAX

/* Directed: the edges that leave each node. */
typedef struct Directed
{
	int64_t *start;   /* nodes + 1 entries */
	uint32_t *target; /* ascending for each node */
	uint32_t *mark;   /* the last node that marked each node; NONE at first */
} Directed;

static HyStatus direct(const HyCsr *graph, const HyCancel *cancel, Directed *directed);
static HyStatus
count(const HyCsr *graph, const Directed *directed, const HyCancel *cancel, int64_t *triangles);
static int64_t neighbors_of(const HyCsr *graph, int64_t node);

HyStatus
hy_triangles(const HyCsr *graph, const HyAllocator *allocator, const HyCancel *cancel,
             int64_t *triangles, double *clustering)
{
	Directed directed = {NULL, NULL, NULL};
	int64_t i;
	HyStatus status = HY_NOMEM;

	if (graph->nodes == 0)
		return HY_OK;
	directed.start = hy_alloc_array(allocator, (size_t) graph->nodes + 1, sizeof(int64_t));
	/* half of the entries, as each edge has two, and self loops are left out */
	directed.target = hy_alloc_array(allocator, (size_t) graph->edges / 2 + 1, sizeof(uint32_t));
	directed.mark = hy_alloc_array(allocator, (size_t) graph->nodes, sizeof(uint32_t));
	if (directed.start == NULL || directed.target == NULL || directed.mark == NULL)
		goto done;
	status = direct(graph, cancel, &directed);
	if (status == HY_OK)
		status = count(graph, &directed, cancel, triangles);
	for (i = 0; status == HY_OK && i < graph->nodes; i++)
	{
		double neighbors = (double) neighbors_of(graph, i);

		clustering[i] =
			neighbors < 2 ? 0 : (double) triangles[i] / (neighbors * (neighbors - 1) / 2);
	}

done:
	hy_free(allocator, directed.start);
	hy_free(allocator, directed.target);
	hy_free(allocator, directed.mark);
	return status;
}

static HyStatus
direct(const HyCsr *graph, const HyCancel *cancel, Directed *directed)
{
	int64_t filled = 0;
	int64_t i;
	int64_t e;

	/* the number of neighbors is wanted for each edge: mark holds it until the edges are directed */
	for (i = 0; i < graph->nodes; i++)
		directed->mark[i] = (uint32_t) neighbors_of(graph, i);
	for (i = 0; i < graph->nodes; i++)
	{
		directed->start[i] = filled;
		for (e = graph->row_start[i]; e < graph->row_start[i + 1]; e++)
		{
			uint32_t other = graph->column[e];

			if (e % BLOCK == 0 && hy_cancelled(cancel))
				return HY_CANCELLED;
			if (directed->mark[other] > directed->mark[i] ||
			    (other > i && directed->mark[other] == directed->mark[i]))
				directed->target[filled++] = other;
		}
	}
	directed->start[graph->nodes] = filled;
	memset(directed->mark, -1, (size_t) graph->nodes * sizeof(uint32_t));
	return HY_OK;
}

static HyStatus
count(const HyCsr *graph, const Directed *directed, const HyCancel *cancel, int64_t *triangles)
{
	const int64_t *start = directed->start;
	int64_t polled = 0;
	int64_t i;
	int64_t e;
	int64_t f;

	memset(triangles, 0, (size_t) graph->nodes * sizeof(int64_t));
	for (i = 0; i < graph->nodes; i++)
	{
		for (e = start[i]; e < start[i + 1]; e++)
			directed->mark[directed->target[e]] = (uint32_t) i;
		for (e = start[i]; e < start[i + 1]; e++)
		{
			uint32_t second = directed->target[e];

			polled += 1 + start[second + 1] - start[second];
			if (polled >= BLOCK)
			{
				polled = 0;
				if (hy_cancelled(cancel))
					return HY_CANCELLED;
			}
			for (f = start[second]; f < start[second + 1]; f++)
			{
				uint32_t third = directed->target[f];

				if (directed->mark[third] != (uint32_t) i)
					continue;
				triangles[i]++;
				triangles[second]++;
				triangles[third]++;
			}
		}
	}
	return HY_OK;
}

/* neighbors_of: return the number of neighbors of a node, not counting the node itself. */
static int64_t
neighbors_of(const HyCsr *graph, int64_t node)
{
	int64_t low = graph->row_start[node];
	int64_t high = graph->row_start[node + 1];
	int64_t end = high;

	while (low < high)
	{
		int64_t middle = low + (high - low) / 2;

		if (graph->column[middle] < node)
			low = middle + 1;
		else
			high = middle;
	}
	return end - graph->row_start[node] - (low < end && graph->column[low] == node);
}
