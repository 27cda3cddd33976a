/*
 * pipeline.h
 *		A task from submit to its last poll, whatever its operation: pieces through the slots.
 *
 * The pipeline knows slots, streams, events, when to stop and how long a kernel should be.  What a
 * piece is, an operation says: a table of functions, called in the order
 *
 *		check, begin (start), then for each piece: next, up, launch, down ... collect; (end)
 *
 * Pieces are queued in their order, up to HY_CUDA_SLOTS of them at a time, may end in any, and are
 * collected in their order again: one that has ended early waits for those before it.
 */
#ifndef HY_CUDA_PIPELINE_H
#define HY_CUDA_PIPELINE_H

#include "cuda/device.h"

typedef enum HyCudaNext
{
	HY_CUDA_PIECE = 0, /* the slot holds one */
	HY_CUDA_WAIT,      /* not before the pieces in flight are done */
	HY_CUDA_END        /* there is none left */
} HyCudaNext;

struct HyCudaOperation
{
	/* what shapes it takes; nothing of CUDA is called */
	HyCaps (*caps)(const HyShape *shape);
	/* bytes_up and bytes_down of a shape that it takes */
	void (*estimate)(const HyCudaScratch *scratch, const HyShape *shape, HyEstimate *estimate);
	/* whether a task is sound, beyond what hy_task_check and caps say */
	HyStatus (*check)(HyDevice *device, const HyTask *task);
	/* device->task.task is to run: what is known before the first piece */
	void (*begin)(HyDevice *device);
	/* takes what memory the task needs beyond the scratch, or NULL */
	HyStatus (*start)(HyDevice *device);
	/* takes the next piece for a free slot, and says in slot->work how long it is */
	HyCudaNext (*next)(HyDevice *device, HyCudaSlot *slot);
	/* queues what the slot's kernels read, on its stream */
	HyStatus (*up)(HyDevice *device, HyCudaSlot *slot);
	/* queues its kernels */
	cudaError_t (*launch)(HyDevice *device, HyCudaSlot *slot);
	/*
	 * queues the copy of what they gave; it goes to pinned memory, never to the task's.  Where there is
	 * none to queue it may say so in slot->nothing_down
	 */
	HyStatus (*down)(HyDevice *device, HyCudaSlot *slot);
	/* hands it out: the piece is done, and nobody has cancelled */
	void (*collect)(HyDevice *device, const HyCudaSlot *slot);
	/* gives back what start took: no piece is in flight; in a fork, the host's alone; or NULL */
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

/* hy_cuda_drain: waits for the pieces in flight and forgets the task; in a fork it only forgets. */
extern void hy_cuda_drain(HyDevice *device);

/* hy_cuda_piece_query: of a busy slot: cudaErrorNotReady, cudaSuccess when it is done, or what failed. */
extern cudaError_t hy_cuda_piece_query(const HyCudaSlot *slot);

/* hy_cuda_all_idle: whether no piece is in flight. */
extern bool hy_cuda_all_idle(const HyDevice *device);

#endif
