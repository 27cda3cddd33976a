/*
 * measure.c
 *		How far a search in this index has to go for which recall.
 *
 * Rows of the index, each excluding itself, are searched for in all lists.  Every one of their true
 * neighbours then has a list, and that list a promise (frontier.c) by the distance of the farthest row
 * that a scan for so many looks for: the threshold from which on the neighbour is expected to be found.
 * Quantiles of these are tried: queries are searched for again, as a scan would, and what they find of
 * their neighbours, and how many rows they look at, is the curve.
 *
 * Some of the queries say what a threshold costs; where that is much, fewer of the others are searched for,
 * and what those that are find is set right by what was expected of all (a control variate, by linear
 * regression).  What a curve says of queries that are yet to come is uncertain by the deviation of its
 * means; a point has that much less than was found, lest more be promised than is kept, but less and less
 * of it where hardly any recall is left above.  And it has a little less again, since a row lies nearer to the
 * centroid of its own list, of which it is a part, than a query from elsewhere does to any (3,000 glosses of
 * WordNet that were kept out of the index, beside 3,000 that were in it, missed 6 to 9% more).
 *
 * Queries are shared among the team.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "server/memory.h"

#include "index/build.h"
#include "index/frontier.h"
#include "index/lookup.h"
#include "index/truths.h"

#define WANTED 10   /* neighbours that are to be found */
#define TOGETHER 64 /* queries whose neighbours are looked for at a time */
/* queries: many where rows are many, since what there is to be gained is more, as far as that is affordable */
#define QUERIES 600
#define ROWS_A_QUERY 1000
#define ROWS_IN_ALL 1e9 /* that are looked at in all lists, for all queries */
#define QUERIES_AT_LEAST 100
#define MEMORY_SHARE 8 /* of the memory, that queries may take */

#define OWN 0.06     /* of what rows miss, that other queries miss more */
#define ROOM 0.1     /* of recall above a point, that is wide beside deviations */
#define FIRST_STEP 8 /* one of so many queries is searched for, at first */
#define TRIED 0.12   /* rows that are looked at for a threshold, as a share of those for truths */
#define ROWS_A_SEARCH 2000 /* that a search takes as long as, beside those that it looks at */
#define ROWS_A_POINT 8e6   /* that may be looked at for a threshold in any case, */
#define ROWS_A_LIST 64.0   /* a list counting as these beside its own */

/* shares: of the neighbours, whose thresholds are tried; so dense that recall between two of them is on a line (curve.c). */
static const float shares[] = {0.3f,  0.4f, 0.5f,  0.6f,  0.65f, 0.7f,  0.75f,  0.8f,   0.835f,
                               0.87f, 0.9f, 0.92f, 0.94f, 0.96f, 0.98f, 0.991f, 0.998f, 1};

/* Sums: of a share's searches. */
typedef struct Sums
{
	pg_atomic_uint64 tried;
	pg_atomic_uint64 rows;
	pg_atomic_uint64 found; /* neighbours */
	pg_atomic_uint64 found_found;
	pg_atomic_uint64 expected;
	pg_atomic_uint64 expected_expected;
	pg_atomic_uint64 found_expected;
} Sums;

/* Truth: the neighbours of a query, by their positions, and the thresholds that find them. */
typedef struct Truth
{
	int count;
	int64 positions[WANTED];
	float thresholds[WANTED];
} Truth;

/* Measured: what all of the team have found out; numbers, whose sums do not depend on who adds first. */
typedef struct Measured
{
	Sums sums[lengthof(shares)];
	Truth truths[FLEXIBLE_ARRAY_MEMBER];
} Measured;

/* Measuring: of one process. */
typedef struct Measuring
{
	const HybridIndex *open;
	const HybridQueries *queries;
	HybridTeam *team;
	Measured *measured;
	double rows; /* of the index */
	HybridLookup *search;
	HybridProbe probe;
	float *x;
	float *thresholds; /* of all neighbours of all queries, ascending */
	int neighbours;
} Measuring;

static void find_truths(Measuring *measuring, Relation index);
static int64 place_query(const Measuring *measuring, int query, float *x);
static int64 ask(Measuring *measuring, int query);
static void gather_thresholds(Measuring *measuring);
static float threshold_of(const Measuring *measuring, int point);
static void try_thresholds(Measuring *measuring);
static void try_threshold(Measuring *measuring, int query, int point);
static int step_of(const Measuring *measuring, int point);
static int expected_of(const Truth *truth, float threshold);
static int make_curve(const Measuring *measuring, HybridCurvePoint *curve);
static HybridCurvePoint point_of(const Measuring *measuring, int at);
static int compare_floats(const void *a, const void *b);

Size
hybrid_measured_bytes(int queries)
{
	return offsetof(Measured, truths) + queries * sizeof(Truth);
}

int
hybrid_measure_queries(double rows, int dims, int64 most)
{
	double queries = Min(Max(QUERIES, rows / ROWS_A_QUERY), ROWS_IN_ALL / Max(rows, 1));
	double memory = (double) hybrid_maintenance_memory() * 1024 / MEMORY_SHARE;

	queries = Min(queries, memory / (dims * sizeof(float)));
	return (int) Min(most, Max(queries, QUERIES_AT_LEAST));
}

void
hybrid_measure_begin(HybridTeam *team)
{
	Measured *measured = (Measured *) team->measured;
	int i;

	for (i = 0; i < (int) lengthof(shares); i++)
	{
		Sums *sums = &measured->sums[i];

		pg_atomic_init_u64(&sums->tried, 0);
		pg_atomic_init_u64(&sums->rows, 0);
		pg_atomic_init_u64(&sums->found, 0);
		pg_atomic_init_u64(&sums->found_found, 0);
		pg_atomic_init_u64(&sums->expected, 0);
		pg_atomic_init_u64(&sums->expected_expected, 0);
		pg_atomic_init_u64(&sums->found_expected, 0);
	}
}

int
hybrid_measure(HybridCurvePoint *curve, Relation index, const HybridIndex *open, HybridTeam *team,
               const HybridQueries *queries, double rows)
{
	Measuring measuring;
	int points;

	StaticAssertStmt(lengthof(shares) <= HYBRID_CURVE_POINTS, "the curve fits the meta page");
	if (queries->count < 1)
		return 0;
	memset(&measuring, 0, sizeof(measuring));
	measuring.open = open;
	measuring.queries = queries;
	measuring.rows = rows;
	measuring.team = team;
	measuring.measured = (Measured *) team->measured;
	measuring.search = hybrid_lookup_new(index, open, NULL);
	measuring.x = palloc(open->layout.dims * sizeof(float));
	measuring.thresholds = palloc(queries->count * WANTED * sizeof(float));
	/* truths take about as long as all that is tried */
	hybrid_team_expect(team, queries->count);
	find_truths(&measuring, index);
	gather_thresholds(&measuring);
	if (measuring.neighbours > 0)
		try_thresholds(&measuring);
	points = make_curve(&measuring, curve);
	hybrid_lookup_end(measuring.search);
	pfree(measuring.thresholds);
	pfree(measuring.x);
	return points;
}

/* find_truths: in all lists, for some queries at a time. */
static void
find_truths(Measuring *measuring, Relation index)
{
	const HybridQueries *queries = measuring->queries;
	int dims = measuring->open->layout.dims, q, i;
	float *x = palloc(TOGETHER * dims * sizeof(float));
	HybridTruth *found = palloc(TOGETHER * HYBRID_FIRST_NEAREST * sizeof(HybridTruth));
	int64 first, self[TOGETHER];

	while ((first = hybrid_team_next(measuring->team) * TOGETHER) < queries->count)
	{
		int some = (int) Min(queries->count - first, TOGETHER), counts[TOGETHER];

		for (q = 0; q < some; q++)
			self[q] = place_query(measuring, (int) first + q, x + (Size) q * dims);
		hybrid_truths(index, measuring->open, x, self, some, HYBRID_FIRST_NEAREST, found, counts);
		for (q = 0; q < some; q++)
		{
			const HybridTruth *truths = found + q * HYBRID_FIRST_NEAREST;
			Truth *truth = &measuring->measured->truths[first + q];

			truth->count = Min(counts[q], WANTED);
			for (i = 0; i < truth->count; i++)
			{
				truth->positions[i] = truths[i].position;
				/* beyond the range of single precision nothing short of all lists will do */
				truth->thresholds[i] = isnan(truths[i].threshold) ? INFINITY : truths[i].threshold;
			}
		}
		hybrid_team_done(measuring->team, some);
	}
	hybrid_team_meet(measuring->team);
	pfree(found);
	pfree(x);
}

/* place_query: where a query is; the position of its own row. */
static int64
place_query(const Measuring *measuring, int query, float *x)
{
	const HybridQueries *queries = measuring->queries;
	Size row = (Size) query * queries->kept / queries->count;
	int dims = measuring->open->layout.dims, j;

	for (j = 0; j < dims; j++)
		x[j] = queries->places[row * dims + j] + queries->centre[j];
	return queries->positions[row];
}

/* ask: the search begins for this query; returns the position of its own row. */
static int64
ask(Measuring *measuring, int query)
{
	int64 self = place_query(measuring, query, measuring->x);

	CHECK_FOR_INTERRUPTS();
	hybrid_probe_init(&measuring->probe, measuring->open->metric, measuring->x,
	                  measuring->open->layout.dims);
	hybrid_lookup_query(measuring->search, &measuring->probe);
	return self;
}

/* gather_thresholds: everybody has them all. */
static void
gather_thresholds(Measuring *measuring)
{
	int query;

	for (query = 0; query < measuring->queries->count; query++)
	{
		const Truth *truth = &measuring->measured->truths[query];

		memcpy(measuring->thresholds + measuring->neighbours, truth->thresholds,
		       truth->count * sizeof(float));
		measuring->neighbours += truth->count;
	}
	qsort(measuring->thresholds, measuring->neighbours, sizeof(float), compare_floats);
}

static float
threshold_of(const Measuring *measuring, int point)
{
	int at = Min((int) ceil(shares[point] * measuring->neighbours), measuring->neighbours) - 1;

	/* the last finds all of them, however many lists come before, since by that no search tires */
	if (shares[point] >= 1)
		return Max(measuring->thresholds[Max(at, 0)],
		           hybrid_frontier_awake(measuring->open->metric));
	return measuring->thresholds[Max(at, 0)];
}

static void
try_thresholds(Measuring *measuring)
{
	int64 query;
	int point, steps[lengthof(shares)];

	while ((query = hybrid_team_next(measuring->team) * FIRST_STEP) < measuring->queries->count)
	{
		for (point = 0; point < (int) lengthof(shares); point++)
			try_threshold(measuring, (int) query, point);
		hybrid_team_done(measuring->team, 1);
	}
	hybrid_team_meet(measuring->team);
	for (point = 0; point < (int) lengthof(shares); point++)
		steps[point] = step_of(measuring, point);
	/* nobody adds to the sums before all have read them */
	hybrid_team_meet(measuring->team);
	while ((query = hybrid_team_next(measuring->team)) < measuring->queries->count)
	{
		for (point = 0; point < (int) lengthof(shares) && query % FIRST_STEP != 0; point++)
		{
			if (query % steps[point] == 0)
				try_threshold(measuring, (int) query, point);
		}
		hybrid_team_done(measuring->team, 1);
	}
	hybrid_team_meet(measuring->team);
}

/* step_of: one query of so many is searched for, at a point, by what the first of them took. */
static int
step_of(const Measuring *measuring, int point)
{
	Sums *sums = &measuring->measured->sums[point];
	double each = (double) pg_atomic_read_u64(&sums->rows) / pg_atomic_read_u64(&sums->tried);
	int queries = measuring->queries->count;
	int step = 1;

	while (step < FIRST_STEP && each + ROWS_A_SEARCH > step * TRIED * measuring->rows &&
	       (each * (1 + ROWS_A_LIST / measuring->open->list_size) + ROWS_A_SEARCH) * queries >
	           step * ROWS_A_POINT)
		step *= 2;
	return step;
}

/* try_threshold: what a search with this threshold finds and costs. */
static void
try_threshold(Measuring *measuring, int query, int point)
{
	HybridLookupLimits limits = {threshold_of(measuring, point), hybrid_lookup_eps(shares[point]),
	                             0};
	Sums *sums = &measuring->measured->sums[point];
	const Truth *truth = &measuring->measured->truths[query];
	int64 self = ask(measuring, query);
	const HybridFind *finds;
	int count, found = 0, expected, i, j;

	hybrid_lookup_limit(measuring->search, &limits);
	finds = hybrid_lookup_next(measuring->search, HYBRID_FIRST_NEAREST + 1, -INFINITY, &count);
	for (i = 0; i < count; i++)
	{
		for (j = 0; j < truth->count && finds[i].position != self; j++)
			found += finds[i].position == truth->positions[j];
	}
	expected = expected_of(truth, limits.threshold);
	pg_atomic_fetch_add_u64(&sums->tried, 1);
	pg_atomic_fetch_add_u64(&sums->rows, hybrid_lookup_work(measuring->search).rows);
	pg_atomic_fetch_add_u64(&sums->found, found);
	pg_atomic_fetch_add_u64(&sums->found_found, found * found);
	pg_atomic_fetch_add_u64(&sums->expected, expected);
	pg_atomic_fetch_add_u64(&sums->expected_expected, expected * expected);
	pg_atomic_fetch_add_u64(&sums->found_expected, found * expected);
}

/* expected_of: the neighbours that a search with this threshold is expected to find. */
static int
expected_of(const Truth *truth, float threshold)
{
	int expected = 0, i;

	for (i = 0; i < truth->count; i++)
		expected += truth->thresholds[i] <= threshold;
	return expected;
}

/* make_curve: of points that find more and more. */
static int
make_curve(const Measuring *measuring, HybridCurvePoint *curve)
{
	HybridCurvePoint found[lengthof(shares)];
	int points = 0, i;

	if (measuring->neighbours == 0)
		return 0;
	/* a higher threshold finds no less, whatever it looks like by a few queries */
	for (i = (int) lengthof(shares) - 1; i >= 0; i--)
	{
		found[i] = point_of(measuring, i);
		/* what was asked of the farthest neighbour gives all of them */
		found[i].recall =
			i + 1 < (int) lengthof(shares) ? Min(found[i].recall, found[i + 1].recall) : 1;
	}
	for (i = 0; i < (int) lengthof(shares); i++)
	{
		if (points == 0 || (found[i].recall > curve[points - 1].recall &&
		                    found[i].threshold > curve[points - 1].threshold))
			curve[points++] = found[i];
	}
	return points;
}

/* point_of: what is known of a threshold. */
static HybridCurvePoint
point_of(const Measuring *measuring, int at)
{
	Sums *sums = &measuring->measured->sums[at];
	double tried = (double) pg_atomic_read_u64(&sums->tried);
	double found = (double) pg_atomic_read_u64(&sums->found) / tried;
	double found_found = (double) pg_atomic_read_u64(&sums->found_found) / tried - found * found;
	double expected = (double) pg_atomic_read_u64(&sums->expected) / tried;
	double expected_expected =
		(double) pg_atomic_read_u64(&sums->expected_expected) / tried - expected * expected;
	double found_expected =
		(double) pg_atomic_read_u64(&sums->found_expected) / tried - found * expected;
	double slope = expected_expected > 0 ? found_expected / expected_expected : 0;
	int queries = measuring->queries->count, query;
	double all = 0, all_all = 0, variance, deviation;
	HybridCurvePoint point;

	point.threshold = threshold_of(measuring, at);
	for (query = 0; query < queries; query++)
	{
		int each = expected_of(&measuring->measured->truths[query], point.threshold);

		all += each;
		all_all += (double) each * each;
	}
	all /= queries;
	variance = (found_found - slope * found_expected) / tried +
	           slope * slope * (all_all / queries - all * all) / queries;
	found = (found + slope * (all - expected)) * queries / measuring->neighbours;
	deviation = sqrt(Max(variance, 0)) * queries / measuring->neighbours;
	/* nothing else is known to find all */
	found = Min(found, 1 - 1 / (tried * WANTED));
	found -= deviation * Max(Min((1 - found) / ROOM, 1), 0) + OWN * (1 - found);
	point.recall = (float) Max(found, 0);
	point.rows = (float) ((double) pg_atomic_read_u64(&sums->rows) / tried);
	return point;
}

static int
compare_floats(const void *a, const void *b)
{
	float x = *(const float *) a, y = *(const float *) b;

	return (x > y) - (x < y);
}
