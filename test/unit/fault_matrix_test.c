/*
 * fault_matrix_test.c
 *		Every failure of a device, wherever it strikes, on every kind of device, under every wish of
 *		the user's: the answer is the CPU's to the bit, or a refusal that was asked for, and the books
 *		balance afterwards.
 */
#include "core/distance.h"
#include "core/topk.h"
#include "dispatch/dispatcher.h"
#include "unit.h"

#define DIMS 8
#define QUERIES 2
#define ROWS 96
#define K 7
#define NODES 32
#define EDGES 96
#define CALLS                                                                                      \
	9 /* of each combination, three of each operation; where both sides work four times as many */

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

static const Kind kinds[] = {
	{"a PCIe card", "20", "25", "5000", "1", ""},
	{"an integrated device", "5", "0", "500", "1", ""},
	{"a slow one that fails", "900", "0.5", "1", "1", "; in=poll,fail_rate=0.4,status=transient"},
	{"two cards", "20", "25", "5000", "2", "; device=1,fail_every=2"}};

static const char *const statuses[] = {
	"transient", "nomem",        "quota",       "busy",    "timeout", "cancelled",  "context_lost",
	"sticky",    "process_lost", "device_gone", "invalid", "bug",     "unsupported"};

static const char *const faults[] = {
	"",
	"in=%s,status=%s",
	"in=%s,status=%s,fail_at=2",
	"in=%s,status=%s,fail_every=3",
	"in=%s,status=%s,op=topk",
	"in=%s,status=%s,fail_rate=0.5",
};

static const HyExecution executions[] = {
	HY_EXECUTION_AUTO,       HY_EXECUTION_CPU,   HY_EXECUTION_GPU,  HY_EXECUTION_PREFER_CPU,
	HY_EXECUTION_PREFER_GPU, HY_EXECUTION_NAMED, HY_EXECUTION_SPLIT};

static const Kind *kind;
static int64_t reasons_seen[HY_REASON_COUNT];
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
static double gain[NODES];
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
		task.u.topk = (HyTopKTask){HY_METRIC_L2, queries, targets, K, nearest, counts};
	else
		task.u.spread = (HySpreadTask){
			&graph,
			gain,
			{.decay = 0.7, .fan = 1, .hops = 3, .combine = HY_COMBINE_SUM, .tolerance = 1e-6},
			{1, start, node, value},
			activation,
			hops};
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
	hy_spread_gain(&graph, 0.7, 1, gain);

	task = task_of(HY_OP_DISTANCE);
	hy_distance_matrix(HY_METRIC_COSINE, &task.u.distance.queries, &task.u.distance.targets,
	                   expected_distances, NULL);
	task = task_of(HY_OP_TOPK);
	CHECK_INT(hy_topk_search(HY_METRIC_L2, &task.u.topk.queries, &task.u.topk.targets, K,
	                         expected_nearest, expected_counts, NULL),
	          HY_OK);
	task = task_of(HY_OP_SPREAD);
	CHECK_INT(hy_spread(&graph, gain, &task.u.spread.params, &task.u.spread.seeds,
	                    &hy_malloc_allocator, NULL, expected_activation, expected_hops),
	          HY_OK);
}

/* Books: what the decisions said, to be compared with what was counted. */
typedef struct Books
{
	int64_t answered[HY_OP_COUNT];
	int64_t fallbacks[HY_OP_COUNT];
} Books;

static void
balance(const HyExecutor *executor, const Books *books)
{
	int op;

	for (op = 0; op < HY_OP_COUNT; op++)
	{
		int64_t calls = 0;
		int64_t fallbacks = 0;
		int32_t d;

		for (d = 0; d < hy_executor_devices(executor); d++)
		{
			const HyCounters *counters = hy_executor_counters(executor, d, (HyOp) op);
			int64_t by_status = 0;
			int64_t latencies = 0;
			int s, b;

			for (s = 1; s < HY_STATUS_COUNT; s++)
				by_status += counters->by_status[s];
			for (b = 0; b < HY_MAX_LATENCIES; b++)
				latencies += counters->latency[b];
			CHECK_INT(counters->failures, by_status);
			CHECK_INT(latencies, counters->calls);
			calls += counters->calls;
			fallbacks += counters->fallbacks;
		}
		CHECK_INT(calls, books->answered[op]);
		CHECK_INT(fallbacks, books->fallbacks[op]);
	}
}

static void
check_call(HyExecutor *executor, HyExecution execution, HyOp op, Books *books)
{
	bool must = execution == HY_EXECUTION_GPU || execution == HY_EXECUTION_NAMED;
	HyTask task = task_of(op);
	HyDecision decision;
	HyStatus st;

	wipe();
	st = hy_dispatch(executor, &task, &decision);
	if (st == HY_OK)
	{
		CHECK_MSG(right(op), "wrong answer of %s", hy_op_name(op));
		books->answered[op]++;
		CHECK(!must || (decision.device > 0 && !decision.fallback));
	}
	else
	{
		CHECK_MSG(must, "%s failed: %s", hy_op_name(op), hy_status_name(st));
		/* a lost context is opened again and the task retried once; the decision keeps the first */
		CHECK(decision.status == st || decision.status == HY_CONTEXT_LOST);
	}
	reasons_seen[decision.reason]++;
	if (decision.fallback)
	{
		CHECK(!must && decision.device > 0 && decision.status != HY_OK);
		books->fallbacks[op]++;
	}
	if (execution == HY_EXECUTION_CPU)
		CHECK(decision.device == 0 && decision.reason == HY_REASON_USER);
}

/* combination: a few calls of each operation on a new executor. */
static void
combination(HyExecution execution)
{
	static int serial;
	HyHost host = {.abi = HY_BACKEND_ABI,
	               .clock = &clock_.clock,
	               .allocator = &device_memory,
	               .setting = setting};
	/* until both sides are known each task is split, and then as it pays */
	int calls = execution == HY_EXECUTION_SPLIT ? 4 * CALLS : CALLS;
	int checks = unit_failed_checks;
	Books books = {{0}, {0}};
	HyExecutor *executor;
	HyConfig config;
	int op, i;

	/* a rule that never applies makes the text new, and forgets what was lost */
	snprintf(fault + strlen(fault), sizeof(fault) - strlen(fault), "%sfail_at=%d,op=assign",
	         fault[0] != '\0' ? "; " : "", ++serial);
	unit_clock_init(&clock_, 1000);
	CHECK_INT(hy_executor_create(&memory.allocator, &clock_.clock, NULL, &executor), HY_OK);
	(void) hy_executor_add_backend(executor, hy_plugin_entry(&host));
	hy_config_default(&config);
	config.execution = execution;
	strcpy(config.backend_name, "emulated");
	config.timeout_ns = 3000000;
	for (op = 0; op < HY_OP_COUNT; op++)
		config.min_batch[op] = 1;
	hy_executor_configure(executor, &config);

	for (i = 0; i < calls; i++)
	{
		static const HyOp ops[] = {HY_OP_DISTANCE, HY_OP_TOPK, HY_OP_SPREAD};

		check_call(executor, execution, ops[i % 3], &books);
	}
	balance(executor, &books);
	hy_executor_destroy(executor);
	if (unit_failed_checks > checks)
		printf("# the above with %s, %s, '%s'\n", kind->name, hy_execution_name(execution), fault);
}

static void
every_execution(void)
{
	char text[sizeof(fault)];
	size_t e;

	snprintf(text, sizeof(text), "%s", fault);
	for (e = 0; e < sizeof(executions) / sizeof(executions[0]); e++)
	{
		snprintf(fault, sizeof(fault), "%s", text);
		combination(executions[e]);
	}
}

static void
every_failure_everywhere(void)
{
	static const char *const places[] = {"open", "submit", "poll"};
	size_t k, f, p, s;

	for (k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
	{
		kind = &kinds[k];
		snprintf(fault, sizeof(fault), "%s", "fail_at=1000000");
		strncat(fault, kind->more_faults, sizeof(fault) - strlen(fault) - 1);
		every_execution();
		for (f = 1; f < sizeof(faults) / sizeof(faults[0]); f++)
		{
			for (p = 0; p < sizeof(places) / sizeof(places[0]); p++)
			{
				for (s = 0; s < sizeof(statuses) / sizeof(statuses[0]); s++)
				{
					snprintf(fault, sizeof(fault), faults[f], places[p], statuses[s]);
					strncat(fault, kind->more_faults, sizeof(fault) - strlen(fault) - 1);
					every_execution();
				}
			}
		}
	}
	/* what is said of modes and breakers above was put to the test */
	CHECK(reasons_seen[HY_REASON_SPLIT] > 1000 && reasons_seen[HY_REASON_UNRELIABLE] > 1000);
	CHECK_INT(memory.outstanding, 0);
	CHECK(blocks.next == &blocks);
}

static void
devices_that_hang_or_are_too_small(void)
{
	static const char *const texts[] = {"status=hang",
	                                    "status=hang,fail_every=2",
	                                    "op=topk,status=hang",
	                                    "above=1k",
	                                    "above=4k",
	                                    "above=1k,status=quota",
	                                    "above=1; in=open,busy",
	                                    "no such word",
	                                    "above=2k,fail_rate=0.5"};
	size_t k, f;

	for (k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
	{
		kind = &kinds[k];
		for (f = 0; f < sizeof(texts) / sizeof(texts[0]); f++)
		{
			snprintf(fault, sizeof(fault), "%s%s", texts[f], kind->more_faults);
			every_execution();
		}
	}
	CHECK_INT(memory.outstanding, 0);
	CHECK(blocks.next == &blocks);
}

/* The dispatcher gives such a device up and leaves its context where it is. */
static void
devices_that_do_not_hear(void)
{
	size_t k;

	for (k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
	{
		kind = &kinds[k];
		snprintf(fault, sizeof(fault), "status=deaf,fail_at=2%s", kind->more_faults);
		every_execution();
	}
	CHECK_INT(memory.outstanding, 0);
}

int
main(void)
{
	prepare();
	UNIT_RUN(every_failure_everywhere);
	UNIT_RUN(devices_that_hang_or_are_too_small);
	UNIT_RUN(devices_that_do_not_hear);
	while (blocks.next != &blocks)
		block_free(NULL, blocks.next + 1);
	hy_csr_free(&graph, &hy_malloc_allocator);
	return unit_finish();
}
