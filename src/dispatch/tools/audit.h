/*
 * audit.h
 *		Measures how well tasks are routed.  For each shape of a fixed grid, the dispatcher first
 *		decides on a side; then the shape is run on every side that can run it.
 *
 * The audit records no history, opens no context and changes no breaker.  It evaluates the side
 * that the dispatcher would choose by its history.  The periodic trials of rule 9 are left out,
 * because they lose time on purpose and have their own limit.
 *
 * If a shape is too large to run, fewer targets are used and the time is scaled up, since the time
 * is linear in the targets on both sides.  A device with virtual time is not run: its estimate
 * supplies the time.
 */
#ifndef HY_AUDIT_H
#define HY_AUDIT_H

#include "dispatch/run/dispatcher.h"

#define HY_AUDIT_SHAPES 486
/* a side also counts as right if it takes at most this many times the best time */
#define HY_AUDIT_TIE 1.05

typedef struct HyAuditLimits
{
	const HyAllocator *allocator;
	const HyCancel *cancel; /* NULL: not cancelable */
	uint64_t memory;        /* bytes for generated data; 0: 64 MB */
	uint64_t longest_ns;    /* tasks with a longer expected time are cut; 0: 10 ms */
} HyAuditLimits;

typedef struct HyAuditRow
{
	HyShape shape;
	int32_t taken; /* the device that the task would go to, 0: the CPU */
	HyReason reason;
	int32_t best;     /* the device that was fastest */
	double cpu_ns;    /* measured; < 0: the CPU cannot run the task */
	double device_ns; /* measured on the fastest device; < 0: no device can run the task */
	double predicted_cpu_ns;
	double predicted_device_ns;
	double lost_ns; /* time lost by the side taken, compared with the fastest side */
	bool right;
	bool scaled; /* measured on a part of the shape and scaled up */
} HyAuditRow;

typedef struct HyAudit
{
	int32_t shapes;    /* shapes of the grid */
	int32_t compared;  /* shapes that more than one side can run */
	int32_t untrusted; /* shapes not compared because no device's breaker allows them */
	int32_t right;
	double best_ns; /* total time of the compared shapes, each on its fastest side */
	double lost_ns;
	const char *why; /* reason why no shape was compared: static text; else NULL */
} HyAudit;

/*
 * hy_audit_grid: store the shapes of the grid in *shapes, an array of HY_AUDIT_SHAPES entries.
 * Returns their number.
 */
extern int32_t hy_audit_grid(HyShape *shapes);

/*
 * hy_audit: run the audit.  *rows is an array of HY_AUDIT_SHAPES entries, of which the first
 * audit->compared are filled.  Returns HY_OK, HY_CANCELLED, HY_NOMEM, or the error of the CPU.  If
 * a device fails, the row omits this device.
 */
extern HyStatus
hy_audit(HyExecutor *executor, const HyAuditLimits *limits, HyAuditRow *rows, HyAudit *audit);

#endif
