/*
 * workload.h
 *		Made-up tasks of a wanted shape, for measuring: calibration and the audit run them.
 *
 * Vectors are pseudo-random and share one block of memory, so that even a large shape costs no more
 * than was allowed; a graph has four times as many edges as nodes and is run for 10 hops, what a
 * backend that is asked for an estimate takes it to have.
 */
#ifndef HY_WORKLOAD_H
#define HY_WORKLOAD_H

#include "dispatch/dispatcher.h"

typedef struct HyWorkload HyWorkload;

/* hy_workload_create: of at most memory bytes, and at least 1 MB; HY_NOMEM or HY_OK. */
extern HyStatus hy_workload_create(const HyAllocator *allocator, const HyCancel *cancel,
                                   uint64_t memory, HyWorkload **workload);
extern void hy_workload_destroy(HyWorkload *workload);

/*
 * hy_workload_task: a task of this shape; valid until the next one is asked for.  False when the
 * shape is not one that tasks have, or needs more memory than there is.
 */
extern bool hy_workload_task(HyWorkload *workload, const HyShape *shape, HyTask *task);

/*
 * hy_workload_run: the task on one side, whose context must be open, timed; nothing is counted,
 * nothing learned, no breaker told.  The status that it ended with.
 */
extern HyStatus
hy_workload_run(HyExecutor *executor, int32_t device, const HyTask *task, uint64_t *ns);

#endif
