/*
 * audit.h
 *		Measures how well tasks are routed: a fixed grid of shapes, each decided first and then run
 *		on every side that is able.
 *
 * The audit trains nothing, opens no context and changes no breaker.  It evaluates where the
 * dispatcher would send a task by its knowledge.  The periodic trials of rule 9 are left out, since
 * they lose time on purpose, and within their own limit.
 *
 * A shape too large to run is cut along its targets to a size that fits, and the time is scaled up,
 * since both sides are linear there.  A device with virtual time is not run: its estimate supplies
 * the time.
 */
#ifndef HY_AUDIT_H
#define HY_AUDIT_H

#include "dispatch/dispatcher.h"

#define HY_AUDIT_SHAPES 486
/* a side that takes at most this many times the best time is right as well */
#define HY_AUDIT_TIE 1.05

typedef struct HyAuditLimits
{
	const HyAllocator *allocator;
	const HyCancel *cancel; /* or NULL */
	uint64_t memory;        /* bytes for generated data; 0: 64 MB */
	uint64_t longest_ns;    /* a task expected to take longer is cut; 0: 10 ms */
} HyAuditLimits;

typedef struct HyAuditRow
{
	HyShape shape;
	int32_t taken; /* the device it would go to, 0: the CPU */
	HyReason reason;
	int32_t best;     /* the device that was fastest */
	double cpu_ns;    /* measured, < 0: the CPU is not able */
	double device_ns; /* measured, of the fastest device, < 0: no device is able */
	double predicted_cpu_ns;
	double predicted_device_ns;
	double lost_ns; /* time lost by the route taken, compared with the fastest side */
	bool right;
	bool scaled; /* measured on a part of the shape */
} HyAuditRow;

typedef struct HyAudit
{
	int32_t shapes;    /* shapes of the grid */
	int32_t compared;  /* shapes with more than one side to choose from */
	int32_t untrusted; /* shapes not compared because no device's breaker allows them */
	int32_t right;
	double best_ns; /* sum over compared shapes of the time on the fastest side */
	double lost_ns;
	const char *why; /* why no shape was compared: static text; else NULL */
} HyAudit;

/*
 * hy_audit_grid: store the shapes in *shapes, which has room for HY_AUDIT_SHAPES; returns their
 * number.
 */
extern int32_t hy_audit_grid(HyShape *shapes);

/*
 * hy_audit: run the audit.  *rows has room for HY_AUDIT_SHAPES, and the first audit->compared are
 * filled.  Returns HY_OK, HY_CANCELLED, HY_NOMEM, or the error of the CPU.  A device that fails is
 * left out of the row.
 */
extern HyStatus
hy_audit(HyExecutor *executor, const HyAuditLimits *limits, HyAuditRow *rows, HyAudit *audit);

#endif
