/*
 * decide.h
 *		Chooses the side of a task by the rules in the head of decide.c.
 */
#ifndef HY_DECIDE_H
#define HY_DECIDE_H

#include "dispatch/route/config.h"

/* HyChoice: the decision of decide.c for a task. */
typedef struct HyChoice
{
	int32_t device;    /* device that the task goes to */
	int32_t candidate; /* device that was compared with the CPU, 0: none */
	HyReason reason;
	bool forced; /* the user named the side, so there is no fallback */
	/* status if the forced side cannot run the task, and no side runs it; else HY_OK */
	HyStatus refusal;
	const char *why; /* text for a refusal, or if no device is able; static or owned by a member */
	const HyMember *missed; /* an unusable device that the decision reports; NULL: none */
	double cpu_ns;          /* predictions for both sides, < 0: none */
	double device_ns;
	double instead_ns; /* for a trial: prediction for the side not chosen, < 0: none */
	uint32_t devices;  /* bit d: device d is able */
	bool chunked;      /* by rule 7, the task fits the device only in pieces */
	bool split;        /* by rule 10, the task should run on device and CPU at once */
	double share;      /* device's share of a split task, 0 .. 1 */
	double split_ns;   /* predicted time of the split; < 0: unknown, or too long to be worthwhile */
	uint32_t unable;   /* bit d: device d was considered and is not able */
	int32_t tasks_until_trial; /* tasks of this kind until a trial may be due */
	uint64_t holds_ns;         /* time until which the breakers do not change the decision */
	uint64_t bytes_required;
	uint64_t bytes_available;
} HyChoice;

/*
 * hy_decide: choose a side at time now.  Only the cached memory figures of the devices are changed.
 * If task is NULL, decides for any exact task of that shape.
 */
extern void hy_decide(HyExecutor *executor, const HyTask *task, const HyShape *shape, uint64_t now,
                      HyChoice *choice);

/*
 * hy_side_ns: predict the time on a side, including its load and the work in flight; < 0: unknown.
 */
extern double hy_side_ns(const HyExecutor *executor, const HyShape *shape, int32_t device);

/* hy_device_meant: return whether the settings allow tasks on this device. */
extern bool hy_device_meant(const HyExecutor *executor, int32_t device);

/* hy_side_able: return whether rules 3 to 7 allow an exact task of this shape on device. */
extern bool hy_side_able(HyExecutor *executor, const HyShape *shape, uint64_t now, int32_t device);

/*
 * hy_side_fits: return whether a task of this shape fits the device's memory budget in one piece.
 */
extern bool hy_side_fits(HyExecutor *executor, const HyShape *shape, int32_t device);

/* hy_side_can: the same as hy_side_able, but only for rules 3, 4 and 7. */
extern bool hy_side_can(HyExecutor *executor, const HyShape *shape, int32_t device);

/* hy_executor_called: return whether hybrid.execution = name selects this device. */
extern bool hy_executor_called(const HyExecutor *executor, int32_t device, const char *name);

/*
 * hy_decision_begin: initialize a decision about shape.
 * hy_decision_describe: copy the choice into the decision.
 */
extern void hy_decision_begin(const HyExecutor *executor, const HyShape *shape, uint64_t now,
                              HyDecision *decision);
extern void hy_decision_describe(const HyChoice *choice, HyDecision *decision);

/*
 * hy_route_note: record that a task went to 'device' for this reason.  If 'fallback' is set, the
 * task then ran on the CPU.
 */
extern void hy_route_note(HyExecutor *executor, const HyShape *shape, int32_t device,
                          HyReason reason, bool fallback);

/*
 * hy_open_credit_add: add the CPU time of a task to the ski rental of a device that stayed closed.
 * If a prediction for the device exists because the device was open before, only the difference is
 * added.
 */
extern void
hy_open_credit_add(HyExecutor *executor, int32_t device, double cpu_ns, double device_ns);

#endif
