/*
 * bulk.h
 *		One large task in pieces, on several devices and the CPU at once.
 *
 * The rows of the side that is cut (slice.h) lie in a row.  Lanes take pieces of it: a lane a
 * device, from the front, several in flight; one for the CPU, from the back, until they meet.  How
 * much a lane takes at a time follows from what it is predicted to need, corrected by what its
 * pieces took, so that all end together (balance.h).  A piece is no larger than the device's memory
 * allows, nor longer than what a failure may cost.
 *
 * What goes wrong costs the piece it happened to: the device takes no more, and the piece is redone
 * by the CPU, the rest by whoever is left.  Out of memory halves the lane's pieces instead; a lost
 * context is opened again once.
 *
 * A job is a state machine: step does what can be done now and says how long asking again is of no
 * use, so one thread can drive several.
 */
#ifndef HY_BULK_H
#define HY_BULK_H

#include "dispatch/dispatcher.h"

/* HyBulkPlan: who takes part. */
typedef struct HyBulkPlan
{
	uint32_t devices; /* bit d: device number d of the executor */
	bool with_cpu;    /* the CPU works beside them */
	bool rescue;      /* the CPU redoes what a device failed at; else the other devices do */
	int32_t percent;  /* of the rows for the devices, the rest for the CPU; < 0: as it comes out */
} HyBulkPlan;

/* HyBulkReport: what became of it. */
typedef struct HyBulkReport
{
	HyStatus status;              /* of the whole */
	bool begun;                   /* else there was no memory for it, or nobody to take part */
	HyStatus first;               /* of the first piece that failed, or HY_OK */
	HyFailure failure;            /* the same's, or what ended the whole */
	bool fallback;                /* the CPU did what a device had failed at */
	bool virtual_time;            /* an emulated device took part */
	int32_t pieces;               /* that ended well */
	int32_t stolen;               /* that the CPU took back from a device that was late */
	int64_t rows[HY_MAX_DEVICES]; /* done by each device, 0 being the CPU */
	uint64_t started_ns;
	uint64_t finished_ns;
	uint64_t cpu_ns;  /* the CPU computed */
	uint64_t join_ns; /* spent on putting answers together */
} HyBulkReport;

typedef struct HyBulk HyBulk;

/*
 * hy_bulk_begin: a job over a task that makes sense; both, and the executor, outlive it.  HY_NOMEM,
 * HY_UNSUPPORTED when nobody in the plan can take part, or HY_OK.
 */
extern HyStatus
hy_bulk_begin(HyExecutor *executor, const HyTask *task, const HyBulkPlan *plan, HyBulk **bulk);

/*
 * hy_bulk_step: true when the job is over.  Else *wait_ns says for how long asking again is of no
 * use (0: ask at once), and *may_skip whether nothing real happens in it.
 */
extern bool hy_bulk_step(HyBulk *bulk, uint64_t *wait_ns, bool *may_skip);

extern const HyBulkReport *hy_bulk_report(const HyBulk *bulk);

/* hy_bulk_end: gives back what the job holds; one that is not over is stopped.  NULL is allowed. */
extern void hy_bulk_end(HyBulk *bulk);

/* hy_bulk_run: all of the above in one; waits where there is nothing to do. */
extern HyStatus
hy_bulk_run(HyExecutor *executor, const HyTask *task, const HyBulkPlan *plan, HyBulkReport *report);

#endif
