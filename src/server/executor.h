/*
 * executor.h
 *		The backend's own dispatcher: created at first use, configured from the settings.
 */
#ifndef HYBRID_EXECUTOR_H
#define HYBRID_EXECUTOR_H

#include "postgres.h"

#include "core/clock.h"
#include "dispatch/run/dispatcher.h"
#include "dispatch/run/resident.h"

/*
 * hybrid_clock: return the clock of the dispatcher and the plug-ins.  Their time stamps can be compared
 * only with times of this clock.  The clock includes the simulated time of emulated devices.
 */
extern const HyClock *hybrid_clock(void);

/*
 * hybrid_executor: return the executor, with plug-ins loaded and the current settings applied.  Raises when
 * out of memory.
 */
extern HyExecutor *hybrid_executor(void);

/*
 * hybrid_run: send a task through the dispatcher, and return when its outputs are filled.  Raises on cancel, on
 * a forced device that cannot run the task, and on lack of memory.  Sets the task's cancel.  If the task has no
 * allocator, uses one for the current memory context.  `what` completes "could not ...".
 */
extern void hybrid_run(HyTask *task, const char *what);

/*
 * hybrid_run_with_main_thread_work: run a task as hybrid_run does, and let the main thread do other work while
 * other threads run the task (see hybrid_threads_set_main_thread_work).  Part or all of this work may be left
 * undone.
 */
extern void hybrid_run_with_main_thread_work(HyTask *task, const char *what,
                                             bool (*work)(void *arg), void *arg);

/*
 * hybrid_keep, hybrid_resident_begin, hybrid_resident_send, hybrid_resident_end, hybrid_run_resident: call the
 * function of the same purpose in dispatch/run/resident.h (hy_resident_keep, ..., hy_resident_run), for a unit
 * that hy_resident_ask requested or found. Return false if the call did not succeed. Raise on cancel.
 */
extern bool hybrid_keep(const HyUnitRows *rows, HyResident *resident);
extern bool hybrid_resident_begin(uint64 bytes, int64 rows, HyResident *resident);
extern bool hybrid_resident_send(const HyUnitPart *part, HyResident *resident);
extern bool
hybrid_resident_end(const void *sender_data, Size sender_data_bytes, HyResident *resident);
extern bool hybrid_run_resident(HyTask *task, HyResident *resident, const char *what);

/* hybrid_forget: call hy_resident_forget.  Raises nothing, and may be called while a transaction ends. */
extern void hybrid_forget(const HyUnitKey *key);

#endif
