/*
 * cancel.h
 *		Cancellation of long-running loops in pure code.
 *
 * A loop polls about once per millisecond of work.  When the poll returns true, the function with
 * the loop releases its resources and returns HY_CANCELLED.  The server side then runs
 * CHECK_FOR_INTERRUPTS().
 */
#ifndef HY_CANCEL_H
#define HY_CANCEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* number of edges, entries or nodes of a graph between two polls: about 0.3 ms */
#define HY_CANCEL_BLOCK 65536

typedef struct HyCancel
{
	bool (*requested)(void *arg);
	void *arg;
} HyCancel;

/* hy_cancelled: test whether the caller must stop.  A NULL cancel never requests a stop. */
static inline bool
hy_cancelled(const HyCancel *cancel)
{
	return cancel != NULL && cancel->requested != NULL && cancel->requested(cancel->arg);
}

/* hy_cancelled_at: poll as hy_cancelled does, but only once per HY_CANCEL_BLOCK iterations. */
static inline bool
hy_cancelled_at(int64_t i, const HyCancel *cancel)
{
	return i % HY_CANCEL_BLOCK == 0 && hy_cancelled(cancel);
}

#endif
