/*
 * reach.h
 *		The nodes within a given number of edges of the start nodes: breadth-first search.
 */
#ifndef HY_REACH_H
#define HY_REACH_H

#include <stdint.h>

#include "core/allocator.h"
#include "core/cancel.h"
#include "core/csr.h"
#include "core/status.h"

#define HY_REACH_UNLIMITED (-1)

/* HyReachStarts: the nodes at which a search starts.  They may repeat. */
typedef struct HyReachStarts
{
	const uint32_t *node;
	int64_t count;
} HyReachStarts;

/* HyReached: what a search found.  The caller supplies arrays of `nodes` entries. */
typedef struct HyReached
{
	int32_t *hop;    /* edges on the shortest path from any start to the node; -1 if not reached */
	uint32_t *order; /* the nodes that are reached, ordered by hop and then by number */
	int64_t count;   /* number of nodes in order */
} HyReached;

/*
 * hy_reach: find the nodes to which a path of at most `hops` edges leads from any of the starts.
 * Paths follow the edges (HY_DIRECTION_OUT), go against them (HY_DIRECTION_IN), or do both
 * (HY_DIRECTION_BOTH).  hops may be HY_REACH_UNLIMITED.
 *
 * Takes time proportional to the nodes of the graph plus the edges of the nodes that are reached.
 * Returns HY_OK, HY_NOMEM or HY_CANCELLED.
 */
extern HyStatus
hy_reach(const HyCsr *graph, HyDirection direction, const HyReachStarts *starts, int64_t hops,
         const HyAllocator *allocator, const HyCancel *cancel, HyReached *reached);

#endif
