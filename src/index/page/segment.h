/*
 * segment.h
 *		Segments: the inverted lists of part of a list of sparse vectors.
 *
 * A segment describes a range of consecutive list pages, with up to HY_POSTING_ROWS slots. It has pages of its own,
 * which carry its link as the pages of a list carry the list's:
 *
 *		SEGMENT		the head: a HybridSegment, with a HybridDimension for each DIMENSIONS page
 *		DIMENSIONS	a HybridDimension for each POSTINGS page
 *		POSTINGS	a HybridPostings, then runs: a HybridRun, the numbers of its rows, and their values as multiples
 *					of the run's step (core/postings.h). Runs have ascending dimensions over all pages of a segment; a
 *					dimension with many postings has several runs.
 *
 * Slot s of the n-th list page of the range is row n * (entries of a list page) + s. A segment never changes. Each
 * list page names the segment that describes it, and its blocks say which entries were written later (`fresh`). So an
 * entry that is live and not fresh is as the segment describes it. VACUUM replaces a segment: it writes the new one,
 * then names it on all list pages, then frees the old one. A reader that finds a page of a segment gone reads the
 * list page again.
 */
#ifndef HYBRID_INDEX_SEGMENT_H
#define HYBRID_INDEX_SEGMENT_H

#include "core/postings.h"

#include "index/page/index.h"

/* HybridDimension: the first dimension of a POSTINGS page, or of a DIMENSIONS page. */
typedef struct HybridDimension
{
	int32 least;
	BlockNumber block;
} HybridDimension;

/* HybridSegment: the content of the head of a segment. The dimensions of the DIMENSIONS pages follow. */
typedef struct HybridSegment
{
	uint32 first; /* number of the first list page that is described, from 0 */
	uint32 pages; /* number of list pages */
	uint32 rows;  /* number of rows that are described */
	uint32 count; /* number of DIMENSIONS pages */
	uint64 postings;
} HybridSegment;

StaticAssertDecl(sizeof(HybridSegment) == 24, "the head of a segment is 24 bytes on disk");

/* HybridPostings: the beginning of a POSTINGS page. */
typedef struct HybridPostings
{
	BlockNumber next; /* the next POSTINGS page, or InvalidBlockNumber */
	uint32 unused;
} HybridPostings;

/* HybridRun: postings of one dimension; `count` numbers of rows and `count` multiples of the step follow. */
typedef struct HybridRun
{
	int32 dim;
	float step;
	float loss; /* greatest error of a value */
	uint16 count;
	uint16 unused;
} HybridRun;

StaticAssertDecl(sizeof(HybridRun) == 16, "the head of a run is 16 bytes on disk");

#define HYBRID_POSTING_BYTES (sizeof(uint16) + sizeof(int16))
#define HYBRID_PAGE_BYTES (BLCKSZ - SizeOfPageHeaderData - MAXALIGN(sizeof(HybridPageSpecial)))
/* numbers of pages that a DIMENSIONS page and a head name at most */
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

/* hybrid_run_rows, hybrid_run_multiples: return the arrays that follow a run. */
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
 * hybrid_run_next: return the run after `run` on a POSTINGS page, the first run if `run` is NULL, or NULL after the
 * last one. Raises ERRCODE_INDEX_CORRUPTED if the run does not end on the page.
 */
extern const HybridRun *
hybrid_run_next(Relation index, BlockNumber block, Page page, const HybridRun *run);

/* HybridSegmentReader: an open segment. */
typedef struct HybridSegmentReader
{
	Relation index;
	HybridLink link;
	HybridSegment head;
	HybridDimension *dimensions; /* head.count of them, in the context of hybrid_segment_open */
} HybridSegmentReader;

/* hybrid_segment_open: read the head of a segment. Returns false if the segment does not exist any more. */
extern bool hybrid_segment_open(Relation index, HybridLink link, HybridSegmentReader *reader);

/* hybrid_segment_close: free the memory of an open segment. */
extern void hybrid_segment_close(HybridSegmentReader *reader);

/*
 * hybrid_segment_page: read a page of the segment and lock it in share mode. Returns InvalidBuffer if the segment
 * does not exist any more. Raises ERRCODE_INDEX_CORRUPTED if its contents have no valid bounds.
 */
extern Buffer
hybrid_segment_page(const HybridSegmentReader *reader, HybridPageKind kind, BlockNumber block);

/*
 * hybrid_segment_find: find the first POSTINGS page that may have postings of a dimension. *block is
 * InvalidBlockNumber if there is none. Returns false if the segment does not exist any more.
 */
extern bool hybrid_segment_find(const HybridSegmentReader *reader, int32 dim, BlockNumber *block);

/*
 * hybrid_segment_blocks: return the blocks of all pages of a segment, the head last, in the current memory context.
 * Returns NULL if the segment does not exist any more.
 */
extern BlockNumber *hybrid_segment_blocks(const HybridSegmentReader *reader, int *count);

#endif
