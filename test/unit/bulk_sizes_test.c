/*
 * bulk_sizes_test.c
 *		The amount that each lane of a bulk job takes: no pair of speeds, known or not, may lose
 *		much compared with the better side alone, and pieces fit into the available memory.
 */
#include "bulk_stage.h"

static double
alone(int64_t rows, int32_t device)
{
	if (device == 0)
		return stage.cpu_item_ns * (double) rows;
	return stage.device_launch_ns + stage.device_item_ns * (double) rows;
}

static void
test_split_of_any_two_sides(void)
{
	static const double ratios[] = {0.01, 0.05, 0.1, 0.25, 0.5, 0.8, 1.2, 2, 4, 10, 20, 100};
	static const int sizes[] = {2000, 20000, 100000, 400000};
	size_t r;
	size_t s;

	for (r = 0; r < sizeof(ratios) / sizeof(ratios[0]); r++)
	{
		for (s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
		{
			double better;
			double ns;

			stage_begin(1);
			stage.device_item_ns = 100 * ratios[r];
			stage_teach(stage.executor, 1);
			better =
				alone(sizes[s], 0) < alone(sizes[s], 1) ? alone(sizes[s], 0) : alone(sizes[s], 1);
			ns = bulk(sizes[s], (HyBulkPlan){2, true, true, -1});
			CHECK_MSG(better / ns >= 0.95, "device %g times slower, %d rows: %.3f times the better",
			          ratios[r], sizes[s], better / ns);
			stage_end();
		}
	}
}

/* Without history each side first shows its speed on a part of the work. */
static void
test_split_of_unknown_sides(void)
{
	static const double ratios[] = {0.05, 0.5, 1, 2, 20};
	size_t r;

	for (r = 0; r < sizeof(ratios) / sizeof(ratios[0]); r++)
	{
		double better;
		double ns;

		stage_begin(1);
		stage.device_item_ns = 100 * ratios[r];
		better = alone(200000, 0) < alone(200000, 1) ? alone(200000, 0) : alone(200000, 1);
		ns = bulk(200000, (HyBulkPlan){2, true, true, -1});
		CHECK_MSG(better / ns >= 0.8, "device %g times slower: %.3f times the better", ratios[r],
		          better / ns);
		if (ratios[r] == 1)
			CHECK_MSG(better / ns >= 1.7, "equal: %.3f times", better / ns);
		stage_end();
	}
}

static int64_t most_in_flight;

static HyEstimate
counting_estimate(const HyDevice *device, const HyShape *shape)
{
	int64_t in_flight = 0;
	int i;

	for (i = 0; i < STAGE_TICKETS; i++)
	{
		HyShape one = hy_task_shape(&stage.tickets[i].task);

		if (stage.tickets[i].number != 0)
			in_flight += hy_shape_items(&one);
	}
	if (in_flight > most_in_flight)
		most_in_flight = in_flight;
	return stage_estimate(device, shape);
}

static void
test_pieces_that_fit_the_memory(void)
{
	HyBackend backend = stage_backend;

	stage_begin(0);
	stage.devices = 1;
	backend.estimate = counting_estimate;
	CHECK_INT(hy_executor_add_backend(stage.executor, &backend), HY_OK);
	most_in_flight = 0;
	stage.free_bytes = 10000; /* 80%: 1000 items of 8 bytes, two pieces of 500 at once */
	stage_teach(stage.executor, 1);
	bulk(20300, (HyBulkPlan){2, false, true, -1});
	CHECK_INT(report.status, HY_OK);
	CHECK_INT(report.rows[1], 20300);
	CHECK_INT(report.pieces, 41);
	CHECK_MSG(most_in_flight == 1000 || most_in_flight == 500, "%lld items at once",
	          (long long) most_in_flight);
	stage.config.queue_depth = 1;
	bulk(20300, (HyBulkPlan){2, false, true, -1});
	CHECK_INT(report.pieces, 21);
	stage.config.memory_limit = 800;
	bulk(1000, (HyBulkPlan){2, false, true, -1});
	CHECK_INT(report.pieces, 10);
	/* not even the smallest */
	stage.config.memory_limit = 7;
	bulk(1000, (HyBulkPlan){2, false, true, -1});
	CHECK_INT(report.status, HY_OK);
	CHECK_INT(report.first, HY_NOMEM);
	CHECK_INT(report.rows[0], 1000);
	bulk(1000, (HyBulkPlan){2, false, false, -1});
	CHECK_INT(report.status, HY_NOMEM);
	bulk(1000, (HyBulkPlan){0, false, true, -1});
	CHECK_INT(report.status, HY_UNSUPPORTED);
	stage_end();
}

int
main(void)
{
	UNIT_RUN(test_split_of_any_two_sides);
	UNIT_RUN(test_split_of_unknown_sides);
	UNIT_RUN(test_pieces_that_fit_the_memory);
	return unit_finish();
}
