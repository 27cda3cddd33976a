/*
 * tracker.h
 *		What each side was seen to need, and what it will need by that.
 *
 * A kind of task is (op, dtype, metric, dims class, residency).  For each kind and device there is a
 * regression (cost_model.h), and beside it the mean time of every size class seen, since the law of
 * real hardware is not of the regression's form: what a class was seen to take against what the
 * regression says of it corrects the prediction there and, fading, at the sizes around it.
 *
 * Means and regression follow the last tracker_window observations.  Failures never enter; the first
 * observation of a kind on a device is set aside (cold start); once a size class has some, what is
 * more than half as much again as expected, or less than half, enters as that.
 *
 * Memory is bounded: the least recently used kind gives way, and within one the least recently used
 * size class.
 */
#ifndef HY_TRACKER_H
#define HY_TRACKER_H

#include "core/allocator.h"
#include "dispatch/backend.h"
#include "dispatch/cost_model.h"

#define HY_TRACKER_KINDS 128
#define HY_TRACKER_MAX_WINDOW 1000
#define HY_TRACKER_DEVICES 8
#define HY_TRACKER_PRIOR 10     /* observations that an imported model counts for, at most */
#define HY_TRACKER_SIZE_PRIOR 5 /* and an imported size */

typedef struct HyTracker HyTracker;

/* hy_tracker_create: forgets over window observations; NULL when out of memory. */
extern HyTracker *hy_tracker_create(const HyAllocator *allocator, int32_t window);
extern void hy_tracker_destroy(HyTracker *tracker);

/* hy_tracker_set_window: 1 .. HY_TRACKER_MAX_WINDOW. */
extern void hy_tracker_set_window(HyTracker *tracker, int32_t window);
extern void hy_tracker_reset(HyTracker *tracker);

/* hy_tracker_record: a task of this shape ran on device (0 is the CPU) in ns. */
extern void
hy_tracker_record(HyTracker *tracker, const HyShape *shape, int32_t device, uint64_t ns);

/* hy_tracker_record_many: count such tasks, ns each. */
extern void hy_tracker_record_many(HyTracker *tracker, const HyShape *shape, int32_t device,
                                   double ns, int32_t count);

/* hy_tracker_predict: expected ns of this shape on device, < 0 with no history to go by. */
extern double hy_tracker_predict(const HyTracker *tracker, const HyShape *shape, int32_t device);

/* hy_tracker_speedup: predicted CPU time / predicted device time, < 0 when either is unknown. */
extern double hy_tracker_speedup(const HyTracker *tracker, const HyShape *shape, int32_t device);

/*
 * hy_tracker_break_even: the smallest number of targets, at most limit, from which on a task that
 * is like shape otherwise is predicted to end no later on device than on the CPU; -1: none is, or
 * one of them has no history.
 */
extern int64_t hy_tracker_break_even(const HyTracker *tracker, const HyShape *shape, int32_t device,
                                     int64_t limit);

/* HyForecast: a prediction and what it rests on. */
typedef struct HyForecast
{
	double ns;         /* as hy_tracker_predict */
	double hint_ns;    /* where ns < 0: by a like kind of task on this device, or < 0 */
	double weight;     /* observations behind the regression */
	double largest_ns; /* what the largest size seen takes, when the shape is larger; else 0 */
	int64_t unseen;    /* tasks of the kind, on any side, since this one last had one */
	int32_t samples;   /* in the window, of its own size class; without one set aside */
	int32_t steps;     /* how many powers of two the shape lies beyond the sizes seen; < 0: below */
	int32_t span;      /* powers of two from the smallest to the largest size seen */
	int32_t above;     /* powers of two that the shape lies above the smallest size seen */
	bool cold;         /* it rests on one first observation only */
} HyForecast;

extern HyForecast
hy_tracker_forecast(const HyTracker *tracker, const HyShape *shape, int32_t device);

/* hy_tracker_generation: another number once any prediction may have changed by more than 2%. */
extern uint32_t hy_tracker_generation(const HyTracker *tracker);

/* hy_tracker_leaps: the same, by more than a quarter, or from nothing. */
extern uint32_t hy_tracker_leaps(const HyTracker *tracker);

/* HyTrackerRow: one kind of task on one device, for the views and for keeping. */
typedef struct HyTrackerRow
{
	HyShape shape;    /* the last one seen of the kind, on any device */
	int32_t dims_low; /* the dims class: from .. to; 0 where the operation has none */
	int32_t dims_high;
	int32_t device;
	int64_t observations; /* since the tracker began or was reset */
	int64_t unseen;       /* tasks of the kind since this device last had one */
	double samples;       /* observations in force, at most the window */
	bool cold;            /* only the first, set aside */
	bool known;           /* fit holds something */
	bool prior;           /* what a calibration measured is in it */
	HyCoefficients fit;
	HyModelState model;
} HyTrackerRow;

/* hy_tracker_row: row number i, from 0; false when there are not so many. */
extern bool hy_tracker_row(const HyTracker *tracker, int32_t i, HyTrackerRow *row);

/*
 * hy_tracker_import: what is known from elsewhere of tasks of the kind of shape on device, worth at
 * most HY_TRACKER_PRIOR observations; false when it was not taken (no memory, or nonsense).
 */
extern bool hy_tracker_import(HyTracker *tracker, const HyShape *shape, int32_t device,
                              const HyModelState *model);

/* hy_tracker_import_prior: the same of what a calibration measured; its rows say so. */
extern bool hy_tracker_import_prior(HyTracker *tracker, const HyShape *shape, int32_t device,
                                    const HyModelState *model);

/*
 * hy_tracker_import_size: the same of tasks of the very shape, which took ns each on average; false
 * also where such a size was seen or told of before.  Where other sizes go by the law alone, this
 * one then does not, whatever becomes of the law.
 */
extern bool
hy_tracker_import_size(HyTracker *tracker, const HyShape *shape, int32_t device, double ns);

/* HyTrackerNews: what was learned of a kind of task on a device. */
typedef struct HyTrackerNews
{
	HyShape shape;
	int32_t device;
	HyModelState model;
} HyTrackerNews;

/*
 * hy_tracker_take: from *position on, which begins at 0, the next kind and device of which something
 * was learned since it was last taken; bit d of devices: of device d.  False: there is none left.
 */
extern bool
hy_tracker_take(HyTracker *tracker, uint32_t devices, int32_t *position, HyTrackerNews *news);

/* hy_shape_kind: the kind of a shape as a number above 0. */
extern uint32_t hy_shape_kind(const HyShape *shape);

/* hy_shape_class: kind and size class together, above 0, for tables that keep one thing a class. */
extern uint32_t hy_shape_class(const HyShape *shape);

#endif
