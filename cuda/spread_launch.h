/*
 * spread_launch.h
 *		The interface between C and CUDA C++ for the kernels of 'spread'.
 *
 * Several sets of seeds spread at the same time, as a group.  The width of a group is a power of
 * two.  The value of node i and set s of the group is at [i * width + s].  So one read of an edge
 * serves all sets, and the values that the sets need from the edge's source node are adjacent.
 * core/spread.h defines y, s_i and the firing of nodes.  A node's charge is what it sends when it
 * fires.
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
	 * HyCudaSpreadSeed: the initial activation of a node in a set.  If the set names the node
	 * several times, each of these seeds holds the sum.
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
		double enough[HY_CUDA_SPREAD_WIDTH];  /* |y|_1 below which the hops of a set end */
		uint32_t fires[HY_CUDA_SPREAD_WIDTH]; /* whether any node fires in the next hop */
		uint32_t live;                        /* one bit for each set that continues */
	} HyCudaSpreadControl;

/* Bytes of HyCudaSpreadControl, rounded up.  The rest of a group's state follows it. */
#define HY_CUDA_SPREAD_CONTROL (((int64_t) sizeof(HyCudaSpreadControl) + 255) / 256 * 256)

	/* HyCudaSpreadState: the graph and a group of sets.  All pointers are device addresses. */
	typedef struct HyCudaSpreadState
	{
		const uint32_t *column;
		const float *weight;
		const double *out_weight; /* s_i of each node */
		const double *hub;        /* hub divisor of each node, or NULL */
		/* charges of the nodes: hop h reads charge[(h - 1) % 2] and writes the other array */
		double *charge[2];
		double *activation;
		double *arrived; /* y of the last hop; NULL unless |y|_1 is needed */
		double *sent;    /* sum or maximum of each node's charges; NULL unless the task wants it */
		uint32_t *hop;   /* 1 + the hop in which activation first reached the node; 0: never */
		uint32_t *fired; /* number of times that each node has fired; NULL if not limited */
		HyCudaSpreadControl *control;
		double decay;
		double fan;
		double threshold;
		double tolerance; /* read only if `arrived` is not NULL */
		int64_t nodes;
		uint32_t refire;
		bool hops;     /* whether there is at least one hop */
		int32_t width; /* width of the group: 1, 2, 4 or 8 */
		int32_t sets;  /* sets of the group, at most its width */
		/* one bit per set of the group; 0 if there are turns: then `control` has the bits */
		uint32_t live;
		HyCombine combine;
	} HyCudaSpreadState;

	typedef enum HyCudaSpreadKind
	{
		HY_CUDA_SPREAD_CLEAR = 0, /* clear some bytes, by cudaMemsetAsync */
		HY_CUDA_SPREAD_SEEDS,     /* store some seeds in the state */
		HY_CUDA_SPREAD_SHORTS,    /* run one hop for rows of the list of short rows */
		HY_CUDA_SPREAD_ROWS,      /* run the hop for rows of the list of middle length */
		HY_CUDA_SPREAD_LONG,      /* run the hop for long rows, or for a part of one long row */
		HY_CUDA_SPREAD_SUM,       /* add up |y|_1 over some nodes */
		HY_CUDA_SPREAD_TURN,      /* turn: decide which sets continue */
		/* arrange the answers of some nodes set by set, for the copy to the host */
		HY_CUDA_SPREAD_DOWN
	} HyCudaSpreadKind;

	/* HyCudaSpreadStep: one step of a task, which is usually one launch of a kernel. */
	typedef struct HyCudaSpreadStep
	{
		HyCudaSpreadKind kind;
		uint32_t hop;  /* number of the hop, from 1; 0: before the first hop */
		int64_t first; /* first row, node, seed or byte; for HY_CUDA_SPREAD_SUM, a multiple of 32 */
		int64_t count; /* number of rows, nodes, seeds or bytes */
		int64_t from;  /* entries from .. to - 1 of one long row; to = 0: all entries of the rows */
		int64_t to;
		bool last;      /* whether the step includes the end of the rows */
		uint64_t work;  /* work, as the work limit counts it */
		const void *in; /* the rows of a list, or the seeds */
		void *
			out; /* of HY_CUDA_SPREAD_DOWN: activation, charges sent (if wanted), hops; set by set */
	} HyCudaSpreadStep;

	/*
	 * hy_cuda_launch_spread: queue the kernel of a step.  The step must not be HY_CUDA_SPREAD_CLEAR
	 * and must not be empty.
	 */
	extern cudaError_t
	hy_cuda_launch_spread(const HyCudaSpreadState *state, const HyCudaSpreadStep *step,
	                      int multiprocessors, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
