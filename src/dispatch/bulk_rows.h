/*
 * bulk_rows.h
 *		The rows of a bulk job that no lane has taken.
 *
 * Fresh rows lie between front and back.  Devices take them from the front and the CPU from the
 * back, until the two meet or, if there is a boundary, up to the boundary.  Returned rows are kept
 * as ranges: from a lane that stopped, or from a device that failed at them.  Ranges are taken
 * before fresh rows.  The CPU takes failed ranges first, and a device takes them last.
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
	int64_t boundary; /* devices take rows below it, the CPU above; < 0: no boundary */
	int32_t ranges;
	HyRowRange range[HY_ROW_RANGES];
} HyRows;

/* HyRowsFor: who requests rows, and which rows it accepts. */
typedef struct HyRowsFor
{
	bool cpu;
	bool fresh;  /* rows without a failure */
	bool failed; /* rows that a device has failed at */
	bool beyond; /* ignore the boundary, since no lane is left on its other side */
} HyRowsFor;

/* hy_rows_left: how many rows one call of hy_rows_take could return. */
extern int64_t hy_rows_left(const HyRows *rows, const HyRowsFor *who);

/* hy_rows_take: take count rows, from 1 to hy_rows_left. */
extern HyRowRange hy_rows_take(HyRows *rows, const HyRowsFor *who, int64_t count);

/* hy_rows_give_back: return rows that have to be done again; false: no room for the range. */
extern bool hy_rows_give_back(HyRows *rows, HyRowRange range);

/* hy_rows_none: whether every row was taken. */
static inline bool
hy_rows_none(const HyRows *rows)
{
	return rows->ranges == 0 && rows->front >= rows->back;
}

#endif
