/*
 * device_run.h
 *		Runs tasks on devices: waits for a slot in the queue, submits, polls, and cancels.
 */
#ifndef HY_DEVICE_RUN_H
#define HY_DEVICE_RUN_H

#include "dispatch/route/config.h"

#define HY_NO_QUEUE (-2)
#define HY_QUEUE_LOOK_NS 50000 /* interval between two polls of the queue */

/* HyDeviceRun: the outcome of a task on one device. */
typedef struct HyDeviceRun
{
	HyStatus status;
	HyTimings timings;
	HyFailure failure;    /* set when status is not HY_OK */
	uint64_t started_ns;  /* when it was submitted, by the executor's clock */
	uint64_t finished_ns; /* 0 unless status is HY_OK */
	bool shared;          /* tasks of other clients were in flight, so its time includes theirs */
} HyDeviceRun;

/* HyFlight: a task in flight on a device. */
typedef struct HyFlight
{
	HyMember *member;
	const HyTask *task; /* must outlive the flight, with its inputs and outputs */
	HyTicket ticket;
	bool in_flight;
	HyDeviceRun run; /* complete once in_flight is false */
	uint64_t limit_ns;
	/*
	 * For a device that does not report its remaining time: whenever the task has progressed,
	 * polling starts again at the shortest interval.
	 */
	uint64_t moved_ns; /* HyTimings.total_ns at the last poll */
	uint64_t step_ns;  /* the next wait */
	int spins;         /* number of polls since the last progress */
} HyFlight;

/*
 * hy_flight_start: submit a task to an open device.  If the device has closed itself in the
 * meantime, it is opened again, except for a resident task, whose rows are lost.  If submit fails,
 * the flight is over at once.
 */
extern void hy_flight_start(HyExecutor *executor, HyMember *member, const HyTask *task,
                            bool resident, HyFlight *flight);

/*
 * hy_flight_over: poll the device; return whether the flight is over.  Cancels the task on request,
 * or when its timeout has passed.
 */
extern bool hy_flight_over(HyExecutor *executor, HyFlight *flight);

/* hy_flight_stop: cancel the flight; its status becomes HY_CANCELLED. */
extern void hy_flight_stop(HyExecutor *executor, HyFlight *flight);

/*
 * hy_flight_poll_delay: return how many ns to wait before the next poll; 0: poll at once.
 * *may_skip is set if the wait is for virtual time only.
 */
extern uint64_t hy_flight_poll_delay(HyExecutor *executor, HyFlight *flight, bool *may_skip);

/*
 * hy_wait: advance a virtual clock by ns if may_skip is set; otherwise sleep for ns, at most 1 ms.
 */
extern void hy_wait(HyExecutor *executor, uint64_t ns, bool may_skip);

/* hy_device_run: wait for a slot in the queue, and run a whole task of this shape to its end. */
extern void hy_device_run(HyExecutor *executor, HyMember *member, const HyTask *task,
                          const HyShape *shape, HyDeviceRun *run);

/*
 * hy_device_ask: request a slot in the queue of this device for a task with predicted time ns
 * (hy_queue_ask).  Returns HY_NO_QUEUE if the executor has no queue, and -1 if the queue is full.
 */
extern int32_t hy_device_ask(HyExecutor *executor, const HyMember *member, double ns, bool whole);

/*
 * hy_device_granted: return whether the task may be submitted now.
 * hy_device_shared: return whether tasks of other clients were in flight when the slot was
 * granted.
 */
extern bool hy_device_granted(HyExecutor *executor, int32_t slot);
extern bool hy_device_shared(const HyExecutor *executor, int32_t slot);

/*
 * hy_device_quantum: return how many ns a piece should take so that other clients get their turn;
 * 0: no limit (hy_queue_quantum).
 * hy_device_leave: free the slot because the task has ended, or the request is canceled.
 */
extern double hy_device_quantum(const HyExecutor *executor, int32_t device);
extern void hy_device_leave(HyExecutor *executor, int32_t slot);

#endif
