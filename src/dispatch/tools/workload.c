/*
 * workload.c
 *		Generates tasks and runs them for measurements: see workload.h.
 */
#include "dispatch/tools/workload.h"

#include <string.h>

#include "core/rotation.h"
#include "dispatch/route/session.h"
#include "dispatch/run/device_run.h"
#include "dispatch/run/member.h"

#define LEAST_MEMORY UINT64_C(1048576)
#define HOPS 10
#define EDGES_PER_NODE 4

struct HyWorkload
{
	const HyAllocator *allocator;
	const HyCancel *cancel;
	uint64_t bytes;
	uint64_t used;    /* bytes of the block used by the current task */
	uint64_t vectors; /* bytes at the start of the block that hold fp32 numbers in [-1, 1) */
	char *block;
	HyCsr graph;
	int64_t start[65];
	int32_t begin[2];
};

static void *carve(HyWorkload *workload, uint64_t count, uint64_t size);
static void fill(HyWorkload *workload);
static bool vector_task(HyWorkload *workload, const HyShape *shape, HyTask *task);
static bool score_task(HyWorkload *workload, const HyShape *shape, HyTask *task);
static bool spread_task(HyWorkload *workload, const HyShape *shape, HyTask *task);
static uint64_t random_of(uint64_t seed);

HyStatus
hy_workload_create(const HyAllocator *allocator, const HyCancel *cancel, uint64_t memory,
                   HyWorkload **workload)
{
	HyWorkload *w = hy_alloc_zero(allocator, sizeof(HyWorkload));

	*workload = NULL;
	if (w == NULL)
		return HY_NOMEM;
	w->allocator = allocator;
	w->cancel = cancel;
	w->bytes = memory > LEAST_MEMORY ? memory : LEAST_MEMORY;
	w->block = hy_alloc(allocator, w->bytes);
	if (w->block == NULL)
	{
		hy_free(allocator, w);
		return HY_NOMEM;
	}
	*workload = w;
	return HY_OK;
}

void
hy_workload_destroy(HyWorkload *workload)
{
	if (workload == NULL)
		return;
	hy_free(workload->allocator, workload->block);
	hy_free(workload->allocator, workload);
}

bool
hy_workload_task(HyWorkload *workload, const HyShape *shape, HyTask *task)
{
	memset(task, 0, sizeof(*task));
	task->op = shape->op;
	task->allocator = workload->allocator;
	task->cancel = workload->cancel;
	workload->used = 0;
	if (shape->queries < 1 || shape->targets < 1 || shape->resident)
		return false;
	switch (shape->op)
	{
		case HY_OP_DISTANCE:
		case HY_OP_TOPK:
		case HY_OP_ASSIGN:
			return vector_task(workload, shape, task) && hy_task_check(task) == HY_OK;
		case HY_OP_SPREAD:
			return spread_task(workload, shape, task) && hy_task_check(task) == HY_OK;
		case HY_OP_SCORE_CODES:
			return score_task(workload, shape, task) && hy_task_check(task) == HY_OK;
	}
	return false;
}

HyStatus
hy_workload_run(HyExecutor *executor, int32_t device, const HyTask *task, uint64_t *ns)
{
	HyMember *member = &executor->member[device];
	HyStatus st;

	if (device == 0)
	{
		uint64_t since = hy_now(executor);
		HyTicket ticket;
		HyTimings timings;
		bool done;

		st = member->backend->submit(member->device, task, &ticket);
		if (st == HY_OK)
			st = member->backend->poll(member->device, ticket, &done, &timings);
		*ns = hy_now(executor) - since;
	}
	else
	{
		HyShape shape = hy_task_shape(task);
		HyDeviceRun run;

		/*
		 * if an earlier canceled task still ran on the device, its time would be measured as well
		 */
		if (!hy_member_settle(executor, member) || member->device == NULL)
			return HY_BUSY;
		hy_device_run(executor, member, task, &shape, &run);
		st = run.status;
		*ns = run.finished_ns - run.started_ns;
	}
	return st;
}

/* carve: reserve `count` elements of `size` bytes in the block; return NULL if they do not fit. */
static void *
carve(HyWorkload *workload, uint64_t count, uint64_t size)
{
	uint64_t bytes;
	void *at;

	if (__builtin_mul_overflow(count, size, &bytes) || bytes > workload->bytes - 64 ||
	    workload->used > workload->bytes - 64 - bytes)
		return NULL;
	at = workload->block + workload->used;
	workload->used += (bytes + 63) & ~UINT64_C(63);
	if (workload->used > workload->bytes)
		workload->used = workload->bytes;
	return at;
}

/*
 * fill: fill the used part of the block with vectors.  The block may contain outputs of an earlier
 * task.  Read as floats, such outputs could be NaN or subnormal, and slow down arithmetic.
 */
static void
fill(HyWorkload *workload)
{
	float *at = (float *) (void *) workload->block;
	uint64_t floats = workload->used / sizeof(float);
	uint64_t i;

	for (i = workload->vectors / sizeof(float); i < floats; i++)
		at[i] = (float) (int32_t) (i * UINT64_C(2654435761) >> 8 & 0xffffff) * 0x1p-23f - 1;
	workload->vectors = workload->used;
}

static bool
vector_task(HyWorkload *workload, const HyShape *shape, HyTask *task)
{
	uint64_t row = (uint64_t) shape->dims * sizeof(float);
	HyMatrix matrix = {.dtype = HY_F32, .dims = shape->dims, .stride = row};
	HyMatrix queries = matrix;
	HyMatrix targets = matrix;
	void *out;
	void *counts = NULL;

	if (shape->dtype != HY_F32 || shape->dims < 1)
		return false;
	queries.rows = shape->queries;
	queries.data = carve(workload, (uint64_t) shape->queries, row);
	targets.rows = shape->targets;
	targets.data = carve(workload, (uint64_t) shape->targets, row);
	if (queries.data == NULL || targets.data == NULL)
		return false;
	fill(workload);
	if (shape->op == HY_OP_DISTANCE)
		out = carve(workload, (uint64_t) hy_shape_items(shape), sizeof(double));
	else if (shape->op == HY_OP_ASSIGN)
		out = carve(workload, (uint64_t) shape->queries, sizeof(int32_t));
	else
	{
		out = carve(workload, (uint64_t) shape->queries * (uint64_t) shape->k, sizeof(HyNeighbor));
		counts = carve(workload, (uint64_t) shape->queries, sizeof(int32_t));
		if (counts == NULL)
			return false;
	}
	if (out == NULL)
		return false;
	if (shape->op == HY_OP_DISTANCE)
		task->u.distance = (HyDistanceTask){
			.metric = shape->metric, .queries = queries, .targets = targets, .out = out};
	else if (shape->op == HY_OP_ASSIGN)
		task->u.assign = (HyAssignTask){.rows = queries, .centroids = targets, .nearest = out};
	else
		task->u.topk = (HyTopKTask){.metric = shape->metric,
		                            .queries = queries,
		                            .targets = targets,
		                            .k = shape->k,
		                            .out = out,
		                            .counts = counts};
	return true;
}

/*
 * score_task: make a task over whole blocks of codes in one list.  In the last block, rows beyond
 * the shape's number of targets are marked dead.
 */
static bool
score_task(HyWorkload *workload, const HyShape *shape, HyTask *task)
{
	HyScoreTask *score = &task->u.score;
	HyScoreRows *rows = &score->rows;
	uint64_t blocks = ((uint64_t) shape->targets + HY_CODE_ROWS - 1) / HY_CODE_ROWS;
	uint64_t queries = (uint64_t) shape->queries;
	HyCodeFactors *factors;
	HyCodeQuery *query;
	HyScoreReach *reach;
	uint32_t *live;
	float *vector;
	uint8_t *tables;
	uint64_t i;
	int j;

	if (shape->dtype != HY_F32 || shape->dims < 1 || shape->dims % HY_ROTATION_STEP != 0 ||
	    blocks > INT32_MAX || queries > INT32_MAX)
		return false;
	/* any bytes are valid codes, so use those of the vectors */
	rows->codes = carve(workload, blocks, hy_code_block_size(shape->dims));
	vector = carve(workload, (uint64_t) shape->dims, sizeof(float));
	if (rows->codes == NULL || vector == NULL)
		return false;
	fill(workload);
	factors = carve(workload, blocks, sizeof(HyCodeFactors));
	live = carve(workload, blocks, sizeof(uint32_t));
	query = carve(workload, queries, sizeof(HyCodeQuery));
	tables = carve(workload, queries, hy_code_tables_size(shape->dims));
	reach = carve(workload, queries, sizeof(HyScoreReach));
	score->out = carve(workload, queries * (uint64_t) shape->k, sizeof(HyNeighbor));
	score->counts = carve(workload, queries, sizeof(int32_t));
	if (factors == NULL || live == NULL || query == NULL || tables == NULL || reach == NULL ||
	    score->out == NULL || score->counts == NULL)
		return false;

	for (i = 0; i < blocks; i++)
	{
		for (j = 0; j < HY_CODE_ROWS; j++)
		{
			factors[i].add[j] =
				(float) (random_of(i * HY_CODE_ROWS + (uint64_t) j) >> 44) * 0x1p-20f;
			factors[i].rescale[j] = -0.1f;
			factors[i].error[j] = 0.1f;
		}
		live[i] = UINT32_MAX;
	}
	if (shape->targets % HY_CODE_ROWS != 0)
		live[blocks - 1] = (UINT32_C(1) << shape->targets % HY_CODE_ROWS) - 1;
	for (i = 0; i < queries; i++)
	{
		hy_code_query_init(&query[i], vector, shape->dims,
		                   tables + i * hy_code_tables_size(shape->dims));
		reach[i] = (HyScoreReach){1, 1};
	}
	workload->begin[0] = 0;
	workload->begin[1] = (int32_t) blocks;
	rows->padded = shape->dims;
	rows->lists = 1;
	rows->begin = workload->begin;
	rows->code_stride = hy_code_block_size(shape->dims);
	rows->factors = factors;
	rows->factor_stride = sizeof(HyCodeFactors);
	rows->live = live;
	rows->blocks = (int32_t) blocks;
	score->queries = (HyScoreQueries){(int32_t) queries, query, reach, 1, 2};
	score->k = shape->k;
	return true;
}

static bool
spread_task(HyWorkload *workload, const HyShape *shape, HyTask *task)
{
	HySpreadTask *spread = &task->u.spread;
	HyCsr *graph = &workload->graph;
	uint64_t edges = (uint64_t) shape->targets;
	uint64_t nodes = edges / EDGES_PER_NODE + 1;
	uint64_t sets = (uint64_t) shape->queries;
	double *value;
	uint32_t *node;
	uint64_t e = 0;
	uint64_t i;

	if (sets >= sizeof(workload->start) / sizeof(workload->start[0]) || edges > UINT32_MAX)
		return false;
	workload->vectors = 0;
	memset(graph, 0, sizeof(*graph));
	graph->nodes = (int64_t) nodes;
	graph->edges = (int64_t) edges;
	graph->row_start = carve(workload, nodes + 1, sizeof(uint32_t));
	graph->column = carve(workload, edges, sizeof(uint32_t));
	graph->weight = carve(workload, edges, sizeof(float));
	graph->out_weight = carve(workload, nodes, sizeof(double));
	node = carve(workload, sets, sizeof(uint32_t));
	value = carve(workload, sets, sizeof(double));
	spread->activation = carve(workload, nodes * sets, sizeof(double));
	spread->hop = carve(workload, nodes * sets, sizeof(int32_t));
	if (graph->row_start == NULL || graph->column == NULL || graph->weight == NULL ||
	    graph->out_weight == NULL || node == NULL || value == NULL || spread->activation == NULL ||
	    spread->hop == NULL)
		return false;

	memset(graph->out_weight, 0, nodes * sizeof(double));
	for (i = 0; i < nodes; i++)
	{
		uint64_t band = nodes / EDGES_PER_NODE > 0 ? nodes / EDGES_PER_NODE : 1;
		uint64_t b;

		graph->row_start[i] = (uint32_t) e;
		/*
		 * one source node from each quarter of the nodes, so that the sources are distinct and in
		 * order
		 */
		for (b = 0; b < EDGES_PER_NODE && b * band < nodes && e < edges; b++, e++)
		{
			graph->column[e] = (uint32_t) (b * band + random_of(e) % band);
			graph->weight[e] = (float) (1 + random_of(e + edges) % 1000) / 1000;
			graph->out_weight[graph->column[e]] += (double) graph->weight[e];
		}
	}
	graph->row_start[nodes] = (uint32_t) e;
	graph->edges = (int64_t) e;
	for (i = 0; i < sets; i++)
	{
		workload->start[i] = (int64_t) i;
		node[i] = (uint32_t) (random_of(i) % nodes);
		value[i] = 1;
	}
	workload->start[sets] = (int64_t) sets;
	spread->graph = graph;
	spread->params = (HySpreadParams){
		.decay = 0.8, .fan = 1, .hops = HOPS, .combine = HY_COMBINE_SUM, .tolerance = 1e-6};
	spread->seeds = (HySpreadSeeds){
		.sets = (int32_t) sets, .start = workload->start, .node = node, .value = value};
	return true;
}

/* random_of: return a pseudorandom number that depends only on the seed (splitmix64). */
static uint64_t
random_of(uint64_t seed)
{
	uint64_t z = seed * UINT64_C(0x9e3779b97f4a7c15) + UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}
