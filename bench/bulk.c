/*
 * bulk.c
 *		The figures of tasks in pieces: split, several devices, small calls beside bulk, failures.
 *
 *		bulk [REPEATS]
 *
 * The CPU computes for real, and the devices are emulated.  Both use one clock, which is this process's
 * CPU time plus the devices' virtual time.  So other processes on the machine do not count.  The
 * figures say nothing about a real device: every time in which a device took part is virtual.
 * Medians of REPEATS (7) runs that take turns.
 *
 * The cost of a failure is the time to the right answer less the time in which the CPU computed.  It is
 * measured for every status that a backend can return, at submit and at the end of the task, and the
 * worse of both counts.  The single run of all these that took longest is also reported.
 *
 * Small calls beside bulk: nine clients share one queue and one emulated device (20 us launch, 25 GB/s,
 * 100 GFLOP/s).  Each has its own executor, as nine backends have, and its own role.  One sends calls of
 * 88 us, the others jobs of 3 ms, all for the device: a job that the CPU touched would end the program.
 * Here the clock moves only from event to event (a task ends, a client that waits for its turn polls),
 * because a client's own work would run at the same time as the others'.  A call lasts from its
 * beginning to its answer.  The baseline is the same without other clients.  A call has waited if it
 * took longer than the slowest call of the baseline.  Most calls wait, but not for long: at most one
 * bulk piece is ahead of a call, and that takes twice as long as the call (queue.h).
 *
 * CSV on stdout: bulk,case,metric,value,better,bound,met
 */
#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ascending.h"
#include "dispatch/run/bulk.h"
#include "dispatch/run/dispatcher.h"

#define DIMS 16
#define QUERIES 32
#define TARGETS 100000
#define ITEMS ((double) QUERIES * TARGETS)
#define FLOP (ITEMS * DIMS * 3)
#define MOST_REPEATS 51
#define BULK_CLIENTS 8
#define SMALL_CALLS 1000
#define SMALL_TARGETS 2000

extern const HyBackend *hy_plugin_entry(const HyHost *host);

static int repeats = 7;
static int missed;
static int64_t shift_ns;
static bool standing; /* the clock moves by skips only */
static uint64_t stands_at_ns;
static char launch_us[32] = "20";
static char bandwidth_gbs[32] = "25";
static char rate_gflops[32] = "5000";
static char devices[8] = "1";
static char faults[128] = "";
static float *vectors;
static double *out;
static double *expected;

static uint64_t clock_now(void *arg);
static void clock_wait(void *arg, uint64_t ns);
static void clock_skip(void *arg, int64_t ns);
static const char *setting(void *arg, const char *name);

static const HyClock bench_clock = {clock_now, clock_wait, clock_skip, NULL};
static const HyHost host = {.abi = HY_BACKEND_ABI,
                            .clock = &bench_clock,
                            .allocator = &hy_malloc_allocator,
                            .setting = setting};

static void
die(const char *what)
{
	fprintf(stderr, "bulk: %s\n", what);
	exit(1);
}

static uint64_t
clock_now(void *arg)
{
	struct timespec ts;

	(void) arg;
	if (standing)
		return stands_at_ns;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t) ((int64_t) ts.tv_sec * 1000000000 + ts.tv_nsec + shift_ns) + 1000000000u;
}

/* who sleeps takes no CPU time */
static void
clock_wait(void *arg, uint64_t ns)
{
	clock_skip(arg, (int64_t) ns);
}

static void
clock_skip(void *arg, int64_t ns)
{
	(void) arg;
	shift_ns += ns;
	stands_at_ns += (uint64_t) ns;
}

static const char *
setting(void *arg, const char *name)
{
	(void) arg;
	if (strcmp(name, "emulated_launch_us") == 0)
		return launch_us;
	if (strcmp(name, "emulated_bandwidth_gbs") == 0)
		return bandwidth_gbs;
	if (strcmp(name, "emulated_rate_gflops") == 0)
		return rate_gflops;
	if (strcmp(name, "emulated_devices") == 0)
		return devices;
	if (strcmp(name, "emulated_faults") == 0)
		return faults;
	return NULL;
}

static double
median(double *values, int n)
{
	qsort(values, (size_t) n, sizeof(double), ascending);
	return values[n / 2];
}

/* say: a figure; NAN for the bound: it is told, not asked for. */
static void
say(const char *what, double value, const char *metric, const char *better, double bound)
{
	bool met = strcmp(better, "higher") == 0 ? value >= bound : value <= bound;

	printf("bulk,%s,%s,%.3f,%s,", what, metric, value, better);
	if (isnan(bound))
		printf(",\n");
	else
		printf("%g,%s\n", bound, met ? "yes" : "NO");
	missed += !isnan(bound) && !met;
	fflush(stdout);
}

static HyTask
task_of(int64_t targets)
{
	HyTask task = {.op = HY_OP_DISTANCE, .allocator = &hy_malloc_allocator};

	task.u.distance.queries =
		(HyMatrix){.dims = DIMS, .rows = QUERIES, .stride = DIMS * sizeof(float), .data = vectors};
	task.u.distance.targets = task.u.distance.queries;
	task.u.distance.targets.rows = targets;
	task.u.distance.targets.data = vectors + QUERIES * DIMS;
	task.u.distance.out = out;
	return task;
}

static HyExecutor *
new_executor(const HyConfig *config)
{
	HyExecutor *executor;

	if (hy_executor_create(&hy_malloc_allocator, &bench_clock, NULL, &executor) != HY_OK ||
	    hy_executor_add_backend(executor, hy_plugin_entry(&host)) != HY_OK)
		die("no executor with an emulated device");
	hy_executor_configure(executor, config);
	return executor;
}

/* dispatch_as: one task by this execution; what it took in ns. */
static double
dispatch_as(HyExecutor *executor, HyConfig *config, HyExecution execution, int64_t targets,
            HyDecision *decision)
{
	HyTask task = task_of(targets);
	HyDecision local;

	config->execution = execution;
	hy_executor_configure(executor, config);
	if (decision == NULL)
		decision = &local;
	memset(out, 0xff, (size_t) targets * QUERIES * sizeof(double));
	if (hy_dispatch(executor, &task, decision) != HY_OK)
		die("a task failed");
	if (targets == TARGETS && memcmp(out, expected, (size_t) ITEMS * sizeof(double)) != 0)
		die("a wrong answer");
	return (double) decision->actual_ns;
}

/* warm_up: both sides of an executor run tasks of several sizes. */
static void
warm_up(HyExecutor *executor, HyConfig *config)
{
	int count = hy_executor_devices(executor);
	int64_t targets;
	int i;
	int d;

	for (i = 0; i < 3; i++)
	{
		for (targets = TARGETS; targets > TARGETS / 100; targets /= 3)
		{
			dispatch_as(executor, config, HY_EXECUTION_CPU, targets, NULL);
			for (d = 1; d < count; d++)
			{
				config->devices = UINT64_C(1) << (d - 1);
				dispatch_as(executor, config, HY_EXECUTION_GPU, targets, NULL);
			}
			config->devices = 0;
		}
	}
}

/* cpu_rate: GFLOP/s of the CPU on the task, as hy_dispatch runs it. */
static double
cpu_rate(void)
{
	double ns[MOST_REPEATS];
	HyExecutor *executor;
	HyConfig config;
	int i;

	hy_config_default(&config);
	executor = new_executor(&config);
	for (i = 0; i < repeats; i++)
		ns[i] = dispatch_as(executor, &config, HY_EXECUTION_CPU, TARGETS, NULL);
	hy_executor_destroy(executor);
	return FLOP / median(ns, repeats);
}

static void
split(double cpu_gflops)
{
	static const double ratios[] = {1, 0.05, 0.2, 0.5, 0.8, 1.25, 2, 5, 20};
	double worst = HUGE_VAL;
	double worst_join = 0;
	size_t r;

	for (r = 0; r < sizeof(ratios) / sizeof(ratios[0]); r++)
	{
		double gains[MOST_REPEATS];
		double copies = (double) TARGETS * DIMS * 4 / 25 + ITEMS * 8 / 25;
		double gain;
		HyExecutor *executor;
		HyConfig config;
		HyBulkPlan plan = {.devices = 2, .with_cpu = true, .rescue = true, .percent = -1};
		HyBulkReport report;
		HyTask task;
		char name[64];
		int i;

		/* the device takes ratio times as long as the CPU, its copies included */
		snprintf(rate_gflops, sizeof(rate_gflops), "%.9g",
		         FLOP / fmax(ratios[r] * FLOP / cpu_gflops - copies - 20000, 1000));
		hy_config_default(&config);
		executor = new_executor(&config);
		warm_up(executor, &config);
		for (i = 0; i < repeats; i++)
		{
			/* compared with its neighbours: the machine's speed changes from moment to moment */
			double cpu = dispatch_as(executor, &config, HY_EXECUTION_CPU, TARGETS, NULL);
			double both = dispatch_as(executor, &config, HY_EXECUTION_SPLIT, TARGETS, NULL);
			double device = dispatch_as(executor, &config, HY_EXECUTION_GPU, TARGETS, NULL);

			cpu = (cpu + dispatch_as(executor, &config, HY_EXECUTION_CPU, TARGETS, NULL)) / 2;
			gains[i] = fmin(cpu, device) / both;
			task = task_of(TARGETS);
			if (hy_bulk_run(executor, &task, &plan, &report) != HY_OK)
				die("a split task failed");
			worst_join = fmax(worst_join, (double) report.join_ns);
		}
		gain = median(gains, repeats);
		worst = fmin(worst, gain);
		snprintf(name, sizeof(name), "split; device %g times the CPU's time", ratios[r]);
		if (ratios[r] == 1)
			say("split of two equal sides", gain, "times_the_better", "higher", 1.7);
		else
			say(name, gain, "times_the_better", "higher", 0.95);
		hy_executor_destroy(executor);
	}
	say("split of any two sides; the worst", worst, "times_the_better", "higher", 0.95);
	say("joining the halves of distances; the longest", worst_join / 1e6, "ms", "lower", 0.5);
}

/* join_topk: the same where answers must be merged. */
static void
join_topk(double cpu_gflops)
{
	static HyNeighbor found[QUERIES * 100];
	static int32_t counts[QUERIES];
	double ns[MOST_REPEATS];
	HyBulkPlan plan = {.devices = 2, .with_cpu = true, .rescue = true, .percent = -1};
	HyBulkReport report;
	HyExecutor *executor;
	HyConfig config;
	HyTask task = task_of(TARGETS);
	HyMatrix queries = task.u.distance.queries;
	HyMatrix targets = task.u.distance.targets;
	int i;

	snprintf(rate_gflops, sizeof(rate_gflops), "%.9g", cpu_gflops);
	hy_config_default(&config);
	executor = new_executor(&config);
	task.op = HY_OP_TOPK;
	task.u.topk = (HyTopKTask){HY_METRIC_L2, queries, targets, 100, found, counts, NULL};
	for (i = -3; i < repeats; i++)
	{
		if (hy_bulk_run(executor, &task, &plan, &report) != HY_OK)
			die("a split search failed");
		if (i >= 0)
			ns[i] = (double) report.join_ns;
	}
	say("joining the parts of 32 x 100 nearest", median(ns, repeats) / 1e6, "ms", "lower", 0.5);
	hy_executor_destroy(executor);
}

static void
several_devices(void)
{
	double one = 0;
	int count;

	snprintf(rate_gflops, sizeof(rate_gflops), "10");
	for (count = 1; count <= 4; count *= 2)
	{
		double ns[MOST_REPEATS];
		HyExecutor *executor;
		HyConfig config;
		char name[32];
		int i;

		snprintf(devices, sizeof(devices), "%d", count);
		hy_config_default(&config);
		executor = new_executor(&config);
		warm_up(executor, &config);
		for (i = 0; i < repeats; i++)
			ns[i] = dispatch_as(executor, &config, HY_EXECUTION_GPU, TARGETS, NULL);
		if (count == 1)
			one = median(ns, repeats);
		else
		{
			snprintf(name, sizeof(name), "%d devices on a bulk job", count);
			say(name, 100 * one / median(ns, repeats) / count, "percent_of_linear", "higher", 80);
		}
		hy_executor_destroy(executor);
	}
	snprintf(devices, sizeof(devices), "1");
}

/* Client: an executor of its own, as a backend has, that does one job after the other. */
typedef struct Client
{
	HyExecutor *executor;
	HyTask task;
	HyBulk *job;
	uint64_t since;
	uint64_t wakes_ns; /* until then it sleeps */
	int done;
	int64_t pieces;
} Client;

typedef struct Latencies
{
	double ns[SMALL_CALLS]; /* ascending */
	int64_t bulk_pieces;    /* that ended meanwhile */
} Latencies;

static void
client_begin(Client *client, HyQueue *queue, int number, int64_t targets)
{
	HyQueueClient queue_client = {.queue = queue, .id = number + 1, .role = number + 1};
	HyConfig config;

	hy_config_default(&config);
	memset(client, 0, sizeof(*client));
	client->executor = new_executor(&config);
	warm_up(client->executor, &config);
	/* the small task's own size */
	dispatch_as(client->executor, &config, HY_EXECUTION_GPU, targets, NULL);
	dispatch_as(client->executor, &config, HY_EXECUTION_GPU, targets, NULL);
	hy_executor_use_queue(client->executor, &queue_client);
	client->task = task_of(targets);
}

/* client_step: as far as it comes now, then to sleep; true: its job has ended. */
static bool
client_step(Client *client)
{
	static const HyBulkPlan plan = {.devices = 2, .percent = -1};
	const HyBulkReport *report;
	uint64_t wait_ns;
	bool may_skip;

	if (client->job == NULL)
	{
		client->since = clock_now(NULL);
		if (hy_bulk_begin(client->executor, &client->task, &plan, &client->job) != HY_OK)
			die("a job does not begin");
	}
	if (!hy_bulk_step(client->job, &wait_ns, &may_skip))
	{
		client->wakes_ns = clock_now(NULL) + wait_ns;
		return false;
	}
	report = hy_bulk_report(client->job);
	if (report->status != HY_OK || report->first != HY_OK || report->rows[0] > 0)
		die("a job did not run on the device alone");
	client->pieces += report->pieces;
	client->done++;
	hy_bulk_end(client->job);
	client->job = NULL;
	return true;
}

/* small_calls: beside so many bulk clients, with pauses of up to pause_ns between them. */
static void
small_calls(int bulk_clients, uint64_t pause_ns, Latencies *latencies)
{
	static Client clients[BULK_CLIENTS + 1];
	static HyQueue queue;
	uint64_t random = 1;
	int c;

	hy_queue_init(&queue);
	for (c = 0; c <= bulk_clients; c++)
		client_begin(&clients[c], &queue, c, c == 0 ? SMALL_TARGETS : TARGETS);
	stands_at_ns = clock_now(NULL);
	standing = true;
	while (clients[0].done < SMALL_CALLS)
	{
		Client *next = &clients[0];

		for (c = 1; c <= bulk_clients; c++)
		{
			if (clients[c].wakes_ns < next->wakes_ns)
				next = &clients[c];
		}
		if (next->wakes_ns > stands_at_ns)
			stands_at_ns = next->wakes_ns;
		if (!client_step(next) || next != &clients[0])
			continue;
		latencies->ns[next->done - 1] = (double) (stands_at_ns - next->since);
		random = random * 6364136223846793005u + 1442695040888963407u;
		next->wakes_ns =
			stands_at_ns + (uint64_t) ((double) (random >> 33) / 0x1p31 * (double) pause_ns);
	}
	latencies->bulk_pieces = 0;
	for (c = 0; c <= bulk_clients; c++)
	{
		const HyBulkReport *report = clients[c].job != NULL ? hy_bulk_report(clients[c].job) : NULL;

		if (c > 0)
			latencies->bulk_pieces += clients[c].pieces + (report != NULL ? report->pieces : 0);
		hy_bulk_end(clients[c].job);
		hy_executor_destroy(clients[c].executor);
	}
	standing = false;
	qsort(latencies->ns, SMALL_CALLS, sizeof(double), ascending);
}

static void
beside_bulk(void)
{
	static const struct
	{
		const char *name;
		uint64_t pause_ns;
	} kinds[] = {{"without a pause", 0}, {"with pauses of 0 to 2 ms", 2000000}};
	static Latencies alone;
	static Latencies beside;
	size_t k;

	snprintf(rate_gflops, sizeof(rate_gflops), "100");
	for (k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
	{
		int waited = 0;
		char name[96];
		int i;

		small_calls(0, kinds[k].pause_ns, &alone);
		small_calls(BULK_CLIENTS, kinds[k].pause_ns, &beside);
		if (beside.bulk_pieces < SMALL_CALLS / 4)
			die("the bulk clients did not work");
		for (i = 0; i < SMALL_CALLS; i++)
			waited += beside.ns[i] > alone.ns[SMALL_CALLS - 1];
		snprintf(name, sizeof(name), "p99 of small calls %s beside 8 bulk clients", kinds[k].name);
		say(name, beside.ns[SMALL_CALLS * 99 / 100] / alone.ns[SMALL_CALLS * 99 / 100],
		    "times_alone", "lower", 4);
		snprintf(name, sizeof(name), "small calls %s that waited for bulk", kinds[k].name);
		say(name, 100.0 * waited / SMALL_CALLS, "percent", "lower", NAN);
	}
}

/* Beyond: ns to the answer in which the CPU did not compute. */
typedef struct Beyond
{
	double median_ns;
	double longest_ns;
} Beyond;

/* beyond_cpu: a device fails as faults says, alone or beside the CPU. */
static Beyond
beyond_cpu(bool with_cpu, uint64_t timeout_ns)
{
	const HyBulkPlan plan = {.devices = 2, .with_cpu = with_cpu, .rescue = true, .percent = -1};
	char wanted[sizeof(faults)];
	double ns[MOST_REPEATS];
	Beyond beyond;
	int i;

	memcpy(wanted, faults, sizeof(faults));
	for (i = 0; i < repeats; i++)
	{
		HyBulkReport report;
		HyExecutor *executor;
		HyConfig config;
		HyTask task = task_of(TARGETS);

		/* a new one each time: the breaker would leave little to see */
		faults[0] = '\0';
		hy_config_default(&config);
		config.timeout_ns = timeout_ns;
		executor = new_executor(&config);
		warm_up(executor, &config);
		memcpy(faults, wanted, sizeof(faults));
		memset(out, 0xff, (size_t) ITEMS * sizeof(double));
		if (hy_bulk_run(executor, &task, &plan, &report) != HY_OK || !report.fallback)
			die("nothing failed");
		if (memcmp(out, expected, (size_t) ITEMS * sizeof(double)) != 0)
			die("a wrong answer");
		ns[i] = (double) (report.finished_ns - report.started_ns - report.cpu_ns);
		hy_executor_destroy(executor);
	}
	beyond.median_ns = median(ns, repeats);
	beyond.longest_ns = ns[repeats - 1];
	return beyond;
}

/* failures: every status there is, as emulated_faults names it, where it is submitted and later. */
static void
failures(void)
{
	static const char *const kinds[] = {"unsupported",  "nomem",       "quota",     "busy",
	                                    "transient",    "timeout",     "cancelled", "context_lost",
	                                    "process_lost", "device_gone", "invalid",   "bug"};
	static const char *const places[] = {"submit", "poll"};
	const uint64_t timeout_ns = 100000000;
	double worst = 0;
	double longest = 0;
	Beyond hang;
	size_t k;
	size_t p;

	_Static_assert(sizeof(kinds) / sizeof(kinds[0]) == HY_STATUS_COUNT - 1, "each but ok");
	snprintf(rate_gflops, sizeof(rate_gflops), "5");
	for (k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
	{
		double ns = 0;
		char name[64];

		for (p = 0; p < 2; p++)
		{
			Beyond beyond;

			snprintf(faults, sizeof(faults), "in=%s,status=%s", places[p], kinds[k]);
			beyond = beyond_cpu(false, 2000000000);
			ns = fmax(ns, beyond.median_ns);
			longest = fmax(longest, beyond.longest_ns);
		}
		snprintf(name, sizeof(name), "a failure to the answer beyond the CPU's time; %s", kinds[k]);
		say(name, ns / 1e6, "ms", "lower", NAN);
		worst = fmax(worst, ns);
	}
	say("a failure to the answer beyond the CPU's time; the worst kind", worst / 1e6, "ms", "lower",
	    5);
	say("a failure to the answer beyond the CPU's time; the longest of all", longest / 1e6, "ms",
	    "lower", NAN);
	snprintf(faults, sizeof(faults), "status=hang");
	hang = beyond_cpu(false, timeout_ns);
	say("a hang to the answer beyond the CPU's time and the timeout",
	    (hang.median_ns - (double) timeout_ns) / 1e6, "ms", "lower", 5);
	say("a hang to the answer beyond the CPU's time and the timeout; the longest",
	    (hang.longest_ns - (double) timeout_ns) / 1e6, "ms", "lower", NAN);
	/* the CPU beside it takes the rows back, and waits for no timeout */
	hang = beyond_cpu(true, timeout_ns);
	say("a hang within split to the answer beyond the CPU's time", hang.median_ns / 1e6, "ms",
	    "lower", 5);
	say("a hang within split to the answer beyond the CPU's time; the longest",
	    hang.longest_ns / 1e6, "ms", "lower", NAN);
	faults[0] = '\0';
}

int
main(int argc, char **argv)
{
	size_t floats = (size_t) (QUERIES + TARGETS) * DIMS;
	double gflops;
	HyExecutor *executor;
	HyConfig config;
	HyTask task;
	size_t i;

	if (argc > 1)
		repeats = atoi(argv[1]);
	if (repeats < 1 || repeats > MOST_REPEATS)
		die("usage: bulk [REPEATS, 1 to 51]");
	vectors = malloc(floats * sizeof(float));
	out = malloc((size_t) ITEMS * sizeof(double));
	expected = malloc((size_t) ITEMS * sizeof(double));
	if (vectors == NULL || out == NULL || expected == NULL)
		die("out of memory");
	for (i = 0; i < floats; i++)
		vectors[i] = (float) ((i * 2654435761u) & 0xffff) / 65536.0f - 0.5f;
	hy_config_default(&config);
	config.execution = HY_EXECUTION_CPU;
	executor = new_executor(&config);
	task = task_of(TARGETS);
	task.u.distance.out = expected;
	if (hy_dispatch(executor, &task, NULL) != HY_OK)
		die("the CPU failed");
	hy_executor_destroy(executor);

	printf("bulk,case,metric,value,better,bound,met\n");
	gflops = cpu_rate();
	split(gflops);
	join_topk(gflops);
	several_devices();
	beside_bulk();
	failures();
	if (missed > 0)
		fprintf(stderr, "bulk: %d of the figures are not met\n", missed);
	return 0;
}
