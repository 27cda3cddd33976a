/*
 * kind.h
 *		Assigns numbers to kinds of tasks, to classes of sizes, and to the sides that run tasks.
 *
 * A kind of task is (op, dtype, metric, dims class, residency).  A side is what may run a task: a
 * device, or the CPU with a class of thread counts.  The CPU with one thread is side 0.  The other
 * classes are 2 to 3 threads, 4 to 7, and so on.
 */
#ifndef HY_KIND_H
#define HY_KIND_H

#include "dispatch/backend.h"

/* maximum number of devices of an executor, including the CPU, which is device 0 */
#define HY_MAX_DEVICES 8
#define HY_THREAD_CLASSES 5 /* the last class: 32 or more threads */
#define HY_SIDES (HY_MAX_DEVICES + HY_THREAD_CLASSES)
#define HY_SIZE_POWER_BITS 8 /* number of low bits that hold the power of two of the work */

/* hy_shape_kind: return the kind of a shape as a number above 0. */
extern uint32_t hy_shape_kind(const HyShape *shape);

/*
 * hy_shape_model: return the kind of a shape as a number above 0.  If device is the CPU, the number
 * includes the class of shape->threads.
 */
extern uint32_t hy_shape_model(const HyShape *shape, int32_t device);

/*
 * hy_shape_class: return a number above 0 for the kind of a shape and the power of two of its
 * items, for tables with one entry per class.
 */
extern uint32_t hy_shape_class(const HyShape *shape);

/*
 * hy_shape_size: return a number above 0 for the size class of a shape with this work.  The class
 * consists of the power of two of the work and of the approximate counts of queries and neighbors
 * (k).
 * hy_size_power: return the exponent of two of the work, given the number of a size class.
 * hy_size_alike: return whether two size classes differ at most in the power of two of the work.
 */
extern uint32_t hy_shape_size(const HyShape *shape, double work);

static inline int
hy_size_power(uint32_t size)
{
	return (int) (size & ((UINT32_C(1) << HY_SIZE_POWER_BITS) - 1));
}

static inline bool
hy_size_alike(uint32_t size, uint32_t other)
{
	return size >> HY_SIZE_POWER_BITS == other >> HY_SIZE_POWER_BITS;
}

/*
 * hy_side_of: return the number of the side that runs a shape on a device.  An invalid device gives
 * an invalid number.
 */
extern int32_t hy_side_of(const HyShape *shape, int32_t device);

extern int32_t hy_side_device(int32_t side);

/* hy_side_threads: return the least number of threads of a side of the CPU. */
extern int32_t hy_side_threads(int32_t side);

/* hy_log2_floor: return the floor of log2(n), at most 63; 0 if n < 1 or n is NaN. */
extern int hy_log2_floor(double n);

#endif
