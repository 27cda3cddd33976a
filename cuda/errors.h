/*
 * errors.h
 *		Maps CUDA's error numbers to HyStatus.
 */
#ifndef HY_CUDA_ERRORS_H
#define HY_CUDA_ERRORS_H

#include <cuda_runtime_api.h>

#include "core/status.h"

/*
 * hy_cuda_status: return the status for a CUDA error.  An error that is not in the table maps to
 * HY_TRANSIENT, so that the CPU takes over and the circuit breaker counts the failure.
 */
extern HyStatus hy_cuda_status(cudaError_t error);

#endif
