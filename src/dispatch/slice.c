/*
 * slice.c
 *		Cuts a task into slices, and puts their answers together: see slice.h.
 */
#include "dispatch/slice.h"

#include <string.h>

#include "core/topk.h"

#define FEW 16 /* so many are put in one by one */

static void merge(HyNeighbor *whole, int32_t *count, int32_t k, const HyNeighbor *part,
                  int32_t part_count, HyNeighbor *spare);
static int32_t before(const HyNeighbor *sorted, int32_t n, int64_t first, const HyNeighbor *limit);
static bool cut_by_targets(const HyShape *shape);
static HyMatrix rows_of(const HyMatrix *matrix, int64_t first, int64_t count);

void
hy_slicing_init(HySlicing *slicing, const HyTask *task)
{
	HyShape shape = hy_task_shape(task);

	slicing->task = task;
	slicing->by_targets = cut_by_targets(&shape);
	slicing->merges = slicing->by_targets && task->op == HY_OP_TOPK;
	slicing->extent = hy_shape_extent(&shape);
}

void
hy_slicing_begin(const HySlicing *slicing)
{
	const HyTopKTask *topk = &slicing->task->u.topk;

	if (slicing->merges && topk->queries.rows > 0)
		memset(topk->counts, 0, (size_t) topk->queries.rows * sizeof(int32_t));
}

uint64_t
hy_slice_output_bytes(const HySlicing *slicing)
{
	const HyTopKTask *topk = &slicing->task->u.topk;

	if (!slicing->merges)
		return 0;
	return (uint64_t) topk->queries.rows *
	       ((uint64_t) topk->k * sizeof(HyNeighbor) + sizeof(int32_t));
}

HySliceOutput
hy_slice_output_at(const HySlicing *slicing, void *memory)
{
	const HyTopKTask *topk = &slicing->task->u.topk;
	HySliceOutput output = {NULL, NULL};

	if (slicing->merges)
	{
		output.out = memory;
		output.counts = (int32_t *) (output.out + topk->queries.rows * topk->k);
	}
	return output;
}

HyTask
hy_slice(const HySlicing *slicing, int64_t first, int64_t count, const HySliceOutput *output)
{
	HyTask slice = *slicing->task;

	switch (slice.op)
	{
		case HY_OP_DISTANCE:
		{
			HyDistanceTask *d = &slice.u.distance;

			d->out_stride = hy_distance_stride(&slicing->task->u.distance);
			if (slicing->by_targets)
			{
				d->targets = rows_of(&d->targets, first, count);
				d->out += first;
			}
			else
			{
				d->queries = rows_of(&d->queries, first, count);
				d->out += first * d->out_stride;
			}
			break;
		}
		case HY_OP_TOPK:
		{
			HyTopKTask *t = &slice.u.topk;

			if (slicing->by_targets)
			{
				t->targets = rows_of(&t->targets, first, count);
				t->out = output->out;
				t->counts = output->counts;
			}
			else
			{
				t->queries = rows_of(&t->queries, first, count);
				t->out += first * t->k;
				t->counts += first;
				if (t->limits != NULL)
					t->limits += first;
			}
			break;
		}
		case HY_OP_SPREAD:
		{
			HySpreadTask *s = &slice.u.spread;

			s->seeds.sets = (int32_t) count;
			s->seeds.start += first;
			s->activation += first * s->graph->nodes;
			s->hop += first * s->graph->nodes;
			break;
		}
		case HY_OP_ASSIGN:
		{
			HyAssignTask *a = &slice.u.assign;

			a->rows = rows_of(&a->rows, first, count);
			a->nearest += first;
			break;
		}
		case HY_OP_SCORE_CODES:
			break;
	}
	return slice;
}

void
hy_slice_merge(const HySlicing *slicing, int64_t first, const HySliceOutput *output,
               HyNeighbor *spare)
{
	const HyTopKTask *topk = &slicing->task->u.topk;
	int32_t k = topk->k;
	int64_t q;

	if (!slicing->merges)
		return;
	for (q = 0; q < topk->queries.rows; q++)
	{
		HyNeighbor *whole = topk->out + q * k;
		HyNeighbor *part = output->out + q * k;
		int32_t count = output->counts[q];
		int32_t p;

		/* Once the first parts are in, most have little to say: what is not near enough goes. */
		if (topk->counts[q] == k)
			count = before(part, count, first, &whole[k - 1]);
		for (p = 0; p < count; p++)
			part[p].row += first;
		merge(whole, &topk->counts[q], k, part, count, spare);
	}
}

int64_t
hy_shape_extent(const HyShape *shape)
{
	return cut_by_targets(shape) ? shape->targets : shape->queries;
}

HyShape
hy_shape_slice(const HyShape *shape, int64_t count)
{
	HyShape slice = *shape;

	if (cut_by_targets(shape))
		slice.targets = count;
	else
		slice.queries = count;
	return slice;
}

/* merge: folds sorted part into sorted whole, of which k are kept. */
static void
merge(HyNeighbor *whole, int32_t *count, int32_t k, const HyNeighbor *part, int32_t part_count,
      HyNeighbor *spare)
{
	int32_t kept = *count;
	int32_t w;
	int32_t p;
	int32_t n = 0;

	if (part_count <= FEW)
	{
		for (p = 0; p < part_count; p++)
		{
			int32_t from = before(whole, kept, 0, &part[p]);

			if (from == k)
				break;
			if (kept < k)
				kept++;
			memmove(&whole[from + 1], &whole[from], (size_t) (kept - 1 - from) * sizeof(*whole));
			whole[from] = part[p];
		}
		*count = kept;
		return;
	}
	for (w = p = 0; n < k && (w < kept || p < part_count);)
	{
		bool from_part =
			w == kept || (p < part_count && hy_neighbor_compare(&part[p], &whole[w]) < 0);

		spare[n++] = from_part ? part[p++] : whole[w++];
	}
	memcpy(whole, spare, (size_t) n * sizeof(HyNeighbor));
	*count = n;
}

/* before: how many of n sorted neighbours, their rows counted from first, come before limit. */
static int32_t
before(const HyNeighbor *sorted, int32_t n, int64_t first, const HyNeighbor *limit)
{
	int32_t low = 0;

	while (low < n)
	{
		int32_t middle = low + (n - low) / 2;
		HyNeighbor neighbor = {sorted[middle].distance, sorted[middle].row + first};

		if (hy_neighbor_compare(&neighbor, limit) < 0)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

/* cut_by_targets: whether repeating the queries (and answers) costs less than repeating the targets. */
static bool
cut_by_targets(const HyShape *shape)
{
	double query_bytes;
	double target_bytes;

	if (shape->op != HY_OP_DISTANCE && shape->op != HY_OP_TOPK)
		return false;
	if (shape->queries < 2 || shape->targets < 2)
		return shape->queries < 2;
	query_bytes = (double) shape->queries *
	              (4.0 * shape->dims +
	               (shape->op == HY_OP_TOPK ? (double) shape->k * sizeof(HyNeighbor) : 0.0));
	target_bytes =
		(double) shape->targets * (double) shape->dims * (double) hy_dtype_size(shape->dtype);
	return query_bytes <= target_bytes;
}

static HyMatrix
rows_of(const HyMatrix *matrix, int64_t first, int64_t count)
{
	HyMatrix rows = *matrix;

	rows.rows = count;
	if (rows.data != NULL)
		rows.data = (const char *) rows.data + (size_t) first * rows.stride;
	rows.offset += (size_t) first * rows.stride;
	if (rows.norms != NULL)
		rows.norms += first;
	return rows;
}
