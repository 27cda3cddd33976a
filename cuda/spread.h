/*
 * spread.h
 *		The operation 'spread': its state, and the upload of its input.
 */
#ifndef HY_CUDA_SPREAD_H
#define HY_CUDA_SPREAD_H

#include "cuda/pipeline.h"
#include "cuda/spread_plan.h"

#define HY_CUDA_SPREAD_STEPS 64 /* largest number of steps per piece */

/* HyCudaSpreadPiece: the piece of a slot. */
typedef struct HyCudaSpreadPiece
{
	bool graph;        /* a part of the graph is uploaded */
	bool seeds;        /* seeds are uploaded, after that part */
	bool reports_live; /* the device reports whether any set continues */
	int32_t first_set;
	int32_t width;
	int32_t sets;
	int steps;
	HyCudaSpreadStep step[HY_CUDA_SPREAD_STEPS];
} HyCudaSpreadPiece;

struct HyCudaSpread
{
	HyCudaSpreadPlan plan;
	HyPackedGraph own; /* list of rows, if the task has no such list */
	HyCudaBlock *block;
	const char *graph; /* device address, in the task's buffer or in the block */
	char *group;       /* state of a group: its HyCudaSpreadControl, then the arrays of its nodes */
	uint64_t at;       /* bytes of the graph uploaded so far */
	HyCudaSpreadPiece piece[HY_CUDA_SLOTS];
};

static inline HyCudaSpreadPiece *
hy_cuda_spread_piece(const HyDevice *device, const HyCudaSlot *slot)
{
	return &device->task.spread->piece[slot - device->slots];
}

/*
 * hy_cuda_spread_bytes: return the number of bytes of a graph to upload, which is the whole layout
 * without the padding at its end.
 */
extern uint64_t hy_cuda_spread_bytes(const HyPackedGraph *packed);

/* hy_cuda_spread_left: return the number of bytes of the graph that are not uploaded yet. */
extern uint64_t hy_cuda_spread_left(const HyCudaSpread *spread);

/* hy_cuda_spread_up: queue the uploads of the slot's piece (pipeline.h). */
extern HyStatus hy_cuda_spread_up(HyDevice *device, HyCudaSlot *slot);

#endif
