/*
 * spread_plan.h
 *		The steps of spreading over a graph whose rows are listed by length: arithmetic only.
 *
 * All sets of seeds are taken in groups.  A group's steps are, in this order,
 *
 *		clear, seeds, (sum, turn, then for each hop: shorts, rows, long, sum, turn,) down
 *
 * each cut into as many as the pace asks for.  Hops end when they are done, or when the device has
 * said that no set goes on.  What is not needed is left out: to clear, for the first group, whose
 * memory is new; to turn, where hops are few and shorter than that would be.
 */
#ifndef HY_CUDA_SPREAD_PLAN_H
#define HY_CUDA_SPREAD_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda/spread_launch.h"

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
	const HyPackedGraph *packed; /* its lists of rows */
	int64_t nodes;
	const HySpreadSeeds *seeds;
	int32_t hops;        /* -1: until the device says so */
	bool turns;          /* the device is asked between hops which sets go on */
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

/* hy_cuda_spread_rows: all that have entries. */
static inline int64_t
hy_cuda_spread_rows(const HyPackedGraph *packed)
{
	return packed->rows[0] + packed->rows[1] + packed->rows[2];
}

/* hy_cuda_spread_width: of a group of so many sets: the next power of two, at most widest. */
extern int32_t hy_cuda_spread_width(int64_t sets, int32_t widest);

/*
 * hy_cuda_spread_best_width: of groups, at most as wide as so many sets need: that for which the fewest
 * bytes pass between the device's memory and its cache of so many bytes; 0: not known.
 */
extern int32_t
hy_cuda_spread_best_width(int64_t sets, int64_t nodes, int64_t rows, int64_t edges, uint64_t cache);

/* hy_cuda_spread_node_bytes: of state, of a node and a set. */
extern uint64_t hy_cuda_spread_node_bytes(bool converging, bool refire);

/* hy_cuda_spread_plan_begin: with packed, nodes, seeds, hops, widest and node_bytes filled in. */
extern void hy_cuda_spread_plan_begin(HyCudaSpreadPlan *plan);

/* hy_cuda_spread_step: the next step that the room holds; false when there is none. */
extern bool
hy_cuda_spread_step(HyCudaSpreadPlan *plan, const HyCudaSpreadRoom *room, HyCudaSpreadStep *step);

/* hy_cuda_spread_quiet: no set of this group goes on: to its answers. */
extern void hy_cuda_spread_quiet(HyCudaSpreadPlan *plan, int32_t first_set);

#endif
