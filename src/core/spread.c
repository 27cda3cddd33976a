/*
 * spread.c
 *		Activation spreading on the CPU.
 *
 * In a hop, each row pulls activation from its sources.  If the firing nodes reach only a small
 * part of the graph, only the rows that they reach are pulled.  Each of these rows is pulled whole
 * and by the same kernel, so the bits are the same as if all rows were pulled.  A row that no
 * firing node reaches would only sum zeros.  Most rows that only one or two firing nodes reach need no
 * pull (spread_reach.h).  Bitmaps mark the nodes with activation in the current
 * hop, those that fire, and those that were ever reached.  The large arrays hold values only where
 * these bitmaps have bits, so that a walk that reaches few nodes need not clear them.  Sums that must
 * follow id order walk a bitmap in that order.
 *
 * The steps of a hop run on several threads if the hop is large enough.  Each thread computes whole
 * rows and whole words of the bitmaps, and sums over nodes stay on the calling thread.  So the bits
 * do not depend on the number of threads.
 */
#include "core/spread.h"

#include <string.h>

#include "core/cpu_features.h"
#include "core/spread_pull.h"
#include "core/spread_reach.h"
#include "core/threads.h"

/* Entries between two polls of the caller's cancel: about 0.3 ms; a multiple of the lanes. */
#define BLOCK 65536

/* A sparse hop saves time if it touches less than 1 / SPARSE_SHARE of the entries. */
#define SPARSE_SHARE 2

/* Work of an entry and of a node in one step of a hop, for hy_threads_for. */
#define ENTRY_WORK 20.0
#define NODE_WORK 20.0

#define PARTS_PER_THREAD 16 /* so that threads end a step at about the same time */

/* Rows that are listed before they are pulled. */
#define LISTED 512

/* Walk: the state of the spreading from one set of seeds. */
typedef struct Walk
{
	const HyCsr *graph;
	const HySpreadParams *params;
	const HyCancel *cancel;
	HySpreadPull pull;
	bool everywhere;    /* the last pull computed all rows; initially false */
	int32_t number;     /* number of the current hop */
	double *y;          /* activation that arrived in the last hop; undefined outside active */
	double *charge;     /* c_i; undefined outside firing, unless all rows are pulled */
	int32_t *fired;     /* times each node has fired; NULL without refire */
	uint64_t *active;   /* bitmap of nodes whose y is not 0 */
	uint64_t *firing;   /* bitmap of nodes whose charge is not 0 */
	HySpreadRows next;  /* rows that the next hop may reach; all 0 between hops */
	uint64_t *reached;  /* bitmap of nodes with activation so far */
	double *activation; /* undefined outside reached, as are hop and sent */
	int32_t *hop;
	double *sent; /* NULL: not wanted */
} Walk;

/* Step: a step of a hop, over a range of words of the bitmaps. */
typedef struct Step
{
	Walk *walk;
	HyStatus (*run)(struct Step *step, int64_t from, int64_t to, const HyCancel *cancel);
	int64_t parts;
	bool by_entries; /* whether parts have about the same number of entries instead of nodes */
	bool any;        /* set by fire, atomic: whether any node fires */
	int64_t reach;   /* set by fire, atomic: number of entries that leave the firing nodes */
} Step;

static HyStatus walk_set(Walk *walk, const HySpreadSeeds *seeds, int32_t set);
static void place_seeds(Walk *walk, const HySpreadSeeds *seeds, int32_t set);
static HyStatus run_step(Step *step, double work);
static HyStatus run_part(void *arg, int64_t part, int worker, const HyCancel *cancel);
static int64_t first_word(const Step *step, int64_t part);
static HyStatus fire(Step *step, int64_t from, int64_t end, const HyCancel *cancel);
static uint64_t fire_all(const Walk *walk, int64_t first);
static uint64_t nonzero(const double *value);
static int64_t mark_reached(Walk *walk, int64_t reach);
static HyStatus pull_all(Step *step, int64_t from, int64_t end, const HyCancel *cancel);
static HyStatus clear_charges(Step *step, int64_t from, int64_t end, const HyCancel *cancel);
static HyStatus pull_reached(Step *step, int64_t from, int64_t end, const HyCancel *cancel);
static void pull_listed(const Walk *walk, const uint32_t *row, int64_t rows);
static HyStatus pull_long_row(const Walk *walk, int64_t row, const HyCancel *cancel);
static HyStatus arrive(Step *step, int64_t from, int64_t end, const HyCancel *cancel);
static void fill_unreached(const Walk *walk);
static double active_sum(const Walk *walk);

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
	Walk walk;
	int64_t words;
	int32_t set;
	HyStatus status = HY_NOMEM;

	if (hy_spread_check(graph, params, seeds) != HY_OK)
		return HY_INVALID;
	if (graph->nodes == 0)
		return HY_OK;

	words = hy_spread_words(graph->nodes);
	memset(&walk, 0, sizeof(walk));
	walk.graph = graph;
	walk.params = params;
	walk.cancel = cancel;
	walk.pull = hy_spread_pull(params->combine, hy_simd_available(HY_SIMD_AVX2));
	walk.y = hy_alloc_array(allocator, (size_t) graph->nodes, sizeof(double));
	walk.charge = hy_alloc_array(allocator, (size_t) graph->nodes, sizeof(double));
	walk.active = hy_alloc_array(allocator, (size_t) words, sizeof(uint64_t));
	walk.firing = hy_alloc_array(allocator, (size_t) words, sizeof(uint64_t));
	walk.next.reached = hy_alloc_array(allocator, (size_t) words * 3, sizeof(uint64_t));
	if (reached == NULL)
		walk.reached = hy_alloc_array(allocator, (size_t) words, sizeof(uint64_t));
	if (params->refire > 0)
		walk.fired = hy_alloc_array(allocator, (size_t) graph->nodes, sizeof(int32_t));
	if (walk.y == NULL || walk.charge == NULL || walk.active == NULL || walk.firing == NULL ||
	    walk.next.reached == NULL || (reached == NULL && walk.reached == NULL) ||
	    (params->refire > 0 && walk.fired == NULL))
		goto done;

	walk.next.pulled = walk.next.reached + words;
	walk.next.again = walk.next.pulled + words;
	status = HY_OK;
	for (set = 0; set < seeds->sets && status == HY_OK; set++)
	{
		walk.activation = result->activation + (int64_t) set * graph->nodes;
		walk.hop = result->hop + (int64_t) set * graph->nodes;
		walk.sent = result->sent == NULL ? NULL : result->sent + (int64_t) set * graph->nodes;
		if (reached != NULL)
			walk.reached = reached + (int64_t) set * words;
		status = walk_set(&walk, seeds, set);
		if (reached == NULL)
			fill_unreached(&walk);
	}

done:
	hy_free(allocator, walk.y);
	hy_free(allocator, walk.charge);
	hy_free(allocator, walk.active);
	hy_free(allocator, walk.firing);
	hy_free(allocator, walk.next.reached);
	if (reached == NULL)
		hy_free(allocator, walk.reached);
	hy_free(allocator, walk.fired);
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

/* walk_set: run all hops of one set of seeds. */
static HyStatus
walk_set(Walk *walk, const HySpreadSeeds *seeds, int32_t set)
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
		Step firing = {.walk = walk, .run = fire};
		Step clearing = {.walk = walk, .run = clear_charges};
		Step pulling = {.walk = walk, .run = pull_all, .by_entries = true};
		Step arriving = {.walk = walk, .run = arrive};
		double nodes_work = (double) walk->graph->nodes * NODE_WORK;
		int64_t entries;
		HyStatus status;

		if (hy_cancelled(walk->cancel))
			return HY_CANCELLED;
		walk->number = (int32_t) h;
		/* after a sparse hop, only a few nodes are active */
		status = run_step(&firing, walk->everywhere ? nodes_work : 0);
		if (status == HY_OK && !firing.any)
			break;
		entries = status == HY_OK ? mark_reached(walk, firing.reach) : 0;
		walk->everywhere = entries < 0;
		if (!walk->everywhere)
		{
			pulling.run = pull_reached;
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
place_seeds(Walk *walk, const HySpreadSeeds *seeds, int32_t set)
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
run_step(Step *step, double work)
{
	const Walk *walk = step->walk;
	int threads = hy_threads_for(work);

	if (threads == 1)
		return step->run(step, 0, hy_spread_words(walk->graph->nodes), walk->cancel);
	step->parts = (int64_t) threads * PARTS_PER_THREAD;
	return hy_threads_run(threads, step->parts, run_part, step, walk->cancel);
}

static HyStatus
run_part(void *arg, int64_t part, int worker, const HyCancel *cancel)
{
	Step *step = arg;

	(void) worker;
	if (hy_cancelled(cancel))
		return HY_CANCELLED;
	return step->run(step, first_word(step, part), first_word(step, part + 1), cancel);
}

/*
 * first_word: return the first word of a part.  By entries, all parts have about the same number of
 * nodes and entries together.
 */
static int64_t
first_word(const Step *step, int64_t part)
{
	const HyCsr *graph = step->walk->graph;
	int64_t words = hy_spread_words(graph->nodes);
	int64_t all = graph->nodes + graph->edges;
	/* without overflow, since parts are few */
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
 * fire: set the charge of the nodes that fire.  Sets step->any if a node fires, and adds the number of
 * entries that leave the firing nodes to step->reach.
 */
static HyStatus
fire(Step *step, int64_t from, int64_t end, const HyCancel *cancel)
{
	Walk *walk = step->walk;
	const HySpreadParams *params = walk->params;
	const HyCsr *graph = walk->graph;
	bool any = false;
	int64_t reach = 0;
	int64_t w;

	(void) cancel;
	for (w = from; w < end; w++)
	{
		uint64_t bits = walk->active[w];
		uint64_t firing = 0;

		if (bits == ~(uint64_t) 0 && params->threshold == 0 && walk->fired == NULL)
		{
			walk->firing[w] = fire_all(walk, w * 64);
			any = true;
			if (graph->out_start != NULL)
				reach += graph->out_start[w * 64 + 64] - graph->out_start[w * 64];
			continue;
		}
		for (; bits != 0; bits &= bits - 1)
		{
			int64_t i = w * 64 + __builtin_ctzll(bits);

			if (!(walk->y[i] >= params->threshold))
				continue;
			if (walk->fired != NULL)
			{
				if (walk->fired[i] >= params->refire)
					continue;
				walk->fired[i]++;
			}
			any = true;
			walk->charge[i] =
				walk->y[i] * hy_spread_gain(graph->out_weight[i], params->decay, params->fan);
			if (walk->sent != NULL && params->combine == HY_COMBINE_SUM)
				walk->sent[i] += walk->charge[i];
			else if (walk->sent != NULL && walk->charge[i] > walk->sent[i])
				walk->sent[i] = walk->charge[i];
			if (walk->charge[i] != 0)
				firing |= bits & -bits;
			if (graph->out_start != NULL)
			{
				__builtin_prefetch(&graph->out_row[graph->out_start[i]]);
				reach += graph->out_start[i + 1] - graph->out_start[i];
			}
		}
		walk->firing[w] = firing;
	}
	if (any)
		__atomic_store_n(&step->any, true, __ATOMIC_RELAXED);
	__atomic_fetch_add(&step->reach, reach, __ATOMIC_RELAXED);
	return HY_OK;
}

/*
 * fire_all: do the same as fire for one word.  All of its 64 nodes are active, and there is no threshold.
 * Returns the bits of the nodes whose charge is not 0.  A node whose y is NaN does not fire.
 */
static uint64_t
fire_all(const Walk *walk, int64_t first)
{
	const double *y = walk->y + first;
	const double *sum = walk->graph->out_weight + first;
	double *charge = walk->charge + first;
	double decay = walk->params->decay;
	double fan = walk->params->fan;
	int i;

	for (i = 0; i < 64; i++)
		charge[i] = y[i] >= 0 ? y[i] * hy_spread_gain(sum[i], decay, fan) : 0;
	if (walk->sent != NULL)
	{
		double *sent = walk->sent + first;

		for (i = 0; i < 64; i++)
		{
			if (walk->params->combine == HY_COMBINE_SUM)
				sent[i] += charge[i];
			else
				sent[i] = charge[i] > sent[i] ? charge[i] : sent[i];
		}
	}
	return nonzero(charge);
}

/* nonzero: return a word with a bit for each of 64 values: 1 if the value is not 0. */
static uint64_t
nonzero(const double *value)
{
	uint64_t bits = 0;
	int i;

	for (i = 0; i < 64; i++)
		bits |= (uint64_t) (value[i] != 0) << i;
	return bits;
}

/*
 * mark_reached: decide whether to pull only rows that are reached.  If so, mark them in next, set y of
 * those that need no pull, and return the number of entries of the others.  Otherwise return -1.  A
 * charge of 0 reaches nothing, because it could only add 0.
 */
static int64_t
mark_reached(Walk *walk, int64_t reach)
{
	const HyCsr *graph = walk->graph;
	const HySpreadCharges charges = {walk->charge, walk->firing};
	int64_t most = graph->edges / SPARSE_SHARE;
	/* only pulls run on several threads */
	bool push = walk->params->combine == HY_COMBINE_SUM && graph->at_least_one &&
	            hy_threads_for((double) reach * ENTRY_WORK) == 1;

	if (graph->out_start == NULL || reach > most)
		return -1;
	return hy_spread_reach(graph, &charges, walk->params->hub, push, push ? most - reach : most,
	                       &walk->next, walk->y);
}

/* pull_all: compute y of every row of some words, in blocks of about BLOCK entries or rows. */
static HyStatus
pull_all(Step *step, int64_t from, int64_t end, const HyCancel *cancel)
{
	const Walk *walk = step->walk;
	const HyCsr *graph = walk->graph;
	const double *hub = walk->params->hub;
	int64_t row;

	from *= 64;
	end = end * 64 < graph->nodes ? end * 64 : graph->nodes;
	while (from < end)
	{
		int64_t to = from + 1;

		while (to < end && to - from < BLOCK &&
		       graph->row_start[to + 1] - graph->row_start[from] <= BLOCK)
			to++;
		if (graph->row_start[to] - graph->row_start[from] > BLOCK)
		{
			if (pull_long_row(walk, from, cancel) != HY_OK)
				return HY_CANCELLED;
		}
		else
		{
			walk->pull.rows(graph, walk->charge, from, to, walk->y);
			for (row = from; hub != NULL && row < to; row++)
				walk->y[row] /= hub[row];
		}
		if (hy_cancelled(cancel))
			return HY_CANCELLED;
		from = to;
	}
	return HY_OK;
}

/* clear_charges: set the charges of the nodes that do not fire to 0. */
static HyStatus
clear_charges(Step *step, int64_t from, int64_t end, const HyCancel *cancel)
{
	Walk *walk = step->walk;
	int64_t nodes = walk->graph->nodes;
	int64_t w;

	(void) cancel;
	for (w = from; w < end; w++)
	{
		int64_t rest = nodes - w * 64;
		uint64_t bits = ~walk->firing[w];

		if (rest < 64)
			bits &= ((uint64_t) 1 << rest) - 1;
		for (; bits != 0; bits &= bits - 1)
			walk->charge[w * 64 + __builtin_ctzll(bits)] = 0;
	}
	return HY_OK;
}

/* pull_reached: compute y of the rows in next that must be pulled. */
static HyStatus
pull_reached(Step *step, int64_t from, int64_t end, const HyCancel *cancel)
{
	const Walk *walk = step->walk;
	const HyCsr *graph = walk->graph;
	uint32_t row[LISTED];
	int64_t entries = 0;
	int64_t rows = 0;
	int64_t w;

	for (w = from; w < end; w++)
	{
		uint64_t bits = walk->next.pulled[w];

		for (; bits != 0; bits &= bits - 1)
		{
			int64_t i = w * 64 + __builtin_ctzll(bits);
			int64_t count = graph->row_start[i + 1] - graph->row_start[i];

			if (count > BLOCK)
			{
				if (pull_long_row(walk, i, cancel) != HY_OK)
					return HY_CANCELLED;
				continue;
			}
			row[rows++] = (uint32_t) i;
			entries += count;
			if (rows < LISTED && entries < BLOCK)
				continue;
			pull_listed(walk, row, rows);
			if (entries >= BLOCK && hy_cancelled(cancel))
				return HY_CANCELLED;
			entries = entries >= BLOCK ? 0 : entries;
			rows = 0;
		}
	}
	pull_listed(walk, row, rows);
	return HY_OK;
}

/* pull_listed: compute y of the listed rows. */
static void
pull_listed(const Walk *walk, const uint32_t *row, int64_t rows)
{
	const double *hub = walk->params->hub;
	int64_t i;

	walk->pull.listed(walk->graph, &(HySpreadCharges){walk->charge, walk->firing}, row, rows,
	                  walk->y);
	for (i = 0; hub != NULL && i < rows; i++)
		walk->y[row[i]] /= hub[row[i]];
}

/* pull_long_row: compute y of one row, a block at a time. */
static HyStatus
pull_long_row(const Walk *walk, int64_t row, const HyCancel *cancel)
{
	const HyCsr *graph = walk->graph;
	const HySpreadCharges charges = {walk->charge, walk->firing};
	double lane[HY_SPREAD_LANES] = {0};
	int64_t begin = graph->row_start[row];
	int64_t end = graph->row_start[row + 1];

	for (; begin < end; begin += BLOCK)
	{
		int64_t count = end - begin < BLOCK ? end - begin : BLOCK;

		walk->pull.add(graph->column + begin, graph->weight + begin, count, &charges, lane);
		if (hy_cancelled(cancel))
			return HY_CANCELLED;
	}
	/* A maximum uses only lane 0.  Adding the other lanes, which are 0, changes nothing. */
	walk->y[row] = hy_spread_fold(lane);
	if (walk->params->hub != NULL)
		walk->y[row] /= walk->params->hub[row];
	return HY_OK;
}

/*
 * arrive: finish a pull.  Makes the new y active, and combines it into the result.  If `everywhere`
 * is set, any row may have a new y.  Otherwise, only the rows marked in next may have one.
 */
static HyStatus
arrive(Step *step, int64_t from, int64_t end, const HyCancel *cancel)
{
	Walk *walk = step->walk;
	int64_t nodes = walk->graph->nodes;
	int64_t words = hy_spread_words(nodes);
	bool sum = walk->params->combine == HY_COMBINE_SUM;
	int64_t w;

	(void) cancel;
	for (w = from; w < end; w++)
	{
		uint64_t bits = walk->next.reached[w];
		uint64_t arrived = 0;

		if (walk->everywhere)
			bits = w == words - 1 && nodes % 64 != 0 ? ((uint64_t) 1 << (nodes % 64)) - 1
			                                         : ~(uint64_t) 0;
		if (bits == ~(uint64_t) 0 && walk->reached[w] == ~(uint64_t) 0 && sum)
		{
			double *activation = walk->activation + w * 64;
			const double *y = walk->y + w * 64;
			int i;

			/* without branches, so that compilers can vectorize it; + 0 changes nothing */
			for (i = 0; i < 64; i++)
				activation[i] += y[i];
			walk->active[w] = nonzero(y);
			walk->next.reached[w] = 0;
			walk->next.pulled[w] = 0;
			continue;
		}
		for (; bits != 0; bits &= bits - 1)
		{
			int64_t i = w * 64 + __builtin_ctzll(bits);
			double y = walk->y[i];

			/* not "y > 0": an overflow to NaN must show in the result */
			if (y == 0)
				continue;
			arrived |= bits & -bits;
			if ((walk->reached[w] & bits & -bits) == 0)
			{
				walk->activation[i] = y;
				walk->hop[i] = walk->number;
				if (walk->sent != NULL)
					walk->sent[i] = 0;
			}
			else if (sum)
				walk->activation[i] += y;
			else if (!(y <= walk->activation[i]))
				walk->activation[i] = y;
		}
		walk->reached[w] |= arrived;
		walk->active[w] = arrived;
		walk->next.reached[w] = 0;
		walk->next.pulled[w] = 0;
	}
	return HY_OK;
}

/* fill_unreached: set the results of the nodes that were not reached. */
static void
fill_unreached(const Walk *walk)
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
active_sum(const Walk *walk)
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
