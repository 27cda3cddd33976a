/*
 * reach.h
 *		The nodes within a number of edges of some nodes: breadth-first search.
 */
#ifndef HY_REACH_H
#define HY_REACH_H

#include <stdint.h>

#include "core/allocator.h"
#include "core/cancel.h"
#include "core/csr.h"
#include "core/status.h"

#define HY_REACH_UNLIMITED (-1)

/*
 * hy_reach: set hop[i] to the length of the shortest path from any of the starts to node i, in
 * edges, or to -1 if none has at most `hops` edges.  Paths follow the edges (HY_DIRECTION_OUT),
 * follow them backward, or both.  hops may be HY_REACH_UNLIMITED.  Starts may repeat.
 *
 * order lists the *reached nodes by hop, then by number.  hop and order have `nodes` entries.  Takes
 * time in the order of the nodes of the graph and the edges of the nodes that are reached.  Returns
 * HY_OK, HY_NOMEM or HY_CANCELLED.
 */
extern HyStatus hy_reach(const HyCsr *graph, HyDirection direction, const uint32_t *start,
                         int64_t starts, int64_t hops, const HyAllocator *allocator,
                         const HyCancel *cancel, int32_t *hop, uint32_t *order, int64_t *reached);

#endif
