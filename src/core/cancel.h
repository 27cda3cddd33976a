/*
 * cancel.h
 *		How a long pure loop learns that its caller wants it to stop.
 *
 * Poll about once a millisecond of work.  A loop that sees true gives back what it holds and
 * returns HY_CANCELLED; the server side then runs CHECK_FOR_INTERRUPTS().
 */
#ifndef HY_CANCEL_H
#define HY_CANCEL_H

#include <stdbool.h>
#include <stddef.h>

typedef struct HyCancel
{
	bool (*requested)(void *arg);
	void *arg;
} HyCancel;

/* hy_cancelled: whether to stop; a NULL cancel is never cancelled. */
static inline bool
hy_cancelled(const HyCancel *cancel)
{
	return cancel != NULL && cancel->requested != NULL && cancel->requested(cancel->arg);
}

#endif
