/*
 * allocator.h
 *		Where pure code gets its memory.
 *
 * The server passes a MemoryContext in disguise, the unit tests pass malloc or an allocator that
 * fails at the N-th call.  An allocator returns NULL when it cannot serve; it never raises.
 */
#ifndef HY_ALLOCATOR_H
#define HY_ALLOCATOR_H

#include <stddef.h>

typedef struct HyAllocator
{
	void *(*alloc)(void *arg, size_t size); /* at least 16-byte aligned is not promised */
	void (*free)(void *arg, void *pointer); /* NULL is allowed */
	void *arg;
} HyAllocator;

/* hy_alloc: size bytes, uninitialised; NULL when out of memory or when size is 0. */
extern void *hy_alloc(const HyAllocator *allocator, size_t size);

/* hy_alloc_zero: as hy_alloc, zero-filled. */
extern void *hy_alloc_zero(const HyAllocator *allocator, size_t size);

/* hy_alloc_array: count * size bytes, NULL also when the product overflows. */
extern void *hy_alloc_array(const HyAllocator *allocator, size_t count, size_t size);

/* hy_free: gives memory back; NULL is allowed. */
extern void hy_free(const HyAllocator *allocator, void *pointer);

/* hy_malloc_allocator: malloc and free, for tests, benches and plug-ins. */
extern const HyAllocator hy_malloc_allocator;

#endif
