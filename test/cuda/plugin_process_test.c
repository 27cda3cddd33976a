/*
 * plugin_process_test.c
 *		The plug-in in a process, on the fake device: its entry function, its answers without a
 *		context, who may open a device, permanent errors, forks and signals.
 *
 * A permanent error affects the whole process, so each test of such an error runs in a child
 * process.
 */
#include "distances.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static UnitRandom randomness = {11};

static void
job_make(DistanceJob *job)
{
	distance_job(job, &randomness, HY_METRIC_L2, HY_F32, 40, 2, 9, 0);
}

static void
entry_checks_its_host(void)
{
	HyHost other = host;

	hy_fake_fail(NULL, 0, cudaSuccess);
	other.abi = HY_BACKEND_ABI + 1;
	CHECK(hy_plugin_entry(&other) == NULL);
	CHECK(hy_plugin_entry(NULL) == NULL);
	CHECK(hy_plugin_entry(&host) == cuda);
	CHECK_INT(cuda->abi, HY_BACKEND_ABI);
	CHECK_INT(cuda->size, sizeof(HyBackend));
	CHECK_STR(cuda->name, "cuda");
	/* it touched no device */
	CHECK_INT(hy_fake_calls(), 0);
}

static void
counts_and_probes_without_a_context(void)
{
	HyDeviceInfo info;
	HyFailure failure;
	int32_t count = -1;

	hy_fake.devices = 3;
	CHECK_INT(cuda->device_count(&count), HY_OK);
	CHECK_INT(count, 3);
	CHECK_INT(cuda->probe(2, &info), HY_OK);
	CHECK_INT(strlen(info.name), HY_NAME_LENGTH - 1);
	CHECK(strncmp(info.name, "Fake device", 11) == 0);
	CHECK_STR(info.architecture, "sm_90");
	CHECK_INT(info.cores, 4);
	CHECK_INT(info.memory_total, hy_fake.memory);
	CHECK(info.open_cost_ns > 0);
	CHECK(!info.virtual_time);
	CHECK_INT(cuda->probe(3, &info), HY_DEVICE_GONE);
	cuda->last_error(NULL, &failure);
	CHECK_INT(failure.native_code, cudaErrorInvalidDevice);
	CHECK_INT(hy_fake_live(), 0);
}

static void
absence_is_no_failure(void)
{
	HyDevice *device;
	HyFailure failure;
	int32_t count = -1;

	hy_fake.absent = cudaErrorNoDevice;
	CHECK_INT(cuda->device_count(&count), HY_OK);
	CHECK_INT(count, 0);
	cuda->last_error(NULL, &failure);
	CHECK_INT(failure.native_code, cudaErrorNoDevice);
	CHECK_INT(cuda->open(0, NULL, &device), HY_DEVICE_GONE);

	hy_fake.absent = cudaErrorInsufficientDriver;
	hy_fake.driver = 0;
	CHECK_INT(cuda->device_count(&count), HY_OK);
	CHECK_INT(count, 0);
	cuda->last_error(NULL, &failure);
	CHECK_INT(failure.native_code, cudaErrorInsufficientDriver);
	CHECK_STR(failure.text, "no CUDA driver: libcuda.so.1 was not found or does not work");
	CHECK_INT(memory.outstanding, 0);
}

/* an installed driver means that the operator wants to use a card */
static void
a_driver_that_does_not_serve_is_a_failure(void)
{
	static const cudaError_t broken[] = {
		cudaErrorStubLibrary,     cudaErrorSystemDriverMismatch,
		cudaErrorSymbolNotFound,  cudaErrorCompatNotSupportedOnDevice,
		cudaErrorOperatingSystem, cudaErrorSoftwareValidityNotEstablished};
	HyFailure failure;
	int32_t count = -1;
	size_t i;

	for (i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
	{
		hy_fake.absent = broken[i];
		CHECK_INT(cuda->device_count(&count), HY_DEVICE_GONE);
		CHECK_INT(count, 0);
		cuda->last_error(NULL, &failure);
		CHECK_INT(failure.native_code, broken[i]);
	}
	hy_fake.absent = cudaErrorInsufficientDriver;
	hy_fake.driver = 12020;
	CHECK_INT(cuda->device_count(&count), HY_DEVICE_GONE);
	CHECK_INT(count, 0);
	cuda->last_error(NULL, &failure);
	CHECK_STR(failure.text, "the driver is for CUDA 12.2 at most, this build needs 13.0");
	/*
	 * CUDA reports an old driver although its version is new enough: only CUDA's message is shown
	 */
	hy_fake.driver = 13000;
	CHECK_INT(cuda->device_count(&count), HY_DEVICE_GONE);
	cuda->last_error(NULL, &failure);
	CHECK_INT(failure.native_code, cudaErrorInsufficientDriver);
	CHECK(strncmp(failure.text, "CUDA reported: ", 15) == 0);

	hy_fake.absent = cudaErrorSystemNotReady;
	CHECK_INT(cuda->device_count(&count), HY_TRANSIENT);
	CHECK_INT(count, 0);
	CHECK_INT(memory.outstanding, 0);
}

static void
open_twice_is_busy(void)
{
	HyDevice *device = open_one(0);
	HyDevice *second;

	CHECK_INT(cuda->open(0, NULL, &second), HY_BUSY);
	CHECK(second == NULL);
	close_one(device);
	CHECK_INT(hy_fake_resets(), 1);
	CHECK_INT(cuda->open(-1, NULL, &second), HY_DEVICE_GONE);
	CHECK_INT(cuda->open(1, NULL, &second), HY_DEVICE_GONE);
	/* a context that existed before the open is kept */
	hy_fake.foreign_context = 1;
	device = open_one(0);
	close_one(device);
	CHECK_INT(hy_fake_resets(), 1);
}

/* in_child: run a test in a child process, because it may affect the whole process. */
static void
in_child(void (*function)(void))
{
	pid_t child;
	int status = 0;

	fflush(stdout);
	signal(SIGCHLD, SIG_DFL); /* if SIGCHLD is ignored, no exit status is kept */
	child = fork();
	if (child == 0)
	{
		unit_failed_checks = 0;
		function();
		fflush(stdout);
		_exit(unit_failed_checks == 0 ? 0 : 1);
	}
	CHECK(waitpid(child, &status, 0) == child);
	CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %d", status);
}

static void
sticky_error(void)
{
	HyDevice *device = open_one(0);
	HyDevice *second;
	HyFailure failure;
	HyBuffer *buffer;
	uint64_t bytes;
	DistanceJob job;

	job_make(&job);
	hy_fake_fail("kernel", 1, cudaErrorIllegalAddress);
	CHECK_INT(run(device, &job.task, NULL), HY_PROCESS_LOST);
	cuda->last_error(device, &failure);
	CHECK_INT(failure.native_code, cudaErrorIllegalAddress);
	CHECK(strlen(failure.text) > 10);
	CHECK_INT(run(device, &job.task, NULL), HY_PROCESS_LOST);
	CHECK_INT(cuda->buf_alloc(device, 10, &buffer), HY_PROCESS_LOST);
	CHECK_INT(cuda->mem_info(device, &bytes, &bytes), HY_PROCESS_LOST);
	cuda->close(device);
	CHECK_INT(memory.outstanding, 0);
	/* the error is permanent, although the fake device is healthy again */
	hy_fake_reset();
	CHECK_INT(cuda->open(0, NULL, &second), HY_PROCESS_LOST);
	cuda->last_error(NULL, &failure);
	CHECK_INT(failure.native_code, cudaErrorIllegalAddress);
	distance_free(&job);
}

static void
a_sticky_error_is_for_good(void)
{
	/*
	 * the children are forks of a process that has used the device.  They get a plug-in that was
	 * not used only if they are forked first, and main() sees to that.
	 */
	in_child(sticky_error);
}

static HyDevice *inherited;

static void
child_of_an_open_device(void)
{
	HyTicket ticket;
	HyFailure failure;
	HyDevice *device;
	HyBuffer *buffer;
	int32_t count;
	uint64_t bytes;
	DistanceJob job;

	job_make(&job);
	hy_fake_fail(NULL, 0, cudaSuccess);
	CHECK_INT(cuda->submit(inherited, &job.task, &ticket), HY_PROCESS_LOST);
	cuda->last_error(inherited, &failure);
	CHECK(strstr(failure.text, "fork") != NULL);
	CHECK_INT(cuda->buf_alloc(inherited, 10, &buffer), HY_PROCESS_LOST);
	CHECK_INT(cuda->mem_info(inherited, &bytes, &bytes), HY_PROCESS_LOST);
	CHECK_INT(cuda->device_count(&count), HY_PROCESS_LOST);
	CHECK_INT(cuda->open(0, NULL, &device), HY_PROCESS_LOST);
	cuda->close(inherited);
	/* no call to CUDA was made */
	CHECK_INT(hy_fake_calls(), 0);
	distance_free(&job);
}

static void
a_fork_is_refused(void)
{
	HyBuffer *buffer;
	DistanceJob job;

	inherited = open_one(0);
	CHECK_INT(cuda->buf_alloc(inherited, 10, &buffer), HY_OK);
	in_child(child_of_an_open_device);
	/* the parent can still use the device */
	job_make(&job);
	CHECK_INT(run(inherited, &job.task, NULL), HY_OK);
	distance_check(&job);
	distance_free(&job);
	close_one(inherited);
}

/* same_mask: return whether the thread's signal mask equals this one. */
static bool
same_mask(const sigset_t *before)
{
	sigset_t now;
	int number;

	sigprocmask(SIG_SETMASK, NULL, &now);
	for (number = 1; number < NSIG; number++)
	{
		if (sigismember(&now, number) != sigismember(before, number))
			return false;
	}
	return true;
}

/*
 * started: check that at least this many calls since the reset could start driver threads, all with
 * signals blocked.
 */
static void
started(int least)
{
	const char *unmasked = hy_fake_unmasked();

	CHECK(hy_fake_starts() >= least);
	CHECK_MSG(unmasked == NULL, "a thread of %s could be given a signal", unmasked);
}

/* the driver's threads get no signal of PostgreSQL, and the backend's own mask is restored */
static void
signals_are_blocked_where_threads_start(void)
{
	static const char *const failing[] = {"cudaGetDeviceCount", "cudaInitDevice", "cudaSetDevice",
	                                      "cudaFree",           "cudaMemGetInfo", "cudaMalloc",
	                                      "cudaHostAlloc"};
	HyDevice *device;
	HyDeviceInfo info;
	sigset_t before;
	sigset_t none;
	int32_t count;
	size_t i;

	sigemptyset(&none);
	sigemptyset(&before);
	sigaddset(&before, SIGUSR2);
	sigprocmask(SIG_SETMASK, &before, NULL);
	CHECK_INT(cuda->device_count(&count), HY_OK);
	CHECK(same_mask(&before));
	started(1);
	hy_fake_reset();
	CHECK_INT(cuda->probe(0, &info), HY_OK);
	CHECK(same_mask(&before));
	started(1);
	hy_fake_reset();
	device = open_one(0);
	CHECK(same_mask(&before));
	started(2);
	close_one(device);
	CHECK(same_mask(&before));
	/* wherever an open fails, the cleanup may start threads */
	for (i = 0; i < sizeof(failing) / sizeof(failing[0]); i++)
	{
		hy_fake_reset();
		hy_fake_fail(failing[i], 1, cudaErrorMemoryAllocation);
		CHECK_INT(cuda->open(0, NULL, &device), HY_NOMEM);
		CHECK(same_mask(&before));
		started(1);
	}
	hy_fake_reset();
	hy_fake.absent = cudaErrorNoDevice;
	CHECK_INT(cuda->device_count(&count), HY_OK);
	CHECK_INT(cuda->probe(0, &info), HY_DEVICE_GONE);
	CHECK(same_mask(&before));
	started(2);
	/* without blocking, the fake must notice: otherwise this test proves nothing */
	hy_fake_reset();
	sigprocmask(SIG_SETMASK, &none, NULL);
	CHECK_INT(cudaFree(NULL), cudaSuccess);
	CHECK(hy_fake_unmasked() != NULL);
}

int
main(void)
{
	if (!plug_in())
		return 1;
	RUN(a_sticky_error_is_for_good);
	RUN(entry_checks_its_host);
	RUN(counts_and_probes_without_a_context);
	RUN(absence_is_no_failure);
	RUN(a_driver_that_does_not_serve_is_a_failure);
	RUN(open_twice_is_busy);
	RUN(a_fork_is_refused);
	RUN(signals_are_blocked_where_threads_start);
	return unit_finish();
}
