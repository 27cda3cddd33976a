/*
 * csr_number.c
 *		Numbers the nodes of a graph: see csr_number.h.
 *
 * If a bitmap over the range of ids has at most one 64-bit word per edge, it serves to number the
 * ids: the number of an id is the count of set bits before its own bit.  Otherwise the ids at the
 * ends of the edges are radix-sorted.
 */
#include "core/csr_number.h"

#include <math.h>
#include <string.h>

#include "core/record_sort.h"

/* prefetch distance in records */
#define AHEAD 16

/* Ends: the distinct ids of all sources or of all targets, ascending, and their node numbers. */
typedef struct Ends
{
	bool targets; /* true: the targets of the edges; false: the sources */
	int64_t count;
	int64_t *ids;
	uint32_t *node;
} Ends;

/* Word: a bitmap of 64 consecutive ids, and the number of existing ids before them. */
typedef struct Word
{
	uint64_t bits;
	int64_t before;
} Word;

/* Numbering: the state of a call of hy_csr_number. */
typedef struct Numbering
{
	HyEdge *edge;
	int64_t count;
	bool patchable;
	const HyAllocator *allocator;
	const HyCancel *cancel;
	HyCsr *csr;
	int64_t least;  /* the smallest id */
	uint64_t range; /* the largest id minus the smallest */
} Numbering;

static HyStatus number_by_bits(Numbering *numbering, int64_t least, int64_t words);
static HyStatus number_by_sorting(Numbering *numbering);
static HyStatus number_ends(Numbering *numbering, uint64_t *records, uint64_t *scratch, Ends *ends);
static HyStatus
sort_ends(const Numbering *numbering, const Ends *ends, uint64_t *records, uint64_t *scratch);
static HyStatus merge_ends(Numbering *numbering, Ends *sources, Ends *targets);

static inline size_t
room_for(const Numbering *numbering, int64_t nodes)
{
	return (size_t) (numbering->patchable ? hy_csr_room(nodes) : nodes) + 1;
}

/* end_of: return the address of the source or target of edge i. */
static inline int64_t *
end_of(const Numbering *numbering, const Ends *ends, uint32_t i)
{
	HyEdge *edge = &numbering->edge[i];

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

HyStatus
hy_csr_number(HyEdge *edge, int64_t count, bool patchable, const HyAllocator *allocator,
              const HyCancel *cancel, HyCsr *csr)
{
	Numbering numbering = {.edge = edge,
	                       .count = count,
	                       .patchable = patchable,
	                       .allocator = allocator,
	                       .cancel = cancel,
	                       .csr = csr};
	int64_t least = INT64_MAX;
	int64_t greatest = INT64_MIN;
	uint64_t words;
	int64_t i;

	for (i = 0; i < count; i++)
	{
		if (hy_cancelled_at(i, cancel))
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
	numbering.least = least;
	numbering.range = (uint64_t) greatest - (uint64_t) least;
	words = numbering.range / 64 + 1;
	if (count > 0 && words <= (uint64_t) count)
		return number_by_bits(&numbering, least, (int64_t) words);
	return number_by_sorting(&numbering);
}

/* number_by_bits: number the nodes with a bitmap of this many words over the range of ids. */
static HyStatus
number_by_bits(Numbering *numbering, int64_t least, int64_t words)
{
	HyCsr *csr = numbering->csr;
	HyEdge *edge = numbering->edge;
	Word *word = hy_alloc_array(numbering->allocator, (size_t) words + 1, sizeof(Word));
	HyStatus status = HY_NOMEM;
	int64_t i;

	if (word == NULL)
		return status;
	memset(word, 0, (size_t) words * sizeof(Word));
	status = HY_CANCELLED;
	for (i = 0; i < numbering->count; i++)
	{
		uint64_t source = (uint64_t) edge[i].source - (uint64_t) least;
		uint64_t target = (uint64_t) edge[i].target - (uint64_t) least;

		if (hy_cancelled_at(i, numbering->cancel))
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
	csr->ids =
		hy_alloc_array(numbering->allocator, room_for(numbering, csr->nodes), sizeof(int64_t));
	if (csr->ids == NULL)
		goto done;
	status = HY_CANCELLED;
	for (i = 0; i < words; i++)
	{
		uint64_t bits = word[i].bits;
		int64_t node = word[i].before;

		if (hy_cancelled_at(i, numbering->cancel))
			goto done;
		for (; bits != 0; bits &= bits - 1)
			csr->ids[node++] =
				(int64_t) ((uint64_t) least + (uint64_t) i * 64 + (uint64_t) __builtin_ctzll(bits));
	}
	for (i = 0; i < numbering->count; i++)
	{
		if (hy_cancelled_at(i, numbering->cancel))
			goto done;
		edge[i].source = node_of(word, least, edge[i].source);
		edge[i].target = node_of(word, least, edge[i].target);
	}
	status = HY_OK;

done:
	hy_free(numbering->allocator, word);
	return status;
}

static HyStatus
number_by_sorting(Numbering *numbering)
{
	const HyAllocator *allocator = numbering->allocator;
	HyEdge *edge = numbering->edge;
	Ends sources = {false, 0, NULL, NULL};
	Ends targets = {true, 0, NULL, NULL};
	uint64_t *records = hy_alloc_array(allocator, (size_t) numbering->count + 1, sizeof(uint64_t));
	uint64_t *scratch = hy_alloc_array(allocator, (size_t) numbering->count + 1, sizeof(uint64_t));
	HyStatus status = records == NULL || scratch == NULL ? HY_NOMEM : HY_OK;
	int64_t i;

	if (status == HY_OK)
		status = number_ends(numbering, records, scratch, &sources);
	if (status == HY_OK)
		status = number_ends(numbering, records, scratch, &targets);
	hy_free(allocator, records);
	hy_free(allocator, scratch);
	if (status == HY_OK)
		status = merge_ends(numbering, &sources, &targets);
	for (i = 0; status == HY_OK && i < numbering->count; i++)
	{
		if (hy_cancelled_at(i, numbering->cancel))
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
number_ends(Numbering *numbering, uint64_t *records, uint64_t *scratch, Ends *ends)
{
	int64_t count = numbering->count;
	int64_t rank = -1;
	int64_t i;
	HyStatus status = sort_ends(numbering, ends, records, scratch);

	if (status != HY_OK)
		return status;
	for (i = 0; i < count; i++)
	{
		int64_t *end = end_of(numbering, ends, hy_record_payload(records[i]));

		if (hy_cancelled_at(i, numbering->cancel))
			return HY_CANCELLED;
		if (i + AHEAD < count)
			__builtin_prefetch(end_of(numbering, ends, hy_record_payload(records[i + AHEAD])), 1);
		/* after the sort, the scratch memory is free to collect the distinct ids */
		if (i == 0 || (uint64_t) *end != scratch[rank])
			scratch[++rank] = (uint64_t) *end;
		*end = rank;
	}
	ends->count = rank + 1;
	ends->ids = hy_alloc_array(numbering->allocator, (size_t) ends->count + 1, sizeof(int64_t));
	if (ends->ids == NULL)
		return HY_NOMEM;
	memcpy(ends->ids, scratch, (size_t) ends->count * sizeof(int64_t));
	return HY_OK;
}

/*
 * sort_ends: create one record per edge, with the index of the edge as its payload, and sort the
 * records by these source or target ids.  If the range of ids exceeds 32 bits, sort by the lower
 * half of the ids, and then by the upper half.
 */
static HyStatus
sort_ends(const Numbering *numbering, const Ends *ends, uint64_t *records, uint64_t *scratch)
{
	int64_t count = numbering->count;
	int shifts = numbering->range > UINT32_MAX ? 64 : 32;
	int shift;

	for (shift = 0; shift < shifts; shift += 32)
	{
		int64_t i;
		HyStatus status;

		for (i = 0; i < count; i++)
		{
			uint32_t edge = shift == 0 ? (uint32_t) i : hy_record_payload(records[i]);
			uint64_t key = (uint64_t) *end_of(numbering, ends, edge) - (uint64_t) numbering->least;

			if (hy_cancelled_at(i, numbering->cancel))
				return HY_CANCELLED;
			records[i] = hy_record((uint32_t) (key >> shift), edge);
		}
		status = hy_record_sort(records, scratch, count, numbering->cancel);
		if (status != HY_OK)
			return status;
	}
	return HY_OK;
}

/* merge_ends: merge the distinct sources and targets into csr->ids, and set their node numbers. */
static HyStatus
merge_ends(Numbering *numbering, Ends *sources, Ends *targets)
{
	const HyAllocator *allocator = numbering->allocator;
	HyCsr *csr = numbering->csr;
	int64_t s = 0;
	int64_t t = 0;
	int64_t nodes = 0;

	sources->node = hy_alloc_array(allocator, (size_t) sources->count + 1, sizeof(uint32_t));
	targets->node = hy_alloc_array(allocator, (size_t) targets->count + 1, sizeof(uint32_t));
	csr->ids = hy_alloc_array(allocator, room_for(numbering, sources->count + targets->count),
	                          sizeof(int64_t));
	if (sources->node == NULL || targets->node == NULL || csr->ids == NULL)
		return HY_NOMEM;

	while (s < sources->count || t < targets->count)
	{
		bool take_source;
		bool take_target;

		if (hy_cancelled_at(nodes, numbering->cancel))
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
