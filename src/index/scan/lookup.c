/*
 * lookup.c
 *		Search for the nearest rows by their codes, one batch after another.
 *
 * A search examines some lists at a time. The nearest lists come first. Then come the lists in which most
 * rows nearer than the k-th best are expected. Rows wait in a heap, ordered by the lower bounds that
 * their codes give for their distances. When a row reaches the top, its stored vector gives its distance.
 * (As in distance browsing: G. Hjaltason and H. Samet, "Distance browsing in spatial databases", 1999.)
 *
 * stopping.c decides when a search stops, from the rows that this search has scored.
 *
 * When k rows are known, a search takes from a list only rows that may be nearer than the k-th best. It
 * records the distance up to which it has seen the list's rows, and keeps the list in the frontier. So it
 * can resume where it stopped.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "core/topk.h"
#include "server/memory.h"
#include "server/position.h"

#include "index/page/buffers.h"
#include "index/scan/frontier.h"
#include "core/lazy_heap.h"
#include "server/compat.h"
#include "index/scan/lookup.h"
#include "index/scan/stopping.h"
#include "index/tree/tree.h"
#include "index/page/distance_bound.h"

#define FIRST 4 /* number of lists examined at a time, at first */
#define MORE 6  /* minimum of that number once expected rows are known */
/*
 * One list is examined at a time per SHARE lists examined before. (40,000 rows in clusters by Zipf's law, LIMIT 10 at
 * .95: searches score 19.1% of the rows with 2, 16.7% with 4 and 15.9% with 8; recall is .994 with each.)
 */
#define SHARE 8
#define MOST HYBRID_LISTS_MOST /* maximum of that number */
/* if at least this number of lists is examined together, they are examined in file order */
#define SORTED 16
#define AHEAD 16   /* number of lists whose first pages are prefetched together */
#define HEADER 128 /* bytes of a page before its codes that are needed */
/* number of rows rescored between two checks of the k-th best distance, at first */
#define FEW_ROWS 4
#define MOST_ROWS 32      /* maximum number of rows rescored between two such checks */
#define FILTERED_FIRST 8  /* number of rows passed to the filter at a time, at first */
#define FILTERED 64       /* maximum number of rows passed to the filter at a time */
#define EXPECTED 4096     /* bytes of vectors to prefetch */
#define SPARE_LISTS 65536 /* maximum number of lists of a search whose memory is kept */
#define SPARE_ROWS 65536

/* Row: a row whose vector may have to be read, because its bound was low enough when it was scored. */
typedef struct Row
{
	HybridVectorPosition at;
	int32 list;
	int64 position;
} Row;

struct HybridLookup
{
	MemoryContext context;
	HybridScorer scorer;
	HybridFrontier frontier;
	HybridLookupWork *work;
	Row *rows;
	HyLazyHeap rows_order; /* heap of the rows that wait */
	int rows_count;
	int rows_allocated;
	HybridFoundRows found;
	HyTopK nearest;
	int nearest_allocated;
	HybridScanQuals *filter;
	bool bounded;    /* the bounds apply to rows that the filter checks */
	int64 most_rows; /* bounds of the search: see hybrid_lookup_bound */
	double most_memory;
	HyScanLimit reached;               /* the bound that has ended the search */
	const HyWordCondition *conditions; /* on words of included columns */
	int conditions_count;
	uint32 *wanted; /* rows that satisfy them, by block of a page */
	HybridStopping stopping;
	int found_before; /* number of rows found before the last lists were examined */
};

/*
 * spare: memory of the last search that ended, kept for the next search, which usually needs about as
 * much. (200,000 rows of 128 dims, one statement for each query: without it, searches for 10 and for 100 rows take 1.03
 * times as long, medians of 31 pairs.)
 */
static HybridLookup *spare = NULL;

static float worst(const HybridLookup *search);
static float limit_of(const HybridLookup *search);
static void go_on(HybridLookup *search, double after);
static void rescore_rows(HybridLookup *search, double after);
static void rescore_wanted(HybridLookup *search, double after);
static int choose_rows(HybridLookup *search, float limit, HyHeapItem *chosen, int most);
static HyScanLimit bound_reached(const HybridLookup *search);
static void rescore(HybridLookup *search, const Row *row, double after);
static double upper_distance(const HybridFoundRow *found);
static bool examine_lists(HybridLookup *search);
static int choose_lists(HybridLookup *search, int *chosen);
static void compare(HybridLookup *search, float limit);
static int found_since(const HybridLookup *search, int first, float limit);
static void count_lately(HybridLookup *search, float limit);
static bool within(const HybridLookup *search, const HybridFoundRow *row, float limit);
static void examine(HybridLookup *search, int which, BlockNumber following);
static void
add_rows(HybridLookup *search, int which, Page page, BlockNumber at, const uint32 *without);

HybridLookup *
hybrid_lookup_new(Relation index, const HybridIndex *open, Snapshot snapshot)
{
	HybridLookup *search = spare;
	MemoryContext context, old;

	if (search != NULL &&
	    memcmp(&search->scorer.open.layout, &open->layout, sizeof(open->layout)) == 0)
	{
		spare = NULL;
		/* an error frees the memory, too */
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
	if (search->frontier.keys_allocated > SPARE_LISTS || search->rows_allocated > SPARE_ROWS ||
	    search->nearest_allocated > SPARE_ROWS)
	{
		MemoryContextDelete(search->context);
		return;
	}
	/* the spare memory may come from a search in another index */
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

	hybrid_scorer_query(scorer, probe);
	memset(work, 0, sizeof(*work));
	search->work = work;
	hybrid_frontier_clear(&search->frontier);
	if (scorer->open.metric == HY_METRIC_IP && tree->height > 0)
	{
		const HybridInner *root =
			hybrid_inner_set_add(&search->frontier.upper, scorer, &tree->root, tree->height);

		hybrid_scorer_stretch(scorer, hybrid_inner_row_length(scorer, root, tree->height));
	}
	search->rows_count = 0;
	hy_lazy_clear(&search->rows_order);
	hybrid_found_rows_clear(&search->found);
	search->filter = NULL;
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
	/* if the number of lists is fixed, this batch may need more rows of the lists examined so far */
	for (i = 0; i < frontier->lists_count && frontier->limits.probes > 0; i++)
	{
		if (!isinf(frontier->lists[i].seen))
			hybrid_frontier_put(frontier, i, -INFINITY);
	}
	for (i = 0; i < search->found.count; i++)
		(void) hy_topk_push(&search->nearest, upper_distance(&search->found.items[i]),
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
	 * if the allowance is larger than 1 - recall, calibration has shown that the search reaches the
	 * target
	 */
	if (search->stopping.ended)
		share = Min(share, search->frontier.limits.target);
	return 1 - Min(share, 1);
}

HyScanLimit
hybrid_lookup_reached(const HybridLookup *search)
{
	return search->reached;
}

int
hybrid_lookup_difficulty(const HybridLookup *search)
{
	return hybrid_stopping_difficulty(&search->stopping, worst(search));
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

double
hybrid_lookup_memory_of_all(double rows, double wanted)
{
	return rows * (sizeof(Row) + sizeof(HyHeapItem)) + wanted * sizeof(HybridFoundRow);
}

/*
 * worst: return the k-th best distance, in the unit of the estimates. It is infinite if there are fewer
 * than k rows.
 */
static float
worst(const HybridLookup *search)
{
	return search->nearest.count < search->nearest.k
	           ? INFINITY
	           : hybrid_scorer_unit(&search->scorer, search->nearest.items[0].distance, 0);
}

/*
 * limit_of: return the estimate above which no row is nearer than the k-th best. This is the k-th best distance, but by
 * taxicab distance, some of the rows that are as near have greater estimates.
 */
static float
limit_of(const HybridLookup *search)
{
	return search->nearest.count < search->nearest.k
	           ? INFINITY
	           : hybrid_scorer_unit(&search->scorer, search->nearest.items[0].distance,
	                                search->frontier.limits.eps);
}

/* go_on: search until the expected number of missing rows is at most the allowed number. */
static void
go_on(HybridLookup *search, double after)
{
	do
	{
		CHECK_FOR_INTERRUPTS();
		rescore_rows(search, after);
	} while (search->reached == HY_SCAN_NO_LIMIT &&
	         (examine_lists(search) || hy_lazy_least(&search->rows_order) < limit_of(search)));
}

/*
 * rescore_rows: read the vectors of rows that may be among the k nearest. While fewer than k rows are
 * known, that is any row.
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
		float best = limit_of(search);
		int missing = search->nearest.k - search->nearest.count;
		int some = isinf(best) && missing > 0 ? Min(missing, MOST_ROWS) : most;
		int count = choose_rows(search, best, chosen, some), i;

		if (count == 0)
			break;
		for (i = 0; i < Min(ahead, count); i++)
			hybrid_scorer_expect(&search->scorer, search->rows[chosen[i].which].at);
		for (i = 0; i < count; i++)
		{
			float limit = limit_of(search);

			if (i + ahead < count)
				hybrid_scorer_expect(&search->scorer, search->rows[chosen[i + ahead].which].at);
			/* vectors read before this one may have lowered the limit */
			if (isinf(limit) || chosen[i].key < limit)
				rescore(search, &search->rows[chosen[i].which], after);
			else
				hy_lazy_add(&search->rows_order, chosen[i].key, chosen[i].which);
		}
		most = Min(most * 2, MOST_ROWS);
		CHECK_FOR_INTERRUPTS();
	}
}

/*
 * rescore_wanted: do the work of rescore_rows with a filter. Rows are passed to the filter some at a
 * time, before their vectors are read.
 */
static void
rescore_wanted(HybridLookup *search, double after)
{
	int at_a_time = FILTERED_FIRST, count, i;
	HyHeapItem chosen[FILTERED];
	int64 positions[FILTERED];
	bool wanted[FILTERED];

	while ((count = choose_rows(search, limit_of(search), chosen, at_a_time)) > 0)
	{
		if (search->bounded && (search->reached = bound_reached(search)) != HY_SCAN_NO_LIMIT)
			break;
		for (i = 0; i < count; i++)
			positions[i] = search->rows[chosen[i].which].position;
		hybrid_scan_quals_passes(search->filter, positions, count, wanted);
		for (i = 0; i < count; i++)
		{
			if (wanted[i])
				rescore(search, &search->rows[chosen[i].which], after);
			else
				search->work->rejected++;
		}
		at_a_time = Min(at_a_time * 2, FILTERED);
		CHECK_FOR_INTERRUPTS();
	}
}

/* choose_rows: take at most `most` rows from the heap, those whose lower bounds are below the limit. */
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
		__builtin_prefetch(&search->rows[chosen[count++].which]);
	}
	return count;
}

/* bound_reached: return the bound that the search has reached, or HY_SCAN_NO_LIMIT. */
static HyScanLimit
bound_reached(const HybridLookup *search)
{
	Size memory = hybrid_frontier_memory(&search->frontier) +
	              search->rows_count * (sizeof(Row) + sizeof(HyHeapItem)) +
	              search->found.count * sizeof(HybridFoundRow);

	if (search->work->rescored + search->work->rejected >= search->most_rows)
		return HY_SCAN_TUPLES;
	return memory > search->most_memory ? HY_SCAN_MEMORY : HY_SCAN_NO_LIMIT;
}

/* rescore: read the stored vector of a row, and add the row to the results. */
static void
rescore(HybridLookup *search, const Row *row, double after)
{
	HybridFoundRow found;

	found.distance = hybrid_scorer_row(&search->scorer, &search->frontier.lists[row->list].link,
	                                   row->at, &found.width);
	found.position = row->position;
	found.list = row->list;
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
	(void) hy_topk_push(&search->nearest, upper_distance(&found), found.position);
}

/*
 * upper_distance: return the upper bound of a row's distance, if the row's copy is rounded. If the middle
 * of the bounds were used, the k-th best of many rows that rounding cannot separate would appear nearer
 * than it is, and nearer rows would not be read. With copies that differ by less than float16 resolves,
 * recall was .80 at a target of .95, and is now .98.
 */
static double
upper_distance(const HybridFoundRow *found)
{
	return isfinite(found->width) ? found->distance + found->width : found->distance;
}

/*
 * examine_lists: examine some of the lists that may have nearer rows. Returns false if there are no
 * such lists.
 */
static bool
examine_lists(HybridLookup *search)
{
	BlockNumber heads[MOST + 1];
	int chosen[MOST], count = choose_lists(search, chosen), i, j;

	if (count >= SORTED)
	{
		HyHeapItem order[MOST];
		int rest = count;

		for (i = 0; i < count; i++)
		{
			order[i].key = (float) search->frontier.lists[chosen[i]].link.head;
			order[i].which = chosen[i];
		}
		hy_heap_make(order, rest);
		for (i = 0; i < count; i++)
			chosen[i] = hy_heap_take(order, &rest).which;
	}
	for (i = 0; i < count; i++)
		heads[i] = search->frontier.lists[chosen[i]].link.head;
	heads[count] = InvalidBlockNumber;
	for (i = 0; i < count; i++)
	{
		/* several pages can be fetched from memory in the time of one */
		for (j = i; i % AHEAD == 0 && j < Min(i + AHEAD, count); j++)
			hybrid_buffer_expect(search->scorer.index, heads[j], 0, HEADER);
		examine(search, chosen[i], heads[i + 1]);
	}
	return count > 0;
}

/*
 * choose_lists: choose the lists to examine next, at most MOST. While fewer than k rows are known, any
 * list may have some of them, and the nearest lists come first.
 */
static int
choose_lists(HybridLookup *search, int *chosen)
{
	HybridFrontier *frontier = &search->frontier;
	HybridStopping *stopping = &search->stopping;
	int64 share = Max(Min(search->work->lists / SHARE, MOST), FIRST);
	float limit = frontier->limits.probes > 0 ? INFINITY : worst(search);
	double beyond, left;
	int count;

	stopping->estimated = stopping->ended = false;
	if (!isinf(limit))
		compare(search, limit);
	count = hybrid_frontier_take_again(
		frontier, frontier->limits.probes > 0 ? INFINITY : limit_of(search), MOST, chosen);
	if (count > 0)
		return count;
	if (frontier->limits.probes > 0)
		share = Min(share, Max(frontier->limits.probes - search->work->lists, 0));
	if (isinf(limit))
		return hybrid_frontier_take(frontier, (int) share, NULL, 0, NULL, chosen);
	if (hybrid_stopping_enough(stopping, frontier, limit, search->nearest.k, search->work, &beyond))
		return 0;
	left = stopping->rest;
	count = hybrid_frontier_take(frontier, (int) Max(share, MORE), &stopping->tail, beyond, &left,
	                             chosen);
	hybrid_stopping_took(stopping, chosen, count);
	search->found_before = search->found.count;
	return count;
}

/*
 * compare: compare the number of rows found in the last lists with the number that was expected there.
 * Also count the rows that were found in the last half and third of the rows scored.
 */
static void
compare(HybridLookup *search, float limit)
{
	HybridStopping *stopping = &search->stopping;
	int count = search->found.count, before = search->found_before;

	if (stopping->taken_count == 0)
		before = count;
	count_lately(search, limit);
	hybrid_stopping_compare(stopping, &search->frontier, limit, search->nearest.k,
	                        found_since(search, before, limit));
}

/* found_since: count the rows found, from number `first` on, whose distance is at most the limit. */
static int
found_since(const HybridLookup *search, int first, float limit)
{
	int found = 0, i;

	for (i = first; i < search->found.count; i++)
		found += within(search, &search->found.items[i], limit);
	return found;
}

/*
 * count_lately: count the rows found whose distance is at most the limit, and whose lists lie in the last half of the
 * rows scored, and those in the last third.
 */
static void
count_lately(HybridLookup *search, float limit)
{
	HybridStopping *stopping = &search->stopping;
	int64 rows = search->work->rows;
	int i;

	stopping->in_half = stopping->lately = 0;
	for (i = 0; i < search->found.count; i++)
	{
		const HybridFoundRow *row = &search->found.items[i];
		int64 place = search->frontier.lists[row->list].place;

		if (place > rows / 2 && within(search, row, limit))
		{
			stopping->in_half++;
			stopping->lately += place > rows / 3 * 2;
		}
	}
}

/* within: test whether the distance of a row found is at most the limit. */
static bool
within(const HybridLookup *search, const HybridFoundRow *row, float limit)
{
	return hybrid_scorer_unit(&search->scorer, upper_distance(row), 0) <= limit;
}

/*
 * examine: take the rows of a leaf list that may be nearer than the k-th best and were not taken
 * before. While the codes of a page are scored, the codes of the next page are prefetched. After the
 * list's last page, the next page is the first page of the following list.
 */
static void
examine(HybridLookup *search, int which, BlockNumber following)
{
	HybridScorer *scorer = &search->scorer;
	const HybridLayout *layout = &scorer->open.layout;
	HybridLeafCandidate *list = &search->frontier.lists[which];
	float limit = limit_of(search);
	BlockNumber block = list->link.head;
	bool again = !isinf(list->seen);
	HybridAim aim, before;
	uint32 pages = 0;
	int rows = 0, wanted = 0, at = 0;

	hybrid_scorer_aim(scorer, &list->reach, search->frontier.limits.eps, limit, &aim);
	if (again)
		hybrid_scorer_aim(scorer, &list->reach, search->frontier.limits.eps, list->seen, &before);
	else
		hybrid_scorer_sample(scorer, &list->link);
	if (!again && search->frontier.limits.probes == 0)
		list->sampled = hybrid_stopping_list(&search->stopping, &search->frontier, which);
	do
	{
		Buffer buffer = hybrid_list_read(scorer->index, layout, &list->link, 0, block, NULL);
		Page page = BufferGetPage(buffer);
		const HybridListPage *content = hybrid_list_page(page);
		int blocks = (content->used + HY_CODE_ROWS - 1) / HY_CODE_ROWS, b;

		TestForOldSnapshot(scorer->snapshot, scorer->index, page);
		if (BlockNumberIsValid(content->next))
			hybrid_buffer_expect(scorer->index, content->next, 0, HEADER);
		if (!again && list->sampled > 0 && !BlockNumberIsValid(content->next))
			list->last = at + blocks - 1;
		/* score as the first time, to determine which rows were taken then */
		aim.whole = before.whole = Max(Min(list->sampled - at, blocks), 0);
		aim.also = before.also =
			list->last - at >= aim.whole && list->last - at < blocks ? list->last - at : -1;
		wanted += hybrid_words_judge(layout, page, search->conditions, search->conditions_count,
		                             search->wanted);
		if (again)
		{
			hybrid_scorer_page(scorer, page, &list->link, &before, search->wanted,
			                   InvalidBlockNumber);
			memcpy(scorer->taken, scorer->masks, blocks * sizeof(uint32));
		}
		hybrid_scorer_page(scorer, page, &list->link, &aim, search->wanted,
		                   BlockNumberIsValid(content->next) ? content->next : following);
		for (b = 0; b < blocks && !again; b++)
		{
			if (b < aim.whole || b == aim.also)
				hybrid_stopping_rows(&search->stopping, &search->frontier, which,
				                     hybrid_block(&layout->leaf, page, b),
				                     scorer->estimates + b * HY_CODE_ROWS);
		}
		at += blocks;
		rows += content->live;
		add_rows(search, which, page, block, again ? scorer->taken : NULL);
		block = content->next;
		UnlockReleaseBuffer(buffer);
		hybrid_chain_step(scorer->index, &list->link, &pages);
	} while (BlockNumberIsValid(block));
	if (isinf(list->seen))
	{
		list->place = search->work->rows + rows / 2;
		search->work->lists++;
		search->work->rows += rows;
		search->work->excluded += rows - wanted;
	}
	/* with a fixed number of lists, the limit may be lower than at the previous examination of this list */
	list->seen = Max(list->seen, limit);
	if (search->frontier.limits.probes == 0 && !isinf(limit))
		hybrid_frontier_put(&search->frontier, which, limit);
}

/*
 * add_rows: add to the heap the wanted rows of a page that the scorer's masks have and, if `without` is not NULL,
 * those masks have not.
 */
static void
add_rows(HybridLookup *search, int which, Page page, BlockNumber at, const uint32 *without)
{
	HybridScorer *scorer = &search->scorer;
	HyLazyHeap *order = &search->rows_order;
	int blocks = (hybrid_list_page(page)->used + HY_CODE_ROWS - 1) / HY_CODE_ROWS, b;

	for (b = 0; b < blocks; b++)
	{
		const HybridBlock *entries = hybrid_block(&scorer->open.layout.leaf, page, b);
		uint32 mask = scorer->masks[b] & search->wanted[b] & ~(without != NULL ? without[b] : 0);

		for (; mask != 0; mask &= mask - 1)
		{
			int i = pg_rightmost_one_pos32(mask), slot = b * HY_CODE_ROWS + i;
			float lower = scorer->lowers[slot];
			Row *row;

			if (search->rows_count == search->rows_allocated)
			{
				int rows = search->rows_allocated = Max(1024, search->rows_allocated * 2);

				search->rows = hybrid_enlarge(search->context, search->rows, rows * sizeof(Row));
				order->items =
					hybrid_enlarge(search->context, order->items, rows * sizeof(HyHeapItem));
			}
			row = &search->rows[search->rows_count];
			row->at = hybrid_scorer_position(scorer, page, at, 0, slot);
			row->list = which;
			row->position = hybrid_position(&entries->tid[i]);
			hy_lazy_add(order, isnan(lower) ? -INFINITY : lower, search->rows_count++);
		}
	}
}
