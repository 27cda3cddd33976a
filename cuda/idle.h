/*
 * idle.h
 *		The thread that closes a context after it has been unused for some time, and the lock
 *		between this thread and the host's thread.
 *
 * The process has one lock.  All functions of the backend's table hold the lock, except three that
 * plugin.c names.  The thread sleeps until its device is due to be closed.  Then the thread takes
 * the lock and calls CUDA.  It calls no function of HyHost, and frees pinned host memory but
 * nothing from the host's allocator.  All signals are blocked in the thread, so it never runs a
 * signal handler of the host.
 */
#ifndef HY_CUDA_IDLE_H
#define HY_CUDA_IDLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "dispatch/backend.h"

/* HyCudaTimer: the timer of one open device. */
typedef struct HyCudaTimer
{
	pthread_t thread;
	pthread_cond_t changed; /* signaled when stop or timeout_ns has changed */
	bool started;           /* the thread was started and has not been joined */
	bool stop;
	bool closed;         /* the context is closed; read without the lock */
	uint64_t timeout_ns; /* idle timeout; 0: never close */
	uint64_t used_ns;    /* time of the last use, by CLOCK_MONOTONIC, the clock of `changed` */
	bool fresh;          /* not used since the device was opened */
	/* HyLimits.place: word in shared memory that counts the context; set to 0 at closing */
	uint64_t *place;
	uint64_t place_value; /* value of that word at open */
} HyCudaTimer;

typedef enum HyCudaHold
{
	HY_CUDA_HELD = 0,
	/* this is a fork: it has no timer thread, and its copy of the lock may be held forever */
	HY_CUDA_FORK,
	HY_CUDA_INSIDE /* this thread holds the lock already: a signal handler has called the plug-in */
} HyCudaHold;

/*
 * hy_cuda_hold: acquire the lock at the start of a function of the backend's table, unless the
 * process is a fork or the thread holds the lock already.
 *
 * hy_cuda_let_go: release the lock, if hy_cuda_hold has acquired it.
 */
extern HyCudaHold hy_cuda_hold(void);
extern void hy_cuda_let_go(HyCudaHold hold);

/*
 * hy_cuda_timer_begin: initialize the timer of a device that is being opened.  Starts no thread.
 *
 * hy_cuda_timer_opened: record the time at which the device was opened.
 */
extern void hy_cuda_timer_begin(HyDevice *device, const HyLimits *limits);

extern void hy_cuda_timer_opened(HyDevice *device);

/* hy_cuda_timer_used: record the time of a use of the device. */
extern void hy_cuda_timer_used(HyDevice *device);

/*
 * hy_cuda_timer_set: read the setting gpu_idle_timeout.  Starts the thread if the timeout is not 0
 * and the thread has not been started.  If no thread can be created, the context stays open.
 */
extern void hy_cuda_timer_set(HyDevice *device);

/* hy_cuda_timer_end: stop and join the thread.  Releases the lock while waiting. */
extern void hy_cuda_timer_end(HyDevice *device);

/*
 * hy_cuda_closed_idle: return whether the thread has closed the context.  Implements
 * HyBackend.idle, without the lock.
 */
extern bool hy_cuda_closed_idle(const HyDevice *device);

#endif
