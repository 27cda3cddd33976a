/*
 * look_ahead.h
 *		Where the value that is wanted next will lie, so that it can be on its way already.
 *
 * A scan hands values over one by one.  Each lies some kilobytes from the last, on another page of
 * memory as often as not, where the processor's own prefetching starts anew: half of the time of a
 * distance is waiting for its row.  But the addresses repeat a pattern, for rows of one size lie at
 * the same places of each page of a table, and pages often one after the other in the buffers.
 * HyLookAhead learns how far it was from each such place to the next value, and says where the next
 * value is expected once it has been right; where there is no pattern it expects nothing.
 *
 * It only ever compares and adds addresses.  What it says may be wrong, or belong to nobody: it is
 * good for hy_fetch, which reads nothing, and for nothing else.
 */
#ifndef HY_LOOK_AHEAD_H
#define HY_LOOK_AHEAD_H

#include <stddef.h>
#include <stdint.h>

/* A table's page, and the parts of it that are told apart. */
#define HY_LOOK_AHEAD_PAGE 8192
#define HY_LOOK_AHEAD_PLACES 8
#define HY_CACHE_LINE 64

/* HyPlace: what came after a value that began in this part of a page. */
typedef struct HyPlace
{
	intptr_t step; /* from there to the next value; 0: none yet */
	int sure;      /* 0 .. 3: how often that was so, less how often it was not */
} HyPlace;

/* HyLookAhead: all zero before the first value. */
typedef struct HyLookAhead
{
	uintptr_t last;
	HyPlace places[HY_LOOK_AHEAD_PLACES];
} HyLookAhead;

/*
 * hy_look_ahead: value is in use now; returns where the next one is expected, or 0.  A value that is
 * in use again, at the same address, changes nothing and has no next one.
 */
extern uintptr_t hy_look_ahead(HyLookAhead *ahead, const void *value);

/* hy_fetch: asks for the cache lines of size bytes from an address on, whether they exist or not. */
static inline void
hy_fetch(uintptr_t address, size_t size)
{
	size_t i;

	for (i = 0; i < size; i += HY_CACHE_LINE)
		__builtin_prefetch((const void *) (address + i));
}

#endif
