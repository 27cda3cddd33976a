/*
 * memory.h
 *		A HyAllocator over a MemoryContext, and the memory limit for maintenance.
 */
#ifndef HYBRID_MEMORY_H
#define HYBRID_MEMORY_H

#include "postgres.h"

#include "core/allocator.h"

/* hybrid_allocator: make an allocator in context.  It returns NULL when out of memory, and never raises. */
extern HyAllocator hybrid_allocator(MemoryContext context);

/*
 * hybrid_maintenance_memory: return the kB that this process may use to build or vacuum an index.  This is
 * maintenance_work_mem, or autovacuum_work_mem in an autovacuum worker if that is set.
 */
extern int hybrid_maintenance_memory(void);

#endif
