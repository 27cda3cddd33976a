/*
 * list_graph.c
 *		The nearest rows of each row of a table, found with the lists of an index: see list_graph.h.
 *
 * Many rows are compared with the rows of a list at once, so that each row costs much less than a search of its
 * own. The lists are divided into runs. Each row is compared with the rows of its own run and of the few other runs
 * whose means are nearest to it. Then it is compared with neighbors of its neighbors (core/descent.c), in several
 * rounds. A sample of rows, whose exact neighbors are computed, shows after each round which recall is reached.
 */
#include "postgres.h"

#include <math.h>

#include "core/descent.h"
#include "core/distance.h"
#include "core/prefilter_rows.h"
#include "core/random.h"
#include "knn/list_graph.h"
#include "knn/list_rows.h"
#include "miscadmin.h"
#include "server/executor.h"
#include "server/memory.h"
#include "server/report.h"
#include "server/threads.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#define NEAR_RUNS 8  /* number of runs that each row is compared with */
#define RUN_ROWS 128 /* approximate number of rows of a run */
#define QUERIES 2048 /* maximum number of rows that are compared at a time */

/*
 * Each row gets a search of its own, as without this file, in any of these cases: k exceeds MOST_K, the recall
 * exceeds MOST_RECALL, the means of all runs have more than MOST_MEANS numbers in total, work_mem is too small, or
 * the recall is not reached after ROUNDS rounds.
 */
#define MOST_K 129
#define MOST_RECALL 0.99
#define MOST_MEANS (2 * 1000 * 1000)
#define ROUNDS 6

/* Share of the whole call that is done after each phase. The rest is reserved for the searches for single rows. */
#define READ_SHARE 0.1
#define NEAREST_SHARE 0.2
#define LISTS_SHARE 0.4
#define ROUNDS_SHARE 0.5

#define SAMPLE_MISSES                                                                              \
	25 /* sum of (1 - recall) over the rows of the sample if their mean recall is the target */
#define SAMPLE_LEAST 500
#define SAMPLE_MOST (int) (SAMPLE_MISSES / (1 - MOST_RECALL))
#define SAMPLE_SEED UINT64CONST(0x6b6e6e)
#define DOUBT (0.05 / (ROUNDS + 1)) /* error probability of each test of the recall */
#define MOST_STAKE 0.95

/* Graph: the state of hybrid_list_graph. */
typedef struct Graph
{
	const HybridCandidates *candidates;
	HybridListRows rows;
	HyTopK *best; /* neighbors of each row */

	int32 near;      /* number of runs with which each row is compared */
	int32 *nearest;  /* these runs for each row; -1: none */
	bool all;        /* whether each row is compared with all runs */
	int64 *begin;    /* the visitors of run i are those from begin[i] to begin[i + 1] - 1 */
	int32 *visitors; /* rows that are compared with the rows of a run */

	/* buffers of one search: vectors of its rows, limits of their distances, and the results */
	float *queries;
	double *limits;
	HyNeighbor *out;
	int32 *counts;

	/*
	 * for each row of the sample: its row number, how many exact neighbors it has besides itself, distance of the
	 * farthest
	 */
	int samples;
	int64 *sample;
	int32 *wanted;
	double *farthest;
	double mean; /* mean recall of the sample */
} Graph;

static int sample_size(const HybridCandidates *candidates);
static int64 most_rows(const Graph *graph, HyDtype dtype);
static bool find_neighbors(Graph *graph);
static void begin(Graph *graph);
static void find_means(const Graph *graph, float *means);
static void find_nearest_runs(Graph *graph);
static void take_nearest_runs(Graph *graph, int32 row, const HyNeighbor *found, int32 count);
static void compare_lists(Graph *graph, int32 from, int32 end);
static void invert(Graph *graph, int32 from, int32 end);
static void search_run(Graph *graph, int32 run, const int32 *visitors, int32 count);
static HyTask task_over(const Graph *graph, const float *queries, int64 count);
static void improve(HyDescent *descent);
static void find_sample(Graph *graph);
static bool reaches_recall(Graph *graph);
static double recall_of(const Graph *graph, int i);
static void pass_neighbors(Graph *graph, HybridTakeNeighbors take, void *arg);
static int compare_neighbors(const void *a, const void *b, void *positions);

bool
hybrid_list_graph(const HybridCandidates *candidates, HybridRows *rows, HybridTakeNeighbors take,
                  void *arg)
{
	Graph *graph = palloc0(sizeof(Graph));
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid list graph", ALLOCSET_DEFAULT_SIZES);
	MemoryContext before = MemoryContextSwitchTo(context);
	int64 most;
	bool done;

	graph->candidates = candidates;
	hybrid_progress_range(candidates->progress, 0, READ_SHARE);
	most = most_rows(graph, hybrid_rows_dtype(rows));
	done = most > 0 && hybrid_list_rows_read(candidates, rows, most, &graph->rows) &&
	       find_neighbors(graph);
	if (done)
		pass_neighbors(graph, take, arg);
	MemoryContextSwitchTo(before);
	MemoryContextDelete(context);
	pfree(graph);
	return done;
}

/* sample_size: return how many rows the sample has. */
static int
sample_size(const HybridCandidates *candidates)
{
	double size = ceil(SAMPLE_MISSES / (1 - candidates->recall));

	return size < SAMPLE_LEAST ? SAMPLE_LEAST : size > SAMPLE_MOST ? SAMPLE_MOST : (int) size;
}

/*
 * most_rows: return the number of rows for which there is memory. Returns 0 if the table surely has more rows, or
 * if each row must get a search of its own because of MOST_K, MOST_RECALL or MOST_MEANS.
 */
static int64
most_rows(const Graph *graph, HyDtype dtype)
{
	const HybridCandidates *candidates = graph->candidates;
	int32 k = candidates->k;
	Size vector = candidates->shape.dims * sizeof(float);
	Size each = hybrid_list_rows_bytes(candidates, dtype) + hy_descent_bytes(k) + sizeof(HyTopK) +
	            k * sizeof(HyNeighbor) + 2 * NEAR_RUNS * sizeof(int32);
	Size fixed = QUERIES * (vector + sizeof(double) + sizeof(int32)) +
	             QUERIES * Max(k, NEAR_RUNS) * sizeof(HyNeighbor) +
	             sample_size(candidates) * (vector + k * sizeof(HyNeighbor) + 32);
	Size memory = (Size) work_mem * 1024;
	int64 most;

	/* a row's share of the mean of its run, which has at least 64 rows */
	each += vector / 64 + 1;
	if (k > MOST_K || candidates->recall > MOST_RECALL ||
	    (double) candidates->shape.places / RUN_ROWS * candidates->shape.dims > MOST_MEANS)
		return 0;
	most = memory > fixed ? (int64) ((memory - fixed) / each) : 0;
	most = Min(most, HY_DESCENT_MOST);
	return candidates->shape.places > most ? 0 : Min(most, candidates->shape.places + 1024);
}

/* find_neighbors: fill the heaps of all rows. Returns false if the recall is not reached. */
static bool
find_neighbors(Graph *graph)
{
	HyMatrix matrix = hybrid_list_rows_matrix(&graph->rows, 0, graph->rows.count);
	HyAllocator allocator = hybrid_allocator(CurrentMemoryContext);
	HyDescent *descent;
	int round;

	begin(graph);
	hybrid_progress_range(graph->candidates->progress, READ_SHARE, NEAREST_SHARE);
	find_nearest_runs(graph);
	hybrid_progress_range(graph->candidates->progress, NEAREST_SHARE, LISTS_SHARE);
	/*
	 * compared first: neighbors from a row's own run set a limit, so few rows of the other runs must be compared
	 * exactly
	 */
	compare_lists(graph, 0, 1);
	compare_lists(graph, 1, graph->near);
	if (graph->all)
		return true;
	find_sample(graph);
	if (reaches_recall(graph))
		return true;
	descent = hy_descent_create(&allocator, graph->candidates->metric, &matrix,
	                            graph->candidates->k, graph->best, hybrid_threads_limit());
	if (descent == NULL)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	hybrid_progress_range(graph->candidates->progress, LISTS_SHARE, ROUNDS_SHARE);
	for (round = 1; round <= ROUNDS; round++)
	{
		double before = graph->mean;

		improve(descent);
		hybrid_progress_update(graph->candidates->progress, (double) round / ROUNDS);
		if (reaches_recall(graph))
			return true;
		/* each round gains less than the one before it, so the recall cannot be reached */
		if (graph->mean + (graph->mean - before) * (ROUNDS - round) < graph->candidates->recall)
			return false;
	}
	return false;
}

/* begin: allocate the heaps and the memory of a search. */
static void
begin(Graph *graph)
{
	int64 count = Max(graph->rows.count, 1);
	int32 k = graph->candidates->k;
	HyNeighbor *items =
		MemoryContextAllocHuge(CurrentMemoryContext, count * k * sizeof(HyNeighbor));
	int64 i;

	graph->queries =
		MemoryContextAllocHuge(CurrentMemoryContext, QUERIES * sizeof(float) * graph->rows.dims);
	graph->limits = palloc(QUERIES * sizeof(double));
	graph->out = MemoryContextAllocHuge(CurrentMemoryContext,
	                                    sizeof(HyNeighbor) * QUERIES * Max(k, NEAR_RUNS));
	graph->counts = palloc(QUERIES * sizeof(int32));
	graph->best = MemoryContextAllocHuge(CurrentMemoryContext, count * sizeof(HyTopK));
	for (i = 0; i < count; i++)
		hy_topk_init(&graph->best[i], items + i * k, k);
}

/* find_means: compute the mean vector of each run; under cosine, of the vectors scaled to length 1. */
static void
find_means(const Graph *graph, float *means)
{
	const HybridListRows *rows = &graph->rows;
	float *row = palloc(rows->dims * sizeof(float));
	int32 run;
	int32 r;

	for (run = 0; run < rows->runs; run++)
	{
		float *mean = means + (Size) run * rows->dims;

		CHECK_FOR_INTERRUPTS();
		memset(mean, 0, rows->dims * sizeof(float));
		for (r = rows->first[run]; r < rows->first[run + 1]; r++)
		{
			float scale = 1.0f / (rows->first[run + 1] - rows->first[run]);

			hybrid_list_rows_widen(rows, r, row);
			if (graph->candidates->metric == HY_METRIC_COSINE)
				scale /= sqrtf(hy_norm_sq(HY_F32, row, rows->dims));
			hy_add_scaled(mean, mean, row, scale, rows->dims);
		}
	}
	pfree(row);
}

/* find_nearest_runs: store each row's own run and the runs with the nearest means, or all runs if there are few. */
static void
find_nearest_runs(Graph *graph)
{
	const HybridListRows *rows = &graph->rows;
	float *means;
	int32 run, i;

	graph->near = Min(NEAR_RUNS, rows->runs);
	graph->all = graph->near == rows->runs;
	graph->nearest = MemoryContextAllocHuge(CurrentMemoryContext,
	                                        Max(rows->count, 1) * NEAR_RUNS * sizeof(int32));
	graph->begin = MemoryContextAllocHuge(CurrentMemoryContext, (rows->runs + 2) * sizeof(int64));
	graph->visitors = MemoryContextAllocHuge(CurrentMemoryContext,
	                                         Max(rows->count, 1) * NEAR_RUNS * sizeof(int32));
	for (i = 0; graph->all && i < rows->count; i++)
		take_nearest_runs(graph, i, graph->out, 0);
	if (graph->all)
		return;
	means = MemoryContextAllocHuge(CurrentMemoryContext,
	                               (Size) rows->runs * rows->dims * sizeof(float));
	find_means(graph, means);
	for (run = 0; run < rows->runs; run++)
	{
		int32 first = rows->first[run];
		int32 count = rows->first[run + 1] - first;
		HyTask task = task_over(graph, graph->queries, count);

		hybrid_progress_update(graph->candidates->progress, (double) run / rows->runs);
		for (i = 0; i < count; i++)
			hybrid_list_rows_widen(rows, first + i, graph->queries + (Size) i * rows->dims);
		task.u.topk.targets = task.u.topk.queries;
		task.u.topk.targets.rows = rows->runs;
		task.u.topk.targets.data = means;
		task.u.topk.k = graph->near;
		task.u.topk.out = graph->out;
		task.u.topk.counts = graph->counts;
		hybrid_run(&task, "find nearest rows");
		for (i = 0; i < count; i++)
			take_nearest_runs(graph, first + i, graph->out + (Size) i * graph->near,
			                  graph->counts[i]);
	}
	pfree(means);
}

/*
 * take_nearest_runs: store a row's own run and, from `found`, the runs with the nearest means, or all runs if
 * there are few. `found` lacks means without a direction, because they have no distances.
 */
static void
take_nearest_runs(Graph *graph, int32 row, const HyNeighbor *found, int32 count)
{
	int32 *nearest = graph->nearest + (Size) row * graph->near;
	int32 own = graph->rows.run_of[row];
	int32 runs = 0;
	int32 n;

	nearest[runs++] = own;
	for (n = 0; n < (graph->all ? graph->near : count) && runs < graph->near; n++)
	{
		int32 run = graph->all ? n : (int32) found[n].row;

		if (run != own)
			nearest[runs++] = run;
	}
	while (runs < graph->near)
		nearest[runs++] = -1;
}

/* invert: for each run, list the rows that have this run among their nearest runs, numbers from .. end - 1. */
static void
invert(Graph *graph, int32 from, int32 end)
{
	const HybridListRows *rows = &graph->rows;
	int64 row;
	int32 n;
	int32 run;

	memset(graph->begin, 0, (rows->runs + 2) * sizeof(int64));
	for (row = 0; row < rows->count; row++)
	{
		CHECK_FOR_INTERRUPTS();
		for (n = from; n < end; n++)
		{
			run = graph->nearest[row * graph->near + n];
			if (run >= 0)
				graph->begin[run + 2]++;
		}
	}
	for (run = 2; run <= rows->runs; run++)
		graph->begin[run + 1] += graph->begin[run];
	for (row = 0; row < rows->count; row++)
	{
		CHECK_FOR_INTERRUPTS();
		for (n = from; n < end; n++)
		{
			run = graph->nearest[row * graph->near + n];
			if (run >= 0)
				graph->visitors[graph->begin[run + 1]++] = (int32) row;
		}
	}
}

/* compare_lists: compare each row with the rows of its nearest runs, numbers from .. end - 1. */
static void
compare_lists(Graph *graph, int32 from, int32 end)
{
	double done = (double) from / graph->near;
	double share = (double) (end - from) / graph->near;
	int32 run;
	int64 i;

	invert(graph, from, end);
	for (run = 0; run < graph->rows.runs; run++)
	{
		hybrid_progress_update(graph->candidates->progress, done + share * run / graph->rows.runs);
		for (i = graph->begin[run]; i < graph->begin[run + 1]; i += QUERIES)
			search_run(graph, run, graph->visitors + i, Min(QUERIES, graph->begin[run + 1] - i));
	}
}

/* search_run: compare some rows with the rows of a run. */
static void
search_run(Graph *graph, int32 run, const int32 *visitors, int32 count)
{
	const HybridListRows *rows = &graph->rows;
	int32 first = rows->first[run];
	HyTask task = task_over(graph, graph->queries, count);
	HyTopKTask *work = &task.u.topk;
	int32 i;
	int32 n;

	for (i = 0; i < count; i++)
	{
		const HyTopK *best = &graph->best[visitors[i]];

		hybrid_list_rows_widen(rows, visitors[i], graph->queries + (Size) i * rows->dims);
		graph->limits[i] = best->count == best->k ? best->items[0].distance : INFINITY;
	}
	work->targets = hybrid_list_rows_matrix(rows, first, rows->first[run + 1] - first);
	work->k = Min(graph->candidates->k, work->targets.rows);
	work->out = graph->out;
	work->counts = graph->counts;
	work->limits = graph->limits;
	hybrid_run(&task, "find nearest rows");
	for (i = 0; i < count; i++)
	{
		const HyNeighbor *found = graph->out + (Size) i * work->k;

		for (n = 0; n < graph->counts[i]; n++)
			(void) hy_topk_push(&graph->best[visitors[i]], found[n].distance, first + found[n].row);
	}
}

/* task_over: return a task that searches for these queries. The caller sets its targets and results. */
static HyTask
task_over(const Graph *graph, const float *queries, int64 count)
{
	HyTask task = {.op = HY_OP_TOPK, .numeric_class = HY_CLASS_EXACT};
	HyMatrix *matrix = &task.u.topk.queries;

	task.u.topk.metric = graph->candidates->metric;
	matrix->dtype = HY_F32;
	matrix->dims = graph->rows.dims;
	matrix->rows = count;
	matrix->stride = graph->rows.dims * sizeof(float);
	matrix->data = queries;
	return task;
}

/* improve: compare each row with neighbors of its neighbors, in one round. */
static void
improve(HyDescent *descent)
{
	int64_t kept;
	HyStatus status;

	hybrid_threads_take(hy_descent_work(descent), HY_THREADS_MOST);
	status = hy_descent_round(descent, &kept, &hybrid_cancel);
	hybrid_threads_give();
	hybrid_check(status, "improve a graph");
}

/* find_sample: find the exact neighbors of a sample of the rows. */
static void
find_sample(Graph *graph)
{
	const HybridListRows *rows = &graph->rows;
	int32 k = graph->candidates->k;
	int samples = graph->samples = sample_size(graph->candidates);
	HyNeighbor *out =
		MemoryContextAllocHuge(CurrentMemoryContext, sizeof(HyNeighbor) * samples * k);
	int32 *counts = palloc(sizeof(int32) * samples);
	float *queries =
		MemoryContextAllocHuge(CurrentMemoryContext, samples * sizeof(float) * rows->dims);
	HyTask task = task_over(graph, queries, samples);
	HyTopKTask *work = &task.u.topk;
	int i;
	int32 n;

	graph->sample = palloc(samples * sizeof(int64));
	graph->wanted = palloc(samples * sizeof(int32));
	graph->farthest = palloc(samples * sizeof(double));
	for (i = 0; i < samples; i++)
	{
		graph->sample[i] = (int64) (hy_random(SAMPLE_SEED, i) % rows->count);
		hybrid_list_rows_widen(rows, graph->sample[i], queries + (Size) i * rows->dims);
	}
	work->targets = hybrid_list_rows_matrix(rows, 0, rows->count);
	work->k = Min(k, rows->count);
	work->out = out;
	work->counts = counts;
	hybrid_run(&task, "find nearest rows");
	for (i = 0; i < samples; i++)
	{
		const HyNeighbor *found = out + (Size) i * work->k;

		graph->wanted[i] = 0;
		for (n = 0; n < counts[i] && graph->wanted[i] < k - 1; n++)
		{
			if (found[n].row == graph->sample[i])
				continue;
			graph->wanted[i]++;
			graph->farthest[i] = found[n].distance;
		}
	}
	pfree(out);
	pfree(counts);
	pfree(queries);
}

/*
 * reaches_recall: test on the sample whether the mean recall of all rows reaches the target, and set
 * graph->mean. The test is a bet, as in I. Waudby-Smith and A. Ramdas, "Estimating means of bounded random
 * variables by betting", 2024. The stake on each row depends only on the rows before it. If the mean recall
 * of all rows is below the target, the capital reaches 1 / DOUBT with a probability of at most DOUBT, whatever
 * the distribution is.
 */
static bool
reaches_recall(Graph *graph)
{
	double wanted = graph->candidates->recall;
	double capital = 1, most = 1;
	double sum = 0, squares = 0;
	int rows = 0, i;

	for (i = 0; i < graph->samples; i++)
	{
		double mean, edge, variance, stake, recall;

		if (graph->wanted[i] == 0)
			continue;
		/* the estimate starts as if a row with half of the target recall had come first */
		mean = (sum + wanted / 2) / (rows + 1);
		variance =
			Max((squares + wanted * wanted / 4) / (rows + 1) - mean * mean, 0.25 / (rows + 1));
		edge = Max(mean - wanted, 0);
		stake = Min(edge / (variance + edge * edge), MOST_STAKE / wanted);
		recall = recall_of(graph, i);
		capital *= 1 + stake * (recall - wanted);
		most = Max(most, capital);
		sum += recall;
		squares += recall * recall;
		rows++;
	}
	graph->mean = rows > 0 ? sum / rows : 1;
	ereport(DEBUG1, (errmsg_internal("hybrid_knn_graph: recall %.4f of %d rows, capital %.3g",
	                                 graph->mean, rows, most)));
	return rows == 0 || most >= 1 / DOUBT;
}

/* recall_of: return the recall of a row of the sample. Any row as near as the farthest exact neighbor is a hit. */
static double
recall_of(const Graph *graph, int i)
{
	const HyTopK *best = &graph->best[graph->sample[i]];
	int32 hits = 0;
	int32 n;

	for (n = 0; n < best->count; n++)
	{
		if (best->items[n].row != graph->sample[i] && best->items[n].distance <= graph->farthest[i])
			hits++;
	}
	return Min(hits, graph->wanted[i]) / (double) graph->wanted[i];
}

/* pass_neighbors: sort the neighbors of each row, and pass them to `take`. */
static void
pass_neighbors(Graph *graph, HybridTakeNeighbors take, void *arg)
{
	int64 i;

	for (i = 0; i < graph->rows.count; i++)
	{
		HyTopK *best = &graph->best[i];

		CHECK_FOR_INTERRUPTS();
		qsort_arg(best->items, best->count, sizeof(HyNeighbor), compare_neighbors,
		          graph->rows.positions);
		take(arg, i, best, graph->rows.ids);
	}
}

static int
compare_neighbors(const void *a, const void *b, void *positions)
{
	const HyNeighbor *x = (const HyNeighbor *) a;
	const HyNeighbor *y = (const HyNeighbor *) b;
	const int64 *position = (const int64 *) positions;
	HyNeighbor first = {.distance = x->distance, .row = position[x->row]};
	HyNeighbor second = {.distance = y->distance, .row = position[y->row]};

	return hy_neighbor_compare(&first, &second);
}
