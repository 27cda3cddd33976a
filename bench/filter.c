/*
 * filter.c
 *		Whether hy_prefilter_pays is right: searches small and large, by the filter and by the canonical
 *		kernels alone, in turn.
 *
 *		filter [-v] [MILLISECONDS]
 *
 * Each shape runs in pairs for MILLISECONDS (6) or for seven pairs, whichever is longer.  The result is
 * the median of the pairs' ratios, because the speed of the machine changes from one pair to the next.
 * 'right': the share of the shapes for which the faster way is chosen.  'lost': how much longer the
 * chosen way takes than the faster one, on average.  'by_filter_alone', 'by_canonical_alone': the same
 * if one way were always taken.  -v: the ratio of each shape, canonical to filter, and the choice.
 *
 * CSV on stdout: case,metric,value,better, as run.sh takes it.
 */
#define _POSIX_C_SOURCE 200809L

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rounds.h"
#include "core/distance.h"
#include "core/prefilter.h"
#include "core/topk.h"

#define MOST_QUERIES 64
#define MOST_TARGETS 4096
#define MOST_DIMS 2048
#define MOST_K 100
#define MIN_PAIRS 7

#define LENGTH(array) ((int) (sizeof(array) / sizeof((array)[0])))

/* Tally: of the shapes of one metric and type. */
typedef struct Tally
{
	int shapes;
	int right;
	double lost;
	double lost_by_filter;
	double lost_by_canonical;
} Tally;

static float *queries;
static float *targets;
static uint16_t *halves;
static HyNeighbor *out;
static int32_t counts[MOST_QUERIES];

static float uniform(void);
static bool allocate(void);
static void try_shapes(HyMetric metric, HyDtype dtype, double seconds, bool verbose);
static double
ratio(HyMetric metric, const HyMatrix *q, const HyMatrix *t, int32_t k, double seconds);

int
main(int argc, char **argv)
{
	bool verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
	const char *time = argc > 1 + verbose ? argv[1 + verbose] : "6";
	static const HyMetric metrics[] = {HY_METRIC_L2, HY_METRIC_IP, HY_METRIC_COSINE};
	int m;

	if (!allocate())
	{
		fprintf(stderr, "out of memory\n");
		return 1;
	}
	printf("case,metric,value,better\n");
	for (m = 0; m < LENGTH(metrics); m++)
	{
		try_shapes(metrics[m], HY_F32, atof(time) / 1000, verbose);
		try_shapes(metrics[m], HY_F16, atof(time) / 1000, verbose);
	}
	return 0;
}

static float
uniform(void)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (float) ((double) (state >> 40) * 0x1p-24 - 0.5);
}

static bool
allocate(void)
{
	size_t n = (size_t) MOST_TARGETS * MOST_DIMS;
	size_t i;

	queries = malloc(sizeof(float) * MOST_QUERIES * MOST_DIMS);
	targets = malloc(sizeof(float) * n);
	halves = malloc(sizeof(uint16_t) * n);
	out = malloc(sizeof(HyNeighbor) * MOST_QUERIES * MOST_K);
	if (queries == NULL || targets == NULL || halves == NULL || out == NULL)
		return false;
	for (i = 0; i < (size_t) MOST_QUERIES * MOST_DIMS; i++)
		queries[i] = uniform();
	for (i = 0; i < n; i++)
		targets[i] = uniform();
	hy_kernels()->narrow_f16(halves, targets, (int) n);
	return true;
}

static void
try_shapes(HyMetric metric, HyDtype dtype, double seconds, bool verbose)
{
	static const int all_dims[] = {16, 64, 256, 768, MOST_DIMS};
	static const int all_rows[] = {64, 128, 256, 512, 1024, MOST_TARGETS};
	static const int all_counts[] = {4, 8, 12, 16, 24, 32, MOST_QUERIES};
	static const int all_k[] = {1, 10, MOST_K};
	const int kinds = LENGTH(all_dims) * LENGTH(all_rows) * LENGTH(all_counts) * LENGTH(all_k);
	Tally tally = {0};
	char name[100];
	int i;

	for (i = 0; i < kinds; i++)
	{
		int dims = all_dims[i % LENGTH(all_dims)];
		int rows = all_rows[i / LENGTH(all_dims) % LENGTH(all_rows)];
		int count = all_counts[i / LENGTH(all_dims) / LENGTH(all_rows) % LENGTH(all_counts)];
		int32_t k = all_k[i / LENGTH(all_dims) / LENGTH(all_rows) / LENGTH(all_counts)];
		HyMatrix q = {.dims = dims, .rows = count, .stride = (size_t) dims * 4, .data = queries};
		HyMatrix t = {.dtype = dtype,
		              .dims = dims,
		              .rows = rows,
		              .stride = (size_t) dims * hy_dtype_size(dtype),
		              .data = dtype == HY_F32 ? (const void *) targets : (const void *) halves};
		double gain = ratio(metric, &q, &t, k, seconds);
		bool filtered = hy_prefilter_pays(metric, count, rows, dims, k);
		double by_filter = gain < 1 ? 1 / gain - 1 : 0;
		double by_canonical = gain > 1 ? gain - 1 : 0;

		tally.shapes++;
		tally.right += filtered == (gain > 1);
		tally.lost += filtered ? by_filter : by_canonical;
		tally.lost_by_filter += by_filter;
		tally.lost_by_canonical += by_canonical;
		if (verbose)
			printf("%s %s %d queries x %d x %d k %d,%s,%.2f,higher\n", hy_metric_name(metric),
			       hy_dtype_name(dtype), count, rows, dims, (int) k,
			       filtered ? "filter_chosen" : "canonical_chosen", gain);
	}
	snprintf(name, sizeof(name), "filter %s %s", hy_metric_name(metric), hy_dtype_name(dtype));
	printf("%s,right,%.3f,higher\n", name, (double) tally.right / tally.shapes);
	printf("%s,lost,%.3f,lower\n", name, tally.lost / tally.shapes);
	printf("%s,by_filter_alone,%.3f,lower\n", name, tally.lost_by_filter / tally.shapes);
	printf("%s,by_canonical_alone,%.3f,lower\n", name, tally.lost_by_canonical / tally.shapes);
	fflush(stdout);
}

/* ratio: how many times as long as by the filter the search takes by the canonical kernels. */
static double
ratio(HyMetric metric, const HyMatrix *q, const HyMatrix *t, int32_t k, double seconds)
{
	double ratios[MOST_VALUES];
	double begin = now();
	int n = 0;

	while (n < MOST_VALUES && (n < MIN_PAIRS || now() - begin < seconds))
	{
		double start = now();
		double between;

		hy_topk_search(metric, q, t, k, out, counts, NULL);
		between = now();
		hy_prefilter_search(&(HyNearest){metric, k, q, t, NULL, out, counts}, &hy_malloc_allocator,
		                    NULL);
		ratios[n++] = (between - start) / (now() - between);
	}
	return median(ratios, n);
}
