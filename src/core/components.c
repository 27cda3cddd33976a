/*
 * components.c
 *		Weakly connected components by union and find.
 *
 * component[] is a forest: each node points to its parent, whose number is not larger.  So the root
 * of a tree is its smallest node.  Paths are halved on the way to the root (R. Tarjan and J. van
 * Leeuwen, "Worst-case analysis of set union algorithms", 1984).
 */
#include "core/components.h"

HyStatus
hy_components(const HyCsr *graph, const HyCancel *cancel, uint32_t *component)
{
	int64_t row = 0;
	int64_t i;

	for (i = 0; i < graph->nodes; i++)
		component[i] = (uint32_t) i;
	for (i = 0; i < graph->edges; i++)
	{
		if (hy_cancelled_at(i, cancel))
			return HY_CANCELLED;
		while (graph->row_start[row + 1] <= i)
			row++;
		hy_components_join(component, (uint32_t) row, graph->column[i]);
	}
	/* The parent of i is i itself, or a smaller node, which by now points to the root. */
	for (i = 0; i < graph->nodes; i++)
		component[i] = component[component[i]];
	return HY_OK;
}
