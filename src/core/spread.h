/*
 * spread.h
 *		Activation spreading over a pulled graph: one definition for every backend.
 *
 * With T_ij = w_ij / s_i^fan, y_0 = seeds and a = y_0, for each hop
 *
 *		f = y where y > 0, y >= threshold and the node has fired fewer than refire times, else 0
 *		y = decay * T^T f				(combine = max: y_j = max_i decay T_ij f_i)
 *		a = a + y						(combine = max: a = max(a, y))
 *
 * Bits: weights fp32, all else fp64.  gain_i = decay / s_i^fan (0 where s_i = 0); c_i = f_i *
 * gain_i; the entry at position p of a row adds to lane p mod 32 by fma(c_source, w, lane), also
 * when only few nodes fire; lanes fold as a tree from h = 16.  Sums over nodes use the same 32
 * lanes in id order: node i adds to lane i mod 32.  A hop is not run when no node fires, for then
 * every later y is 0.  hops = -1 stops after the first hop with |y|_1 < tolerance * |seeds|_1, or
 * with |y|_1 not below that of the hop before (the contraction is then lost in rounding).  Repeated
 * seeds are added in the order given.  Finite input can overflow to infinity when fan is below 1;
 * that is for the caller to look for in the answer.  After J. R. Anderson, "A spreading activation
 * theory of memory" (1983), and the power iteration of personalised PageRank.
 */
#ifndef HY_SPREAD_H
#define HY_SPREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "core/allocator.h"
#include "core/cancel.h"
#include "core/csr.h"
#include "core/status.h"

#define HY_SPREAD_LANES 32

typedef enum HyCombine
{
	HY_COMBINE_SUM = 0,
	HY_COMBINE_MAX
} HyCombine;

typedef struct HySpreadParams
{
	double decay;     /* 0 .. 1 */
	double fan;       /* 0, 0.5 or 1 */
	int32_t hops;     /* >= 0, or -1: until |y|_1 < tolerance * |seeds|_1 */
	double threshold; /* >= 0 */
	int32_t refire;   /* 0: no limit; n: a node fires at most n times */
	HyCombine combine;
	double tolerance; /* > 0; used when hops is -1 */
} HySpreadParams;

/* HySpreadSeeds: sets of seeds, those of set s at seed_start[s] .. seed_start[s + 1] - 1. */
typedef struct HySpreadSeeds
{
	int32_t sets;
	const int64_t *start; /* sets + 1 */
	const uint32_t *node; /* dense node numbers; repeated ones are summed */
	const double *value;  /* finite, >= 0 */
} HySpreadSeeds;

/* hy_spread_gain: gain[i] = decay / s_i^fan for every node, 0 where s_i is 0. */
extern void hy_spread_gain(const HyCsr *graph, double decay, double fan, double *gain);

/*
 * hy_spread_converges: whether hops = -1 is safe: decay * max_i sum_j T_ij < 1.  *norm (may be
 * NULL) is set to that product; sum_j T_ij is s_i^(1 - fan), 0 where s_i is 0.
 */
extern bool hy_spread_converges(const HyCsr *graph, const HySpreadParams *params, double *norm);

/*
 * hy_spread_check: HY_INVALID for parameters or seeds out of the ranges above and for hops = -1
 * where it does not converge, else HY_OK.
 */
extern HyStatus
hy_spread_check(const HyCsr *graph, const HySpreadParams *params, const HySpreadSeeds *seeds);

/*
 * hy_spread: activation[set * nodes + i] and hop[set * nodes + i] (the hop at which node i first
 * had activation > 0, 0 for seeds, -1 when never).  HY_NOMEM, HY_CANCELLED, HY_OK, or what
 * hy_spread_check says.
 */
extern HyStatus hy_spread(const HyCsr *graph, const double *gain, const HySpreadParams *params,
                          const HySpreadSeeds *seeds, const HyAllocator *allocator,
                          const HyCancel *cancel, double *activation, int32_t *hop);

#endif
