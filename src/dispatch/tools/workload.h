/*
 * workload.h
 *		Generates tasks of a given shape, and runs them, for calibration and the audit.
 *
 * All inputs and outputs of a task lie in one block of memory, whose size the caller limits.
 * Vectors are pseudorandom.  A graph has four times as many edges as nodes and is run for 10 hops.
 * Backends assume the same numbers in their estimates.
 */
#ifndef HY_WORKLOAD_H
#define HY_WORKLOAD_H

#include "dispatch/run/dispatcher.h"

typedef struct HyWorkload HyWorkload;

/*
 * hy_workload_create: create a workload with a block of memory bytes, but at least 1 MB.  Returns
 * HY_OK or HY_NOMEM.
 */
extern HyStatus hy_workload_create(const HyAllocator *allocator, const HyCancel *cancel,
                                   uint64_t memory, HyWorkload **workload);
extern void hy_workload_destroy(HyWorkload *workload);

/*
 * hy_workload_task: make a task of this shape, valid until the next call.  Returns false if the
 * block is too small, or if no such task can be generated: for a shape with resident rows, other
 * vectors than fp32, or more than 64 seed sets, for example.
 */
extern bool hy_workload_task(HyWorkload *workload, const HyShape *shape, HyTask *task);

/*
 * hy_workload_run: run the task on a device (0: the CPU), which must be open, and measure its time.
 * Changes no counter, history or breaker.  Returns the final status of the task.
 */
extern HyStatus
hy_workload_run(HyExecutor *executor, int32_t device, const HyTask *task, uint64_t *ns);

#endif
