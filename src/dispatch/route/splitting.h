/*
 * splitting.h
 *		Rule 10 of decide.c: decides whether device and CPU run a task together, and in which
 *		shares.
 *
 * The user may fix the device's share.  Otherwise the share is chosen so that CPU and device are
 * predicted to end at the same time.  If the user asked for a split and one of the two has no
 * history, or only a cold start, the split also measures it.
 */
#ifndef HY_SPLITTING_H
#define HY_SPLITTING_H

#include "dispatch/route/choice.h"

/*
 * hy_consider_split: set the fields share, split and split_ns of a choice that has a candidate.
 * `asked_for`: the user asked for a split.
 */
extern void
hy_consider_split(HyExecutor *executor, const HyShape *shape, bool asked_for, HyChoice *choice);

#endif
