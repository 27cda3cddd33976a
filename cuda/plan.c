/*
 * plan.c
 *		Divides a task into pieces that fit the scratch memory and the work limit.
 */
#include "cuda/plan.h"

#define MIB ((uint64_t) 1024 * 1024)

/*
 * Smallest size of each part of the scratch.  A query or a row with the most dims (64,000 bytes)
 * fits.
 */
#define SMALLEST ((uint64_t) 64 * 1024)

/*
 * Largest sizes of the parts.  At 4 MiB, the start cost of a transfer is negligible.  The part for
 * rows is larger because several threads pack the rows (copy.c), and waking the threads takes about
 * as long as packing 4 MiB.  For each open device, a process pins at most LARGEST_ROWS and
 * LARGEST_RESULTS for each of two slots, and LARGEST_QUERIES once (hy_cuda_pinned_bytes).
 */
#define LARGEST_ROWS (16 * MIB)
#define LARGEST_RESULTS (4 * MIB)
#define LARGEST_QUERIES (4 * MIB)

#define SHORTEST_ROW 64 /* fewest elements that hy_cuda_work counts for a row */

/*
 * Initial, lowest and highest work limit, in pairs of elements (hy_cuda_work). 2^26 pairs take 0.1
 * ms on a large device and about 3 ms on a very small one.
 */
#define FIRST_PACE ((uint64_t) 1 << 26)
#define SLOWEST_PACE ((uint64_t) 1 << 18)
#define FASTEST_PACE ((uint64_t) 1 << 40)

static int64_t least(int64_t a, int64_t b);

bool
hy_cuda_scratch_plan(uint64_t budget, HyCudaScratch *scratch)
{
	scratch->up = LARGEST_ROWS;
	scratch->down = LARGEST_RESULTS;
	scratch->best = scratch->down;
	scratch->queries = LARGEST_QUERIES;
	while (scratch->up > scratch->down && hy_cuda_scratch_bytes(scratch) > budget / 2)
		scratch->up /= 2;
	while (scratch->queries > SMALLEST && hy_cuda_scratch_bytes(scratch) > budget / 2)
	{
		scratch->up /= 2;
		scratch->down /= 2;
		scratch->best = scratch->down;
		scratch->queries /= 2;
	}
	while (scratch->up > SMALLEST && hy_cuda_scratch_bytes(scratch) > budget / 2)
	{
		scratch->up /= 2;
		scratch->down /= 2;
		scratch->best = scratch->down;
	}
	return hy_cuda_scratch_bytes(scratch) <= budget;
}

uint64_t
hy_cuda_scratch_bytes(const HyCudaScratch *scratch)
{
	return HY_CUDA_SLOTS * (scratch->up + scratch->down) + scratch->queries + scratch->best +
	       (uint64_t) HY_CUDA_MAX_QUERIES * sizeof(float);
}

uint64_t
hy_cuda_pinned_bytes(const HyCudaScratch *scratch)
{
	return HY_CUDA_SLOTS * (scratch->up + scratch->down) + scratch->queries;
}

int32_t
hy_cuda_query_group(const HyCudaWork *work, const HyCudaScratch *scratch)
{
	int64_t group = least(work->queries, HY_CUDA_MAX_QUERIES);

	group = least(group, (int64_t) (scratch->queries / ((uint64_t) work->dims * sizeof(float) +
	                                                    (uint64_t) work->query_up)));
	group =
		least(group, (int64_t) (scratch->down / (uint64_t) (work->query_down + work->pair_down)));
	return (int32_t) group;
}

bool
hy_cuda_next_chunk(const HyCudaWork *work, const HyCudaScratch *scratch, const HyCudaPace *pace,
                   HyCudaChunk *chunk)
{
	int32_t group = hy_cuda_query_group(work, scratch);
	int64_t rows;

	if (work->queries == 0 || work->rows == 0)
		return false;
	if (chunk->query_count == 0)
	{
		chunk->first_query = 0;
		chunk->first_row = 0;
	}
	else if (chunk->first_row + chunk->row_count < work->rows)
		chunk->first_row += chunk->row_count;
	else
	{
		chunk->first_query += chunk->query_count;
		chunk->first_row = 0;
		if (chunk->first_query >= work->queries)
			return false;
	}
	chunk->query_count = (int32_t) least(group, work->queries - chunk->first_query);

	rows = work->rows - chunk->first_row;
	if (!work->resident)
	{
		/* row_up bytes per row follow the rows, aligned to row_up */
		uint64_t room = scratch->up - (uint64_t) work->row_up;

		rows = least(rows, (int64_t) (room / ((uint64_t) work->dims * (uint64_t) work->element +
		                                      (uint64_t) work->row_up)));
	}
	if (work->pair_down > 0)
		rows = least(rows, (int64_t) ((scratch->down / (uint64_t) chunk->query_count -
		                               (uint64_t) work->query_down) /
		                              (uint64_t) work->pair_down));
	rows = least(rows, (int64_t) (pace->work / hy_cuda_work(work->dims, chunk->query_count, 1)));
	chunk->row_count = rows < 1 ? 1 : rows;
	return true;
}

uint64_t
hy_cuda_work(int32_t dims, int64_t queries, int64_t rows)
{
	return (uint64_t) queries * (uint64_t) rows *
	       (uint64_t) (dims > SHORTEST_ROW ? dims : SHORTEST_ROW);
}

void
hy_cuda_pace_init(HyCudaPace *pace)
{
	pace->work = FIRST_PACE;
}

void
hy_cuda_pace_adjust(HyCudaPace *pace, uint64_t work, double microseconds)
{
	/*
	 * The work limit is doubled if a piece takes less than 1/5 of HY_CUDA_KERNEL_US, so pieces then
	 * take less than 2/5.  It is halved only above 3/5, so it does not oscillate.
	 */
	if (microseconds > HY_CUDA_KERNEL_US * 0.6)
	{
		if (pace->work > SLOWEST_PACE)
			pace->work /= 2;
	}
	else if (microseconds < HY_CUDA_KERNEL_US * 0.2 && work >= pace->work / 2)
	{
		if (pace->work < FASTEST_PACE)
			pace->work *= 2;
	}
}

static int64_t
least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}
