/*
 * balance.h
 *		How many of the remaining rows each of several lanes should take so that all end together.
 *
 * A lane is free at some time, and needs start_ns once and row_ns per row.  The level is the time
 * at which all rows are done when each lane works until then.  A lane that could not start before
 * the level gets nothing.  (This is the water-filling of bandwidth allocation.)
 */
#ifndef HY_BALANCE_H
#define HY_BALANCE_H

#include <stdint.h>

typedef struct HyBalanceLane
{
	double free_ns;  /* end of its current work, from any origin */
	double start_ns; /* >= 0; cost of a piece of any size */
	double row_ns;   /* > 0 */
} HyBalanceLane;

/* hy_balance_level: the time at which all rows (> 0) are done if the lanes (>= 1) end together. */
extern double hy_balance_level(const HyBalanceLane *lane, int lanes, double rows);

/* hy_balance_rows: rows that a lane completes by then; 0 when it would not start. */
extern double hy_balance_rows(const HyBalanceLane *lane, double level);

#endif
