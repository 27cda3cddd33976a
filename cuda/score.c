/*
 * score.c
 *		The operation 'score_codes': while all blocks of codes are processed, the k best rows of a
 *		group of queries stay on the device.
 *
 * The lookup tables of a group's queries are uploaded together.  The k best rows of each query
 * start empty.  Every piece updates them, and after the last piece they are copied to the host.  A
 * piece consists of some blocks, and of the data that the lists of these blocks have for the
 * group's queries.  The kernels of a piece need the k best rows so far, so they wait for the
 * previous piece.  The blocks are uploaded during the wait.
 */
#include <math.h>
#include <string.h>

#include "cuda/copy.h"
#include "cuda/pipeline.h"
#include "cuda/score_launch.h"

#define ALIGNED 16
/*
 * Bytes at the start of a slot's result memory for the counters: the number of rows found for each
 * query in a step.
 */
#define COUNTS (HY_CUDA_SCORE_GROUP * sizeof(unsigned))
/*
 * A step (one pass of the kernels over some rows of a piece) has room for at least this many rows.
 */
#define STEP_ROWS (8 * HY_CODE_ROWS)

/* Upload: the byte offsets of the parts of a piece's upload, which begins with the codes. */
typedef struct Upload
{
	uint64_t factors;
	uint64_t list;
	uint64_t live;
	uint64_t reach;
	uint64_t bytes;
} Upload;

static HyCaps score_caps(const HyShape *shape);
static void
score_estimate(const HyCudaScratch *scratch, const HyShape *shape, HyEstimate *estimate);
static int32_t group_of(const HyCudaScratch *scratch, int64_t queries, int32_t padded, int32_t k);
static HyStatus score_check(HyDevice *device, const HyTask *task);
static void score_begin(HyDevice *device);
static HyCudaNext score_next(HyDevice *device, HyCudaSlot *slot);
static HyStatus score_up(HyDevice *device, HyCudaSlot *slot);
static HyStatus start_group(HyDevice *device, const HyCudaChunk *chunk);
static HyStatus blocks_up(HyDevice *device, HyCudaSlot *slot);
static void
stage_blocks(const HyDevice *device, int32_t first, int32_t count, char *to, const Upload *upload);
static int32_t stage_lists(const HyScoreTask *task, const HyCudaChunk *chunk, int32_t *list,
                           char *to, const Upload *upload);
static Upload lay_out(const HyScoreRows *rows, int64_t blocks, int64_t lists, int64_t queries);
static cudaError_t score_launch(HyDevice *device, HyCudaSlot *slot);
static HyStatus score_down(HyDevice *device, HyCudaSlot *slot);
static void score_collect(HyDevice *device, const HyCudaSlot *slot);
static float bound_of(uint64_t key);

const HyCudaOperation hy_cuda_score = {.caps = score_caps,
                                       .estimate = score_estimate,
                                       .check = score_check,
                                       .begin = score_begin,
                                       .next = score_next,
                                       .up = score_up,
                                       .launch = score_launch,
                                       .down = score_down,
                                       .collect = score_collect};

/* block_bytes: return the bytes to upload for a block, without the data of the block's list. */
static inline uint64_t
block_bytes(int32_t padded)
{
	return hy_code_block_size(padded) + sizeof(HyCodeFactors) + sizeof(int32_t) + sizeof(uint32_t);
}

/* query_bytes: return the bytes to upload for a query. */
static inline uint64_t
query_bytes(int32_t padded)
{
	return hy_code_tables_size(padded) + sizeof(HyCudaScoreQuery);
}

static inline bool
starts_group(const HyCudaSlot *slot)
{
	return slot->chunk.first_row == 0;
}

static inline bool
ends_group(const HyDevice *device, const HyCudaSlot *slot)
{
	return slot->chunk.first_row + slot->chunk.row_count == device->task.task.u.score.rows.blocks;
}

/* best_bytes: return the bytes of the k best rows of the group's queries. */
static inline uint64_t
best_bytes(const HyDevice *device, const HyCudaSlot *slot)
{
	return (uint64_t) slot->chunk.query_count * (uint64_t) device->task.task.u.score.k *
	       sizeof(uint64_t);
}

static HyCaps
score_caps(const HyShape *shape)
{
	HyCaps caps = {.numeric_class = HY_CLASS_EXACT};

	if (shape->dtype != HY_F32 || shape->metric != HY_METRIC_L2)
		caps.reason = "the CUDA backend knows codes of one kind only";
	else if (shape->dims < 1 || shape->dims > HY_MAX_DIMS)
		caps.reason = "too many dimensions for the CUDA backend";
	else
	{
		caps.ok = true;
		caps.max_targets = HY_CUDA_SCORE_ROWS;
		caps.max_k = HY_SCORE_MOST;
	}
	return caps;
}

/*
 * score_estimate: estimate the transfers.  A shape does not contain the number of lists, so one
 * list is assumed.
 */
static void
score_estimate(const HyCudaScratch *scratch, const HyShape *shape, HyEstimate *estimate)
{
	uint64_t queries = shape->queries > 0 ? (uint64_t) shape->queries : 0;
	uint64_t blocks = shape->targets > 0 ? (uint64_t) shape->targets / HY_CODE_ROWS : 0;
	int32_t k = shape->k > 0 ? shape->k : 1;
	uint64_t group;

	if (queries == 0 || blocks == 0)
		return;
	group = (uint64_t) group_of(scratch, shape->queries, shape->dims, k);
	estimate->bytes_down = queries * (uint64_t) k * sizeof(uint64_t);
	/* the codes are uploaded again for every group of queries */
	estimate->bytes_up = queries * (query_bytes(shape->dims) + sizeof(HyCudaScoreReach)) +
	                     (queries + group - 1) / group * blocks * block_bytes(shape->dims);
}

/*
 * group_of: return the number of queries in a group, at least 1.  The scratch must hold the group's
 * queries and results, together with one block of codes and the data of the block's list.
 */
static int32_t
group_of(const HyCudaScratch *scratch, int64_t queries, int32_t padded, int32_t k)
{
	uint64_t group = queries < HY_CUDA_SCORE_GROUP ? (uint64_t) queries : HY_CUDA_SCORE_GROUP;
	uint64_t most[] = {scratch->queries / query_bytes(padded),
	                   scratch->best / ((uint64_t) k * sizeof(uint64_t)),
	                   (scratch->down - COUNTS) / (STEP_ROWS * sizeof(uint64_t)),
	                   (scratch->up - block_bytes(padded) - ALIGNED) / sizeof(HyCudaScoreReach)};
	size_t i;

	for (i = 0; i < sizeof(most) / sizeof(most[0]); i++)
		group = group < most[i] ? group : most[i];
	return (int32_t) group;
}

static HyStatus
score_check(HyDevice *device, const HyTask *task)
{
	(void) device;
	(void) task;
	return HY_OK; /* hy_task_check has checked everything */
}

static void
score_begin(HyDevice *device)
{
	const HyScoreTask *task = &device->task.task.u.score;
	int32_t q;

	/* without blocks, no piece sets the counts */
	for (q = 0; q < task->queries.count; q++)
		task->counts[q] = 0;
}

static HyCudaNext
score_next(HyDevice *device, HyCudaSlot *slot)
{
	const HyScoreTask *task = &device->task.task.u.score;
	const HyCudaScratch *scratch = &device->scratch;
	HyCudaScoring *scoring = &device->task.scoring;
	HyCudaChunk chunk = scoring->last;
	int32_t padded = task->rows.padded;
	uint64_t block;
	int64_t count;
	int64_t paced;

	if (task->rows.blocks == 0)
		return HY_CUDA_END;
	chunk.first_row += chunk.row_count;
	if (chunk.query_count == 0 || chunk.first_row == task->rows.blocks)
	{
		chunk.first_query += chunk.query_count;
		chunk.first_row = 0;
		if (chunk.first_query == task->queries.count)
			return HY_CUDA_END;
		/* Pieces in flight still read the queries that the new group replaces. */
		if (!hy_cuda_all_idle(device))
			return HY_CUDA_WAIT;
		chunk.query_count =
			group_of(scratch, task->queries.count - chunk.first_query, padded, task->k);
		scoring->list = 0;
	}
	/* assume the worst case, in which every block belongs to a different list */
	block = block_bytes(padded) + (uint64_t) chunk.query_count * sizeof(HyCudaScoreReach);
	count = (int64_t) ((scratch->up - ALIGNED) / block);
	paced = (int64_t) (device->pace[HY_OP_SCORE_CODES].work /
	                   hy_cuda_work(padded, chunk.query_count, HY_CODE_ROWS));
	count = count < paced ? count : paced;
	count = count > 1 ? count : 1;
	if (count > task->rows.blocks - chunk.first_row)
		count = task->rows.blocks - chunk.first_row;
	chunk.row_count = count;
	scoring->last = chunk;
	slot->chunk = chunk;
	slot->work = hy_cuda_work(padded, chunk.query_count, count * HY_CODE_ROWS);
	return HY_CUDA_PIECE;
}

static HyStatus
score_up(HyDevice *device, HyCudaSlot *slot)
{
	cudaError_t error = cudaSuccess;
	HyStatus status = HY_OK;
	int i;

	if (starts_group(slot))
		status = start_group(device, &slot->chunk);
	if (status == HY_OK)
		status = blocks_up(device, slot);
	for (i = 0; i < HY_CUDA_SLOTS && status == HY_OK && error == cudaSuccess; i++)
	{
		HyCudaSlot *other = &device->slots[i];

		if (other != slot && other->busy)
			error = cudaStreamWaitEvent(slot->stream, other->kernel_end, 0);
	}
	if (error != cudaSuccess)
		return hy_cuda_fail(device, error, "ordering pieces");
	return status;
}

/*
 * start_group: upload the tables of the group's queries, and set the k best rows of each query to
 * empty entries.
 */
static HyStatus
start_group(HyDevice *device, const HyCudaChunk *chunk)
{
	const HyScoreTask *task = &device->task.task.u.score;
	uint64_t tables = hy_code_tables_size(task->rows.padded);
	uint64_t bytes = (uint64_t) chunk->query_count * query_bytes(task->rows.padded);
	char *staged = (char *) device->pinned_queries;
	cudaStream_t stream = device->slots[0].stream;
	cudaError_t error;
	int32_t q;
	int i;

	for (q = 0; q < chunk->query_count; q++)
	{
		const HyCodeQuery *query = &task->queries.query[chunk->first_query + q];
		HyCudaScoreQuery known = {query->scale, query->offset, query->slack, 0};

		memcpy(staged + (uint64_t) q * tables, query->tables, tables);
		memcpy(staged + (uint64_t) chunk->query_count * tables + (uint64_t) q * sizeof(known),
		       &known, sizeof(known));
	}
	error = cudaMemcpyAsync(device->device_queries, staged, bytes, cudaMemcpyHostToDevice, stream);
	/* all bits set: no row */
	if (error == cudaSuccess)
		error = cudaMemsetAsync(device->device_best, 0xff,
		                        (size_t) chunk->query_count * (size_t) task->k * sizeof(uint64_t),
		                        stream);
	if (error != cudaSuccess)
		return hy_cuda_fail(device, error, "copying queries up");
	error = cudaEventRecord(device->queries_ready, stream);
	for (i = 1; i < HY_CUDA_SLOTS && error == cudaSuccess; i++)
		error = cudaStreamWaitEvent(device->slots[i].stream, device->queries_ready, 0);
	if (error != cudaSuccess)
		return hy_cuda_fail(device, error, "ordering streams");
	device->task.bytes_up += bytes;
	return HY_OK;
}

static HyStatus
blocks_up(HyDevice *device, HyCudaSlot *slot)
{
	const HyScoreTask *task = &device->task.task.u.score;
	HyCudaScoring *scoring = &device->task.scoring;
	const HyCudaChunk *chunk = &slot->chunk;
	int32_t blocks = (int32_t) chunk->row_count;
	int32_t lists;
	Upload upload = lay_out(&task->rows, blocks, 0, chunk->query_count);
	cudaError_t error;

	stage_blocks(device, task->rows.first + (int32_t) chunk->first_row, blocks, slot->pinned_up,
	             &upload);
	lists = stage_lists(task, chunk, &scoring->list, slot->pinned_up, &upload);
	scoring->lists[slot - device->slots] = lists;
	upload = lay_out(&task->rows, blocks, lists, chunk->query_count);
	error = cudaMemcpyAsync(slot->device_up, slot->pinned_up, upload.bytes, cudaMemcpyHostToDevice,
	                        slot->stream);
	if (error != cudaSuccess)
		return hy_cuda_fail(device, error, "copying codes up");
	device->task.bytes_up += upload.bytes;
	return HY_OK;
}

/*
 * stage_blocks: copy `count` blocks, beginning with block `first`, to pinned memory without gaps.
 */
static void
stage_blocks(const HyDevice *device, int32_t first, int32_t count, char *to, const Upload *upload)
{
	const HyScoreRows *rows = &device->task.task.u.score.rows;
	size_t size = hy_code_block_size(rows->padded);
	HyCudaCopy copies[] = {
		{.kind = HY_CUDA_COPY_UP,
	     .from = (const char *) rows->codes + (size_t) first * rows->code_stride,
	     .from_stride = rows->code_stride,
	     .to = to,
	     .to_stride = size,
	     .bytes = size,
	     .rows = count},
		{.kind = HY_CUDA_COPY_UP,
	     .from = (const char *) rows->factors + (size_t) first * rows->factor_stride,
	     .from_stride = rows->factor_stride,
	     .to = to + upload->factors,
	     .to_stride = sizeof(HyCodeFactors),
	     .bytes = sizeof(HyCodeFactors),
	     .rows = count},
		hy_cuda_copy_of(HY_CUDA_COPY_UP, to + upload->live, rows->live + first,
	                    (size_t) count * sizeof(uint32_t))};

	hy_cuda_copy(device->host, HY_OP_SCORE_CODES, copies, 3);
}

/*
 * stage_lists: copy the list number of each block, and the data of these lists, to pinned memory.
 * Lists are numbered within the piece.  Returns the number of lists.  On entry, *list is a list of
 * the task that is not after the first block's list.  On return, *list is the list of the last
 * block.
 */
static int32_t
stage_lists(const HyScoreTask *task, const HyCudaChunk *chunk, int32_t *list, char *to,
            const Upload *upload)
{
	const HyScoreRows *rows = &task->rows;
	const HyScoreQueries *queries = &task->queries;
	int32_t first = rows->first + (int32_t) chunk->first_row;
	int32_t lists = 0;
	int32_t staged = -1;
	int32_t b;
	int32_t q;

	for (b = 0; b < chunk->row_count; b++)
	{
		while (rows->begin[*list + 1] <= first + b)
			++*list;
		if (*list != staged)
		{
			for (q = 0; q < chunk->query_count; q++)
			{
				const HyScoreReach *reach =
					&queries->reach[(chunk->first_query + q) * queries->reach_stride + *list];
				HyCudaScoreReach known = {.base = reach->base, .reach = reach->reach};

				memcpy(to + upload->reach +
				           ((uint64_t) lists * (uint64_t) chunk->query_count + (uint64_t) q) *
				               sizeof(known),
				       &known, sizeof(known));
			}
			staged = *list;
			lists++;
		}
		((int32_t *) (void *) (to + upload->list))[b] = lists - 1;
	}
	return lists;
}

/*
 * lay_out: compute the layout for this many blocks and lists.  Only `bytes` depends on the number
 * of lists.
 */
static Upload
lay_out(const HyScoreRows *rows, int64_t blocks, int64_t lists, int64_t queries)
{
	uint64_t count = (uint64_t) blocks;
	Upload upload;

	upload.factors = count * hy_code_block_size(rows->padded);
	upload.list = upload.factors + count * sizeof(HyCodeFactors);
	upload.live = upload.list + count * sizeof(int32_t);
	upload.reach =
		(upload.live + count * sizeof(uint32_t) + ALIGNED - 1) / ALIGNED * (uint64_t) ALIGNED;
	upload.bytes = upload.reach + (uint64_t) lists * (uint64_t) queries * sizeof(HyCudaScoreReach);
	return upload;
}

static cudaError_t
score_launch(HyDevice *device, HyCudaSlot *slot)
{
	const HyScoreTask *task = &device->task.task.u.score;
	const HyCudaChunk *chunk = &slot->chunk;
	int32_t lists = device->task.scoring.lists[slot - device->slots];
	Upload upload = lay_out(&task->rows, chunk->row_count, lists, chunk->query_count);
	uint64_t room = (device->scratch.down - COUNTS) /
	                ((uint64_t) chunk->query_count * HY_CODE_ROWS * sizeof(uint64_t)) *
	                HY_CODE_ROWS;
	const char *tables = (const char *) device->device_queries;
	char *up = slot->device_up;
	char *down = slot->device_down;
	HyCudaScore args = {.tables = (const uint8_t *) tables,
	                    .query =
	                        (const void *) (tables + (uint64_t) chunk->query_count *
	                                                     hy_code_tables_size(task->rows.padded)),
	                    .codes = (const uint8_t *) up,
	                    .factors = (const void *) (up + upload.factors),
	                    .list = (const void *) (up + upload.list),
	                    .live = (const void *) (up + upload.live),
	                    .reach = (void *) (up + upload.reach),
	                    .query_count = chunk->query_count,
	                    .blocks = (int32_t) chunk->row_count,
	                    .lists = lists,
	                    .padded = task->rows.padded,
	                    .k = task->k,
	                    .eps = task->queries.eps,
	                    .first_row = (uint32_t) (chunk->first_row * HY_CODE_ROWS),
	                    .room = (uint32_t) room,
	                    .best = (void *) device->device_best,
	                    .found = (void *) (down + COUNTS),
	                    .counts = (void *) down};

	return hy_cuda_launch_score(&args, device->multiprocessors, slot->stream);
}

static HyStatus
score_down(HyDevice *device, HyCudaSlot *slot)
{
	uint64_t bytes = best_bytes(device, slot);
	cudaError_t error;

	if (!ends_group(device, slot))
		return HY_OK;
	error = cudaMemcpyAsync(slot->pinned_down, device->device_best, bytes, cudaMemcpyDeviceToHost,
	                        slot->stream);
	if (error != cudaSuccess)
		return hy_cuda_fail(device, error, "copying the least down");
	device->task.bytes_down += bytes;
	return HY_OK;
}

static void
score_collect(HyDevice *device, const HyCudaSlot *slot)
{
	const HyScoreTask *task = &device->task.task.u.score;
	const HyCudaChunk *chunk = &slot->chunk;
	int64_t first = (int64_t) task->rows.first * HY_CODE_ROWS;
	int32_t q;
	int32_t i;

	if (!ends_group(device, slot))
		return;
	for (q = 0; q < chunk->query_count; q++)
	{
		const uint64_t *best = (const uint64_t *) slot->pinned_down + (int64_t) q * task->k;
		int64_t query = chunk->first_query + q;
		HyNeighbor *out = task->out + query * task->k;

		for (i = 0; i < task->k && best[i] != HY_CUDA_SCORE_NONE; i++)
			out[i] = (HyNeighbor){.distance = (double) bound_of(best[i]),
			                      .row = first + (int64_t) (best[i] >> 1 & INT32_MAX)};
		task->counts[query] = i;
	}
}

/* bound_of: return the bound in a row's key (score_launch.h). */
static float
bound_of(uint64_t key)
{
	uint32_t bits = (uint32_t) (key >> 32);
	float bound;

	bits = (bits & 0x80000000u) != 0 ? bits ^ 0x80000000u : ~bits;
	memcpy(&bound, &bits, sizeof(bound));
	return (key & 1) != 0 ? -bound : bound;
}
