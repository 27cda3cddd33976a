/*
 * driver_check.c
 *		Loads hybrid_cuda.so as the dispatcher does, and prints what it reports about this machine's
 *		driver:
 *
 *		loaded before: no | count: ok 0 | native 35 | text | open: device gone
 */
#include <dlfcn.h>
#include <stdio.h>

#include "dispatch/tools/plugin.h"

int
main(void)
{
	HyHost host = {
		.abi = HY_BACKEND_ABI, .clock = &hy_monotonic_clock, .allocator = &hy_malloc_allocator};
	HyDevice *device = NULL;
	HyFailure failure;
	HyStatus status;
	const HyBackend *cuda;
	int32_t count = -1;
	char why[256];

	cuda = hy_plugin_load(".", "hybrid_cuda", &host, why, sizeof(why));
	if (cuda == NULL)
	{
		printf("not loaded: %s\n", why);
		return 1;
	}
	printf("driver touched by loading: %s",
	       dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY) != NULL ? "yes" : "no");
	status = cuda->device_count(&count);
	cuda->last_error(NULL, &failure);
	printf(" | count: %s %d | native %d | %s", hy_status_name(status), (int) count,
	       (int) failure.native_code, failure.text);
	status = cuda->open(0, NULL, &device);
	printf(" | open: %s\n", hy_status_name(status));
	if (device != NULL)
		cuda->close(device);
	return 0;
}
