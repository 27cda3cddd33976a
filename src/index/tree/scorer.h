/*
 * scorer.h
 *		Compute estimates, bounds and distances from a query, using codes, centroids and vectors.
 */
#ifndef HYBRID_INDEX_SCORER_H
#define HYBRID_INDEX_SCORER_H

#include "core/taxicab.h"

#include "index/page/frame.h"

/*
 * HybridVectorPosition: position of a vector: its VECTORS page, and its slot on that page. If vectors are
 * longer than a page, it is the list page and the slot of the entry instead.
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

/* HybridAim: parameters for scoring the rows of one leaf list for the current query. */
typedef struct HybridAim
{
	HyCodeLimits limits;
	HyCodeScorer meeting;
	/* blocks of a page that are scored in full, without an early exit */
	int whole; /* how many such blocks are at the beginning of the page */
	int also;  /* block number of one more such block; -1: none */
} HybridAim;

/*
 * HybridScorer: state for one query at a time. The arrays belong to the memory context of
 * hybrid_scorer_init.
 */
typedef struct HybridScorer
{
	Relation index;
	HybridIndex open;
	/* snapshot of the scan, which must not miss rows that the snapshot sees; may be NULL */
	Snapshot snapshot;
	HybridTree tree; /* tree as read when the query began */
	HybridFrame frame;
	BlockNumber center; /* first page of the frame's center */
	bool framed;        /* `frame` is set */
	MemoryContext frame_context;
	const HybridProbe *probe;
	float *place;    /* place of the query (frame.h) */
	float *absolute; /* the query relative to the origin; for inner products only */
	float *rotated;  /* the place, rotated */
	float along;     /* <q,center> */
	float length;    /* |q| */
	/* factor by which the query was multiplied before `place` and `length` were computed: see hybrid_scorer_place */
	float stretch;
	uint8 *tables;
	HyCodeQuery query;
	/* results of hybrid_scorer_page: estimates and lower bounds by slot, masks of wanted rows by block */
	float *estimates;
	float *lowers;
	uint32 *masks;
	uint32 *taken; /* space for the masks of the previous scoring of a page */
	void *value;   /* the query as a bit string, in an index on bit; else NULL */
	/* in an index by taxicab distance, figures about the rows that were measured */
	HyTaxicab read;    /* by hybrid_scorer_row */
	HyTaxicab sampled; /* by hybrid_scorer_sample */
	/* space for one vector */
	void *vector;
	float *widened;
} HybridScorer;

/* hybrid_scorer_init: allocate memory for queries of this index, in the current memory context. */
extern void hybrid_scorer_init(HybridScorer *scorer, Relation index, const HybridIndex *open);

/*
 * hybrid_scorer_query: prepare for the query probe->x. Reads the current tree from the meta page. The
 * caller keeps `probe` valid.
 */
extern void hybrid_scorer_query(HybridScorer *scorer, const HybridProbe *probe);

/*
 * hybrid_scorer_begin: do the first part of hybrid_scorer_query, which reads the tree. hybrid_scorer_place
 * must follow before anything is scored.
 */
extern void hybrid_scorer_begin(HybridScorer *scorer, const HybridProbe *probe);

/*
 * hybrid_scorer_place: do the second part of hybrid_scorer_query. In an index by inner product, the query is scored as
 * if its length were `length`, if that is above 0. The order of rows does not depend on the length of the query, but the
 * errors of the estimates do. The errors are in proportion to |q - c|. So if a query is far shorter than the rows, the
 * errors are large compared with the inner products. A query of length 0 is not changed.
 */
extern void hybrid_scorer_place(HybridScorer *scorer, float length);

/* hybrid_scorer_root: return the distance to the center, which is the root's centroid. */
extern HybridReach hybrid_scorer_root(const HybridScorer *scorer);

/*
 * hybrid_scorer_aim: prepare to score a leaf list whose centroid is at distance `reach`. Rows whose lower
 * bound is at most `threshold` are wanted. The aim is valid until the next query.
 */
extern void hybrid_scorer_aim(HybridScorer *scorer, const HybridReach *reach, float eps,
                              float threshold, HybridAim *aim);

/*
 * hybrid_scorer_page: compute estimates, lower bounds and masks for the slots of a locked page of the list of `aim`. If
 * `wanted` has no bit set for a block, only the block's mask is set, to 0, unless `aim` requires a full score. If
 * `wanted` is NULL, all blocks are scored. Meanwhile, the codes of page `next` are prefetched if list pages hold codes.
 * This page may belong to any leaf list; InvalidBlockNumber means that there is none.
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
 * hybrid_scorer_read: copy the vector that a list stores at this position, in its stored form, to `vector`, which has
 * space for the `stride` bytes of the list's layout.
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
 * hybrid_scorer_row: return a lower bound of a row's distance, computed from its stored vector. Sets *width
 * so that the lower bound plus *width is an upper bound.
 */
extern double hybrid_scorer_row(HybridScorer *scorer, const HybridLink *list,
                                HybridVectorPosition at, float *width);

/*
 * hybrid_scorer_sample: in an index by taxicab distance, measure a few rows of a leaf list. hybrid_scorer_row reads the
 * rows with the least Euclidean distances. Rows with greater Euclidean distances may be as near by taxicab distance,
 * and only a sample of all rows shows this.
 */
extern void hybrid_scorer_sample(HybridScorer *scorer, const HybridLink *list);

/*
 * hybrid_scorer_unit: convert a distance to the unit of the estimates. In an index by Jaccard distance, the result is
 * the greatest value that rows at this distance may have. By taxicab distance, it is predicted from the rows that
 * hybrid_scorer_row has read, plus `deviations` standard deviations, and is at least what the sampled rows predict. It
 * is infinite while too few rows were read.
 */
extern float hybrid_scorer_unit(const HybridScorer *scorer, double distance, float deviations);

#endif
