/*
 * memory.c
 *		A HyAllocator over a MemoryContext, arrays that grow, and the memory limit for maintenance.
 *
 * palloc raises when it fails.  A longjmp through pure code would leave inconsistent state behind, so this
 * allocator returns NULL instead.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "postmaster/autovacuum.h"
#include "server/compat.h"
#include "server/memory.h"
#include "utils/memutils.h"

static void *context_alloc(void *arg, size_t size);
static void context_free(void *arg, void *pointer);

HyAllocator
hybrid_allocator(MemoryContext context)
{
	HyAllocator allocator;

	allocator.alloc = context_alloc;
	allocator.free = context_free;
	allocator.arg = context;
	return allocator;
}

void *
hybrid_enlarge(MemoryContext context, void *array, Size bytes)
{
	return array == NULL ? MemoryContextAllocHuge(context, bytes) : repalloc_huge(array, bytes);
}

int
hybrid_maintenance_memory(void)
{
	return AmAutoVacuumWorkerProcess() && autovacuum_work_mem >= 0 ? autovacuum_work_mem
	                                                               : maintenance_work_mem;
}

static void *
context_alloc(void *arg, size_t size)
{
	if (!AllocHugeSizeIsValid(size))
		return NULL;
	return MemoryContextAllocExtended((MemoryContext) arg, size,
	                                  MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
}

static void
context_free(void *arg, void *pointer)
{
	(void) arg;
	pfree(pointer);
}
