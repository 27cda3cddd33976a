/*
 * idle.h
 *		The thread that closes a context which nobody has used for a while, and what keeps it and the
 *		host's thread apart.
 *
 * Every entry of the vtable that touches more than one word holds the process's one lock (plugin.c).
 * The thread sleeps until its device is due, holds the lock, and calls CUDA; of the host it calls
 * nothing and frees nothing.  Signals are blocked in it, so that no handler of the host ever runs there.
 */
#ifndef HY_CUDA_IDLE_H
#define HY_CUDA_IDLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "dispatch/backend.h"

/* HyCudaTimer: of one open device. */
typedef struct HyCudaTimer
{
	pthread_t thread;
	pthread_cond_t changed; /* stop, or the timeout */
	bool started;           /* and not joined */
	bool stop;
	bool asleep;         /* the context is closed; read without the lock */
	uint64_t timeout_ns; /* 0: never */
	uint64_t used_ns;    /* CLOCK_MONOTONIC, as the condition's */
	bool fresh;          /* nobody has used it since it was opened */
	uint64_t *place;     /* HyLimits */
	uint64_t place_value;
} HyCudaTimer;

typedef enum HyCudaHold
{
	HY_CUDA_HELD = 0,
	HY_CUDA_FORK,  /* there is no thread here, and the lock may be held for ever */
	HY_CUDA_INSIDE /* this thread has it: a handler of the host's came back in */
} HyCudaHold;

/* hy_cuda_hold, hy_cuda_let_go: the lock, round an entry. */
extern HyCudaHold hy_cuda_hold(void);
extern void hy_cuda_let_go(HyCudaHold hold);

/* hy_cuda_timer_begin: of a device that is being opened; no thread yet.  opened: it is now. */
extern void hy_cuda_timer_begin(HyDevice *device, const HyLimits *limits);

extern void hy_cuda_timer_opened(HyDevice *device);

/* hy_cuda_timer_used: somebody uses the device. */
extern void hy_cuda_timer_used(HyDevice *device);

/*
 * hy_cuda_timer_set: looks the timeout up, and starts the thread when there is one and it does not run
 * yet.  Where no thread can be had, the context stays open.
 */
extern void hy_cuda_timer_set(HyDevice *device);

/* hy_cuda_timer_end: the thread is gone afterwards; lets the lock go meanwhile. */
extern void hy_cuda_timer_end(HyDevice *device);

/* hy_cuda_asleep: whether the thread has closed the context: HyBackend.idle. */
extern bool hy_cuda_asleep(const HyDevice *device);

#endif
