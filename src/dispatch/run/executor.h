/*
 * executor.h
 *		Defines the functions of an executor, which has the devices of one process, their
 *		history, and the settings.
 *
 * An executor belongs to one process and one thread.  Its first device is always the CPU.  The
 * others are added by hy_executor_add_backend.
 */
#ifndef HY_EXECUTOR_H
#define HY_EXECUTOR_H

#include "core/allocator.h"
#include "core/clock.h"
#include "dispatch/model/counters.h"
#include "dispatch/model/tracker.h"
#include "dispatch/route/config.h"
#include "dispatch/share/queue.h"

/* HyDeviceState: a device as the views show it. */
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
	/* CPU: HyLoad.runnable; device: `queue` divided by HyConfig.queue_depth; 0: idle */
	double load;
	int32_t queue;   /* tasks of all processes that wait or are in flight on the device */
	double queue_ns; /* sum of their predicted times; a task without one adds 0 */
} HyDeviceState;

/* hy_executor_create: create an executor with only the CPU.  Returns HY_OK or HY_NOMEM. */
extern HyStatus hy_executor_create(const HyAllocator *allocator, const HyClock *clock,
                                   const HyLog *log, HyExecutor **executor);

/* hy_executor_destroy: close every device and free all memory; NULL is allowed. */
extern void hy_executor_destroy(HyExecutor *executor);

/*
 * hy_executor_configure: apply the settings from the next dispatch on.  If the window is smaller,
 * new observations change the history faster from then on.
 */
extern void hy_executor_configure(HyExecutor *executor, const HyConfig *config);

/*
 * hy_executor_add_backend: add every device of a backend.  Returns HY_QUOTA if not all fit in
 * HY_MAX_DEVICES (those that fit are added), HY_INVALID for another ABI, or the backend's own
 * status if it cannot count its devices.  In the last case, the views show the backend without a
 * device, and the reason.  A backend with zero devices is treated as absent (see
 * hy_executor_add_missing).
 */
extern HyStatus hy_executor_add_backend(HyExecutor *executor, const HyBackend *backend);

/*
 * hy_executor_set_losses: from now on, latch off added devices that are in *losses, and add further
 * losses to *losses.  *losses must outlive the executor.
 */
extern void hy_executor_set_losses(HyExecutor *executor, HyLosses *losses);

/*
 * hy_executor_add_missing: add an entry for a plug-in that could not be loaded, so that the views
 * can show why.  `absent` means that this is normal.  The reason is then logged only if the
 * settings ask for a device.
 */
extern void
hy_executor_add_missing(HyExecutor *executor, const char *name, const char *why, bool absent);

/*
 * hy_executor_set_load: set the host's current load.  While more processes per core are runnable
 * than when the history was recorded, the predicted CPU time is multiplied by the ratio of the two
 * numbers.
 */
extern void hy_executor_set_load(HyExecutor *executor, const HyLoad *load);

/*
 * hy_executor_use_queue: make tasks for devices wait for a slot in this queue, which other
 * executors share.  NULL: no queue, because there are no other executors.  The queue must stay
 * valid while it is in use.
 */
extern void hy_executor_use_queue(HyExecutor *executor, const HyQueueClient *queue_client);

/*
 * hy_executor_reprobe: probe the devices again, since their memory or open cost may have changed.
 * Open contexts stay open.  Returns false if a backend cannot count its devices or their number has
 * changed.  The caller then needs a new executor.
 */
extern bool hy_executor_reprobe(HyExecutor *executor);

/* hy_executor_close_devices: close every open context.  A context is opened again when needed. */
extern void hy_executor_close_devices(HyExecutor *executor);

/* Accessors for the views. */
extern int32_t hy_executor_devices(const HyExecutor *executor);
extern void hy_executor_device(const HyExecutor *executor, int32_t device, HyDeviceState *state);
extern HyCaps hy_executor_caps(const HyExecutor *executor, int32_t device,
                               const HyShape *shape); /* see HyBackend.caps */
extern const HyCounters *hy_executor_counters(const HyExecutor *executor, int32_t device, HyOp op);
extern const HyTracker *hy_executor_tracker(const HyExecutor *executor);
/* clears counters, events, history and breakers of this process and of the shared table */
extern void hy_executor_reset(HyExecutor *executor);
/* > 0; changes whenever history is dropped */
extern uint64_t hy_executor_epoch(const HyExecutor *executor);

/* hy_executor_forget: clear counters, events, history and breakers of this process only. */
extern void hy_executor_forget(HyExecutor *executor);

#endif
