/*
 * measure.c
 *		How far a search in this index has to go for which recall.
 *
 * Rows of the index, each excluding itself, are searched for in all lists.  Every one of their true
 * neighbours then has a list, and that list a promise (frontier.c) by the distance of the farthest row
 * that a scan for so many looks for: the threshold from which on the neighbour is found.  Quantiles of
 * these are tried: each query is searched for again, as a scan would, and what it finds of its
 * neighbours, and how many rows it looks at, is the curve.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "index/build.h"
#include "index/lookup.h"
#include "index/truths.h"

#define WANTED 10       /* neighbours that are to be found */
#define ROWS_IN_ALL 4e8 /* that are looked at in all lists, for all queries */
#define QUERIES_AT_LEAST 100

/* Truth: the neighbours of a query, by their positions. */
typedef struct Truth
{
	int count;
	int64 positions[WANTED];
} Truth;

/* Measuring: the queries and what is known of them. */
typedef struct Measuring
{
	const HybridIndex *open;
	const HybridSample *sample;
	HybridLookup *search;
	HybridProbe probe;
	float *x;
	int queries;
	Truth *truths;
	float *thresholds; /* of all neighbours of all queries, ascending */
	int neighbours;
} Measuring;

static void find_truths(Measuring *measuring, Relation index);
static int64 place_query(const Measuring *measuring, int query, float *x);
static int64 ask(Measuring *measuring, int query);
static HybridCurvePoint try_threshold(Measuring *measuring, float threshold, float eps);
static int compare_floats(const void *a, const void *b);

int
hybrid_measure(HybridCurvePoint *curve, Relation index, const HybridIndex *open,
               const HybridSample *sample, double rows, int queries)
{
	static const float shares[] = {0.3f,  0.5f,  0.7f,   0.8f,   0.87f, 0.92f,
	                               0.96f, 0.98f, 0.991f, 0.998f, 1};
	Measuring measuring;
	int points = 0, i;

	StaticAssertStmt(lengthof(shares) <= HYBRID_CURVE_POINTS, "the curve fits the meta page");
	memset(&measuring, 0, sizeof(measuring));
	measuring.open = open;
	measuring.sample = sample;
	measuring.queries = (int) Min(queries, sample->rows);
	measuring.queries =
		(int) Min(measuring.queries, Max(ROWS_IN_ALL / Max(rows, 1), QUERIES_AT_LEAST));
	if (measuring.queries < 1)
		return 0;
	measuring.search = hybrid_lookup_new(index, open);
	measuring.x = palloc(open->layout.dims * sizeof(float));
	measuring.truths = palloc(measuring.queries * sizeof(Truth));
	measuring.thresholds = palloc(measuring.queries * WANTED * sizeof(float));
	find_truths(&measuring, index);
	for (i = 0; i < (int) lengthof(shares) && measuring.neighbours > 0; i++)
	{
		int at = Min((int) ceil(shares[i] * measuring.neighbours), measuring.neighbours) - 1;
		HybridCurvePoint point = try_threshold(&measuring, measuring.thresholds[Max(at, 0)],
		                                       hybrid_lookup_eps(shares[i]));

		/* each further point finds more */
		if (points > 0 && point.recall <= curve[points - 1].recall)
			points--;
		if (points > 0 && (point.recall <= curve[points - 1].recall ||
		                   point.threshold <= curve[points - 1].threshold))
			continue;
		curve[points++] = point;
	}
	/* what was asked of the farthest neighbour gives all of them */
	if (points > 0)
		curve[points - 1].recall = 1;
	hybrid_lookup_end(measuring.search);
	pfree(measuring.thresholds);
	pfree(measuring.truths);
	pfree(measuring.x);
	return points;
}

/* find_truths: by searches in all lists. */
static void
find_truths(Measuring *measuring, Relation index)
{
	int queries = measuring->queries, dims = measuring->open->layout.dims, q, i;
	float *x = palloc((Size) queries * dims * sizeof(float));
	int64 *self = palloc(queries * sizeof(int64));
	int *counts = palloc(queries * sizeof(int));
	HybridTruth *found = palloc(queries * HYBRID_FIRST_NEAREST * sizeof(HybridTruth));

	for (q = 0; q < queries; q++)
		self[q] = place_query(measuring, q, x + (Size) q * dims);
	hybrid_truths(index, measuring->open, x, self, queries, HYBRID_FIRST_NEAREST, found, counts);
	for (q = 0; q < queries; q++)
	{
		const HybridTruth *truths = found + q * HYBRID_FIRST_NEAREST;
		Truth *truth = &measuring->truths[q];

		truth->count = Min(counts[q], WANTED);
		for (i = 0; i < truth->count; i++)
		{
			truth->positions[i] = truths[i].position;
			/* beyond the range of single precision nothing short of all lists will do */
			measuring->thresholds[measuring->neighbours++] =
				isnan(truths[i].promise) ? INFINITY : truths[i].promise;
		}
	}
	pfree(found);
	pfree(counts);
	pfree(self);
	pfree(x);
	qsort(measuring->thresholds, measuring->neighbours, sizeof(float), compare_floats);
}

/* place_query: where a query is; the position of its own row. */
static int64
place_query(const Measuring *measuring, int query, float *x)
{
	const HybridSample *sample = measuring->sample;
	int64 row = (int64) query * sample->rows / measuring->queries;
	int dims = measuring->open->layout.dims, j;

	for (j = 0; j < dims; j++)
		x[j] = sample->places[row * dims + j] + sample->centre[j];
	return sample->positions[row];
}

/* ask: the search begins for this query; returns the position of its own row. */
static int64
ask(Measuring *measuring, int query)
{
	int64 self = place_query(measuring, query, measuring->x);
	int dims = measuring->open->layout.dims;

	CHECK_FOR_INTERRUPTS();
	hybrid_probe_init(&measuring->probe, measuring->open->metric, measuring->x, dims);
	hybrid_lookup_query(measuring->search, &measuring->probe);
	return self;
}

/* try_threshold: what searches with these limits find and cost. */
static HybridCurvePoint
try_threshold(Measuring *measuring, float threshold, float eps)
{
	HybridLookupLimits limits = {threshold, eps, 0};
	HybridCurvePoint point;
	int64 found = 0;
	double rows = 0;
	int q, i, j;

	for (q = 0; q < measuring->queries; q++)
	{
		int64 self = ask(measuring, q);
		const Truth *truth = &measuring->truths[q];
		const HybridFind *finds;
		int count;

		hybrid_lookup_limit(measuring->search, &limits);
		finds = hybrid_lookup_next(measuring->search, HYBRID_FIRST_NEAREST + 1, -INFINITY, &count);
		for (i = 0; i < count; i++)
		{
			for (j = 0; j < truth->count && finds[i].position != self; j++)
				found += finds[i].position == truth->positions[j];
		}
		rows += (double) hybrid_lookup_work(measuring->search).rows;
	}
	point.threshold = threshold;
	point.recall = (float) ((double) found / measuring->neighbours);
	point.rows = (float) (rows / measuring->queries);
	return point;
}

static int
compare_floats(const void *a, const void *b)
{
	float x = *(const float *) a, y = *(const float *) b;

	return (x > y) - (x < y);
}
