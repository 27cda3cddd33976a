/*
 * calibration_test.c
 *		Priors: measured within bounds, stored as numbers, and useful to a tracker without
 *		history.
 */
#include "dispatch/tools/calibration.h"

#include "dispatch/model/tracker_forecast.h"
#include "dispatch/tools/explain.h"
#include "unit.h"
#include "virtual_cpu.h"

extern const HyBackend *hy_plugin_entry(const HyHost *host);

static UnitClock unit_clock;
static UnitMemory memory;
static const char *faults;
static const char *launch_us;
static const char *memory_mb;
static HyPrior priors[HY_CALIBRATION_PRIORS];
static int32_t count;
static uint32_t unfinished;
static uint64_t bytes; /* of the made-up data */

static const char *
setting(void *arg, const char *name)
{
	(void) arg;
	if (strcmp(name, "emulated_faults") == 0)
		return faults;
	if (strcmp(name, "emulated_launch_us") == 0)
		return launch_us;
	if (strcmp(name, "emulated_memory_mb") == 0)
		return memory_mb;
	return NULL;
}

static HyExecutor *
new_executor(bool with_device)
{
	static HyHost host;
	HyExecutor *executor;

	host = (HyHost){.abi = HY_BACKEND_ABI,
	                .clock = &unit_clock.clock,
	                .allocator = &hy_malloc_allocator,
	                .setting = setting};
	CHECK_INT(hy_executor_create(&memory.allocator, &unit_clock.clock, NULL, &executor), HY_OK);
	if (with_device)
		CHECK_INT(hy_executor_add_backend(executor, hy_plugin_entry(&host)), HY_OK);
	virtual_cpu_use(executor, &unit_clock.clock);
	return executor;
}

static void
begin(void)
{
	faults = NULL;
	launch_us = NULL;
	memory_mb = NULL;
	bytes = 2 << 20;
	virtual_cpu_state = 1234567;
	unit_clock_init(&unit_clock, 1000000);
	unit_memory_init(&memory, 0);
}

static HyStatus
calibrate(HyExecutor *executor, uint64_t time_ns, const HyCancel *cancel)
{
	HyCalibrationLimits limits = {
		.allocator = &memory.allocator, .cancel = cancel, .memory = bytes, .time_ns = time_ns};

	return hy_calibrate(executor, &limits, priors, &count, &unfinished);
}

static void
test_priors_route_the_first_tasks(void)
{
	static const int64_t sizes[] = {64, 500, 3000};
	HyExecutor *executor;
	HyExecutor *other;
	HyTrackerRow row;
	int i;

	begin();
	executor = new_executor(true);
	CHECK_INT(calibrate(executor, 0, NULL), HY_OK);
	CHECK(count > 100 && count <= HY_CALIBRATION_PRIORS);
	CHECK(executor->member[1].device != NULL);
	/* history was not told, nor anything counted */
	CHECK(!hy_tracker_row(hy_executor_tracker(executor), 0, &row));
	CHECK_INT(hy_executor_counters(executor, 1, HY_OP_DISTANCE)->calls, 0);

	other = new_executor(true);
	for (i = 0; i < count; i++)
		CHECK(hy_executor_import_prior(other, &priors[i]));
	for (i = 0; i < 3; i++)
	{
		HyShape shape = {
			.op = HY_OP_DISTANCE, .metric = HY_METRIC_COSINE, .dims = 700, .queries = 16};
		double cpu;
		double device;

		shape.targets = sizes[i];
		cpu = hy_tracker_predict(hy_executor_tracker(other), &shape, 0);
		device = hy_tracker_predict(hy_executor_tracker(other), &shape, 1);
		CHECK_MSG(cpu > 0.5 * virtual_cpu_ns(&shape) && cpu < 2 * virtual_cpu_ns(&shape),
		          "the CPU is said to take %g, and takes %g", cpu, virtual_cpu_ns(&shape));
		CHECK(device > 0);
		{
			double truth = (double) executor->member[1].backend->estimate(NULL, &shape).virtual_ns;

			CHECK_MSG(device > 0.6 * truth && device < 1.6 * truth,
			          "the device is said to take %g, and takes %g", device, truth);
		}
	}
	hy_executor_destroy(executor);
	hy_executor_destroy(other);
	CHECK_INT(memory.outstanding, 0);
}

/*
 * The CPU of the test takes three times as long per element beyond 24 MB.  A law of a few terms
 * does not describe this, and a session of only small tasks must not make the tracker forget it.
 */
static void
test_small_tasks_do_not_unlearn_where_caches_end(void)
{
	HyShape small = {.op = HY_OP_DISTANCE, .dims = 768, .queries = 1, .targets = 200};
	HyShape large = {.op = HY_OP_DISTANCE, .dims = 768, .queries = 1, .targets = 15000};
	HyExecutor *executor;
	HyTracker *tracker;
	UnitRandom random = {11};
	double truth = virtual_cpu_ns(&large);
	double said;
	int i;

	begin();
	bytes = 64 << 20;
	executor = new_executor(false);
	CHECK_INT(calibrate(executor, 0, NULL), HY_OK);
	for (i = 0; i < count; i++)
		CHECK(hy_executor_import_prior(executor, &priors[i]));
	tracker = executor->tracker;
	said = hy_tracker_predict(tracker, &large, 0);
	CHECK_MSG(said > 0.8 * truth && said < 1.25 * truth, "at first %g, truly %g", said, truth);
	for (i = 0; i < 2000; i++)
		hy_tracker_record(
			tracker, &small, 0,
			(uint64_t) (virtual_cpu_ns(&small) * (0.9 + 0.2 * unit_random_unit(&random))));
	said = hy_tracker_predict(tracker, &large, 0);
	CHECK_MSG(said > 0.8 * truth && said < 1.25 * truth, "then %g, truly %g", said, truth);
	hy_executor_destroy(executor);
	CHECK_INT(memory.outstanding, 0);
}

/* work from which a task runs on three threads, which are only 1.5 times as fast as one */
#define SHARED_WORK 1e5

static bool
shared(const HyShape *shape)
{
	return (double) shape->queries * (double) shape->targets * shape->dims >= SHARED_WORK;
}

static int32_t
shared_expect(void *arg, const HyShape *shape)
{
	(void) arg;
	return shared(shape) ? 3 : 1;
}

static const HyLender shared_lender = {.expect = shared_expect};

static HyEstimate
shared_estimate(const HyDevice *device, const HyShape *shape)
{
	HyEstimate estimate = virtual_cpu_estimate(device, shape);

	estimate.threads = shared_expect(NULL, shape);
	return estimate;
}

static HyStatus
shared_submit(HyDevice *device, const HyTask *task, HyTicket *ticket)
{
	const HyLender *lender = hy_backend_cpu_lend(NULL);
	HyShape shape = hy_task_shape(task);
	uint64_t since = unit_clock.time;
	HyStatus status = virtual_cpu_submit(device, task, ticket);

	(void) hy_backend_cpu_lend(lender);
	if (lender == &shared_lender && shared(&shape))
		unit_clock.time = since + (unit_clock.time - since) * 2 / 3;
	return status;
}

/*
 * The time of three threads is measured, not assumed to be a third of the time of one thread.
 * Small tasks run on one thread.  Predictions for one thread do not change.
 */
static void
test_threads_are_measured(void)
{
	static const int64_t sizes[] = {500, 1000, 2000};
	HyExecutor *executor;
	int many = 0;
	int alone = 0;
	int i;

	begin();
	bytes = 8 << 20;
	executor = new_executor(false);
	virtual_cpu.submit = shared_submit;
	virtual_cpu.estimate = shared_estimate;
	(void) hy_backend_cpu_lend(&shared_lender);
	CHECK_INT(calibrate(executor, 0, NULL), HY_OK);
	CHECK(hy_backend_cpu_lend(NULL) == &shared_lender);
	for (i = 0; i < count; i++)
	{
		CHECK(hy_executor_import_prior(executor, &priors[i]));
		many += priors[i].device == 0 && priors[i].shape.threads == 2;
		alone += priors[i].device == 0 && priors[i].shape.threads == 1;
	}
	/* here, every kind except spreading has tasks on three threads */
	CHECK_INT(many, alone - 1);
	for (i = 0; i < 3; i++)
	{
		HyShape shape = {.op = HY_OP_DISTANCE, .dims = 768, .queries = 1, .targets = sizes[i]};
		double truth = virtual_cpu_ns(&shape);
		double said = hy_tracker_predict(executor->tracker, &shape, 0);

		CHECK_MSG(said > 0.75 * truth && said < 1.33 * truth, "alone: %g, truly %g", said, truth);
		shape.threads = 3;
		truth /= 1.5;
		said = hy_tracker_predict(executor->tracker, &shape, 0);
		CHECK_MSG(said > 0.75 * truth && said < 1.33 * truth, "on three threads: %g, truly %g",
		          said, truth);
	}
	hy_executor_destroy(executor);
	CHECK_INT(memory.outstanding, 0);
}

/* A calibration has priors of every operation, for the CPU and for the device. */
static void
test_every_operation_is_measured(void)
{
	HyExecutor *executor;
	int found[HY_OP_COUNT][2] = {{0}};
	int op;
	int i;

	begin();
	executor = new_executor(true);
	CHECK_INT(calibrate(executor, 0, NULL), HY_OK);
	for (i = 0; i < count; i++)
		found[priors[i].shape.op][priors[i].device]++;
	for (op = 0; op < HY_OP_COUNT; op++)
		CHECK_MSG(found[op][0] > 0 && found[op][1] > 0, "%s: %d and %d", hy_op_name((HyOp) op),
		          found[op][0], found[op][1]);
	hy_executor_destroy(executor);
	CHECK_INT(memory.outstanding, 0);
}

/* The session's own observations count; for other sizes the prior is used, even without its law. */
static void
test_sizes_that_were_not_seen_are_taken(void)
{
	HyPrior prior = {.device = 0,
	                 .shape = {.op = HY_OP_DISTANCE, .dims = 64, .queries = 1, .targets = 16},
	                 .sizes = 2,
	                 .size = {{.queries = 1, .targets = 1000, .ns = 5e5},
	                          {.queries = 1, .targets = 100000, .ns = 9e7}}};
	HyShape seen = {.op = HY_OP_DISTANCE, .dims = 64, .queries = 1, .targets = 1000};
	HyShape unseen = {.op = HY_OP_DISTANCE, .dims = 64, .queries = 1, .targets = 100000};
	HyExecutor *executor;
	int i;

	begin();
	executor = new_executor(false);
	for (i = 0; i < 20; i++)
		hy_tracker_record(executor->tracker, &seen, 0, 10000);
	CHECK(hy_executor_import_prior(executor, &prior));
	CHECK_NEAR(hy_tracker_predict(executor->tracker, &seen, 0), 10000, 3000);
	CHECK_NEAR(hy_tracker_predict(executor->tracker, &unseen, 0) / 9e7, 1, 0.7);
	CHECK(hy_tracker_predict(executor->tracker, &unseen, 0) > 2e7);
	/* told twice is told once */
	CHECK(!hy_executor_import_prior(executor, &prior));
	hy_executor_destroy(executor);
	CHECK_INT(memory.outstanding, 0);
}

static void
test_time_is_bounded(void)
{
	HyExecutor *executor;
	uint64_t since;
	int32_t all;

	begin();
	executor = new_executor(true);
	since = unit_clock.time;
	CHECK_INT(calibrate(executor, 2000000, NULL), HY_OK);
	CHECK(count > 0);
	/* of either side, and one task may have begun before the end of it */
	CHECK_MSG(unit_clock.time - since < 8000000, "it took %llu ns",
	          (unsigned long long) (unit_clock.time - since));
	CHECK_INT(unfinished, 3);
	all = count;
	CHECK_INT(calibrate(executor, 1000000000, NULL), HY_OK);
	CHECK(count > all);
	CHECK_INT(unfinished, 0);
	hy_executor_destroy(executor);
	CHECK_INT(memory.outstanding, 0);
}

/*
 * On a device whose launch takes 20 ms there is time for only a few sizes.  Either its laws
 * describe the device correctly, or there are none.
 */
static void
test_a_slow_device_gets_no_guess(void)
{
	HyExecutor *executor;
	int laws = 0;
	int i;

	begin();
	launch_us = "20000";
	bytes = 16 << 20;
	executor = new_executor(true);
	CHECK_INT(calibrate(executor, UINT64_C(6000000000), NULL), HY_OK);
	CHECK_INT(unfinished, 2);
	for (i = 0; i < count; i++)
	{
		HyExecutor *fresh = new_executor(true);
		HyShape shape = priors[i].shape;
		double said;
		double truth;

		if (priors[i].device == 1 && shape.op != HY_OP_SPREAD)
		{
			laws++;
			shape.targets = (64 << 20) / 4 / shape.dims;
			CHECK(hy_executor_import_prior(fresh, &priors[i]));
			said = hy_tracker_predict(fresh->tracker, &shape, 1);
			truth = (double) fresh->member[1].backend->estimate(NULL, &shape).virtual_ns;
			CHECK_MSG(said > truth / 8 && said < 8 * truth, "%s, %d dims: %g, truly %g",
			          hy_op_name(shape.op), (int) shape.dims, said, truth);
		}
		hy_executor_destroy(fresh);
	}
	CHECK(laws > 10);
	hy_executor_destroy(executor);
	CHECK_INT(memory.outstanding, 0);
}

/*
 * A size that does not fit into a device is not tried there; smaller ones are, whether or not the
 * largest comes first.
 */
static void
test_a_device_with_little_memory(void)
{
	HyExecutor *executor;
	int found = 0;
	int i;
	int j;

	begin();
	memory_mb = "12"; /* of which 80% are for tasks */
	bytes = 24 << 20;
	executor = new_executor(true);
	CHECK_INT(calibrate(executor, UINT64_C(60000000000), NULL), HY_OK);
	CHECK_INT(unfinished, 0);
	for (i = 0; i < count; i++)
	{
		if (priors[i].device != 1 || priors[i].shape.op == HY_OP_SPREAD)
			continue;
		found++;
		CHECK(priors[i].sizes >= (priors[i].shape.dims <= 768 ? 7 : 4));
		for (j = 0; j < priors[i].sizes; j++)
			CHECK(priors[i].size[j].targets * priors[i].shape.dims *
			          (priors[i].shape.op == HY_OP_SCORE_CODES ? 0.125 : 4) <
			      9700000);
	}
	CHECK_INT(found, (2 * HY_METRIC_COUNT + 2) * 7);
	hy_executor_destroy(executor);
	CHECK_INT(memory.outstanding, 0);
}

/* A calibration replaces an earlier one, law and sizes, if nothing was observed since. */
static void
test_a_second_calibration(void)
{
	HyPrior prior = {.device = 0,
	                 .shape = {.op = HY_OP_DISTANCE, .dims = 64, .queries = 1, .targets = 16},
	                 .sizes = 1,
	                 .size = {{.queries = 1, .targets = 1000, .ns = 5e5}}};
	HyShape shape = {.op = HY_OP_DISTANCE, .dims = 64, .queries = 1, .targets = 1000};
	HyExecutor *executor;
	HyTrackerRow row;
	int i;

	begin();
	executor = new_executor(false);
	hy_model_count(&prior.model, hy_cost_terms(&shape, true), 5e5, 9);
	for (i = 0; i < 30; i++)
		CHECK(hy_executor_import_prior(executor, &prior));
	CHECK(hy_tracker_row(executor->tracker, 0, &row));
	CHECK_NEAR(row.samples, 9, 1e-9);
	CHECK_NEAR(hy_tracker_predict(executor->tracker, &shape, 0) / 5e5, 1, 0.1);
	memset(&prior.model, 0, sizeof(prior.model));
	hy_model_count(&prior.model, hy_cost_terms(&shape, true), 2e4, 9);
	prior.size[0].ns = 2e4;
	CHECK(hy_executor_import_prior(executor, &prior));
	CHECK_NEAR(hy_tracker_predict(executor->tracker, &shape, 0) / 2e4, 1, 0.1);
	/* but not that of what was seen */
	for (i = 0; i < 50; i++)
		hy_tracker_record(executor->tracker, &shape, 0, 20000);
	prior.size[0].ns = 5e5;
	CHECK(hy_executor_import_prior(executor, &prior));
	CHECK(hy_tracker_row(executor->tracker, 0, &row));
	CHECK(row.samples > 40);
	CHECK_NEAR(hy_tracker_predict(executor->tracker, &shape, 0) / 2e4, 1, 0.2);
	hy_executor_destroy(executor);
	CHECK_INT(memory.outstanding, 0);
}

static void
test_cancel_and_memory(void)
{
	UnitCancel cancel;
	HyExecutor *executor;
	uint64_t since;

	begin();
	executor = new_executor(true);
	unit_cancel_init(&cancel, 5);
	CHECK_INT(calibrate(executor, 0, &cancel.cancel), HY_CANCELLED);
	CHECK_INT(count, 0);
	/* nothing is measured any more */
	unit_cancel_init(&cancel, 1);
	since = unit_clock.time;
	CHECK_INT(calibrate(executor, 0, &cancel.cancel), HY_CANCELLED);
	CHECK_INT(unit_clock.time - since, 0);
	memory.fail_at = memory.calls + 1;
	CHECK_INT(calibrate(executor, 0, NULL), HY_NOMEM);
	memory.fail_at = memory.calls + 3;
	CHECK_INT(calibrate(executor, 0, NULL), HY_NOMEM);
	hy_executor_destroy(executor);
	CHECK_INT(memory.outstanding, 0);
}

static void
test_a_device_that_fails(void)
{
	HyExecutor *executor;
	int i;

	begin();
	executor = new_executor(true);
	faults = "fail_at=30,status=transient";
	CHECK_INT(calibrate(executor, 0, NULL), HY_OK);
	for (i = 0; i < count; i++)
	{
		if (priors[i].device == 1)
			CHECK(priors[i].model.weight < 30);
	}
	/* no breaker was told */
	CHECK(hy_breaker_rate(&executor->member[1].breakers[HY_OP_DISTANCE]) == 1);
	hy_executor_destroy(executor);
	executor = new_executor(false);
	CHECK_INT(calibrate(executor, 0, NULL), HY_OK);
	CHECK(count > 50);
	for (i = 0; i < count; i++)
		CHECK_INT(priors[i].device, 0);
	hy_executor_destroy(executor);
	CHECK_INT(memory.outstanding, 0);
}

static void
test_nonsense_is_not_imported(void)
{
	HyPrior prior = {.device = 1,
	                 .shape = {.op = HY_OP_TOPK, .dims = 64, .queries = 1, .targets = 16, .k = 1},
	                 .model = {.information = {1e-6}, .response = {1e-3}, .weight = 5}};
	static const HyPriorSize sizes[] = {{.queries = 0, .targets = 9, .k = 1, .ns = 1000},
	                                    {.queries = 1, .targets = -9, .k = 1, .ns = 1000},
	                                    {.queries = 1, .targets = 9, .k = 0, .ns = 1000},
	                                    {.queries = 1, .targets = 9, .k = 1, .ns = NAN},
	                                    {.queries = 1, .targets = 9, .k = 1, .ns = -1},
	                                    {.queries = 1, .targets = 9, .k = 1, .ns = INFINITY}};
	HyPrior odd;
	HyExecutor *executor;
	int i;

	begin();
	executor = new_executor(true);
	CHECK(hy_executor_import_prior(executor, &prior));
	odd = prior;
	odd.device = 2;
	CHECK(!hy_executor_import_prior(executor, &odd));
	odd.device = -1;
	CHECK(!hy_executor_import_prior(executor, &odd));
	odd = prior;
	odd.shape.op = (HyOp) 99;
	CHECK(!hy_executor_import_prior(executor, &odd));
	odd = prior;
	odd.shape.dims = HY_MAX_DIMS + 1;
	CHECK(!hy_executor_import_prior(executor, &odd));
	odd = prior;
	odd.model.response[0] = NAN;
	CHECK(!hy_executor_import_prior(executor, &odd));
	odd = prior;
	odd.model.information[0] = 1e-200; /* finite, and its solution is not */
	odd.model.response[0] = 1e200;
	CHECK(!hy_executor_import_prior(executor, &odd));
	odd = prior;
	odd.model.weight = 0;
	CHECK(!hy_executor_import_prior(executor, &odd));
	for (i = 0; i < (int) (sizeof(sizes) / sizeof(sizes[0])); i++)
	{
		odd.sizes = 1;
		odd.size[0] = sizes[i];
		CHECK_MSG(!hy_executor_import_prior(executor, &odd), "size %d", i);
	}
	hy_executor_destroy(executor);
	CHECK_INT(memory.outstanding, 0);
}

static int runs;
static int submits;

static HyStatus
submit_of_three_speeds(HyDevice *device, const HyTask *task, HyTicket *ticket)
{
	uint64_t since = unit_clock.time;
	HyStatus st = virtual_cpu_submit(device, task, ticket);

	unit_clock.time = since + 100000 * (uint64_t) (1 + runs++ % 3);
	return st;
}

/* Of three runs that take 1, 2 and 3 times as long, the mean is kept. */
static void
test_a_size_is_the_mean_of_its_runs(void)
{
	HyExecutor *executor;
	int i;
	int j;

	begin();
	executor = new_executor(false);
	virtual_cpu.submit = submit_of_three_speeds;
	runs = 0;
	CHECK_INT(calibrate(executor, UINT64_C(60000000000), NULL), HY_OK);
	CHECK(count > 50);
	for (i = 0; i < count; i++)
	{
		/* the first of all was set aside */
		CHECK_NEAR(priors[i].size[0].ns, 250000, 1);
		for (j = 1; j < priors[i].sizes; j++)
			CHECK_NEAR(priors[i].size[j].ns, 200000, 1);
	}
	hy_executor_destroy(executor);
	CHECK_INT(memory.outstanding, 0);
}

static HyStatus
submit_that_fails(HyDevice *device, const HyTask *task, HyTicket *ticket)
{
	(void) device;
	(void) task;
	(void) ticket;
	submits++;
	return HY_TRANSIENT;
}

/*
 * A device that has failed is skipped for the rest of the calibration, and so is one that waits
 * after a failure.
 */
static void
test_a_device_that_failed_is_left_alone(void)
{
	HyExecutor *executor;
	HyBackend backend;
	int i;

	begin();
	executor = new_executor(true);
	backend = *executor->member[1].backend;
	backend.submit = submit_that_fails;
	executor->member[1].backend = &backend;
	submits = 0;
	CHECK_INT(calibrate(executor, 0, NULL), HY_OK);
	CHECK_INT(submits, 1);
	CHECK(count > 50);
	hy_executor_destroy(executor);

	executor = new_executor(true);
	executor->member[1].open_after_ns = UINT64_MAX;
	CHECK_INT(calibrate(executor, 0, NULL), HY_OK);
	CHECK(executor->member[1].device == NULL);
	CHECK(count > 50);
	for (i = 0; i < count; i++)
		CHECK_INT(priors[i].device, 0);
	hy_executor_destroy(executor);
	CHECK_INT(memory.outstanding, 0);
}

int
main(void)
{
	UNIT_RUN(test_priors_route_the_first_tasks);
	UNIT_RUN(test_small_tasks_do_not_unlearn_where_caches_end);
	UNIT_RUN(test_threads_are_measured);
	UNIT_RUN(test_every_operation_is_measured);
	UNIT_RUN(test_sizes_that_were_not_seen_are_taken);
	UNIT_RUN(test_time_is_bounded);
	UNIT_RUN(test_a_slow_device_gets_no_guess);
	UNIT_RUN(test_a_device_with_little_memory);
	UNIT_RUN(test_a_second_calibration);
	UNIT_RUN(test_cancel_and_memory);
	UNIT_RUN(test_a_device_that_fails);
	UNIT_RUN(test_nonsense_is_not_imported);
	UNIT_RUN(test_a_size_is_the_mean_of_its_runs);
	UNIT_RUN(test_a_device_that_failed_is_left_alone);
	return unit_finish();
}
