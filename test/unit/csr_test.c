/*
 * csr_test.c
 *		Graphs compared with a naive build, and the behavior when memory runs out or the call is
 *		canceled.
 */
#include "unit.h"

#include <float.h>

#include "core/csr_build.h"

/* Entry: one cell of W, W^T or W + W^T before parallel edges are summed. */
typedef struct Entry
{
	int64_t row;
	int64_t column;
	float weight;
} Entry;

/* ByteCounter: an allocator that records the most bytes it ever held. */
typedef struct ByteCounter
{
	HyAllocator allocator;
	uint64_t held;
	uint64_t peak;
} ByteCounter;

typedef enum IdKind
{
	IDS_SMALL,   /* many parallel edges and self loops */
	IDS_SIGNED,  /* around 0 */
	IDS_EXTREME, /* the ends of int64 */
	IDS_ANY,     /* 64 random bits */
	ID_KINDS
} IdKind;

static void *
counter_alloc(void *arg, size_t size)
{
	ByteCounter *counter = arg;
	uint64_t *block = malloc(size + 16);

	if (block == NULL)
		abort();
	block[0] = size;
	counter->held += size;
	if (counter->held > counter->peak)
		counter->peak = counter->held;
	return block + 2;
}

static void
counter_free(void *arg, void *pointer)
{
	ByteCounter *counter = arg;
	uint64_t *block = (uint64_t *) pointer - 2;

	counter->held -= block[0];
	free(block);
}

static int64_t
random_id(UnitRandom *random, IdKind kind)
{
	static const int64_t extremes[] = {INT64_MIN, INT64_MIN + 1, -1,       0,
	                                   1,         INT64_MAX - 1, INT64_MAX};

	switch (kind)
	{
		case IDS_SMALL:
			return (int64_t) unit_random_below(random, 7);
		case IDS_SIGNED:
			return (int64_t) unit_random_below(random, 600) - 300;
		case IDS_EXTREME:
			return extremes[unit_random_below(random, 7)];
		default:
			return (int64_t) unit_random(random);
	}
}

static float
random_weight(UnitRandom *random)
{
	switch (unit_random_below(random, 6))
	{
		case 0:
			return 1;
		case 1:
			return unit_random_below(random, 2) == 0 ? 0.0f : -0.0f;
		case 2:
			return 1e30f * (float) unit_random_unit(random);
		case 3: /* so far apart that the order of a sum shows in fp64 */
		case 4:
			return (float) ldexp(unit_random_unit(random), -(int) unit_random_below(random, 60));
		default:
			return (float) unit_random_unit(random);
	}
}

static HyEdge *
random_edges(UnitRandom *random, int64_t count, IdKind kind)
{
	HyEdge *edges = malloc(sizeof(HyEdge) * (size_t) (count + 1));
	int64_t i;

	for (i = 0; i < count; i++)
	{
		edges[i].source = random_id(random, kind);
		edges[i].target = random_id(random, kind);
		edges[i].weight = random_weight(random);
	}
	return edges;
}

static int
compare_ids(const void *a, const void *b)
{
	int64_t left = *(const int64_t *) a;
	int64_t right = *(const int64_t *) b;

	return left < right ? -1 : left > right;
}

static int
compare_entries(const void *a, const void *b)
{
	const Entry *left = a;
	const Entry *right = b;

	if (left->row != right->row)
		return left->row < right->row ? -1 : 1;
	if (left->column != right->column)
		return left->column < right->column ? -1 : 1;
	return left->weight < right->weight ? -1 : left->weight > right->weight;
}

/*
 * check_graph: check that csr holds exactly the graph of the edges, found by sorting, looking up
 * and adding.
 */
static void
check_graph(const HyEdge *edges, int64_t count, HyDirection direction, const HyCsr *csr)
{
	Entry *entries = malloc(sizeof(Entry) * (size_t) (2 * count + 1));
	int64_t *ids = malloc(sizeof(int64_t) * (size_t) (2 * count + 1));
	int64_t nodes = 0;
	int64_t total = 0;
	int64_t e = 0;
	int64_t i;
	int64_t row;

	for (i = 0; i < count; i++)
	{
		Entry forward = {edges[i].target, edges[i].source, edges[i].weight};
		Entry backward = {edges[i].source, edges[i].target, edges[i].weight};

		if (direction == HY_DIRECTION_OUT || direction == HY_DIRECTION_BOTH)
			entries[total++] = forward;
		if (direction == HY_DIRECTION_IN || direction == HY_DIRECTION_BOTH)
			entries[total++] = backward;
		ids[2 * i] = edges[i].source;
		ids[2 * i + 1] = edges[i].target;
	}
	qsort(ids, (size_t) (2 * count), sizeof(int64_t), compare_ids);
	for (i = 0; i < 2 * count; i++)
	{
		if (i == 0 || ids[i] != ids[i - 1])
			ids[nodes++] = ids[i];
	}
	qsort(entries, (size_t) total, sizeof(Entry), compare_entries);

	CHECK_INT(csr->nodes, nodes);
	for (i = 0; i < nodes; i++)
	{
		CHECK_INT(csr->ids[i], ids[i]);
		CHECK_INT(hy_csr_find(csr, ids[i]), i);
	}
	CHECK_INT(csr->row_start[0], 0);
	i = 0;
	for (row = 0; row < nodes; row++)
	{
		while (i < total && entries[i].row == ids[row])
		{
			int64_t column = entries[i].column;
			double sum = 0;

			for (; i < total && entries[i].row == ids[row] && entries[i].column == column; i++)
				sum += (double) entries[i].weight;
			if (e < csr->edges)
			{
				CHECK_INT(csr->ids[csr->column[e]], column);
				CHECK_SAME_F32(csr->weight[e], (float) sum);
			}
			e++;
		}
		CHECK_INT(csr->row_start[row + 1], e);
	}
	CHECK_INT(csr->edges, e);

	/* what leaves each node, looked for in every row */
	CHECK_INT(csr->out_start[0], 0);
	for (i = 0; i < nodes; i++)
	{
		double lane[32] = {0};
		int64_t p = 0;
		int h;
		int l;

		for (row = 0; row < nodes; row++)
		{
			for (e = csr->row_start[row]; e < csr->row_start[row + 1]; e++)
			{
				if ((int64_t) csr->column[e] != i)
					continue;
				CHECK_INT(csr->out_row[csr->out_start[i] + p], row);
				lane[p++ & 31] += (double) csr->weight[e];
			}
		}
		CHECK_INT(csr->out_start[i + 1] - csr->out_start[i], p);
		for (h = 16; h >= 1; h >>= 1)
		{
			for (l = 0; l < h; l++)
				lane[l] = lane[l] + lane[l + h];
		}
		CHECK_SAME_F64(csr->out_weight[i], lane[0]);
	}
	free(entries);
	free(ids);
}

/* build_with_origins: build from edges that the build owns, and check the graph and the memory. */
static void
build_with_origins(const HyEdge *edges, int64_t count, HyDirection direction)
{
	ByteCounter counter = {{counter_alloc, counter_free, NULL}, 0, 0};
	HyCsrInput input = {.count = count, .owned = true, .direction = direction};
	HyOrigins origins;
	HyCsr csr;
	int64_t i;

	counter.allocator.arg = &counter;
	input.edge = hy_alloc_array(&counter.allocator, (size_t) count + 1, sizeof(HyEdge));
	input.origin = hy_alloc_array(&counter.allocator, (size_t) count + 1, sizeof(uint32_t));
	for (i = 0; i < count; i++)
	{
		input.edge[i] = edges[i];
		input.origin[i] = (uint32_t) i + 1;
	}
	CHECK_INT(hy_csr_build_from(&input, &counter.allocator, NULL, &csr, &origins), HY_OK);
	check_graph(edges, count, direction, &csr);
	CHECK(counter.peak <= hy_csr_bytes(count, direction));
	for (i = 0; i < csr.edges; i++)
	{
		if (origins.entry[i] != HY_ORIGIN_MANY && edges[origins.entry[i] - 1].weight != 0)
			CHECK_SAME_F32(csr.weight[i], edges[origins.entry[i] - 1].weight);
	}
	hy_csr_free(&csr, &counter.allocator);
	hy_origins_free(&origins, &counter.allocator);
	CHECK_INT(counter.held, 0);
}

static void
build_and_check(const HyEdge *edges, int64_t count, HyDirection direction)
{
	HyEdge *work = malloc(sizeof(HyEdge) * (size_t) (count + 1));
	ByteCounter counter = {{counter_alloc, counter_free, NULL}, 0, 0};
	HyCsr csr;

	counter.allocator.arg = &counter;
	memcpy(work, edges, sizeof(HyEdge) * (size_t) count);
	CHECK_INT(hy_csr_build(work, count, direction, &counter.allocator, NULL, &csr), HY_OK);
	check_graph(edges, count, direction, &csr);
	CHECK_MSG(counter.peak <= hy_csr_bytes(count, direction),
	          "%lld edges took %llu bytes, more than the %llu foretold", (long long) count,
	          (unsigned long long) counter.peak,
	          (unsigned long long) hy_csr_bytes(count, direction));
	hy_csr_free(&csr, &counter.allocator);
	CHECK_INT(counter.held, 0);
	free(work);
	build_with_origins(edges, count, direction);
}

static void
test_random_graphs(void)
{
	UnitRandom random = {20};
	int round;

	for (round = 0; round < 400; round++)
	{
		int64_t count = (int64_t) unit_random_below(&random, round < 40 ? 4 : 200);
		HyEdge *edges = random_edges(&random, count, (IdKind) (round % ID_KINDS));
		int direction;

		for (direction = HY_DIRECTION_OUT; direction <= HY_DIRECTION_BOTH; direction++)
			build_and_check(edges, count, (HyDirection) direction);
		free(edges);
	}
}

/* Runs of thousands of parallel edges, with weights for which all digits must be sorted. */
static void
test_many_parallel_edges(void)
{
	UnitRandom random = {21};
	int64_t count = 30000;
	HyEdge *edges = random_edges(&random, count, IDS_EXTREME);

	build_and_check(edges, count, HY_DIRECTION_OUT);
	build_and_check(edges, count, HY_DIRECTION_BOTH);
	free(edges);
}

/* Every id once, so that there are twice as many nodes as edges. */
static void
test_memory_of_scattered_edges(void)
{
	UnitRandom random = {22};
	int64_t count = 1000;
	HyEdge *edges = random_edges(&random, count, IDS_ANY);
	int direction;

	for (direction = HY_DIRECTION_OUT; direction <= HY_DIRECTION_BOTH; direction++)
		build_and_check(edges, count, (HyDirection) direction);
	free(edges);
}

static void
test_order_does_not_matter(void)
{
	UnitRandom random = {23};
	int64_t count = 500;
	HyEdge *edges = random_edges(&random, count, IDS_SMALL);
	HyEdge *work = malloc(sizeof(HyEdge) * (size_t) count);
	HyCsr first;
	int round;

	memcpy(work, edges, sizeof(HyEdge) * (size_t) count);
	CHECK_INT(hy_csr_build(work, count, HY_DIRECTION_BOTH, &hy_malloc_allocator, NULL, &first),
	          HY_OK);
	for (round = 0; round < 10; round++)
	{
		HyCsr again;
		int64_t i;

		for (i = count - 1; i > 0; i--)
		{
			int64_t j = (int64_t) unit_random_below(&random, (uint64_t) i + 1);
			HyEdge swap = edges[i];

			edges[i] = edges[j];
			edges[j] = swap;
		}
		memcpy(work, edges, sizeof(HyEdge) * (size_t) count);
		CHECK_INT(hy_csr_build(work, count, HY_DIRECTION_BOTH, &hy_malloc_allocator, NULL, &again),
		          HY_OK);
		CHECK_INT(again.edges, first.edges);
		CHECK(memcmp(again.weight, first.weight, sizeof(float) * (size_t) first.edges) == 0);
		CHECK(memcmp(again.out_weight, first.out_weight, sizeof(double) * (size_t) first.nodes) ==
		      0);
		hy_csr_free(&again, &hy_malloc_allocator);
	}
	hy_csr_free(&first, &hy_malloc_allocator);
	free(edges);
	free(work);
}

/*
 * 1 + 2^-24 lies half-way between two floats.  Many tiny weights exceed that if they are added
 * first, and are lost one by one if they are added after it.
 */
static void
test_parallel_weights_ascend(void)
{
	static const int tiny[] = {3, 64};
	int t;

	for (t = 0; t < 2; t++)
	{
		HyEdge edges[70];
		HyCsr csr;
		int i;

		for (i = 0; i < tiny[t]; i++)
			edges[i + 1] = (HyEdge){1, 2, t == 0 ? 0x1p-54f : 0x1p-57f};
		edges[0] = (HyEdge){1, 2, 1};
		edges[tiny[t] + 1] = (HyEdge){1, 2, 0x1p-24f};
		CHECK_INT(
			hy_csr_build(edges, tiny[t] + 2, HY_DIRECTION_OUT, &hy_malloc_allocator, NULL, &csr),
			HY_OK);
		CHECK_SAME_F32(csr.weight[0], 1 + 0x1p-23f);
		hy_csr_free(&csr, &hy_malloc_allocator);
	}
}

static HyStatus
status_of(const HyEdge *edges, int64_t count, HyDirection direction)
{
	HyEdge work[4];
	UnitMemory memory;
	HyCsr csr;
	HyStatus status;

	unit_memory_init(&memory, 0);
	memcpy(work, edges, sizeof(HyEdge) * (size_t) count);
	status = hy_csr_build(work, count, direction, &memory.allocator, NULL, &csr);
	if (status == HY_OK)
		hy_csr_free(&csr, &memory.allocator);
	CHECK_INT(memory.outstanding, 0);
	return status;
}

/* The least of parallel weights, whatever their order; 0 for -0; and no sum that could overflow. */
static void
test_least_of_parallel_weights(void)
{
	HyEdge edges[] = {{1, 2, 3e38F}, {1, 2, 2}, {1, 2, 3e38F}, {2, 1, -0.0F}, {2, 1, 1}, {3, 3, 4}};
	HyDirection direction;

	for (direction = HY_DIRECTION_OUT; direction <= HY_DIRECTION_BOTH; direction++)
	{
		HyEdge work[6];
		HyCsrInput input = {
			.edge = work, .count = 6, .direction = direction, .merge = HY_MERGE_LEAST};
		HyCsr csr;
		int i;

		for (i = 0; i < 6; i++)
			work[i] = edges[(i * 5 + (int) direction) % 6];
		CHECK_INT(hy_csr_build_from(&input, &hy_malloc_allocator, NULL, &csr, NULL), HY_OK);
		CHECK_INT(csr.edges, 3);
		for (i = 0; i < 3; i++)
		{
			float expected = csr.column[i] == 2 ? 4 : 2;

			if (direction == HY_DIRECTION_BOTH ? csr.column[i] != 2
			                                   : csr.column[i] == (direction == HY_DIRECTION_OUT))
				expected = 0;
			CHECK_SAME_F32(csr.weight[i], expected);
		}
		hy_csr_free(&csr, &hy_malloc_allocator);
	}
}

static void
test_weights_out_of_range(void)
{
	HyEdge parallel[2] = {{1, 2, FLT_MAX}, {1, 2, FLT_MAX}};
	HyEdge loop[1] = {{1, 1, FLT_MAX}};
	HyEdge apart[2] = {{1, 2, FLT_MAX}, {1, 3, FLT_MAX}};
	HyEdge opposite[2] = {{1, 2, FLT_MAX}, {2, 1, FLT_MAX}};
	HyEdge one[1] = {{1, 2, 0}};

	CHECK_INT(status_of(parallel, 2, HY_DIRECTION_OUT), HY_INVALID);
	CHECK_INT(status_of(loop, 1, HY_DIRECTION_OUT), HY_OK);
	CHECK_INT(status_of(loop, 1, HY_DIRECTION_BOTH), HY_INVALID);
	CHECK_INT(status_of(apart, 2, HY_DIRECTION_OUT), HY_OK);
	CHECK_INT(status_of(opposite, 2, HY_DIRECTION_IN), HY_OK);
	CHECK_INT(status_of(opposite, 2, HY_DIRECTION_BOTH), HY_INVALID);
	one[0].weight = -1;
	CHECK_INT(status_of(one, 1, HY_DIRECTION_OUT), HY_INVALID);
	one[0].weight = INFINITY;
	CHECK_INT(status_of(one, 1, HY_DIRECTION_OUT), HY_INVALID);
	one[0].weight = NAN;
	CHECK_INT(status_of(one, 1, HY_DIRECTION_OUT), HY_INVALID);
}

/* too many edges are not read, and are no matter of their weights */
static void
test_too_many_edges(void)
{
	HyCsr csr;

	CHECK_INT(hy_csr_build(NULL, (int64_t) UINT32_MAX + 1, HY_DIRECTION_OUT, &hy_malloc_allocator,
	                       NULL, &csr),
	          HY_QUOTA);
}

static void
test_empty_graph(void)
{
	HyCsr csr;

	CHECK_INT(hy_csr_build(NULL, 0, HY_DIRECTION_BOTH, &hy_malloc_allocator, NULL, &csr), HY_OK);
	CHECK_INT(csr.nodes, 0);
	CHECK_INT(csr.edges, 0);
	CHECK_INT(csr.row_start[0], 0);
	CHECK_INT(hy_csr_find(&csr, 0), -1);
	hy_csr_free(&csr, &hy_malloc_allocator);
	CHECK_INT(hy_csr_build(NULL, -1, HY_DIRECTION_OUT, &hy_malloc_allocator, NULL, &csr),
	          HY_INVALID);
}

static void
test_find(void)
{
	HyEdge edges[2] = {{INT64_MIN, 5, 1}, {INT64_MAX, 9, 1}};
	HyCsr csr;

	CHECK_INT(hy_csr_build(edges, 2, HY_DIRECTION_OUT, &hy_malloc_allocator, NULL, &csr), HY_OK);
	CHECK_INT(hy_csr_find(&csr, INT64_MIN), 0);
	CHECK_INT(hy_csr_find(&csr, INT64_MAX), 3);
	CHECK_INT(hy_csr_find(&csr, 9), 2);
	CHECK_INT(hy_csr_find(&csr, 6), -1);
	CHECK_INT(hy_csr_find(&csr, INT64_MIN + 1), -1);
	CHECK_INT(hy_csr_find(&csr, INT64_MAX - 1), -1);
	hy_csr_free(&csr, &hy_malloc_allocator);
}

static void
test_allocator_fails(void)
{
	UnitRandom random = {24};
	int64_t count = 300;
	HyEdge *edges = random_edges(&random, count, IDS_SIGNED);
	HyEdge *work = malloc(sizeof(HyEdge) * (size_t) count);
	int64_t fail_at;
	bool more = true;

	for (fail_at = 1; more; fail_at++)
	{
		UnitMemory memory;
		HyCsr csr;
		HyStatus status;

		unit_memory_init(&memory, fail_at);
		memcpy(work, edges, sizeof(HyEdge) * (size_t) count);
		status = hy_csr_build(work, count, HY_DIRECTION_BOTH, &memory.allocator, NULL, &csr);
		more = memory.failures > 0;
		CHECK_INT(status, more ? HY_NOMEM : HY_OK);
		if (status == HY_OK)
		{
			check_graph(edges, count, HY_DIRECTION_BOTH, &csr);
			hy_csr_free(&csr, &memory.allocator);
		}
		CHECK_INT(memory.outstanding, 0);
	}
	CHECK(fail_at > 10);
	free(edges);
	free(work);
}

static void
test_cancel(void)
{
	UnitRandom random = {25};
	int64_t count = 150000;
	HyEdge *edges = random_edges(&random, count, IDS_ANY);
	HyEdge *work = malloc(sizeof(HyEdge) * (size_t) count);
	UnitCancel cancel;
	UnitMemory memory;
	HyCsr csr;
	int64_t polls;
	int64_t stop;

	unit_cancel_init(&cancel, 0);
	memcpy(work, edges, sizeof(HyEdge) * (size_t) count);
	CHECK_INT(
		hy_csr_build(work, count, HY_DIRECTION_OUT, &hy_malloc_allocator, &cancel.cancel, &csr),
		HY_OK);
	hy_csr_free(&csr, &hy_malloc_allocator);
	polls = cancel.polls;
	CHECK(polls > 50);
	for (stop = 1; stop <= polls; stop++)
	{
		unit_cancel_init(&cancel, stop);
		unit_memory_init(&memory, 0);
		memcpy(work, edges, sizeof(HyEdge) * (size_t) count);
		CHECK_INT(
			hy_csr_build(work, count, HY_DIRECTION_OUT, &memory.allocator, &cancel.cancel, &csr),
			HY_CANCELLED);
		CHECK_INT(cancel.polls, stop);
		CHECK_INT(memory.outstanding, 0);
	}
	free(edges);
	free(work);
}

int
main(void)
{
	UNIT_RUN(test_random_graphs);
	UNIT_RUN(test_many_parallel_edges);
	UNIT_RUN(test_memory_of_scattered_edges);
	UNIT_RUN(test_order_does_not_matter);
	UNIT_RUN(test_parallel_weights_ascend);
	UNIT_RUN(test_least_of_parallel_weights);
	UNIT_RUN(test_weights_out_of_range);
	UNIT_RUN(test_too_many_edges);
	UNIT_RUN(test_empty_graph);
	UNIT_RUN(test_find);
	UNIT_RUN(test_allocator_fails);
	UNIT_RUN(test_cancel);
	return unit_finish();
}
