/*
 * label_propagation.c
 *		Communities by label propagation (U. Raghavan, R. Albert and S. Kumara, "Near linear time
 *		algorithm to detect community structures in large-scale networks", 2007).
 *
 * Each node begins with a label of its own.  In each pass, in a random order, a node takes the label
 * that has the largest sum of weights among its neighbors.  It keeps its label if that is one of the
 * largest; otherwise a random number for each label decides among equals.  So each change increases
 * the weight of the edges within communities, and the passes end when nothing changes.  Rounding
 * may make equal sums unequal, and labels could then change forever.  So the number of passes is
 * limited.
 */
#include "core/label_propagation.h"

#include <stdbool.h>
#include <string.h>

#include "core/communities.h"

/* Entries between two polls of the caller's cancel: about 0.5 ms. */
#define BLOCK 65536

#define MOST_PASSES 100

/* Labels: the state of the passes. */
typedef struct Labels
{
	const HyCsr *graph;
	uint64_t seed;
	uint32_t *label;
	uint32_t *order;
	double *sum;       /* weight of the neighbors with each label; 0 between two nodes */
	uint32_t *touched; /* labels whose sum is not 0 */
} Labels;

static HyStatus pass(Labels *labels, int step, const HyCancel *cancel, bool *changed);
static uint32_t best_label(Labels *labels, uint32_t node, uint64_t series);

HyStatus
hy_label_propagation(const HyCsr *graph, uint64_t seed, const HyAllocator *allocator,
                     const HyCancel *cancel, uint32_t *community)
{
	size_t nodes = (size_t) graph->nodes;
	Labels labels = {graph, seed, community, NULL, NULL, NULL};
	bool changed = true;
	int64_t i;
	int step;
	HyStatus status = HY_NOMEM;

	if (nodes == 0)
		return HY_OK;
	labels.order = hy_alloc_array(allocator, nodes, sizeof(uint32_t));
	labels.sum = hy_alloc_array(allocator, nodes, sizeof(double));
	labels.touched = hy_alloc_array(allocator, nodes, sizeof(uint32_t));
	if (labels.order == NULL || labels.sum == NULL || labels.touched == NULL)
		goto done;

	for (i = 0; i < graph->nodes; i++)
	{
		community[i] = (uint32_t) i;
		labels.sum[i] = 0;
	}
	status = HY_OK;
	for (step = 0; step < MOST_PASSES && changed && status == HY_OK; step++)
		status = pass(&labels, step, cancel, &changed);
	/* touched is not needed any more; now it holds the smallest number of a node with each label */
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
	return status;
}

/* pass: let each node take the best label of its neighbors, in a random order. */
static HyStatus
pass(Labels *labels, int step, const HyCancel *cancel, bool *changed)
{
	const HyCsr *graph = labels->graph;
	uint64_t series = hy_random(labels->seed, (uint64_t) (MOST_PASSES + step));
	int64_t polled = BLOCK;
	int64_t i;

	*changed = false;
	hy_communities_shuffle(labels->seed, (uint64_t) step, graph->nodes, labels->order);
	for (i = 0; i < graph->nodes; i++)
	{
		uint32_t node = labels->order[i];
		uint32_t label;

		polled += 1 + graph->row_start[node + 1] - graph->row_start[node];
		if (polled > BLOCK)
		{
			polled = 0;
			if (hy_cancelled(cancel))
				return HY_CANCELLED;
		}
		label = best_label(labels, node, series);
		if (label != labels->label[node])
		{
			labels->label[node] = label;
			*changed = true;
		}
	}
	return HY_OK;
}

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

		if (labels->sum[label] > labels->sum[best] ||
		    (labels->sum[label] == labels->sum[best] && best != own &&
		     hy_random(series, label) < hy_random(series, best)))
			best = label;
	}
	for (i = 0; i < touched; i++)
		labels->sum[labels->touched[i]] = 0;
	return best;
}
