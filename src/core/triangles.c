/*
 * triangles.c
 *		Counts triangles along directed edges.
 *
 * Each edge is directed from the node with fewer neighbors to the node with more.  If both have the
 * same number of neighbors, the edge is directed to the node with the larger number.  So at most
 * about sqrt(2 * edges) edges leave a node, and each triangle has exactly one node that two of its
 * edges leave.  Marking the targets of that node finds the triangle once (T. Schank and D. Wagner,
 * "Finding, counting and listing all triangles in large graphs", 2005).
 */
#include "core/triangles.h"

#include <stdbool.h>
#include <string.h>

#include "core/threads.h"

#define ENTRY_WORK 20.0     /* work of comparing an entry, for hy_threads_for */
#define PARTS_PER_THREAD 32 /* several, so that threads end at about the same time */

/* Directed: the edges that leave each node. */
typedef struct Directed
{
	int64_t *start;   /* nodes + 1 entries */
	uint32_t *target; /* ascending for each node */
	/* per thread, the last node that marked each node; initially UINT32_MAX */
	uint32_t *mark[HY_THREADS_MOST];
} Directed;

/* Counting: a count of all triangles.  Its parts have about the same number of nodes. */
typedef struct Counting
{
	const HyCsr *graph;
	const Directed *directed;
	int64_t *triangles; /* atomic if there are several threads */
	int64_t parts;
	bool shared; /* whether there are several threads */
} Counting;

static HyStatus direct(const HyCsr *graph, const HyCancel *cancel, Directed *directed);
static HyStatus count(const HyCsr *graph, Directed *directed, const HyAllocator *allocator,
                      const HyCancel *cancel, int64_t *triangles);
static HyStatus count_part(void *arg, int64_t part, int worker, const HyCancel *cancel);
static inline void add(int64_t *count, int64_t more, bool shared);
static int64_t neighbors_of(const HyCsr *graph, int64_t node);

double
hy_triangles_work(int64_t nodes, int64_t edges)
{
	double directed = (double) edges / 2;

	return nodes > 0 ? directed * (directed / (double) nodes) * ENTRY_WORK : 0;
}

HyStatus
hy_triangles(const HyCsr *graph, const HyAllocator *allocator, const HyCancel *cancel,
             int64_t *triangles, double *clustering)
{
	Directed directed = {NULL, NULL, {NULL}};
	int64_t i;
	int worker;
	HyStatus status = HY_NOMEM;

	if (graph->nodes == 0)
		return HY_OK;
	directed.start = hy_alloc_array(allocator, (size_t) graph->nodes + 1, sizeof(int64_t));
	/* half of the entries: each edge has two, and self loops are left out */
	directed.target = hy_alloc_array(allocator, (size_t) graph->edges / 2 + 1, sizeof(uint32_t));
	directed.mark[0] = hy_alloc_array(allocator, (size_t) graph->nodes, sizeof(uint32_t));
	if (directed.start == NULL || directed.target == NULL || directed.mark[0] == NULL)
		goto done;
	status = direct(graph, cancel, &directed);
	if (status == HY_OK)
		status = count(graph, &directed, allocator, cancel, triangles);
	for (i = 0; status == HY_OK && i < graph->nodes; i++)
	{
		double neighbors = (double) neighbors_of(graph, i);

		clustering[i] =
			neighbors < 2 ? 0 : (double) triangles[i] / (neighbors * (neighbors - 1) / 2);
	}

done:
	hy_free(allocator, directed.start);
	hy_free(allocator, directed.target);
	for (worker = 0; worker < HY_THREADS_MOST; worker++)
		hy_free(allocator, directed.mark[worker]);
	return status;
}

static HyStatus
direct(const HyCsr *graph, const HyCancel *cancel, Directed *directed)
{
	uint32_t *mark = directed->mark[0];
	int64_t filled = 0;
	int64_t i;
	int64_t e;

	/* until the edges are directed, mark holds the number of neighbors of each node */
	for (i = 0; i < graph->nodes; i++)
		mark[i] = (uint32_t) neighbors_of(graph, i);
	for (i = 0; i < graph->nodes; i++)
	{
		directed->start[i] = filled;
		for (e = graph->row_start[i]; e < graph->row_start[i + 1]; e++)
		{
			uint32_t other = graph->column[e];

			if (hy_cancelled_at(e, cancel))
				return HY_CANCELLED;
			if (mark[other] > mark[i] || (other > i && mark[other] == mark[i]))
				directed->target[filled++] = other;
		}
	}
	directed->start[graph->nodes] = filled;
	memset(mark, -1, (size_t) graph->nodes * sizeof(uint32_t));
	return HY_OK;
}

/*
 * count: count the triangles of all nodes, on several threads if that pays.  If there is not enough
 * memory for all threads, fewer are used.
 */
static HyStatus
count(const HyCsr *graph, Directed *directed, const HyAllocator *allocator, const HyCancel *cancel,
      int64_t *triangles)
{
	size_t nodes = (size_t) graph->nodes;
	int wanted = hy_threads_for(hy_triangles_work(graph->nodes, graph->edges));
	Counting counting = {.graph = graph, .directed = directed, .triangles = triangles};
	int threads;

	memset(triangles, 0, nodes * sizeof(int64_t));
	for (threads = 1; threads < wanted; threads++)
	{
		uint32_t *mark = hy_alloc_array(allocator, nodes, sizeof(uint32_t));

		if (mark == NULL)
			break;
		memset(mark, -1, nodes * sizeof(uint32_t));
		directed->mark[threads] = mark;
	}
	counting.shared = threads > 1;
	counting.parts = counting.shared ? (int64_t) threads * PARTS_PER_THREAD : 1;
	return hy_threads_run(threads, counting.parts, count_part, &counting, cancel);
}

static HyStatus
count_part(void *arg, int64_t part, int worker, const HyCancel *cancel)
{
	const Counting *counting = arg;
	const int64_t *start = counting->directed->start;
	const uint32_t *target = counting->directed->target;
	uint32_t *mark = counting->directed->mark[worker];
	int64_t nodes = counting->graph->nodes;
	int64_t *triangles = counting->triangles;
	bool shared = counting->shared;
	int64_t end = nodes * (part + 1) / counting->parts;
	int64_t polled = 0;
	int64_t i;
	int64_t e;
	int64_t f;

	for (i = nodes * part / counting->parts; i < end; i++)
	{
		int64_t all = 0;

		for (e = start[i]; e < start[i + 1]; e++)
			mark[target[e]] = (uint32_t) i;
		for (e = start[i]; e < start[i + 1]; e++)
		{
			uint32_t second = target[e];
			int64_t found = 0;

			polled += 1 + start[second + 1] - start[second];
			if (polled >= HY_CANCEL_BLOCK)
			{
				polled = 0;
				if (hy_cancelled(cancel))
					return HY_CANCELLED;
			}
			for (f = start[second]; f < start[second + 1]; f++)
			{
				uint32_t third = target[f];

				if (mark[third] != (uint32_t) i)
					continue;
				found++;
				add(&triangles[third], 1, shared);
			}
			add(&triangles[second], found, shared);
			all += found;
		}
		add(&triangles[i], all, shared);
	}
	return HY_OK;
}

/* add: add to a count that other threads may change, too. */
static inline void
add(int64_t *count, int64_t more, bool shared)
{
	if (!shared)
		*count += more;
	else if (more > 0)
		__atomic_fetch_add(count, more, __ATOMIC_RELAXED);
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
