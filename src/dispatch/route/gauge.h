/*
 * gauge.h
 *		Measures the load from other tasks, predicts times under this load, and limits the wait
 *		for a turn (for a slot in the queue of a device).
 */
#ifndef HY_GAUGE_H
#define HY_GAUGE_H

#include "dispatch/model/tracker_forecast.h"
#include "dispatch/route/config.h"
#include "dispatch/share/queue.h"

/*
 * hy_gauge_update: update HyMember.queue, the load of each device.
 * hy_gauge_queue: return the load of one device: its tasks that wait or are in flight.
 */
extern void hy_gauge_update(HyExecutor *executor);
extern HyQueueLoad hy_gauge_queue(const HyExecutor *executor, int32_t device);

/*
 * hy_gauge_less: return whether device has less work waiting or in flight than other.  Compares the
 * numbers of tasks without a prediction first, then the predicted times.
 */
extern bool hy_gauge_less(const HyExecutor *executor, int32_t device, int32_t other);

/* hy_gauge_threads: return the number of threads that a task would get on the CPU now, at least 1. */
extern int32_t hy_gauge_threads(const HyExecutor *executor, const HyShape *shape);

/*
 * hy_gauge_forecast: return the result of hy_tracker_forecast.  For the CPU, use the number of
 * threads that the task would get now.
 */
extern HyForecast
hy_gauge_forecast(const HyExecutor *executor, const HyShape *shape, int32_t device);

/* HySide: the CPU or a device as a place to run a task, and the predicted time there. */
typedef struct HySide
{
	int32_t device;
	HyForecast forecast; /* result of hy_gauge_forecast */
	double ns;           /* predicted time, including load and tasks in flight; < 0: not known */
} HySide;

/* hy_gauge_side: predict the time of a task on a device (0: the CPU) under the current load. */
extern HySide hy_gauge_side(const HyExecutor *executor, const HyShape *shape, int32_t device);

/* hy_side_ns: return the time that hy_gauge_side predicts. */
extern double hy_side_ns(const HyExecutor *executor, const HyShape *shape, int32_t device);

/*
 * hy_turn_limit: return the timeout in ns for the current task's wait for its turn.
 * hy_turn_set_timeout: set that timeout for a task whose predicted CPU time is cpu_ns (< 0:
 * unknown).  If the dispatcher itself chose the device, the timeout is cpu_ns, at least 0.1 ms, or
 * 10 ms if cpu_ns is unknown.  So a failed wait at most doubles the time of a call whose CPU time
 * is known and at least 0.1 ms.  If the user chose the device, the timeout of the task applies.
 */
extern uint64_t hy_turn_limit(const HyExecutor *executor);
extern void hy_turn_set_timeout(HyExecutor *executor, double cpu_ns);

/*
 * hy_turn_missed: record that no turn came within waited_ns.
 * hy_turn_came: record that a turn came.
 */
extern void hy_turn_missed(HyExecutor *executor, HyMember *member, uint64_t waited_ns);
extern void hy_turn_came(HyMember *member);

/*
 * hy_load_seen: record that count observations of the CPU were added to history under the current
 * load.
 */
extern void hy_load_seen(HyExecutor *executor, int32_t count);

#endif
