/*
 * gpu_spread.c
 *		The part of gpubench that spreads activation over random graphs.
 *
 * A graph does not stay on the device from one task to the next.  What a hop takes over one that is up
 * is therefore the difference of two tasks, one of which has no hop; hops are so many that what the
 * copies vary by does not count.
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
	double *gain = gpu_room((size_t) nodes, sizeof(double));
	double *value = gpu_room((size_t) sets, sizeof(double));
	uint32_t *node = gpu_room((size_t) sets, sizeof(uint32_t));
	int64_t *start = gpu_room((size_t) sets + 1, sizeof(int64_t));
	int32_t i;

	hy_spread_gain(graph, 0.85, 1, gain);
	for (i = 0; i <= sets; i++)
		start[i] = i;
	for (i = 0; i < sets; i++)
	{
		node[i] = (uint32_t) (((int64_t) i * 7919) % nodes);
		value[i] = 1;
	}
	s->graph = graph;
	s->gain = gain;
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
	free((void *) (uintptr_t) s->gain);
	free((void *) (uintptr_t) s->seeds.start);
	free((void *) (uintptr_t) s->seeds.node);
	free((void *) (uintptr_t) s->seeds.value);
	free(s->activation);
	free(s->hop);
}

/*
 * hops: what must move in a hop, for each group of eight sets: the graph; and of every node and set,
 * its charge to and fro, what it has, and its hop.
 */
static void
hops(int64_t nodes, int32_t entries, int32_t sets, int32_t count, GpuAsked asked)
{
	HyTask task = gpu_spread_task(nodes, entries, sets, 0);
	double edges = (double) nodes * entries;
	double bytes = (sets + 7) / 8 * (edges * 8 + (double) nodes * 20) +
	               (double) nodes * sets * (8 + 8 + 16 + 4);
	char name[96];
	double without;
	double with;
	double hop;

	snprintf(name, sizeof(name), "spread_%lldx%.0f_%d", (long long) nodes, edges, (int) sets);
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
	gpu_print(gpu_name("%s_10_hops", name), with, "us");
	gpu_print_cpu(gpu_name("%s_10_hops", name), &task, with, GPU_NOTHING);
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
	graph->row_start = gpu_room((size_t) nodes + 1, sizeof(int64_t));
	graph->column = gpu_room((size_t) graph->edges, sizeof(uint32_t));
	graph->weight = gpu_room((size_t) graph->edges, sizeof(float));
	graph->out_weight = gpu_room((size_t) nodes, sizeof(double));
	for (i = 0; i <= nodes; i++)
		graph->row_start[i] = i * entries;
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
