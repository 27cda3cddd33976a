/*
 * splitting.h
 *		Rule 10 of decide.c: whether device and CPU run a task at once, and in which shares.
 *
 * The device's share is the one at which both are predicted to end together, or the one that the
 * user has fixed.  If the user asked for a split and a side has no history, or only a cold start,
 * the split serves as the trial.
 */
#ifndef HY_SPLITTING_H
#define HY_SPLITTING_H

#include "dispatch/executor_state.h"

/*
 * hy_consider_split: set share, split and split_ns of a choice that has a candidate.  asked_for:
 * the user asked for a split.
 */
extern void
hy_consider_split(HyExecutor *executor, const HyShape *shape, bool asked_for, HyChoice *choice);

#endif
