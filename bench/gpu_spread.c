/*
 * gpu_spread.c
 *		The part of gpubench that spreads activation over random graphs.
 *
 * The graph is resident.  The time of a hop is still the difference of two tasks, one of which has no
 * hop, because the answers of a million nodes come down in either case.  There are so many hops that
 * the variation of the copies does not matter.
 */
#include "gpu.h"

#include <stdio.h>
#include <stdlib.h>

static void hops(int64_t nodes, int32_t entries, int32_t sets, int32_t count, GpuAsked asked);
static HyCsr *random_graph(int64_t nodes, int32_t entries);
static int by_number(const void *a, const void *b);

void
gpu_spread(void)
{
	int64_t nodes = gpu_size(1000000, 500);
	int32_t sets = (int32_t) gpu_size(64, 16);

	/* one that no cache holds, and one of the size of a dictionary's */
	hops(nodes, 16, 1, (int32_t) gpu_size(1000, 10), GPU_AT_LEAST(0.35));
	hops(nodes, 16, sets, (int32_t) gpu_size(100, 5), GPU_AT_LEAST(0.5));
	hops(gpu_size(120000, 300), 3, 1, (int32_t) gpu_size(1000, 10), GPU_NOTHING);
	hops(gpu_size(120000, 300), 3, sets, (int32_t) gpu_size(200, 5), GPU_NOTHING);
}

HyTask
gpu_spread_task(int64_t nodes, int32_t entries, int32_t sets, int32_t hop_count)
{
	HyTask task = {.op = HY_OP_SPREAD, .allocator = &hy_malloc_allocator};
	HySpreadTask *s = &task.u.spread;
	HyCsr *graph = random_graph(nodes, entries);
	double *value = gpu_room((size_t) sets, sizeof(double));
	uint32_t *node = gpu_room((size_t) sets, sizeof(uint32_t));
	int64_t *start = gpu_room((size_t) sets + 1, sizeof(int64_t));
	int32_t i;

	for (i = 0; i <= sets; i++)
		start[i] = i;
	for (i = 0; i < sets; i++)
	{
		node[i] = (uint32_t) (((int64_t) i * 7919) % nodes);
		value[i] = 1;
	}
	s->graph = graph;
	s->params = (HySpreadParams){.decay = 0.85, .fan = 1, .hops = hop_count, .tolerance = 1e-9};
	s->seeds = (HySpreadSeeds){sets, start, node, value};
	s->activation = gpu_room((size_t) nodes * (size_t) sets, sizeof(double));
	s->hop = gpu_room((size_t) nodes * (size_t) sets, sizeof(int32_t));
	return task;
}

void
gpu_spread_free(HyTask *task)
{
	HySpreadTask *s = &task->u.spread;
	HyCsr *graph = (HyCsr *) (uintptr_t) s->graph;

	free(graph->row_start);
	free(graph->column);
	free(graph->weight);
	free(graph->out_weight);
	free(graph);
	free((void *) (uintptr_t) s->seeds.start);
	free((void *) (uintptr_t) s->seeds.node);
	free((void *) (uintptr_t) s->seeds.value);
	free(s->activation);
	free(s->hop);
}

void
gpu_spread_reside(HyTask *task)
{
	HySpreadTask *s = &task->u.spread;
	HyPackedGraph *packed = gpu_room(1, sizeof(*packed));
	int i;

	if (hy_packed_graph_make(s->graph, false, &hy_malloc_allocator, NULL, packed) != HY_OK ||
	    gpu.cuda->buf_alloc(gpu.device, packed->layout.bytes, &s->buffer) != HY_OK)
		gpu_give_up("a resident graph");
	for (i = 0; i < HY_PACKED_PARTS; i++)
	{
		const uint64_t edges = (uint64_t) packed->edges;
		const uint64_t rows = (uint64_t) (packed->rows[0] + packed->rows[1] + packed->rows[2]);
		const struct
		{
			const void *data;
			uint64_t bytes;
		} part[HY_PACKED_PARTS] = {
			{s->graph->column, edges * sizeof(uint32_t)},
			{s->graph->weight, edges * sizeof(float)},
			{s->graph->out_weight, (uint64_t) packed->nodes * sizeof(double)},
			{NULL, 0},
			{packed->row, rows * sizeof(HyPackedRow)}};

		if (gpu.cuda->upload(gpu.device, s->buffer, packed->layout.offset[i], part[i].data,
		                     part[i].bytes) != HY_OK)
			gpu_give_up("a resident graph");
	}
	s->packed = packed;
}

void
gpu_spread_leave(HyTask *task)
{
	HySpreadTask *s = &task->u.spread;
	HyPackedGraph *packed = (HyPackedGraph *) (uintptr_t) s->packed;

	gpu.cuda->buf_free(gpu.device, s->buffer);
	hy_packed_graph_free(packed, &hy_malloc_allocator);
	free(packed);
	s->packed = NULL;
	s->buffer = NULL;
}

/*
 * hops: beside what must move in a hop, however good the cache: for eight sets, which is as many as any
 * group has, the entries once, the list of rows, and what nodes have in common; for every node and set
 * its charge, out and in again, once however many entries ask for it, and what it has, to and fro.
 * What narrower groups read more often, charges that are gathered from memory more than once, and hops,
 * which a node is given once in all, do not count.
 */
static void
hops(int64_t nodes, int32_t entries, int32_t sets, int32_t count, GpuAsked asked)
{
	HyTask task = gpu_spread_task(nodes, entries, sets, 0);
	double edges = (double) nodes * entries;
	double bytes =
		(sets + 7) / 8 * (edges * 8 + (double) nodes * 20) + (double) nodes * sets * (8 + 8 + 16);
	char name[96];
	double without;
	double with;
	double hop;

	snprintf(name, sizeof(name), "spread_%lldx%.0f_%d", (long long) nodes, edges, (int) sets);
	gpu_spread_reside(&task);
	without = gpu_task_us(&task);
	task.u.spread.params.hops = count;
	with = gpu_task_us(&task);
	hop = (with - without) / count;
	gpu_print(gpu_name("%s_no_hop", name), without, "us");
	gpu_print_beside(gpu_name("%s_hop", name), hop, "us", GPU_NOTHING, "of %d hops", (int) count);
	gpu_print_beside(gpu_name("%s_hop_share_of_read_bandwidth", name), bytes / hop / gpu.read,
	                 "ratio", asked, "%.6g GB/s that must move; of %.6g GB/s that a kernel reads",
	                 bytes / hop / 1000, gpu.read / 1000);
	task.u.spread.params.hops = 10;
	with = gpu_task_us(&task);
	gpu_print(gpu_name("%s_10_hops_resident", name), with, "us");
	gpu_print_cpu(gpu_name("%s_10_hops_resident", name), &task, with, GPU_NOTHING);
	gpu_spread_leave(&task);
	gpu_print(gpu_name("%s_10_hops_host", name), gpu_task_us(&task), "us");
	gpu_spread_free(&task);
}

/* random_graph: of so many entries a node, from anywhere. */
static HyCsr *
random_graph(int64_t nodes, int32_t entries)
{
	HyCsr *graph = gpu_room(1, sizeof(HyCsr));
	uint64_t state = 1;
	int64_t i;

	graph->nodes = nodes;
	graph->edges = nodes * entries;
	graph->row_start = gpu_room((size_t) nodes + 1, sizeof(uint32_t));
	graph->column = gpu_room((size_t) graph->edges, sizeof(uint32_t));
	graph->weight = gpu_room((size_t) graph->edges, sizeof(float));
	graph->out_weight = gpu_room((size_t) nodes, sizeof(double));
	for (i = 0; i <= nodes; i++)
		graph->row_start[i] = (uint32_t) (i * entries);
	for (i = 0; i < graph->edges; i++)
	{
		state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		graph->column[i] = (uint32_t) ((state >> 33) % (uint64_t) nodes);
		graph->weight[i] = (float) (1 + i % 7) / 8;
	}
	/* by source, as rows have them */
	for (i = 0; i < nodes; i++)
		qsort(graph->column + i * entries, (size_t) entries, sizeof(uint32_t), by_number);
	for (i = 0; i < graph->edges; i++)
		graph->out_weight[graph->column[i]] += (double) graph->weight[i];
	return graph;
}

static int
by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *) a;
	uint32_t y = *(const uint32_t *) b;

	return (x > y) - (x < y);
}
