/*
 * spread_up.c
 *		The upload of the graph and the seeds of the operation 'spread'.
 *
 * The graph is uploaded in the layout of packed_graph.h, from the first byte to the last.  Each
 * piece uploads as much as its slot can hold, in one copy.
 */
#include <string.h>

#include "cuda/copy.h"
#include "cuda/spread.h"

static bool must_wait_for_answers(const HyCudaSpreadPiece *piece, const HyCudaSpreadPiece *before);
static HyStatus graph_up(HyDevice *device, HyCudaSlot *slot, uint64_t *used);
static void stage_graph(const HyDevice *device, uint64_t from, uint64_t bytes, char *to);
static HyStatus seeds_up(HyDevice *device, HyCudaSlot *slot, uint64_t offset);
static void sum_seeds(const HySpreadTask *task, int32_t set);

uint64_t
hy_cuda_spread_bytes(const HyPackedGraph *packed)
{
	return packed->layout.offset[HY_PACKED_ROWS] +
	       (uint64_t) hy_cuda_spread_rows(packed) * sizeof(HyPackedRow);
}

uint64_t
hy_cuda_spread_left(const HyCudaSpread *spread)
{
	return hy_cuda_spread_bytes(spread->plan.packed) - spread->at;
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
			error = cudaStreamWaitEvent(
				slot->stream,
				must_wait_for_answers(piece, hy_cuda_spread_piece(device, other))
					? other->done
					: other->kernel_end,
				0);
	}
	if (error != cudaSuccess)
		return hy_cuda_fail(device, error, "ordering pieces");
	return status;
}

/*
 * must_wait_for_answers: return whether the piece starts another group in memory that still holds
 * answers of the previous group.  This happens only after a group of one set: its answers are
 * copied to the host from that memory after its kernels.
 */
static bool
must_wait_for_answers(const HyCudaSpreadPiece *piece, const HyCudaSpreadPiece *before)
{
	return before->width == 1 && before->steps > 0 && piece->first_set != before->first_set;
}

/*
 * graph_up: upload as much of the graph as the slot can hold.  Sets *used to the number of bytes
 * uploaded.
 */
static HyStatus
graph_up(HyDevice *device, HyCudaSlot *slot, uint64_t *used)
{
	HyCudaSpread *spread = device->task.spread;
	uint64_t bytes = hy_cuda_spread_left(spread);
	cudaError_t error;

	if (bytes > device->scratch.up)
		bytes = device->scratch.up;
	stage_graph(device, spread->at, bytes, slot->pinned_up);
	error = cudaMemcpyAsync(spread->block->memory + spread->at, slot->pinned_up, bytes,
	                        cudaMemcpyHostToDevice, slot->stream);
	if (error != cudaSuccess)
		return hy_cuda_fail(device, error, "copying a graph up");
	spread->at += bytes;
	device->task.bytes_up += bytes;
	*used = bytes;
	return HY_OK;
}

/*
 * stage_graph: copy `bytes` bytes of the layout, beginning at offset `from`, to pinned memory.  The
 * layout is the data of the parts, with zeros between them.
 */
static void
stage_graph(const HyDevice *device, uint64_t from, uint64_t bytes, char *to)
{
	const HyPackedGraph *packed = device->task.spread->plan.packed;
	const HySpreadTask *task = &device->task.task.u.spread;
	const struct
	{
		const void *data;
		uint64_t bytes;
	} part[HY_PACKED_PARTS] = {
		{task->graph->column, (uint64_t) packed->edges * sizeof(uint32_t)},
		{task->graph->weight, (uint64_t) packed->edges * sizeof(float)},
		{task->graph->out_weight, (uint64_t) packed->nodes * sizeof(double)},
		{task->params.hub,
	     packed->hub && task->params.hub != NULL ? (uint64_t) packed->nodes * sizeof(double) : 0},
		{packed->row, (uint64_t) hy_cuda_spread_rows(packed) * sizeof(HyPackedRow)}};
	HyCudaCopy copies[HY_PACKED_PARTS];
	uint64_t done = 0;
	int copied = 0;
	int i;

	for (i = 0; i < HY_PACKED_PARTS && done < bytes; i++)
	{
		uint64_t begin = packed->layout.offset[i];
		uint64_t end = begin + part[i].bytes;
		uint64_t at = from + done;
		uint64_t count;

		if (at < begin)
		{
			count = begin - at < bytes - done ? begin - at : bytes - done;
			memset(to + done, 0, count);
			done += count;
			at += count;
		}
		if (at < begin || at >= end)
			continue;
		count = end - at < bytes - done ? end - at : bytes - done;
		copies[copied++] = hy_cuda_copy_of(HY_CUDA_COPY_UP, to + done,
		                                   (const char *) part[i].data + (at - begin), count);
		done += count;
	}
	hy_cuda_copy(device->host, HY_OP_SPREAD, copies, copied);
}

/*
 * seeds_up: upload the seeds of the piece's HY_CUDA_SPREAD_SEEDS step.  If a set names a node
 * several times, each of these seeds holds the sum.
 */
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

/*
 * sum_seeds: store the initial activation of a set's seed nodes in the task's activation array.
 * Repeated seeds are added in the given order.
 */
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
