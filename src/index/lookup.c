/*
 * lookup.c
 *		The nearest rows by codes, one lot after another.
 *
 * As in distance browsing (G. Hjaltason and H. Samet, "Distance browsing in spatial databases",
 * 1999) lists and rows wait in heaps, by bounds of their distances, and the next of them is looked at
 * until k rows are known that are nearer than all that waits.  So a search resumes where it stopped.
 *
 * A row's bound comes from its code; when its turn comes its stored vector says how near it is.
 *
 * A list's bound is a guess, see frontier.c.
 *
 * Lists are looked into some at a time, so that the memory they need is fetched meanwhile.  Of a list
 * that is looked into when k rows are known, only rows that may be nearer are taken; the list waits
 * again, at the distance up to which its rows have been seen.
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
#include "server/position.h"

#include "index/buffers.h"
#include "index/frontier.h"
#include "index/lazy_order.h"
#include "index/lookup.h"
#include "index/tree.h"

#define FIRST 2           /* lists that are looked into at a time, at first */
#define MOST 64           /* and later */
#define SORTED 16         /* from which on they come in the order of the file */
#define AHEAD 16          /* lists whose first pages are fetched together */
#define HEADER 128        /* bytes of a page that are needed before its codes */
#define FEW_ROWS 4        /* that are looked at between two looks at the worst, at first */
#define MOST_ROWS 32      /* and later */
#define JUDGED_FIRST 8    /* rows that are judged at a time, at first */
#define JUDGED 64         /* and later */
#define EARLY 128         /* that are judged before their turn */
#define EXPECTED 4096     /* bytes of vectors that are fetched ahead */
#define SPARE_LISTS 65536 /* of a search whose memory is kept */
#define SPARE_ROWS 65536

/* Row: its bound is low enough for its vector to be looked at, some day. */
typedef struct Row
{
	HybridPlace at;
	int32 list;
	int64 position;
} Row;

struct HybridLookup
{
	MemoryContext context;
	HybridScorer scorer;
	HybridFrontier frontier;
	HybridLookupWork work;
	Row *rows;
	HybridLazyOrder rows_order; /* of those that wait */
	int rows_count;
	int rows_allocated;
	HybridFind *finds;
	int finds_count;
	int finds_allocated;
	int returned;          /* of the finds: the first */
	int64 returned_before; /* in earlier lots of this search */
	HyTopK nearest;
	int nearest_allocated;
	HybridJudge judge;
	void *judge_arg;
	bool enough; /* it said so */
};

/* spare: the memory of the last search that ended, for the next one; it is the same size mostly. */
static HybridLookup *spare = NULL;

static void begin_nearest(HybridLookup *search, int k);
static float worst(const HybridLookup *search);
static void look_again(HybridLookup *search);
static void look_at_rows(HybridLookup *search, double after);
static void look_at_wanted(HybridLookup *search, double after);
static int choose_rows(HybridLookup *search, HybridOrdered *chosen, int most, float list);
static void look_at(HybridLookup *search, const Row *row, double after);
static double likely_distance(const HybridFind *find);
static bool look_into_lists(HybridLookup *search, int most);
static double lists_of_a_lot(const HybridLookup *search);
static void look_into(HybridLookup *search, int which, BlockNumber following);
static void add_row(HybridLookup *search, float lower, HybridPlace at, int list, int64 position);
static void add_find(HybridLookup *search, const HybridFind *find);
static int bring_forward(HybridLookup *search);
static int compare_finds(const void *a, const void *b);
static void *room(HybridLookup *search, void *array, int count, Size size);

HybridLookup *
hybrid_lookup_new(Relation index, const HybridIndex *open, Snapshot snapshot)
{
	HybridLookup *search = spare;
	MemoryContext context, old;

	if (search != NULL &&
	    memcmp(&search->scorer.open.layout, &open->layout, sizeof(open->layout)) == 0)
	{
		spare = NULL;
		/* an error takes it along */
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
	hybrid_frontier_init(&search->frontier, &search->scorer, context);
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
	/* of another index, perhaps, that was searched before this one */
	if (spare != NULL)
		MemoryContextDelete(spare->context);
	search->scorer.probe = NULL;
	search->scorer.snapshot = NULL;
	MemoryContextSetParent(search->context, TopMemoryContext);
	spare = search;
}

void
hybrid_lookup_query(HybridLookup *search, const HybridProbe *probe)
{
	hybrid_scorer_query(&search->scorer, probe);
	memset(&search->work, 0, sizeof(search->work));
	hybrid_frontier_clear(&search->frontier);
	search->rows_count = 0;
	hybrid_lazy_clear(&search->rows_order);
	search->finds_count = 0;
	search->returned = 0;
	search->returned_before = 0;
	search->judge = NULL;
	search->enough = false;
}

const HybridTree *
hybrid_lookup_tree(const HybridLookup *search)
{
	return &search->scorer.tree;
}

void
hybrid_lookup_limit(HybridLookup *search, const HybridLookupLimits *limits)
{
	hybrid_frontier_begin(&search->frontier, limits);
}

void
hybrid_lookup_judge(HybridLookup *search, HybridJudge judge, void *arg)
{
	search->judge = judge;
	search->judge_arg = arg;
}

const HybridFind *
hybrid_lookup_next(HybridLookup *search, int k, double after, int *count)
{
	int at_a_time = FIRST, i, kept = 0;

	for (i = search->returned; i < search->finds_count; i++)
		search->finds[kept++] = search->finds[i];
	search->finds_count = kept;
	search->returned_before += search->returned;
	begin_nearest(search, k);
	hybrid_frontier_tire(&search->frontier, lists_of_a_lot(search));
	look_again(search);
	for (i = 0; i < kept; i++)
		(void) hy_topk_push(&search->nearest, likely_distance(&search->finds[i]),
		                    search->finds[i].position);
	do
	{
		CHECK_FOR_INTERRUPTS();
		look_at_rows(search, after);
		at_a_time = Min(at_a_time * 2, MOST);
	} while (!search->enough && (look_into_lists(search, at_a_time / 2) ||
	                             hybrid_lazy_least(&search->rows_order) < worst(search)));

	search->returned = bring_forward(search);
	qsort(search->finds, search->returned, sizeof(HybridFind), compare_finds);
	*count = search->returned;
	return search->finds;
}

HybridLookupWork
hybrid_lookup_work(const HybridLookup *search)
{
	return search->work;
}

Size
hybrid_lookup_memory(const HybridLookup *search)
{
	return hybrid_frontier_memory(&search->frontier) +
	       search->rows_count * (sizeof(Row) + sizeof(HybridOrdered)) +
	       search->finds_count * sizeof(HybridFind);
}

float
hybrid_lookup_promise(const HybridLookup *search, int list, double distance)
{
	return hybrid_frontier_promise(&search->frontier, list,
	                               hybrid_scorer_unit(&search->scorer, distance));
}

/* begin_nearest: room for the k nearest of a lot. */
static void
begin_nearest(HybridLookup *search, int k)
{
	HyNeighbor *items = search->nearest.items;

	if (k > search->nearest_allocated)
	{
		items = room(search, items, k, sizeof(HyNeighbor));
		search->nearest_allocated = k;
	}
	hy_topk_init(&search->nearest, items, k);
}

/* look_again: where lists are counted, those that were looked into have rows for the next lot, too. */
static void
look_again(HybridLookup *search)
{
	HybridFrontier *frontier = &search->frontier;
	int i;

	if (frontier->limits.probes == 0)
		return;
	for (i = 0; i < frontier->lists_count; i++)
	{
		if (!isinf(frontier->lists[i].seen))
			hybrid_frontier_put(frontier, i, -INFINITY);
	}
}

/* worst: of the k nearest, in the unit of the estimates; infinite while there are fewer. */
static float
worst(const HybridLookup *search)
{
	return search->nearest.count < search->nearest.k
	           ? INFINITY
	           : hybrid_scorer_unit(&search->scorer, search->nearest.items[0].distance);
}

/* look_at_rows: those that come before the next list; and while there are fewer than k, any. */
static void
look_at_rows(HybridLookup *search, double after)
{
	float list = hybrid_frontier_next(&search->frontier);
	int most = FEW_ROWS, count;
	HybridOrdered chosen[MOST_ROWS];

	if (search->judge != NULL)
	{
		look_at_wanted(search, after);
		return;
	}
	while ((count = choose_rows(search, chosen, most, list)) > 0)
	{
		int ahead = Max((int) (EXPECTED / search->scorer.open.layout.stride), 1), i;

		for (i = 0; i < Min(ahead, count); i++)
			hybrid_scorer_expect(&search->scorer, search->rows[chosen[i].which].at);
		for (i = 0; i < count; i++)
		{
			float limit = worst(search);

			if (i + ahead < count)
				hybrid_scorer_expect(&search->scorer, search->rows[chosen[i + ahead].which].at);
			/* those before it were nearer than they looked */
			if (isinf(limit) || chosen[i].key < limit)
				look_at(search, &search->rows[chosen[i].which], after);
			else
				hybrid_lazy_add(&search->rows_order, chosen[i].key, chosen[i].which);
		}
		most = Min(most * 2, MOST_ROWS);
		CHECK_FOR_INTERRUPTS();
	}
}

/* look_at_wanted: the same; some rows at a time are judged first. */
static void
look_at_wanted(HybridLookup *search, double after)
{
	float list = hybrid_frontier_next(&search->frontier);
	int at_a_time = JUDGED_FIRST, early = EARLY, i;

	while (search->rows_order.count > 0 && !search->enough)
	{
		float limit = worst(search);
		int chosen[JUDGED], count = 0, judged;
		int64 positions[JUDGED];
		bool wanted[JUDGED];

		while (count < at_a_time && search->rows_order.count > 0)
		{
			float key = hybrid_lazy_least(&search->rows_order);

			if (!isinf(limit) && (!(key < limit) || (key > list && early-- <= 0)))
				break;
			chosen[count] = hybrid_lazy_take(&search->rows_order).which;
			__builtin_prefetch(&search->rows[chosen[count++]]);
		}
		if (count == 0)
			break;
		for (i = 0; i < count; i++)
			positions[i] = search->rows[chosen[i]].position;
		judged = search->judge(search->judge_arg, positions, count, wanted);
		search->enough = judged < count;
		for (i = 0; i < judged; i++)
		{
			if (wanted[i])
				look_at(search, &search->rows[chosen[i]], after);
			else
				search->work.rejected++;
		}
		at_a_time = Min(at_a_time * 2, JUDGED);
		CHECK_FOR_INTERRUPTS();
	}
}

/* choose_rows: the next rows that come before that distance; they wait no more. */
static int
choose_rows(HybridLookup *search, HybridOrdered *chosen, int most, float list)
{
	float limit = worst(search);
	int missing = search->nearest.k - search->nearest.count, count = 0;

	if (isinf(limit))
		most = missing > 0 ? Min(missing, MOST_ROWS) : most;
	while (count < most && search->rows_order.count > 0)
	{
		float key = hybrid_lazy_least(&search->rows_order);

		if (!isinf(limit) && (!(key < limit) || key > list))
			break;
		chosen[count++] = hybrid_lazy_take(&search->rows_order);
	}
	return count;
}

/* look_at: the stored vector of a row. */
static void
look_at(HybridLookup *search, const Row *row, double after)
{
	HybridFind find;

	find.distance = hybrid_scorer_row(&search->scorer, &search->frontier.lists[row->list].link,
	                                  row->at, &find.width);
	find.list = row->list;
	find.position = row->position;
	search->work.rescored++;
	/* what has no distance comes last, as in a sort */
	if (isnan(find.distance))
	{
		find.distance = INFINITY;
		find.width = INFINITY;
	}
	if (find.distance < after)
		return;
	add_find(search, &find);
	(void) hy_topk_push(&search->nearest, likely_distance(&find), find.position);
}

/*
 * likely_distance: of a row whose copy is rounded, the middle of what is known of it, which is off by much
 * less than it may be.  By the least that it may be, a search would end too soon.
 */
static double
likely_distance(const HybridFind *find)
{
	return isfinite(find->width) ? find->distance + find->width / 2 : find->distance;
}

/* look_into_lists: some of those that may have nearer rows; false: there are none. */
static bool
look_into_lists(HybridLookup *search, int most)
{
	BlockNumber heads[MOST + 1];
	int chosen[MOST], count, i, j;

	hybrid_frontier_tire(&search->frontier, lists_of_a_lot(search));
	count =
		search->frontier.limits.probes > 0
			? hybrid_frontier_choose_nearest(&search->frontier, search->work.lists, chosen, most)
			: hybrid_frontier_choose(&search->frontier, worst(search), chosen, most);
	if (count >= SORTED)
	{
		HybridOrdered order[MOST];

		for (i = 0; i < count; i++)
		{
			order[i].key = (float) search->frontier.lists[chosen[i]].link.head;
			order[i].which = chosen[i];
		}
		hybrid_order_make(order, count);
		for (i = 0; i < most && count > 0; i++)
			chosen[i] = hybrid_order_take(order, &count).which;
		count = i;
	}
	for (i = 0; i < count; i++)
		heads[i] = search->frontier.lists[chosen[i]].link.head;
	heads[count] = InvalidBlockNumber;
	for (i = 0; i < count; i++)
	{
		/* the processor looks for where they lie as long as it takes for one */
		for (j = i; i % AHEAD == 0 && j < Min(i + AHEAD, count); j++)
			hybrid_buffer_expect(search->scorer.index, heads[j], 0, HEADER);
		look_into(search, chosen[i], heads[i + 1]);
	}
	return count > 0;
}

/*
 * lists_of_a_lot: those that have been looked into, for as many rows as the curve was measured for.  Where more are
 * wanted more lists have some of them, and so it is where few rows are wanted of those that are near.
 */
static double
lists_of_a_lot(const HybridLookup *search)
{
	const HybridLookupWork *work = &search->work;
	double wanted = (double) search->returned_before + search->nearest.k, share = 1;

	if (work->rejected > 0)
		share = (double) work->rescored / (work->rescored + work->rejected);
	return work->lists * share * Min(HYBRID_FIRST_NEAREST / wanted, 1);
}

/*
 * look_into: the rows of a leaf list that may be nearer than the worst, and have not been taken.  While
 * the codes of a page are scored those of the next one are fetched, which after its last page is the
 * following list's.
 */
static void
look_into(HybridLookup *search, int which, BlockNumber following)
{
	HybridScorer *scorer = &search->scorer;
	const HybridLayout *layout = &scorer->open.layout;
	HybridWaiting *list = &search->frontier.lists[which];
	float limit = worst(search);
	BlockNumber block = list->link.head;
	bool again = !isinf(list->seen);
	HybridAim aim, before;
	uint32 pages = 0;
	int rows = 0;

	hybrid_scorer_aim(scorer, &list->reach, search->frontier.limits.eps, limit, &aim);
	if (again)
		hybrid_scorer_aim(scorer, &list->reach, search->frontier.limits.eps, list->seen, &before);
	do
	{
		Buffer buffer = hybrid_list_read(scorer->index, layout, &list->link, 0, block, NULL);
		Page page = BufferGetPage(buffer);
		const HybridListPage *content = hybrid_list_page(page);
		int blocks = (content->used + HY_CODE_ROWS - 1) / HY_CODE_ROWS, b;

		TestForOldSnapshot(scorer->snapshot, scorer->index, page);
		if (BlockNumberIsValid(content->next))
			hybrid_buffer_expect(scorer->index, content->next, 0, HEADER);
		/* which rows were taken then, it says again */
		if (again)
		{
			hybrid_scorer_page(scorer, page, &list->link, &before, InvalidBlockNumber);
			memcpy(scorer->taken, scorer->masks, blocks * sizeof(uint32));
		}
		hybrid_scorer_page(scorer, page, &list->link, &aim,
		                   BlockNumberIsValid(content->next) ? content->next : following);
		rows += content->live;
		for (b = 0; b < blocks; b++)
		{
			const HybridBlock *entries = hybrid_block(&layout->leaf, page, b);
			uint32 mask = scorer->masks[b] & entries->live & ~(again ? scorer->taken[b] : 0);

			while (mask != 0)
			{
				int row = pg_rightmost_one_pos32(mask), slot = b * HY_CODE_ROWS + row;
				float lower = scorer->lowers[slot];

				mask &= mask - 1;
				add_row(search, lower, hybrid_scorer_place(scorer, page, block, 0, slot), which,
				        hybrid_position(&entries->tid[row]));
			}
		}
		block = content->next;
		UnlockReleaseBuffer(buffer);
		hybrid_chain_step(scorer->index, &list->link, &pages);
	} while (BlockNumberIsValid(block));
	if (isinf(list->seen))
	{
		search->work.lists++;
		search->work.rows += rows;
	}
	/* where lists are counted, the worst may be nearer than when this one was looked into last */
	list->seen = Max(list->seen, limit);
	if (search->frontier.limits.probes == 0 && !isinf(limit))
		hybrid_frontier_put(&search->frontier, which, limit);
}

/* add_row: one that waits. */
static void
add_row(HybridLookup *search, float lower, HybridPlace at, int list, int64 position)
{
	Row *row;

	if (search->rows_count == search->rows_allocated)
	{
		search->rows_allocated = Max(1024, search->rows_allocated * 2);
		search->rows = room(search, search->rows, search->rows_allocated, sizeof(Row));
		search->rows_order.items =
			room(search, search->rows_order.items, search->rows_allocated, sizeof(HybridOrdered));
	}
	row = &search->rows[search->rows_count];
	row->at = at;
	row->list = list;
	row->position = position;
	hybrid_lazy_add(&search->rows_order, isnan(lower) ? -INFINITY : lower, search->rows_count++);
}

static void
add_find(HybridLookup *search, const HybridFind *find)
{
	if (search->finds_count == search->finds_allocated)
	{
		search->finds_allocated = Max(256, search->finds_allocated * 2);
		search->finds = room(search, search->finds, search->finds_allocated, sizeof(HybridFind));
	}
	search->finds[search->finds_count++] = *find;
}

/*
 * bring_forward: the finds that are among the k nearest come first, and those that may be; returns how many
 * they are.
 */
static int
bring_forward(HybridLookup *search)
{
	HybridFind last, find;
	int count = 0, i;

	if (search->nearest.count < search->nearest.k)
		return search->finds_count;
	last.distance = search->nearest.items[0].distance;
	last.position = search->nearest.items[0].row;
	for (i = 0; i < search->finds_count; i++)
	{
		if (compare_finds(&search->finds[i], &last) > 0)
			continue;
		find = search->finds[i];
		search->finds[i] = search->finds[count];
		search->finds[count++] = find;
	}
	return count;
}

static int
compare_finds(const void *a, const void *b)
{
	const HybridFind *x = a, *y = b;

	if (x->distance != y->distance)
		return x->distance < y->distance ? -1 : 1;
	return (x->position > y->position) - (x->position < y->position);
}

/* room: an array of the search's, made longer. */
static void *
room(HybridLookup *search, void *array, int count, Size size)
{
	return array == NULL ? MemoryContextAllocHuge(search->context, count * size)
	                     : repalloc_huge(array, count * size);
}
