/*
 * leiden.h
 *		Communities by the Leiden method, which maximizes modularity.
 */
#ifndef HY_LEIDEN_H
#define HY_LEIDEN_H

#include <stdint.h>

#include "core/allocator.h"
#include "core/cancel.h"
#include "core/csr.h"
#include "core/status.h"

/*
 * hy_leiden: set community[i] to the smallest number of a node in the community of node i, and
 * *modularity to
 *
 *		1 / 2m * sum over communities of (w_c - resolution * s_c^2 / 2m)
 *
 * Here w_c is the sum of the entries within community c, s_c is the sum of all entries in the rows
 * of its nodes, and 2m is the sum of all entries.  If 2m is 0, the modularity is 0 and each node is
 * a community of its own.  The graph must have been built with HY_DIRECTION_BOTH, so a self loop
 * counts twice.  resolution is finite and >= 0; a larger resolution gives smaller communities.  Each
 * community is connected by edges of weight above 0.  The result depends on the graph, the
 * resolution and the seed only.
 *
 * Usually takes O(nodes + edges) time for each of a few rounds.  Takes memory for the nodes, and for
 * twice the edges.  Returns HY_OK, HY_NOMEM, HY_CANCELLED, or HY_INVALID for a resolution out of
 * range.
 */
extern HyStatus
hy_leiden(const HyCsr *graph, double resolution, uint64_t seed, const HyAllocator *allocator,
          const HyCancel *cancel, uint32_t *community, double *modularity);

#endif
