/*
 * gpu_route.c
 *		The part of gpubench that lets the dispatcher choose between the CPU and the device: it
 *		calibrates, serves calls for a while, and is audited (as bench/audit.c does with devices whose
 *		time is virtual).  Then its predicted break-evens are compared with those of real runs.
 */
#include "gpu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ascending.h"
#include "core/clock.h"
#include "dispatch/model/tracker_forecast.h"
#include "dispatch/tools/audit.h"
#include "dispatch/tools/calibration.h"
#include "dispatch/tools/workload.h"
#include "mixed_load.h"

#define CONTEST_RUNS 7
#define CONTEST_US 2000 /* of what takes longer, three runs do */
#define LONGEST_NS 5e7  /* a side that takes longer has no break-even that was looked for */
#define MOST_TARGETS INT64_C(1000000000)
#define CONTESTS 14
#define FAKE_NS 20000 /* what a fake device is taken to need for any task */

/* Route: an executor with the device as it would be in a session. */
typedef struct Route
{
	HyExecutor *executor;
	HyWorkload *workload;
	int32_t device;
} Route;

static bool route_open(Route *route);
static void calibrate(Route *route);
static void serve(Route *route);
static void audit(Route *route);
static bool late(void *arg);
static void break_evens(Route *route);
static double break_even(Route *route, const HyShape *like);
static int64_t measured(Route *route, const HyShape *like, int64_t *largest);
static double side_ns(Route *route, int32_t device, const HyShape *shape);
static bool device_wins(Route *route, const HyShape *shape, bool *ends);

void
gpu_route(void)
{
	Route route;

	if (!route_open(&route))
		gpu_print_missing("audit_right_share", "ratio", GPU_AT_LEAST(0.95),
		                  "no executor with the device could be made");
	else
	{
		calibrate(&route);
		serve(&route);
		audit(&route);
		break_evens(&route);
		hy_workload_destroy(route.workload);
		hy_executor_destroy(route.executor);
	}
}

static bool
route_open(Route *route)
{
	HyConfig config;
	int32_t i;

	hy_config_default(&config);
	config.devices = UINT64_C(1) << gpu.number;
	config.timeout_ns = 0;
	if (hy_executor_create(&hy_malloc_allocator, &hy_monotonic_clock, NULL, &route->executor) !=
	    HY_OK)
		return false;
	if (hy_executor_add_backend(route->executor, gpu.cuda) != HY_OK ||
	    hy_workload_create(&hy_malloc_allocator, NULL, (uint64_t) gpu_size(256, 1) * GPU_MIB,
	                       &route->workload) != HY_OK)
	{
		hy_executor_destroy(route->executor);
		return false;
	}
	hy_executor_configure(route->executor, &config);
	route->device = 0;
	for (i = 1; i < hy_executor_devices(route->executor); i++)
	{
		HyDeviceState state;

		hy_executor_device(route->executor, i, &state);
		if (state.number == gpu.number && !state.left_out && !state.latched)
			route->device = i;
	}
	if (route->device != 0)
		return true;
	hy_workload_destroy(route->workload);
	hy_executor_destroy(route->executor);
	return false;
}

/* calibrate: as hybrid_calibrate() does. */
static void
calibrate(Route *route)
{
	static HyPrior priors[HY_CALIBRATION_PRIORS];
	HyCalibrationLimits limits = {.allocator = &hy_malloc_allocator};
	double begin = gpu_now_us();
	uint32_t unfinished = 0;
	int32_t count = 0;
	int32_t taken = 0;
	int32_t i;

	if (gpu.quick)
	{
		limits.memory = GPU_MIB;
		limits.time_ns = 300000000;
	}
	if (hy_calibrate(route->executor, &limits, priors, &count, &unfinished) != HY_OK)
		gpu_give_up("calibrating");
	for (i = 0; i < count; i++)
		taken += hy_executor_import_prior(route->executor, &priors[i]);
	gpu_print_beside("calibration_time", (gpu_now_us() - begin) / 1e6, "s", GPU_NOTHING,
	                 "%d laws; %s", (int) taken,
	                 unfinished != 0 ? "of a side some sizes were left out for want of time"
	                                 : "all sizes");
}

/* serve: calls such as users have. */
static void
serve(Route *route)
{
	UnitRandom random = {88172645463325252u};
	int64_t calls = gpu_size(2000, 20);
	int64_t on_device = 0;
	int64_t i;
	int op;

	for (i = 0; i < calls; i++)
	{
		HyShape shape = mixed_shape(&random, gpu.quick ? 3e5 : 3e7, gpu.quick ? 1e4 : 6e5);
		HyTask task;

		if (hy_workload_task(route->workload, &shape, &task) &&
		    hy_dispatch(route->executor, &task, NULL) != HY_OK)
			gpu_give_up("a call");
	}
	for (op = 0; op < HY_OP_COUNT; op++)
		on_device += hy_executor_counters(route->executor, route->device, (HyOp) op)->calls;
	gpu_print_beside("audit_calls_before_on_device", (double) on_device, "calls", GPU_NOTHING,
	                 "of %lld mixed ones", (long long) calls);
}

static void
audit(Route *route)
{
	static HyAuditRow rows[HY_AUDIT_SHAPES];
	double until = gpu_now_us() + 5e5;
	HyCancel cancel = {late, &until};
	HyAuditLimits limits = {.allocator = &hy_malloc_allocator};
	HyAudit found;
	HyStatus status;
	int32_t i;

	if (gpu.quick)
	{
		/* some shapes will do */
		limits.cancel = &cancel;
		limits.memory = GPU_MIB;
		limits.longest_ns = 20000;
	}
	status = hy_audit(route->executor, &limits, rows, &found);
	if ((status != HY_OK && status != HY_CANCELLED) || found.compared == 0)
	{
		gpu_print_missing("audit_right_share", "ratio", GPU_AT_LEAST(0.95), "%s",
		                  found.why != NULL ? found.why : "the audit failed");
		return;
	}
	gpu_print_beside("audit_right_share", (double) found.right / found.compared, "ratio",
	                 GPU_AT_LEAST(0.95), "%d of %d shapes; %d not trusted", (int) found.right,
	                 (int) found.compared, (int) found.untrusted);
	gpu_print("audit_lost", 100 * found.lost_ns / found.best_ns, "percent");
	for (i = 0; i < found.compared; i++)
	{
		const HyAuditRow *row = &rows[i];

		if (!row->right && !gpu.quick)
			printf("# wrong: %s dims %d queries %lld targets %lld to %d (%s): cpu %.0f ns (said "
			       "%.0f); "
			       "device %.0f (said %.0f)%s\n",
			       hy_op_name(row->shape.op), (int) row->shape.dims, (long long) row->shape.queries,
			       (long long) row->shape.targets, (int) row->taken, hy_reason_name(row->reason),
			       row->cpu_ns, row->predicted_cpu_ns, row->device_ns, row->predicted_device_ns,
			       row->scaled ? "; scaled" : "");
	}
}

static bool
late(void *arg)
{
	return gpu_now_us() > *(const double *) arg;
}

/* break_evens: of each kind, and of all what half of them are off by at most, and the worst. */
static void
break_evens(Route *route)
{
	static const int32_t dims[] = {64, 768, 4096};
	static const HyOp ops[] = {HY_OP_DISTANCE, HY_OP_TOPK, HY_OP_SPREAD};
	double off[CONTESTS];
	int count = 0;
	int o;
	int d;
	int q;

	for (o = 0; o < 3; o++)
	{
		for (d = 0; d < (ops[o] == HY_OP_SPREAD ? 1 : 3); d++)
		{
			for (q = 0; q < 2; q++)
			{
				HyShape shape = {.op = ops[o],
				                 .dtype = HY_F32,
				                 .metric = HY_METRIC_L2,
				                 .dims = ops[o] == HY_OP_SPREAD ? 0 : dims[d],
				                 .queries = q == 0 ? 1 : 16,
				                 .targets = 1000,
				                 .k = ops[o] == HY_OP_TOPK ? GPU_K : 0};

				off[count] = break_even(route, &shape);
				count += off[count] >= 0;
			}
		}
	}
	if (count == 0)
	{
		gpu_print_missing("break_even_worst_off", "percent", GPU_AT_MOST(20),
		                  "no kind has one within the memory of the bench");
		return;
	}
	qsort(off, (size_t) count, sizeof(double), ascending);
	gpu_print_beside("break_even_median_off", off[count / 2], "percent", GPU_AT_MOST(20),
	                 "of %d kinds", count);
	gpu_print_beside("break_even_worst_off", off[count - 1], "percent", GPU_AT_MOST(20),
	                 "of %d kinds", count);
}

/* break_even: prints how far the prediction is off, and returns that; < 0: there is nothing to compare. */
static double
break_even(Route *route, const HyShape *like)
{
	int64_t predicted = hy_tracker_break_even(hy_executor_tracker(route->executor), like,
	                                          route->device, MOST_TARGETS);
	int64_t largest;
	int64_t found = measured(route, like, &largest);
	const char *name = gpu_name("break_even_%s_%d_%lld_off", hy_op_name(like->op), (int) like->dims,
	                            (long long) like->queries);
	double off = INFINITY;

	if (found <= 0 && (predicted <= 0 || predicted > largest))
	{
		gpu_print_missing(name, "percent", GPU_AT_MOST(20),
		                  "none up to %lld targets; and none was predicted there",
		                  (long long) largest);
		return -1;
	}
	if (found > 0 && predicted > 0)
		off = 100 * fabs((double) predicted / (double) found - 1);
	gpu_print_beside(name, off, "percent", GPU_AT_MOST(20),
	                 "predicted at %lld targets; measured at %lld; -1: never",
	                 (long long) predicted, (long long) found);
	return off;
}

/*
 * measured: the break-even by real runs of both sides, doubling, then by bisection; -1: none up to
 * *largest.
 */
static int64_t
measured(Route *route, const HyShape *like, int64_t *largest)
{
	HyShape shape = *like;
	int64_t low = 0;
	int64_t high = 1;
	bool ends = false;

	for (;; high *= 2)
	{
		shape.targets = high;
		*largest = high;
		if (device_wins(route, &shape, &ends))
			break;
		if (ends || high > MOST_TARGETS)
			return -1;
		low = high;
	}
	while (high - low > 1 + low / 64)
	{
		shape.targets = low + (high - low) / 2;
		if (device_wins(route, &shape, &ends))
			high = shape.targets;
		else
			low = shape.targets;
	}
	return high;
}

/* device_wins: *ends: nothing larger can be run. */
static bool
device_wins(Route *route, const HyShape *shape, bool *ends)
{
	double cpu = side_ns(route, 0, shape);
	double device = side_ns(route, route->device, shape);

	*ends = cpu < 0 || device < 0 || cpu > LONGEST_NS;
	return cpu >= 0 && device >= 0 && cpu >= device;
}

/* side_ns: the median of several runs; < 0: it cannot be run. */
static double
side_ns(Route *route, int32_t device, const HyShape *shape)
{
	double times[CONTEST_RUNS];
	HyTask task;
	int runs = CONTEST_RUNS;
	int i;

	if (!hy_workload_task(route->workload, shape, &task))
		return -1;
	/* so that there is one to be found */
	if (gpu.fake && device != 0 && shape->targets > 1)
		return FAKE_NS;
	for (i = -1; i < runs; i++)
	{
		uint64_t ns;

		if (hy_workload_run(route->executor, device, &task, &ns) != HY_OK)
			return -1;
		if (i < 0)
			continue;
		times[i] = (double) ns;
		if (ns > CONTEST_US * 1000)
			runs = runs < 3 ? runs : 3;
		if (i + 1 > runs)
			runs = i + 1;
	}
	qsort(times, (size_t) runs, sizeof(double), ascending);
	return times[runs / 2];
}
