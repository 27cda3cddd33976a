/*
 * look_ahead.h
 *		Predicts the address of the next value, so that it can be prefetched.
 *
 * A scan delivers values one by one.  Each value lies some kilobytes from the previous one, often
 * on another memory page, where the hardware prefetcher has to start anew.  Half of the time of a
 * distance computation is spent waiting for its row.  But the addresses follow a pattern.  Rows of
 * the same size lie at the same offsets in each page of a table, and pages are often adjacent in
 * the buffers.  For each section of a page, HyLookAhead records the distance from a value there to
 * the next value.  Once a recorded distance has been right twice, HyLookAhead uses it to predict
 * the next address.  If there is no pattern, it predicts nothing.
 *
 * HyLookAhead only compares and adds addresses.  A predicted address may be wrong or invalid.  Use
 * such an address only with hy_fetch: a prefetch of an invalid address does nothing.
 */
#ifndef HY_LOOK_AHEAD_H
#define HY_LOOK_AHEAD_H

#include <stddef.h>
#include <stdint.h>

/* Size of a table's page, and the number of sections into which it is divided. */
#define HY_LOOK_AHEAD_PAGE 8192
#define HY_LOOK_AHEAD_SECTIONS 8
#define HY_CACHE_LINE 64

/* HyPageSection: prediction for a value that starts in one section of a page. */
typedef struct HyPageSection
{
	intptr_t step;  /* distance to the next value; 0 if none is recorded yet */
	int confidence; /* 0 .. 3: confirmations of step minus contradictions */
} HyPageSection;

/* HyLookAhead: the structure must be all zeros before the first value. */
typedef struct HyLookAhead
{
	uintptr_t last;
	HyPageSection sections[HY_LOOK_AHEAD_SECTIONS];
} HyLookAhead;

/*
 * hy_look_ahead: record that value is in use now, and return the expected address of the next
 * value, or 0 if unknown.  Using the same address again changes nothing and returns 0.
 */
extern uintptr_t hy_look_ahead(HyLookAhead *ahead, const void *value);

/*
 * hy_fetch: prefetch the cache lines of size bytes starting at an address, which need not be valid.
 */
static inline void
hy_fetch(uintptr_t address, size_t size)
{
	size_t i;

	for (i = 0; i < size; i += HY_CACHE_LINE)
		__builtin_prefetch((const void *) (address + i));
}

#endif
