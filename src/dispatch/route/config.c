/*
 * config.c
 *		Sets default settings, and interprets settings.
 */
#include "dispatch/route/config.h"

#include <string.h>

void
hy_config_default(HyConfig *config)
{
	int op;

	memset(config, 0, sizeof(*config));
	config->execution = HY_EXECUTION_AUTO;
	for (op = 0; op < HY_OP_COUNT; op++)
		config->min_batch[op] = 64;
	config->speedup_threshold = 1.1;
	config->success_threshold = 0.95;
	config->window = 100;
	config->telemetry = true;
	config->resident_limit = UINT64_MAX;
	config->timeout_ns = UINT64_C(2000000000);
	config->split_percent = -1;
	config->queue_depth = 2;
	config->batch_max = 0;
	config->batch_min = 8;
	config->batch_wait_ns = UINT64_C(10000000);
}

bool
hy_device_asked(const HyConfig *config)
{
	if (config->force_cpu || config->execution == HY_EXECUTION_CPU ||
	    config->execution == HY_EXECUTION_PREFER_CPU)
		return false;
	return config->execution != HY_EXECUTION_AUTO || config->devices != 0;
}
