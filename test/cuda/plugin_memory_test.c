/*
 * plugin_memory_test.c
 *		The device's memory through the vtable, on the fake device: what stays for the next task,
 *		what is released and when, and that no user can read what another user left.
 */
#include "plugged.h"

#include "core/distance.h"
#include "core/topk.h"
#include "cuda/device.h"
#include "graphs.h"

static UnitRandom randomness = {5};

#define DIMS 40
#define ROWS 300
#define QUERIES 6
#define K 7

/* Vectors of one role, with the expected answers of both operations on them. */
typedef struct Vectors
{
	float rows[ROWS * DIMS];
	float queries[QUERIES * DIMS];
	double distances[QUERIES * ROWS];
	HyNeighbor best[QUERIES * K];
	int32_t counts[QUERIES];
} Vectors;

static void
vectors_make(Vectors *v)
{
	int i;

	for (i = 0; i < ROWS * DIMS; i++)
		v->rows[i] = unit_random_float(&randomness);
	for (i = 0; i < QUERIES * DIMS; i++)
		v->queries[i] = unit_random_float(&randomness);
}

static HyMatrix
matrix_of(const float *data, int64_t rows)
{
	return (HyMatrix){
		.dims = DIMS, .rows = rows, .stride = DIMS * sizeof(float), .data = (const char *) data};
}

/*
 * vectors_run: run both operations, on rows in host memory or in buffer, and compare with the CPU.
 */
static void
vectors_run(HyDevice *device, Vectors *v, HyBuffer *buffer)
{
	HyMatrix queries = matrix_of(v->queries, QUERIES);
	HyMatrix rows = matrix_of(v->rows, ROWS);
	HyMatrix targets = rows;
	HyTask task = {.op = HY_OP_DISTANCE, .allocator = &memory.allocator};
	static double expected[QUERIES * ROWS];
	static HyNeighbor best[QUERIES * K];
	int32_t counts[QUERIES];
	int i;

	if (buffer != NULL)
	{
		targets.data = NULL;
		targets.buffer = buffer;
	}
	task.u.distance = (HyDistanceTask){
		.metric = HY_METRIC_COSINE, .queries = queries, .targets = targets, .out = v->distances};
	CHECK_INT(run(device, &task, NULL), HY_OK);
	CHECK_INT(hy_distance_matrix(HY_METRIC_COSINE, &queries, &rows, expected, NULL), HY_OK);
	for (i = 0; i < QUERIES * ROWS; i++)
		CHECK_SAME_F64(v->distances[i], expected[i]);
	task.op = HY_OP_TOPK;
	task.u.topk = (HyTopKTask){.metric = HY_METRIC_L2,
	                           .queries = queries,
	                           .targets = targets,
	                           .k = K,
	                           .out = v->best,
	                           .counts = v->counts};
	CHECK_INT(run(device, &task, NULL), HY_OK);
	CHECK_INT(hy_topk_search(HY_METRIC_L2, &queries, &rows, K, best, counts, NULL), HY_OK);
	CHECK(memcmp(v->best, best, sizeof(best)) == 0);
	CHECK(memcmp(v->counts, counts, sizeof(counts)) == 0);
}

static void
some_graph(GraphJob *job, int64_t nodes, int32_t sets)
{
	HySpreadParams params = {0.85, 1, 4, 0, 1, HY_COMBINE_SUM, 1e-3, NULL};

	graph_job(job, &randomness, make_graph(&randomness, nodes, 4 * nodes, 0, HY_DIRECTION_OUT),
	          params, sets, 5);
}

static uint64_t
free_bytes(HyDevice *device)
{
	uint64_t bytes = 0;
	uint64_t total;

	CHECK_INT(cuda->mem_info(device, &bytes, &total), HY_OK);
	return bytes;
}

/* is_zero: return whether every byte of a buffer is zero. */
static bool
is_zero(HyDevice *device, HyBuffer *buffer, size_t bytes)
{
	char *data = malloc(bytes);
	bool zero;

	CHECK_INT(cuda->download(device, buffer, 0, data, bytes), HY_OK);
	zero = data[0] == 0 && memcmp(data, data + 1, bytes - 1) == 0;
	free(data);
	return zero;
}

static void
memory_stays_for_the_next_task(void)
{
	HyDevice *device = open_one(0);
	uint64_t left = free_bytes(device);
	HyBuffer *buffer;
	GraphJob job;
	int mallocs;
	int i;

	some_graph(&job, 500, 3);
	CHECK_INT(run(device, &job.task, NULL), HY_OK);
	mallocs = hy_fake_mallocs();
	for (i = 0; i < 5; i++)
	{
		CHECK_INT(run(device, &job.task, NULL), HY_OK);
		graph_job_check(&job, "again");
	}
	CHECK_INT(hy_fake_mallocs(), mallocs);
	/* every user can take a free block, whoever had it before */
	CHECK_INT(free_bytes(device), left);
	CHECK(device->pool.held > 0);
	for (i = 0; i < 5; i++)
	{
		CHECK_INT(cuda->buf_alloc(device, device->pool.held, &buffer), HY_OK);
		CHECK(is_zero(device, buffer, device->pool.held));
		cuda->buf_free(device, buffer);
	}
	CHECK_INT(hy_fake_mallocs(), mallocs);
	graph_job_free(&job);
	close_one(device);
}

/* while blocks are in use, the memory beyond the payload is always less than half of the payload */
static void
waste_is_bounded(void)
{
	HyDevice *device = open_one(0);
	uint64_t scratch = hy_fake_used();
	HyBuffer *buffers[12] = {0};
	int i;
	int64_t in_buffers = 0;

	for (i = 0; i < 400 / unit_share(); i++)
	{
		int which = (int) unit_random_below(&randomness, 12);
		uint64_t bytes = 1 + unit_random_below(&randomness, UINT64_C(1) << (4 + which));
		uint64_t pool;

		if (buffers[which] != NULL)
		{
			in_buffers -= (int64_t) buffers[which]->bytes;
			cuda->buf_free(device, buffers[which]);
			buffers[which] = NULL;
		}
		else if (i % 3 > 0)
		{
			CHECK_INT(cuda->buf_alloc(device, bytes, &buffers[which]), HY_OK);
			CHECK(is_zero(device, buffers[which], bytes));
			CHECK_INT(cuda->upload(device, buffers[which], bytes - 1, "x", 1), HY_OK);
			in_buffers += (int64_t) bytes;
			pool = hy_fake_used() - scratch;
			CHECK_MSG(2 * (pool - (uint64_t) in_buffers) < (uint64_t) in_buffers,
			          "%llu bytes held for %llu", (unsigned long long) pool,
			          (unsigned long long) in_buffers);
		}
		else
		{
			GraphJob job;
			HyTicket ticket;
			HyTimings timings;
			bool done = false;

			some_graph(&job, 20 + (int64_t) unit_random_below(&randomness, 80), 2);
			CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_OK);
			/* while the task runs, including the memory that it took */
			pool = hy_fake_used() - scratch;
			CHECK(device->pool.payload > (uint64_t) in_buffers);
			CHECK(2 * (pool - device->pool.payload) < device->pool.payload);
			while (!done)
				CHECK_INT(cuda->poll(device, ticket, &done, &timings), HY_OK);
			graph_job_check(&job, "beside buffers");
			graph_job_free(&job);
			CHECK_INT(device->pool.payload, in_buffers);
		}
		if (unit_failed_checks > 0)
			break;
	}
	close_one(device);
}

/* tasks that take no memory leave it to the next one that does, for a while */
static void
what_nobody_uses_goes_back(void)
{
	HyDevice *device = open_one(0);
	uint64_t scratch = hy_fake_used();
	static Vectors v;
	GraphJob job;
	int i;

	vectors_make(&v);
	some_graph(&job, 200, 2);
	CHECK_INT(run(device, &job.task, NULL), HY_OK);
	CHECK(hy_fake_used() > scratch);
	vectors_run(device, &v, NULL);
	CHECK(hy_fake_used() > scratch);
	for (i = 0; i < 40; i++)
		vectors_run(device, &v, NULL);
	CHECK_INT(hy_fake_used(), scratch);
	graph_job_free(&job);
	close_one(device);
}

static void
short_memory_frees_what_is_kept(void)
{
	HyDevice *device = open_one(UINT64_C(64) << 20);
	HyBuffer *buffer;
	HyBuffer *other;
	uint64_t left = free_bytes(device);

	/* free blocks make room within the budget */
	CHECK_INT(cuda->buf_alloc(device, left / 4 * 3, &buffer), HY_OK);
	cuda->buf_free(device, buffer);
	CHECK(device->pool.held > left / 2);
	CHECK_INT(cuda->buf_alloc(device, left, &buffer), HY_OK);
	CHECK(hy_fake_used() <= UINT64_C(64) << 20);
	CHECK_INT(cuda->buf_alloc(device, 1, &other), HY_QUOTA);
	cuda->buf_free(device, buffer);
	/* free blocks are also released if CUDA has no memory, although the budget has */
	hy_fake.memory = hy_fake_used() + 1000;
	CHECK_INT(cuda->buf_alloc(device, left / 3, &buffer), HY_OK);
	CHECK(is_zero(device, buffer, left / 3));
	CHECK_INT(cuda->buf_alloc(device, left, &other), HY_QUOTA);
	hy_fake.memory = hy_fake_used() + 1000;
	CHECK_INT(cuda->buf_alloc(device, 2000, &other), HY_NOMEM);
	CHECK_INT(cuda->buf_alloc(device, 900, &other), HY_OK);
	CHECK_INT(free_bytes(device), 100);
	hy_fake.memory = UINT64_C(1) << 30;
	close_one(device);
}

/* the fake device inspects returned memory; without that, the tests here would prove nothing */
static void
the_fake_sees_what_is_left_in_memory(void)
{
	cudaStream_t stream;
	void *pointer;

	CHECK_INT(cudaStreamCreateWithFlags(&stream, 0), cudaSuccess);
	CHECK_INT(cudaMalloc(&pointer, 100), cudaSuccess);
	CHECK_INT(cudaMemsetAsync(pointer, 0, 100, stream), cudaSuccess);
	CHECK_INT(cudaMemcpyAsync(pointer, "secret", 6, cudaMemcpyHostToDevice, stream), cudaSuccess);
	CHECK(hy_fake_find("secret", 6));
	CHECK(!hy_fake_find("secrets", 7));
	CHECK_INT(cudaFree(pointer), cudaSuccess);
	CHECK(!hy_fake_find("secret", 6));
	CHECK_INT(hy_fake_returned(), 100);
	CHECK_INT(hy_fake_leaked(), 6);
	CHECK_INT(cudaHostAlloc(&pointer, 10, cudaHostAllocDefault), cudaSuccess);
	CHECK_INT(cudaFreeHost(pointer), cudaSuccess);
	CHECK_INT(hy_fake_leaked(), 16);
	CHECK_INT(cudaStreamDestroy(stream), cudaSuccess);
}

static void
nothing_of_the_data_is_left(void)
{
	HyDevice *device = open_one(0);
	static Vectors v;
	HyBuffer *buffer;
	HyBuffer *next;
	GraphJob job;
	HyTicket ticket;
	uint64_t used;
	int forgotten;

	for (forgotten = 0; forgotten < 3; forgotten++)
	{
		vectors_make(&v);
		CHECK_INT(cuda->buf_alloc(device, sizeof(v.rows), &buffer), HY_OK);
		CHECK_INT(cuda->upload(device, buffer, 0, v.rows, sizeof(v.rows)), HY_OK);
		CHECK(hy_fake_find(v.rows, 64));
		vectors_run(device, &v, buffer);
		CHECK(hy_fake_find(v.queries, 64));
		CHECK(hy_fake_find(v.best, sizeof(HyNeighbor)));
		some_graph(&job, 100, 2);
		CHECK_INT(run(device, &job.task, NULL), HY_OK);
		graph_job_check(&job, "beside a buffer");
		/* nothing of the graph is on the device after its task */
		CHECK(!hy_fake_find(job.graph.column, 64));
		CHECK(!hy_fake_find(job.graph.out_weight, 64));
		if (forgotten < 2)
		{
			cuda->buf_free(device, buffer);
			CHECK(!hy_fake_find(v.rows + 1000, 64));
			/* the same block for another user */
			CHECK_INT(cuda->buf_alloc(device, sizeof(v.rows), &next), HY_OK);
			CHECK(is_zero(device, next, sizeof(v.rows)));
			cuda->buf_free(device, next);
		}
		if (forgotten == 1)
			CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_OK);
		used = hy_fake_used() + hy_fake_pinned();
		/* close also zeroes the memory of buffers that were not freed and of a task in flight */
		close_one(device);
		CHECK(hy_fake_returned() >= used);
		graph_job_free(&job);
		device = open_one(0);
	}
	close_one(device);
}

static void
a_buffer_is_freed_under_a_task(void)
{
	HyDevice *device = open_one(UINT64_C(1) << 20);
	static Vectors v;
	HyMatrix queries = matrix_of(v.queries, QUERIES);
	HyMatrix rows = matrix_of(v.rows, ROWS);
	HyTask task = {.op = HY_OP_DISTANCE, .allocator = &memory.allocator};
	static double expected[QUERIES * ROWS];
	HyBuffer *buffer;
	HyTicket ticket;
	HyTimings timings;
	bool done = false;
	int i;

	vectors_make(&v);
	CHECK_INT(hy_distance_matrix(HY_METRIC_L2, &queries, &rows, expected, NULL), HY_OK);
	CHECK_INT(cuda->buf_alloc(device, sizeof(v.rows), &buffer), HY_OK);
	CHECK_INT(cuda->upload(device, buffer, 0, v.rows, sizeof(v.rows)), HY_OK);
	rows.data = NULL;
	rows.buffer = buffer;
	task.u.distance = (HyDistanceTask){
		.metric = HY_METRIC_L2, .queries = queries, .targets = rows, .out = v.distances};
	/* all pieces are in flight, one per stream */
	device->pace[HY_OP_DISTANCE].work = hy_cuda_work(DIMS, QUERIES, ROWS / 2);
	CHECK_INT(cuda->submit(device, &task, &ticket), HY_OK);
	CHECK(device->slots[0].busy && device->slots[1].busy);
	cuda->buf_free(device, buffer);
	CHECK(!hy_fake_find(v.rows + 1000, 64));
	while (!done)
		CHECK_INT(cuda->poll(device, ticket, &done, &timings), HY_OK);
	for (i = 0; i < QUERIES * ROWS; i++)
		CHECK_SAME_F64(v.distances[i], expected[i]);
	close_one(device);
}

/*
 * The scratch is not zeroed between tasks.  Whatever it holds, perhaps of another role's task, the
 * answers are the same, so none of it can be read.
 */
static void
no_task_reads_what_another_left(void)
{
	static const int bytes[] = {0x00, 0xff, 0x7f, 0x3c, 0x01};
	static Vectors v;
	HyBuffer *buffer;
	GraphJob job;
	size_t i;

	for (i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++)
	{
		HyDevice *device = open_one(UINT64_C(2) << 20);

		vectors_make(&v);
		some_graph(&job, 100, 9);
		hy_fake_scribble(bytes[i]);
		vectors_run(device, &v, NULL);
		hy_fake_scribble(bytes[i]);
		CHECK_INT(run(device, &job.task, NULL), HY_OK);
		graph_job_check(&job, "over what was there");
		hy_fake_scribble(bytes[i]);
		/* these are new blocks of the pool, not scratch memory */
		CHECK_INT(cuda->buf_alloc(device, sizeof(v.rows) + i * 100000, &buffer), HY_OK);
		CHECK_INT(cuda->upload(device, buffer, 0, v.rows, sizeof(v.rows)), HY_OK);
		vectors_run(device, &v, buffer);
		cuda->buf_free(device, buffer);
		graph_job_free(&job);
		/* only free blocks still have the scribbled bytes, which the fake reports as not zeroed */
		cuda->close(device);
		CHECK_INT(hy_fake_live(), 0);
		CHECK_INT(memory.outstanding, 0);
	}
}

/* a block that could not be zeroed is not used until it is zeroed */
static void
clearing_may_fail(void)
{
	HyDevice *device = open_one(0);
	HyBuffer *first;
	HyBuffer *second;
	int mallocs;
	int i;

	CHECK_INT(cuda->buf_alloc(device, 5000, &first), HY_OK);
	CHECK_INT(cuda->upload(device, first, 100, "secret", 6), HY_OK);
	mallocs = hy_fake_mallocs();
	hy_fake_fail_always("cudaMemsetAsync", cudaErrorMemoryAllocation);
	cuda->buf_free(device, first);
	CHECK(hy_fake_find("secret", 6));
	CHECK_INT(device->pool.taken, 0);
	CHECK_INT(cuda->buf_alloc(device, 5000, &second), HY_NOMEM);
	hy_fake_fail(NULL, 0, cudaSuccess);
	CHECK_INT(device->pool.blocks->unclean, true);
	CHECK_INT(cuda->buf_alloc(device, 5000, &second), HY_OK);
	CHECK_INT(hy_fake_mallocs(), mallocs + 1); /* including the block that could not be zeroed */
	CHECK(!hy_fake_find("secret", 6));
	CHECK(is_zero(device, second, 5000));
	/* one failure is none */
	for (i = 1; i <= 2; i++)
	{
		CHECK_INT(cuda->upload(device, second, 100, "secret", 6), HY_OK);
		hy_fake_fail(i == 1 ? "cudaMemsetAsync" : "cudaStreamSynchronize", 1,
		             cudaErrorMemoryAllocation);
		cuda->buf_free(device, second);
		CHECK(!hy_fake_find("secret", 6));
		CHECK_INT(cuda->buf_alloc(device, 5000, &second), HY_OK);
	}
	cuda->close(device);
	CHECK_INT(hy_fake_live(), 0);
	CHECK_INT(memory.outstanding, 0);
}

int
main(void)
{
	if (!plug_in())
		return 1;
	RUN(memory_stays_for_the_next_task);
	RUN(waste_is_bounded);
	RUN(what_nobody_uses_goes_back);
	RUN(short_memory_frees_what_is_kept);
	RUN(the_fake_sees_what_is_left_in_memory);
	RUN(nothing_of_the_data_is_left);
	RUN(a_buffer_is_freed_under_a_task);
	RUN(no_task_reads_what_another_left);
	RUN(clearing_may_fail);
	return unit_finish();
}
