/*
 * allocator.c
 *		Memory allocation for pure code: see allocator.h.
 */
#include "core/allocator.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *malloc_alloc(void *arg, size_t size);
static void malloc_free(void *arg, void *pointer);

const HyAllocator hy_malloc_allocator = {malloc_alloc, malloc_free, NULL};

void *
hy_alloc(const HyAllocator *allocator, size_t size)
{
	if (size == 0)
		return NULL;
	return allocator->alloc(allocator->arg, size);
}

void *
hy_alloc_zero(const HyAllocator *allocator, size_t size)
{
	void *pointer = hy_alloc(allocator, size);

	if (pointer != NULL)
		memset(pointer, 0, size);
	return pointer;
}

void *
hy_alloc_array(const HyAllocator *allocator, size_t count, size_t size)
{
	if (size != 0 && count > SIZE_MAX / size)
		return NULL;
	return hy_alloc(allocator, count * size);
}

void
hy_free(const HyAllocator *allocator, void *pointer)
{
	if (pointer != NULL)
		allocator->free(allocator->arg, pointer);
}

static void *
malloc_alloc(void *arg, size_t size)
{
	(void) arg;
	return malloc(size);
}

static void
malloc_free(void *arg, void *pointer)
{
	(void) arg;
	free(pointer);
}
