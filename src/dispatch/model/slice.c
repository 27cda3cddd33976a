/*
 * slice.c
 *		Cuts a task into slices, and merges their answers: see slice.h.
 */
#include "dispatch/model/slice.h"

#include <string.h>

#include "core/topk.h"

#define FEW 16 /* up to this many results are inserted one by one */

/* Answers: the answers of a task that keeps the k best of each query. */
typedef struct Answers
{
	int64_t queries;
	int32_t k;
	HyNeighbor *out;
	int32_t *counts;
	bool numbered; /* rows of a slice keep their numbers in the whole task */
} Answers;

static Answers answers_of(const HyTask *task);
static void
slice_distance(const HySlicing *slicing, int64_t first, int64_t count, HyDistanceTask *d);
static void slice_topk(const HySlicing *slicing, int64_t first, int64_t count,
                       const HySliceOutput *output, HyTopKTask *t);
static void slice_score(const HySlicing *slicing, int64_t first, int64_t count,
                        const HySliceOutput *output, HyScoreTask *s);
static void slice_codes(HyScoreTask *score, int64_t first, int64_t count);
static void merge(HyNeighbor *whole, int32_t *count, int32_t k, const HyNeighbor *part,
                  int32_t part_count, HyNeighbor *spare);
static int32_t before(const HyNeighbor *sorted, int32_t n, int64_t first, const HyNeighbor *limit);
static bool cut_by_targets(const HyShape *shape);
static HyMatrix rows_of(const HyMatrix *matrix, int64_t first, int64_t count);

void
hy_slicing_init(HySlicing *slicing, const HyTask *task)
{
	slicing->task = task;
	slicing->shape = hy_task_shape(task);
	slicing->by_targets = cut_by_targets(&slicing->shape);
	slicing->merges = slicing->by_targets && hy_op_has_k(slicing->shape.op);
	slicing->extent = hy_shape_extent(&slicing->shape);
}

void
hy_slicing_begin(const HySlicing *slicing)
{
	Answers whole = answers_of(slicing->task);

	if (slicing->merges && whole.queries > 0)
		memset(whole.counts, 0, (size_t) whole.queries * sizeof(int32_t));
}

uint64_t
hy_slice_output_bytes(const HySlicing *slicing)
{
	Answers whole = answers_of(slicing->task);

	if (!slicing->merges)
		return 0;
	return (uint64_t) whole.queries * ((uint64_t) whole.k * sizeof(HyNeighbor) + sizeof(int32_t));
}

HySliceOutput
hy_slice_output_at(const HySlicing *slicing, void *memory)
{
	Answers whole = answers_of(slicing->task);
	HySliceOutput output = {NULL, NULL};

	if (slicing->merges)
	{
		output.out = memory;
		output.counts = (int32_t *) (output.out + whole.queries * whole.k);
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
			slice_distance(slicing, first, count, &slice.u.distance);
			break;
		case HY_OP_TOPK:
			slice_topk(slicing, first, count, output, &slice.u.topk);
			break;
		case HY_OP_SPREAD:
		{
			HySpreadTask *s = &slice.u.spread;

			s->seeds.sets = (int32_t) count;
			s->seeds.start += first;
			s->activation += first * s->graph->nodes;
			s->hop += first * s->graph->nodes;
			if (s->sent != NULL)
				s->sent += first * s->graph->nodes;
			if (s->reached != NULL)
				s->reached += first * hy_spread_words(s->graph->nodes);
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
			slice_score(slicing, first, count, output, &slice.u.score);
			break;
	}
	return slice;
}

void
hy_slice_merge(const HySlicing *slicing, int64_t first, const HySliceOutput *output,
               HyNeighbor *spare)
{
	Answers answers = answers_of(slicing->task);
	int32_t k = answers.k;
	int64_t q;

	if (!slicing->merges)
		return;
	if (answers.numbered)
		first = 0;
	for (q = 0; q < answers.queries; q++)
	{
		HyNeighbor *whole = answers.out + q * k;
		HyNeighbor *part = output->out + q * k;
		int32_t count = output->counts[q];
		int32_t p;

		/* drop results that are not among the k best; after the first slices, most are not */
		if (answers.counts[q] == k)
			count = before(part, count, first, &whole[k - 1]);
		for (p = 0; p < count; p++)
			part[p].row += first;
		merge(whole, &answers.counts[q], k, part, count, spare);
	}
}

int64_t
hy_shape_extent(const HyShape *shape)
{
	if (!cut_by_targets(shape))
		return shape->queries;
	return shape->op == HY_OP_SCORE_CODES ? (shape->targets + HY_CODE_ROWS - 1) / HY_CODE_ROWS
	                                      : shape->targets;
}

HyShape
hy_shape_slice(const HyShape *shape, int64_t count)
{
	HyShape slice = *shape;

	if (!cut_by_targets(shape))
		slice.queries = count;
	else if (shape->op != HY_OP_SCORE_CODES)
		slice.targets = count;
	else if (count <= shape->targets / HY_CODE_ROWS)
		slice.targets = count * HY_CODE_ROWS;
	return slice;
}

static Answers
answers_of(const HyTask *task)
{
	const HyTopKTask *t = &task->u.topk;
	const HyScoreTask *s = &task->u.score;

	if (task->op == HY_OP_SCORE_CODES)
		return (Answers){s->queries.count, s->k, s->out, s->counts, true};
	if (task->op == HY_OP_TOPK)
		return (Answers){t->queries.rows, t->k, t->out, t->counts, false};
	return (Answers){.queries = 0};
}

static void
slice_distance(const HySlicing *slicing, int64_t first, int64_t count, HyDistanceTask *d)
{
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
}

static void
slice_topk(const HySlicing *slicing, int64_t first, int64_t count, const HySliceOutput *output,
           HyTopKTask *t)
{
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
}

static void
slice_score(const HySlicing *slicing, int64_t first, int64_t count, const HySliceOutput *output,
            HyScoreTask *s)
{
	if (slicing->by_targets)
	{
		slice_codes(s, first, count);
		s->out = output->out;
		s->counts = output->counts;
	}
	else
	{
		s->queries.count = (int32_t) count;
		s->queries.query += first;
		if (s->queries.reach != NULL)
			s->queries.reach += first * s->queries.reach_stride;
		s->out += first * s->k;
		s->counts += first;
	}
}

/* slice_codes: restrict the task to count blocks, and to the lists that contain them. */
static void
slice_codes(HyScoreTask *score, int64_t first, int64_t count)
{
	HyScoreRows *rows = &score->rows;

	rows->first += (int32_t) first;
	rows->blocks = (int32_t) count;
	while (rows->lists > 1 && rows->begin[1] <= rows->first)
	{
		rows->begin++;
		rows->lists--;
		score->queries.reach++;
	}
	while (rows->lists > 1 && rows->begin[rows->lists - 1] >= rows->first + rows->blocks)
		rows->lists--;
}

/* merge: merge the sorted part into the sorted whole, and keep the k best. */
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

/*
 * before: count how many of n sorted neighbors precede `limit` once `first` is added to their row
 * numbers.
 */
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

/*
 * cut_by_targets: return whether to cut by targets.  Each slice then repeats the queries and
 * answers, so this pays if they have no more bytes than the targets.  Assign and spread are never
 * cut by targets.
 */
static bool
cut_by_targets(const HyShape *shape)
{
	double query_bytes;
	double target_bytes;

	if (shape->op != HY_OP_DISTANCE && !hy_op_has_k(shape->op))
		return false;
	if (shape->queries < 2 || shape->targets < 2)
		return shape->queries < 2;
	if (shape->op == HY_OP_SCORE_CODES && shape->targets <= HY_CODE_ROWS)
		return false;
	query_bytes = (double) shape->queries *
	              (4.0 * shape->dims +
	               (hy_op_has_k(shape->op) ? (double) shape->k * sizeof(HyNeighbor) : 0.0));
	target_bytes =
		(double) shape->targets * (double) shape->dims * (double) hy_dtype_size(shape->dtype);
	if (shape->op == HY_OP_SCORE_CODES)
		target_bytes = (double) shape->targets * (shape->dims / 8.0 + sizeof(HyCode));
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
