/*
 * shared_memory.h
 *		Requests shared memory, with locks, for parts of the library.
 */
#ifndef HYBRID_SHARED_MEMORY_H
#define HYBRID_SHARED_MEMORY_H

#include "postgres.h"

#include "storage/lwlock.h"

/* HybridSharedPart: memory that all backends share. */
typedef struct HybridSharedPart
{
	const char *name; /* of the memory and of its locks */
	int locks;
	Size (*bytes)(void);
	/*
	 * Stores the addresses, and initializes the memory if it is new. The postmaster calls it again after
	 * a crash.
	 */
	void (*start)(void *memory, LWLockPadded *locks, bool is_new);
} HybridSharedPart;

/*
 * hybrid_request_shared: request the memory of a part, if the postmaster preloads the library now.
 * Otherwise the part gets no memory, and start is never called.  _PG_init calls this for each part.
 */
extern void hybrid_request_shared(const HybridSharedPart *part);

#endif
