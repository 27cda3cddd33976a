/*
 * emulated_model_test.c
 *		The time that the emulated device claims to take.
 */
#include "emulated_stage.h"

/* time_of: return the time of the n-th run of rows items. */
static uint64_t
time_of(int64_t rows, int n)
{
	HyDevice *device = open_device(0);
	HyTask task = task_of(rows);
	HyTimings timings = {0};
	bool done;
	int i;

	for (i = 0; i < n; i++)
		CHECK_INT(run(device, &task, &done, &timings), HY_OK);
	device_of->close(device);
	return timings.total_ns;
}

static void
test_law_of_time(void)
{
	begin();
	set("emulated_bandwidth_gbs", "0");
	CHECK(time_of(100, 1) > 5 * time_of(100, 2)); /* warm-up */
	CHECK_INT(time_of(100, 3), time_of(100, 3));  /* the same on every machine and day */
	CHECK(time_of(100, 3) != time_of(100, 4));    /* jitter */
	CHECK_NEAR((double) time_of(100, 3), (double) time_of(100, 4), 0.25 * time_of(100, 4));
	set("emulated_launch_us", "2000");
	CHECK(time_of(100, 2) > 1700000);
	set("emulated_launch_us", "0");
	set("emulated_rate_gflops", "1");
	CHECK(time_of(100, 2) > 1000000); /* one wave of 40,960 items of 96 flop: 3.9 ms */
	CHECK_NEAR((double) time_of(100, 2), (double) time_of(900, 2), 1); /* still the same wave */
	set("emulated_rate_gflops", "1000000");
	set("emulated_bandwidth_gbs", "0.001");
	CHECK(time_of(ROWS, 2) > UINT64_C(128000) * 1000 * 0.9); /* 128 kB at 1 kB/ms */
}

static void
test_profiles(void)
{
	HyDevice *device;
	uint64_t plain;
	int failed = 0;
	int i;

	begin();
	plain = time_of(100, 2);
	set("emulated_launch_us", "7777"); /* a profile takes its place */
	set("emulated_profile", "pcie");
	CHECK_INT(time_of(100, 2), plain);
	set("emulated_profile", "integrated");
	CHECK_NEAR((double) time_of(100, 2), 5000 + 40960 * 96 / 400.0, 0.11 * (5000 + 9830));
	set("emulated_profile", "");
	CHECK(time_of(100, 2) > 7000000);
	set("emulated_profile", "bad");
	device = open_device(0);
	for (i = 0; i < 400; i++)
		failed += run_status(device, 10) == HY_TRANSIENT;
	CHECK(failed > 15 && failed < 80);
	set("emulated_faults", "fail_at=99999"); /* the user's own faults */
	for (i = 0; i < 100; i++)
		CHECK_INT(run_status(device, 10), HY_OK);
	device_of->close(device);
	CHECK(time_of(100, 2) > 300000 * 0.9 + 40960 * 96 / 25 * 0.9);
}

int
main(void)
{
	UNIT_RUN(test_law_of_time);
	UNIT_RUN(test_profiles);
	return unit_finish();
}
