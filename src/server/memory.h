/*
 * memory.h
 *		A MemoryContext in the shape that pure code takes, and how much there is for maintenance.
 */
#ifndef HYBRID_MEMORY_H
#define HYBRID_MEMORY_H

#include "postgres.h"

#include "core/allocator.h"

/* hybrid_allocator: allocates in context, returns NULL when out of memory, never raises. */
extern HyAllocator hybrid_allocator(MemoryContext context);

/*
 * hybrid_maintenance_memory: kB that this process may use to build an index or to vacuum it: maintenance_work_mem, and in
 * an autovacuum worker autovacuum_work_mem, where that is set.
 */
extern int hybrid_maintenance_memory(void);

#endif
