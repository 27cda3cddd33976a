/*
 * decision.h
 *		Defines the record of a decision: where one task ran, and why.
 */
#ifndef HY_DECISION_H
#define HY_DECISION_H

#include "dispatch/model/kind.h"

#define HY_NOWHERE (-1)
#define HY_EVENT_RING 256 /* decisions that an executor keeps */

typedef enum HyExecution
{
	HY_EXECUTION_AUTO = 0,
	HY_EXECUTION_CPU,
	HY_EXECUTION_GPU,
	HY_EXECUTION_PREFER_CPU,
	HY_EXECUTION_PREFER_GPU,
	HY_EXECUTION_NAMED, /* uses the backend HyConfig.backend_name */
	HY_EXECUTION_SPLIT  /* uses CPU and device at once, unless the predicted gain is too small */
} HyExecution;

/*
 * HyReason: the reason why the CPU or a device was chosen, in the order of the rules of the
 * decision.
 */
typedef enum HyReason
{
	HY_REASON_USER = 0,    /* chosen by hybrid.force_cpu or hybrid.execution */
	HY_REASON_NO_DEVICE,   /* no device, plug-in missing or of another ABI, or device latched off */
	HY_REASON_UNSUPPORTED, /* the device cannot run such a task */
	HY_REASON_BELOW_MIN,   /* the task has fewer items than hybrid.gpu_min_batch */
	HY_REASON_UNRELIABLE,  /* the breaker does not allow the device */
	HY_REASON_MEMORY,      /* the task does not fit the memory budget */
	HY_REASON_NOT_OPEN,    /* opening a context would not have paid off yet (ski rental) */
	/*
	 * faster according to history; or the CPU, because no device is worth a trial, or because no
	 * turn came on the preferred device
	 */
	HY_REASON_COST,
	HY_REASON_EXPLORATION, /* a trial, to measure the time there */
	HY_REASON_PROBE, /* a probe of a half-open breaker: tests whether the device works again */
	HY_REASON_SPLIT  /* CPU and device share the task: predicted to be faster, or requested */
} HyReason;

#define HY_REASON_COUNT (HY_REASON_SPLIT + 1)

/* HyFlush: why a batch of gathered rows was ended and sent to the dispatcher (accumulator.h). */
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

/* HyDecision: where one task ran and why; fixed size, well under 1 KB. */
typedef struct HyDecision
{
	uint64_t time_ns; /* the executor's clock at the start of the call */
	HyShape shape;
	int64_t items;
	HyExecution execution;
	char named[HY_NAME_LENGTH]; /* name of the requested backend, with HY_EXECUTION_NAMED */
	/*
	 * executor's number of the device that got the task first; 0: the CPU; HY_NOWHERE: the task did
	 * not run
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
 * hy_reason_name: return the name of a reason, such as 'below minimum batch'.
 * hy_flush_name: return 'none', 'size', 'time', 'memory' or 'end'.
 * hy_scan_limit_name: return 'none', 'max_scan_tuples' or 'memory'.
 */
extern const char *hy_reason_name(HyReason reason);
extern const char *hy_flush_name(HyFlush cause);
extern const char *hy_scan_limit_name(HyScanLimit limit);

#endif
