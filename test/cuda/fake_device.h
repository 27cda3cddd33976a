/*
 * fake_device.h
 *		What every call of the fake runtime asks first: whether it is to fail.
 */
#ifndef HY_TEST_FAKE_DEVICE_H
#define HY_TEST_FAKE_DEVICE_H

#include <cuda_runtime_api.h>

namespace hy_device
{
/* lost: what every call answers after an error that is for good; cudaSuccess: there was none. */
extern cudaError_t lost;

/* enter: counts a call of function; what that answers instead of doing its work, or cudaSuccess. */
extern cudaError_t enter(const char *function);

/* kernel: the same while a kernel runs. */
extern cudaError_t kernel();

/* starts: a real driver would start threads in this call: are all signals blocked? */
extern void starts(const char *function);

/* fatal: what no test may do. */
[[noreturn]] extern void fatal(const char *text);

/* reset: healthy, and as hy_fake says it is at first. */
extern void reset();
} // namespace hy_device

#endif
