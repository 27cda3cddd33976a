/*
 * plugin_threads_test.c
 *		Checks the answers of each operation when the host's threads copy its rows and answers.  The
 *		bits must be the same on any number of threads, with a host that lends no threads, and after
 *		runs that fail or are canceled.
 */
#include "assigned.h"
#include "distances.h"
#include "graph_trial.h"
#include "nearest.h"
#include "scores.h"

static UnitRandom randomness = {23};

/* refusing: implement HyHost.run, but run only the first part and return HY_CANCELLED. */
static HyStatus
refusing(void *arg, HyOp op, double work, int64_t parts, HyPart part, void *part_arg)
{
	(void) arg;
	(void) op;
	(void) work;
	host_parts += parts;
	(void) part(part_arg, 0, 0, NULL);
	return HY_CANCELLED;
}

/* be_host: give the plug-in a host with this HyHost.run and this number of threads. */
static void
be_host(HyStatus (*run_them)(void *arg, HyOp op, double work, int64_t parts, HyPart part,
                             void *part_arg),
        int threads)
{
	host.run = run_them;
	host_threads = threads;
	CHECK(hy_plugin_entry(&host) == cuda);
}

/*
 * on_threads: run a task on different hosts.  Its copies must have at least `least` parts, and the
 * same number of parts on every host that has a HyHost.run.
 */
static void
on_threads(const Trial *trial, int64_t least)
{
	HyDevice *device = open_one(0);
	int64_t parts[4];
	int i;

	for (i = 0; i < 4; i++)
	{
		static const int threads[] = {3, 1, 7};

		be_host(i < 3 ? run_parts : refusing, i < 3 ? threads[i] : 0);
		host_parts = 0;
		trial_run(device, trial);
		parts[i] = host_parts;
		CHECK_INT(parts[i], parts[0]);
	}
	CHECK_MSG(parts[0] >= least, "%lld parts", (long long) parts[0]);
	be_host(NULL, 0);
	host_parts = 0;
	trial_run(device, trial);
	CHECK_INT(host_parts, 0);
	be_host(run_parts, 3);
	close_one(device);
}

/* 1.2 MB of rows with and without gaps between them */
static void
nearest_rows(void)
{
	size_t gap;

	for (gap = 0; gap < 2; gap++)
	{
		NearestJob job;
		Trial trial;

		nearest_job(&job, &randomness, HY_METRIC_L2, HY_F32, 301, 1, 1000, 10, gap, ROWS_PLAIN);
		trial = nearest_trial(&job);
		on_threads(&trial, 18);
		nearest_free(&job, NULL);
	}
}

/* the norms of the rows are a second copy in the same call */
static void
nearest_rows_with_norms(void)
{
	NearestJob job;
	Trial trial;

	nearest_job(&job, &randomness, HY_METRIC_COSINE, HY_F16, 100, 200, 2000, 3, 0, ROWS_PLAIN);
	nearest_norms(&job);
	trial = nearest_trial(&job);
	on_threads(&trial, 7);
	nearest_free(&job, NULL);
}

/*
 * the answers take 0.8 MB; if the task has several pieces, the answers of a piece are not
 * contiguous
 */
static void
distances_down(void)
{
	DistanceJob job;
	Trial trial;

	distance_job(&job, &randomness, HY_METRIC_IP, HY_F32, 5, 20, 5000, 4);
	trial = distance_trial(&job);
	on_threads(&trial, 13);
	distance_free(&job);
}

static void
assigned_rows(void)
{
	AssignJob job;
	Trial trial;

	assign_job(&job, &randomness, (AssignSizes){.dims = 300, .rows = 700, .centroids = 5, .gap = 1},
	           VECTORS_PLAIN);
	trial = assign_trial(&job);
	on_threads(&trial, 13);
	assign_free(&job);
}

static void
scored_codes(void)
{
	size_t gap;

	for (gap = 0; gap < 9; gap += 8)
	{
		ScoreJob job;
		Trial trial;

		score_job(&job, &randomness, 768, 90, 7, 3, 10, SCORE_PLAIN, gap);
		trial = (Trial){.task = &job.task,
		                .check = score_job_check,
		                .job = &job,
		                .answer = {{job.out, (size_t) job.entries * sizeof(HyNeighbor)},
		                           {job.counts, 3 * sizeof(int32_t)}}};
		on_threads(&trial, 5);
		score_job_free(&job);
	}
}

static void
check_graph(const void *of)
{
	graph_job_check(of, "threads");
}

/* graphs are copied up, and activation, hops and charges sent are copied down, for 1 and 5 sets */
static void
spread_answers(void)
{
	static const int32_t sets[] = {1, 5};
	size_t i;

	for (i = 0; i < 2; i++)
	{
		HySpreadParams params = {.decay = 0.8, .fan = 1, .hops = 3, .refire = 1};
		GraphJob job;
		Trial trial;

		graph_job(&job, &randomness, make_graph(&randomness, 9000, 20000, 0, (HyDirection) 0),
		          params, sets[i], 6);
		job.task.u.spread.sent = job.sent;
		trial = graph_trial(&job, check_graph);
		on_threads(&trial, 8);
		graph_job_free(&job);
	}
}

/* after a cancel, no thread copies anything, because the caller may reuse the memory */
static void
a_cancel_ends_copies(void)
{
	HyDevice *device = open_one(0);
	HyTimings timings;
	HyTicket ticket;
	NearestJob job;
	int64_t before;
	bool done = false;
	int polls;

	nearest_job(&job, &randomness, HY_METRIC_L2, HY_F32, 301, 1, 3000, 10, 0, ROWS_PLAIN);
	/* gives the task many pieces, each of which is copied in several parts */
	device->pace[HY_OP_TOPK].work = 301 * 200;
	CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_OK);
	before = host_parts;
	CHECK(before > 0);
	cuda->cancel(device, ticket);
	memset(job.targets, 0xff, job.target_bytes);
	for (polls = 0; !done && polls < 1000; polls++)
	{
		HyStatus status = cuda->poll(device, ticket, &done, &timings);

		CHECK_INT(status, done ? HY_CANCELLED : HY_OK);
	}
	CHECK(done);
	CHECK_INT(host_parts, before);
	nearest_free(&job, NULL);
	close_one(device);
}

int
main(void)
{
	if (!plug_in())
		return 1;
	RUN(nearest_rows);
	RUN(nearest_rows_with_norms);
	RUN(distances_down);
	RUN(assigned_rows);
	RUN(scored_codes);
	RUN(spread_answers);
	RUN(a_cancel_ends_copies);
	return unit_finish();
}
