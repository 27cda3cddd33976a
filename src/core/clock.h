/*
 * clock.h
 *		Time, passed in: the server and the benches give a monotonic clock, the unit tests a
 *		virtual one that stands still until somebody waits.
 */
#ifndef HY_CLOCK_H
#define HY_CLOCK_H

#include <stdint.h>

typedef struct HyClock
{
	uint64_t (*now)(void *arg);           /* nanoseconds from an arbitrary origin */
	void (*wait)(void *arg, uint64_t ns); /* let about ns nanoseconds pass, at least 1 */
	void *arg;
} HyClock;

/* hy_monotonic_clock: CLOCK_MONOTONIC; wait sleeps and may return early on a signal. */
extern const HyClock hy_monotonic_clock;

#endif
