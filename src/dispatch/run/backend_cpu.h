/*
 * backend_cpu.h
 *		The CPU backend, which is always available.
 */
#ifndef HY_BACKEND_CPU_H
#define HY_BACKEND_CPU_H

#include "dispatch/backend.h"

/* hy_backend_cpu: a backend with one device, the CPU.  Its submit runs the task to the end. */
extern const HyBackend hy_backend_cpu;

/*
 * HyLender: lends threads to tasks on the CPU.  Other backends get threads from HyHost.run.
 *
 * expect returns the number of threads that a task of this shape would get now.
 *
 * take allows a number of threads (hy_threads_allow) for a task that the CPU is about to run.  If
 * take returns false, the task fails with HY_NOMEM.  Otherwise give is called when the task has
 * ended.
 */
typedef struct HyLender
{
	int32_t (*expect)(void *arg, const HyShape *shape);
	bool (*take)(void *arg, const HyTask *task);
	void (*give)(void *arg);
	void *arg;
} HyLender;

/*
 * hy_backend_cpu_lend: set the lender of this process, which must stay valid; NULL: none.  Returns the
 * earlier lender.
 */
extern const HyLender *hy_backend_cpu_lend(const HyLender *lender);

#endif
