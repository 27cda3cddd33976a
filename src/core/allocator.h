/*
 * allocator.h
 *		Memory allocation for pure code.
 *
 * In the server, an allocator wraps a MemoryContext.  In the unit tests, an allocator wraps malloc,
 * and can be told to fail at the N-th call.  An allocator that cannot serve a request returns NULL
 * and never raises an error.
 */
#ifndef HY_ALLOCATOR_H
#define HY_ALLOCATOR_H

#include <stddef.h>

typedef struct HyAllocator
{
	void *(*alloc)(void *arg, size_t size); /* 16-byte alignment is not guaranteed */
	void (*free)(void *arg, void *pointer); /* hy_free never passes NULL */
	void *arg;
} HyAllocator;

/*
 * hy_alloc: allocate size bytes, uninitialized.  Returns NULL when out of memory or when size is 0.
 */
extern void *hy_alloc(const HyAllocator *allocator, size_t size);

/* hy_alloc_zero: allocate as hy_alloc does, and fill the memory with zeros. */
extern void *hy_alloc_zero(const HyAllocator *allocator, size_t size);

/* hy_alloc_array: allocate count * size bytes.  Also returns NULL when the product overflows. */
extern void *hy_alloc_array(const HyAllocator *allocator, size_t count, size_t size);

/* hy_free: release memory.  pointer may be NULL. */
extern void hy_free(const HyAllocator *allocator, void *pointer);

/* hy_malloc_allocator: malloc and free, for tests, benchmarks and plug-ins. */
extern const HyAllocator hy_malloc_allocator;

#endif
