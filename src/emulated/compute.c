/*
 * compute.c
 *		The operations of the emulated device, computed on the host with core: the canonical bits.
 */
#include "emulated/device.h"

#include <string.h>

#include "core/distance.h"
#include "core/filter.h"
#include "core/spread.h"

HyStatus
emulated_compute(const HyDevice *device, const HyTask *task, bool exact)
{
	const HyDistanceTask *d = &task->u.distance;
	const HyTopKTask *t = &task->u.topk;
	const HySpreadTask *s = &task->u.spread;
	bool distance = task->op == HY_OP_DISTANCE;
	HyMatrix queries;
	HyMatrix targets;
	HyStatus st;

	if (task->op == HY_OP_SPREAD)
		return hy_spread(s->graph, s->gain, &s->params, &s->seeds, task->allocator, task->cancel,
		                 s->activation, s->hop);
	if (task->op == HY_OP_ASSIGN)
		return hy_assign(&task->u.assign.rows, &task->u.assign.centroids, &task->u.assign.groups,
		                 task->allocator, task->u.assign.nearest, task->cancel);
	if (task->op == HY_OP_SCORE_CODES)
		return hy_score(&task->u.score.rows, &task->u.score.queries, task->u.score.k,
		                task->u.score.out, task->u.score.counts, task->cancel);
	if (!distance && task->op != HY_OP_TOPK)
		return HY_UNSUPPORTED;
	st = emulated_on_host(device, distance ? &d->queries : &t->queries, &queries);
	if (st == HY_OK)
		st = emulated_on_host(device, distance ? &d->targets : &t->targets, &targets);
	if (st != HY_OK)
		return st;
	if (distance)
		return hy_distance_window(d->metric, &queries, &targets, d->out, hy_distance_stride(d),
		                          task->cancel);
	/* as the CPU would: what is played in no time should not take the host ten times as long */
	return hy_nearest_search(t->metric, &queries, &targets, t->k, t->limits,
	                         exact ? NULL : task->allocator, t->out, t->counts, task->cancel);
}

void
emulated_scribble(const HyTask *task)
{
	HyShape shape = hy_task_shape(task);
	size_t items;
	int64_t q;

	switch (task->op)
	{
		case HY_OP_DISTANCE:
			for (q = 0; q < shape.queries; q++)
				memset(task->u.distance.out + q * hy_distance_stride(&task->u.distance), 0xcc,
				       (size_t) (shape.targets + 1) / 2 * sizeof(double));
			break;
		case HY_OP_TOPK:
			if (shape.queries > 0)
			{
				memset(task->u.topk.out, 0xcc,
				       (size_t) shape.queries * (size_t) shape.k * sizeof(HyNeighbor));
				memset(task->u.topk.counts, 0xcc, (size_t) shape.queries * sizeof(int32_t));
			}
			break;
		case HY_OP_SPREAD:
			items = (size_t) task->u.spread.graph->nodes * (size_t) task->u.spread.seeds.sets;
			if (items > 0)
			{
				memset(task->u.spread.activation, 0xcc, items * sizeof(double));
				memset(task->u.spread.hop, 0xcc, items * sizeof(int32_t));
			}
			break;
		case HY_OP_ASSIGN:
			if (shape.queries > 0)
				memset(task->u.assign.nearest, 0xcc, (size_t) shape.queries * sizeof(int32_t));
			break;
		case HY_OP_SCORE_CODES:
			if (shape.queries > 0)
			{
				memset(task->u.score.out, 0xcc,
				       (size_t) shape.queries * (size_t) shape.k * sizeof(HyNeighbor));
				memset(task->u.score.counts, 0xcc, (size_t) shape.queries * sizeof(int32_t));
			}
			break;
	}
}
