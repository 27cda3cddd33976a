/*
 * audit.h
 *		How well tasks are routed: a fixed grid of shapes, each decided first and then run on every
 *		side that can have it.
 *
 * The audit trains nothing, opens no context and changes no breaker.  What is judged is where
 * the dispatcher would send a task by what it knows: rule 9 (exploration now and then) is left out,
 * since that loses on purpose, and within its own bound.
 *
 * A shape too large to be run is cut along its targets to what fits, and the time scaled up: both
 * sides are linear there.  A device with made-up time is not run: it says what it would take.
 */
#ifndef HY_AUDIT_H
#define HY_AUDIT_H

#include "dispatch/dispatcher.h"

#define HY_AUDIT_SHAPES 486
#define HY_AUDIT_TIE 1.05 /* a side that takes at most so many times the best is right as well */

typedef struct HyAuditLimits
{
	const HyAllocator *allocator;
	const HyCancel *cancel; /* or NULL */
	uint64_t memory;        /* bytes for made-up data; 0: 64 MB */
	uint64_t longest_ns;    /* a task expected to take longer is cut; 0: 10 ms */
} HyAuditLimits;

typedef struct HyAuditRow
{
	HyShape shape;
	int32_t taken; /* the device it would go to, 0: the CPU */
	HyReason reason;
	int32_t best;     /* the device that was fastest */
	double cpu_ns;    /* measured, < 0: it cannot */
	double device_ns; /* measured, of the fastest device, < 0: none can */
	double predicted_cpu_ns;
	double predicted_device_ns;
	double lost_ns; /* by the route taken, against the fastest */
	bool right;
	bool scaled; /* measured on a part of it */
} HyAuditRow;

typedef struct HyAudit
{
	int32_t shapes;    /* of the grid */
	int32_t compared;  /* those with more than one side to choose from */
	int32_t untrusted; /* those not compared since no device's breaker lets them go there */
	int32_t right;
	double best_ns; /* of those compared, each on its fastest side */
	double lost_ns;
	const char *why; /* nothing was compared: static text; else NULL */
} HyAudit;

/* hy_audit_grid: the shapes; *shapes has room for HY_AUDIT_SHAPES.  How many there are. */
extern int32_t hy_audit_grid(HyShape *shapes);

/*
 * hy_audit: *rows has room for HY_AUDIT_SHAPES, those compared are filled.  HY_OK, HY_CANCELLED,
 * HY_NOMEM, or what the CPU failed with; a device that fails is left out of the row.
 */
extern HyStatus
hy_audit(HyExecutor *executor, const HyAuditLimits *limits, HyAuditRow *rows, HyAudit *audit);

#endif
