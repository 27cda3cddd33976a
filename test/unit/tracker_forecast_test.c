/*
 * tracker_forecast_test.c
 *		Forecasts from observations: the regressions behind the dispatcher's predictions, also
 *		for new sizes and kinds.
 */
#include "tracker_stage.h"

static void
test_other_sizes_by_the_regression(void)
{
	HyTracker *t = hy_tracker_create(&hy_malloc_allocator, 100);
	HyShape shape;
	HyForecast forecast;
	int i;

	for (i = 0; i < 60; i++)
	{
		shape = shape_of(INT64_C(1) << (4 + i % 10));
		hy_tracker_record(t, &shape, 1, (uint64_t) (20000 + 2 * shape.targets));
	}
	/* between, above and below */
	for (i = 0; i < 24; i++)
	{
		shape = shape_of((INT64_C(3) << i) / 2);
		CHECK_NEAR(hy_tracker_predict(t, &shape, 1) / (20000 + 2.0 * (double) shape.targets), 1,
		           0.02);
	}
	shape = shape_of(1 << 15);
	forecast = hy_tracker_forecast(t, &shape, 1);
	CHECK_INT(forecast.steps, 2);
	CHECK_INT(forecast.span, 9);
	CHECK_INT(forecast.samples, 0);
	CHECK_NEAR(forecast.largest_ns, 20000 + 2 * 8192, 500);
	shape = shape_of(8);
	CHECK_INT(hy_tracker_forecast(t, &shape, 1).steps, -1);
	CHECK(hy_tracker_forecast(t, &shape, 1).largest_ns == 0);
	shape = shape_of(64);
	CHECK_INT(hy_tracker_forecast(t, &shape, 1).steps, 0);
	CHECK(hy_tracker_forecast(t, &shape, 1).samples >= 4);
	/* another kind has no say, but gives a hint */
	shape = shape_of(1024);
	shape.metric = HY_METRIC_COSINE;
	forecast = hy_tracker_forecast(t, &shape, 1);
	CHECK(forecast.ns < 0);
	CHECK_NEAR(forecast.hint_ns, 22048, 300);
	CHECK_INT(forecast.unseen, 0);
	shape.dims = 64;
	CHECK(hy_tracker_predict(t, &shape, 1) < 0);
	shape.dtype = HY_F16;
	CHECK(hy_tracker_forecast(t, &shape, 1).hint_ns > 0);
	CHECK(hy_tracker_forecast(t, &shape, 2).hint_ns < 0);
	shape.resident = true;
	CHECK(hy_tracker_forecast(t, &shape, 1).hint_ns < 0);
	shape = shape_of(1024);
	shape.op = HY_OP_TOPK;
	CHECK(hy_tracker_forecast(t, &shape, 1).ns < 0);
	CHECK(hy_tracker_forecast(t, &shape, 1).hint_ns < 0);
	/* sizes at both ends */
	shape = shape_of(0);
	hy_tracker_record(t, &shape, 1, 10);
	shape.queries = INT64_MAX;
	shape.targets = INT64_MAX;
	CHECK(hy_tracker_predict(t, &shape, 1) > 0);
	hy_tracker_destroy(t);
}

/* stairs: a law that no regression on work and bytes can represent: steps of 4,096 items. */
static double
stairs(int64_t items)
{
	return 5000 + 30000 * ceil((double) items / 4096);
}

static void
test_sizes_seen_correct_the_regression(void)
{
	HyTracker *t = hy_tracker_create(&hy_malloc_allocator, 100);
	HyShape shape;
	int i;

	for (i = 0; i < 300; i++)
	{
		shape = shape_of(INT64_C(1) << (3 + i % 17));
		hy_tracker_record(t, &shape, 1, (uint64_t) stairs(shape.targets));
	}
	for (i = 3; i < 20; i++)
	{
		shape = shape_of(INT64_C(1) << i);
		CHECK_NEAR(hy_tracker_predict(t, &shape, 1) / stairs(shape.targets), 1, 0.02);
	}
	/* one that was left out leans on its neighbours */
	hy_tracker_reset(t);
	for (i = 0; i < 300; i++)
	{
		if (i % 17 == 8)
			continue;
		shape = shape_of(INT64_C(1) << (3 + i % 17));
		hy_tracker_record(t, &shape, 1, (uint64_t) stairs(shape.targets));
	}
	shape = shape_of(1 << 11);
	CHECK_INT(hy_tracker_forecast(t, &shape, 1).samples, 0);
	CHECK_NEAR(hy_tracker_predict(t, &shape, 1) / stairs(1 << 11), 1, 0.15);
	hy_tracker_destroy(t);
}

static void
test_break_even_and_rows(void)
{
	HyTracker *t = hy_tracker_create(&hy_malloc_allocator, 100);
	HyShape shape = shape_of(100);
	HyTrackerRow row;
	int64_t at;
	int i;

	CHECK_INT(hy_tracker_break_even(t, &shape, 1, 1000000), -1);
	CHECK(!hy_tracker_row(t, 0, &row));
	for (i = 0; i < 100; i++)
	{
		shape = shape_of(INT64_C(1) << (i % 16));
		hy_tracker_record(t, &shape, 0, (uint64_t) (100 + 10 * shape.targets));
		hy_tracker_record(t, &shape, 1, (uint64_t) (20100 + 2 * shape.targets));
	}
	at = hy_tracker_break_even(t, &shape, 1, 1000000);
	CHECK_MSG(at > 2450 && at < 2550, "the break-even is %lld", (long long) at);
	CHECK_INT(hy_tracker_break_even(t, &shape, 1, 2000), -1);
	CHECK_INT(hy_tracker_break_even(t, &shape, 2, 1000000), -1);
	CHECK(hy_tracker_row(t, 0, &row));
	CHECK_INT(row.device, 0);
	CHECK_INT(row.dims_low, 512);
	CHECK_INT(row.dims_high, 1023);
	CHECK_INT(row.shape.op, HY_OP_DISTANCE);
	CHECK_INT(row.unseen, 1);
	CHECK(hy_tracker_row(t, 1, &row));
	CHECK_INT(row.device, 1);
	CHECK_INT(row.observations, 100);
	CHECK(row.samples > 60 && row.samples <= 100); /* in force: some are forgotten */
	CHECK_INT(row.unseen, 0);
	CHECK(row.known && !row.cold);
	CHECK_NEAR(row.fit.launch_ns + row.fit.serial_ns * 768, 20100, 200);
	CHECK_NEAR(row.fit.work_ns * 768 + row.fit.byte_ns * (768 * 4 + 8), 2, 0.05);
	CHECK(!hy_tracker_row(t, 2, &row));
	hy_tracker_destroy(t);
}

/*
 * The shortest time that a device ever took is its launch cost.  The shorter that is, the more of
 * the time of small tasks of another operation grows with their size.
 */
static void
test_the_least_is_the_launch(void)
{
	double large_ns[2];
	int quick;

	for (quick = 0; quick < 2; quick++)
	{
		HyTracker *t = hy_tracker_create(&hy_malloc_allocator, 100);
		HyShape small = shape_of(100);
		HyShape large = shape_of(1000000);
		HyShape other = shape_of(100);
		int i;

		other.op = HY_OP_SPREAD;
		other.dims = 0;
		for (i = 0; i < 3; i++)
		{
			hy_tracker_record(t, &other, 1, quick ? 20000 : 300000);
			hy_tracker_record(t, &small, 1, 300000);
		}
		CHECK_NEAR(hy_tracker_predict(t, &small, 1), 300000, 10000);
		large_ns[quick] = hy_tracker_predict(t, &large, 1);
		hy_tracker_destroy(t);
	}
	CHECK_MSG(large_ns[1] > 1.3 * large_ns[0], "%g and %g", large_ns[1], large_ns[0]);
}

/* A single time for a size may be an outlier: only two determine the shortest time of a device. */
static void
test_the_least_that_a_device_takes(void)
{
	HyTracker *t = hy_tracker_create(&hy_malloc_allocator, 100);
	HyShape large = shape_of(100000);
	HyShape small = shape_of(100);

	hy_tracker_record(t, &large, 1, 1000000);
	hy_tracker_record(t, &large, 1, 1000000);
	CHECK(hy_tracker_predict(t, &small, 1) < 400000);
	hy_tracker_record(t, &large, 1, 1000000);
	CHECK(hy_tracker_predict(t, &small, 1) > 500000);
	hy_tracker_destroy(t);
}

/*
 * If little was observed of a kind, observations of other kinds take effect at once; otherwise with
 * its own next observation.
 */
static void
test_other_kinds_are_heard_of(void)
{
	static const int seen[] = {25, 45};
	size_t s;
	int i;

	for (s = 0; s < 2; s++)
	{
		HyTracker *t = hy_tracker_create(&hy_malloc_allocator, 100);
		HyShape own = shape_of(1000);
		HyShape far = shape_of(500000);
		HyShape other = shape_of(1000);
		double before;

		other.dims = 64;
		for (i = 0; i < seen[s]; i++)
			hy_tracker_record(t, &own, 1, 50000);
		before = hy_tracker_predict(t, &far, 1);
		for (i = 0; i < 50; i++)
		{
			other.targets = INT64_C(1000) << i % 8;
			hy_tracker_record(t, &other, 1, 20000 + 3 * (uint64_t) other.targets);
		}
		if (s == 0)
			CHECK(hy_tracker_predict(t, &far, 1) > 1.1 * before);
		else
			CHECK_SAME_F64(hy_tracker_predict(t, &far, 1), before);
		hy_tracker_record(t, &own, 1, 50000);
		CHECK(hy_tracker_predict(t, &far, 1) > 1.1 * before);
		hy_tracker_destroy(t);
	}
}

int
main(void)
{
	UNIT_RUN(test_other_sizes_by_the_regression);
	UNIT_RUN(test_sizes_seen_correct_the_regression);
	UNIT_RUN(test_break_even_and_rows);
	UNIT_RUN(test_the_least_is_the_launch);
	UNIT_RUN(test_the_least_that_a_device_takes);
	UNIT_RUN(test_other_kinds_are_heard_of);
	return unit_finish();
}
