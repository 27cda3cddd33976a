/*
 * fake.h
 *		Controls the fake device: what the tests set and query.
 *
 * The fake device has its own memory.  The host cannot touch it: its pages are accessible only
 * while the device works, and each allocation ends at a forbidden page.  Streams are lazy: queued
 * work runs only when the host queries an event or waits, one operation per query.  So answers are
 * wrong if staging memory is reused too early, or if the required order of streams was not
 * requested.
 *
 * If HY_FAKE_LATE is set, the device is late: its streams advance in any order and by any amount,
 * copies take two steps, and the end of work is reported late.
 *
 * Each thread has a current device, at first device 0.  Streams, events and memory belong to the
 * current device.  Kernels and memsets on a stream of another device are refused.
 */
#ifndef HY_TEST_FAKE_H
#define HY_TEST_FAKE_H

#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C"
{
#endif

	typedef struct HyFakeDevice
	{
		int devices;          /* number of devices */
		int driver;           /* driver version; 0: no driver */
		uint64_t memory;      /* bytes of each device */
		double ns_an_element; /* time that a kernel takes per element of a query */
		cudaError_t absent;   /* error that every call returns; cudaSuccess: none */
		int foreign_context;  /* other code in this process has created a context */
		int cut_off;          /* the matrix unit truncates (simt.h) */
		int capability;       /* major number of the compute capability */
		int capability_minor;
		int cache; /* bytes of the second-level cache */
		int late;  /* the device is late (see above) */
	} HyFakeDevice;

	extern HyFakeDevice hy_fake;

	/*
	 * hy_fake_fail: make one call fail with `error`: call number `call`, counted from 1, of
	 * `function`, or of any function if that is NULL.  The function "kernel" stands for running a
	 * kernel.  After that failure, every call fails.
	 */
	extern void hy_fake_fail(const char *function, int call, cudaError_t error);

	/* hy_fake_fail_always: make every call of `function` fail, until hy_fake_fail or a reset. */
	extern void hy_fake_fail_always(const char *function, cudaError_t error);

	/* hy_fake_calls: return the number of calls since the last hy_fake_fail or reset. */
	extern int hy_fake_calls(void);

	/*
	 * hy_fake_live: return the number of allocations, streams and events that have not been freed.
	 */
	extern int hy_fake_live(void);

	/*
	 * hy_fake_pinned, hy_fake_used: return the bytes of pinned memory and of device memory in use.
	 */
	extern uint64_t hy_fake_pinned(void);
	extern uint64_t hy_fake_used(void);

	/*
	 * hy_fake_resets: return the number of device resets.
	 *
	 * hy_fake_reset_device: return the device of the last of them.
	 */
	extern int hy_fake_resets(void);
	extern int hy_fake_reset_device(void);

	/* hy_fake_mallocs: return the number of successful calls of cudaMalloc since the reset. */
	extern int hy_fake_mallocs(void);

	/*
	 * hy_fake_returned: return the bytes of device memory and pinned memory that were freed since
	 * the reset.
	 *
	 * hy_fake_leaked: return how many of these bytes were not zero.
	 */
	extern uint64_t hy_fake_returned(void);
	extern uint64_t hy_fake_leaked(void);

	/* hy_fake_find: return whether these bytes occur anywhere in the device's memory. */
	extern int hy_fake_find(const void *bytes, size_t count);

	/* hy_fake_scribble: fill all allocated device memory and pinned memory with `byte`. */
	extern void hy_fake_scribble(int byte);

	/*
	 * hy_fake_longest_kernel_us: return the longest time of a kernel since the last call.
	 *
	 * hy_fake_kernels: return the number of kernels since the reset.
	 */
	extern double hy_fake_longest_kernel_us(void);
	extern int hy_fake_kernels(void);

	/*
	 * hy_fake_late_loads: return the number of kernels since the reset that were launched before
	 * they were loaded.
	 */
	extern int hy_fake_late_loads(void);

	/*
	 * hy_fake_starts: return the number of calls since the reset in which a real driver starts
	 * threads.  Threads inherit the caller's signal mask.
	 *
	 * hy_fake_unmasked: return the first of these functions that was called with a signal
	 * unblocked, or NULL.
	 */
	extern int hy_fake_starts(void);
	extern const char *hy_fake_unmasked(void);

	/* hy_fake_reset: start over with a new machine. */
	extern void hy_fake_reset(void);

	/*
	 * hy_fake_fault: return what a kernel did that no device allows, or NULL.  Returns each fault
	 * once.
	 */
	extern const char *hy_fake_fault(void);

#ifdef __cplusplus
}
#endif

#endif
