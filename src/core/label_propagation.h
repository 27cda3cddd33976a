/*
 * label_propagation.h
 *		Communities by label propagation.
 */
#ifndef HY_LABEL_PROPAGATION_H
#define HY_LABEL_PROPAGATION_H

#include <stdint.h>

#include "core/allocator.h"
#include "core/cancel.h"
#include "core/csr.h"
#include "core/status.h"

/*
 * hy_label_propagation: set community[i] to the smallest number of a node in the community of node
 * i.  The graph must have been built with HY_DIRECTION_BOTH.  Self loops and entries of weight 0 do
 * not count.  The result depends on the graph and the seed only.
 *
 * Takes O(nodes + edges) time for each of at most 100 passes, and O(nodes) memory.  Returns HY_OK,
 * HY_NOMEM or HY_CANCELLED.
 */
extern HyStatus
hy_label_propagation(const HyCsr *graph, uint64_t seed, const HyAllocator *allocator,
                     const HyCancel *cancel, uint32_t *community);

#endif
