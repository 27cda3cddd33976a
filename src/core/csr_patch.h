/*
 * csr_patch.h
 *		Replaces some edges of a graph.  The result has the same bits as a graph that is built from
 *		all edges again.
 *
 * The edges of a graph come from origins (csr.h), for example from the pages of a table.  A patch
 * replaces all edges of some origins.
 *
 * If 100 of 16 million edges change, or 100 edges of new nodes are added, a patch takes about 1/70
 * of the time of a new build.  Most of this time is spent on passes over the entries.
 */
#ifndef HY_CSR_PATCH_H
#define HY_CSR_PATCH_H

#include "core/csr.h"

typedef struct HyCsrPatch
{
	/* changed[o] is set if the edges of origin o are replaced; changed[HY_ORIGIN_MANY] is false */
	const bool *changed;
	const HyEdge *edge;     /* the edges that these origins have now */
	const uint32_t *origin; /* origin of each of these edges */
	int64_t count;
	HyDirection direction; /* must be the same as in the build */
	HyMerge merge;
	/*
	 * called before the graph or its origins change, and not at all if nothing changes; may be NULL
	 */
	HyStatus (*before_change)(void *arg);
	void *arg;
} HyCsrPatch;

/*
 * hy_csr_patch: patch a graph.  Sets *differs to whether the patch changes the graph itself, and
 * not only origins.  The arrays are changed in place.  Returns the same errors as a build, or the
 * error of before_change.  On failure, the graph and its origins are freed.  But they are unchanged
 * if before_change is set and either failed or was not yet called.
 */
extern HyStatus hy_csr_patch(HyCsr *csr, HyOrigins *origins, const HyCsrPatch *patch,
                             const HyAllocator *allocator, const HyCancel *cancel, bool *differs);

#endif
