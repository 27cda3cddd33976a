/*
 * spread_up.c
 *		The graph and the seeds on their way to the device.
 *
 * The arrays go up one after another, as much in a piece as there is room for.  The rows that have
 * entries are listed by length on the way.
 */
#include <string.h>

#include "cuda/spread.h"

/* Nodes looked at for one piece: the host's share of it, some milliseconds. */
#define SCAN_NODES ((int64_t) 1 << 22)

static HyStatus graph_up(HyDevice *device, HyCudaSlot *slot, uint64_t *used);
static int64_t
stage_section(HyCudaSpread *spread, const HySpreadTask *task, int64_t most, char *to, bool *sound);
static int64_t
stage_rows(HyCudaSpread *spread, const HyCsr *graph, int64_t most, HyCudaSpreadRow *rows);
static HyStatus seeds_up(HyDevice *device, HyCudaSlot *slot, uint64_t offset);
static void sum_seeds(const HySpreadTask *task, int32_t set);

int64_t
hy_cuda_spread_elements(const HyCudaSpread *spread, const HyCsr *graph, int section)
{
	return section < 2    ? graph->edges
	       : section == 2 ? graph->nodes
	                      : spread->plan.lists.rows[section - 3];
}

uint64_t
hy_cuda_spread_element(int section)
{
	return section < 2 ? sizeof(uint32_t) : section == 2 ? sizeof(double) : sizeof(HyCudaSpreadRow);
}

uint64_t
hy_cuda_spread_left(const HyCudaSpread *spread, const HyCsr *graph)
{
	int64_t nodes = 0;
	uint64_t bytes = 0;
	int i;

	for (i = spread->section; i < HY_CUDA_SPREAD_SECTIONS; i++)
	{
		int64_t count = hy_cuda_spread_elements(spread, graph, i);

		if (i == spread->section)
			count -= spread->at;
		bytes += (uint64_t) count * hy_cuda_spread_element(i);
		if (i >= 3 && count > 0)
			nodes += graph->nodes - (i == spread->section ? spread->node : 0);
	}
	return nodes >= SCAN_NODES ? UINT64_MAX : bytes;
}

HyStatus
hy_cuda_spread_up(HyDevice *device, HyCudaSlot *slot)
{
	HyCudaSpreadPiece *piece = hy_cuda_spread_piece(device, slot);
	cudaError_t error = cudaSuccess;
	HyStatus status = HY_OK;
	uint64_t used = 0;
	int i;

	if (piece->graph)
		status = graph_up(device, slot, &used);
	if (status == HY_OK && piece->seeds)
		status = seeds_up(device, slot, (used + 15) / 16 * 16);
	for (i = 0; i < HY_CUDA_SLOTS && status == HY_OK && error == cudaSuccess; i++)
	{
		HyCudaSlot *other = &device->slots[i];

		if (other != slot && other->busy && piece->steps > 0)
			error = cudaStreamWaitEvent(slot->stream, other->kernel_end, 0);
	}
	if (error != cudaSuccess)
		return hy_cuda_fail(device, error, "ordering pieces");
	return status;
}

/* graph_up: as much of the graph as there is room for; *used bytes of it. */
static HyStatus
graph_up(HyDevice *device, HyCudaSlot *slot, uint64_t *used)
{
	HyCudaSpread *spread = device->task.spread;
	const HySpreadTask *task = &device->task.task.u.spread;
	int64_t looked = 0;

	while (spread->section < HY_CUDA_SPREAD_SECTIONS && looked < SCAN_NODES)
	{
		int i = spread->section;
		uint64_t element = hy_cuda_spread_element(i);
		int64_t most = (int64_t) ((device->scratch.up - *used) / element);
		int64_t all = hy_cuda_spread_elements(spread, task->graph, i);
		int64_t node = spread->node;
		bool sound = true;
		int64_t count;
		cudaError_t error;

		if (most > all - spread->at)
			most = all - spread->at;
		if (most == 0 && all > spread->at)
			break;
		count = stage_section(spread, task, most, slot->pinned_up + *used, &sound);
		if (!sound)
			return hy_cuda_refuse(device, HY_INVALID, "an edge comes from no node of its graph");
		looked += spread->node - node;
		if (i >= 3 && count < most && spread->node == task->graph->nodes)
			return hy_cuda_refuse(device, HY_INVALID, "the graph changed under the task");
		if (count > 0)
		{
			char *to = spread->memory + spread->offset[i] + (uint64_t) spread->at * element;

			error = cudaMemcpyAsync(to, slot->pinned_up + *used, (uint64_t) count * element,
			                        cudaMemcpyHostToDevice, slot->stream);
			if (error != cudaSuccess)
				return hy_cuda_fail(device, error, "copying a graph up");
			*used += (uint64_t) count * element;
			device->task.bytes_up += (uint64_t) count * element;
		}
		spread->at += count;
		if (spread->at < all)
			continue;
		spread->section++;
		spread->at = 0;
		spread->node = 0;
	}
	return HY_OK;
}

/* stage_section: the next elements of the section, at most so many; returns how many. */
static int64_t
stage_section(HyCudaSpread *spread, const HySpreadTask *task, int64_t most, char *to, bool *sound)
{
	const HyCsr *graph = task->graph;
	const uint32_t *column;
	uint32_t largest = 0;
	int64_t i;

	if (most == 0)
		return 0;
	switch (spread->section)
	{
		case 0:
			column = graph->column + spread->at;
			memcpy(to, column, (size_t) most * sizeof(uint32_t));
			/* a device that reads where there is nothing is lost for good */
			for (i = 0; i < most; i++)
				largest = column[i] > largest ? column[i] : largest;
			*sound = (int64_t) largest < graph->nodes;
			return most;
		case 1:
			memcpy(to, graph->weight + spread->at, (size_t) most * sizeof(float));
			return most;
		case 2:
			memcpy(to, task->gain + spread->at, (size_t) most * sizeof(double));
			return most;
		default:
			return stage_rows(spread, graph, most, (HyCudaSpreadRow *) (void *) to);
	}
}

/* stage_rows: of the section's list, as many as there are among the nodes that one piece looks at. */
static int64_t
stage_rows(HyCudaSpread *spread, const HyCsr *graph, int64_t most, HyCudaSpreadRow *rows)
{
	int64_t last = spread->node + SCAN_NODES; /* where no more are looked at */
	int64_t count = 0;
	int64_t i;

	if (last > graph->nodes)
		last = graph->nodes;
	for (i = spread->node; i < last && count < most; i++)
	{
		int64_t begin = graph->row_start[i];
		int64_t entries = graph->row_start[i + 1] - begin;
		HyCudaSpreadRow row = {(uint32_t) i, (uint32_t) begin, (uint32_t) entries};

		if (entries == 0 || hy_cuda_spread_list(entries) != spread->section - 3)
			continue;
		memcpy(&rows[count++], &row, sizeof(row));
	}
	spread->node = i;
	return count;
}

/* seeds_up: those of the piece's step: of a node's repeated ones each says the sum. */
static HyStatus
seeds_up(HyDevice *device, HyCudaSlot *slot, uint64_t offset)
{
	const HySpreadTask *task = &device->task.task.u.spread;
	HyCudaSpreadPiece *piece = hy_cuda_spread_piece(device, slot);
	const int64_t *start = task->seeds.start + piece->first_set;
	HyCudaSpreadSeed *staged = (HyCudaSpreadSeed *) (void *) (slot->pinned_up + offset);
	HyCudaSpreadStep *step = piece->step;
	cudaError_t error;
	uint64_t bytes;
	int32_t set = 0;
	int64_t i;

	while (step->kind != HY_CUDA_SPREAD_SEEDS)
		step++;
	for (i = 0; i < step->count; i++)
	{
		int64_t seed = start[0] + step->first + i;

		while (seed >= start[set + 1])
			set++;
		if (seed == start[set])
			sum_seeds(task, piece->first_set + set);
		staged[i] = (HyCudaSpreadSeed){
			.value = task->activation[(piece->first_set + set) * task->graph->nodes +
		                              task->seeds.node[seed]],
			.node = task->seeds.node[seed],
			.set = (uint32_t) set};
	}
	step->in = slot->device_up + offset;
	bytes = (uint64_t) step->count * sizeof(HyCudaSpreadSeed);
	error = cudaMemcpyAsync(slot->device_up + offset, staged, bytes, cudaMemcpyHostToDevice,
	                        slot->stream);
	if (error != cudaSuccess)
		return hy_cuda_fail(device, error, "copying seeds up");
	device->task.bytes_up += bytes;
	return HY_OK;
}

/* sum_seeds: repeated ones in the order given, where the answer will be. */
static void
sum_seeds(const HySpreadTask *task, int32_t set)
{
	double *activation = task->activation + set * task->graph->nodes;
	const HySpreadSeeds *seeds = &task->seeds;
	int64_t i;

	for (i = seeds->start[set]; i < seeds->start[set + 1]; i++)
		activation[seeds->node[i]] = 0;
	for (i = seeds->start[set]; i < seeds->start[set + 1]; i++)
		activation[seeds->node[i]] += seeds->value[i];
}
