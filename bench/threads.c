/*
 * threads.c
 *		How much faster several threads compute a batch, beside what the machine's cores allow.
 *
 *		threads [THREADS [ROUNDS [NAME]]]
 *
 * With NAME, only the cases run whose names contain it.
 *
 * Each case runs on one thread and on THREADS (2) threads in turn, ROUNDS (7) times, and before each
 * round a canonical kernel does on rows in the first-level cache, with no memory or lock to share.  That
 * is the limit: what the cores allow, for example if they are threads of one core, or busy.  The results
 * are the medians of the ratios of wall-clock times, of the limits, and of the ratios in shares of the
 * limit.
 *
 * CSV on stdout: case,metric,value,better, as run.sh takes it.
 */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ascending.h"
#include "core/assign.h"
#include "core/csr_build.h"
#include "core/distance.h"
#include "core/prefilter.h"
#include "core/spread.h"
#include "core/threads.h"
#include "core/topk.h"

#define DIMS 768
#define ROWS 16384
#define QUERIES 1000
#define CENTROIDS 512
#define GROUPS 64
#define PROBES 8
#define MOST_ROUNDS 101
#define LIMIT_PARTS 64
#define LIMIT_ROWS 8 /* fit in the first-level cache */

#define NODES 200000
#define EDGES_PER_NODE 15
#define SETS 100

#define LENGTH(array) ((int) (sizeof(array) / sizeof((array)[0])))

static float *rows;
static float *queries;
static HyNeighbor *out;
static double *distances;
static int32_t *numbers;
static int32_t group_begin[GROUPS + 1];
static HyCsr graph;
static double *activation;
static int32_t *hop;

static HyMatrix
matrix(const float *values, int64_t count)
{
	HyMatrix m = {.dtype = HY_F32,
	              .dims = DIMS,
	              .rows = count,
	              .stride = DIMS * sizeof(float),
	              .data = values};

	return m;
}

static float
uniform(void)
{
	static uint64_t state = 88172645463325252;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (float) (int32_t) (state >> 32) * 0x1p-31f;
}

static HyStatus
limit_part(void *arg, int64_t part, int worker, const HyCancel *cancel)
{
	const float *mine = rows + worker * LIMIT_ROWS * DIMS;
	volatile float sink;
	int i;
	int j;

	(void) arg;
	(void) part;
	(void) cancel;
	for (i = 0; i < 2000; i++)
	{
		for (j = 0; j < LIMIT_ROWS; j++)
		{
			sink = hy_kernels()->pair[HY_F32].ip(mine, mine + j * DIMS, DIMS);
			(void) sink;
		}
	}
	return HY_OK;
}

static void
run_limit(void)
{
	(void) hy_threads_run(hy_threads_allowed(), LIMIT_PARTS, limit_part, NULL, NULL);
}

static void
run_topk(int64_t count, HyMetric metric)
{
	HyMatrix q = matrix(queries, count);
	HyMatrix t = matrix(rows, ROWS);
	HyNearest nearest = {
		.metric = metric, .k = 10, .queries = &q, .targets = &t, .out = out, .counts = numbers};

	if (hy_nearest_search(&nearest, &hy_malloc_allocator, NULL) != HY_OK)
		exit(1);
}

static void
run_many(void)
{
	run_topk(QUERIES, HY_METRIC_COSINE);
}

static void
run_few(void)
{
	run_topk(4, HY_METRIC_COSINE);
}

static void
run_exact(void)
{
	run_topk(64, HY_METRIC_L1);
}

static void
run_distances(void)
{
	HyMatrix q = matrix(queries, 16);
	HyMatrix t = matrix(rows, ROWS);

	if (hy_distance_matrix(HY_METRIC_L2, &q, &t, distances, NULL) != HY_OK)
		exit(1);
}

static void
assign(int64_t centroids, bool grouped)
{
	HyMatrix r = matrix(rows, ROWS);
	HyMatrix c = matrix(queries, centroids);
	HyGroups groups = {
		.centers = matrix(queries + 500 * DIMS, GROUPS), .begin = group_begin, .probes = PROBES};
	int i;

	for (i = 0; i <= GROUPS; i++)
		group_begin[i] = (int32_t) (centroids * i / GROUPS);
	if (hy_assign(&r, &c, grouped ? &groups : NULL, &hy_malloc_allocator, numbers, NULL) != HY_OK)
		exit(1);
}

static void
run_assign_few(void)
{
	assign(100, false);
}

static void
run_assign_many(void)
{
	assign(CENTROIDS, false);
}

static void
run_assign_groups(void)
{
	assign(CENTROIDS, true);
}

/* make_graph: a random graph, in which some nodes have far more edges than others. */
static void
make_graph(void)
{
	int64_t edges = (int64_t) NODES * EDGES_PER_NODE;
	HyEdge *edge = malloc(sizeof(HyEdge) * (size_t) edges);
	int64_t i;

	if (edge == NULL)
		exit(1);
	for (i = 0; i < edges; i++)
	{
		double x = 0.5 * (1 + (double) uniform());

		edge[i].source = i % NODES;
		edge[i].target = (int64_t) (x * x * x * (NODES - 1));
		edge[i].weight = 1;
	}
	if (hy_csr_build(edge, edges, HY_DIRECTION_OUT, &hy_malloc_allocator, NULL, &graph) != HY_OK)
		exit(1);
	free(edge);
	activation = malloc(sizeof(double) * NODES * SETS);
	hop = malloc(sizeof(int32_t) * NODES * SETS);
	if (activation == NULL || hop == NULL)
		exit(1);
}

/* spread: spread from a number of sets, each of one seed, or from all nodes at once. */
static void
spread(int32_t sets, int32_t hops, bool all)
{
	static int64_t start[SETS + 1];
	static uint32_t node[NODES];
	static double value[NODES];
	HySpreadParams params = {0.85, 1, hops, 0, 0, HY_COMBINE_SUM, 1e-6, NULL};
	HySpreadSeeds seeds = {sets, start, node, value};
	int32_t i;

	for (i = 0; i < NODES; i++)
	{
		node[i] = (uint32_t) (all ? i : (int64_t) i * 7919 % NODES);
		value[i] = 1;
	}
	for (i = 0; i <= sets; i++)
		start[i] = all ? (int64_t) i * NODES : i;
	if (hy_spread(&graph, &params, &seeds, &hy_malloc_allocator, NULL,
	              &(HySpreadResult){activation, hop, NULL}) != HY_OK)
		exit(1);
}

static void
run_pagerank(void)
{
	spread(1, -1, true);
}

static void
run_spread(void)
{
	spread(1, 20, false);
}

static void
run_spread_sets(void)
{
	spread(SETS, 3, false);
}

static const struct
{
	const char *name;
	void (*run)(void);
} cases[] = {{"topk of 1000 queries", run_many},
             {"topk of 4 queries", run_few},
             {"topk of 64 queries by l1", run_exact},
             {"distances of 16 queries", run_distances},
             {"assign to 100 centroids", run_assign_few},
             {"assign to 512 centroids", run_assign_many},
             {"assign to 512 centroids in groups", run_assign_groups},
             {"PageRank of 3,000,000 edges", run_pagerank},
             {"spread of 1 set, 20 hops", run_spread},
             {"spread of 100 sets, 3 hops", run_spread_sets}};

/* timed: return the milliseconds that a run takes. */
static double
timed(void (*run)(void), int threads)
{
	struct timespec begin;
	struct timespec end;

	hy_threads_allow(threads);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	run();
	clock_gettime(CLOCK_MONOTONIC, &end);
	return (double) (end.tv_sec - begin.tv_sec) * 1e3 +
	       (double) (end.tv_nsec - begin.tv_nsec) * 1e-6;
}

/* middle: sort the values and return their median. */
static double
middle(double *values, int n)
{
	qsort(values, (size_t) n, sizeof(double), ascending);
	return values[n / 2];
}

int
main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2;
	int rounds = argc > 2 ? atoi(argv[2]) : 7;
	size_t i;
	int c;

	rounds = rounds < 1 ? 1 : rounds > MOST_ROUNDS ? MOST_ROUNDS : rounds;
	rows = malloc(sizeof(float) * ROWS * DIMS);
	queries = malloc(sizeof(float) * QUERIES * DIMS);
	out = malloc(sizeof(HyNeighbor) * QUERIES * 10);
	distances = malloc(sizeof(double) * 16 * ROWS);
	numbers = malloc(sizeof(int32_t) * ROWS);
	if (rows == NULL || queries == NULL || out == NULL || distances == NULL || numbers == NULL)
	{
		fprintf(stderr, "out of memory\n");
		return 1;
	}
	for (i = 0; i < (size_t) ROWS * DIMS; i++)
		rows[i] = uniform();
	for (i = 0; i < (size_t) QUERIES * DIMS; i++)
		queries[i] = uniform();

	make_graph();

	printf("case,metric,value,better\n");
	for (c = 0; c < LENGTH(cases); c++)
	{
		double ratios[MOST_ROUNDS];
		double limits[MOST_ROUNDS];
		double shares[MOST_ROUNDS];
		double single[MOST_ROUNDS];
		int r;

		if (argc > 3 && strstr(cases[c].name, argv[3]) == NULL)
			continue;
		(void) timed(cases[c].run, threads);
		for (r = 0; r < rounds; r++)
		{
			double limit = timed(run_limit, 1);

			limits[r] = limit / timed(run_limit, threads);
			single[r] = timed(cases[c].run, 1);
			ratios[r] = single[r] / timed(cases[c].run, threads);
			shares[r] = ratios[r] / limits[r];
		}
		printf("%s,speed-up of %d threads,%.3f,higher\n", cases[c].name, threads,
		       middle(ratios, rounds));
		printf("%s,the limit meanwhile,%.3f,higher\n", cases[c].name, middle(limits, rounds));
		printf("%s,share of the limit,%.3f,higher\n", cases[c].name, middle(shares, rounds));
		printf("%s,milliseconds on one thread,%.2f,lower\n", cases[c].name, middle(single, rounds));
		fflush(stdout);
	}
	hy_threads_stop();
	return 0;
}
