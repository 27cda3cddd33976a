/*
 * plan_limit.h
 *		Find how many rows a scan will be asked for, and by which plan node.
 *
 * An access method is not told of the LIMIT above its scan. The LIMIT matters, because a search for the
 * 10 nearest rows differs from one for 1,000. Nor is the access method told of conditions that it does
 * not support. Plans are therefore examined when they start.
 */
#ifndef HYBRID_INDEX_PLAN_LIMIT_H
#define HYBRID_INDEX_PLAN_LIMIT_H

#include "postgres.h"

#include "access/genam.h"
#include "nodes/execnodes.h"

/* hybrid_plan_limit_init: install the executor hook. Called from _PG_init. */
extern void hybrid_plan_limit_init(void);

/* HybridPlanLimit: what the plan around a scan needs from it. */
typedef struct HybridPlanLimit
{
	IndexScanState *node; /* plan node of the scan; NULL: not known */
	int64 limit;          /* number of rows wanted; -1: not known */
	bool all; /* the plan reads all rows, as far as can be seen: no Limit node is above */
} HybridPlanLimit;

/* hybrid_plan_limit_of: return the record of a scan that is asked for its first row. */
extern HybridPlanLimit hybrid_plan_limit_of(IndexScanDesc scan);

#endif
