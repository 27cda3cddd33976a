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

/* Row: a row whose vector may have to be read, because its bound was low enough when it was scored. */
typedef struct Row
{
	HybridVectorPosition at;
	int32 list;
	float error; /* standard deviation of the estimate of its distance */
	int64 position;
} Row;

struct HybridLookup
{
	MemoryContext context;
	HybridScorer scorer;
	HybridFrontier frontier;
	HybridLookupWork *work;
	Row *rows;
	HyLazyHeap rows_order; /* heap of the rows that wait */
	int rows_count;
	int rows_allocated;
	bool keeps_pages;   /* see hybrid_lookup_keep_pages */
	BlockNumber *pages; /* if so, the list page of each row */
	int pages_allocated;
	HybridFoundRows found;
	HyTopK nearest;
	int nearest_allocated;
	HybridScanQuals *filter;
	bool likely;     /* the filter checks only likely rows: see go_on */
	bool bounded;    /* the bounds apply to rows that the filter checks */
	int64 most_rows; /* bounds of the search: see hybrid_lookup_bound */
	double most_memory;
	HyScanLimit reached;               /* the bound that has ended the search */
	const HyWordCondition *conditions; /* on words of included columns */
	int conditions_count;
	uint32 *wanted; /* rows that satisfy them, by block of a page */
	HybridStopping stopping;
	int found_before; /* number of rows found before the last lists were examined */
};

/*
 * hybrid_lookup_estimate_limit: return the estimate above which no row is nearer than the k-th best, in the unit of
 * the estimates. It is infinite if there are fewer than k rows. By taxicab distance, some of the rows that are as near
 * as the k-th best have greater estimates than its own. They are in lists that must be examined, too.
 */
extern float hybrid_lookup_estimate_limit(const HybridLookup *search);

/*
 * hybrid_lookup_examine_lists: examine some of the lists that may have nearer rows. Returns false if there are
 * no such lists.
 */
extern bool hybrid_lookup_examine_lists(HybridLookup *search);

#endif
