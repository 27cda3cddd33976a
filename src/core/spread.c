/*
 * spread.c
 *		Activation spreading on the CPU.
 *
 * The spreading from one set of seeds is called a walk.  In a hop of a walk, each row pulls
 * activation from its sources.  If the firing nodes reach only a small part of the graph, only the
 * rows that they reach are pulled.  Each of these rows is pulled whole and by the same kernel, so
 * the bits are the same as if all rows were pulled.  A row that no firing node reaches would only
 * sum zeros.  Most rows that only one or two firing nodes reach need no pull (spread_reach.h).
 * Bitmaps mark the nodes with activation in the current hop, those that fire, and those that were
 * ever reached.  The large arrays hold values only where these bitmaps have bits, so that a walk
 * that reaches few nodes need not clear them.  Sums that must follow id order read a bitmap in that
 * order.
 *
 * If there are several sets of seeds for each thread, each thread walks whole sets, with memory of its
 * own.  Otherwise the steps of a hop run on several threads if the hop is large enough.  Then each
 * thread computes whole rows and whole words of the bitmaps, and sums over nodes stay on the calling
 * thread.  So the bits do not depend on the number of threads.
 */
#include "core/spread.h"

#include <string.h>

#include "core/cpu_features.h"
#include "core/spread_reach.h"
#include "core/spread_steps.h"
#include "core/threads.h"

/*
 * Pulling only the reached rows saves time if they have less than 1 / SPARSE_SHARE of all entries.
 */
#define SPARSE_SHARE 2

/* Work of an entry and of a node in one step of a hop, for hy_threads_for. */
#define ENTRY_WORK 20.0
#define NODE_WORK 20.0

#define PARTS_PER_THREAD 16 /* several, so that threads end a step at about the same time */

/* Walks: one walk per thread.  The threads take the sets in turn. */
typedef struct Walks
{
	HySpreadWalk *walk;
	int count;
	const HySpreadSeeds *seeds;
	const HySpreadResult *result;
	uint64_t *reached; /* bitmaps of all sets; NULL: not wanted */
} Walks;

static int threads_by_set(const HyCsr *graph, int32_t sets);
static bool open_walk(HySpreadWalk *walk, bool reached, const HyAllocator *allocator);
static void close_walk(HySpreadWalk *walk, bool reached, const HyAllocator *allocator);
static HyStatus run_set(void *arg, int64_t set, int worker, const HyCancel *cancel);
static int threads_for(const HySpreadWalk *walk, double work);
static HyStatus walk_set(HySpreadWalk *walk, const HySpreadSeeds *seeds, int32_t set);
static void place_seeds(HySpreadWalk *walk, const HySpreadSeeds *seeds, int32_t set);
static HyStatus run_step(HySpreadStep *step, double work);
static HyStatus run_part(void *arg, int64_t part, int worker, const HyCancel *cancel);
static int64_t first_word(const HySpreadStep *step, int64_t part);
static int64_t mark_reached(HySpreadWalk *walk, int64_t reach);
static void fill_unreached(const HySpreadWalk *walk);
static double active_sum(const HySpreadWalk *walk);

double
hy_spread_work(int64_t nodes, int64_t edges)
{
	return (double) nodes * NODE_WORK + (double) edges * ENTRY_WORK;
}

HyStatus
hy_spread(const HyCsr *graph, const HySpreadParams *params, const HySpreadSeeds *seeds,
          const HyAllocator *allocator, const HyCancel *cancel, const HySpreadResult *result)
{
	return hy_spread_reached(graph, params, seeds, allocator, cancel, result, NULL);
}

HyStatus
hy_spread_reached(const HyCsr *graph, const HySpreadParams *params, const HySpreadSeeds *seeds,
                  const HyAllocator *allocator, const HyCancel *cancel,
                  const HySpreadResult *result, uint64_t *reached)
{
	HySpreadWalk *walk;
	Walks walks = {.seeds = seeds, .result = result, .reached = reached};
	int wanted;
	int i;
	int32_t set;
	HyStatus status = HY_OK;

	if (hy_spread_check(graph, params, seeds) != HY_OK)
		return HY_INVALID;
	if (graph->nodes == 0)
		return HY_OK;

	wanted = threads_by_set(graph, seeds->sets);
	walk = hy_alloc_zero(allocator, (size_t) wanted * sizeof(*walk));
	if (walk == NULL)
		return HY_NOMEM;
	walks.walk = walk;
	for (i = 0; i < wanted; i++)
	{
		walk[i].graph = graph;
		walk[i].params = params;
		walk[i].pull = hy_spread_pull(params->combine, hy_simd_available(HY_SIMD_AVX2));
		if (!open_walk(&walk[i], reached == NULL, allocator))
			break;
		walks.count++;
	}
	if (walks.count == 0)
		status = HY_NOMEM;
	for (i = 0; i < walks.count; i++)
		walk[i].by_set = walks.count > 1;
	if (walks.count > 1)
		status = hy_threads_run(walks.count, seeds->sets, run_set, &walks, cancel);
	for (set = 0; walks.count == 1 && set < seeds->sets && status == HY_OK; set++)
		status = run_set(&walks, set, 0, cancel);
	for (i = 0; i < wanted; i++)
		close_walk(&walk[i], reached == NULL, allocator);
	hy_free(allocator, walk);
	return status;
}

int64_t
hy_spread_via(const HyCsr *graph, const double *sent, const uint64_t *reached, int64_t node)
{
	double most = 0;
	int64_t via = -1;
	int64_t e;

	for (e = graph->row_start[node]; e < graph->row_start[node + 1]; e++)
	{
		uint32_t source = graph->column[e];
		double given;

		if (reached != NULL && (reached[source / 64] >> source % 64 & 1) == 0)
			continue;
		given = sent[source] * graph->weight[e];
		if (given > most && source != node)
		{
			most = given;
			via = source;
		}
	}
	return via;
}

/* threads_by_set: return how many threads process whole sets, or 1 to process the sets in turn. */
static int
threads_by_set(const HyCsr *graph, int32_t sets)
{
	int threads = hy_threads_for((double) sets * (double) graph->nodes * NODE_WORK);

	return sets / HY_SPREAD_SETS_PER_THREAD >= threads ? threads : 1;
}

/*
 * open_walk: allocate the arrays of a walk.  Returns false, with some of them NULL, if out of
 * memory.
 */
static bool
open_walk(HySpreadWalk *walk, bool reached, const HyAllocator *allocator)
{
	size_t nodes = (size_t) walk->graph->nodes;
	int64_t words = hy_spread_words(walk->graph->nodes);

	walk->y = hy_alloc_array(allocator, nodes, sizeof(double));
	walk->charge = hy_alloc_array(allocator, nodes, sizeof(double));
	walk->active = hy_alloc_array(allocator, (size_t) words, sizeof(uint64_t));
	walk->firing = hy_alloc_array(allocator, (size_t) words, sizeof(uint64_t));
	walk->next.reached = hy_alloc_array(allocator, (size_t) words * 3, sizeof(uint64_t));
	if (reached)
		walk->reached = hy_alloc_array(allocator, (size_t) words, sizeof(uint64_t));
	if (walk->params->refire > 0)
		walk->fired = hy_alloc_array(allocator, nodes, sizeof(int32_t));
	if (walk->y == NULL || walk->charge == NULL || walk->active == NULL || walk->firing == NULL ||
	    walk->next.reached == NULL || (reached && walk->reached == NULL) ||
	    (walk->params->refire > 0 && walk->fired == NULL))
		return false;
	walk->next.pulled = walk->next.reached + words;
	walk->next.again = walk->next.pulled + words;
	return true;
}

static void
close_walk(HySpreadWalk *walk, bool reached, const HyAllocator *allocator)
{
	hy_free(allocator, walk->y);
	hy_free(allocator, walk->charge);
	hy_free(allocator, walk->active);
	hy_free(allocator, walk->firing);
	hy_free(allocator, walk->next.reached);
	if (reached)
		hy_free(allocator, walk->reached);
	hy_free(allocator, walk->fired);
}

/* run_set: spread from one set, with the walk of the worker. */
static HyStatus
run_set(void *arg, int64_t set, int worker, const HyCancel *cancel)
{
	const Walks *walks = arg;
	HySpreadWalk *walk = &walks->walk[worker];
	int64_t nodes = walk->graph->nodes;
	HyStatus status;

	walk->cancel = cancel;
	walk->activation = walks->result->activation + set * nodes;
	walk->hop = walks->result->hop + set * nodes;
	walk->sent = walks->result->sent == NULL ? NULL : walks->result->sent + set * nodes;
	if (walks->reached != NULL)
		walk->reached = walks->reached + set * hy_spread_words(nodes);
	status = walk_set(walk, walks->seeds, (int32_t) set);
	if (walks->reached == NULL)
		fill_unreached(walk);
	return status;
}

/* threads_for: return the number of threads for a step of this much work. */
static int
threads_for(const HySpreadWalk *walk, double work)
{
	return walk->by_set ? 1 : hy_threads_for(work);
}

/* walk_set: run all hops of one set of seeds. */
static HyStatus
walk_set(HySpreadWalk *walk, const HySpreadSeeds *seeds, int32_t set)
{
	int32_t hops = walk->params->hops;
	double before;
	double enough;
	int64_t h;

	place_seeds(walk, seeds, set);
	before = active_sum(walk);
	enough = walk->params->tolerance * before;
	for (h = 1; hops == -1 || h <= hops; h++)
	{
		HySpreadStep firing = {.walk = walk, .run = hy_spread_fire};
		HySpreadStep clearing = {.walk = walk, .run = hy_spread_clear_charges};
		HySpreadStep pulling = {.walk = walk, .run = hy_spread_pull_all, .by_entries = true};
		HySpreadStep arriving = {.walk = walk, .run = hy_spread_arrive};
		double nodes_work = (double) walk->graph->nodes * NODE_WORK;
		int64_t entries;
		HyStatus status;

		if (hy_cancelled(walk->cancel))
			return HY_CANCELLED;
		walk->number = (int32_t) h;
		/*
		 * if the last hop pulled only reached rows, few nodes are active, and one thread is enough
		 */
		status = run_step(&firing, walk->everywhere ? nodes_work : 0);
		if (status == HY_OK && !firing.any)
			break;
		entries = status == HY_OK ? mark_reached(walk, firing.reach) : 0;
		walk->everywhere = entries < 0;
		if (!walk->everywhere)
		{
			pulling.run = hy_spread_pull_reached;
			pulling.by_entries = false;
		}
		else if (status == HY_OK)
			status = run_step(&clearing, nodes_work);
		if (status == HY_OK)
			status = run_step(&pulling, walk->everywhere
			                                ? hy_spread_work(walk->graph->nodes, walk->graph->edges)
			                                : (double) entries * ENTRY_WORK);
		if (status == HY_OK)
			status = run_step(&arriving, walk->everywhere ? nodes_work : 0);
		if (status != HY_OK)
			return status;
		if (hops == -1)
		{
			double now = active_sum(walk);

			if (now < enough || now >= before)
				break;
			before = now;
		}
	}
	return HY_OK;
}

/* place_seeds: set y_0 and the results of the seeds, and reset all other state. */
static void
place_seeds(HySpreadWalk *walk, const HySpreadSeeds *seeds, int32_t set)
{
	int64_t nodes = walk->graph->nodes;
	int64_t words = hy_spread_words(nodes);
	int64_t i;

	memset(walk->active, 0, (size_t) words * sizeof(uint64_t));
	memset(walk->next.reached, 0, (size_t) words * 3 * sizeof(uint64_t));
	memset(walk->reached, 0, (size_t) words * sizeof(uint64_t));
	if (walk->fired != NULL)
		memset(walk->fired, 0, (size_t) nodes * sizeof(int32_t));
	walk->everywhere = false;
	for (i = seeds->start[set]; i < seeds->start[set + 1]; i++)
		walk->activation[seeds->node[i]] = 0;
	for (i = seeds->start[set]; i < seeds->start[set + 1]; i++)
		walk->activation[seeds->node[i]] += seeds->value[i];
	for (i = seeds->start[set]; i < seeds->start[set + 1]; i++)
	{
		uint32_t node = seeds->node[i];

		if (!(walk->activation[node] > 0))
			continue;
		walk->y[node] = walk->activation[node];
		walk->hop[node] = 0;
		if (walk->sent != NULL)
			walk->sent[node] = 0;
		walk->active[node / 64] |= (uint64_t) 1 << (node % 64);
		walk->reached[node / 64] |= (uint64_t) 1 << (node % 64);
	}
}

/* run_step: run a step of this much work over all words. */
static HyStatus
run_step(HySpreadStep *step, double work)
{
	const HySpreadWalk *walk = step->walk;
	int threads = threads_for(walk, work);

	if (threads == 1)
		return step->run(step, 0, hy_spread_words(walk->graph->nodes), walk->cancel);
	step->parts = (int64_t) threads * PARTS_PER_THREAD;
	return hy_threads_run(threads, step->parts, run_part, step, walk->cancel);
}

static HyStatus
run_part(void *arg, int64_t part, int worker, const HyCancel *cancel)
{
	HySpreadStep *step = arg;

	(void) worker;
	if (hy_cancelled(cancel))
		return HY_CANCELLED;
	return step->run(step, first_word(step, part), first_word(step, part + 1), cancel);
}

/*
 * first_word: return the first word of a part.  If by_entries is set, all parts have about the same
 * number of nodes plus entries.
 */
static int64_t
first_word(const HySpreadStep *step, int64_t part)
{
	const HyCsr *graph = step->walk->graph;
	int64_t words = hy_spread_words(graph->nodes);
	int64_t all = graph->nodes + graph->edges;
	/* this cannot overflow, because there are few parts */
	int64_t wanted = all / step->parts * part + all % step->parts * part / step->parts;
	int64_t low = 0;
	int64_t high = words;

	if (!step->by_entries)
		return words * part / step->parts;
	while (low < high)
	{
		int64_t middle = low + (high - low) / 2;

		if (middle * 64 + graph->row_start[middle * 64] < wanted)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * mark_reached: decide whether to pull only rows that are reached.  If so, mark these rows in next,
 * set y of the rows that need no pull, and return the number of entries of the rows to pull.
 * Otherwise return -1.  A charge of 0 reaches nothing, because it could only add 0.
 */
static int64_t
mark_reached(HySpreadWalk *walk, int64_t reach)
{
	const HyCsr *graph = walk->graph;
	const HySpreadCharges charges = {walk->charge, walk->firing};
	int64_t most = graph->edges / SPARSE_SHARE;
	/*
	 * Pushing adds charges directly to y.  Only pulls can run on several threads, so push only if
	 * the hop is too small for several.
	 */
	bool push = walk->params->combine == HY_COMBINE_SUM && graph->at_least_one &&
	            threads_for(walk, (double) reach * ENTRY_WORK) == 1;

	if (graph->out_start == NULL || reach > most)
		return -1;
	return hy_spread_reach(graph, &charges, walk->params->hub, push, push ? most - reach : most,
	                       &walk->next, walk->y);
}

/* fill_unreached: set the results of the nodes that were not reached. */
static void
fill_unreached(const HySpreadWalk *walk)
{
	int64_t nodes = walk->graph->nodes;
	int64_t i;

	for (i = 0; i < nodes; i++)
	{
		if ((walk->reached[i / 64] >> i % 64 & 1) != 0)
			continue;
		walk->activation[i] = 0;
		walk->hop[i] = -1;
		if (walk->sent != NULL)
			walk->sent[i] = 0;
	}
}

/* active_sum: return |y|_1 in canonical order.  Inactive nodes would add 0. */
static double
active_sum(const HySpreadWalk *walk)
{
	double lane[HY_SPREAD_LANES] = {0};
	int64_t words = hy_spread_words(walk->graph->nodes);
	int64_t w;

	for (w = 0; w < words; w++)
	{
		uint64_t bits = walk->active[w];
		const double *y = walk->y + w * 64;
		int l;

		/* a loop without branches, which compilers can vectorize; it adds in the same order */
		for (l = 0; bits == ~(uint64_t) 0 && l < HY_SPREAD_LANES; l++)
			lane[l] = lane[l] + y[l] + y[l + HY_SPREAD_LANES];
		if (bits == ~(uint64_t) 0)
			continue;
		for (; bits != 0; bits &= bits - 1)
		{
			int64_t i = __builtin_ctzll(bits);

			lane[i % HY_SPREAD_LANES] += y[i];
		}
	}
	return hy_spread_fold(lane);
}
