/*
 * gpu.h
 *		What the parts of gpubench share.
 */
#ifndef HY_BENCH_GPU_H
#define HY_BENCH_GPU_H

#include "dispatch/backend.h"

/* gpu_print: a line of the result. */
extern void gpu_print(const char *measure, double value, const char *unit);

/* gpu_task_us: the median time of a task on the device. */
extern double gpu_task_us(HyDevice *device, const HyTask *task);

/*
 * gpu_bench_ops (gpu_ops.c): 'assign' and 'score_codes'.  rate: fp32 instructions a microsecond;
 * bandwidth: bytes a microsecond of the device's memory.
 */
extern void gpu_bench_ops(HyDevice *device, double rate, double bandwidth);

/* gpu_bench_assign (gpu_assign.c): the kernels that filter 'assign'; rate: of the matrix unit. */
extern void gpu_bench_assign(double rate);

#endif
