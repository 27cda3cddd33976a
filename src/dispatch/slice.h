/*
 * slice.h
 *		Cuts a task into slices that are tasks themselves, and puts their answers together.
 *
 * A task is cut along one side: the queries (for spread, the seed sets) or the targets.  Either way
 * each slice needs all of the other side, so the side is cut of which that costs less to repeat.
 * Distances and activations go straight to their place in the whole's outputs, so slices may be
 * computed in any order, on any backend, more than once.  Only a topk cut by targets has answers of
 * its own for each slice, and scored codes cut likewise; hy_slice_merge folds them into the whole's.
 * Since neighbours are totally ordered by (distance, row), the bits and the order of ties are those of
 * the uncut task, in whatever order slices end.  Codes are cut between blocks, wherever lists end.
 */
#ifndef HY_SLICE_H
#define HY_SLICE_H

#include "dispatch/backend.h"

typedef struct HySlicing
{
	const HyTask *task; /* the whole; outlives its slices */
	bool by_targets;
	bool merges;    /* slices have outputs of their own */
	int64_t extent; /* rows, or blocks, of the side that is cut; below 2 there is nothing to cut */
} HySlicing;

/* HySliceOutput: where one slice that merges leaves its answers. */
typedef struct HySliceOutput
{
	HyNeighbor *out; /* queries * k */
	int32_t *counts; /* queries */
} HySliceOutput;

/* hy_slicing_init: how a task that makes sense is cut. */
extern void hy_slicing_init(HySlicing *slicing, const HyTask *task);

/* hy_slicing_begin: before the first slice is merged: the whole's answers are none. */
extern void hy_slicing_begin(const HySlicing *slicing);

/* hy_slice_output_bytes: of one HySliceOutput, out and counts; 0 where slices need none. */
extern uint64_t hy_slice_output_bytes(const HySlicing *slicing);

/* hy_slice_output_at: a HySliceOutput over hy_slice_output_bytes bytes of memory. */
extern HySliceOutput hy_slice_output_at(const HySlicing *slicing, void *memory);

/* hy_slice: rows, or blocks, first .. first + count - 1 of the side that is cut; output where it merges. */
extern HyTask
hy_slice(const HySlicing *slicing, int64_t first, int64_t count, const HySliceOutput *output);

/*
 * hy_slice_merge: folds the answers of the slice that began at row first into the whole's; spare is
 * room for k neighbours.  Nothing where slices need no merging.
 */
extern void hy_slice_merge(const HySlicing *slicing, int64_t first, const HySliceOutput *output,
                           HyNeighbor *spare);

/* hy_shape_extent: rows, or blocks, of the side along which a task of this shape is cut. */
extern int64_t hy_shape_extent(const HyShape *shape);

/* hy_shape_slice: the shape of a slice of count of them. */
extern HyShape hy_shape_slice(const HyShape *shape, int64_t count);

#endif
