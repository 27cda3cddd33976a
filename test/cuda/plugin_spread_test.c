/*
 * plugin_spread_test.c
 *		'spread' through the vtable, on the fake device.  The bits must be those of core/spread.c.
 *		Also pieces, limits, cancel and failures.
 */
#include "graph_trial.h"

#include <sys/wait.h>
#include <unistd.h>

#include "cuda/spread_plan.h"

static UnitRandom randomness = {77};
static int64_t compared;

/* set_pace: set the work that a piece may take; a small value cuts a task into many pieces. */
static void
set_pace(HyDevice *device, uint64_t work)
{
	device->pace[HY_OP_SPREAD].work = work;
}

static void
check_job(const void *of)
{
	graph_job_check(of, "trial");
	compared += ((const GraphJob *) of)->values;
}

/*
 * run_job: check that the answer is the CPU's and that nothing is left of the task, then the same
 * with the graph on the device.
 */
static void
run_job(HyDevice *device, GraphJob *job)
{
	Trial trial = graph_trial(job, check_job);

	trial_run(device, &trial);
	CHECK_INT(graph_job_reside(job, cuda, device), HY_OK);
	trial_run(device, &trial);
	graph_job_leave(job, cuda, device);
}

static void
small_graphs(void)
{
	HyDevice *device = open_one(0);
	int round;

	for (round = 0; round < 120 / unit_share(); round++)
	{
		int64_t nodes = 1 + (int64_t) unit_random_below(&randomness, 60);
		int64_t edges = (int64_t) unit_random_below(&randomness, 400);
		GraphJob job;

		graph_job(&job, &randomness,
		          make_graph(&randomness, nodes, edges, 0, (HyDirection) (round % 3)),
		          random_params(&randomness), 1 + (int32_t) unit_random_below(&randomness, 9), 6);
		graph_job_more(&job, &randomness);
		/* work limits from one block of rows per piece to all hops in one piece */
		set_pace(device, UINT64_C(1) << (6 + unit_random_below(&randomness, 20)));
		run_job(device, &job);
		graph_job_free(&job);
	}
	close_one(device);
}

/* rows of every length around the lengths at which the kernel changes */
static void
rows_of_every_length(void)
{
	HyDevice *device = open_one(0);
	int32_t sets[] = {1, 2, 4, 8};
	int combine;
	size_t w;

	for (w = 0; w < 4; w++)
	{
		for (combine = 0; combine < 2; combine++)
		{
			static const int64_t lengths[] = {1,  2,  3,  7,    8,    9,    15,   16,   17,   31,
			                                  32, 33, 63, 64,   65,   255,  256,  257,  511,  513,
			                                  1,  0,  8,  1023, 1024, 1025, 1279, 2047, 2048, 2049};
			enum
			{
				ROWS = sizeof(lengths) / sizeof(lengths[0])
			};
			HySpreadParams params = {0.9, 0.5, 3, 0, 0, (HyCombine) combine, 1e-4, NULL};
			HyEdge *edge = malloc(sizeof(HyEdge) * 40000);
			GraphJob job;
			HyCsr graph;
			int64_t count = 0;
			int64_t i;
			size_t r;

			for (r = 0; r < ROWS; r++)
			{
				for (i = 0; i < lengths[r]; i++)
					edge[count++] =
						(HyEdge){3000 - i, (int64_t) r, (float) unit_random_unit(&randomness)};
				/* and something comes back */
				edge[count++] =
					(HyEdge){(int64_t) r, 900 + (int64_t) unit_random_below(&randomness, 2000), 1};
			}
			CHECK_INT(
				hy_csr_build(edge, count, HY_DIRECTION_OUT, &hy_malloc_allocator, NULL, &graph),
				HY_OK);
			free(edge);
			graph_job(&job, &randomness, graph, params, sets[w], 400);
			graph_job_more(&job, &randomness);
			run_job(device, &job);
			graph_job_free(&job);
		}
	}
	close_one(device);
}

/* caches of every size, and so groups of every width */
static void
power_laws_and_many_sets(void)
{
	static const int32_t sets[] = {1, 3, 8, 9, 17, 64};
	static const int caches[] = {0, 1 << 20, 50000, 25000, 12000, 6000};
	HyDevice *device;
	size_t i;

	for (i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
	{
		HySpreadParams params = random_params(&randomness);
		GraphJob job;

		hy_fake.cache = caches[i];
		device = open_one(0);
		graph_job(&job, &randomness, make_graph(&randomness, 900, 5000, 0, (HyDirection) (i % 3)),
		          params, sets[i], 9);
		graph_job_more(&job, &randomness);
		set_pace(device, UINT64_C(1) << 20);
		run_job(device, &job);
		/* as many pieces as there can be, and the same bits */
		set_pace(device, 1);
		if (sets[i] <= 9)
			run_job(device, &job);
		graph_job_free(&job);
		close_one(device);
	}
	hy_fake.cache = 50 << 20;
}

/*
 * Groups of one set: the next group starts in the memory from which the answers are copied, in any
 * slots.
 */
static void
groups_of_one(void)
{
	HySpreadParams params = {0.85, 1, 3, 0, 0, HY_COMBINE_SUM, 0.3, NULL};
	HyDevice *device;
	GraphJob job;
	int shift;

	/* only the charges of one set fit the cache */
	hy_fake.cache = 12000;
	CHECK_INT(hy_cuda_spread_best_width(2, 900, 900, 9000, 12000), 1);
	device = open_one(0);
	graph_job(&job, &randomness, make_graph(&randomness, 900, 9000, 0, HY_DIRECTION_OUT), params, 2,
	          9);
	graph_job_more(&job, &randomness);
	for (shift = 10; shift < 24; shift++)
	{
		set_pace(device, UINT64_C(1) << shift);
		run_job(device, &job);
	}
	graph_job_free(&job);
	close_one(device);
	hy_fake.cache = 50 << 20;
}

/* a row of 100,000 entries, whole and cut, for one set and for several */
static void
one_very_long_row(void)
{
	HyDevice *device = open_one(0);
	int kind;

	for (kind = 0; kind < 4; kind++)
	{
		HySpreadParams params = {0.9, 1, 3, 0, 0, HY_COMBINE_SUM, 1e-3, NULL};
		GraphJob job;

		if (kind == 1)
			params.combine = HY_COMBINE_MAX;
		if (kind == 3)
			params.hops = -1;
		/* the row's source nodes get something back, in one hop */
		if (kind == 0)
			params.hops = 2;
		graph_job(&job, &randomness,
		          make_graph(&randomness, 200, 600, 100000,
		                     kind == 0 ? HY_DIRECTION_BOTH : HY_DIRECTION_OUT),
		          params, kind == 2 ? 8 : 1, 30000);
		set_pace(device, UINT64_C(1) << 26);
		run_job(device, &job);
		/* the row is cut into windows */
		set_pace(device, UINT64_C(1) << 18);
		run_job(device, &job);
		graph_job_free(&job);
	}
	close_one(device);
}

/* an overflow appears as infinity or NaN, as on the CPU, and the task ends */
static void
overflow(void)
{
	HyEdge edge[] = {{1, 2, 1e38f}, {2, 1, 1e38f}, {2, 3, 0}, {3, 4, 0}, {1, 4, 1}};
	HyDevice *device = open_one(0);
	int combine;

	for (combine = 0; combine < 2; combine++)
	{
		HySpreadParams params = {1, 0, 30, 0, 0, (HyCombine) combine, 1e-9, NULL};
		HyEdge copy[5];
		GraphJob job;
		HyCsr graph;

		memcpy(copy, edge, sizeof(edge));
		CHECK_INT(hy_csr_build(copy, 5, HY_DIRECTION_OUT, &hy_malloc_allocator, NULL, &graph),
		          HY_OK);
		graph_job(&job, &randomness, graph, params, 3, 40);
		CHECK(!isfinite(job.expected[0]) || !isfinite(job.expected[4]) ||
		      !isfinite(job.expected[8]));
		run_job(device, &job);
		graph_job_free(&job);
	}
	close_one(device);
}

/* some sets end before others, and 2^31 hops take no longer than the hops that have an effect */
static void
hops_end_when_nothing_fires(void)
{
	HySpreadParams params = {0.9, 1, INT32_MAX, 0.001, 0, HY_COMBINE_SUM, 1e-9, NULL};
	HyDevice *device = open_one(0);
	GraphJob job;
	int kernels;

	graph_job(&job, &randomness, make_graph(&randomness, 100, 300, 0, HY_DIRECTION_OUT), params, 5,
	          4);
	kernels = hy_fake_kernels();
	run_job(device, &job);
	CHECK_MSG(hy_fake_kernels() - kernels < 1000, "%d kernels", hy_fake_kernels() - kernels);
	graph_job_free(&job);
	close_one(device);
}

static void
empty_tasks(void)
{
	HySpreadParams params = {0.9, 1, 3, 0, 0, HY_COMBINE_SUM, 1e-9, NULL};
	HyDevice *device = open_one(0);
	HyCsr graph = make_graph(&randomness, 5, 9, 0, HY_DIRECTION_OUT);
	uint32_t bare_start[4] = {0, 0, 0, 0};
	GraphJob job;

	/* no sets, no seeds, no hops */
	graph_job(&job, &randomness, graph, params, 0, 3);
	run_job(device, &job);
	graph_job_free(&job);
	graph_job(&job, &randomness, make_graph(&randomness, 5, 9, 0, HY_DIRECTION_OUT), params, 2, 0);
	run_job(device, &job);
	graph_job_free(&job);
	params.hops = 0;
	graph_job(&job, &randomness, make_graph(&randomness, 5, 9, 0, HY_DIRECTION_OUT), params, 2, 5);
	run_job(device, &job);
	graph_job_free(&job);

	/* nodes without an edge, and no node at all */
	params.hops = 2;
	memset(&graph, 0, sizeof(graph));
	graph.nodes = 3;
	graph.row_start = malloc(sizeof(bare_start));
	memcpy(graph.row_start, bare_start, sizeof(bare_start));
	graph.out_weight = calloc(3, sizeof(double));
	graph_job(&job, &randomness, graph, params, 2, 5);
	run_job(device, &job);
	job.graph.nodes = 0;
	job.start[1] = job.start[2] = job.start[0];
	job.values = 0;
	CHECK_INT(run(device, &job.task, NULL), HY_OK);
	graph_job_free(&job);
	close_one(device);
}

/*
 * the CPU's status for invalid parameters, and refusal of graphs that would make a device read
 * outside a buffer
 */
static void
nonsense_is_refused(void)
{
	const HySpreadParams good = {0.9, 1, 3, 0, 0, HY_COMBINE_SUM, 1e-9, NULL};
	HyDevice *device = open_one(0);
	uint64_t used = device->used;
	HySpreadParams *p;
	GraphJob job;
	HyFailure failure;

	graph_job(&job, &randomness, make_graph(&randomness, 50, 90, 0, HY_DIRECTION_OUT), good, 2, 5);
	job.start[1] = job.start[0] + 1;
	job.start[2] = job.start[1] + 1;
	p = &job.task.u.spread.params;
	p->decay = 1.5;
	CHECK_INT(run(device, &job.task, NULL), HY_INVALID);
	*p = good;
	p->hops = -1;
	p->fan = 0;
	p->decay = 1;
	job.graph.out_weight[0] = 1;
	CHECK_INT(run(device, &job.task, NULL), HY_INVALID);
	*p = good;
	job.value[3] = INFINITY;
	CHECK_INT(run(device, &job.task, NULL), HY_INVALID);
	job.value[3] = 1;
	job.graph.column[7] = 50000;
	CHECK_INT(run(device, &job.task, NULL), HY_INVALID);
	cuda->last_error(device, &failure);
	CHECK(strstr(failure.text, "edge") != NULL);
	job.graph.column[7] = 0;
	job.graph.row_start[5] += 1000;
	CHECK_INT(run(device, &job.task, NULL), HY_INVALID);
	job.graph.row_start[5] -= 1000;
	job.graph.row_start[job.graph.nodes]--;
	CHECK_INT(run(device, &job.task, NULL), HY_INVALID);
	job.graph.row_start[job.graph.nodes]++;
	CHECK_INT(run(device, &job.task, NULL), HY_OK);
	CHECK_INT(device->used, used);
	graph_job_free(&job);
	close_one(device);
}

/*
 * a graph larger than the scratch: on a small budget, the graph, seeds and answers are copied in
 * many pieces
 */
static void
little_memory(void)
{
	HySpreadParams params = {0.85, 1, -1, 0, 2, HY_COMBINE_SUM, 0.3, NULL};
	HyShape shape;
	HyEstimate estimate;
	HyFailure failure;
	HyDevice *device;
	GraphJob job;
	uint64_t most;
	int polls;

	graph_job(&job, &randomness, make_graph(&randomness, 6000, 24000, 0, HY_DIRECTION_OUT), params,
	          9, 5000);
	device = open_one(UINT64_C(1800) << 10);
	CHECK(device->scratch.up < 24000 * 8);
	most = device->used;
	CHECK_INT(run(device, &job.task, &polls), HY_OK);
	graph_job_check(&job, "little memory");
	CHECK(polls > 10);
	close_one(device);

	/* no memory for even one set at a time: the message tells how much is missing */
	device = open_one(UINT64_C(700) << 10);
	most = device->used;
	CHECK_INT(run(device, &job.task, NULL), HY_QUOTA);
	cuda->last_error(device, &failure);
	CHECK(strstr(failure.text, "bytes of device memory asked for") != NULL);
	CHECK_INT(device->used, most);
	close_one(device);

	/* the budget has the memory but CUDA does not: groups are narrower, or the task fails */
	device = open_one(0);
	hy_fake_fail("cudaMalloc", 1, cudaErrorMemoryAllocation);
	CHECK_INT(run(device, &job.task, NULL), HY_OK);
	graph_job_check(&job, "narrow");
	close_one(device);
	device = open_one(0);
	hy_fake.memory = hy_fake_used() + 100000;
	CHECK_INT(run(device, &job.task, NULL), HY_NOMEM);
	hy_fake.memory = UINT64_C(1) << 30;
	CHECK_INT(run(device, &job.task, NULL), HY_OK);

	/* if a node has four edges or more, the task takes at most the estimated memory */
	shape = hy_task_shape(&job.task);
	estimate = cuda->estimate(device, &shape);
	CHECK(estimate.device_bytes >= device->used + 24000 * 8 * 8 / 10);
	CHECK(estimate.pinned_bytes >= hy_fake_pinned());
	close_one(device);
	device = open_one(estimate.device_bytes * 3);
	CHECK_INT(run(device, &job.task, NULL), HY_OK);
	close_one(device);
	graph_job_free(&job);
}

static void
caps_and_estimates(void)
{
	HyShape shape = {HY_OP_SPREAD, HY_F32, HY_METRIC_L2, 0, 1, 1000000, 0, false, 0};
	HyEstimate one;
	HyEstimate many;
	HyCaps caps = cuda->caps(NULL, &shape);

	CHECK(caps.ok);
	CHECK_INT(caps.max_targets, UINT32_MAX);
	CHECK_INT(caps.numeric_class, HY_CLASS_EXACT);
	one = cuda->estimate(NULL, &shape);
	/*
	 * 8 bytes per edge, 20 per node, and 48 per node and set; spread.c assumes the number of nodes
	 */
	CHECK(one.device_bytes > 8000000 + 250001 * 68);
	CHECK(one.bytes_up > 8000000 && one.bytes_up < 14000000);
	CHECK_INT(one.bytes_down, 250001 * 20);
	shape.queries = 1000;
	many = cuda->estimate(NULL, &shape);
	/* groups of at most eight */
	CHECK(many.device_bytes > one.device_bytes + 250001 * 7 * 30);
	CHECK(many.device_bytes < one.device_bytes + 250001 * 8 * 48);
	CHECK_INT(many.bytes_down, UINT64_C(250001) * 20000);
	/* extreme sizes for the estimate */
	shape.queries = INT64_MAX;
	shape.targets = UINT32_MAX;
	many = cuda->estimate(NULL, &shape);
	CHECK(many.device_bytes > one.device_bytes * 4000);
	/* without sets, a graph takes no memory */
	shape.queries = 0;
	many = cuda->estimate(NULL, &shape);
	CHECK(many.device_bytes < one.device_bytes && many.bytes_up == 0);
}

static void
kernels_keep_to_the_pace(void)
{
	HySpreadParams params = {0.85, 1, 6, 0, 0, HY_COMBINE_SUM, 1e-2, NULL};
	Trial trial;
	GraphJob job;

	graph_job(&job, &randomness, make_graph(&randomness, 3000, 12000, 0, HY_DIRECTION_OUT), params,
	          8, 9);
	trial = graph_trial(&job, check_job);
	trial_pace(&trial, 8);
	graph_job_free(&job);
}

static void
a_cancel_stops_between_pieces(void)
{
	HySpreadParams params = {0.85, 1, 1000, 0, 0, HY_COMBINE_SUM, 1e-2, NULL};
	HyDevice *device = open_one(0);
	HyCancel cancel = {stop_requested, NULL};
	uint64_t used = device->used;
	HyTicket ticket;
	GraphJob job;
	Trial trial;
	Stop stop;
	int after;
	int polls;

	graph_job(&job, &randomness, make_graph(&randomness, 500, 4000, 0, HY_DIRECTION_OUT), params, 3,
	          9);
	trial = graph_trial(&job, check_job);
	for (after = 0; after < 60; after += 14)
	{
		set_pace(device, UINT64_C(1) << 16);
		stop = (Stop){after, 0};
		cancel.arg = &stop;
		job.task.cancel = &cancel;
		CHECK_INT(run(device, &job.task, &polls), HY_CANCELLED);
		CHECK(polls < after + 150);
		CHECK_INT(device->used, used);
	}
	job.task.cancel = NULL;
	for (after = 0; after < 40; after += 5)
	{
		set_pace(device, UINT64_C(1) << 16);
		/* at most the kernels of two pieces */
		trial_stop(device, &trial, after, 128);
		CHECK_INT(device->used, used);
	}
	params.hops = 3;
	graph_job_free(&job);
	graph_job(&job, &randomness, make_graph(&randomness, 500, 4000, 0, HY_DIRECTION_OUT), params, 3,
	          9);
	run_job(device, &job);
	/* close the device with a task in flight */
	CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_OK);
	close_one(device);
	graph_job_free(&job);
}

/*
 * whichever call of CUDA fails, there is a status, nothing is left behind, and the next task is
 * right
 */
static void
each_call_may_fail(void)
{
	HySpreadParams params = {0.85, 1, -1, 0, 2, HY_COMBINE_SUM, 0.5, NULL};
	HyDevice *device = open_one(UINT64_C(4) << 20);
	uint64_t used = device->used;
	GraphJob job;
	int failed = 0;
	int at;
	int i;

	graph_job(&job, &randomness, make_graph(&randomness, 20, 60, 0, HY_DIRECTION_OUT), params, 9,
	          5);
	for (at = 1;; at++)
	{
		HyStatus status;
		int calls;

		set_pace(device, UINT64_C(1) << 13);
		for (i = 0; i < job.values; i++)
			job.activation[i] = -77;
		hy_fake_fail(NULL, at, cudaErrorMemoryAllocation);
		status = run(device, &job.task, NULL);
		calls = hy_fake_calls();
		CHECK(status == HY_OK || status == HY_NOMEM);
		if (status == HY_OK)
			graph_job_check(&job, "a failure that is no matter");
		failed += status != HY_OK;
		CHECK_MSG(device->used == used, "memory left after a failure of call %d", at);
		hy_fake_fail(NULL, 0, cudaSuccess);
		if (status != HY_OK && at % 7 == 0)
			run_job(device, &job);
		if (unit_failed_checks > 0 || calls < at)
			break;
	}
	printf("# %d places of failure\n", failed);
	CHECK(failed > 100);
	/* and the host's memory */
	for (at = 1; at <= 4; at++)
	{
		memory.calls = 0;
		memory.fail_at = at;
		CHECK_INT(run(device, &job.task, NULL), HY_NOMEM);
		CHECK_INT(device->used, used);
	}
	memory.fail_at = 0;
	run_job(device, &job);
	graph_job_free(&job);
	close_one(device);
}

/* a child frees the host memory of its parent's task and calls nothing of CUDA */
static void
a_fork_forgets_the_task(void)
{
	HySpreadParams params = {0.85, 1, 3, 0, 0, HY_COMBINE_SUM, 1e-2, NULL};
	HyDevice *device = open_one(0);
	HyTimings timings;
	HyTicket ticket;
	bool done = false;
	int status = 0;
	GraphJob job;
	pid_t child;

	graph_job(&job, &randomness, make_graph(&randomness, 100, 400, 0, HY_DIRECTION_OUT), params, 3,
	          5);
	CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_OK);
	fflush(stdout);
	child = fork();
	if (child == 0)
	{
		bool lost = cuda->poll(device, ticket, &done, &timings) == HY_PROCESS_LOST;

		hy_fake_fail(NULL, 0, cudaSuccess);
		cuda->close(device);
		_exit(lost && hy_fake_calls() == 0 && memory.outstanding == 0 ? 0 : 1);
	}
	CHECK(waitpid(child, &status, 0) == child);
	CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %d", status);
	while (!done)
		CHECK_INT(cuda->poll(device, ticket, &done, &timings), HY_OK);
	graph_job_check(&job, "beside a fork");
	graph_job_free(&job);
	close_one(device);
}

int
main(void)
{
	if (!plug_in())
		return 1;
	RUN(small_graphs);
	RUN(rows_of_every_length);
	RUN(power_laws_and_many_sets);
	RUN(groups_of_one);
	RUN(one_very_long_row);
	RUN(overflow);
	RUN(hops_end_when_nothing_fires);
	RUN(empty_tasks);
	RUN(nonsense_is_refused);
	RUN(little_memory);
	RUN(caps_and_estimates);
	RUN(kernels_keep_to_the_pace);
	RUN(a_cancel_stops_between_pieces);
	RUN(each_call_may_fail);
	RUN(a_fork_forgets_the_task);
	printf("# %lld activations compared\n", (long long) compared);
	return unit_finish();
}
