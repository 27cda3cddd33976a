/*
 * spread_hub.c
 *		The divisors r_j^hub, which reduce the activation of nodes that many edges lead to.
 *
 * The power is computed here, because pow() rounds differently in different C libraries and on
 * different processors.  With x = m * 2^e, log2(m) is computed by the series of 2 / ln(2) *
 * artanh(t), t = (m - 1) / (m + 1).  The code uses only operations for which IEEE 754 requires
 * correct rounding, so the bits are the same everywhere.  The relative error is below 2^-50.
 */
#include "core/spread.h"

#include <string.h>

#define POLL_NODES 16384 /* nodes between two polls of the caller's cancel */

/* The first omitted terms of both series are below 2^-55 of their sums. */
#define LAST_LOG_TERM 21
#define LAST_EXP_TERM 14

static double power(double x, double exponent);

HyStatus
hy_spread_hub(const HyCsr *graph, double exponent, const HyCancel *cancel, double *divisor)
{
	int64_t i;

	for (i = 0; i < graph->nodes; i++)
	{
		int64_t begin = graph->row_start[i];
		double sum = hy_csr_sum(graph->weight + begin, graph->row_start[i + 1] - begin);

		if (i % POLL_NODES == 0 && hy_cancelled(cancel))
			return HY_CANCELLED;
		divisor[i] = sum > 0 ? power(sum, exponent) : 1;
	}
	return HY_OK;
}

HyStatus
hy_spread_hub_norm(const HyCsr *graph, const HySpreadParams *params, const HyCancel *cancel,
                   double *scratch, double *norm)
{
	int64_t i;
	int64_t e;

	memset(scratch, 0, sizeof(double) * (size_t) graph->nodes);
	for (i = 0; i < graph->nodes; i++)
	{
		if (i % POLL_NODES == 0 && hy_cancelled(cancel))
			return HY_CANCELLED;
		for (e = graph->row_start[i]; e < graph->row_start[i + 1]; e++)
			scratch[graph->column[e]] += graph->weight[e] / params->hub[i];
	}
	*norm = 0;
	for (i = 0; i < graph->nodes; i++)
	{
		double sent = scratch[i] * hy_spread_gain(graph->out_weight[i], params->decay, params->fan);

		*norm = sent > *norm ? sent : *norm;
	}
	return HY_OK;
}

/* power: return x^exponent for a normal number x above 0 and an exponent of 0 to 1. */
static double
power(double x, double exponent)
{
	double series = 0;
	double result = 1;
	int binary;
	double m;
	double t;
	double whole;
	double part;
	double shift;
	double rest;
	int k;

	if (exponent == 1)
		return x;
	if (exponent == 0.5)
		return sqrt(x);
	m = frexp(x, &binary);
	if (m < 0x1.6a09e667f3bcdp-1) /* the square root of 1/2 */
	{
		m *= 2;
		binary--;
	}
	t = (m - 1) / (m + 1);
	for (k = LAST_LOG_TERM; k >= 1; k -= 2)
		series = fma(series, t * t, 1.0 / k);
	/* the base-2 logarithm of the result is whole + part; the magnitude of rest is below 1/2 */
	whole = exponent * binary;
	part = fma(exponent, binary, -whole) +
	       exponent * (t * (series * 0x1.71547652b82fep+1)); /* 2 / ln(2) */
	shift = floor(whole + part + 0.5);
	rest = (whole - shift + part) * 0x1.62e42fefa39efp-1; /* ln(2) */
	for (k = LAST_EXP_TERM; k >= 1; k--)
		result = fma(result, rest / k, 1);
	return ldexp(result, (int) shift);
}
