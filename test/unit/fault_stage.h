/*
 * fault_stage.h
 *		What the fault matrix is played on: an emulated device of a kind that the test sets, with a
 *		fault in mind, three small tasks, and what the CPU answers to them.
 */
#ifndef FAULT_STAGE_H
#define FAULT_STAGE_H

#include "core/distance.h"
#include "core/csr_build.h"
#include "core/topk.h"
#include "dispatch/route/session.h"
#include "dispatch/run/backend_cpu.h"
#include "dispatch/run/dispatcher.h"
#include "dispatch/run/flush.h"
#include "dispatch/run/record.h"
#include "dispatch/run/resident.h"
#include "unit.h"

#define DIMS 8
#define QUERIES 2
#define ROWS 96
#define K 7
#define NODES 32
#define EDGES 96
#define TIMEOUT_NS 3000000
#define CPU_ITEM_NS UINT64_C(5000)

extern const HyBackend *hy_plugin_entry(const HyHost *host);

typedef struct Kind
{
	const char *name;
	const char *launch_us;
	const char *bandwidth_gbs;
	const char *rate_gflops;
	const char *devices;
	const char *more_faults; /* it has of its own */
} Kind;

static const Kind *kind;
static char fault[256];
static UnitClock clock_;
static UnitMemory memory;

/* Contexts of a device that does not hear are left behind on purpose; the list keeps them in sight. */
typedef struct Block
{
	struct Block *next;
	struct Block *previous;
} Block;

static Block blocks = {&blocks, &blocks};

static float vectors[(QUERIES + ROWS) * DIMS];
static HyCsr graph;
static double distances[QUERIES * ROWS], expected_distances[QUERIES * ROWS];
static HyNeighbor nearest[QUERIES * K], expected_nearest[QUERIES * K];
static int32_t counts[QUERIES], expected_counts[QUERIES];
static double activation[NODES], expected_activation[NODES];
static int32_t hops[NODES], expected_hops[NODES];

static const char *
setting(void *arg, const char *name)
{
	(void) arg;
	if (strcmp(name, "emulated_launch_us") == 0)
		return kind->launch_us;
	if (strcmp(name, "emulated_bandwidth_gbs") == 0)
		return kind->bandwidth_gbs;
	if (strcmp(name, "emulated_rate_gflops") == 0)
		return kind->rate_gflops;
	if (strcmp(name, "emulated_devices") == 0)
		return kind->devices;
	if (strcmp(name, "emulated_faults") == 0)
		return fault;
	return NULL;
}

static void *
block_alloc(void *arg, size_t size)
{
	Block *block = malloc(sizeof(Block) + size);

	(void) arg;
	block->next = blocks.next;
	block->previous = &blocks;
	block->next->previous = block;
	blocks.next = block;
	return block + 1;
}

static void
block_free(void *arg, void *pointer)
{
	Block *block = (Block *) pointer - 1;

	(void) arg;
	if (pointer == NULL)
		return;
	block->next->previous = block->previous;
	block->previous->next = block->next;
	free(block);
}

static const HyAllocator device_memory = {block_alloc, block_free, NULL};

static HyTask
task_of(HyOp op)
{
	static const int64_t start[] = {0, 2};
	static const uint32_t node[] = {1, 5};
	static const double value[] = {1, 0.5};
	HyMatrix queries = {.dims = DIMS, .rows = QUERIES, .stride = DIMS * 4, .data = vectors};
	HyMatrix targets = {
		.dims = DIMS, .rows = ROWS, .stride = DIMS * 4, .data = vectors + QUERIES * DIMS};
	HyTask task = {.op = op, .allocator = &memory.allocator};

	if (op == HY_OP_DISTANCE)
		task.u.distance = (HyDistanceTask){HY_METRIC_COSINE, queries, targets, distances, 0};
	else if (op == HY_OP_TOPK)
		task.u.topk = (HyTopKTask){HY_METRIC_L2, queries, targets, K, nearest, counts, NULL};
	else
		task.u.spread = (HySpreadTask){.graph = &graph,
		                               .params = {.decay = 0.7,
		                                          .fan = 1,
		                                          .hops = 3,
		                                          .combine = HY_COMBINE_SUM,
		                                          .tolerance = 1e-6},
		                               .seeds = {1, start, node, value},
		                               .activation = activation,
		                               .hop = hops};
	return task;
}

/* wipe: outputs that nobody filled in cannot be right by chance. */
static void
wipe(void)
{
	memset(distances, 0x5a, sizeof(distances));
	memset(nearest, 0x5a, sizeof(nearest));
	memset(counts, 0x5a, sizeof(counts));
	memset(activation, 0x5a, sizeof(activation));
	memset(hops, 0x5a, sizeof(hops));
}

static bool
right(HyOp op)
{
	if (op == HY_OP_DISTANCE)
		return memcmp(distances, expected_distances, sizeof(distances)) == 0;
	if (op == HY_OP_TOPK)
		return memcmp(nearest, expected_nearest, sizeof(nearest)) == 0 &&
		       memcmp(counts, expected_counts, sizeof(counts)) == 0;
	return memcmp(activation, expected_activation, sizeof(activation)) == 0 &&
	       memcmp(hops, expected_hops, sizeof(hops)) == 0;
}

static void
prepare(void)
{
	HyEdge edges[EDGES];
	UnitRandom random = {4711};
	HyTask task;
	int i;

	unit_memory_init(&memory, 0);
	for (i = 0; i < (QUERIES + ROWS) * DIMS; i++)
		vectors[i] = unit_random_float(&random);
	for (i = 0; i < EDGES; i++)
		edges[i] = (HyEdge){i % NODES, i * 7 % NODES, 1 + (float) (i % 3)};
	CHECK_INT(hy_csr_build(edges, EDGES, HY_DIRECTION_OUT, &hy_malloc_allocator, NULL, &graph),
	          HY_OK);
	CHECK_INT(graph.nodes, NODES);

	task = task_of(HY_OP_DISTANCE);
	hy_distance_matrix(HY_METRIC_COSINE, &task.u.distance.queries, &task.u.distance.targets,
	                   expected_distances, NULL);
	task = task_of(HY_OP_TOPK);
	CHECK_INT(hy_topk_search(HY_METRIC_L2, &task.u.topk.queries, &task.u.topk.targets, K,
	                         expected_nearest, expected_counts, NULL),
	          HY_OK);
	task = task_of(HY_OP_SPREAD);
	CHECK_INT(hy_spread(&graph, &task.u.spread.params, &task.u.spread.seeds, &hy_malloc_allocator,
	                    NULL, &(HySpreadResult){expected_activation, expected_hops, NULL}),
	          HY_OK);
}

static const HyHost host = {
	.abi = HY_BACKEND_ABI, .clock = &clock_.clock, .allocator = &device_memory, .setting = setting};

/* set_fault: from now on; a rule that never applies makes each text new, which forgets what was lost. */
static void
set_fault(const char *text)
{
	static int serial;

	snprintf(fault, sizeof(fault), "%s%sfail_at=%d,op=assign", text, text[0] != '\0' ? "; " : "",
	         ++serial);
}

/* new_executor: with the CPU alone, on a clock that stands still. */
static HyExecutor *
new_executor(HyExecution execution)
{
	HyExecutor *executor;
	HyConfig config;
	int op;

	unit_clock_init(&clock_, 1000);
	CHECK_INT(hy_executor_create(&memory.allocator, &clock_.clock, NULL, &executor), HY_OK);
	hy_config_default(&config);
	config.execution = execution;
	strcpy(config.backend_name, "emulated");
	config.timeout_ns = TIMEOUT_NS;
	for (op = 0; op < HY_OP_COUNT; op++)
		config.min_batch[op] = 1;
	hy_executor_configure(executor, &config);
	return executor;
}

/* The CPU on the same clock, so slow that a device is worth it. */
static HyStatus
slow_submit(HyDevice *device, const HyTask *task, HyTicket *ticket)
{
	HyShape shape = hy_task_shape(task);

	clock_.time += CPU_ITEM_NS * (uint64_t) hy_shape_items(&shape);
	return hy_backend_cpu.submit(device, task, ticket);
}

static HyExecutor *
new_executor_on_a_slow_cpu(HyExecution execution)
{
	static HyBackend slow;
	HyExecutor *executor = new_executor(execution);

	slow = hy_backend_cpu;
	slow.submit = slow_submit;
	executor->member[0].backend = &slow;
	return executor;
}

#endif
