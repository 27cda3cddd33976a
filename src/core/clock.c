/*
 * clock.c
 *		The monotonic clock of the machine.
 */
#define _POSIX_C_SOURCE 200809L

#include "core/clock.h"

#include <stddef.h>
#include <time.h>

static uint64_t monotonic_now(void *arg);
static void monotonic_wait(void *arg, uint64_t ns);

const HyClock hy_monotonic_clock = {monotonic_now, monotonic_wait, NULL};

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
