/*
 * backend_cpu_test.c
 *		The CPU behind the vtable: core's answers, tickets, and what it does not do.
 */
#include "core/distance.h"
#include "core/csr_build.h"
#include "core/threads.h"
#include "core/topk.h"
#include "dispatch/run/backend_cpu.h"
#include "unit.h"

#define DIMS 24
#define ROWS 200

static const HyBackend *const cpu = &hy_backend_cpu;
static float vectors[(ROWS + 3) * DIMS];
static double out[3 * ROWS];
static double expected[3 * ROWS];

static HyDevice *
open_cpu(void)
{
	HyDevice *device = NULL;
	HyLimits limits = {0};

	CHECK_INT(cpu->open(0, &limits, &device), HY_OK);
	CHECK(device != NULL);
	return device;
}

static HyTask
distance_task(void)
{
	HyTask task = {.op = HY_OP_DISTANCE, .allocator = &hy_malloc_allocator};
	UnitRandom random = {5};
	int i;

	for (i = 0; i < (ROWS + 3) * DIMS; i++)
		vectors[i] = unit_random_float(&random);
	task.u.distance.metric = HY_METRIC_COSINE;
	task.u.distance.queries =
		(HyMatrix){.dims = DIMS, .rows = 3, .stride = DIMS * 4, .data = vectors};
	task.u.distance.targets =
		(HyMatrix){.dims = DIMS, .rows = ROWS, .stride = DIMS * 4, .data = vectors + 3 * DIMS};
	task.u.distance.out = out;
	return task;
}

static void
run(HyDevice *device, const HyTask *task)
{
	HyTicket ticket;
	HyTimings timings;
	bool done = false;

	CHECK_INT(cpu->submit(device, task, &ticket), HY_OK);
	CHECK_INT(cpu->poll(device, ticket, &done, &timings), HY_OK);
	CHECK(done);
	/* asked for once, a ticket is gone */
	CHECK_INT(cpu->poll(device, ticket, &done, &timings), HY_INVALID);
}

static void
test_distance(void)
{
	HyTask task = distance_task();

	hy_distance_matrix(HY_METRIC_COSINE, &task.u.distance.queries, &task.u.distance.targets,
	                   expected, NULL);
	run(open_cpu(), &task);
	CHECK_INT(memcmp(out, expected, sizeof(out)), 0);
	CHECK(out[0] != 0);
}

static void
test_topk(void)
{
	HyTask distance = distance_task();
	HyTask task = {.op = HY_OP_TOPK};
	HyNeighbor found[3 * 7];
	HyNeighbor wanted[3 * 7];
	int32_t counts[3];
	int32_t wanted_counts[3];
	int i;

	task.u.topk = (HyTopKTask){
		HY_METRIC_L2, distance.u.distance.queries, distance.u.distance.targets, 7, found, counts,
		NULL};
	hy_topk_search(HY_METRIC_L2, &task.u.topk.queries, &task.u.topk.targets, 7, wanted,
	               wanted_counts, NULL);
	run(open_cpu(), &task);
	for (i = 0; i < 3 * 7; i++)
		CHECK(found[i].row == wanted[i].row && found[i].distance == wanted[i].distance);
	for (i = 0; i < 3; i++)
		CHECK_INT(counts[i], 7);
}

static void
test_spread(void)
{
	HyEdge edges[3] = {{10, 20, 1}, {20, 30, 1}, {10, 30, 1}};
	HyCsr graph;
	int64_t start[2] = {0, 1};
	uint32_t node[1] = {0};
	double value[1] = {1};
	double activation[3] = {-1, -1, -1};
	int32_t hop[3] = {-9, -9, -9};
	HyTask task = {.op = HY_OP_SPREAD, .allocator = &hy_malloc_allocator};

	CHECK_INT(hy_csr_build(edges, 3, HY_DIRECTION_OUT, &hy_malloc_allocator, NULL, &graph), HY_OK);
	task.u.spread.graph = &graph;
	task.u.spread.params = (HySpreadParams){.decay = 0.5, .fan = 1, .hops = 2};
	task.u.spread.seeds = (HySpreadSeeds){1, start, node, value};
	task.u.spread.activation = activation;
	task.u.spread.hop = hop;
	run(open_cpu(), &task);
	/* by hand: 10 gives 1/4 to each of 20 and 30, then 20 gives half of its quarter to 30 */
	CHECK(activation[0] == 1 && activation[1] == 0.25 && activation[2] == 0.375);
	CHECK(hop[0] == 0 && hop[1] == 1 && hop[2] == 1);
	hy_csr_free(&graph, &hy_malloc_allocator);
}

/* A graph in a buffer has neither sums nor rows on the host. */
static void
test_resident_spread(void)
{
	HyCsr graph = {.nodes = 3, .edges = 2};
	HyPackedGraph packed = {.nodes = 3, .edges = 2};
	int64_t start[2] = {0, 1};
	uint32_t node[1] = {0};
	double value[1] = {1};
	double activation[3];
	int32_t hop[3];
	HyTask task = {.op = HY_OP_SPREAD, .allocator = &hy_malloc_allocator};
	HyTicket ticket;
	HyShape shape;

	task.u.spread.graph = &graph;
	task.u.spread.packed = &packed;
	task.u.spread.buffer = (HyBuffer *) vectors;
	task.u.spread.params = (HySpreadParams){.decay = 0.5, .fan = 1, .hops = 2};
	task.u.spread.seeds = (HySpreadSeeds){1, start, node, value};
	task.u.spread.activation = activation;
	task.u.spread.hop = hop;
	CHECK_INT(hy_task_check(&task), HY_OK);
	shape = hy_task_shape(&task);
	CHECK(shape.resident && !cpu->caps(NULL, &shape).ok);
	CHECK_INT(cpu->submit(open_cpu(), &task, &ticket), HY_UNSUPPORTED);
}

static void
test_many_tickets(void)
{
	HyDevice *device = open_cpu();
	HyTask task = distance_task();
	HyTicket tickets[64];
	HyTicket more;
	HyTimings timings;
	bool done;
	int i;

	for (i = 0; i < 64; i++)
		CHECK_INT(cpu->submit(device, &task, &tickets[i]), HY_OK);
	CHECK_INT(cpu->submit(device, &task, &more), HY_BUSY);
	cpu->cancel(device, tickets[10]); /* has ended already */
	for (i = 63; i >= 0; i--)
	{
		done = false;
		CHECK_INT(cpu->poll(device, tickets[i], &done, &timings), HY_OK);
		CHECK(done);
	}
	CHECK_INT(cpu->submit(device, &task, &more), HY_OK);
	CHECK_INT(cpu->poll(device, tickets[0], &done, &timings), HY_INVALID); /* an old one */
	CHECK_INT(cpu->poll(device, more, &done, &timings), HY_OK);
}

static void
test_failures(void)
{
	HyDevice *device = open_cpu();
	HyTask task = distance_task();
	HyTicket ticket;
	HyFailure failure;

	task.u.distance.targets.stride = 1;
	CHECK_INT(cpu->submit(device, &task, &ticket), HY_INVALID);
	task = distance_task();
	memset(&task.u, 0, sizeof(task.u));
	task.op = HY_OP_SCORE_CODES;
	CHECK_INT(cpu->submit(device, &task, &ticket), HY_INVALID);
	task = distance_task();
	task.u.distance.targets.data = NULL;
	task.u.distance.targets.buffer = (HyBuffer *) vectors;
	CHECK_INT(cpu->submit(device, &task, &ticket), HY_UNSUPPORTED);
	{
		HyMatrix centroids = task.u.distance.queries;
		HyMatrix rows = task.u.distance.targets;
		int32_t nearest[10];

		rows.rows = 10;
		task = (HyTask){.op = HY_OP_ASSIGN, .allocator = &hy_malloc_allocator};
		task.u.assign = (HyAssignTask){.rows = rows, .centroids = centroids, .nearest = nearest};
		CHECK_INT(hy_task_check(&task), HY_OK);
		CHECK(hy_task_shape(&task).resident);
		CHECK_INT(cpu->submit(device, &task, &ticket), HY_UNSUPPORTED);
	}
	cpu->last_error(device, &failure);
	CHECK_INT(failure.native_code, 0);
	CHECK_INT(cpu->open(1, NULL, &device), HY_INVALID);
}

static void
test_caps_and_probe(void)
{
	HyShape shape = {.op = HY_OP_DISTANCE, .dims = 10, .queries = 1, .targets = 10};
	HyDeviceInfo info;
	int32_t count = 0;
	HyBuffer *buffer;

	CHECK(cpu->caps(NULL, &shape).ok);
	CHECK_INT(cpu->caps(NULL, &shape).numeric_class, HY_CLASS_EXACT);
	shape.resident = true;
	CHECK(!cpu->caps(NULL, &shape).ok && cpu->caps(NULL, &shape).reason != NULL);
	shape.resident = false;
	shape.op = HY_OP_TOPK;
	CHECK(cpu->caps(NULL, &shape).ok);
	shape.op = HY_OP_SPREAD;
	CHECK(cpu->caps(NULL, &shape).ok);
	shape.op = HY_OP_ASSIGN;
	CHECK(cpu->caps(NULL, &shape).ok);
	shape.resident = true;
	CHECK(!cpu->caps(NULL, &shape).ok && cpu->caps(NULL, &shape).reason != NULL);
	shape.resident = false;
	shape.dtype = HY_F16;
	CHECK(!cpu->caps(NULL, &shape).ok);
	shape.dtype = HY_F32;
	shape.op = HY_OP_SCORE_CODES;
	CHECK(cpu->caps(NULL, &shape).ok);
	CHECK_INT(cpu->caps(NULL, &shape).max_k, HY_SCORE_MOST);
	shape.metric = HY_METRIC_COSINE;
	CHECK(!cpu->caps(NULL, &shape).ok && cpu->caps(NULL, &shape).reason != NULL);
	CHECK_INT(cpu->device_count(&count), HY_OK);
	CHECK_INT(count, 1);
	CHECK_INT(cpu->probe(0, &info), HY_OK);
	CHECK(info.cores >= 1 && !info.virtual_time && info.open_cost_ns == 0);
	CHECK_STR(info.architecture, hy_simd_name(hy_simd_best()));
	CHECK_INT(cpu->probe(1, &info), HY_INVALID);
	CHECK_INT(cpu->buf_alloc(open_cpu(), 10, &buffer), HY_UNSUPPORTED);
}

/* Loan: what a lender was asked for. */
typedef struct Loan
{
	int taken;
	int given;
	bool refuses;
	const HyTask *task;
} Loan;

static int32_t
expect(void *arg, const HyShape *shape)
{
	(void) arg;
	return shape->dims == DIMS ? 3 : 1;
}

static bool
take(void *arg, const HyTask *task)
{
	Loan *loan = arg;

	CHECK_INT(loan->given, loan->taken);
	loan->taken++;
	loan->task = task;
	hy_threads_allow(3);
	out[0] = 0;
	return !loan->refuses;
}

static void
give(void *arg)
{
	Loan *loan = arg;

	/* the task has run */
	CHECK(out[0] != 0);
	hy_threads_allow(1);
	loan->given++;
}

static void
test_lender(void)
{
	HyTask task = distance_task();
	HyDevice *device = open_cpu();
	Loan loan = {0};
	HyLender lender = {expect, take, give, &loan};
	HyShape shape = hy_task_shape(&task);
	HyTicket ticket;
	HyTimings timings;
	bool done;

	CHECK_INT(cpu->estimate(device, &shape).threads, 0);
	hy_backend_cpu_lend(&lender);
	CHECK_INT(cpu->estimate(device, &shape).threads, 3);
	CHECK_INT(cpu->submit(device, &task, &ticket), HY_OK);
	CHECK_INT(cpu->poll(device, ticket, &done, &timings), HY_OK);
	CHECK_INT(timings.threads, 3);
	CHECK_INT(loan.taken, 1);
	CHECK_INT(loan.given, 1);
	CHECK(loan.task == &task);
	/* nothing is taken for a task that does not run */
	task.u.distance.queries.dims = DIMS - 1;
	CHECK_INT(cpu->submit(device, &task, &ticket), HY_INVALID);
	CHECK_INT(loan.taken, 1);
	task.u.distance.queries.dims = DIMS;
	/* nor does it run without memory for the loan */
	loan.refuses = true;
	CHECK_INT(cpu->submit(device, &task, &ticket), HY_NOMEM);
	CHECK_INT(loan.taken, 2);
	CHECK_INT(loan.given, 1);
	hy_threads_allow(1);
	hy_backend_cpu_lend(NULL);
	run(device, &task);
	CHECK_INT(loan.taken, 2);
}

int
main(void)
{
	UNIT_RUN(test_distance);
	UNIT_RUN(test_topk);
	UNIT_RUN(test_spread);
	UNIT_RUN(test_resident_spread);
	UNIT_RUN(test_many_tickets);
	UNIT_RUN(test_failures);
	UNIT_RUN(test_caps_and_probe);
	UNIT_RUN(test_lender);
	return unit_finish();
}
