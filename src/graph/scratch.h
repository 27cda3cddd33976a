/*
 * scratch.h
 *		Working memory that a session keeps from one call of a graph function to the next.
 *
 * A call over a graph of 100,000 nodes needs several MB for arrays. If this memory went back to the
 * operating system after each call, the next call would spend about half of its time on page faults.
 */
#ifndef HYBRID_GRAPH_SCRATCH_H
#define HYBRID_GRAPH_SCRATCH_H

#include "postgres.h"

#include "core/allocator.h"

/*
 * hybrid_scratch: return an allocator that takes memory from the session's block while there is room, and
 * from context otherwise. Everything is freed when context is reset or deleted. Only one context at a
 * time uses the block: the first that allocates, until it is reset or deleted.
 */
extern HyAllocator hybrid_scratch(MemoryContext context);

#endif
