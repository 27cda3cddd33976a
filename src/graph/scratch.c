/*
 * scratch.c
 *		Working memory that a session keeps: see scratch.h.
 *
 * The memory is one block. Each allocation takes the next part of the block. A part is reused when it and all
 * later parts have been freed, in any order. So each slice of a batch takes the same parts. An allocation that
 * does not fit the block comes from the call's context. If the last call needed more than the block has, the
 * next call enlarges the block, unless it would then exceed 1 / SHARE of hybrid.graph_memory_limit. Calls that
 * need more memory take so long that page faults matter less.
 *
 * A call takes the block with its first allocation, after it has read the edges. So the graph functions
 * that an edges query calls use the block, too, and so do those in the statement of hybrid_associate.
 */
#include "postgres.h"

#include "graph/scratch.h"
#include "server/memory.h"
#include "server/settings.h"
#include "utils/memutils.h"

#define SHARE 32
#define ALIGNED 64 /* bytes of a cache line */

/* Part: a part of the block. Its header takes ALIGNED bytes, and its memory follows. */
typedef struct Part
{
	struct Part *before; /* NULL: the part is the first */
	bool is_free;
} Part;

static struct
{
	MemoryContext context; /* a context for the block, so that views show its size */
	MemoryContext owner;   /* context of the call that uses the block; NULL: none */
	char *block;
	Size size;
	Size used;
	Part *last;     /* the part that ends at `used`; NULL if there is none */
	Size outside;   /* bytes that the current call has allocated outside the block */
	Size requested; /* peak bytes of the current call; between calls, of the last call */
} kept;

static void take(MemoryContext context);
static void resize_block(void);
static void give_back(void *arg);
static Size bytes_outside(void *pointer);
static void *scratch_alloc(void *arg, size_t size);
static void scratch_free(void *arg, void *pointer);

HyAllocator
hybrid_scratch(MemoryContext context)
{
	/* made here, because this may raise an error, and an allocator must not */
	if (kept.context == NULL)
		kept.context = AllocSetContextCreate(TopMemoryContext, "hybrid graph scratch",
		                                     ALLOCSET_START_SMALL_SIZES);
	return (HyAllocator){.alloc = scratch_alloc, .free = scratch_free, .arg = context};
}

/* take: let this context use the block. Does nothing if there is no memory for the callback that ends the use. */
static void
take(MemoryContext context)
{
	MemoryContextCallback *callback =
		MemoryContextAllocExtended(context, sizeof(MemoryContextCallback), MCXT_ALLOC_NO_OOM);

	if (callback == NULL)
		return;
	callback->func = give_back;
	callback->arg = NULL;
	MemoryContextRegisterResetCallback(context, callback);
	resize_block();
	kept.owner = context;
	kept.used = 0;
	kept.last = NULL;
	kept.outside = 0;
	kept.requested = 0;
}

/*
 * resize_block: enlarge the block to the size that the last call needed, unless this exceeds the limit. Frees a
 * block that exceeds the limit.
 */
static void
resize_block(void)
{
	Size most = (Size) hybrid_graph_memory_limit * 1024 / SHARE;
	Size size = kept.requested > kept.size ? kept.requested : kept.size;
	void *memory = NULL;

	if (size > most)
		size = kept.size <= most ? kept.size : 0;
	if (size == kept.size)
		return;
	MemoryContextReset(kept.context);
	if (size > 0)
		memory = MemoryContextAllocExtended(kept.context, size + ALIGNED,
		                                    MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
	kept.block = (char *) TYPEALIGN(ALIGNED, memory);
	kept.size = memory == NULL ? 0 : size;
}

/* give_back: make the block available to the next call, because the call has ended. */
static void
give_back(void *arg)
{
	(void) arg;
	kept.owner = NULL;
}

/* bytes_outside: return the bytes that an allocation outside the block would have taken in the block. */
static Size
bytes_outside(void *pointer)
{
	return ALIGNED + TYPEALIGN(ALIGNED, GetMemoryChunkSpace(pointer));
}

static void *
scratch_alloc(void *arg, size_t size)
{
	HyAllocator context = hybrid_allocator(arg);
	Size bytes = ALIGNED + TYPEALIGN(ALIGNED, size);
	char *memory;

	if (bytes < size)
		return NULL;
	if (kept.owner == NULL)
		take(arg);
	if (kept.owner == arg && bytes <= kept.size - kept.used)
	{
		Part *part = (Part *) (kept.block + kept.used);

		*part = (Part){.before = kept.last};
		kept.last = part;
		kept.used += bytes;
		memory = (char *) part + ALIGNED;
	}
	else
	{
		memory = context.alloc(context.arg, size);
		if (memory != NULL && kept.owner == arg)
			kept.outside += bytes_outside(memory);
	}
	if (kept.owner == arg)
		kept.requested = Max(kept.requested, kept.used + kept.outside);
	return memory;
}

/* scratch_free: free memory of the context, or a part of the block. */
static void
scratch_free(void *arg, void *pointer)
{
	HyAllocator context = hybrid_allocator(arg);

	if ((char *) pointer >= kept.block && (char *) pointer < kept.block + kept.size)
	{
		((Part *) ((char *) pointer - ALIGNED))->is_free = true;
		for (; kept.last != NULL && kept.last->is_free; kept.last = kept.last->before)
			kept.used = (Size) ((char *) kept.last - kept.block);
		return;
	}
	if (kept.owner == arg)
		kept.outside -= Min(kept.outside, bytes_outside(pointer));
	context.free(context.arg, pointer);
}
