/*
 * spread_sets.c
 *		Spreads activation from sets of seeds: see spread_sets.h.
 *
 * The sets go to the dispatcher in slices that fit the memory limit. A seed that occurs in no edge is
 * unknown. If the caller wants unknown seeds, each counts as a node without edges: it keeps its activation
 * and is only added to the result.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "graph/device.h"
#include "graph/spread_sets.h"
#include "graph/spreading.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "server/threads.h"

/*
 * Bytes for each node. A thread in core needs y, charge, the times fired and bitmaps. The call needs a hub's
 * divisor and a row of the answer. Each set of seeds needs its activation, hops and sent activation.
 */
#define THREAD_BYTES (2 * sizeof(double) + sizeof(int32) + 1)
#define TASK_BYTES (THREAD_BYTES + sizeof(double) + sizeof(HybridScored))
#define SET_BYTES (2 * sizeof(double) + sizeof(int32))

/*
 * Without a device, a slice takes at most about this many bytes. It may take more if it has no more than
 * HY_SPREAD_SETS_PER_THREAD sets for each thread.
 */
#define HOST_SLICE_BYTES (UINT64CONST(4) << 20)

/* Node number of an unknown seed, in HybridScored. */
#define UNKNOWN_NODE UINT32_MAX

/* Slice: the sets that one task spreads from. */
typedef struct Slice
{
	const HybridSpreadSets *all;
	int first; /* the seeds of the slice are first .. end - 1 */
	int end;
	int sets;
	int64 *start;  /* start of each set among the seeds that are nodes of the graph */
	uint32 *node;  /* node numbers of these seeds */
	double *value; /* activation of these seeds */
	/* activation of all seeds of a set, divided by the activation of those that are nodes of the graph */
	double all_inside;
	HySpreadResult result;
	uint64 *reached;       /* bitmap of nodes that may have activation; only these have results */
	HybridRanking ranking; /* rows of one set */
	double lane[HY_SPREAD_LANES]; /* lanes that add up the activation of one set */
} Slice;

static int64 make_slice(const HybridSpreadSets *all, Slice *slice);
static void fill_slice(Slice *slice, int64 most);
static void spread_slice(Slice *slice);
static int end_of_set(const HybridSpreadSets *all, int first);
static double add_set(Slice *slice, int first, int end);
static void
answer_set(Slice *slice, int first, int end, const HySpreadResult *result, const uint64 *reached);
static void rank_nodes(Slice *slice, int64 from, int64 stop, int64 unknown,
                       const HySpreadResult *result, const uint64 *reached);
static void add_to_sum(Slice *slice, int64 place, int64 id, double activation);

void
hybrid_spread_sets(HybridSpreadSets *sets)
{
	Slice slice = {.all = sets};
	int64 most;

	hybrid_call_reserve(sets->call, TASK_BYTES + SET_BYTES, 0);
	sets->params.hub = hybrid_graph_hub(sets->call->graph, sets->hub);
	hybrid_spreading_check_converges(sets->call, &sets->params);
	most = make_slice(sets, &slice);
	for (slice.first = 0; slice.first < sets->seed_count; slice.first = slice.end)
	{
		fill_slice(&slice, most);
		spread_slice(&slice);
	}
}

/* make_slice: allocate the arrays of a slice, and return how many sets it may have. */
static int64
make_slice(const HybridSpreadSets *all, Slice *slice)
{
	HybridCall *call = all->call;
	int64 nodes = call->csr->nodes;
	uint64 set_bytes = SET_BYTES * (uint64) Max(nodes, 1);
	uint64 thread_bytes = THREAD_BYTES * (uint64) Max(nodes, 1);
	int64 most;
	int64 sets = 0;
	int64 wanted, threads;
	int end;

	for (end = 0; end < all->seed_count; end = end_of_set(all, end))
		sets++;
	/* several threads may share the sets; their additional memory is at most half of call->room */
	wanted = Min(hybrid_threads_limit(), Max(sets / HY_SPREAD_SETS_PER_THREAD, 1));
	threads = Min(wanted, 1 + (int64) (call->room / 2 / thread_bytes));
	call->room -= (uint64) (threads - 1) * thread_bytes;
	most = Min(1 + (int64) (call->room / set_bytes), Max(sets, 1));
	/* with more sets, core would use more threads than there is memory for */
	if (threads < wanted)
		most = Min(most, (threads + 1) * HY_SPREAD_SETS_PER_THREAD - 1);
	/* the CPU gains nothing from more sets in a slice, and small slices reuse the same memory */
	if (!hybrid_graph_device_possible())
		most = Min(most, Max(1 + (int64) (HOST_SLICE_BYTES / set_bytes),
		                     threads * HY_SPREAD_SETS_PER_THREAD));
	call->room -= (uint64) (most - 1) * SET_BYTES * (uint64) nodes;
	slice->ranking = hybrid_ranking(call, nodes + all->seed_count, all->k);
	slice->start = hybrid_call_array(call, most + 1, sizeof(int64));
	slice->node = hybrid_call_array(call, all->seed_count, sizeof(uint32));
	slice->value = hybrid_call_array(call, all->seed_count, sizeof(double));
	slice->result.activation = hybrid_call_array(call, most * nodes, sizeof(double));
	slice->result.hop = hybrid_call_array(call, most * nodes, sizeof(int32));
	slice->result.sent = hybrid_call_array(call, most * nodes, sizeof(double));
	slice->reached = hybrid_call_array(call, most * hy_spread_words(nodes), sizeof(uint64));
	return most;
}

/*
 * fill_slice: fill the slice with whole sets, from seed slice->first on. Stops after `most` sets, or before a set with
 * another all_inside.
 */
static void
fill_slice(Slice *slice, int64 most)
{
	slice->end = slice->first;
	slice->sets = 0;
	slice->start[0] = 0;
	while (slice->end < slice->all->seed_count && slice->sets < most)
	{
		int end = end_of_set(slice->all, slice->end);
		double all_inside = add_set(slice, slice->end, end);

		/* a task has one tolerance */
		if (slice->sets > 0 && all_inside != slice->all_inside)
			break;
		slice->all_inside = all_inside;
		slice->sets++;
		slice->end = end;
	}
}

/* spread_slice: spread from the sets of a slice, and store the answer of each set. */
static void
spread_slice(Slice *slice)
{
	HybridCall *call = slice->all->call;
	int64 nodes = call->csr->nodes;
	HySpreadSeeds seeds = {slice->sets, slice->start, slice->node, slice->value};
	HySpreadParams params = slice->all->params;
	int first = slice->first;
	int set;

	/* the tolerance is relative to the sum of all seeds, including seeds without edges */
	params.tolerance *= slice->all_inside;
	hybrid_spreading_run(call, &params, &seeds, &slice->result, slice->reached);
	for (set = 0; set < slice->sets; set++)
	{
		int end = end_of_set(slice->all, first);

		answer_set(slice, first, end,
		           &(HySpreadResult){slice->result.activation + set * nodes,
		                             slice->result.hop + set * nodes,
		                             slice->result.sent + set * nodes},
		           slice->reached + set * hy_spread_words(nodes));
		first = end;
	}
}

/* end_of_set: return the end of the set that begins with seed `first`. */
static int
end_of_set(const HybridSpreadSets *all, int first)
{
	int end = first + 1;

	while (end < all->seed_count && all->seeds[end].set == all->seeds[first].set)
		end++;
	return end;
}

/*
 * add_set: add the seeds first .. end - 1 that are nodes of the graph to the slice, as its set number slice->sets.
 * Returns the set's value of all_inside, or 1 if no seed in the graph has activation.
 */
static double
add_set(Slice *slice, int first, int end)
{
	const HybridSpreadSets *all = slice->all;
	int64 filled = slice->start[slice->sets];
	int64 count = hybrid_seeds_find(all->call->csr, all->seeds + first, end - first,
	                                slice->node + filled, slice->value + filled);
	double inside = 0;
	double sum = 0;
	int64 i;

	for (i = first; i < end; i++)
		sum += all->seeds[i].activation;
	for (i = filled; i < filled + count; i++)
		inside += slice->value[i];
	if (isinf(sum) && all->params.hops == -1)
		ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
		                errmsg("sum of the activation of seeds is out of range"),
		                errhint("Give a number of hops, or lower the activation of the seeds.")));
	slice->start[slice->sets + 1] = filled + count;
	return inside < sum && inside > 0 ? sum / inside : 1;
}

/*
 * answer_set: answer one set, whose seeds are first .. end - 1. The rows are the k highest of the nodes with activation
 * above 0 and, if the caller wants them, the unknown seeds with activation above 0. The sum of the activation is
 * canonical: the position of a node in the order of all ids decides to which lane its activation is added.
 */
static void
answer_set(Slice *slice, int first, int end, const HySpreadResult *result, const uint64 *reached)
{
	const HybridSpreadSets *all = slice->all;
	const HyCsr *csr = all->call->csr;
	HybridRanking *ranking = &slice->ranking;
	HybridSpreadRow row = {.set = all->seeds[first].set};
	int64 node = 0;
	int64 unknown = 0; /* seeds so far that are not in the graph */
	double sum;
	int64 i;

	ranking->count = 0;
	memset(slice->lane, 0, sizeof(slice->lane));
	for (; all->unknown && first < end; first++)
	{
		const HybridSeed *seed = &all->seeds[first];
		int64 next = hy_csr_first(csr, seed->id);

		/* rank_nodes handles seeds that are in the graph */
		if (next < csr->nodes && csr->ids[next] == seed->id)
			continue;
		rank_nodes(slice, node, next, unknown, result, reached);
		node = next;
		add_to_sum(slice, node + unknown++, seed->id, seed->activation);
		if (seed->activation > 0)
			hybrid_ranking_add(ranking,
			                   &(HybridScored){seed->id, seed->activation, 0, UNKNOWN_NODE});
	}
	rank_nodes(slice, node, csr->nodes, unknown, result, reached);
	sum = hy_spread_fold(slice->lane);
	if (all->normalized && isinf(sum))
		ereport(ERROR,
		        (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
		         errmsg("sum of the activation of all nodes is out of range"),
		         errhint("Lower the activation of the seeds, decay or the number of hops, or "
		                 "set fan to 1.")));
	hybrid_ranking_sort(ranking);
	for (i = 0; i < ranking->count; i++)
	{
		const HybridScored *scored = &ranking->row[i];

		row.id = scored->id;
		row.activation = scored->score / (all->normalized ? sum : 1);
		row.hop = scored->hop;
		row.via = scored->node == UNKNOWN_NODE
		              ? -1
		              : hy_spread_via(csr, result->sent, reached, scored->node);
		all->take(all->arg, &row);
	}
}

/* rank_nodes: rank the nodes from .. stop - 1 that are reached. The other nodes would add 0 to the sum. */
static void
rank_nodes(Slice *slice, int64 from, int64 stop, int64 unknown, const HySpreadResult *result,
           const uint64 *reached)
{
	const HyCsr *csr = slice->all->call->csr;
	int64 w;

	for (w = from / 64; w * 64 < stop; w++)
	{
		uint64 bits = reached[w];

		CHECK_FOR_INTERRUPTS();
		for (; bits != 0; bits &= bits - 1)
		{
			int64 node = w * 64 + pg_rightmost_one_pos64(bits);
			double score = result->activation[node];

			if (node < from)
				continue;
			if (node >= stop)
				break;
			add_to_sum(slice, node + unknown, csr->ids[node], score);
			if (score > 0 && hybrid_ranking_takes(&slice->ranking, score))
				hybrid_ranking_add(
					&slice->ranking,
					&(HybridScored){csr->ids[node], score, result->hop[node], (uint32) node});
		}
	}
}

/* add_to_sum: add the activation of a node. `place` is the node's position in the order of all ids. */
static inline void
add_to_sum(Slice *slice, int64 place, int64 id, double activation)
{
	if (!(activation <= DBL_MAX))
		ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
		                errmsg("activation of node " INT64_FORMAT " is out of range", id),
		                errhint("Lower decay or the number of hops, or set fan to 1.")));
	slice->lane[place % HY_SPREAD_LANES] += activation;
}
