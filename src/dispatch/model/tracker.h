/*
 * tracker.h
 *		Keeps the observed times of tasks on the CPU and on each device.  Predictions are made from
 *		them.
 *
 * A kind of task is (op, dtype, metric, dims class, residency).  For each kind and device, a
 * regression is kept (cost_model.h).  Real hardware does not follow the regression's form, so the
 * mean time of every observed size class is kept as well (sizes.h).  The ratio of a class's mean to
 * the regression's prediction corrects predictions for the class and, to a smaller degree, for
 * nearby sizes.
 *
 * The history of the CPU is kept separately for each class of thread counts: 1, 2 to 3, 4 to 7, and
 * so on up to 32 and more.  A class without history or prior is predicted to take the time of one
 * thread divided by the number of threads.
 *
 * Means and regression follow the last observations (hybrid.tracker_window).  Failures are never
 * recorded.  The first observation of a kind on a device is set aside (cold start).  Once a size
 * class has some observations, times are clipped to the range from 1/2 to 3/2 of the expected time.
 * Before that, if the regression rests on enough observations, times are clipped to the range from
 * half to twice the expected time.
 *
 * Memory is bounded: a new kind replaces the least recently used kind, and a new size class
 * replaces the least recently used class of its kind and side.
 */
#ifndef HY_TRACKER_H
#define HY_TRACKER_H

#include "core/allocator.h"
#include "dispatch/backend.h"
#include "dispatch/model/cost_model.h"
#include "dispatch/model/kind.h"

#define HY_TRACKER_KINDS 128
#define HY_TRACKER_MAX_WINDOW 1000
#define HY_TRACKER_PRIOR 10     /* weight limit of an imported model, in observations */
#define HY_TRACKER_SIZE_PRIOR 5 /* weight of an imported size, in observations */

typedef struct HyTracker HyTracker;

/*
 * hy_tracker_create: create a tracker whose means follow the last window observations.  Returns NULL
 * when out of memory.
 */
extern HyTracker *hy_tracker_create(const HyAllocator *allocator, int32_t window);
extern void hy_tracker_destroy(HyTracker *tracker);

/* hy_tracker_set_window: set the window, 1 .. HY_TRACKER_MAX_WINDOW. */
extern void hy_tracker_set_window(HyTracker *tracker, int32_t window);
extern void hy_tracker_reset(HyTracker *tracker);

/*
 * hy_tracker_record: record that a task of this shape took ns on device (0 is the CPU).  shape->threads
 * matters on the CPU only.
 */
extern void
hy_tracker_record(HyTracker *tracker, const HyShape *shape, int32_t device, uint64_t ns);

/* hy_tracker_record_many: record count tasks of this shape that took ns each. */
extern void hy_tracker_record_many(HyTracker *tracker, const HyShape *shape, int32_t device,
                                   double ns, int32_t count);

/*
 * hy_tracker_generation: return a number that changes when any prediction may have changed by more
 * than 2%, or has become known.
 */
extern uint32_t hy_tracker_generation(const HyTracker *tracker);

/*
 * hy_tracker_leaps: return a number that changes when any prediction may have changed by more than a
 * quarter, or has become known.
 */
extern uint32_t hy_tracker_leaps(const HyTracker *tracker);

/* HyTrackerRow: one kind of task on one device, for the views and for storage. */
typedef struct HyTrackerRow
{
	/*
	 * the last shape of this kind, on any device; for the CPU, shape.threads is the least number of
	 * threads in the class, at least 1
	 */
	HyShape shape;
	int32_t dims_low; /* range of the dims class; 0 for operations without dims */
	int32_t dims_high;
	int32_t device;
	int64_t observations; /* since the tracker began or was reset */
	int64_t unseen;       /* tasks of the kind that ran elsewhere since this device last ran one */
	double samples;       /* weight of the regression in observations, at most the window */
	bool cold;            /* only the first observation, which is set aside, is known */
	bool known;           /* fit is valid */
	bool prior;           /* model includes results of a calibration */
	HyCoefficients fit;
	HyModelState model;
} HyTrackerRow;

/* hy_tracker_row: get row number i, from 0; returns false if there is no such row. */
extern bool hy_tracker_row(const HyTracker *tracker, int32_t i, HyTrackerRow *row);

/*
 * hy_tracker_import: add a model from another source, such as another process, for tasks of shape's
 * kind on device.  The model counts for at most HY_TRACKER_PRIOR observations.  Returns false when
 * the model was not added (no memory, or invalid numbers).
 */
extern bool hy_tracker_import(HyTracker *tracker, const HyShape *shape, int32_t device,
                              const HyModelState *model);

/* hy_tracker_import_prior: add the result of a calibration, and set HyTrackerRow.prior. */
extern bool hy_tracker_import_prior(HyTracker *tracker, const HyShape *shape, int32_t device,
                                    const HyModelState *model);

/*
 * hy_tracker_import_size: add the average time ns of tasks of exactly this shape.  From then on,
 * predictions for the shape's size class rest on this time, even if the regression changes.  The
 * time counts for HY_TRACKER_SIZE_PRIOR observations.  Returns false if the time was not added, for
 * example because the class already has a time.
 */
extern bool
hy_tracker_import_size(HyTracker *tracker, const HyShape *shape, int32_t device, double ns);

/*
 * HyTrackerNews: the observations of a kind on a device since hy_tracker_take last returned them.
 */
typedef struct HyTrackerNews
{
	HyShape shape;
	int32_t device;
	HyModelState model;
} HyTrackerNews;

/*
 * hy_tracker_take: get the new observations of the next kind and device that have any.  *position
 * is the state of the iteration, initially 0.  Bit d of devices: include device d.  Returns false
 * at the end.
 */
extern bool
hy_tracker_take(HyTracker *tracker, uint32_t devices, int32_t *position, HyTrackerNews *news);

#endif
