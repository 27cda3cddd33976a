/*
 * list_graph.c
 *		The nearest rows of each row of a table, by way of the lists of an index: see list_graph.h.
 *
 * Many rows are compared with the rows of a list at once, so that each row costs much less than a search of its
 * own. Each row is compared with the rows of the few lists whose means are nearest to it. Then it is compared
 * with neighbors of its neighbors (core/descent.c), in several rounds. After each of them, the exact neighbors of
 * a sample of the rows show which recall has been reached.
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

#define NEAR_RUNS 8     /* number of nearest runs with whose rows a row is compared */
#define QUERIES 2048    /* most rows that are compared at a time */
#define MOST_K 129      /* with a larger k, each row is searched for */
#define ROUNDS 6        /* afterwards, each row is searched for */
#define READ_SHARE 0.15 /* parts of the whole call, for its progress */
#define LISTS_SHARE 0.6
#define SAMPLE 200
#define SAMPLE_SEED UINT64CONST(0x6b6e6e)
#define CONFIDENCE 1.645 /* deviations of the normal distribution that 95% exceed */

/* Graph: the state of hybrid_list_graph. */
typedef struct Graph
{
	const HybridCandidates *candidates;
	HybridListRows rows;
	HyTopK *best; /* for each row */

	int32 near;      /* number of runs with which each row is compared */
	int32 *nearest;  /* these runs; -1 for none */
	bool all;        /* whether they are all runs */
	int64 *begin;    /* the visitors of run i are those from begin[i] to begin[i + 1] - 1 */
	int32 *visitors; /* rows that are compared with the rows of a run */

	/* a search: some rows, and the results */
	float *queries;
	double *limits;
	HyNeighbor *out;
	int32 *counts;

	/* the sample: rows, the number of other rows among the exact neighbors, and the distance of the farthest */
	int64 sample[SAMPLE];
	int32 wanted[SAMPLE];
	double farthest[SAMPLE];
} Graph;

static int64 most_rows(const Graph *graph, HyDtype dtype);
static bool find_neighbors(Graph *graph);
static void begin(Graph *graph);
static void find_means(const Graph *graph, float *means);
static void find_nearest_runs(Graph *graph);
static bool compare_lists(Graph *graph);
static void invert(Graph *graph);
static void search_run(Graph *graph, int32 run, const int32 *visitors, int32 count);
static HyTask task_over(const Graph *graph, const float *queries, int64 count);
static void improve(HyDescent *descent);
static void find_sample(Graph *graph);
static bool reaches_recall(const Graph *graph, int round);
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

/* most_rows: return the number of rows for which there is memory; 0 if the table surely has more. */
static int64
most_rows(const Graph *graph, HyDtype dtype)
{
	const HybridCandidates *candidates = graph->candidates;
	int32 k = candidates->k;
	AttrNumber attnum;
	Relation table = hybrid_rows_table(candidates->rows, &attnum);
	Size vector = candidates->shape.dims * sizeof(float);
	Size each = hybrid_list_rows_bytes(candidates, dtype) + hy_descent_bytes(k) + sizeof(HyTopK) +
	            k * sizeof(HyNeighbor) + 2 * NEAR_RUNS * sizeof(int32);
	Size fixed = QUERIES * (vector + sizeof(double) + sizeof(int32)) +
	             (QUERIES + SAMPLE) * Max(k, NEAR_RUNS) * sizeof(HyNeighbor);
	Size memory = (Size) work_mem * 1024;
	int64 most;

	/* the mean of a run, which has 64 rows at least */
	each += vector / 64 + 1;
	most = memory > fixed && k <= MOST_K ? (int64) ((memory - fixed) / each) : 0;
	most = Min(most, HY_DESCENT_MOST);
	if (table->rd_rel->reltuples > most)
		return 0;
	return Min(most, candidates->shape.places + 1024);
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
	find_nearest_runs(graph);
	if (compare_lists(graph))
		return true;
	find_sample(graph);
	if (reaches_recall(graph, 0))
		return true;
	descent = hy_descent_create(&allocator, graph->candidates->metric, &matrix,
	                            graph->candidates->k, graph->best, hybrid_threads_limit());
	if (descent == NULL)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	hybrid_progress_range(graph->candidates->progress, LISTS_SHARE, 1);
	for (round = 1; round <= ROUNDS; round++)
	{
		improve(descent);
		hybrid_progress_update(graph->candidates->progress, (double) round / ROUNDS);
		if (reaches_recall(graph, round))
			return true;
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

/* find_means: compute the mean of each run; under cosine, of the directions. */
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

/* find_nearest_runs: find the nearest runs of each row by their means. */
static void
find_nearest_runs(Graph *graph)
{
	const HybridListRows *rows = &graph->rows;
	Size stride = rows->dims * sizeof(float);
	float *means = MemoryContextAllocHuge(CurrentMemoryContext, Max(rows->runs, 1) * stride);
	int32 run, i, n;

	graph->near = Min(NEAR_RUNS, rows->runs);
	graph->all = graph->near == rows->runs;
	graph->nearest = MemoryContextAllocHuge(CurrentMemoryContext,
	                                        Max(rows->count, 1) * NEAR_RUNS * sizeof(int32));
	find_means(graph, means);
	for (run = 0; run < rows->runs; run++)
	{
		int32 first = rows->first[run];
		int32 count = rows->first[run + 1] - first;
		HyTask task = task_over(graph, graph->queries, count);

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
		{
			int32 *nearest = graph->nearest + (Size) (first + i) * graph->near;

			/* a mean without a direction has no distances */
			graph->all = graph->all && graph->counts[i] == graph->near;
			for (n = 0; n < graph->near; n++)
				nearest[n] =
					n < graph->counts[i] ? (int32) graph->out[(Size) i * graph->near + n].row : -1;
		}
	}
	pfree(means);
}

/* invert: list the rows that are compared with each run. */
static void
invert(Graph *graph)
{
	const HybridListRows *rows = &graph->rows;
	int64 all = rows->count * graph->near;
	int64 i;

	graph->begin = MemoryContextAllocExtended(
		CurrentMemoryContext, (rows->runs + 2) * sizeof(int64), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	graph->visitors = MemoryContextAllocHuge(CurrentMemoryContext, Max(all, 1) * sizeof(int32));
	for (i = 0; i < all; i++)
	{
		if (graph->nearest[i] >= 0)
			graph->begin[graph->nearest[i] + 2]++;
	}
	for (i = 2; i <= rows->runs; i++)
		graph->begin[i + 1] += graph->begin[i];
	for (i = 0; i < all; i++)
	{
		if (graph->nearest[i] >= 0)
			graph->visitors[graph->begin[graph->nearest[i] + 1]++] = (int32) (i / graph->near);
	}
}

/* compare_lists: compare each row with the rows of its nearest runs. Returns whether these were all rows. */
static bool
compare_lists(Graph *graph)
{
	int32 run;
	int64 i;

	invert(graph);
	hybrid_progress_range(graph->candidates->progress, READ_SHARE, LISTS_SHARE);
	for (run = 0; run < graph->rows.runs; run++)
	{
		hybrid_progress_update(graph->candidates->progress, (double) run / graph->rows.runs);
		for (i = graph->begin[run]; i < graph->begin[run + 1]; i += QUERIES)
			search_run(graph, run, graph->visitors + i, Min(QUERIES, graph->begin[run + 1] - i));
	}
	return graph->all;
}

/* search_run: compare some rows with those of a run. */
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

/* task_over: return a search for these queries, without targets and results. */
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

/* improve: compare each row with neighbors of its neighbors. */
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
	HyNeighbor *out = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(HyNeighbor) * SAMPLE * k);
	int32 *counts = palloc(sizeof(int32) * SAMPLE);
	float *queries =
		MemoryContextAllocHuge(CurrentMemoryContext, SAMPLE * sizeof(float) * rows->dims);
	HyTask task = task_over(graph, queries, SAMPLE);
	HyTopKTask *work = &task.u.topk;
	int32 i;
	int32 n;

	for (i = 0; i < SAMPLE; i++)
	{
		graph->sample[i] = (int64) (hy_random(SAMPLE_SEED, i) % rows->count);
		hybrid_list_rows_widen(rows, graph->sample[i], queries + (Size) i * rows->dims);
	}
	work->targets = hybrid_list_rows_matrix(rows, 0, rows->count);
	work->k = Min(k, rows->count);
	work->out = out;
	work->counts = counts;
	hybrid_run(&task, "find nearest rows");
	for (i = 0; i < SAMPLE; i++)
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
 * reaches_recall: return whether the recall of all rows is surely high enough, by that of the sample. A row
 * as near as the farthest exact neighbor counts.
 */
static bool
reaches_recall(const Graph *graph, int round)
{
	double sum = 0;
	double squares = 0;
	int rows = 0;
	double mean;
	double least;
	int32 i;
	int32 n;

	for (i = 0; i < SAMPLE; i++)
	{
		const HyTopK *best = &graph->best[graph->sample[i]];
		int32 hits = 0;
		double recall;

		if (graph->wanted[i] == 0)
			continue;
		for (n = 0; n < best->count; n++)
		{
			if (best->items[n].row != graph->sample[i] &&
			    best->items[n].distance <= graph->farthest[i])
				hits++;
		}
		recall = Min(hits, graph->wanted[i]) / (double) graph->wanted[i];
		sum += recall;
		squares += recall * recall;
		rows++;
	}
	if (rows == 0)
		return true;
	mean = sum / rows;
	least = mean - CONFIDENCE * sqrt(Max(squares / rows - mean * mean, 0) / rows);
	ereport(DEBUG1, (errmsg_internal("hybrid_knn_graph: recall %.4f after %d rounds, surely %.4f",
	                                 mean, round, least)));
	return least >= graph->candidates->recall;
}

/* pass_neighbors: sort the neighbors of each row, and pass them to take. */
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
