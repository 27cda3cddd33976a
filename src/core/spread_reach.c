/*
 * spread_reach.c
 *		The rows that the firing nodes of a hop reach: see spread_reach.h.
 */
#include "core/spread_reach.h"

#include <string.h>

/* With fewer weights than this, a weight above 1 shows in their fp64 sum. */
#define MOST_WEIGHTS ((int64_t) 1 << 29)

static bool sends_ones(const HyCsr *graph, int64_t node);
static void
push_charge(const HyCsr *graph, int64_t node, double charge, const HySpreadRows *rows, double *y);
static void mark_pulled(const HyCsr *graph, int64_t node, const HySpreadRows *rows);
static void
divide_pushed(const HyCsr *graph, const double *hub, const HySpreadRows *rows, double *y);

int64_t
hy_spread_reach(const HyCsr *graph, const HySpreadCharges *charges, const double *hub, bool push,
                int64_t most, const HySpreadRows *rows, double *y)
{
	int64_t words = hy_spread_words(graph->nodes);
	int64_t entries = 0;
	int64_t w;

	for (w = 0; w < words; w++)
	{
		uint64_t bits = charges->firing[w];

		for (; bits != 0; bits &= bits - 1)
		{
			int64_t i = w * 64 + __builtin_ctzll(bits);

			if (push && sends_ones(graph, i))
				push_charge(graph, i, charges->charge[i], rows, y);
			else
				mark_pulled(graph, i, rows);
		}
	}
	/*
	 * count entries afterward, in ascending order, so that the processor need not wait for each row
	 */
	for (w = 0; w < words && entries <= most; w++)
	{
		uint64_t bits = rows->pulled[w];

		for (; bits != 0; bits &= bits - 1)
		{
			int64_t row = w * 64 + __builtin_ctzll(bits);

			entries += graph->row_start[row + 1] - graph->row_start[row];
		}
	}
	memset(rows->again, 0, (size_t) words * sizeof(uint64_t));
	if (entries <= most)
	{
		if (hub != NULL)
			divide_pushed(graph, hub, rows, y);
		return entries;
	}
	memset(rows->reached, 0, (size_t) words * sizeof(uint64_t));
	memset(rows->pulled, 0, (size_t) words * sizeof(uint64_t));
	return -1;
}

/* sends_ones: return whether all weights that leave a node are known to be 1. */
static bool
sends_ones(const HyCsr *graph, int64_t node)
{
	int64_t count = graph->out_start[node + 1] - graph->out_start[node];

	/* a weight above 1 would make the sum larger than the number of weights */
	return graph->at_least_one && graph->out_weight[node] == (double) count && count < MOST_WEIGHTS;
}

/* push_charge: add the charge of a node, all of whose weights are 1, to the rows that it reaches. */
static void
push_charge(const HyCsr *graph, int64_t node, double charge, const HySpreadRows *rows, double *y)
{
	int64_t e;

	for (e = graph->out_start[node]; e < graph->out_start[node + 1]; e++)
	{
		uint32_t row = graph->out_row[e];
		uint64_t bit = (uint64_t) 1 << row % 64;
		uint32_t w = row / 64;

		if ((rows->reached[w] & bit) == 0)
		{
			rows->reached[w] |= bit;
			y[row] = charge;
		}
		else if ((rows->again[w] & bit) == 0)
		{
			rows->again[w] |= bit;
			y[row] += charge;
		}
		else
			/* pull this row, because the order in which three charges are added matters */
			rows->pulled[w] |= bit;
	}
}

/* mark_pulled: mark all rows that a node reaches as rows to be pulled. */
static void
mark_pulled(const HyCsr *graph, int64_t node, const HySpreadRows *rows)
{
	int64_t e;

	for (e = graph->out_start[node]; e < graph->out_start[node + 1]; e++)
	{
		uint32_t row = graph->out_row[e];
		uint64_t bit = (uint64_t) 1 << row % 64;

		rows->reached[row / 64] |= bit;
		rows->again[row / 64] |= bit;
		rows->pulled[row / 64] |= bit;
	}
}

/* divide_pushed: divide y of the rows that need no pull by r_j^hub. */
static void
divide_pushed(const HyCsr *graph, const double *hub, const HySpreadRows *rows, double *y)
{
	int64_t words = hy_spread_words(graph->nodes);
	int64_t w;

	for (w = 0; w < words; w++)
	{
		uint64_t bits = rows->reached[w] & ~rows->pulled[w];

		for (; bits != 0; bits &= bits - 1)
		{
			int64_t row = w * 64 + __builtin_ctzll(bits);

			y[row] /= hub[row];
		}
	}
}
