/*
 * tracker_test.c
 *		The windowed means behind the dispatcher's predictions.
 */
#include "dispatch/tracker.h"
#include "unit.h"

static HyShape
shape_of(int64_t items)
{
	HyShape shape = {.op = HY_OP_DISTANCE, .dims = 768, .queries = 1, .targets = items};

	return shape;
}

static void
test_no_history(void)
{
	HyTracker *t = hy_tracker_create(&hy_malloc_allocator, 100);
	HyShape shape = shape_of(1000);

	CHECK(hy_tracker_predict(t, &shape, 0) < 0);
	CHECK(hy_tracker_speedup(t, &shape, 1) < 0);
	CHECK_INT(hy_tracker_samples(t, &shape, 0), 0);
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
	CHECK(hy_tracker_predict(t, &shape, 1) == 5000000);
	CHECK_INT(hy_tracker_samples(t, &shape, 1), 0);
	CHECK(hy_tracker_forecast(t, &shape, 1).cold);
	hy_tracker_record(t, &shape, 1, 20000);
	CHECK(hy_tracker_predict(t, &shape, 1) == 20000);
	CHECK_INT(hy_tracker_samples(t, &shape, 1), 1);
	CHECK(!hy_tracker_forecast(t, &shape, 1).cold);
	hy_tracker_destroy(t);
}

static void
test_moving_average_of_100(void)
{
	HyTracker *t = hy_tracker_create(&hy_malloc_allocator, 100);
	HyShape shape = shape_of(1000);
	int i;

	hy_tracker_record(t, &shape, 0, 1);
	/* 1000 .. 1249: within 50% of any mean on the way */
	for (i = 0; i < 250; i++)
		hy_tracker_record(t, &shape, 0, (uint64_t) (1000 + i));
	CHECK_INT(hy_tracker_samples(t, &shape, 0), 100);
	/* the newest hundred: 1150 .. 1249 */
	CHECK_NEAR(hy_tracker_predict(t, &shape, 0), 1199.5, 1e-9);
	hy_tracker_destroy(t);
}

static void
test_window_shrinks_and_grows(void)
{
	HyTracker *t = hy_tracker_create(&hy_malloc_allocator, 100);
	HyShape shape = shape_of(1000);
	int i;

	for (i = 0; i <= 150; i++)
		hy_tracker_record(t, &shape, 0, (uint64_t) (1000 + i));
	hy_tracker_set_window(t, 10);
	CHECK_INT(hy_tracker_samples(t, &shape, 0), 10);
	CHECK_NEAR(hy_tracker_predict(t, &shape, 0), 1145.5, 1e-9); /* 1141 .. 1150 */
	hy_tracker_record(t, &shape, 0, 1151);
	CHECK_INT(hy_tracker_samples(t, &shape, 0), 10);
	CHECK_NEAR(hy_tracker_predict(t, &shape, 0), 1146.5, 1e-9);
	hy_tracker_set_window(t, 200);
	CHECK_INT(hy_tracker_samples(t, &shape, 0), 10);
	for (i = 0; i < 190; i++)
		hy_tracker_record(t, &shape, 0, (uint64_t) (1152 + i));
	CHECK_INT(hy_tracker_samples(t, &shape, 0), 200);
	CHECK_NEAR(hy_tracker_predict(t, &shape, 0), (1142 + 1341) / 2.0, 1e-9);
	hy_tracker_set_window(t, 0);
	CHECK_INT(hy_tracker_samples(t, &shape, 0), 1);
	CHECK_NEAR(hy_tracker_predict(t, &shape, 0), 1341, 1e-9);
	hy_tracker_set_window(t, 1000000);
	for (i = 0; i < 2000; i++)
		hy_tracker_record(t, &shape, 0, 1341);
	CHECK_INT(hy_tracker_samples(t, &shape, 0), HY_TRACKER_MAX_WINDOW);
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
	CHECK_NEAR(hy_tracker_predict(t, &shape, 0), (9 * 1000 + 1500) / 10.0, 1e-9);
	hy_tracker_record(t, &shape, 0, 0);
	CHECK_NEAR(hy_tracker_predict(t, &shape, 0), (8 * 1000 + 1500 + 525) / 10.0, 1e-9);
	/* just outside of the band, and just inside */
	hy_tracker_reset(t);
	for (i = 0; i < 10; i++)
		hy_tracker_record(t, &shape, 0, 1000);
	hy_tracker_record(t, &shape, 0, 1510);
	CHECK_NEAR(hy_tracker_predict(t, &shape, 0), 1050, 1e-9);
	hy_tracker_record(t, &shape, 0, 526);
	CHECK_NEAR(hy_tracker_predict(t, &shape, 0), (8 * 1000 + 1500 + 526) / 10.0, 1e-9);
	/* a lasting change of speed gets through in the end */
	for (i = 0; i < 200; i++)
		hy_tracker_record(t, &shape, 0, 8000);
	CHECK_NEAR(hy_tracker_predict(t, &shape, 0), 8000, 1);
	hy_tracker_destroy(t);
}

static void
test_sums_do_not_drift(void)
{
	HyTracker *t = hy_tracker_create(&hy_malloc_allocator, 100);
	HyShape shape = shape_of(1000);
	UnitRandom random = {99};
	int i;

	for (i = 0; i < 1000000; i++)
		hy_tracker_record(t, &shape, 0, 1000000000 + unit_random_below(&random, 300000000));
	for (i = 0; i < 100; i++)
		hy_tracker_record(t, &shape, 0, 1150000000);
	CHECK(hy_tracker_predict(t, &shape, 0) == 1150000000.0);
	hy_tracker_destroy(t);
}

static void
test_neighbours(void)
{
	HyTracker *t = hy_tracker_create(&hy_malloc_allocator, 100);
	HyShape small = shape_of(1024);
	HyShape large = shape_of(4096);
	HyShape other = shape_of(4096);
	HyForecast forecast;

	hy_tracker_record(t, &small, 1, 9000);
	hy_tracker_record(t, &small, 1, 1000);
	CHECK_NEAR(hy_tracker_predict(t, &large, 1), 4000, 1e-9);
	forecast = hy_tracker_forecast(t, &large, 1);
	CHECK_INT(forecast.steps, 2);
	CHECK_INT(forecast.samples, 0);
	/* another kind has no say */
	other.metric = HY_METRIC_COSINE;
	CHECK(hy_tracker_predict(t, &other, 1) < 0);
	other = large;
	other.dims = 64;
	CHECK(hy_tracker_predict(t, &other, 1) < 0);
	other = large;
	other.resident = true;
	CHECK(hy_tracker_predict(t, &other, 1) < 0);
	other = large;
	other.dtype = HY_F16;
	CHECK(hy_tracker_predict(t, &other, 1) < 0);
	other = large;
	other.op = HY_OP_TOPK;
	CHECK(hy_tracker_predict(t, &other, 1) < 0);
	/* the nearer class wins */
	other = shape_of(2048);
	hy_tracker_record(t, &other, 1, 1500);
	hy_tracker_record(t, &other, 1, 1500);
	CHECK_NEAR(hy_tracker_predict(t, &large, 1), 3000, 1e-9);
	other = shape_of(256);
	CHECK_NEAR(hy_tracker_predict(t, &other, 1), 250, 1e-9);
	/* sizes at both ends */
	other = shape_of(0);
	hy_tracker_record(t, &other, 1, 10);
	other.queries = INT64_MAX;
	other.targets = INT64_MAX;
	CHECK(hy_tracker_predict(t, &other, 1) > 0);
	hy_tracker_destroy(t);
}

static void
test_many_classes(void)
{
	HyTracker *t = hy_tracker_create(&hy_malloc_allocator, 100);
	HyShape shape;
	int round;
	int i;

	/* 14 dims classes x 40 sizes = 560 > HY_TRACKER_CLASSES: the oldest give way */
	for (round = 0; round < 2; round++)
	{
		for (i = 0; i < 560; i++)
		{
			shape = shape_of(INT64_C(1) << (i % 40));
			shape.dims = 1 << (i / 40);
			hy_tracker_record(t, &shape, 0, (uint64_t) (1000 + i));
			hy_tracker_record(t, &shape, 0, (uint64_t) (1000 + i));
			CHECK_INT(hy_tracker_samples(t, &shape, 0), 1);
			CHECK_NEAR(hy_tracker_predict(t, &shape, 0), 1000 + i, 1e-9);
		}
	}
	for (i = 0; i < 560; i++)
	{
		shape = shape_of(INT64_C(1) << (i % 40));
		shape.dims = 1 << (i / 40);
		CHECK_INT(hy_tracker_samples(t, &shape, 0), i < 560 - HY_TRACKER_CLASSES ? 0 : 1);
	}
	hy_tracker_reset(t);
	CHECK_INT(hy_tracker_samples(t, &shape, 0), 0);
	CHECK(hy_tracker_predict(t, &shape, 0) < 0);
	hy_tracker_destroy(t);
}

static void
test_short_of_memory(void)
{
	UnitMemory memory;
	HyShape shape = shape_of(1000);
	int64_t fail_at;

	for (fail_at = 1; fail_at <= 4; fail_at++)
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
				if (i == 15)
					hy_tracker_set_window(t, 20);
				hy_tracker_record(t, &shape, 0, 1000);
			}
			/* without a ring the first observation still predicts; without a larger one, ten */
			CHECK(hy_tracker_predict(t, &shape, 0) == 1000);
			CHECK_INT(hy_tracker_samples(t, &shape, 0), fail_at == 2 ? 0 : fail_at == 3 ? 10 : 20);
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
	hy_tracker_record(t, &shape, HY_TRACKER_DEVICES, 5);
	CHECK(hy_tracker_predict(t, &shape, -1) < 0);
	CHECK(hy_tracker_predict(t, &shape, HY_TRACKER_DEVICES) < 0);
	CHECK_INT(hy_tracker_samples(t, &shape, -1), 0);
	hy_tracker_destroy(t);
	hy_tracker_destroy(NULL);
}

int
main(void)
{
	UNIT_RUN(test_no_history);
	UNIT_RUN(test_first_is_set_aside);
	UNIT_RUN(test_moving_average_of_100);
	UNIT_RUN(test_window_shrinks_and_grows);
	UNIT_RUN(test_outliers_are_clipped);
	UNIT_RUN(test_sums_do_not_drift);
	UNIT_RUN(test_neighbours);
	UNIT_RUN(test_many_classes);
	UNIT_RUN(test_short_of_memory);
	UNIT_RUN(test_devices_out_of_range);
	return unit_finish();
}
