/*
 * audit_test.c
 *		The audit finds wrong routes, and after a short time there are few.
 */
#include "dispatch/tools/audit.h"

#include "dispatch/run/member.h"
#include "dispatch/run/record.h"
#include "dispatch/tools/workload.h"
#include "emulated/device.h"
#include "mixed_load.h"
#include "unit.h"
#include "virtual_cpu.h"

static UnitClock unit_clock;
static UnitMemory memory;
static HyExecutor *executor;
static HyAuditRow rows[HY_AUDIT_SHAPES];

/*
 * The emulated device computes nothing here: its time comes from the shape, and nobody reads an answer.  Computing took
 * more than half of this test's time (7.6 s instead of 3.2 s).
 */
HyStatus
emulated_compute(const HyDevice *device, const HyTask *task, bool exact)
{
	(void) device;
	(void) exact;
	emulated_fill_with_garbage(task);
	return HY_OK;
}

/* Nothing was found: who joins the answers of pieces must not read what is not there. */
void
emulated_fill_with_garbage(const HyTask *task)
{
	if (task->op == HY_OP_TOPK)
		memset(task->u.topk.counts, 0, (size_t) task->u.topk.queries.rows * sizeof(int32_t));
	if (task->op == HY_OP_SCORE_CODES)
		memset(task->u.score.counts, 0, (size_t) task->u.score.queries.count * sizeof(int32_t));
}

static void
begin(const char *name)
{
	static HyHost host;
	HyConfig config;

	unit_clock_init(&unit_clock, 1000000);
	unit_memory_init(&memory, 0);
	host = (HyHost){.abi = HY_BACKEND_ABI,
	                .clock = &unit_clock.clock,
	                .allocator = &hy_malloc_allocator,
	                .setting = mixed_setting,
	                .setting_arg = (void *) name};
	virtual_cpu_state = 1234567;
	CHECK_INT(hy_executor_create(&memory.allocator, &unit_clock.clock, NULL, &executor), HY_OK);
	if (name != NULL)
		CHECK_INT(hy_executor_add_backend(executor, hy_plugin_entry(&host)), HY_OK);
	virtual_cpu_use(executor, &unit_clock.clock);
	mixed_config(&config);
	hy_executor_configure(executor, &config);
}

static void
end(void)
{
	hy_executor_destroy(executor);
	CHECK_INT(memory.outstanding, 0);
}

/* live: run this many mixed calls, none of more than 2 * 10^6 products or 2 * 10^5 edges. */
static void
live(int calls, uint64_t seed)
{
	UnitRandom random = {seed};
	HyWorkload *workload;
	int i;

	CHECK_INT(hy_workload_create(&hy_malloc_allocator, NULL, 16 << 20, &workload), HY_OK);
	for (i = 0; i < calls; i++)
	{
		HyShape shape = mixed_shape(&random, 2e6, 2e5);
		HyTask task;

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
	int i;
	int seed;

	for (i = 0; i < MIXED_PROFILES; i++)
	{
		for (seed = 1; seed <= unit_repeats(3); seed++)
		{
			HyAudit audit;

			begin(mixed_profiles[i]);
			live(4000, (uint64_t) seed);
			CHECK_INT(audit_now(&audit), HY_OK);
			CHECK(audit.why == NULL);
			CHECK_MSG(audit.compared + audit.untrusted >= 200, "%s: %d compared", mixed_profiles[i],
			          (int) audit.compared);
			CHECK_MSG(audit.right >= 0.95 * audit.compared, "%s %d: %d of %d are right",
			          mixed_profiles[i], seed, (int) audit.right, (int) audit.compared);
			CHECK_MSG(audit.lost_ns <= 0.02 * audit.best_ns, "%s %d: %.2f%% lost",
			          mixed_profiles[i], seed, 100 * audit.lost_ns / audit.best_ns);
			end();
		}
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
	live(300, 88172645463325252u);
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

static const HyBackend *backend;
static HyBackend slower;

static HyEstimate
twice(const HyDevice *device, const HyShape *shape)
{
	HyEstimate estimate = backend->estimate(device, shape);

	estimate.virtual_ns *= 2;
	return estimate;
}

/* Among several devices the fastest counts, whatever its position. */
static void
test_the_fastest_of_several(void)
{
	int slow;

	for (slow = 1; slow <= 2; slow++)
	{
		HyBackend other;
		HyAudit audit;
		int32_t won = 0;
		int32_t i;

		begin("integrated");
		other = *executor->member[1].backend;
		other.name = "other";
		CHECK_INT(hy_executor_add_backend(executor, &other), HY_OK);
		for (i = 1; i <= 2; i++)
			CHECK_INT(hy_member_open(executor, &executor->member[i], unit_clock.time), HY_OK);
		backend = executor->member[1].backend;
		slower = *backend;
		slower.estimate = twice;
		executor->member[slow].backend = &slower;
		executor->config.force_cpu = true;
		CHECK_INT(audit_now(&audit), HY_OK);
		CHECK(audit.compared >= 200);
		for (i = 0; i < audit.compared; i++)
		{
			double ns = (double) backend->estimate(NULL, &rows[i].shape).virtual_ns;

			CHECK_NEAR(rows[i].device_ns, ns, 1);
			CHECK_INT(rows[i].best, ns < rows[i].cpu_ns ? 3 - slow : 0);
			won += rows[i].best != 0;
		}
		CHECK(won > 50 && won < audit.compared);
		end();
	}
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
	live(300, 88172645463325252u);
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
	live(200, 88172645463325252u);
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
	UNIT_RUN(test_the_fastest_of_several);
	UNIT_RUN(test_changes_nothing);
	UNIT_RUN(test_distrusted_devices_are_told_apart);
	return unit_finish();
}
