/*
 * label_propagation.c
 *		Communities by label propagation (U. Raghavan, R. Albert and S. Kumara, "Near linear time
 *		algorithm to detect community structures in large-scale networks", 2007).
 *
 * Each node begins with a label of its own.  In each pass, in a random order, a node takes the
 * label that has the largest sum of weights among its neighbors.  It keeps its own label if no
 * other label has a larger sum.  Among other labels with equal sums, random numbers decide.  So
 * each change increases the weight of the edges within communities, and the passes end when nothing
 * changes.  Rounding may make equal sums unequal, and labels could then change forever.  So the
 * number of passes is limited.
 *
 * If no neighbor of a node has changed its label since the node was last examined, the node would
 * keep its own label.  So a pass skips this node, which does not change the result.  In a graph
 * without structure, many passes change only a few labels.
 */
#include "core/label_propagation.h"

#include <stdbool.h>
#include <string.h>

#include "core/communities.h"

#define MOST_PASSES 100

/* The sums of a node with at most this many neighbors are kept in a list. */
#define FEW_NEIGHBORS 32

/* prefetch distances, in nodes, of the start of a row and of its entries */
#define START_AHEAD 16
#define ENTRIES_AHEAD 8

/* Labels: the label of each node, and the memory that all passes use. */
typedef struct Labels
{
	const HyCsr *graph;
	uint64_t seed;
	uint32_t *label;
	uint32_t *order;
	double *sum; /* per label, weight of the current node's edges to it; all 0 between two nodes */
	uint32_t *touched; /* labels whose sum is not 0 */
	uint64_t *stale;   /* bitmap of the nodes with a neighbor that has changed its label */
} Labels;

static HyStatus pass(Labels *labels, int step, const HyCancel *cancel, bool *changed);
static void prefetch_node(const Labels *labels, int64_t i);
static void mark_neighbors(Labels *labels, uint32_t node);
static uint32_t best_of_few(const Labels *labels, uint32_t node, uint64_t series);
static uint32_t best_label(Labels *labels, uint32_t node, uint64_t series);

HyStatus
hy_label_propagation(const HyCsr *graph, uint64_t seed, const HyAllocator *allocator,
                     const HyCancel *cancel, uint32_t *community)
{
	size_t nodes = (size_t) graph->nodes;
	size_t words = (nodes + 63) / 64;
	Labels labels = {graph, seed, community, NULL, NULL, NULL, NULL};
	bool changed = true;
	int64_t i;
	int step;
	HyStatus status = HY_NOMEM;

	if (nodes == 0)
		return HY_OK;
	labels.order = hy_alloc_array(allocator, nodes, sizeof(uint32_t));
	labels.sum = hy_alloc_array(allocator, nodes, sizeof(double));
	labels.touched = hy_alloc_array(allocator, nodes, sizeof(uint32_t));
	labels.stale = hy_alloc_array(allocator, words, sizeof(uint64_t));
	if (labels.order == NULL || labels.sum == NULL || labels.touched == NULL ||
	    labels.stale == NULL)
		goto done;

	for (i = 0; i < graph->nodes; i++)
	{
		community[i] = (uint32_t) i;
		labels.sum[i] = 0;
	}
	memset(labels.stale, -1, words * sizeof(uint64_t));
	status = HY_OK;
	for (step = 0; step < MOST_PASSES && changed && status == HY_OK; step++)
		status = pass(&labels, step, cancel, &changed);
	/* touched is not needed any more; reuse it for the smallest node with each label */
	memset(labels.touched, -1, nodes * sizeof(uint32_t));
	for (i = 0; i < graph->nodes; i++)
	{
		uint32_t *first = &labels.touched[community[i]];

		if (*first == UINT32_MAX)
			*first = (uint32_t) i;
		community[i] = *first;
	}

done:
	hy_free(allocator, labels.order);
	hy_free(allocator, labels.sum);
	hy_free(allocator, labels.touched);
	hy_free(allocator, labels.stale);
	return status;
}

/* pass: let each node take the best label of its neighbors, in a random order. */
static HyStatus
pass(Labels *labels, int step, const HyCancel *cancel, bool *changed)
{
	const HyCsr *graph = labels->graph;
	uint64_t series = hy_random(labels->seed, (uint64_t) (MOST_PASSES + step));
	int64_t polled = HY_CANCEL_BLOCK;
	int64_t i;

	*changed = false;
	hy_communities_shuffle(labels->seed, (uint64_t) step, graph->nodes, labels->order);
	for (i = 0; i < graph->nodes; i++)
	{
		uint32_t node = labels->order[i];
		uint64_t bit = (uint64_t) 1 << node % 64;
		uint32_t label;
		int64_t entries = 0;

		prefetch_node(labels, i);
		if ((labels->stale[node / 64] & bit) != 0)
			entries = graph->row_start[node + 1] - graph->row_start[node];
		polled += 1 + entries;
		if (polled > HY_CANCEL_BLOCK)
		{
			polled = 0;
			if (hy_cancelled(cancel))
				return HY_CANCELLED;
		}
		if (entries == 0)
			continue;
		labels->stale[node / 64] &= ~bit;
		label = entries <= FEW_NEIGHBORS ? best_of_few(labels, node, series)
		                                 : best_label(labels, node, series);
		if (label != labels->label[node])
		{
			labels->label[node] = label;
			mark_neighbors(labels, node);
			polled += entries;
			*changed = true;
		}
	}
	return HY_OK;
}

/* prefetch_node: prefetch the rows of nodes that soon follow node i of the order. */
static void
prefetch_node(const Labels *labels, int64_t i)
{
	const HyCsr *graph = labels->graph;

	if (i + START_AHEAD < graph->nodes)
		__builtin_prefetch(&graph->row_start[labels->order[i + START_AHEAD]]);
	if (i + ENTRIES_AHEAD < graph->nodes)
	{
		int64_t begin = graph->row_start[labels->order[i + ENTRIES_AHEAD]];

		__builtin_prefetch(&graph->column[begin]);
		__builtin_prefetch(&graph->weight[begin]);
	}
}

/*
 * mark_neighbors: mark the neighbors of a node as stale.  The graph is symmetric, so the row of a
 * node lists all its neighbors.
 */
static void
mark_neighbors(Labels *labels, uint32_t node)
{
	const HyCsr *graph = labels->graph;
	int64_t i;

	for (i = graph->row_start[node]; i < graph->row_start[node + 1]; i++)
		labels->stale[graph->column[i] / 64] |= (uint64_t) 1 << graph->column[i] % 64;
}

/* is_better: return whether a label is better than the best so far, given the sums of both. */
static inline bool
is_better(uint64_t series, uint32_t own, uint32_t label, double sum, uint32_t best, double best_sum)
{
	return sum > best_sum ||
	       (sum == best_sum && best != own && hy_random(series, label) < hy_random(series, best));
}

/* best_of_few: return the same as best_label, for a node with at most FEW_NEIGHBORS entries. */
static uint32_t
best_of_few(const Labels *labels, uint32_t node, uint64_t series)
{
	const HyCsr *graph = labels->graph;
	uint32_t own = labels->label[node];
	uint32_t best = own;
	uint32_t label[FEW_NEIGHBORS];
	double sum[FEW_NEIGHBORS];
	double best_sum = 0;
	int count = 0;
	int64_t i;
	int l;

	for (i = graph->row_start[node]; i < graph->row_start[node + 1]; i++)
	{
		uint32_t here = labels->label[graph->column[i]];

		if (graph->column[i] == node || !(graph->weight[i] > 0))
			continue;
		for (l = 0; l < count && label[l] != here; l++)
			;
		if (l == count)
		{
			label[count] = here;
			sum[count++] = 0;
		}
		sum[l] += graph->weight[i];
	}
	for (l = 0; l < count; l++)
	{
		if (label[l] == own)
			best_sum = sum[l];
	}
	for (l = 0; l < count; l++)
	{
		if (is_better(series, own, label[l], sum[l], best, best_sum))
		{
			best = label[l];
			best_sum = sum[l];
		}
	}
	return best;
}

/* best_label: return the label that the node takes. */
static uint32_t
best_label(Labels *labels, uint32_t node, uint64_t series)
{
	const HyCsr *graph = labels->graph;
	uint32_t own = labels->label[node];
	uint32_t best = own;
	int64_t touched = 0;
	int64_t i;

	for (i = graph->row_start[node]; i < graph->row_start[node + 1]; i++)
	{
		uint32_t label = labels->label[graph->column[i]];

		if (graph->column[i] == node || !(graph->weight[i] > 0))
			continue;
		if (labels->sum[label] == 0)
			labels->touched[touched++] = label;
		labels->sum[label] += graph->weight[i];
	}
	for (i = 0; i < touched; i++)
	{
		uint32_t label = labels->touched[i];

		if (is_better(series, own, label, labels->sum[label], best, labels->sum[best]))
			best = label;
	}
	for (i = 0; i < touched; i++)
		labels->sum[labels->touched[i]] = 0;
	return best;
}
