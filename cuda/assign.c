/*
 * assign.c
 *		The operation 'assign': the centroids are uploaded once, then pieces of rows are compared
 *		with them.
 *
 * The memory for the centroids is taken when the task starts and returned when the task ends.  The
 * first pieces upload the centroids, and round them if there is a filter.  Each later piece
 * compares some rows with all centroids or, with groups, with the centroids of the nearest groups.
 * The rows are uploaded with the piece, or read in place if they are resident.  Without groups, one
 * tile of rows and all centroids may exceed the work limit.  Then a piece compares the tile with a
 * part of the centroids, and the host combines the results of the parts.
 */
#include <string.h>

#include "cuda/assign_filter.h"
#include "cuda/sweep.h"

#define ALIGNED 256
#define FEWEST_ROWS 8 /* rows per tile of the kernel */
#define FEWEST_CENTROIDS 64

/* Section: the data that is copied to the device before the rows, in this order. */
typedef enum Section
{
	CENTROIDS = 0,
	CENTERS,  /* centers of the groups */
	BEGIN,    /* first centroid of each group */
	ROUNDING, /* no data: the centroids on the device are rounded for the filter */
	SECTIONS
} Section;

struct HyCudaAssignment
{
	HyCudaBlock *block;
	char *memory;                    /* memory of the block */
	uint64_t offset[SECTIONS];       /* offsets of the sections in memory */
	uint64_t sorting[HY_CUDA_SLOTS]; /* offset of each slot's arrays for sorting rows by group */
	int section;                     /* section that is uploaded next; SECTIONS: all are done */
	int64_t at;                      /* vectors or entries of that section uploaded so far */
	bool uploads[HY_CUDA_SLOTS];     /* whether a slot's piece uploads a section */
	int32_t groups;                  /* number of groups; 0: no groups */
	int32_t largest;                 /* number of centroids in the largest group */
	/* approximate number of comparisons per row, with centroids and with group centers */
	int64_t met;
	int64_t row;                  /* next row to be processed */
	int32_t rows;                 /* number of rows that are compared part by part; 0: none */
	int32_t centroid;             /* first centroid of their next part */
	uint64_t found[HY_CUDA_TILE]; /* nearest centroid of each of these rows in the parts so far */
	HyCudaAssignFilter *filter;   /* NULL: no filter */
};

static HyCaps assign_caps(const HyShape *shape);
static void
assign_estimate(const HyCudaScratch *scratch, const HyShape *shape, HyEstimate *estimate);
static HyStatus assign_check(HyDevice *device, const HyTask *task);
static void assign_begin(HyDevice *device);
static HyStatus assign_start(HyDevice *device);
static uint64_t lay_out(HyCudaAssignment *assignment, const HyAssignTask *task);
static HyCudaNext assign_next(HyDevice *device, HyCudaSlot *slot);
static HyCudaNext next_rows(HyDevice *device, HyCudaSlot *slot);
static HyCudaNext next_part(HyDevice *device, HyCudaSlot *slot);
static int64_t most_rows(const HyDevice *device, const HyCudaAssignment *assignment);
static void set_piece(HyDevice *device, HyCudaSlot *slot, const HyCudaChunk *chunk, int64_t met);
static HyStatus assign_up(HyDevice *device, HyCudaSlot *slot);
static HyStatus section_up(HyDevice *device, HyCudaSlot *slot);
static cudaError_t assign_launch(HyDevice *device, HyCudaSlot *slot);
static cudaError_t round_centroids(HyDevice *device, HyCudaSlot *slot);
static HyCudaAssignGroups groups_of(const HyDevice *device, const HyCudaSlot *slot);
static HyStatus assign_down(HyDevice *device, HyCudaSlot *slot);
static void assign_collect(HyDevice *device, const HyCudaSlot *slot);
static void assign_end(HyDevice *device);

const HyCudaOperation hy_cuda_assign = {.caps = assign_caps,
                                        .estimate = assign_estimate,
                                        .check = assign_check,
                                        .begin = assign_begin,
                                        .start = assign_start,
                                        .next = assign_next,
                                        .up = assign_up,
                                        .launch = assign_launch,
                                        .down = assign_down,
                                        .collect = assign_collect,
                                        .end = assign_end};

static inline uint64_t
aligned(uint64_t bytes)
{
	return (bytes + ALIGNED - 1) / ALIGNED * ALIGNED;
}

static inline uint64_t
vector_bytes(const HyAssignTask *task)
{
	return (uint64_t) task->rows.dims * sizeof(float);
}

/*
 * row_room: return the bytes that a row takes in a slot's result memory.  With groups, this
 * includes the numbers of the groups that the row is compared with, and memory for finding and
 * sorting them.
 */
static inline uint64_t
row_room(int32_t probes)
{
	return sizeof(uint64_t) + (uint64_t) probes * (2 * sizeof(HyNeighbor) + sizeof(int32_t));
}

/*
 * in_parts: return whether the slot's piece compares its rows with only one part of the centroids
 * (next_part).
 */
static inline bool
in_parts(const HyDevice *device, const HyCudaSlot *slot)
{
	return slot->chunk.query_count < device->task.task.u.assign.centroids.rows;
}

/* filter_of: return the filter if the slot's piece uses it, else NULL. */
static inline HyCudaAssignFilter *
filter_of(const HyDevice *device, const HyCudaSlot *slot)
{
	HyCudaAssignFilter *filter = device->task.assignment->filter;

	return filter != NULL && filter->filters[slot - device->slots] ? filter : NULL;
}

/*
 * rest_of: return the address of the HyCudaAssignRest, which follows the results of a piece's rows.
 */
static inline HyCudaAssignRest *
rest_of(void *found, int64_t rows)
{
	return (HyCudaAssignRest *) (void *) ((uint64_t *) found + rows);
}

/* pace_of: return the work limit of a piece of rows, filtered or not. */
static inline uint64_t
pace_of(const HyDevice *device)
{
	const HyCudaAssignFilter *filter = device->task.assignment->filter;

	return hy_cuda_assign_filter_on(filter) ? hy_cuda_assign_filter_paced(device, filter)
	                                        : device->pace[HY_OP_ASSIGN].work;
}

static HyCaps
assign_caps(const HyShape *shape)
{
	HyCaps caps = {.numeric_class = HY_CLASS_EXACT};

	if (shape->dtype != HY_F32 || shape->metric != HY_METRIC_L2)
		caps.reason = "the CUDA backend assigns float32 rows by L2 only";
	else if (shape->dims < 1 || shape->dims > HY_MAX_DIMS)
		caps.reason = "too many dimensions for the CUDA backend";
	else
	{
		caps.ok = true;
		caps.max_targets = INT32_MAX;
	}
	return caps;
}

/*
 * assign_estimate: estimate memory and transfers.  With groups, shape->targets counts only the
 * centroids that one row is compared with.  The task may have many times more centroids.
 */
static void
assign_estimate(const HyCudaScratch *scratch, const HyShape *shape, HyEstimate *estimate)
{
	uint64_t vector = (uint64_t) shape->dims * sizeof(float);
	uint64_t rows = shape->queries > 0 ? (uint64_t) shape->queries : 0;
	uint64_t targets = shape->targets > 0 ? (uint64_t) shape->targets : 0;

	(void) scratch;
	if (rows == 0)
		return;
	estimate->device_bytes += aligned(targets * vector) + SECTIONS * ALIGNED;
	estimate->bytes_up = ((shape->resident ? 0 : rows) + targets) * vector;
	estimate->bytes_down = rows * sizeof(uint64_t);
}

static HyStatus
assign_check(HyDevice *device, const HyTask *task)
{
	const HyMatrix *rows = &task->u.assign.rows;

	/* the kernel keeps the stride in 32 bits */
	if (rows->buffer != NULL && rows->stride / sizeof(float) > INT32_MAX)
		return hy_cuda_refuse(device, HY_UNSUPPORTED, "resident rows are too far apart");
	/* hy_task_check has checked the rest */
	return hy_cuda_sweep_check(device, rows);
}

static void
assign_begin(HyDevice *device)
{
	(void) device;
}

static HyStatus
assign_start(HyDevice *device)
{
	const HyAssignTask *task = &device->task.task.u.assign;
	HyShape shape = hy_task_shape(&device->task.task);
	HyCudaAssignment *assignment;
	HyStatus status;
	int32_t g;

	if (task->rows.rows == 0)
		return HY_OK;
	assignment = hy_alloc_zero(device->host->allocator, sizeof(*assignment));
	if (assignment == NULL)
		return hy_cuda_refuse(device, HY_NOMEM, "out of host memory");
	device->task.assignment = assignment;
	assignment->met = shape.targets;
	if (task->groups.centers.rows > task->groups.probes)
		assignment->groups = (int32_t) task->groups.centers.rows;
	for (g = 0; g < assignment->groups; g++)
	{
		int32_t centroids = task->groups.begin[g + 1] - task->groups.begin[g];

		assignment->largest = centroids > assignment->largest ? centroids : assignment->largest;
	}
	status = hy_cuda_take(device, lay_out(assignment, task), &assignment->block);
	if (status != HY_OK)
		return status;
	assignment->memory = assignment->block->memory;
	if (assignment->groups > 0)
		return HY_OK;
	return hy_cuda_assign_filter_start(device, most_rows(device, assignment), &assignment->filter);
}

/* lay_out: set the offsets of all sections and return the total bytes. */
static uint64_t
lay_out(HyCudaAssignment *assignment, const HyAssignTask *task)
{
	uint64_t groups = (uint64_t) assignment->groups;
	uint64_t end = aligned((uint64_t) task->centroids.rows * vector_bytes(task));
	int i;

	assignment->offset[CENTERS] = end;
	end += aligned(groups * vector_bytes(task));
	assignment->offset[BEGIN] = end;
	end += aligned((groups + 1) * sizeof(int32_t));
	/* arrays counts, firsts and tiles of HyCudaAssignGroups */
	for (i = 0; i < HY_CUDA_SLOTS && groups > 0; i++)
	{
		assignment->sorting[i] = end;
		end += aligned((3 * groups + 2) * sizeof(int32_t));
	}
	return end;
}

static HyCudaNext
assign_next(HyDevice *device, HyCudaSlot *slot)
{
	HyCudaAssignment *assignment = device->task.assignment;

	if (assignment == NULL)
		return HY_CUDA_END;
	slot->work = 0;
	assignment->uploads[slot - device->slots] = assignment->section < SECTIONS;
	if (assignment->section < SECTIONS)
		return HY_CUDA_PIECE;
	if (assignment->rows > 0)
		return next_part(device, slot);
	return next_rows(device, slot);
}

/*
 * next_rows: take as many rows as one piece can compare with all of their centroids.  If, without
 * groups, even one tile of rows exceeds the work limit, compare the tile with the centroids part by
 * part (next_part).
 */
static HyCudaNext
next_rows(HyDevice *device, HyCudaSlot *slot)
{
	const HyAssignTask *task = &device->task.task.u.assign;
	HyCudaAssignment *assignment = device->task.assignment;
	bool filtered = hy_cuda_assign_filter_on(assignment->filter);
	int64_t tile = filtered ? HY_CUDA_TILE : FEWEST_ROWS;
	/* with the filter, an incomplete tile takes as long as a complete tile */
	int64_t step = filtered ? tile : 1;
	int64_t left = task->rows.rows - assignment->row;
	int64_t most = most_rows(device, assignment);
	int64_t paced =
		(int64_t) (pace_of(device) / hy_cuda_work(task->rows.dims, step, assignment->met));
	int64_t count;
	HyCudaChunk chunk = {.first_row = assignment->row};

	if (left == 0)
		return HY_CUDA_END;
	paced *= step;
	if (assignment->groups == 0 && paced < tile)
	{
		/* parts of other rows may still be in flight, and they also use assignment->found */
		if (!hy_cuda_all_idle(device))
			return HY_CUDA_WAIT;
		count = left < tile ? left : tile;
		assignment->rows = (int32_t) (count < most ? count : most);
		assignment->centroid = 0;
		memset(assignment->found, 0xff, sizeof(assignment->found));
		return next_part(device, slot);
	}
	count = most < paced ? most : paced;
	count = count > tile ? count / tile * tile : count < 1 ? 1 : count;
	chunk.row_count = count < left ? count : left;
	chunk.query_count = (int32_t) task->centroids.rows;
	assignment->row += chunk.row_count;
	set_piece(device, slot, &chunk, assignment->met);
	return HY_CUDA_PIECE;
}

/* next_part: compare the rows of assignment->rows with the next part of the centroids. */
static HyCudaNext
next_part(HyDevice *device, HyCudaSlot *slot)
{
	const HyAssignTask *task = &device->task.task.u.assign;
	HyCudaAssignment *assignment = device->task.assignment;
	bool filtered = hy_cuda_assign_filter_on(assignment->filter);
	int64_t rows = filtered ? hy_cuda_assign_whole(assignment->rows) : assignment->rows;
	int64_t fewest = filtered ? HY_CUDA_TILE : FEWEST_CENTROIDS;
	int64_t left = task->centroids.rows - assignment->centroid;
	int64_t count = (int64_t) (pace_of(device) / hy_cuda_work(task->rows.dims, rows, 1));
	HyCudaChunk chunk = {.first_row = assignment->row,
	                     .row_count = assignment->rows,
	                     .first_query = assignment->centroid};

	/* a filtered part must begin at a tile boundary, so each part has a multiple of `fewest` */
	count = count > fewest ? count / fewest * fewest : fewest;
	count = count < left ? count : left;
	chunk.query_count = (int32_t) count;
	set_piece(device, slot, &chunk, count);
	assignment->centroid += (int32_t) count;
	if (count == left)
	{
		assignment->row += assignment->rows;
		assignment->rows = 0;
	}
	return HY_CUDA_PIECE;
}

/*
 * set_piece: fill in the slot for rows that are compared with `met` centroids.  The piece is
 * filtered if the filter is on.
 */
static void
set_piece(HyDevice *device, HyCudaSlot *slot, const HyCudaChunk *chunk, int64_t met)
{
	HyCudaAssignFilter *filter = device->task.assignment->filter;
	int64_t rows = chunk->row_count;
	bool filtered = hy_cuda_assign_filter_on(filter);

	if (filter != NULL)
		filter->filters[slot - device->slots] = filtered;
	if (filtered)
	{
		slot->pace = &device->assign_filter_pace;
		rows = hy_cuda_assign_whole(rows);
	}
	slot->chunk = *chunk;
	slot->work = hy_cuda_work(device->task.task.u.assign.rows.dims, rows, met);
}

/* most_rows: return the largest number of rows that one piece can have, given the slot's memory. */
static int64_t
most_rows(const HyDevice *device, const HyCudaAssignment *assignment)
{
	const HyAssignTask *task = &device->task.task.u.assign;
	int32_t probes = assignment->groups > 0 ? task->groups.probes : 0;
	uint64_t most = (uint64_t) hy_cuda_assign_whole(task->rows.rows);
	uint64_t room = (device->scratch.down - 3 * ALIGNED) / row_room(probes);

	most = most < room ? most : room;
	if (assignment->groups > 0 && most > HY_CUDA_MAX_QUERIES)
		most = HY_CUDA_MAX_QUERIES;
	if (task->rows.buffer == NULL && most > device->scratch.up / vector_bytes(task))
		most = device->scratch.up / vector_bytes(task);
	if (hy_cuda_assign_filter_on(assignment->filter) &&
	    most > (uint64_t) assignment->filter->plan.rows)
		most = (uint64_t) assignment->filter->plan.rows;
	return (int64_t) most;
}

static HyStatus
assign_up(HyDevice *device, HyCudaSlot *slot)
{
	const HyAssignTask *task = &device->task.task.u.assign;
	uint64_t bytes = (uint64_t) slot->chunk.row_count * vector_bytes(task);
	cudaError_t error;

	if (device->task.assignment->uploads[slot - device->slots])
		return section_up(device, slot);
	if (task->rows.buffer != NULL)
		return HY_OK;
	hy_cuda_stage_rows(device, &task->rows, slot->chunk.first_row, slot->chunk.row_count,
	                   slot->pinned_up);
	error = cudaMemcpyAsync(slot->device_up, slot->pinned_up, bytes, cudaMemcpyHostToDevice,
	                        slot->stream);
	if (error != cudaSuccess)
		return hy_cuda_fail(device, error, "copying rows up");
	device->task.bytes_up += bytes;
	return HY_OK;
}

/* section_up: copy as much of the current section to the device as fits the slot. */
static HyStatus
section_up(HyDevice *device, HyCudaSlot *slot)
{
	HyCudaAssignment *assignment = device->task.assignment;
	const HyAssignTask *task = &device->task.task.u.assign;
	const HyMatrix *matrix =
		assignment->section == CENTROIDS ? &task->centroids : &task->groups.centers;
	uint64_t element = assignment->section == BEGIN ? sizeof(int32_t) : vector_bytes(task);
	int64_t all = assignment->section == BEGIN ? assignment->groups + 1 : matrix->rows;
	char *to = assignment->memory + assignment->offset[assignment->section] +
	           (uint64_t) assignment->at * element;
	int64_t count = (int64_t) (device->scratch.up / element);
	cudaError_t error;

	if (assignment->section == ROUNDING)
		return HY_OK;
	count = count < all - assignment->at ? count : all - assignment->at;
	if (assignment->section == BEGIN)
		memcpy(slot->pinned_up, task->groups.begin + assignment->at, (size_t) count * element);
	else
		hy_cuda_stage_rows(device, matrix, assignment->at, count, slot->pinned_up);
	error = cudaMemcpyAsync(to, slot->pinned_up, (size_t) count * element, cudaMemcpyHostToDevice,
	                        slot->stream);
	if (error != cudaSuccess)
		return hy_cuda_fail(device, error, "copying centroids up");
	device->task.bytes_up += (uint64_t) count * element;
	assignment->at += count;
	if (assignment->at == all)
	{
		assignment->at = 0;
		if (assignment->groups > 0 && assignment->section != BEGIN)
			assignment->section++;
		else
			assignment->section = assignment->filter != NULL ? ROUNDING : SECTIONS;
	}
	return HY_OK;
}

static cudaError_t
assign_launch(HyDevice *device, HyCudaSlot *slot)
{
	const HyCudaAssignment *assignment = device->task.assignment;
	const HyMatrix *rows = &device->task.task.u.assign.rows;
	HyCudaAssign args = {.rows = (const float *) (const void *) slot->device_up,
	                     .row_stride = rows->dims,
	                     .centroids = (const float *) (const void *) assignment->memory,
	                     .row_count = (int32_t) slot->chunk.row_count,
	                     .dims = rows->dims,
	                     .first = (int32_t) slot->chunk.first_query,
	                     .end = (int32_t) slot->chunk.first_query + slot->chunk.query_count,
	                     .found = slot->device_down,
	                     .groups = groups_of(device, slot)};
	HyCudaAssignFilter *filter = filter_of(device, slot);
	bool uploads = assignment->uploads[slot - device->slots];
	cudaError_t error = cudaSuccess;
	int i;

	if (uploads && assignment->section != ROUNDING)
		return cudaSuccess;
	if (rows->buffer != NULL)
	{
		args.rows =
			(const float *) (const void *) (rows->buffer->pointer + rows->offset +
		                                    (uint64_t) slot->chunk.first_row * rows->stride);
		args.row_stride = (int32_t) (rows->stride / sizeof(float));
	}
	/* uploads of other slots may still be in flight */
	for (i = 0; i < HY_CUDA_SLOTS && error == cudaSuccess; i++)
	{
		HyCudaSlot *other = &device->slots[i];

		if (other != slot && other->busy && assignment->uploads[i])
			error = cudaStreamWaitEvent(slot->stream, other->kernel_end, 0);
	}
	if (error != cudaSuccess)
		return error;
	if (uploads)
		return round_centroids(device, slot);
	if (filter != NULL)
		return hy_cuda_assign_filter_launch(device, filter, slot, &args,
		                                    rest_of(args.found, args.row_count));
	return hy_cuda_launch_assign(&args, device->multiprocessors, slot->stream);
}

/* round_centroids: queue the rounding of the next centroids.  All centroids have been uploaded. */
static cudaError_t
round_centroids(HyDevice *device, HyCudaSlot *slot)
{
	HyCudaAssignment *assignment = device->task.assignment;
	cudaError_t error = hy_cuda_assign_filter_round(
		assignment->filter, (const float *) (const void *) assignment->memory, slot->stream);

	if (assignment->filter->rounded == assignment->filter->plan.centroids)
		assignment->section = SECTIONS;
	return error;
}

/*
 * groups_of: return the arrays with which a slot sorts its rows by group.  In the slot's result
 * memory, arrays with larger alignment come first.  The memory for lists comes last.
 */
static HyCudaAssignGroups
groups_of(const HyDevice *device, const HyCudaSlot *slot)
{
	const HyCudaAssignment *assignment = device->task.assignment;
	const HyAssignTask *task = &device->task.task.u.assign;
	uint64_t met = (uint64_t) slot->chunk.row_count * (uint64_t) task->groups.probes;
	uint64_t end = aligned((uint64_t) slot->chunk.row_count * sizeof(uint64_t));
	char *room = slot->device_down;
	HyCudaAssignGroups groups = {.groups = assignment->groups};
	char *numbers = assignment->memory + assignment->sorting[slot - device->slots];

	if (groups.groups == 0)
		return groups;
	groups.probes = task->groups.probes;
	groups.largest = assignment->largest;
	groups.centers =
		(const float *) (const void *) (assignment->memory + assignment->offset[CENTERS]);
	groups.begin =
		(const int32_t *) (const void *) (assignment->memory + assignment->offset[BEGIN]);
	groups.counts = (int32_t *) (void *) numbers;
	groups.firsts = groups.counts + groups.groups;
	groups.tiles = groups.firsts + groups.groups + 1;
	groups.met = (HyNeighbor *) (void *) (room + end);
	end += met * sizeof(HyNeighbor);
	groups.members = (int32_t *) (void *) (room + end);
	end += aligned(met * sizeof(int32_t));
	groups.lists = (HyNeighbor *) (void *) (room + end);
	groups.list_bytes = device->scratch.down - end;
	return groups;
}

static HyStatus
assign_down(HyDevice *device, HyCudaSlot *slot)
{
	uint64_t bytes = (uint64_t) slot->chunk.row_count * sizeof(uint64_t);
	uint64_t beside = filter_of(device, slot) != NULL ? sizeof(HyCudaAssignRest) : 0;
	cudaError_t error;

	if (device->task.assignment->uploads[slot - device->slots])
		return HY_OK;
	error = cudaMemcpyAsync(slot->pinned_down, slot->device_down, bytes + beside,
	                        cudaMemcpyDeviceToHost, slot->stream);
	if (error != cudaSuccess)
		return hy_cuda_fail(device, error, "copying the nearest down");
	device->task.bytes_down += bytes;
	return HY_OK;
}

static void
assign_collect(HyDevice *device, const HyCudaSlot *slot)
{
	HyCudaAssignment *assignment = device->task.assignment;
	const uint64_t *found = slot->pinned_down;
	int32_t *nearest = device->task.task.u.assign.nearest + slot->chunk.first_row;
	int64_t i;

	if (assignment->uploads[slot - device->slots])
		return;
	if (filter_of(device, slot) != NULL)
		hy_cuda_assign_filter_record(assignment->filter,
		                             rest_of(slot->pinned_down, slot->chunk.row_count),
		                             slot->chunk.row_count);
	for (i = 0; i < slot->chunk.row_count; i++)
	{
		uint64_t least = found[i];

		if (in_parts(device, slot))
		{
			least = least < assignment->found[i] ? least : assignment->found[i];
			assignment->found[i] = least;
		}
		nearest[i] = least == HY_CUDA_ASSIGN_NONE ? 0 : (int32_t) (least & UINT32_MAX);
	}
}

static void
assign_end(HyDevice *device)
{
	HyCudaAssignment *assignment = device->task.assignment;

	if (assignment == NULL)
		return;
	hy_cuda_assign_filter_end(device, assignment->filter);
	if (assignment->block != NULL)
		hy_cuda_give(device, assignment->block);
	hy_free(device->host->allocator, assignment);
	device->task.assignment = NULL;
}
