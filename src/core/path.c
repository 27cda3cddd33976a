/*
 * path.c
 *		The shortest path between two nodes, searched backward from the target.
 *
 * For each node, the graph lists the edges that end there.  So the search starts at the target, and
 * the path is then read from the source on.  The weighted search is E. W. Dijkstra's (Numerische
 * Mathematik 1, pages 269 to 271, 1959), with a binary heap in which nodes move up when they get
 * nearer.  Among equal distances, the node with the smaller number is taken first.  The search by
 * weight stops when it takes the source from the heap.  The search by edges stops as soon as it
 * reaches the source.
 *
 * Costs are added again from the source on.  So the cost of a node on the path does not depend on
 * the nodes after it.
 */
#include "core/path.h"

#include <math.h>
#include <string.h>

#define NONE UINT32_MAX

/* Search: the state of a search. */
typedef struct Search
{
	const HyCsr *graph;
	const HyCancel *cancel;
	uint32_t *next;   /* next node from each node to the target; NONE if it is not reached yet */
	double *distance; /* cost from each node to the target; INFINITY if it is not reached yet */
	uint32_t *heap;   /* nodes that are reached but not taken; without weights: the queue */
	uint32_t *place;  /* index of each node in the heap */
	int64_t count;    /* nodes in the heap */
	int64_t polled;   /* entries examined since the last poll */
} Search;

static HyStatus search_by_edges(Search *search, uint32_t source, uint32_t target);
static HyStatus search_by_weight(Search *search, uint32_t source, uint32_t target);
static bool must_stop(Search *search, int64_t entries);
static bool is_nearer(const Search *search, uint32_t a, uint32_t b);
static void move_up(Search *search, int64_t i);
static uint32_t take_nearest(Search *search);
static void
read_path(const Search *search, uint32_t source, uint32_t target, bool weighted, HyPath *path);
static float weight_of(const HyCsr *graph, uint32_t source, uint32_t target);

HyStatus
hy_path(const HyCsr *graph, uint32_t source, uint32_t target, bool weighted,
        const HyAllocator *allocator, const HyCancel *cancel, HyPath *path)
{
	size_t nodes = (size_t) graph->nodes;
	Search search;
	int64_t i;
	HyStatus status = HY_NOMEM;

	path->steps = 0;
	memset(&search, 0, sizeof(search));
	search.graph = graph;
	search.cancel = cancel;
	search.next = hy_alloc_array(allocator, nodes, sizeof(uint32_t));
	search.heap = hy_alloc_array(allocator, nodes, sizeof(uint32_t));
	if (weighted)
	{
		search.distance = hy_alloc_array(allocator, nodes, sizeof(double));
		search.place = hy_alloc_array(allocator, nodes, sizeof(uint32_t));
	}
	if (search.next == NULL || search.heap == NULL ||
	    (weighted && (search.distance == NULL || search.place == NULL)))
		goto done;

	memset(search.next, -1, nodes * sizeof(uint32_t));
	for (i = 0; weighted && i < graph->nodes; i++)
		search.distance[i] = INFINITY;
	search.next[target] = target;
	status = weighted ? search_by_weight(&search, source, target)
	                  : search_by_edges(&search, source, target);
	if (status == HY_OK && search.next[source] != NONE)
		read_path(&search, source, target, weighted, path);

done:
	hy_free(allocator, search.next);
	hy_free(allocator, search.heap);
	hy_free(allocator, search.distance);
	hy_free(allocator, search.place);
	return status;
}

static HyStatus
search_by_edges(Search *search, uint32_t source, uint32_t target)
{
	const HyCsr *graph = search->graph;
	int64_t taken;

	search->heap[search->count++] = target;
	for (taken = 0; taken < search->count && search->next[source] == NONE; taken++)
	{
		uint32_t node = search->heap[taken];
		int64_t i;

		if (must_stop(search, graph->row_start[node + 1] - graph->row_start[node]))
			return HY_CANCELLED;
		for (i = graph->row_start[node]; i < graph->row_start[node + 1]; i++)
		{
			uint32_t before = graph->column[i];

			if (search->next[before] != NONE)
				continue;
			search->next[before] = node;
			search->heap[search->count++] = before;
		}
	}
	return HY_OK;
}

static HyStatus
search_by_weight(Search *search, uint32_t source, uint32_t target)
{
	const HyCsr *graph = search->graph;

	search->distance[target] = 0;
	search->heap[0] = target;
	search->place[target] = 0;
	search->count = 1;
	while (search->count > 0)
	{
		uint32_t node = take_nearest(search);
		int64_t i;

		if (node == source)
			break;
		if (must_stop(search, graph->row_start[node + 1] - graph->row_start[node]))
			return HY_CANCELLED;
		for (i = graph->row_start[node]; i < graph->row_start[node + 1]; i++)
		{
			uint32_t before = graph->column[i];
			double distance = search->distance[node] + graph->weight[i];

			if (!(distance < search->distance[before]))
				continue;
			if (search->next[before] == NONE)
			{
				search->place[before] = (uint32_t) search->count;
				search->heap[search->count++] = before;
			}
			search->next[before] = node;
			search->distance[before] = distance;
			move_up(search, search->place[before]);
		}
	}
	return HY_OK;
}

/*
 * must_stop: count entries to be examined next, and poll cancel once per HY_CANCEL_BLOCK of them.
 */
static bool
must_stop(Search *search, int64_t entries)
{
	search->polled += entries + 1;
	if (search->polled < HY_CANCEL_BLOCK)
		return false;
	search->polled = 0;
	return hy_cancelled(search->cancel);
}

static bool
is_nearer(const Search *search, uint32_t a, uint32_t b)
{
	if (search->distance[a] != search->distance[b])
		return search->distance[a] < search->distance[b];
	return a < b;
}

/* move_up: move the node at index i of the heap up to where it belongs. */
static void
move_up(Search *search, int64_t i)
{
	uint32_t node = search->heap[i];

	while (i > 0 && is_nearer(search, node, search->heap[(i - 1) / 2]))
	{
		search->heap[i] = search->heap[(i - 1) / 2];
		search->place[search->heap[i]] = (uint32_t) i;
		i = (i - 1) / 2;
	}
	search->heap[i] = node;
	search->place[node] = (uint32_t) i;
}

/* take_nearest: remove and return the nearest node of a heap that is not empty. */
static uint32_t
take_nearest(Search *search)
{
	uint32_t nearest = search->heap[0];
	uint32_t node = search->heap[--search->count];
	int64_t i = 0;

	for (;;)
	{
		int64_t child = 2 * i + 1;

		if (child >= search->count)
			break;
		if (child + 1 < search->count &&
		    is_nearer(search, search->heap[child + 1], search->heap[child]))
			child++;
		if (!is_nearer(search, search->heap[child], node))
			break;
		search->heap[i] = search->heap[child];
		search->place[search->heap[i]] = (uint32_t) i;
		i = child;
	}
	search->heap[i] = node;
	search->place[node] = (uint32_t) i;
	return nearest;
}

static void
read_path(const Search *search, uint32_t source, uint32_t target, bool weighted, HyPath *path)
{
	uint32_t node = source;
	double sum = 0;

	for (;;)
	{
		path->step[path->steps] = node;
		path->cost[path->steps++] = sum;
		if (node == target)
			return;
		sum += weighted ? weight_of(search->graph, node, search->next[node]) : 1;
		node = search->next[node];
	}
}

/* weight_of: return the weight of an edge of the graph. */
static float
weight_of(const HyCsr *graph, uint32_t source, uint32_t target)
{
	int64_t low = graph->row_start[target];
	int64_t high = (int64_t) graph->row_start[target + 1] - 1;

	while (low < high)
	{
		int64_t middle = low + (high - low) / 2;

		if (graph->column[middle] < source)
			low = middle + 1;
		else
			high = middle;
	}
	return graph->weight[low];
}
