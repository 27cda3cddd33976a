/*
 * plugin_filter_test.c
 *		'topk' for many queries through the vtable, on the fake device.  The task must be filtered
 *		if that is expected, and the answers must be the CPU's, whatever the filter does.
 */
#include "nearest.h"

static UnitRandom randomness = {31};

/* value of the setting cuda_filter_least */
static const char *filter_least = "1";

static const char *
setting(void *arg, const char *name)
{
	(void) arg;
	return strcmp(name, "cuda_filter_least") == 0 ? filter_least : NULL;
}

static void
job_make(NearestJob *job, HyMetric metric, HyDtype dtype, int32_t dims, int64_t queries,
         int64_t rows, int32_t k, RowKind kind)
{
	nearest_job(job, &randomness, metric, dtype, dims, queries, rows, k, 0, kind);
}

/*
 * filtered: run a job and return whether it was filtered.  Only a filter takes additional memory.
 */
static bool
filtered(HyDevice *device, NearestJob *job)
{
	Trial trial = nearest_trial(job);

	return trial_counted(device, &trial) > 0;
}

/* finds_all: check a job on a new device.  Returns whether it was filtered. */
static bool
finds_all(uint64_t limit, NearestJob *job, bool resident)
{
	HyDevice *device = open_one(limit);
	bool was_filtered;

	if (resident)
		nearest_resident(device, job, 0);
	was_filtered = filtered(device, job);
	nearest_free(job, device);
	close_one(device);
	return was_filtered;
}

/* every_kind: check that all kinds but L1 are filtered, or that none is. */
static void
every_kind(bool is_filtered)
{
	int n = 0;
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

				hy_fake.cut_off = n++ % 2;
				job_make(&job, (HyMetric) metric, (HyDtype) dtype, 33, 90, 1100, 5,
				         metric == HY_METRIC_COSINE ? ROWS_ZEROS : ROWS_PLAIN);
				CHECK_INT(finds_all(0, &job, resident != 0), is_filtered && metric != HY_METRIC_L1);
			}
		}
	}
}

static void
every_kind_is_filtered(void)
{
	every_kind(true);
}

/* before 8.0 a product in bfloat16, or an asynchronous copy, would be a fault */
static void
no_kind_is_filtered_without_bfloat16(void)
{
	hy_fake.capability = 7;
	hy_fake.capability_minor = 5;
	every_kind(false);
}

/* so little memory that there are several groups of queries and many pieces of rows */
static void
groups_and_pieces(void)
{
	int resident;

	for (resident = 0; resident < 2; resident++)
	{
		NearestJob job;

		job_make(&job, resident ? HY_METRIC_L2 : HY_METRIC_COSINE, HY_F32, 300, 290, 800, 20,
		         ROWS_PLAIN);
		CHECK(finds_all(UINT64_C(5) << 20, &job, resident != 0));
		/* long lists, and few queries at a time */
		job_make(&job, HY_METRIC_IP, HY_F16, 32, 150, 3000, 128, ROWS_PLAIN);
		CHECK(finds_all(UINT64_C(11) << 20, &job, resident != 0));
	}
}

/*
 * There are two groups of queries, because the k best rows of 600 queries do not fit into a slot.
 * The rows are uploaded once, also if the filter is given up.
 */
static void
rows_stay_for_later_groups(void)
{
	static const struct
	{
		HyMetric metric;
		HyDtype dtype;
		RowKind kind;
	} kinds[] = {{HY_METRIC_COSINE, HY_F16, ROWS_PLAIN}, {HY_METRIC_L2, HY_F32, ROWS_EQUAL}};
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
	{
		HyDevice *device = open_one(UINT64_C(12) << 20);
		uint64_t rows = 1500 * 64 * hy_dtype_size(kinds[i].dtype);
		HyShape shape;
		NearestJob job;

		job_make(&job, kinds[i].metric, kinds[i].dtype, 64, 600, 1500, 64, kinds[i].kind);
		shape = hy_task_shape(&job.task);
		CHECK_INT(cuda->estimate(device, &shape).bytes_up, 600 * (64 * 4 + 64 * 16) + rows);
		CHECK(filtered(device, &job));
		nearest_free(&job, device);
		close_one(device);
	}
}

/*
 * The budget exceeds the memory that other processes leave.  Without memory for all rows, each
 * group uploads its own rows, and the task is filtered all the same.  Afterwards, the memory of
 * kept rows goes back to the driver.
 */
static void
rows_stay_only_if_there_is_memory(void)
{
	HyDevice *device = open_one(UINT64_C(12) << 20);
	uint64_t used = hy_fake_used();
	NearestJob job;
	Trial trial;

	job_make(&job, HY_METRIC_COSINE, HY_F16, 64, 600, 1500, 64, ROWS_PLAIN);
	CHECK(filtered(device, &job));
	CHECK_INT(hy_fake_used(), used);
	trial = nearest_trial(&job);
	trial.up_unknown = true;
	hy_fake_fail("cudaMalloc", 1, cudaErrorMemoryAllocation);
	CHECK(trial_counted(device, &trial) > 0);
	nearest_free(&job, device);
	close_one(device);
}

/* topk.c runs the task if there is no memory, no suitable matrix unit, or too little work */
static void
others_go_the_canonical_way(void)
{
	HyDevice *device;
	NearestJob job;
	Trial trial;

	job_make(&job, HY_METRIC_L2, HY_F32, 64, 90, 700, 5, ROWS_PLAIN);
	CHECK(!finds_all(UINT64_C(700) << 10, &job, false));

	/* the accuracy of this generation is not known yet */
	hy_fake.capability = 10;
	job_make(&job, HY_METRIC_L2, HY_F32, 64, 90, 700, 5, ROWS_PLAIN);
	CHECK(!finds_all(0, &job, false));
	hy_fake.capability = 8;
	job_make(&job, HY_METRIC_L2, HY_F32, 64, 90, 700, 5, ROWS_PLAIN);
	CHECK(finds_all(0, &job, false));

	filter_least = NULL;
	job_make(&job, HY_METRIC_L2, HY_F32, 64, 90, 700, 5, ROWS_PLAIN);
	CHECK(!finds_all(0, &job, false));
	filter_least = "1";

	/* the budget, and so the estimate, has the memory, but CUDA has none */
	device = open_one(0);
	job_make(&job, HY_METRIC_L2, HY_F32, 64, 90, 700, 5, ROWS_PLAIN);
	trial = nearest_trial(&job);
	trial.up_unknown = true;
	hy_fake_fail("cudaMalloc", 1, cudaErrorMemoryAllocation);
	CHECK_INT(trial_counted(device, &trial), 0);
	/* the next task gets it */
	CHECK(filtered(device, &job));
	nearest_free(&job, device);
	close_one(device);
}

/* every row is a candidate: lists overflow, and then the filter is no longer used */
static void
useless_filters_are_given_up(void)
{
	HyDevice *device = open_one(0);
	int kernels[2];
	int useless;

	for (useless = 0; useless < 2; useless++)
	{
		NearestJob job;

		job_make(&job, HY_METRIC_L2, HY_F32, 40, 90, 2500, 5, useless ? ROWS_EQUAL : ROWS_PLAIN);
		kernels[useless] = hy_fake_kernels();
		CHECK(filtered(device, &job));
		kernels[useless] = hy_fake_kernels() - kernels[useless];
		nearest_free(&job, device);
	}
	printf("# %d kernels, %d where the filter is useless\n", kernels[0], kernels[1]);
	CHECK(kernels[1] < kernels[0]);
	close_one(device);
}

/*
 * If only a few queries overflow in every piece, the filter stays in use, however late and in
 * whatever order the host learns of the pieces.
 */
static void
few_overflows_are_none_too_many(void)
{
	const int32_t dims = 32;
	const int64_t rows = 4000;
	const int32_t k = 2;
	NearestJob job;
	HyTopKTask *t = &job.task.u.topk;
	HyDevice *device;
	int task;
	int i;

	hy_fake.late = 1;
	job_make(&job, HY_METRIC_L2, HY_F32, dims, 60, rows, k, ROWS_PLAIN);
	/* queries too long for a bound: all rows are their candidates */
	for (i = 0; i < 2 * dims; i++)
		job.queries[i] = 1e16f;
	CHECK_INT(hy_topk_search(t->metric, &t->queries, &t->targets, k, job.expected,
	                         job.expected_counts, NULL),
	          HY_OK);
	device = open_one(0);
	for (task = 0; task < 4; task++)
	{
		HyTimings timings;
		HyTicket ticket;
		bool done = false;
		int filtered_pieces = 0;
		int given_up = 0;

		CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_OK);
		while (!done)
		{
			/* the tasks have many pieces */
			device->filter_pace.work = hy_cuda_work(dims, 60, 128);
			CHECK_INT(cuda->poll(device, ticket, &done, &timings), HY_OK);
			for (i = 0; i < HY_CUDA_SLOTS; i++)
			{
				const HyCudaSlot *slot = &device->slots[i];

				if (!slot->busy || slot->chunk.first_row < 256)
					continue;
				filtered_pieces += slot->pace == &device->filter_pace;
				given_up += slot->pace != &device->filter_pace;
			}
		}
		nearest_check(&job);
		CHECK(filtered_pieces > 20);
		CHECK_INT(given_up, 0);
	}
	nearest_free(&job, device);
	close_one(device);
}

static void
rows_beyond_a_limit_are_left_out(void)
{
	double limits[70];
	NearestJob job;
	int q;

	job_make(&job, HY_METRIC_COSINE, HY_F32, 32, 70, 900, 12, ROWS_PLAIN);
	for (q = 0; q < 70; q++)
		limits[q] = q % 10 == 0 ? NAN : job.expected[q * 12 + q % 12].distance;
	nearest_limits(&job, limits);
	for (q = 0; q < 70; q++)
		CHECK(q % 10 == 0 || job.expected_counts[q] >= q % 12 + 1);
	CHECK(finds_all(0, &job, false));
}

/* other tasks run before and after it in the same scratch */
static void
tasks_take_turns(void)
{
	HyDevice *device = open_one(0);
	int i;

	for (i = 0; i < 4; i++)
	{
		NearestJob job;

		job_make(&job, HY_METRIC_L2, HY_F32, 33, i % 2 ? 3 : 70, 600, 7, ROWS_PLAIN);
		(void) filtered(device, &job);
		nearest_free(&job, device);
	}
	close_one(device);
}

/* earlier contents of the memory, perhaps of another role's task, never appear in an answer */
static void
no_task_reads_what_another_left(void)
{
	static const int bytes[] = {0x00, 0xff, 0x7f, 0x3c, 0x01};
	HyDevice *device = open_one(0);
	size_t i;

	for (i = 0; i < 2 * sizeof(bytes) / sizeof(bytes[0]); i++)
	{
		NearestJob job;

		job_make(&job, i % 4 < 2 ? HY_METRIC_L2 : HY_METRIC_COSINE, i % 3 ? HY_F32 : HY_F16, 33, 70,
		         600 + 40 * (int64_t) i, 7, ROWS_PLAIN);
		hy_fake_scribble(bytes[i / 2]);
		if (i % 2)
			nearest_resident(device, &job, 0);
		CHECK(filtered(device, &job));
		nearest_free(&job, device);
	}
	/* free blocks still have the scribbled bytes, which the fake reports as not zeroed */
	cuda->close(device);
	CHECK_INT(hy_fake_live(), 0);
	CHECK_INT(memory.outstanding, 0);
}

/*
 * a device on which the canonical first pieces keep the time limit at once, but filtered pieces do
 * not
 */
static void
kernels_keep_to_the_pace(void)
{
	HyDevice *device;
	Trial trial;
	NearestJob job;
	double us;
	int i;

	hy_fake.ns_an_element = 18;
	device = open_one(0);
	device->pace[HY_OP_TOPK].work = UINT64_C(1) << 18;
	device->filter_pace.work = UINT64_C(1) << 24; /* as if the filter had been faster before */
	job_make(&job, HY_METRIC_L2, HY_F32, 96, 128, 2048, 5, ROWS_PLAIN);
	trial = nearest_trial(&job);
	for (i = 0; i < 3; i++)
	{
		trial_run(device, &trial);
		us = hy_fake_longest_kernel_us();
		CHECK_MSG(i == 0 ? us > 3000 : us > 500 && us <= 5000, "%g us in task %d", us, i);
	}
	nearest_free(&job, device);
	close_one(device);
}

static void
a_cancel_stops_between_pieces(void)
{
	HyDevice *device = open_one(UINT64_C(5) << 20);
	Trial trial;
	NearestJob job;
	int after;

	job_make(&job, HY_METRIC_L2, HY_F32, 300, 130, 900, 5, ROWS_PLAIN);
	trial = nearest_trial(&job);
	for (after = 0; after < 20; after += 3)
		trial_stop(device, &trial, after, 14);
	trial_run(device, &trial);
	nearest_free(&job, device);
	close_one(device);
}

/* whichever call fails, there is a status, nothing is left behind, and the next task is right */
static void
each_call_may_fail(void)
{
	Trial trial;
	NearestJob job;

	job_make(&job, HY_METRIC_COSINE, HY_F32, 30, 20, 300, 2, ROWS_PLAIN);
	trial = nearest_trial(&job);
	trial_failures(&trial, UINT64_C(5) << 20, 60);
	nearest_free(&job, NULL);
}

int
main(void)
{
	host.setting = setting;
	if (!plug_in())
		return 1;
	RUN(every_kind_is_filtered);
	RUN(no_kind_is_filtered_without_bfloat16);
	RUN(groups_and_pieces);
	RUN(rows_stay_for_later_groups);
	RUN(rows_stay_only_if_there_is_memory);
	RUN(others_go_the_canonical_way);
	RUN(useless_filters_are_given_up);
	RUN(few_overflows_are_none_too_many);
	RUN(rows_beyond_a_limit_are_left_out);
	RUN(tasks_take_turns);
	RUN(no_task_reads_what_another_left);
	RUN(kernels_keep_to_the_pace);
	RUN(a_cancel_stops_between_pieces);
	RUN(each_call_may_fail);
	return unit_finish();
}
