/*
 * gpucheck.c
 *		Runs hybrid_cuda.so on a real device, through its vtable.  The results must have the CPU's
 *		bits.
 *
 *	gpucheck DIRECTORY [DEVICE [small]]
 *
 * `small` is for a run under a sanitizer, which takes a hundred times as long.
 *
 * Exit status: 0 if all tests passed, 1 if some failed, 2 if there is no GPU here.
 */
#include "gpucheck.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/distance.h"
#include "core/topk.h"
#include "dispatch/tools/plugin.h"
#include "gpucheck_host.h"
#include "gpucheck_ops.h"
#include "gpucheck_spread.h"

static int64_t compared;
static int64_t found;

/* How elements are drawn. */
typedef enum Kind
{
	PLAIN,
	EXTREME, /* magnitudes from 1e-30 to 1e30 */
	FEW      /* few different values: many equal distances */
} Kind;

static const char *const kind_names[] = {"", " extreme", " of few values"};

typedef struct Shape
{
	HyMetric metric;
	HyDtype dtype;
	int32_t dims;
	int64_t queries;
	int64_t rows;
	bool resident;
	Kind kind;
} Shape;

static float
draw(Kind kind)
{
	float value = unit_random_float(&randomness);

	if (kind == FEW)
		return (float) unit_random_below(&randomness, 4) - 1;
	if (kind == PLAIN)
		return value;
	return ldexpf(value, (int) unit_random_below(&randomness, 200) - 100);
}

/* check_topk: check the k nearest for the matrices of a distance task. */
static void
check_topk(const Shape *s, const HyDistanceTask *d, const void *targets, int32_t k)
{
	int64_t entries = s->queries * k;
	HyNeighbor *out = malloc((size_t) entries * sizeof(HyNeighbor));
	HyNeighbor *expected = malloc((size_t) entries * sizeof(HyNeighbor));
	int32_t *counts = malloc((size_t) s->queries * sizeof(int32_t));
	int32_t *expected_counts = malloc((size_t) s->queries * sizeof(int32_t));
	HyTask task = {.op = HY_OP_TOPK, .allocator = &hy_malloc_allocator};
	HyMatrix rows = d->targets;
	HyTimings timings = {0};
	HyTicket ticket;
	HyStatus status;
	int64_t i;

	rows.data = targets;
	CHECK_INT(hy_topk_search(s->metric, &d->queries, &rows, k, expected, expected_counts, NULL),
	          HY_OK);
	task.u.topk = (HyTopKTask){.metric = s->metric,
	                           .queries = d->queries,
	                           .targets = d->targets,
	                           .k = k,
	                           .out = out,
	                           .counts = counts};
	status = cuda->submit(device, &task, &ticket);
	if (status == HY_OK)
		status = finish(ticket, &timings);
	if (status != HY_OK)
		say_failure(device, "topk", status);
	for (i = 0; i < entries && status == HY_OK; i++)
	{
		int64_t q = i / k;

		CHECK_MSG(counts[q] == expected_counts[q], "query %lld has %d, expected %d", (long long) q,
		          (int) counts[q], (int) expected_counts[q]);
		if (i % k >= expected_counts[q] || i % k >= counts[q])
			continue;
		CHECK_MSG(out[i].row == expected[i].row &&
		              unit_same_f64(out[i].distance, expected[i].distance),
		          "%s %s dims %d, %lld x %lld%s%s, k %d: [%lld] is %lld at %a, expected %lld at %a",
		          hy_metric_name(s->metric), hy_dtype_name(s->dtype), (int) s->dims,
		          (long long) s->queries, (long long) s->rows, s->resident ? " resident" : "",
		          kind_names[s->kind], (int) k, (long long) i, (long long) out[i].row,
		          out[i].distance, (long long) expected[i].row, expected[i].distance);
		found++;
	}
	free(out);
	free(expected);
	free(counts);
	free(expected_counts);
}

static void
run_shape(const Shape *s)
{
	size_t element = hy_dtype_size(s->dtype);
	size_t row_bytes = (size_t) s->dims * element;
	int64_t count = s->queries * s->rows;
	char *targets = malloc((size_t) s->rows * row_bytes);
	float *queries = malloc((size_t) s->queries * s->dims * sizeof(float));
	double *out = malloc((size_t) count * sizeof(double));
	double *expected = malloc((size_t) count * sizeof(double));
	HyTask task = {.op = HY_OP_DISTANCE, .allocator = &hy_malloc_allocator};
	HyDistanceTask *d = &task.u.distance;
	HyTimings timings = {0};
	HyBuffer *buffer = NULL;
	HyTicket ticket;
	HyStatus status = HY_OK;
	int64_t i;

	for (i = 0; i < s->rows * s->dims; i++)
	{
		if (s->dtype == HY_F32)
			((float *) targets)[i] = draw(s->kind);
		else if (s->kind == EXTREME)
		{
			uint16_t half = (uint16_t) unit_random(&randomness);

			((uint16_t *) targets)[i] = (half & 0x7c00) == 0x7c00 ? half & 0x83ff : half;
		}
		else
			((uint16_t *) targets)[i] = hy_float_to_half(draw(s->kind));
	}
	for (i = 0; i < s->queries * s->dims; i++)
		queries[i] = draw(s->kind);
	for (i = 0; i < count; i++)
		out[i] = -77;

	d->metric = s->metric;
	d->queries.dims = d->targets.dims = s->dims;
	d->queries.rows = s->queries;
	d->queries.stride = (size_t) s->dims * sizeof(float);
	d->queries.data = queries;
	d->targets.dtype = s->dtype;
	d->targets.rows = s->rows;
	d->targets.stride = row_bytes;
	d->targets.data = targets;
	d->out = expected;
	CHECK_INT(hy_distance_matrix(s->metric, &d->queries, &d->targets, expected, NULL), HY_OK);

	d->out = out;
	if (s->resident)
	{
		status = cuda->buf_alloc(device, (uint64_t) s->rows * row_bytes, &buffer);
		if (status == HY_OK)
			status = cuda->upload(device, buffer, 0, targets, (uint64_t) s->rows * row_bytes);
		d->targets.data = NULL;
		d->targets.buffer = buffer;
	}
	if (status == HY_OK)
		status = cuda->submit(device, &task, &ticket);
	if (status == HY_OK)
		status = finish(ticket, &timings);
	if (status != HY_OK)
		say_failure(device, "distance", status);
	for (i = 0; i < count && status == HY_OK; i++)
	{
		CHECK_MSG(unit_same_f64(out[i], expected[i]),
		          "%s %s dims %d, %lld x %lld%s%s: [%lld] is %a, expected %a",
		          hy_metric_name(s->metric), hy_dtype_name(s->dtype), (int) s->dims,
		          (long long) s->queries, (long long) s->rows, s->resident ? " resident" : "",
		          kind_names[s->kind], (long long) i, out[i], expected[i]);
		compared++;
	}
	if (status == HY_OK)
		check_topk(s, d, targets, 1 + (int32_t) unit_random_below(&randomness, 128));
	cuda->buf_free(device, buffer);
	free(targets);
	free(queries);
	free(out);
	free(expected);
}

static void
every_kind(int32_t dims, int64_t queries, int64_t rows, Kind kind)
{
	int metric;
	int dtype;
	int resident;

	for (metric = 0; metric < HY_METRIC_COUNT; metric++)
	{
		for (dtype = 0; dtype < HY_DTYPE_COUNT; dtype++)
		{
			for (resident = 0; resident < 2; resident++)
			{
				Shape shape = {
					(HyMetric) metric, (HyDtype) dtype, dims, queries, rows, resident != 0, kind};

				run_shape(&shape);
			}
		}
	}
}

static void
boundaries_of_dims(void)
{
	static const int32_t dims[] = {1,    2,    31,   32,   33,   63,    64,    65,   96,   127,
	                               128,  129,  768,  1000, 1023, 1024,  1025,  1536, 2048, 2049,
	                               3072, 4096, 8191, 8192, 8193, 12000, 15999, 16000};
	size_t i;

	for (i = 0; i < sizeof(dims) / sizeof(dims[0]); i++)
	{
		every_kind(dims[i], 1, 100, PLAIN);
		every_kind(dims[i], 6, 33, PLAIN);
	}
}

static void
random_shapes(void)
{
	int i;

	for (i = 0; i < 120; i++)
		every_kind(1 + (int32_t) unit_random_below(&randomness, i % 5 == 0 ? 5000 : 300),
		           1 + (int64_t) unit_random_below(&randomness, 20),
		           1 + (int64_t) unit_random_below(&randomness, 400), PLAIN);
}

/* one segment and several; queries and rows that fill no block */
static void
small_shapes(void)
{
	every_kind(33, 1, 20, PLAIN);
	every_kind(200, 5, 17, EXTREME);
	every_kind(1100, 3, 9, PLAIN);
	every_kind(2, 2, 300, FEW);
	/* one query and many blocks; the last block merges the lists of all */
	every_kind(20, 1, 2000, FEW);
}

/* sums that overflow or underflow fp32, subnormal elements, every kind of half */
static void
extremes(void)
{
	static const int32_t dims[] = {1, 3, 64, 100, 1024, 3000};
	size_t i;

	for (i = 0; i < sizeof(dims) / sizeof(dims[0]); i++)
		every_kind(dims[i], 3, 200, EXTREME);
}

/* equal distances are ordered by row, whichever block, tile or piece the row is in */
static void
ties(void)
{
	every_kind(1, 1, 5000, FEW);
	every_kind(3, 7, 3000, FEW);
	every_kind(6, 1, 300000, FEW);
}

/*
 * rows up to the end of a buffer, of a tile and of a block's share; queries with one list each and
 * with many
 */
static void
boundaries_of_rows(void)
{
	static const int64_t rows[] = {1, 2, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1000, 50000};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
	{
		every_kind(20, 1, rows[i], PLAIN);
		every_kind(20, 700, rows[i] < 5000 ? rows[i] : 5000, FEW);
	}
}

/* several pieces up, several down, and several groups of queries */
static void
large_tasks(void)
{
	every_kind(128, 1, 700000, PLAIN);
	every_kind(768, 64, 20000, PLAIN);
	every_kind(16, 9000, 300, PLAIN);
}

/* a cancel ends a long task within 100 ms, and the next task is right */
static void
a_cancel_is_honoured(void)
{
	enum
	{
		DIMS = 1024,
		QUERIES = 4096,
		ROWS = 30000
	};
	float *queries = calloc((size_t) QUERIES * DIMS, sizeof(float));
	char *targets = calloc((size_t) ROWS * DIMS, sizeof(float));
	double *out = malloc((size_t) QUERIES * ROWS * sizeof(double));
	HyTask task = {.op = HY_OP_DISTANCE, .allocator = &hy_malloc_allocator};
	HyDistanceTask *d = &task.u.distance;

	d->queries.dims = DIMS;
	d->queries.rows = QUERIES;
	d->queries.stride = DIMS * sizeof(float);
	d->queries.data = queries;
	d->targets = d->queries;
	d->targets.rows = ROWS;
	d->targets.data = targets;
	d->out = out;
	expect_cancel(&task, 20);
	free(queries);
	free(targets);
	free(out);
	every_kind(100, 2, 100, PLAIN);
}

/* memory is returned to the device: an allocation that fitted once fits again */
static void
memory_comes_back(void)
{
	uint64_t before;
	uint64_t after;
	uint64_t total;
	HyBuffer *buffer;
	HyStatus status;
	int i;

	CHECK_INT(cuda->mem_info(device, &before, &total), HY_OK);
	for (i = 0; i < 4; i++)
	{
		status = cuda->buf_alloc(device, before / 2, &buffer);
		if (status != HY_OK)
			say_failure(device, "half of the free memory", status);
		cuda->buf_free(device, buffer);
	}
	CHECK(cuda->buf_alloc(device, before + 1, &buffer) != HY_OK);
	CHECK_INT(cuda->mem_info(device, &after, &total), HY_OK);
	CHECK_INT(after, before);
}

static void
opens_again_after_close(void)
{
	HyStatus status;
	int i;

	for (i = 0; i < 3; i++)
	{
		cuda->close(device);
		device = NULL;
		status = cuda->open(number, NULL, &device);
		if (status != HY_OK)
		{
			say_failure(NULL, "open", status);
			return;
		}
		every_kind(65, 2, 50, PLAIN);
	}
}

static void
a_fork_is_refused(void)
{
	int status = 0;
	pid_t child;

	fflush(stdout);
	signal(SIGCHLD, SIG_DFL); /* if SIGCHLD is ignored, no exit status is kept */
	child = fork();
	if (child == 0)
	{
		uint64_t bytes;
		int32_t count;
		bool refused = cuda->mem_info(device, &bytes, &bytes) == HY_PROCESS_LOST &&
		               cuda->device_count(&count) == HY_PROCESS_LOST;

		cuda->close(device);
		_exit(refused ? 0 : 1);
	}
	CHECK(waitpid(child, &status, 0) == child);
	CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %d", status);
	every_kind(65, 2, 50, PLAIN);
}

/*
 * setting: return a setting of the plug-in.  Under a sanitizer, kernels are loaded only when they
 * are launched.
 */
static const char *
setting(void *arg, const char *name)
{
	(void) arg;
	return small && strcmp(name, "cuda_loading") == 0 ? "lazy" : NULL;
}

int
main(int argc, char **argv)
{
	HyHost host = {.abi = HY_BACKEND_ABI,
	               .clock = &hy_monotonic_clock,
	               .allocator = &hy_malloc_allocator,
	               .setting = setting,
	               .run = run_parts};
	HyDeviceInfo info;
	HyFailure failure;
	HyStatus status;
	int32_t count = 0;
	char why[256];

	if (argc < 2)
	{
		fprintf(stderr, "usage: gpucheck DIRECTORY [DEVICE [small]]\n");
		return 2;
	}
	number = argc > 2 ? atoi(argv[2]) : 0;
	small = argc > 3 && strcmp(argv[3], "small") == 0;
	cuda = hy_plugin_load(argv[1], "hybrid_cuda", &host, why, sizeof(why));
	if (cuda == NULL)
	{
		printf("no GPU: %s\n", why);
		return 2;
	}
	status = cuda->device_count(&count);
	if (status != HY_OK || count <= number)
	{
		cuda->last_error(NULL, &failure);
		printf("no GPU: %s\n", failure.text[0] != '\0' ? failure.text : "too few devices");
		return 2;
	}
	status = cuda->probe(number, &info);
	if (status == HY_OK)
		printf("# %s, %s, %d multiprocessors, %.1f GiB\n", info.name, info.architecture,
		       (int) info.cores, (double) info.memory_total / (1 << 30));
	status = cuda->open(number, NULL, &device);
	if (status != HY_OK)
	{
		cuda->last_error(NULL, &failure);
		printf("no GPU: device %d cannot be opened: %s (%d: %s)\n", (int) number,
		       hy_status_name(status), (int) failure.native_code, failure.text);
		return 2;
	}
	printf("# the CPU's side: %s\n", hy_simd_name(hy_kernels()->level));
	if (small)
	{
		UNIT_RUN(small_shapes);
		UNIT_RUN(small_graphs);
		UNIT_RUN(small_assignments);
		UNIT_RUN(small_scores);
		UNIT_RUN(a_small_topk_is_cancelled);
	}
	else
	{
		UNIT_RUN(small_shapes);
		UNIT_RUN(small_graphs);
		UNIT_RUN(small_assignments);
		UNIT_RUN(small_scores);
		UNIT_RUN(boundaries_of_dims);
		UNIT_RUN(boundaries_of_rows);
		UNIT_RUN(ties);
		UNIT_RUN(random_shapes);
		UNIT_RUN(extremes);
		UNIT_RUN(large_tasks);
		UNIT_RUN(a_cancel_is_honoured);
		UNIT_RUN(graphs);
		UNIT_RUN(groups_of_one);
		UNIT_RUN(a_spread_is_cancelled);
		UNIT_RUN(assignments);
		UNIT_RUN(scores);
		UNIT_RUN(long_operations_are_cancelled);
		UNIT_RUN(memory_comes_back);
		UNIT_RUN(opens_again_after_close);
		UNIT_RUN(a_fork_is_refused);
	}
	if (device != NULL)
		cuda->close(device);
	printf(
		"# %lld distances, %lld of the nearest, %lld activations, %lld assignments and %lld bounds "
		"compared\n",
		(long long) compared, (long long) found, (long long) spread, (long long) assigned,
		(long long) scored);
	return unit_finish();
}
