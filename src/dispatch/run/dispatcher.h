/*
 * dispatcher.h
 *		The entry point for every batch: chooses the CPU or a device, runs the task there, falls
 *		back to the CPU on failure, and records the call.
 *
 * Even if a device fails, hy_dispatch returns HY_OK with the answer in the task's outputs: a device
 * failure costs time but never the answer.  Only a task that the user forced to a device (execution
 * = gpu or the name of a backend) can fail because of a device.
 */
#ifndef HY_DISPATCHER_H
#define HY_DISPATCHER_H

#include "dispatch/run/executor.h"

/*
 * hy_dispatch: run the task on the CPU or on devices.  Returns HY_OK if the outputs are filled,
 * HY_CANCELLED if the task was canceled, and HY_NOMEM if the host is out of memory.  Returns
 * HY_INVALID if the task contradicts itself, or if its inputs are in a device buffer (the executor
 * does not know which device owns a buffer).  If the user forced a device, any status of that
 * device can be returned.  decision may be NULL; otherwise *decision is always filled.
 */
extern HyStatus hy_dispatch(HyExecutor *executor, const HyTask *task, HyDecision *decision);

#endif
