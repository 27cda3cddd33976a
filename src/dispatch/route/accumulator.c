/*
 * accumulator.c
 *		Decides when a batch is full: see accumulator.h.
 */
#include "dispatch/route/accumulator.h"

#include "dispatch/model/kind.h"
#include "dispatch/route/decide.h"
#include "dispatch/route/gauge.h"
#include "dispatch/route/memo.h"
#include "dispatch/route/session.h"

#define TIE 1.03       /* a larger size must be better by this factor to be chosen */
#define TRIALS 3       /* a size with fewer observations is tried */
#define MOST_TRIALS 64 /* limit on trials of sizes next to the best, per accumulator */
/* a later trial takes at most 1/32 of the time since the last trial of its size */
#define TRIAL_SHARE 32
#define LOSS_SHARE 512 /* a repeated trial is expected to lose at most 1/512 of that time */

/* Forecast: the predicted time of a batch of some size, and the number of samples of this size. */
typedef struct Forecast
{
	double ns; /* < 0: unknown */
	int32_t samples;
	bool refused; /* the requested device cannot run it */
} Forecast;

static void begin_batch(HyAccumulator *accumulator, HyExecutor *executor, uint64_t item_bytes);
static bool waited(HyAccumulator *accumulator);
static uint64_t choose_wait(const HyAccumulator *accumulator, HyExecutor *executor);
static int64_t
most_items(const HyAccumulator *accumulator, const HyExecutor *executor, uint64_t item_bytes);
static bool still_chosen(const HyAccumulator *accumulator, const HyExecutor *executor);
static int64_t choose_size(HyAccumulator *accumulator, HyExecutor *executor, int64_t most);
static int size_to_try(HyAccumulator *accumulator, HyExecutor *executor, const Forecast *sizes,
                       int low, int best, int high);
static Forecast forecast(const HyAccumulator *accumulator, HyExecutor *executor, int64_t items);

void
hy_accumulator_begin(HyAccumulator *accumulator, HyExecutor *executor, const HyShape *shape,
                     uint64_t item_bytes, uint64_t memory)
{
	accumulator->shape = *shape;
	accumulator->memory = memory;
	accumulator->kept_ns = -1;
	accumulator->trials = 0;
	begin_batch(accumulator, executor, item_bytes);
}

HyFlush
hy_accumulator_full(const HyAccumulator *accumulator, uint64_t bytes)
{
	if (accumulator->count > 0 &&
	    (bytes > accumulator->memory || accumulator->bytes > accumulator->memory - bytes))
		return HY_FLUSH_MEMORY;
	return HY_FLUSH_NONE;
}

HyFlush
hy_accumulator_add(HyAccumulator *accumulator, uint64_t bytes)
{
	accumulator->count++;
	accumulator->bytes += bytes;
	if (accumulator->count >= accumulator->size)
		return HY_FLUSH_SIZE;
	if (accumulator->wait_ns > 0 && accumulator->count >= accumulator->look_at &&
	    waited(accumulator))
		return HY_FLUSH_TIME;
	return HY_FLUSH_NONE;
}

void
hy_accumulator_flushed(HyAccumulator *accumulator, HyExecutor *executor, HyFlush cause)
{
	int64_t items = accumulator->count;
	uint64_t bytes = accumulator->bytes;

	if (items == 0)
		return;
	executor->member[0].counters[accumulator->shape.op].flushes[cause]++;
	/*
	 * The call that ran the batch may have flushed the counters to the table already.  So mark that
	 * there is something to flush.
	 */
	executor->share.postponed = true;
	begin_batch(accumulator, executor, bytes / (uint64_t) items);
}

static void
begin_batch(HyAccumulator *accumulator, HyExecutor *executor, uint64_t item_bytes)
{
	int64_t most;

	accumulator->count = 0;
	accumulator->bytes = 0;
	accumulator->clock = executor->clock;
	accumulator->least = executor->config.batch_min;
	accumulator->wait_ns = choose_wait(accumulator, executor);
	accumulator->look_at = 1;
	most = most_items(accumulator, executor, item_bytes);
	if (!still_chosen(accumulator, executor) || executor->config.batch_max > 0 ||
	    most <= HY_BATCH_LEAST)
		accumulator->size = choose_size(accumulator, executor, most);
	while (accumulator->size > most)
		accumulator->size /= 2;
}

/*
 * waited: read the clock, and return whether the batch must be flushed.  If not, set look_at, the
 * item count at which to read the clock again.
 */
static bool
waited(HyAccumulator *accumulator)
{
	uint64_t now = accumulator->clock->now(accumulator->clock->arg);
	int64_t count = accumulator->count;

	if (count == 1)
	{
		accumulator->oldest_ns = now;
		accumulator->paced = 1;
		accumulator->paced_ns = now;
	}
	accumulator->look_at = count + 1;
	if (now - accumulator->oldest_ns >= accumulator->wait_ns)
		return count >= accumulator->least;
	if (count - accumulator->paced >= HY_BATCH_LOOK)
	{
		if (now - accumulator->paced_ns <= accumulator->wait_ns / HY_BATCH_LOOK)
			accumulator->look_at = count + HY_BATCH_LOOK;
		accumulator->paced = count;
		accumulator->paced_ns = now;
	}
	return false;
}

static uint64_t
choose_wait(const HyAccumulator *accumulator, HyExecutor *executor)
{
	int64_t least = accumulator->least > 1 ? accumulator->least : 1;
	uint64_t wait = executor->config.batch_wait_ns;
	double start;

	if (wait == 0)
		return 0;
	start = HY_BATCH_STARTS * forecast(accumulator, executor, least).ns;
	/* limit the wait to one day */
	return start > (double) wait ? (uint64_t) (start < 86400e9 ? start : 86400e9) : wait;
}

/*
 * most_items: return the largest size to choose, at least 1: batch_max if it is set, else the
 * number of items of `item_bytes` that fit the memory.  With batch_max, only hy_accumulator_full
 * keeps the batch within the memory.
 */
static int64_t
most_items(const HyAccumulator *accumulator, const HyExecutor *executor, uint64_t item_bytes)
{
	uint64_t most = item_bytes > 0 ? accumulator->memory / item_bytes : INT64_MAX;

	if (executor->config.batch_max > 0)
		return executor->config.batch_max;
	return most < 1 ? 1 : most < INT64_MAX ? (int64_t) most : INT64_MAX;
}

/*
 * still_chosen: return whether the size was chosen a short time ago.  Also false if spent_ns was
 * reset since.
 */
static bool
still_chosen(const HyAccumulator *accumulator, const HyExecutor *executor)
{
	double since = executor->spent_ns - accumulator->kept_ns;

	return accumulator->kept_ns >= 0 && since >= 0 && since < HY_BATCH_KEPT_NS;
}

/*
 * choose_size: return `most` if batch_max is set or at most HY_BATCH_LEAST items fit.  Else choose
 * the size with the smallest predicted time per item, or a size to try.  Without predictions, the
 * size is HY_BATCH_START, if that many items fit.
 */
static int64_t
choose_size(HyAccumulator *accumulator, HyExecutor *executor, int64_t most)
{
	Forecast sizes[HY_BATCH_SIZES];
	int low = hy_log2_floor(HY_BATCH_LEAST);
	double best_ns = 0;
	int best = -1;
	int high;
	int c;

	accumulator->kept_ns = -1;
	if (executor->config.batch_max > 0 || most <= HY_BATCH_LEAST)
		return most;
	hy_memo_fold(executor, true);
	high = hy_log2_floor((double) most);
	high = high < HY_BATCH_SIZES ? high : HY_BATCH_SIZES - 1;
	for (c = low; c <= high; c++)
	{
		double item_ns;

		sizes[c] = forecast(accumulator, executor, INT64_C(1) << c);
		/* the requested device refuses this size, so a batch of this size or larger would fail */
		if (sizes[c].refused && !sizes[low].refused)
		{
			high = c - 1;
			break;
		}
		item_ns = sizes[c].ns / (double) (INT64_C(1) << c);
		if (item_ns >= 0 && (best < 0 || item_ns * TIE < best_ns))
		{
			best = c;
			best_ns = item_ns;
		}
	}
	if (best < 0)
		return INT64_C(1) << high < HY_BATCH_START ? INT64_C(1) << high : HY_BATCH_START;
	c = size_to_try(accumulator, executor, sizes, low, best, high);
	if (c == best && sizes[c].samples >= TRIALS)
		accumulator->kept_ns = executor->spent_ns;
	return INT64_C(1) << c;
}

/*
 * size_to_try: return the exponent of two of the size to use now.  This is the best size, unless
 * another size is tried.  Once the best size has run TRIALS times, the next larger size, or else
 * the next smaller one, is tried at once if it has run fewer times.  Any other size is tried from
 * time to time, so that a change in speed is noticed.
 */
static int
size_to_try(HyAccumulator *accumulator, HyExecutor *executor, const Forecast *sizes, int low,
            int best, int high)
{
	double best_ns = sizes[best].ns / (double) (INT64_C(1) << best);
	int c;

	/* A batch that fails adds no sample, so limit the number of trials. */
	if (accumulator->trials < MOST_TRIALS && sizes[best].samples >= TRIALS)
	{
		int other = best < high && sizes[best + 1].samples < TRIALS ? best + 1 : best - 1;

		if (other >= low && sizes[other].samples < TRIALS)
		{
			accumulator->trials++;
			return other;
		}
	}
	for (c = low; c <= high; c++)
	{
		double since = executor->spent_ns - executor->batch_tried_ns[c];
		double loss = sizes[c].ns - best_ns * (double) (INT64_C(1) << c);

		if (c == best || sizes[c].ns < 0 || sizes[c].ns > since / TRIAL_SHARE ||
		    (sizes[c].samples >= TRIALS && loss > since / LOSS_SHARE))
			continue;
		executor->batch_tried_ns[c] = executor->spent_ns;
		return c;
	}
	return best;
}

/*
 * forecast: predict the time of a batch of this many items on the side that the dispatcher would
 * choose now without trials.  If the batch would run in pieces, only the pieces would enter the
 * history, and a trial of its size would be useless.  So report TRIALS samples, which prevents a
 * trial.
 */
static Forecast
forecast(const HyAccumulator *accumulator, HyExecutor *executor, int64_t items)
{
	HyShape shape = accumulator->shape;
	HyChoice choice;
	HySide side;

	shape.targets = items;
	hy_decide(executor, &shape, HY_CLASS_EXACT, hy_now(executor), &choice);
	if (choice.refusal != HY_OK)
		return (Forecast){.ns = -1, .samples = TRIALS, .refused = true};
	if (choice.reason == HY_REASON_EXPLORATION)
		return (Forecast){.ns = choice.instead_ns, .samples = TRIALS};
	if (choice.split)
		return (Forecast){.ns = choice.split_ns, .samples = TRIALS};
	side = hy_gauge_side(executor, &shape, choice.device);
	return (Forecast){.ns = side.ns, .samples = choice.chunked ? TRIALS : side.forecast.samples};
}
