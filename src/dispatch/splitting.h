/*
 * splitting.h
 *		Rule 10 of decide.c: whether device and CPU run a task at once, and in which shares.
 *
 * The device's share is the one at which both are predicted to end together, or what the user has
 * fixed.  Where a split is asked for and a side is not known, or by a cold start only, the split is
 * the trial.
 */
#ifndef HY_SPLITTING_H
#define HY_SPLITTING_H

#include "dispatch/executor_state.h"

/*
 * hy_consider_split: sets share, split and split_ns of a choice that has a candidate; asked_for: by
 * the user.
 */
extern void
hy_consider_split(HyExecutor *executor, const HyShape *shape, bool asked_for, HyChoice *choice);

#endif
