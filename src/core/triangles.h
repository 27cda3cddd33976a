/*
 * triangles.h
 *		The number of triangles at each node, and its clustering coefficient.
 */
#ifndef HY_TRIANGLES_H
#define HY_TRIANGLES_H

#include <stdint.h>

#include "core/allocator.h"
#include "core/cancel.h"
#include "core/csr.h"
#include "core/status.h"

/*
 * hy_triangles: set triangles[i] to the number of sets of three nodes that contain node i and in
 * which each two are neighbors; and clustering[i] to the share of the pairs of different neighbors
 * of i that are neighbors themselves, 0 for fewer than two neighbors.  The graph is one of
 * HY_DIRECTION_BOTH.  Self loops and weights do not count.
 *
 * Takes time in the order of edges^1.5, and memory for nodes + edges.  Returns HY_OK, HY_NOMEM or
 * HY_CANCELLED.
 */
extern HyStatus hy_triangles(const HyCsr *graph, const HyAllocator *allocator,
                             const HyCancel *cancel, int64_t *triangles, double *clustering);

#endif
