/*
 * dispatcher.h
 *		One entry for every batch: choose a side, run it there, fall back when it fails, remember.
 *
 * An executor belongs to one process and one thread.  The CPU is always its first backend; others
 * are added as devices.  hy_dispatch returns HY_OK with the answer in the task's output, whatever
 * the device did: a device failure costs time, never an answer.  Only what the user forced
 * (execution = gpu or a backend's name) can fail for want of a device.
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
	HY_EXECUTION_NAMED, /* HyConfig.backend_name */
	HY_EXECUTION_SPLIT  /* both sides at once, where both are able */
} HyExecution;

/* HyReason: why a side was chosen, one for each rule of the decision, in their order. */
typedef enum HyReason
{
	HY_REASON_USER = 0,    /* hybrid.force_cpu or hybrid.execution */
	HY_REASON_NO_DEVICE,   /* none there, plug-in missing, of another ABI, or latched off */
	HY_REASON_UNSUPPORTED, /* not in the device's capabilities */
	HY_REASON_BELOW_MIN,   /* fewer items than hybrid.gpu_min_batch */
	HY_REASON_UNRELIABLE,  /* the breaker is open */
	HY_REASON_MEMORY,      /* does not fit the memory budget */
	HY_REASON_NOT_OPEN,    /* a context would not have paid for itself yet */
	HY_REASON_COST,        /* the cheaper side by history */
	HY_REASON_EXPLORATION, /* tried to learn what the other side costs */
	HY_REASON_PROBE,       /* half-open breaker: is the device back? */
	HY_REASON_SPLIT        /* both sides at once are faster than either */
} HyReason;

#define HY_REASON_COUNT (HY_REASON_SPLIT + 1)

/* HyFlush: why a batch was sent off (accumulator.h). */
typedef enum HyFlush
{
	HY_FLUSH_NONE = 0, /* it was not */
	HY_FLUSH_SIZE,
	HY_FLUSH_TIME,
	HY_FLUSH_MEMORY,
	HY_FLUSH_END
} HyFlush;

#define HY_FLUSH_COUNT (HY_FLUSH_END + 1)

/* HyScanLimit: why an index scan ended before it had found all rows that were wanted. */
typedef enum HyScanLimit
{
	HY_SCAN_NO_LIMIT = 0, /* it did not */
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
	int64_t min_batch[HY_OP_COUNT]; /* overrides applied */
	double speedup_threshold;       /* enter a device at this ratio */
	double success_threshold;       /* below this rate the breaker opens */
	int32_t window;                 /* observations the tracker keeps a shape and side */
	bool telemetry;                 /* keep events; counters are always kept */
	uint64_t memory_limit;          /* bytes a device, for all processes of a table; 0: 80% */
	uint64_t resident_limit;        /* bytes a device for rows that stay there; 0: none do */
	int32_t max_contexts;           /* on a device by all processes of a table; 0: any number */
	uint64_t timeout_ns;            /* a task that runs longer is given up */
	int32_t split_percent;          /* of a split task, for the device; < 0: as measured */
	uint64_t devices;               /* bit n: number n of a backend may be used; 0: any */
	int32_t queue_depth;            /* most pieces in flight on a device */
	int64_t batch_max;              /* items of a batch; 0: chosen */
	int64_t batch_min;              /* items below which waiting ends no batch */
	uint64_t batch_wait_ns;         /* of its oldest item; 0: time ends no batch */
} HyConfig;

/* HyDecision: what was done with one task and why; fixed size, well under 1 KB. */
typedef struct HyDecision
{
	uint64_t time_ns; /* the executor's clock when the call began */
	HyShape shape;
	int64_t items;
	HyExecution execution;
	char named[HY_NAME_LENGTH]; /* with HY_EXECUTION_NAMED: which backend */
	/* executor's device number the task was sent to first; 0 is the CPU, HY_NOWHERE: nothing ran */
	int32_t device;
	HyReason reason;
	bool fallback;              /* the device failed and the CPU answered */
	HyStatus status;            /* of the first attempt */
	HyFailure failure;          /* when status is not HY_OK */
	double predicted_cpu_ns;    /* < 0: no history */
	double predicted_device_ns; /* < 0: no history or no device */
	uint64_t actual_ns;         /* of the whole call, as the clock saw it */
	bool virtual_time;          /* an emulated device took part: actual_ns is made up */
	uint64_t bytes_required;
	uint64_t bytes_available;
	double load;        /* runnable processes a core when it was taken; 0: not known */
	int32_t queue;      /* tasks under way on the device that was considered; -1: nobody looked */
	int32_t pieces;     /* it was run in so many; 0: whole */
	double split_share; /* the device's part of a task worth splitting, < 0: it is not */
} HyDecision;

/*
 * HyCounters: per device and operation, since the executor began or was reset.  Only sums of 64
 * bits: those of several processes are added up word by word.
 */
typedef struct HyCounters
{
	int64_t calls;  /* tasks this device finished; of one cut over several, those sent to it */
	int64_t pieces; /* of such tasks, and of those too large for it, that it finished */
	int64_t items;
	int64_t failures; /* attempts that failed here, by status below */
	int64_t by_status[HY_STATUS_COUNT];
	int64_t fallbacks;                  /* tasks this device gave up to the CPU */
	int64_t by_cause[HY_STATUS_COUNT];  /* the same, by how the last attempt ended */
	int64_t by_reason[HY_REASON_COUNT]; /* why tasks came here */
	uint64_t total_ns;
	uint64_t bytes_up;
	uint64_t bytes_down;
	int64_t latency[HY_MAX_LATENCIES];
	int64_t flushes[HY_FLUSH_COUNT]; /* batches gathered, by what ended them; the CPU's only */
	int64_t
		scan_limits[HY_SCAN_LIMIT_COUNT]; /* scans that these ended; of the CPU's distances only */
} HyCounters;

/* HyDeviceState: a device as the views show it. */
typedef struct HyDeviceState
{
	const char *backend; /* 'cpu', ... */
	int32_t number;      /* the backend's own device number */
	HyDeviceInfo info;
	bool open;
	bool latched;    /* never again in this process */
	bool left_out;   /* HyConfig.devices does not name it */
	const char *why; /* when it cannot be used; static or executor-owned text, else NULL */
	uint64_t memory_used;
	HyResidencyCounts resident; /* of this process */
	double load;     /* of the CPU as HyLoad.runnable; of a device: tasks there a place; 0: idle */
	int32_t queue;   /* tasks that wait or are in flight there, of everybody */
	double queue_ns; /* predicted, of those that can be */
} HyDeviceState;

/* HyLog: told of transitions (breaker, latch, plug-in trouble), one line each; text is NUL-ended. */
typedef struct HyLog
{
	void (*line)(void *arg, const char *text);
	void *arg;
} HyLog;

/* HyLoad: how busy the host is, as far as somebody has looked. */
typedef struct HyLoad
{
	double runnable; /* processes that could run, a core; 0: not known */
	uint64_t memory; /* bytes of its memory that could be had; 0: not known */
} HyLoad;

/* HyLosses: devices that the process may not use again for as long as it lives, whatever executor it has. */
#define HY_MAX_LOSSES 64

typedef struct HyLosses
{
	int32_t count;
	struct
	{
		char backend[HY_NAME_LENGTH];
		int32_t number; /* the backend's own; -1: every device that it has */
		char why[HY_TEXT_LENGTH];
	} loss[HY_MAX_LOSSES];
} HyLosses;

typedef struct HyExecutor HyExecutor;

/* hy_executor_create: an executor with only the CPU; HY_NOMEM or HY_OK. */
extern HyStatus hy_executor_create(const HyAllocator *allocator, const HyClock *clock,
                                   const HyLog *log, HyExecutor **executor);

/* hy_executor_destroy: closes every device and frees all; NULL is allowed. */
extern void hy_executor_destroy(HyExecutor *executor);

/* hy_executor_configure: takes effect at the next dispatch; a smaller window forgets the oldest. */
extern void hy_executor_configure(HyExecutor *executor, const HyConfig *config);

/* hy_config_default: the defaults of the settings table. */
extern void hy_config_default(HyConfig *config);

/*
 * hy_executor_add_backend: every device of a backend; HY_QUOTA beyond HY_MAX_DEVICES, HY_INVALID
 * for another ABI, or the backend's own status when it cannot count its devices (it is then listed
 * with no usable device, and why).  One that counts none is absent, as below.
 */
extern HyStatus hy_executor_add_backend(HyExecutor *executor, const HyBackend *backend);

/*
 * hy_executor_heed: what was lost before is not used, of backends that are added from now on, and what
 * is lost from now on is noted there; losses outlives the executor.
 */
extern void hy_executor_heed(HyExecutor *executor, HyLosses *losses);

/*
 * hy_executor_add_missing: a plug-in that could not be had, so that the views can say why.  absent: nobody
 * expects it to be there, and the log says so only where the settings ask for a device.
 */
extern void
hy_executor_add_missing(HyExecutor *executor, const char *name, const char *why, bool absent);

/*
 * hy_executor_set_load: from now on.  The CPU is expected to be slower by as much as there are more
 * processes a core than while its history was made.
 */
extern void hy_executor_set_load(HyExecutor *executor, const HyLoad *load);
extern HyLoad hy_executor_load(const HyExecutor *executor);

/*
 * hy_executor_use_queue: from now on tasks for devices wait for their turn in this queue, which others
 * use too; NULL: there are no others.  The seat's queue outlives its use.
 */
extern void hy_executor_use_queue(HyExecutor *executor, const HyQueueSeat *seat);

/*
 * hy_executor_look_again: what the devices are may have changed, their memory or what opening costs;
 * contexts that are open stay so.  False where a backend has another number of devices now, which
 * takes a new executor.
 */
extern bool hy_executor_look_again(HyExecutor *executor);

/* hy_executor_close_devices: closes every open context (they reopen when needed). */
extern void hy_executor_close_devices(HyExecutor *executor);

/*
 * hy_dispatch: runs the task somewhere.  HY_OK: the outputs are filled.  HY_CANCELLED; HY_NOMEM
 * when the host itself is out of memory; HY_INVALID for a task that contradicts itself or whose
 * inputs lie in a device buffer (the executor hands out none, so it cannot know whose); when the
 * user forced a device, whatever that device said.  *decision (may be NULL) is always filled.
 */
extern HyStatus hy_dispatch(HyExecutor *executor, const HyTask *task, HyDecision *decision);

/* hy_executor_limited: counts a scan that a limit has ended. */
extern void hy_executor_limited(HyExecutor *executor, HyScanLimit limit);

/* What happened, for the views. */
extern int32_t hy_executor_devices(const HyExecutor *executor);
extern void hy_executor_device(const HyExecutor *executor, int32_t device, HyDeviceState *state);
/* hy_executor_called: whether hybrid.execution = name asks for this device. */
extern bool hy_executor_called(const HyExecutor *executor, int32_t device, const char *name);
extern HyCaps hy_executor_caps(const HyExecutor *executor, int32_t device,
                               const HyShape *shape); /* as HyBackend */
extern const HyCounters *hy_executor_counters(const HyExecutor *executor, int32_t device, HyOp op);
extern int32_t hy_executor_events(const HyExecutor *executor); /* at most HY_EVENT_RING */
extern const HyDecision *hy_executor_event(const HyExecutor *executor, int32_t i); /* 0: oldest */
extern const HyTracker *hy_executor_tracker(const HyExecutor *executor);
extern void hy_executor_reset(HyExecutor *executor); /* counters, events, history, breakers */
extern uint64_t hy_executor_epoch(const HyExecutor *executor); /* > 0; grows when history goes */

/* hy_counters_quantile: the latency in ns below which a share q of the calls lies; 0: no calls. */
extern double hy_counters_quantile(const HyCounters *counters, double q);

/*
 * hy_reason_name: 'below minimum batch', ...;
 * hy_flush_name: 'size', 'time', 'memory', 'end'; hy_scan_limit_name: 'max_scan_tuples', 'memory'.
 */
extern const char *hy_reason_name(HyReason reason);
extern const char *hy_flush_name(HyFlush cause);
extern const char *hy_scan_limit_name(HyScanLimit limit);

#endif
