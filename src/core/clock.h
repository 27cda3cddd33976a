/*
 * clock.h
 *		A clock that callers pass in.
 *
 * The server and the benchmarks pass a monotonic clock.  The unit tests pass a virtual clock that
 * stands still until some code waits.
 *
 * A process uses one clock.  The duration of a task is the difference of two readings of that
 * clock, whether the parts of the task ran in real time or in simulated time.  An emulated device
 * calls skip to subtract its real computing time and to add its simulated time.  Code that waits
 * for an emulated device skips instead of sleeping.
 */
#ifndef HY_CLOCK_H
#define HY_CLOCK_H

#include <stdint.h>

typedef struct HyClock
{
	uint64_t (*now)(void *arg);           /* nanoseconds from an arbitrary origin */
	void (*wait)(void *arg, uint64_t ns); /* let about ns nanoseconds pass, at least 1 */
	void (*skip)(void *arg, int64_t ns);  /* move now by ns, forward or back; NULL: unsupported */
	void *arg;
} HyClock;

/* hy_monotonic_clock: CLOCK_MONOTONIC.  wait sleeps and may return early on a signal. */
extern const HyClock hy_monotonic_clock;

/*
 * HyShiftedClock: a monotonic clock whose origin is moved by its skip function.  Use
 * &shifted->clock.
 */
typedef struct HyShiftedClock
{
	HyClock clock;
	int64_t shift_ns;
} HyShiftedClock;

/*
 * hy_shifted_clock_init: initialize the clock.  The structure must not move in memory afterwards.
 */
extern void hy_shifted_clock_init(HyShiftedClock *shifted);

#endif
