/*
 * config.h
 *		What the creator of an executor passes to it: the settings, the host's load, the
 *		destination of log lines, and the devices that the process has lost.
 */
#ifndef HY_CONFIG_H
#define HY_CONFIG_H

#include "dispatch/model/decision.h"

typedef struct HyExecutor HyExecutor; /* executor.h */
typedef struct HyMember HyMember;     /* a device of an executor: session.h */

typedef struct HyConfig
{
	bool force_cpu;
	HyExecution execution;
	char backend_name[HY_NAME_LENGTH];
	int64_t
		min_batch[HY_OP_COUNT]; /* minimum items for a device, including per-operation overrides */
	double speedup_threshold;   /* minimum predicted speedup for a change from CPU to device */
	double success_threshold;   /* the breaker opens below this success rate */
	/* number of latest observations that the history of a kind of task follows */
	int32_t window;
	bool telemetry;          /* keep events; counters are always kept */
	uint64_t memory_limit;   /* bytes per device over all processes of a table; 0: 80% of memory */
	uint64_t resident_limit; /* bytes per device for resident rows; 0: no resident rows */
	/* maximum open contexts on a device by all processes of a table; 0: no limit */
	int32_t max_contexts;
	uint64_t timeout_ns;   /* a task that runs longer is canceled; 0: no timeout */
	int32_t split_percent; /* percentage of a split task for the device; < 0: by predicted times */
	uint64_t devices;      /* bit n: device number n of a backend may be used; 0: any device */
	int32_t queue_depth;   /* maximum number of pieces in flight on a device */
	int64_t batch_max;     /* items in a batch; 0: chosen automatically */
	int64_t batch_min;     /* minimum number of items for a flush by wait time */
	/* maximum wait of the oldest item of a batch; 0: no flush by time */
	uint64_t batch_wait_ns;
} HyConfig;

/*
 * HyLog: receives one NUL-terminated line per event (breaker transition, latch, plug-in failure).
 */
typedef struct HyLog
{
	void (*line)(void *arg, const char *text);
	void *arg;
} HyLog;

/* HyLoad: how busy the host was at the last measurement. */
typedef struct HyLoad
{
	double runnable; /* runnable processes per core; 0: not known */
	uint64_t memory; /* bytes of host memory available; 0: not known */
} HyLoad;

/* HyLosses: the devices that no executor of this process may use again. */
#define HY_MAX_LOSSES 64

typedef struct HyLosses
{
	int32_t count;
	struct
	{
		char backend[HY_NAME_LENGTH];
		int32_t number; /* the backend's own device number; -1: all its devices */
		char why[HY_TEXT_LENGTH];
	} loss[HY_MAX_LOSSES];
} HyLosses;

/* hy_config_default: fill in the default values of the settings. */
extern void hy_config_default(HyConfig *config);

/* hy_device_asked: return whether the settings request a device instead of only allowing one. */
extern bool hy_device_asked(const HyConfig *config);

#endif
