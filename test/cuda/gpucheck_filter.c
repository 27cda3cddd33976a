/*
 * gpucheck_filter.c
 *		Runs the filters for many queries and for many centroids on a real device.  Checks how exact
 *		the device's matrix unit is, and that the results have the CPU's bits.
 *
 *	gpucheck_filter DIRECTORY [DEVICE [small]]
 *
 * The error of the matrix unit is not documented, and the filter's answers depend on it
 * (cuda/filter_launch.h).  So products of every magnitude and sign try to exceed the allowed error.
 * For this, the kernels are called directly, if the device has bfloat16.  Then hybrid_cuda.so is
 * tested through its vtable.
 *
 * `small` is for a run under a sanitizer.
 *
 * Exit status: 0 if all tests passed, 1 if some failed, 2 if there is no GPU here.
 */
#include "unit.h"

#include <cuda_runtime_api.h>

#include "core/distance.h"
#include "core/prefilter.h"
#include "core/topk.h"
#include "cuda/filter_launch.h"
#include "dispatch/tools/plugin.h"
#include "gpucheck_host.h"

/* Known error of the matrix unit, relative to the allowed error. */
#define KNOWN 0.5

static const HyBackend *cuda;
static HyDevice *device;
static UnitRandom randomness = {1999};
static int32_t number;
static bool small;
static bool measured; /* whether the rounding of this generation's matrix unit is known */
static double widened[UINT16_MAX + 1];
static int64_t products;
static int64_t found;

/* How the elements of q and x are drawn, such that the unit has bits to truncate. */
typedef enum Form
{
	EVEN,      /* uniform in -1 .. 1 */
	POSITIVE,  /* the same without signs, so that truncation errors add up */
	SPREAD,    /* magnitudes over 2^-20 .. 2^20 */
	VAST,      /* over 2^-40 .. 2^40 */
	ABSORBED,  /* a large product, and many just below a unit of its last place */
	SCATTERED, /* the same with the large product at any position, and with signs */
	CANCELLED, /* large products that cancel, and small ones that remain */
	STAIRS,    /* each product is half of the one before */
	FORMS
} Form;

static const char *const form_names[FORMS] = {"even",     "positive",  "spread",    "vast",
                                              "absorbed", "scattered", "cancelled", "stairs"};

static void
check_cuda(cudaError_t error, const char *doing)
{
	CHECK_MSG(error == cudaSuccess, "%s: %s", doing, cudaGetErrorString(error));
}

static void *
device_room(size_t bytes)
{
	void *pointer = NULL;

	check_cuda(cudaMalloc(&pointer, bytes), "allocating");
	return pointer;
}

/* coarse: return a number that has few bits and a magnitude around 2^exponent. */
static float
coarse(int exponent)
{
	float value = (float) (128 + unit_random_below(&randomness, 128)) / 128;

	return ldexpf(value, exponent);
}

static float
sign(void)
{
	return unit_random_below(&randomness, 2) ? 1.0f : -1.0f;
}

static void
draw(Form form, float *q, float *x, int32_t dims)
{
	int32_t large = (int32_t) unit_random_below(&randomness, (uint64_t) dims);
	int32_t i;

	for (i = 0; i < dims; i++)
	{
		int range = form == VAST ? 80 : 40;

		switch (form)
		{
			case EVEN:
				q[i] = unit_random_float(&randomness);
				x[i] = unit_random_float(&randomness);
				break;
			case POSITIVE:
				q[i] = coarse(0);
				x[i] = coarse(0);
				break;
			case SPREAD:
			case VAST:
				q[i] = coarse((int) unit_random_below(&randomness, (uint64_t) range) - range / 2) *
				       sign();
				x[i] = coarse((int) unit_random_below(&randomness, (uint64_t) range) - range / 2);
				break;
			case ABSORBED:
				q[i] = i == 0 ? 1 : 0x1p-12f;
				x[i] = i == 0 ? 1 : 0x1.fep-12f;
				break;
			case SCATTERED:
				q[i] = i == large ? 1 : 0x1p-12f;
				x[i] = (i == large ? 1 : 0x1.fep-12f) * (dims % 2 ? sign() : -1);
				break;
			case CANCELLED:
				q[i] = i % 16 < 2 ? 0x1p10f : coarse(-12);
				x[i] = i % 16 == 0 ? 0x1p10f : i % 16 == 1 ? -0x1p10f : coarse(-3);
				break;
			default:
				q[i] = ldexpf(1, -(i % 30));
				x[i] = 0x1.fep0f * (dims % 2 ? sign() : 1);
				break;
		}
	}
}

/* upload, download: copy everything at once. */
static void *
upload(const void *data, size_t bytes, cudaStream_t stream)
{
	void *pointer = device_room(bytes);

	check_cuda(cudaMemcpyAsync(pointer, data, bytes, cudaMemcpyHostToDevice, stream), "copying up");
	check_cuda(cudaStreamSynchronize(stream), "copying up");
	return pointer;
}

static void
download(void *data, const void *from, size_t bytes, cudaStream_t stream)
{
	check_cuda(cudaMemcpyAsync(data, from, bytes, cudaMemcpyDeviceToHost, stream), "copying down");
	check_cuda(cudaStreamSynchronize(stream), "running a kernel");
}

/* widen: compute the value of every 16-bit pattern. */
static void
widen(void)
{
	uint32_t i;

	for (i = 0; i <= UINT16_MAX; i++)
	{
		uint32_t bits = i << 16;
		float value;

		memcpy(&value, &bits, sizeof(value));
		widened[i] = (double) value;
	}
}

/* widen_tile: compute the values and the lengths of a tile's vectors. */
static void
widen_tile(const uint16_t *rounded, int32_t padded, double *wide, double *length)
{
	int i;
	int32_t d;

	for (i = 0; i < HY_CUDA_TILE; i++)
	{
		double sum = 0;

		for (d = 0; d < padded; d++)
		{
			double value = widened[*rounded++];

			sum += value * value;
			*wide++ = value;
		}
		length[i] = sqrt(sum);
	}
}

/*
 * unit_errs: multiply a tile of queries by a tile of rows.  Returns the largest error, relative to
 * the allowed one.
 */
static double
unit_errs(Form form, int32_t dims)
{
	int32_t padded = (dims + HY_CUDA_TILE_DIMS - 1) / HY_CUDA_TILE_DIMS * HY_CUDA_TILE_DIMS;
	size_t vectors = (size_t) HY_CUDA_TILE * (size_t) dims * sizeof(float);
	size_t rounded = (size_t) HY_CUDA_TILE * (size_t) padded * sizeof(uint16_t);
	size_t results = (size_t) HY_CUDA_TILE * HY_CUDA_TILE * sizeof(float);
	float *q = malloc(vectors);
	float *x = malloc(vectors);
	uint16_t *a = malloc(rounded);
	uint16_t *b = malloc(rounded);
	float *result = malloc(results);
	double *wide[2] = {malloc(rounded / sizeof(uint16_t) * sizeof(double)),
	                   malloc(rounded / sizeof(uint16_t) * sizeof(double))};
	double length[2][HY_CUDA_TILE];
	HyNeighbor *best = calloc(HY_CUDA_TILE, sizeof(HyNeighbor));
	HyCudaRound round = {.stride = (int64_t) ((size_t) dims * sizeof(float)),
	                     .count = HY_CUDA_TILE,
	                     .room = HY_CUDA_TILE,
	                     .dims = dims,
	                     .padded = padded};
	HyCudaFiltered args = {
		.rows = {.rows = HY_CUDA_TILE, .query_count = HY_CUDA_TILE, .dims = dims},
		.k = 1,
		.padded = padded,
		.product_stride = HY_CUDA_TILE};
	cudaStream_t stream = NULL;
	double most = 0;
	void *queries;
	void *rows;
	int i;
	int j;
	int32_t d;

	for (i = 0; i < HY_CUDA_TILE; i++)
		draw(form, q + i * dims, x + i * dims, dims);
	check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
	queries = upload(q, vectors, stream);
	rows = upload(x, vectors, stream);
	args.best = upload(best, HY_CUDA_TILE * sizeof(HyNeighbor), stream);
	args.count = device_room(HY_CUDA_TILE * sizeof(int32_t));
	args.products = device_room(results);
	args.aim = device_room(HY_CUDA_TILE * sizeof(HyCudaAim));
	args.queries = device_room(rounded);
	args.targets = device_room(rounded);
	args.reach = device_room(HY_CUDA_TILE * sizeof(HyCudaReach));

	round.rows = queries;
	round.rounded = (uint16_t *) (uintptr_t) args.queries;
	round.aim = args.aim;
	check_cuda(hy_cuda_launch_round(HY_METRIC_IP, HY_F32, &round, stream), "rounding");
	round.rows = rows;
	round.rounded = (uint16_t *) (uintptr_t) args.targets;
	round.aim = NULL;
	round.reach = (HyCudaReach *) (uintptr_t) args.reach;
	check_cuda(hy_cuda_launch_round(HY_METRIC_IP, HY_F32, &round, stream), "rounding");
	check_cuda(hy_cuda_launch_propose(HY_METRIC_IP, &args, stream), "multiplying");
	download(a, args.queries, rounded, stream);
	download(b, args.targets, rounded, stream);
	download(result, args.products, results, stream);

	widen_tile(a, padded, wide[0], length[0]);
	widen_tile(b, padded, wide[1], length[1]);
	for (i = 0; i < HY_CUDA_TILE && unit_failed_checks == 0; i++)
	{
		for (j = 0; j < HY_CUDA_TILE; j++)
		{
			const double *left = wide[0] + (size_t) i * (size_t) padded;
			const double *right = wide[1] + (size_t) j * (size_t) padded;
			long double exact = 0;
			double part;

			/* the product of two factors of 8 bits is exact */
			for (d = 0; d < padded; d++)
				exact += left[d] * right[d];
			part = fabs((double) ((long double) result[i * HY_CUDA_TILE + j] - exact)) /
			       (HY_CUDA_UNIT_SLACK * padded * length[0][i] * length[1][j]);
			/* NaN exceeds every bound, too */
			CHECK_MSG(part <= 1, "%s, %d dims: %a instead of %La, %g of what is allowed",
			          form_names[form], (int) dims, (double) result[i * HY_CUDA_TILE + j], exact,
			          part);
			most = part > most ? part : most;
			products++;
		}
	}
	check_cuda(cudaFree(queries), "freeing");
	check_cuda(cudaFree(rows), "freeing");
	check_cuda(cudaFree(args.best), "freeing");
	check_cuda(cudaFree(args.count), "freeing");
	check_cuda(cudaFree(args.products), "freeing");
	check_cuda(cudaFree(args.aim), "freeing");
	check_cuda(cudaFree((void *) (uintptr_t) args.queries), "freeing");
	check_cuda(cudaFree((void *) (uintptr_t) args.targets), "freeing");
	check_cuda(cudaFree((void *) (uintptr_t) args.reach), "freeing");
	check_cuda(cudaStreamDestroy(stream), "giving a stream back");
	free(q);
	free(x);
	free(a);
	free(b);
	free(result);
	free(wide[0]);
	free(wide[1]);
	free(best);
	return most;
}

/* dims from one instruction to long sums; the worst error of each form is printed */
static void
the_unit_keeps_its_bound(void)
{
	static const int32_t dims[] = {16, 1, 15, 33, 128, 768, 1537, 3072, 16000};
	int shapes = small ? 4 : 9;
	int form;
	int i;
	int r;

	widen();
	for (form = 0; form < FORMS; form++)
	{
		double most = 0;

		for (i = 0; i < shapes; i++)
		{
			/* long sums take the host the most time */
			int rounds = small ? 1 : dims[i] < 3000 ? 5 : 2;

			for (r = 0; r < rounds; r++)
			{
				double part = unit_errs((Form) form, dims[i]);

				most = part > most ? part : most;
			}
		}
		printf("# %s: at most %.4f of what is allowed%s\n", form_names[form], most,
		       most > KNOWN ? ", more than such units were known for" : "");
	}
}

static const char *
setting(void *arg, const char *name)
{
	(void) arg;
	/* under a sanitizer, load only the kernels that are launched */
	if (small && strcmp(name, "cuda_loading") == 0)
		return "lazy";
	/* filter every task, however small */
	return strcmp(name, "cuda_filter_least") == 0 ? "1" : NULL;
}

static void
say_failure(HyDevice *of, const char *doing, HyStatus status)
{
	HyFailure failure;

	cuda->last_error(of, &failure);
	unit_fail(__FILE__, __LINE__, "%s: %s (%d: %s)", doing, hy_status_name(status),
	          (int) failure.native_code, failure.text);
}

/* run: run a task to its end.  Sets *filtered to whether the task took memory. */
static HyStatus
run(const HyTask *task, bool *filtered)
{
	uint64_t before = 0;
	uint64_t after = 0;
	uint64_t total;
	HyTimings timings;
	HyTicket ticket;
	HyStatus status;
	bool done = false;

	(void) cuda->mem_info(device, &before, &total);
	status = cuda->submit(device, task, &ticket);
	(void) cuda->mem_info(device, &after, &total);
	*filtered = after < before;
	while (status == HY_OK && !done)
		status = cuda->poll(device, ticket, &done, &timings);
	return status;
}

/* nearest: compare the answers of one search with the CPU's. */
static void
nearest(HyMetric metric, HyDtype dtype, int32_t dims, int64_t queries, int64_t rows, int32_t k,
        bool resident)
{
	size_t row_bytes = (size_t) dims * hy_dtype_size(dtype);
	size_t entries = (size_t) (queries * k);
	char *x = malloc((size_t) rows * row_bytes);
	float *q = malloc((size_t) (queries * dims) * sizeof(float));
	HyNeighbor *out = malloc(entries * sizeof(HyNeighbor));
	HyNeighbor *expected = malloc(entries * sizeof(HyNeighbor));
	int32_t *counts = malloc((size_t) queries * sizeof(int32_t));
	int32_t *expected_counts = malloc((size_t) queries * sizeof(int32_t));
	HyTask task = {.op = HY_OP_TOPK, .allocator = &hy_malloc_allocator};
	HyTopKTask *t = &task.u.topk;
	HyBuffer *buffer = NULL;
	HyStatus status = HY_OK;
	bool filtered = false;
	int64_t i;

	for (i = 0; i < rows * dims; i++)
	{
		float value = unit_random_float(&randomness);

		if (dtype == HY_F32)
			((float *) x)[i] = value;
		else
			((uint16_t *) x)[i] = hy_float_to_half(value);
	}
	for (i = 0; i < queries * dims; i++)
		q[i] = unit_random_float(&randomness);
	*t = (HyTopKTask){.metric = metric, .k = k, .out = out, .counts = counts};
	t->queries = (HyMatrix){
		.dims = dims, .rows = queries, .stride = (size_t) dims * sizeof(float), .data = q};
	t->targets =
		(HyMatrix){.dtype = dtype, .dims = dims, .rows = rows, .stride = row_bytes, .data = x};
	CHECK_INT(hy_nearest_search(&(HyNearest){metric, k, &t->queries, &t->targets, NULL, expected,
	                                         expected_counts},
	                            &hy_malloc_allocator, NULL),
	          HY_OK);
	if (resident)
	{
		status = cuda->buf_alloc(device, (uint64_t) rows * row_bytes, &buffer);
		if (status == HY_OK)
			status = cuda->upload(device, buffer, 0, x, (uint64_t) rows * row_bytes);
		t->targets.data = NULL;
		t->targets.buffer = buffer;
	}
	if (status == HY_OK)
		status = run(&task, &filtered);
	if (status != HY_OK)
		say_failure(device, "topk", status);
	CHECK(filtered == measured);
	for (i = 0; i < (int64_t) entries && status == HY_OK; i++)
	{
		int64_t of = i / k;

		CHECK_INT(counts[of], expected_counts[of]);
		if (i % k >= expected_counts[of] || i % k >= counts[of])
			continue;
		CHECK_MSG(out[i].row == expected[i].row &&
		              unit_same_f64(out[i].distance, expected[i].distance),
		          "%s %s dims %d, %lld x %lld%s, k %d: [%lld] is %lld at %a, expected %lld at %a",
		          hy_metric_name(metric), hy_dtype_name(dtype), (int) dims, (long long) queries,
		          (long long) rows, resident ? " resident" : "", (int) k, (long long) i,
		          (long long) out[i].row, out[i].distance, (long long) expected[i].row,
		          expected[i].distance);
		found++;
	}
	cuda->buf_free(device, buffer);
	free(x);
	free(q);
	free(out);
	free(expected);
	free(counts);
	free(expected_counts);
}

static void
every_kind(int32_t dims, int64_t queries, int64_t rows, int32_t k)
{
	int metric;
	int dtype;
	int resident;

	for (metric = 0; metric < HY_METRIC_L1; metric++)
	{
		for (dtype = 0; dtype < HY_DTYPE_COUNT; dtype++)
		{
			for (resident = 0; resident < 2; resident++)
				nearest((HyMetric) metric, (HyDtype) dtype, dims, queries, rows, k, resident != 0);
		}
	}
}

static void
many_queries(void)
{
	every_kind(33, 90, 600, 5);
	if (small)
		return;
	every_kind(128, 129, 20000, 10);
	every_kind(100, 1000, 50000, 1);
	every_kind(768, 2000, 30000, 10);
	every_kind(1100, 300, 10000, 128);
	/* more than one group, more than one piece */
	nearest(HY_METRIC_L2, HY_F32, 768, 15000, 20000, 10, true);
	nearest(HY_METRIC_COSINE, HY_F16, 768, 15000, 20000, 10, false);
}

static bool
stop_requested(void *arg)
{
	return hy_monotonic_clock.now(hy_monotonic_clock.arg) >= *(const uint64_t *) arg;
}

/*
 * A cancel must end a long task within 100 ms, or later under a sanitizer and on the fake device.
 * A large device finishes a small task at once, so such a task is canceled at once.
 */
static void
many_queries_are_cancelled(void)
{
	int32_t dims = small ? 128 : 768;
	int64_t count = small ? 600 : 200000;
	int64_t rows = small ? 3000 : 60000;
	uint64_t room = UINT64_C(1000) * 1000 * (small ? 30000 : 100);
	size_t vector = (size_t) dims * sizeof(float);
	float *x = malloc((size_t) rows * vector);
	float *q = malloc((size_t) count * vector);
	HyNeighbor *out = malloc((size_t) count * 10 * sizeof(HyNeighbor));
	int32_t *counts = malloc((size_t) count * sizeof(int32_t));
	HyTask task = {.op = HY_OP_TOPK, .allocator = &hy_malloc_allocator};
	HyTopKTask *t = &task.u.topk;
	uint64_t stop;
	HyCancel cancel = {stop_requested, &stop};
	uint64_t late;
	bool filtered = false;
	HyStatus status;
	int64_t i;

	for (i = 0; i < rows * dims; i++)
		x[i] = unit_random_float(&randomness);
	for (i = 0; i < count * dims; i++)
		q[i] = i < 1000 * dims ? unit_random_float(&randomness) : q[i - 1000 * (int64_t) dims];
	*t = (HyTopKTask){.metric = HY_METRIC_L2, .k = 10, .out = out, .counts = counts};
	t->queries = (HyMatrix){.dims = dims, .rows = count, .stride = vector, .data = q};
	t->targets = (HyMatrix){.dims = dims, .rows = rows, .stride = vector, .data = x};
	task.cancel = &cancel;
	stop = hy_monotonic_clock.now(hy_monotonic_clock.arg) + (small ? 0 : 20 * 1000 * 1000);
	status = run(&task, &filtered);
	late = hy_monotonic_clock.now(hy_monotonic_clock.arg) - stop;
	CHECK_INT(status, HY_CANCELLED);
	CHECK(filtered == measured);
	CHECK_MSG(late < room, "%llu us late", (unsigned long long) late / 1000);
	printf("# cancelled %llu us after it was asked\n", (unsigned long long) late / 1000);
	free(x);
	free(q);
	free(out);
	free(counts);
	/* the next task must be right */
	every_kind(33, 90, 600, 5);
}

#include "gpucheck_assign.h"

int
main(int argc, char **argv)
{
	HyHost host = {.abi = HY_BACKEND_ABI,
	               .clock = &hy_monotonic_clock,
	               .allocator = &hy_malloc_allocator,
	               .setting = setting,
	               .run = run_parts};
	HyDeviceInfo info = {.cores = 0};
	HyFailure failure;
	HyStatus status;
	int32_t count = 0;
	int version;
	char why[256];

	if (argc < 2)
	{
		fprintf(stderr, "usage: gpucheck_filter DIRECTORY [DEVICE [small]]\n");
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
	if (status == HY_OK && count > number)
		status = cuda->probe(number, &info);
	if (status == HY_OK && count > number)
		status = cuda->open(number, NULL, &device);
	if (status != HY_OK || count <= number)
	{
		cuda->last_error(NULL, &failure);
		printf("no GPU: %s\n", failure.text[0] != '\0' ? failure.text : "too few devices");
		return 2;
	}
	/* sm_90: 9.0 */
	version = atoi(info.architecture + 3);
	measured = version >= 80 && version < 100;
	printf("# %s, %s%s\n", info.name, info.architecture, measured ? "" : ", which is not filtered");
	check_cuda(cudaSetDevice(number), "selecting the device");
	if (version >= 80)
		UNIT_RUN(the_unit_keeps_its_bound);
	UNIT_RUN(many_queries);
	UNIT_RUN(many_centroids);
	UNIT_RUN(many_queries_are_cancelled);
	cuda->close(device);
	printf("# %lld products, %lld of the nearest, %lld assigned rows compared\n",
	       (long long) products, (long long) found, (long long) assigned);
	return unit_finish();
}
