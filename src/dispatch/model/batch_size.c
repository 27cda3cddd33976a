/*
 * batch_size.c
 *		The size of a batch: see batch_size.h.
 */
#include "dispatch/model/batch_size.h"

#include <string.h>

#include "dispatch/model/sizes.h"

#define MEMORY 16      /* number of batches in the moving mean */
#define TIE 1.03       /* a larger size must be better by this factor */
#define CLIP 1.5       /* a time above this many times the mean is clipped to that limit */
#define PRICE_SHARE 32 /* a trial takes at most 1/32 of the time since the last trial */
#define LOSS_SHARE 512 /* a trial is expected to lose at most 1/512 of that time */

static bool measured(const HyBatchSize *size, int c);
static bool due(const HyBatchSize *size, int c, double best_ns);

void
hy_batch_size_begin(HyBatchSize *size, uint64_t kind)
{
	memset(size, 0, sizeof(*size));
	size->kind = kind;
}

int64_t
hy_batch_size_choose(const HyBatchSize *size, int64_t most, HyBatchForecast forecast, void *arg)
{
	int low = hy_log2_floor(HY_BATCH_LEAST);
	int high = hy_log2_floor((double) most);
	int start = hy_log2_floor(HY_BATCH_START);
	int best = -1;
	double best_ns = 0;
	int c;

	if (most <= HY_BATCH_LEAST)
		return most;
	if (high > HY_BATCH_SIZES - 1)
		high = HY_BATCH_SIZES - 1;

	for (c = low; c <= high; c++)
	{
		double ns = -1;

		if (measured(size, c))
			ns = size->item_ns[c];
		else if (forecast != NULL)
			ns = forecast(arg, INT64_C(1) << c) / (double) (INT64_C(1) << c);
		if (ns >= 0 && (best < 0 || ns * TIE < best_ns))
		{
			best = c;
			best_ns = ns;
		}
	}
	if (best < 0)
		best = start < high ? start : high;
	else if (measured(size, best))
	{
		if (best < high && !measured(size, best + 1))
			best++;
		else if (best > low && !measured(size, best - 1))
			best--;
		else
		{
			int tried = best;

			for (c = low; c <= high && tried == best; c++)
			{
				if (c != best && due(size, c, best_ns))
					tried = c;
			}
			best = tried;
		}
	}
	return INT64_C(1) << best;
}

void
hy_batch_size_learn(HyBatchSize *size, int64_t items, uint64_t ns)
{
	int c = hy_log2_floor((double) items);
	double item_ns = (double) ns / (double) items;

	size->spent_ns += (double) ns;
	if (c >= HY_BATCH_SIZES || items != INT64_C(1) << c)
		return;
	size->tried_ns[c] = size->spent_ns;
	if (size->seen[c] < UINT16_MAX)
		size->seen[c]++;
	if (size->seen[c] <= 2)
		size->item_ns[c] = item_ns;
	else
	{
		int n = size->seen[c] - 1;

		if (item_ns > CLIP * size->item_ns[c])
			item_ns = CLIP * size->item_ns[c];
		size->item_ns[c] += (item_ns - size->item_ns[c]) / (n < MEMORY ? n : MEMORY);
	}
}

/*
 * measured: return whether the size has a valid mean.  The first batch of a size warms up caches
 * and buffers, so it does not count.
 */
static bool
measured(const HyBatchSize *size, int c)
{
	return size->seen[c] > 1;
}

/* due: return whether a size is due for another trial, when the best size takes best_ns per item. */
static bool
due(const HyBatchSize *size, int c, double best_ns)
{
	double items = (double) (INT64_C(1) << c);
	double since = size->spent_ns - size->tried_ns[c];
	double price = items * (measured(size, c) ? size->item_ns[c] : best_ns);

	return since >= PRICE_SHARE * price && since >= LOSS_SHARE * (price - items * best_ns);
}
