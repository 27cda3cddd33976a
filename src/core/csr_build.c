/*
 * csr_build.c
 *		Builds compressed sparse rows from edges in any order.
 *
 * First, the nodes are numbered (csr_number.h).  Then two counting sorts, by column and by row, order
 * the entries.  Both are stable, so each row is ordered by column after the second one, and parallel
 * edges are adjacent.  Each run of parallel edges is sorted by weight and merged.  One more stable pass
 * builds the lists of outgoing edges.  The time of each pass is predictable, and a pass can be
 * cancelled between two blocks of edges.
 */
#include "core/csr_build.h"

#include <string.h>

#include "core/csr_number.h"
#include "core/record_sort.h"

/* Runs up to this length are sorted by insertion. */
#define SHORT_RUN 32

/* Build: a build in progress. */
typedef struct Build
{
	HyCsrInput input;
	const HyAllocator *allocator;
	const HyCancel *cancel;
	HyCsr *csr;
	HyOrigins *origins; /* NULL: not wanted */
	HyParallel *cell;   /* edges being sorted; `at` is first the row, and later the column */
	int64_t cells;
} Build;

static HyStatus sort_cells(Build *build);
static HyStatus sort_by_column(Build *build, int64_t *start);
static HyStatus sort_by_row(Build *build, const int64_t *column_end, uint32_t *start);
static HyStatus fill_rows(Build *build);
static HyStatus sort_run(Build *build, HyParallel *run, int64_t count);
static HyStatus merge_run(Build *build, const HyParallel *run, int64_t count);
static HyStatus fill_out_lists(Build *build);
static void release_edges(Build *build);
static int64_t with_room(const Build *build, int64_t count);
static void *alloc_array(const HyAllocator *allocator, int64_t count, size_t size);

uint64_t
hy_csr_bytes(int64_t edges, HyDirection direction)
{
	/*
	 * n edges have at most 2n nodes.  They make e = n entries, or e = 2n under HY_DIRECTION_BOTH.
	 * Memory peaks in one of two phases.  While the cells are sorted, there are ids, column_end and
	 * row_start (40n bytes), and two copies of the cells (24e bytes).  While the out lists are
	 * filled, there are ids, row_start, out_start and out_weight (48n bytes), and column, weight,
	 * origin, out_row, a copy of the weights, and parallel edges (at most 22e bytes).  Arrays with
	 * room for a patch are larger by 1/64 and 64 elements.
	 */
	uint64_t each = direction == HY_DIRECTION_BOTH ? 96 : 74;

	if (edges < 0 || (uint64_t) edges > (UINT64_MAX - 4096) / each)
		return UINT64_MAX;
	return (uint64_t) edges * each + 4096;
}

HyStatus
hy_csr_build(HyEdge *edges, int64_t count, HyDirection direction, const HyAllocator *allocator,
             const HyCancel *cancel, HyCsr *csr)
{
	HyCsrInput input = {.edge = edges, .count = count, .direction = direction};

	return hy_csr_build_from(&input, allocator, cancel, csr, NULL);
}

HyStatus
hy_csr_build_from(const HyCsrInput *input, const HyAllocator *allocator, const HyCancel *cancel,
                  HyCsr *csr, HyOrigins *origins)
{
	Build build = {.input = *input,
	               .allocator = allocator,
	               .cancel = cancel,
	               .csr = csr,
	               .origins = input->origin == NULL ? NULL : origins};
	HyStatus status = HY_OK;

	memset(csr, 0, sizeof(*csr));
	if (origins != NULL)
		memset(origins, 0, sizeof(*origins));
	if (input->count < 0)
		status = HY_INVALID;
	else if (input->count > (int64_t) UINT32_MAX)
		status = HY_QUOTA;
	if (status == HY_OK)
		status =
			hy_csr_number(input->edge, input->count, build.origins != NULL, allocator, cancel, csr);
	if (status == HY_OK)
		status = sort_cells(&build);
	if (status == HY_OK)
		status = fill_rows(&build);
	release_edges(&build);
	hy_free(allocator, build.cell);
	if (status == HY_OK)
		status = fill_out_lists(&build);
	if (status != HY_OK)
	{
		hy_csr_free(csr, allocator);
		if (origins != NULL)
			hy_origins_free(origins, allocator);
	}
	return status;
}

/*
 * sort_cells: create the cells, ordered by row and column.  Frees the edges if the build owns them.
 */
static HyStatus
sort_cells(Build *build)
{
	const HyAllocator *allocator = build->allocator;
	HyCsr *csr = build->csr;
	int64_t nodes = csr->nodes;
	int64_t room = with_room(build, nodes) + 1;
	int64_t *column_end = alloc_array(allocator, nodes + 1, sizeof(int64_t));
	HyStatus status;

	build->cells =
		build->input.direction == HY_DIRECTION_BOTH ? 2 * build->input.count : build->input.count;
	if (build->cells > (int64_t) UINT32_MAX)
	{
		hy_free(allocator, column_end);
		return HY_QUOTA;
	}
	build->cell = alloc_array(allocator, build->cells, sizeof(HyParallel));
	status =
		column_end == NULL || build->cell == NULL ? HY_NOMEM : sort_by_column(build, column_end);
	release_edges(build);
	if (status == HY_OK)
	{
		csr->row_start = alloc_array(allocator, room, sizeof(uint32_t));
		status = csr->row_start == NULL ? HY_NOMEM : sort_by_row(build, column_end, csr->row_start);
	}
	hy_free(allocator, column_end);
	return status;
}

/* sort_by_column: create the cells, sorted by column.  end[i] is set to the end of column i. */
static HyStatus
sort_by_column(Build *build, int64_t *end)
{
	const HyCsrInput *input = &build->input;
	int64_t before = 0;
	int64_t i;

	memset(end, 0, (size_t) (build->csr->nodes + 1) * sizeof(int64_t));
	for (i = 0; i < input->count; i++)
	{
		if (hy_cancelled_at(i, build->cancel))
			return HY_CANCELLED;
		if (input->direction != HY_DIRECTION_IN)
			end[input->edge[i].source]++;
		if (input->direction != HY_DIRECTION_OUT)
			end[input->edge[i].target]++;
	}
	for (i = 0; i < build->csr->nodes; i++)
	{
		int64_t here = end[i];

		end[i] = before;
		before += here;
	}
	for (i = 0; i < input->count; i++)
	{
		const HyEdge *edge = &input->edge[i];
		uint32_t origin = input->origin == NULL ? 0 : input->origin[i];

		if (hy_cancelled_at(i, build->cancel))
			return HY_CANCELLED;
		if (input->direction != HY_DIRECTION_IN)
			build->cell[end[edge->source]++] =
				(HyParallel){(uint32_t) edge->target, origin, edge->weight};
		if (input->direction != HY_DIRECTION_OUT)
			build->cell[end[edge->target]++] =
				(HyParallel){(uint32_t) edge->source, origin, edge->weight};
	}
	return HY_OK;
}

/* sort_by_row: sort the cells by row.  start[r] is set to the start of row r. */
static HyStatus
sort_by_row(Build *build, const int64_t *column_end, uint32_t *start)
{
	HyParallel *sorted = alloc_array(build->allocator, build->cells, sizeof(HyParallel));
	int64_t nodes = build->csr->nodes;
	uint32_t column = 0;
	HyStatus status = HY_CANCELLED;
	int64_t i;

	if (sorted == NULL)
		return HY_NOMEM;
	/* start[r + 1] is the next free index in row r, and thus the end of the row when it is full */
	memset(start, 0, (size_t) (nodes + 1) * sizeof(uint32_t));
	for (i = 0; i < build->cells; i++)
	{
		if (hy_cancelled_at(i, build->cancel))
			goto done;
		if ((int64_t) build->cell[i].at + 2 <= nodes)
			start[build->cell[i].at + 2]++;
	}
	for (i = 2; i <= nodes; i++)
		start[i] += start[i - 1];
	for (i = 0; i < build->cells; i++)
	{
		HyParallel *to;

		if (hy_cancelled_at(i, build->cancel))
			goto done;
		while (column_end[column] <= i)
			column++;
		to = &sorted[start[build->cell[i].at + 1]++];
		*to = build->cell[i];
		to->at = column;
	}
	hy_free(build->allocator, build->cell);
	build->cell = sorted;
	return HY_OK;

done:
	hy_free(build->allocator, sorted);
	return status;
}

/*
 * fill_rows: merge the sorted cells into entries.  Before the call, row_start[r] is the first cell
 * of row r; afterwards it is the first entry.
 */
static HyStatus
fill_rows(Build *build)
{
	const HyAllocator *allocator = build->allocator;
	HyCsr *csr = build->csr;
	HyOrigins *origins = build->origins;
	int64_t parallels = 0;
	int64_t edges = 0;
	int64_t polled = 0;
	int64_t first = 0;
	int64_t row;
	int64_t i;

	for (row = 0; row < csr->nodes; row++)
	{
		int64_t run = 0;

		for (i = csr->row_start[row]; i < csr->row_start[row + 1]; i++)
		{
			if (hy_cancelled_at(i, build->cancel))
				return HY_CANCELLED;
			run = run > 0 && build->cell[i].at == build->cell[i - 1].at ? run + 1 : 1;
			edges += run == 1;
			parallels += run == 1 ? 0 : run == 2 ? 2 : 1;
		}
	}
	if (edges > (int64_t) UINT32_MAX)
		return HY_QUOTA;
	csr->column = alloc_array(allocator, with_room(build, edges), sizeof(uint32_t));
	csr->weight = alloc_array(allocator, with_room(build, edges), sizeof(float));
	if (csr->column == NULL || csr->weight == NULL)
		return HY_NOMEM;
	if (origins != NULL)
	{
		origins->node_room = with_room(build, csr->nodes);
		origins->edge_room = with_room(build, edges);
		origins->entry = alloc_array(allocator, origins->edge_room, sizeof(uint32_t));
		origins->parallel = alloc_array(allocator, parallels, sizeof(HyParallel));
		if (origins->entry == NULL || origins->parallel == NULL)
			return HY_NOMEM;
	}

	csr->at_least_one = true;
	for (row = 0; row < csr->nodes; row++)
	{
		int64_t end = csr->row_start[row + 1];

		csr->row_start[row] = (uint32_t) csr->edges;
		while (first < end)
		{
			int64_t next = first + 1;
			HyStatus status;

			while (next < end && build->cell[next].at == build->cell[first].at)
				next++;
			if (next - polled >= HY_CANCEL_BLOCK)
			{
				polled = next;
				if (hy_cancelled(build->cancel))
					return HY_CANCELLED;
			}
			status = sort_run(build, build->cell + first, next - first);
			if (status == HY_OK)
				status = merge_run(build, build->cell + first, next - first);
			if (status != HY_OK)
				return status;
			first = next;
		}
	}
	csr->row_start[csr->nodes] = (uint32_t) csr->edges;
	return HY_OK;
}

/* sort_run: sort parallel edges by weight. */
static HyStatus
sort_run(Build *build, HyParallel *run, int64_t count)
{
	uint64_t *records;
	uint64_t *scratch;
	HyStatus status;
	int64_t i;
	int64_t j;

	if (count <= SHORT_RUN)
	{
		for (i = 1; i < count; i++)
		{
			HyParallel moving = run[i];

			for (j = i; j > 0 && run[j - 1].weight > moving.weight; j--)
				run[j] = run[j - 1];
			run[j] = moving;
		}
		return HY_OK;
	}
	records = alloc_array(build->allocator, count, sizeof(uint64_t));
	scratch = alloc_array(build->allocator, count, sizeof(uint64_t));
	status = records == NULL || scratch == NULL ? HY_NOMEM : HY_OK;
	for (i = 0; status == HY_OK && i < count; i++)
	{
		uint32_t bits;

		/* the bits of weights sort like their values, except those of -0 */
		memcpy(&bits, &run[i].weight, sizeof(bits));
		records[i] = hy_record(run[i].weight == 0 ? 0 : bits, run[i].origin);
	}
	if (status == HY_OK)
		status = hy_record_sort(records, scratch, count, build->cancel);
	for (i = 0; status == HY_OK && i < count; i++)
	{
		uint32_t bits = hy_record_key(records[i]);

		memcpy(&run[i].weight, &bits, sizeof(bits));
		run[i].origin = hy_record_payload(records[i]);
	}
	hy_free(build->allocator, records);
	hy_free(build->allocator, scratch);
	return status;
}

/* merge_run: add an entry for parallel edges, which are in ascending order of weight. */
static HyStatus
merge_run(Build *build, const HyParallel *run, int64_t count)
{
	HyCsr *csr = build->csr;
	HyOrigins *origins = build->origins;
	uint32_t entry = (uint32_t) csr->edges++;
	int64_t i;

	csr->column[entry] = run->at;
	if (!hy_csr_merge(build->input.merge, run, count, &csr->weight[entry]))
		return HY_INVALID;
	csr->at_least_one = csr->at_least_one && csr->weight[entry] >= 1;
	if (origins == NULL)
		return HY_OK;
	origins->entry[entry] = count == 1 ? run->origin : HY_ORIGIN_MANY;
	for (i = 0; count > 1 && i < count; i++)
		origins->parallel[origins->parallels++] = (HyParallel){entry, run[i].origin, run[i].weight};
	return HY_OK;
}

/* fill_out_lists: fill out_start, out_row and out_weight in a stable pass over the rows. */
static HyStatus
fill_out_lists(Build *build)
{
	const HyAllocator *allocator = build->allocator;
	HyCsr *csr = build->csr;
	float *leaving = alloc_array(allocator, csr->edges, sizeof(float));
	int64_t row = 0;
	int64_t i;
	HyStatus status = HY_NOMEM;

	csr->out_start = alloc_array(allocator, with_room(build, csr->nodes) + 1, sizeof(uint32_t));
	csr->out_row = alloc_array(allocator, with_room(build, csr->edges), sizeof(uint32_t));
	csr->out_weight = alloc_array(allocator, with_room(build, csr->nodes), sizeof(double));
	if (leaving == NULL || csr->out_start == NULL || csr->out_row == NULL ||
	    csr->out_weight == NULL)
		goto done;

	/*
	 * out_start[i + 2] first counts list i.  The prefix sum makes out_start[i + 1] the start of
	 * list i, and filling the list moves it to the end of list i.
	 */
	status = HY_CANCELLED;
	memset(csr->out_start, 0, (size_t) (csr->nodes + 1) * sizeof(uint32_t));
	for (i = 0; i < csr->edges; i++)
	{
		if (hy_cancelled_at(i, build->cancel))
			goto done;
		if ((int64_t) csr->column[i] + 2 <= csr->nodes)
			csr->out_start[csr->column[i] + 2]++;
	}
	for (i = 2; i <= csr->nodes; i++)
		csr->out_start[i] += csr->out_start[i - 1];
	for (i = 0; i < csr->edges; i++)
	{
		int64_t to;

		if (hy_cancelled_at(i, build->cancel))
			goto done;
		while (csr->row_start[row + 1] <= i)
			row++;
		to = csr->out_start[csr->column[i] + 1]++;
		csr->out_row[to] = (uint32_t) row;
		leaving[to] = csr->weight[i];
	}
	for (i = 0; i < csr->nodes; i++)
	{
		if (hy_cancelled_at(i, build->cancel))
			goto done;
		csr->out_weight[i] =
			hy_csr_sum(leaving + csr->out_start[i], csr->out_start[i + 1] - csr->out_start[i]);
	}
	status = HY_OK;

done:
	hy_free(allocator, leaving);
	return status;
}

static void
release_edges(Build *build)
{
	if (build->input.owned)
	{
		hy_free(build->allocator, build->input.edge);
		hy_free(build->allocator, build->input.origin);
	}
	build->input.owned = false;
}

/*
 * with_room: return the number of elements to allocate, with spare room if the graph has origins.
 */
static int64_t
with_room(const Build *build, int64_t count)
{
	return build->origins == NULL ? count : hy_csr_room(count);
}

/* alloc_array: allocate as hy_alloc_array does, but an empty array does not count as a failure. */
static void *
alloc_array(const HyAllocator *allocator, int64_t count, size_t size)
{
	return hy_alloc_array(allocator, count > 0 ? (size_t) count : 1, size);
}
