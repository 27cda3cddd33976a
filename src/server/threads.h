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
 * hybrid_threads_lend: let the CPU backend take threads for each task, and give them back afterwards. The number
 * of threads depends on the size of the task and on the limits (threads.c).
 *
 * hybrid_threads_check: raise the error, if any, that was kept while threads were taken for a task or while the
 * main thread did other work. Must be called after each call of the dispatcher that may run tasks. Taking
 * threads fails only if memory is exhausted.
 */
extern void hybrid_threads_lend(void);
extern void hybrid_threads_check(void);

/*
 * hybrid_threads_run: run parts of a device's task, on threads that are taken for this call only.  Implements
 * HyHost.run.  Never raises: if taking threads fails, the parts run on the main thread, and hybrid_threads_check
 * raises the error.
 */
extern HyStatus
hybrid_threads_run(void *arg, HyOp op, double work, int64_t parts, HyPart part, void *part_arg);

/*
 * hybrid_threads_set_main_thread_work: while tasks run on several threads, let the main thread call `work` until
 * it returns false. Each call must take about 0.1 ms at most, and may raise an error. An error ends the task,
 * and hybrid_threads_check raises it again. If `work` is NULL, the main thread has no such work.
 */
extern void hybrid_threads_set_main_thread_work(bool (*work)(void *arg), void *arg);

/*
 * hybrid_threads_limit: return the maximum number of threads or processes that a query of this session may use,
 * the caller's own included.
 */
extern int hybrid_threads_limit(void);

/*
 * hybrid_threads_take: allow threads for a computation of this size (see hy_threads_for) that the caller is
 * about to run without the dispatcher: the main thread and at most `most` others. Raises an error only if memory
 * is exhausted, and then allows no threads. After it returns, the caller must call hybrid_threads_give before
 * any code that may raise an error.
 *
 * hybrid_threads_give: give the threads back. Afterwards computations use the calling thread only.
 */
extern void hybrid_threads_take(double work, uint64 most);
extern void hybrid_threads_give(void);

#endif
