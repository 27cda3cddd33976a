/*
 * backend.c
 *		Computes the shape of a task and its number of items, and checks whether the task is valid.
 *
 * This file is linked into hybrid.so and into every plug-in, so both check a task in the same way.
 */
#include "dispatch/backend.h"

#include <stddef.h>

static bool matrix_makes_sense(const HyMatrix *matrix);
static int64_t centroids_met(const HyAssignTask *assign);
static bool pair_makes_sense(HyMetric metric, const HyMatrix *queries, const HyMatrix *targets);
static bool spread_makes_sense(const HySpreadTask *task);
static bool seeds_make_sense(const HySpreadSeeds *seeds, int64_t nodes);

static const char *const op_names[HY_OP_COUNT] = {"distance", "topk", "assign", "score_codes",
                                                  "spread"};

const char *
hy_op_name(HyOp op)
{
	if ((int) op < 0 || (int) op >= HY_OP_COUNT)
		return "unknown";
	return op_names[op];
}

HyShape
hy_task_shape(const HyTask *task)
{
	HyShape shape = {.op = task->op, .dtype = HY_F32, .metric = HY_METRIC_L2};
	const HyMatrix *queries = NULL;
	const HyMatrix *targets = NULL;

	switch (task->op)
	{
		case HY_OP_DISTANCE:
			shape.metric = task->u.distance.metric;
			queries = &task->u.distance.queries;
			targets = &task->u.distance.targets;
			break;
		case HY_OP_TOPK:
			shape.metric = task->u.topk.metric;
			shape.k = task->u.topk.k;
			queries = &task->u.topk.queries;
			targets = &task->u.topk.targets;
			break;
		case HY_OP_SPREAD:
			shape.queries = task->u.spread.seeds.sets;
			shape.targets = task->u.spread.graph != NULL ? task->u.spread.graph->edges : 0;
			shape.resident = task->u.spread.buffer != NULL;
			break;
		case HY_OP_ASSIGN:
			shape.dims = task->u.assign.rows.dims;
			shape.queries = task->u.assign.rows.rows;
			shape.targets = centroids_met(&task->u.assign);
			shape.resident = task->u.assign.rows.buffer != NULL;
			break;
		case HY_OP_SCORE_CODES:
			shape.dims = task->u.score.rows.padded;
			shape.queries = task->u.score.queries.count;
			shape.targets = hy_score_rows(&task->u.score.rows);
			shape.k = task->u.score.k;
			break;
	}
	if (targets != NULL)
	{
		shape.dtype = targets->dtype;
		shape.dims = targets->dims;
		shape.queries = queries->rows;
		shape.targets = targets->rows;
		shape.resident = targets->buffer != NULL;
	}
	return shape;
}

int64_t
hy_shape_items(const HyShape *shape)
{
	int64_t items;

	if (shape->queries <= 0 || shape->targets <= 0)
		return 0;
	if (__builtin_mul_overflow(shape->queries, shape->targets, &items))
		return INT64_MAX;
	return items;
}

HyStatus
hy_task_check(const HyTask *task)
{
	bool sane = true;

	if ((int) task->op < 0 || (int) task->op >= HY_OP_COUNT ||
	    (task->numeric_class != HY_CLASS_EXACT && task->numeric_class != HY_CLASS_FILTER))
		return HY_INVALID;
	switch (task->op)
	{
		case HY_OP_DISTANCE:
		{
			const HyDistanceTask *d = &task->u.distance;

			sane = pair_makes_sense(d->metric, &d->queries, &d->targets) &&
			       (d->out != NULL || d->queries.rows == 0 || d->targets.rows == 0) &&
			       (d->out_stride == 0 || d->out_stride >= d->targets.rows);
			break;
		}
		case HY_OP_TOPK:
		{
			const HyTopKTask *t = &task->u.topk;

			sane = pair_makes_sense(t->metric, &t->queries, &t->targets) && t->k >= 1 &&
			       (t->queries.rows == 0 || (t->out != NULL && t->counts != NULL));
			break;
		}
		case HY_OP_SPREAD:
			sane = spread_makes_sense(&task->u.spread);
			break;
		case HY_OP_ASSIGN:
		{
			const HyAssignTask *a = &task->u.assign;

			sane = hy_assign_check(&a->rows, &a->centroids, &a->groups) == HY_OK &&
			       (a->nearest != NULL || a->rows.rows == 0);
			break;
		}
		case HY_OP_SCORE_CODES:
		{
			const HyScoreTask *s = &task->u.score;

			sane = hy_score_check(&s->rows, &s->queries, s->k) == HY_OK &&
			       (s->queries.count == 0 || (s->out != NULL && s->counts != NULL));
			break;
		}
	}
	return sane ? HY_OK : HY_INVALID;
}

/*
 * centroids_met: return the number of vectors that each row is compared with.  These are all group
 * centers, plus the centroids in the `probes` groups that the row examines, on average.  Without
 * groups, or if the row examines all groups, they are all centroids.
 */
static int64_t
centroids_met(const HyAssignTask *assign)
{
	int64_t groups = assign->groups.centers.rows;
	int64_t probes = assign->groups.probes;

	if (groups <= probes)
		return assign->centroids.rows;
	return groups + (int64_t) ((double) assign->centroids.rows * (double) probes / (double) groups);
}

static bool
matrix_makes_sense(const HyMatrix *matrix)
{
	if ((int) matrix->dtype < 0 || (int) matrix->dtype >= HY_DTYPE_COUNT)
		return false;
	if (matrix->dims < 1 || matrix->dims > HY_MAX_DIMS || matrix->rows < 0)
		return false;
	if (matrix->stride < (size_t) matrix->dims * hy_dtype_size(matrix->dtype))
		return false;
	return matrix->rows == 0 || matrix->data != NULL || matrix->buffer != NULL;
}

static bool
pair_makes_sense(HyMetric metric, const HyMatrix *queries, const HyMatrix *targets)
{
	if ((int) metric < 0 || (int) metric >= HY_METRIC_COUNT)
		return false;
	if (!matrix_makes_sense(queries) || !matrix_makes_sense(targets))
		return false;
	if (queries->buffer != NULL || (queries->rows > 0 && queries->data == NULL))
		return false;
	return queries->dtype == HY_F32 && queries->dims == targets->dims;
}

static bool
spread_makes_sense(const HySpreadTask *task)
{
	const HySpreadParams *p = &task->params;

	if (task->graph == NULL || task->graph->nodes < 0 || task->graph->edges < 0)
		return false;
	/* The conditions are written so that a NaN fails each of them. */
	if (!(p->decay >= 0 && p->decay <= 1) || !(p->fan == 0 || p->fan == 0.5 || p->fan == 1) ||
	    !(p->threshold >= 0) || p->hops < -1 || p->refire < 0 ||
	    (p->combine != HY_COMBINE_SUM && p->combine != HY_COMBINE_MAX))
		return false;
	if (p->hops == -1 && !(p->tolerance > 0))
		return false;
	if (task->graph->nodes > 0 && task->graph->out_weight == NULL && task->buffer == NULL)
		return false;
	if (task->buffer != NULL && task->packed == NULL)
		return false;
	if (p->hub != NULL && task->packed != NULL && !task->packed->hub)
		return false;
	if (task->packed != NULL &&
	    (task->packed->nodes != task->graph->nodes || task->packed->edges != task->graph->edges))
		return false;
	if (task->graph->nodes > 0 && task->seeds.sets > 0 &&
	    (task->activation == NULL || task->hop == NULL))
		return false;
	return seeds_make_sense(&task->seeds, task->graph->nodes);
}

static bool
seeds_make_sense(const HySpreadSeeds *seeds, int64_t nodes)
{
	int64_t count;
	int64_t i;
	int32_t s;

	if (seeds->sets < 0)
		return false;
	if (seeds->sets == 0)
		return true;
	if (seeds->start == NULL || seeds->start[0] < 0)
		return false;
	for (s = 0; s < seeds->sets; s++)
	{
		if (seeds->start[s] > seeds->start[s + 1])
			return false;
	}
	count = seeds->start[seeds->sets];
	if (count > seeds->start[0] && (seeds->node == NULL || seeds->value == NULL))
		return false;
	for (i = seeds->start[0]; i < count; i++)
	{
		if ((int64_t) seeds->node[i] >= nodes)
			return false;
	}
	return true;
}
