/*
 * pieces.h
 *		Decides whether a task runs in pieces (bulk.h) and on which devices, and runs the pieces.
 */
#ifndef HY_PIECES_H
#define HY_PIECES_H

#include "dispatch/route/decide.h"
#include "dispatch/run/bulk.h"

/* hy_pieces_plan: return whether a task should be cut; set *plan to the devices that take part. */
extern bool hy_pieces_plan(const HyExecutor *executor, const HyShape *shape, const HyChoice *choice,
                           HyBulkPlan *plan);

/*
 * hy_pieces_run: run a task in pieces.  If *begun is false, the job could not begin, and nothing
 * was counted.
 */
extern HyStatus hy_pieces_run(HyExecutor *executor, const HyTask *task, const HyBulkPlan *plan,
                              HyDecision *decision, uint64_t *finished, bool *begun);

#endif
