/*
 * audit_test.c
 *		The audit finds what is routed wrong, and after a short life little is.
 */
#include "dispatch/audit.h"

#include "dispatch/workload.h"
#include "unit.h"
#include "virtual_cpu.h"

extern const HyBackend *hy_plugin_entry(const HyHost *host);

static UnitClock unit_clock;
static UnitMemory memory;
static HyExecutor *executor;
static const char *profile;
static HyAuditRow rows[HY_AUDIT_SHAPES];

static const char *
setting(void *arg, const char *name)
{
	(void) arg;
	if (strcmp(name, "emulated_profile") == 0)
		return profile;
	if (strcmp(name, "emulated_memory_mb") == 0)
		return "65536";
	return NULL;
}

static void
begin(const char *name)
{
	static HyHost host;
	HyConfig config;

	profile = name;
	unit_clock_init(&unit_clock, 1000000);
	unit_memory_init(&memory, 0);
	host = (HyHost){.abi = HY_BACKEND_ABI,
	                .clock = &unit_clock.clock,
	                .allocator = &hy_malloc_allocator,
	                .setting = setting};
	virtual_cpu_state = 1234567;
	CHECK_INT(hy_executor_create(&memory.allocator, &unit_clock.clock, NULL, &executor), HY_OK);
	if (name != NULL)
		CHECK_INT(hy_executor_add_backend(executor, hy_plugin_entry(&host)), HY_OK);
	virtual_cpu_use(executor, &unit_clock.clock);
	hy_config_default(&config);
	config.timeout_ns = 0;
	config.success_threshold = 0.85;
	hy_executor_configure(executor, &config);
}

static void
end(void)
{
	hy_executor_destroy(executor);
	CHECK_INT(memory.outstanding, 0);
}

/* live: so many mixed calls, none of more than 2 * 10^6 products. */
static void
live(int calls)
{
	static const int32_t dims[] = {64, 100, 768, 1000, 4096, 5000};
	static const HyOp ops[] = {HY_OP_DISTANCE, HY_OP_TOPK, HY_OP_SPREAD};
	UnitRandom random = {88172645463325252u};
	HyWorkload *workload;
	int i;

	CHECK_INT(hy_workload_create(&hy_malloc_allocator, NULL, 16 << 20, &workload), HY_OK);
	for (i = 0; i < calls; i++)
	{
		HyShape shape = {.dtype = HY_F32, .metric = HY_METRIC_L2};
		HyTask task;

		do
		{
			shape.op = ops[unit_random_below(&random, 3)];
			shape.dims = shape.op == HY_OP_SPREAD ? 0 : dims[unit_random_below(&random, 6)];
			shape.queries =
				unit_random_below(&random, 2) ? 1 : 1 + (int64_t) unit_random_below(&random, 32);
			shape.targets = (int64_t) (8 * exp(unit_random_unit(&random) * log(125000)));
			shape.k = shape.op == HY_OP_TOPK ? 10 : 0;
		} while (hy_cost_terms(&shape, true).work > (shape.op == HY_OP_SPREAD ? 4e4 : 2e6));
		CHECK(hy_workload_task(workload, &shape, &task));
		CHECK_INT(hy_dispatch(executor, &task, NULL), HY_OK);
	}
	hy_workload_destroy(workload);
}

static HyStatus
audit_now(HyAudit *audit)
{
	HyAuditLimits limits = {.allocator = &memory.allocator, .memory = 1 << 20};

	return hy_audit(executor, &limits, rows, audit);
}

static void
test_the_grid(void)
{
	HyShape shapes[HY_AUDIT_SHAPES];
	int32_t count = hy_audit_grid(shapes);
	int64_t most = 0;
	int64_t least = INT64_MAX;
	bool dims[3] = {false};
	int32_t i;
	int32_t j;

	CHECK(count >= 200 && count <= HY_AUDIT_SHAPES);
	for (i = 0; i < count; i++)
	{
		if (shapes[i].targets > most)
			most = shapes[i].targets;
		if (shapes[i].targets < least)
			least = shapes[i].targets;
		dims[0] = dims[0] || shapes[i].dims == 64;
		dims[1] = dims[1] || shapes[i].dims == 768;
		dims[2] = dims[2] || shapes[i].dims == 4096;
		for (j = 0; j < i; j++)
			CHECK(memcmp(&shapes[i], &shapes[j], sizeof(HyShape)) != 0);
	}
	CHECK_INT(least, 8);
	CHECK_INT(most, 1000000);
	CHECK(dims[0] && dims[1] && dims[2]);
}

static void
test_without_a_device(void)
{
	HyAudit audit;

	begin(NULL);
	CHECK_INT(audit_now(&audit), HY_OK);
	CHECK_STR(audit.why, "no device is open");
	CHECK_INT(audit.compared, 0);
	end();
	/* one that is there and closed is not opened for it */
	begin("pcie");
	CHECK_INT(audit_now(&audit), HY_OK);
	CHECK_STR(audit.why, "no device is open");
	CHECK(executor->member[1].device == NULL);
	end();
}

static void
test_routes_after_a_short_life(void)
{
	static const char *const profiles[] = {"pcie", "integrated", "bad"};
	size_t i;

	for (i = 0; i < 3; i++)
	{
		HyAudit audit;

		begin(profiles[i]);
		live(1500);
		CHECK_INT(audit_now(&audit), HY_OK);
		CHECK(audit.why == NULL);
		CHECK_MSG(audit.compared + audit.untrusted >= 200, "%s: %d compared", profiles[i],
		          (int) audit.compared);
		CHECK_MSG(audit.right >= 0.93 * audit.compared, "%s: %d of %d are right", profiles[i],
		          (int) audit.right, (int) audit.compared);
		CHECK_MSG(audit.lost_ns <= 0.03 * audit.best_ns, "%s: %.2f%% lost", profiles[i],
		          100 * audit.lost_ns / audit.best_ns);
		end();
	}
}

static void
test_finds_what_is_wrong(void)
{
	HyAudit audit;
	double lost = 0;
	double best = 0;
	int32_t wrong = 0;
	int32_t i;

	begin("integrated");
	live(300);
	/* wrong on purpose: everything to the CPU */
	executor->config.force_cpu = true;
	CHECK_INT(audit_now(&audit), HY_OK);
	CHECK(audit.right < audit.compared);
	for (i = 0; i < audit.compared; i++)
	{
		const HyAuditRow *row = &rows[i];
		double fastest = row->cpu_ns < row->device_ns ? row->cpu_ns : row->device_ns;

		CHECK_INT(row->taken, 0);
		CHECK_INT(row->reason, HY_REASON_USER);
		CHECK_INT(row->best, row->device_ns < row->cpu_ns ? 1 : 0);
		CHECK_NEAR(row->lost_ns, row->cpu_ns - fastest, 1);
		CHECK_INT(row->right, row->cpu_ns <= 1.05 * fastest);
		wrong += !row->right;
		lost += row->lost_ns;
		best += fastest;
	}
	CHECK(wrong > 50);
	CHECK_INT(audit.right, audit.compared - wrong);
	CHECK_NEAR(audit.lost_ns, lost, 1);
	CHECK_NEAR(audit.best_ns, best, 1);
	end();
}

static void
test_changes_nothing(void)
{
	HyAuditLimits limits = {.allocator = &memory.allocator, .memory = 1 << 20};
	UnitCancel cancel;
	HyTrackerRow before[16];
	HyTrackerRow after[16];
	HyBreaker breaker;
	HyAudit audit;
	int64_t calls;
	int32_t events;
	int i;
	int n = 0;

	begin("pcie");
	live(300);
	while (n < 16 && hy_tracker_row(hy_executor_tracker(executor), n, &before[n]))
		n++;
	breaker = executor->member[1].breakers[HY_OP_DISTANCE];
	calls = hy_executor_counters(executor, 0, HY_OP_DISTANCE)->calls;
	events = hy_executor_events(executor);
	CHECK_INT(audit_now(&audit), HY_OK);
	CHECK(n > 4);
	for (i = 0; i < n; i++)
	{
		CHECK(hy_tracker_row(hy_executor_tracker(executor), i, &after[i]));
		CHECK_INT(after[i].observations, before[i].observations);
		CHECK_INT(memcmp(&after[i].model, &before[i].model, sizeof(HyModelState)), 0);
	}
	CHECK_INT(memcmp(&breaker, &executor->member[1].breakers[HY_OP_DISTANCE], sizeof(breaker)), 0);
	CHECK_INT(hy_executor_counters(executor, 0, HY_OP_DISTANCE)->calls, calls);
	CHECK_INT(hy_executor_events(executor), events);
	unit_cancel_init(&cancel, 3);
	limits.cancel = &cancel.cancel;
	CHECK_INT(hy_audit(executor, &limits, rows, &audit), HY_CANCELLED);
	end();
}

static void
test_distrusted_devices_are_told_apart(void)
{
	HyAudit audit;
	int op;
	int i;

	begin("pcie");
	live(200);
	for (op = 0; op < HY_OP_COUNT; op++)
	{
		for (i = 0; i < 3; i++)
			hy_breaker_record(&executor->member[1].breakers[op], unit_clock.time, false, 0.95);
	}
	CHECK_INT(audit_now(&audit), HY_OK);
	/* what is below the minimum batch is so whatever the breaker says */
	CHECK(audit.untrusted > 150);
	CHECK(audit.compared > 0 && audit.compared + audit.untrusted == audit.shapes);
	end();
}

int
main(void)
{
	UNIT_RUN(test_the_grid);
	UNIT_RUN(test_without_a_device);
	UNIT_RUN(test_routes_after_a_short_life);
	UNIT_RUN(test_finds_what_is_wrong);
	UNIT_RUN(test_changes_nothing);
	UNIT_RUN(test_distrusted_devices_are_told_apart);
	return unit_finish();
}
