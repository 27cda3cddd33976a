/*
 * assign_groups.c
 *		Assignment to many centroids: a row is compared only with its nearest groups.
 *
 * Assigning 20,000 rows of 128 dims to 4,096 centroids takes 447 ms without groups.  With 64
 * groups, 8 of them examined per row, it takes 134 ms and gives the same result.
 */
#include <math.h>
#include <string.h>

#include "core/assign_state.h"
#include "core/topk.h"

static void
value_centers(Assignment *assignment, int64_t chunk, int first, int count, int32_t block, int n);
static void choose_groups(Assignment *assignment, int64_t chunk, int32_t row, const float *low,
                          const float *high);

/*
 * Choose the groups of each row.  Then compare the centroids of each group with the rows that chose
 * this group.
 */
HyStatus
hy_assign_compare_groups(Assignment *assignment, int64_t chunk, int count)
{
	const HyGroups *groups = assignment->groups;
	int32_t number = (int32_t) groups->centers.rows;
	int32_t probes = assignment->probes;
	int32_t block;
	int32_t g;
	int i;
	HyStatus status = HY_OK;

	for (i = 0; i < count; i += ROWS)
	{
		int rows = count - i < ROWS ? count - i : ROWS;
		int r;

		/* Normally all centers fit in one block. */
		for (block = 0; block < number; block += assignment->block)
		{
			int n = number - block < assignment->block ? number - block : assignment->block;

			if (i == 0 || number > assignment->block)
				hy_assign_targets(assignment, &groups->centers, block, n);
			value_centers(assignment, chunk, i, rows, block, n);
		}
		for (r = 0; r < rows; r++)
			choose_groups(assignment, chunk, i + r,
			              assignment->center_low + (size_t) r * (size_t) number,
			              assignment->center_high + (size_t) r * (size_t) number);
		if (hy_assign_poll(assignment, (int64_t) number * ROWS))
			return HY_CANCELLED;
	}

	memset(assignment->begin, 0, ((size_t) number + 3) * sizeof(int32_t));
	for (i = 0; i < count * probes; i++)
		assignment->begin[assignment->met[i] + 2]++;
	for (g = 0; g < number; g++)
		assignment->begin[g + 2] += assignment->begin[g + 1];
	for (i = 0; i < count * probes; i++)
		assignment->members[assignment->begin[assignment->met[i] + 1]++] = i / probes;
	for (g = 0; g < number && status == HY_OK; g++)
		status = hy_assign_compare(assignment, chunk, assignment->members + assignment->begin[g],
		                           assignment->begin[g + 1] - assignment->begin[g],
		                           groups->begin[g], groups->begin[g + 1]);
	return status;
}

/*
 * value_centers: for each of `count` rows of the chunk, compute bounds of the values of the block's
 * centers.
 */
static void
value_centers(Assignment *assignment, int64_t chunk, int first, int count, int32_t block, int n)
{
	size_t number = (size_t) assignment->groups->centers.rows;
	int dims = assignment->rows->dims;
	float dots[HY_ASSIGN_DOTS];
	int t;
	int r;
	int j;

	hy_assign_rows(assignment, chunk, assignment->all + first, count);
	for (t = 0; t < n; t += PAIR)
	{
		int there = n - t < PAIR ? n - t : PAIR;

		assignment->tiles->dots(assignment->moved, count,
		                        assignment->panels + (size_t) t * (size_t) dims,
		                        (there + TARGETS - 1) / TARGETS, dims, dots);
		for (r = 0; r < count; r++)
		{
			float length = sqrtf(assignment->states[first + r].square) * 1.00001f;
			float *low = assignment->center_low + (size_t) r * number + block + t;
			float *high = assignment->center_high + (size_t) r * number + block + t;
			const float *half = assignment->half + t;

			for (j = 0; j < there; j++)
			{
				float dot = dots[(j / TARGETS * ROWS + r) * TARGETS + j % TARGETS];
				float value = dot - half[j];
				float reached =
					assignment->reach[t + j] * length + half[j] * (float) (2 * assignment->error);

				low[j] = value - reached - half[j] * (float) (3 * assignment->error);
				high[j] = value + reached;
			}
		}
	}
}

/*
 * choose_groups: choose the groups whose centers are nearest to a row.  Canonical distances are
 * computed only if the bounds do not decide.  If fewer than `probes` centers have a distance that
 * is not NaN, the remaining entries are set to the number of groups.  No group has that number, so
 * these entries are never examined.
 */
static void
choose_groups(Assignment *assignment, int64_t chunk, int32_t row, const float *low,
              const float *high)
{
	const HyMatrix *centers = &assignment->groups->centers;
	int32_t number = (int32_t) centers->rows;
	int32_t probes = assignment->probes;
	int32_t *met = assignment->met + (size_t) row * (size_t) probes;
	float best[HY_ASSIGN_PROBES];
	RowState bar = assignment->states[row];
	HyNeighbor items[HY_ASSIGN_PROBES];
	HyTopK nearest;
	int32_t count = 0;
	int32_t g;
	int i;

	for (i = 0; i < probes; i++)
		best[i] = -INFINITY;
	if (hy_assign_is_bounded(&bar))
	{
		for (g = 0; g < number; g++)
		{
			if (!(low[g] > best[probes - 1]))
				continue;
			for (i = probes - 1; i > 0 && best[i - 1] < low[g]; i--)
				best[i] = best[i - 1];
			best[i] = low[g];
		}
		if (best[probes - 1] > -INFINITY)
			hy_assign_raise_best(assignment, &bar, best[probes - 1]);
	}
	for (g = 0; g < number; g++)
	{
		if (high[g] < bar.threshold)
			continue;
		if (count < probes)
			met[count] = g;
		count++;
	}
	if (count == probes)
		return;

	hy_topk_init(&nearest, items, probes);
	for (g = 0; g < number; g++)
	{
		if (!(high[g] < bar.threshold))
			hy_topk_push(&nearest, hy_assign_distance(assignment->rows, chunk + row, centers, g),
			             g);
	}
	for (i = 0; i < probes; i++)
		met[i] = i < nearest.count ? (int32_t) items[i].row : number;
}
