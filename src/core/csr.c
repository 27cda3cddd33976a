/*
 * csr.c
 *		Builds compressed sparse rows from edges in any order.
 *
 * Both steps sort 16-byte records with a radix sort, least significant digit first.  Digits that
 * all records share are skipped.  The first step sorts the ends of the edges, to number the nodes.
 * The second step sorts the edges by (row, column).  A radix sort takes a predictable time, needs
 * one scratch array, and can be stopped between two blocks of records.  After the second step,
 * parallel edges are adjacent.  Each run of parallel edges is sorted by weight and summed.  One
 * more stable pass builds the lists of outgoing edges.
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

/* Digits of a record, in bytes: 0-3 payload, 4-11 key. */
#define PAYLOAD_DIGITS 4
#define ALL_DIGITS 12
#define RADIX 256

typedef struct Record
{
	uint64_t key;
	uint32_t payload;
} Record;

/* Ends: the distinct ids at one end of the edges, ascending, and their numbers among all ids. */
typedef struct Ends
{
	bool targets; /* the ends are the edges' targets, not their sources */
	int64_t count;
	int64_t *ids;
	uint32_t *node;
} Ends;

static HyStatus number_ends(HyEdge *edges, int64_t count, Record *records, Record *scratch,
                            const HyAllocator *allocator, const HyCancel *cancel, Ends *ends);
static HyStatus merge_ends(Ends *sources, Ends *targets, const HyAllocator *allocator,
                           const HyCancel *cancel, HyCsr *csr);
static HyStatus
fill_records(const HyEdge *edges, int64_t count, HyDirection direction, const Ends *sources,
             const Ends *targets, const HyCancel *cancel, Record *records);
static HyStatus fill_rows(Record *records, Record *scratch, int64_t count, HyMerge merge,
                          const HyAllocator *allocator, const HyCancel *cancel, HyCsr *csr);
static float least_of_run(const Record *run, int64_t count);
static HyStatus
sum_run(Record *run, Record *scratch, int64_t count, const HyCancel *cancel, float *weight);
static HyStatus fill_out_lists(const HyAllocator *allocator, const HyCancel *cancel, HyCsr *csr);
static double sum_in_lanes(const float *weight, int64_t count);
static HyStatus sort_records(Record *records, Record *scratch, int64_t count, int first_digit,
                             int end_digit, const HyCancel *cancel);
static void *alloc_array(const HyAllocator *allocator, int64_t count, size_t size);

static inline bool
stop_at(int64_t i, const HyCancel *cancel)
{
	return i % BLOCK == 0 && hy_cancelled(cancel);
}

static inline uint64_t
ordered_key(int64_t id)
{
	return (uint64_t) id ^ ((uint64_t) 1 << 63);
}

static inline uint32_t
digit_of(const Record *record, int digit)
{
	if (digit < PAYLOAD_DIGITS)
		return (record->payload >> (8 * digit)) & (RADIX - 1);
	return (uint32_t) (record->key >> (8 * (digit - PAYLOAD_DIGITS))) & (RADIX - 1);
}

uint64_t
hy_csr_bytes(int64_t edges, HyDirection direction)
{
	/*
	 * n edges have at most 2n nodes.  For 'out' and 'in', memory peaks while the out lists are
	 * filled: ids, row_start, out_start and out_weight (64n), plus column, weight, out_row and a
	 * copy of the weights (16n).  For 'both', it peaks while the rows are filled: 2n records and
	 * their scratch (64n), plus ids and row_start (32n), and column and weight (16n).
	 */
	uint64_t each = direction == HY_DIRECTION_BOTH ? 112 : 80;

	if (edges < 0 || (uint64_t) edges > (UINT64_MAX - 256) / each)
		return UINT64_MAX;
	return (uint64_t) edges * each + 256;
}

HyStatus
hy_csr_build(HyEdge *edges, int64_t count, HyDirection direction, const HyAllocator *allocator,
             const HyCancel *cancel, HyCsr *csr)
{
	return hy_csr_build_merged(edges, count, direction, HY_MERGE_SUM, allocator, cancel, csr);
}

HyStatus
hy_csr_build_merged(HyEdge *edges, int64_t count, HyDirection direction, HyMerge merge,
                    const HyAllocator *allocator, const HyCancel *cancel, HyCsr *csr)
{
	Ends sources = {false, 0, NULL, NULL};
	Ends targets = {true, 0, NULL, NULL};
	Record *records = NULL;
	Record *scratch = NULL;
	int64_t entries = direction == HY_DIRECTION_BOTH ? 2 * count : count;
	HyStatus status;

	memset(csr, 0, sizeof(*csr));
	if (count < 0)
		return HY_INVALID;
	if (count > (int64_t) UINT32_MAX)
		return HY_QUOTA;

	status = HY_NOMEM;
	records = alloc_array(allocator, count, sizeof(Record));
	scratch = alloc_array(allocator, count, sizeof(Record));
	if (records == NULL || scratch == NULL)
		goto done;
	status = number_ends(edges, count, records, scratch, allocator, cancel, &sources);
	if (status != HY_OK)
		goto done;
	status = number_ends(edges, count, records, scratch, allocator, cancel, &targets);
	if (status != HY_OK)
		goto done;

	hy_free(allocator, records);
	hy_free(allocator, scratch);
	records = scratch = NULL;
	status = merge_ends(&sources, &targets, allocator, cancel, csr);
	if (status != HY_OK)
		goto done;

	status = HY_NOMEM;
	records = alloc_array(allocator, entries, sizeof(Record));
	scratch = alloc_array(allocator, entries, sizeof(Record));
	if (records == NULL || scratch == NULL)
		goto done;
	status = fill_records(edges, count, direction, &sources, &targets, cancel, records);
	if (status != HY_OK)
		goto done;
	hy_free(allocator, sources.node);
	hy_free(allocator, targets.node);
	sources.node = targets.node = NULL;

	status = sort_records(records, scratch, entries, PAYLOAD_DIGITS, ALL_DIGITS, cancel);
	if (status != HY_OK)
		goto done;
	status = fill_rows(records, scratch, entries, merge, allocator, cancel, csr);
	if (status != HY_OK)
		goto done;

	hy_free(allocator, records);
	hy_free(allocator, scratch);
	records = scratch = NULL;
	status = fill_out_lists(allocator, cancel, csr);

done:
	hy_free(allocator, records);
	hy_free(allocator, scratch);
	hy_free(allocator, sources.ids);
	hy_free(allocator, sources.node);
	hy_free(allocator, targets.ids);
	hy_free(allocator, targets.node);
	if (status != HY_OK)
		hy_csr_free(csr, allocator);
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

int64_t
hy_csr_find(const HyCsr *csr, int64_t id)
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
	return low < csr->nodes && csr->ids[low] == id ? low : -1;
}

/*
 * number_ends: replace the sources or the targets of the edges by their rank among the distinct
 * ids, and list the distinct ids in ends->ids.
 */
static HyStatus
number_ends(HyEdge *edges, int64_t count, Record *records, Record *scratch,
            const HyAllocator *allocator, const HyCancel *cancel, Ends *ends)
{
	int64_t distinct = 0;
	int64_t rank = -1;
	int64_t i;
	HyStatus status;

	for (i = 0; i < count; i++)
	{
		if (stop_at(i, cancel))
			return HY_CANCELLED;
		if (!(edges[i].weight >= 0) || isinf(edges[i].weight))
			return HY_INVALID;
		records[i].key = ordered_key(ends->targets ? edges[i].target : edges[i].source);
		records[i].payload = (uint32_t) i;
	}
	status = sort_records(records, scratch, count, PAYLOAD_DIGITS, ALL_DIGITS, cancel);
	if (status != HY_OK)
		return status;

	for (i = 0; i < count; i++)
		distinct += i == 0 || records[i].key != records[i - 1].key;
	ends->ids = alloc_array(allocator, distinct, sizeof(int64_t));
	if (ends->ids == NULL)
		return HY_NOMEM;
	for (i = 0; i < count; i++)
	{
		HyEdge *edge = &edges[records[i].payload];

		if (stop_at(i, cancel))
			return HY_CANCELLED;
		if (i == 0 || records[i].key != records[i - 1].key)
			ends->ids[++rank] = (int64_t) ordered_key((int64_t) records[i].key);
		if (ends->targets)
			edge->target = rank;
		else
			edge->source = rank;
	}
	ends->count = distinct;
	return HY_OK;
}

/* merge_ends: number the nodes of csr, and map every end to its node.  Frees the lists of ids. */
static HyStatus
merge_ends(Ends *sources, Ends *targets, const HyAllocator *allocator, const HyCancel *cancel,
           HyCsr *csr)
{
	int64_t s = 0;
	int64_t t = 0;
	int64_t nodes = 0;

	sources->node = alloc_array(allocator, sources->count, sizeof(uint32_t));
	targets->node = alloc_array(allocator, targets->count, sizeof(uint32_t));
	csr->ids = alloc_array(allocator, sources->count + targets->count, sizeof(int64_t));
	if (sources->node == NULL || targets->node == NULL || csr->ids == NULL)
		return HY_NOMEM;

	while (s < sources->count || t < targets->count)
	{
		bool take_source;
		bool take_target;

		if (stop_at(nodes, cancel))
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
	hy_free(allocator, sources->ids);
	hy_free(allocator, targets->ids);
	sources->ids = targets->ids = NULL;
	return HY_OK;
}

/* fill_records: make one record per entry, keyed by (row, column), with the bits of the weight. */
static HyStatus
fill_records(const HyEdge *edges, int64_t count, HyDirection direction, const Ends *sources,
             const Ends *targets, const HyCancel *cancel, Record *records)
{
	int64_t filled = 0;
	int64_t i;

	for (i = 0; i < count; i++)
	{
		uint64_t source = sources->node[edges[i].source];
		uint64_t target = targets->node[edges[i].target];
		uint32_t bits;

		if (stop_at(i, cancel))
			return HY_CANCELLED;
		/*
		 * The bits of weights sort like their values.  The exception is -0, which does not change a
		 * sum at any position.
		 */
		memcpy(&bits, &edges[i].weight, sizeof(bits));
		if (direction != HY_DIRECTION_IN)
			records[filled++] = (Record){target << 32 | source, bits};
		if (direction != HY_DIRECTION_OUT)
			records[filled++] = (Record){source << 32 | target, bits};
	}
	return HY_OK;
}

/* fill_rows: fill row_start, column and weight from the sorted records. */
static HyStatus
fill_rows(Record *records, Record *scratch, int64_t count, HyMerge merge,
          const HyAllocator *allocator, const HyCancel *cancel, HyCsr *csr)
{
	int64_t row = 0;
	int64_t start = 0;
	int64_t polled = 0;
	int64_t i;

	for (i = 0; i < count; i++)
		csr->edges += i == 0 || records[i].key != records[i - 1].key;
	if (csr->edges > (int64_t) UINT32_MAX)
		return HY_QUOTA;
	csr->row_start = alloc_array(allocator, csr->nodes + 1, sizeof(int64_t));
	csr->column = alloc_array(allocator, csr->edges, sizeof(uint32_t));
	csr->weight = alloc_array(allocator, csr->edges, sizeof(float));
	if (csr->row_start == NULL || csr->column == NULL || csr->weight == NULL)
		return HY_NOMEM;

	csr->edges = 0;
	csr->row_start[0] = 0;
	while (start < count)
	{
		uint64_t key = records[start].key;
		int64_t end = start + 1;
		HyStatus status = HY_OK;

		while (end < count && records[end].key == key)
			end++;
		if (end - polled >= BLOCK)
		{
			polled = end;
			if (hy_cancelled(cancel))
				return HY_CANCELLED;
		}
		while (row < (int64_t) (key >> 32))
			csr->row_start[++row] = csr->edges;
		csr->column[csr->edges] = (uint32_t) key;
		if (merge == HY_MERGE_LEAST)
			csr->weight[csr->edges] = least_of_run(records + start, end - start);
		else
			status =
				sum_run(records + start, scratch, end - start, cancel, &csr->weight[csr->edges]);
		if (status != HY_OK)
			return status;
		csr->edges++;
		start = end;
	}
	while (row < csr->nodes)
		csr->row_start[++row] = csr->edges;
	return HY_OK;
}

/* least_of_run: return the least weight of parallel edges, 0 for -0. */
static float
least_of_run(const Record *run, int64_t count)
{
	float least = INFINITY;
	int64_t i;

	for (i = 0; i < count; i++)
	{
		float weight;

		memcpy(&weight, &run[i].payload, sizeof(weight));
		if (weight < least)
			least = weight;
	}
	return least + 0.0F;
}

/* sum_run: sum the weights of parallel edges in ascending order, in fp64, rounded once. */
static HyStatus
sum_run(Record *run, Record *scratch, int64_t count, const HyCancel *cancel, float *weight)
{
	double sum = 0;
	int64_t i;

	if (count > SHORT_RUN)
	{
		HyStatus status = sort_records(run, scratch, count, 0, PAYLOAD_DIGITS, cancel);

		if (status != HY_OK)
			return status;
	}
	else
	{
		for (i = 1; i < count; i++)
		{
			Record moving = run[i];
			int64_t j = i;

			for (; j > 0 && run[j - 1].payload > moving.payload; j--)
				run[j] = run[j - 1];
			run[j] = moving;
		}
	}
	for (i = 0; i < count; i++)
	{
		float term;

		memcpy(&term, &run[i].payload, sizeof(term));
		sum += term;
	}
	*weight = (float) sum;
	return isinf(*weight) ? HY_QUOTA : HY_OK;
}

/* fill_out_lists: fill out_start, out_row and out_weight in a stable pass over the rows. */
static HyStatus
fill_out_lists(const HyAllocator *allocator, const HyCancel *cancel, HyCsr *csr)
{
	float *leaving = alloc_array(allocator, csr->edges, sizeof(float));
	int64_t row = 0;
	int64_t i;
	HyStatus status = HY_NOMEM;

	csr->out_start = alloc_array(allocator, csr->nodes + 1, sizeof(int64_t));
	csr->out_row = alloc_array(allocator, csr->edges, sizeof(uint32_t));
	csr->out_weight = alloc_array(allocator, csr->nodes, sizeof(double));
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
		if (stop_at(i, cancel))
			goto done;
		if ((int64_t) csr->column[i] + 2 <= csr->nodes)
			csr->out_start[csr->column[i] + 2]++;
	}
	for (i = 2; i <= csr->nodes; i++)
		csr->out_start[i] += csr->out_start[i - 1];
	for (i = 0; i < csr->edges; i++)
	{
		int64_t to;

		if (stop_at(i, cancel))
			goto done;
		while (csr->row_start[row + 1] <= i)
			row++;
		to = csr->out_start[csr->column[i] + 1]++;
		csr->out_row[to] = (uint32_t) row;
		leaving[to] = csr->weight[i];
	}
	for (i = 0; i < csr->nodes; i++)
	{
		if (stop_at(i, cancel))
			goto done;
		csr->out_weight[i] =
			sum_in_lanes(leaving + csr->out_start[i], csr->out_start[i + 1] - csr->out_start[i]);
	}
	status = HY_OK;

done:
	hy_free(allocator, leaving);
	return status;
}

/* sum_in_lanes: compute the canonical sum that csr.h defines. */
static double
sum_in_lanes(const float *weight, int64_t count)
{
	double lane[SUM_LANES] = {0};
	int64_t p;
	int h;
	int l;

	for (p = 0; p < count; p++)
		lane[p % SUM_LANES] += weight[p];
	for (h = SUM_LANES / 2; h > 0; h /= 2)
	{
		for (l = 0; l < h; l++)
			lane[l] += lane[l + h];
	}
	return lane[0];
}

/*
 * sort_records: stable sort by the digits first_digit .. end_digit - 1, least significant first.
 * The result is in records.
 */
static HyStatus
sort_records(Record *records, Record *scratch, int64_t count, int first_digit, int end_digit,
             const HyCancel *cancel)
{
	int64_t counts[ALL_DIGITS][RADIX];
	Record *from = records;
	Record *to = scratch;
	int digit;
	int64_t i;

	if (count < 2)
		return HY_OK;
	memset(counts, 0, sizeof(counts));
	for (i = 0; i < count; i++)
	{
		if (stop_at(i, cancel))
			return HY_CANCELLED;
		for (digit = first_digit; digit < end_digit; digit++)
			counts[digit][digit_of(&records[i], digit)]++;
	}
	for (digit = first_digit; digit < end_digit; digit++)
	{
		int64_t *next = counts[digit];
		int64_t begin = 0;
		Record *swap = from;
		int value;

		if (next[digit_of(&from[0], digit)] == count)
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
			to[next[digit_of(&from[i], digit)]++] = from[i];
		}
		from = to;
		to = swap;
	}
	if (from != records)
		memcpy(records, from, (size_t) count * sizeof(Record));
	return HY_OK;
}

/* alloc_array: like hy_alloc_array, but an empty array does not count as a failure. */
static void *
alloc_array(const HyAllocator *allocator, int64_t count, size_t size)
{
	return hy_alloc_array(allocator, count > 0 ? (size_t) count : 1, size);
}
