/*
 * reach.c
 *		Breadth-first search: see reach.h.
 *
 * `order` is the queue of the search.  In the queue, the nodes of a hop lie next to each other, in
 * the order in which the search found them.  A counting sort by hop then puts all nodes in the
 * final order.
 */
#include "core/reach.h"

#include <stdbool.h>
#include <string.h>

/* Search: the state of a search. */
typedef struct Search
{
	const HyCancel *cancel;
	int32_t *hop;
	uint32_t *order;
	int64_t found;  /* number of nodes in order */
	int64_t polled; /* entries examined since the last poll */
} Search;

static bool visit(Search *search, const uint32_t *neighbor, int64_t count, int32_t hop);
static HyStatus sort_by_hop(const HyCsr *graph, const HyAllocator *allocator, Search *search);

HyStatus
hy_reach(const HyCsr *graph, HyDirection direction, const HyReachStarts *starts, int64_t hops,
         const HyAllocator *allocator, const HyCancel *cancel, HyReached *reached)
{
	Search search = {cancel, reached->hop, reached->order, 0, 0};
	int64_t next;

	reached->count = 0;
	if (graph->nodes == 0)
		return HY_OK;
	memset(search.hop, -1, (size_t) graph->nodes * sizeof(int32_t));
	if (!visit(&search, starts->node, starts->count, 0))
		return HY_CANCELLED;
	for (next = 0; next < search.found; next++)
	{
		uint32_t node = search.order[next];
		int32_t then = search.hop[node] + 1;

		if (hops != HY_REACH_UNLIMITED && then > hops)
			break;
		if (direction != HY_DIRECTION_IN &&
		    !visit(&search, graph->out_row + graph->out_start[node],
		           graph->out_start[node + 1] - graph->out_start[node], then))
			return HY_CANCELLED;
		if (direction != HY_DIRECTION_OUT &&
		    !visit(&search, graph->column + graph->row_start[node],
		           graph->row_start[node + 1] - graph->row_start[node], then))
			return HY_CANCELLED;
	}
	reached->count = search.found;
	return sort_by_hop(graph, allocator, &search);
}

/* visit: append the neighbors that are new.  Returns false if the caller must stop. */
static bool
visit(Search *search, const uint32_t *neighbor, int64_t count, int32_t hop)
{
	int64_t i;

	/* count one more entry, so that nodes without neighbors count, too */
	search->polled++;
	for (i = 0; i < count; i++)
	{
		uint32_t node = neighbor[i];

		if (search->hop[node] < 0)
		{
			search->hop[node] = hop;
			search->order[search->found++] = node;
		}
		if (++search->polled >= HY_CANCEL_BLOCK)
		{
			search->polled = 0;
			if (hy_cancelled(search->cancel))
				return false;
		}
	}
	return true;
}

/* sort_by_hop: sort the nodes that were found, by hop and then by number. */
static HyStatus
sort_by_hop(const HyCsr *graph, const HyAllocator *allocator, Search *search)
{
	int64_t hops;
	int64_t *place;
	int64_t begin = 0;
	int64_t i;

	if (search->found == 0)
		return HY_OK;
	hops = (int64_t) search->hop[search->order[search->found - 1]] + 1;
	place = hy_alloc_array(allocator, (size_t) hops, sizeof(int64_t));
	if (place == NULL)
		return HY_NOMEM;
	memset(place, 0, (size_t) hops * sizeof(int64_t));
	for (i = 0; i < search->found; i++)
		place[search->hop[search->order[i]]]++;
	for (i = 0; i < hops; i++)
	{
		int64_t count = place[i];

		place[i] = begin;
		begin += count;
	}
	for (i = 0; i < graph->nodes; i++)
	{
		if (search->hop[i] >= 0)
			search->order[place[search->hop[i]]++] = (uint32_t) i;
		if (i % HY_CANCEL_BLOCK == HY_CANCEL_BLOCK - 1 && hy_cancelled(search->cancel))
		{
			hy_free(allocator, place);
			return HY_CANCELLED;
		}
	}
	hy_free(allocator, place);
	return HY_OK;
}
