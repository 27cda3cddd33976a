/*
 * calibration.h
 *		Measuring both sides on purpose, so that the first real task finds history.
 *
 * For each kind of task in a fixed list, sizes from small to large are run a few times on every
 * side that can have them, as long as they are expected to take no longer than a limit; what was
 * measured teaches the executor's tracker like any task.  Counters, events and breakers are left
 * alone.  Devices are opened for it.
 */
#ifndef HY_CALIBRATION_H
#define HY_CALIBRATION_H

#include "dispatch/dispatcher.h"

typedef struct HyCalibrationLimits
{
	const HyAllocator *allocator;
	const HyCancel *cancel; /* or NULL */
	uint64_t memory;        /* bytes for made-up data; 0: 64 MB */
	uint64_t longest_ns;    /* of one task; 0: 10 ms */
} HyCalibrationLimits;

/*
 * hy_calibrate: *runs is how many tasks taught something.  HY_OK, HY_CANCELLED, HY_NOMEM, or what
 * the CPU failed with; a device that cannot be opened, or fails, is left out from then on.
 */
extern HyStatus
hy_calibrate(HyExecutor *executor, const HyCalibrationLimits *limits, int64_t *runs);

#endif
