/*
 * packed_graph.c
 *		Layout of a graph in one contiguous range of memory: see packed_graph.h.
 */
#include "core/packed_graph.h"

#include <string.h>

#define POLL_NODES 65536 /* nodes between two polls of the caller's cancel */
#define POLL_EDGES ((int64_t) 1 << 22)

static const int64_t least[HY_PACKED_LISTS] = {1, HY_PACKED_SHORT + 1, HY_PACKED_LONG + 1};

static HyStatus count_rows(const HyCsr *graph, const HyCancel *cancel, HyPackedGraph *packed);
static HyStatus check_columns(const HyCsr *graph, const HyCancel *cancel);
static bool take_memory(HyPackedGraph *packed, const HyAllocator *allocator);
static HyStatus list_rows(const HyCsr *graph, const HyCancel *cancel, HyPackedGraph *packed);
static int64_t blocks_of(int64_t rows, int list);

static inline uint64_t
aligned(uint64_t bytes)
{
	return (bytes + HY_PACKED_ALIGN - 1) / HY_PACKED_ALIGN * HY_PACKED_ALIGN;
}

HyPackedLayout
hy_packed_layout(int64_t nodes, int64_t edges, bool hub)
{
	const uint64_t rows = (uint64_t) (edges < nodes ? edges : nodes);
	const uint64_t bytes[HY_PACKED_PARTS] = {
		(uint64_t) edges * sizeof(uint32_t), (uint64_t) edges * sizeof(float),
		(uint64_t) nodes * sizeof(double), hub ? (uint64_t) nodes * sizeof(double) : 0,
		rows * sizeof(HyPackedRow)};
	HyPackedLayout layout = {.bytes = 0};
	int i;

	for (i = 0; i < HY_PACKED_PARTS; i++)
	{
		layout.offset[i] = layout.bytes;
		layout.bytes += aligned(bytes[i]);
	}
	return layout;
}

int
hy_packed_list(int64_t entries)
{
	return entries <= HY_PACKED_SHORT ? 0 : entries <= HY_PACKED_LONG ? 1 : 2;
}

int64_t
hy_packed_blocks(const HyPackedGraph *packed, int list)
{
	return blocks_of(packed->rows[list], list);
}

HyStatus
hy_packed_graph_make(const HyCsr *graph, bool hub, const HyAllocator *allocator,
                     const HyCancel *cancel, HyPackedGraph *packed)
{
	HyStatus st;

	memset(packed, 0, sizeof(*packed));
	if (graph->nodes < 0 || graph->nodes > UINT32_MAX || graph->edges < 0 ||
	    graph->edges > UINT32_MAX)
		return HY_INVALID;
	packed->nodes = graph->nodes;
	packed->edges = graph->edges;
	packed->hub = hub;
	packed->layout = hy_packed_layout(graph->nodes, graph->edges, hub);
	st = count_rows(graph, cancel, packed);
	if (st == HY_OK)
		st = check_columns(graph, cancel);
	if (st == HY_OK)
		st = take_memory(packed, allocator) ? list_rows(graph, cancel, packed) : HY_NOMEM;
	if (st != HY_OK)
		hy_packed_graph_free(packed, allocator);
	return st;
}

void
hy_packed_graph_free(HyPackedGraph *packed, const HyAllocator *allocator)
{
	int l;

	hy_free(allocator, packed->row);
	for (l = 0; l < HY_PACKED_LISTS; l++)
		hy_free(allocator, packed->work[l]);
	memset(packed, 0, sizeof(*packed));
}

const void *
hy_packed_graph_part(const HyPackedGraph *packed, const HyCsr *graph, const double *hub,
                     HyPackedPart part, uint64_t *bytes)
{
	int64_t rows = packed->rows[0] + packed->rows[1] + packed->rows[2];

	switch (part)
	{
		case HY_PACKED_COLUMN:
			*bytes = (uint64_t) packed->edges * sizeof(uint32_t);
			return graph->column;
		case HY_PACKED_WEIGHT:
			*bytes = (uint64_t) packed->edges * sizeof(float);
			return graph->weight;
		case HY_PACKED_OUT_WEIGHT:
			*bytes = (uint64_t) packed->nodes * sizeof(double);
			return graph->out_weight;
		case HY_PACKED_HUB:
			*bytes = packed->hub ? (uint64_t) packed->nodes * sizeof(double) : 0;
			return hub;
		case HY_PACKED_ROWS:
			*bytes = (uint64_t) rows * sizeof(HyPackedRow);
			return packed->row;
	}
	*bytes = 0;
	return NULL;
}

bool
hy_packed_graph_valid(const HyPackedGraph *packed, uint64_t bytes)
{
	const HyPackedLayout layout = hy_packed_layout(packed->nodes, packed->edges, packed->hub);
	const int64_t most = packed->edges < packed->nodes ? packed->edges : packed->nodes;
	int64_t rows = 0;
	int l;

	for (l = 0; l < HY_PACKED_LISTS; l++)
	{
		if (packed->rows[l] < 0 || packed->rows[l] > most)
			return false;
		rows += packed->rows[l];
	}
	return rows <= most && memcmp(&layout, &packed->layout, sizeof(layout)) == 0 &&
	       layout.bytes <= bytes;
}

uint64_t
hy_packed_graph_bytes(int64_t nodes, int64_t edges)
{
	uint64_t bytes = sizeof(HyPackedGraph);
	int l;

	for (l = 0; l < HY_PACKED_LISTS; l++)
	{
		int64_t rows = edges / least[l] < nodes ? edges / least[l] : nodes;

		bytes += ((uint64_t) blocks_of(rows, l) + 1) * sizeof(uint64_t);
	}
	return bytes + (uint64_t) (edges < nodes ? edges : nodes) * sizeof(HyPackedRow);
}

/*
 * count_rows: count the rows of each list.  Row starts must ascend from 0 to the number of edges.
 */
static HyStatus
count_rows(const HyCsr *graph, const HyCancel *cancel, HyPackedGraph *packed)
{
	int64_t i;

	if (graph->nodes == 0)
		return graph->edges == 0 ? HY_OK : HY_INVALID;
	if (graph->row_start[0] != 0 || graph->row_start[graph->nodes] != graph->edges)
		return HY_INVALID;
	for (i = 0; i < graph->nodes; i++)
	{
		int64_t entries = (int64_t) graph->row_start[i + 1] - graph->row_start[i];

		if (i % POLL_NODES == 0 && hy_cancelled(cancel))
			return HY_CANCELLED;
		if (entries < 0)
			return HY_INVALID;
		if (entries > 0)
			packed->rows[hy_packed_list(entries)]++;
	}
	return HY_OK;
}

static HyStatus
check_columns(const HyCsr *graph, const HyCancel *cancel)
{
	int64_t start;

	for (start = 0; start < graph->edges; start += POLL_EDGES)
	{
		int64_t end = graph->edges - start > POLL_EDGES ? start + POLL_EDGES : graph->edges;
		uint32_t largest = 0;
		int64_t i;

		if (hy_cancelled(cancel))
			return HY_CANCELLED;
		for (i = start; i < end; i++)
			largest = graph->column[i] > largest ? graph->column[i] : largest;
		if ((int64_t) largest >= graph->nodes)
			return HY_INVALID;
	}
	return HY_OK;
}

static bool
take_memory(HyPackedGraph *packed, const HyAllocator *allocator)
{
	int64_t rows = packed->rows[0] + packed->rows[1] + packed->rows[2];
	int l;

	for (l = 0; l < HY_PACKED_LISTS; l++)
	{
		packed->work[l] =
			hy_alloc_array(allocator, (size_t) hy_packed_blocks(packed, l) + 1, sizeof(uint64_t));
		if (packed->work[l] == NULL)
			return false;
	}
	if (rows == 0)
		return true;
	packed->row = hy_alloc_array(allocator, (size_t) rows, sizeof(HyPackedRow));
	return packed->row != NULL;
}

/*
 * list_rows: put each row that has entries into its list, and record the work of each block as a
 * running sum.  The sizes of the lists must be known.
 */
static HyStatus
list_rows(const HyCsr *graph, const HyCancel *cancel, HyPackedGraph *packed)
{
	int64_t listed[HY_PACKED_LISTS] = {0};
	uint64_t sum[HY_PACKED_LISTS] = {0};
	int64_t first[HY_PACKED_LISTS] = {0, packed->rows[0], packed->rows[0] + packed->rows[1]};
	int64_t i;
	int l;

	for (l = 0; l < HY_PACKED_LISTS; l++)
		packed->work[l][0] = 0;
	for (i = 0; i < graph->nodes; i++)
	{
		int64_t begin = graph->row_start[i];
		int64_t entries = graph->row_start[i + 1] - begin;

		if (i % POLL_NODES == 0 && hy_cancelled(cancel))
			return HY_CANCELLED;
		if (entries == 0)
			continue;
		l = hy_packed_list(entries);
		packed->row[first[l] + listed[l]] =
			(HyPackedRow){(uint32_t) i, (uint32_t) begin, (uint32_t) entries};
		listed[l]++;
		sum[l] += (uint64_t) entries + HY_PACKED_ROW_COST;
		packed->work[l][blocks_of(listed[l], l)] = sum[l];
	}
	return HY_OK;
}

/* blocks_of: return the number of blocks for this many rows.  A long row is a block of its own. */
static int64_t
blocks_of(int64_t rows, int list)
{
	return list == 2 ? rows : (rows + HY_PACKED_BLOCK - 1) / HY_PACKED_BLOCK;
}
