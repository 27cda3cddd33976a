/*
 * bulk.h
 *		Runs one large task in pieces, on several devices and the CPU at once.
 *
 * Running a task in pieces is called a job.  The task is divided by its queries or by its targets
 * (slice.h), which are called the rows of the job.  The rows are distributed over lanes, piece by
 * piece.  Each device has a lane, which takes pieces from the front and may have several in flight.
 * The CPU's lane takes pieces from the back, until no rows are left in between.  The size of a
 * piece follows from the predicted speed of its lane, so that all lanes end together (balance.h).
 * The time of each completed piece corrects that prediction.  The size is also limited by the
 * device's memory and by the time that a failure may cost.
 *
 * A failure costs only the piece that failed.  The device gets no more pieces, the CPU (or another
 * device, see HyBulkPlan.rescue) redoes the piece, and the other lanes do the rest.  After an
 * out-of-memory failure, the lane gets smaller or fewer pieces instead.  A lost context is reopened
 * once.
 *
 * A job is a state machine.  A step does the work that is possible now, and returns how long to
 * wait before the next step.  So one thread can drive several jobs.
 */
#ifndef HY_BULK_H
#define HY_BULK_H

#include "dispatch/route/config.h"

/* HyBulkPlan: the participants of a job. */
typedef struct HyBulkPlan
{
	uint32_t devices; /* bit d: device number d of the executor takes part */
	bool with_cpu;    /* the CPU takes part from the beginning */
	/* the CPU redoes pieces that failed on a device; otherwise the other devices redo them */
	bool rescue;
	/*
	 * percentage of the rows for the devices (the CPU gets the rest); < 0: divided by predicted
	 * speed
	 */
	int32_t percent;
} HyBulkPlan;

/* HyBulkReport: the outcome of a job. */
typedef struct HyBulkReport
{
	HyStatus status;              /* status of the whole job */
	bool begun;                   /* false: no memory for the job, or no participant */
	HyStatus first;               /* status of the first piece that failed, or HY_OK */
	HyFailure failure;            /* failure of that piece, or of the piece that ended the job */
	bool fallback;                /* the CPU redid work that had failed on a device */
	bool virtual_time;            /* an emulated device took part */
	int32_t pieces;               /* pieces that succeeded */
	int32_t stolen;               /* pieces that the CPU took back from a late device */
	int64_t rows[HY_MAX_DEVICES]; /* rows done by each device; entry 0 is the CPU */
	uint64_t started_ns;
	uint64_t finished_ns;
	uint64_t cpu_ns;  /* computing time of the CPU */
	uint64_t join_ns; /* time spent merging the answers of pieces */
} HyBulkReport;

typedef struct HyBulk HyBulk;

/*
 * hy_bulk_begin: begin a job for a valid task.  The task and the executor must outlive the job.
 * Returns HY_OK, HY_NOMEM, or HY_UNSUPPORTED when no lane of the plan can take part.
 */
extern HyStatus
hy_bulk_begin(HyExecutor *executor, const HyTask *task, const HyBulkPlan *plan, HyBulk **bulk);

/*
 * hy_bulk_step: do the work that is possible now; return true when the job is over.  Otherwise,
 * *wait_ns is how long to wait before the next step (0: do not wait).  *may_skip is true if the
 * wait is for virtual time only, so that the clock can be advanced instead.
 */
extern bool hy_bulk_step(HyBulk *bulk, uint64_t *wait_ns, bool *may_skip);

extern const HyBulkReport *hy_bulk_report(const HyBulk *bulk);

/* hy_bulk_end: stop the job if it is not over, and free it.  NULL is allowed. */
extern void hy_bulk_end(HyBulk *bulk);

/* hy_bulk_run: begin a job, step until it is over, with the waits in between, and end it. */
extern HyStatus
hy_bulk_run(HyExecutor *executor, const HyTask *task, const HyBulkPlan *plan, HyBulkReport *report);

#endif
