/*
 * lookup.c
 *		Search for the nearest rows by their codes, one batch after another.
 *
 * A search examines a few lists at a time. The nearest lists come first. Then come the lists with the
 * largest shares of rows that are expected to be nearer than the k-th best. Rows wait in a priority queue
 * (`rows_order`), ordered by the lower bounds that their codes give for their distances. When a row comes first, its
 * vector is read from the index to compute its distance. (This is distance browsing: G. Hjaltason and H. Samet,
 * "Distance browsing in spatial databases", 1999.)
 *
 * The loop is in go_on. lookup_lists.c examines lists, and stopping.c decides, from the rows that the
 * search has scored, when no more lists are needed. found_rows.c picks the rows that are returned.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "server/memory.h"

#include "index/scan/lookup_state.h"

/* number of rows taken from rows_order at a time, at first; while fewer than k are known, as many as are missing */
#define FEW_ROWS 4
#define MOST_ROWS 32      /* maximum number of rows taken from rows_order at a time */
#define FILTERED_FIRST 8  /* number of rows passed to the filter at a time, at first */
#define FILTERED 64       /* maximum number of rows passed to the filter at a time */
#define EXPECTED 4096     /* bytes of vectors that are prefetched ahead */
#define SPARE_LISTS 65536 /* maximum number of lists of a search whose memory is kept */
#define SPARE_ROWS 65536  /* maximum number of rows of such a search */

/*
 * spare: memory of the last search that ended, kept for the next search, which usually needs about as
 * much. (200,000 rows of 128 dimensions, one statement per query, LIMIT 10 and 100: without the spare memory, searches
 * take 1.03 times as long, medians of 31 pairs.)
 */
static HybridLookup *spare = NULL;

static void go_on(HybridLookup *search, double after);
static void rescore_rows(HybridLookup *search, double after);
static void rescore_wanted(HybridLookup *search, double after);
static int choose_rows(HybridLookup *search, float limit, HyHeapItem *chosen, int most);
static HyScanLimit bound_reached(const HybridLookup *search);
static void rescore(HybridLookup *search, const HyHeapItem *chosen, double after);

HybridLookup *
hybrid_lookup_new(Relation index, const HybridIndex *open, Snapshot snapshot)
{
	HybridLookup *search = spare;
	MemoryContext context, old;

	if (search != NULL &&
	    memcmp(&search->scorer.open.layout, &open->layout, sizeof(open->layout)) == 0)
	{
		spare = NULL;
		/* so that an error frees the memory, too */
		MemoryContextSetParent(search->context, CurrentMemoryContext);
		search->scorer.index = index;
		search->scorer.open = *open;
		search->scorer.snapshot = snapshot;
		search->scorer.framed = false;
		return search;
	}
	context = AllocSetContextCreate(CurrentMemoryContext, "hybrid search", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	search = palloc0(sizeof(HybridLookup));
	search->context = context;
	hybrid_scorer_init(&search->scorer, index, open);
	search->scorer.snapshot = snapshot;
	search->wanted = palloc(open->layout.leaf.blocks * sizeof(uint32));
	hybrid_frontier_init(&search->frontier, &search->scorer, context);
	hybrid_stopping_init(&search->stopping);
	MemoryContextSwitchTo(old);
	return search;
}

void
hybrid_lookup_end(HybridLookup *search)
{
	hybrid_frontier_clear(&search->frontier);
	if (search->frontier.leaves.allocated > SPARE_LISTS || search->rows_allocated > SPARE_ROWS ||
	    search->nearest_allocated > SPARE_ROWS)
	{
		MemoryContextDelete(search->context);
		return;
	}
	/* the spare memory may be left from a search in another index */
	if (spare != NULL)
		MemoryContextDelete(spare->context);
	search->scorer.probe = NULL;
	search->scorer.snapshot = NULL;
	MemoryContextSetParent(search->context, TopMemoryContext);
	spare = search;
}

const HybridTree *
hybrid_lookup_query(HybridLookup *search, const HybridProbe *probe, HybridLookupWork *work)
{
	HybridScorer *scorer = &search->scorer;
	const HybridTree *tree = &scorer->tree;
	const HybridInner *root;
	float length = 0;

	hybrid_scorer_begin(scorer, probe);
	root = hybrid_frontier_open(&search->frontier);
	if (scorer->open.metric == HY_METRIC_IP && root != NULL)
		length = hybrid_inner_row_length(scorer, root, tree->height);
	hybrid_scorer_place(scorer, length);
	memset(work, 0, sizeof(*work));
	search->work = work;
	search->rows_count = 0;
	hy_lazy_clear(&search->rows_order);
	hybrid_found_rows_clear(&search->found);
	search->keeps_pages = false;
	search->filter = NULL;
	search->likely = false;
	hybrid_lookup_words(search, NULL, 0);
	search->reached = HY_SCAN_NO_LIMIT;
	hybrid_lookup_bound(search, PG_INT64_MAX, INFINITY);
	hybrid_stopping_clear(&search->stopping);
	return tree;
}

void
hybrid_lookup_limit(HybridLookup *search, const HybridLookupLimits *limits)
{
	hybrid_frontier_begin(&search->frontier, limits);
}

void
hybrid_lookup_target(HybridLookup *search, double recall, int probes)
{
	HybridLookupLimits limits;

	hybrid_lookup_limits(&search->scorer.tree, search->scorer.open.layout.dims, recall, probes,
	                     &limits);
	hybrid_lookup_limit(search, &limits);
}

void
hybrid_lookup_bound(HybridLookup *search, int64 rows, double memory)
{
	search->most_rows = rows;
	search->most_memory = memory;
}

void
hybrid_lookup_filter(HybridLookup *search, HybridScanQuals *filter, bool bounded)
{
	search->filter = filter;
	search->bounded = bounded;
}

void
hybrid_lookup_words(HybridLookup *search, const HyWordCondition *conditions, int count)
{
	search->conditions = conditions;
	search->conditions_count = count;
	search->frontier.conditions = conditions;
	search->frontier.conditions_count = count;
}

const HybridFoundRow *
hybrid_lookup_next(HybridLookup *search, int k, double after, int *count)
{
	HybridFrontier *frontier = &search->frontier;
	HyNeighbor *items = search->nearest.items;
	bool more;
	int i;

	hybrid_found_rows_leave(&search->found);
	search->stopping.taken_count = 0;
	if (k > search->nearest_allocated)
	{
		items = hybrid_enlarge(search->context, items, k * sizeof(HyNeighbor));
		search->nearest_allocated = k;
	}
	hy_topk_init(&search->nearest, items, k);
	/* If the number of lists is fixed, this batch may need more rows from the lists examined so far. */
	for (i = 0; i < frontier->lists_count && frontier->limits.probes > 0; i++)
	{
		if (!isinf(frontier->lists[i].seen))
			hybrid_frontier_put(frontier, i, -INFINITY);
	}
	for (i = 0; i < search->found.count; i++)
		(void) hy_topk_push(&search->nearest, hybrid_found_row_upper(&search->found.items[i]),
		                    search->found.items[i].position);
	go_on(search, after);
	more = search->rows_order.count > 0 || hybrid_frontier_has_more(frontier);
	if (search->nearest.count == k && more)
		search->reached = bound_reached(search);
	return hybrid_found_rows_return(
		&search->found, search->reached == HY_SCAN_NO_LIMIT ? &search->nearest : NULL, count);
}

const HybridFoundRow *
hybrid_lookup_further(HybridLookup *search, const HybridLookupLimits *limits, int *count)
{
	search->frontier.limits = *limits;
	go_on(search, -INFINITY);
	return hybrid_found_rows_return(&search->found, &search->nearest, count);
}

double
hybrid_lookup_expected_recall(const HybridLookup *search)
{
	double share;

	if (!hybrid_frontier_has_more(&search->frontier))
		return 1;
	if (!search->stopping.estimated)
		return NAN;
	share = hybrid_stopping_missing(&search->stopping, search->work) / search->nearest.k;
	/*
	 * A search may be allowed to end when it expects to miss more than 1 - recall. Then calibration has
	 * shown that such searches reach the target.
	 */
	if (search->stopping.ended)
		share = Min(share, search->frontier.limits.target);
	return 1 - Min(share, 1);
}

int64
hybrid_lookup_place(const HybridLookup *search, const HybridFoundRow *row)
{
	return search->frontier.lists[row->list].place;
}

void
hybrid_lookup_keep_pages(HybridLookup *search)
{
	search->keeps_pages = true;
}

HybridPlace
hybrid_lookup_where(const HybridLookup *search, const HybridFoundRow *row)
{
	HybridPlace where;

	Assert(search->keeps_pages);
	where.root = search->scorer.tree.root;
	where.list = search->frontier.lists[row->list].link;
	where.page = search->pages[row->row];
	where.vector = search->rows[row->row].at;
	return where;
}

double
hybrid_lookup_complete(const HybridLookup *search)
{
	const HyTopK *nearest = &search->nearest;

	return nearest->count == nearest->k && search->reached == HY_SCAN_NO_LIMIT
	           ? nearest->items[0].distance
	           : -INFINITY;
}

HyScanLimit
hybrid_lookup_reached(const HybridLookup *search)
{
	return search->reached;
}

int
hybrid_lookup_difficulty(const HybridLookup *search)
{
	return hybrid_stopping_difficulty(&search->stopping, hybrid_lookup_estimate_limit(search));
}

HybridOutliers
hybrid_lookup_outliers(const HybridLookup *search)
{
	HybridOutliers outliers = search->stopping.outliers;

	outliers.rows = search->stopping.sampled;
	return outliers;
}

float
hybrid_lookup_nearness(const HybridLookup *search)
{
	return hybrid_stopping_nearness(&search->stopping, &search->frontier);
}

Size
hybrid_lookup_memory(const HybridLookup *search)
{
	Size page = search->keeps_pages ? sizeof(BlockNumber) : 0;

	return search->rows_count * (sizeof(Row) + page + sizeof(HyHeapItem)) +
	       search->found.count * sizeof(HybridFoundRow);
}

double
hybrid_lookup_memory_of_all(double rows, double wanted)
{
	return rows * (sizeof(Row) + sizeof(HyHeapItem)) + wanted * sizeof(HybridFoundRow);
}

float
hybrid_lookup_estimate_limit(const HybridLookup *search)
{
	return search->nearest.count < search->nearest.k
	           ? INFINITY
	           : hybrid_scorer_unit(&search->scorer, search->nearest.items[0].distance,
	                                search->frontier.limits.eps);
}

/*
 * go_on: search until the expected number of missing rows is at most the allowed number, no list is left, or the search
 * reaches one of its bounds.
 *
 * A row is likely to be among the k best if its estimate is below the k-th best distance. With a filter, other rows are
 * checked only after the last list was examined. By then, the k-th best distance is shorter, and some of these rows
 * need no check. (Four tables of 20,000 rows: clusters, lognormal lengths, `packages` and WordNet; six kinds of
 * queries, LIMIT 10 at .95: 2% to 13% fewer checks if .2% of the rows satisfy the filter, 10% to 20% if 1% do, and 23%
 * to 51% if 10% do. Recall is at most .01 lower.)
 */
static void
go_on(HybridLookup *search, double after)
{
	search->likely = search->filter != NULL;
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		rescore_rows(search, after);
		if (search->reached != HY_SCAN_NO_LIMIT)
			break;
		if (hybrid_lookup_examine_lists(search))
			continue;
		if (!search->likely &&
		    !(hy_lazy_least(&search->rows_order) < hybrid_lookup_estimate_limit(search)))
			break;
		search->likely = false;
	}
}

/*
 * rescore_rows: compute the distances of those rows of rows_order that may be among the k nearest, from their stored
 * vectors. While fewer than k rows are known, any row may be among them.
 */
static void
rescore_rows(HybridLookup *search, double after)
{
	int ahead = Max((int) (EXPECTED / search->scorer.open.layout.leaf.stride), 1), most = FEW_ROWS;
	HyHeapItem chosen[MOST_ROWS];

	if (search->filter != NULL)
	{
		rescore_wanted(search, after);
		return;
	}
	for (;;)
	{
		float best = hybrid_lookup_estimate_limit(search);
		int missing = search->nearest.k - search->nearest.count;
		int some = isinf(best) && missing > 0 ? Min(missing, MOST_ROWS) : most;
		int count = choose_rows(search, best, chosen, some), i;

		if (count == 0)
			break;
		for (i = 0; i < Min(ahead, count); i++)
			hybrid_scorer_expect(&search->scorer, search->rows[chosen[i].which].at);
		for (i = 0; i < count; i++)
		{
			float limit = hybrid_lookup_estimate_limit(search);

			if (i + ahead < count)
				hybrid_scorer_expect(&search->scorer, search->rows[chosen[i + ahead].which].at);
			/* vectors read before this one may have lowered the limit */
			if (isinf(limit) || chosen[i].key < limit)
				rescore(search, &chosen[i], after);
			else
				hy_lazy_add(&search->rows_order, chosen[i].key, chosen[i].which);
		}
		most = Min(most * 2, MOST_ROWS);
		CHECK_FOR_INTERRUPTS();
	}
}

/*
 * rescore_wanted: do the work of rescore_rows if there is a filter. Pass rows to the filter a few at a time, before
 * their vectors are read.
 */
static void
rescore_wanted(HybridLookup *search, double after)
{
	int at_a_time = FILTERED_FIRST, count, i;
	HyHeapItem chosen[FILTERED];
	int64 positions[FILTERED];
	bool wanted[FILTERED];

	while ((count = choose_rows(search, hybrid_lookup_estimate_limit(search), chosen, at_a_time)) >
	       0)
	{
		if (search->bounded && (search->reached = bound_reached(search)) != HY_SCAN_NO_LIMIT)
			break;
		for (i = 0; i < count; i++)
			positions[i] = search->rows[chosen[i].which].position;
		hybrid_scan_quals_passes(search->filter, positions, count, wanted);
		for (i = 0; i < count; i++)
		{
			if (wanted[i])
				rescore(search, &chosen[i], after);
			else
				search->work->rejected++;
		}
		at_a_time = Min(at_a_time * 2, FILTERED);
		CHECK_FOR_INTERRUPTS();
	}
}

/*
 * choose_rows: take from rows_order at most `most` rows whose lower bounds are below the limit, or any rows if the limit
 * is infinite. If only likely rows are wanted (go_on), stop at the first row whose estimate is not below the limit.
 */
static int
choose_rows(HybridLookup *search, float limit, HyHeapItem *chosen, int most)
{
	int count = 0;

	while (count < most && search->rows_order.count > 0)
	{
		float key = hy_lazy_least(&search->rows_order);

		if (!isinf(limit) && !(key < limit))
			break;
		chosen[count] = hy_lazy_take(&search->rows_order);
		if (search->likely && !isinf(limit) &&
		    !(key + search->frontier.limits.eps * search->rows[chosen[count].which].error < limit))
		{
			hy_lazy_add(&search->rows_order, key, chosen[count].which);
			break;
		}
		__builtin_prefetch(&search->rows[chosen[count++].which]);
	}
	return count;
}

/* bound_reached: return the bound that the search has reached, or HY_SCAN_NO_LIMIT. */
static HyScanLimit
bound_reached(const HybridLookup *search)
{
	Size memory = hybrid_frontier_memory(&search->frontier) + hybrid_lookup_memory(search);

	if (search->work->rescored + search->work->rejected >= search->most_rows)
		return HY_SCAN_TUPLES;
	return memory > search->most_memory ? HY_SCAN_MEMORY : HY_SCAN_NO_LIMIT;
}

/* rescore: compute a row's distance from its vector in the index, and add the row to the rows found. */
static void
rescore(HybridLookup *search, const HyHeapItem *chosen, double after)
{
	const Row *row = &search->rows[chosen->which];
	HybridFoundRow found;

	found.distance = hybrid_scorer_row(&search->scorer, &search->frontier.lists[row->list].link,
	                                   row->at, &found.width);
	found.position = row->position;
	found.bound = chosen->key;
	found.list = row->list;
	found.row = chosen->which;
	search->work->rescored++;
	/* a row without a distance comes last, as in a sort */
	if (isnan(found.distance))
	{
		found.distance = INFINITY;
		found.width = INFINITY;
	}
	if (found.distance < after)
		return;
	hybrid_found_rows_add(&search->found, search->context, &found);
	(void) hy_topk_push(&search->nearest, hybrid_found_row_upper(&found), found.position);
}
