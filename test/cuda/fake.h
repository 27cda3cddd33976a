/*
 * fake.h
 *		The fake device's own side: what the tests set and ask.
 *
 * It has its own memory, which the host cannot touch: pages are only accessible while the device
 * works, and every allocation ends at a forbidden page.  Streams are lazy: work queued on them
 * happens when somebody asks an event or waits, one step a question, so staging memory that is
 * used again too early, or an order that was not asked for, gives wrong answers.  A late device, which
 * any test runs on where HY_FAKE_LATE is set, lets its streams go on in any order and as far as it
 * likes, takes copies in two steps, and tells late that something has ended.  Each thread has a
 * device of its own that is the current one, the first to begin with: streams, events and memory are
 * made for that, and kernels and clearing on a stream of another are refused.
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
		int devices;          /* how many there are */
		int driver;           /* the driver's version; 0: none */
		uint64_t memory;      /* bytes of each */
		double ns_an_element; /* a kernel's time for one query element */
		cudaError_t absent; /* what every call answers before a context; cudaSuccess: all is well */
		int foreign_context; /* somebody else in this process opened a context */
		int cut_off;         /* the matrix unit cuts off (simt.h) */
		int capability;      /* the major number */
		int capability_minor;
		int cache; /* bytes of the second-level cache */
		int late;  /* what has ended is told late, and what ends first is chance */
	} HyFakeDevice;

	extern HyFakeDevice hy_fake;

	/*
 * hy_fake_fail: the call-th call (from 1) of function fails with error; NULL: of any function.
 * "kernel" is a kernel while it runs, after which every call fails.
 */
	extern void hy_fake_fail(const char *function, int call, cudaError_t error);

	/* hy_fake_fail_always: every call of function fails, until hy_fake_fail or a reset. */
	extern void hy_fake_fail_always(const char *function, cudaError_t error);

	/* hy_fake_calls: calls since the last hy_fake_fail or reset. */
	extern int hy_fake_calls(void);

	/* hy_fake_live: allocations, streams and events not given back. */
	extern int hy_fake_live(void);

	/* hy_fake_pinned, hy_fake_used: bytes of pinned and of device memory. */
	extern uint64_t hy_fake_pinned(void);
	extern uint64_t hy_fake_used(void);

	/* hy_fake_resets: how many there were; hy_fake_reset_device: of which device the last was. */
	extern int hy_fake_resets(void);
	extern int hy_fake_reset_device(void);

	/* hy_fake_mallocs: successful calls of cudaMalloc since the reset. */
	extern int hy_fake_mallocs(void);

	/*
 * hy_fake_returned: bytes of device and of pinned memory that have gone back to the driver since the
 * reset; hy_fake_leaked: those of them that did not read as zero.
 */
	extern uint64_t hy_fake_returned(void);
	extern uint64_t hy_fake_leaked(void);

	/* hy_fake_find: whether these bytes lie anywhere in what there is of the device's memory. */
	extern int hy_fake_find(const void *bytes, size_t count);

	/* hy_fake_scribble: fills all that there is of both with other bytes, as if it had been new. */
	extern void hy_fake_scribble(int byte);

	/* hy_fake_longest_kernel_us: of those since it was asked last.  hy_fake_kernels: their number. */
	extern double hy_fake_longest_kernel_us(void);
	extern int hy_fake_kernels(void);

	/* hy_fake_late_loads: kernels that were launched before they were loaded, since the reset. */
	extern int hy_fake_late_loads(void);

	/*
 * hy_fake_starts: calls since the reset in which a real driver starts threads, which inherit the
 * caller's mask; hy_fake_unmasked: the first of them that a signal could have come to, or NULL.
 */
	extern int hy_fake_starts(void);
	extern const char *hy_fake_unmasked(void);

	/* hy_fake_reset: a new machine. */
	extern void hy_fake_reset(void);

	/* hy_fake_fault: what a kernel did that no device allows, or NULL; tells it once. */
	extern const char *hy_fake_fault(void);

#ifdef __cplusplus
}
#endif

#endif
