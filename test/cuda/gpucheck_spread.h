/*
 * gpucheck_spread.h
 *		The part of gpucheck that spreads activation.  The answers must have the CPU's bits.
 */
#ifndef HY_TEST_GPUCHECK_SPREAD_H
#define HY_TEST_GPUCHECK_SPREAD_H

#include "gpucheck.h"

#include "graphs.h"

static int64_t spread;

/* run_graph: run a job of graphs.h and check its answers. */
static void
run_graph(GraphJob *job, const char *what)
{
	HyTimings timings = {0};
	HyTicket ticket;
	HyStatus status = cuda->submit(device, &job->task, &ticket);

	if (status == HY_OK)
		status = finish(ticket, &timings);
	if (status != HY_OK)
		say_failure(device, what, status);
	else
		graph_job_check(job, what);
	spread += job->values;
}

/*
 * run_spread: run a job that uploads its graph, then the same job over the resident graph.  Frees
 * the job.
 */
static void
run_spread(GraphJob *job, const char *what)
{
	HyStatus status;

	run_graph(job, what);
	memset(job->activation, 0x5a, (size_t) job->values * sizeof(double));
	memset(job->hop, 0x5a, (size_t) job->values * sizeof(int32_t));
	status = graph_job_reside(job, cuda, device);
	if (status == HY_OK)
		run_graph(job, "spread over a graph that lies there");
	else
		say_failure(device, what, status);
	graph_job_leave(job, cuda, device);
	graph_job_free(job);
}

static void
spread_over(int rounds, int64_t nodes, int64_t edges, int64_t hub, int32_t sets)
{
	int i;

	for (i = 0; i < rounds; i++)
	{
		HySpreadParams params = random_params(&randomness);
		GraphJob job;

		graph_job(&job, &randomness,
		          make_graph(&randomness, nodes, edges, hub, (HyDirection) (i % 3)), params,
		          1 + (int32_t) unit_random_below(&randomness, (uint64_t) sets), 9);
		run_spread(&job, "spread");
	}
}

static void
small_graphs(void)
{
	spread_over(12, 60, 300, 0, 9);
}

/*
 * rows of all lengths, a row that is cut at windows, groups of every width, hops until convergence
 */
static void
graphs(void)
{
	spread_over(100, 500, 3000, 0, 9);
	spread_over(6, 2000, 20000, 100000, 9);
	spread_over(3, 100, 300, 1000000, 2);
	spread_over(6, 300000, 2000000, 0, 20);
	spread_over(1, 100000, 600000, 0, 64);
}

/* reopen: open the device with this memory limit (0: none).  Returns whether it could be opened. */
static bool
reopen(uint64_t bytes)
{
	HyLimits limits = {.memory = bytes};
	HyStatus status;

	cuda->close(device);
	device = NULL;
	status = cuda->open(number, &limits, &device);
	if (status != HY_OK)
		say_failure(NULL, "open", status);
	return status == HY_OK;
}

/*
 * There is memory for a graph and one set at a time, but not for two sets.  The answers of each
 * group are copied from the memory in which the state of the next group begins.
 */
static void
groups_of_one(void)
{
	HySpreadParams params = {0.85, 1, 3, 0, 0, HY_COMBINE_SUM, 1e-9, NULL};
	GraphJob job;

	if (!reopen(UINT64_C(56) << 20))
		return;
	graph_job(&job, &randomness, make_graph(&randomness, 300000, 2000000, 0, HY_DIRECTION_OUT),
	          params, 5, 9);
	run_graph(&job, "groups of one");
	graph_job_free(&job);
	(void) reopen(0);
}

/* a task of endless hops ends within 100 ms after a cancel, and the next task is right */
static void
a_spread_is_cancelled(void)
{
	HySpreadParams params = {1, 1, 1, 0, 0, HY_COMBINE_SUM, 1e-9, NULL};
	GraphJob job;

	graph_job(&job, &randomness, make_graph(&randomness, 300000, 2000000, 0, HY_DIRECTION_BOTH),
	          params, 8, 9);
	job.task.u.spread.params.hops = INT32_MAX;
	expect_cancel(&job.task, 200);
	job.task.u.spread.params.hops = 1;
	run_spread(&job, "spread after a cancel");
}

#endif
