/*
 * memory.h
 *		A MemoryContext in the shape that pure code takes.
 */
#ifndef HYBRID_MEMORY_H
#define HYBRID_MEMORY_H

#include "postgres.h"

#include "core/allocator.h"

/* hybrid_allocator: allocates in context, returns NULL when out of memory, never raises. */
extern HyAllocator hybrid_allocator(MemoryContext context);

#endif
