/*
 * threads.h
 *		Runs the parts of a computation on several threads of this process.
 *
 * The caller divides a computation into parts, and hy_threads_run runs each part once.  The calling
 * thread is worker 0 and runs parts like the other threads, which are the workers 1, 2, ...  The
 * results must not depend on which worker runs a part, since a free worker takes the next part.
 *
 * Threads run pure code only, which calls no function of PostgreSQL.  They are started with all
 * signals blocked, so the signals of the process reach its main thread.  A part allocates no
 * memory: whatever it needs, the caller allocates for each worker beforehand.  hy_threads_run
 * returns when no thread works for it any more, also after a cancel or a failure.  So its caller
 * may raise errors and free memory.
 *
 * Threads remain for a few seconds and wait for the next call.  If a thread cannot be started, the
 * parts run on fewer threads.  After a fork, the child has no threads and starts its own.
 */
#ifndef HY_THREADS_H
#define HY_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/cancel.h"
#include "core/status.h"

#define HY_THREADS_MOST 64 /* maximum number of workers */

/*
 * HyPart: run one part.  worker is 0 .. threads - 1, and no two parts run with the same worker at
 * the same time.  The part polls the given cancel.  It must not call hy_threads_run.
 */
typedef HyStatus (*HyPart)(void *arg, int64_t part, int worker, const HyCancel *cancel);

/*
 * hy_threads_allow, hy_threads_allowed: set or get the maximum number of threads of a computation,
 * the calling thread included.  The maximum is 1 until it is set.
 */
extern void hy_threads_allow(int threads);
extern int hy_threads_allowed(void);

/*
 * hy_threads_for: return the number of threads for a computation, from 1 to hy_threads_allowed.
 * `work` is the size of the computation, in multiplications of a canonical kernel.  The work of
 * each thread then takes several times as long as waking the thread.
 */
extern int hy_threads_for(double work);

/* hy_threads_worth: return whether several threads would pay for this work if they are allowed. */
extern bool hy_threads_worth(double work);

/*
 * hy_threads_set_least: set the least work of a thread.  Tests lower it so that small computations
 * use threads, too.  0 restores the default.
 */
extern void hy_threads_set_least(double work);

/*
 * HyMainThreadWork: work that only the calling thread can do while other threads run parts.  Each
 * call does a little of it, about 0.1 ms at most, and sets *more to whether work is left.
 *
 * hy_threads_set_main_thread_work: from now on, hy_threads_run lets the calling thread do this work
 * instead of running parts, as long as there are parts for the other threads to take and the work
 * is not done.  If the work returns another status than HY_OK, no new part starts, and
 * hy_threads_run returns that status.  The work must stay valid until the next call of this
 * function; NULL: no such work.
 */
typedef struct HyMainThreadWork
{
	HyStatus (*work)(void *arg, bool *more);
	void *arg;
} HyMainThreadWork;

extern void hy_threads_set_main_thread_work(const HyMainThreadWork *main_thread_work);

/*
 * hy_threads_pause_main_thread_work: pause or resume the HyMainThreadWork.  While it is paused,
 * hy_threads_run does not call it.
 */
extern void hy_threads_pause_main_thread_work(bool paused);

/*
 * hy_threads_main_thread_work_ns: return the time spent on the HyMainThreadWork, in nanoseconds,
 * since the last call of hy_threads_set_main_thread_work.
 */
extern uint64_t hy_threads_main_thread_work_ns(void);

/*
 * hy_threads_run: run parts 0 .. parts - 1 on at most `threads` threads.  Returns HY_OK when all
 * parts have returned HY_OK.  After another status no new part starts, and that status is returned.
 * Must always be called from the same thread of a process.  A HyMainThreadWork may call
 * hy_threads_run, too; the parts of that call run on the calling thread.
 */
extern HyStatus
hy_threads_run(int threads, int64_t parts, HyPart run, void *arg, const HyCancel *cancel);

/*
 * hy_threads_run_soon: do the same as hy_threads_run, for a short run that will soon be followed by
 * another.  Waking a sleeping thread may take as long as the run.  So after the run each thread
 * waits for the next one by spinning, for at most 0.2 ms, before it sleeps.  The caller also spins
 * while it waits for the last parts.
 */
extern HyStatus
hy_threads_run_soon(int threads, int64_t parts, HyPart run, void *arg, const HyCancel *cancel);

/*
 * hy_threads_stop: end all threads, and wait for their end.  The next call of hy_threads_run starts
 * new ones.  A signal handler that ends the process may call hy_threads_stop while hy_threads_run
 * runs.  Then no new part starts, and the parts that run are canceled.
 */
extern void hy_threads_stop(void);

#endif
