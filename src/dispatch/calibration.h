/*
 * calibration.h
 *		Measures each side with generated tasks, so that the first real tasks are not routed by
 *		guess.
 *
 * The result is one prior per kind of task and device.  A prior is plain numbers that can be stored
 * and given to another executor with the same devices.  The times of real tasks soon outweigh it
 * (HY_TRACKER_PRIOR).  Besides the law, a prior has the time of each measured size; the largest
 * exceeds most caches.  At the limit of a cache no law of a few terms holds, and the small tasks of
 * a session say nothing about it.
 */
#ifndef HY_CALIBRATION_H
#define HY_CALIBRATION_H

#include "dispatch/dispatcher.h"

#define HY_CALIBRATION_PRIORS 512 /* room for all priors that a calibration yields */

typedef struct HyCalibrationLimits
{
	const HyAllocator *allocator;
	const HyCancel *cancel; /* or NULL */
	uint64_t memory;        /* bytes for generated data; 0: 64 MB */
	uint64_t time_ns;       /* computing time after which a side begins no other task; 0: 10 s */
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
	int32_t device;     /* the executor's number of the device */
	HyShape shape;      /* one shape of the kind */
	HyModelState model; /* model of tasks of the kind there; all zero: none */
	int32_t sizes;
	HyPriorSize size[HY_PRIOR_SIZES];
} HyPrior;

/*
 * hy_calibrate: run a grid of tasks on the CPU and on every device that can be used.  Closed
 * devices are opened.  A device that fails is left out from then on.  Neither breakers nor history
 * learn of the results: import the priors that are to be believed.  *priors has room for
 * HY_CALIBRATION_PRIORS, and *count of them are filled.  Bit d of *unfinished: time did not suffice
 * for the whole grid on device d.  Returns HY_OK, HY_CANCELLED, HY_NOMEM, or the error of the CPU.
 */
extern HyStatus hy_calibrate(HyExecutor *executor, const HyCalibrationLimits *limits,
                             HyPrior *priors, int32_t *count, uint32_t *unfinished);

/*
 * hy_executor_import_prior: add a prior to history.  Its law counts for at most HY_TRACKER_PRIOR
 * observations; its sizes are added if they were not seen yet.  Returns false when nothing could be
 * added, because the prior names no device of this executor or makes no sense.
 */
extern bool hy_executor_import_prior(HyExecutor *executor, const HyPrior *prior);

#endif
