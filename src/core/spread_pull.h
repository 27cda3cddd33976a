/*
 * spread_pull.h
 *		The inner loops of activation spreading, which compute what a row receives from its sources.
 *
 * charge[i] is the activation that node i sends per unit of weight.  It may be infinite or NaN, but
 * is never negative.  A bitmap marks the nodes whose charge is not 0; the charges of other nodes are
 * read only by `rows`.  Skipping them changes no bits, because their products would only add 0.
 */
#ifndef HY_SPREAD_PULL_H
#define HY_SPREAD_PULL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/csr.h"
#include "core/spread.h"

/* HySpreadCharges: the charges of a hop. */
typedef struct HySpreadCharges
{
	const double *charge;
	const uint64_t *firing; /* bitmap of the nodes whose charge is not 0 */
} HySpreadCharges;

/*
 * HySpreadPull: one implementation of pulling.  A row gets the same bits from each entry point.
 */
typedef struct HySpreadPull
{
	/*
	 * Computes y[from] .. y[to - 1], each from its whole row.  The charges of nodes that do not fire
	 * must be 0.
	 */
	void (*rows)(const HyCsr *graph, const double *charge, int64_t from, int64_t to, double *y);
	/* Computes y of the listed rows, each from its whole row. */
	void (*listed)(const HyCsr *graph, const HySpreadCharges *charges, const uint32_t *row,
	               int64_t count, double *y);
	/*
	 * Adds count entries of one row to the lanes of that row.  The first entry must be at a
	 * position that is a multiple of HY_SPREAD_LANES.  The fold of all lanes is the y of the row.
	 * The maximum uses only lane 0.
	 */
	void (*add)(const uint32_t *column, const float *weight, int64_t count,
	            const HySpreadCharges *charges, double *lane);
} HySpreadPull;

/* hy_spread_rows_avx2: implement `rows` for sums, with AVX2 and FMA (x86-64 only). */
extern void
hy_spread_rows_avx2(const HyCsr *graph, const double *charge, int64_t from, int64_t to, double *y);

/*
 * hy_spread_pull: return the implementation for combine.  `fma` says whether the processor has AVX2
 * and FMA.  Results have the same bits with and without them.
 */
extern HySpreadPull hy_spread_pull(HyCombine combine, bool fma);

/*
 * hy_spread_short_row: return the sum of a row of 1 to 4 entries, each in a lane of its own.  The
 * products and sums are those of the lanes and their fold, without empty lanes.
 */
static inline __attribute__((always_inline)) double
hy_spread_short_row(const uint32_t *column, const float *weight, int64_t count,
                    const double *charge)
{
	double first = charge[column[0]] * weight[0];
	double second;

	if (count == 1)
		return first;
	second = charge[column[1]] * weight[1];
	if (count == 2)
		return first + second;
	first += charge[column[2]] * weight[2];
	if (count == 4)
		second += charge[column[3]] * weight[3];
	return first + second;
}

#endif
