/*
 * spread.h
 *		Spreading activation over a graph, with one definition for every backend.
 *
 * With r_j = sum_i w_ij, T_ij = w_ij / (s_i^fan r_j^hub), y_0 = seeds and a = y_0, for each hop
 *
 *		f = y where y > 0, y >= threshold and the node has fired fewer than refire times, else 0
 *		y = decay * T^T f				(combine = max: y_j = max_i decay T_ij f_i)
 *		a = a + y						(combine = max: a = max(a, y))
 *
 * Results have the same bits everywhere.  Weights are fp32, and everything else is fp64.  With
 *
 *		c_i = f_i * (decay / s_i^fan)					(0 where s_i = 0)
 *
 * the entry at position p of a row adds to lane p mod 32 by fma(c_source, w, lane), even when only
 * a few nodes fire.  Lanes fold as a tree from h = 16.  The sum (or maximum) of row j is divided by
 * r_j^hub, as spread_hub.c computes it.  Sums over nodes use the same 32 lanes in id order: node i
 * adds to lane i mod 32.
 *
 * A hop is not run when no node fires, because every later y would be 0.  hops = -1 stops after the
 * first hop with |y|_1 < tolerance * |seeds|_1.  It also stops when |y|_1 is not below the value of
 * the previous hop, because the contraction is then lost in rounding.  Repeated seeds are added in
 * the order given.  Finite input can overflow to infinity when fan is below 1.  The caller must
 * check the result for infinity.
 *
 * The method follows J. R. Anderson, "A spreading activation theory of memory" (1983), and the
 * power iteration of personalized PageRank.
 */
#ifndef HY_SPREAD_H
#define HY_SPREAD_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/allocator.h"
#include "core/cancel.h"
#include "core/csr.h"
#include "core/status.h"

#define HY_SPREAD_LANES 32

/*
 * Threads process whole sets if each gets at least this many: then they end at about the same time.
 */
#define HY_SPREAD_SETS_PER_THREAD 2

/* hy_spread_fold: sum the HY_SPREAD_LANES lanes as a tree.  Overwrites them. */
static inline double
hy_spread_fold(double *lane)
{
	int h;
	int l;

	for (h = HY_SPREAD_LANES / 2; h > 0; h /= 2)
	{
		for (l = 0; l < h; l++)
			lane[l] += lane[l + h];
	}
	return lane[0];
}

typedef enum HyCombine
{
	HY_COMBINE_SUM = 0,
	HY_COMBINE_MAX
} HyCombine;

typedef struct HySpreadParams
{
	double decay;     /* 0 .. 1 */
	double fan;       /* 0, 0.5 or 1 */
	int32_t hops;     /* >= 0, or -1: until convergence, as described above */
	double threshold; /* >= 0 */
	int32_t refire;   /* 0: no limit; n: a node fires at most n times */
	HyCombine combine;
	double tolerance;  /* > 0; used when hops is -1 */
	const double *hub; /* r_j^hub of each node, from hy_spread_hub; NULL: hub is 0 */
} HySpreadParams;

/* HySpreadSeeds: sets of seeds.  The seeds of set s are start[s] .. start[s + 1] - 1. */
typedef struct HySpreadSeeds
{
	int32_t sets;
	const int64_t *start; /* sets + 1 */
	const uint32_t *node; /* node numbers; values of repeated nodes are summed */
	const double *value;  /* finite, >= 0 */
} HySpreadSeeds;

/* HySpreadResult: sets * nodes entries per array; the entries of a set are contiguous. */
typedef struct HySpreadResult
{
	double *activation;
	int32_t *hop; /* hop at which the node first had activation: 0 for seeds, -1 for never */
	double *sent; /* sum (or maximum) of c_i over the hops, in their order; NULL: not wanted */
} HySpreadResult;

/* hy_spread_words: return the number of words of a bitmap of this many nodes. */
static inline int64_t
hy_spread_words(int64_t nodes)
{
	return (nodes + 63) / 64;
}

/* hy_spread_gain: return decay / s^fan, or 0 where s is 0. */
static inline double
hy_spread_gain(double s, double decay, double fan)
{
	if (!(s > 0))
		return 0;
	if (fan == 0)
		return decay;
	return decay / (fan == 0.5 ? sqrt(s) : s);
}

/*
 * hy_spread_hub: set the divisor of each node to r_j^exponent, or to 1 where r_j is 0.  The
 * exponent is above 0 and at most 1.  r_j is summed like s_i, over row j.  Returns HY_CANCELLED or
 * HY_OK.
 */
extern HyStatus
hy_spread_hub(const HyCsr *graph, double exponent, const HyCancel *cancel, double *divisor);

/*
 * hy_spread_converges: test whether the spreading converges without a hub, that is, decay * max_i
 * sum_j T_ij < 1.  *norm is set to this product.  norm may be NULL.  sum_j T_ij is s_i^(1 - fan), 0
 * where s_i is 0.
 */
extern bool hy_spread_converges(const HyCsr *graph, const HySpreadParams *params, double *norm);

/*
 * hy_spread_hub_norm: set *norm to the product of hy_spread_converges, computed with params->hub.
 * scratch has an element for each node.  Returns HY_CANCELLED or HY_OK.
 */
extern HyStatus hy_spread_hub_norm(const HyCsr *graph, const HySpreadParams *params,
                                   const HyCancel *cancel, double *scratch, double *norm);

/*
 * hy_spread_check: return HY_INVALID if parameters or seeds are outside the ranges above, or if
 * hops = -1 and the spreading does not converge; otherwise HY_OK.  Convergence is not checked with
 * a hub, because that takes memory, nor without graph->out_weight.  In these cases the caller must
 * have checked it.
 */
extern HyStatus
hy_spread_check(const HyCsr *graph, const HySpreadParams *params, const HySpreadSeeds *seeds);

/*
 * hy_spread_work: return the size of the largest part of a spreading that runs on several threads,
 * as hy_threads_for expects it: a hop over all rows.
 */
extern double hy_spread_work(int64_t nodes, int64_t edges);

/*
 * hy_spread: compute the result of every set of seeds, in the caller's arrays.  Uses the threads
 * that hy_threads_allow allows.  Returns HY_NOMEM, HY_CANCELLED, HY_OK, or the status of
 * hy_spread_check.
 */
extern HyStatus
hy_spread(const HyCsr *graph, const HySpreadParams *params, const HySpreadSeeds *seeds,
          const HyAllocator *allocator, const HyCancel *cancel, const HySpreadResult *result);

/*
 * hy_spread_reached: do the same as hy_spread, but set only the results of nodes that are reached,
 * which saves time if they are few.  `reached` has hy_spread_words(nodes) words for each set.  On
 * return, the words are the bitmap of the nodes whose hop is not -1.
 */
extern HyStatus
hy_spread_reached(const HyCsr *graph, const HySpreadParams *params, const HySpreadSeeds *seeds,
                  const HyAllocator *allocator, const HyCancel *cancel,
                  const HySpreadResult *result, uint64_t *reached);

/*
 * hy_spread_via: return the other node that sent most to this node, or -1 if no other node sent
 * anything.  If several sent the same amount, returns the one with the smallest number.  sent is
 * the part of a HySpreadResult for one set.  It is read only where the bitmap `reached` of this set
 * has bits, or everywhere if `reached` is NULL.
 */
extern int64_t
hy_spread_via(const HyCsr *graph, const double *sent, const uint64_t *reached, int64_t node);

#endif
