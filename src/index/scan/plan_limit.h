/*
 * plan_limit.h
 *		Find how many rows the plan requests from a scan, and which plan node requests them.
 *
 * PostgreSQL does not tell an access method the LIMIT above a scan. The LIMIT matters, because a search
 * for the 10 nearest rows differs from a search for 1,000. Nor does PostgreSQL pass on conditions that
 * the access method does not support. An ExecutorStart hook therefore examines each plan.
 */
#ifndef HYBRID_INDEX_PLAN_LIMIT_H
#define HYBRID_INDEX_PLAN_LIMIT_H

#include "postgres.h"

#include "access/genam.h"
#include "nodes/execnodes.h"

/* hybrid_plan_limit_init: install the executor hook. Called from _PG_init. */
extern void hybrid_plan_limit_init(void);

/* HybridPlanLimit: the plan node that a scan serves, and the number of rows that the plan requests. */
typedef struct HybridPlanLimit
{
	ScanState *node; /* an index scan or an index-only scan; NULL if unknown */
	bool conditions; /* the node has index conditions */
	int64 limit;     /* number of rows wanted: OFFSET plus LIMIT; -1 if unknown */
	bool all;        /* there is no LIMIT, or LIMIT NULL: the plan presumably reads all rows */
} HybridPlanLimit;

/*
 * hybrid_plan_limit_of: return what the plan requests from a scan. Called when the executor requests the
 * first row.
 */
extern HybridPlanLimit hybrid_plan_limit_of(IndexScanDesc scan);

#endif
