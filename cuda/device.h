/*
 * device.h
 *		What the files of the plug-in share: the process, an open device, its slots, its buffers, the
 *		task in flight.
 *
 * All of it belongs to one thread of one process, and to the thread of idle.h, which shares a lock with
 * it.  CUDA's contexts do not survive fork, so the process that first called CUDA is remembered and
 * every entry asks whether this is still it.
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
	char *pointer; /* the device's */
	uint64_t bytes;
	HyBuffer *previous;
	HyBuffer *next;
};

typedef struct HyCudaOperation HyCudaOperation;   /* pipeline.h */
typedef struct HyCudaSpread HyCudaSpread;         /* spread.c */
typedef struct HyCudaAssignment HyCudaAssignment; /* assign.c */
typedef struct HyCudaFilter HyCudaFilter;         /* filter.c */

/* HyCudaSlot: a piece in flight: its stream, its staging, its share of the device's scratch. */
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
	uint64_t number;   /* of its piece among the task's */
	bool nothing_down; /* its kernels have written where the host reads */
	uint64_t work;     /* of its kernels, for the pace */
	HyCudaPace *pace;
	HyCudaChunk chunk;
} HyCudaSlot;

/* HyCudaSweep: queries that pass over the rows of a matrix (sweep.h). */
typedef struct HyCudaSweep
{
	HyMetric metric;
	HyMatrix queries;
	HyMatrix targets;
	HyCudaWork work;
	HyCudaChunk last; /* the piece taken last */
	int64_t group;    /* first query of the group on the device, or -1 */
	uint64_t behind;  /* bytes that lie behind a group's queries and go up with them */
} HyCudaSweep;

/* HyCudaScoring: queries that pass over blocks of codes (score.c). */
typedef struct HyCudaScoring
{
	HyCudaChunk last;             /* the piece taken last: blocks are its rows */
	int32_t list;                 /* of the block that comes next */
	int32_t lists[HY_CUDA_SLOTS]; /* of a slot's blocks */
} HyCudaScoring;

/* HyCudaTask: the task in flight (pipeline.h). */
typedef struct HyCudaTask
{
	bool active;
	bool stopping;  /* queue nothing more, hand nothing out */
	bool dropped;   /* a piece was done and not handed out */
	bool exhausted; /* every piece is queued */
	HyTicket ticket;
	const HyCudaOperation *operation;
	HyTask task;
	HyCudaSweep sweep;
	HyCudaSpread *spread;
	HyCudaAssignment *assignment;
	HyCudaScoring scoring;
	HyCudaFilter *filter;
	uint64_t queued;   /* pieces so far, */
	uint64_t ended;    /* and those of them that have been collected */
	uint64_t started;  /* by the host's clock */
	uint64_t moved_ns; /* from there to when pieces were collected last */
	uint64_t bytes_up;
	uint64_t bytes_down;
} HyCudaTask;

struct HyDevice
{
	int32_t number;
	pid_t pid;
	const HyHost *host;
	int multiprocessors;
	int capability;        /* the major number */
	int cache;             /* bytes of the second-level cache; 0: not known */
	uint64_t filter_least; /* work that many queries are filtered for */
	bool counted;          /* among the open devices of the process */
	bool owns_context;     /* there was no context in this process before */
	bool limited;          /* the budget is the user's, not the device's */
	uint64_t budget;
	uint64_t used; /* of the budget: scratch and blocks in use */
	HyCudaPool pool;
	HyBuffer *buffers;

	HyCudaScratch scratch;
	HyCudaPace pace[HY_OP_COUNT];
	HyCudaPace filter_pace;
	HyCudaPace assign_filter_pace;
	double longest_us; /* a piece's kernels have taken, whatever its operation; for the bench */
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

/* device.c */
extern HyStatus hy_cuda_device_count(int32_t *count);
extern HyStatus hy_cuda_probe(int32_t number, HyDeviceInfo *info);
extern HyStatus
hy_cuda_open(const HyHost *host, int32_t number, const HyLimits *limits, HyDevice **opened);
extern void hy_cuda_close(HyDevice *device);

/*
 * hy_cuda_release: what there is of the device goes back to the driver, zeroed: memory, streams, the
 * context.  No task's piece is in flight.  Nothing of the host is called, nor its memory freed.
 */
extern void hy_cuda_release(HyDevice *device);

extern void hy_cuda_last_error(const HyDevice *device, HyFailure *failure);

/*
 * hy_cuda_enter: HY_OK when CUDA may be called here; HY_PROCESS_LOST, with the reason recorded, in
 * a fork of the process that opened CUDA or after an error that is for good; HY_CONTEXT_LOST where the
 * device has closed itself.
 */
extern HyStatus hy_cuda_enter(HyDevice *device);

/* hy_cuda_forked: whether CUDA was opened by a process that this one is a fork of. */
extern bool hy_cuda_forked(void);

/* hy_cuda_lost: whether an error was for good. */
extern bool hy_cuda_lost(void);

/* hy_cuda_block_signals: all of them, round what may start threads, which inherit the mask. */
extern void hy_cuda_block_signals(sigset_t *before);
extern void hy_cuda_restore_signals(const sigset_t *before);

/*
 * hy_cuda_fail: records a failure of CUDA (device NULL: of no open device) and returns its status;
 * latches the process when the error is for good.  doing: e.g. "starting a kernel".
 */
extern HyStatus hy_cuda_fail(HyDevice *device, cudaError_t error, const char *doing);

/* hy_cuda_refuse: records a failure of our own, with native code 0, and returns status. */
extern HyStatus hy_cuda_refuse(HyDevice *device, HyStatus status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* memory.c */
extern HyStatus hy_cuda_scratch_open(HyDevice *device);
extern void hy_cuda_scratch_close(HyDevice *device);
/* hy_cuda_over_budget: records that so many bytes of the device's memory cannot be had. */
extern HyStatus hy_cuda_over_budget(HyDevice *device, uint64_t bytes);

/*
 * hy_cuda_take: memory of the device, zeroed, from the pool; for a task that starts, or for a buffer.
 * hy_cuda_give: it goes back there, zeroed once more; waits for pieces in flight, and in a fork only
 * forgets.
 * hy_cuda_trim: lets go of what is free and beyond the bound of pool.h.
 */
extern HyStatus hy_cuda_take(HyDevice *device, uint64_t bytes, HyCudaBlock **block);
extern void hy_cuda_give(HyDevice *device, HyCudaBlock *block);
extern void hy_cuda_trim(HyDevice *device);

/*
 * hy_cuda_blocks_release: all of the pool goes back to CUDA, zeroed, whoever uses it; the host's
 * memory is not touched.  hy_cuda_blocks_forget: the host's part of it.
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
