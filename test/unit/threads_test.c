/*
 * threads_test.c
 *		The pool of threads, and the computations that use it: the same bits for any number of threads.
 */
#define _GNU_SOURCE

#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/assign.h"
#include "core/distance.h"
#include "core/prefilter.h"
#include "core/threads.h"
#include "core/topk.h"
#include "core/triangles.h"
#include "rows.h"
#include "spread_stage.h"

#define PARTS 200

/* Threads that may still be started; the pool starts none for which this function fails. */
static int startable = 1000;

int
pthread_attr_setstacksize(pthread_attr_t *attributes, size_t bytes)
{
	(void) attributes;
	(void) bytes;
	if (startable == 0)
		return EINVAL;
	startable--;
	return 0;
}

typedef struct Work
{
	int done[PARTS];           /* atomic; how often each part has run */
	int busy[HY_THREADS_MOST]; /* atomic; parts that a worker runs now */
	int workers;               /* atomic; bit i: worker i has run a part */
	int clashes;               /* atomic */
	int unblocked;             /* atomic; signals that a thread would receive */
	int64_t fails;             /* the part that fails; -1: none */
	int64_t waits;             /* parts from this one on wait for a cancel */
	int together;              /* a part waits until so many workers have begun */
	pthread_t caller;
} Work;

static void
pause_a_little(void)
{
	struct timespec time = {0, 100000};

	nanosleep(&time, NULL);
}

static HyStatus
run_part(void *arg, int64_t part, int worker, const HyCancel *cancel)
{
	Work *work = arg;
	int tries;

	if (__atomic_fetch_add(&work->busy[worker], 1, __ATOMIC_RELAXED) != 0)
		__atomic_fetch_add(&work->clashes, 1, __ATOMIC_RELAXED);
	__atomic_fetch_or(&work->workers, 1 << worker, __ATOMIC_RELAXED);
	__atomic_fetch_add(&work->done[part], 1, __ATOMIC_RELAXED);
	if ((worker == 0) != (pthread_equal(pthread_self(), work->caller) != 0))
		__atomic_fetch_add(&work->clashes, 1, __ATOMIC_RELAXED);
	if (worker != 0)
	{
		sigset_t blocked;

		pthread_sigmask(SIG_BLOCK, NULL, &blocked);
		if (!sigismember(&blocked, SIGINT) || !sigismember(&blocked, SIGURG) ||
		    !sigismember(&blocked, SIGALRM) || !sigismember(&blocked, SIGTERM))
			__atomic_fetch_add(&work->unblocked, 1, __ATOMIC_RELAXED);
	}
	for (tries = 0; tries < 50000 && __builtin_popcount((unsigned) __atomic_load_n(
										 &work->workers, __ATOMIC_RELAXED)) < work->together;
	     tries++)
		pause_a_little();
	while (work->waits >= 0 && part >= work->waits && !hy_cancelled(cancel))
		pause_a_little();
	__atomic_fetch_sub(&work->busy[worker], 1, __ATOMIC_RELAXED);
	if (work->waits >= 0 && hy_cancelled(cancel))
		return HY_CANCELLED;
	return part == work->fails ? HY_NOMEM : HY_OK;
}

static Work
new_work(void)
{
	Work work = {.fails = -1, .waits = -1, .caller = pthread_self()};

	return work;
}

static void
check_all_done(const Work *work)
{
	int i;

	CHECK_INT(work->clashes, 0);
	CHECK_INT(work->unblocked, 0);
	for (i = 0; i < PARTS; i++)
		CHECK_INT(work->done[i], 1);
}

static void
test_each_part_once(void)
{
	int threads;

	for (threads = 1; threads <= 9; threads++)
	{
		Work work = new_work();

		CHECK_INT(hy_threads_run(threads, PARTS, run_part, &work, NULL), HY_OK);
		check_all_done(&work);
		CHECK(work.workers < 1 << threads);
	}
	CHECK_INT(hy_threads_run(4, 0, run_part, NULL, NULL), HY_OK);
	hy_threads_stop();
}

static void
test_all_threads_work(void)
{
	Work work = new_work();

	work.together = 5;
	CHECK_INT(hy_threads_run(5, PARTS, run_part, &work, NULL), HY_OK);
	check_all_done(&work);
	CHECK_INT(work.workers, 31);
	hy_threads_stop();
	hy_threads_stop();
	work = new_work();
	work.together = 3;
	CHECK_INT(hy_threads_run(3, PARTS, run_part, &work, NULL), HY_OK);
	CHECK_INT(work.workers, 7);
	check_all_done(&work);
}

static void
test_threads_that_do_not_start(void)
{
	int most;

	for (most = 0; most <= 3; most++)
	{
		Work work = new_work();

		hy_threads_stop();
		startable = most;
		work.together = most + 1;
		CHECK_INT(hy_threads_run(6, PARTS, run_part, &work, NULL), HY_OK);
		check_all_done(&work);
		CHECK_INT(work.workers, (1 << (most + 1)) - 1);
	}
	startable = 1000;
	hy_threads_stop();
}

static void
test_failing_part(void)
{
	int threads;

	for (threads = 1; threads <= 4; threads++)
	{
		Work work = new_work();
		int i;

		work.fails = 7;
		CHECK_INT(hy_threads_run(threads, PARTS, run_part, &work, NULL), HY_NOMEM);
		CHECK_INT(work.clashes, 0);
		for (i = 0; i < threads; i++)
			CHECK_INT(work.busy[i], 0);
		CHECK_INT(work.done[7], 1);
		CHECK(threads > 1 || work.done[8] == 0);
	}
}

/* The caller has run its last part and waits for the others when the cancel comes, or it runs a part. */
static void
test_cancel(void)
{
	int threads;
	int64_t at;

	for (threads = 2; threads <= 4; threads++)
	{
		for (at = 1; at <= 100; at += 33)
		{
			Work work = new_work();
			UnitCancel cancel;
			int i;

			unit_cancel_init(&cancel, at);
			work.waits = 2;
			CHECK_INT(hy_threads_run(threads, PARTS, run_part, &work, &cancel.cancel),
			          HY_CANCELLED);
			for (i = 0; i < threads; i++)
				CHECK_INT(work.busy[i], 0);
			CHECK_INT(work.done[PARTS - 1], 0);
		}
	}
}

/* MainThreadWork: work of the caller, of `left` steps; it ends with `status`. */
typedef struct MainThreadWork
{
	Work *work;
	int left;
	int steps;
	HyStatus status;
} MainThreadWork;

static HyStatus
step_main_thread_work(void *arg, bool *more)
{
	MainThreadWork *mine = arg;
	Work nested = new_work();
	int tries;

	/* the first part runs on the other thread meanwhile */
	for (tries = 0; tries < 50000 && __atomic_load_n(&mine->work->workers, __ATOMIC_RELAXED) == 0;
	     tries++)
		pause_a_little();
	CHECK(pthread_equal(pthread_self(), mine->work->caller));
	CHECK_INT(hy_threads_run(4, PARTS, run_part, &nested, NULL), HY_OK);
	CHECK_INT(nested.workers, 1);
	mine->steps++;
	*more = --mine->left > 0;
	return *more ? HY_OK : mine->status;
}

/* The other thread takes its time, so that all work of the caller is done before there are no parts left. */
static HyStatus
run_slowly(void *arg, int64_t part, int worker, const HyCancel *cancel)
{
	pause_a_little();
	return run_part(arg, part, worker, cancel);
}

static void
test_main_thread_work(void)
{
	int round;

	for (round = 0; round < 3; round++)
	{
		Work work = new_work();
		MainThreadWork state = {&work, 5, 0, round == 1 ? HY_NOMEM : HY_OK};
		HyMainThreadWork given = {step_main_thread_work, &state};

		hy_threads_set_main_thread_work(round == 2 ? NULL : &given);
		CHECK_INT(hy_threads_run(2, PARTS, run_slowly, &work, NULL), round == 1 ? HY_NOMEM : HY_OK);
		CHECK_INT(state.steps, round == 2 ? 0 : 5);
		CHECK_INT(work.clashes, 0);
		/* it is done once; then the caller works like the others */
		CHECK_INT(hy_threads_run(2, PARTS, run_part, &work, NULL), HY_OK);
		CHECK_INT(state.steps, round == 2 ? 0 : 5);
		if (round != 1)
			CHECK_INT(work.done[0], 2);
		/* one thread leaves it to the caller */
		state.left = 5;
		hy_threads_set_main_thread_work(&given);
		CHECK_INT(hy_threads_run(1, PARTS, run_part, &work, NULL), HY_OK);
		CHECK_INT(state.left, 5);
		/* while the work is paused, the caller runs parts like the other threads */
		hy_threads_pause_main_thread_work(true);
		CHECK_INT(hy_threads_run(2, PARTS, run_slowly, &work, NULL), HY_OK);
		CHECK_INT(state.left, 5);
		hy_threads_pause_main_thread_work(false);
		state.status = HY_OK;
		CHECK_INT(hy_threads_run(2, PARTS, run_slowly, &work, NULL), HY_OK);
		CHECK_INT(state.left, 0);
		hy_threads_set_main_thread_work(NULL);
	}
	hy_threads_stop();
}

/* processor_ns: return the processor time of all threads of this process. */
static int64_t
processor_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (int64_t) time.tv_sec * 1000000000 + time.tv_nsec;
}

/* short runs follow each other, also after failures, cancels and a stop; then the threads sleep */
static void
test_soon(void)
{
	struct timespec pause = {0, 300000000};
	UnitCancel cancel;
	int64_t before;
	int round;

	for (round = 0; round < 300; round++)
	{
		Work work = new_work();

		/* every seventh run does not announce that another run follows */
		work.together = round % 50 == 0 ? 3 : 0;
		if (round % 7 == 3)
			CHECK_INT(hy_threads_run(1 + round % 4, PARTS, run_part, &work, NULL), HY_OK);
		else
			CHECK_INT(hy_threads_run_soon(3 + round % 2, PARTS, run_part, &work, NULL), HY_OK);
		check_all_done(&work);
		if (round % 20 == 0)
			pause_a_little();
		/* the threads may be spinning now */
		if (round % 30 == 0)
			hy_threads_stop();
	}
	for (round = 0; round < 20; round++)
	{
		Work work = new_work();

		work.fails = 5;
		CHECK_INT(hy_threads_run_soon(3, PARTS, run_part, &work, NULL), HY_NOMEM);
		unit_cancel_init(&cancel, 1);
		CHECK_INT(hy_threads_run_soon(3, PARTS, run_part, &work, &cancel.cancel), HY_CANCELLED);
	}
	before = processor_ns();
	nanosleep(&pause, NULL);
	CHECK(processor_ns() - before < 100000000);
	hy_threads_stop();
}

static void
test_after_a_fork(void)
{
	Work work = new_work();
	int status = 0;
	pid_t child;

	work.together = 3;
	CHECK_INT(hy_threads_run(3, PARTS, run_part, &work, NULL), HY_OK);
	fflush(stdout);
	child = fork();
	if (child == 0)
	{
		Work own = new_work();

		hy_threads_stop();
		/* The sanitizer allows a child of a process with threads to start none. */
#if !defined(__SANITIZE_THREAD__)
		own.together = 3;
		if (hy_threads_run(3, PARTS, run_part, &own, NULL) != HY_OK || own.workers != 7)
			_exit(1);
		hy_threads_stop();
#endif
		_exit(own.clashes);
	}
	CHECK(child > 0);
	CHECK(waitpid(child, &status, 0) == child);
	CHECK_INT(status, 0);
	work = new_work();
	work.together = 3;
	CHECK_INT(hy_threads_run(3, PARTS, run_part, &work, NULL), HY_OK);
	check_all_done(&work);
	hy_threads_stop();
}

/* Ending: ends the process at a poll of the caller, like a signal handler that arrives there. */
typedef struct Ending
{
	Work *work;
	int polls;
} Ending;

static bool
end_process(void *arg)
{
	Ending *ending = arg;

	/* at the first poll no thread has started */
	if (++ending->polls < 2)
		return false;
	hy_threads_stop();
	_exit(__atomic_load_n(&ending->work->busy[1], __ATOMIC_RELAXED));
}

/* Each of two workers takes a part.  Worker 1 waits for a cancel, and so does worker 0 if waits is 0. */
static HyStatus
wait_for_cancel(void *arg, int64_t part, int worker, const HyCancel *cancel)
{
	Work *work = arg;
	bool waits = worker == 1 || work->waits == 0;

	(void) part;
	__atomic_fetch_add(&work->busy[worker], 1, __ATOMIC_RELAXED);
	__atomic_fetch_or(&work->workers, 1 << worker, __ATOMIC_RELAXED);
	while (__atomic_load_n(&work->workers, __ATOMIC_RELAXED) != 3)
		pause_a_little();
	while (waits && !hy_cancelled(cancel))
		pause_a_little();
	__atomic_fetch_sub(&work->busy[worker], 1, __ATOMIC_RELAXED);
	return waits ? HY_CANCELLED : HY_OK;
}

/* The process ends while the caller runs a part, and while it waits for the other thread. */
static void
test_process_ends(void)
{
	int64_t waits;

#if defined(__SANITIZE_THREAD__)
	/* The sanitizer allows a child of a process with threads to start none. */
	return;
#endif
	for (waits = -1; waits <= 0; waits++)
	{
		int status = 0;
		pid_t child;

		fflush(stdout);
		child = fork();
		if (child == 0)
		{
			Work work = new_work();
			Ending ending = {&work, 0};
			HyCancel cancel = {end_process, &ending};

			alarm(60);
			work.waits = waits;
			(void) hy_threads_run(2, 2, wait_for_cancel, &work, &cancel);
			_exit(2);
		}
		CHECK(child > 0);
		CHECK(waitpid(child, &status, 0) == child);
		CHECK_INT(status, 0);
	}
}

static void
test_how_many(void)
{
	CHECK_INT(hy_threads_allowed(), 1);
	CHECK_INT(hy_threads_for(1e12), 1);
	hy_threads_allow(4);
	CHECK_INT(hy_threads_for(1e12), 4);
	CHECK_INT(hy_threads_for(5e6), 2);
	CHECK_INT(hy_threads_for(3e6), 1);
	CHECK_INT(hy_threads_for(0), 1);
	CHECK_INT(hy_threads_for(NAN), 1);
	hy_threads_allow(100000);
	CHECK_INT(hy_threads_allowed(), HY_THREADS_MOST);
	hy_threads_allow(-1);
	CHECK_INT(hy_threads_allowed(), 1);
}

/*
 * The computations
 */

#define DIMS 24
#define QUERIES 300
#define TARGETS 1200
#define K 7

typedef struct Input
{
	float *queries;
	float *targets;
	double *limits;
} Input;

/* Some rows are equal, and some elements are extreme, so that there are ties and unbounded rows. */
static Input
new_input(void)
{
	UnitRandom random = {77};
	Input input;
	int i;

	input.queries = malloc(sizeof(float) * QUERIES * DIMS);
	input.targets = malloc(sizeof(float) * TARGETS * DIMS);
	input.limits = malloc(sizeof(double) * QUERIES);
	for (i = 0; i < QUERIES * DIMS; i++)
		input.queries[i] = unit_random_float(&random);
	for (i = 0; i < TARGETS * DIMS; i++)
		input.targets[i] = unit_random_float(&random);
	for (i = 0; i < 100; i++)
		memcpy(input.targets + (TARGETS - 1 - i * 9) * DIMS, input.targets + (i % 5) * DIMS,
		       sizeof(float) * DIMS);
	for (i = 0; i < 20; i++)
		input.targets[(i * 47) * DIMS + i] = 1e25f;
	memset(input.targets + 31 * DIMS, 0, sizeof(float) * DIMS);
	memset(input.queries + 5 * DIMS, 0, sizeof(float) * DIMS);
	for (i = 0; i < QUERIES; i++)
		input.limits[i] = i % 3 == 0 ? 3.0 : INFINITY;
	return input;
}

static void
free_input(Input *input)
{
	free(input->queries);
	free(input->targets);
	free(input->limits);
}

/*
 * search: run the search with so many threads.  exact: without the prefilter.  Returns false where it
 * was canceled or had no memory.
 */
static HyStatus
search(const Input *input, HyMetric metric, int64_t queries, int64_t targets, bool exact,
       int threads, const HyAllocator *allocator, const HyCancel *cancel, HyNeighbor *out,
       int32_t *counts)
{
	HyMatrix q = matrix(input->queries, queries, DIMS);
	HyMatrix t = matrix(input->targets, targets, DIMS);
	HyNearest nearest = {metric, K, &q, &t, input->limits, out, counts};
	HyStatus status;

	hy_threads_allow(threads);
	if (exact)
		status = hy_topk_search(metric, &q, &t, K, out, counts, cancel);
	else
		status = hy_prefilter_search(&nearest, allocator, cancel);
	hy_threads_allow(1);
	return status;
}

static void
check_same(const HyNeighbor *a, const int32_t *a_counts, const HyNeighbor *b,
           const int32_t *b_counts, const double *limits, int64_t queries)
{
	int64_t q;
	int32_t i;

	for (q = 0; q < queries; q++)
	{
		int32_t n = a_counts[q] < b_counts[q] ? a_counts[q] : b_counts[q];

		if (limits == NULL)
			CHECK_INT(a_counts[q], b_counts[q]);
		for (i = 0; i < n; i++)
		{
			/* what is beyond the limit may be missing */
			if (limits != NULL &&
			    (a[q * K + i].distance > limits[q] || b[q * K + i].distance > limits[q]))
				break;
			CHECK_INT(a[q * K + i].row, b[q * K + i].row);
			CHECK_SAME_F64(a[q * K + i].distance, b[q * K + i].distance);
		}
	}
}

static void
test_topk(void)
{
	static const int64_t queries[] = {1, 3, 65, QUERIES};
	static const int64_t targets[] = {TARGETS, 130, 1};
	static const int threads[] = {2, 3, 7};
	Input input = new_input();
	HyNeighbor *one = malloc(sizeof(HyNeighbor) * QUERIES * K);
	HyNeighbor *many = malloc(sizeof(HyNeighbor) * QUERIES * K);
	int32_t one_counts[QUERIES];
	int32_t many_counts[QUERIES];
	int metric;
	int exact;
	int round;

	for (metric = 0; metric < HY_METRIC_COUNT; metric++)
	{
		for (exact = metric == HY_METRIC_L1; exact <= 1; exact++)
		{
			for (round = 0; round < 4 * 3 * 3; round++)
			{
				int64_t q = queries[round % 4];
				int64_t t = targets[round / 4 % 3];
				int n = threads[round / 12];
				const double *limits = exact ? NULL : input.limits;

				CHECK_INT(search(&input, (HyMetric) metric, q, t, exact, 1, &hy_malloc_allocator,
				                 NULL, one, one_counts),
				          HY_OK);
				CHECK_INT(search(&input, (HyMetric) metric, q, t, exact, n, &hy_malloc_allocator,
				                 NULL, many, many_counts),
				          HY_OK);
				check_same(one, one_counts, many, many_counts, limits, q);
			}
		}
	}
	free(one);
	free(many);
	free_input(&input);
}

static void
test_distances(void)
{
	static const int64_t queries[] = {1, 257, QUERIES};
	static const int64_t targets[] = {TARGETS, 2, TARGETS - 1};
	Input input = new_input();
	double *one = malloc(sizeof(double) * QUERIES * TARGETS);
	double *many = malloc(sizeof(double) * QUERIES * TARGETS);
	int round;

	for (round = 0; round < 3 * HY_METRIC_COUNT; round++)
	{
		HyMatrix q = matrix(input.queries, queries[round % 3], DIMS);
		HyMatrix t = matrix(input.targets, targets[round % 3], DIMS);
		HyMetric metric = (HyMetric) (round / 3);
		int64_t i;

		CHECK_INT(hy_distance_matrix(metric, &q, &t, one, NULL), HY_OK);
		hy_threads_allow(7);
		CHECK_INT(hy_distance_matrix(metric, &q, &t, many, NULL), HY_OK);
		hy_threads_allow(1);
		for (i = 0; i < q.rows * t.rows; i++)
			CHECK_SAME_F64(many[i], one[i]);
	}
	free(one);
	free(many);
	free_input(&input);
}

static void
test_assign(void)
{
	static const int64_t centroids[] = {4, 60, 100, 290};
	Input input = new_input();
	int32_t begin[11];
	int32_t *one = malloc(sizeof(int32_t) * TARGETS);
	int32_t *many = malloc(sizeof(int32_t) * TARGETS);
	int round;
	int i;

	for (round = 0; round < 4 * 2 * 3; round++)
	{
		static const int threads[] = {2, 3, 7};
		HyMatrix rows = matrix(input.targets, TARGETS, DIMS);
		HyMatrix c = matrix(input.queries, centroids[round % 4], DIMS);
		HyGroups groups = {
			.centers = matrix(input.queries + 200 * DIMS, 10, DIMS), .begin = begin, .probes = 3};
		const HyGroups *given = round / 4 % 2 == 0 ? NULL : &groups;

		for (i = 0; i <= 10; i++)
			begin[i] = (int32_t) (c.rows * i / 10);
		CHECK_INT(hy_assign(&rows, &c, given, &hy_malloc_allocator, one, NULL), HY_OK);
		hy_threads_allow(threads[round / 8]);
		CHECK_INT(hy_assign(&rows, &c, given, &hy_malloc_allocator, many, NULL), HY_OK);
		hy_threads_allow(1);
		for (i = 0; i < TARGETS; i++)
			CHECK_INT(many[i], one[i]);
	}
	free(one);
	free(many);
	free_input(&input);
}

/*
 * Sparse and dense hops, until they end and with limits on firing, with and without a hub; one node has far more
 * edges than others.
 */
static void
test_spread(void)
{
	static const HySpreadParams params[] = {{0.85, 1, -1, 0, 0, HY_COMBINE_SUM, 0.2, NULL},
	                                        {0.9, 0.5, 3, 0, 0, HY_COMBINE_SUM, 1, NULL},
	                                        {0.9, 0, 4, 1e-4, 2, HY_COMBINE_SUM, 1, NULL},
	                                        {0.9, 1, 4, 0, 1, HY_COMBINE_MAX, 1, NULL}};
	static const int threads[] = {2, 7};
	UnitRandom random = {78};
	int round;

	for (round = 0; round < 4 * 2 * 2 * 2; round++)
	{
		int64_t nodes = round / 8 % 2 == 0 ? 70 : 14000;
		HyCsr graph = make_graph(&random, nodes, 20 * nodes, HY_DIRECTION_OUT);
		size_t entries = 2 * (size_t) graph.nodes;
		double *one = malloc(sizeof(double) * entries);
		double *many = malloc(sizeof(double) * entries);
		double *one_sent = malloc(sizeof(double) * entries);
		double *many_sent = malloc(sizeof(double) * entries);
		double *hub = malloc(sizeof(double) * (size_t) graph.nodes);
		int32_t *one_hop = malloc(sizeof(int32_t) * entries);
		int32_t *many_hop = malloc(sizeof(int32_t) * entries);
		int64_t start[] = {0, 1, 4};
		uint32_t node[] = {1, 2, 0, 2};
		double value[] = {1, 0.5, 2, 0.25};
		HySpreadSeeds seeds = {2, start, node, value};
		HySpreadParams given = params[round % 4];

		CHECK_INT(hy_spread_hub(&graph, 0.4, NULL, hub), HY_OK);
		/* with a hub, the first parameters need not converge */
		given.hub = round / 16 == 0 || given.hops == -1 ? NULL : hub;
		CHECK_INT(hy_spread(&graph, &given, &seeds, &hy_malloc_allocator, NULL,
		                    &(HySpreadResult){one, one_hop, one_sent}),
		          HY_OK);
		hy_threads_allow(threads[round / 4 % 2]);
		CHECK_INT(hy_spread(&graph, &given, &seeds, &hy_malloc_allocator, NULL,
		                    &(HySpreadResult){many, many_hop, many_sent}),
		          HY_OK);
		hy_threads_allow(1);
		CHECK(memcmp(one, many, sizeof(double) * entries) == 0);
		CHECK(memcmp(one_hop, many_hop, sizeof(int32_t) * entries) == 0);
		CHECK(memcmp(one_sent, many_sent, sizeof(double) * entries) == 0);
		free(one);
		free(many);
		free(one_hop);
		free(many_hop);
		free(one_sent);
		free(many_sent);
		free(hub);
		hy_csr_free(&graph, &hy_malloc_allocator);
	}
}

/*
 * Sets that threads take in turn, with results for each node or only for those reached: the bits are the same, also
 * where memory fails at each call in turn, and where it is canceled.
 */
static void
test_spread_sets(void)
{
	enum
	{
		SETS = 9
	};
	static const HySpreadParams params = {0.9, 1, 4, 1e-6, 2, HY_COMBINE_SUM, 1, NULL};
	UnitRandom random = {79};
	HyCsr graph = make_graph(&random, 3000, 12000, HY_DIRECTION_OUT);
	size_t nodes = (size_t) graph.nodes;
	double *one = malloc(sizeof(double) * nodes * SETS);
	double *many = malloc(sizeof(double) * nodes * SETS);
	int32_t *one_hop = malloc(sizeof(int32_t) * nodes * SETS);
	int32_t *many_hop = malloc(sizeof(int32_t) * nodes * SETS);
	uint64_t *reached = malloc(sizeof(uint64_t) * (size_t) hy_spread_words(graph.nodes) * SETS);
	int64_t start[SETS + 1];
	uint32_t node[SETS];
	double value[SETS];
	HySpreadSeeds seeds = {SETS, start, node, value};
	HySpreadResult result = {many, many_hop, NULL};
	UnitMemory memory;
	UnitCancel cancel;
	int64_t fail_at = 0;
	int64_t went_on = 0;
	int64_t i;
	HyStatus status;

	for (i = 0; i < SETS; i++)
	{
		start[i] = i;
		node[i] = (uint32_t) (i * 331);
		value[i] = 1 + (double) i;
	}
	start[SETS] = SETS;
	CHECK_INT(hy_spread(&graph, &params, &seeds, &hy_malloc_allocator, NULL,
	                    &(HySpreadResult){one, one_hop, NULL}),
	          HY_OK);
	hy_threads_allow(4);
	do
	{
		unit_memory_init(&memory, ++fail_at);
		memory.keep_failing = true;
		status = hy_spread(&graph, &params, &seeds, &memory.allocator, NULL, &result);
		CHECK(status == HY_OK || status == HY_NOMEM);
		CHECK_INT(memory.outstanding, 0);
		CHECK(status != HY_OK || (memcmp(one, many, sizeof(double) * nodes * SETS) == 0 &&
		                          memcmp(one_hop, many_hop, sizeof(int32_t) * nodes * SETS) == 0));
		went_on += status == HY_OK && memory.failures > 0;
	} while (memory.failures > 0);
	CHECK(went_on > 0);
	CHECK_INT(
		hy_spread_reached(&graph, &params, &seeds, &hy_malloc_allocator, NULL, &result, reached),
		HY_OK);
	for (i = 0; i < (int64_t) nodes * SETS; i++)
	{
		const uint64_t *set = reached + i / graph.nodes * hy_spread_words(graph.nodes);
		int64_t place = i % graph.nodes;

		CHECK((set[place / 64] >> place % 64 & 1) == (one[i] != 0));
		CHECK(one[i] == 0 || (many[i] == one[i] && many_hop[i] == one_hop[i]));
	}
	unit_cancel_init(&cancel, 1);
	unit_memory_init(&memory, 0);
	CHECK_INT(hy_spread(&graph, &params, &seeds, &memory.allocator, &cancel.cancel, &result),
	          HY_CANCELLED);
	CHECK_INT(memory.outstanding, 0);
	hy_threads_allow(1);
	free(one);
	free(many);
	free(one_hop);
	free(many_hop);
	free(reached);
	hy_csr_free(&graph, &hy_malloc_allocator);
}

/* The counts are the same, also where memory fails at each call in turn, and where it is canceled. */
static void
test_triangles(void)
{
	UnitRandom random = {80};
	HyCsr graph = make_graph(&random, 300, 9000, HY_DIRECTION_BOTH);
	size_t nodes = (size_t) graph.nodes;
	int64_t *one = malloc(sizeof(int64_t) * nodes);
	int64_t *many = malloc(sizeof(int64_t) * nodes);
	double *clustering = malloc(sizeof(double) * nodes);
	UnitMemory memory;
	UnitCancel cancel;
	int64_t fail_at = 0;
	int64_t went_on = 0;
	HyStatus status;

	CHECK_INT(hy_triangles(&graph, &hy_malloc_allocator, NULL, one, clustering), HY_OK);
	CHECK(one[0] > 0);
	hy_threads_allow(4);
	do
	{
		unit_memory_init(&memory, ++fail_at);
		memory.keep_failing = true;
		status = hy_triangles(&graph, &memory.allocator, NULL, many, clustering);
		CHECK(status == HY_OK || status == HY_NOMEM);
		CHECK_INT(memory.outstanding, 0);
		CHECK(status != HY_OK || memcmp(one, many, sizeof(int64_t) * nodes) == 0);
		went_on += status == HY_OK && memory.failures > 0;
	} while (memory.failures > 0);
	CHECK(went_on > 0);
	unit_cancel_init(&cancel, 1);
	unit_memory_init(&memory, 0);
	CHECK_INT(hy_triangles(&graph, &memory.allocator, &cancel.cancel, many, clustering),
	          HY_CANCELLED);
	CHECK_INT(memory.outstanding, 0);
	hy_threads_allow(1);
	free(one);
	free(many);
	free(clustering);
	hy_csr_free(&graph, &hy_malloc_allocator);
}

/* Memory fails at each call in turn: fewer threads, or an error, and nothing is left. */
static void
test_memory(void)
{
	Input input = new_input();
	HyNeighbor *one = malloc(sizeof(HyNeighbor) * QUERIES * K);
	HyNeighbor *many = malloc(sizeof(HyNeighbor) * QUERIES * K);
	HyMatrix rows = matrix(input.targets, 600, DIMS);
	HyMatrix centroids = matrix(input.queries, 100, DIMS);
	int32_t *nearest = malloc(sizeof(int32_t) * TARGETS);
	int32_t *assigned = malloc(sizeof(int32_t) * TARGETS);
	int32_t one_counts[QUERIES];
	int32_t many_counts[QUERIES];
	UnitMemory memory;
	int64_t fail_at = 0;
	int64_t went_on = 0;
	HyStatus status;
	int i;

	CHECK_INT(search(&input, HY_METRIC_L2, 40, 300, false, 1, &hy_malloc_allocator, NULL, one,
	                 one_counts),
	          HY_OK);
	do
	{
		unit_memory_init(&memory, ++fail_at);
		memory.keep_failing = true;
		status = search(&input, HY_METRIC_L2, 40, 300, false, 4, &memory.allocator, NULL, many,
		                many_counts);
		CHECK(status == HY_OK || status == HY_NOMEM);
		CHECK_INT(memory.outstanding, 0);
		if (status == HY_OK)
			check_same(one, one_counts, many, many_counts, input.limits, 40);
		went_on += status == HY_OK && memory.failures > 0;
	} while (memory.failures > 0);
	CHECK(went_on > 0);

	CHECK_INT(hy_assign(&rows, &centroids, NULL, &hy_malloc_allocator, nearest, NULL), HY_OK);
	fail_at = 0;
	went_on = 0;
	do
	{
		unit_memory_init(&memory, ++fail_at);
		memory.keep_failing = true;
		hy_threads_allow(4);
		status = hy_assign(&rows, &centroids, NULL, &memory.allocator, assigned, NULL);
		hy_threads_allow(1);
		CHECK(status == HY_OK || status == HY_NOMEM);
		CHECK_INT(memory.outstanding, 0);
		for (i = 0; i < 600 && status == HY_OK; i++)
			CHECK_INT(assigned[i], nearest[i]);
		went_on += status == HY_OK && memory.failures > 0;
	} while (memory.failures > 0);
	CHECK(went_on > 0);
	free(one);
	free(many);
	free(nearest);
	free(assigned);
	free_input(&input);
}

/* Each computation stops at a cancel, at once and in its midst, and leaves no memory behind. */
static void
test_cancel_computations(void)
{
	Input input = new_input();
	HyNeighbor *out = malloc(sizeof(HyNeighbor) * QUERIES * K);
	double *distances = malloc(sizeof(double) * QUERIES * TARGETS);
	int32_t *nearest = malloc(sizeof(int32_t) * TARGETS);
	HyMatrix queries = matrix(input.queries, QUERIES, DIMS);
	HyMatrix rows = matrix(input.targets, TARGETS, DIMS);
	HyMatrix centroids = matrix(input.queries, 100, DIMS);
	int32_t counts[QUERIES];
	UnitRandom random = {79};
	HyCsr graph = make_graph(&random, 5000, 50000, HY_DIRECTION_OUT);
	HySpreadParams params = {0.85, 1, 20, 0, 0, HY_COMBINE_SUM, 1, NULL};
	int64_t start[] = {0, 1};
	uint32_t node = 7;
	double value = 1;
	HySpreadSeeds seeds = {1, start, &node, &value};
	double *activation = malloc(sizeof(double) * (size_t) graph.nodes);
	int32_t *hop = malloc(sizeof(int32_t) * (size_t) graph.nodes);
	UnitMemory memory;
	UnitCancel cancel;
	int64_t at;
	int what;

	for (what = 0; what < 5; what++)
	{
		for (at = 1; at <= 2; at++)
		{
			HyStatus status = HY_OK;

			unit_cancel_init(&cancel, at);
			unit_memory_init(&memory, 0);
			hy_threads_allow(4);
			if (what == 0 || what == 1)
				status = search(&input, HY_METRIC_COSINE, QUERIES, TARGETS, what == 1, 4,
				                &memory.allocator, &cancel.cancel, out, counts);
			else if (what == 2)
				status =
					hy_distance_matrix(HY_METRIC_IP, &queries, &rows, distances, &cancel.cancel);
			else if (what == 4)
				status = run_spread(&graph, &params, &seeds, &memory.allocator, &cancel.cancel,
				                    activation, hop);
			else
				status =
					hy_assign(&rows, &centroids, NULL, &memory.allocator, nearest, &cancel.cancel);
			hy_threads_allow(1);
			/* the other threads may have taken all parts before the caller's second poll */
			CHECK_INT(status, cancel.polls >= at ? HY_CANCELLED : HY_OK);
			CHECK(at > 1 || cancel.polls >= 1);
			CHECK_INT(memory.outstanding, 0);
		}
	}
	free(out);
	free(distances);
	free(nearest);
	free(activation);
	free(hop);
	hy_csr_free(&graph, &hy_malloc_allocator);
	free_input(&input);
}

int
main(void)
{
	UNIT_RUN(test_each_part_once);
	UNIT_RUN(test_all_threads_work);
	UNIT_RUN(test_threads_that_do_not_start);
	UNIT_RUN(test_failing_part);
	UNIT_RUN(test_cancel);
	UNIT_RUN(test_main_thread_work);
	UNIT_RUN(test_soon);
	UNIT_RUN(test_after_a_fork);
	UNIT_RUN(test_process_ends);
	UNIT_RUN(test_how_many);
	hy_threads_set_least(1);
	UNIT_RUN(test_topk);
	UNIT_RUN(test_distances);
	UNIT_RUN(test_assign);
	UNIT_RUN(test_spread);
	UNIT_RUN(test_spread_sets);
	UNIT_RUN(test_triangles);
	UNIT_RUN(test_memory);
	UNIT_RUN(test_cancel_computations);
	return unit_finish();
}
