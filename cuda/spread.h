/*
 * spread.h
 *		The operation 'spread': the state of a task, and the upload of its graph and seeds.
 */
#ifndef HY_CUDA_SPREAD_H
#define HY_CUDA_SPREAD_H

#include "cuda/pipeline.h"
#include "cuda/spread_plan.h"

#define HY_CUDA_SPREAD_STEPS 64 /* largest number of steps per piece */

/* HyCudaSpreadPiece: the piece that a slot runs. */
typedef struct HyCudaSpreadPiece
{
	bool graph;        /* whether a part of the graph is uploaded */
	bool seeds;        /* whether seeds are uploaded, after the part of the graph */
	bool reports_live; /* whether the device reports which sets continue */
	int32_t first_set;
	int32_t width;
	int32_t sets;
	int steps;
	HyCudaSpreadStep step[HY_CUDA_SPREAD_STEPS];
} HyCudaSpreadPiece;

struct HyCudaSpread
{
	HyCudaSpreadPlan plan;
	HyPackedGraph own; /* lists of rows, if the task has no packed graph */
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
 * hy_cuda_spread_bytes: return the number of bytes to upload for a graph: its whole layout, without
 * the padding at the end.
 */
extern uint64_t hy_cuda_spread_bytes(const HyPackedGraph *packed);

/* hy_cuda_spread_left: return the number of bytes of the graph that have not been uploaded yet. */
extern uint64_t hy_cuda_spread_left(const HyCudaSpread *spread);

/* hy_cuda_spread_up: queue the uploads of the slot's piece.  Implements `up` of HyCudaOperation. */
extern HyStatus hy_cuda_spread_up(HyDevice *device, HyCudaSlot *slot);

#endif
