/*
 * spread_plan.h
 *		The rows of a graph by length, and the steps of spreading over it: arithmetic only.
 *
 * All sets of seeds are taken in groups.  A group's steps are, in this order,
 *
 *		clear, seeds, (sum, turn, then for each hop: shorts, rows, long, sum, turn,) down
 *
 * each cut into as many as the pace asks for.  Hops end when they are done, or when the device has
 * said that no set goes on.
 */
#ifndef HY_CUDA_SPREAD_PLAN_H
#define HY_CUDA_SPREAD_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/allocator.h"
#include "core/cancel.h"
#include "cuda/spread_launch.h"

#define HY_CUDA_SPREAD_LISTS 3 /* short rows, middle ones, long ones */

/* HyCudaSpreadLists: the rows that have entries, by length, each list in the order of nodes. */
typedef struct HyCudaSpreadLists
{
	int64_t rows[HY_CUDA_SPREAD_LISTS];
	uint64_t *sum[HY_CUDA_SPREAD_LISTS]; /* work of the blocks before each, and of all */
} HyCudaSpreadLists;

typedef enum HyCudaSpreadStage
{
	HY_CUDA_STAGE_CLEAR = 0,
	HY_CUDA_STAGE_SEEDS,
	HY_CUDA_STAGE_SHORTS, /* the lists, in their order */
	HY_CUDA_STAGE_ROWS,
	HY_CUDA_STAGE_LONG,
	HY_CUDA_STAGE_SUM,
	HY_CUDA_STAGE_TURN,
	HY_CUDA_STAGE_WIPE,
	HY_CUDA_STAGE_DOWN,
	HY_CUDA_STAGE_END
} HyCudaSpreadStage;

/* HyCudaSpreadPlan: what is to be done, and the step that comes next. */
typedef struct HyCudaSpreadPlan
{
	HyCudaSpreadLists lists;
	int64_t nodes;
	const HySpreadSeeds *seeds;
	int32_t hops;        /* -1: until the device says so */
	int32_t widest;      /* the most sets of a group: 1, 2, 4 or 8 */
	uint64_t node_bytes; /* of state, of a node and a set */
	int32_t first_set;   /* of the group */
	int32_t sets;        /* of the group */
	int32_t width;       /* of the group: a power of two */
	HyCudaSpreadStage stage;
	uint32_t hop; /* 0: before the first */
	int64_t at;   /* how far the stage has come: bytes, seeds, blocks, nodes */
	int64_t from; /* entries of a long row that are done */
} HyCudaSpreadPlan;

/* HyCudaSpreadRoom: what a piece can still take. */
typedef struct HyCudaSpreadRoom
{
	uint64_t pace; /* of a whole piece */
	uint64_t left; /* of that */
	int64_t seeds;
	int64_t nodes; /* to be brought down */
	bool empty;    /* it has nothing yet, and so takes at least a little */
} HyCudaSpreadRoom;

/* hy_cuda_spread_list: of a row with so many entries, at least one. */
extern int hy_cuda_spread_list(int64_t entries);

/*
 * hy_cuda_spread_lists_make: HY_OK, HY_NOMEM, HY_CANCELLED, or HY_INVALID where row_start does not
 * ascend from 0 to the number of edges.
 */
extern HyStatus hy_cuda_spread_lists_make(const HyCsr *graph, const HyAllocator *allocator,
                                          const HyCancel *cancel, HyCudaSpreadLists *lists);
extern void hy_cuda_spread_lists_free(HyCudaSpreadLists *lists, const HyAllocator *allocator);

/* hy_cuda_spread_width: of a group of so many sets: the next power of two, at most widest. */
extern int32_t hy_cuda_spread_width(int64_t sets, int32_t widest);

/* hy_cuda_spread_node_bytes: of state, of a node and a set. */
extern uint64_t hy_cuda_spread_node_bytes(bool converging, bool refire);

/* hy_cuda_spread_plan_begin: with lists, nodes, seeds, hops, widest and node_bytes filled in. */
extern void hy_cuda_spread_plan_begin(HyCudaSpreadPlan *plan);

/* hy_cuda_spread_step: the next step that the room holds; false when there is none. */
extern bool
hy_cuda_spread_step(HyCudaSpreadPlan *plan, const HyCudaSpreadRoom *room, HyCudaSpreadStep *step);

/* hy_cuda_spread_quiet: no set of this group goes on: to its answers. */
extern void hy_cuda_spread_quiet(HyCudaSpreadPlan *plan, int32_t first_set);

#endif
