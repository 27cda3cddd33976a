/*
 * path.h
 *		The shortest path from one node to another.
 */
#ifndef HY_PATH_H
#define HY_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/allocator.h"
#include "core/cancel.h"
#include "core/csr.h"
#include "core/status.h"

/* HyPath: the nodes of a path in their order.  The caller supplies arrays of `nodes` entries. */
typedef struct HyPath
{
	uint32_t *step; /* the nodes, from source to target */
	double *cost;   /* the cost from the source to each of these nodes */
	int64_t steps;  /* number of nodes, 0 if there is no path */
} HyPath;

/*
 * hy_path: find a path from source to target with the smallest cost.  The cost is the sum of the
 * weights in fp64 if `weighted` is set, and otherwise the number of edges.  Among several paths of
 * the smallest cost, the choice depends on the graph only.
 *
 * Takes O(nodes + edges) time, or O((nodes + edges) log(nodes)) if `weighted` is set.  Returns
 * HY_OK, HY_NOMEM or HY_CANCELLED.
 */
extern HyStatus hy_path(const HyCsr *graph, uint32_t source, uint32_t target, bool weighted,
                        const HyAllocator *allocator, const HyCancel *cancel, HyPath *path);

#endif
