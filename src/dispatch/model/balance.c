/*
 * balance.c
 *		Computes the rows that each lane gets: see balance.h.
 */
#include "dispatch/model/balance.h"

double
hy_balance_level(const HyBalanceLane *lane, int lanes, double rows)
{
	uint64_t taken = 0;
	double speed = 0;  /* total rows per ns of the lanes that take part */
	double offset = 0; /* rows that these lanes lose because they start after time 0 */
	double level = 0;

	/*
	 * Add lanes in the order of their start times.  Each added lane lowers the level, but never
	 * below its own start time.  So the level also stays above the start times of the lanes added
	 * before.
	 */
	for (;;)
	{
		double next_from = 0;
		int next = -1;
		int i;

		for (i = 0; i < lanes; i++)
		{
			double from = lane[i].free_ns + lane[i].start_ns;

			if (!(taken >> i & 1) && (next < 0 || from < next_from))
			{
				next = i;
				next_from = from;
			}
		}
		if (next < 0 || (taken != 0 && next_from >= level))
			return level;
		taken |= UINT64_C(1) << next;
		speed += 1 / lane[next].row_ns;
		offset += next_from / lane[next].row_ns;
		level = (rows + offset) / speed;
	}
}

double
hy_balance_rows(const HyBalanceLane *lane, double level)
{
	double rows = (level - lane->free_ns - lane->start_ns) / lane->row_ns;

	return rows > 0 ? rows : 0;
}
