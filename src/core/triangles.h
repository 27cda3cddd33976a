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

#define HY_TRIANGLES_THREAD sizeof(uint32_t)

/*
 * hy_triangles_work: estimate the size of the computation for a graph with these numbers of nodes and
 * entries, as hy_threads_for expects it.
 */
extern double hy_triangles_work(int64_t nodes, int64_t edges);

/*
 * hy_triangles: count the triangles of each node.  A triangle is a set of three nodes that are all
 * neighbors of each other.  triangles[i] is set to the number of triangles that contain node i.
 * clustering[i] is set to the share of the pairs of neighbors of i that are neighbors of each
 * other, or to 0 if i has fewer than two neighbors.  The graph must have been built with
 * HY_DIRECTION_BOTH.  Self loops and weights do not count.
 *
 * Takes at most time proportional to edges^1.5, and memory proportional to nodes + edges.  Uses the
 * threads that hy_threads_allow allows; each thread but the first takes HY_TRIANGLES_THREAD bytes
 * per node.  Returns HY_OK, HY_NOMEM or HY_CANCELLED.
 */
extern HyStatus hy_triangles(const HyCsr *graph, const HyAllocator *allocator,
                             const HyCancel *cancel, int64_t *triangles, double *clustering);

#endif
