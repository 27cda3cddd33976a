/*
 * emulated_spread_test.c
 *		Spreading on the emulated device over a resident graph: nothing else is read.
 */
#include "emulated_stage.h"

#include "spread_stage.h"

#define NODES 3000
#define SETS 3

static HyCsr graph;
static HyPackedGraph packed;
static bool with_hub;
static double divisor[NODES];
static double activation[SETS * NODES];
static double sent[SETS * NODES];
static double wanted_sent[SETS * NODES];
static double wanted[SETS * NODES];
static int32_t hop[SETS * NODES];
static int32_t wanted_hop[SETS * NODES];
static const int64_t start[SETS + 1] = {0, 1, 3, 3};
static const uint32_t node[] = {0, 1, 0};
static const double value[] = {1, 0.5, 2};

/* spread_task: make a task over the host's graph, whose answer is the expected one. */
static HyTask
spread_task(void)
{
	HyTask task = {.op = HY_OP_SPREAD, .allocator = &memory.allocator};
	HySpreadTask *s = &task.u.spread;

	s->graph = &graph;
	s->packed = &packed;
	s->params = (HySpreadParams){.decay = 0.85, .fan = 1, .hops = 3};
	s->seeds = (HySpreadSeeds){.sets = SETS, .start = start, .node = node, .value = value};
	s->activation = activation;
	s->hop = hop;
	s->sent = sent;
	if (with_hub)
		s->params.hub = divisor;
	memset(wanted, 0, sizeof(wanted));
	memset(wanted_hop, 0, sizeof(wanted_hop));
	memset(wanted_sent, 0, sizeof(wanted_sent));
	CHECK_INT(hy_spread(&graph, &s->params, &s->seeds, &hy_malloc_allocator, NULL,
	                    &(HySpreadResult){wanted, wanted_hop, wanted_sent}),
	          HY_OK);
	memset(activation, 0, sizeof(activation));
	memset(hop, 0, sizeof(hop));
	memset(sent, 0, sizeof(sent));
	return task;
}

static HyBuffer *
send(HyDevice *device)
{
	HyBuffer *buffer = NULL;
	int p;

	CHECK_INT(device_of->buf_alloc(device, packed.layout.bytes, &buffer), HY_OK);
	for (p = 0; p < HY_PACKED_PARTS; p++)
	{
		uint64_t bytes;
		const void *data = hy_packed_graph_part(&packed, &graph, divisor, (HyPackedPart) p, &bytes);

		if (bytes > 0)
			CHECK_INT(device_of->upload(device, buffer, packed.layout.offset[p], data, bytes),
			          HY_OK);
	}
	return buffer;
}

static bool
right(void)
{
	return memcmp(activation, wanted, sizeof(wanted)) == 0 &&
	       memcmp(hop, wanted_hop, sizeof(wanted_hop)) == 0 &&
	       memcmp(sent, wanted_sent, sizeof(wanted_sent)) == 0;
}

static void
make(int64_t edges)
{
	UnitRandom random = {91};

	begin();
	graph = make_graph(&random, NODES, edges, HY_DIRECTION_OUT);
	CHECK_INT(hy_packed_graph_make(&graph, with_hub, &hy_malloc_allocator, NULL, &packed), HY_OK);
	CHECK_INT(hy_spread_hub(&graph, 0.7, NULL, divisor), HY_OK);
}

static void
unmake(void)
{
	hy_packed_graph_free(&packed, &hy_malloc_allocator);
	hy_csr_free(&graph, &hy_malloc_allocator);
	CHECK_INT(memory.outstanding, 0);
}

static void
test_same_bits(void)
{
	static const int64_t edges[] = {1, 300, 5000, 60000};
	size_t i;

	for (i = 0; i < 2 * sizeof(edges) / sizeof(edges[0]); i++)
	{
		HyDevice *device;
		HyTask task;
		HyCsr numbers;
		HyTimings timings;
		uint64_t there;
		bool done;

		with_hub = i % 2 != 0;
		make(edges[i / 2]);
		device = open_device(0);
		task = spread_task();
		CHECK_INT(run(device, &task, &done, &timings), HY_OK);
		CHECK(done && right());
		there = timings.bytes_up;

		task.u.spread.buffer = send(device);
		CHECK(hy_task_shape(&task).resident);
		/* of the graph nobody reads what the host has */
		numbers = (HyCsr){.nodes = graph.nodes, .edges = graph.edges};
		task.u.spread.graph = &numbers;
		memset(activation, 0, sizeof(activation));
		CHECK_INT(run(device, &task, &done, &timings), HY_OK);
		CHECK(done && right());
		CHECK(timings.bytes_up < there);
		CHECK_INT(there - timings.bytes_up, graph.edges * 8 + graph.nodes * (with_hub ? 24 : 16));
		device_of->close(device);
		unmake();
	}
	with_hub = false;
}

/* Until convergence, when the host has no weights with which to check that hops end. */
static void
test_until_convergence_by_numbers(void)
{
	HyDevice *device;
	HyTimings timings;
	HyCsr numbers;
	HyTask task;
	bool done;

	make(5000);
	device = open_device(0);
	task = spread_task();
	task.u.spread.params.hops = -1;
	task.u.spread.params.tolerance = 1e-3;
	memset(wanted, 0, sizeof(wanted));
	CHECK_INT(hy_spread(&graph, &task.u.spread.params, &task.u.spread.seeds, &hy_malloc_allocator,
	                    NULL, &(HySpreadResult){wanted, wanted_hop, wanted_sent}),
	          HY_OK);
	task.u.spread.buffer = send(device);
	numbers = (HyCsr){.nodes = graph.nodes, .edges = graph.edges};
	task.u.spread.graph = &numbers;
	CHECK_INT(hy_task_check(&task), HY_OK);
	CHECK_INT(run(device, &task, &done, &timings), HY_OK);
	CHECK(done && right());
	device_of->close(device);
	unmake();
}

static void
test_what_makes_no_sense(void)
{
	HyDevice *device;
	HyDevice *other;
	HyBuffer *small;
	HyTimings timings;
	HyTask task;
	uint32_t none = UINT32_MAX;
	bool done;

	make(5000);
	device = open_device(0);
	other = open_device(0);
	task = spread_task();
	task.u.spread.buffer = send(device);
	CHECK_INT(run(other, &task, &done, &timings), HY_INVALID); /* another context's */
	CHECK_INT(device_of->buf_alloc(device, packed.layout.bytes - 1, &small), HY_OK);
	task.u.spread.buffer = small;
	CHECK_INT(run(device, &task, &done, &timings), HY_INVALID);
	/* empty as it is: no rows */
	CHECK_INT(device_of->buf_alloc(device, packed.layout.bytes, &small), HY_OK);
	task.u.spread.buffer = small;
	CHECK_INT(run(device, &task, &done, &timings), HY_INVALID);
	/* an entry that comes from nowhere */
	task.u.spread.buffer = send(device);
	CHECK_INT(device_of->upload(device, task.u.spread.buffer, packed.layout.offset[0], &none, 4),
	          HY_OK);
	CHECK_INT(run(device, &task, &done, &timings), HY_INVALID);
	task.u.spread.buffer = send(device);
	CHECK_INT(run(device, &task, &done, &timings), HY_OK);
	CHECK(right());
	task.u.spread.packed = NULL;
	CHECK_INT(hy_task_check(&task), HY_INVALID);
	task.u.spread.packed = &packed;
	packed.edges--;
	CHECK_INT(hy_task_check(&task), HY_INVALID);
	packed.edges++;
	packed.nodes++;
	CHECK_INT(hy_task_check(&task), HY_INVALID);
	packed.nodes--;
	CHECK_INT(hy_task_check(&task), HY_OK);
	device_of->close(other);
	device_of->close(device);
	unmake();
}

int
main(void)
{
	UNIT_RUN(test_same_bits);
	UNIT_RUN(test_until_convergence_by_numbers);
	UNIT_RUN(test_what_makes_no_sense);
	return unit_finish();
}
