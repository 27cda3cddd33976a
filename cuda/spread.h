/*
 * spread.h
 *		The operation 'spread': its state, and what goes up for it.
 */
#ifndef HY_CUDA_SPREAD_H
#define HY_CUDA_SPREAD_H

#include "cuda/pipeline.h"
#include "cuda/spread_plan.h"

#define HY_CUDA_SPREAD_STEPS 64 /* of a piece */

/* A graph has so many arrays: column, weight, gain, and the rows of each list. */
#define HY_CUDA_SPREAD_SECTIONS (3 + HY_CUDA_SPREAD_LISTS)

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
	HyCudaBlock *block;
	char *memory;                             /* of the block */
	uint64_t offset[HY_CUDA_SPREAD_SECTIONS]; /* of the graph's arrays in it */
	uint64_t control;
	uint64_t group; /* the state of one */
	int section;    /* how far the graph is up */
	int64_t at;     /* elements of the section */
	int64_t node;   /* for rows: the next to look at */
	HyCudaSpreadPiece piece[HY_CUDA_SLOTS];
};

static inline HyCudaSpreadPiece *
hy_cuda_spread_piece(const HyDevice *device, const HyCudaSlot *slot)
{
	return &device->task.spread->piece[slot - device->slots];
}

/* hy_cuda_spread_elements: how many a section of the graph has; hy_cuda_spread_element: bytes of one. */
extern int64_t hy_cuda_spread_elements(const HyCudaSpread *spread, const HyCsr *graph, int section);
extern uint64_t hy_cuda_spread_element(int section);

/*
 * hy_cuda_spread_left: bytes of the graph that are not up yet; more than any piece takes where many
 * nodes are to be looked at for them.
 */
extern uint64_t hy_cuda_spread_left(const HyCudaSpread *spread, const HyCsr *graph);

/* hy_cuda_spread_up: what the slot's piece needs there (pipeline.h). */
extern HyStatus hy_cuda_spread_up(HyDevice *device, HyCudaSlot *slot);

#endif
