/*
 * dispatcher.h
 *		The entry point for every batch: chooses a side, runs the task there, falls back on failure,
 *		and records the call.
 *
 * An executor belongs to one process and one thread.  The CPU is always its first backend; others
 * are added as devices.  hy_dispatch returns HY_OK with the answer in the task's output even if a
 * device fails: a device failure costs time but never an answer.  Only a task that the user forced
 * to a device (execution = gpu or the name of a backend) can fail because of a device.
 */
#ifndef HY_DISPATCHER_H
#define HY_DISPATCHER_H

#include "dispatch/backend.h"
#include "dispatch/breaker.h"
#include "dispatch/queue.h"
#include "dispatch/residency.h"
#include "dispatch/tracker.h"

typedef enum HyExecution
{
	HY_EXECUTION_AUTO = 0,
	HY_EXECUTION_CPU,
	HY_EXECUTION_GPU,
	HY_EXECUTION_PREFER_CPU,
	HY_EXECUTION_PREFER_GPU,
	HY_EXECUTION_NAMED, /* uses the backend HyConfig.backend_name */
	HY_EXECUTION_SPLIT  /* uses CPU and device at once, if both are able */
} HyExecution;

/*
 * HyReason: the reason why a side was chosen, one for each rule of the decision, in the order of
 * the rules.
 */
typedef enum HyReason
{
	HY_REASON_USER = 0,    /* chosen by hybrid.force_cpu or hybrid.execution */
	HY_REASON_NO_DEVICE,   /* no device, plug-in missing or of another ABI, or device latched off */
	HY_REASON_UNSUPPORTED, /* not among the device's capabilities */
	HY_REASON_BELOW_MIN,   /* fewer items than hybrid.gpu_min_batch */
	HY_REASON_UNRELIABLE,  /* the breaker does not allow the device */
	HY_REASON_MEMORY,      /* does not fit the memory budget */
	HY_REASON_NOT_OPEN,    /* opening a context would not have paid off yet (ski rental) */
	HY_REASON_COST,        /* the cheaper side according to history */
	HY_REASON_EXPLORATION, /* a trial, to measure another side */
	HY_REASON_PROBE, /* a probe of a half-open breaker: tests whether the device works again */
	HY_REASON_SPLIT  /* both sides at once are faster than one */
} HyReason;

#define HY_REASON_COUNT (HY_REASON_SPLIT + 1)

/* HyFlush: the cause for which a batch was flushed (accumulator.h). */
typedef enum HyFlush
{
	HY_FLUSH_NONE = 0, /* the batch was not flushed */
	HY_FLUSH_SIZE,
	HY_FLUSH_TIME,
	HY_FLUSH_MEMORY,
	HY_FLUSH_END
} HyFlush;

#define HY_FLUSH_COUNT (HY_FLUSH_END + 1)

/* HyScanLimit: the limit that ended an index scan before it had found all wanted rows. */
typedef enum HyScanLimit
{
	HY_SCAN_NO_LIMIT = 0, /* no limit ended it */
	HY_SCAN_TUPLES,
	HY_SCAN_MEMORY
} HyScanLimit;

#define HY_SCAN_LIMIT_COUNT (HY_SCAN_MEMORY + 1)

#define HY_MAX_DEVICES 8
#define HY_MAX_LATENCIES 40 /* histogram: bucket b counts latencies in [2^b, 2^(b+1)) ns */
#define HY_EVENT_RING 256
#define HY_NOWHERE (-1)

typedef struct HyConfig
{
	bool force_cpu;
	HyExecution execution;
	char backend_name[HY_NAME_LENGTH];
	int64_t
		min_batch[HY_OP_COUNT]; /* minimum items for a device, including per-operation overrides */
	double speedup_threshold;   /* minimum predicted speedup to move to a device */
	double success_threshold;   /* the breaker opens below this success rate */
	int32_t window;          /* observations that the tracker keeps for a kind of task on a side */
	bool telemetry;          /* keep events; counters are always kept */
	uint64_t memory_limit;   /* bytes per device over all processes of a table; 0: 80% of memory */
	uint64_t resident_limit; /* bytes per device for resident rows; 0: no resident rows */
	int32_t
		max_contexts; /* maximum open contexts on a device by all processes of a table; 0: no limit */
	uint64_t timeout_ns;   /* a task that runs longer is canceled */
	int32_t split_percent; /* percentage of a split task for the device; < 0: by predicted times */
	uint64_t devices;      /* bit n: device number n of a backend may be used; 0: any device */
	int32_t queue_depth;   /* maximum number of pieces in flight on a device */
	int64_t batch_max;     /* items in a batch; 0: chosen automatically */
	int64_t batch_min;     /* minimum number of items for a flush by wait time */
	/* maximum wait of the oldest item of a batch; 0: no flush by time */
	uint64_t batch_wait_ns;
} HyConfig;

/* HyDecision: where one task ran and why; fixed size, well under 1 KB. */
typedef struct HyDecision
{
	uint64_t time_ns; /* the executor's clock at the start of the call */
	HyShape shape;
	int64_t items;
	HyExecution execution;
	char named[HY_NAME_LENGTH]; /* name of the requested backend, with HY_EXECUTION_NAMED */
	/*
	 * executor's number of the device that first got the task; 0: the CPU; HY_NOWHERE: no side ran
	 * it
	 */
	int32_t device;
	HyReason reason;
	bool fallback;              /* the device failed and the CPU answered */
	HyStatus status;            /* status of the first attempt */
	HyFailure failure;          /* set when status is not HY_OK */
	double predicted_cpu_ns;    /* < 0: no history */
	double predicted_device_ns; /* < 0: no history or no device */
	uint64_t actual_ns;         /* duration of the whole call by the executor's clock */
	bool virtual_time;          /* an emulated device took part, so actual_ns is not a real time */
	uint64_t bytes_required;
	uint64_t bytes_available;
	double load;        /* runnable processes per core at the time of the decision; 0: not known */
	int32_t queue;      /* tasks waiting or in flight on the device considered; -1: not looked up */
	int32_t pieces;     /* number of pieces in which the task ran; 0: it ran whole */
	double split_share; /* the device's share of a task run as a split; < 0: not split */
} HyDecision;

/*
 * HyCounters: counts per device and operation since the executor began or was reset.  All fields
 * are 64-bit sums, so the counters of several processes are added word by word.
 */
typedef struct HyCounters
{
	/*
	 * tasks that this device finished; a task cut over several devices counts for the device chosen
	 * first
	 */
	int64_t calls;
	int64_t
		pieces; /* pieces finished by this device, of tasks cut over devices or too large for it */
	int64_t items;
	int64_t failures; /* failed attempts on this device; by_status divides them by status */
	int64_t by_status[HY_STATUS_COUNT];
	int64_t fallbacks; /* tasks that failed on this device and then ran on the CPU */
	int64_t by_cause[HY_STATUS_COUNT];  /* these fallbacks by the status of the last attempt */
	int64_t by_reason[HY_REASON_COUNT]; /* number of tasks sent to this device for each reason */
	uint64_t total_ns;
	uint64_t bytes_up;
	uint64_t bytes_down;
	int64_t latency[HY_MAX_LATENCIES];
	/* batches by the cause of their flush; only in the CPU's counters */
	int64_t flushes[HY_FLUSH_COUNT];
	int64_t
		/* scans ended by a limit; only in the CPU's counters for distances */
		scan_limits[HY_SCAN_LIMIT_COUNT];
} HyCounters;

/* HyDeviceState: a device as shown in the views. */
typedef struct HyDeviceState
{
	const char *backend; /* name: 'cpu', ... */
	int32_t number;      /* the backend's own device number */
	HyDeviceInfo info;
	bool open;
	bool latched;    /* not used again by this process */
	bool left_out;   /* HyConfig.devices does not include it */
	const char *why; /* reason why it cannot be used; static or executor-owned text; else NULL */
	uint64_t memory_used;
	HyResidencyCounts resident; /* counts of resident units in this process */
	/* CPU: HyLoad.runnable; device: its tasks divided by its queue places; 0: idle */
	double load;
	int32_t queue;   /* tasks of all processes that wait or are in flight on the device */
	double queue_ns; /* total predicted time of these tasks, without the unpredicted ones */
} HyDeviceState;

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

/*
 * HyLosses: devices that no executor of this process may use again.
 */
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

typedef struct HyExecutor HyExecutor;

/* hy_executor_create: create an executor with only the CPU.  Returns HY_OK or HY_NOMEM. */
extern HyStatus hy_executor_create(const HyAllocator *allocator, const HyClock *clock,
                                   const HyLog *log, HyExecutor **executor);

/* hy_executor_destroy: close every device and free all memory; NULL is allowed. */
extern void hy_executor_destroy(HyExecutor *executor);

/*
 * hy_executor_configure: apply the settings from the next dispatch on.  A smaller window drops the
 * oldest observations.
 */
extern void hy_executor_configure(HyExecutor *executor, const HyConfig *config);

/* hy_config_default: fill in the default values of the settings. */
extern void hy_config_default(HyConfig *config);

/*
 * hy_executor_add_backend: add every device of a backend.  Returns HY_QUOTA beyond HY_MAX_DEVICES,
 * HY_INVALID for another ABI, or the backend's own status when it cannot count its devices.  In the
 * last case the views show the backend with the reason and no usable device.  A backend that counts
 * zero devices is treated as absent (see hy_executor_add_missing).
 */
extern HyStatus hy_executor_add_backend(HyExecutor *executor, const HyBackend *backend);

/*
 * hy_executor_set_losses: leave out lost devices of backends that are added from now on, and record
 * further losses in *losses.  *losses must outlive the executor.
 */
extern void hy_executor_set_losses(HyExecutor *executor, HyLosses *losses);

/*
 * hy_executor_add_missing: list a plug-in that could not be loaded, so that the views can show why.
 * absent means that a missing plug-in is normal.  In that case, the plug-in is logged only if the
 * settings ask for a device.
 */
extern void
hy_executor_add_missing(HyExecutor *executor, const char *name, const char *why, bool absent);

/*
 * hy_executor_set_load: set the host's load from now on.  The predicted CPU time is multiplied by
 * the number of runnable processes per core now, divided by that number while the history was
 * recorded.
 */
extern void hy_executor_set_load(HyExecutor *executor, const HyLoad *load);
extern HyLoad hy_executor_load(const HyExecutor *executor);

/*
 * hy_executor_use_queue: make tasks for devices wait for their turn in this queue, which other
 * executors share.  NULL means that there are no other executors.  The queue must stay valid while
 * it is in use.
 */
extern void hy_executor_use_queue(HyExecutor *executor, const HyQueueSeat *seat);

/*
 * hy_executor_reprobe: probe the devices again, since their memory or open cost may have changed.
 * Open contexts stay open.  Returns false when the number of devices of a backend has changed; the
 * caller then needs a new executor.
 */
extern bool hy_executor_reprobe(HyExecutor *executor);

/* hy_executor_close_devices: close every open context; they reopen when needed. */
extern void hy_executor_close_devices(HyExecutor *executor);

/*
 * hy_dispatch: run the task on some side.  Returns HY_OK if the outputs are filled, HY_CANCELLED if
 * the task was canceled, and HY_NOMEM if the host itself is out of memory.  Returns HY_INVALID if
 * the task contradicts itself, or if its inputs lie in a device buffer (the executor does not know
 * which device owns a buffer).  If the user forced a device, the status can be any status of that
 * device.  decision may be NULL; otherwise *decision is always filled.
 */
extern HyStatus hy_dispatch(HyExecutor *executor, const HyTask *task, HyDecision *decision);

/* hy_executor_limited: count a scan that was ended by a limit. */
extern void hy_executor_limited(HyExecutor *executor, HyScanLimit limit);

/* Accessors for the views. */
extern int32_t hy_executor_devices(const HyExecutor *executor);
extern void hy_executor_device(const HyExecutor *executor, int32_t device, HyDeviceState *state);
/* hy_executor_called: return whether hybrid.execution = name selects this device. */
extern bool hy_executor_called(const HyExecutor *executor, int32_t device, const char *name);
extern HyCaps hy_executor_caps(const HyExecutor *executor, int32_t device,
                               const HyShape *shape); /* see HyBackend.caps */
extern const HyCounters *hy_executor_counters(const HyExecutor *executor, int32_t device, HyOp op);
extern int32_t hy_executor_events(const HyExecutor *executor); /* at most HY_EVENT_RING */
extern const HyDecision *hy_executor_event(const HyExecutor *executor, int32_t i); /* 0: oldest */
extern const HyTracker *hy_executor_tracker(const HyExecutor *executor);
/* clears counters, events, history and breakers */
extern void hy_executor_reset(HyExecutor *executor);
/* > 0; changes whenever history is dropped */
extern uint64_t hy_executor_epoch(const HyExecutor *executor);

/*
 * hy_counters_quantile: return the latency in ns below which a share q of the calls lies, or 0 if
 * there are no calls.
 */
extern double hy_counters_quantile(const HyCounters *counters, double q);

/*
 * hy_reason_name: return 'below minimum batch', ...
 * hy_flush_name: return 'size', 'time', 'memory' or 'end'.
 * hy_scan_limit_name: return 'max_scan_tuples' or 'memory'.
 */
extern const char *hy_reason_name(HyReason reason);
extern const char *hy_flush_name(HyFlush cause);
extern const char *hy_scan_limit_name(HyScanLimit limit);

#endif
