/*
 * lookup_state.h
 *		Declarations shared by lookup.c and lookup_lists.c.
 */
#ifndef HYBRID_INDEX_LOOKUP_STATE_H
#define HYBRID_INDEX_LOOKUP_STATE_H

#include "core/lazy_heap.h"
#include "core/topk.h"

#include "index/scan/frontier.h"
#include "index/scan/lookup.h"
#include "index/scan/stopping.h"

/* Row: a row whose vector may have to be read, because its lower bound was low enough when it was scored. */
typedef struct Row
{
	HybridVectorPosition at;
	int32 list;     /* number of its list in frontier.lists */
	float error;    /* standard deviation of the estimate of its distance */
	int64 position; /* position in the table (server/position.h) */
} Row;

struct HybridLookup
{
	MemoryContext context;
	HybridScorer scorer;
	HybridFrontier frontier;
	HybridLookupWork *work;
	Row *rows;
	HyLazyHeap rows_order; /* priority queue of the rows that wait, least lower bound first */
	int rows_count;
	int rows_allocated;
	bool keeps_pages;   /* see hybrid_lookup_keep_pages */
	BlockNumber *pages; /* list page of each row, if keeps_pages is set */
	int pages_allocated;
	HybridFoundRows found;
	HyTopK nearest; /* the k best of the rows found, by upper bound */
	int nearest_allocated;
	HybridScanQuals *filter;
	bool likely;     /* the filter checks only likely rows: see go_on */
	bool bounded;    /* the bounds of the search are tested before each use of the filter */
	int64 most_rows; /* bounds of the search: see hybrid_lookup_bound */
	double most_memory;
	HyScanLimit reached;               /* see hybrid_lookup_reached */
	const HyWordCondition *conditions; /* conditions on words of keys and included columns */
	int conditions_count;
	uint32 *wanted; /* for each block of a page, a mask of the rows that satisfy the conditions */
	HybridStopping stopping;
	int found_before; /* number of rows found before the last lists were examined */
};

/*
 * hybrid_lookup_estimate_limit: return the distance of the k-th best row, converted to the unit of the estimates. A row
 * with a greater lower bound need not be read. The result is infinite if fewer than k rows are known. By taxicab
 * distance, the result is greater than the k-th best row's own estimate, because rows that are as near may have greater
 * estimates, and the lists of these rows must be examined, too.
 */
extern float hybrid_lookup_estimate_limit(const HybridLookup *search);

/*
 * hybrid_lookup_examine_lists: examine some of the lists that may have nearer rows. Returns false if there are
 * no such lists.
 */
extern bool hybrid_lookup_examine_lists(HybridLookup *search);

#endif
