/*
 * balance.h
 *		How much of what is left each of several lanes should take, for all of them to end together.
 *
 * A lane is free at some time and needs start_ns once and row_ns a row.  The level is the time at
 * which all rows are done when each lane works until then; a lane that could not even start before
 * it gets nothing.  (The water-filling of bandwidth allocation.)
 */
#ifndef HY_BALANCE_H
#define HY_BALANCE_H

#include <stdint.h>

typedef struct HyBalanceLane
{
	double free_ns;  /* when it has ended what it has, from any origin */
	double start_ns; /* >= 0; what a piece costs however small */
	double row_ns;   /* > 0 */
} HyBalanceLane;

/* hy_balance_level: when rows > 0 rows are done by lanes >= 1 lanes that end together. */
extern double hy_balance_level(const HyBalanceLane *lane, int lanes, double rows);

/* hy_balance_rows: what a lane does until then; 0 when it would not start. */
extern double hy_balance_rows(const HyBalanceLane *lane, double level);

#endif
