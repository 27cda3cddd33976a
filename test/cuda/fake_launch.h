/*
 * fake_launch.h
 *		How a kernel gets onto a stream of the fake device.
 */
#ifndef HY_TEST_FAKE_LAUNCH_H
#define HY_TEST_FAKE_LAUNCH_H

#include <stddef.h>

#include <functional>

#include <cuda_runtime_api.h>

/*
 * run does the kernel's work when its turn comes, false after a fault; elements set its time.  A kernel
 * that was not loaded takes HY_FAKE_LOADING_US more; NULL: one that always is.
 */
#define HY_FAKE_LOADING_US 50000
extern "C" cudaError_t hy_fake_queue_kernel(const void *kernel, cudaStream_t stream,
                                            double elements, const std::function<bool()> &run);

/*
 * hy_fake_launches: whether the device takes a launch on such a grid, with so much shared memory, as it
 * says at once.
 */
extern "C" cudaError_t hy_fake_launches(const void *kernel, unsigned x, unsigned y, unsigned z,
                                        int threads, size_t shared);

#endif
