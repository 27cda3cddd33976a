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
 * w_c is the sum of the entries within community c, s_c that of all entries in its rows, and 2m that
 * of all entries.  It is 0 for a graph without weight, in which each node is its own community.  The
 * graph was built with HY_DIRECTION_BOTH, so a self loop counts twice.  resolution is finite, >= 0;
 * a larger one gives smaller communities.  Each community is connected by edges of weight above 0.
 * The result depends on the graph, the resolution and the seed only.
 *
 * Usually takes time in the order of nodes + edges, times a small number of rounds; memory for the
 * nodes, and for twice the edges.  Returns HY_OK, HY_NOMEM, HY_CANCELLED, or HY_INVALID for another
 * resolution.
 */
extern HyStatus
hy_leiden(const HyCsr *graph, double resolution, uint64_t seed, const HyAllocator *allocator,
          const HyCancel *cancel, uint32_t *community, double *modularity);

#endif
