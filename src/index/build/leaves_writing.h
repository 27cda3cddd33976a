/*
 * leaves_writing.h
 *		State shared by leaves.c, which writes leaves list by list, and leaves_by_key.c, which writes them key by key.
 */
#ifndef HYBRID_INDEX_LEAVES_WRITING_H
#define HYBRID_INDEX_LEAVES_WRITING_H

#include "index/build/leaves.h"

/* HybridWriting: the destination of the leaves, and the sort of the outliers that are set aside. */
typedef struct HybridWriting
{
	HybridSink *sink;
	bool central; /* there is only one leaf, and its centroid is the center of the index */
	HybridLeafDone done;
	void *arg;
	MemoryContext context;   /* memory context in which `done` is called */
	HybridRowSort *outliers; /* NULL: outliers stay in their lists */
	int64 outlier_rows;
} HybridWriting;

/*
 * hybrid_leaves_load_most: return the maximum number of rows of a list that are loaded at a time. It is
 * at least 2 * list_size.
 */
extern int hybrid_leaves_load_most(const HybridLeaves *leaves);

/* hybrid_leaves_allocate: allocate space for rows in the current memory context. */
extern void hybrid_leaves_allocate(const HybridLeaves *leaves, HybridContents *rows, int most);

/* hybrid_leaves_load: load the next row of a sort. */
extern void hybrid_leaves_load(HybridLeaves *leaves, HybridRowSort *from, HybridContents *rows);

/*
 * hybrid_leaves_write_rows: write the first `count` of these rows as one leaf, or as several leaves if they are too
 * many for one. Memory comes from the current memory context.
 */
extern void hybrid_leaves_write_rows(HybridLeaves *leaves, HybridWriting *writing,
                                     const HybridContents *rows, int count, int list_size);

/* hybrid_leaves_write_by_key: write all rows, which are sorted by key. */
extern void hybrid_leaves_write_by_key(HybridLeaves *leaves, HybridWriting *writing);

#endif
