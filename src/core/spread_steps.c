/*
 * spread_steps.c
 *		The steps of a hop of activation spreading.
 *
 * A step works on whole rows and whole words of the bitmaps, so several threads can run it on ranges
 * of words at the same time.
 */
#include "core/spread_steps.h"

/* Entries between two polls of the caller's cancel: about 0.3 ms; a multiple of the lanes. */
#define BLOCK 65536

/* maximum number of rows in a list that is pulled at once */
#define LISTED 512

static uint64_t fire_all(const HySpreadWalk *walk, int64_t first);
static void pull_listed(const HySpreadWalk *walk, const uint32_t *row, int64_t rows);
static HyStatus pull_long_row(const HySpreadWalk *walk, int64_t row, const HyCancel *cancel);
static uint64_t nonzero(const double *value);

HyStatus
hy_spread_fire(HySpreadStep *step, int64_t from, int64_t end, const HyCancel *cancel)
{
	HySpreadWalk *walk = step->walk;
	const HySpreadParams *params = walk->params;
	const HyCsr *graph = walk->graph;
	bool any = false;
	int64_t reach = 0;
	int64_t w;

	(void) cancel;
	for (w = from; w < end; w++)
	{
		uint64_t bits = walk->active[w];
		uint64_t firing = 0;

		if (bits == ~(uint64_t) 0 && params->threshold == 0 && walk->fired == NULL)
		{
			walk->firing[w] = fire_all(walk, w * 64);
			any = true;
			if (graph->out_start != NULL)
				reach += graph->out_start[w * 64 + 64] - graph->out_start[w * 64];
			continue;
		}
		for (; bits != 0; bits &= bits - 1)
		{
			int64_t i = w * 64 + __builtin_ctzll(bits);

			if (!(walk->y[i] >= params->threshold))
				continue;
			if (walk->fired != NULL)
			{
				if (walk->fired[i] >= params->refire)
					continue;
				walk->fired[i]++;
			}
			any = true;
			walk->charge[i] =
				walk->y[i] * hy_spread_gain(graph->out_weight[i], params->decay, params->fan);
			if (walk->sent != NULL && params->combine == HY_COMBINE_SUM)
				walk->sent[i] += walk->charge[i];
			else if (walk->sent != NULL && walk->charge[i] > walk->sent[i])
				walk->sent[i] = walk->charge[i];
			if (walk->charge[i] != 0)
				firing |= bits & -bits;
			if (graph->out_start != NULL)
			{
				__builtin_prefetch(&graph->out_row[graph->out_start[i]]);
				reach += graph->out_start[i + 1] - graph->out_start[i];
			}
		}
		walk->firing[w] = firing;
	}
	if (any)
		__atomic_store_n(&step->any, true, __ATOMIC_RELAXED);
	__atomic_fetch_add(&step->reach, reach, __ATOMIC_RELAXED);
	return HY_OK;
}

/*
 * fire_all: do the same as hy_spread_fire for one word.  All of its 64 nodes are active, and there is no threshold.
 * Returns the bits of the nodes whose charge is not 0.  A node whose y is NaN does not fire.
 */
static uint64_t
fire_all(const HySpreadWalk *walk, int64_t first)
{
	const double *y = walk->y + first;
	const double *sum = walk->graph->out_weight + first;
	double *charge = walk->charge + first;
	double decay = walk->params->decay;
	double fan = walk->params->fan;
	int i;

	for (i = 0; i < 64; i++)
		charge[i] = y[i] >= 0 ? y[i] * hy_spread_gain(sum[i], decay, fan) : 0;
	if (walk->sent != NULL)
	{
		double *sent = walk->sent + first;

		for (i = 0; i < 64; i++)
		{
			if (walk->params->combine == HY_COMBINE_SUM)
				sent[i] += charge[i];
			else
				sent[i] = charge[i] > sent[i] ? charge[i] : sent[i];
		}
	}
	return nonzero(charge);
}

HyStatus
hy_spread_clear_charges(HySpreadStep *step, int64_t from, int64_t end, const HyCancel *cancel)
{
	HySpreadWalk *walk = step->walk;
	int64_t nodes = walk->graph->nodes;
	int64_t w;

	(void) cancel;
	for (w = from; w < end; w++)
	{
		int64_t rest = nodes - w * 64;
		uint64_t bits = ~walk->firing[w];

		if (rest < 64)
			bits &= ((uint64_t) 1 << rest) - 1;
		for (; bits != 0; bits &= bits - 1)
			walk->charge[w * 64 + __builtin_ctzll(bits)] = 0;
	}
	return HY_OK;
}

/*
 * Pull at most BLOCK rows and BLOCK entries at a time.  A longer row is pulled alone, block by
 * block.
 */
HyStatus
hy_spread_pull_all(HySpreadStep *step, int64_t from, int64_t end, const HyCancel *cancel)
{
	const HySpreadWalk *walk = step->walk;
	const HyCsr *graph = walk->graph;
	const double *hub = walk->params->hub;
	int64_t row;

	from *= 64;
	end = end * 64 < graph->nodes ? end * 64 : graph->nodes;
	while (from < end)
	{
		int64_t to = from + 1;

		while (to < end && to - from < BLOCK &&
		       graph->row_start[to + 1] - graph->row_start[from] <= BLOCK)
			to++;
		if (graph->row_start[to] - graph->row_start[from] > BLOCK)
		{
			if (pull_long_row(walk, from, cancel) != HY_OK)
				return HY_CANCELLED;
		}
		else
		{
			walk->pull.rows(graph, walk->charge, from, to, walk->y);
			for (row = from; hub != NULL && row < to; row++)
				walk->y[row] /= hub[row];
		}
		if (hy_cancelled(cancel))
			return HY_CANCELLED;
		from = to;
	}
	return HY_OK;
}

HyStatus
hy_spread_pull_reached(HySpreadStep *step, int64_t from, int64_t end, const HyCancel *cancel)
{
	const HySpreadWalk *walk = step->walk;
	const HyCsr *graph = walk->graph;
	uint32_t row[LISTED];
	int64_t entries = 0;
	int64_t rows = 0;
	int64_t w;

	for (w = from; w < end; w++)
	{
		uint64_t bits = walk->next.pulled[w];

		for (; bits != 0; bits &= bits - 1)
		{
			int64_t i = w * 64 + __builtin_ctzll(bits);
			int64_t count = graph->row_start[i + 1] - graph->row_start[i];

			if (count > BLOCK)
			{
				if (pull_long_row(walk, i, cancel) != HY_OK)
					return HY_CANCELLED;
				continue;
			}
			row[rows++] = (uint32_t) i;
			entries += count;
			if (rows < LISTED && entries < BLOCK)
				continue;
			pull_listed(walk, row, rows);
			if (entries >= BLOCK && hy_cancelled(cancel))
				return HY_CANCELLED;
			entries = entries >= BLOCK ? 0 : entries;
			rows = 0;
		}
	}
	pull_listed(walk, row, rows);
	return HY_OK;
}

/* pull_listed: compute y of the listed rows. */
static void
pull_listed(const HySpreadWalk *walk, const uint32_t *row, int64_t rows)
{
	const double *hub = walk->params->hub;
	int64_t i;

	walk->pull.listed(walk->graph, &(HySpreadCharges){walk->charge, walk->firing}, row, rows,
	                  walk->y);
	for (i = 0; hub != NULL && i < rows; i++)
		walk->y[row[i]] /= hub[row[i]];
}

/* pull_long_row: compute y of one row, a block at a time. */
static HyStatus
pull_long_row(const HySpreadWalk *walk, int64_t row, const HyCancel *cancel)
{
	const HyCsr *graph = walk->graph;
	const HySpreadCharges charges = {walk->charge, walk->firing};
	double lane[HY_SPREAD_LANES] = {0};
	int64_t begin = graph->row_start[row];
	int64_t end = graph->row_start[row + 1];

	for (; begin < end; begin += BLOCK)
	{
		int64_t count = end - begin < BLOCK ? end - begin : BLOCK;

		walk->pull.add(graph->column + begin, graph->weight + begin, count, &charges, lane);
		if (hy_cancelled(cancel))
			return HY_CANCELLED;
	}
	/* A maximum uses only lane 0.  Adding the other lanes, which are 0, changes nothing. */
	walk->y[row] = hy_spread_fold(lane);
	if (walk->params->hub != NULL)
		walk->y[row] /= walk->params->hub[row];
	return HY_OK;
}

HyStatus
hy_spread_arrive(HySpreadStep *step, int64_t from, int64_t end, const HyCancel *cancel)
{
	HySpreadWalk *walk = step->walk;
	int64_t nodes = walk->graph->nodes;
	int64_t words = hy_spread_words(nodes);
	bool sum = walk->params->combine == HY_COMBINE_SUM;
	int64_t w;

	(void) cancel;
	for (w = from; w < end; w++)
	{
		uint64_t bits = walk->next.reached[w];
		uint64_t arrived = 0;

		if (walk->everywhere)
			bits = w == words - 1 && nodes % 64 != 0 ? ((uint64_t) 1 << (nodes % 64)) - 1
			                                         : ~(uint64_t) 0;
		if (bits == ~(uint64_t) 0 && walk->reached[w] == ~(uint64_t) 0 && sum)
		{
			double *activation = walk->activation + w * 64;
			const double *y = walk->y + w * 64;
			int i;

			/* without branches, so that compilers can vectorize it; + 0 changes nothing */
			for (i = 0; i < 64; i++)
				activation[i] += y[i];
			walk->active[w] = nonzero(y);
			walk->next.reached[w] = 0;
			walk->next.pulled[w] = 0;
			continue;
		}
		for (; bits != 0; bits &= bits - 1)
		{
			int64_t i = w * 64 + __builtin_ctzll(bits);
			double y = walk->y[i];

			/* not "y > 0": an overflow to NaN must show in the result */
			if (y == 0)
				continue;
			arrived |= bits & -bits;
			if ((walk->reached[w] & bits & -bits) == 0)
			{
				walk->activation[i] = y;
				walk->hop[i] = walk->number;
				if (walk->sent != NULL)
					walk->sent[i] = 0;
			}
			else if (sum)
				walk->activation[i] += y;
			else if (!(y <= walk->activation[i]))
				walk->activation[i] = y;
		}
		walk->reached[w] |= arrived;
		walk->active[w] = arrived;
		walk->next.reached[w] = 0;
		walk->next.pulled[w] = 0;
	}
	return HY_OK;
}

/* nonzero: return a word with a bit for each of 64 values: 1 if the value is not 0. */
static uint64_t
nonzero(const double *value)
{
	uint64_t bits = 0;
	int i;

	for (i = 0; i < 64; i++)
		bits |= (uint64_t) (value[i] != 0) << i;
	return bits;
}
