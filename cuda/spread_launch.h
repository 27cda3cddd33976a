/*
 * spread_launch.h
 *		The kernels of 'spread' as the host calls them.  The interface between C and CUDA C++.
 *
 * Several sets of seeds spread at the same time, in groups whose width is a power of two.  The
 * value of node i and set s of a group is at [i * width + s].  So one read of an edge serves all
 * sets, and the values of its source node for all sets are adjacent.
 */
#ifndef HY_CUDA_SPREAD_LAUNCH_H
#define HY_CUDA_SPREAD_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

#include "core/packed_graph.h"
#include "core/spread.h"

#ifdef __cplusplus
extern "C"
{
#endif

#define HY_CUDA_SPREAD_WIDTH 8     /* largest number of sets in a group */
#define HY_CUDA_SPREAD_WINDOW 1024 /* a long row may be divided at multiples of this many entries */

	/*
	 * HyCudaSpreadSeed: the initial activation of a node in a set.  Several seeds of a node have the
	 * same value.
	 */
	typedef struct HyCudaSpreadSeed
	{
		double value;
		uint32_t node;
		uint32_t set;
	} HyCudaSpreadSeed;

	/*
	 * HyCudaSpreadControl: the progress of the sets of a group.  All fields are 0 before the seeds
	 * are stored.
	 */
	typedef struct HyCudaSpreadControl
	{
		double lanes[HY_SPREAD_LANES * HY_CUDA_SPREAD_WIDTH]; /* partial sums of |y|_1 over nodes */
		double carry[HY_SPREAD_LANES * HY_CUDA_SPREAD_WIDTH]; /* partial sums of a long row */
		double before[HY_CUDA_SPREAD_WIDTH];                  /* |y|_1 of the previous hop */
		double enough[HY_CUDA_SPREAD_WIDTH];
		uint32_t fires[HY_CUDA_SPREAD_WIDTH]; /* whether any node will fire in the next hop */
		uint32_t live;                        /* one bit for each set that continues */
	} HyCudaSpreadControl;

/* Bytes of HyCudaSpreadControl, which precedes the rest of a group's state. */
#define HY_CUDA_SPREAD_CONTROL (((int64_t) sizeof(HyCudaSpreadControl) + 255) / 256 * 256)

	/* HyCudaSpreadState: the graph and a group of sets.  All pointers are device addresses. */
	typedef struct HyCudaSpreadState
	{
		const uint32_t *column;
		const float *weight;
		const double *out_weight; /* s_i of each node */
		const double *hub;        /* divisor of each node, or NULL */
		double *charge[2];        /* hop h reads charge[(h - 1) % 2] and writes the other array */
		double *activation;
		double *arrived; /* y of the last hop, if |y|_1 is needed, else NULL */
		double *sent;    /* sum or maximum of the charges, if wanted, else NULL */
		uint32_t *hop;   /* 1 + hop in which activation first arrived; 0: never */
		uint32_t *fired; /* number of firings of each node, if limited, else NULL */
		HyCudaSpreadControl *control;
		double decay;
		double fan;
		double threshold;
		double tolerance; /* read only if arrived is not NULL */
		int64_t nodes;
		uint32_t refire;
		bool hops;     /* whether there is any hop */
		int32_t width; /* width of the group: 1, 2, 4 or 8 */
		int32_t sets;  /* sets of the group, at most its width */
		uint32_t live; /* one bit per set; 0 if there are turns, since control then has the bits */
		HyCombine combine;
	} HyCudaSpreadState;

	typedef enum HyCudaSpreadKind
	{
		HY_CUDA_SPREAD_CLEAR = 0, /* clear some bytes; no kernel */
		HY_CUDA_SPREAD_SEEDS,     /* store seeds in the state */
		HY_CUDA_SPREAD_SHORTS,    /* pull short rows in one hop */
		HY_CUDA_SPREAD_ROWS,      /* pull rows of middle length */
		HY_CUDA_SPREAD_LONG,      /* pull long rows, or a part of one row */
		HY_CUDA_SPREAD_SUM,       /* add |y|_1 over some nodes */
		HY_CUDA_SPREAD_TURN,      /* decide which sets continue */
		HY_CUDA_SPREAD_DOWN       /* arrange the answers of some nodes, set by set */
	} HyCudaSpreadKind;

	/* HyCudaSpreadStep: one kernel launch. */
	typedef struct HyCudaSpreadStep
	{
		HyCudaSpreadKind kind;
		uint32_t hop;  /* number of the hop; 0: before the first */
		int64_t first; /* first row, node or byte; a multiple of 32 for nodes to be summed */
		int64_t count; /* number of rows, nodes or bytes, or of seeds */
		int64_t from;  /* entries from .. to - 1 of a long row; to = 0: all entries */
		int64_t to;
		bool last;      /* whether the step includes the end of the row */
		uint64_t work;  /* work, as counted for the work limit */
		const void *in; /* rows of a list, or seeds */
		void *
			out; /* count doubles for each set, twice if sent is wanted, then count hops for each set */
	} HyCudaSpreadStep;

	/*
	 * hy_cuda_launch_spread: queue the kernel of a step.  The step is not HY_CUDA_SPREAD_CLEAR and
	 * is not empty.
	 */
	extern cudaError_t
	hy_cuda_launch_spread(const HyCudaSpreadState *state, const HyCudaSpreadStep *step,
	                      int multiprocessors, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
