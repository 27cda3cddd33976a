/*
 * choice.h
 *		Defines the result of a decision.  The numbers of rules are those in the head of decide.c.
 */
#ifndef HY_CHOICE_H
#define HY_CHOICE_H

#include "dispatch/route/config.h"

/* HyChoice: what was decided for a task, and why. */
typedef struct HyChoice
{
	int32_t device;    /* where the task runs; 0: on the CPU */
	int32_t candidate; /* device that was compared with the CPU; 0: none */
	uint32_t number;   /* if there is a candidate: hy_shape_class of the task */
	HyReason reason;
	bool forced; /* the user named the device, so there is no fallback */
	/* HY_OK, or the error if the task must run on a device and cannot */
	HyStatus refusal;
	const char *why; /* why no device can run the task; static or owned by a member; may be NULL */
	const HyMember *missed; /* an unusable device that the decision reports; NULL: none */
	double cpu_ns;          /* predicted time on the CPU, < 0: none */
	double device_ns;
	double instead_ns; /* for a trial: predicted time without the trial, < 0: none */
	uint32_t devices;  /* bit d: device d may run the task */
	bool chunked;      /* by rule 7, the task fits the device only in pieces */
	bool split;        /* by rule 10, the task should run on device and CPU at once */
	double share;      /* device's share of a split task, 0 .. 1 */
	double split_ns;   /* predicted time of the split, even if it is too long; < 0: not computed */
	uint32_t unable;   /* bit d: device d was considered, but one of rules 3 to 7 excludes it */
	int32_t tasks_until_trial; /* tasks of this kind until a trial may be due */
	/* before this time, no breaker that excluded a device can allow that device */
	uint64_t holds_ns;
	uint64_t bytes_required;
	uint64_t bytes_available;
} HyChoice;

#endif
