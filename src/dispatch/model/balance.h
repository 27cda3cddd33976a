/*
 * balance.h
 *		Divides the remaining rows among several lanes so that all lanes end together.
 *
 * A lane is a device or the CPU.  It is free at free_ns, then needs start_ns once and row_ns per
 * row.  The level is the time at which all rows are done if every lane works until then.  A lane
 * that could not start before the level gets no rows.  (The method is known as water-filling in
 * bandwidth allocation.)
 */
#ifndef HY_BALANCE_H
#define HY_BALANCE_H

#include <stdint.h>

typedef struct HyBalanceLane
{
	double free_ns;  /* end of the lane's current work, relative to any common origin */
	double start_ns; /* >= 0; fixed cost of a piece */
	double row_ns;   /* > 0 */
} HyBalanceLane;

/* hy_balance_level: compute the level for this many rows (> 0) and lanes (1 .. 64). */
extern double hy_balance_level(const HyBalanceLane *lane, int lanes, double rows);

/*
 * hy_balance_rows: compute the number of rows that a lane completes by the level; 0 if the lane
 * would start only after the level.
 */
extern double hy_balance_rows(const HyBalanceLane *lane, double level);

#endif
