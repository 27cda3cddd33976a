/*
 * spread.c
 *		The operation 'spread': spreads activation over a graph, from one group of seed sets at a
 *		time.  The graph is on the device already, or is uploaded first.
 *
 * Memory for the state of a group, and for a graph that is not on the device, is taken when the
 * task starts and returned when the task ends.  A piece uploads a part of the graph, or runs some
 * steps (spread_plan.h), or does both if the rest of the graph fits.  The steps of a piece wait for
 * the steps of earlier pieces, while uploads and copies of answers overlap with steps.  A group of
 * one set is an exception: its answers are copied to the host directly from its state, so the next
 * group waits for that copy.  Unless hops are few and short, the device decides after each hop
 * which sets continue.  It reports when no set of the group continues, and then the host queues no
 * more hops.
 */
#include <stddef.h>
#include <string.h>

#include "cuda/copy.h"
#include "cuda/spread.h"

#define ALIGNED 256

static HyCaps spread_caps(const HyShape *shape);
static void
spread_estimate(const HyCudaScratch *scratch, const HyShape *shape, HyEstimate *estimate);
static HyStatus spread_check(HyDevice *device, const HyTask *task);
static void spread_begin(HyDevice *device);
static HyStatus spread_start(HyDevice *device);
static HyStatus pack(HyDevice *device, HyCudaSpread *spread);
static HyStatus take_memory(HyDevice *device, HyCudaSpread *spread);
static HyCudaNext spread_next(HyDevice *device, HyCudaSlot *slot);
static cudaError_t spread_launch(HyDevice *device, HyCudaSlot *slot);
static const void *list_at(const HyCudaSpread *spread, int list);
static HyCudaSpreadState
state_of(const HyCudaSpread *spread, const HySpreadTask *task, const HyCudaSpreadPiece *piece);
static HyStatus spread_down(HyDevice *device, HyCudaSlot *slot);
static cudaError_t answers_down(const HyDevice *device, const HyCudaSlot *slot,
                                const HyCudaSpreadPiece *piece, const HyCudaSpreadStep *step);
static void spread_collect(HyDevice *device, const HyCudaSlot *slot);
static void unpack(const HyDevice *device, const HyCudaSlot *slot, const HyCudaSpreadPiece *piece,
                   const HyCudaSpreadStep *step);
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

/* answer_bytes: return the bytes of the answer per node and set. */
static inline uint64_t
answer_bytes(bool sent)
{
	return sizeof(double) + sizeof(int32_t) + (sent ? sizeof(double) : 0);
}

/*
 * word_at: return the offset, in a slot's result memory, of the word that has one bit for each set
 * that continues.
 */
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

/*
 * spread_estimate: estimate memory and transfers.  A shape does not contain the number of nodes, so
 * four entries per node and the maximum memory per node are assumed.
 */
static void
spread_estimate(const HyCudaScratch *scratch, const HyShape *shape, HyEstimate *estimate)
{
	uint64_t entries = shape->targets < 0                      ? 0
	                   : shape->targets > (int64_t) UINT32_MAX ? UINT32_MAX
	                                                           : (uint64_t) shape->targets;
	uint64_t nodes = entries / 4 + 1;
	uint64_t sets = shape->queries > INT32_MAX ? INT32_MAX : (uint64_t) shape->queries;
	/* a resident graph is not uploaded and takes no memory besides its buffer */
	uint64_t graph =
		shape->resident ? 0 : hy_packed_layout((int64_t) nodes, (int64_t) entries, false).bytes;
	uint64_t width = (uint64_t) hy_cuda_spread_width((int64_t) sets, HY_CUDA_SPREAD_WIDTH);

	(void) scratch;
	if (sets == 0)
		return;
	estimate->device_bytes += graph + nodes * width * hy_cuda_spread_node_bytes(true, true, true) +
	                          HY_CUDA_SPREAD_CONTROL + ALIGNED;
	estimate->bytes_up = graph + sets * sizeof(HyCudaSpreadSeed);
	estimate->bytes_down = nodes * sets * answer_bytes(true);
}

static HyStatus
spread_check(HyDevice *device, const HyTask *task)
{
	const HySpreadTask *s = &task->u.spread;

	HySpreadParams params = s->params;

	/*
	 * For a resident graph, the task may contain only the sizes.  Without weights, hy_spread_check
	 * cannot check that the hops end if params.hops is -1.  The host has checked this while it had
	 * the weights.
	 */
	if (s->buffer != NULL && s->graph->out_weight == NULL)
		params.hops = 0;
	if (hy_spread_check(s->graph, &params, &s->seeds) != HY_OK)
		return hy_cuda_refuse(device, HY_INVALID, "the parameters or seeds make no sense");
	if (s->buffer != NULL && s->buffer->device != device)
		return hy_cuda_refuse(device, HY_INVALID, "the buffer belongs to another device");
	if (s->packed != NULL && s->params.hub != NULL && !s->packed->hub)
		return hy_cuda_refuse(device, HY_INVALID, "the packed graph has no divisors for a hub");
	/* a read outside the buffer would cause a permanent error (errors.c) */
	if (s->packed != NULL &&
	    !hy_packed_graph_valid(s->packed, s->buffer != NULL ? s->buffer->bytes : UINT64_MAX))
		return hy_cuda_refuse(device, HY_INVALID, "the packed graph does not lie in its buffer");
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
	HyCudaSpread *spread;
	HyStatus status;

	if (s->graph->nodes == 0 || s->seeds.sets == 0)
		return HY_OK;
	spread = hy_alloc_zero(device->host->allocator, sizeof(*spread));
	if (spread == NULL)
		return hy_cuda_refuse(device, HY_NOMEM, "out of host memory");
	device->task.spread = spread;
	status = pack(device, spread);
	if (status != HY_OK)
		return status;
	spread->plan.nodes = s->graph->nodes;
	spread->plan.seeds = &device->task.task.u.spread.seeds;
	spread->plan.hops = s->params.hops;
	spread->plan.node_bytes =
		hy_cuda_spread_node_bytes(s->params.hops == -1, s->params.refire > 0, s->sent != NULL);
	status = take_memory(device, spread);
	if (status != HY_OK)
		return status;
	hy_cuda_spread_plan_begin(&spread->plan);
	return HY_OK;
}

/* pack: list the rows of the graph by length, unless the task already has such lists. */
static HyStatus
pack(HyDevice *device, HyCudaSpread *spread)
{
	const HyTask *task = &device->task.task;
	const HySpreadTask *s = &task->u.spread;
	HyStatus status;

	spread->plan.packed = s->packed != NULL ? s->packed : &spread->own;
	if (s->packed != NULL)
		return HY_OK;
	status = hy_packed_graph_make(s->graph, s->params.hub != NULL, device->host->allocator,
	                              task->cancel, &spread->own);
	if (status == HY_INVALID)
		return hy_cuda_refuse(device, status,
		                      "rows do not ascend, or an edge comes from no node of its graph");
	if (status != HY_OK)
		return hy_cuda_refuse(device, status, "listing the rows: %s", hy_status_name(status));
	return HY_OK;
}

/* take_memory: take memory for groups of the best width.  Halve the width while memory is short. */
static HyStatus
take_memory(HyDevice *device, HyCudaSpread *spread)
{
	const HyBuffer *buffer = device->task.task.u.spread.buffer;
	HyCudaSpreadPlan *plan = &spread->plan;
	uint64_t graph = buffer != NULL ? 0 : plan->packed->layout.bytes;
	HyStatus status;

	plan->widest =
		hy_cuda_spread_best_width(plan->seeds->sets, plan->nodes, hy_cuda_spread_rows(plan->packed),
	                              plan->packed->edges, (uint64_t) device->cache);
	for (;; plan->widest /= 2)
	{
		status = hy_cuda_take(
			device,
			graph + HY_CUDA_SPREAD_CONTROL +
				aligned((uint64_t) plan->nodes * (uint64_t) plan->widest * plan->node_bytes),
			&spread->block);
		if (status == HY_OK)
			break;
		if ((status != HY_NOMEM && status != HY_QUOTA) || plan->widest == 1)
			return status;
	}
	spread->graph = buffer != NULL ? buffer->pointer : spread->block->memory;
	spread->group = spread->block->memory + graph;
	if (buffer != NULL)
		spread->at = hy_cuda_spread_bytes(plan->packed);
	return HY_OK;
}

static HyCudaNext
spread_next(HyDevice *device, HyCudaSlot *slot)
{
	HyCudaSpread *spread = device->task.spread;
	HyCudaSpreadRoom room = {.pace = device->pace[HY_OP_SPREAD].work,
	                         .left = device->pace[HY_OP_SPREAD].work,
	                         .empty = true};
	HyCudaSpreadPiece *piece;
	uint64_t left;

	if (spread == NULL)
		return HY_CUDA_END;
	piece = hy_cuda_spread_piece(device, slot);
	left = hy_cuda_spread_left(spread);
	piece->graph = left > 0;
	piece->seeds = piece->reports_live = false;
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
	room.nodes =
		(int64_t) (word_at(device) / ((uint64_t) piece->sets *
	                                  answer_bytes(device->task.task.u.spread.sent != NULL)));
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
			piece->reports_live = spread->plan.turns;
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
			/*
			 * hop 0: clear a part of the group's state, before the group begins; otherwise clear a
			 * part of the seeds' charges, after the first hop
			 */
			error = cudaMemsetAsync(spread->group + (step->hop == 0 ? 0 : HY_CUDA_SPREAD_CONTROL) +
			                            step->first,
			                        0, (size_t) step->count, slot->stream);
			continue;
		}
		if (step->kind == HY_CUDA_SPREAD_DOWN && piece->width == 1)
			continue; /* copied directly from the state (answers_down) */
		if (step->kind >= HY_CUDA_SPREAD_SHORTS && step->kind <= HY_CUDA_SPREAD_LONG)
			step->in = list_at(spread, (int) step->kind - (int) HY_CUDA_SPREAD_SHORTS);
		else if (step->kind == HY_CUDA_SPREAD_DOWN)
			step->out = slot->device_down;
		error = hy_cuda_launch_spread(&state, step, device->multiprocessors, slot->stream);
	}
	return error;
}

/* list_at: return the device address of a list of rows.  The lists follow each other. */
static const void *
list_at(const HyCudaSpread *spread, int list)
{
	const HyPackedGraph *packed = spread->plan.packed;
	uint64_t before = 0;

	while (--list >= 0)
		before += (uint64_t) packed->rows[list];
	return spread->graph + packed->layout.offset[HY_PACKED_ROWS] + before * sizeof(HyPackedRow);
}

/* state_of: return the addresses and parameters of the piece's group, as the kernels need them. */
static HyCudaSpreadState
state_of(const HyCudaSpread *spread, const HySpreadTask *task, const HyCudaSpreadPiece *piece)
{
	uint64_t values = (uint64_t) task->graph->nodes * (uint64_t) piece->width;
	const uint64_t *offset = spread->plan.packed->layout.offset;
	char *at = spread->group + HY_CUDA_SPREAD_CONTROL;
	HyCudaSpreadState state = {
		.column = (const uint32_t *) (const void *) (spread->graph + offset[HY_PACKED_COLUMN]),
		.weight = (const float *) (const void *) (spread->graph + offset[HY_PACKED_WEIGHT]),
		.out_weight =
			(const double *) (const void *) (spread->graph + offset[HY_PACKED_OUT_WEIGHT]),
		.hub = task->params.hub == NULL
	               ? NULL
	               : (const double *) (const void *) (spread->graph + offset[HY_PACKED_HUB]),
		.control = (HyCudaSpreadControl *) (void *) spread->group,
		.decay = task->params.decay,
		.fan = task->params.fan,
		.hops = task->params.hops != 0,
		.threshold = task->params.threshold,
		.tolerance = task->params.tolerance,
		.nodes = task->graph->nodes,
		.refire = (uint32_t) task->params.refire,
		.width = piece->width,
		.sets = piece->sets,
		.live = spread->plan.turns ? 0 : (1u << piece->sets) - 1,
		.combine = task->params.combine};
	int i;

	/*
	 * The charges of the seeds come first, because they are cleared a second time.  The arrays that
	 * are copied to the host are adjacent, so that one copy is enough.
	 */
	for (i = 0; i < 2; i++, at += values * sizeof(double))
		state.charge[i] = (double *) (void *) at;
	if (task->params.hops == -1)
	{
		state.arrived = (double *) (void *) at;
		at += values * sizeof(double);
	}
	state.activation = (double *) (void *) at;
	at += values * sizeof(double);
	if (task->sent != NULL)
	{
		state.sent = (double *) (void *) at;
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
		error = answers_down(device, slot, piece, last);
		device->task.bytes_down += (uint64_t) last->count * (uint64_t) piece->sets *
		                           answer_bytes(device->task.task.u.spread.sent != NULL);
	}
	/*
	 * A step of a later piece may end more sets during this copy.  Both the old and the new value
	 * are valid.
	 */
	if (piece->reports_live && error == cudaSuccess)
		error = cudaMemcpyAsync((char *) slot->pinned_down + word_at(device),
		                        spread->group + offsetof(HyCudaSpreadControl, live),
		                        sizeof(uint32_t), cudaMemcpyDeviceToHost, slot->stream);
	if (error != cudaSuccess)
		return hy_cuda_fail(device, error, "copying activation down");
	return HY_OK;
}

/*
 * answers_down: queue the copy of the answers to pinned memory.  If the width of the group is 1,
 * the answers in the group's state already have the right layout.
 */
static cudaError_t
answers_down(const HyDevice *device, const HyCudaSlot *slot, const HyCudaSpreadPiece *piece,
             const HyCudaSpreadStep *step)
{
	const HySpreadTask *task = &device->task.task.u.spread;
	uint64_t values = (uint64_t) step->count * (uint64_t) piece->sets;
	uint64_t bytes = values * answer_bytes(task->sent != NULL);
	char *to = slot->pinned_down;
	HyCudaSpreadState state;
	cudaError_t error;

	if (piece->width > 1)
		return cudaMemcpyAsync(to, slot->device_down, bytes, cudaMemcpyDeviceToHost, slot->stream);
	state = state_of(device->task.spread, task, piece);
	if (step->count == task->graph->nodes)
		return cudaMemcpyAsync(to, state.activation, bytes, cudaMemcpyDeviceToHost, slot->stream);
	error = cudaMemcpyAsync(to, state.activation + step->first, values * sizeof(double),
	                        cudaMemcpyDeviceToHost, slot->stream);
	if (error == cudaSuccess && state.sent != NULL)
		error = cudaMemcpyAsync(to + values * sizeof(double), state.sent + step->first,
		                        values * sizeof(double), cudaMemcpyDeviceToHost, slot->stream);
	if (error == cudaSuccess)
		error = cudaMemcpyAsync(to + bytes - values * sizeof(uint32_t), state.hop + step->first,
		                        values * sizeof(uint32_t), cudaMemcpyDeviceToHost, slot->stream);
	return error;
}

static void
spread_collect(HyDevice *device, const HyCudaSlot *slot)
{
	const HyCudaSpreadPiece *piece = hy_cuda_spread_piece(device, slot);
	const HyCudaSpreadStep *last = piece->steps > 0 ? &piece->step[piece->steps - 1] : NULL;
	uint32_t live = 1;

	if (piece->reports_live)
		memcpy(&live, (const char *) slot->pinned_down + word_at(device), sizeof(live));
	if (live == 0)
	{
		hy_cuda_spread_quiet(&device->task.spread->plan, piece->first_set);
		/*
		 * most kernels of the piece ended at once, and their short time must not change the work
		 * limit
		 */
		device->slots[slot - device->slots].work = 0;
	}
	if (last != NULL && last->kind == HY_CUDA_SPREAD_DOWN)
		unpack(device, slot, piece, last);
}

/*
 * unpack: copy the answers of a piece to the task's arrays.  In pinned memory, the parts for these
 * arrays follow each other.
 */
static void
unpack(const HyDevice *device, const HyCudaSlot *slot, const HyCudaSpreadPiece *piece,
       const HyCudaSpreadStep *step)
{
	const HySpreadTask *task = &device->task.task.u.spread;
	int64_t to = piece->first_set * task->graph->nodes + step->first;
	size_t nodes = (size_t) task->graph->nodes;
	size_t count = (size_t) step->count;
	const double *activation = slot->pinned_down;
	const double *sent = activation + (size_t) piece->sets * count;
	HyCudaCopy doubles = {.kind = HY_CUDA_COPY_DOWN,
	                      .from = (const char *) activation,
	                      .from_stride = count * sizeof(double),
	                      .to = (char *) (task->activation + to),
	                      .to_stride = nodes * sizeof(double),
	                      .bytes = count * sizeof(double),
	                      .rows = piece->sets};
	HyCudaCopy copies[3] = {doubles, doubles, doubles};
	int last = task->sent != NULL ? 2 : 1;

	if (task->sent != NULL)
	{
		copies[1].from = (const char *) sent;
		copies[1].to = (char *) (task->sent + to);
	}
	copies[last] = (HyCudaCopy){
		.kind = HY_CUDA_COPY_HOPS,
		.from = (const char *) (activation + (size_t) last * (size_t) piece->sets * count),
		.from_stride = count * sizeof(uint32_t),
		.to = (char *) (task->hop + to),
		.to_stride = nodes * sizeof(uint32_t),
		.bytes = count * sizeof(uint32_t),
		.rows = piece->sets};
	hy_cuda_copy(device->host, HY_OP_SPREAD, copies, last + 1);
}

static void
spread_end(HyDevice *device)
{
	HyCudaSpread *spread = device->task.spread;

	if (spread == NULL)
		return;
	if (spread->block != NULL)
		hy_cuda_give(device, spread->block);
	hy_packed_graph_free(&spread->own, device->host->allocator);
	hy_free(device->host->allocator, spread);
	device->task.spread = NULL;
}
