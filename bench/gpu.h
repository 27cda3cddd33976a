/*
 * gpu.h
 *		What the parts of gpubench share: the device, lines of the result, times, data.
 */
#ifndef HY_BENCH_GPU_H
#define HY_BENCH_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

#include "dispatch/backend.h"

#define GPU_MIB ((size_t) 1024 * 1024)
#define GPU_K 10

/* Gpu: the device, how this run was asked for, and what the device reaches in loops of one thing. */
typedef struct Gpu
{
	HyHost host;
	const HyBackend *cuda;
	HyDevice *device;
	cudaStream_t stream;
	int32_t number;
	int multiprocessors;
	int cores;     /* of the host, that this process may use */
	int threads;   /* maximum number of threads that copy rows in the host's memory */
	int limit;     /* seconds that a section may take; 0: any */
	bool quick;    /* small shapes, for which nothing was asked */
	bool fake;     /* no device at all: no figure means anything */
	double read;   /* bytes a microsecond that a kernel reads */
	double copied; /* bytes a microsecond read and written by copies inside the device */
	double up;     /* bytes a microsecond from pinned memory */
	double matrix; /* operations a microsecond of the matrix unit in bfloat16; 0: it has none */
	const char *matrix_by; /* who reached them */
	bool matrix_low;       /* cuBLAS, which reaches more than they are, was not there */
	double fp32;           /* instructions a microsecond that the cores can start */
} Gpu;

extern Gpu gpu;

/* GpuAsked: what a figure was to reach: '>' at least, '<' at most, 0: nothing was asked. */
typedef struct GpuAsked
{
	char sense;
	double limit;
} GpuAsked;

#define GPU_AT_LEAST(limit) ((GpuAsked){'>', limit})
#define GPU_AT_MOST(limit) ((GpuAsked){'<', limit})
#define GPU_NOTHING ((GpuAsked){0, 0})

/*
 * The sections; each prints its lines as soon as it knows them.  gpu_pool and gpu_route find the device
 * closed, and leave it so.
 */
extern void gpu_yardsticks(void);
extern void gpu_resident(void);
extern void gpu_shapes(void);
extern void gpu_queries(void);
extern void gpu_assign(void);
extern void gpu_codes(void);
extern void gpu_spread(void);
extern void gpu_small(void);
extern void gpu_batch(void);
extern void gpu_overlap(void);
extern void gpu_busy(void);
extern void gpu_cublas(void);
extern void gpu_pool(void);
extern void gpu_route(void);

/* gpu_assign_kernels (gpu_assign.c): of gpu_assign what kernels take, launched by the bench. */
extern void gpu_assign_kernels(void);

/*
 * gpu_cublas_rate (gpu_cublas.c): operations a microsecond of a large product in bfloat16 by cuBLAS; 0, and
 * *why, where it cannot be had.
 */
extern double gpu_cublas_rate(const char **why);

/*
 * gpu_open, gpu_close: the device through the plug-in, and the bench's own stream; close takes with it
 * what is resident.
 */
extern void gpu_open(void);
extern void gpu_close(void);

/* gpu_size: of a shape, in a whole run or in a quick one. */
static inline int64_t
gpu_size(int64_t whole, int64_t quick)
{
	return gpu.quick ? quick : whole;
}

/* gpu_name: a text that is made up; valid until eight more were. */
extern const char *gpu_name(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* gpu_print: a line of the result.  gpu_print_beside: with its yardstick, in words. */
extern void gpu_print(const char *measure, double value, const char *unit);
extern void gpu_print_beside(const char *measure, double value, const char *unit, GpuAsked asked,
                             const char *format, ...) __attribute__((format(printf, 5, 6)));

/* gpu_print_missing: a line of what could not be measured, and why. */
extern void gpu_print_missing(const char *measure, const char *unit, GpuAsked asked,
                              const char *format, ...) __attribute__((format(printf, 4, 5)));

/*
 * gpu_print_matrix_share: so many operations a microsecond as a part of what the matrix unit does, as
 * NAME_share_of_matrix_rate.  Where that rate is known to be too low, no figure is said to be reached.
 */
extern void gpu_print_matrix_share(const char *name, double rate, GpuAsked asked);

/* gpu_check: ends the program where CUDA has failed.  gpu_give_up: where the plug-in has. */
extern void gpu_check(cudaError_t error, const char *doing);
extern void gpu_give_up(const char *doing) __attribute__((noreturn));

extern double gpu_now_us(void);

/* gpu_median_us: of several runs after some that warm up, fewer where they take long. */
extern double gpu_median_us(void (*run)(void *), void *arg);

/* gpu_run_task: on the device, once.  gpu_task_us: the median of several times. */
extern void gpu_run_task(const HyTask *task);
extern double gpu_task_us(const HyTask *task);

/*
 * gpu_cpu_us (gpu_cores.c): a task on one CPU backend; where that takes long, a part of it, scaled:
 * *parts, which may be NULL, is then how many of them there are.  gpu_cores_us: on as many processes as
 * there are cores, each of which has its share of the queries, rows or sets.
 */
extern double gpu_cpu_us(const HyTask *task, int *parts);
extern double gpu_cores_us(const HyTask *task);

/* gpu_print_cpu: what one CPU backend takes, and how many times as long that is as us. */
extern void gpu_print_cpu(const char *name, const HyTask *task, double us, GpuAsked asked);

/* gpu_room: zeroed; ends the program where there is none. */
extern void *gpu_room(size_t count, size_t size);

/* gpu_noise: number i of a sequence without order, in -1 .. 1. */
extern float gpu_noise(uint64_t i);

/* gpu_matrix: vectors without order, in memory of their own, which gpu_matrix_free gives back. */
extern HyMatrix gpu_matrix(int32_t dims, int64_t rows, uint64_t seed);
extern void gpu_matrix_free(HyMatrix *matrix);

/*
 * gpu_rows: vectors without order that are made once for all sections, in the host's memory;
 * gpu_rows_resident: the same on the device.  Both are valid until other ones are asked for.
 * gpu_rows_free: all of them, gpu_rows_leave: those on the device.
 */
extern HyMatrix gpu_rows(HyDtype dtype, int32_t dims, int64_t rows);
extern HyMatrix gpu_rows_resident(HyDtype dtype, int32_t dims, int64_t rows);
extern void gpu_rows_leave(void);
extern void gpu_rows_free(void);

/* gpu_topk_task: the k nearest of the targets; gpu_topk_free: the room for its answers. */
extern HyTask gpu_topk_task(HyMetric metric, const HyMatrix *queries, const HyMatrix *targets);
extern void gpu_topk_free(HyTask *task);

/*
 * gpu_spread_task: over a random graph of so many entries a node; gpu_spread_free: the graph and all
 * else.
 */
extern HyTask gpu_spread_task(int64_t nodes, int32_t entries, int32_t sets, int32_t hops);
extern void gpu_spread_free(HyTask *task);

/*
 * gpu_spread_reside: the task's graph goes to the device and stays there; the host's is left, for the
 * CPU.  gpu_spread_leave: the task brings it along again.
 */
extern void gpu_spread_reside(HyTask *task);
extern void gpu_spread_leave(HyTask *task);

#endif
