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

/*
 * hy_path: find a path from source to target with the smallest cost.  The cost is the sum of the
 * weights in fp64, or, unless `weighted`, the number of edges.  *steps is the number of nodes on the
 * path, 0 if there is none; step[] lists them from source to target, and cost[] the cost from the
 * source to each.  Both have space for `nodes` entries.  Among several paths of the smallest cost,
 * the choice depends on the graph only.
 *
 * Takes time in the order of nodes + edges, weighted in that of (nodes + edges) * log(nodes).
 * Returns HY_OK, HY_NOMEM or HY_CANCELLED.
 */
extern HyStatus hy_path(const HyCsr *graph, uint32_t source, uint32_t target, bool weighted,
                        const HyAllocator *allocator, const HyCancel *cancel, uint32_t *step,
                        double *cost, int64_t *steps);

#endif
