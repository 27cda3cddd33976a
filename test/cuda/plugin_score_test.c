/*
 * plugin_score_test.c
 *		'score_codes' through the vtable, on the fake device.  The rows and the bits must be those
 *		of core/score.c.  Also pieces, groups of queries, limits, cancel and failures.
 */
#include "plugged.h"

#include "core/rotation.h"
#include "scores.h"

static UnitRandom randomness = {14};
static int64_t compared;

static Trial
trial_of(ScoreJob *job)
{
	compared += job->entries;
	return (Trial){
		.task = &job->task,
		.check = score_job_check,
		.job = job,
		.answer = {{job->out, (size_t) job->entries * sizeof(HyNeighbor)},
	               {job->counts, (size_t) job->task.u.score.queries.count * sizeof(int32_t)}}};
}

/* run_shape: run a random task of these sizes. */
static void
run_shape(HyDevice *device, int32_t padded, int32_t blocks, int32_t lists, int32_t queries,
          int32_t k, ScoreKind kind)
{
	Trial trial;
	ScoreJob job;

	score_job(&job, &randomness, padded, blocks, lists, queries, k, kind,
	          unit_random_below(&randomness, 2) * 8);
	trial = trial_of(&job);
	trial_run(device, &trial);
	score_job_free(&job);
}

static void
caps_and_estimates(void)
{
	HyShape shape = {HY_OP_SCORE_CODES, HY_F32, HY_METRIC_L2, 768, 10, 3200, 20, false, 0};
	HyEstimate estimate;
	HyCaps caps = cuda->caps(NULL, &shape);

	CHECK(caps.ok);
	CHECK_INT(caps.max_targets, INT64_C(1) << 31);
	CHECK_INT(caps.max_k, HY_SCORE_MOST);
	CHECK_INT(caps.numeric_class, HY_CLASS_EXACT);
	estimate = cuda->estimate(NULL, &shape);
	CHECK_INT(estimate.bytes_up, 10 * (768 * 4 + 32) + 100 * (96 * 32 + 384 + 8));
	CHECK_INT(estimate.bytes_down, 10 * 20 * 8);
	/* codes are uploaded again for every group of queries */
	shape.queries = 1000;
	CHECK_INT(cuda->estimate(NULL, &shape).bytes_up,
	          1000 * (768 * 4 + 32) + 200 * (96 * 32 + 384 + 8));
	/* k as the views pass it */
	shape.k = 0;
	CHECK(cuda->estimate(NULL, &shape).device_bytes > 0);
	shape.k = HY_SCORE_MOST + 1;
	CHECK_INT(cuda->estimate(NULL, &shape).device_bytes, 0);
	shape.k = 1;
	shape.dtype = HY_F16;
	CHECK(!cuda->caps(NULL, &shape).ok && cuda->caps(NULL, &shape).reason != NULL);
	shape.dtype = HY_F32;
	shape.dims = HY_MAX_DIMS + 1;
	CHECK(!cuda->caps(NULL, &shape).ok);
}

/* with one list, the bytes of the estimate are those that the task then reports */
static void
bytes_are_counted(void)
{
	HyDevice *device = open_one(0);
	Trial trial;
	ScoreJob job;

	score_job(&job, &randomness, 64, 30, 1, 5, 9, SCORE_PLAIN, 0);
	trial = trial_of(&job);
	(void) trial_counted(device, &trial);
	score_job_free(&job);
	close_one(device);
}

static void
shapes_of_every_kind(void)
{
	static const int32_t padded[] = {64, 128, 768, 2048, 2112, 5056};
	static const int32_t ks[] = {1, 2, 10, 127, 128, 129, 1000, HY_SCORE_MOST};
	HyDevice *device = open_one(0);
	size_t i;
	size_t j;

	for (i = 0; i < sizeof(padded) / sizeof(padded[0]); i++)
	{
		for (j = 0; j < sizeof(ks) / sizeof(ks[0]); j++)
			run_shape(device, padded[i], padded[i] > 1000 ? 3 : 40, 1 + (int32_t) (j % 5),
			          1 + (int32_t) ((i + j) % 6), ks[j], (ScoreKind) ((i + j) % SCORE_KINDS));
	}
	close_one(device);
}

static void
empty_tasks_and_nonsense(void)
{
	HyDevice *device = open_one(0);
	HyTicket ticket;
	ScoreJob job;

	run_shape(device, 64, 0, 2, 3, 5, SCORE_PLAIN);
	run_shape(device, 64, 5, 2, 0, 5, SCORE_PLAIN);
	score_job(&job, &randomness, 64, 5, 2, 3, 4, SCORE_PLAIN, 0);
	/* no row counts */
	memset(job.live, 0, 5 * sizeof(uint32_t));
	CHECK_INT(run(device, &job.task, NULL), HY_OK);
	CHECK_INT(job.counts[0] + job.counts[1] + job.counts[2], 0);
	job.task.u.score.counts = NULL;
	CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_INVALID);
	job.task.u.score.counts = job.counts;
	job.task.u.score.k = HY_SCORE_MOST + 1;
	CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_INVALID);
	job.task.u.score.k = 4;
	/* close the device with a task in flight */
	CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_OK);
	close_one(device);
	score_job_free(&job);
}

/* budgets so small that there are several groups of queries and many pieces of codes */
static void
many_pieces(void)
{
	HyDevice *device = open_one(UINT64_C(600) << 10);
	int kind;

	CHECK(hy_fake_used() <= UINT64_C(600) << 10);
	for (kind = 0; kind < SCORE_KINDS; kind++)
	{
		run_shape(device, 768, 60, 7, 30, 40, (ScoreKind) kind);
		run_shape(device, 64, 700, 300, 3, HY_SCORE_MOST, (ScoreKind) kind);
	}
	/* the widest that there are */
	run_shape(device, hy_rotation_padded(HY_MAX_DIMS), 3, 2, 3, 5, SCORE_PLAIN);
	close_one(device);
	/* pieces that the work limit cuts */
	device = open_one(0);
	device->pace[HY_OP_SCORE_CODES].work = 1 << 14;
	run_shape(device, 64, 90, 11, 5, 20, SCORE_FEW);
	close_one(device);
}

static void
random_shapes(void)
{
	HyDevice *device = open_one(UINT64_C(2) << 20);
	int i;

	for (i = 0; i < 60 / unit_share(); i++)
	{
		device->pace[HY_OP_SCORE_CODES].work = UINT64_C(1)
		                                       << (12 + unit_random_below(&randomness, 14));
		run_shape(device, 64 * (1 + (int32_t) unit_random_below(&randomness, i % 9 == 0 ? 40 : 4)),
		          1 + (int32_t) unit_random_below(&randomness, 50),
		          1 + (int32_t) unit_random_below(&randomness, 20),
		          1 + (int32_t) unit_random_below(&randomness, 12),
		          1 + (int32_t) unit_random_below(&randomness, i % 3 == 0 ? HY_SCORE_MOST : 40),
		          (ScoreKind) unit_random_below(&randomness, SCORE_KINDS));
	}
	close_one(device);
}

/* earlier contents of the memory, perhaps of another role's task, never appear in an answer */
static void
no_task_reads_what_another_left(void)
{
	static const int bytes[] = {0x00, 0xff, 0x7f, 0x3c, 0x01};
	HyDevice *device = open_one(UINT64_C(600) << 10);
	size_t i;

	for (i = 0; i < 2 * sizeof(bytes) / sizeof(bytes[0]); i++)
	{
		hy_fake_scribble(bytes[i / 2]);
		/* every second task has fewer rows than it requests */
		run_shape(device, 128, i % 2 ? 2 : 150, 3, 5, i % 2 ? 200 : 20,
		          (ScoreKind) (i % SCORE_KINDS));
	}
	/* free blocks still have the scribbled bytes, which the fake reports as not zeroed */
	cuda->close(device);
	CHECK_INT(hy_fake_live(), 0);
	CHECK_INT(memory.outstanding, 0);
}

static void
kernels_keep_to_the_pace(void)
{
	Trial trial;
	ScoreJob job;

	score_job(&job, &randomness, 768, 60, 3, 4, 10, SCORE_PLAIN, 0);
	trial = trial_of(&job);
	trial_pace(&trial, 2);
	score_job_free(&job);
}

static void
a_cancel_stops_between_pieces(void)
{
	HyDevice *device = open_one(UINT64_C(600) << 10);
	Trial trial;
	ScoreJob job;

	score_job(&job, &randomness, 768, 400, 7, 3, 10, SCORE_PLAIN, 0);
	trial = trial_of(&job);
	trial_cancel(device, &trial, 20);
	score_job_free(&job);
	close_one(device);
}

/* in several pieces and groups */
static void
each_call_may_fail(void)
{
	Trial trial;
	ScoreJob job;

	score_job(&job, &randomness, 4032, 9, 3, 5, 6, SCORE_FEW, 0);
	trial = trial_of(&job);
	trial_failures(&trial, UINT64_C(600) << 10, 70);
	score_job_free(&job);
}

int
main(void)
{
	if (!plug_in())
		return 1;
	RUN(caps_and_estimates);
	RUN(bytes_are_counted);
	RUN(shapes_of_every_kind);
	RUN(empty_tasks_and_nonsense);
	RUN(many_pieces);
	RUN(random_shapes);
	RUN(no_task_reads_what_another_left);
	RUN(kernels_keep_to_the_pace);
	RUN(a_cancel_stops_between_pieces);
	RUN(each_call_may_fail);
	printf("# %lld entries compared\n", (long long) compared);
	return unit_finish();
}
