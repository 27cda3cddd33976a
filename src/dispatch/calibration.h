/*
 * calibration.h
 *		Measuring each side with made-up tasks, so that the first real ones are not sent by guess.
 *
 * The outcome is one prior a kind of task and device: plain numbers that can be kept and given to
 * another executor with the same devices.  What real tasks take soon counts for more
 * (HY_TRACKER_PRIOR).  Besides the law it has what each size took, the largest beyond most caches:
 * where these end no law of a few terms holds, and the small tasks of a session say nothing of it.
 */
#ifndef HY_CALIBRATION_H
#define HY_CALIBRATION_H

#include "dispatch/dispatcher.h"

#define HY_CALIBRATION_PRIORS 512 /* room for all that a calibration yields */

typedef struct HyCalibrationLimits
{
	const HyAllocator *allocator;
	const HyCancel *cancel; /* or NULL */
	uint64_t memory;        /* bytes for made-up data; 0: 64 MB */
	uint64_t time_ns;       /* a side that has computed for so long begins no other task; 0: 10 s */
} HyCalibrationLimits;

#define HY_PRIOR_SIZES 12

/* HyPriorSize: what tasks of one size took, on average. */
typedef struct HyPriorSize
{
	int64_t queries;
	int64_t targets;
	int32_t k;
	double ns;
} HyPriorSize;

typedef struct HyPrior
{
	int32_t device;     /* of the executor */
	HyShape shape;      /* one of the kind */
	HyModelState model; /* what tasks of the kind take there; all zero: not told */
	int32_t sizes;
	HyPriorSize size[HY_PRIOR_SIZES];
} HyPrior;

/*
 * hy_calibrate: runs a grid of tasks on the CPU and every device that can be used, opening those that
 * are closed.  A device that fails is left out from then on, and no breaker is told.  Neither is
 * history: import what is to be believed.  *priors has room for HY_CALIBRATION_PRIORS, *count of them
 * are filled; bit d of *unfinished: the time did not allow device d all of the grid.  HY_OK,
 * HY_CANCELLED, HY_NOMEM, or what the CPU failed with.
 */
extern HyStatus hy_calibrate(HyExecutor *executor, const HyCalibrationLimits *limits,
                             HyPrior *priors, int32_t *count, uint32_t *unfinished);

/*
 * hy_executor_import_prior: history takes it in, the law worth at most HY_TRACKER_PRIOR observations,
 * and of the sizes those that were not seen yet; false when there is nothing in it that it can take:
 * it names no device of this executor, or makes no sense.
 */
extern bool hy_executor_import_prior(HyExecutor *executor, const HyPrior *prior);

#endif
