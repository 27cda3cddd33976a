/*
 * tracker_state.h
 *		Defines the parts of a tracker, for tracker.c and tracker_forecast.c.
 */
#ifndef HY_TRACKER_STATE_H
#define HY_TRACKER_STATE_H

#include "dispatch/model/sizes.h"
#include "dispatch/model/tracker.h"

#define HY_TRACKER_INDEX 512 /* slots of the index, a power of two, four times HY_TRACKER_KINDS */

/* HyTrackerSide: the history of a kind of task on a device. */
typedef struct HyTrackerSide
{
	HyModelState model;
	HyModelState fresh; /* observations since the last hy_tracker_take */
	HyCoefficients fit;
	bool known; /* fit is valid */
	bool prior; /* model includes results of a calibration */
	int64_t observations;
	int64_t last;    /* HyTrackerKind.tasks at the last task on this device */
	double smallest; /* smallest work observed, without the observation set aside; 0: none */
	double largest;
	double least; /* smallest work of all observations, including the observation set aside */
	HySizes sizes;
} HyTrackerSide;

/* HyTrackerKind: a kind of task, and its sides by device; NULL: never seen on the device. */
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
	/* models of all kinds of an operation together; last index: HyShape.resident */
	HyModelState pools[HY_TRACKER_DEVICES][HY_OP_COUNT][2];
	double least_ns[HY_TRACKER_DEVICES]; /* smallest mean time of a size; 0: none */
	int16_t index[HY_TRACKER_INDEX];     /* kind + 1; 0: empty */
	HyTrackerKind kinds[HY_TRACKER_KINDS];
};

/*
 * hy_tracker_kind: return the kind with a number from hy_shape_kind, or NULL if it was never seen.
 * hy_tracker_side: return the history of a shape's kind on a device, or NULL if there is none.
 */
extern const HyTrackerKind *hy_tracker_kind(const HyTracker *tracker, uint32_t number);
extern const HyTrackerSide *
hy_tracker_side(const HyTracker *tracker, const HyShape *shape, int32_t device);

/*
 * hy_tracker_refit: recompute the coefficients.  The pool affects the coefficients that the kind's
 * own observations determine poorly.
 */
extern void
hy_tracker_refit(HyTracker *tracker, HyTrackerSide *side, const HyShape *shape, int32_t device);

/* hy_tracker_expect: return the regression's prediction, times the correction for the size. */
extern double hy_tracker_expect(const HyTrackerSide *side, const HyShape *shape, HyCostTerms terms);

#endif
