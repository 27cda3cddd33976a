/*
 * segment.h
 *		Segments: the inverted lists of part of a list of sparse vectors.
 *
 * A segment describes a range of consecutive list pages, with up to HY_POSTING_ROWS slots. It has pages of its own.
 * Each of them has the link of the segment, as each page of a list has the link of the list. The kinds of page are:
 *
 *		SEGMENT		the head: a HybridSegment, with a HybridDimension for each DIMENSIONS page
 *		DIMENSIONS	a HybridDimension for each POSTINGS page
 *		POSTINGS	a HybridPostings, then runs: each is a HybridRun, the numbers of its rows, and their values as
 *					multiples of the run's step (core/postings.h). The dimensions of the runs ascend over all pages of
 *					a segment. A dimension with many postings has several runs.
 *
 * Slot s of list page n of the range, counted from 0, is row n * (entries of a list page) + s. A segment never changes.
 * Each list page names the segment that describes it, if there is one, and its blocks say which entries were written
 * later (`fresh`). So an entry that is live and not fresh is as the segment describes it. To replace a segment, VACUUM
 * writes a new one, names it on all list pages, and then frees the old one. If a reader finds that a page of a segment
 * is gone, it reads the list page again.
 */
#ifndef HYBRID_INDEX_SEGMENT_H
#define HYBRID_INDEX_SEGMENT_H

#include "core/postings.h"

#include "index/page/index.h"

/* HybridDimension: the block of a POSTINGS or DIMENSIONS page, and the first dimension on that page. */
typedef struct HybridDimension
{
	int32 least; /* the first dimension on the page */
	BlockNumber block;
} HybridDimension;

/* HybridSegment: the beginning of the head of a segment. A HybridDimension for each DIMENSIONS page follows. */
typedef struct HybridSegment
{
	uint32 first;    /* number of the first list page that is described, from 0 */
	uint32 pages;    /* number of list pages */
	uint32 rows;     /* number of rows that are described */
	uint32 count;    /* number of DIMENSIONS pages */
	uint64 postings; /* number of postings */
} HybridSegment;

StaticAssertDecl(sizeof(HybridSegment) == 24, "the head of a segment is 24 bytes on disk");

/* HybridPostings: the beginning of a POSTINGS page. */
typedef struct HybridPostings
{
	BlockNumber next; /* the next POSTINGS page, or InvalidBlockNumber */
	uint32 unused;
} HybridPostings;

/* HybridRun: the beginning of a run of postings of one dimension. Its `count` row numbers and multiples follow. */
typedef struct HybridRun
{
	int32 dim;
	float step;
	float loss; /* greatest rounding error of a value */
	uint16 count;
	uint16 unused;
} HybridRun;

StaticAssertDecl(sizeof(HybridRun) == 16, "the head of a run is 16 bytes on disk");

#define HYBRID_POSTING_BYTES (sizeof(uint16) + sizeof(int16))
#define HYBRID_PAGE_BYTES (BLCKSZ - SizeOfPageHeaderData - MAXALIGN(sizeof(HybridPageSpecial)))
/* maximum numbers of pages that a DIMENSIONS page and the head of a segment name */
#define HYBRID_DIMENSIONS_MOST (HYBRID_PAGE_BYTES / sizeof(HybridDimension))
#define HYBRID_SEGMENT_MOST ((HYBRID_PAGE_BYTES - sizeof(HybridSegment)) / sizeof(HybridDimension))

/* hybrid_dimensions_count: return the number of entries of a DIMENSIONS page. */
static inline int
hybrid_dimensions_count(Page page)
{
	return (((PageHeader) page)->pd_lower - (int) SizeOfPageHeaderData) /
	       (int) sizeof(HybridDimension);
}

/* hybrid_segment_pages: return the maximum number of list pages that a segment describes. */
static inline int
hybrid_segment_pages(const HybridLayout *layout)
{
	return HY_POSTING_ROWS / layout->leaf.rows;
}

/* hybrid_page_of_segment: test whether a page belongs to a segment. */
static inline bool
hybrid_page_of_segment(Page page)
{
	uint16 kind = hybrid_special(page)->kind;

	return kind == HYBRID_PAGE_SEGMENT || kind == HYBRID_PAGE_DIMENSIONS ||
	       kind == HYBRID_PAGE_POSTINGS;
}

/* hybrid_run_rows, hybrid_run_multiples: return the array of row numbers, and of multiples, that follows a run. */
static inline uint16 *
hybrid_run_rows(const HybridRun *run)
{
	return (uint16 *) (run + 1);
}

static inline int16 *
hybrid_run_multiples(const HybridRun *run)
{
	return (int16 *) (hybrid_run_rows(run) + run->count);
}

/*
 * hybrid_run_next: return the run after `run` on a POSTINGS page, or the first run if `run` is NULL. Returns NULL after
 * the last run. Raises ERRCODE_INDEX_CORRUPTED if the run does not end on the page.
 */
extern const HybridRun *
hybrid_run_next(Relation index, BlockNumber block, Page page, const HybridRun *run);

/* HybridSegmentReader: an open segment. */
typedef struct HybridSegmentReader
{
	Relation index;
	HybridLink link;
	HybridSegment head;
	HybridDimension *dimensions; /* of the DIMENSIONS pages; allocated by hybrid_segment_open */
} HybridSegmentReader;

/* hybrid_segment_open: read the head of a segment. Returns false if the segment no longer exists. */
extern bool hybrid_segment_open(Relation index, HybridLink link, HybridSegmentReader *reader);

/* hybrid_segment_close: free the memory of an open segment. */
extern void hybrid_segment_close(HybridSegmentReader *reader);

/*
 * hybrid_segment_page: read a page of the segment, and lock it in share mode. Returns InvalidBuffer if the segment
 * no longer exists. Raises ERRCODE_INDEX_CORRUPTED if the header of the page is not valid.
 */
extern Buffer
hybrid_segment_page(const HybridSegmentReader *reader, HybridPageKind kind, BlockNumber block);

/*
 * hybrid_segment_find: set *block to the first POSTINGS page that may have postings of a dimension, or to
 * InvalidBlockNumber if the segment has no postings. Returns false if the segment no longer exists.
 */
extern bool hybrid_segment_find(const HybridSegmentReader *reader, int32 dim, BlockNumber *block);

/*
 * hybrid_segment_blocks: return the blocks of all pages of a segment, the head last, in the current memory context.
 * Returns NULL if the segment no longer exists.
 */
extern BlockNumber *hybrid_segment_blocks(const HybridSegmentReader *reader, int *count);

#endif
