/*
 * gpucheck_host.h
 *		The host services that both programs of gpucheck offer to the plug-in.
 */
#ifndef HY_TEST_GPUCHECK_HOST_H
#define HY_TEST_GPUCHECK_HOST_H

#include "dispatch/backend.h"

/* run_parts: implement HyHost.run on three threads. */
static HyStatus
run_parts(void *arg, HyOp op, double work, int64_t parts, HyPart part, void *part_arg)
{
	(void) arg;
	(void) op;
	(void) work;
	return hy_threads_run_soon(3, parts, part, part_arg, NULL);
}

#endif
