/*
 * clock.c
 *		The monotonic clock of the machine, unchanged or with a movable origin.
 */
#define _POSIX_C_SOURCE 200809L

#include "core/clock.h"

#include <stddef.h>
#include <time.h>

static uint64_t monotonic_now(void *arg);
static void monotonic_wait(void *arg, uint64_t ns);
static uint64_t shifted_now(void *arg);
static void shifted_skip(void *arg, int64_t ns);

const HyClock hy_monotonic_clock = {.now = monotonic_now, .wait = monotonic_wait};

void
hy_shifted_clock_init(HyShiftedClock *shifted)
{
	shifted->clock.now = shifted_now;
	shifted->clock.wait = monotonic_wait;
	shifted->clock.skip = shifted_skip;
	shifted->clock.arg = shifted;
	shifted->shift_ns = 0;
}

static uint64_t
monotonic_now(void *arg)
{
	struct timespec ts;

	(void) arg;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t) ts.tv_sec * 1000000000u + (uint64_t) ts.tv_nsec;
}

static void
monotonic_wait(void *arg, uint64_t ns)
{
	struct timespec ts;

	(void) arg;
	ts.tv_sec = (time_t) (ns / 1000000000u);
	ts.tv_nsec = (long) (ns % 1000000000u);
	nanosleep(&ts, NULL);
}

static uint64_t
shifted_now(void *arg)
{
	return monotonic_now(NULL) + (uint64_t) ((HyShiftedClock *) arg)->shift_ns;
}

static void
shifted_skip(void *arg, int64_t ns)
{
	((HyShiftedClock *) arg)->shift_ns += ns;
}
