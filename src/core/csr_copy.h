/*
 * csr_copy.h
 *		Copies a graph together with its origins.
 */
#ifndef HY_CSR_COPY_H
#define HY_CSR_COPY_H

#include "core/csr.h"

/* hy_csr_copy_bytes assumes that each array starts at a multiple of this number of bytes. */
#define HY_CSR_COPY_ALIGN 16

/*
 * hy_csr_copy: copy a graph and its origins.  The copy has no room for more nodes or edges.  When out
 * of memory, frees what it has allocated and returns HY_NOMEM.
 */
extern HyStatus hy_csr_copy(const HyCsr *csr, const HyOrigins *origins,
                            const HyAllocator *allocator, HyCsr *csr_copy, HyOrigins *origins_copy);

/* hy_csr_copy_bytes: return the bytes of memory that a copy needs, including alignment. */
extern uint64_t hy_csr_copy_bytes(const HyCsr *csr, const HyOrigins *origins);

#endif
