/*
 * device_run.h
 *		Runs tasks on devices: waits for a turn, submits, polls, gives up.
 */
#ifndef HY_DEVICE_RUN_H
#define HY_DEVICE_RUN_H

#include "dispatch/route/config.h"

#define HY_NO_QUEUE (-2)
#define HY_QUEUE_LOOK_NS 50000 /* interval between two polls of the queue */

/* HyDeviceRun: one run of a task on one device, from submit to its end. */
typedef struct HyDeviceRun
{
	HyStatus status;
	HyTimings timings;
	HyFailure failure;    /* set when status is not HY_OK */
	uint64_t started_ns;  /* by the executor's clock */
	uint64_t finished_ns; /* 0 unless status is HY_OK */
	bool shared;          /* it ran after tasks of other clients, so its time includes theirs */
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
	 * For a device that does not report its remaining time: whenever the task progresses, polling
	 * restarts at the short interval.
	 */
	uint64_t moved_ns; /* HyTimings.total_ns at the last poll */
	uint64_t step_ns;  /* the next wait */
	int spins;         /* number of polls since the last progress */
} HyFlight;

/*
 * hy_flight_start: submit to an open device.  A device that has closed itself meanwhile is opened
 * again, except for a resident task, whose rows are gone.  If submit fails, the flight is over at
 * once.
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
 * hy_flight_poll_delay: return the time in ns during which another poll is useless; 0: poll at
 * once.
 */
extern uint64_t hy_flight_poll_delay(HyExecutor *executor, HyFlight *flight, bool *may_skip);

/* hy_wait: skip ns if may_skip is set; otherwise sleep for ns, but for at most a millisecond. */
extern void hy_wait(HyExecutor *executor, uint64_t ns, bool may_skip);

/*
 * hy_device_run: run a task of this shape in one flight from start to end, including the wait for
 * its turn.
 */
extern void hy_device_run(HyExecutor *executor, HyMember *member, const HyTask *task,
                          const HyShape *shape, HyDeviceRun *run);

/*
 * hy_device_ask: request a slot in the queue for a task of about ns on this device.  Returns
 * HY_NO_QUEUE when the executor has no queue, and -1 when the queue is full.
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
 * hy_device_quantum: return how long a piece should last so that other clients get their turn; 0:
 * no other clients.
 * hy_device_leave: give the slot back because the task has ended.
 */
extern double hy_device_quantum(const HyExecutor *executor, int32_t device);
extern void hy_device_leave(HyExecutor *executor, int32_t slot);

#endif
