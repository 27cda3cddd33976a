/*
 * csr_build.h
 *		Builds a graph (csr.h) from its edges.
 */
#ifndef HY_CSR_BUILD_H
#define HY_CSR_BUILD_H

#include "core/csr.h"

/* HyCsrInput: the edges of a graph. */
typedef struct HyCsrInput
{
	HyEdge *edge;     /* edges; the build overwrites them */
	uint32_t *origin; /* origin of each edge; NULL if origins are not wanted */
	int64_t count;
	bool owned; /* the build frees edge and origin with its allocator, also on failure */
	HyDirection direction;
	HyMerge merge;
} HyCsrInput;

/*
 * hy_csr_bytes: return an upper bound of the memory that a build needs for this many edges,
 * including scratch memory, and including the edges and origins if the build owns them.  A caller
 * can use this bound to refuse a task before it starts.
 */
extern uint64_t hy_csr_bytes(int64_t edges, HyDirection direction);

/*
 * hy_csr_build: build csr from edges in any order.  The edges are overwritten.  Self-loops are
 * ordinary edges.  Under HY_DIRECTION_BOTH they count twice, as W + W^T requires.  Returns
 * HY_NOMEM, HY_CANCELLED, HY_INVALID for a negative or non-finite weight or when a summed weight
 * overflows fp32, or HY_QUOTA for more than 2^31 nodes or 2^32 - 1 edges.  Under HY_DIRECTION_BOTH,
 * the limit is half as many edges.  On failure nothing is left allocated.
 */
extern HyStatus hy_csr_build(HyEdge *edges, int64_t count, HyDirection direction,
                             const HyAllocator *allocator, const HyCancel *cancel, HyCsr *csr);

/*
 * hy_csr_build_from: build as hy_csr_build does, and fill origins.  `origins` may be NULL if the
 * input has none.
 */
extern HyStatus hy_csr_build_from(const HyCsrInput *input, const HyAllocator *allocator,
                                  const HyCancel *cancel, HyCsr *csr, HyOrigins *origins);

#endif
