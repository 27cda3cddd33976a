/*
 * shared_memory.c
 *		Requests shared memory: see shared_memory.h.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "server/shared_memory.h"
#include "storage/ipc.h"
#include "storage/shmem.h"

#define MOST_PARTS 8

static const HybridSharedPart *parts[MOST_PARTS];
static int count;
static shmem_request_hook_type previous_request_hook;
static shmem_startup_hook_type previous_startup_hook;

static void request_memory(void);
static void start_memory(void);

void
hybrid_request_shared(const HybridSharedPart *part)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	if (count == 0)
	{
		previous_request_hook = shmem_request_hook;
		shmem_request_hook = request_memory;
		previous_startup_hook = shmem_startup_hook;
		shmem_startup_hook = start_memory;
	}
	Assert(count < MOST_PARTS);
	parts[count++] = part;
}

static void
request_memory(void)
{
	int i;

	if (previous_request_hook != NULL)
		previous_request_hook();
	for (i = 0; i < count; i++)
	{
		RequestAddinShmemSpace(parts[i]->bytes());
		if (parts[i]->locks > 0)
			RequestNamedLWLockTranche(parts[i]->name, parts[i]->locks);
	}
}

static void
start_memory(void)
{
	int i;

	if (previous_startup_hook != NULL)
		previous_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	for (i = 0; i < count; i++)
	{
		const HybridSharedPart *part = parts[i];
		bool found;
		void *memory = ShmemInitStruct(part->name, part->bytes(), &found);

		part->start(memory, part->locks > 0 ? GetNamedLWLockTranche(part->name) : NULL, !found);
	}
	LWLockRelease(AddinShmemInitLock);
}
