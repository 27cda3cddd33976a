/*
 * bulk_rows.h
 *		The rows of a bulk job that nobody works at.
 *
 * Fresh ones lie between front and back; devices take them from the front, the CPU from the back,
 * until they meet, or as far as a boundary between them.  What comes back lies in ranges: from a
 * lane that stopped, or from a device that failed at it.  They are taken before fresh ones, by the
 * CPU first what failed, by a device last.
 */
#ifndef HY_BULK_ROWS_H
#define HY_BULK_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#define HY_ROW_RANGES 256

typedef struct HyRowRange
{
	int64_t first;
	int64_t count;
	bool failed; /* a device has failed at it */
} HyRowRange;

typedef struct HyRows
{
	int64_t front;
	int64_t back;
	int64_t boundary; /* devices take below it, the CPU above; < 0: there is none */
	int32_t ranges;
	HyRowRange range[HY_ROW_RANGES];
} HyRows;

/* HyRowsFor: who asks, and for what. */
typedef struct HyRowsFor
{
	bool cpu;
	bool fresh;  /* rows that nobody has failed at */
	bool failed; /* those that a device has failed at */
	bool beyond; /* the boundary does not hold: nobody is left on its other side */
} HyRowsFor;

/* hy_rows_left: how many rows hy_rows_take could give at once. */
extern int64_t hy_rows_left(const HyRows *rows, const HyRowsFor *who);

/* hy_rows_take: count of them, from 1 to hy_rows_left. */
extern HyRowRange hy_rows_take(HyRows *rows, const HyRowsFor *who, int64_t count);

/* hy_rows_give_back: rows that somebody has to do again; false: no room to remember them. */
extern bool hy_rows_give_back(HyRows *rows, HyRowRange range);

/* hy_rows_none: whether somebody works, or has worked, at every row. */
static inline bool
hy_rows_none(const HyRows *rows)
{
	return rows->ranges == 0 && rows->front >= rows->back;
}

#endif
