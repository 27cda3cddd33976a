/*
 * dispatch.c
 *		The cost that hy_dispatch adds to a direct call of the CPU backend, in C, without SQL.
 *
 *		dispatch [CALLS [MEGABYTES [CASE]]]
 *
 * The cases are:
 *
 * - A tiny task whose data stays in the cache, in four situations: no device; a device for which the
 *   batch is too small; an open device that is slower by its history; a device that is not open yet.
 * - The same with 1 to 255 rows in irregular order, so that a task rarely has the size of the one before.
 * - Batches of 64 vectors of 768 dims that rotate through MEGABYTES (256), so that history, counters and
 *   events have been evicted from the near caches.
 * - The tiny task beside an open device, with shared statistics.  The shared table and the session's own
 *   statistics are full of some hundred kinds of tasks.  Meanwhile a second process, on another
 *   processor if there is one, runs those kinds in turn as fast as it can.
 *
 * Direct and dispatched calls alternate.  Each is timed by itself, and the cost of the timer cancels in
 * the difference.  With tasks of different sizes the difference is taken from the median of the direct
 * calls of the same size.  Then extra_p99_ns is the p99 of the dispatched calls' excess over these
 * medians, less that of the direct calls.  CASE: only the cases that have it in their names.
 *
 * CSV on stdout:
 * dispatch,case,median_ns,p99_ns,extra_median_ns,extra_p99_ns,extra_percent,direct_median_ns,direct_p99_ns
 */
#define _GNU_SOURCE

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ascending.h"
#include "dispatch/run/backend_cpu.h"
#include "dispatch/run/dispatcher.h"
#include "dispatch/run/flush.h"

#define TINY_DIMS 64
#define TINY_ROWS 4
#define SIZES 255
#define SIZES_STEP 97 /* from one to the next, in rows; of which SIZES is no multiple */
#define MOST_DIMS 4096
#define BATCH_DIMS 768
#define BATCH_ROWS 64

extern const HyBackend *hy_plugin_entry(const HyHost *host);

/* Case: tasks that take turns, and the executor that they go to. */
typedef struct Case
{
	const char *name;
	HyExecutor *executor;
	HyTask *tasks;
	int64_t count;
	int64_t sizes; /* of the tasks, in turn */
	int64_t calls;
} Case;

static HyDevice *cpu;
static const char *open_ms; /* of the emulated device, NULL: as it is by itself */
static double *direct_ns;
static double *dispatch_ns;
static double *scratch;
static const char *only;

static double now(void);
static double quantile(const double *sorted, int64_t n, double q);
static void die(const char *what);
static const char *setting(void *arg, const char *name);
static HyExecutor *new_executor(bool with_device, int64_t min_batch);
static void fill(HyTask *task, int32_t dims, int64_t rows, const float *query, const float *rows_at,
                 double *out);
static int64_t first_task(const Case *c, int64_t i);
static void run(const Case *c);
static void above_medians(const Case *c);
static void run_shared(const Case *c);
static void run_all_kinds(HyExecutor *executor, const Case *c);

int
main(int argc, char **argv)
{
	int64_t calls = argc > 1 ? atoll(argv[1]) : 200000;
	size_t bytes = (size_t) (argc > 2 ? atoll(argv[2]) : 256) << 20;
	size_t batch_floats = (size_t) BATCH_DIMS * BATCH_ROWS;
	int64_t batches = (int64_t) (bytes / (batch_floats * sizeof(float)));
	float *memory = malloc(bytes + batch_floats * sizeof(float));
	double out[SIZES];
	HyLimits limits = {0};
	HyTask tiny;
	HyTask changing[SIZES];
	HyTask *rotating;
	int64_t i;

	if (calls < 100 || batches < 1)
		die("usage: dispatch [CALLS >= 100 [MEGABYTES >= 1 [CASE]]]");
	rotating = calloc((size_t) batches, sizeof(HyTask));
	direct_ns = malloc((size_t) calls * sizeof(double));
	dispatch_ns = malloc((size_t) calls * sizeof(double));
	scratch = malloc((size_t) calls * sizeof(double));
	only = argc > 3 ? argv[3] : "";
	if (memory == NULL || rotating == NULL || direct_ns == NULL || dispatch_ns == NULL ||
	    scratch == NULL)
		die("out of memory");
	for (i = 0; i < (int64_t) (bytes / sizeof(float)) + (int64_t) batch_floats; i++)
		memory[i] = (float) ((i * 2654435761u) & 0xffff) / 65536.0f - 0.5f;
	hy_backend_cpu.open(0, &limits, &cpu);

	fill(&tiny, TINY_DIMS, TINY_ROWS, memory, memory + TINY_DIMS, out);
	for (i = 0; i < SIZES; i++)
		fill(&changing[i], TINY_DIMS, 1 + i * SIZES_STEP % SIZES, memory, memory + TINY_DIMS, out);
	for (i = 0; i < batches; i++)
		fill(&rotating[i], BATCH_DIMS, BATCH_ROWS, memory,
		     memory + BATCH_DIMS + (size_t) i * batch_floats, out);

	printf("dispatch,case,median_ns,p99_ns,extra_median_ns,extra_p99_ns,extra_percent,"
	       "direct_median_ns,direct_p99_ns\n");
	run(&(Case){"cached; no device", new_executor(false, 64), &tiny, 1, 1, calls});
	run(&(Case){"cached; below the minimum batch", new_executor(true, 64), &tiny, 1, 1, calls});
	run(&(Case){"cached; open device is slower", new_executor(true, 0), &tiny, 1, 1, calls});
	open_ms = "100000";
	run(&(Case){"cached; device not open yet", new_executor(true, 0), &tiny, 1, 1, calls});
	run(&(Case){"changing sizes; device not open yet", new_executor(true, 0), changing, SIZES,
	            SIZES, calls});
	open_ms = NULL;
	run(&(Case){"changing sizes; no device", new_executor(false, 64), changing, SIZES, SIZES,
	            calls});
	run(&(Case){"changing sizes; below the minimum batch", new_executor(true, SIZES + 1), changing,
	            SIZES, SIZES, calls});
	run(&(Case){"changing sizes; open device is slower", new_executor(true, 0), changing, SIZES,
	            SIZES, calls});
	run_shared(&(Case){"cached; table shared by two processes", new_executor(true, 0), &tiny, 1, 1,
	                   calls});
	run(&(Case){"64 x 768 rotating; no device", new_executor(false, 64), rotating, batches, 1,
	            calls / 10});
	run(&(Case){"64 x 768 rotating; below the minimum batch", new_executor(true, 65), rotating,
	            batches, 1, calls / 10});
	return 0;
}

static double
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double) ts.tv_sec * 1e9 + (double) ts.tv_nsec;
}

static double
quantile(const double *sorted, int64_t n, double q)
{
	return sorted[(int64_t) (q * (double) (n - 1) + 0.5)];
}

static void
die(const char *what)
{
	fprintf(stderr, "dispatch: %s\n", what);
	exit(1);
}

static const char *
setting(void *arg, const char *name)
{
	(void) arg;
	return strcmp(name, "emulated_open_ms") == 0 ? open_ms : NULL;
}

static HyExecutor *
new_executor(bool with_device, int64_t min_batch)
{
	static const HyHost host = {.abi = HY_BACKEND_ABI,
	                            .clock = &hy_monotonic_clock,
	                            .allocator = &hy_malloc_allocator,
	                            .setting = setting};
	HyExecutor *executor;
	HyConfig config;
	int op;

	if (hy_executor_create(&hy_malloc_allocator, &hy_monotonic_clock, NULL, &executor) != HY_OK)
		die("out of memory");
	if (with_device && hy_executor_add_backend(executor, hy_plugin_entry(&host)) != HY_OK)
		die("the emulated device is missing");
	hy_config_default(&config);
	for (op = 0; op < HY_OP_COUNT; op++)
		config.min_batch[op] = min_batch;
	hy_executor_configure(executor, &config);
	return executor;
}

static void
fill(HyTask *task, int32_t dims, int64_t rows, const float *query, const float *rows_at,
     double *out)
{
	memset(task, 0, sizeof(*task));
	task->op = HY_OP_DISTANCE;
	task->allocator = &hy_malloc_allocator;
	task->u.distance.metric = HY_METRIC_L2;
	task->u.distance.queries =
		(HyMatrix){.dims = dims, .rows = 1, .stride = (size_t) dims * sizeof(float), .data = query};
	task->u.distance.targets = task->u.distance.queries;
	task->u.distance.targets.rows = rows;
	task->u.distance.targets.data = rows_at;
	task->u.distance.out = out;
}

/* first_task: which one is called directly in turn i; the next one is dispatched. */
static int64_t
first_task(const Case *c, int64_t i)
{
	return 2 * (i + c->calls) % c->count;
}

static void
run(const Case *c)
{
	int64_t on_device;
	double direct;
	double dispatched;
	double direct99;
	double dispatched99;
	double extra;
	int64_t i;

	if (strstr(c->name, only) == NULL)
	{
		hy_executor_destroy(c->executor);
		return;
	}
	/* the first tenth warms up, and lets the device be tried */
	for (i = -c->calls / 10; i < c->calls; i++)
	{
		/* each side gets its own task: what one has read is not warm for the other */
		int64_t turn = first_task(c, i);
		const HyTask *first = &c->tasks[turn];
		const HyTask *second = &c->tasks[(turn + 1) % c->count];
		HyTicket ticket;
		HyTimings timings;
		bool done;
		double start;
		double middle;
		double end;

		start = now();
		if (hy_backend_cpu.submit(cpu, first, &ticket) != HY_OK ||
		    hy_backend_cpu.poll(cpu, ticket, &done, &timings) != HY_OK)
			die("the CPU failed");
		middle = now();
		if (hy_dispatch(c->executor, second, NULL) != HY_OK)
			die("the dispatcher failed");
		end = now();
		if (i >= 0)
		{
			direct_ns[i] = middle - start;
			dispatch_ns[i] = end - middle;
		}
	}
	on_device = hy_executor_devices(c->executor) > 1
	                ? hy_executor_counters(c->executor, 1, HY_OP_DISTANCE)->calls
	                : 0;
	if (on_device > c->calls / 100 + 4)
		die("the device was not slower");
	memcpy(scratch, direct_ns, (size_t) c->calls * sizeof(double));
	qsort(scratch, (size_t) c->calls, sizeof(double), ascending);
	direct = quantile(scratch, c->calls, 0.5);
	direct99 = quantile(scratch, c->calls, 0.99);
	memcpy(scratch, dispatch_ns, (size_t) c->calls * sizeof(double));
	qsort(scratch, (size_t) c->calls, sizeof(double), ascending);
	dispatched = quantile(scratch, c->calls, 0.5);
	dispatched99 = quantile(scratch, c->calls, 0.99);
	above_medians(c);
	qsort(direct_ns, (size_t) c->calls, sizeof(double), ascending);
	qsort(dispatch_ns, (size_t) c->calls, sizeof(double), ascending);
	extra = quantile(dispatch_ns, c->calls, 0.5) - quantile(direct_ns, c->calls, 0.5);
	printf("dispatch,%s,%.0f,%.0f,%.0f,%.0f,%.2f,%.0f,%.0f\n", c->name, dispatched, dispatched99,
	       extra, quantile(dispatch_ns, c->calls, 0.99) - quantile(direct_ns, c->calls, 0.99),
	       100 * extra / direct, direct, direct99);
	fflush(stdout);
	hy_executor_destroy(c->executor);
}

/* above_medians: both sides' times less the median of the direct calls of the same size. */
static void
above_medians(const Case *c)
{
	int64_t size;
	int64_t i;

	for (size = 0; size < c->sizes; size++)
	{
		int64_t n = 0;
		double median;

		for (i = 0; i < c->calls; i++)
		{
			if (first_task(c, i) % c->sizes == size)
				scratch[n++] = direct_ns[i];
		}
		if (n == 0)
			die("too few calls for so many sizes");
		qsort(scratch, (size_t) n, sizeof(double), ascending);
		median = quantile(scratch, n, 0.5);
		for (i = 0; i < c->calls; i++)
		{
			if (first_task(c, i) % c->sizes == size)
				direct_ns[i] -= median;
			if ((first_task(c, i) + 1) % c->count % c->sizes == size)
				dispatch_ns[i] -= median;
		}
	}
}

static void
lock_table(void *arg)
{
	pthread_mutex_lock(arg);
}

static void
unlock_table(void *arg)
{
	pthread_mutex_unlock(arg);
}

static void
whose_event(void *arg, HyOrigin *origin, int64_t *wall_us)
{
	(void) arg;
	memset(origin, 0, sizeof(*origin));
	origin->session = (uint64_t) getpid();
	origin->pid = (int32_t) getpid();
	*wall_us = 0;
}

/* run_shared: the case, while another process does the same with the same table. */
static void
run_shared(const Case *c)
{
	static const HyTableLimits limits = {
		.devices = 8, .models = 512, .events = 1024, .contexts = 64};
	size_t bytes = hy_table_size(&limits);
	pthread_mutex_t *mutex =
		mmap(NULL, bytes + 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	HyShareHost host = {.lock = {lock_table, unlock_table, mutex},
	                    .clock = &hy_monotonic_clock,
	                    .origin = whose_event};
	pthread_mutexattr_t attributes;
	HySharedTable *table;
	pid_t child;
	int i;

	if (mutex == MAP_FAILED)
		die("out of memory");
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(mutex, &attributes);
	table = hy_table_init((char *) mutex + 4096, &limits);
	child = fork();
	if (child < 0)
		die("cannot fork");
	if (child == 0)
	{
		HyExecutor *executor = new_executor(false, 64);
		cpu_set_t processors;

		CPU_ZERO(&processors);
		CPU_SET(1, &processors);
		/* where there is only one, they take turns */
		(void) sched_setaffinity(0, sizeof(processors), &processors);
		hy_executor_share(executor, table, &host);
		for (;;)
			run_all_kinds(executor, c);
	}
	hy_executor_share(c->executor, table, &host);
	for (i = 0; i < 20; i++)
		run_all_kinds(c->executor, c);
	run(c);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	munmap(mutex, bytes + 4096);
}

/* run_all_kinds: a task of every operation, metric and power of two of dims. */
static void
run_all_kinds(HyExecutor *executor, const Case *c)
{
	HyMatrix vector = c->tasks[0].u.distance.queries;
	double distance;
	HyNeighbor neighbor;
	int32_t count;
	int metric;

	for (vector.dims = 1; vector.dims <= MOST_DIMS; vector.dims *= 2)
	{
		vector.stride = (size_t) vector.dims * sizeof(float);
		for (metric = 0; metric < HY_METRIC_COUNT; metric++)
		{
			HyTask task = {.op = HY_OP_DISTANCE,
			               .allocator = &hy_malloc_allocator,
			               .u.distance = {(HyMetric) metric, vector, vector, &distance, 0}};

			if (hy_dispatch(executor, &task, NULL) != HY_OK)
				die("the dispatcher failed");
			task.op = HY_OP_TOPK;
			task.u.topk =
				(HyTopKTask){(HyMetric) metric, vector, vector, 1, &neighbor, &count, NULL};
			if (hy_dispatch(executor, &task, NULL) != HY_OK)
				die("the dispatcher failed");
		}
	}
}
