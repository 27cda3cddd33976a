/*
 * hog.c
 *		Takes nearly all of a device's memory and keeps it until it is killed.  It is the other
 *		process of test/device.sh.
 *
 *		hog [DEVICE [probe|hold]]
 *
 *	`probe` only reports whether there is a device. `hold` keeps a context, but no memory, until the
 *	program is killed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cuda_runtime_api.h>

#define LEAST ((size_t) 1 << 20) /* smallest size that it requests */

int
main(int argc, char **argv)
{
	int device = argc > 1 ? atoi(argv[1]) : 0;
	size_t free_bytes, total_bytes, taken = 0, step;
	cudaError_t error = cudaSetDevice(device);
	void *memory;

	if (error == cudaSuccess)
		error = cudaMemGetInfo(&free_bytes, &total_bytes);
	if (error != cudaSuccess)
	{
		printf("nothing taken: %s\n", cudaGetErrorString(error));
		return 1;
	}
	if (argc > 2)
	{
		printf("a device: %zu of %zu bytes are free\n", free_bytes, total_bytes);
		fflush(stdout);
		while (strcmp(argv[2], "hold") == 0)
			pause();
		return 0;
	}
	for (step = free_bytes; step >= LEAST; step /= 2)
	{
		while (cudaMalloc(&memory, step) == cudaSuccess)
			taken += step;
		(void) cudaGetLastError();
	}
	if (taken == 0)
	{
		printf("nothing taken: %zu of %zu bytes are free\n", free_bytes, total_bytes);
		return 1;
	}
	printf("taken: %zu of %zu bytes that were free\n", taken, free_bytes);
	fflush(stdout);
	for (;;)
		pause();
}
