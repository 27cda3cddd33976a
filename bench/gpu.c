/*
 * gpu.c
 *		The costs of a device, and the performance of the CUDA plug-in on it.
 *
 *		gpubench [--quick] [--limit SECONDS] DIRECTORY [DEVICE [SECTION ...]]
 *
 * Prints 'measure,value,unit,asked,reached,beside' lines, each as soon as it is known.  'asked' is the
 * target, and 'beside' is what the figure is compared with.  The plug-in is driven through its vtable, as
 * the dispatcher does it.  Copies and bandwidth are measured with the runtime.  --quick: shapes that are
 * too small for meaningful figures, to test the bench itself.  --limit: a section that takes longer ends
 * the program, with status 3 and a line '# SECTION: no end after SECONDS s'.  Exit status 2: no GPU.
 * The environment variable GPUBENCH_THREADS sets the number of threads that copy rows in the host's memory.
 * The default is the number that a session uses with PostgreSQL's default settings.
 */
#include "gpu.h"

#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ascending.h"
#include "core/clock.h"
#include "core/cpu_features.h"
#include "core/distance.h"
#include "cuda/device.h"
#include "dispatch/tools/plugin.h"

#define RUNS 15
#define LEAST_RUNS 3
#define RUNS_US 1.5e6 /* no further run begins after so long */
#define ONCE_US 3e6   /* what takes longer is not run again */
#define NAMES 8
#define SESSION_THREADS 3 /* 1 + the default of max_parallel_workers_per_gather */
#define NAME_LENGTH 192
#define NO_END 3 /* exit status */

typedef struct Section
{
	const char *name;
	void (*run)(void);
	bool
		apart; /* opens the device itself, in a process of its own: closing it takes our context with it */
} Section;

/* The first is run whatever was asked for; those apart come last. */
static const Section sections[] = {{"yardsticks", gpu_yardsticks, false},
                                   {"resident", gpu_resident, false},
                                   {"queries", gpu_queries, false},
                                   {"assign", gpu_assign, false},
                                   {"spread", gpu_spread, false},
                                   {"small", gpu_small, false},
                                   {"batch", gpu_batch, false},
                                   {"overlap", gpu_overlap, false},
                                   {"busy", gpu_busy, false},
                                   {"cublas", gpu_cublas, false},
                                   {"shapes", gpu_shapes, false},
                                   {"codes", gpu_codes, false},
                                   {"pool", gpu_pool, true},
                                   {"route", gpu_route, true}};

#define SECTIONS ((int) (sizeof(sections) / sizeof(sections[0])))

Gpu gpu;
static char late[NAME_LENGTH]; /* the line for a section that does not end */

/* The plug-in where it is linked in, as on the fake device; else it is loaded. */
extern const HyBackend *hy_plugin_entry(const HyHost *host) __attribute__((weak));

static const char *setting(void *arg, const char *name);
static int usage(void);
static bool chosen(const char *name, int count, char **names);
static int describe(void);
static pid_t fork_later(int count, char **names, int *go);
static void run_sections(bool apart, int count, char **names);
static void measure_context(void);
static int cores_of_host(void);
static int threads_of_host(void);
static HyStatus
run_parts(void *arg, HyOp op, double work, int64_t parts, HyPart part, void *part_arg);
static void no_end(int number);
static void print_line(const char *measure, const char *value, const char *unit, GpuAsked asked,
                       const char *reached, const char *beside);
static void run_task(void *arg);

int
main(int argc, char **argv)
{
	char why[256] = "";
	pid_t later;
	int status;
	int go;
	int i;

	if (argc > 1 && strcmp(argv[1], "--quick") == 0)
	{
		gpu.quick = true;
		argc--;
		argv++;
	}
	if (argc > 2 && strcmp(argv[1], "--limit") == 0)
	{
		gpu.limit = atoi(argv[2]);
		argc -= 2;
		argv += 2;
	}
	if (argc < 2 || gpu.limit < 0)
		return usage();
	(void) signal(SIGALRM, no_end);
	for (i = 3; i < argc; i++)
	{
		int s;

		for (s = 0; s < SECTIONS && strcmp(sections[s].name, argv[i]) != 0; s++)
			;
		if (s == SECTIONS)
			return usage();
	}
	gpu.number = argc > 2 ? atoi(argv[2]) : 0;
	gpu.cores = cores_of_host();
	gpu.threads = threads_of_host();
	gpu.host = (HyHost){.abi = HY_BACKEND_ABI,
	                    .clock = &hy_monotonic_clock,
	                    .allocator = &hy_malloc_allocator,
	                    .setting = setting,
	                    .run = run_parts};
	gpu.cuda = hy_plugin_entry != NULL
	               ? hy_plugin_entry(&gpu.host)
	               : hy_plugin_load(argv[1], "hybrid_cuda", &gpu.host, why, sizeof(why));
	if (gpu.cuda == NULL)
	{
		printf("no GPU: %s\n", why);
		return 2;
	}
	status = describe();
	if (status != 0)
		return status;
	later = fork_later(argc - 3, argv + 3, &go);
	measure_context();
	run_sections(false, argc - 3, argv + 3);
	gpu_rows_free();
	gpu_close();
	if (write(go, "", 1) != 1 || waitpid(later, &status, 0) != later || !WIFEXITED(status))
		return 1;
	return WEXITSTATUS(status);
}

/* setting: of the plug-in: small shapes are filtered, too, in a quick run. */
static const char *
setting(void *arg, const char *name)
{
	(void) arg;
	return gpu.quick && strcmp(name, "cuda_filter_least") == 0 ? "0" : NULL;
}

static int
usage(void)
{
	int i;

	fprintf(stderr, "usage: gpubench [--quick] [--limit SECONDS] DIRECTORY [DEVICE [SECTION ...]]\n"
	                "sections:");
	for (i = 0; i < SECTIONS; i++)
		fprintf(stderr, " %s", sections[i].name);
	fprintf(stderr, "\n");
	return 2;
}

static bool
chosen(const char *name, int count, char **names)
{
	int i;

	for (i = 0; i < count; i++)
	{
		if (strcmp(names[i], name) == 0)
			return true;
	}
	return count <= 0;
}

/*
 * describe: the head of the result.  Asked in a child: this process must not start the driver before
 * it forks in measure_context.
 */
static int
describe(void)
{
	enum
	{
		FAKE = 3
	};
	int status = 0;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0)
	{
		HyDeviceInfo info;
		HyFailure failure;
		int32_t count = 0;

		if (gpu.cuda->device_count(&count) == HY_OK && count > gpu.number &&
		    gpu.cuda->probe(gpu.number, &info) == HY_OK)
		{
			bool fake = strncmp(info.name, "Fake device", strlen("Fake device")) == 0;

			printf("# %s, %s, %d multiprocessors, %.1f GiB; host: %d cores, %s%s%s\n",
			       fake ? "fake device" : info.name, info.architecture, (int) info.cores,
			       (double) info.memory_total / (1 << 30), gpu.cores,
			       hy_simd_name(hy_kernels()->level),
			       gpu.quick ? "; quick: shapes too small to tell" : "",
			       fake ? "; no device was there: NO FIGURE BELOW MEANS ANYTHING" : "");
			printf("# rows are copied in the host's memory by %d threads\n", gpu.threads);
			printf("measure,value,unit,asked,reached,beside\n");
			fflush(stdout);
			_exit(fake ? FAKE : 0);
		}
		gpu.cuda->last_error(NULL, &failure);
		printf("no GPU: %s\n", failure.text[0] != '\0' ? failure.text : "too few devices");
		fflush(stdout);
		_exit(2);
	}
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return 2;
	gpu.fake = WEXITSTATUS(status) == FAKE;
	return gpu.fake ? 0 : WEXITSTATUS(status);
}

/*
 * fork_later: the process of the sections apart, forked before anybody has called CUDA; it waits for a
 * byte in *go, which is written when this process has closed the device.
 */
static pid_t
fork_later(int count, char **names, int *go)
{
	int ends[2];
	pid_t child;
	char token;

	if (pipe(ends) != 0)
		exit(1);
	fflush(stdout);
	child = fork();
	if (child < 0)
		exit(1);
	if (child > 0)
	{
		(void) close(ends[0]);
		*go = ends[1];
		return child;
	}
	/* so that it ends with its parent */
	(void) close(ends[1]);
	if (read(ends[0], &token, 1) != 1)
		_exit(1);
	run_sections(true, count, names);
	gpu_rows_free();
	exit(0);
}

static void
run_sections(bool apart, int count, char **names)
{
	int i;

	for (i = 0; i < SECTIONS; i++)
	{
		double begin = gpu_now_us();

		if (sections[i].apart != apart || (i > 0 && !chosen(sections[i].name, count, names)))
			continue;
		if (!apart)
			gpu.device->longest_us = 0;
		(void) snprintf(late, sizeof(late), "# %s: no end after %d s\n", sections[i].name,
		                gpu.limit);
		(void) alarm((unsigned int) gpu.limit);
		sections[i].run();
		(void) alarm(0);
		/* of yardsticks no task was run */
		if (!apart && gpu.device->longest_us > 0)
			gpu_print_beside(gpu_name("%s_longest_piece", sections[i].name),
			                 gpu.device->longest_us / 1000, "ms", GPU_AT_MOST(5),
			                 "of all tasks; from the event before its kernels to that behind them");
		printf("# %s: %.1f s\n", sections[i].name, (gpu_now_us() - begin) / 1e6);
		fflush(stdout);
	}
}

/* no_end: a signal's handler; the device may not answer, so nothing is given back. */
static void
no_end(int number)
{
	(void) number;
	if (write(STDOUT_FILENO, late, strlen(late)) < 0)
		_exit(1);
	_exit(NO_END);
}

/* measure_context: the time to open, and what a second process with a context takes of the device. */
static void
measure_context(void)
{
	int go[2];
	int ready[2];
	size_t before;
	size_t after;
	size_t total;
	double start;
	pid_t child;
	char token = 0;

	/* the child forks before anybody has called CUDA, and opens when it is told to */
	if (pipe(go) != 0 || pipe(ready) != 0)
		exit(1);
	child = fork();
	if (child == 0)
	{
		/* so that it ends with its parent */
		(void) close(go[1]);
		if (read(go[0], &token, 1) != 1)
			_exit(1);
		token = gpu.cuda->open(gpu.number, NULL, &gpu.device) == HY_OK;
		if (write(ready[1], &token, 1) != 1 || read(go[0], &token, 1) != 1)
			_exit(1);
		_exit(0);
	}
	start = gpu_now_us();
	gpu_open();
	gpu_print("context_open", (gpu_now_us() - start) / 1000, "ms");
	gpu_check(cudaMemGetInfo(&before, &total), "asking for memory");
	if (write(go[1], &token, 1) == 1 && read(ready[0], &token, 1) == 1 && token)
	{
		gpu_check(cudaMemGetInfo(&after, &total), "asking for memory");
		gpu_print("context_memory", ((double) before - (double) after) / (double) GPU_MIB, "MiB");
	}
	if (write(go[1], &token, 1) != 1)
		exit(1);
	(void) waitpid(child, NULL, 0);
}

void
gpu_open(void)
{
	if (gpu.cuda->open(gpu.number, NULL, &gpu.device) != HY_OK)
	{
		HyFailure failure;

		gpu.cuda->last_error(NULL, &failure);
		printf("no GPU: device %d cannot be opened: %s\n", (int) gpu.number, failure.text);
		exit(2);
	}
	gpu_check(cudaSetDevice(gpu.number), "selecting the device");
	gpu_check(cudaStreamCreateWithFlags(&gpu.stream, cudaStreamNonBlocking), "making a stream");
}

void
gpu_close(void)
{
	if (gpu.device == NULL)
		return;
	gpu_rows_leave();
	gpu_check(cudaStreamDestroy(gpu.stream), "giving a stream back");
	gpu.cuda->close(gpu.device);
	gpu.device = NULL;
}

/* cores_of_host: those that the scheduler lets this process have, and no more than it may use up. */
static int
cores_of_host(void)
{
	cpu_set_t set;
	FILE *file;
	double quota;
	double period;
	int cores = 1;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		cores = CPU_COUNT(&set);
	file = fopen("/sys/fs/cgroup/cpu.max", "r");
	if (file == NULL)
		return cores;
	if (fscanf(file, "%lf %lf", &quota, &period) == 2 && period > 0 && quota / period < cores)
		cores = quota > period ? (int) (quota / period) : 1;
	fclose(file);
	return cores;
}

/* threads_of_host: return GPUBENCH_THREADS, or the number that a session uses by default; at most one per core. */
static int
threads_of_host(void)
{
	const char *text = getenv("GPUBENCH_THREADS");
	int threads = text != NULL ? atoi(text) : SESSION_THREADS;

	threads = threads < gpu.cores ? threads : gpu.cores;
	return threads < 1 ? 1 : threads;
}

/* run_parts: implement HyHost.run, on at most gpu.threads threads. */
static HyStatus
run_parts(void *arg, HyOp op, double work, int64_t parts, HyPart part, void *part_arg)
{
	HyStatus status;

	(void) arg;
	(void) op;
	hy_threads_allow(gpu.threads);
	status = hy_threads_run_soon(hy_threads_for(work), parts, part, part_arg, NULL);
	hy_threads_allow(1);
	return status;
}

const char *
gpu_name(const char *format, ...)
{
	static char names[NAMES][NAME_LENGTH];
	static int next;
	char *name = names[next++ % NAMES];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(name, NAME_LENGTH, format, arguments);
	va_end(arguments);
	return name;
}

void
gpu_print(const char *measure, double value, const char *unit)
{
	print_line(measure, gpu_name("%.6g", value), unit, GPU_NOTHING, "", "");
}

void
gpu_print_beside(const char *measure, double value, const char *unit, GpuAsked asked,
                 const char *format, ...)
{
	bool reached = asked.sense == '>' ? value >= asked.limit : value <= asked.limit;
	char beside[NAME_LENGTH];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(beside, sizeof(beside), format, arguments);
	va_end(arguments);
	print_line(measure, gpu_name("%.6g", value), unit, asked, reached ? "yes" : "no", beside);
}

void
gpu_print_matrix_share(const char *name, double rate, GpuAsked asked)
{
	const char *measure = gpu_name("%s_share_of_matrix_rate", name);
	double share = rate / gpu.matrix;
	const char *beside;

	if (gpu.matrix <= 0)
	{
		gpu_print_missing(measure, "ratio", asked, "the unit has no bfloat16; %.6g TFLOP/s",
		                  rate / 1e6);
		return;
	}
	beside = gpu_name("%.6g TFLOP/s of %.6g by %s", rate / 1e6, gpu.matrix / 1e6, gpu.matrix_by);
	if (gpu.matrix_low)
		print_line(measure, gpu_name("%.6g", share), "ratio", asked, "not judged",
		           gpu_name("%s; without cuBLAS the rate is too low", beside));
	else
		gpu_print_beside(measure, share, "ratio", asked, "%s", beside);
}

void
gpu_print_missing(const char *measure, const char *unit, GpuAsked asked, const char *format, ...)
{
	char beside[NAME_LENGTH];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(beside, sizeof(beside), format, arguments);
	va_end(arguments);
	print_line(measure, "", unit, asked, "not available", beside);
}

/* print_line: what was asked for whole shapes of a device says nothing of others; 'reached' counts where some was. */
static void
print_line(const char *measure, const char *value, const char *unit, GpuAsked asked,
           const char *reached, const char *beside)
{
	const char *c;

	if (gpu.fake && value[0] != '\0')
		reached = "fake";
	else if (asked.sense == 0 && value[0] != '\0')
		reached = "";
	else if (gpu.quick && value[0] != '\0')
		reached = "quick";
	printf("%s%s,%s,%s,", gpu.fake ? "fake " : "", measure, value, unit);
	if (asked.sense != 0)
		printf("%c= %g", asked.sense, asked.limit);
	printf(",%s,", reached);
	for (c = beside; *c != '\0'; c++)
		putchar(*c == ',' || *c == '\n' ? ';' : *c);
	printf("\n");
	fflush(stdout);
}

void
gpu_check(cudaError_t error, const char *doing)
{
	if (error == cudaSuccess)
		return;
	printf("# %s: %s\n", doing, cudaGetErrorString(error));
	exit(1);
}

void
gpu_give_up(const char *doing)
{
	HyFailure failure;

	gpu.cuda->last_error(gpu.device, &failure);
	printf("# %s: %s\n", doing, failure.text);
	exit(1);
}

double
gpu_now_us(void)
{
	return (double) hy_monotonic_clock.now(hy_monotonic_clock.arg) / 1000;
}

double
gpu_median_us(void (*run)(void *), void *arg)
{
	double times[RUNS];
	double begin = gpu_now_us();
	double first;
	int count = 0;

	run(arg);
	first = gpu_now_us() - begin;
	if (gpu.fake || first > ONCE_US)
		return first;
	run(arg);
	begin = gpu_now_us();
	while (count < RUNS && (count < LEAST_RUNS || gpu_now_us() - begin < RUNS_US))
	{
		double start = gpu_now_us();

		run(arg);
		times[count++] = gpu_now_us() - start;
	}
	qsort(times, (size_t) count, sizeof(double), ascending);
	return times[count / 2];
}

void
gpu_run_task(const HyTask *task)
{
	HyTicket ticket;
	HyTimings timings;
	bool done = false;

	if (gpu.cuda->submit(gpu.device, task, &ticket) != HY_OK)
		gpu_give_up("submit");
	while (!done)
	{
		if (gpu.cuda->poll(gpu.device, ticket, &done, &timings) != HY_OK)
			gpu_give_up("poll");
	}
}

static void
run_task(void *arg)
{
	gpu_run_task(arg);
}

double
gpu_task_us(const HyTask *task)
{
	HyTask copy = *task;

	return gpu_median_us(run_task, &copy);
}
