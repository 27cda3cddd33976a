/*
 * calibration_test.c
 *		Priors: measured within bounds, kept as numbers, and of use to who knows nothing yet.
 */
#include "dispatch/calibration.h"

#include "dispatch/explain.h"
#include "unit.h"
#include "virtual_cpu.h"

extern const HyBackend *hy_plugin_entry(const HyHost *host);

static UnitClock unit_clock;
static UnitMemory memory;
static const char *faults;
static HyPrior priors[HY_CALIBRATION_PRIORS];
static int32_t count;

static const char *
setting(void *arg, const char *name)
{
	(void) arg;
	if (strcmp(name, "emulated_faults") == 0)
		return faults;
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
	virtual_cpu_state = 1234567;
	unit_clock_init(&unit_clock, 1000000);
	unit_memory_init(&memory, 0);
}

static HyStatus
calibrate(HyExecutor *executor, uint64_t time_ns, const HyCancel *cancel)
{
	HyCalibrationLimits limits = {
		.allocator = &memory.allocator, .cancel = cancel, .memory = 1 << 20, .time_ns = time_ns};

	return hy_calibrate(executor, &limits, priors, &count);
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
	/* one task may have begun before the end of it */
	CHECK_MSG(unit_clock.time - since < 3000000, "it took %llu ns",
	          (unsigned long long) (unit_clock.time - since));
	all = count;
	CHECK_INT(calibrate(executor, 1000000000, NULL), HY_OK);
	CHECK(count > all);
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
	HyPrior odd;
	HyExecutor *executor;

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
	odd.model.weight = 0;
	CHECK(!hy_executor_import_prior(executor, &odd));
	hy_executor_destroy(executor);
	CHECK_INT(memory.outstanding, 0);
}

int
main(void)
{
	UNIT_RUN(test_priors_route_the_first_tasks);
	UNIT_RUN(test_time_is_bounded);
	UNIT_RUN(test_cancel_and_memory);
	UNIT_RUN(test_a_device_that_fails);
	UNIT_RUN(test_nonsense_is_not_imported);
	return unit_finish();
}
