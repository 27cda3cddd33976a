/*
 * spread_pull.h
 *		The inner loops of activation spreading, which compute what a row receives from its sources.
 *
 * charge[i] is the activation that node i sends per unit of weight.  It may be infinite or NaN, but
 * is never negative.
 */
#ifndef HY_SPREAD_PULL_H
#define HY_SPREAD_PULL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/csr.h"
#include "core/spread.h"

/*
 * HySpreadPull: one implementation of pulling.  A row gets the same bits from either entry point.
 */
typedef struct HySpreadPull
{
	/* computes y[from] .. y[to - 1], each from its whole row */
	void (*rows)(const HyCsr *graph, const double *charge, int64_t from, int64_t to, double *y);
	/*
	 * Adds count entries of one row to the lanes of that row.  The first entry must be at a
	 * position that is a multiple of HY_SPREAD_LANES.  The fold of all lanes is the y of the row.
	 * The maximum uses only lane 0.
	 */
	void (*add)(const uint32_t *column, const float *weight, int64_t count, const double *charge,
	            double *lane);
} HySpreadPull;

/*
 * hy_spread_pull: return the implementation for combine.  `fma` says whether the processor has AVX2
 * and FMA.  Results have the same bits with and without them.
 */
extern HySpreadPull hy_spread_pull(HyCombine combine, bool fma);

#endif
