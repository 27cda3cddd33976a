/*
 * fake_launch.h
 *		Queues kernels on the streams of the fake device.
 */
#ifndef HY_TEST_FAKE_LAUNCH_H
#define HY_TEST_FAKE_LAUNCH_H

#include <stddef.h>

#include <functional>

#include <cuda_runtime_api.h>

/*
 * hy_fake_queue_kernel: queue a kernel.  When the stream reaches it, `run` does the kernel's work
 * and returns false after a fault. `elements` determines the kernel's time.  A kernel that was not
 * loaded before takes HY_FAKE_LOADING_US longer. `kernel` is NULL for one that needs no loading.
 */
#define HY_FAKE_LOADING_US 50000
extern "C" cudaError_t hy_fake_queue_kernel(const void *kernel, cudaStream_t stream,
                                            double elements, const std::function<bool()> &run);

/*
 * hy_fake_launches: return the error with which a launch with this grid and this much shared memory
 * would fail at once, or cudaSuccess.
 */
extern "C" cudaError_t hy_fake_launches(const void *kernel, unsigned x, unsigned y, unsigned z,
                                        int threads, size_t shared);

#endif
