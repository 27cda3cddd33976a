/*
 * postings_pass.h
 *		A pass of an exact scan over sparse vectors, by their inverted lists.
 */
#ifndef HYBRID_INDEX_POSTINGS_PASS_H
#define HYBRID_INDEX_POSTINGS_PASS_H

#include "index/page/segment.h"
#include "index/scan/scan.h"

/* HybridPostingsRow: a row whose distance is to be computed. */
typedef struct HybridPostingsRow
{
	BlockNumber block; /* list page of the row's entry */
	uint16 slot;
	HyNeighbor lower; /* lower bound of the distance, and position in the table */
	double upper;     /* upper bound of the distance */
} HybridPostingsRow;

/* HybridPostingsPass: the state of a pass. */
typedef struct HybridPostingsPass
{
	HySparse query;
	HybridLink list; /* the list of the index */
	/* segment whose sums are in `sums`; its head is InvalidBlockNumber if there is none */
	HybridLink segment;
	uint32 first; /* number of the first list page that the segment describes */
	uint32 pages; /* number of these list pages */
	float *sums;  /* sum of the postings of each row of the segment */
	HyPostingsBounds bounds;
	HyPostingsTest test;      /* test that near_rows made last, for the limit test.limit */
	HybridPostingsRow *found; /* rows of this segment that may be among the nearest */
	int count;
	int room;
	HyTopK nearest; /* the k least upper bounds of this segment's rows; k is 0 if unused */
	MemoryContext context;
} HybridPostingsPass;

/* hybrid_postings_pass_new: allocate the state of passes, in the current memory context. */
extern HybridPostingsPass *hybrid_postings_pass_new(void);

/*
 * hybrid_postings_pass: offer the nearest rows as candidates, as a pass over all stored values would. Distances are
 * computed only for rows that their bounds do not exclude, and for rows that no segment describes.
 */
extern void hybrid_postings_pass(IndexScanDesc scan);

#endif
