/*
 * spread_launch.h
 *		What the host side asks the kernels of 'spread' to do.  C on one side, CUDA C++ on the other.
 *
 * Sets of seeds are spread side by side, in groups as wide as a power of two: what belongs to node i
 * and set s of a group lies at [i * width + s], so that one read of an edge serves all sets, and
 * what they ask of its source lies together.
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

#define HY_CUDA_SPREAD_WIDTH 8     /* the most sets of a group */
#define HY_CUDA_SPREAD_WINDOW 1024 /* a long row may be cut at multiples of this */

	/* HyCudaSpreadSeed: what a node has in the beginning; more than one may say the same. */
	typedef struct HyCudaSpreadSeed
	{
		double value;
		uint32_t node;
		uint32_t set;
	} HyCudaSpreadSeed;

	/* HyCudaSpreadControl: how far the sets of a group have come; all 0 before the seeds. */
	typedef struct HyCudaSpreadControl
	{
		double lanes[HY_SPREAD_LANES * HY_CUDA_SPREAD_WIDTH]; /* a sum over nodes, so far */
		double carry[HY_SPREAD_LANES * HY_CUDA_SPREAD_WIDTH]; /* a long row, so far */
		double before[HY_CUDA_SPREAD_WIDTH];                  /* |y|_1 of the hop before */
		double enough[HY_CUDA_SPREAD_WIDTH];
		uint32_t fires[HY_CUDA_SPREAD_WIDTH]; /* whether a node will fire in the hop to come */
		uint32_t live;                        /* a bit for each set that goes on */
	} HyCudaSpreadControl;

/* What it takes before the rest of a group's state. */
#define HY_CUDA_SPREAD_CONTROL (((int64_t) sizeof(HyCudaSpreadControl) + 255) / 256 * 256)

	/* HyCudaSpreadState: the graph and a group of sets; every pointer is the device's. */
	typedef struct HyCudaSpreadState
	{
		const uint32_t *column;
		const float *weight;
		const double *gain;
		double *charge[2]; /* hop h reads that of (h - 1) % 2 and writes the other */
		double *activation;
		double *arrived; /* y, where |y|_1 is asked for, else NULL */
		uint32_t *hop;   /* 1 + the hop, 0: never */
		uint32_t *fired; /* times, where they are limited, else NULL */
		HyCudaSpreadControl *control;
		double threshold;
		double tolerance; /* read where arrived is not NULL */
		int64_t nodes;
		uint32_t refire;
		int32_t width; /* 1, 2, 4 or 8 */
		int32_t sets;  /* of the group, at most its width */
		uint32_t live; /* where nobody asks, a bit for each set, else 0: control says */
		HyCombine combine;
	} HyCudaSpreadState;

	typedef enum HyCudaSpreadKind
	{
		HY_CUDA_SPREAD_CLEAR = 0, /* bytes: no kernel */
		HY_CUDA_SPREAD_SEEDS,     /* seeds into the state */
		HY_CUDA_SPREAD_SHORTS,    /* short rows of one hop */
		HY_CUDA_SPREAD_ROWS,      /* rows of middle length */
		HY_CUDA_SPREAD_LONG,      /* long rows, or a part of one */
		HY_CUDA_SPREAD_SUM,       /* |y|_1 over some nodes */
		HY_CUDA_SPREAD_TURN,      /* which sets go on */
		HY_CUDA_SPREAD_DOWN       /* the answer for some nodes, set by set */
	} HyCudaSpreadKind;

	/* HyCudaSpreadStep: one kernel. */
	typedef struct HyCudaSpreadStep
	{
		HyCudaSpreadKind kind;
		uint32_t hop;  /* 0: before the first */
		int64_t first; /* row of a list, node or byte; a multiple of 32 for nodes to be summed */
		int64_t count; /* of those, or of seeds */
		int64_t from;  /* of a long row: entries from .. to - 1; to 0: all */
		int64_t to;
		bool last;      /* the row ends there */
		uint64_t work;  /* for the pace */
		const void *in; /* rows of a list, or seeds */
		void *out;      /* count doubles for each set, then as many of hop */
	} HyCudaSpreadStep;

	/* hy_cuda_launch_spread: queues the kernel of a step, which is not CLEAR, and has something to do. */
	extern cudaError_t
	hy_cuda_launch_spread(const HyCudaSpreadState *state, const HyCudaSpreadStep *step,
	                      int multiprocessors, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
