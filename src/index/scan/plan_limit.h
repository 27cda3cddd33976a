/*
 * plan_limit.h
 *		How many rows a scan will be asked for, and by which node of a plan.
 *
 * An access method is not told of the LIMIT above its scan, and it matters: the search for the 10
 * nearest rows is another than that for 1,000.  Nor is it told of conditions that it does not serve.
 * So plans are looked at when they start.
 */
#ifndef HYBRID_INDEX_PLAN_LIMIT_H
#define HYBRID_INDEX_PLAN_LIMIT_H

#include "postgres.h"

#include "access/genam.h"
#include "nodes/execnodes.h"

/* hybrid_plan_limit_init: from _PG_init. */
extern void hybrid_plan_limit_init(void);

/* HybridPlanLimit: what the plan around a scan asks of it. */
typedef struct HybridPlanLimit
{
	IndexScanState *node; /* NULL: none that is known */
	int64 limit;          /* rows that are wanted, or -1: not known */
	bool
		all; /* nothing in the plan ends before it has all rows, as far as it can be seen: no LIMIT is above */
} HybridPlanLimit;

/* hybrid_plan_limit_of: of a scan that is asked for its first row. */
extern HybridPlanLimit hybrid_plan_limit_of(IndexScanDesc scan);

#endif
