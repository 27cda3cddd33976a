/*
 * spread_pull.h
 *		The inner loops of activation spreading: what arrives at a row from its sources.
 *
 * charge[i] is what node i sends out for each unit of weight, finite or not, never negative.
 */
#ifndef HY_SPREAD_PULL_H
#define HY_SPREAD_PULL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/csr.h"
#include "core/spread.h"

/* HySpreadPull: one way to pull; a row has the same bits whichever entry point it went through. */
typedef struct HySpreadPull
{
	/* y[from] .. y[to - 1], each from its whole row */
	void (*rows)(const HyCsr *graph, const double *charge, int64_t from, int64_t to, double *y);
	/*
	 * count entries of one row, the first of them at a position that is a multiple of
	 * HY_SPREAD_LANES, into the lanes of that row; all lanes folded are its y.  The maximum uses
	 * lane 0 alone.
	 */
	void (*add)(const uint32_t *column, const float *weight, int64_t count, const double *charge,
	            double *lane);
} HySpreadPull;

/* hy_spread_pull: for combine; fma: the processor has AVX2 and FMA.  The bits are the same. */
extern HySpreadPull hy_spread_pull(HyCombine combine, bool fma);

#endif
