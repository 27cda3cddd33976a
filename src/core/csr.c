/*
 * csr.c
 *		Builds compressed sparse rows from edges in any order.
 *
 * First, the nodes are numbered.  Where ids are dense, a bitmap over their range numbers them: the
 * number of an id is the count of the bits before its own.  Otherwise a radix sort of the ends of
 * the edges numbers them.
 *
 * Then two counting sorts, by column and by row, order the entries.  Both are stable, so each row is
 * ordered by column after the second one, and parallel edges are adjacent.  Each run of parallel
 * edges is sorted by weight and merged.  One more stable pass builds the lists of outgoing edges.
 * All passes take a predictable time, and can be stopped between two blocks of edges.
 */
#include "core/csr.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Records between two polls of the caller's cancel: about 0.3 ms. */
#define BLOCK 65536

/* Runs up to this length are sorted by insertion. */
#define SHORT_RUN 32

#define SUM_LANES 32

#define RADIX 256
#define DIGITS 4

/* How many records before its use an edge is prefetched. */
#define AHEAD 16

/* With origins, arrays are larger than necessary by 1/ROOM_SHARE, so that a patch can add edges. */
#define ROOM_SHARE 64

/* Ends: the distinct ids at one end of the edges, ascending, and their numbers among all ids. */
typedef struct Ends
{
	bool targets; /* the ends are the edges' targets, not their sources */
	int64_t count;
	int64_t *ids;
	uint32_t *node;
} Ends;

/* Word: which of 64 consecutive ids exist, and the count of the ids before them. */
typedef struct Word
{
	uint64_t bits;
	int64_t before;
} Word;

/* Build: a build in progress. */
typedef struct Build
{
	HyCsrInput input;
	const HyAllocator *allocator;
	const HyCancel *cancel;
	HyCsr *csr;
	HyOrigins *origins; /* NULL: not wanted */
	int64_t least;      /* the smallest id */
	uint64_t range;     /* the largest id minus the smallest */
	HyParallel *cell;   /* the edges while they are sorted; `at` is the row, and later the column */
	int64_t cells;
} Build;

static HyStatus number_nodes(Build *build);
static HyStatus number_by_bits(Build *build, int64_t least, int64_t words);
static HyStatus number_by_sorting(Build *build);
static HyStatus number_ends(Build *build, uint64_t *records, uint64_t *scratch, Ends *ends);
static HyStatus
sort_ends(const Build *build, const Ends *ends, uint64_t *records, uint64_t *scratch);
static HyStatus merge_ends(Build *build, Ends *sources, Ends *targets);
static HyStatus sort_cells(Build *build);
static HyStatus sort_by_column(Build *build, int64_t *start);
static HyStatus sort_by_row(Build *build, const int64_t *column_end, int64_t *start);
static HyStatus fill_rows(Build *build);
static HyStatus sort_run(Build *build, HyParallel *run, int64_t count);
static HyStatus merge_run(Build *build, const HyParallel *run, int64_t count);
static HyStatus fill_out_lists(Build *build);
static HyStatus
sort_records(uint64_t *records, uint64_t *scratch, int64_t count, const HyCancel *cancel);
static void release_edges(Build *build);
static int64_t with_room(const Build *build, int64_t count);
static void *alloc_array(const HyAllocator *allocator, int64_t count, size_t size);

static inline bool
stop_at(int64_t i, const HyCancel *cancel)
{
	return i % BLOCK == 0 && hy_cancelled(cancel);
}

/* A record is a key, by which it is sorted, and a payload. */
static inline uint64_t
record_of(uint32_t key, uint32_t payload)
{
	return (uint64_t) key << 32 | payload;
}

static inline uint32_t
payload_of(uint64_t record)
{
	return (uint32_t) record;
}

static inline uint32_t
digit_of(uint64_t record, int digit)
{
	return (uint32_t) (record >> (32 + 8 * digit)) & (RADIX - 1);
}

/* end_of: return one end of edge i: its id, or once nodes are numbered, its number. */
static inline int64_t *
end_of(const Build *build, const Ends *ends, uint32_t i)
{
	HyEdge *edge = &build->input.edge[i];

	return ends->targets ? &edge->target : &edge->source;
}

static inline int64_t
count_bits(uint64_t word)
{
	word -= word >> 1 & UINT64_C(0x5555555555555555);
	word = (word & UINT64_C(0x3333333333333333)) + (word >> 2 & UINT64_C(0x3333333333333333));
	word = (word + (word >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (int64_t) (word * UINT64_C(0x0101010101010101) >> 56);
}

static inline int64_t
node_of(const Word *word, int64_t least, int64_t id)
{
	uint64_t place = (uint64_t) id - (uint64_t) least;
	const Word *in = &word[place / 64];

	return in->before + count_bits(in->bits & (((uint64_t) 1 << place % 64) - 1));
}

uint64_t
hy_csr_bytes(int64_t edges, HyDirection direction)
{
	/*
	 * n edges have at most 2n nodes, and e = n or, for 'both', e = 2n entries.  Memory peaks either
	 * while the cells are sorted: ids and two arrays of starts (48n), and the cells twice (24e); or
	 * while the out lists are filled: ids, row_start, out_start and out_weight (64n), and column,
	 * weight, origin, out_row, a copy of the weights, and parallel edges (at most 22e).  Arrays with
	 * room for a patch are larger by 1/64 and 64 elements.
	 */
	uint64_t each = direction == HY_DIRECTION_BOTH ? 112 : 90;

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
		status = number_nodes(&build);
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

void
hy_csr_free(HyCsr *csr, const HyAllocator *allocator)
{
	hy_free(allocator, csr->ids);
	hy_free(allocator, csr->row_start);
	hy_free(allocator, csr->column);
	hy_free(allocator, csr->weight);
	hy_free(allocator, csr->out_weight);
	hy_free(allocator, csr->out_start);
	hy_free(allocator, csr->out_row);
	memset(csr, 0, sizeof(*csr));
}

void
hy_origins_free(HyOrigins *origins, const HyAllocator *allocator)
{
	hy_free(allocator, origins->entry);
	hy_free(allocator, origins->parallel);
	memset(origins, 0, sizeof(*origins));
}

int64_t
hy_csr_first(const HyCsr *csr, int64_t id)
{
	int64_t low = 0;
	int64_t high = csr->nodes;

	while (low < high)
	{
		int64_t middle = low + (high - low) / 2;

		if (csr->ids[middle] < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int64_t
hy_csr_find(const HyCsr *csr, int64_t id)
{
	int64_t node = hy_csr_first(csr, id);

	return node < csr->nodes && csr->ids[node] == id ? node : -1;
}

double
hy_csr_sum(const float *weight, int64_t count)
{
	double lane[SUM_LANES] = {0};
	int64_t live = count < SUM_LANES ? count : SUM_LANES;
	int64_t p;
	int64_t h;
	int64_t l;

	for (p = 0; p < count; p++)
		lane[p % SUM_LANES] += weight[p];
	/* the fold skips the lanes that are empty, because x + 0 is x */
	for (h = SUM_LANES / 2; h > 0; h /= 2)
	{
		for (l = 0; l + h < live; l++)
			lane[l] += lane[l + h];
		live = live < h ? live : h;
	}
	return lane[0];
}

bool
hy_csr_merge(HyMerge merge, const HyParallel *edge, int64_t count, float *weight)
{
	double sum = 0;
	int64_t i;

	for (i = 0; i < count; i++)
		sum += edge[i].weight;
	/* 0 for -0, as in a sum */
	*weight = merge == HY_MERGE_LEAST ? edge->weight + 0.0F : (float) sum;
	return !isinf(*weight);
}

/* number_nodes: fill in the ids, and replace the ends of each edge by the numbers of their nodes. */
static HyStatus
number_nodes(Build *build)
{
	const HyEdge *edge = build->input.edge;
	int64_t count = build->input.count;
	int64_t least = INT64_MAX;
	int64_t greatest = INT64_MIN;
	uint64_t words;
	int64_t i;

	for (i = 0; i < count; i++)
	{
		if (stop_at(i, build->cancel))
			return HY_CANCELLED;
		if (!(edge[i].weight >= 0) || isinf(edge[i].weight))
			return HY_INVALID;
		if (edge[i].source < least)
			least = edge[i].source;
		if (edge[i].target < least)
			least = edge[i].target;
		if (edge[i].source > greatest)
			greatest = edge[i].source;
		if (edge[i].target > greatest)
			greatest = edge[i].target;
	}
	build->least = least;
	build->range = (uint64_t) greatest - (uint64_t) least;
	words = build->range / 64 + 1;
	if (count > 0 && words <= (uint64_t) count)
		return number_by_bits(build, least, (int64_t) words);
	return number_by_sorting(build);
}

/* number_by_bits: number the nodes by a bitmap of this many words over the range of the ids. */
static HyStatus
number_by_bits(Build *build, int64_t least, int64_t words)
{
	HyCsr *csr = build->csr;
	HyEdge *edge = build->input.edge;
	Word *word = alloc_array(build->allocator, words, sizeof(Word));
	HyStatus status = HY_NOMEM;
	int64_t i;

	if (word == NULL)
		return status;
	memset(word, 0, (size_t) words * sizeof(Word));
	status = HY_CANCELLED;
	for (i = 0; i < build->input.count; i++)
	{
		uint64_t source = (uint64_t) edge[i].source - (uint64_t) least;
		uint64_t target = (uint64_t) edge[i].target - (uint64_t) least;

		if (stop_at(i, build->cancel))
			goto done;
		word[source / 64].bits |= (uint64_t) 1 << source % 64;
		word[target / 64].bits |= (uint64_t) 1 << target % 64;
	}
	for (i = 0; i < words; i++)
	{
		word[i].before = csr->nodes;
		csr->nodes += count_bits(word[i].bits);
	}
	status = HY_QUOTA;
	if (csr->nodes > (int64_t) 1 << 31)
		goto done;
	status = HY_NOMEM;
	csr->ids = alloc_array(build->allocator, with_room(build, csr->nodes), sizeof(int64_t));
	if (csr->ids == NULL)
		goto done;
	status = HY_CANCELLED;
	for (i = 0; i < words; i++)
	{
		uint64_t bits = word[i].bits;
		int64_t node = word[i].before;

		if (stop_at(i, build->cancel))
			goto done;
		for (; bits != 0; bits &= bits - 1)
			csr->ids[node++] =
				(int64_t) ((uint64_t) least + (uint64_t) i * 64 + (uint64_t) __builtin_ctzll(bits));
	}
	for (i = 0; i < build->input.count; i++)
	{
		if (stop_at(i, build->cancel))
			goto done;
		edge[i].source = node_of(word, least, edge[i].source);
		edge[i].target = node_of(word, least, edge[i].target);
	}
	status = HY_OK;

done:
	hy_free(build->allocator, word);
	return status;
}

static HyStatus
number_by_sorting(Build *build)
{
	const HyAllocator *allocator = build->allocator;
	HyEdge *edge = build->input.edge;
	Ends sources = {false, 0, NULL, NULL};
	Ends targets = {true, 0, NULL, NULL};
	uint64_t *records = alloc_array(allocator, build->input.count, sizeof(uint64_t));
	uint64_t *scratch = alloc_array(allocator, build->input.count, sizeof(uint64_t));
	HyStatus status = records == NULL || scratch == NULL ? HY_NOMEM : HY_OK;
	int64_t i;

	if (status == HY_OK)
		status = number_ends(build, records, scratch, &sources);
	if (status == HY_OK)
		status = number_ends(build, records, scratch, &targets);
	hy_free(allocator, records);
	hy_free(allocator, scratch);
	if (status == HY_OK)
		status = merge_ends(build, &sources, &targets);
	for (i = 0; status == HY_OK && i < build->input.count; i++)
	{
		if (stop_at(i, build->cancel))
			status = HY_CANCELLED;
		edge[i].source = sources.node[edge[i].source];
		edge[i].target = targets.node[edge[i].target];
	}
	hy_free(allocator, sources.ids);
	hy_free(allocator, sources.node);
	hy_free(allocator, targets.ids);
	hy_free(allocator, targets.node);
	return status;
}

/*
 * number_ends: replace the sources or the targets of the edges by their rank among the distinct
 * ids, and list the distinct ids in ends->ids.
 */
static HyStatus
number_ends(Build *build, uint64_t *records, uint64_t *scratch, Ends *ends)
{
	int64_t count = build->input.count;
	int64_t rank = -1;
	int64_t i;
	HyStatus status = sort_ends(build, ends, records, scratch);

	if (status != HY_OK)
		return status;
	for (i = 0; i < count; i++)
	{
		int64_t *end = end_of(build, ends, payload_of(records[i]));

		if (stop_at(i, build->cancel))
			return HY_CANCELLED;
		if (i + AHEAD < count)
			__builtin_prefetch(end_of(build, ends, payload_of(records[i + AHEAD])), 1);
		/* the scratch memory now holds the distinct ids */
		if (i == 0 || (uint64_t) *end != scratch[rank])
			scratch[++rank] = (uint64_t) *end;
		*end = rank;
	}
	ends->count = rank + 1;
	ends->ids = alloc_array(build->allocator, ends->count, sizeof(int64_t));
	if (ends->ids == NULL)
		return HY_NOMEM;
	memcpy(ends->ids, scratch, (size_t) ends->count * sizeof(int64_t));
	return HY_OK;
}

/*
 * sort_ends: make records whose payloads are the numbers of the edges, sorted by the ids of their
 * ends.  If the ids differ in more than 32 bits, they are sorted by the lower half, and then by the
 * upper half.
 */
static HyStatus
sort_ends(const Build *build, const Ends *ends, uint64_t *records, uint64_t *scratch)
{
	int64_t count = build->input.count;
	int shifts = build->range > UINT32_MAX ? 64 : 32;
	int shift;

	for (shift = 0; shift < shifts; shift += 32)
	{
		int64_t i;
		HyStatus status;

		for (i = 0; i < count; i++)
		{
			uint32_t edge = shift == 0 ? (uint32_t) i : payload_of(records[i]);
			uint64_t key = (uint64_t) *end_of(build, ends, edge) - (uint64_t) build->least;

			if (stop_at(i, build->cancel))
				return HY_CANCELLED;
			records[i] = record_of((uint32_t) (key >> shift), edge);
		}
		status = sort_records(records, scratch, count, build->cancel);
		if (status != HY_OK)
			return status;
	}
	return HY_OK;
}

/* merge_ends: number the nodes of the graph, and map every end to its node. */
static HyStatus
merge_ends(Build *build, Ends *sources, Ends *targets)
{
	const HyAllocator *allocator = build->allocator;
	HyCsr *csr = build->csr;
	int64_t s = 0;
	int64_t t = 0;
	int64_t nodes = 0;

	sources->node = alloc_array(allocator, sources->count, sizeof(uint32_t));
	targets->node = alloc_array(allocator, targets->count, sizeof(uint32_t));
	csr->ids =
		alloc_array(allocator, with_room(build, sources->count + targets->count), sizeof(int64_t));
	if (sources->node == NULL || targets->node == NULL || csr->ids == NULL)
		return HY_NOMEM;

	while (s < sources->count || t < targets->count)
	{
		bool take_source;
		bool take_target;

		if (stop_at(nodes, build->cancel))
			return HY_CANCELLED;
		if (nodes == (int64_t) 1 << 31)
			return HY_QUOTA;
		take_source =
			s < sources->count && (t == targets->count || sources->ids[s] <= targets->ids[t]);
		take_target =
			t < targets->count && (s == sources->count || targets->ids[t] <= sources->ids[s]);
		csr->ids[nodes] = take_source ? sources->ids[s] : targets->ids[t];
		if (take_source)
			sources->node[s++] = (uint32_t) nodes;
		if (take_target)
			targets->node[t++] = (uint32_t) nodes;
		nodes++;
	}
	csr->nodes = nodes;
	return HY_OK;
}

/* sort_cells: make the cells of the edges, ordered by row and column.  Frees the edges if it owns them. */
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
	build->cell = alloc_array(allocator, build->cells, sizeof(HyParallel));
	status =
		column_end == NULL || build->cell == NULL ? HY_NOMEM : sort_by_column(build, column_end);
	release_edges(build);
	if (status == HY_OK)
	{
		csr->row_start = alloc_array(allocator, room, sizeof(int64_t));
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
		if (stop_at(i, build->cancel))
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

		if (stop_at(i, build->cancel))
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
sort_by_row(Build *build, const int64_t *column_end, int64_t *start)
{
	HyParallel *sorted = alloc_array(build->allocator, build->cells, sizeof(HyParallel));
	int64_t nodes = build->csr->nodes;
	uint32_t column = 0;
	HyStatus status = HY_CANCELLED;
	int64_t i;

	if (sorted == NULL)
		return HY_NOMEM;
	/* start[r + 1] is the next free place in row r, and thus the end of the row when it is full */
	memset(start, 0, (size_t) (nodes + 1) * sizeof(int64_t));
	for (i = 0; i < build->cells; i++)
	{
		if (stop_at(i, build->cancel))
			goto done;
		if ((int64_t) build->cell[i].at + 2 <= nodes)
			start[build->cell[i].at + 2]++;
	}
	for (i = 2; i <= nodes; i++)
		start[i] += start[i - 1];
	for (i = 0; i < build->cells; i++)
	{
		HyParallel *to;

		if (stop_at(i, build->cancel))
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

/* fill_rows: fill the rows from the sorted cells.  row_start holds the starts of their cells. */
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
			if (stop_at(i, build->cancel))
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

	for (row = 0; row < csr->nodes; row++)
	{
		int64_t end = csr->row_start[row + 1];

		csr->row_start[row] = csr->edges;
		while (first < end)
		{
			int64_t next = first + 1;
			HyStatus status;

			while (next < end && build->cell[next].at == build->cell[first].at)
				next++;
			if (next - polled >= BLOCK)
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
	csr->row_start[csr->nodes] = csr->edges;
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
		records[i] = record_of(run[i].weight == 0 ? 0 : bits, run[i].origin);
	}
	if (status == HY_OK)
		status = sort_records(records, scratch, count, build->cancel);
	for (i = 0; status == HY_OK && i < count; i++)
	{
		uint32_t bits = (uint32_t) (records[i] >> 32);

		memcpy(&run[i].weight, &bits, sizeof(bits));
		run[i].origin = payload_of(records[i]);
	}
	hy_free(build->allocator, records);
	hy_free(build->allocator, scratch);
	return status;
}

/* merge_run: add an entry for parallel edges, which ascend by weight. */
static HyStatus
merge_run(Build *build, const HyParallel *run, int64_t count)
{
	HyCsr *csr = build->csr;
	HyOrigins *origins = build->origins;
	uint32_t entry = (uint32_t) csr->edges++;
	int64_t i;

	csr->column[entry] = run->at;
	if (!hy_csr_merge(build->input.merge, run, count, &csr->weight[entry]))
		return HY_QUOTA;
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

	csr->out_start = alloc_array(allocator, with_room(build, csr->nodes) + 1, sizeof(int64_t));
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
	memset(csr->out_start, 0, (size_t) (csr->nodes + 1) * sizeof(int64_t));
	for (i = 0; i < csr->edges; i++)
	{
		if (stop_at(i, build->cancel))
			goto done;
		if ((int64_t) csr->column[i] + 2 <= csr->nodes)
			csr->out_start[csr->column[i] + 2]++;
	}
	for (i = 2; i <= csr->nodes; i++)
		csr->out_start[i] += csr->out_start[i - 1];
	for (i = 0; i < csr->edges; i++)
	{
		int64_t to;

		if (stop_at(i, build->cancel))
			goto done;
		while (csr->row_start[row + 1] <= i)
			row++;
		to = csr->out_start[csr->column[i] + 1]++;
		csr->out_row[to] = (uint32_t) row;
		leaving[to] = csr->weight[i];
	}
	for (i = 0; i < csr->nodes; i++)
	{
		if (stop_at(i, build->cancel))
			goto done;
		csr->out_weight[i] =
			hy_csr_sum(leaving + csr->out_start[i], csr->out_start[i + 1] - csr->out_start[i]);
	}
	status = HY_OK;

done:
	hy_free(allocator, leaving);
	return status;
}

/*
 * sort_records: stable sort by the key, a byte at a time.  Bytes that all keys share are skipped.  The
 * result is in records.
 */
static HyStatus
sort_records(uint64_t *records, uint64_t *scratch, int64_t count, const HyCancel *cancel)
{
	int64_t counts[DIGITS][RADIX];
	uint64_t *from = records;
	uint64_t *to = scratch;
	int digit;
	int64_t i;

	if (count < 2)
		return HY_OK;
	memset(counts, 0, sizeof(counts));
	for (i = 0; i < count; i++)
	{
		if (stop_at(i, cancel))
			return HY_CANCELLED;
		for (digit = 0; digit < DIGITS; digit++)
			counts[digit][digit_of(records[i], digit)]++;
	}
	for (digit = 0; digit < DIGITS; digit++)
	{
		int64_t *next = counts[digit];
		int64_t begin = 0;
		uint64_t *swap = from;
		int value;

		if (next[digit_of(from[0], digit)] == count)
			continue;
		for (value = 0; value < RADIX; value++)
		{
			int64_t here = next[value];

			next[value] = begin;
			begin += here;
		}
		for (i = 0; i < count; i++)
		{
			if (stop_at(i, cancel))
				return HY_CANCELLED;
			to[next[digit_of(from[i], digit)]++] = from[i];
		}
		from = to;
		to = swap;
	}
	if (from != records)
		memcpy(records, from, (size_t) count * sizeof(uint64_t));
	return HY_OK;
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

/* with_room: return the number of elements to allocate for count elements and those of a patch. */
static int64_t
with_room(const Build *build, int64_t count)
{
	return build->origins == NULL ? count : count + count / ROOM_SHARE + ROOM_SHARE;
}

/* alloc_array: like hy_alloc_array, but an empty array does not count as a failure. */
static void *
alloc_array(const HyAllocator *allocator, int64_t count, size_t size)
{
	return hy_alloc_array(allocator, count > 0 ? (size_t) count : 1, size);
}
