/*
 * ground_truth_state.h
 *		Declarations shared by ground_truth.c and ground_truth_batches.c.
 */
#ifndef HYBRID_INDEX_GROUND_TRUTH_STATE_H
#define HYBRID_INDEX_GROUND_TRUTH_STATE_H

#include "core/score.h"
#include "core/topk.h"

#include "index/scan/frontier.h"
#include "index/scan/lookup.h"
#include "index/build/ground_truth.h"

/* number of standard deviations of an estimate's error that its bounds allow for */
#define HYBRID_TRUTHS_SURE 4
/* number of rows with the lowest bounds that are kept per query */
#define HYBRID_TRUTHS_KEPT 512

/* Leaf: a leaf list, and the entry of the inner list that has its centroid. */
typedef struct Leaf
{
	HybridLink link;
	const HybridInner *above; /* NULL if the list is the root, whose centroid is the center */
	int entry;
} Leaf;

/* Gathered: a block of rows whose codes were gathered, and its location. */
typedef struct Gathered
{
	BlockNumber page;
	int first; /* slot of the block's first row */
	int leaf;
} Gathered;

/* ScoredRow: a row whose vector was read. */
typedef struct ScoredRow
{
	double distance;
	int64 position;
} ScoredRow;

/* Batch: a batch of codes from some lists. */
typedef struct Batch
{
	int blocks;
	int most_blocks;
	char *content; /* codes and then factors of each block */
	Size stride;
	uint32 *live;
	int lists;
	int most_lists;
	int32_t *begin;
	HyScoreReach *reach; /* distances to the lists; queries * most_lists */
	HyNeighbor *out;     /* results of scoring; queries * HYBRID_TRUTHS_KEPT */
	int32_t *counts;
} Batch;

typedef struct Search
{
	Relation index;
	const HybridIndex *open;
	int queries;
	int k; /* number of rows wanted, plus one for the query's own row */
	HybridProbe *probes;
	/* one scorer per query; they share everything that does not depend on the query */
	HybridScorer *scorers;
	HyCodeQuery *prepared;
	HybridFrontier frontier; /* all lists of the index */
	Leaf *leaves;
	int leaves_count;
	float *centroid; /* space for one centroid */
	Batch batch;
	Gathered *gathered; /* locations of all blocks so far */
	int64 gathered_count;
	int64 gathered_allocated;
	HyTopK *kept;
	HyTopK nearest;
	ScoredRow *found;
	int found_count;
	float widest; /* maximum error of the computed distances, from the rounding of stored vectors */
	HybridLookup *lookup;
} Search;

/*
 * hybrid_ground_truth_gather: score the codes of all leaves for all queries, batch by batch. Fills
 * `kept` and `gathered`.
 */
extern void hybrid_ground_truth_gather(Search *search);

#endif
