/*
 * stopping.c
 *		Decide when a search has found enough rows, from an estimate of the number that it misses.
 *
 * The codes of the rows that a search has scored give a sample of u (frontier.c). From the tail of the
 * sample (core/tail.h), the search estimates how many rows nearer than the k-th best each of the other
 * lists has. The ratio of rows found to rows expected, in the lists examined, corrects this estimate. The
 * search ends when the expected number of missing rows is at most the allowed number. Since the estimate
 * comes from the search itself, a query that is unlike the rows is not treated as if it were like them.
 * (Other methods that estimate the recall of each query during its search: J. Mohoney et al., "Quake:
 * adaptive indexing for vector search", 2025; M. Chatzakis et al., "DARTH: declarative recall through
 * early termination", 2025.)
 *
 * A second rule may override the estimate. If a search has found more than 1 - recall of its rows in the
 * last third of the rows that it scored, it still finds rows, and goes on whatever the estimate is. The rule
 * does not apply if the curve was measured on a user's own queries. (17 shapes of bench/recall_cases.py,
 * LIMIT 10: without this rule, queries of one to three words on WordNet reach a recall of .88, .93 and .97
 * at targets of .9, .95 and .99, and with it .90, .95 and .99. Searches score 42.5% of the rows without it
 * and 44.5% with it.)
 *
 * EVIDENCE, FEW and HYBRID_CLEAR were chosen with bench/recall.sh. On the data shapes of that benchmark,
 * recall stays within the tolerance of the target with other random numbers, and for LIMIT 1, 10 and 100.
 */
#include "postgres.h"

#include <math.h>

#include "port/pg_bitutils.h"

#include "index/scan/stopping.h"

#define SAMPLED 64  /* maximum number of rows of a list that are sampled */
#define SAMPLE 4096 /* maximum number of rows of all lists that are sampled */
#define EVIDENCE 5  /* prior evidence: rows added to both the expected and the found rows */
#define FEW 10.0    /* the estimate is multiplied by 1 + FEW / (number of lists examined) */
/*
 * A row is an outlier of its list if its distance from the centroid is more than twice the radius. In an index
 * with outliers, a small sample may show none of them. A search that could find outliers therefore goes on until
 * one of these is true: it has sampled OUTLIERS_SEEN outliers; it has sampled twice as many rows as should contain
 * OUTLIERS_SEEN outliers; the sample is full; it has scored 1/PART of the rows of the index. The rule does not apply
 * if outliers are rarer than RARE, because the search would have to sample too many rows, or if the index has too few
 * outliers. (bench/recall.sh, 60,000 rows of which one in 200 lies halfway to the origin, queries near the origin,
 * LIMIT 10 at .95: recall is .22 without this rule, and .98 with it.)
 *
 * An index without a curve, or with an outdated one, may have any number of outliers at any distance, and its lists may
 * be unlike each other. A search in it goes on until the sample is full, or 1/PART of the rows are scored. (10,000 rows
 * that were inserted into an empty index, one in 250 between two clusters, queries between three of them, LIMIT 10 at
 * .95: without this rule, recall is .92, and 3.5% of the queries find half or less, many of them in the first four
 * lists. With it, recall is .99, and no query finds so few.)
 */
#define OUTSIDE 4.0f /* 2 squared */
#define OUTLIERS_SEEN 5
#define RARE 0.001f
#define PART 4
#define NEAR 4 /* number of first lists that determine the difficulty and the nearness of a query */
/* the rows of a list are not sampled if the list's radius is at most this share of its distance from the query */
#define NARROW 1e-3f
/*
 * A search with conditions on words reads all lists in the order of the file if it expects to need at least the share
 * NEEDED of them, and if on average at most SPARSE rows of a list satisfy the conditions. Then it does not order the
 * lists, and it uses the centroids only of lists with such rows. (1,000,000 rows of 128 dimensions, .1% of them wanted,
 * LIMIT 10: 11.8 ms without this rule, 7.6 ms with it. In 200 clusters far from each other, where few lists are needed,
 * the same lists are examined with and without it.)
 */
#define NEEDED 0.75
#define SPARSE 0.5
/* number of times that the interval is doubled, and then halved, in which expect_rows seeks a distance */
#define STEPS 10

static void note_near(HybridStopping *stopping, const HybridFrontier *frontier, int which);
static bool sample_small(const HybridStopping *stopping, const HybridFrontier *frontier,
                         const HybridLookupWork *work);
static double scale(const HybridStopping *stopping, const HybridLookupWork *work);
static double
share_needed(const HybridFrontier *frontier, const HyTail *tail, double rows, double missing);
static void
expect_rows(const HyTail *tail, const HyTailGroups *groups, float limit, double rows, float *keys);

void
hybrid_stopping_init(HybridStopping *stopping)
{
	stopping->sample = palloc(SAMPLE * sizeof(float));
	hybrid_stopping_clear(stopping);
}

void
hybrid_stopping_clear(HybridStopping *stopping)
{
	float *sample = stopping->sample;

	memset(stopping, 0, sizeof(*stopping));
	stopping->sample = sample;
}

int
hybrid_stopping_list(HybridStopping *stopping, const HybridFrontier *frontier, int which)
{
	const HybridLeafCandidate *list = &frontier->lists[which];

	if (!(list->radius > NARROW * list->reach.reach))
		return 0;
	if (stopping->near < NEAR)
		note_near(stopping, frontier, which);
	return stopping->sampled + SAMPLED <= SAMPLE ? SAMPLED / HY_CODE_ROWS - 1 : 0;
}

void
hybrid_stopping_rows(HybridStopping *stopping, const HybridFrontier *frontier, int which,
                     const HybridBlock *block, const float *estimates)
{
	float middle, inverse, reach = frontier->lists[which].reach.reach;
	float slack = frontier->scorer->query.slack;
	float *sample = stopping->sample + stopping->sampled;
	float radius = frontier->lists[which].radius, squared = radius * radius;
	float outside = frontier->scorer->open.metric == HY_METRIC_IP ? INFINITY : OUTSIDE * squared;
	double noise = 0;
	uint32 live = block->live;
	int count = 0;

	hybrid_frontier_u_scale(frontier, which, &middle, &inverse);
	for (; live != 0; live &= live - 1)
	{
		int i = pg_rightmost_one_pos32(live);
		float u = (middle - estimates[i]) * inverse;
		float code = block->factors.error[i] * reach * inverse;
		float tables = block->factors.rescale[i] * slack * inverse;

		if (!isfinite(u) || !isfinite(code))
			continue;
		sample[count++] = u;
		if (block->factors.add[i] > outside)
		{
			stopping->outliers.count++;
			stopping->outliers.squares += block->factors.add[i] / squared;
		}
		noise += code * code + tables * tables;
	}
	stopping->sampled += count;
	stopping->noise += noise;
}

void
hybrid_stopping_took(HybridStopping *stopping, const int *lists, int count)
{
	memcpy(stopping->taken, lists, count * sizeof(int));
	stopping->taken_count = count;
}

void
hybrid_stopping_compare(HybridStopping *stopping, const HybridFrontier *frontier, float limit,
                        int k, int found)
{
	double expected = 0;
	float middle, inverse;
	int i;

	hy_tail_fit(&stopping->tail, stopping->sample, stopping->sampled,
	            (float) (stopping->noise / Max(stopping->sampled, 1)),
	            1.0f / frontier->scorer->open.layout.dims);
	for (i = 0; i < stopping->taken_count; i++)
	{
		hybrid_frontier_u_scale(frontier, stopping->taken[i], &middle, &inverse);
		expected += frontier->lists[stopping->taken[i]].rows *
		            hy_tail_at(&stopping->tail, (middle - limit) * inverse);
	}
	stopping->found += found;
	/* no more than k rows can be found, so no more are expected */
	stopping->expected += Min(expected, k);
	stopping->taken_count = 0;
}

bool
hybrid_stopping_enough(HybridStopping *stopping, HybridFrontier *frontier, float limit, int k,
                       const HybridLookupWork *work, double *beyond)
{
	const HybridLookupLimits *limits = &frontier->limits;
	int difficulty = hybrid_stopping_difficulty(stopping, limit);
	float nearness = hybrid_stopping_nearness(stopping, frontier);
	double missing;

	missing = difficulty < 0 ? -1 : limits->missing[difficulty];
	if (stopping->in_half > limits->lately * k)
		missing = Min(missing, limits->trusted);
	/*
	 * Copies of a row are found or missed together. So the misses are not spread evenly: a few queries find half of
	 * their rows or less. (1,000 vectors 11 times each and 5,000 others, four times 1,000 random queries, LIMIT 10 at
	 * .95: 1.5% of the queries find half or less without this line, and .5% with it. Searches score 80% of the rows
	 * without it, and 89% with it.)
	 */
	if (stopping->copies)
		missing = Min(missing, limits->lately);
	/*
	 * The curve says nothing about a query that is nearer or farther than all queries on which it was
	 * measured. (bench/recall.sh, 30 clusters of unequal widths, LIMIT 100 at .95: 2% of the queries find
	 * half or less without this line, and none with it.)
	 */
	if (!isnan(nearness) && (nearness < limits->nearness[0] || nearness > limits->nearness[1]))
		missing = Min(missing, limits->other);
	missing = missing < 0 ? limits->other : missing;
	/* at the first check, no estimate has been compared with the rows found yet, so allow less */
	if (!(stopping->expected > 0) && frontier->scorer->open.layout.dims >= HYBRID_CLEAR)
		missing = Min(missing, limits->first);
	*beyond = stopping->allowed = missing * k / scale(stopping, work);
	stopping->rest = hybrid_frontier_expect(frontier, &stopping->tail, limit, *beyond);
	stopping->estimated = true;
	/* It is too early to stop. With a negative *beyond, the caller examines as many lists as it may. */
	if (stopping->lately > limits->lately * k || sample_small(stopping, frontier, work))
		*beyond = -1;
	stopping->ended = stopping->rest <= *beyond;
	return stopping->ended;
}

bool
hybrid_stopping_reads_all(HybridStopping *stopping, const HybridFrontier *frontier, int k,
                          const HybridLookupWork *work)
{
	if (stopping->all || work->lists < stopping->look || work->excluded == 0 ||
	    work->rows - work->excluded > SPARSE * work->lists)
		return stopping->all;
	stopping->look = 2 * work->lists;
	stopping->all = share_needed(frontier, &stopping->tail, k / scale(stopping, work),
	                             stopping->allowed) >= NEEDED;
	return stopping->all;
}

double
hybrid_stopping_missing(const HybridStopping *stopping, const HybridLookupWork *work)
{
	return stopping->rest * scale(stopping, work);
}

double
hybrid_stopping_least_rows(const HybridTree *tree, int dims, double rows)
{
	/* as in sample_small: until the sample is full, or until 1/PART of the rows are scored */
	return dims < HYBRID_CLEAR ? 0
	                           : Min(rows / Max(tree->leaves, 1) * (SAMPLE / SAMPLED), rows / PART);
}

int
hybrid_stopping_difficulty(const HybridStopping *stopping, float limit)
{
	/*
	 * boundaries between the classes: values of the cosine u that the k-th best row would have in a list
	 * as near as the first lists
	 */
	static const float edges[HYBRID_DIFFICULTIES - 1] = {0.15f, 0.3f, 0.45f, 0.6f, 0.8f};
	float cosine;
	int difficulty = 0;

	if (isinf(limit) || stopping->near == 0)
		return -1;
	cosine = (float) ((stopping->near_middle - limit * stopping->near_inverse) / stopping->near);
	while (difficulty < HYBRID_DIFFICULTIES - 1 && cosine > edges[difficulty])
		difficulty++;
	return difficulty;
}

float
hybrid_stopping_nearness(const HybridStopping *stopping, const HybridFrontier *frontier)
{
	if (frontier->scorer->open.metric == HY_METRIC_IP)
		return stopping->near > 0 ? (float) (stopping->near_middle / stopping->near) : NAN;
	if (!(stopping->near_radius > 0))
		return NAN;
	return (float) (stopping->near_reach / stopping->near_radius);
}

/* note_near: add one of the first lists to the sums that determine the difficulty and the nearness of the query. */
static void
note_near(HybridStopping *stopping, const HybridFrontier *frontier, int which)
{
	const HybridLeafCandidate *list = &frontier->lists[which];
	float middle, inverse;

	hybrid_frontier_u_scale(frontier, which, &middle, &inverse);
	if (!isfinite(middle * inverse))
		return;
	stopping->near++;
	stopping->near_middle += (double) middle * inverse;
	stopping->near_inverse += inverse;
	stopping->near_reach += (double) list->reach.reach * list->reach.reach;
	stopping->near_radius += (double) list->radius * list->radius;
}

/*
 * sample_small: test whether the search must sample more rows before it may end: see OUTLIERS_SEEN. In few dimensions
 * the rule is not needed, because searches there may miss only few rows. If the index has a curve that is not outdated,
 * the sample needs outliers only while lists not yet examined may have outliers nearer than the k-th best row. For each
 * list, frontier->leaves.keys has the u of a row that is as near as the k-th best. An outlier in the direction of the
 * query has a u of about limits->outlier_reach.
 */
static bool
sample_small(const HybridStopping *stopping, const HybridFrontier *frontier,
             const HybridLookupWork *work)
{
	const HybridLookupLimits *limits = &frontier->limits;
	double most = SAMPLE;

	if (frontier->scorer->open.layout.dims < HYBRID_CLEAR || work->rows >= frontier->rows / PART)
		return false;
	if (limits->known)
	{
		if (!(limits->outliers > RARE) || limits->outliers * frontier->rows < 2 * OUTLIERS_SEEN ||
		    stopping->outliers.count >= OUTLIERS_SEEN || frontier->blocks_count == 0 ||
		    !(frontier->blocks[0].key < limits->outlier_reach))
			return false;
		most = Min(2 * OUTLIERS_SEEN / limits->outliers, SAMPLE);
	}
	return stopping->sampled + SAMPLED <= most;
}

/*
 * scale: return the factor that corrects a number of expected rows. It is the product of three numbers: the share of
 * rows that the filter and the conditions on words accept; the ratio of rows found to accepted rows expected, in the
 * lists examined; and a number that is greater while few lists have been examined.
 */
static double
scale(const HybridStopping *stopping, const HybridLookupWork *work)
{
	double wanted =
		work->rejected > 0 ? (double) work->rescored / (work->rescored + work->rejected) : 1;

	wanted *= 1 - (double) work->excluded / Max(work->rows, 1);
	return wanted * (stopping->found + EVIDENCE) / (stopping->expected * wanted + EVIDENCE) *
	       (1 + FEW / Max(work->lists, 1));
}

/*
 * share_needed: return the share of the lists not taken that are needed to find the `rows` nearest of their rows, if
 * `missing` of these may be missed. A list is needed if more than an equal share of `missing` is expected in it.
 */
static double
share_needed(const HybridFrontier *frontier, const HyTail *tail, double rows, double missing)
{
	const HybridSlots *leaves = &frontier->leaves;
	HyTailGroups groups = {leaves->middle, leaves->inverse, leaves->doubt, leaves->size,
	                       leaves->count};
	float *keys = palloc(Max(leaves->count, 1) * sizeof(float));
	int lists = 0, needed = 0, i;

	expect_rows(tail, &groups, frontier->limit, rows, keys);
	for (i = 0; i < leaves->count; i++)
		lists += leaves->middle[i] < INFINITY;
	for (i = 0; i < leaves->count; i++)
		needed += leaves->middle[i] < INFINITY &&
		          leaves->size[i] * hy_tail_at(tail, keys[i]) * lists > missing;
	pfree(keys);
	/* lists below closed inner lists are not needed, because few near rows are expected there */
	return needed / Max(lists + frontier->closed_lists, 1);
}

/*
 * expect_rows: find the distance below which `rows` rows are expected, at most `limit`, and set the keys of the groups
 * for this distance (hy_tail_beyond).
 */
static void
expect_rows(const HyTail *tail, const HyTailGroups *groups, float limit, double rows, float *keys)
{
	float width = 0, near = limit, far = limit;
	int i;

	for (i = 0; i < groups->count; i++)
		width = Max(width, groups->middle[i] < INFINITY ? 1 / groups->inverse[i] : 0);
	for (i = 0; i < STEPS && hy_tail_beyond(tail, groups, near, keys) > rows; i++)
	{
		far = near;
		near -= width;
		width *= 2;
	}
	for (i = 0; i < STEPS; i++)
	{
		float middle = near + (far - near) / 2;

		if (hy_tail_beyond(tail, groups, middle, keys) > rows)
			far = middle;
		else
			near = middle;
	}
	(void) hy_tail_beyond(tail, groups, far, keys);
}
