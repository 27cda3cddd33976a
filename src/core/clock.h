/*
 * clock.h
 *		Time, passed in: the server and the benches give a monotonic clock, the unit tests a
 *		virtual one that stands still until somebody waits.
 *
 * One clock serves a process: what took part in a task, in real time or on made-up time, is then
 * finished - started on it.  An emulated device takes its own computing out with skip and puts its
 * made-up time in; who waits for one skips instead of sleeping.
 */
#ifndef HY_CLOCK_H
#define HY_CLOCK_H

#include <stdint.h>

typedef struct HyClock
{
	uint64_t (*now)(void *arg);           /* nanoseconds from an arbitrary origin */
	void (*wait)(void *arg, uint64_t ns); /* let about ns nanoseconds pass, at least 1 */
	void (*skip)(void *arg, int64_t ns);  /* now is ns later, or earlier; NULL: cannot */
	void *arg;
} HyClock;

/* hy_monotonic_clock: CLOCK_MONOTONIC; wait sleeps and may return early on a signal. */
extern const HyClock hy_monotonic_clock;

/* HyShiftedClock: the monotonic clock with an origin that skip moves; use &shifted->clock. */
typedef struct HyShiftedClock
{
	HyClock clock;
	int64_t shift_ns;
} HyShiftedClock;

/* hy_shifted_clock_init: shifted must not move afterwards. */
extern void hy_shifted_clock_init(HyShiftedClock *shifted);

#endif
