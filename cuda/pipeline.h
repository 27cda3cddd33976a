/*
 * pipeline.h
 *		Runs a task of any operation, from submit to its last poll, by passing pieces through the
 *		slots.
 *
 * The pipeline handles slots, streams, events and cancellation, and limits the duration of kernels.
 * The operation defines the pieces.  An operation is a table of functions.  They are called in this
 * order, and those in parentheses may be missing:
 *
 *		check, begin (start), then for each piece: next, up, launch, down ... collect; (end)
 *
 * Up to HY_CUDA_SLOTS pieces are queued at a time.  They may end in any order, but they are
 * collected in the order in which they were queued.  So a piece that ends early waits for the
 * earlier piece.
 */
#ifndef HY_CUDA_PIPELINE_H
#define HY_CUDA_PIPELINE_H

#include "cuda/device.h"

typedef enum HyCudaNext
{
	HY_CUDA_PIECE = 0, /* the slot has received a piece */
	HY_CUDA_WAIT,      /* no piece can be taken until the pieces in flight are done */
	HY_CUDA_END        /* no piece is left */
} HyCudaNext;

struct HyCudaOperation
{
	/* returns the capabilities for a shape; calls no function of CUDA */
	HyCaps (*caps)(const HyShape *shape);
	/*
	 * sets bytes_up and bytes_down for a supported shape; may add the memory that start takes to
	 * device_bytes
	 */
	void (*estimate)(const HyCudaScratch *scratch, const HyShape *shape, HyEstimate *estimate);
	/* checks what hy_task_check and caps do not check */
	HyStatus (*check)(HyDevice *device, const HyTask *task);
	/* initializes the operation's state for device->task.task, before the first piece */
	void (*begin)(HyDevice *device);
	/* takes the memory that the task needs in addition to the scratch; may be NULL */
	HyStatus (*start)(HyDevice *device);
	/* takes the next piece into a free slot, and stores the work of its kernels in slot->work */
	HyCudaNext (*next)(HyDevice *device, HyCudaSlot *slot);
	/* queues, on the slot's stream, the upload of the data that the slot's kernels read */
	HyStatus (*up)(HyDevice *device, HyCudaSlot *slot);
	/* queues the slot's kernels */
	cudaError_t (*launch)(HyDevice *device, HyCudaSlot *slot);
	/*
	 * queues the copy of the results to pinned memory, never to the task's memory.  May set
	 * slot->nothing_down if it copies nothing.
	 */
	HyStatus (*down)(HyDevice *device, HyCudaSlot *slot);
	/* delivers the results of a finished piece; not called after a cancel */
	void (*collect)(HyDevice *device, const HyCudaSlot *slot);
	/*
	 * frees the memory that start took.  No piece is in flight then.  In a fork, frees only the
	 * host memory.  May be NULL.
	 */
	void (*end)(HyDevice *device);
};

extern const HyCudaOperation hy_cuda_distance;
extern const HyCudaOperation hy_cuda_topk;
extern const HyCudaOperation hy_cuda_spread;
extern const HyCudaOperation hy_cuda_assign;
extern const HyCudaOperation hy_cuda_score;

extern HyCaps hy_cuda_caps(const HyDevice *device, const HyShape *shape);
extern HyEstimate hy_cuda_estimate(const HyDevice *device, const HyShape *shape);
extern HyStatus hy_cuda_submit(HyDevice *device, const HyTask *task, HyTicket *ticket);
extern HyStatus hy_cuda_poll(HyDevice *device, HyTicket ticket, bool *done, HyTimings *timings);
extern void hy_cuda_cancel(HyDevice *device, HyTicket ticket);

/* hy_cuda_drain: wait for the pieces in flight and discard the task.  In a fork, do not wait. */
extern void hy_cuda_drain(HyDevice *device);

/*
 * hy_cuda_piece_query: return cudaErrorNotReady while the piece of a busy slot runs, cudaSuccess if
 * it is done, or the error with which it failed.
 */
extern cudaError_t hy_cuda_piece_query(const HyCudaSlot *slot);

/* hy_cuda_all_idle: return whether no piece is in flight. */
extern bool hy_cuda_all_idle(const HyDevice *device);

#endif
