/*
 * calibration.h
 *		Measures each side with generated tasks, so that the first real tasks are not routed
 *		blindly.
 *
 * The result is one prior per kind of task and device.  The CPU has one prior for a single thread
 * and one for each class of numbers of threads that tasks get (tracker.h).  A prior consists of
 * plain numbers.  It can be stored and imported into another executor with the same devices.  The
 * times of real tasks soon outweigh it (HY_TRACKER_PRIOR).  Besides the law (the model of the
 * time), a prior has the time of each measured size.  The largest size exceeds most caches.  Near
 * the size of a cache, no law with few terms is accurate, and the times of small tasks do not show
 * how long such sizes take.
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
	uint64_t time_ns;       /* computing time after which a side begins no more tasks; 0: 10 s */
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
	HyShape shape;      /* a shape of the kind; shape.threads is the lowest number of the class */
	HyModelState model; /* model of the kind on that device; all zero: none */
	int32_t sizes;
	HyPriorSize size[HY_PRIOR_SIZES];
} HyPrior;

/*
 * hy_calibrate: run a grid of tasks on the CPU and on every device that can be used.  Closed
 * devices are opened.  A device that fails is not used further.  The results change neither
 * breakers nor history; the caller imports the priors that it trusts.  *priors is an array of
 * HY_CALIBRATION_PRIORS entries, of which *count are filled.  Bit d of *unfinished is set if time
 * did not suffice for the whole grid on device d.  Returns HY_OK, HY_CANCELLED, HY_NOMEM, or the
 * error of the CPU.
 */
extern HyStatus hy_calibrate(HyExecutor *executor, const HyCalibrationLimits *limits,
                             HyPrior *priors, int32_t *count, uint32_t *unfinished);

/*
 * hy_executor_import_prior: add a prior to history.  Its law counts for at most HY_TRACKER_PRIOR
 * observations.  Its sizes are added if history does not have them yet.  Returns false when nothing
 * could be added, because the executor has no such device or the numbers are invalid.
 */
extern bool hy_executor_import_prior(HyExecutor *executor, const HyPrior *prior);

#endif
