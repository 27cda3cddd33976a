/*
 * scorer.h
 *		Compute estimates, bounds and distances from a query, using codes, centroids and vectors.
 */
#ifndef HYBRID_INDEX_SCORER_H
#define HYBRID_INDEX_SCORER_H

#include "core/taxicab.h"

#include "index/page/frame.h"

/*
 * HybridVectorPosition: position of a vector: its page and its slot on that page. If a vector is longer
 * than a page, the position is the list page and the slot of the entry.
 */
typedef struct HybridVectorPosition
{
	BlockNumber block;
	int slot;
} HybridVectorPosition;

/* HybridReach: the distance of a list's centroid c from the query q. */
typedef struct HybridReach
{
	float base;  /* |q - c|^2, or -<q,c> for inner products, in the unit of the estimates */
	float reach; /* |q - c| */
} HybridReach;

/* HybridAim: bounds for scoring the rows of one leaf list. */
typedef struct HybridAim
{
	HyCodeLimits limits;
	HyCodeScorer meeting;
	/* blocks of a page that are scored in full, without an early exit */
	int whole; /* number of such blocks at the beginning of the page */
	int also;  /* number of one more such block; -1: none */
} HybridAim;

/*
 * HybridScorer: state for one query at a time. The arrays belong to the memory context of
 * hybrid_scorer_init.
 */
typedef struct HybridScorer
{
	Relation index;
	HybridIndex open;
	/* snapshot of a scan, which must not miss rows that this snapshot sees; may be NULL */
	Snapshot snapshot;
	HybridTree tree; /* tree as read when the query began */
	HybridFrame frame;
	BlockNumber center; /* first page of the frame's center */
	bool framed;
	MemoryContext frame_context;
	const HybridProbe *probe;
	float *place;    /* place of the query */
	float *absolute; /* the query relative to the origin; for inner products only */
	float *rotated;
	float along;  /* <q,center> */
	float length; /* |q| */
	/* the place and `length` are those of the query times this: see hybrid_scorer_place */
	float stretch;
	uint8 *tables;
	HyCodeQuery query;
	/* results for the last page: numbers by slot, masks by block */
	float *estimates;
	float *lowers;
	uint32 *masks;
	uint32 *taken; /* space for the masks of the previous scoring of a page */
	void *value;   /* the query as a bit string, in an index on bit; else NULL */
	/* in an index by taxicab distance, the rows measured by hybrid_scorer_row and hybrid_scorer_sample */
	HyTaxicab read;
	HyTaxicab sampled;
	/* space for one vector */
	void *vector;
	float *widened;
} HybridScorer;

/* hybrid_scorer_init: allocate memory for queries of this index, in the current memory context. */
extern void hybrid_scorer_init(HybridScorer *scorer, Relation index, const HybridIndex *open);

/*
 * hybrid_scorer_query: prepare for the query probe->x. Reads the current tree. The caller keeps probe
 * valid.
 */
extern void hybrid_scorer_query(HybridScorer *scorer, const HybridProbe *probe);

/*
 * hybrid_scorer_begin: do the first part of hybrid_scorer_query, which reads the tree. hybrid_scorer_place
 * must follow before anything is scored.
 */
extern void hybrid_scorer_begin(HybridScorer *scorer, const HybridProbe *probe);

/*
 * hybrid_scorer_place: do the other part of hybrid_scorer_query. In an index by inner product, a `length` above 0
 * lets the query be scored as if it had this length. The order of rows does not depend on the length of the query,
 * but the errors of the estimates do: they are in proportion to |q - c|, so for a query far shorter than the rows
 * they are large beside the inner products. A query without a length keeps it.
 */
extern void hybrid_scorer_place(HybridScorer *scorer, float length);

/* hybrid_scorer_root: return the distance to the center, which is the root's centroid. */
extern HybridReach hybrid_scorer_root(const HybridScorer *scorer);

/*
 * hybrid_scorer_aim: prepare to score a leaf list whose centroid is at distance `reach`. Rows whose lower
 * bound is at most threshold are wanted. Valid until the next query.
 */
extern void hybrid_scorer_aim(HybridScorer *scorer, const HybridReach *reach, float eps,
                              float threshold, HybridAim *aim);

/*
 * hybrid_scorer_page: compute estimates, lower bounds and masks of the slots of a locked page of the aimed list. In
 * a block without a bit in `wanted`, only the mask is set, to 0, unless the block is scored in full.
 * At the same time, the codes of page `next`, which may belong to any leaf list,
 * are prefetched. InvalidBlockNumber means that there is no next page.
 */
extern void hybrid_scorer_page(HybridScorer *scorer, Page page, const HybridLink *list,
                               const HybridAim *aim, const uint32 *wanted, BlockNumber next);

/*
 * hybrid_scorer_position: return the position of the vector that belongs to a slot of a locked list page.
 */
extern HybridVectorPosition hybrid_scorer_position(const HybridScorer *scorer, Page page,
                                                   BlockNumber block, int level, int slot);

/* hybrid_scorer_expect: prefetch the vector at this position. */
extern void hybrid_scorer_expect(const HybridScorer *scorer, HybridVectorPosition at);

/*
 * hybrid_scorer_read: copy the vector that a list stores at this position, in its stored form, to `vector`
 * (`stride` bytes of its list's layout at most).
 */
extern void hybrid_scorer_read(HybridScorer *scorer, const HybridLink *list, int level,
                               HybridVectorPosition at, HybridStored *stored, void *vector);

/*
 * hybrid_scorer_reach: return the distance to a centroid read by hybrid_scorer_read. If `copy` is not NULL, it
 * receives the centroid (dims floats).
 */
extern HybridReach hybrid_scorer_reach(HybridScorer *scorer, const HybridStored *stored,
                                       const void *vector, float *copy);

/* hybrid_scorer_reach_place: return the distance to a centroid given as a place (dims floats). */
extern HybridReach hybrid_scorer_reach_place(HybridScorer *scorer, const float *place);

/*
 * hybrid_scorer_row: return a lower bound of a row's distance, from its stored vector. *width is set to a
 * number such that the distance is at most the bound plus the width.
 */
extern double hybrid_scorer_row(HybridScorer *scorer, const HybridLink *list,
                                HybridVectorPosition at, float *width);

/*
 * hybrid_scorer_sample: in an index by taxicab distance, measure a few rows of a leaf list. The rows that
 * hybrid_scorer_row reads are those with the least Euclidean distances. Rows with greater ones may be as near by taxicab
 * distance, and only a sample of them shows it.
 */
extern void hybrid_scorer_sample(HybridScorer *scorer, const HybridLink *list);

/*
 * hybrid_scorer_unit: convert a distance to the unit of the estimates. In an index by Jaccard distance, rows
 * at this distance have at most this estimate. By taxicab distance, the result is predicted from the rows that
 * hybrid_scorer_row has read, with this number of standard deviations, and is at least what the sampled rows predict.
 * It is infinite while too few rows were read.
 */
extern float hybrid_scorer_unit(const HybridScorer *scorer, double distance, float deviations);

#endif
