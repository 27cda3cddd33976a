/*
 * accumulator.c
 *		Decides when a batch is full: see accumulator.h.
 */
#include "dispatch/route/accumulator.h"

#include "dispatch/route/decide.h"
#include "dispatch/route/session.h"

/* Question: the argument of forecast. */
typedef struct Question
{
	const HyAccumulator *accumulator;
	HyExecutor *executor;
	uint64_t now;
} Question;

static void begin_batch(HyAccumulator *accumulator, HyExecutor *executor, uint64_t item_bytes);
static bool waited(HyAccumulator *accumulator);
static uint64_t choose_wait(const HyAccumulator *accumulator, HyExecutor *executor);
static int64_t
choose_size(const HyAccumulator *accumulator, HyExecutor *executor, uint64_t item_bytes);
static HyBatchSize *find_size(const HyAccumulator *accumulator, HyExecutor *executor);
static uint64_t name_bits(const HyConfig *config);
static double forecast(void *arg, int64_t items);

void
hy_accumulator_begin(HyAccumulator *accumulator, HyExecutor *executor, const HyShape *shape,
                     HyBatchAxis axis, uint64_t item_bytes, uint64_t memory)
{
	accumulator->shape = *shape;
	accumulator->axis = axis;
	accumulator->memory = memory;
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
hy_accumulator_flushed(HyAccumulator *accumulator, HyExecutor *executor, HyFlush cause, uint64_t ns)
{
	int64_t items = accumulator->count;
	uint64_t bytes = accumulator->bytes;

	if (items == 0)
		return;
	executor->member[0].counters[accumulator->shape.op].flushes[cause]++;
	/* The executor may have flushed the counters to the table after the call that ran the batch. */
	executor->share.postponed = true;
	hy_batch_size_learn(find_size(accumulator, executor), items, ns);
	begin_batch(accumulator, executor, bytes / (uint64_t) items);
}

static void
begin_batch(HyAccumulator *accumulator, HyExecutor *executor, uint64_t item_bytes)
{
	accumulator->count = 0;
	accumulator->bytes = 0;
	accumulator->clock = executor->clock;
	accumulator->least = executor->config.batch_min;
	accumulator->wait_ns = choose_wait(accumulator, executor);
	accumulator->look_at = 1;
	accumulator->size = choose_size(accumulator, executor, item_bytes);
}

/*
 * waited: read the clock.  Returns true if the batch must be flushed; otherwise sets look_at, the
 * item count for the next reading.
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
	Question question = {accumulator, executor, hy_now(executor)};
	uint64_t wait = executor->config.batch_wait_ns;
	double start;

	if (wait == 0)
		return 0;
	start = HY_BATCH_STARTS * forecast(&question, accumulator->least > 1 ? accumulator->least : 1);
	/* limit the wait to one day */
	return start > (double) wait ? (uint64_t) (start < 86400e9 ? start : 86400e9) : wait;
}

static int64_t
choose_size(const HyAccumulator *accumulator, HyExecutor *executor, uint64_t item_bytes)
{
	Question question = {accumulator, executor, hy_now(executor)};
	int64_t most = INT64_MAX;

	if (executor->config.batch_max > 0)
		return executor->config.batch_max;
	if (item_bytes > 0 && accumulator->memory / item_bytes < (uint64_t) most)
		most = (int64_t) (accumulator->memory / item_bytes);
	return hy_batch_size_choose(find_size(accumulator, executor), most < 1 ? 1 : most, forecast,
	                            &question);
}

/*
 * find_size: find the measurements of this kind of batch.  If two kinds share a slot, the later one
 * replaces the other.  The kind includes the side that the user chose, since each side has its own
 * best size.
 */
static HyBatchSize *
find_size(const HyAccumulator *accumulator, HyExecutor *executor)
{
	const HyShape *shape = &accumulator->shape;
	bool targets = accumulator->axis == HY_BATCH_TARGETS;
	int64_t other = targets ? shape->queries : shape->targets;
	uint64_t kind = 1;
	HyBatchSize *size;

	kind = kind << 3 | (uint64_t) shape->op;
	kind = kind << 1 | (uint64_t) shape->dtype;
	kind = kind << 2 | (uint64_t) shape->metric;
	kind = kind << 14 | (uint64_t) shape->dims;
	kind = kind << 1 | (uint64_t) targets;
	kind =
		kind << 6 | (uint64_t) (other > 0 ? 64 - __builtin_clzll((unsigned long long) other) : 0);
	kind = kind << 6 | (uint64_t) (shape->k > 0 ? 64 - __builtin_clzll((unsigned) shape->k) : 0);
	kind = kind << 4 | (uint64_t) executor->config.execution;
	kind = kind << 1 | (uint64_t) executor->config.force_cpu;
	kind = kind << 16 | name_bits(&executor->config);

	/* Fibonacci hashing */
	size =
		&executor->batch_sizes[kind * UINT64_C(11400714819323198485) >> (64 - HY_BATCH_KIND_BITS)];
	if (size->kind != kind)
		hy_batch_size_begin(size, kind);
	return size;
}

/*
 * name_bits: return a hash of the name of the backend that the user chose (FNV-1a, folded); 0: no
 * name.
 */
static uint64_t
name_bits(const HyConfig *config)
{
	const char *name = config->execution == HY_EXECUTION_NAMED ? config->backend_name : "";
	uint32_t hash = *name != '\0' ? UINT32_C(2166136261) : 0;

	for (; *name != '\0'; name++)
		hash = (hash ^ (uint8_t) *name) * UINT32_C(16777619);
	return (hash >> 16) ^ (hash & 0xffff);
}

/* forecast: predict the time of a batch on the side that the dispatcher would choose now without trials. */
static double
forecast(void *arg, int64_t items)
{
	const HyAccumulator *accumulator = ((Question *) arg)->accumulator;
	HyExecutor *executor = ((Question *) arg)->executor;
	HyShape shape = accumulator->shape;
	HyChoice choice;

	if (accumulator->axis == HY_BATCH_TARGETS)
		shape.targets = items;
	else
		shape.queries = items;
	hy_decide(executor, NULL, &shape, ((Question *) arg)->now, &choice);
	if (choice.refusal != HY_OK)
		return -1;
	if (choice.reason == HY_REASON_EXPLORATION)
		return choice.instead_ns;
	if (choice.split)
		return choice.split_ns;
	return hy_side_ns(executor, &shape, choice.device);
}
