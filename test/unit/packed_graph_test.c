/*
 * packed_graph_test.c
 *		The layout of a graph in one block of memory: every row once, in its list, in order.
 */
#include "spread_stage.h"

#include "core/packed_graph.h"

static const int64_t sizes[][2] = {{1, 0}, {1, 3}, {5, 4}, {40, 400}, {300, 9000}, {3000, 40000}};

#define SIZES ((int) (sizeof(sizes) / sizeof(sizes[0])))

/* check_lists: compare the lists with the rows one by one. */
static void
check_lists(const HyCsr *graph, const HyPackedGraph *packed)
{
	int64_t seen[HY_PACKED_LISTS] = {0};
	uint64_t work[HY_PACKED_LISTS] = {0};
	const HyPackedRow *list[HY_PACKED_LISTS] = {packed->row, packed->row, packed->row};
	int64_t i;
	int l;

	for (l = 1; l < HY_PACKED_LISTS; l++)
	{
		if (packed->row != NULL)
			list[l] = list[l - 1] + packed->rows[l - 1];
	}
	for (i = 0; i < graph->nodes; i++)
	{
		int64_t entries = graph->row_start[i + 1] - graph->row_start[i];
		const HyPackedRow *row;

		if (entries == 0)
			continue;
		l = entries > 1024 ? 2 : entries > 8 ? 1 : 0;
		row = &list[l][seen[l]];
		CHECK_INT(row->row, i);
		CHECK_INT(row->begin, graph->row_start[i]);
		CHECK_INT(row->count, entries);
		seen[l]++;
		work[l] += (uint64_t) entries + HY_PACKED_ROW_COST;
		if (l == 2 || seen[l] % HY_PACKED_BLOCK == 0)
			CHECK_INT(packed->work[l][l == 2 ? seen[l] : seen[l] / HY_PACKED_BLOCK], work[l]);
	}
	for (l = 0; l < HY_PACKED_LISTS; l++)
	{
		CHECK_INT(packed->rows[l], seen[l]);
		CHECK_INT(packed->work[l][0], 0);
		CHECK_INT(packed->work[l][hy_packed_blocks(packed, l)], work[l]);
	}
}

static void
test_lists(void)
{
	UnitRandom random = {31};
	int i;

	for (i = 0; i < SIZES; i++)
	{
		HyCsr graph = make_graph(&random, sizes[i][0], sizes[i][1], HY_DIRECTION_OUT);
		UnitMemory memory;
		HyPackedGraph packed;

		unit_memory_init(&memory, 0);
		CHECK_INT(hy_packed_graph_make(&graph, false, &memory.allocator, NULL, &packed), HY_OK);
		check_lists(&graph, &packed);
		if (i == SIZES - 1)
			CHECK(packed.rows[1] > 0 && packed.rows[2] > 0);
		hy_packed_graph_free(&packed, &memory.allocator);
		CHECK_INT(memory.outstanding, 0);
		hy_csr_free(&graph, &hy_malloc_allocator);
	}
}

/* Parts follow one another, aligned, and hold the expected data. */
static void
test_layout(void)
{
	UnitRandom random = {32};
	int i;
	int p;

	for (i = 0; i < SIZES; i++)
	{
		HyCsr graph = make_graph(&random, sizes[i][0], sizes[i][1], HY_DIRECTION_BOTH);
		HyPackedLayout layout = hy_packed_layout(graph.nodes, graph.edges, i % 2 != 0);
		HyPackedGraph packed;
		uint64_t end = 0;

		CHECK_INT(hy_packed_graph_make(&graph, i % 2 != 0, &hy_malloc_allocator, NULL, &packed),
		          HY_OK);
		CHECK_INT(memcmp(&layout, &packed.layout, sizeof(layout)), 0);
		for (p = 0; p < HY_PACKED_PARTS; p++)
		{
			uint64_t bytes;
			double hub = 1;
			const void *data =
				hy_packed_graph_part(&packed, &graph, &hub, (HyPackedPart) p, &bytes);

			CHECK(layout.offset[p] >= end && layout.offset[p] % HY_PACKED_ALIGN == 0);
			CHECK(data != NULL || bytes == 0);
			end = layout.offset[p] + bytes;
		}
		CHECK(layout.bytes >= end);
		CHECK(hy_packed_graph_valid(&packed, layout.bytes));
		CHECK(!hy_packed_graph_valid(&packed, layout.bytes - 1) || layout.bytes == 0);
		packed.rows[0] += graph.nodes + 1;
		CHECK(!hy_packed_graph_valid(&packed, UINT64_MAX));
		packed.rows[0] -= graph.nodes + 1;
		packed.layout.offset[HY_PACKED_ROWS] += HY_PACKED_ALIGN;
		CHECK(!hy_packed_graph_valid(&packed, UINT64_MAX));
		hy_packed_graph_free(&packed, &hy_malloc_allocator);
		hy_csr_free(&graph, &hy_malloc_allocator);
	}
}

/* A graph with an edge to a missing node is refused. */
static void
test_unsound(void)
{
	UnitRandom random = {33};
	HyCsr graph = make_graph(&random, 40, 400, HY_DIRECTION_OUT);
	UnitMemory memory;
	HyPackedGraph packed;
	int64_t start = graph.row_start[7];
	uint32_t column = graph.column[graph.edges - 1];

	unit_memory_init(&memory, 0);
	graph.column[graph.edges - 1] = (uint32_t) graph.nodes;
	CHECK_INT(hy_packed_graph_make(&graph, false, &memory.allocator, NULL, &packed), HY_INVALID);
	graph.column[graph.edges - 1] = column;
	graph.row_start[7] = graph.edges + 1;
	CHECK_INT(hy_packed_graph_make(&graph, false, &memory.allocator, NULL, &packed), HY_INVALID);
	graph.row_start[7] = start;
	graph.row_start[0] = 1;
	CHECK_INT(hy_packed_graph_make(&graph, false, &memory.allocator, NULL, &packed), HY_INVALID);
	graph.row_start[0] = 0;
	graph.row_start[graph.nodes]--;
	CHECK_INT(hy_packed_graph_make(&graph, false, &memory.allocator, NULL, &packed), HY_INVALID);
	graph.row_start[graph.nodes]++;
	CHECK_INT(hy_packed_graph_make(&graph, false, &memory.allocator, NULL, &packed), HY_OK);
	hy_packed_graph_free(&packed, &memory.allocator);
	CHECK_INT(memory.outstanding, 0);
	hy_csr_free(&graph, &hy_malloc_allocator);
}

static void
test_no_memory_no_patience(void)
{
	UnitRandom random = {34};
	HyCsr graph = make_graph(&random, 90000, 200000, HY_DIRECTION_OUT);
	HyStatus st = HY_NOMEM;
	UnitMemory memory;
	UnitCancel cancel;
	HyPackedGraph packed;
	int64_t at;

	for (at = 1; st != HY_OK; at++)
	{
		unit_memory_init(&memory, at);
		st = hy_packed_graph_make(&graph, false, &memory.allocator, NULL, &packed);
		CHECK(st == HY_OK ? at > 4 : st == HY_NOMEM);
		CHECK(st == HY_OK || memory.outstanding == 0);
	}
	hy_packed_graph_free(&packed, &memory.allocator);
	CHECK_INT(memory.outstanding, 0);
	st = HY_CANCELLED;
	for (at = 1; st != HY_OK; at++)
	{
		unit_memory_init(&memory, 0);
		unit_cancel_init(&cancel, at);
		st = hy_packed_graph_make(&graph, false, &memory.allocator, &cancel.cancel, &packed);
		CHECK(st == HY_OK ? at > 3 : st == HY_CANCELLED);
		CHECK(st == HY_OK || memory.outstanding == 0);
	}
	hy_packed_graph_free(&packed, &memory.allocator);
	hy_csr_free(&graph, &hy_malloc_allocator);
}

/* The host memory used does not exceed the estimate. */
static void
test_bytes(void)
{
	UnitRandom random = {35};
	int i;
	int l;

	for (i = 0; i < SIZES; i++)
	{
		HyCsr graph = make_graph(&random, sizes[i][0], sizes[i][1], HY_DIRECTION_OUT);
		uint64_t bytes = sizeof(HyPackedGraph);
		HyPackedGraph packed;

		CHECK_INT(hy_packed_graph_make(&graph, false, &hy_malloc_allocator, NULL, &packed), HY_OK);
		for (l = 0; l < HY_PACKED_LISTS; l++)
			bytes += ((uint64_t) hy_packed_blocks(&packed, l) + 1) * sizeof(uint64_t) +
			         (uint64_t) packed.rows[l] * sizeof(HyPackedRow);
		CHECK(bytes <= hy_packed_graph_bytes(graph.nodes, graph.edges));
		hy_packed_graph_free(&packed, &hy_malloc_allocator);
		hy_csr_free(&graph, &hy_malloc_allocator);
	}
}

int
main(void)
{
	UNIT_RUN(test_lists);
	UNIT_RUN(test_layout);
	UNIT_RUN(test_unsound);
	UNIT_RUN(test_no_memory_no_patience);
	UNIT_RUN(test_bytes);
	return unit_finish();
}
