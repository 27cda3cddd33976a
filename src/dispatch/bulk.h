/*
 * bulk.h
 *		One large task in pieces, on several devices and the CPU at once.
 *
 * The task is cut along one side (slice.h).  Lanes take pieces of its rows.  Each device has a lane
 * that takes pieces from the front, several in flight.  The CPU's lane takes pieces from the back,
 * until they meet.  The size of a piece follows from the predicted speed of its lane, corrected by
 * the times of its pieces, so that all lanes end together (balance.h).  A piece is limited by the
 * device's memory, and by the time that a failure may cost.
 *
 * A failure costs only the piece it happened to.  The device gets no more pieces, the CPU redoes
 * the piece, and the remaining lanes do the rest.  After out-of-memory the lane's pieces are halved
 * instead.  A lost context is reopened once.
 *
 * A job is a state machine.  A step does the work that is possible now, and says for how long
 * another step would be useless.  So one thread can drive several jobs.
 */
#ifndef HY_BULK_H
#define HY_BULK_H

#include "dispatch/dispatcher.h"

/* HyBulkPlan: the participants of a job. */
typedef struct HyBulkPlan
{
	uint32_t devices; /* bit d: device number d of the executor */
	bool with_cpu;    /* the CPU works beside them */
	bool rescue;      /* the CPU redoes pieces that a device failed at; else the other devices do */
	/* percentage of the rows for the devices, the rest for the CPU; < 0: by speed */
	int32_t percent;
} HyBulkPlan;

/* HyBulkReport: the outcome of a job. */
typedef struct HyBulkReport
{
	HyStatus status;              /* of the whole job */
	bool begun;                   /* false: no memory for it, or no participant */
	HyStatus first;               /* status of the first piece that failed, or HY_OK */
	HyFailure failure;            /* failure of that piece, or the one that ended the job */
	bool fallback;                /* the CPU did work that a device had failed at */
	bool virtual_time;            /* an emulated device took part */
	int32_t pieces;               /* pieces that ended well */
	int32_t stolen;               /* pieces that the CPU took back from a late device */
	int64_t rows[HY_MAX_DEVICES]; /* rows done by each device; 0 is the CPU */
	uint64_t started_ns;
	uint64_t finished_ns;
	uint64_t cpu_ns;  /* computing time of the CPU */
	uint64_t join_ns; /* time spent merging answers */
} HyBulkReport;

typedef struct HyBulk HyBulk;

/*
 * hy_bulk_begin: begin a job for a valid task.  The task and the executor outlive it.  Returns
 * HY_NOMEM, HY_UNSUPPORTED when no lane of the plan can take part, or HY_OK.
 */
extern HyStatus
hy_bulk_begin(HyExecutor *executor, const HyTask *task, const HyBulkPlan *plan, HyBulk **bulk);

/*
 * hy_bulk_step: do the work that is possible now; true when the job is over.  Else *wait_ns says
 * for how long another step is useless (0: step at once), and *may_skip whether only virtual time
 * passes meanwhile.
 */
extern bool hy_bulk_step(HyBulk *bulk, uint64_t *wait_ns, bool *may_skip);

extern const HyBulkReport *hy_bulk_report(const HyBulk *bulk);

/* hy_bulk_end: free the job; one that is not over is stopped.  NULL is allowed. */
extern void hy_bulk_end(HyBulk *bulk);

/* hy_bulk_run: run a job from begin to end; waits when there is nothing to do. */
extern HyStatus
hy_bulk_run(HyExecutor *executor, const HyTask *task, const HyBulkPlan *plan, HyBulkReport *report);

#endif
