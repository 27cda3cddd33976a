/*
 * ground_truth_state.h
 *		What ground_truth.c and ground_truth_batches.c share.
 */
#ifndef HYBRID_INDEX_GROUND_TRUTH_STATE_H
#define HYBRID_INDEX_GROUND_TRUTH_STATE_H

#include "core/score.h"
#include "core/topk.h"

#include "index/scan/frontier.h"
#include "index/scan/lookup.h"
#include "index/build/ground_truth.h"

#define HYBRID_TRUTHS_SURE 4   /* deviations of estimates */
#define HYBRID_TRUTHS_KEPT 512 /* rows that a query keeps by their bounds */

/* Leaf: a list, and who has its centroid. */
typedef struct Leaf
{
	HybridLink link;
	const HybridInner *above; /* NULL: the root, whose centroid is the centre */
	int entry;
} Leaf;

/* Gathered: where a block was found. */
typedef struct Gathered
{
	BlockNumber page;
	int first; /* slot of its first row */
	int leaf;
} Gathered;

/* Find: whose vector was looked at. */
typedef struct Find
{
	double distance;
	int64 position;
} Find;

/* Lot: codes of some lists. */
typedef struct Lot
{
	int blocks;
	int most_blocks;
	char *content; /* of each block the codes, then the factors */
	Size stride;
	uint32 *live;
	int lists;
	int most_lists;
	int32_t *begin;
	HyScoreReach *reach; /* queries * most_lists */
	HyNeighbor *out;     /* queries * HYBRID_TRUTHS_KEPT */
	int32_t *counts;
} Lot;

typedef struct Search
{
	Relation index;
	const HybridIndex *open;
	int queries;
	int k; /* wanted, and the query itself */
	HybridProbe *probes;
	HybridScorer *scorers; /* of each query; all but what is the query's own is shared */
	HyCodeQuery *prepared;
	HybridFrontier frontier; /* which knows all lists */
	Leaf *leaves;
	int leaves_count;
	float *centroid; /* room for one */
	Lot lot;
	Gathered *gathered; /* all blocks so far */
	int64 gathered_count;
	int64 gathered_allocated;
	HyTopK *kept;
	HyTopK nearest;
	Find *finds;
	int finds_count;
	float widest; /* by which the distance of a find may be more than it says */
	HybridLookup *lookup;
} Search;

/* hybrid_ground_truth_gather: all queries meet the codes of all leaves, lot by lot; `kept` and `gathered`. */
extern void hybrid_ground_truth_gather(Search *search);

#endif
