/*
 * csr.c
 *		A graph in compressed sparse rows: see csr.h.
 */
#include "core/csr.h"

#include <math.h>
#include <string.h>

#define SUM_LANES 32

void
hy_csr_free(HyCsr *csr, const HyAllocator *allocator)
{
	hy_free(allocator, csr->ids);
	hy_free(allocator, csr->row_start);
	hy_free(allocator, csr->column);
	hy_free(allocator, csr->weight);
	hy_free(allocator, csr->out_weight);
	hy_free(allocator, csr->out_start);
	hy_free(allocator, csr->out_row);
	memset(csr, 0, sizeof(*csr));
}

void
hy_origins_free(HyOrigins *origins, const HyAllocator *allocator)
{
	hy_free(allocator, origins->entry);
	hy_free(allocator, origins->parallel);
	memset(origins, 0, sizeof(*origins));
}

int64_t
hy_csr_first(const HyCsr *csr, int64_t id)
{
	int64_t low = 0;
	int64_t high = csr->nodes;

	while (low < high)
	{
		int64_t middle = low + (high - low) / 2;

		if (csr->ids[middle] < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int64_t
hy_csr_find(const HyCsr *csr, int64_t id)
{
	int64_t node = hy_csr_first(csr, id);

	return node < csr->nodes && csr->ids[node] == id ? node : -1;
}

int64_t
hy_csr_first_number(const uint32_t *number, int64_t begin, int64_t end, int64_t least)
{
	while (begin < end)
	{
		int64_t middle = begin + (end - begin) / 2;

		if (number[middle] < least)
			begin = middle + 1;
		else
			end = middle;
	}
	return begin;
}

int64_t
hy_csr_entry(const HyCsr *csr, int64_t row, int64_t column)
{
	return hy_csr_first_number(csr->column, csr->row_start[row], csr->row_start[row + 1], column);
}

double
hy_csr_sum(const float *weight, int64_t count)
{
	double lane[SUM_LANES] = {0};
	int64_t live = count < SUM_LANES ? count : SUM_LANES;
	int64_t p;
	int64_t h;
	int64_t l;

	for (p = 0; p < count; p++)
		lane[p % SUM_LANES] += weight[p];
	/* the fold skips empty lanes, because adding 0 changes nothing */
	for (h = SUM_LANES / 2; h > 0; h /= 2)
	{
		for (l = 0; l + h < live; l++)
			lane[l] += lane[l + h];
		live = live < h ? live : h;
	}
	return lane[0];
}

bool
hy_csr_merge(HyMerge merge, const HyParallel *edge, int64_t count, float *weight)
{
	double sum = 0;
	int64_t i;

	for (i = 0; i < count; i++)
		sum += edge[i].weight;
	/* adding 0 turns -0 into 0, as the sum that starts from 0 does */
	*weight = merge == HY_MERGE_LEAST ? edge->weight + 0.0F : (float) sum;
	return !isinf(*weight);
}
