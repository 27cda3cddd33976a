/*
 * errors.h
 *		Maps CUDA's error numbers to HyStatus.
 */
#ifndef HY_CUDA_ERRORS_H
#define HY_CUDA_ERRORS_H

#include <cuda_runtime_api.h>

#include "core/status.h"

/*
 * hy_cuda_status: return what an error means to the dispatcher.  Uses only the error number.  A
 * number that is not in the table is HY_TRANSIENT: the CPU takes over and the breaker counts it.
 */
extern HyStatus hy_cuda_status(cudaError_t error);

#endif
