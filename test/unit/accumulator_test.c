/*
 * accumulator_test.c
 *		When a batch is full, on a clock that stands still: each cause alone, and their order.
 */
#include "dispatch/route/accumulator.h"

#include "dispatch_stage.h"

#define ITEM 64

static const HyShape shape = {
	.op = HY_OP_TOPK, .metric = HY_METRIC_L2, .dims = STAGE_DIMS, .queries = 4, .k = 10};

static HyAccumulator batch;

static void
begin(int64_t batch_max, uint64_t memory)
{
	stage_begin(0);
	stage.config.batch_max = batch_max;
	hy_executor_configure(stage.executor, &stage.config);
	hy_accumulator_begin(&batch, stage.executor, &shape, ITEM, memory);
}

static HyFlush
add(void)
{
	return hy_accumulator_add(&batch, ITEM);
}

static int64_t
flushes(HyFlush cause)
{
	return hy_executor_counters(stage.executor, 0, HY_OP_TOPK)->flushes[cause];
}

static void
a_batch_goes_at_its_size(void)
{
	int round, i;

	begin(16, 1 << 20);
	for (round = 1; round <= 3; round++)
	{
		for (i = 1; i < 16; i++)
			CHECK_INT(add(), HY_FLUSH_NONE);
		CHECK_INT(add(), HY_FLUSH_SIZE);
		CHECK_INT(batch.count, 16);
		hy_accumulator_flushed(&batch, stage.executor, HY_FLUSH_SIZE);
		CHECK_INT(batch.count, 0);
		CHECK_INT(flushes(HY_FLUSH_SIZE), round);
	}
	CHECK_INT(flushes(HY_FLUSH_TIME), 0);
	stage_end();
}

static void
a_batch_goes_when_its_oldest_item_has_waited(void)
{
	int i;

	begin(1000, 1 << 20);
	stage.clock.time += 1000000000; /* before the first item nobody waits */
	for (i = 0; i < 8; i++)
		CHECK_INT(add(), HY_FLUSH_NONE);
	stage.clock.time += stage.config.batch_wait_ns - 1;
	CHECK_INT(add(), HY_FLUSH_NONE);
	stage.clock.time += 1;
	CHECK_INT(add(), HY_FLUSH_TIME);
	hy_accumulator_flushed(&batch, stage.executor, HY_FLUSH_TIME);
	CHECK_INT(flushes(HY_FLUSH_TIME), 1);

	/* the next batch counts from its own oldest item */
	for (i = 0; i < 12; i++)
		CHECK_INT(add(), HY_FLUSH_NONE);
	stage.clock.time += stage.config.batch_wait_ns;
	CHECK_INT(add(), HY_FLUSH_TIME);
	stage_end();
}

/* The clock is not read for every item if items are fast; it is if they are slow. */
static void
the_clock_is_looked_at_as_often_as_need_be(void)
{
	uint64_t wait;
	int late;
	int i;

	begin(1 << 20, INT64_C(1) << 40);
	wait = stage.config.batch_wait_ns;
	for (i = 0; i < 1000; i++)
		CHECK_INT(add(), HY_FLUSH_NONE);
	stage.clock.time += wait;
	for (late = 0; add() == HY_FLUSH_NONE && late < 100; late++)
		;
	CHECK_MSG(late < HY_BATCH_LOOK, "%d items later", late);
	hy_accumulator_flushed(&batch, stage.executor, HY_FLUSH_TIME);

	/* a hundredth of the wait each: 101 of them, and not one more */
	for (i = 0; i < 100; i++)
	{
		CHECK_INT(add(), HY_FLUSH_NONE);
		stage.clock.time += wait / 100;
	}
	CHECK_INT(add(), HY_FLUSH_TIME);
	hy_accumulator_flushed(&batch, stage.executor, HY_FLUSH_TIME);

	/* a source that was slow and got fast again is found to be */
	for (i = 0; i < 40; i++)
	{
		CHECK_INT(add(), HY_FLUSH_NONE);
		stage.clock.time += wait / 100;
	}
	for (i = 0; i < 4 * HY_BATCH_LOOK && batch.look_at <= batch.count + 1; i++)
		CHECK_INT(add(), HY_FLUSH_NONE);
	CHECK(batch.look_at > batch.count + 1);
	stage_end();
}

/*
 * If a statement in the rows' source changes the settings, they apply from the next batch on, in
 * any executor.
 */
static void
a_batch_needs_no_executor_between_its_ends(void)
{
	HyExecutor *executor;
	int i;

	begin(16, 1 << 20);
	for (i = 1; i < 16; i++)
	{
		if (i == 8)
		{
			executor = stage.executor;
			CHECK_INT(hy_executor_create(&stage.memory.allocator, &stage.clock.clock, NULL,
			                             &stage.executor),
			          HY_OK);
			hy_executor_destroy(executor);
		}
		CHECK_INT(add(), HY_FLUSH_NONE);
	}
	CHECK_INT(add(), HY_FLUSH_SIZE);
	stage.config.batch_max = 4;
	hy_executor_configure(stage.executor, &stage.config);
	hy_accumulator_flushed(&batch, stage.executor, HY_FLUSH_SIZE);
	CHECK_INT(batch.size, 4);
	stage_end();
}

static void
waiting_ends_no_batch_below_the_minimum(void)
{
	int i;

	begin(1000, 1 << 20);
	for (i = 1; i < 8; i++)
	{
		CHECK_INT(add(), HY_FLUSH_NONE);
		stage.clock.time += stage.config.batch_wait_ns;
	}
	CHECK_INT(add(), HY_FLUSH_TIME);
	stage_end();
}

static void
no_wait_means_for_ever(void)
{
	int i;

	stage_begin(0);
	stage.config.batch_max = 100;
	stage.config.batch_wait_ns = 0;
	hy_executor_configure(stage.executor, &stage.config);
	hy_accumulator_begin(&batch, stage.executor, &shape, ITEM, 1 << 20);
	for (i = 1; i < 100; i++)
	{
		CHECK_INT(add(), HY_FLUSH_NONE);
		stage.clock.time += UINT64_C(1000000000000);
	}
	CHECK_INT(add(), HY_FLUSH_SIZE);
	stage_end();
}

static void
a_batch_goes_before_its_memory_is_passed(void)
{
	int i;

	begin(1000, 10 * ITEM + 1);
	for (i = 0; i < 10; i++)
	{
		CHECK_INT(hy_accumulator_full(&batch, ITEM), HY_FLUSH_NONE);
		CHECK_INT(add(), HY_FLUSH_NONE);
	}
	CHECK_INT(hy_accumulator_full(&batch, 1), HY_FLUSH_NONE);
	CHECK_INT(hy_accumulator_full(&batch, 2), HY_FLUSH_MEMORY);
	CHECK_INT(hy_accumulator_full(&batch, UINT64_MAX), HY_FLUSH_MEMORY);
	hy_accumulator_flushed(&batch, stage.executor, HY_FLUSH_MEMORY);
	CHECK_INT(flushes(HY_FLUSH_MEMORY), 1);
	/* one item too many for the whole memory is taken alone */
	CHECK_INT(hy_accumulator_full(&batch, UINT64_MAX), HY_FLUSH_NONE);
	stage_end();
}

static void
the_end_is_counted_where_there_is_a_batch(void)
{
	begin(100, 1 << 20);
	hy_accumulator_flushed(&batch, stage.executor, HY_FLUSH_END);
	CHECK_INT(flushes(HY_FLUSH_END), 0);
	(void) add();
	hy_accumulator_flushed(&batch, stage.executor, HY_FLUSH_END);
	CHECK_INT(flushes(HY_FLUSH_END), 1);
	hy_executor_reset(stage.executor);
	CHECK_INT(flushes(HY_FLUSH_END), 0);
	stage_end();
}

/*
 * rows: pass this many rows through the accumulator and dispatch each batch.  Returns the ns they
 * took.
 */
static uint64_t
rows(int64_t count)
{
	uint64_t begun = stage.clock.time;
	int64_t row;

	for (row = 0; row < count; row++)
	{
		HyFlush cause = add();

		if (row == count - 1 && cause == HY_FLUSH_NONE)
			cause = HY_FLUSH_END;
		if (cause != HY_FLUSH_NONE)
		{
			HyDecision decision;

			CHECK_INT(stage_dispatch(batch.count, &decision), HY_OK);
			hy_accumulator_flushed(&batch, stage.executor, cause);
		}
	}
	return stage.clock.time - begun;
}

/*
 * Batches are actually dispatched, and the device becomes cheaper with size: 20 us plus 1 ns per
 * item, compared with the CPU's 100 ns per item.  The size found is as good as any fixed one.
 */
static void
the_size_found_is_as_good_as_the_best_fixed_one(void)
{
	static const HyShape one = {
		.op = HY_OP_DISTANCE, .metric = HY_METRIC_L2, .dims = STAGE_DIMS, .queries = 1};
	const int64_t count = 1 << 17;
	uint64_t best = UINT64_MAX;
	uint64_t found;
	int64_t fixed;

	for (fixed = 64; fixed <= 1 << 13; fixed *= 2)
	{
		uint64_t ns;

		stage_begin(1);
		stage.config.batch_max = fixed;
		hy_executor_configure(stage.executor, &stage.config);
		hy_accumulator_begin(&batch, stage.executor, &one, ITEM, ITEM << 13);
		rows(count);
		ns = rows(count);
		best = ns < best ? ns : best;
		stage_end();
	}
	stage_begin(1);
	hy_executor_configure(stage.executor, &stage.config);
	hy_accumulator_begin(&batch, stage.executor, &one, ITEM, ITEM << 13);
	rows(4 * count);
	found = rows(count);
	CHECK_MSG((double) best >= 0.9 * (double) found, "it took %llu ns, the best fixed size %llu",
	          (unsigned long long) found, (unsigned long long) best);
	stage_end();
}

static void
a_batch_too_large_for_memory_is_chosen_smaller(void)
{
	begin(0, 100 * ITEM);
	CHECK_INT(batch.size, 64);
	stage_end();
	begin(0, 10 * ITEM);
	CHECK_INT(batch.size, 10);
	stage_end();
	begin(0, 0);
	CHECK_INT(batch.size, 1);
	CHECK_INT(add(), HY_FLUSH_SIZE);
	stage_end();
	begin(1, 1 << 20);
	CHECK_INT(add(), HY_FLUSH_SIZE);
	stage_end();
}

typedef double (*Law)(double items);

/* A launch cost that only large batches amortize. */
static double
launch(double n)
{
	return 20000 + 3 * n;
}

/* The size makes no difference. */
static double
flat(double n)
{
	return 50 * n;
}

/* Beyond 4,096 items a cache is too small. */
static double
cache(double n)
{
	return 500 + 10 * n + (n > 4096 ? 15 * (n - 4096) : 0);
}

/* A device that works in waves of 3,000. */
static double
waves(double n)
{
	return 5000 + 9000 * ceil(n / 3000);
}

/* One side is used for fewer than 8,192 items, and another side for more. */
static double
two_sides(double n)
{
	return n < 8192 ? 40 * n : 60000 + 2 * n;
}

/* Small batches are best. */
static double
small(double n)
{
	return n <= 256 ? 20 * n : 50 * n;
}

/* Twice as many items take four times as long. */
static double
square(double n)
{
	return n * n;
}

/*
 * feed: record batches of the chosen sizes until they contain this number of items.  A time differs
 * from the law by at most the share `noise`.  Returns the ns per item.
 */
static double
feed(Law law, int64_t items, double noise)
{
	UnitRandom random = {99};
	double spent = 0;
	int64_t fed = 0;

	while (fed < items)
	{
		HyShape full = shape;
		double ns = law((double) batch.size) * (1 + noise * unit_random_float(&random));

		full.targets = batch.size;
		CHECK(batch.size >= HY_BATCH_LEAST && (batch.size & (batch.size - 1)) == 0);
		hy_tracker_record(stage.executor->tracker, &full, 0, (uint64_t) ns);
		stage.executor->spent_ns += ns;
		spent += ns;
		fed += batch.size;
		(void) add();
		hy_accumulator_flushed(&batch, stage.executor, HY_FLUSH_SIZE);
	}
	return spent / (double) fed;
}

/* best_rate: return the ns per item at the best power of two in [64, 2^17]. */
static double
best_rate(Law law)
{
	double best = law(64) / 64;
	int64_t n;

	for (n = 128; n <= 1 << 17; n *= 2)
		best = fmin(best, law((double) n) / (double) n);
	return best;
}

static void
it_settles_within_a_tenth_of_the_best(void)
{
	static const Law laws[] = {launch, flat, cache, waves, two_sides};
	size_t i;

	for (i = 0; i < 2 * sizeof(laws) / sizeof(laws[0]); i++)
	{
		/* times differ by up to a quarter */
		double noise = i % 2 == 0 ? 0 : 0.25;
		Law law = laws[i / 2];
		double rate;

		begin(0, ITEM << 17);
		CHECK_INT(batch.size, HY_BATCH_START);
		feed(law, 8000000, noise);
		rate = feed(law, 4000000, noise);
		CHECK_MSG(best_rate(law) >= 0.9 * rate,
		          "law %d: an item takes %.2f ns, at the best size %.2f", (int) i, rate,
		          best_rate(law));
		stage_end();
	}
}

static void
a_new_law_is_noticed(void)
{
	double rate;

	begin(0, ITEM << 17);
	feed(launch, 8000000, 0);
	feed(cache, 200000000, 0);
	rate = feed(cache, 4000000, 0);
	CHECK_MSG(best_rate(cache) >= 0.9 * rate, "an item takes %.2f ns", rate);
	stage_end();
}

/* Trials that cost little find a size that was slow and has become the best one. */
static void
a_size_that_has_become_good_is_tried_again(void)
{
	double rate;

	begin(0, ITEM << 13);
	feed(launch, 8000000, 0);
	feed(small, 100000000, 0);
	rate = feed(small, 4000000, 0);
	CHECK_MSG(best_rate(small) >= 0.9 * rate, "an item takes %.2f ns", rate);
	stage_end();
}

/* Sizes come from the history of the kind, in every mode of execution. */
static void
kinds_learn_apart(void)
{
	HyAccumulator other;
	HyShape wide = shape;
	int i;
	int c;

	begin(0, ITEM << 15);
	feed(square, 4000000, 0);
	CHECK_INT(batch.size, 64);
	wide.dims = 768;
	hy_accumulator_begin(&other, stage.executor, &wide, ITEM, ITEM << 15);
	CHECK_INT(other.size, HY_BATCH_START);
	for (i = 0; i < 4; i++)
	{
		stage.config.force_cpu = i == 0;
		stage.config.execution = i == 1   ? HY_EXECUTION_CPU
		                         : i == 2 ? HY_EXECUTION_PREFER_GPU
		                                  : HY_EXECUTION_AUTO;
		hy_executor_configure(stage.executor, &stage.config);
		/* each other size may be tried once */
		for (c = 0; c == 0 || (other.size != 64 && c < 10); c++)
			hy_accumulator_begin(&other, stage.executor, &shape, ITEM, ITEM << 15);
		CHECK_INT(other.size, 64);
	}
	stage_end();
}

/* first_size: return the size of a first batch, chosen from predictions alone. */
static int64_t
first_size(void)
{
	static const HyShape one = {
		.op = HY_OP_DISTANCE, .metric = HY_METRIC_L2, .dims = STAGE_DIMS, .queries = 1};

	hy_executor_configure(stage.executor, &stage.config);
	hy_accumulator_begin(&batch, stage.executor, &one, ITEM, ITEM << 13);
	return batch.size;
}

/*
 * The CPU gains nothing from size, and the device gains as much as possible.  So the size shows
 * which side's forecast was used.
 */
static void
sizes_are_forecast_for_the_side_that_is_able_and_wanted(void)
{
	HyBreaker *breaker;
	int i;

	stage_begin(1);
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	CHECK_INT(stage_dispatch(1024, NULL), HY_OK); /* opens it */
	hy_executor_reset(stage.executor);
	stage_teach(stage.executor, 1);
	CHECK_INT(first_size(), 1 << 13);
	stage.config.execution = HY_EXECUTION_AUTO;
	CHECK_INT(first_size(), 1 << 13);
	stage.config.execution = HY_EXECUTION_GPU;
	CHECK_INT(first_size(), 1 << 13);
	stage.config.execution = HY_EXECUTION_NAMED;
	strcpy(stage.config.backend_name, "scripted");
	CHECK_INT(first_size(), 1 << 13);
	strcpy(stage.config.backend_name, "cpu");
	CHECK_INT(first_size(), 64);
	strcpy(stage.config.backend_name, "nobody");
	CHECK_INT(first_size(), HY_BATCH_START); /* an error anyway */
	stage.config.execution = HY_EXECUTION_PREFER_CPU;
	CHECK_INT(first_size(), 64);
	stage.config.execution = HY_EXECUTION_AUTO;
	stage.config.force_cpu = true;
	CHECK_INT(first_size(), 64);
	stage.config.force_cpu = false;

	/* wanted and not able */
	stage.unsupported = true;
	CHECK_INT(first_size(), 64);
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	CHECK_INT(first_size(), 64);
	stage.unsupported = false;
	stage.config.memory_limit = 7; /* less than an item */
	CHECK_INT(first_size(), 64);
	stage.config.memory_limit = 0;
	breaker = &stage.executor->member[1].breakers[HY_OP_DISTANCE];
	for (i = 0; i < 3; i++)
		(void) hy_breaker_record(breaker, stage.clock.time, false, 0.95);
	CHECK_INT(first_size(), 64);
	hy_breaker_init(breaker);
	CHECK_INT(first_size(), 1 << 13);
	stage_end();
}

/* A requested device takes only small batches, and a larger one would be an error. */
static void
a_size_that_is_refused_is_not_tried(void)
{
	stage_begin(1);
	CHECK_INT(hy_member_open(stage.executor, &stage.executor->member[1], stage.clock.time), HY_OK);
	stage.config.execution = HY_EXECUTION_GPU;
	stage.max_targets = 500;
	CHECK_INT(first_size(), 256);
	rows(1 << 15);
	CHECK(batch.size <= 256);
	stage_end();
}

/* While the dispatcher explores, the size is that for the side which it would otherwise take. */
static void
sizes_are_those_of_the_side_taken_without_exploring(void)
{
	stage_begin(1);
	stage_teach(stage.executor, 0);
	stage_expect(stage_decided(1024), 1, HY_REASON_EXPLORATION);
	CHECK_INT(first_size(), 64);
	stage_end();
}

/* The CPU gains nothing from size and is the better side, but both together are better still. */
static void
sizes_are_those_of_a_split(void)
{
	stage_begin(1);
	CHECK_INT(hy_member_open(stage.executor, &stage.executor->member[1], stage.clock.time), HY_OK);
	stage.device_item_ns = 120;
	stage_teach(stage.executor, 1);
	stage.config.execution = HY_EXECUTION_SPLIT;
	stage.executor->no_trials = true;
	CHECK_INT(first_size(), 1 << 13);
	stage.config.execution = HY_EXECUTION_AUTO; /* too short for that */
	CHECK_INT(first_size(), 64);
	stage_end();
}

int
main(void)
{
	UNIT_RUN(a_batch_goes_at_its_size);
	UNIT_RUN(a_batch_goes_when_its_oldest_item_has_waited);
	UNIT_RUN(the_clock_is_looked_at_as_often_as_need_be);
	UNIT_RUN(a_batch_needs_no_executor_between_its_ends);
	UNIT_RUN(waiting_ends_no_batch_below_the_minimum);
	UNIT_RUN(no_wait_means_for_ever);
	UNIT_RUN(a_batch_goes_before_its_memory_is_passed);
	UNIT_RUN(the_end_is_counted_where_there_is_a_batch);
	UNIT_RUN(the_size_found_is_as_good_as_the_best_fixed_one);
	UNIT_RUN(a_batch_too_large_for_memory_is_chosen_smaller);
	UNIT_RUN(it_settles_within_a_tenth_of_the_best);
	UNIT_RUN(a_new_law_is_noticed);
	UNIT_RUN(a_size_that_has_become_good_is_tried_again);
	UNIT_RUN(kinds_learn_apart);
	UNIT_RUN(sizes_are_forecast_for_the_side_that_is_able_and_wanted);
	UNIT_RUN(a_size_that_is_refused_is_not_tried);
	UNIT_RUN(sizes_are_those_of_the_side_taken_without_exploring);
	UNIT_RUN(sizes_are_those_of_a_split);
	return unit_finish();
}
