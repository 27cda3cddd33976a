/*
 * attempt.h
 *		Tries a task on a device, and reports the outcome to the device's breaker.
 */
#ifndef HY_ATTEMPT_H
#define HY_ATTEMPT_H

#include "dispatch/run/device_run.h"

/*
 * hy_attempt_begin: prepare the device for a task of op: ask the breaker, and open the context.  On
 * failure, returns false, and *run has the reason.  If the breaker refuses, nothing is counted.
 * Any other failure is counted, and reported to the breaker.  Only HY_PROCESS_LOST is left for the
 * caller to report, because the caller knows which other tasks in flight must end first.
 * hy_attempt_report: report an outcome to the breaker, and latch off the device, or all devices of
 * its backend, if the outcome shows that they are lost.
 */
extern bool hy_attempt_begin(HyExecutor *executor, HyMember *member, HyOp op, HyDeviceRun *run);
extern void hy_attempt_report(HyExecutor *executor, HyMember *member, HyOp op, HyStatus status);

/*
 * hy_attempt_run: run a whole task on decision->device, with one retry after a lost context.
 * Counts the attempts, and adds the time of a success to the history.
 */
extern HyStatus
hy_attempt_run(HyExecutor *executor, const HyTask *task, HyDecision *decision, HyDeviceRun *run);

#endif
