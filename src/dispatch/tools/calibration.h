/*
 * calibration.h
 *		Measures the CPU and each device with generated tasks, so that even the first real tasks
 *		are routed by measured times.
 *
 * The result is one prior per kind of task and device.  The CPU has one prior for a single thread
 * and one for each class of thread counts that tasks get (tracker.h).  A prior consists of numbers
 * only.  It can be stored, and imported into another executor with the same devices.  The times of
 * real tasks soon outweigh it (HY_TRACKER_PRIOR).
 *
 * A prior has a cost model (cost_model.h), and the time of each measured size.  The largest size
 * exceeds most caches.  Near the size of a cache, no model with few terms is accurate, and the
 * times of small tasks do not show how long such sizes take.
 */
#ifndef HY_CALIBRATION_H
#define HY_CALIBRATION_H

#include "dispatch/run/dispatcher.h"

#define HY_CALIBRATION_PRIORS 1024 /* maximum number of priors of one calibration */

typedef struct HyCalibrationLimits
{
	const HyAllocator *allocator;
	const HyCancel *cancel; /* NULL: not cancelable */
	uint64_t memory;        /* bytes for generated data; 0: 64 MB */
	/* computing time on a side (calibration.c) after which no task begins; 0: 10 s */
	uint64_t time_ns;
} HyCalibrationLimits;

#define HY_PRIOR_SIZES 12

/* HyPriorSize: average time of the tasks of one size. */
typedef struct HyPriorSize
{
	int64_t queries;
	int64_t targets;
	int32_t k;
	double ns;
} HyPriorSize;

typedef struct HyPrior
{
	int32_t device;     /* the executor's device number */
	HyShape shape;      /* a shape of the kind; shape.threads is the lowest number of its class */
	HyModelState model; /* model of the kind on that device; all zero: none */
	int32_t sizes;
	HyPriorSize size[HY_PRIOR_SIZES];
} HyPrior;

/*
 * hy_calibrate: run a grid of tasks on the CPU and on every device that can be used.  Closed
 * devices are opened.  A device that fails gets no more tasks.  The results change neither breakers
 * nor history; the caller imports the priors that it trusts.  *priors is an array of
 * HY_CALIBRATION_PRIORS entries, of which *count are filled.  Bit d of *unfinished is set if the
 * time was too short for the whole grid on device d.  Returns HY_OK, HY_CANCELLED, HY_NOMEM, or the
 * error of the CPU.
 */
extern HyStatus hy_calibrate(HyExecutor *executor, const HyCalibrationLimits *limits,
                             HyPrior *priors, int32_t *count, uint32_t *unfinished);

/*
 * hy_executor_import_prior: add a prior to history.  Its cost model counts for at most
 * HY_TRACKER_PRIOR observations.  Its sizes are added if history does not have them yet.  Returns
 * false if nothing was added, for example because the executor has no such device or the numbers
 * are invalid.
 */
extern bool hy_executor_import_prior(HyExecutor *executor, const HyPrior *prior);

#endif
