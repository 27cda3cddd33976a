/*
 * errors.h
 *		From CUDA's error numbers to HyStatus.
 */
#ifndef HY_CUDA_ERRORS_H
#define HY_CUDA_ERRORS_H

#include <cuda_runtime_api.h>

#include "core/status.h"

/*
 * hy_cuda_status: what an error means to the dispatcher, by its number alone.  A number that the
 * table does not know is HY_TRANSIENT: the CPU takes over, the breaker counts.
 */
extern HyStatus hy_cuda_status(cudaError_t error);

#endif
