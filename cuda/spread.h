/*
 * spread.h
 *		The operation 'spread': its state, and what goes up for it.
 */
#ifndef HY_CUDA_SPREAD_H
#define HY_CUDA_SPREAD_H

#include "cuda/pipeline.h"
#include "cuda/spread_plan.h"

#define HY_CUDA_SPREAD_STEPS 64 /* of a piece */

/* HyCudaSpreadPiece: what a slot does. */
typedef struct HyCudaSpreadPiece
{
	bool graph; /* some of the graph goes up */
	bool seeds; /* behind it, seeds */
	bool pulls; /* the device is asked whether any set goes on */
	int32_t first_set;
	int32_t width;
	int32_t sets;
	int steps;
	HyCudaSpreadStep step[HY_CUDA_SPREAD_STEPS];
} HyCudaSpreadPiece;

struct HyCudaSpread
{
	HyCudaSpreadPlan plan;
	HyPackedGraph own; /* where the task brings none */
	HyCudaBlock *block;
	const char *graph; /* on the device: in the task's buffer, or in the block */
	char *group;       /* the state of one: its control, then what its nodes have */
	uint64_t at;       /* bytes of the graph that are up */
	HyCudaSpreadPiece piece[HY_CUDA_SLOTS];
};

static inline HyCudaSpreadPiece *
hy_cuda_spread_piece(const HyDevice *device, const HyCudaSlot *slot)
{
	return &device->task.spread->piece[slot - device->slots];
}

/* hy_cuda_spread_bytes: what goes up of a graph: all of the layout but its empty end. */
extern uint64_t hy_cuda_spread_bytes(const HyPackedGraph *packed);

/* hy_cuda_spread_left: bytes of the graph that are not up yet. */
extern uint64_t hy_cuda_spread_left(const HyCudaSpread *spread);

/* hy_cuda_spread_up: what the slot's piece needs there (pipeline.h). */
extern HyStatus hy_cuda_spread_up(HyDevice *device, HyCudaSlot *slot);

#endif
