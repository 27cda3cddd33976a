/*
 * scratch.c
 *		Working memory that a session keeps: see scratch.h.
 *
 * The memory is one block. Allocations take the block's parts one after the other, from its start. What
 * does not fit comes from the call's context. If the last call needed more than the block has, the next
 * call enlarges the block. But a block never has more than 1 / SHARE of hybrid.graph_memory_limit. Calls
 * that need more memory take so long that page faults matter less.
 */
#include "postgres.h"

#include "graph/scratch.h"
#include "server/memory.h"
#include "server/settings.h"
#include "utils/memutils.h"

#define SHARE 32
#define ALIGNED 64 /* bytes of a cache line */

static struct
{
	MemoryContext context; /* a context for the block, so that views show its size */
	char *block;
	Size size;
	Size used;
	Size wanted; /* bytes that the current call has needed; between calls, the last one */
	bool taken;  /* whether a call uses the block */
} kept;

static void fit(void);
static void give_back(void *arg);
static void *scratch_alloc(void *arg, size_t size);
static void scratch_free(void *arg, void *pointer);

HyAllocator
hybrid_scratch(MemoryContext context)
{
	MemoryContextCallback *callback;

	if (kept.taken)
		return hybrid_allocator(context);
	callback = MemoryContextAlloc(context, sizeof(MemoryContextCallback));
	callback->func = give_back;
	callback->arg = NULL;
	fit();
	kept.used = 0;
	kept.wanted = 0;
	kept.taken = true;
	MemoryContextRegisterResetCallback(context, callback);
	return (HyAllocator){.alloc = scratch_alloc, .free = scratch_free, .arg = context};
}

/* fit: enlarge the block to what the last call needed, unless this exceeds the limit. */
static void
fit(void)
{
	Size most = (Size) hybrid_graph_memory_limit * 1024 / SHARE;
	Size size = kept.wanted > kept.size ? kept.wanted : kept.size;

	if (size > most)
		size = kept.size <= most ? kept.size : 0;
	if (size == kept.size)
		return;
	if (kept.context == NULL)
		kept.context = AllocSetContextCreate(TopMemoryContext, "hybrid graph scratch",
		                                     ALLOCSET_START_SMALL_SIZES);
	MemoryContextReset(kept.context);
	kept.block = NULL;
	if (size > 0)
		kept.block =
			MemoryContextAllocExtended(kept.context, size, MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
	kept.size = kept.block == NULL ? 0 : size;
}

/* give_back: make the block available to the next call, because the call has ended. */
static void
give_back(void *arg)
{
	(void) arg;
	kept.taken = false;
}

static void *
scratch_alloc(void *arg, size_t size)
{
	HyAllocator context = hybrid_allocator(arg);
	Size aligned = TYPEALIGN(ALIGNED, size);

	if (aligned < size)
		return NULL;
	if (aligned <= kept.size - kept.used)
	{
		void *place = kept.block + kept.used;

		kept.used += aligned;
		kept.wanted = Max(kept.wanted, kept.used);
		return place;
	}
	kept.wanted += aligned;
	return context.alloc(context.arg, size);
}

/* scratch_free: free memory of the context. Memory of the block stays taken until the call ends. */
static void
scratch_free(void *arg, void *pointer)
{
	HyAllocator context = hybrid_allocator(arg);

	if ((char *) pointer < kept.block || (char *) pointer >= kept.block + kept.size)
		context.free(context.arg, pointer);
}
