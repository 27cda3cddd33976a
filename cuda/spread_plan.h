/*
 * spread_plan.h
 *		The steps of spreading over a graph whose rows are listed by length.  Arithmetic only.
 *
 * All sets of seeds are processed in groups.  The steps of a group are, in this order,
 *
 *		clear, seeds, (sum, turn, then for each hop: shorts, rows, long, sum, turn,) down
 *
 * Each is cut into as many steps as the pace demands.  The turn of the first hop may be followed by
 * a wipe, which clears the charges of the seeds.  Hops end after the last one, or when the device
 * has reported that no set continues.  Unnecessary steps are omitted: clear for the first group,
 * whose memory is new, and turn if there are few hops and each takes less time than a turn.
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
	HY_CUDA_STAGE_SHORTS, /* the lists, in order */
	HY_CUDA_STAGE_ROWS,
	HY_CUDA_STAGE_LONG,
	HY_CUDA_STAGE_SUM,
	HY_CUDA_STAGE_TURN,
	HY_CUDA_STAGE_WIPE,
	HY_CUDA_STAGE_DOWN,
	HY_CUDA_STAGE_END
} HyCudaSpreadStage;

/* HyCudaSpreadPlan: the work of a task, and its next step. */
typedef struct HyCudaSpreadPlan
{
	const HyPackedGraph *packed; /* its lists of rows */
	int64_t nodes;
	const HySpreadSeeds *seeds;
	int32_t hops;        /* -1: until the device reports that no set continues */
	bool turns;          /* between hops the device decides which sets continue */
	int32_t widest;      /* most sets of a group: 1, 2, 4 or 8 */
	uint64_t node_bytes; /* bytes of state per node and set */
	int32_t first_set;   /* first set of the group */
	int32_t sets;        /* sets of the group */
	int32_t width;       /* width of the group: a power of two */
	HyCudaSpreadStage stage;
	uint32_t hop; /* 0: before the first hop */
	int64_t at;   /* progress of the stage: bytes, seeds, blocks or nodes */
	int64_t from; /* entries of a long row that are done */
} HyCudaSpreadPlan;

/* HyCudaSpreadRoom: room that is left in a piece. */
typedef struct HyCudaSpreadRoom
{
	uint64_t pace; /* work of a whole piece */
	uint64_t left; /* work that is left */
	int64_t seeds;
	int64_t nodes; /* nodes whose answers can be copied down */
	bool empty;    /* the piece is still empty, so it must accept at least some work */
} HyCudaSpreadRoom;

/* hy_cuda_spread_rows: return the number of rows that have entries. */
static inline int64_t
hy_cuda_spread_rows(const HyPackedGraph *packed)
{
	return packed->rows[0] + packed->rows[1] + packed->rows[2];
}

/*
 * hy_cuda_spread_width: return the width of a group for this many sets: the next power of two, at
 * most 'widest'.
 */
extern int32_t hy_cuda_spread_width(int64_t sets, int32_t widest);

/*
 * hy_cuda_spread_best_width: return the group width for which the fewest bytes pass between the
 * device's memory and its cache.  It is at most the width that the sets need. cache: bytes; 0:
 * unknown.
 */
extern int32_t
hy_cuda_spread_best_width(int64_t sets, int64_t nodes, int64_t rows, int64_t edges, uint64_t cache);

/* hy_cuda_spread_node_bytes: return the bytes of state per node and set. */
extern uint64_t hy_cuda_spread_node_bytes(bool converging, bool refire);

/*
 * hy_cuda_spread_plan_begin: start a plan.  The caller has set packed, nodes, seeds, hops, widest
 * and node_bytes.
 */
extern void hy_cuda_spread_plan_begin(HyCudaSpreadPlan *plan);

/*
 * hy_cuda_spread_step: take the next step that the room permits.  Returns false if there is none.
 */
extern bool
hy_cuda_spread_step(HyCudaSpreadPlan *plan, const HyCudaSpreadRoom *room, HyCudaSpreadStep *step);

/* hy_cuda_spread_quiet: skip to the answers of this group, because none of its sets continues. */
extern void hy_cuda_spread_quiet(HyCudaSpreadPlan *plan, int32_t first_set);

#endif
