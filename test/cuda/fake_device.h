/*
 * fake_device.h
 *		The checks that every call of the fake runtime makes first: whether the call is to fail.
 */
#ifndef HY_TEST_FAKE_DEVICE_H
#define HY_TEST_FAKE_DEVICE_H

#include <cuda_runtime_api.h>

namespace hy_device
{
/* lost: the result of every call after a permanent error; cudaSuccess: there was none. */
extern cudaError_t lost;

/*
 * enter: count a call of `function`.  Returns the error with which the call must fail, or
 * cudaSuccess.
 */
extern cudaError_t enter(const char *function);

/* kernel: the same for a kernel that runs. */
extern cudaError_t kernel();

/*
 * starts: record a call in which a real driver would start threads, and whether all signals are
 * blocked.
 */
extern void starts(const char *function);

/* fatal: end the process, because a test did something that is not allowed. */
[[noreturn]] extern void fatal(const char *text);

/* reset: make the device healthy again, with the initial hy_fake. */
extern void reset();
} // namespace hy_device

#endif
