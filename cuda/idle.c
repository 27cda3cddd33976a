/*
 * idle.c
 *		Closes contexts that have not been used for some time (hybrid.gpu_idle_timeout).
 */
#include "cuda/idle.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cuda/device.h"
#include "cuda/pipeline.h"

/*
 * If a thread locks this mutex twice, the second attempt returns an error.  This can happen: a
 * signal handler that ends the process also closes its devices, and may have interrupted code that
 * holds the mutex.
 */
static pthread_mutex_t lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

/*
 * A device that has not been used since it was opened stays open for at least this time, even if
 * the timeout is shorter.
 */
#define FIRST_USE_NS UINT64_C(1000000000)

static void *watch(void *arg);
static uint64_t due_ns(const HyCudaTimer *timer);
static bool at_rest(HyDevice *device);
static void close_idle(HyDevice *device);
static void wait_until(HyCudaTimer *timer, uint64_t ns);
static uint64_t timeout_ns(const HyHost *host);
static uint64_t now_ns(void);

HyCudaHold
hy_cuda_hold(void)
{
	if (hy_cuda_forked())
		return HY_CUDA_FORK;
	return pthread_mutex_lock(&lock) == 0 ? HY_CUDA_HELD : HY_CUDA_INSIDE;
}

void
hy_cuda_let_go(HyCudaHold hold)
{
	if (hold == HY_CUDA_HELD)
		(void) pthread_mutex_unlock(&lock);
}

void
hy_cuda_timer_begin(HyDevice *device, const HyLimits *limits)
{
	HyCudaTimer *timer = &device->timer;

	if (limits == NULL || limits->place == NULL)
		return;
	timer->place = limits->place;
	timer->place_value = __atomic_load_n(limits->place, __ATOMIC_ACQUIRE);
}

void
hy_cuda_timer_opened(HyDevice *device)
{
	device->timer.used_ns = now_ns();
	device->timer.fresh = true;
}

void
hy_cuda_timer_used(HyDevice *device)
{
	device->timer.used_ns = now_ns();
	device->timer.fresh = false;
}

void
hy_cuda_timer_set(HyDevice *device)
{
	HyCudaTimer *timer = &device->timer;
	uint64_t ns = timeout_ns(device->host);
	pthread_condattr_t attributes;
	sigset_t signals;

	if (ns != timer->timeout_ns)
	{
		timer->timeout_ns = ns;
		if (timer->started)
			(void) pthread_cond_signal(&timer->changed);
	}
	if (ns == 0 || timer->started)
		return;
	if (pthread_condattr_init(&attributes) != 0)
		return;
	(void) pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	if (pthread_cond_init(&timer->changed, &attributes) == 0)
	{
		hy_cuda_block_signals(&signals);
		timer->started = pthread_create(&timer->thread, NULL, watch, device) == 0;
		hy_cuda_restore_signals(&signals);
		if (!timer->started)
			(void) pthread_cond_destroy(&timer->changed);
	}
	(void) pthread_condattr_destroy(&attributes);
}

void
hy_cuda_timer_end(HyDevice *device)
{
	HyCudaTimer *timer = &device->timer;

	if (!timer->started || device->pid != getpid())
		return;
	timer->stop = true;
	(void) pthread_cond_signal(&timer->changed);
	(void) pthread_mutex_unlock(&lock);
	(void) pthread_join(timer->thread, NULL);
	(void) pthread_mutex_lock(&lock);
	(void) pthread_cond_destroy(&timer->changed);
	timer->started = false;
}

bool
hy_cuda_closed_idle(const HyDevice *device)
{
	return __atomic_load_n(&device->timer.closed, __ATOMIC_ACQUIRE);
}

/*
 * watch: run as the main function of a device's thread.  Returns after closing the context, when
 * asked to stop, or after a permanent error.
 */
static void *
watch(void *arg)
{
	HyDevice *device = arg;
	HyCudaTimer *timer = &device->timer;

	(void) pthread_mutex_lock(&lock);
	while (!timer->stop && !hy_cuda_lost())
	{
		uint64_t now = now_ns();

		if (timer->timeout_ns == 0)
			(void) pthread_cond_wait(&timer->changed, &lock);
		else if (now < due_ns(timer))
			wait_until(timer, due_ns(timer));
		else if (!at_rest(device))
			wait_until(timer, now + timer->timeout_ns);
		else
		{
			close_idle(device);
			break;
		}
	}
	(void) pthread_mutex_unlock(&lock);
	return NULL;
}

static uint64_t
due_ns(const HyCudaTimer *timer)
{
	if (timer->fresh && timer->timeout_ns < FIRST_USE_NS)
		return timer->used_ns + FIRST_USE_NS;
	return timer->used_ns + timer->timeout_ns;
}

/*
 * at_rest: return whether the device has no task, or only a canceled task whose pieces have all
 * ended.
 */
static bool
at_rest(HyDevice *device)
{
	int i;

	if (!device->task.active)
		return true;
	if (!device->task.stopping || cudaSetDevice(device->number) != cudaSuccess)
		return false;
	/*
	 * query the pieces, but never wait for them: this thread holds the lock, so if the device hung,
	 * the host's thread would wait for the lock forever
	 */
	for (i = 0; i < HY_CUDA_SLOTS; i++)
	{
		if (device->slots[i].busy && hy_cuda_piece_query(&device->slots[i]) != cudaSuccess)
		{
			(void) cudaGetLastError();
			return false;
		}
	}
	return true;
}

/*
 * close_idle: close the context.  The HyDevice and its other host structures stay until
 * hy_cuda_close.
 */
static void
close_idle(HyDevice *device)
{
	HyCudaTimer *timer = &device->timer;
	uint64_t expected = timer->place_value;

	hy_cuda_release(device);
	if (timer->place != NULL)
		(void) __atomic_compare_exchange_n(timer->place, &expected, 0, false, __ATOMIC_ACQ_REL,
		                                   __ATOMIC_RELAXED);
	/* store this last, so that a thread that reads true also sees everything above as done */
	__atomic_store_n(&timer->closed, true, __ATOMIC_RELEASE);
}

static void
wait_until(HyCudaTimer *timer, uint64_t ns)
{
	struct timespec until = {.tv_sec = (time_t) (ns / 1000000000),
	                         .tv_nsec = (long) (ns % 1000000000)};

	(void) pthread_cond_timedwait(&timer->changed, &lock, &until);
}

static uint64_t
timeout_ns(const HyHost *host)
{
	const char *text =
		host->setting != NULL ? host->setting(host->setting_arg, "gpu_idle_timeout") : NULL;
	long long ms = text != NULL ? strtoll(text, NULL, 10) : 0;

	return ms > 0 ? (uint64_t) ms * 1000000 : 0;
}

static uint64_t
now_ns(void)
{
	struct timespec now;

	(void) clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec;
}
