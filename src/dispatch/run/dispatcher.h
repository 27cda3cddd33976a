/*
 * dispatcher.h
 *		The entry point for every batch: chooses a side, runs the task there, falls back on failure,
 *		and records the call.
 *
 * hy_dispatch returns HY_OK with the answer in the task's output even if a device fails: a device
 * failure costs time but never an answer.  Only a task that the user forced to a device (execution =
 * gpu or the name of a backend) can fail because of a device.
 */
#ifndef HY_DISPATCHER_H
#define HY_DISPATCHER_H

#include "dispatch/run/executor.h"

/*
 * hy_dispatch: run the task on some side.  Returns HY_OK if the outputs are filled, HY_CANCELLED if
 * the task was canceled, and HY_NOMEM if the host itself is out of memory.  Returns HY_INVALID if
 * the task contradicts itself, or if its inputs lie in a device buffer (the executor does not know
 * which device owns a buffer).  If the user forced a device, the status can be any status of that
 * device.  decision may be NULL; otherwise *decision is always filled.
 */
extern HyStatus hy_dispatch(HyExecutor *executor, const HyTask *task, HyDecision *decision);

#endif
