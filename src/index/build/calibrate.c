/*
 * calibrate.c
 *		Measures how far a search in this index must go for a given recall.
 *
 * Rows of the index are used as queries. A row does not count as a neighbor of itself. The true
 * neighbors of each query are found by scoring all lists. Then each query is run as a scan would run
 * it, at several levels. At each level, the search may miss fewer rows than at the level before, and
 * continues where it stopped. Two numbers are recorded for each level and each difficulty of a query:
 * how many of the true neighbors the searches found, and how many rows they scored. The curve then
 * gives, for each recall, the number of rows that a search for a query of that difficulty may expect to
 * miss.
 *
 * The curve is measured on a sample of queries, so it is not certain for future queries. Three
 * allowances keep it from promising too much:
 *
 * * The standard deviation of the mean is subtracted from the recall found at each level. If a level
 *   misses hardly any neighbors, less is subtracted.
 * * A mean hides that some queries find next to nothing. The share of queries that find half of their
 *   neighbors or less may therefore be at most 1/LOW of the share of neighbors that may be missed. The
 *   standard deviation of this share is added to it. (20,000 rows on 200 rays, LIMIT 10 at .95, three
 *   tables: 3.3, 2.0 and 1.8% of the queries found half or less without the deviation, and 1.8, 1.1 and
 *   .8% with it. In the cases of bench/recall.sh with 12,000 rows, searches score 2.4% more rows.)
 * * A row contributed to the centroid of its own list, so it is nearer to that centroid than another
 *   query would be. A little more is subtracted for this. (Searches for 3,000 glosses of WordNet that
 *   were kept out of the index missed 6 to 9% more rows than searches for 3,000 glosses in it.)
 *
 * Queries from a user are not rows of the index. So no row is left out of their neighbors, and the last
 * of these allowances is not made.
 *
 * The queries are divided among the processes of the team.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "server/memory.h"

#include "index/build/build.h"
#include "index/scan/lookup.h"
#include "index/build/ground_truth.h"
#include "index/page/distance_bound.h"

#define WANTED 10   /* number of neighbors to be found per query */
#define NO_ROW (-1) /* position of a query that is not a row */
#define TOGETHER 64 /* number of queries whose true neighbors are found together */
/*
 * Number of queries: QUERIES, or one per ROWS_A_QUERY rows of the index if that is more. A large index
 * gets more queries, if they are affordable, because its searches have more to gain.
 */
#define QUERIES 600
#define ROWS_A_QUERY 1000
#define ROWS_IN_ALL 1e9 /* maximum number of rows scored in all lists, over all queries */
#define MEMORY_SHARE 8  /* the queries take at most 1/MEMORY_SHARE of the memory */

/*
 * queries that are not rows of the index miss more neighbors, by a factor of 1 + OWN / (rows per list)
 */
#define OWN 7
/* if at least this share of the neighbors is missed, the whole deviation is subtracted */
#define ROOM 0.1
/* the share of searches that find half or less may be at most 1/LOW of the missed share */
#define LOW 5
/* the curve is extrapolated if the last level misses at most BEYOND times the allowed share */
#define BEYOND 2
#define KNOWN 16 /* minimum number of queries of a difficulty for an estimate of its own */

/* levels: the number of rows that a search may expect to miss, per row wanted, at each level. */
static const float levels[] = {100,   30,   10,    4,     2,      1,      0.6f,   0.4f,   0.25f,
                               0.15f, 0.1f, 0.06f, 0.04f, 0.025f, 0.015f, 0.008f, 0.004f, 0.0015f};

/* recalls: the recalls of the points of the curve. */
static const float recalls[HYBRID_CURVE_POINTS] = {0.7f,  0.8f,   0.9f,   0.95f,  0.975f,
                                                   0.99f, 0.995f, 0.998f, 0.9995f};

#define LEVELS ((int) lengthof(levels))
#define ALL HYBRID_DIFFICULTIES /* index of the sums over all difficulties */

/* Sums: totals over the searches that stopped at a level. */
typedef struct Sums
{
	pg_atomic_uint64 tried;
	pg_atomic_uint64 rows;   /* rows scored */
	pg_atomic_uint64 wanted; /* neighbors that exist */
	pg_atomic_uint64 found;
	pg_atomic_uint64 missed_missed; /* sum of the squared numbers of missed neighbors */
	pg_atomic_uint64 low;           /* searches that found half or less */
} Sums;

/* TrueNeighbors: a query's true neighbors, and what its search found out about the query. */
typedef struct TrueNeighbors
{
	float nearness;          /* see hybrid_lookup_nearness */
	HybridOutliers outliers; /* outliers among the rows that the search sampled */
	int count;
	/* distance of the farthest true neighbor; any row that is as near counts as found */
	double farthest;
} TrueNeighbors;

/*
 * Measured: the results of all processes. They are integers, so the order of additions does not
 * matter.
 */
typedef struct Measured
{
	Sums sums[HYBRID_DIFFICULTIES + 1][lengthof(levels)];
	TrueNeighbors true_neighbors[FLEXIBLE_ARRAY_MEMBER];
} Measured;

/* Measuring: state of one process. */
typedef struct Measuring
{
	const HybridIndex *open;
	const HybridQueries *queries;
	HybridTeam *team;
	Measured *measured;
	double rows;     /* rows of the index */
	HybridTree tree; /* the tree before the first search */
	HybridLookup *search;
	HybridLookupWork work; /* work of the search for the current query */
	HybridProbe probe;
	float *x;
} Measuring;

static void find_true_neighbors(Measuring *measuring, Relation index);
static int64 place_query(const Measuring *measuring, int query, float *x);
static int64 begin_search(Measuring *measuring, int query);
static void search_all(Measuring *measuring);
static void search_for(Measuring *measuring, int query);
static void add_result(Sums *sums, const TrueNeighbors *neighbors, int found, int64 rows);
static int
found_of(const TrueNeighbors *neighbors, const HybridFoundRow *found_rows, int count, int64 self);
static void make_curve(const Measuring *measuring, HybridCurve *curve);
static void range_of_nearness(const Measuring *measuring, float *nearness);
static void add_up_outliers(const Measuring *measuring, HybridCurve *curve);
static float missing_for(const Sums *sums, const Sums *all, double recall, double own);
static const Sums *known(const Sums *sums, const Sums *all, int level);
static double recall_of(const Sums *sums, double own);
static double rows_for(const Measuring *measuring, const HybridCurve *curve, double recall);
static int level_of(double missing);
static double mean_of(const pg_atomic_uint64 *sum, const Sums *sums);
static double tried_of(const Sums *sums);

Size
hybrid_calibrate_bytes(int queries)
{
	return offsetof(Measured, true_neighbors) + queries * sizeof(TrueNeighbors);
}

int
hybrid_calibrate_queries(double rows, int dims, int64 most)
{
	double queries = Min(Max(QUERIES, rows / ROWS_A_QUERY), ROWS_IN_ALL / Max(rows, 1));
	double memory = (double) hybrid_maintenance_memory() * 1024 / MEMORY_SHARE;

	queries = Min(queries, memory / (dims * sizeof(float)));
	return (int) Min(most, Max(queries, HYBRID_QUERIES_LEAST));
}

void
hybrid_calibrate_begin(HybridTeam *team)
{
	Measured *measured = (Measured *) team->measured;
	int i;

	for (i = 0; i < (HYBRID_DIFFICULTIES + 1) * LEVELS; i++)
	{
		Sums *sums = &measured->sums[i / LEVELS][i % LEVELS];

		pg_atomic_init_u64(&sums->tried, 0);
		pg_atomic_init_u64(&sums->rows, 0);
		pg_atomic_init_u64(&sums->wanted, 0);
		pg_atomic_init_u64(&sums->found, 0);
		pg_atomic_init_u64(&sums->missed_missed, 0);
		pg_atomic_init_u64(&sums->low, 0);
	}
}

void
hybrid_calibrate(HybridCurve *curve, Relation index, const HybridIndex *open, HybridTeam *team,
                 const HybridQueries *queries, double rows)
{
	Measuring measuring;

	memset(curve, 0, sizeof(*curve));
	if (queries->count < 1)
		return;
	memset(&measuring, 0, sizeof(measuring));
	measuring.open = open;
	measuring.queries = queries;
	measuring.rows = rows;
	measuring.team = team;
	measuring.measured = (Measured *) team->measured;
	measuring.search = hybrid_lookup_new(index, open, NULL);
	measuring.x = palloc(open->layout.dims * sizeof(float));
	/* read the tree here, because a process that gets no query does not search */
	hybrid_tree_read(index, &measuring.tree);
	/* finding the true neighbors takes about as long as all the searches together */
	hybrid_team_expect(team, queries->count);
	find_true_neighbors(&measuring, index);
	search_all(&measuring);
	make_curve(&measuring, curve);
	hybrid_lookup_end(measuring.search);
	pfree(measuring.x);
}

/* find_true_neighbors: find the true neighbors in all lists, for several queries at a time. */
static void
find_true_neighbors(Measuring *measuring, Relation index)
{
	const HybridQueries *queries = measuring->queries;
	int dims = measuring->open->layout.dims, q;
	float *x = palloc(TOGETHER * dims * sizeof(float));
	HybridGroundTruth *found = palloc(TOGETHER * HYBRID_FIRST_NEAREST * sizeof(HybridGroundTruth));
	int64 first, self[TOGETHER];

	while ((first = hybrid_team_next(measuring->team) * TOGETHER) < queries->count)
	{
		int some = (int) Min(queries->count - first, TOGETHER), counts[TOGETHER];

		for (q = 0; q < some; q++)
			self[q] = place_query(measuring, (int) first + q, x + (Size) q * dims);
		hybrid_ground_truth(index, measuring->open, &(HybridTruthQueries){some, x, self},
		                    HYBRID_FIRST_NEAREST, found, counts);
		for (q = 0; q < some; q++)
		{
			const HybridGroundTruth *rows = found + q * HYBRID_FIRST_NEAREST;
			TrueNeighbors *neighbors = &measuring->measured->true_neighbors[first + q];

			neighbors->count = Min(counts[q], WANTED);
			if (neighbors->count > 0)
				neighbors->farthest = rows[neighbors->count - 1].distance;
		}
		hybrid_team_done(measuring->team, some);
	}
	hybrid_team_barrier(measuring->team);
	pfree(found);
	pfree(x);
}

/*
 * place_query: compute the vector of a query: add back the center. Returns the position of the query's
 * own row, or NO_ROW.
 */
static int64
place_query(const Measuring *measuring, int query, float *x)
{
	const HybridQueries *queries = measuring->queries;
	Size row = (Size) query * queries->kept / queries->count;
	int dims = measuring->open->layout.dims, j;

	for (j = 0; j < dims; j++)
		x[j] = queries->places[row * dims + j] + queries->center[j];
	return queries->positions != NULL ? queries->positions[row] : NO_ROW;
}

/* begin_search: begin the search for a query. Returns the position of the query's own row, or NO_ROW. */
static int64
begin_search(Measuring *measuring, int query)
{
	int64 self = place_query(measuring, query, measuring->x);

	CHECK_FOR_INTERRUPTS();
	hybrid_probe_init(&measuring->probe, measuring->open->metric, measuring->x,
	                  measuring->open->layout.dims);
	(void) hybrid_lookup_query(measuring->search, &measuring->probe, &measuring->work);
	return self;
}

/* search_all: run all queries through all levels. */
static void
search_all(Measuring *measuring)
{
	int64 query;

	while ((query = hybrid_team_next(measuring->team)) < measuring->queries->count)
	{
		search_for(measuring, (int) query);
		hybrid_team_done(measuring->team, 1);
	}
	hybrid_team_barrier(measuring->team);
}

/* search_for: run one query, level by level. */
static void
search_for(Measuring *measuring, int query)
{
	TrueNeighbors *neighbors = &measuring->measured->true_neighbors[query];
	int64 self = begin_search(measuring, query);
	int level, i;

	for (level = 0; level < LEVELS; level++)
	{
		HybridLookupLimits limits;
		const HybridFoundRow *found_rows;
		int count, found, difficulty;
		int64 rows;

		CHECK_FOR_INTERRUPTS();
		for (i = 0; i < HYBRID_DIFFICULTIES; i++)
			limits.missing[i] = levels[level];
		limits.other = limits.target = limits.first = levels[level];
		/*
		 * disable the two rules about rows from the last lists: the estimate alone must stop the search
		 * at each level
		 */
		limits.lately = limits.trusted = INFINITY;
		limits.nearness[0] = -INFINITY;
		limits.nearness[1] = INFINITY;
		limits.known = true;
		limits.outliers = limits.outlier_reach = 0;
		limits.eps = hybrid_lookup_eps(Max(1 - levels[level], 0));
		limits.probes = 0;
		if (level == 0)
		{
			/* request as many rows as a scan does, plus the query's own row */
			hybrid_lookup_limit(measuring->search, &limits);
			found_rows = hybrid_lookup_next(measuring->search,
			                                HYBRID_FIRST_NEAREST + (self != NO_ROW ? 1 : 0),
			                                -INFINITY, &count);
		}
		else
			found_rows = hybrid_lookup_further(measuring->search, &limits, &count);
		found = found_of(neighbors, found_rows, count, self);
		rows = measuring->work.rows;
		difficulty = hybrid_lookup_difficulty(measuring->search);
		add_result(&measuring->measured->sums[ALL][level], neighbors, found, rows);
		if (difficulty >= 0)
			add_result(&measuring->measured->sums[difficulty][level], neighbors, found, rows);
	}
	neighbors->nearness = hybrid_lookup_nearness(measuring->search);
	neighbors->outliers = hybrid_lookup_outliers(measuring->search);
}

/* add_result: add the result of a search at one level to the sums. */
static void
add_result(Sums *sums, const TrueNeighbors *neighbors, int found, int64 rows)
{
	int missed = neighbors->count - found;

	pg_atomic_fetch_add_u64(&sums->tried, 1);
	pg_atomic_fetch_add_u64(&sums->rows, rows);
	pg_atomic_fetch_add_u64(&sums->wanted, neighbors->count);
	pg_atomic_fetch_add_u64(&sums->found, found);
	pg_atomic_fetch_add_u64(&sums->missed_missed, missed * missed);
	pg_atomic_fetch_add_u64(&sums->low, neighbors->count > 0 && found * 2 <= neighbors->count);
}

/*
 * found_of: return how many true neighbors were found. Every row that is as near as the farthest true
 * neighbor counts, because many rows may have the same distance, above all bit strings.
 */
static int
found_of(const TrueNeighbors *neighbors, const HybridFoundRow *found_rows, int count, int64 self)
{
	int found = 0, i;

	for (i = 0; i < count && found < neighbors->count; i++)
		found += found_rows[i].position != self && found_rows[i].distance <= neighbors->farthest;
	return found;
}

/* make_curve: compute the curve. It has no points if no query has neighbors. */
static void
make_curve(const Measuring *measuring, HybridCurve *curve)
{
	const Sums *all = measuring->measured->sums[ALL];
	uint32 leaves = measuring->tree.leaves;
	double own =
		measuring->queries->positions != NULL ? Min((double) OWN * leaves / measuring->rows, 1) : 0;
	int point, i;

	if (pg_atomic_read_u64(unconstify(pg_atomic_uint64 *, &all[0].wanted)) == 0)
		return;
	curve->leaves = leaves;
	curve->by_queries = measuring->queries->positions == NULL;
	range_of_nearness(measuring, curve->nearness);
	add_up_outliers(measuring, curve);
	curve->size = HYBRID_CURVE_POINTS;
	for (point = 0; point < HYBRID_CURVE_POINTS; point++)
	{
		curve->points[point].recall = recalls[point];
		for (i = 0; i < HYBRID_DIFFICULTIES; i++)
		{
			const Sums *sums = measuring->measured->sums[i];

			/* a class with too few of a user's queries gets the values of all queries together */
			if (measuring->queries->positions == NULL && tried_of(&sums[0]) < KNOWN)
				sums = all;
			curve->points[point].missing[i] = missing_for(sums, all, recalls[point], own);
		}
	}
	for (point = 0; point < HYBRID_CURVE_POINTS; point++)
	{
		float rows = (float) rows_for(measuring, curve, recalls[point]);

		/*
		 * means could decrease from point to point, because a query may be of another class at the next
		 * level
		 */
		curve->points[point].rows = point > 0 ? Max(rows, curve->points[point - 1].rows) : rows;
	}
}

/*
 * range_of_nearness: set nearness[0] to the least nearness of a query, and nearness[1] to the greatest.
 */
static void
range_of_nearness(const Measuring *measuring, float *nearness)
{
	const TrueNeighbors *all = measuring->measured->true_neighbors;
	int i;

	nearness[0] = INFINITY;
	nearness[1] = -INFINITY;
	for (i = 0; i < measuring->queries->count; i++)
	{
		if (isnan(all[i].nearness))
			continue;
		nearness[0] = Min(nearness[0], all[i].nearness);
		nearness[1] = Max(nearness[1], all[i].nearness);
	}
	/* no query has a nearness */
	if (nearness[0] > nearness[1])
		nearness[0] = nearness[1] = 0;
}

/*
 * add_up_outliers: set the share of outliers among the rows that all searches sampled, and the root mean
 * square of the outliers' distances from their centroids, in radii of their lists.
 */
static void
add_up_outliers(const Measuring *measuring, HybridCurve *curve)
{
	const TrueNeighbors *all = measuring->measured->true_neighbors;
	double rows = 0, outliers = 0, squares = 0;
	int i;

	for (i = 0; i < measuring->queries->count; i++)
	{
		rows += all[i].outliers.rows;
		outliers += all[i].outliers.count;
		squares += all[i].outliers.squares;
	}
	curve->outliers = (float) (outliers / Max(rows, 1));
	curve->outlier_reach = (float) sqrt(squares / Max(outliers, 1));
}

/*
 * missing_for: return the level at which this recall is reached, interpolated between two levels or
 * extrapolated a little beyond the last one. Returns 0 if even the last level misses the recall by far,
 * and -1 if too few queries of this difficulty were tried.
 */
static float
missing_for(const Sums *sums, const Sums *all, double recall, double own)
{
	double before = 0, now;
	int level;

	if (tried_of(&sums[0]) < KNOWN)
		return -1;
	for (level = 0; level < LEVELS; level++)
	{
		now = recall_of(known(sums, all, level), own);
		if (now >= recall)
			break;
		before = Max(before, now);
	}
	if (level == 0)
		return levels[0];
	/*
	 * If even the last level misses the recall by far, no estimate can stop a search at this recall.
	 * Such searches examine all lists.
	 */
	if (level == LEVELS && 1 - before > BEYOND * (1 - recall))
		return 0;
	if (level == LEVELS)
		return (float) (levels[LEVELS - 1] * (1 - recall) / (1 - before));
	return (float) (levels[level - 1] *
	                pow(levels[level] / levels[level - 1], (recall - before) / (now - before)));
}

/*
 * known: return the sums of a level for one difficulty, or the sums for all difficulties if too few
 * queries of this difficulty were tried at the level. Queries may become more difficult as their searches
 * continue.
 */
static const Sums *
known(const Sums *sums, const Sums *all, int level)
{
	return tried_of(&sums[level]) < KNOWN ? &all[level] : &sums[level];
}

/*
 * recall_of: return the recall of the searches minus the allowances for uncertainty. It is lower if
 * many of the searches find half of their neighbors or less.
 */
static double
recall_of(const Sums *sums, double own)
{
	double tried = tried_of(sums);
	double wanted = mean_of(&sums->wanted, sums), low = mean_of(&sums->low, sums);
	double missed, variance, deviation;

	/* at least one neighbor counts as missed, because no sample proves that none is missed */
	missed = Max(wanted - mean_of(&sums->found, sums), 1 / tried) / wanted;
	variance = mean_of(&sums->missed_missed, sums) / (wanted * wanted) - missed * missed;
	deviation = sqrt(Max(variance, 0) / tried);
	missed += deviation * Min(missed / ROOM, 1) + own * missed;
	low += sqrt(low * (1 - low) / tried);
	return Max(1 - Max(missed, LOW * low), 0);
}

/*
 * rows_for: return the mean number of rows that a search for this recall scores. The search stops at
 * the limits that hybrid_lookup_limits derives from the curve. These limits are at least as strict as
 * the curve.
 */
static double
rows_for(const Measuring *measuring, const HybridCurve *curve, double recall)
{
	const Sums *all = measuring->measured->sums[ALL];
	HybridTree tree = measuring->tree;
	HybridLookupLimits limits;
	double rows = 0, tried = 0;
	int i;

	tree.curve = *curve;
	hybrid_lookup_limits(&tree, measuring->open->layout.dims, recall, 0, &limits);
	for (i = 0; i < HYBRID_DIFFICULTIES; i++)
	{
		const Sums *sums = measuring->measured->sums[i];
		double missing = limits.missing[i] < 0 ? limits.other : limits.missing[i];
		const Sums *least = known(sums, all, level_of(missing));
		const Sums *most = &sums[level_of(Min(missing, limits.trusted))];
		double number = tried_of(most);

		/*
		 * A search scores at most as many rows as at the level `most`. It may end earlier, after twice
		 * as many rows as at the level `least`, if the second half of them confirms the curve
		 * (recall_curve.c).
		 */
		rows += number * (missing > 0
		                      ? Min(mean_of(&most->rows, most), 2 * mean_of(&least->rows, least))
		                      : measuring->rows);
		tried += number;
	}
	return tried > 0 ? rows / tried : mean_of(&all[LEVELS - 1].rows, &all[LEVELS - 1]);
}

/*
 * level_of: return the first level that allows at most this number of missing rows, or the last level if
 * there is none.
 */
static int
level_of(double missing)
{
	int level = 0;

	while (level + 1 < LEVELS && levels[level] > missing)
		level++;
	return level;
}

static double
mean_of(const pg_atomic_uint64 *sum, const Sums *sums)
{
	return (double) pg_atomic_read_u64(unconstify(pg_atomic_uint64 *, sum)) /
	       Max(tried_of(sums), 1);
}

static double
tried_of(const Sums *sums)
{
	return (double) pg_atomic_read_u64(unconstify(pg_atomic_uint64 *, &sums->tried));
}
