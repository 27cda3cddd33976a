/*
 * spread.c
 *		The operation 'spread': the graph goes up once, then groups of sets hop on the device.
 *
 * The memory for both is taken when the task starts, and given back when it ends: a graph has no
 * name by which a later task could vouch that it is the same.  A piece is some of the graph, or some
 * steps (spread_plan.h), or both where all of the graph fits; its steps wait for those of the pieces
 * before it, while what goes up, and answers, pass them by.  What must be decided between two hops
 * is decided on the device; it tells the host when no set goes on, so that no more is queued.
 */
#include <stddef.h>
#include <string.h>

#include "cuda/spread.h"

#define ALIGNED 256

static HyCaps spread_caps(const HyShape *shape);
static void
spread_estimate(const HyCudaScratch *scratch, const HyShape *shape, HyEstimate *estimate);
static HyStatus spread_check(HyDevice *device, const HyTask *task);
static void spread_begin(HyDevice *device);
static HyStatus spread_start(HyDevice *device);
static uint64_t lay_out(HyCudaSpread *spread, const HyCsr *graph);
static HyStatus take_memory(HyDevice *device, HyCudaSpread *spread, const HyCsr *graph);
static HyCudaNext spread_next(HyDevice *device, HyCudaSlot *slot);
static cudaError_t spread_launch(HyDevice *device, HyCudaSlot *slot);
static cudaError_t
clear(const HyCudaSpread *spread, const HyCudaSpreadStep *step, cudaStream_t stream);
static HyCudaSpreadState
state_of(const HyCudaSpread *spread, const HySpreadTask *task, const HyCudaSpreadPiece *piece);
static HyStatus spread_down(HyDevice *device, HyCudaSlot *slot);
static void spread_collect(HyDevice *device, const HyCudaSlot *slot);
static void spread_end(HyDevice *device);

const HyCudaOperation hy_cuda_spread = {.caps = spread_caps,
                                        .estimate = spread_estimate,
                                        .check = spread_check,
                                        .begin = spread_begin,
                                        .start = spread_start,
                                        .next = spread_next,
                                        .up = hy_cuda_spread_up,
                                        .launch = spread_launch,
                                        .down = spread_down,
                                        .collect = spread_collect,
                                        .end = spread_end};

static inline uint64_t
aligned(uint64_t bytes)
{
	return (bytes + ALIGNED - 1) / ALIGNED * ALIGNED;
}

/* answer_bytes: of a node and a set. */
static inline uint64_t
answer_bytes(void)
{
	return sizeof(double) + sizeof(int32_t);
}

/* word_at: where in a slot's room for answers the device says who goes on. */
static inline uint64_t
word_at(const HyDevice *device)
{
	return device->scratch.down - ALIGNED;
}

static HyCaps
spread_caps(const HyShape *shape)
{
	(void) shape;
	return (HyCaps){.ok = true, .max_targets = UINT32_MAX, .numeric_class = HY_CLASS_EXACT};
}

/* A shape does not say how many nodes there are: four entries each are usual. */
static void
spread_estimate(const HyCudaScratch *scratch, const HyShape *shape, HyEstimate *estimate)
{
	uint64_t entries = shape->targets < 0                      ? 0
	                   : shape->targets > (int64_t) UINT32_MAX ? UINT32_MAX
	                                                           : (uint64_t) shape->targets;
	uint64_t nodes = entries / 4 + 1;
	uint64_t sets = shape->queries > INT32_MAX ? INT32_MAX : (uint64_t) shape->queries;
	uint64_t graph = entries * (sizeof(uint32_t) + sizeof(float)) +
	                 nodes * (sizeof(HyCudaSpreadRow) + sizeof(double));
	uint64_t width = (uint64_t) hy_cuda_spread_width((int64_t) sets, HY_CUDA_SPREAD_WIDTH);

	(void) scratch;
	if (sets == 0)
		return;
	estimate->device_bytes += graph + nodes * width * hy_cuda_spread_node_bytes(true, true) +
	                          sizeof(HyCudaSpreadControl) + (HY_CUDA_SPREAD_SECTIONS + 2) * ALIGNED;
	estimate->bytes_up = graph + sets * sizeof(HyCudaSpreadSeed);
	estimate->bytes_down = nodes * sets * answer_bytes();
}

static HyStatus
spread_check(HyDevice *device, const HyTask *task)
{
	const HySpreadTask *s = &task->u.spread;

	if (hy_spread_check(s->graph, &s->params, &s->seeds) != HY_OK)
		return hy_cuda_refuse(device, HY_INVALID, "the parameters or seeds make no sense");
	return HY_OK;
}

static void
spread_begin(HyDevice *device)
{
	(void) device;
}

static HyStatus
spread_start(HyDevice *device)
{
	const HyTask *task = &device->task.task;
	const HySpreadTask *s = &task->u.spread;
	const HyAllocator *allocator = device->host->allocator;
	HyCudaSpread *spread;
	HyStatus status;

	if (s->graph->nodes == 0 || s->seeds.sets == 0)
		return HY_OK;
	spread = hy_alloc_zero(allocator, sizeof(*spread));
	if (spread == NULL)
		return hy_cuda_refuse(device, HY_NOMEM, "out of host memory");
	device->task.spread = spread;
	status = hy_cuda_spread_lists_make(s->graph, allocator, task->cancel, &spread->plan.lists);
	if (status != HY_OK)
		return hy_cuda_refuse(device, status, "sorting the rows by length: %s",
		                      hy_status_name(status));
	spread->plan.nodes = s->graph->nodes;
	spread->plan.seeds = &device->task.task.u.spread.seeds;
	spread->plan.hops = s->params.hops;
	spread->plan.node_bytes = hy_cuda_spread_node_bytes(s->params.hops == -1, s->params.refire > 0);
	status = take_memory(device, spread, s->graph);
	if (status != HY_OK)
		return status;
	hy_cuda_spread_plan_begin(&spread->plan);
	return HY_OK;
}

/* lay_out: where what lies, with groups as wide as the plan says; returns the bytes of all. */
static uint64_t
lay_out(HyCudaSpread *spread, const HyCsr *graph)
{
	const HyCudaSpreadPlan *plan = &spread->plan;
	uint64_t end = 0;
	int i;

	for (i = 0; i < HY_CUDA_SPREAD_SECTIONS; i++)
	{
		spread->offset[i] = end;
		end += aligned((uint64_t) hy_cuda_spread_elements(spread, graph, i) *
		               hy_cuda_spread_element(i));
	}
	spread->control = end;
	end += aligned(sizeof(HyCudaSpreadControl));
	spread->group = end;
	return end + aligned((uint64_t) graph->nodes * (uint64_t) plan->widest * plan->node_bytes);
}

/* take_memory: for groups as wide as can be. */
static HyStatus
take_memory(HyDevice *device, HyCudaSpread *spread, const HyCsr *graph)
{
	HyCudaSpreadPlan *plan = &spread->plan;
	HyStatus status;

	plan->widest = hy_cuda_spread_width(plan->seeds->sets, HY_CUDA_SPREAD_WIDTH);
	for (;; plan->widest /= 2)
	{
		status = hy_cuda_take(device, lay_out(spread, graph), &spread->block);
		if (status == HY_OK)
			break;
		if ((status != HY_NOMEM && status != HY_QUOTA) || plan->widest == 1)
			return status;
	}
	spread->memory = spread->block->memory;
	return HY_OK;
}

static HyCudaNext
spread_next(HyDevice *device, HyCudaSlot *slot)
{
	HyCudaSpread *spread = device->task.spread;
	const HyCsr *graph = device->task.task.u.spread.graph;
	HyCudaSpreadRoom room = {.pace = device->pace[HY_OP_SPREAD].work,
	                         .left = device->pace[HY_OP_SPREAD].work,
	                         .empty = true};
	HyCudaSpreadPiece *piece;
	uint64_t left;

	if (spread == NULL)
		return HY_CUDA_END;
	piece = hy_cuda_spread_piece(device, slot);
	left = hy_cuda_spread_left(spread, graph);
	piece->graph = spread->section < HY_CUDA_SPREAD_SECTIONS;
	piece->seeds = piece->pulls = false;
	piece->steps = 0;
	slot->work = 0;
	if (left > device->scratch.up)
		return HY_CUDA_PIECE;
	if (spread->plan.stage == HY_CUDA_STAGE_END)
		return HY_CUDA_END;

	piece->first_set = spread->plan.first_set;
	piece->width = spread->plan.width;
	piece->sets = spread->plan.sets;
	room.seeds = (int64_t) ((device->scratch.up - left) / sizeof(HyCudaSpreadSeed)) - 1;
	room.nodes = (int64_t) (word_at(device) / ((uint64_t) piece->sets * answer_bytes()));
	while (piece->steps < HY_CUDA_SPREAD_STEPS)
	{
		HyCudaSpreadStep *step = &piece->step[piece->steps];

		if (!hy_cuda_spread_step(&spread->plan, &room, step))
			break;
		piece->steps++;
		room.empty = false;
		room.left -= step->work < room.left ? step->work : room.left;
		if (step->kind >= HY_CUDA_SPREAD_SHORTS && step->kind <= HY_CUDA_SPREAD_LONG)
		{
			piece->pulls = true;
			slot->work += step->work;
		}
		if (step->kind == HY_CUDA_SPREAD_SEEDS)
		{
			piece->seeds = true;
			room.seeds = 0;
		}
		if (step->kind == HY_CUDA_SPREAD_DOWN)
			break;
	}
	return piece->graph || piece->steps > 0 ? HY_CUDA_PIECE : HY_CUDA_END;
}

static cudaError_t
spread_launch(HyDevice *device, HyCudaSlot *slot)
{
	const HyCudaSpread *spread = device->task.spread;
	HyCudaSpreadPiece *piece = hy_cuda_spread_piece(device, slot);
	HyCudaSpreadState state;
	cudaError_t error = cudaSuccess;
	int i;

	if (piece->steps == 0)
		return cudaSuccess;
	state = state_of(spread, &device->task.task.u.spread, piece);
	for (i = 0; i < piece->steps && error == cudaSuccess; i++)
	{
		HyCudaSpreadStep *step = &piece->step[i];

		if (step->kind == HY_CUDA_SPREAD_CLEAR)
		{
			error = clear(spread, step, slot->stream);
			continue;
		}
		if (step->kind >= HY_CUDA_SPREAD_SHORTS && step->kind <= HY_CUDA_SPREAD_LONG)
			step->in = spread->memory + spread->offset[3 + step->kind - HY_CUDA_SPREAD_SHORTS];
		else if (step->kind == HY_CUDA_SPREAD_DOWN)
			step->out = slot->device_down;
		error = hy_cuda_launch_spread(&state, step, device->multiprocessors, slot->stream);
	}
	return error;
}

/* clear: of a group's state, before it begins; or of what its seeds sent. */
static cudaError_t
clear(const HyCudaSpread *spread, const HyCudaSpreadStep *step, cudaStream_t stream)
{
	cudaError_t error = cudaSuccess;

	if (step->hop == 0 && step->first == 0)
		error = cudaMemsetAsync(spread->memory + spread->control, 0, sizeof(HyCudaSpreadControl),
		                        stream);
	if (error != cudaSuccess)
		return error;
	return cudaMemsetAsync(spread->memory + spread->group + step->first, 0, (size_t) step->count,
	                       stream);
}

/* state_of: the kernels' view of the piece's group. */
static HyCudaSpreadState
state_of(const HyCudaSpread *spread, const HySpreadTask *task, const HyCudaSpreadPiece *piece)
{
	uint64_t values = (uint64_t) task->graph->nodes * (uint64_t) piece->width;
	char *at = spread->memory + spread->group;
	HyCudaSpreadState state = {
		.column = (const uint32_t *) (void *) (spread->memory + spread->offset[0]),
		.weight = (const float *) (void *) (spread->memory + spread->offset[1]),
		.gain = (const double *) (void *) (spread->memory + spread->offset[2]),
		.control = (HyCudaSpreadControl *) (void *) (spread->memory + spread->control),
		.threshold = task->params.threshold,
		.tolerance = task->params.tolerance,
		.nodes = task->graph->nodes,
		.refire = (uint32_t) task->params.refire,
		.width = piece->width,
		.sets = piece->sets,
		.combine = task->params.combine};
	int i;

	/* the charges of the seeds come first: they are cleared once more (clear) */
	for (i = 0; i < 2; i++, at += values * sizeof(double))
		state.charge[i] = (double *) (void *) at;
	state.activation = (double *) (void *) at;
	at += values * sizeof(double);
	if (task->params.hops == -1)
	{
		state.arrived = (double *) (void *) at;
		at += values * sizeof(double);
	}
	state.hop = (uint32_t *) (void *) at;
	at += values * sizeof(uint32_t);
	if (task->params.refire > 0)
		state.fired = (uint32_t *) (void *) at;
	return state;
}

static HyStatus
spread_down(HyDevice *device, HyCudaSlot *slot)
{
	const HyCudaSpread *spread = device->task.spread;
	const HyCudaSpreadPiece *piece = hy_cuda_spread_piece(device, slot);
	const HyCudaSpreadStep *last = piece->steps > 0 ? &piece->step[piece->steps - 1] : NULL;
	cudaError_t error = cudaSuccess;

	if (last != NULL && last->kind == HY_CUDA_SPREAD_DOWN)
	{
		uint64_t bytes = (uint64_t) last->count * (uint64_t) piece->sets * answer_bytes();

		error = cudaMemcpyAsync(slot->pinned_down, slot->device_down, bytes, cudaMemcpyDeviceToHost,
		                        slot->stream);
		device->task.bytes_down += bytes;
	}
	/* the step after this piece may end more sets meanwhile: that is as good an answer */
	if (piece->pulls && error == cudaSuccess)
		error =
			cudaMemcpyAsync((char *) slot->pinned_down + word_at(device),
		                    spread->memory + spread->control + offsetof(HyCudaSpreadControl, live),
		                    sizeof(uint32_t), cudaMemcpyDeviceToHost, slot->stream);
	if (error != cudaSuccess)
		return hy_cuda_fail(device, error, "copying activation down");
	return HY_OK;
}

static void
spread_collect(HyDevice *device, const HyCudaSlot *slot)
{
	const HySpreadTask *task = &device->task.task.u.spread;
	const HyCudaSpreadPiece *piece = hy_cuda_spread_piece(device, slot);
	const HyCudaSpreadStep *last = piece->steps > 0 ? &piece->step[piece->steps - 1] : NULL;
	uint32_t live = 1;
	int32_t set;

	if (piece->pulls)
		memcpy(&live, (const char *) slot->pinned_down + word_at(device), sizeof(live));
	if (live == 0)
	{
		hy_cuda_spread_quiet(&device->task.spread->plan, piece->first_set);
		/* kernels that have nothing to do say nothing of the pace */
		device->slots[slot - device->slots].work = 0;
	}
	if (last == NULL || last->kind != HY_CUDA_SPREAD_DOWN)
		return;
	for (set = 0; set < piece->sets; set++)
	{
		const double *activation = (const double *) slot->pinned_down + set * last->count;
		const int32_t *hop =
			(const int32_t *) ((const double *) slot->pinned_down + piece->sets * last->count) +
			set * last->count;
		int64_t to = (piece->first_set + set) * task->graph->nodes + last->first;

		memcpy(task->activation + to, activation, (size_t) last->count * sizeof(double));
		memcpy(task->hop + to, hop, (size_t) last->count * sizeof(int32_t));
	}
}

static void
spread_end(HyDevice *device)
{
	HyCudaSpread *spread = device->task.spread;

	if (spread == NULL)
		return;
	if (spread->block != NULL)
		hy_cuda_give(device, spread->block);
	hy_cuda_spread_lists_free(&spread->plan.lists, device->host->allocator);
	hy_free(device->host->allocator, spread);
	device->task.spread = NULL;
}
