/*
 * scorer.h
 *		A query made ready for an index: what its codes, its centroids and its vectors say of it.
 */
#ifndef HYBRID_INDEX_SCORER_H
#define HYBRID_INDEX_SCORER_H

#include "index/page/frame.h"

/* HybridPlace: where a vector is: its page and slot; of a long one, the list page's and the slot there. */
typedef struct HybridPlace
{
	BlockNumber block;
	int slot;
} HybridPlace;

/* HybridReach: of a list's centroid from the query. */
typedef struct HybridReach
{
	float base;  /* in the unit of the estimates: |q - c|^2, or -<q,c> */
	float reach; /* |q - c| */
} HybridReach;

/* HybridAim: the rows of a leaf list that may be nearer than something. */
typedef struct HybridAim
{
	HyCodeLimits limits;
	HyCodeMeeting meeting;
	/* blocks of a page whose estimates are by all of their codes, however far the rows are */
	int whole; /* the first ones */
	int also;  /* and one beyond these; -1: none */
} HybridAim;

/* HybridScorer: of one query at a time; the arrays belong to the memory context it was made in. */
typedef struct HybridScorer
{
	Relation index;
	HybridIndex open;
	Snapshot snapshot; /* of a scan, which is to miss nothing that this one sees; or NULL */
	HybridTree tree;   /* as of the query */
	HybridFrame frame;
	BlockNumber centre; /* that the frame has */
	bool framed;
	MemoryContext frame_context;
	const HybridProbe *probe;
	float *place;    /* of the query */
	float *absolute; /* the same relative to the origin: of inner products */
	float *rotated;
	float along;  /* <q,centre> */
	float length; /* |q| */
	uint8 *tables;
	HyCodeQuery query;
	/* of the page that was scored last, by slots; masks by blocks */
	float *estimates;
	float *lowers;
	uint32 *masks;
	uint32 *taken; /* room for as many */
	/* room for one vector */
	void *vector;
	float *widened;
} HybridScorer;

/* hybrid_scorer_init: room for queries of this index, in the current memory context. */
extern void hybrid_scorer_init(HybridScorer *scorer, Relation index, const HybridIndex *open);

/* hybrid_scorer_query: probe->x with its dims, which stays the caller's; the tree is read now. */
extern void hybrid_scorer_query(HybridScorer *scorer, const HybridProbe *probe);

/* hybrid_scorer_root: of the centre, which is the root's centroid. */
extern HybridReach hybrid_scorer_root(const HybridScorer *scorer);

/*
 * hybrid_scorer_aim: at rows of a leaf list whose centroid is so far away, with bounds not above threshold.
 * Holds until the scorer has another query.
 */
extern void hybrid_scorer_aim(HybridScorer *scorer, const HybridReach *reach, float eps,
                              float threshold, HybridAim *aim);

/*
 * hybrid_scorer_page: estimates, bounds and masks of all slots of a locked page of the list that is aimed
 * at, live or dead.  Meanwhile the codes of page `next` are fetched, of a leaf list, too, or none.
 */
extern void hybrid_scorer_page(HybridScorer *scorer, Page page, const HybridLink *list,
                               const HybridAim *aim, BlockNumber next);

/* hybrid_scorer_place: where the vector of a slot of a locked list page is to be read. */
extern HybridPlace
hybrid_scorer_place(const HybridScorer *scorer, Page page, BlockNumber block, int level, int slot);

/* hybrid_scorer_expect: the vector at a place will be read soon. */
extern void hybrid_scorer_expect(const HybridScorer *scorer, HybridPlace at);

/*
 * hybrid_scorer_centroid: how far a centroid is that this inner list stores there; copy, unless NULL:
 * dims floats that become the centroid.
 */
extern HybridReach hybrid_scorer_centroid(HybridScorer *scorer, const HybridLink *inner, int level,
                                          HybridPlace at, float *copy);

/* hybrid_scorer_read: that centroid as it is stored, copied to vector, layout.stride bytes at most. */
extern void hybrid_scorer_read(HybridScorer *scorer, const HybridLink *inner, int level,
                               HybridPlace at, HybridStored *stored, void *vector);

/* hybrid_scorer_reach: how far it is. */
extern HybridReach hybrid_scorer_reach(HybridScorer *scorer, const HybridStored *stored,
                                       const void *vector, float *copy);

/* hybrid_scorer_reach_place: how far a place is, given as dims floats. */
extern HybridReach hybrid_scorer_reach_place(HybridScorer *scorer, const float *place);

/*
 * hybrid_scorer_row: the lower bound of a row's distance by its stored vector; *width: how much more
 * the distance may be, at most.
 */
extern double
hybrid_scorer_row(HybridScorer *scorer, const HybridLink *list, HybridPlace at, float *width);

/* hybrid_scorer_unit: a distance in the unit of the estimates. */
extern float hybrid_scorer_unit(const HybridScorer *scorer, double distance);

#endif
