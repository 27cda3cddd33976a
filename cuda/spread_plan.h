/*
 * spread_plan.h
 *		Plans the steps in which activation spreads over a graph whose rows are listed by length.
 *		Arithmetic only; never calls CUDA.
 *
 * The sets of seeds are processed in groups.  A group has these stages, in this order (without
 * hops, those in parentheses are omitted):
 *
 *		clear, seeds, (sum, turn, then for each hop: shorts, rows, long, sum, turn,) down
 *
 * Each stage takes as many steps as the work limit requires.  A turn decides which sets continue.
 * A wipe may follow the first hop's turn: it clears the charges of the seeds.  Hops end after the
 * requested number, or when the device reports that no set continues.  Unnecessary stages are
 * omitted.  Clear is omitted for the first group, whose memory is new.  Sum is omitted unless |y|_1
 * decides when hops end.  Turns are omitted if the number of hops is given and small, and a hop
 * takes no longer than a turn.
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
	HY_CUDA_STAGE_SHORTS, /* the three lists of rows, in order */
	HY_CUDA_STAGE_ROWS,
	HY_CUDA_STAGE_LONG,
	HY_CUDA_STAGE_SUM,
	HY_CUDA_STAGE_TURN,
	HY_CUDA_STAGE_WIPE,
	HY_CUDA_STAGE_DOWN,
	HY_CUDA_STAGE_END
} HyCudaSpreadStage;

/* HyCudaSpreadPlan: the work of a task, and the position of the next step in it. */
typedef struct HyCudaSpreadPlan
{
	const HyPackedGraph *packed; /* graph with its lists of rows by length */
	int64_t nodes;
	const HySpreadSeeds *seeds;
	int32_t hops;        /* number of hops; -1: hops continue until no set continues */
	bool turns;          /* whether the device decides between hops which sets continue */
	int32_t widest;      /* largest number of sets in a group: 1, 2, 4 or 8 */
	uint64_t node_bytes; /* bytes of state per node and set */
	int32_t first_set;   /* first set of the current group */
	int32_t sets;        /* number of sets in the group */
	int32_t width;       /* width of the group: the power of two that holds its sets */
	HyCudaSpreadStage stage;
	uint32_t hop; /* current hop, from 1; 0: before the first hop */
	int64_t at;   /* progress within the stage: bytes, seeds, blocks of rows, or nodes */
	int64_t from; /* number of entries of the current long row that are done */
} HyCudaSpreadPlan;

/* HyCudaSpreadRoom: what a piece can still hold. */
typedef struct HyCudaSpreadRoom
{
	uint64_t pace; /* work limit of a whole piece */
	uint64_t left; /* work that is left of it */
	int64_t seeds; /* seeds that fit the slot's upload memory */
	int64_t nodes; /* nodes whose answers fit the slot's result memory */
	bool empty;    /* the piece has no step yet, so it must accept at least some work */
} HyCudaSpreadRoom;

/* hy_cuda_spread_rows: return the number of rows that have entries. */
static inline int64_t
hy_cuda_spread_rows(const HyPackedGraph *packed)
{
	return packed->rows[0] + packed->rows[1] + packed->rows[2];
}

/*
 * hy_cuda_spread_width: return the width of a group for this many sets: the next power of two, at
 * most `widest`.
 */
extern int32_t hy_cuda_spread_width(int64_t sets, int32_t widest);

/*
 * hy_cuda_spread_best_width: return the group width for which the fewest bytes are transferred
 * between the device's memory and its cache.  The width is at most the width that holds all sets.
 * `cache` is the size of the cache in bytes.  If it is 0 (unknown), the largest such width is
 * returned.
 */
extern int32_t
hy_cuda_spread_best_width(int64_t sets, int64_t nodes, int64_t rows, int64_t edges, uint64_t cache);

/* hy_cuda_spread_node_bytes: return the bytes of state per node and set. */
extern uint64_t hy_cuda_spread_node_bytes(bool converging, bool refire, bool sent);

/*
 * hy_cuda_spread_plan_begin: start a plan.  The caller has set packed, nodes, seeds, hops, widest
 * and node_bytes.
 */
extern void hy_cuda_spread_plan_begin(HyCudaSpreadPlan *plan);

/*
 * hy_cuda_spread_step: take the next step, or as much of it as fits the piece.  Returns false if
 * nothing fits or no step is left.
 */
extern bool
hy_cuda_spread_step(HyCudaSpreadPlan *plan, const HyCudaSpreadRoom *room, HyCudaSpreadStep *step);

/*
 * hy_cuda_spread_quiet: skip the remaining hops of the group that begins with set first_set,
 * because none of its sets continues.  Does nothing unless the plan is within the hops of this
 * group.
 */
extern void hy_cuda_spread_quiet(HyCudaSpreadPlan *plan, int32_t first_set);

#endif
