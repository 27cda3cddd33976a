/*
 * csr_copy.h
 *		Copies a graph together with its origins.
 */
#ifndef HY_CSR_COPY_H
#define HY_CSR_COPY_H

#include "core/csr.h"

/* The bytes that hy_csr_copy needs are counted as if each array started at a multiple of this. */
#define HY_CSR_COPY_ALIGN 16

/*
 * hy_csr_copy: copy a graph and its origins.  The copy has no room for more nodes or edges.  Returns
 * HY_NOMEM when out of memory.  Then nothing is left allocated.
 */
extern HyStatus hy_csr_copy(const HyCsr *csr, const HyOrigins *origins,
                            const HyAllocator *allocator, HyCsr *csr_copy, HyOrigins *origins_copy);

/* hy_csr_copy_bytes: return the bytes that hy_csr_copy allocates for a graph. */
extern uint64_t hy_csr_copy_bytes(const HyCsr *csr, const HyOrigins *origins);

#endif
