/*
 * fake_launch.h
 *		How a kernel gets onto a stream of the fake device.
 */
#ifndef HY_TEST_FAKE_LAUNCH_H
#define HY_TEST_FAKE_LAUNCH_H

#include <functional>

#include <cuda_runtime_api.h>

/* run does the kernel's work when its turn comes, false after a fault; elements set its time. */
extern "C" cudaError_t
hy_fake_queue_kernel(cudaStream_t stream, double elements, const std::function<bool()> &run);

#endif
