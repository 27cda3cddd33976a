/*
 * tracker_forecast.h
 *		Predicts times from the history that the tracker (tracker.h) keeps.
 *
 * The regression of the kind predicts a time, and the observed times of similar sizes correct it.
 * If the kind has little history, the history of other kinds of the same operation is used too.
 */
#ifndef HY_TRACKER_FORECAST_H
#define HY_TRACKER_FORECAST_H

#include "dispatch/model/tracker.h"

/* hy_tracker_predict: return the expected ns of this shape on device, < 0 without history. */
extern double hy_tracker_predict(const HyTracker *tracker, const HyShape *shape, int32_t device);

/*
 * hy_tracker_knows: return whether the shape's kind has its own regression on device.  The CPU has
 * one regression for each class of thread counts, and only the class of shape->threads matters
 * here.
 */
extern bool hy_tracker_knows(const HyTracker *tracker, const HyShape *shape, int32_t device);

/*
 * hy_tracker_speedup: return predicted CPU time / predicted device time, < 0 when either is unknown.
 */
extern double hy_tracker_speedup(const HyTracker *tracker, const HyShape *shape, int32_t device);

/*
 * hy_tracker_break_even: find the smallest number of targets, at most limit, from which on a task
 * of this shape is predicted to take no longer on device than on the CPU.  Returns -1 if there is
 * no such number, or if the CPU or the device has no history.
 */
extern int64_t hy_tracker_break_even(const HyTracker *tracker, const HyShape *shape, int32_t device,
                                     int64_t limit);

/* HyForecast: a prediction and the data that it rests on. */
typedef struct HyForecast
{
	double ns;      /* result of hy_tracker_predict */
	double hint_ns; /* if ns < 0: prediction from similar kinds on this device; < 0: none */
	double weight;  /* observations in the regression */
	/*
	 * if the shape has more work than any observed task, the prediction for the largest observed
	 * work; else 0
	 */
	double largest_ns;
	int64_t unseen;  /* tasks of the kind on any side since the last task on this device */
	int32_t samples; /* observations of the shape's size class in the window, without cold start */
	int32_t steps;   /* powers of two above the observed sizes; < 0: below them; 0: within */
	int32_t span;    /* powers of two from the smallest to the largest observed size */
	int32_t above;   /* powers of two by which the shape exceeds the smallest observed size */
	bool cold;       /* only the first observation (cold start) is known */
} HyForecast;

extern HyForecast
hy_tracker_forecast(const HyTracker *tracker, const HyShape *shape, int32_t device);

#endif
