/*
 * lookup_lists.c
 *		Choose the lists that a search examines next, and examine them.
 *
 * When k rows are known, a search takes from a list only the rows that may be nearer than the k-th best.
 * It records the limit up to which it has taken the list's rows, and keeps the list in the frontier. If
 * farther rows are wanted later, it examines the list again and takes the rows beyond the recorded limit.
 */
#include "postgres.h"

#include <math.h>

#include "port/pg_bitutils.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "server/compat.h"
#include "server/memory.h"
#include "server/position.h"

#include "index/page/buffers.h"
#include "index/page/list_read.h"
#include "index/scan/lookup_state.h"
#include "index/tree/tree.h"

#define FIRST 4 /* minimum number of lists examined at a time, while fewer than k rows are known */
/*
 * Once the search can estimate how many rows it misses, it examines at a time half as many lists as it has examined so
 * far, but at most MORE, unless SHARE gives a larger number. (12,000 rows, LIMIT 10 at .95: in 1,000 clusters, searches
 * score 8.8% of the rows, and 11.6% if they examine MORE lists at a time from the start; in 300 clusters where one row
 * in 200 lies halfway to the origin, 14.9% and 23.8%. Recall is at least .995, and searches take as long. With two
 * lists at first instead of four, calibration measures searches that stopped too early: on a surface of three
 * dimensions in 84, searches then score 89% of the rows instead of 69%.)
 */
#define MORE 6
/*
 * At least one list is examined at a time per SHARE lists examined before. (40,000 rows in clusters by Zipf's law,
 * LIMIT 10 at .95: searches score 19.1% of the rows with SHARE 2, 16.7% with 4 and 15.9% with 8; recall is .994 with
 * each.)
 */
#define SHARE 8
#define MOST HYBRID_LISTS_MOST /* maximum number of lists examined at a time */
/* if at least this number of lists is examined together, they are examined in file order */
#define SORTED 16
#define AHEAD 16   /* number of lists whose first pages are prefetched together */
#define HEADER 128 /* bytes at the beginning of a page to prefetch: what is read before its codes */

/* Examination: state while a list is examined. */
typedef struct Examination
{
	int which;
	bool again;  /* the list was examined before */
	bool aimed;  /* `aim` is set, and also `before` if `again` is set */
	float limit; /* rows with lower bounds up to this are taken */
	HybridAim aim;
	HybridAim before; /* the aim of the last examination, which tells which rows were taken then */
	int blocks;       /* number of blocks on the pages before the current one */
} Examination;

static int choose_lists(HybridLookup *search, int *chosen);
static int take_rest(HybridLookup *search, int *chosen);
static void compare(HybridLookup *search, float limit);
static int count_best(HybridLookup *search, int first);
static int places_for_last(const HybridLookup *search);
static inline bool is_best(const HybridLookup *search, const HybridFoundRow *row, int *places);
static inline bool are_copies(const HybridFoundRow *a, const HybridFoundRow *b);
static void examine(HybridLookup *search, int which, BlockNumber following);
static int judge(HybridLookup *search, Page page, BlockNumber next);
static inline const uint32 *masks_of_wanted(const HybridLookup *search);
static void take_rows(HybridLookup *search, Examination *examination, Page page, BlockNumber at,
                      BlockNumber next);
static void aim_at(HybridLookup *search, Examination *examination);
static void
add_rows(HybridLookup *search, int which, Page page, BlockNumber at, const uint32 *without);
static void expect_words(const HybridLookup *search, BlockNumber block);
static void keep_page(HybridLookup *search, int first, BlockNumber page);

bool
hybrid_lookup_examine_lists(HybridLookup *search)
{
	BlockNumber heads[MOST + 1];
	int chosen[MOST], count = choose_lists(search, chosen), i, j;

	/* lists from take_rest are nearly in file order already */
	if (count >= SORTED && !search->stopping.all)
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
		/* several prefetches of memory take about as long as one */
		for (j = i; i % AHEAD == 0 && j < Min(i + AHEAD, count); j++)
			hybrid_buffer_expect(search->scorer.index, heads[j], 0, HEADER);
		examine(search, chosen[i], heads[i + 1]);
	}
	return count > 0;
}

/*
 * choose_lists: choose at most MOST lists to examine next, and return their number. Lists that wait to be examined again
 * come first. While fewer than k rows are known, or if the number of lists is fixed, the first lists of the frontier are
 * chosen. Afterwards, the search may end (stopping.c), or the lists with the largest shares of near rows are chosen.
 */
static int
choose_lists(HybridLookup *search, int *chosen)
{
	HybridFrontier *frontier = &search->frontier;
	HybridStopping *stopping = &search->stopping;
	int64 lists = search->work->lists, share = Min(lists / SHARE, MOST);
	float limit = frontier->limits.probes > 0 ? INFINITY : hybrid_lookup_estimate_limit(search);
	double beyond, left;
	int count;

	stopping->estimated = stopping->ended = false;
	if (!isinf(limit) && !stopping->all)
		compare(search, limit);
	count = hybrid_frontier_take_again(frontier, limit, MOST, chosen);
	if (count > 0)
		return count;
	if (stopping->all)
		return take_rest(search, chosen);
	if (isinf(limit))
	{
		share = Max(share, FIRST);
		/* if the number of lists is fixed, all of them will be examined, so take more at a time */
		if (frontier->limits.probes > 0)
			share =
				Min(Max(share, Min(lists, SORTED - 1)), Max(frontier->limits.probes - lists, 0));
		return hybrid_frontier_take(frontier, (int) share, NULL, 0, NULL, chosen);
	}
	if (hybrid_stopping_enough(stopping, frontier, limit, search->nearest.k, search->work, &beyond))
		return 0;
	if (hybrid_stopping_reads_all(stopping, frontier, search->nearest.k, search->work))
		return take_rest(search, chosen);
	left = stopping->rest;
	share = Max(share, Min(Max(lists / 2, 1), MORE));
	count = hybrid_frontier_take(frontier, (int) share, &stopping->tail, beyond, &left, chosen);
	hybrid_stopping_took(stopping, chosen, count);
	search->found_before = search->found.count;
	return count;
}

/* take_rest: take lists nearly in the order of the file. When none is left, record that no row is missing. */
static int
take_rest(HybridLookup *search, int *chosen)
{
	HybridStopping *stopping = &search->stopping;
	int count = hybrid_frontier_take_rest(&search->frontier, MOST, chosen);

	stopping->rest = 0;
	stopping->estimated = stopping->ended = count == 0;
	return count;
}

/*
 * compare: compare the number of rows found in the lists examined last with the number expected there.
 * Also count the k best rows that were found in the last half and in the last third of the rows scored.
 */
static void
compare(HybridLookup *search, float limit)
{
	HybridStopping *stopping = &search->stopping;
	int before = stopping->taken_count == 0 ? search->found.count : search->found_before;

	hybrid_stopping_compare(stopping, &search->frontier, limit, search->nearest.k,
	                        count_best(search, before));
}

/*
 * count_best: return how many of the k best rows are among the rows found with number `first` or later. Also count the
 * k best rows whose lists were scored in the last half, and in the last third, of the rows scored. Also test whether
 * more than half of the k best rows are copies of one row, by the majority vote of R. Boyer and J. Moore (1981).
 */
static int
count_best(HybridLookup *search, int first)
{
	HybridStopping *stopping = &search->stopping;
	const HybridFoundRow *often = NULL;
	int64 rows = search->work->rows;
	int last = places_for_last(search), places = last, votes = 0, copies = 0, since = 0, i;

	stopping->in_half = stopping->lately = 0;
	for (i = 0; i < search->found.count; i++)
	{
		const HybridFoundRow *row = &search->found.items[i];
		int64 place = search->frontier.lists[row->list].place;

		if (!is_best(search, row, &places))
			continue;
		since += i >= first;
		stopping->in_half += place > rows / 2;
		stopping->lately += place > rows / 3 * 2;
		often = votes == 0 ? row : often;
		votes += are_copies(row, often) ? 1 : -1;
	}
	places = last;
	for (i = 0; i < search->found.count && votes > 0; i++)
		copies += is_best(search, &search->found.items[i], &places) &&
		          are_copies(&search->found.items[i], often);
	stopping->copies = copies > search->nearest.k / 2;
	return since;
}

/* places_for_last: return how many of the k best rows have the same distance as the k-th best. */
static int
places_for_last(const HybridLookup *search)
{
	int places = search->nearest.k, i;

	for (i = 0; i < search->found.count; i++)
		places -=
			hybrid_found_row_upper(&search->found.items[i]) < search->nearest.items[0].distance;
	return places;
}

/*
 * is_best: test whether a row found is one of the k best. Among rows that tie with the k-th best, only those found
 * first count. A tie found later improves nothing, so it is no reason to search further. *places is the number of ties
 * that are still accepted; each accepted one is subtracted. (12,000 rows of integers in 8 dimensions, LIMIT 10:
 * searches score 14%, 19% and 20% of the rows at .9, .95 and .99 if all ties count, and 11%, 15% and 17% if only the
 * first ones do. Recall is .994 or more.)
 */
static inline bool
is_best(const HybridLookup *search, const HybridFoundRow *row, int *places)
{
	double distance = hybrid_found_row_upper(row), worst = search->nearest.items[0].distance;

	return distance < worst || (distance == worst && (*places)-- > 0);
}

/* are_copies: test whether two rows are taken for copies: they are in one list, and their codes give the same bound. */
static inline bool
are_copies(const HybridFoundRow *a, const HybridFoundRow *b)
{
	return a->list == b->list && a->bound == b->bound;
}

/*
 * examine: take the rows of a leaf list that may be nearer than the k-th best and were not taken before.
 * While the codes of a page are scored, the codes of the next page are prefetched. The page after the
 * list's last page is `following`, the first page of the list that is examined next.
 */
static void
examine(HybridLookup *search, int which, BlockNumber following)
{
	HybridScorer *scorer = &search->scorer;
	const HybridLayout *layout = &scorer->open.layout;
	HybridLeafCandidate *list = &search->frontier.lists[which];
	Examination examination;
	BlockNumber block = list->link.head;
	uint32 pages = 0;
	int rows = 0, wanted = 0, first;

	examination.which = which;
	examination.again = !isinf(list->seen);
	examination.aimed = false;
	examination.limit = hybrid_lookup_estimate_limit(search);
	examination.blocks = 0;
	/* a centroid that is not in memory is read now, and not while a page is locked */
	if (list->inner == NULL || list->inner->centroids == NULL)
		aim_at(search, &examination);
	if (!examination.again && !search->stopping.all)
	{
		hybrid_scorer_sample(scorer, &list->link);
		if (search->frontier.limits.probes == 0)
			list->sampled = hybrid_stopping_list(&search->stopping, &search->frontier, which);
	}
	do
	{
		Buffer buffer = hybrid_list_read(scorer->index, layout, &list->link, 0, block, NULL);
		Page page = BufferGetPage(buffer);
		const HybridListPage *content = hybrid_list_page(page);
		BlockNumber next = BlockNumberIsValid(content->next) ? content->next : following;
		int some;

		TestForOldSnapshot(scorer->snapshot, scorer->index, page);
		if (BlockNumberIsValid(content->next))
			hybrid_buffer_expect(scorer->index, content->next, 0, HEADER);
		some = judge(search, page, next);
		first = search->rows_count;
		if (some > 0 || !search->stopping.all)
			take_rows(search, &examination, page, block, next);
		examination.blocks += hybrid_list_blocks(page);
		wanted += some;
		rows += content->live;
		if (search->keeps_pages)
			keep_page(search, first, block);
		block = content->next;
		UnlockReleaseBuffer(buffer);
		hybrid_chain_step(scorer->index, &list->link, &pages);
	} while (BlockNumberIsValid(block));
	if (!examination.again)
	{
		list->place = search->work->rows + rows / 2;
		search->work->lists++;
		search->work->rows += rows;
		search->work->excluded += rows - wanted;
	}
	/* with a fixed number of lists, the limit may be lower than at the previous examination of this list */
	list->seen = Max(list->seen, examination.limit);
	/* a list in which no row satisfies the conditions need not be examined again */
	if (search->frontier.limits.probes == 0 && !isinf(list->seen) && wanted > 0)
		hybrid_frontier_put(&search->frontier, which, list->seen);
}

/*
 * judge: return the number of wanted rows of a page. With conditions on words, set search->wanted to the masks of these
 * rows. Without conditions, do not read the heads of the blocks: the search would wait for memory once more.
 */
static int
judge(HybridLookup *search, Page page, BlockNumber next)
{
	if (search->conditions_count == 0)
		return hybrid_list_page(page)->live;
	expect_words(search, next);
	return hybrid_words_judge(&search->scorer.open.layout, page, search->conditions,
	                          search->conditions_count, search->wanted);
}

/* masks_of_wanted: return the masks that judge has set, or NULL without conditions: then all live rows are wanted. */
static inline const uint32 *
masks_of_wanted(const HybridLookup *search)
{
	return search->conditions_count > 0 ? search->wanted : NULL;
}

/* take_rows: score a page of a list and take its rows. */
static void
take_rows(HybridLookup *search, Examination *examination, Page page, BlockNumber at,
          BlockNumber next)
{
	HybridScorer *scorer = &search->scorer;
	HybridLeafCandidate *list = &search->frontier.lists[examination->which];
	HybridAim *aim = &examination->aim, *before = &examination->before;
	const uint32 *wanted = masks_of_wanted(search);
	bool again = examination->again;
	int blocks = hybrid_list_blocks(page), b;

	if (!examination->aimed)
		aim_at(search, examination);
	if (!again && list->sampled > 0 && !BlockNumberIsValid(hybrid_list_page(page)->next))
		list->last = examination->blocks + blocks - 1;
	/* Score in full the same blocks as at the first examination. Then `before` finds the rows that were taken then. */
	aim->whole = before->whole = Max(Min(list->sampled - examination->blocks, blocks), 0);
	aim->also = before->also =
		list->last - examination->blocks >= aim->whole && list->last - examination->blocks < blocks
			? list->last - examination->blocks
			: -1;
	if (again)
	{
		hybrid_scorer_page(scorer, page, &list->link, before, wanted, InvalidBlockNumber);
		memcpy(scorer->taken, scorer->masks, blocks * sizeof(uint32));
	}
	hybrid_scorer_page(scorer, page, &list->link, aim, wanted, next);
	for (b = 0; b < blocks && !again; b++)
	{
		if (b < aim->whole || b == aim->also)
			hybrid_stopping_rows(&search->stopping, &search->frontier, examination->which,
			                     hybrid_block(&scorer->open.layout.leaf, page, b),
			                     scorer->estimates + b * HY_CODE_ROWS);
	}
	add_rows(search, examination->which, page, at, again ? scorer->taken : NULL);
}

/* aim_at: prepare to score the rows of a list. Reads its centroid if necessary. */
static void
aim_at(HybridLookup *search, Examination *examination)
{
	HybridScorer *scorer = &search->scorer;
	const HybridLeafCandidate *list = &search->frontier.lists[examination->which];
	float eps = search->frontier.limits.eps;

	hybrid_frontier_reach(&search->frontier, examination->which);
	hybrid_scorer_aim(scorer, &list->reach, eps, examination->limit, &examination->aim);
	if (examination->again)
		hybrid_scorer_aim(scorer, &list->reach, eps, list->seen, &examination->before);
	examination->aimed = true;
}

/*
 * expect_words: prefetch the words of a page while the words of the page before it are tested. (1,000,000 rows of 128
 * dimensions with two columns, .1% of the rows wanted, LIMIT 10, all lists read: 15 ms without this, 11 ms with it.)
 */
static void
expect_words(const HybridLookup *search, BlockNumber block)
{
	const char *page = hybrid_buffer_guess(search->scorer.index, block);

	if (page != NULL)
		hybrid_words_expect(&search->scorer.open.layout, page, search->conditions,
		                    search->conditions_count);
}

/*
 * add_rows: add to rows_order the rows of a page that satisfy the conditions on words and are set in the scorer's masks.
 * If `without` is not NULL, leave out the rows that are set in its masks.
 */
static void
add_rows(HybridLookup *search, int which, Page page, BlockNumber at, const uint32 *without)
{
	HybridScorer *scorer = &search->scorer;
	HyLazyHeap *order = &search->rows_order;
	const uint32 *wanted = masks_of_wanted(search);
	int blocks = hybrid_list_blocks(page), b;

	for (b = 0; b < blocks; b++)
	{
		const HybridBlock *entries = hybrid_block(&scorer->open.layout.leaf, page, b);
		uint32 mask = scorer->masks[b] & (wanted != NULL ? wanted[b] : entries->live) &
		              ~(without != NULL ? without[b] : 0);

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
			row->error = entries->factors.error[i] * search->frontier.lists[which].reach.reach;
			row->position = hybrid_position(&entries->tid[i]);
			hy_lazy_add(order, isnan(lower) ? -INFINITY : lower, search->rows_count++);
		}
	}
}

/* keep_page: record the list page of the rows with number `first` or later. */
static void
keep_page(HybridLookup *search, int first, BlockNumber page)
{
	int i;

	if (search->pages_allocated < search->rows_allocated)
	{
		search->pages_allocated = search->rows_allocated;
		search->pages = hybrid_enlarge(search->context, search->pages,
		                               search->pages_allocated * sizeof(BlockNumber));
	}
	for (i = first; i < search->rows_count; i++)
		search->pages[i] = page;
}
