/*
 * tracker.h
 *		What each side was seen to need: a window of observations a shape and device.
 *
 * A shape class is (op, dtype, metric, dims class, resident) and the power of two its items fall
 * into, since one mean over all batch sizes compares nothing.  A side without observations in the
 * class itself is predicted from the nearest class of the same kind that has some, scaled by items.
 * Failures never enter; the first observation of a class is set aside (cold start) until a second
 * arrives.
 */
#ifndef HY_TRACKER_H
#define HY_TRACKER_H

#include "core/allocator.h"
#include "dispatch/backend.h"

#define HY_TRACKER_CLASSES 512 /* fixed; the least recently used is reused */
#define HY_TRACKER_MAX_WINDOW 1000
#define HY_TRACKER_DEVICES 8

typedef struct HyTracker HyTracker;

/* hy_tracker_create: window observations a class and device; NULL when out of memory. */
extern HyTracker *hy_tracker_create(const HyAllocator *allocator, int32_t window);
extern void hy_tracker_destroy(HyTracker *tracker);

/* hy_tracker_set_window: 1 .. HY_TRACKER_MAX_WINDOW; keeps the newest observations. */
extern void hy_tracker_set_window(HyTracker *tracker, int32_t window);
extern void hy_tracker_reset(HyTracker *tracker);

/* hy_tracker_record: a task of this shape ran on device (0 is the CPU) in ns. */
extern void
hy_tracker_record(HyTracker *tracker, const HyShape *shape, int32_t device, uint64_t ns);

/* hy_tracker_predict: expected ns of this shape on device, < 0 with no history to go by. */
extern double hy_tracker_predict(const HyTracker *tracker, const HyShape *shape, int32_t device);

/*
 * hy_tracker_samples: observations in the window of the shape's own class; one that is set aside
 * predicts while nothing else does, and is not counted.
 */
extern int32_t hy_tracker_samples(const HyTracker *tracker, const HyShape *shape, int32_t device);

/* hy_tracker_speedup: predicted CPU time / predicted device time, < 0 when either is unknown. */
extern double hy_tracker_speedup(const HyTracker *tracker, const HyShape *shape, int32_t device);

/* HyForecast: a prediction and what it rests on. */
typedef struct HyForecast
{
	double ns;       /* as hy_tracker_predict */
	int32_t samples; /* as hy_tracker_samples */
	int32_t steps;   /* how many powers of two larger the shape is than the class it rests on */
	bool cold;       /* it rests on one first observation only */
} HyForecast;

extern HyForecast
hy_tracker_forecast(const HyTracker *tracker, const HyShape *shape, int32_t device);

/* hy_shape_class: the class of a shape as a number above 0, for tables that keep one thing a class. */
extern uint32_t hy_shape_class(const HyShape *shape);

#endif
