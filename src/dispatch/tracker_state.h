/*
 * tracker_state.h
 *		What a tracker is made of, for tracker.c and tracker_forecast.c.
 */
#ifndef HY_TRACKER_STATE_H
#define HY_TRACKER_STATE_H

#include "dispatch/sizes.h"
#include "dispatch/tracker.h"

#define HY_TRACKER_INDEX 512 /* slots of the index, a power of two, four times HY_TRACKER_KINDS */

/* HyTrackerSide: what is known of a kind of task on a device. */
typedef struct HyTrackerSide
{
	HyModelState model;
	HyModelState fresh; /* learned since hy_tracker_take */
	HyCoefficients fit;
	bool known; /* fit holds something */
	bool prior; /* model holds what a calibration measured */
	int64_t observations;
	int64_t last;    /* of the kind's tasks */
	double smallest; /* work, of what was not set aside; 0: nothing was */
	double largest;
	double least; /* work, of all */
	HySizes sizes;
} HyTrackerSide;

/* HyTrackerKind: a kind of task, and its sides by device; NULL: it was never seen there. */
typedef struct HyTrackerKind
{
	uint32_t number; /* 0: free */
	uint64_t last_used;
	int64_t tasks;
	HyShape shape;
	HyTrackerSide *sides[HY_TRACKER_DEVICES];
} HyTrackerKind;

struct HyTracker
{
	const HyAllocator *allocator;
	int32_t window;
	int32_t used;
	uint32_t generation;
	uint32_t leaps;
	uint64_t serial;
	/* all kinds of an operation together, for those of which little is known; [1]: resident */
	HyModelState pools[HY_TRACKER_DEVICES][HY_OP_COUNT][2];
	double least_ns[HY_TRACKER_DEVICES]; /* that a size was seen to take; 0: none was */
	int16_t index[HY_TRACKER_INDEX];     /* kind + 1; 0: empty */
	HyTrackerKind kinds[HY_TRACKER_KINDS];
};

/* hy_tracker_pool: all kinds like a shape's together, on a device. */
static inline HyModelState *
hy_tracker_pool(HyTracker *tracker, const HyShape *shape, int32_t device)
{
	return &tracker->pools[device][shape->op][shape->resident ? 1 : 0];
}

/* hy_tracker_kind: of a number, by hy_shape_kind; hy_tracker_side: of a shape.  NULL: nothing is known. */
extern const HyTrackerKind *hy_tracker_kind(const HyTracker *tracker, uint32_t number);
extern const HyTrackerSide *
hy_tracker_side(const HyTracker *tracker, const HyShape *shape, int32_t device);

/*
 * hy_tracker_refit: the coefficients anew; the pool has a say where the kind's own observations have
 * little.
 */
extern void
hy_tracker_refit(HyTracker *tracker, HyTrackerSide *side, const HyShape *shape, int32_t device);

/*
 * hy_tracker_expect: the regression's prediction, times what sizes like this one were seen to take
 * against it.
 */
extern double hy_tracker_expect(const HyTrackerSide *side, const HyShape *shape, HyCostTerms terms);

#endif
