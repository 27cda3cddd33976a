/*
 * plugin_topk_test.c
 *		'topk' through the vtable, on the fake device: answers, pieces, limits, cancel and failures.
 */
#include "nearest.h"

static UnitRandom randomness = {12};

static void
job_make(NearestJob *job, HyMetric metric, HyDtype dtype, int32_t dims, int64_t queries,
         int64_t rows, int32_t k, size_t gap)
{
	nearest_job(job, &randomness, metric, dtype, dims, queries, rows, k, gap, ROWS_FEW);
}

static void
caps_and_estimates(void)
{
	HyShape shape = {HY_OP_TOPK, HY_F16, HY_METRIC_IP, 768, 10, 1000, 20, false, 0};
	HyEstimate estimate;
	HyCaps caps = cuda->caps(NULL, &shape);
	HyDevice *device;
	HyTicket ticket;
	NearestJob job;

	CHECK(caps.ok && caps.max_targets > 1000000000);
	CHECK_INT(caps.max_k, 128);
	CHECK_INT(caps.numeric_class, HY_CLASS_EXACT);
	estimate = cuda->estimate(NULL, &shape);
	CHECK_INT(estimate.bytes_up, 10 * 768 * 4 + 1000 * 768 * 2);
	CHECK_INT(estimate.bytes_down, 10 * 20 * 16);
	shape.resident = true;
	CHECK_INT(cuda->estimate(NULL, &shape).bytes_up, 10 * 768 * 4);
	/* k as the views pass it, and k beyond the limit */
	shape.k = 0;
	CHECK(cuda->estimate(NULL, &shape).device_bytes > 0);
	shape.k = INT32_MAX;
	CHECK_INT(cuda->caps(NULL, &shape).max_k, 128);
	CHECK_INT(cuda->estimate(NULL, &shape).device_bytes, 0);

	device = open_one(0);
	job_make(&job, HY_METRIC_L2, HY_F32, 5, 1, 200, 129, 0);
	CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_UNSUPPORTED);
	nearest_free(&job, device);
	job_make(&job, HY_METRIC_L2, HY_F32, 5, 1, 200, 128, 0);
	job.task.u.topk.counts = NULL;
	CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_INVALID);
	job.task.u.topk.counts = job.counts;
	CHECK_INT(run(device, &job.task, NULL), HY_OK);
	nearest_check(&job);
	nearest_free(&job, device);
	close_one(device);
}

/* as on the CPU: with several queries, the norms of the task are used, not computed */
static void
given_norms_are_used(void)
{
	HyDevice *device = open_one(UINT64_C(1) << 20);
	int dtype;

	for (dtype = 0; dtype < HY_DTYPE_COUNT; dtype++)
	{
		NearestJob job;
		Trial trial;
		double first;

		/* pieces that end anywhere, elements that end between two norms; groups of queries */
		job_make(&job, HY_METRIC_COSINE, (HyDtype) dtype, 301, 160, 555, 7, 0);
		first = job.expected[0].distance;
		nearest_norms(&job);
		CHECK(first != job.expected[0].distance);
		trial = nearest_trial(&job);
		trial.up_unknown = true;
		trial_run(device, &trial);
		/* other metrics do not use norms */
		nearest_free(&job, NULL);
		job_make(&job, HY_METRIC_L2, (HyDtype) dtype, 301, 160, 555, 7, 0);
		nearest_norms(&job);
		trial = nearest_trial(&job);
		(void) trial_counted(device, &trial);
		nearest_free(&job, NULL);
	}
	close_one(device);
}

/* every kind; the bytes of the estimate are those that the task then reports */
static void
nearest_of_rows_anywhere(void)
{
	HyDevice *device = open_one(0);
	int metric;
	int dtype;
	int resident;

	for (metric = 0; metric < HY_METRIC_COUNT; metric++)
	{
		for (dtype = 0; dtype < HY_DTYPE_COUNT; dtype++)
		{
			for (resident = 0; resident < 2; resident++)
			{
				NearestJob job;
				Trial trial;

				job_make(&job, (HyMetric) metric, (HyDtype) dtype, 7, 3, 400, 20, metric % 2 * 3);
				trial = nearest_trial(&job);
				if (resident)
					nearest_resident(device, &job, 24);
				(void) trial_counted(device, &trial);
				if (resident)
				{
					/* rows beyond the buffer */
					job.task.u.topk.targets.rows++;
					CHECK_INT(run(device, &job.task, NULL), HY_INVALID);
				}
				nearest_free(&job, device);
			}
		}
	}
	close_one(device);
}

static void
fewer_rows_than_asked_for(void)
{
	HyDevice *device = open_one(0);
	NearestJob job;

	job_make(&job, HY_METRIC_L2, HY_F32, 5, 3, 4, 10, 0);
	CHECK_INT(run(device, &job.task, NULL), HY_OK);
	nearest_check(&job);
	CHECK_INT(job.counts[0], 4);
	nearest_free(&job, device);
	/* zero vectors have no angle and are no answers */
	job_make(&job, HY_METRIC_COSINE, HY_F32, 1, 2, 50, 45, 0);
	job.queries[1] = 0;
	CHECK_INT(hy_topk_search(HY_METRIC_COSINE, &job.task.u.topk.queries, &job.task.u.topk.targets,
	                         45, job.expected, job.expected_counts, NULL),
	          HY_OK);
	CHECK_INT(run(device, &job.task, NULL), HY_OK);
	nearest_check(&job);
	CHECK_INT(job.counts[1], 0);
	nearest_free(&job, device);
	job_make(&job, HY_METRIC_L2, HY_F32, 5, 3, 0, 10, 0);
	CHECK_INT(run(device, &job.task, NULL), HY_OK);
	CHECK_INT(job.counts[0] + job.counts[1] + job.counts[2], 0);
	nearest_check(&job);
	nearest_free(&job, device);
	job_make(&job, HY_METRIC_L2, HY_F32, 5, 0, 10, 10, 0);
	CHECK_INT(run(device, &job.task, NULL), HY_OK);
	nearest_check(&job);
	nearest_free(&job, device);
	close_one(device);
}

/* a budget so small that there are several groups of queries and many pieces of rows */
static void
many_pieces(void)
{
	int resident;

	for (resident = 0; resident < 2; resident++)
	{
		HyDevice *device = open_one(UINT64_C(1) << 20);
		int polls;
		NearestJob job;

		CHECK(hy_fake_used() <= UINT64_C(1) << 20);
		job_make(&job, resident ? HY_METRIC_L1 : HY_METRIC_COSINE, HY_F32, 1200, 50, 90, 60, 0);
		if (resident)
			nearest_resident(device, &job, 0);
		CHECK_INT(run(device, &job.task, &polls), HY_OK);
		CHECK(polls > 2);
		nearest_check(&job);
		nearest_free(&job, device);
		/* few dims: the memory for the k best limits the size of a group */
		job_make(&job, HY_METRIC_IP, HY_F16, 3, 200, 150, 128, 0);
		CHECK_INT(run(device, &job.task, NULL), HY_OK);
		nearest_check(&job);
		nearest_free(&job, device);
		close_one(device);
	}
}

/*
 * one query of every kind, in one piece and in several, in scratch filled with other bytes than
 * zero
 */
static void
one_query(void)
{
	static const int32_t dims[] = {1, 7, 1024, 1025, 2050};
	static const int32_t k[] = {1, 10, 65, 128, 30};
	static const uint64_t limits[] = {0, UINT64_C(600) << 10};
	int i;

	for (i = 0; i < 2 * 5 * HY_METRIC_COUNT * HY_DTYPE_COUNT; i++)
	{
		HyDevice *device = open_one(limits[i % 2]);
		int at = i / 2 / (HY_METRIC_COUNT * HY_DTYPE_COUNT);
		double limit = 1.5;
		NearestJob job;
		Trial trial;

		job_make(&job, (HyMetric) (i / 2 % HY_METRIC_COUNT),
		         (HyDtype) (i / 2 / HY_METRIC_COUNT % HY_DTYPE_COUNT), dims[at], 1, 300, k[at],
		         (size_t) (i % 3));
		trial = nearest_trial(&job);
		hy_fake_scribble(i);
		(void) trial_counted(device, &trial);
		nearest_limits(&job, &limit);
		hy_fake_scribble(i);
		CHECK_INT(run(device, &job.task, NULL), HY_OK);
		nearest_check(&job);
		if (limits[i % 2] == 0)
		{
			hy_fake_scribble(i);
			nearest_resident(device, &job, 24);
			/* also with one row per piece */
			device->pace[HY_OP_TOPK].work = i % 4 < 2 ? UINT64_C(1) << 18 : 1;
			CHECK_INT(run(device, &job.task, NULL), HY_OK);
			nearest_check(&job);
		}
		nearest_free(&job, device);
		hy_fake_scribble(0);
		close_one(device);
	}
}

/*
 * The calls that one query over resident rows waits for, apart from reading the rows.  At submit:
 * select the device, a copy up, a kernel between two events.  At the last poll: select the device,
 * query the event, read the time.  Several queries take one more kernel, a copy down and its event.
 * Norms of several or of long queries take one more kernel.
 */
static void
few_calls_for_one_query(void)
{
	static const struct
	{
		HyMetric metric;
		int32_t dims;
		int64_t queries;
		int calls;
		int kernels;
	} cases[] = {{HY_METRIC_L2, 128, 1, 8, 1},
	             {HY_METRIC_COSINE, 1024, 1, 8, 1},
	             {HY_METRIC_COSINE, 1025, 1, 9, 2},
	             {HY_METRIC_L2, 128, 2, 11, 2},
	             {HY_METRIC_COSINE, 128, 2, 12, 3}};
	HyDevice *device = open_one(0);
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		NearestJob job;
		int launched;
		int calls;

		job_make(&job, cases[i].metric, HY_F32, cases[i].dims, cases[i].queries, 200, 10, 0);
		nearest_resident(device, &job, 0);
		calls = calls_of(device, &job.task, &launched);
		CHECK_MSG(calls == cases[i].calls && launched == cases[i].kernels,
		          "case %d: %d calls, %d kernels", (int) i, calls, launched);
		nearest_check(&job);
		nearest_free(&job, device);
	}
	close_one(device);
}

static void
kernels_keep_to_the_pace(void)
{
	Trial trial;
	NearestJob job;

	job_make(&job, HY_METRIC_IP, HY_F32, 16000, 4, 100, 10, 0);
	trial = nearest_trial(&job);
	trial_pace(&trial, 2);
	nearest_free(&job, NULL);
}

static void
rows_beyond_a_limit_are_left_out(void)
{
	static const double limits[] = {1, 0, -1, INFINITY, -INFINITY, NAN};
	HyDevice *device = open_one(0);
	NearestJob job;

	job_make(&job, HY_METRIC_L1, HY_F32, 3, 6, 120, 25, 0);
	nearest_limits(&job, limits);
	CHECK(job.expected_counts[0] > 0 && job.expected_counts[0] < 25);
	CHECK_INT(job.expected_counts[2], 0);
	CHECK_INT(job.expected_counts[5], 25);
	CHECK_INT(run(device, &job.task, NULL), HY_OK);
	nearest_check(&job);
	nearest_free(&job, device);
	close_one(device);
}

/* other operations run in between, in the same scratch */
static void
operations_take_turns(void)
{
	HyDevice *device = open_one(0);
	HyTask distances = {.op = HY_OP_DISTANCE, .allocator = &memory.allocator};
	double *out;
	NearestJob job;
	int i;

	for (i = 0; i < 3; i++)
	{
		job_make(&job, HY_METRIC_L2, HY_F32, 6, 4, 500, 10, 0);
		CHECK_INT(run(device, &job.task, NULL), HY_OK);
		nearest_check(&job);
		out = malloc(4 * 500 * sizeof(double));
		distances.u.distance = (HyDistanceTask){.metric = HY_METRIC_L2,
		                                        .queries = job.task.u.topk.queries,
		                                        .targets = job.task.u.topk.targets,
		                                        .out = out};
		CHECK_INT(run(device, &distances, NULL), HY_OK);
		CHECK_SAME_F64(out[job.expected[0].row], job.expected[0].distance);
		free(out);
		nearest_free(&job, device);
	}
	close_one(device);
}

static void
a_cancel_stops_between_pieces(void)
{
	HyDevice *device = open_one(UINT64_C(700) << 10);
	Trial trial;
	NearestJob job;

	job_make(&job, HY_METRIC_L2, HY_F32, 1200, 10, 300, 10, 0);
	trial = nearest_trial(&job);
	trial_cancel(device, &trial, 5);

	/* all pieces are queued, but no answer was delivered */
	job.task.u.topk.targets.rows = 1;
	trial_stop(device, &trial, 0, 2);

	/* the next task is not affected */
	job.task.u.topk.targets.rows = 300;
	trial_run(device, &trial);
	nearest_free(&job, device);
	close_one(device);
}

/* the counter of a single query is reset for the next one, whenever the first was canceled */
static void
a_cancelled_query_leaves_no_trace(void)
{
	HyDevice *device;
	Trial trial;
	NearestJob job;

	/* pieces take 1.8 ms, so the work limit stays the same */
	hy_fake.ns_an_element = 120;
	device = open_one(0);
	job_make(&job, HY_METRIC_COSINE, HY_F32, 100, 1, 1500, 10, 0);
	trial = nearest_trial(&job);
	nearest_resident(device, &job, 0);
	device->pace[HY_OP_TOPK].work = 100 * 150;
	trial_cancel(device, &trial, 2);
	nearest_free(&job, device);
	close_one(device);
}

/* The first tasks of a context are as fast as later ones, because all kernels have been loaded. */
static void
first_tasks_are_not_taken_for_slow_ones(void)
{
	int again;

	for (again = 0; again < 2; again++)
	{
		HyDevice *device = open_one(0);
		uint64_t pace = device->pace[HY_OP_TOPK].work;
		NearestJob job;
		Trial trial;

		job_make(&job, HY_METRIC_COSINE, HY_F32, 100, 5, 300, 10, 0);
		trial = nearest_trial(&job);
		trial_run(device, &trial);
		CHECK_MSG(device->longest_us < HY_CUDA_KERNEL_US, "%g us", device->longest_us);
		CHECK(device->pace[HY_OP_TOPK].work >= pace);
		nearest_free(&job, device);
		close_one(device);
	}
}

/* in several pieces and groups */
static void
each_call_may_fail(void)
{
	Trial trial;
	NearestJob job;

	job_make(&job, HY_METRIC_COSINE, HY_F32, 4000, 5, 9, 20, 0);
	trial = nearest_trial(&job);
	trial_failures(&trial, UINT64_C(600) << 10, 60);
	nearest_free(&job, NULL);
	job_make(&job, HY_METRIC_COSINE, HY_F32, 4000, 1, 9, 4, 0);
	trial = nearest_trial(&job);
	trial_failures(&trial, UINT64_C(600) << 10, 40);
	nearest_free(&job, NULL);
}

int
main(void)
{
	if (!plug_in())
		return 1;
	RUN(caps_and_estimates);
	RUN(nearest_of_rows_anywhere);
	RUN(given_norms_are_used);
	RUN(fewer_rows_than_asked_for);
	RUN(many_pieces);
	RUN(one_query);
	RUN(few_calls_for_one_query);
	RUN(kernels_keep_to_the_pace);
	RUN(rows_beyond_a_limit_are_left_out);
	RUN(operations_take_turns);
	RUN(a_cancel_stops_between_pieces);
	RUN(a_cancelled_query_leaves_no_trace);
	RUN(first_tasks_are_not_taken_for_slow_ones);
	RUN(each_call_may_fail);
	return unit_finish();
}
