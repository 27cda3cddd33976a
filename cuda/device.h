/*
 * device.h
 *		Definitions shared by the plug-in's files: the process, an open device, its slots and
 *		buffers, and the task in flight.
 *
 * The main thread of one process uses this data.  The timer thread of each open device (idle.h)
 * also accesses it, and a lock keeps the threads apart.  A CUDA context cannot be used after a
 * fork.  So the plug-in records which process first called CUDA, and every entry point that calls
 * CUDA checks that it runs in that process.
 */
#ifndef HY_CUDA_DEVICE_H
#define HY_CUDA_DEVICE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <cuda_runtime_api.h>

#include "cuda/idle.h"
#include "cuda/plan.h"
#include "cuda/pool.h"
#include "dispatch/backend.h"

struct HyBuffer
{
	HyDevice *device;
	HyCudaBlock *block;
	char *pointer; /* device address */
	uint64_t bytes;
	HyBuffer *previous;
	HyBuffer *next;
};

typedef struct HyCudaOperation HyCudaOperation;   /* see pipeline.h */
typedef struct HyCudaSpread HyCudaSpread;         /* see spread.c */
typedef struct HyCudaAssignment HyCudaAssignment; /* see assign.c */
typedef struct HyCudaFilter HyCudaFilter;         /* see filter.c */

/*
 * HyCudaSlot: the resources of one piece in flight: a stream, staging buffers and a share of the
 * device's scratch memory.  A piece is a part of a task that fits the scratch memory and the work
 * limit (plan.h).
 */
typedef struct HyCudaSlot
{
	cudaStream_t stream;
	cudaEvent_t kernel_start;
	cudaEvent_t kernel_end;
	cudaEvent_t done;
	char *pinned_up;
	void *pinned_down;
	char *device_up;
	void *device_down;
	bool busy;
	uint64_t number;   /* number of the piece within the task */
	bool nothing_down; /* no copy to the host: no results yet, or kernels write them there */
	uint64_t work;     /* work of the piece's kernels; used to adjust the work limit */
	HyCudaPace *pace;
	HyCudaChunk chunk;
} HyCudaSlot;

/* HyCudaSweep: the state of comparing queries with the rows of a matrix (sweep.h). */
typedef struct HyCudaSweep
{
	HyMetric metric;
	HyMatrix queries;
	HyMatrix targets;
	HyCudaWork work;
	HyCudaChunk last; /* the piece taken last */
	int64_t group;    /* first query of the group on the device, or -1 */
	uint64_t behind;  /* bytes of other data uploaded after a group's queries */
	/* device memory that keeps all rows for later groups; NULL: rows are not kept */
	char *kept;
} HyCudaSweep;

/* HyCudaScoring: the state of comparing queries with blocks of codes (score.c). */
typedef struct HyCudaScoring
{
	HyCudaChunk last;             /* the piece taken last; its rows are blocks */
	int32_t list;                 /* list of the next block */
	int32_t lists[HY_CUDA_SLOTS]; /* number of lists to which the blocks of each slot belong */
} HyCudaScoring;

/* HyCudaTask: the task in flight (pipeline.h). */
typedef struct HyCudaTask
{
	bool active;
	bool stopping;  /* queue no more pieces and deliver no results */
	bool dropped;   /* a piece has ended without being delivered */
	bool exhausted; /* all pieces are queued */
	HyTicket ticket;
	const HyCudaOperation *operation;
	HyTask task;
	HyCudaSweep sweep;
	HyCudaSpread *spread;
	HyCudaAssignment *assignment;
	HyCudaScoring scoring;
	HyCudaFilter *filter;
	uint64_t queued;   /* number of pieces queued so far */
	uint64_t ended;    /* number of pieces collected so far */
	uint64_t started;  /* time of submit, by the host's clock */
	uint64_t moved_ns; /* time from submit to the last collected piece */
	uint64_t bytes_up;
	uint64_t bytes_down;
} HyCudaTask;

struct HyDevice
{
	int32_t number;
	pid_t pid;
	const HyHost *host;
	int multiprocessors;
	int capability; /* major number of the compute capability */
	int cache;      /* bytes of the second-level cache; 0: unknown */
	/* smallest work (queries x rows x dims) for which `topk` and `assign` are filtered */
	uint64_t filter_least;
	bool counted;      /* the device's bit is set in process.open (device.c) */
	bool owns_context; /* the process had no context on this device before the open */
	bool limited;      /* the budget is a limit set by the user, not the device's free memory */
	uint64_t budget;
	uint64_t used; /* bytes of the budget taken by the scratch memory and by blocks in use */
	HyCudaPool pool;
	HyBuffer *buffers;

	HyCudaScratch scratch;
	HyCudaPace pace[HY_OP_COUNT];
	HyCudaPace filter_pace;
	HyCudaPace assign_filter_pace;
	/* longest time of a piece's kernels so far, in any operation; for benchmarks */
	double longest_us;
	HyCudaSlot slots[HY_CUDA_SLOTS];
	cudaEvent_t queries_ready;
	float *pinned_queries;
	float *device_queries;
	float *device_norms;
	HyNeighbor *device_best;

	HyCudaTask task;
	HyCudaTimer timer;
	HyTicket last_ticket;
	HyFailure failure;
};

/* functions of device.c */
extern HyStatus hy_cuda_device_count(int32_t *count);
extern HyStatus hy_cuda_probe(int32_t number, HyDeviceInfo *info);
extern HyStatus
hy_cuda_open(const HyHost *host, int32_t number, const HyLimits *limits, HyDevice **opened);
extern void hy_cuda_close(HyDevice *device);

/*
 * hy_cuda_release: zero the device's memory, and return the memory and the streams to the driver.
 * Frees the pinned host memory, and also the context, unless other code created the context before
 * the open.  The caller ensures that no piece is in flight.  Calls no function of HyHost, so memory
 * from the host's allocator stays allocated.
 */
extern void hy_cuda_release(HyDevice *device);

extern void hy_cuda_last_error(const HyDevice *device, HyFailure *failure);

/*
 * hy_cuda_enter: check that CUDA may be called here, and select the device unless `device` is NULL.
 * Returns HY_PROCESS_LOST after a permanent error, or in a fork of the process that first called
 * CUDA.  Returns HY_CONTEXT_LOST if the timer thread has closed the context.  If the device cannot
 * be selected, returns the status of that error.  Records the reason.
 */
extern HyStatus hy_cuda_enter(HyDevice *device);

/* hy_cuda_forked: return whether this process is a fork of the process that first called CUDA. */
extern bool hy_cuda_forked(void);

/* hy_cuda_lost: return whether a permanent error has occurred (HY_PROCESS_LOST in errors.c). */
extern bool hy_cuda_lost(void);

/*
 * hy_cuda_block_signals: block all signals before a call that may start threads, because new
 * threads inherit the signal mask.  Stores the previous mask in *before, for
 * hy_cuda_restore_signals.
 */
extern void hy_cuda_block_signals(sigset_t *before);
extern void hy_cuda_restore_signals(const sigset_t *before);

/*
 * hy_cuda_fail: record a CUDA error and return its status.  If `device` is NULL, the error belongs
 * to no open device.  A permanent error is kept until the process ends. `doing` names the action,
 * for example "starting a kernel".
 */
extern HyStatus hy_cuda_fail(HyDevice *device, cudaError_t error, const char *doing);

/*
 * hy_cuda_refuse: record a failure that the plug-in itself found, with native code 0.  Returns
 * `status`.
 */
extern HyStatus hy_cuda_refuse(HyDevice *device, HyStatus status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* functions of memory.c */
extern HyStatus hy_cuda_scratch_open(HyDevice *device);
extern void hy_cuda_scratch_close(HyDevice *device);
/*
 * hy_cuda_over_budget: record that a request for this many bytes of device memory exceeds the
 * budget.  Returns HY_QUOTA if the budget is the user's limit, or HY_NOMEM if it is a share of the
 * memory that was free when the device was opened.
 */
extern HyStatus hy_cuda_over_budget(HyDevice *device, uint64_t bytes);

/*
 * hy_cuda_take: get zeroed device memory from the pool, for a starting task or for a buffer.
 *
 * hy_cuda_give: wait for the pieces in flight, zero the block and return it to the pool.  In a
 * fork, or if the block's memory has been released, only update the pool's list.
 *
 * hy_cuda_trim: release free blocks, the oldest first, until hy_cuda_pool_wasteful returns false or
 * no clean free block is left.
 */
extern HyStatus hy_cuda_take(HyDevice *device, uint64_t bytes, HyCudaBlock **block);
extern void hy_cuda_give(HyDevice *device, HyCudaBlock *block);
extern void hy_cuda_trim(HyDevice *device);

/*
 * hy_cuda_blocks_release: return the memory of all blocks to CUDA, even of blocks in use.  Memory
 * that may hold data is zeroed first.  The HyCudaBlock structs stay in the pool.
 *
 * hy_cuda_blocks_forget: free these structs, which are in host memory.
 */
extern void hy_cuda_blocks_release(HyDevice *device);
extern void hy_cuda_blocks_forget(HyDevice *device);

extern HyStatus hy_cuda_mem_info(HyDevice *device, uint64_t *free_bytes, uint64_t *total_bytes);
extern HyStatus hy_cuda_buf_alloc(HyDevice *device, uint64_t bytes, HyBuffer **buffer);
extern void hy_cuda_buf_free(HyDevice *device, HyBuffer *buffer);
extern HyStatus hy_cuda_upload(HyDevice *device, HyBuffer *buffer, uint64_t offset,
                               const void *data, uint64_t bytes);
extern HyStatus hy_cuda_download(HyDevice *device, const HyBuffer *buffer, uint64_t offset,
                                 void *data, uint64_t bytes);

#endif
