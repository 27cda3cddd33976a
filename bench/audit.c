/*
 * audit.c
 *		How well the dispatcher routes after a short life: 2,000 mixed calls from a cold start, then the
 *		audit, on the emulated device as a PCIe card, as an integrated one and as a bad one.
 *
 *		audit [-b] [-v] [-r] [CALLS [SEED]]
 *
 * The times of the device and of the CPU (test/unit/virtual_cpu.h) are virtual, so the figures are
 * the same on every machine.  -r: with the real CPU, on a clock that counts the thread's own
 * processor time, so that other processes count only as far as they slow memory and caches down.
 * The calls and the devices are those of test/unit/mixed_load.h.
 *
 * CSV on stdout, the second kind of line only with -b:
 * audit,device,shapes,untrusted,right_share,lost_percent,never_seen_percent,calls_on_device
 * break_even,device,op,dims,queries,predicted,measured,off_percent
 * -v: prints each shape that was routed wrong to stderr.
 */
#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dispatch/model/tracker_forecast.h"
#include "dispatch/tools/audit.h"
#include "dispatch/tools/explain.h"
#include "dispatch/tools/workload.h"
#include "mixed_load.h"
#include "unit.h"
#include "virtual_cpu.h"

#define MEMORY (UINT64_C(64) << 20)
#define LARGEST_WORK 3e7 /* of a mixed call, so that 2,000 of them end */

static const char *profile;
static int64_t skipped_ns;
static bool verbose;
static bool real;
static bool break_even;
static uint64_t seed = 88172645463325252u;

static uint64_t
clock_now(void *arg)
{
	struct timespec ts;

	(void) arg;
	if (!real)
		return (uint64_t) skipped_ns;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t) ts.tv_sec * 1000000000u + (uint64_t) ts.tv_nsec + (uint64_t) skipped_ns;
}

static void
clock_skip(void *arg, int64_t ns)
{
	(void) arg;
	skipped_ns += ns;
}

static void
clock_wait(void *arg, uint64_t ns)
{
	(void) arg;
	skipped_ns += (int64_t) ns;
}

static const HyClock thread_clock = {.now = clock_now, .wait = clock_wait, .skip = clock_skip};

static void
die(const char *what)
{
	fprintf(stderr, "audit: %s\n", what);
	exit(1);
}

/* Contest: for the measured break-even: the CPU's time is what its own runs say. */
static double
cpu_ns(HyExecutor *executor, HyWorkload *workload, const HyShape *shape)
{
	HyTask task;
	uint64_t best = UINT64_MAX;
	uint64_t times[9];
	int i;

	if (!real)
		return virtual_cpu_ns(shape);
	if (!hy_workload_task(workload, shape, &task))
		return -1;
	for (i = 0; i < 9; i++)
	{
		int at = i;
		uint64_t ns;

		if (hy_workload_run(executor, 0, &task, &ns) != HY_OK)
			die("the CPU failed");
		for (; at > 0 && times[at - 1] > ns; at--)
			times[at] = times[at - 1];
		times[at] = ns;
	}
	best = times[4];
	return (double) best;
}

/* measured_break_even: by bisection over real runs of the CPU and what the device would take. */
static int64_t
measured_break_even(HyExecutor *executor, HyWorkload *workload, const HyBackend *backend,
                    const HyShape *like)
{
	HyShape shape = *like;
	int64_t low = 0;
	int64_t high = 1;

	for (;; high *= 2)
	{
		double ns;

		shape.targets = high;
		ns = cpu_ns(executor, workload, &shape);
		if (ns < 0 || high > 1000000000)
			return -1;
		if (ns >= (double) backend->estimate(NULL, &shape).virtual_ns)
			break;
		low = high;
	}
	while (high - low > 1 + low / 64)
	{
		shape.targets = low + (high - low) / 2;
		if (cpu_ns(executor, workload, &shape) >=
		    (double) backend->estimate(NULL, &shape).virtual_ns)
			high = shape.targets;
		else
			low = shape.targets;
	}
	return high;
}

static void
report_break_even(HyExecutor *executor, HyWorkload *workload, const HyBackend *backend)
{
	static const int32_t dims[] = {64, 768, 4096};
	static const int64_t queries[] = {1, 16};
	int o;
	int d;
	int q;

	for (o = 0; o < 3; o++)
	{
		for (d = 0; d < (o == 2 ? 1 : 3); d++)
		{
			for (q = 0; q < 2; q++)
			{
				HyShape shape = {.op = o == 0   ? HY_OP_DISTANCE
				                       : o == 1 ? HY_OP_TOPK
				                                : HY_OP_SPREAD,
				                 .dtype = HY_F32,
				                 .metric = HY_METRIC_L2,
				                 .dims = o == 2 ? 0 : dims[d],
				                 .queries = queries[q],
				                 .targets = 1000,
				                 .k = o == 1 ? 10 : 0};
				int64_t predicted = hy_tracker_break_even(hy_executor_tracker(executor), &shape, 1,
				                                          INT64_C(1000000000));
				int64_t measured = measured_break_even(executor, workload, backend, &shape);

				printf("break_even,%s,%s,%d,%d,%lld,%lld,", profile, hy_op_name(shape.op),
				       (int) shape.dims, (int) shape.queries, (long long) predicted,
				       (long long) measured);
				if (verbose && measured > 0)
				{
					HyShape at = shape;
					double cpu;
					double device;

					at.targets = measured;
					cpu = cpu_ns(executor, workload, &at);
					device = (double) backend->estimate(NULL, &at).virtual_ns;
					fprintf(stderr,
					        "%s %s dims %d queries %d: predicted %lld, measured %lld; there cpu "
					        "%.0f (said %.0f), device %.0f (said %.0f)\n",
					        profile, hy_op_name(shape.op), (int) shape.dims, (int) shape.queries,
					        (long long) predicted, (long long) measured, cpu,
					        hy_tracker_predict(hy_executor_tracker(executor), &at, 0), device,
					        hy_tracker_predict(hy_executor_tracker(executor), &at, 1));
				}
				if (predicted > 0 && measured > 0)
					printf("%.1f\n", 100.0 * fabs((double) predicted / (double) measured - 1));
				else
					printf("\n");
			}
		}
	}
}

static void
run(int64_t calls)
{
	HyHost host = {.abi = HY_BACKEND_ABI,
	               .clock = &thread_clock,
	               .allocator = &hy_malloc_allocator,
	               .setting = mixed_setting,
	               .setting_arg = (void *) profile};
	static HyAuditRow rows[HY_AUDIT_SHAPES];
	const HyBackend *backend = hy_plugin_entry(&host);
	HyAuditLimits limits = {.allocator = &hy_malloc_allocator, .memory = MEMORY};
	HyExecutor *executor;
	HyWorkload *workload;
	HyAudit audit;
	UnitRandom random = {seed};
	int64_t on_device;
	int64_t i;
	int never = 0;
	int op;

	if (backend == NULL ||
	    hy_executor_create(&hy_malloc_allocator, &thread_clock, NULL, &executor) != HY_OK ||
	    hy_executor_add_backend(executor, backend) != HY_OK ||
	    hy_workload_create(&hy_malloc_allocator, NULL, MEMORY, &workload) != HY_OK)
		die("out of memory");
	{
		HyConfig config;

		mixed_config(&config);
		hy_executor_configure(executor, &config);
	}
	if (!real)
		virtual_cpu_use(executor, &thread_clock);
	for (i = 0; i < calls; i++)
	{
		HyShape shape = mixed_shape(&random, LARGEST_WORK, LARGEST_WORK / 50);
		HyTask task;

		if (hy_workload_task(workload, &shape, &task) &&
		    hy_dispatch(executor, &task, NULL) != HY_OK)
			die("a call failed");
	}
	if (hy_audit(executor, &limits, rows, &audit) != HY_OK)
		die("the audit failed");
	if (audit.why != NULL)
		die(audit.why);
	for (on_device = 0, op = 0; op < HY_OP_COUNT; op++)
		on_device += hy_executor_counters(executor, 1, (HyOp) op)->calls;
	for (i = 0; i < audit.compared; i++)
	{
		const HyAuditRow *row = &rows[i];
		HyForecast forecast = hy_tracker_forecast(hy_executor_tracker(executor), &row->shape, 0);
		HyForecast other = hy_tracker_forecast(hy_executor_tracker(executor), &row->shape, 1);

		never += forecast.samples == 0 || other.samples == 0;
		if (verbose && !row->right)
			fprintf(
				stderr,
				"%s %s dims %d queries %d targets %d: to %d (%s), cpu %.0f (said %.0f, %d) device "
				"%.0f (said %.0f, %d)%s\n",
				profile, hy_op_name(row->shape.op), (int) row->shape.dims, (int) row->shape.queries,
				(int) row->shape.targets, (int) row->taken, hy_reason_name(row->reason),
				row->cpu_ns, row->predicted_cpu_ns, (int) forecast.samples, row->device_ns,
				row->predicted_device_ns, (int) other.samples, row->scaled ? " scaled" : "");
	}
	printf("audit,%s,%d,%d,%.3f,%.2f,%.1f,%lld\n", profile, (int) audit.compared,
	       (int) audit.untrusted, (double) audit.right / audit.compared,
	       100 * audit.lost_ns / audit.best_ns, 100.0 * never / audit.compared,
	       (long long) on_device);
	if (break_even)
		report_break_even(executor, workload, backend);
	hy_workload_destroy(workload);
	hy_executor_destroy(executor);
}

int
main(int argc, char **argv)
{
	int64_t calls = 2000;
	size_t i;

	for (; argc > 1 && argv[1][0] == '-'; argc--, argv++)
	{
		verbose = verbose || strcmp(argv[1], "-v") == 0;
		real = real || strcmp(argv[1], "-r") == 0;
		break_even = break_even || strcmp(argv[1], "-b") == 0;
	}
	if (argc > 1)
		calls = atoll(argv[1]);
	if (argc > 2)
		seed = strtoull(argv[2], NULL, 10) * 2654435761u + 1;
	if (calls < 1)
		die("usage: audit [-b] [-v] [-r] [CALLS [SEED]]");
	printf("%s\n", break_even ? "break_even,device,op,dims,queries,predicted,measured,off_percent"
	                          : "audit,device,shapes,untrusted,right_share,lost_percent,"
	                            "never_seen_percent,calls_on_device");
	for (i = 0; i < MIXED_PROFILES; i++)
	{
		profile = mixed_profiles[i];
		run(calls);
	}
	return 0;
}
