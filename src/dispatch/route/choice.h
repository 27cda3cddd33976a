/*
 * choice.h
 *		The side that a task goes to, and why, by the rules in the head of decide.c.
 */
#ifndef HY_CHOICE_H
#define HY_CHOICE_H

#include "dispatch/route/config.h"

/* HyChoice: what was decided for a task, and why. */
typedef struct HyChoice
{
	int32_t device;    /* device that the task goes to */
	int32_t candidate; /* device that was compared with the CPU, 0: none */
	uint32_t number;   /* if there is a candidate: hy_shape_class of the task */
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

#endif
