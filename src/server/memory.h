/*
 * memory.h
 *		A HyAllocator over a MemoryContext, arrays that grow, and the memory limit for maintenance.
 */
#ifndef HYBRID_MEMORY_H
#define HYBRID_MEMORY_H

#include "postgres.h"

#include "core/allocator.h"

/* hybrid_allocator: make an allocator in context.  It returns NULL when out of memory, and never raises. */
extern HyAllocator hybrid_allocator(MemoryContext context);

/*
 * hybrid_enlarge: enlarge an array to this number of bytes, which may be more than 1 GB. If the array is NULL, it
 * is allocated in context.
 */
extern void *hybrid_enlarge(MemoryContext context, void *array, Size bytes);

/*
 * hybrid_maintenance_memory: return the kB that this process may use to build or vacuum an index.  This is
 * maintenance_work_mem, or autovacuum_work_mem in an autovacuum worker if that is set.
 */
extern int hybrid_maintenance_memory(void);

#endif
