/*
 * bulk_rows.h
 *		Keeps the rows of a bulk job that no lane has taken yet.
 *
 * Rows that no lane has had yet lie between front and back.  Devices take them from the front and
 * the CPU takes them from the back, until none is left.  If there is a boundary, devices take such
 * rows only before it.  The CPU takes them only after it, unless no device is left.  Rows come back
 * from a lane that stopped, or from a device on which they failed.  Such rows are kept as ranges,
 * which are taken first.  (Rows just before the front that have not failed are added to the front
 * again instead.) The CPU prefers ranges that failed, and a device takes those last.
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
	int64_t boundary; /* devices take only rows below it, the CPU only the others; < 0: none */
	int32_t ranges;
	HyRowRange range[HY_ROW_RANGES];
} HyRows;

/* HyRowsFor: the lane that requests rows, and the rows that it accepts. */
typedef struct HyRowsFor
{
	bool cpu;
	bool fresh;  /* accepts rows that have not failed */
	bool failed; /* accepts rows that failed on a device */
	bool beyond; /* ignores the boundary, because no lane is left for the rows beyond it */
} HyRowsFor;

/* hy_rows_left: return the most rows that one call of hy_rows_take can take. */
extern int64_t hy_rows_left(const HyRows *rows, const HyRowsFor *who);

/* hy_rows_take: take count rows (1 to hy_rows_left) and return their range. */
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
