/*
 * errors.h
 *		Maps CUDA's error numbers to HyStatus.
 */
#ifndef HY_CUDA_ERRORS_H
#define HY_CUDA_ERRORS_H

#include <cuda_runtime_api.h>

#include "core/status.h"

/*
 * hy_cuda_status: return the status for an error number.  A number that is not in the table maps to
 * HY_TRANSIENT, so the CPU takes over and the breaker counts the failure.
 */
extern HyStatus hy_cuda_status(cudaError_t error);

#endif
