/*
 * bulk_rows.h
 *		The rows of a bulk job that no lane has taken.
 *
 * Fresh rows lie between front and back.  Devices take rows from the front and the CPU takes rows
 * from the back, until no fresh rows are left.  If there is a boundary, each side stops there.
 * Rows come back from a lane that stopped, or from a device on which they failed.  Such rows are
 * kept as ranges, which are taken before fresh rows.  The CPU takes failed ranges first, and a
 * device takes them last.
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
	bool failed; /* the rows have failed on a device */
} HyRowRange;

typedef struct HyRows
{
	int64_t front;
	int64_t back;
	int64_t boundary; /* devices take only rows below it, and the CPU takes the others; < 0: none */
	int32_t ranges;
	HyRowRange range[HY_ROW_RANGES];
} HyRows;

/* HyRowsFor: the lane that requests rows, and the rows that it accepts. */
typedef struct HyRowsFor
{
	bool cpu;
	bool fresh;  /* accepts rows that have not failed yet */
	bool failed; /* accepts rows that failed on a device */
	bool beyond; /* ignores the boundary, since no lane is left on the other side */
} HyRowsFor;

/* hy_rows_left: return how many rows one call of hy_rows_take can take. */
extern int64_t hy_rows_left(const HyRows *rows, const HyRowsFor *who);

/* hy_rows_take: take count rows, from 1 to hy_rows_left. */
extern HyRowRange hy_rows_take(HyRows *rows, const HyRowsFor *who, int64_t count);

/*
 * hy_rows_give_back: return rows that must be done again.  Returns false when the array of ranges
 * is full.
 */
extern bool hy_rows_give_back(HyRows *rows, HyRowRange range);

/* hy_rows_none: return whether every row was taken. */
static inline bool
hy_rows_none(const HyRows *rows)
{
	return rows->ranges == 0 && rows->front >= rows->back;
}

#endif
