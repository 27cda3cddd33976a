/*
 * slice.h
 *		Cuts a task into slices that are tasks themselves, and merges their answers.
 *
 * A slice has a part of the task's queries (for spread, of its seed sets) and all targets, or a
 * part of the targets and all queries.  Input that every slice needs is sent again with each slice,
 * so distances, top-k and codes are cut in the way that repeats fewer bytes.  The other operations
 * are always cut by queries (assign: by the rows to be assigned).  Most outputs, such as distances
 * and activations, are written directly into the output arrays of the whole task.  So slices may be
 * computed in any order, on any backend, and more than once.  Only top-k and scored codes, when cut
 * by targets, have separate answers for each slice.  hy_slice_merge merges these answers into those
 * of the whole task.  Neighbors are totally ordered by (distance, row).  So the merged answers
 * equal those of the uncut task bit for bit, whatever the order in which the slices end.  Codes are
 * cut between blocks, without regard to list boundaries.
 */
#ifndef HY_SLICE_H
#define HY_SLICE_H

#include "dispatch/backend.h"

typedef struct HySlicing
{
	const HyTask *task; /* the whole task; outlives its slices */
	HyShape shape;      /* its shape */
	bool by_targets;
	bool merges;    /* slices have outputs of their own */
	int64_t extent; /* rows, or blocks of codes, to divide; below 2: the task cannot be cut */
} HySlicing;

/* HySliceOutput: the answers of one slice, if they must be merged. */
typedef struct HySliceOutput
{
	HyNeighbor *out; /* queries * k */
	int32_t *counts; /* queries */
} HySliceOutput;

/* hy_slicing_init: decide how to cut a valid task. */
extern void hy_slicing_init(HySlicing *slicing, const HyTask *task);

/* hy_slicing_begin: clear the answers of the whole task, before the first slice is merged. */
extern void hy_slicing_begin(const HySlicing *slicing);

/*
 * hy_slice_output_bytes: return the size of the arrays of one HySliceOutput, out and counts; 0 if
 * slices are not merged.
 */
extern uint64_t hy_slice_output_bytes(const HySlicing *slicing);

/* hy_slice_output_at: lay out a HySliceOutput in hy_slice_output_bytes bytes of memory. */
extern HySliceOutput hy_slice_output_at(const HySlicing *slicing, void *memory);

/*
 * hy_slice: return the slice with the rows, or blocks of codes, first .. first + count - 1.  output
 * is used only if slices are merged.
 */
extern HyTask
hy_slice(const HySlicing *slicing, int64_t first, int64_t count, const HySliceOutput *output);

/*
 * hy_slice_merge: merge the answers of the slice that began at row `first` into the answers of the
 * whole task.  `spare` is an array of k neighbors.  Does nothing if slices need no merging.
 */
extern void hy_slice_merge(const HySlicing *slicing, int64_t first, const HySliceOutput *output,
                           HyNeighbor *spare);

/*
 * hy_shape_extent: return the number of rows, or of blocks of codes, into which a task of this
 * shape can be cut.
 */
extern int64_t hy_shape_extent(const HyShape *shape);

/* hy_shape_slice: return the shape of a slice of count such rows or blocks. */
extern HyShape hy_shape_slice(const HyShape *shape, int64_t count);

#endif
