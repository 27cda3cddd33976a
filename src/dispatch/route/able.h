/*
 * able.h
 *		Finds out whether the CPU and which devices may run a task: rules 3 to 7 of decide.c.
 */
#ifndef HY_ABLE_H
#define HY_ABLE_H

#include "dispatch/route/choice.h"

/*
 * hy_find_devices: apply rules 3 to 7 to every device that the settings allow, and set
 * choice->devices and choice->unable.  Returns the device that passed them all and has the least
 * work waiting or in flight.  If no device passed, returns 0.  The choice then has the reason of
 * the device that passed the most rules, choice->why explains it, and choice->missed is the device
 * to report (NULL: none).
 */
extern int32_t hy_find_devices(HyExecutor *executor, const HyShape *shape, HyClass numeric_class,
                               uint64_t now, HyChoice *choice);

/* hy_cpu_able: return whether the CPU can run a task of this shape. */
extern bool hy_cpu_able(const HyExecutor *executor, const HyShape *shape);

/*
 * hy_fits_memory: return whether rule 7 allows the task on a device, whole or in pieces.  Sets
 * choice->chunked if it must be cut, and the choice's bytes required and available.
 */
extern bool hy_fits_memory(HyExecutor *executor, int32_t device, const HyShape *shape, uint64_t now,
                           HyChoice *choice);

/*
 * hy_side_able: return whether rules 3 to 7 allow an exact task of this shape on device.  For the
 * CPU (device 0), only rule 4 counts.
 */
extern bool hy_side_able(HyExecutor *executor, const HyShape *shape, uint64_t now, int32_t device);

/*
 * hy_side_can: return whether rules 3, 4 and 7 allow an exact task of this shape on device.  For
 * the CPU (device 0), only rule 4 counts.
 */
extern bool hy_side_can(HyExecutor *executor, const HyShape *shape, int32_t device);

/*
 * hy_side_fits: return whether a task of this shape fits the device's memory budget in one piece.
 */
extern bool hy_side_fits(HyExecutor *executor, const HyShape *shape, int32_t device);

/* hy_device_meant: return whether the settings allow tasks on this device. */
extern bool hy_device_meant(const HyExecutor *executor, int32_t device);

/* hy_executor_called: return whether hybrid.execution = name selects this device. */
extern bool hy_executor_called(const HyExecutor *executor, int32_t device, const char *name);

#endif
