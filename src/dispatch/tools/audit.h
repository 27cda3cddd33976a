/*
 * audit.h
 *		Measures how well tasks are routed.  For each shape of a fixed grid, the dispatcher
 *		decides between the CPU and the devices; then the shape is run on each of them that can
 *		run it.
 *
 * The audit records no history, opens no context and changes no breaker.  It evaluates the choice
 * that the dispatcher would make from its history.  The periodic trials of rule 9 (decide.c) are
 * left out, because they lose time on purpose and have their own limit.
 *
 * If a shape is too large to run, fewer targets are used and the time is scaled up.  This assumes
 * that the time is linear in the targets.  A device with virtual time runs nothing: its estimate
 * supplies the time.
 */
#ifndef HY_AUDIT_H
#define HY_AUDIT_H

#include "dispatch/run/dispatcher.h"

#define HY_AUDIT_SHAPES 486
/* a choice counts as right if it takes at most this many times the best time */
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
	int32_t taken; /* the device that the dispatcher would choose; 0: the CPU */
	HyReason reason;
	int32_t best;     /* the device that was fastest; 0: the CPU */
	double cpu_ns;    /* measured; < 0: the CPU cannot run the task */
	double device_ns; /* measured on the fastest device; < 0: no device can run the task */
	double predicted_cpu_ns;
	double predicted_device_ns;
	double lost_ns; /* time lost by the choice, compared with the best time */
	bool right;
	bool scaled; /* measured with fewer targets and scaled up */
} HyAuditRow;

typedef struct HyAudit
{
	int32_t shapes;    /* shapes of the grid */
	int32_t compared;  /* shapes that the CPU and a device can run */
	int32_t untrusted; /* shapes not compared because no device's breaker allows them */
	int32_t right;
	double best_ns; /* total of the best times of the compared shapes */
	double lost_ns;
	const char *why; /* why no shape was compared, as static text; else NULL */
} HyAudit;

/*
 * hy_audit_grid: store the shapes of the grid in *shapes, an array of HY_AUDIT_SHAPES entries.
 * Returns their number.
 */
extern int32_t hy_audit_grid(HyShape *shapes);

/*
 * hy_audit: run the audit.  *rows is an array of HY_AUDIT_SHAPES entries, of which the first
 * audit->compared are filled. Returns HY_OK, HY_CANCELLED, HY_NOMEM, or the error of the CPU.  If a
 * device fails on a shape, it is left out of the row.
 */
extern HyStatus
hy_audit(HyExecutor *executor, const HyAuditLimits *limits, HyAuditRow *rows, HyAudit *audit);

#endif
