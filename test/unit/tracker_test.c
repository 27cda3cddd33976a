/*
 * tracker_test.c
 *		The records of tasks: means over a window, kinds and sizes of tasks, and imported
 *		records.
 */
#include "dispatch/model/sizes.h"
#include "tracker_stage.h"

static void
test_no_history(void)
{
	HyTracker *t = hy_tracker_create(&hy_malloc_allocator, 100);
	HyShape shape = shape_of(1000);

	CHECK(hy_tracker_predict(t, &shape, 0) < 0);
	CHECK(hy_tracker_speedup(t, &shape, 1) < 0);
	CHECK_INT(hy_tracker_forecast(t, &shape, 0).samples, 0);
	hy_tracker_record(t, &shape, 0, 100000);
	CHECK(hy_tracker_speedup(t, &shape, 1) < 0);
	hy_tracker_destroy(t);
}

static void
test_first_is_set_aside(void)
{
	HyTracker *t = hy_tracker_create(&hy_malloc_allocator, 100);
	HyShape shape = shape_of(1000);

	hy_tracker_record(t, &shape, 1, 5000000);
	CHECK_NEAR(hy_tracker_predict(t, &shape, 1), 5000000, 5);
	CHECK_INT(hy_tracker_forecast(t, &shape, 1).samples, 0);
	CHECK(hy_tracker_forecast(t, &shape, 1).cold);
	hy_tracker_record(t, &shape, 1, 20000);
	CHECK_NEAR(hy_tracker_predict(t, &shape, 1), 20000, 0.1);
	CHECK_INT(hy_tracker_forecast(t, &shape, 1).samples, 1);
	CHECK(!hy_tracker_forecast(t, &shape, 1).cold);
	hy_tracker_destroy(t);
}

static void
test_moving_average(void)
{
	HyTracker *t = hy_tracker_create(&hy_malloc_allocator, 100);
	HyShape shape = shape_of(1000);
	int i;

	hy_tracker_record(t, &shape, 0, 1);
	/* while the window fills, a plain mean: 1000 .. 1098 */
	for (i = 0; i < 99; i++)
		hy_tracker_record(t, &shape, 0, (uint64_t) (1000 + i));
	CHECK_INT(hy_tracker_forecast(t, &shape, 0).samples, 99);
	CHECK_NEAR(hy_tracker_predict(t, &shape, 0), 1049, 1);
	/* then it forgets: of a step, 1 - (1 - 1/100)^100 is there after a window, all after ten */
	for (i = 0; i < 5000; i++)
		hy_tracker_record(t, &shape, 0, 1000);
	CHECK_NEAR(hy_tracker_predict(t, &shape, 0), 1000, 0.5);
	for (i = 0; i < 100; i++)
		hy_tracker_record(t, &shape, 0, 1200);
	CHECK_NEAR(hy_tracker_predict(t, &shape, 0), 1200 - 200 * 0.366, 3);
	for (i = 0; i < 900; i++)
		hy_tracker_record(t, &shape, 0, 1200);
	CHECK_NEAR(hy_tracker_predict(t, &shape, 0), 1200, 1);
	CHECK_INT(hy_tracker_forecast(t, &shape, 0).samples, 100);
	hy_tracker_destroy(t);
}

static void
test_window_shrinks_and_grows(void)
{
	HyTracker *t = hy_tracker_create(&hy_malloc_allocator, 100);
	HyShape shape = shape_of(1000);
	int i;

	for (i = 0; i <= 1000; i++)
		hy_tracker_record(t, &shape, 0, 1000);
	hy_tracker_set_window(t, 10);
	for (i = 0; i < 10; i++)
		hy_tracker_record(t, &shape, 0, 1200);
	CHECK_INT(hy_tracker_forecast(t, &shape, 0).samples, 10);
	CHECK_NEAR(hy_tracker_predict(t, &shape, 0), 1200 - 200 * 0.349, 15);
	for (i = 0; i < 200; i++)
		hy_tracker_record(t, &shape, 0, 1200);
	hy_tracker_set_window(t, 200);
	hy_tracker_record(t, &shape, 0, 1200);
	CHECK_INT(hy_tracker_forecast(t, &shape, 0).samples, 11);
	for (i = 0; i < 400; i++)
		hy_tracker_record(t, &shape, 0, 1200);
	CHECK_INT(hy_tracker_forecast(t, &shape, 0).samples, 200);
	hy_tracker_set_window(t, 0);
	hy_tracker_record(t, &shape, 0, 1300);
	CHECK_INT(hy_tracker_forecast(t, &shape, 0).samples, 1);
	CHECK_NEAR(hy_tracker_predict(t, &shape, 0), 1300, 5);
	hy_tracker_set_window(t, 1000000);
	for (i = 0; i < 2000; i++)
		hy_tracker_record(t, &shape, 0, 1300);
	CHECK_INT(hy_tracker_forecast(t, &shape, 0).samples, HY_TRACKER_MAX_WINDOW);
	hy_tracker_destroy(t);
}

static void
test_outliers_are_clipped(void)
{
	HyTracker *t = hy_tracker_create(&hy_malloc_allocator, 10);
	HyShape shape = shape_of(1000);
	int i;

	for (i = 0; i < 10; i++)
		hy_tracker_record(t, &shape, 0, 1000); /* the first is set aside: 9 in the window */
	hy_tracker_record(t, &shape, 0, 1000000);
	CHECK_NEAR(hy_tracker_predict(t, &shape, 0), (9 * 1000 + 1500) / 10.0, 5);
	hy_tracker_record(t, &shape, 0, 0);
	CHECK_NEAR(hy_tracker_predict(t, &shape, 0), 1050 - 52.5, 25);
	/* where half is less than the clock can tell, 100 ns more is the most */
	hy_tracker_reset(t);
	for (i = 0; i < 10; i++)
		hy_tracker_record(t, &shape, 0, 100);
	hy_tracker_record(t, &shape, 0, 1000000);
	CHECK_NEAR(hy_tracker_predict(t, &shape, 0), (9 * 100 + 200) / 10.0, 2);
	/* one that is within the band is taken as it is */
	hy_tracker_reset(t);
	for (i = 0; i < 10; i++)
		hy_tracker_record(t, &shape, 0, 1000);
	hy_tracker_record(t, &shape, 0, 1400);
	CHECK_NEAR(hy_tracker_predict(t, &shape, 0), 1040, 5);
	/* a lasting change of speed gets through in the end */
	for (i = 0; i < 200; i++)
		hy_tracker_record(t, &shape, 0, 8000);
	CHECK_NEAR(hy_tracker_predict(t, &shape, 0), 8000, 100);
	hy_tracker_destroy(t);
}

static void
test_first_of_a_size_are_not_clipped(void)
{
	HyTracker *t = hy_tracker_create(&hy_malloc_allocator, 100);
	HyShape small = shape_of(1000);
	HyShape large = shape_of(100000);
	int i;

	/* launch only, it seems; the larger size takes what no regression over the small one foresaw */
	for (i = 0; i < 15; i++)
		hy_tracker_record(t, &small, 1, 1000);
	hy_tracker_record(t, &large, 1, 200000);
	CHECK_NEAR(hy_tracker_predict(t, &large, 1) / 2e5, 1, 0.35); /* once is hardly often */
	CHECK_NEAR(hy_tracker_predict(t, &small, 1), 1000, 50);
	/* once the regression rests on something, one that is far off is taken with some doubt */
	hy_tracker_reset(t);
	for (i = 0; i < 50; i++)
		hy_tracker_record(t, &small, 0, 1000);
	hy_tracker_record(t, &large, 0, 10000000);
	CHECK(hy_tracker_predict(t, &large, 0) < 250000);
	hy_tracker_reset(t);
	for (i = 0; i < 50; i++)
		hy_tracker_record(t, &small, 0, 1000);
	hy_tracker_record(t, &large, 0, 1); /* as half of the 100,000 foretold */
	CHECK(hy_tracker_predict(t, &large, 0) > 45000);
	hy_tracker_destroy(t);
}

static void
test_means_do_not_drift(void)
{
	HyTracker *t = hy_tracker_create(&hy_malloc_allocator, 100);
	HyShape shape = shape_of(1000);
	UnitRandom random = {99};
	int i;

	for (i = 0; i < 200000; i++)
		hy_tracker_record(t, &shape, 0, 1000000000 + unit_random_below(&random, 300000000));
	CHECK_NEAR(hy_tracker_predict(t, &shape, 0) / 1.15e9, 1, 0.03);
	for (i = 0; i < 5000; i++)
		hy_tracker_record(t, &shape, 0, 1150000000);
	CHECK_NEAR(hy_tracker_predict(t, &shape, 0) / 1.15e9, 1, 1e-4);
	hy_tracker_destroy(t);
}

static void
test_many_at_once(void)
{
	HyTracker *t = hy_tracker_create(&hy_malloc_allocator, 100);
	HyShape shape = shape_of(1000);
	HyTrackerRow row;

	hy_tracker_record_many(t, &shape, 0, 1000, 64);
	CHECK_INT(hy_tracker_forecast(t, &shape, 0).samples, 63);
	CHECK_NEAR(hy_tracker_predict(t, &shape, 0), 1000, 5);
	hy_tracker_record_many(t, &shape, 0, 1000, 64);
	CHECK_INT(hy_tracker_forecast(t, &shape, 0).samples, 100);
	hy_tracker_record_many(t, &shape, 0, 1000, 0);
	CHECK(hy_tracker_row(t, 0, &row));
	CHECK_INT(row.observations, 128);
	hy_tracker_destroy(t);
}

static void
test_import_and_take(void)
{
	HyTracker *from = hy_tracker_create(&hy_malloc_allocator, 100);
	HyTracker *to = hy_tracker_create(&hy_malloc_allocator, 100);
	HyModelState state;
	HyModelState broken = {.weight = NAN};
	HyTrackerNews news;
	HyShape shape;
	HyShape other;
	int32_t position = 0;
	int i;

	for (i = 0; i < 200; i++)
	{
		shape = shape_of(INT64_C(1) << (i % 16));
		hy_tracker_record(from, &shape, 1, (uint64_t) (20000 + 5 * shape.targets));
	}
	CHECK(!hy_tracker_take(from, 1, &position, &news)); /* of the CPU there is nothing */
	position = 0;
	CHECK(hy_tracker_take(from, 7, &position, &news));
	CHECK_INT(news.device, 1);
	CHECK_INT(hy_shape_kind(&news.shape), hy_shape_kind(&shape));
	state = news.model;
	CHECK(state.weight == 199);
	CHECK(!hy_tracker_take(from, 7, &position, &news)); /* once */
	position = 0;
	CHECK(!hy_tracker_take(from, 7, &position, &news));
	CHECK(hy_tracker_import(to, &shape, 1, &state));
	CHECK(!hy_tracker_import(to, &shape, 1, &broken));
	CHECK(!hy_tracker_import(to, &shape, HY_MAX_DEVICES, &state));
	other = shape_of(3000);
	CHECK_NEAR(hy_tracker_predict(to, &other, 1), 35000, 500);
	CHECK_INT(hy_tracker_forecast(to, &other, 1).samples, 0);
	CHECK(!hy_tracker_forecast(to, &other, 1).cold);
	/* the first that is seen here is set aside all the same */
	hy_tracker_record(to, &other, 1, 900000);
	CHECK_NEAR(hy_tracker_predict(to, &other, 1), 35000, 500);
	/* and what is seen soon weighs more */
	for (i = 0; i < 30; i++)
		hy_tracker_record(to, &other, 1, 50000);
	CHECK_NEAR(hy_tracker_predict(to, &other, 1), 50000, 1500);
	hy_tracker_destroy(from);
	hy_tracker_destroy(to);
}

/* Numbers of threads of the CPU have histories of their own, by classes. */
static void
test_threads(void)
{
	HyTracker *t = hy_tracker_create(&hy_malloc_allocator, 100);
	HyTracker *to = hy_tracker_create(&hy_malloc_allocator, 100);
	HyShape shape = shape_of(1000);
	HyTrackerNews news;
	HyTrackerRow row;
	int32_t position = 0;
	int rows;
	int i;

	for (i = 0; i < 50; i++)
		hy_tracker_record(t, &shape, 0, 800000);
	/* without a history of its own, a number of threads divides the time of one */
	shape.threads = 2;
	CHECK_NEAR(hy_tracker_predict(t, &shape, 0), 400000, 1000);
	shape.threads = 8;
	CHECK_NEAR(hy_tracker_predict(t, &shape, 0), 100000, 1000);
	for (i = 0; i < 50; i++)
		hy_tracker_record(t, &shape, 0, 150000);
	CHECK_NEAR(hy_tracker_predict(t, &shape, 0), 150000, 1000);
	CHECK_INT(hy_tracker_forecast(t, &shape, 0).samples, 49);
	shape.threads = 15;
	CHECK_NEAR(hy_tracker_predict(t, &shape, 0), 150000, 1000);
	shape.threads = 16;
	CHECK_NEAR(hy_tracker_predict(t, &shape, 0), 50000, 1000);
	for (i = 0; i <= 1; i++)
	{
		shape.threads = i;
		CHECK_NEAR(hy_tracker_predict(t, &shape, 0), 800000, 1000);
	}
	/* a device has one history, whatever the CPU would do */
	hy_tracker_record(t, &shape, 1, 7000);
	hy_tracker_record(t, &shape, 1, 7000);
	shape.threads = 8;
	CHECK_NEAR(hy_tracker_predict(t, &shape, 1), 7000, 10);
	CHECK_NEAR(hy_tracker_speedup(t, &shape, 1), 150000.0 / 7000, 0.3);

	for (rows = 0; hy_tracker_row(t, rows, &row); rows++)
	{
		CHECK_INT(row.device, rows == 1 ? 1 : 0);
		if (row.device == 0)
			CHECK_INT(row.shape.threads, rows == 0 ? 1 : 8);
	}
	CHECK_INT(rows, 3);
	/* what is passed on keeps the numbers apart */
	while (hy_tracker_take(t, 1, &position, &news))
	{
		CHECK_INT(news.device, 0);
		CHECK(hy_tracker_import(to, &news.shape, news.device, &news.model));
	}
	shape.threads = 1;
	CHECK_NEAR(hy_tracker_predict(to, &shape, 0), 800000, 1000);
	CHECK(hy_shape_model(&shape, 0) == hy_shape_kind(&shape));
	shape.threads = 9;
	CHECK_NEAR(hy_tracker_predict(to, &shape, 0), 150000, 1000);
	CHECK(hy_shape_model(&shape, 0) != hy_shape_kind(&shape));
	CHECK(hy_shape_model(&shape, 1) == hy_shape_kind(&shape));
	shape.threads = 64;
	hy_tracker_record(t, &shape, 0, 30000);
	CHECK_NEAR(hy_tracker_predict(t, &shape, 0), 30000, 10);
	hy_tracker_destroy(t);
	hy_tracker_destroy(to);
}

static void
test_generation(void)
{
	HyTracker *t = hy_tracker_create(&hy_malloc_allocator, 100);
	HyShape shape = shape_of(1000);
	uint32_t generation = hy_tracker_generation(t);
	int i;

	for (i = 0; i < 100; i++)
		hy_tracker_record(t, &shape, 0, 1000);
	CHECK(hy_tracker_generation(t) != generation);
	generation = hy_tracker_generation(t);
	for (i = 0; i < 1000; i++)
		hy_tracker_record(t, &shape, 0, (uint64_t) (990 + i % 20));
	CHECK_INT(hy_tracker_generation(t), generation); /* nothing has changed to speak of */
	hy_tracker_record_many(t, &shape, 0, 1014, 100); /* 1.5% */
	CHECK(hy_tracker_predict(t, &shape, 0) > 1010);
	CHECK_INT(hy_tracker_generation(t), generation);
	hy_tracker_record_many(t, &shape, 0, 1050, 100); /* 3.5% */
	CHECK(hy_tracker_generation(t) != generation);
	generation = hy_tracker_generation(t);
	for (i = 0; i < 100; i++)
		hy_tracker_record_many(t, &shape, 0, 1400, 10);
	CHECK(hy_tracker_generation(t) != generation);
	generation = hy_tracker_generation(t);
	hy_tracker_reset(t);
	CHECK(hy_tracker_generation(t) != generation);
	hy_tracker_destroy(t);
}

/*
 * A decision with a clear margin need not react to every move, only to a first observation or a
 * leap.
 */
static void
test_leaps(void)
{
	HyTracker *t = hy_tracker_create(&hy_malloc_allocator, 100);
	HyShape shape = shape_of(1000);
	uint32_t leaps = hy_tracker_leaps(t);
	uint32_t generation;
	double before;

	hy_tracker_record(t, &shape, 0, 1000);
	CHECK(hy_tracker_leaps(t) != leaps);
	hy_tracker_record_many(t, &shape, 0, 1000, 100);
	leaps = hy_tracker_leaps(t);
	generation = hy_tracker_generation(t);
	before = hy_tracker_predict(t, &shape, 0);
	hy_tracker_record_many(t, &shape, 0, 1400, 60);
	CHECK(hy_tracker_predict(t, &shape, 0) > 1.1 * before); /* a move, and no leap */
	CHECK(hy_tracker_predict(t, &shape, 0) < 1.25 * before);
	CHECK_INT(hy_tracker_leaps(t), leaps);
	CHECK(hy_tracker_generation(t) != generation);
	before = hy_tracker_predict(t, &shape, 0);
	hy_tracker_record_many(t, &shape, 0, 3000, 100);
	CHECK(hy_tracker_predict(t, &shape, 0) > 1.25 * before);
	CHECK(hy_tracker_leaps(t) != leaps);
	leaps = hy_tracker_leaps(t);
	hy_tracker_reset(t);
	CHECK(hy_tracker_leaps(t) != leaps);
	hy_tracker_destroy(t);
}

/* Times longer than 52 days are clipped. */
static void
test_times_that_cannot_be(void)
{
	HyTracker *t = hy_tracker_create(&hy_malloc_allocator, 100);
	HyShape shape = shape_of(1000);
	int i;

	for (i = 0; i < 3; i++)
		hy_tracker_record(t, &shape, 0, UINT64_MAX);
	CHECK_NEAR(hy_tracker_predict(t, &shape, 0) / (52 * 86400e9), 1, 0.15);
	hy_tracker_destroy(t);
}

static void
test_many_kinds_and_sizes(void)
{
	UnitMemory memory;
	HyTracker *t;
	HyShape shape;
	int round;
	int i;

	/* 5 x 4 x 14 = 280 kinds > HY_TRACKER_KINDS: the oldest give way */
	unit_memory_init(&memory, 0);
	t = hy_tracker_create(&memory.allocator, 100);
	for (round = 0; round < 2; round++)
	{
		for (i = 0; i < 280; i++)
		{
			shape = shape_of(1000);
			shape.op = (HyOp) (i % 5);
			shape.metric = (HyMetric) (i / 5 % 4);
			shape.dims = 1 << (i / 20);
			hy_tracker_record(t, &shape, 0, (uint64_t) (1000 + i));
			hy_tracker_record(t, &shape, 0, (uint64_t) (1000 + i));
			CHECK_INT(hy_tracker_forecast(t, &shape, 0).samples, 1);
			CHECK_NEAR(hy_tracker_predict(t, &shape, 0), 1000 + i, 10);
		}
	}
	for (i = 0; i < 280; i++)
	{
		shape = shape_of(1000);
		shape.op = (HyOp) (i % 5);
		shape.metric = (HyMetric) (i / 5 % 4);
		shape.dims = 1 << (i / 20);
		CHECK_INT(hy_tracker_forecast(t, &shape, 0).samples, i < 280 - HY_TRACKER_KINDS ? 0 : 1);
	}
	CHECK_INT(memory.outstanding, 1 + HY_TRACKER_KINDS);
	/* and of the sizes of a kind */
	for (i = 0; i < 50; i++)
	{
		shape = shape_of(INT64_C(1) << i);
		hy_tracker_record(t, &shape, 0, (uint64_t) shape.targets);
	}
	for (i = 0; i < 50; i++)
	{
		shape = shape_of(INT64_C(1) << i);
		CHECK_INT(hy_tracker_forecast(t, &shape, 0).samples, i < 50 - HY_SIZES ? 0 : 1);
	}
	hy_tracker_reset(t);
	CHECK_INT(hy_tracker_forecast(t, &shape, 0).samples, 0);
	CHECK(hy_tracker_predict(t, &shape, 0) < 0);
	hy_tracker_destroy(t);
	CHECK_INT(memory.outstanding, 0);
}

static void
test_short_of_memory(void)
{
	UnitMemory memory;
	HyShape shape = shape_of(1000);
	HyModelState state = {.weight = 1};
	int64_t fail_at;

	for (fail_at = 1; fail_at <= 3; fail_at++)
	{
		HyTracker *t;
		int i;

		unit_memory_init(&memory, fail_at);
		memory.keep_failing = true;
		t = hy_tracker_create(&memory.allocator, 10);
		CHECK_INT(t == NULL, fail_at == 1);
		if (t != NULL)
		{
			for (i = 0; i < 30; i++)
			{
				hy_tracker_record(t, &shape, 0, 1000);
				hy_tracker_record(t, &shape, 1, 1000);
			}
			CHECK_INT(hy_tracker_forecast(t, &shape, 0).samples, fail_at == 2 ? 0 : 10);
			CHECK_INT(hy_tracker_forecast(t, &shape, 1).samples, 0);
			CHECK(!hy_tracker_import(t, &shape, 1, &state));
		}
		hy_tracker_destroy(t);
		CHECK_INT(memory.outstanding, 0);
	}
}

static void
test_devices_out_of_range(void)
{
	HyTracker *t = hy_tracker_create(&hy_malloc_allocator, 10);
	HyShape shape = shape_of(1000);

	hy_tracker_record(t, &shape, -1, 5);
	hy_tracker_record(t, &shape, HY_MAX_DEVICES, 5);
	CHECK(hy_tracker_predict(t, &shape, -1) < 0);
	CHECK(hy_tracker_predict(t, &shape, HY_MAX_DEVICES) < 0);
	CHECK_INT(hy_tracker_forecast(t, &shape, -1).samples, 0);
	hy_tracker_destroy(t);
	hy_tracker_destroy(NULL);
}

/* An imported size changes predictions, and code that keeps decisions must be notified. */
static void
test_a_size_that_is_told_is_news(void)
{
	HyTracker *t = hy_tracker_create(&hy_malloc_allocator, 100);
	HyShape shape = shape_of(1000);
	uint32_t generation = hy_tracker_generation(t);
	uint32_t leaps = hy_tracker_leaps(t);

	CHECK(hy_tracker_import_size(t, &shape, 0, 5000));
	CHECK(hy_tracker_generation(t) != generation);
	CHECK(hy_tracker_leaps(t) != leaps);
	generation = hy_tracker_generation(t);
	leaps = hy_tracker_leaps(t);
	CHECK(!hy_tracker_import_size(t, &shape, 0, 0));
	CHECK_INT(hy_tracker_generation(t), generation);
	CHECK_INT(hy_tracker_leaps(t), leaps);
	hy_tracker_destroy(t);
}

int
main(void)
{
	UNIT_RUN(test_no_history);
	UNIT_RUN(test_first_is_set_aside);
	UNIT_RUN(test_moving_average);
	UNIT_RUN(test_window_shrinks_and_grows);
	UNIT_RUN(test_outliers_are_clipped);
	UNIT_RUN(test_first_of_a_size_are_not_clipped);
	UNIT_RUN(test_means_do_not_drift);
	UNIT_RUN(test_many_at_once);
	UNIT_RUN(test_import_and_take);
	UNIT_RUN(test_threads);
	UNIT_RUN(test_generation);
	UNIT_RUN(test_leaps);
	UNIT_RUN(test_times_that_cannot_be);
	UNIT_RUN(test_many_kinds_and_sizes);
	UNIT_RUN(test_short_of_memory);
	UNIT_RUN(test_devices_out_of_range);
	UNIT_RUN(test_a_size_that_is_told_is_news);
	return unit_finish();
}
