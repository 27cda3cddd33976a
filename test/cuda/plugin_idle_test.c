/*
 * plugin_idle_test.c
 *		The thread that closes an unused context, on the fake device: when it closes the context,
 *		what remains, and that it touches nothing of the host.  The test is also built with the
 *		thread sanitizer, but then without kernels, because that sanitizer does not support fibers.
 */
#include "plugged.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda/device.h"
#include "graphs.h"
#include "nearest.h"

#ifdef __SANITIZE_THREAD__
#define KERNELS 0
#else
#define KERNELS 1
#endif

static UnitRandom randomness = {9};
static const char *timeout_text;
static pthread_t host_thread;
static int strangers; /* calls of the host's functions from another thread */

static const char *
setting_text(void *arg, const char *name)
{
	(void) arg;
	strangers += !pthread_equal(pthread_self(), host_thread);
	return strcmp(name, "gpu_idle_timeout") == 0 ? timeout_text : NULL;
}

static uint64_t
now_here(void *arg)
{
	(void) arg;
	strangers += !pthread_equal(pthread_self(), host_thread);
	return hy_monotonic_clock.now(hy_monotonic_clock.arg);
}

static void *
alloc_here(void *arg, size_t bytes)
{
	strangers += !pthread_equal(pthread_self(), host_thread);
	return memory.allocator.alloc(arg, bytes);
}

static void
free_here(void *arg, void *pointer)
{
	strangers += !pthread_equal(pthread_self(), host_thread);
	memory.allocator.free(arg, pointer);
}

static HyClock clock_here;
static HyAllocator allocator_here;

static HyDevice *
open_with(const char *timeout, uint64_t *place)
{
	HyLimits limits = {.memory = UINT64_C(2) << 20, .place = place};
	HyDevice *device = NULL;

	timeout_text = timeout;
	CHECK_INT(cuda->open(0, &limits, &device), HY_OK);
	return device;
}

/* wait_idle: wait until the thread has closed the context, for at most half a minute. */
static void
wait_idle(const HyDevice *device)
{
	int i;

	for (i = 0; i < 30000 && !cuda->idle(device); i++)
		usleep(1000);
	CHECK(cuda->idle(device));
}

/* check_closed: check that only structures in host memory are left of the device. */
static void
check_closed(void)
{
	CHECK_INT(hy_fake_live(), 0);
	CHECK_INT(hy_fake_leaked(), 0);
	CHECK_INT(strangers, 0);
}

static void
some_graph(GraphJob *job, int64_t nodes)
{
	HySpreadParams params = {0.85, 1, 4, 0, 1, HY_COMBINE_SUM, 1e-3, NULL};

	graph_job(job, &randomness, make_graph(&randomness, nodes, 4 * nodes, 0, HY_DIRECTION_OUT),
	          params, 3, 5);
}

static void
it_closes_itself(void)
{
	uint64_t place = 77;
	HyDevice *device = open_with("20", &place);
	HyBuffer *buffer;
	HyBuffer *other;
	HyFailure failure;
	HyTask task = {.op = HY_OP_SPREAD};
	HyTicket ticket;
	uint64_t bytes;
	char back[8];

	CHECK_INT(cuda->buf_alloc(device, 100000, &buffer), HY_OK);
	CHECK_INT(cuda->upload(device, buffer, 5000, "secret", 7), HY_OK);
	wait_idle(device);
	check_closed();
	CHECK_INT(place, 0);
	CHECK_INT(hy_fake_resets(), 1);
	CHECK(hy_fake_returned() > 1000000);
	/* every call fails from now on, and the message gives the reason */
	timeout_text = "0";
	CHECK_INT(cuda->submit(device, &task, &ticket), HY_CONTEXT_LOST);
	cuda->last_error(device, &failure);
	CHECK_STR(failure.text, "nobody used it, and it closed itself");
	CHECK_INT(failure.native_code, 0);
	CHECK_INT(cuda->download(device, buffer, 0, back, 8), HY_CONTEXT_LOST);
	CHECK_INT(cuda->upload(device, buffer, 0, back, 8), HY_CONTEXT_LOST);
	CHECK_INT(cuda->buf_alloc(device, 10, &other), HY_CONTEXT_LOST);
	CHECK_INT(cuda->mem_info(device, &bytes, &bytes), HY_CONTEXT_LOST);
	cuda->cancel(device, 1);
	/* no CUDA call is made for this device any more */
	hy_fake_fail(NULL, 1, cudaErrorIllegalAddress);
	cuda->buf_free(device, buffer);
	place = 78;
	cuda->close(device);
	CHECK_INT(place, 78);
	CHECK(hy_fake_calls() <= 2);
	hy_fake_fail(NULL, 0, cudaSuccess);
	CHECK_INT(memory.outstanding, 0);

	/* the device can be opened again; a word that now belongs to another context is not changed */
	place = 5;
	device = open_with("20", &place);
	CHECK_INT(cuda->buf_alloc(device, 100000, &buffer), HY_OK);
	__atomic_store_n(&place, 6, __ATOMIC_RELEASE);
	wait_idle(device);
	CHECK_INT(place, 6);
	/* close with a buffer that was not freed */
	cuda->close(device);
	check_closed();
	CHECK_INT(memory.outstanding, 0);
	/* a context that other code in this process has created stays */
	hy_fake.foreign_context = 1;
	device = open_with("20", NULL);
	wait_idle(device);
	CHECK_INT(hy_fake_resets(), 2);
	cuda->close(device);
	check_closed();
}

static void
uses_put_it_off(void)
{
	HyDevice *device = open_with("3600000", NULL);
	HyBuffer *buffer;
	HyTicket ticket;
	HyTimings timings;
	HyTask task = {.op = HY_OP_SPREAD};
	HyShape shape = {.op = HY_OP_DISTANCE, .dims = 5, .queries = 1, .targets = 1};
	HyFailure failure;
	uint64_t before = device->timer.used_ns;
	uint64_t bytes;
	bool done;
	char byte = 0;

	CHECK(device->timer.started);
#define IS_USE(call)                                                                               \
	do                                                                                             \
	{                                                                                              \
		before = device->timer.used_ns;                                                            \
		usleep(10);                                                                                \
		(void) (call);                                                                             \
		CHECK(device->timer.used_ns > before);                                                     \
	} while (0)
	IS_USE(cuda->buf_alloc(device, 100, &buffer));
	IS_USE(cuda->upload(device, buffer, 0, &byte, 1));
	IS_USE(cuda->download(device, buffer, 0, &byte, 1));
	IS_USE(cuda->submit(device, &task, &ticket));
	IS_USE(cuda->poll(device, 1, &done, &timings));
	/* mem_info is no use of the device */
	before = device->timer.used_ns;
	CHECK_INT(cuda->mem_info(device, &bytes, &bytes), HY_OK);
	(void) cuda->caps(device, &shape);
	(void) cuda->estimate(device, &shape);
	cuda->last_error(device, &failure);
	CHECK(!cuda->idle(device));
	CHECK(device->timer.used_ns == before);
	close_one(device);
	check_closed();
}

static void
never_where_it_is_told_so(void)
{
	static const char *const never[] = {"0", NULL, "-5", "nonsense"};
	HyTask task = {.op = HY_OP_SPREAD};
	HyDevice *device;
	HyTicket ticket;
	size_t i;

	for (i = 0; i < sizeof(never) / sizeof(never[0]); i++)
	{
		device = open_with(never[i], NULL);
		CHECK(!device->timer.started);
		close_one(device);
	}
	/* the next task reads the new timeout, longer or shorter */
	device = open_with("0", NULL);
	timeout_text = "3600000";
	(void) cuda->submit(device, &task, &ticket);
	CHECK(device->timer.started);
	timeout_text = "0";
	(void) cuda->submit(device, &task, &ticket);
	usleep(30000);
	CHECK(!cuda->idle(device));
	timeout_text = "20";
	(void) cuda->submit(device, &task, &ticket);
	wait_idle(device);
	check_closed();
	cuda->close(device);
	CHECK_INT(memory.outstanding, 0);
}

static void
a_task_holds_it(void)
{
	HyDevice *device;
	GraphJob job;
	HyTicket ticket;
	HyTimings timings;
	bool done = false;
	int round;

	some_graph(&job, 300);
	device = open_with("10", NULL);
	CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_OK);
	usleep(60000);
	CHECK(!cuda->idle(device));
	while (!done)
		CHECK_INT(cuda->poll(device, ticket, &done, &timings), HY_OK);
	graph_job_check(&job, "after a pause");
	wait_idle(device);
	check_closed();
	cuda->close(device);

	/* a canceled task is no use any more when its pieces are done, even if it is not polled */
	for (round = 0; round < 2; round++)
	{
		device = open_with("10", NULL);
		CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_OK);
		cuda->cancel(device, ticket);
		wait_idle(device);
		check_closed();
		/* poll the task later, or never */
		if (round == 0)
		{
			CHECK_INT(cuda->poll(device, ticket, &done, &timings), HY_CONTEXT_LOST);
			CHECK_INT(cuda->poll(device, ticket, &done, &timings), HY_INVALID);
		}
		cuda->close(device);
		CHECK_INT(memory.outstanding, 0);
	}
	/* the next device works like the first */
	device = open_with("3600000", NULL);
	CHECK_INT(run(device, &job.task, NULL), HY_OK);
	graph_job_check(&job, "in a new context");
	graph_job_free(&job);
	close_one(device);
}

/* the thread waits for the kernels of canceled pieces that copy nothing to the host */
static void
a_cancelled_query_holds_it(void)
{
	int pieces;

	for (pieces = 1; pieces <= 4; pieces++)
	{
		HyDevice *device = open_with("10", NULL);
		HyTicket ticket;
		NearestJob job;

		nearest_job(&job, &randomness, HY_METRIC_L2, HY_F32, 64, 1, 400, 10, 0, ROWS_PLAIN);
		device->pace[HY_OP_TOPK].work = (uint64_t) (64 * 400 / pieces);
		CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_OK);
		cuda->cancel(device, ticket);
		wait_idle(device);
		/* everything that was queued has run, and its output was zeroed, too */
		CHECK_INT(hy_fake_kernels(), pieces < 2 ? 1 : 2);
		check_closed();
		cuda->close(device);
		nearest_free(&job, NULL);
		hy_fake_reset();
	}
	CHECK_INT(memory.outstanding, 0);
}

static volatile sig_atomic_t handled;
static volatile sig_atomic_t handled_elsewhere;

static void
on_signal(int number)
{
	(void) number;
	handled++;
	handled_elsewhere += !pthread_equal(pthread_self(), host_thread);
}

static void
signals_are_the_hosts(void)
{
	struct sigaction action = {.sa_handler = on_signal};
	sigset_t blocked;
	sigset_t pending;
	HyDevice *device = open_with("3600000", NULL);
	int number;

	for (number = SIGUSR1; number <= SIGALRM; number += SIGALRM - SIGUSR1)
		sigaction(number, &action, NULL);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	sigaddset(&blocked, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &blocked, NULL);
	/* sent to the process: any thread that does not block the signal may get it */
	kill(getpid(), SIGUSR1);
	kill(getpid(), SIGALRM);
	usleep(50000);
	CHECK_INT(handled, 0);
	sigpending(&pending);
	CHECK(sigismember(&pending, SIGUSR1) == 1 && sigismember(&pending, SIGALRM) == 1);
	pthread_sigmask(SIG_UNBLOCK, &blocked, NULL);
	CHECK_INT(handled, 2);
	CHECK_INT(handled_elsewhere, 0);
	close_one(device);
	check_closed();
}

/* however short the timeout, the caller finds the device open after opening it */
static void
the_first_use_has_its_time(void)
{
	HyDevice *device = open_with("1", NULL);
	HyBuffer *buffer;

	usleep(100000);
	CHECK(!cuda->idle(device));
	CHECK_INT(cuda->buf_alloc(device, 100, &buffer), HY_OK);
	wait_idle(device);
	check_closed();
	cuda->close(device);
	/* but not for ever */
	device = open_with("1", NULL);
	wait_idle(device);
	check_closed();
	cuda->close(device);
	CHECK_INT(memory.outstanding, 0);
}

/*
 * whichever thread comes first, the host's or the timer's, the only error is that the context is
 * closed
 */
static void
races(void)
{
	int closed = 0;
	int i;

	for (i = 0; i < 200 / unit_share(); i++)
	{
		uint64_t place = 9;
		HyDevice *device = open_with("1", &place);
		HyBuffer *buffer = NULL;
		char data[100] = "secret";
		HyStatus status = HY_OK;
		int step;

		for (step = 0; step < 20 && status == HY_OK; step++)
		{
			usleep((useconds_t) unit_random_below(&randomness, 300));
			if (buffer == NULL)
				status = cuda->buf_alloc(device, 100, &buffer);
			else if (step % 3 == 0)
			{
				cuda->buf_free(device, buffer);
				buffer = NULL;
			}
			else
				status = step % 2 ? cuda->upload(device, buffer, 0, data, sizeof(data))
				                  : cuda->download(device, buffer, 0, data, sizeof(data));
		}
		CHECK(status == HY_OK || (status == HY_CONTEXT_LOST && cuda->idle(device)));
		closed += status != HY_OK;
		usleep((useconds_t) unit_random_below(&randomness, 1500));
		cuda->close(device);
		CHECK(place == 9 || place == 0);
		check_closed();
		CHECK_INT(memory.outstanding, 0);
		if (unit_failed_checks > 0)
			break;
	}
	printf("# closed in the middle: %d of %d\n", closed, i);
}

/* a handler that calls the plug-in again, as at the end of the process, must not wait for itself */
static void
coming_back_in(void)
{
	HyDevice *device = open_with("3600000", NULL);
	HyTask task = {.op = HY_OP_SPREAD};
	HyDevice *second;
	HyBuffer *buffer;
	HyTimings timings;
	HyTicket ticket;
	HyFailure failure;
	uint64_t bytes;
	int32_t count;
	bool done;
	HyDeviceInfo info;
	HyCudaHold hold = hy_cuda_hold();

	CHECK_INT(hold, HY_CUDA_HELD);
	CHECK_INT(cuda->submit(device, &task, &ticket), HY_BUSY);
	CHECK_INT(cuda->poll(device, 1, &done, &timings), HY_OK);
	CHECK(!done);
	CHECK_INT(cuda->buf_alloc(device, 10, &buffer), HY_BUSY);
	CHECK_INT(cuda->mem_info(device, &bytes, &bytes), HY_BUSY);
	CHECK_INT(cuda->device_count(&count), HY_BUSY);
	CHECK_INT(cuda->probe(0, &info), HY_BUSY);
	CHECK_INT(cuda->open(0, NULL, &second), HY_BUSY);
	cuda->cancel(device, 1);
	cuda->last_error(device, &failure);
	cuda->close(device);
	CHECK(hy_fake_live() > 0);
	hy_cuda_let_go(hold);
	close_one(device);
	check_closed();
}

static void
in_child(void (*function)(void))
{
	pid_t child;
	int status = 0;

	fflush(stdout);
	signal(SIGCHLD, SIG_DFL);
	child = fork();
	if (child == 0)
	{
		unit_failed_checks = 0;
		alarm(60); /* if the process waits forever, this test fails */
		signal(SIGALRM, SIG_DFL);
		function();
		fflush(stdout);
		_exit(unit_failed_checks == 0 ? 0 : 1);
	}
	CHECK(waitpid(child, &status, 0) == child);
	CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %d", status);
}

static HyDevice *inherited;

static void
child_without_the_thread(void)
{
	HyTask task = {.op = HY_OP_SPREAD};
	HyTicket ticket;
	uint64_t bytes;

	hy_fake_fail(NULL, 0, cudaSuccess);
	CHECK_INT(cuda->submit(inherited, &task, &ticket), HY_PROCESS_LOST);
	CHECK_INT(cuda->mem_info(inherited, &bytes, &bytes), HY_PROCESS_LOST);
	CHECK(!cuda->idle(inherited));
	cuda->close(inherited);
	CHECK_INT(hy_fake_calls(), 0);
}

/* a forked child has no timer thread, and perhaps can never get the lock */
static void
a_fork_has_no_thread(void)
{
	HyCudaHold hold;

	inherited = open_with("3600000", NULL);
	in_child(child_without_the_thread);
	hold = hy_cuda_hold();
	in_child(child_without_the_thread);
	hy_cuda_let_go(hold);
	CHECK(!cuda->idle(inherited));
	close_one(inherited);
	check_closed();
}

static void
process_that_is_lost(void)
{
	HyDevice *device = open_with("20", NULL);
	HyBuffer *buffer;
	int i;

	hy_fake_fail("cudaMalloc", 1, cudaErrorIllegalAddress);
	CHECK_INT(cuda->buf_alloc(device, 10, &buffer), HY_PROCESS_LOST);
	for (i = 0; i < 100; i++)
		usleep(1000);
	/* after a permanent error, the thread ends without closing the context */
	CHECK(!cuda->idle(device));
	cuda->close(device);
	CHECK_INT(memory.outstanding, 0);
	CHECK_INT(strangers, 0);
}

static void
an_error_that_is_for_good(void)
{
	/* runs first, because the fork must be of a process that has not used CUDA */
	in_child(process_that_is_lost);
}

int
main(void)
{
	host_thread = pthread_self();
	host.setting = setting_text;
	if (!plug_in())
		return 1;
	clock_here = hy_monotonic_clock;
	clock_here.now = now_here;
	allocator_here = memory.allocator;
	allocator_here.alloc = alloc_here;
	allocator_here.free = free_here;
	host.clock = &clock_here;
	host.allocator = &allocator_here;
	if (hy_plugin_entry(&host) != cuda)
		return 1;
	RUN(an_error_that_is_for_good);
	RUN(it_closes_itself);
	RUN(uses_put_it_off);
	RUN(never_where_it_is_told_so);
	if (KERNELS)
	{
		RUN(a_task_holds_it);
		RUN(a_cancelled_query_holds_it);
	}
	RUN(signals_are_the_hosts);
	RUN(the_first_use_has_its_time);
	RUN(races);
	RUN(coming_back_in);
	RUN(a_fork_has_no_thread);
	return unit_finish();
}
