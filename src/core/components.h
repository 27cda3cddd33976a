/*
 * components.h
 *		Weakly connected components: nodes are connected by edges in either direction.
 */
#ifndef HY_COMPONENTS_H
#define HY_COMPONENTS_H

#include <stdint.h>

#include "core/cancel.h"
#include "core/csr.h"
#include "core/status.h"

/*
 * hy_components: set component[i] to the smallest number of a node in the component of node i.
 * Even an entry of weight 0 connects its two nodes.  Takes O((nodes + edges) log(nodes)) time at
 * worst, and usually O(nodes + edges).  Allocates no memory.  Returns HY_OK or HY_CANCELLED.
 */
extern HyStatus hy_components(const HyCsr *graph, const HyCancel *cancel, uint32_t *component);

/* hy_components_root: return the root of a node in a forest, and halve the path to it. */
static inline uint32_t
hy_components_root(uint32_t *parent, uint32_t node)
{
	while (parent[node] != node)
	{
		parent[node] = parent[parent[node]];
		node = parent[node];
	}
	return node;
}

/*
 * hy_components_join: join the trees of two nodes.  The smaller of the two roots becomes the root
 * of both.
 */
static inline void
hy_components_join(uint32_t *parent, uint32_t a, uint32_t b)
{
	a = hy_components_root(parent, a);
	b = hy_components_root(parent, b);
	if (a < b)
		parent[b] = a;
	else
		parent[a] = b;
}

#endif
