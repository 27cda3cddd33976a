/*
 * bulk_rows.c
 *		Keeps the rows of a bulk job that no lane has taken yet: see bulk_rows.h.
 */
#include "dispatch/run/bulk_rows.h"

static int32_t find(const HyRows *rows, const HyRowsFor *who);
static int64_t fresh(const HyRows *rows, const HyRowsFor *who);
static bool boundary_applies(const HyRows *rows, const HyRowsFor *who);

int64_t
hy_rows_left(const HyRows *rows, const HyRowsFor *who)
{
	int32_t i = find(rows, who);

	return i >= 0 ? rows->range[i].count : fresh(rows, who);
}

HyRowRange
hy_rows_take(HyRows *rows, const HyRowsFor *who, int64_t count)
{
	int32_t i = find(rows, who);
	HyRowRange taken = {0, count, false};

	if (i < 0)
	{
		taken.first = who->cpu ? rows->back - count : rows->front;
		if (who->cpu)
			rows->back -= count;
		else
			rows->front += count;
		return taken;
	}
	taken.failed = rows->range[i].failed;
	taken.first = rows->range[i].first;
	rows->range[i].count -= count;
	if (who->cpu)
		taken.first += rows->range[i].count;
	else
		rows->range[i].first += count;
	if (rows->range[i].count == 0)
		rows->range[i] = rows->range[--rows->ranges];
	return taken;
}

bool
hy_rows_give_back(HyRows *rows, HyRowRange back)
{
	int32_t i;

	if (!back.failed && back.first + back.count == rows->front)
	{
		rows->front = back.first;
		return true;
	}
	/* merge with an adjacent range, if both have failed or both have not */
	for (i = 0; i < rows->ranges; i++)
	{
		HyRowRange *range = &rows->range[i];
		bool before = back.first + back.count == range->first;

		if (range->failed != back.failed || (!before && range->first + range->count != back.first))
			continue;
		if (before)
			range->first = back.first;
		range->count += back.count;
		return true;
	}
	if (rows->ranges == HY_ROW_RANGES)
		return false;
	rows->range[rows->ranges++] = back;
	return true;
}

/* find: return the index of the range to take rows from; -1: take rows between front and back. */
static int32_t
find(const HyRows *rows, const HyRowsFor *who)
{
	int pass;
	int32_t i;

	for (pass = 0; pass < 2; pass++)
	{
		bool failed = who->cpu == (pass == 0);

		for (i = 0; i < rows->ranges && (failed ? who->failed : who->fresh); i++)
		{
			const HyRowRange *range = &rows->range[i];

			if (range->failed != failed)
				continue;
			/* the CPU takes returned rows below the boundary only if they failed */
			if (failed || !who->cpu || !boundary_applies(rows, who) ||
			    range->first >= rows->boundary)
				return i;
		}
	}
	return -1;
}

/* fresh: count the rows between front and back that this lane may take. */
static int64_t
fresh(const HyRows *rows, const HyRowsFor *who)
{
	int64_t from = rows->front;
	int64_t to = rows->back;

	if (!who->fresh)
		return 0;
	if (boundary_applies(rows, who))
	{
		if (who->cpu && from < rows->boundary)
			from = rows->boundary;
		if (!who->cpu && to > rows->boundary)
			to = rows->boundary;
	}
	return to > from ? to - from : 0;
}

/* boundary_applies: return whether the boundary applies to this lane. */
static bool
boundary_applies(const HyRows *rows, const HyRowsFor *who)
{
	return rows->boundary >= 0 && !who->beyond;
}
