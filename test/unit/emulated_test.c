/*
 * emulated_test.c
 *		The emulated device as the dispatcher sees it.
 */
#include "core/topk.h"
#include "core/csr_build.h"
#include "dispatch/run/dispatcher.h"
#include "emulated_stage.h"
#include "score_stage.h"

/* Contexts of a hanging device are leaked on purpose; these pointers keep them reachable. */
static void *left_behind[4];
static int left;

static void
test_wrong_abi(void)
{
	begin();
	CHECK_INT(device_of->abi, HY_BACKEND_ABI);
	set("emulated_faults", "wrong_abi");
	CHECK_INT(hy_plugin_entry(&host)->abi, HY_BACKEND_ABI + 1);
	set("emulated_faults", "");
	CHECK_INT(hy_plugin_entry(&host)->abi, HY_BACKEND_ABI);
	host.abi = HY_BACKEND_ABI + 1;
	CHECK(hy_plugin_entry(&host) == NULL);
}

static void
test_devices_and_caps(void)
{
	HyDeviceInfo info;
	HyShape shape = {.op = HY_OP_TOPK, .dims = 8, .queries = 1, .targets = 10, .k = 3};
	int32_t count;

	begin();
	set("emulated_devices", "3");
	set("emulated_open_ms", "250");
	CHECK_INT(device_of->device_count(&count), HY_OK);
	CHECK_INT(count, 3);
	CHECK_INT(device_of->probe(2, &info), HY_OK);
	CHECK_STR(info.name, "emulated device 2");
	CHECK(info.virtual_time);
	CHECK_INT(info.open_cost_ns, 250000000);
	CHECK_INT(device_of->probe(3, &info), HY_INVALID);
	set("emulated_devices", "0");
	CHECK_INT(device_of->device_count(&count), HY_OK);
	CHECK_INT(count, 0);
	CHECK(device_of->caps(NULL, &shape).ok);
	CHECK_INT(device_of->caps(NULL, &shape).max_k, 1024);
	shape.op = HY_OP_ASSIGN;
	CHECK(device_of->caps(NULL, &shape).ok);
	shape.op = HY_OP_SCORE_CODES;
	CHECK(device_of->caps(NULL, &shape).ok);
	shape.metric = HY_METRIC_IP;
	CHECK(!device_of->caps(NULL, &shape).ok && device_of->caps(NULL, &shape).reason != NULL);
	shape.metric = HY_METRIC_L2;
	CHECK_INT(device_of->estimate(NULL, &shape).device_bytes, 8 * 4 + 10 * (1 + 12) + 3 * 16);
	shape.op = HY_OP_DISTANCE;
	CHECK_INT(device_of->estimate(NULL, &shape).device_bytes, 8 * 4 + 80 * 4 + 80);
}

/* Every operation with each fault through the dispatcher: always the CPU's answer. */
static void
test_under_the_dispatcher(void)
{
	static const char *const faults[] = {"",
	                                     "fail_at=1",
	                                     "in=poll",
	                                     "in=poll,status=context_lost",
	                                     "status=context_lost,fail_every=2",
	                                     "in=open,status=busy",
	                                     "status=hang",
	                                     "above=10",
	                                     "fail_rate=0.5,in=poll,status=quota",
	                                     "in=poll,status=device_gone",
	                                     "status=sticky",
	                                     "cannot be read"};
	static HyEdge edges[200];
	static ScoreStage stage;
	UnitRandom random = {5};
	HyCsr graph;
	int64_t start[3] = {0, 1, 2};
	uint32_t node[2] = {3, 7};
	double value[2] = {1, 2};
	double activation[2][100];
	int32_t hop[2][100];
	size_t f;
	int i;

	begin();
	for (i = 0; i < 200; i++)
		edges[i] = (HyEdge){i % 50, (i * 7 + i / 50) % 50, (float) (1 + i % 3)};
	CHECK_INT(hy_csr_build(edges, 200, HY_DIRECTION_OUT, &hy_malloc_allocator, NULL, &graph),
	          HY_OK);
	score_stage_init(&stage, &random, true);
	for (f = 0; f < sizeof(faults) / sizeof(faults[0]); f++)
	{
		HyExecutor *executor;
		HyConfig config;

		begin();
		set("emulated_faults", faults[f]);
		set("emulated_wait", f % 2 ? "on" : "off");
		CHECK_INT(hy_executor_create(&memory.allocator, &clock_.clock, NULL, &executor), HY_OK);
		CHECK_INT(hy_executor_add_backend(executor, device_of), HY_OK);
		hy_config_default(&config);
		config.execution = HY_EXECUTION_PREFER_GPU;
		config.timeout_ns = 10000000;
		hy_executor_configure(executor, &config);
		for (i = 0; i < 12; i++)
		{
			HyTask task = task_of(ROWS);
			HyNeighbor found[2][2 * 5];
			int32_t counts[2][2];

			CHECK_INT(hy_dispatch(executor, &task, NULL), HY_OK);
			CHECK_INT(memcmp(out, expected, sizeof(out)), 0);

			memset(found, 0, sizeof(found));
			hy_topk_search(HY_METRIC_L2, &task.u.distance.queries, &task.u.distance.targets, 5,
			               found[0], counts[0], NULL);
			task.op = HY_OP_TOPK;
			task.u.topk = (HyTopKTask){HY_METRIC_L2, (HyMatrix){0}, (HyMatrix){0}, 5,
			                           found[1],     counts[1],     NULL};
			task.u.topk.queries =
				(HyMatrix){.dims = DIMS, .rows = 2, .stride = DIMS * 4, .data = vectors};
			task.u.topk.targets = task.u.topk.queries;
			task.u.topk.targets.rows = ROWS;
			task.u.topk.targets.data = vectors + 2 * DIMS;
			CHECK_INT(hy_dispatch(executor, &task, NULL), HY_OK);
			CHECK_INT(memcmp(found[0], found[1], sizeof(found[0])), 0);
			CHECK_INT(memcmp(counts[0], counts[1], sizeof(counts[0])), 0);

			task.op = HY_OP_ASSIGN;
			{
				HyMatrix rows = task.u.topk.targets;
				HyMatrix centroids = task.u.topk.queries;
				int32_t nearest[2][ROWS];

				memset(nearest, 0, sizeof(nearest));
				task.u.assign =
					(HyAssignTask){.rows = rows, .centroids = centroids, .nearest = nearest[1]};
				CHECK_INT(
					hy_assign(&rows, &centroids, NULL, &hy_malloc_allocator, nearest[0], NULL),
					HY_OK);
				CHECK_INT(hy_dispatch(executor, &task, NULL), HY_OK);
				CHECK_INT(memcmp(nearest[0], nearest[1], sizeof(nearest[0])), 0);
			}

			task.op = HY_OP_SCORE_CODES;
			{
				static HyNeighbor least[2][SCORE_QUERIES * 20];
				int32_t kept[2][SCORE_QUERIES];

				memset(least, 0, sizeof(least));
				task.u.score = (HyScoreTask){stage.rows, stage.queries, 20, least[1], kept[1]};
				CHECK_INT(hy_score(&stage.rows, &stage.queries, 20, least[0], kept[0], NULL),
				          HY_OK);
				CHECK_INT(hy_dispatch(executor, &task, NULL), HY_OK);
				CHECK_INT(memcmp(least[0], least[1], sizeof(least[0])), 0);
				CHECK_INT(memcmp(kept[0], kept[1], sizeof(kept[0])), 0);
			}

			task.op = HY_OP_SPREAD;
			memset(&task.u, 0, sizeof(task.u));
			task.u.spread.graph = &graph;
			task.u.spread.params = (HySpreadParams){.decay = 0.85, .fan = 1, .hops = 4};
			task.u.spread.seeds = (HySpreadSeeds){2, start, node, value};
			task.u.spread.activation = activation[1];
			task.u.spread.hop = hop[1];
			CHECK_INT(hy_spread(&graph, &task.u.spread.params, &task.u.spread.seeds,
			                    &hy_malloc_allocator, NULL,
			                    &(HySpreadResult){activation[0], hop[0], NULL}),
			          HY_OK);
			CHECK_INT(hy_dispatch(executor, &task, NULL), HY_OK);
			CHECK_INT(memcmp(activation[0], activation[1], sizeof(activation[0])), 0);
			CHECK_INT(memcmp(hop[0], hop[1], sizeof(hop[0])), 0);
		}
		if (f == 0)
		{
			CHECK_INT(hy_executor_counters(executor, 1, HY_OP_SPREAD)->calls, 12);
			CHECK_INT(hy_executor_counters(executor, 1, HY_OP_SCORE_CODES)->calls, 12);
		}
		hy_executor_destroy(executor);
		CHECK_INT(memory.outstanding, 0);
	}
	hy_csr_free(&graph, &hy_malloc_allocator);
}

/*
 * A join of 20,000 rows once took half a minute, because the device was emulated by the canonical
 * kernels alone, at a tenth of the CPU's speed.  The memory taken shows that the filter was used.
 */
static void
test_many_queries_go_by_the_filter(void)
{
	enum
	{
		QUERIES = 40
	};
	static HyNeighbor found[2][QUERIES * 5];
	int32_t counts[2][QUERIES];
	HyTask task = {.op = HY_OP_TOPK};
	HyTopKTask *t = &task.u.topk;
	HyTimings timings;
	HyDevice *device;
	UnitMemory work;
	bool done;

	begin();
	unit_memory_init(&work, 0);
	device = open_device(0);
	task.allocator = &work.allocator;
	*t = (HyTopKTask){.metric = HY_METRIC_L2, .k = 5, .out = found[1], .counts = counts[1]};
	t->queries = (HyMatrix){.dims = DIMS, .rows = QUERIES, .stride = DIMS * 4, .data = vectors};
	t->targets = t->queries;
	t->targets.rows = ROWS;
	CHECK_INT(hy_topk_search(t->metric, &t->queries, &t->targets, 5, found[0], counts[0], NULL),
	          HY_OK);

	CHECK_INT(run(device, &task, &done, &timings), HY_OK);
	CHECK(work.calls > 0);
	CHECK_INT(work.outstanding, 0);
	CHECK_INT(memcmp(found[0], found[1], sizeof(found[0])), 0);
	CHECK_INT(memcmp(counts[0], counts[1], sizeof(counts[0])), 0);

	/* not where the user wants the canonical kernels, and no memory is no failure */
	memset(found[1], 0, sizeof(found[1]));
	set("precision", "exact");
	work.calls = 0;
	CHECK_INT(run(device, &task, &done, &timings), HY_OK);
	CHECK_INT(work.calls, 0);
	CHECK_INT(memcmp(found[0], found[1], sizeof(found[0])), 0);
	memset(found[1], 0, sizeof(found[1]));
	set("precision", "auto");
	unit_memory_init(&work, 1);
	CHECK_INT(run(device, &task, &done, &timings), HY_OK);
	CHECK_INT(work.failures, 1);
	CHECK_INT(work.outstanding, 0);
	CHECK_INT(memcmp(found[0], found[1], sizeof(found[0])), 0);
	device_of->close(device);
	CHECK_INT(memory.outstanding, 0);
}

static void *
remember_alloc(void *arg, size_t size)
{
	void *block = unit_memory_alloc(arg, size);

	if (left < 4)
		left_behind[left++] = block;
	return block;
}

static void
test_deaf_under_the_dispatcher(void)
{
	HyExecutor *executor;
	HyAllocator allocator;
	HyConfig config;
	HyDecision decision;
	HyTask task;
	HyDeviceState state;

	begin();
	allocator = memory.allocator;
	allocator.alloc = remember_alloc;
	host.allocator = &allocator;
	set("emulated_faults", "status=deaf");
	CHECK_INT(hy_executor_create(&hy_malloc_allocator, &clock_.clock, NULL, &executor), HY_OK);
	CHECK_INT(hy_executor_add_backend(executor, device_of), HY_OK);
	hy_config_default(&config);
	hy_executor_configure(executor, &config);
	task = task_of(ROWS);
	CHECK_INT(hy_dispatch(executor, &task, &decision), HY_OK);
	CHECK_INT(memcmp(out, expected, sizeof(out)), 0);
	CHECK_INT(decision.status, HY_TIMEOUT);
	clock_.time += 50000000;
	CHECK_INT(hy_dispatch(executor, &task, &decision), HY_OK);
	hy_executor_device(executor, 1, &state);
	CHECK(state.latched);
	CHECK_STR(state.why, "it does not answer");
	hy_executor_destroy(executor);
	CHECK_INT(memory.outstanding, 1);
	unit_memory_free(&memory, left_behind[0]);
}

int
main(void)
{
	UNIT_RUN(test_wrong_abi);
	UNIT_RUN(test_devices_and_caps);
	UNIT_RUN(test_under_the_dispatcher);
	UNIT_RUN(test_many_queries_go_by_the_filter);
	UNIT_RUN(test_deaf_under_the_dispatcher);
	return unit_finish();
}
