/*
 * compute.c
 *		Computes the operations of the emulated device on the host with src/core, so that results
 *		equal the CPU's bit for bit.
 */
#include "emulated/device.h"

#include <string.h>

#include "core/distance.h"
#include "core/prefilter.h"
#include "core/spread.h"

static HyStatus assign(const HyDevice *device, const HyTask *task);
static HyStatus spread(const HyDevice *device, const HyTask *task);
static HyStatus unpack(const HyBuffer *buffer, const HyPackedGraph *packed, HyCsr *graph);

HyStatus
emulated_compute(const HyDevice *device, const HyTask *task, bool exact)
{
	const HyDistanceTask *d = &task->u.distance;
	const HyTopKTask *t = &task->u.topk;
	bool distance = task->op == HY_OP_DISTANCE;
	HyMatrix queries;
	HyMatrix targets;
	HyNearest nearest;
	HyStatus st;

	if (task->op == HY_OP_SPREAD)
		return spread(device, task);
	if (task->op == HY_OP_ASSIGN)
		return assign(device, task);
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
	/*
	 * Use the CPU's prefilter unless `exact` is set. Without the prefilter, the host may take ten
	 * times as long.
	 */
	nearest = (HyNearest){t->metric, t->k, &queries, &targets, t->limits, t->out, t->counts};
	return hy_nearest_search(&nearest, exact ? NULL : task->allocator, task->cancel);
}

/* assign: assign rows to centroids.  The rows may be in a buffer. */
static HyStatus
assign(const HyDevice *device, const HyTask *task)
{
	const HyAssignTask *a = &task->u.assign;
	HyMatrix rows;
	HyStatus st = emulated_on_host(device, &a->rows, &rows);

	if (st != HY_OK)
		return st;
	return hy_assign(&rows, &a->centroids, &a->groups, task->allocator, a->nearest, task->cancel);
}

/*
 * spread: spread activation over the graph in the task's buffer, or over the host's graph if there
 * is no buffer.
 */
static HyStatus
spread(const HyDevice *device, const HyTask *task)
{
	const HySpreadTask *s = &task->u.spread;
	const HyPackedGraph *packed = s->packed;
	HyCsr graph = {.nodes = s->graph->nodes, .edges = s->graph->edges};
	HySpreadParams params = s->params;
	HyStatus st;

	if (s->buffer == NULL)
		return hy_spread(s->graph, &s->params, &s->seeds, task->allocator, task->cancel,
		                 &(HySpreadResult){s->activation, s->hop, s->sent});
	if (s->buffer->device != device || !hy_packed_graph_valid(packed, s->buffer->bytes))
		return HY_INVALID;
	graph.row_start =
		hy_alloc_array(task->allocator, (size_t) graph.nodes + 1, sizeof(*graph.row_start));
	if (graph.row_start == NULL)
		return HY_NOMEM;
	st = unpack(s->buffer, packed, &graph);
	if (params.hub != NULL)
		params.hub = (const double *) (const void *) (s->buffer->data +
		                                              packed->layout.offset[HY_PACKED_HUB]);
	if (st == HY_OK)
		st = hy_spread(&graph, &params, &s->seeds, task->allocator, task->cancel,
		               &(HySpreadResult){s->activation, s->hop, s->sent});
	hy_free(task->allocator, graph.row_start);
	return st;
}

/*
 * unpack: make a graph from the packed graph in the buffer. Row starts are the running sums of the
 * packed row counts.
 */
static HyStatus
unpack(const HyBuffer *buffer, const HyPackedGraph *packed, HyCsr *graph)
{
	const HyPackedRow *row =
		(const HyPackedRow *) (const void *) (buffer->data + packed->layout.offset[HY_PACKED_ROWS]);
	int64_t rows = packed->rows[0] + packed->rows[1] + packed->rows[2];
	int64_t i;

	graph->column = (uint32_t *) (void *) (buffer->data + packed->layout.offset[HY_PACKED_COLUMN]);
	graph->weight = (float *) (void *) (buffer->data + packed->layout.offset[HY_PACKED_WEIGHT]);
	graph->out_weight =
		(double *) (void *) (buffer->data + packed->layout.offset[HY_PACKED_OUT_WEIGHT]);
	memset(graph->row_start, 0, ((size_t) graph->nodes + 1) * sizeof(*graph->row_start));
	for (i = 0; i < rows; i++)
	{
		if ((int64_t) row[i].row >= graph->nodes)
			return HY_INVALID;
		graph->row_start[row[i].row + 1] = row[i].count;
	}
	/* the buffer may contain anything, so check every number that is used as an index */
	for (i = 0; i < graph->nodes; i++)
	{
		if ((int64_t) graph->row_start[i] + graph->row_start[i + 1] > graph->edges)
			return HY_INVALID;
		graph->row_start[i + 1] += graph->row_start[i];
	}
	if (graph->row_start[graph->nodes] != graph->edges)
		return HY_INVALID;
	for (i = 0; i < graph->edges; i++)
	{
		if ((int64_t) graph->column[i] >= graph->nodes)
			return HY_INVALID;
	}
	return HY_OK;
}

void
emulated_fill_with_garbage(const HyTask *task)
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
				if (task->u.spread.sent != NULL)
					memset(task->u.spread.sent, 0xcc, items * sizeof(double));
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
