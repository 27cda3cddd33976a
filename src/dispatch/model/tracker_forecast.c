/*
 * tracker_forecast.c
 *		Predicts times from the history: see tracker_forecast.h.
 */
#include "dispatch/model/tracker_forecast.h"

#include <math.h>

#include "dispatch/model/tracker_state.h"

#define POOL_UNTIL 30 /* with this many observations of a kind, its pool hardly matters */

/* Contest: the arguments of device_wins, which compares a device with the CPU. */
typedef struct Contest
{
	const HyTracker *tracker;
	HyShape shape;
	int32_t device;
} Contest;

static HyForecast divided(const HyTracker *tracker, const HyShape *shape, double hint_ns);
static double borrowed(const HyTracker *tracker, const HyTrackerCase *task);
static bool device_wins(void *arg, int64_t targets);

double
hy_tracker_predict(const HyTracker *tracker, const HyShape *shape, int32_t device)
{
	return hy_tracker_forecast(tracker, shape, device).ns;
}

bool
hy_tracker_knows(const HyTracker *tracker, const HyShape *shape, int32_t device)
{
	HyTrackerCase task = hy_tracker_case(shape, device);
	const HyTrackerSide *side = hy_tracker_find_side(tracker, &task);

	return side != NULL && side->model.weight > 0;
}

double
hy_tracker_speedup(const HyTracker *tracker, const HyShape *shape, int32_t device)
{
	double cpu = hy_tracker_predict(tracker, shape, 0);
	double other = hy_tracker_predict(tracker, shape, device);

	if (cpu < 0 || other < 0)
		return -1;
	return cpu / other;
}

int64_t
hy_tracker_break_even(const HyTracker *tracker, const HyShape *shape, int32_t device, int64_t limit)
{
	Contest contest = {.tracker = tracker, .shape = *shape, .device = device};

	if (hy_tracker_speedup(tracker, shape, device) < 0)
		return -1;
	return hy_cost_break_even(device_wins, &contest, limit);
}

HyForecast
hy_tracker_forecast(const HyTracker *tracker, const HyShape *shape, int32_t device)
{
	HyForecast forecast = {.ns = -1, .hint_ns = -1};
	HyTrackerCase task = hy_tracker_case(shape, device);
	const HyTrackerSide *side = hy_tracker_find_side(tracker, &task);
	int power = hy_size_power(task.size);
	const HySize *size;

	if (side == NULL || !side->known)
	{
		const HyTrackerKind *kind;

		forecast.hint_ns = borrowed(tracker, &task);
		if (device == 0 && shape->threads > 1)
			return divided(tracker, shape, forecast.hint_ns);
		kind = hy_tracker_find_kind(tracker, task.kind);
		forecast.unseen = kind != NULL ? kind->tasks : 0;
		return forecast;
	}
	/* The pool may have grown since the last fit. */
	if (side->model.weight > 0 && side->model.weight < POOL_UNTIL)
		hy_tracker_refit((HyTracker *) tracker, (HyTrackerSide *) side, &task);
	forecast.ns = hy_tracker_expect(side, &task);
	forecast.weight = side->model.weight;
	forecast.cold = !(side->model.weight > 0);
	forecast.unseen = side->kind->tasks - side->last;
	forecast.above = power - hy_log2_floor(side->least);
	size = hy_sizes_find(&side->sizes, task.size);
	if (size != NULL)
		forecast.samples = (int32_t) size->samples;
	if (side->largest > 0)
	{
		HyCostTerms largest = task.terms;

		forecast.span = hy_log2_floor(side->largest) - hy_log2_floor(side->smallest);
		if (task.terms.work > side->largest)
		{
			forecast.steps = power - hy_log2_floor(side->largest);
			largest.work = side->largest;
			/*
			 * Scale the other terms in proportion to the work, to describe a task of the largest
			 * size.
			 */
			largest.bytes *= side->largest / task.terms.work;
			largest.serial *= side->largest / task.terms.work;
			forecast.largest_ns = hy_cost_predict(&side->fit, largest);
		}
		else if (task.terms.work < side->smallest)
			forecast.steps = power - hy_log2_floor(side->smallest);
	}
	return forecast;
}

/*
 * divided: predict the time on several threads if their class has no history: divide the time on
 * one thread by the number of threads.  hint_ns is the prediction from other kinds of task on the
 * same class of threads.
 */
static HyForecast
divided(const HyTracker *tracker, const HyShape *shape, double hint_ns)
{
	HyShape alone = *shape;
	HyForecast forecast;

	alone.threads = 1;
	forecast = hy_tracker_forecast(tracker, &alone, 0);
	if (forecast.ns >= 0)
		forecast.ns = fmax(forecast.ns / shape->threads, 1);
	/* other kinds on as many threads predict better than other kinds on one thread */
	if (hint_ns >= 0 && forecast.ns < 0)
		forecast.hint_ns = hint_ns;
	else if (forecast.hint_ns >= 0)
		forecast.hint_ns /= shape->threads;
	forecast.largest_ns /= shape->threads;
	return forecast;
}

/*
 * borrowed: return the prediction from all kinds with the same operation and residency, < 0 if
 * there is none.
 */
static double
borrowed(const HyTracker *tracker, const HyTrackerCase *task)
{
	HyCoefficients fit;

	if (task->side < 0 || !hy_model_solve(&tracker->pools[task->side][task->op][task->resident],
	                                      hy_tracker_launch(tracker, task->device), &fit))
		return -1;
	return hy_cost_predict(&fit, task->terms);
}

static bool
device_wins(void *arg, int64_t targets)
{
	Contest *contest = arg;

	contest->shape.targets = targets;
	return hy_tracker_predict(contest->tracker, &contest->shape, contest->device) <=
	       hy_tracker_predict(contest->tracker, &contest->shape, 0);
}
