/*
 * attempt.h
 *		Tries a task on a device, and evaluates the device by the outcome.
 */
#ifndef HY_ATTEMPT_H
#define HY_ATTEMPT_H

#include "dispatch/run/device_run.h"

/*
 * hy_attempt_begin: prepare a task of op for the device: ask the breaker, and open the context.  On
 * failure, returns false, and *run has the reason.  If an attempt took place, it was counted and
 * evaluated.  The exception is HY_PROCESS_LOST, which the caller evaluates, because only the caller
 * knows which other tasks are in flight and must end first.
 * hy_attempt_report: report an outcome to the breaker, and latch off devices that the outcome shows
 * to be lost.
 */
extern bool hy_attempt_begin(HyExecutor *executor, HyMember *member, HyOp op, HyDeviceRun *run);
extern void hy_attempt_report(HyExecutor *executor, HyMember *member, HyOp op, HyStatus status);

/*
 * hy_attempt_run: run a whole task on decision->device, with one retry after a lost context.
 * Counts and records the attempts.
 */
extern HyStatus
hy_attempt_run(HyExecutor *executor, const HyTask *task, HyDecision *decision, HyDeviceRun *run);

#endif
