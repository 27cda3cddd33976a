/*
 * plugin_packed_test.c
 *		'spread' over a graph that is resident on the fake device, or that the task has packed: what
 *		is uploaded, what is refused, and what remains. plugin_spread_test shows that the answers
 *		have the CPU's bits for all kinds of graphs.
 */
#include "graph_trial.h"

static UnitRandom randomness = {78};

static const HySpreadParams plain = {0.85, 1, 3, 0, 0, HY_COMBINE_SUM, 1e-2, NULL};

static void
check_job(const void *of)
{
	graph_job_check(of, "packed");
}

/* expect: compute the CPU's answer for the job's current parameters. */
static void
expect(GraphJob *job)
{
	HySpreadTask *s = &job->task.u.spread;

	CHECK_INT(hy_spread(&job->graph, &s->params, &s->seeds, &hy_malloc_allocator, NULL,
	                    &(HySpreadResult){job->expected, job->expected_hop, job->expected_sent}),
	          HY_OK);
}

/* counted: check the number of bytes uploaded and downloaded. */
static void
counted(HyDevice *device, const GraphJob *job, int64_t up)
{
	HyTimings timings = {0};
	HyTicket ticket;
	bool done = false;

	CHECK_INT(cuda->submit(device, &job->task, &ticket), HY_OK);
	while (!done)
		CHECK_INT(cuda->poll(device, ticket, &done, &timings), HY_OK);
	graph_job_check(job, "bytes");
	CHECK_INT(timings.bytes_up, up);
	CHECK_INT(timings.bytes_down, job->values * 12);
	CHECK(timings.total_ns > 0);
}

/* the reported bytes are the copied bytes: for a resident graph, only the seeds are uploaded */
static void
bytes_are_counted(void)
{
	HyDevice *device = open_one(0);
	int64_t seeds;
	GraphJob job;

	graph_job(&job, &randomness, make_graph(&randomness, 100, 400, 0, HY_DIRECTION_OUT), plain, 3,
	          5);
	seeds = (job.start[3] - job.start[0]) * 16;
	CHECK_INT(graph_job_reside(&job, cuda, device), HY_OK);
	counted(device, &job, seeds);
	counted(device, &job, seeds);
	/* packed but not resident; then not even packed */
	cuda->buf_free(device, job.task.u.spread.buffer);
	job.task.u.spread.buffer = NULL;
	job.task.u.spread.graph = &job.graph;
	counted(device, &job, graph_job_bytes(&job) + seeds);
	job.task.u.spread.packed = NULL;
	counted(device, &job, graph_job_bytes(&job) + seeds);
	hy_packed_graph_free(&job.packed, &hy_malloc_allocator);
	graph_job_free(&job);
	close_one(device);
}

/*
 * a call as small as one session makes it launches one kernel for its seeds, and one per list and
 * hop
 */
static void
small_tasks_take_few_kernels(void)
{
	HyEdge *edge = malloc(sizeof(HyEdge) * 1000);
	HyDevice *device = open_one(0);
	GraphJob job;
	HyCsr graph;
	Trial trial;
	int kernels;
	int64_t i;

	for (i = 0; i < 1000; i++)
		edge[i] = (HyEdge){(i * 37) % 100, i / 10, 1};
	CHECK_INT(hy_csr_build(edge, 1000, HY_DIRECTION_OUT, &hy_malloc_allocator, NULL, &graph),
	          HY_OK);
	free(edge);
	graph_job(&job, &randomness, graph, plain, 1, 5);
	job.start[1] = job.start[0] + 1;
	job.value[job.start[0]] = 1;
	expect(&job);
	trial = graph_trial(&job, check_job);
	CHECK_INT(graph_job_reside(&job, cuda, device), HY_OK);
	kernels = hy_fake_kernels();
	trial_run(device, &trial);
	CHECK_INT(hy_fake_kernels() - kernels, 4);
	graph_job_leave(&job, cuda, device);
	graph_job_free(&job);
	close_one(device);
}

/* tasks with various parameters in any order, mixed with tasks that upload their own graphs */
static void
one_graph_many_tasks(void)
{
	HyDevice *device = open_one(0);
	GraphJob job;
	GraphJob other;
	int round;

	graph_job(&job, &randomness, make_graph(&randomness, 700, 5000, 3000, HY_DIRECTION_BOTH), plain,
	          20, 30);
	graph_job(&other, &randomness, make_graph(&randomness, 90, 300, 0, HY_DIRECTION_OUT), plain, 9,
	          5);
	CHECK_INT(graph_job_reside(&job, cuda, device), HY_OK);
	for (round = 0; round < 24; round++)
	{
		HySpreadParams *p = &job.task.u.spread.params;
		Trial trial;

		*p = plain;
		p->hops = round % 4 == 0 ? -1 : round % 5 == 0 ? 40 : round % 7;
		p->threshold = round % 3 == 0 ? 0.01 : 0;
		p->refire = round % 4;
		p->combine = round % 6 == 5 ? HY_COMBINE_MAX : HY_COMBINE_SUM;
		job.task.u.spread.seeds.sets = round % 2 == 0 ? 20 : 1 + round % 9;
		job.values = job.graph.nodes * job.task.u.spread.seeds.sets;
		job.activation[job.values] = job.hop[job.values] = -77;
		device->pace[HY_OP_SPREAD].work = UINT64_C(1) << (10 + round % 15);
		expect(&job);
		trial = graph_trial(&job, check_job);
		trial_run(device, &trial);
		trial = graph_trial(&other, check_job);
		trial_run(device, &trial);
	}
	graph_job_leave(&job, cuda, device);
	graph_job_free(&job);
	graph_job_free(&other);
	close_one(device);
}

/* a task over a resident graph takes memory only for a group's state, and the estimate says so */
static void
memory_is_the_state_alone(void)
{
	HyDevice *device = open_one(0);
	HyEstimate brought;
	HyEstimate there;
	HyTicket ticket;
	HyTimings timings;
	HyShape shape;
	uint64_t used;
	bool done = false;
	GraphJob job;

	graph_job(&job, &randomness, make_graph(&randomness, 3000, 60000, 0, HY_DIRECTION_OUT), plain,
	          8, 1);
	shape = hy_task_shape(&job.task);
	brought = cuda->estimate(device, &shape);
	CHECK(brought.bytes_up > 60000 * 7);
	CHECK_INT(graph_job_reside(&job, cuda, device), HY_OK);
	shape = hy_task_shape(&job.task);
	CHECK(shape.resident);
	there = cuda->estimate(device, &shape);
	CHECK_INT(there.bytes_up, 8 * 16);
	CHECK(there.device_bytes + 60000 * 7 < brought.device_bytes);
	CHECK_INT(there.bytes_down, brought.bytes_down);
	used = device->used;
	CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_OK);
	CHECK(device->used - used >= (uint64_t) job.graph.nodes * 8 * 28);
	CHECK(device->used - used < (uint64_t) job.graph.nodes * 8 * 28 + 20000);
	while (!done)
		CHECK_INT(cuda->poll(device, ticket, &done, &timings), HY_OK);
	graph_job_check(&job, "state alone");
	graph_job_leave(&job, cuda, device);
	graph_job_free(&job);
	close_one(device);
}

static void
refused(HyDevice *device, GraphJob *job, const char *why)
{
	HyFailure failure;
	uint64_t used = device->used;

	CHECK_INT(run(device, &job->task, NULL), HY_INVALID);
	cuda->last_error(device, &failure);
	CHECK_MSG(strstr(failure.text, why) != NULL, "%s", failure.text);
	CHECK_INT(device->used, used);
}

/* buffers that would make a device read outside them */
static void
wrong_buffers_are_refused(void)
{
	HyLimits none = {0};
	HyDevice *device = open_one(0);
	HyDevice *second = NULL;
	HyPackedGraph wrong;
	HySpreadTask *s;
	HyBuffer *right;
	GraphJob job;
	int i;

	hy_fake.devices = 2;
	CHECK_INT(cuda->open(1, &none, &second), HY_OK);
	graph_job(&job, &randomness, make_graph(&randomness, 200, 900, 0, HY_DIRECTION_OUT), plain, 3,
	          5);
	s = &job.task.u.spread;
	CHECK_INT(graph_job_reside(&job, cuda, device), HY_OK);
	right = s->buffer;
	refused(second, &job, "another device");
	s->packed = NULL;
	refused(device, &job, "contradicts");
	/* the end of the graph is missing */
	CHECK_INT(cuda->buf_alloc(device, job.packed.layout.bytes - 1, &s->buffer), HY_OK);
	s->packed = &job.packed;
	refused(device, &job, "does not lie");
	cuda->buf_free(device, s->buffer);
	s->buffer = right;
	for (i = 0; i < 6; i++)
	{
		wrong = job.packed;
		s->packed = &wrong;
		if (i == 0)
			wrong.nodes++;
		else if (i == 1)
			wrong.edges--;
		else if (i == 2)
			wrong.rows[0] += 200;
		else if (i == 3)
			wrong.rows[2] = -1;
		else
			wrong.layout.offset[i == 4 ? HY_PACKED_WEIGHT : HY_PACKED_ROWS] += 256;
		refused(device, &job, i < 2 ? "contradicts" : "does not lie");
	}
	/* also without a buffer, because rows are read from the task's list */
	s->buffer = NULL;
	s->graph = &job.graph;
	refused(device, &job, "does not lie");
	s->packed = &job.packed;
	CHECK_INT(run(device, &job.task, NULL), HY_OK);
	graph_job_check(&job, "packed");
	s->buffer = right;
	CHECK_INT(run(device, &job.task, NULL), HY_OK);
	graph_job_check(&job, "resident");
	graph_job_leave(&job, cuda, device);
	graph_job_free(&job);
	cuda->close(second);
	close_one(device);
}

/*
 * whichever call of CUDA fails, there is a status, and the graph is still there for the next task
 */
static void
each_call_may_fail(void)
{
	HyDevice *device = open_one(UINT64_C(4) << 20);
	uint64_t used;
	GraphJob job;
	int failed = 0;
	int at;

	graph_job(&job, &randomness, make_graph(&randomness, 20, 60, 0, HY_DIRECTION_OUT), plain, 9, 5);
	CHECK_INT(graph_job_reside(&job, cuda, device), HY_OK);
	used = device->used;
	for (at = 1;; at++)
	{
		HyStatus status;
		int calls;

		hy_fake_fail(NULL, at, cudaErrorMemoryAllocation);
		status = run(device, &job.task, NULL);
		calls = hy_fake_calls();
		hy_fake_fail(NULL, 0, cudaSuccess);
		CHECK(status == HY_OK || status == HY_NOMEM);
		failed += status != HY_OK;
		CHECK_INT(device->used, used);
		CHECK_INT(run(device, &job.task, NULL), HY_OK);
		graph_job_check(&job, "after a failure");
		if (unit_failed_checks > 0 || calls < at)
			break;
	}
	printf("# %d places of failure\n", failed);
	CHECK(failed > 20);
	/* the task allocates one structure on the host, and no lists */
	memory.calls = 0;
	memory.fail_at = 2;
	CHECK_INT(run(device, &job.task, NULL), HY_OK);
	memory.fail_at = 0;
	graph_job_leave(&job, cuda, device);
	graph_job_free(&job);
	close_one(device);
}

int
main(void)
{
	if (!plug_in())
		return 1;
	RUN(bytes_are_counted);
	RUN(one_graph_many_tasks);
	RUN(memory_is_the_state_alone);
	RUN(small_tasks_take_few_kernels);
	RUN(wrong_buffers_are_refused);
	RUN(each_call_may_fail);
	return unit_finish();
}
