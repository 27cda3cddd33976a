/*
 * segment_rows.h
 *		Finds the postings of a range of list pages, in the order of a segment.
 */
#ifndef HYBRID_INDEX_SEGMENT_ROWS_H
#define HYBRID_INDEX_SEGMENT_ROWS_H

#include "index/page/segment.h"

/*
 * maximum number of postings of a segment. With this limit, its head can name all of its pages, even if
 * each dimension has only one posting. A range with more postings is searched without a segment.
 */
#define HYBRID_POSTINGS_MOST (HYBRID_SEGMENT_MOST * HYBRID_DIMENSIONS_MOST * 400)

/* HybridPosting: an element of a row. */
typedef struct HybridPosting
{
	int32 dim;
	float value;
	uint16 row; /* number of the row in the segment */
} HybridPosting;

/*
 * HybridSegmentRows: the rows of a range of list pages. Their postings are returned in the order of
 * their dimensions, as many at a time as memory allows. The rows are those that were live when they
 * were first read. Only VACUUM makes rows dead. All users of this struct exclude VACUUM or are part of
 * it, so the set of rows does not change.
 */
typedef struct HybridSegmentRows
{
	Relation index;
	const HybridIndex *open;
	HybridLink list;
	const BlockNumber *blocks; /* list pages */
	int pages;
	uint32 *live;    /* bitmap of the rows, layout.leaf.blocks words for each page */
	float *measures; /* measure of each row */
	uint32 rows;     /* number of rows */
	uint64 total;    /* number of their postings; known after the first hybrid_segment_rows_next */
	HybridPosting *postings;
	int64 count; /* number of postings that the last call returned */
	int64 room;
	int64 next; /* first dimension that was not returned yet */
	bool read;  /* all rows have been read at least once */
	char *value;
} HybridSegmentRows;

/*
 * hybrid_segment_rows_begin: prepare to read these list pages, in the current memory context. If
 * `wanted` is not NULL, it is a bitmap like `live`, and only its rows are read. Otherwise all live rows
 * are read.
 */
extern void hybrid_segment_rows_begin(HybridSegmentRows *rows, Relation index,
                                      const HybridIndex *open, HybridLink list,
                                      const BlockNumber *blocks, int pages, const uint32 *wanted);

/*
 * hybrid_segment_rows_next: find the postings of the next dimensions, sorted by dimension and row.
 * Returns false if none are left, or if there are more than HYBRID_POSTINGS_MOST in all. Memory is
 * limited by maintenance_work_mem, or by autovacuum_work_mem in autovacuum if that is set. If the
 * memory is too small for all postings, each call reads the rows again.
 */
extern bool hybrid_segment_rows_next(HybridSegmentRows *rows);

/* hybrid_segment_rows_end: free the memory. */
extern void hybrid_segment_rows_end(HybridSegmentRows *rows);

#endif
