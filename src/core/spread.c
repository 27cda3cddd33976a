/*
 * spread.c
 *		Activation spreading on the CPU.
 *
 * In a hop, each row pulls activation from its sources.  If the firing nodes reach only a small
 * part of the graph, only the rows that they reach are pulled.  Each of these rows is pulled whole
 * and by the same kernel, so the bits are the same as if all rows were pulled.  A row that no
 * firing node reaches would only sum zeros.  A bitmap marks the nodes with activation in the
 * current hop.  Sums that must follow id order walk the bitmap in that order.
 *
 * The steps of a hop run on several threads if the hop is large enough.  Each thread computes whole
 * rows and whole words of the bitmaps, and sums over nodes stay on the calling thread.  So the bits
 * do not depend on the number of threads.
 */
#include "core/spread.h"

#include <string.h>

#include "core/cpu_features.h"
#include "core/spread_pull.h"
#include "core/threads.h"

/* Entries between two polls of the caller's cancel: about 0.3 ms; a multiple of the lanes. */
#define BLOCK 65536

/* A sparse hop saves time if it touches less than 1 / SPARSE_SHARE of the entries. */
#define SPARSE_SHARE 4

/* Work of an entry and of a node in one step of a hop, for hy_threads_for. */
#define ENTRY_WORK 20.0
#define NODE_WORK 20.0

#define PARTS_PER_THREAD 16 /* so that threads end a step at about the same time */

/* Walk: the state of one set of seeds on its way through the graph. */
typedef struct Walk
{
	const HyCsr *graph;
	const HySpreadParams *params;
	const HyCancel *cancel;
	HySpreadPull pull;
	bool everywhere;  /* the last pull computed all rows; initially false */
	double *y;        /* activation that arrived in the last hop; undefined outside active */
	double *charge;   /* 0 where node i does not fire */
	int32_t *fired;   /* times each node has fired; NULL without refire */
	uint64_t *active; /* bitmap of nodes whose y is not 0 */
	uint64_t *next;   /* bitmap of rows that the next hop may reach; all 0 between hops */
	double *activation;
	int32_t *hop;
	double *sent;   /* NULL: not wanted */
	int32_t number; /* number of the current hop */
} Walk;

/* Step: a step of a hop, divided into ranges of words of the bitmaps. */
typedef struct Step
{
	Walk *walk;
	int64_t parts;
	bool any;      /* atomic; fire: a node fires */
	int64_t reach; /* atomic; fire: number of entries that leave the firing nodes */
} Step;

static HyStatus walk_set(Walk *walk, const HySpreadSeeds *seeds, int32_t set);
static void place_seeds(Walk *walk, const HySpreadSeeds *seeds, int32_t set);
static HyStatus fire(Walk *walk, bool *any, int64_t *reach);
static HyStatus fire_part(void *arg, int64_t part, int worker, const HyCancel *cancel);
static bool fire_words(Walk *walk, int64_t from, int64_t to, int64_t *reach);
static int64_t mark_reached(Walk *walk, int64_t reach);
static HyStatus pull_all(Walk *walk);
static HyStatus pull_part(void *arg, int64_t part, int worker, const HyCancel *cancel);
static int64_t first_row(const HyCsr *graph, int64_t part, int64_t parts);
static HyStatus pull_rows(const Walk *walk, int64_t from, int64_t to, const HyCancel *cancel);
static HyStatus pull_reached(Walk *walk, int64_t entries);
static HyStatus pull_reached_part(void *arg, int64_t part, int worker, const HyCancel *cancel);
static HyStatus
pull_reached_words(const Walk *walk, int64_t from, int64_t to, const HyCancel *cancel);
static HyStatus pull_range(const Walk *walk, int64_t from, int64_t to, const HyCancel *cancel);
static HyStatus pull_long_row(const Walk *walk, int64_t row, const HyCancel *cancel);
static HyStatus arrive(Walk *walk);
static HyStatus arrive_part(void *arg, int64_t part, int worker, const HyCancel *cancel);
static void arrive_words(Walk *walk, int64_t from, int64_t to);
static double active_sum(const Walk *walk);

static inline int64_t
words_of(int64_t nodes)
{
	return (nodes + 63) / 64;
}

/* share_of: return the first word of a part, if all parts have about the same number of words. */
static inline int64_t
share_of(const Walk *walk, int64_t part, int64_t parts)
{
	return words_of(walk->graph->nodes) * part / parts;
}

double
hy_spread_work(int64_t nodes, int64_t edges)
{
	return (double) nodes * NODE_WORK + (double) edges * ENTRY_WORK;
}

HyStatus
hy_spread(const HyCsr *graph, const HySpreadParams *params, const HySpreadSeeds *seeds,
          const HyAllocator *allocator, const HyCancel *cancel, const HySpreadResult *result)
{
	Walk walk;
	int64_t words;
	int32_t set;
	HyStatus status = HY_NOMEM;

	if (hy_spread_check(graph, params, seeds) != HY_OK)
		return HY_INVALID;
	if (graph->nodes == 0)
		return HY_OK;

	words = words_of(graph->nodes);
	memset(&walk, 0, sizeof(walk));
	walk.graph = graph;
	walk.params = params;
	walk.cancel = cancel;
	walk.pull = hy_spread_pull(params->combine, hy_simd_available(HY_SIMD_AVX2));
	walk.y = hy_alloc_array(allocator, (size_t) graph->nodes, sizeof(double));
	walk.charge = hy_alloc_array(allocator, (size_t) graph->nodes, sizeof(double));
	walk.active = hy_alloc_array(allocator, (size_t) words, sizeof(uint64_t));
	walk.next = hy_alloc_array(allocator, (size_t) words, sizeof(uint64_t));
	if (params->refire > 0)
		walk.fired = hy_alloc_array(allocator, (size_t) graph->nodes, sizeof(int32_t));
	if (walk.y == NULL || walk.charge == NULL || walk.active == NULL || walk.next == NULL ||
	    (params->refire > 0 && walk.fired == NULL))
		goto done;

	status = HY_OK;
	for (set = 0; set < seeds->sets && status == HY_OK; set++)
	{
		walk.activation = result->activation + (int64_t) set * graph->nodes;
		walk.hop = result->hop + (int64_t) set * graph->nodes;
		walk.sent = result->sent == NULL ? NULL : result->sent + (int64_t) set * graph->nodes;
		status = walk_set(&walk, seeds, set);
	}

done:
	hy_free(allocator, walk.y);
	hy_free(allocator, walk.charge);
	hy_free(allocator, walk.active);
	hy_free(allocator, walk.next);
	hy_free(allocator, walk.fired);
	return status;
}

int64_t
hy_spread_via(const HyCsr *graph, const double *sent, int64_t node)
{
	double most = 0;
	int64_t via = -1;
	int64_t e;

	for (e = graph->row_start[node]; e < graph->row_start[node + 1]; e++)
	{
		uint32_t source = graph->column[e];
		double given = sent[source] * graph->weight[e];

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
		int64_t reach;
		int64_t entries;
		bool any;
		HyStatus status;

		if (hy_cancelled(walk->cancel))
			return HY_CANCELLED;
		walk->number = (int32_t) h;
		status = fire(walk, &any, &reach);
		if (status != HY_OK)
			return status;
		if (!any)
			break;
		entries = mark_reached(walk, reach);
		walk->everywhere = entries < 0;
		status = walk->everywhere ? pull_all(walk) : pull_reached(walk, entries);
		if (status == HY_OK)
			status = arrive(walk);
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

/* place_seeds: set y_0, a and hop, and reset all other state. */
static void
place_seeds(Walk *walk, const HySpreadSeeds *seeds, int32_t set)
{
	int64_t nodes = walk->graph->nodes;
	int64_t i;

	memset(walk->activation, 0, (size_t) nodes * sizeof(double));
	memset(walk->hop, -1, (size_t) nodes * sizeof(int32_t));
	if (walk->sent != NULL)
		memset(walk->sent, 0, (size_t) nodes * sizeof(double));
	memset(walk->charge, 0, (size_t) nodes * sizeof(double));
	memset(walk->active, 0, (size_t) words_of(nodes) * sizeof(uint64_t));
	memset(walk->next, 0, (size_t) words_of(nodes) * sizeof(uint64_t));
	if (walk->fired != NULL)
		memset(walk->fired, 0, (size_t) nodes * sizeof(int32_t));
	walk->everywhere = false;
	for (i = seeds->start[set]; i < seeds->start[set + 1]; i++)
		walk->activation[seeds->node[i]] += seeds->value[i];
	for (i = seeds->start[set]; i < seeds->start[set + 1]; i++)
	{
		uint32_t node = seeds->node[i];

		if (!(walk->activation[node] > 0))
			continue;
		walk->y[node] = walk->activation[node];
		walk->hop[node] = 0;
		walk->active[node / 64] |= (uint64_t) 1 << (node % 64);
	}
}

/*
 * step_threads: return the number of threads for a step over all nodes, without the entries.  After
 * a sparse hop, only a few nodes are active.
 */
static int
step_threads(const Walk *walk)
{
	return walk->everywhere ? hy_threads_for((double) walk->graph->nodes * NODE_WORK) : 1;
}

/*
 * fire: set the charge of the nodes that fire, *any to whether a node fires, and *reach to the
 * number of entries that leave the firing nodes.
 */
static HyStatus
fire(Walk *walk, bool *any, int64_t *reach)
{
	int threads = step_threads(walk);
	Step step = {.walk = walk, .parts = (int64_t) threads * PARTS_PER_THREAD};
	HyStatus status = HY_OK;

	if (threads > 1)
		status = hy_threads_run(threads, step.parts, fire_part, &step, walk->cancel);
	else
		step.any = fire_words(walk, 0, words_of(walk->graph->nodes), &step.reach);
	*any = step.any;
	*reach = step.reach;
	return status;
}

static HyStatus
fire_part(void *arg, int64_t part, int worker, const HyCancel *cancel)
{
	Step *step = arg;
	int64_t reach = 0;

	(void) worker;
	if (hy_cancelled(cancel))
		return HY_CANCELLED;
	if (fire_words(step->walk, share_of(step->walk, part, step->parts),
	               share_of(step->walk, part + 1, step->parts), &reach))
		__atomic_store_n(&step->any, true, __ATOMIC_RELAXED);
	__atomic_fetch_add(&step->reach, reach, __ATOMIC_RELAXED);
	return HY_OK;
}

/* fire_words: do so for a range of words, and add to *reach.  Returns whether a node fires. */
static bool
fire_words(Walk *walk, int64_t from, int64_t to, int64_t *reach)
{
	const HySpreadParams *params = walk->params;
	const HyCsr *graph = walk->graph;
	bool any = false;
	int64_t w;

	for (w = from; w < to; w++)
	{
		uint64_t bits = walk->active[w];

		for (; bits != 0; bits &= bits - 1)
		{
			int64_t i = w * 64 + __builtin_ctzll(bits);

			walk->charge[i] = 0;
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
			if (graph->out_start != NULL)
				*reach += graph->out_start[i + 1] - graph->out_start[i];
		}
	}
	return any;
}

/*
 * mark_reached: decide whether to pull only the rows that are reached.  If so, mark them in next, and
 * return the number of their entries.  Otherwise return -1.  A charge of 0 reaches nothing, because
 * it could only add 0.
 */
static int64_t
mark_reached(Walk *walk, int64_t reach)
{
	const HyCsr *graph = walk->graph;
	int64_t words = words_of(graph->nodes);
	int64_t entries = 0;
	bool sparse = true;
	int64_t limit = graph->edges / SPARSE_SHARE;
	int64_t w;

	if (graph->out_start == NULL || reach > limit)
		return -1;
	for (w = 0; w < words && sparse; w++)
	{
		uint64_t bits = walk->active[w];

		for (; bits != 0; bits &= bits - 1)
		{
			int64_t i = w * 64 + __builtin_ctzll(bits);
			int64_t e;

			if (walk->charge[i] == 0)
				continue;
			for (e = graph->out_start[i]; e < graph->out_start[i + 1]; e++)
			{
				uint32_t row = graph->out_row[e];
				uint64_t bit = (uint64_t) 1 << (row % 64);

				if ((walk->next[row / 64] & bit) == 0)
				{
					walk->next[row / 64] |= bit;
					entries += graph->row_start[row + 1] - graph->row_start[row];
				}
			}
		}
		sparse = entries <= limit;
	}
	if (!sparse)
		memset(walk->next, 0, (size_t) words * sizeof(uint64_t));
	return sparse ? entries : -1;
}

/* pull_all: compute y of every row. */
static HyStatus
pull_all(Walk *walk)
{
	const HyCsr *graph = walk->graph;
	int threads = hy_threads_for(hy_spread_work(graph->nodes, graph->edges));
	Step step = {.walk = walk, .parts = (int64_t) threads * PARTS_PER_THREAD};

	if (threads > 1)
		return hy_threads_run(threads, step.parts, pull_part, &step, walk->cancel);
	return pull_rows(walk, 0, graph->nodes, walk->cancel);
}

static HyStatus
pull_part(void *arg, int64_t part, int worker, const HyCancel *cancel)
{
	const Step *step = arg;
	const HyCsr *graph = step->walk->graph;

	(void) worker;
	return pull_rows(step->walk, first_row(graph, part, step->parts),
	                 first_row(graph, part + 1, step->parts), cancel);
}

/*
 * first_row: return the first row of a part, if all parts have about the same number of rows and
 * entries together.
 */
static int64_t
first_row(const HyCsr *graph, int64_t part, int64_t parts)
{
	int64_t all = graph->nodes + graph->edges;
	/* without overflow, since parts is small */
	int64_t wanted = all / parts * part + all % parts * part / parts;
	int64_t low = 0;
	int64_t high = graph->nodes;

	while (low < high)
	{
		int64_t middle = low + (high - low) / 2;

		if (middle + graph->row_start[middle] < wanted)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* pull_rows: compute y of rows from .. to - 1, in blocks of about BLOCK entries or rows. */
static HyStatus
pull_rows(const Walk *walk, int64_t from, int64_t end, const HyCancel *cancel)
{
	const HyCsr *graph = walk->graph;

	while (from < end)
	{
		int64_t to = from + 1;
		HyStatus status;

		while (to < end && to - from < BLOCK &&
		       graph->row_start[to + 1] - graph->row_start[from] <= BLOCK)
			to++;
		status = pull_range(walk, from, to, cancel);
		if (status != HY_OK)
			return status;
		if (hy_cancelled(cancel))
			return HY_CANCELLED;
		from = to;
	}
	return HY_OK;
}

/* pull_reached: compute y of the rows marked in next, which have this many entries. */
static HyStatus
pull_reached(Walk *walk, int64_t entries)
{
	int threads = hy_threads_for((double) entries * ENTRY_WORK);
	Step step = {.walk = walk, .parts = (int64_t) threads * PARTS_PER_THREAD};

	if (threads > 1)
		return hy_threads_run(threads, step.parts, pull_reached_part, &step, walk->cancel);
	return pull_reached_words(walk, 0, words_of(walk->graph->nodes), walk->cancel);
}

static HyStatus
pull_reached_part(void *arg, int64_t part, int worker, const HyCancel *cancel)
{
	const Step *step = arg;
	const Walk *walk = step->walk;

	(void) worker;
	if (hy_cancelled(cancel))
		return HY_CANCELLED;
	return pull_reached_words(walk, share_of(walk, part, step->parts),
	                          share_of(walk, part + 1, step->parts), cancel);
}

/* pull_reached_words: do so for a range of words. */
static HyStatus
pull_reached_words(const Walk *walk, int64_t from, int64_t to, const HyCancel *cancel)
{
	const HyCsr *graph = walk->graph;
	int64_t done = 0;
	int64_t w;

	for (w = from; w < to; w++)
	{
		uint64_t bits = walk->next[w];

		for (; bits != 0; bits &= bits - 1)
		{
			int64_t row = w * 64 + __builtin_ctzll(bits);
			HyStatus status = pull_range(walk, row, row + 1, cancel);

			if (status != HY_OK)
				return status;
			done += graph->row_start[row + 1] - graph->row_start[row];
			if (done >= BLOCK)
			{
				done = 0;
				if (hy_cancelled(cancel))
					return HY_CANCELLED;
			}
		}
	}
	return HY_OK;
}

/* pull_range: compute y of rows from .. to - 1.  A row longer than a block must be the only row. */
static HyStatus
pull_range(const Walk *walk, int64_t from, int64_t to, const HyCancel *cancel)
{
	const HyCsr *graph = walk->graph;
	const double *hub = walk->params->hub;
	HyStatus status = HY_OK;
	int64_t row;

	if (to - from == 1 && graph->row_start[to] - graph->row_start[from] > BLOCK)
		status = pull_long_row(walk, from, cancel);
	else
		walk->pull.rows(graph, walk->charge, from, to, walk->y);
	for (row = from; hub != NULL && status == HY_OK && row < to; row++)
		walk->y[row] /= hub[row];
	return status;
}

/* pull_long_row: compute y of one row, a block at a time. */
static HyStatus
pull_long_row(const Walk *walk, int64_t row, const HyCancel *cancel)
{
	const HyCsr *graph = walk->graph;
	double lane[HY_SPREAD_LANES] = {0};
	int64_t begin = graph->row_start[row];
	int64_t end = graph->row_start[row + 1];

	for (; begin < end; begin += BLOCK)
	{
		int64_t count = end - begin < BLOCK ? end - begin : BLOCK;

		walk->pull.add(graph->column + begin, graph->weight + begin, count, walk->charge, lane);
		if (hy_cancelled(cancel))
			return HY_CANCELLED;
	}
	/* A maximum uses only lane 0.  Adding the other lanes, which are 0, changes nothing. */
	walk->y[row] = hy_spread_fold(lane);
	return HY_OK;
}

/*
 * arrive: finish a pull.  Clears the charges, makes the new y active, and combines it into the
 * result.  If `everywhere` is set, any row may have a new y.  Otherwise, only the rows marked in
 * next may have one.
 */
static HyStatus
arrive(Walk *walk)
{
	int threads = step_threads(walk);
	Step step = {.walk = walk, .parts = (int64_t) threads * PARTS_PER_THREAD};

	if (threads > 1)
		return hy_threads_run(threads, step.parts, arrive_part, &step, walk->cancel);
	arrive_words(walk, 0, words_of(walk->graph->nodes));
	return HY_OK;
}

static HyStatus
arrive_part(void *arg, int64_t part, int worker, const HyCancel *cancel)
{
	const Step *step = arg;

	(void) worker;
	if (hy_cancelled(cancel))
		return HY_CANCELLED;
	arrive_words(step->walk, share_of(step->walk, part, step->parts),
	             share_of(step->walk, part + 1, step->parts));
	return HY_OK;
}

/* arrive_words: do so for a range of words. */
static void
arrive_words(Walk *walk, int64_t from, int64_t to)
{
	int64_t nodes = walk->graph->nodes;
	int64_t words = words_of(nodes);
	bool sum = walk->params->combine == HY_COMBINE_SUM;
	int64_t w;

	for (w = from; w < to; w++)
	{
		uint64_t bits = walk->active[w];
		uint64_t arrived = 0;

		for (; bits != 0; bits &= bits - 1)
			walk->charge[w * 64 + __builtin_ctzll(bits)] = 0;
		if (!walk->everywhere)
			bits = walk->next[w];
		else if (w == words - 1 && nodes % 64 != 0)
			bits = ((uint64_t) 1 << (nodes % 64)) - 1;
		else
			bits = ~(uint64_t) 0;
		for (; bits != 0; bits &= bits - 1)
		{
			int64_t i = w * 64 + __builtin_ctzll(bits);
			double y = walk->y[i];

			/* not "y > 0": an overflow to NaN must show in the result */
			if (y == 0)
				continue;
			arrived |= bits & -bits;
			if (sum)
				walk->activation[i] += y;
			else if (!(y <= walk->activation[i]))
				walk->activation[i] = y;
			if (walk->hop[i] < 0)
				walk->hop[i] = walk->number;
		}
		walk->active[w] = arrived;
		walk->next[w] = 0;
	}
}

/* active_sum: return |y|_1 in canonical order.  Inactive nodes would add 0. */
static double
active_sum(const Walk *walk)
{
	double lane[HY_SPREAD_LANES] = {0};
	int64_t words = words_of(walk->graph->nodes);
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
