/*
 * csr_number.h
 *		Numbers the nodes of a graph in ascending order of their ids.
 */
#ifndef HY_CSR_NUMBER_H
#define HY_CSR_NUMBER_H

#include "core/csr.h"

/*
 * hy_csr_number: fill in csr->ids and csr->nodes, and replace the ends of each edge by the numbers
 * of their nodes.  If `patchable` is set, ids has room for the nodes of a patch.  Returns HY_NOMEM,
 * HY_CANCELLED, HY_INVALID for a negative or non-finite weight, or HY_QUOTA for more than 2^31
 * nodes.  On failure, csr->ids may be left allocated.
 */
extern HyStatus hy_csr_number(HyEdge *edge, int64_t count, bool patchable,
                              const HyAllocator *allocator, const HyCancel *cancel, HyCsr *csr);

#endif
