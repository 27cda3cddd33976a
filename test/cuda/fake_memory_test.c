/*
 * fake_memory_test.c
 *		Only kernels and copies reach the fake device's memory, and only what is allocated: every other
 *		access ends the process.
 */
#include "fake.h"
#include "unit.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda/launch.h"

#define DIMS 1024

typedef enum Way
{
	ALLOWED,
	ALLOWED_WITH_ALL_SIGNALS_BLOCKED,
	BEYOND_THE_END,
	AFTER_FREE,
	BY_THE_HOST,
	BY_THE_HOST_AFTER_A_KERNEL,
	WAYS
} Way;

/* run: compute the norm of a vector on the device in one of the ways; this is a process of its own. */
static int
run(Way way)
{
	static const float vector[DIMS] = {3, 4};
	cudaStream_t stream;
	sigset_t all;
	float *query;
	float *norm;
	float found = 0;

	sigfillset(&all);
	cudaStreamCreateWithFlags(&stream, 0);
	cudaMalloc((void **) &query, sizeof(vector));
	cudaMalloc((void **) &norm, sizeof(float));
	cudaMemcpyAsync(query, vector, sizeof(vector), cudaMemcpyHostToDevice, stream);
	if (way == ALLOWED_WITH_ALL_SIGNALS_BLOCKED)
		sigprocmask(SIG_SETMASK, &all, NULL);
	if (way == AFTER_FREE)
		cudaFree(query);
	if (way == BY_THE_HOST)
		return query[0] == 3 ? 2 : 3;
	hy_cuda_launch_norms(query, 1, way == BEYOND_THE_END ? DIMS + 1 : DIMS, norm, stream);
	cudaMemcpyAsync(&found, norm, sizeof(float), cudaMemcpyDeviceToHost, stream);
	cudaStreamSynchronize(stream);
	if (way == BY_THE_HOST_AFTER_A_KERNEL)
		return norm[0] > 0 ? 2 : 3;
	return found > 0 ? 0 : 1;
}

static void
only_the_device_reaches_it(void)
{
	int way;

	for (way = ALLOWED; way < WAYS; way++)
	{
		pid_t child = fork();
		int status = 0;

		if (child == 0)
			_exit(run((Way) way));
		CHECK(waitpid(child, &status, 0) == child);
		if (way <= ALLOWED_WITH_ALL_SIGNALS_BLOCKED)
			CHECK_MSG(status == 0, "way %d: status %x", way, (unsigned) status);
		else
			CHECK_MSG(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, "way %d: status %x", way,
			          (unsigned) status);
	}
}

int
main(void)
{
	hy_fake_reset();
	UNIT_RUN(only_the_device_reaches_it);
	return unit_finish();
}
