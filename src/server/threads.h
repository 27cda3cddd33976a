/*
 * threads.h
 *		How many threads a task may use, within limits over all sessions.
 */
#ifndef HYBRID_THREADS_H
#define HYBRID_THREADS_H

#include "postgres.h"

#include "dispatch/backend.h"

extern int hybrid_threads; /* hybrid.threads; 0: no limit of its own */

/*
 * hybrid_threads_take: allow threads for a task that the caller is about to run (hy_threads_allow).
 * Their number depends on the size of the task and on the limits (threads.c).  If task is NULL, the caller
 * may run any number of large tasks.  Raises an error only if memory or the number of open files is
 * exhausted; then no threads are allowed.  Otherwise hybrid_threads_give must be called before any code
 * that may raise an error.
 *
 * hybrid_threads_give: give the threads back.  Afterwards computations use the calling thread only.
 */
extern void hybrid_threads_take(const HyTask *task);
extern void hybrid_threads_give(void);

#endif
