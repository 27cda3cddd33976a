/*
 * tracker_state.h
 *		Defines the table in which the tracker (tracker.h) keeps its history, for the tracker's
 *		files only.
 *
 * Kinds are stored in a fixed array and found through a hash index with open addressing.  The
 * history of a kind on a side (kind.h) is allocated when it is first needed, so later calls
 * allocate nothing.
 */
#ifndef HY_TRACKER_STATE_H
#define HY_TRACKER_STATE_H

#include "dispatch/model/sizes.h"
#include "dispatch/model/tracker.h"

#define HY_TRACKER_SLOTS 512 /* slots of the index, a power of two, four times HY_TRACKER_KINDS */

typedef struct HyTrackerKind HyTrackerKind;

/*
 * HyTrackerSide: the history of a kind of task on a device, or on the CPU with a class of thread
 * counts.
 */
typedef struct HyTrackerSide
{
	HyTrackerKind *kind;
	HyModelState model;
	HyModelState fresh; /* observations since the last hy_tracker_take */
	HyCoefficients fit;
	bool known; /* fit is valid */
	bool prior; /* model includes results of a calibration */
	int64_t observations;
	int64_t last;    /* HyTrackerKind.tasks at the last task on this device */
	double smallest; /* smallest observed work, except in the observation set aside; 0: none */
	double largest;
	double least; /* smallest observed work, including the observation set aside; 0: none */
	HySizes sizes;
} HyTrackerSide;

/* HyTrackerKind: a kind of task, and its history on each side; NULL: none. */
struct HyTrackerKind
{
	uint32_t number; /* 0: free */
	uint64_t last_used;
	int64_t tasks;
	HyShape shape;
	HyTrackerSide *sides[HY_SIDES];
};

struct HyTracker
{
	const HyAllocator *allocator;
	int32_t window;
	int32_t used;
	uint32_t generation;
	uint32_t leaps;
	uint64_t serial;
	/* models of all kinds of an operation together; last index: HyShape.resident */
	HyModelState pools[HY_SIDES][HY_OP_COUNT][2];
	double least_ns[HY_SIDES];       /* smallest mean time of a size; 0: none */
	int16_t index[HY_TRACKER_SLOTS]; /* kind + 1; 0: empty */
	HyTrackerKind kinds[HY_TRACKER_KINDS];
};

/*
 * HyTrackerCase: a task on a device: the keys of its history, and the terms that determine its
 * time.
 */
typedef struct HyTrackerCase
{
	uint32_t kind; /* hy_shape_kind */
	uint32_t size; /* hy_shape_size */
	int32_t device;
	int32_t side; /* hy_side_of; -1: there is no such device */
	HyOp op;      /* op and resident select the pool */
	bool resident;
	HyCostTerms terms;
} HyTrackerCase;

/* hy_tracker_case: describe a task of this shape on a device, for the functions below. */
extern HyTrackerCase hy_tracker_case(const HyShape *shape, int32_t device);

/*
 * hy_tracker_find_kind: return the kind with a number from hy_shape_kind, or NULL if it has no
 * entry.
 */
extern const HyTrackerKind *hy_tracker_find_kind(const HyTracker *tracker, uint32_t number);

/* hy_tracker_find_side: return the history of a task on a device, or NULL if there is none. */
extern const HyTrackerSide *
hy_tracker_find_side(const HyTracker *tracker, const HyTrackerCase *task);

/*
 * hy_tracker_claim_side: like hy_tracker_find_side, but creates the kind and the side if necessary.
 * A new kind stores the shape for the views.  If the array is full, the new kind replaces the least
 * recently used one.  Returns NULL if out of memory, or if there is no such device.
 */
extern HyTrackerSide *
hy_tracker_claim_side(HyTracker *tracker, const HyTrackerCase *task, const HyShape *shape);

/* hy_tracker_forget_kind: free the histories of a kind, and clear its entry. */
extern void hy_tracker_forget_kind(const HyTracker *tracker, HyTrackerKind *kind);

/*
 * hy_tracker_refit: recompute the coefficients of a history.  Coefficients that its own
 * observations determine poorly are pulled toward those of the pool of all kinds.
 */
extern void hy_tracker_refit(HyTracker *tracker, HyTrackerSide *side, const HyTrackerCase *task);

/*
 * hy_tracker_launch: return the launch time to assume, for hy_model_solve.  For the CPU, this is
 * HY_LAUNCH_NONE.  For a device, it is the smallest mean time of any size class, because a launch
 * cannot take longer than the shortest task.  Without such a mean, it is HY_LAUNCH_UNKNOWN.
 */
extern double hy_tracker_launch(const HyTracker *tracker, int32_t device);

/* hy_tracker_expect: return the regression's prediction, times the correction for the size. */
extern double hy_tracker_expect(const HyTrackerSide *side, const HyTrackerCase *task);

#endif
