/*
 * ground_truth.c
 *		Finds the nearest rows to many queries, using the codes of all lists.
 *
 * Each query keeps the rows with the lowest bounds (ground_truth_batches.c). The vectors of these rows
 * are read in ascending order of the bounds, until the next bound is above the k-th best distance. If
 * all kept rows have been read and other rows may be nearer, lookup.c searches for the query, as in a
 * scan.
 */
#include "postgres.h"

#include <limits.h>
#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "server/position.h"

#include "index/tree/tree.h"
#include "index/build/ground_truth_state.h"
#include "index/page/distance_bound.h"

#define TOGETHER 16 /* number of rows whose vectors are fetched together */
/* maximum number of lists from which rows are sampled, in an index by taxicab distance */
#define SAMPLED 48

/* Row: a row whose vector is read next. */
typedef struct Row
{
	HybridVectorPosition at;
	int leaf;
	int64 position;
	float lower;
} Row;

static void begin_queries(Search *search, const float *x);
static void list_leaves(Search *search);
static Leaf *add_leaf(Search *search, const HybridLink *link);
static int answer(Search *search, int query, int64 self, HybridGroundTruth *neighbors);
static bool rescore_kept(Search *search, int query);
static void find_places(Search *search, const HyNeighbor *kept, int count, Row *rows);
static void rescore(Search *search, int query, const Row *row);
static float worst(const Search *search, int query);
static int compare_found(const void *a, const void *b);
static void look_up(Search *search, int query);

void
hybrid_ground_truth(Relation index, const HybridIndex *open, const HybridTruthQueries *queries,
                    int k, HybridGroundTruth *neighbors, int *counts)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid ground truth", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Search search;
	int i;

	Assert(open->coded && k < HYBRID_TRUTHS_KEPT);
	if (queries->count > 0)
	{
		memset(&search, 0, sizeof(search));
		search.index = index;
		search.open = open;
		search.queries = queries->count;
		search.k = k + 1;
		begin_queries(&search, queries->x);
		list_leaves(&search);
		hybrid_ground_truth_gather(&search);
		for (i = 0; i < queries->count; i++)
			counts[i] = answer(&search, i, queries->self[i], neighbors + (Size) i * k);
		if (search.lookup != NULL)
			hybrid_lookup_end(search.lookup);
		hybrid_frontier_clear(&search.frontier);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/*
 * begin_queries: prepare a scorer for each query. The scorers share everything that does not depend on
 * the query.
 */
static void
begin_queries(Search *search, const float *x)
{
	const HybridLayout *layout = &search->open->layout;
	HybridScorer *shared = palloc(sizeof(HybridScorer));
	Size place = layout->dims * sizeof(float), tables = hy_code_tables_size(layout->padded);
	int i;

	search->probes = palloc(search->queries * sizeof(HybridProbe));
	search->scorers = palloc(search->queries * sizeof(HybridScorer));
	search->prepared = palloc(search->queries * sizeof(HyCodeQuery));
	search->kept = palloc(search->queries * sizeof(HyTopK));
	search->found = palloc(HYBRID_TRUTHS_KEPT * sizeof(ScoredRow));
	search->nearest.items = palloc(search->k * sizeof(HyNeighbor));
	search->centroid = palloc0(place);
	hybrid_scorer_init(shared, search->index, search->open);
	for (i = 0; i < search->queries; i++)
	{
		HybridScorer *scorer = &search->scorers[i];

		CHECK_FOR_INTERRUPTS();
		hybrid_probe_init(&search->probes[i], search->open->metric, x + (Size) i * layout->dims,
		                  layout->dims);
		hybrid_scorer_query(shared, &search->probes[i]);
		*scorer = *shared;
		scorer->place = memcpy(palloc(place), shared->place, place);
		scorer->absolute = memcpy(palloc(place), shared->absolute, place);
		scorer->tables = memcpy(palloc(tables), shared->tables, tables);
		scorer->query.tables = scorer->tables;
		if (shared->value != NULL)
			scorer->value =
				memcpy(palloc(VARSIZE(shared->value)), shared->value, VARSIZE(shared->value));
		search->prepared[i] = scorer->query;
		hy_topk_init(&search->kept[i], palloc(HYBRID_TRUTHS_KEPT * sizeof(HyNeighbor)),
		             HYBRID_TRUTHS_KEPT);
	}
	hybrid_frontier_init(&search->frontier, shared, CurrentMemoryContext);
}

/* list_leaves: list all leaves of the current tree. */
static void
list_leaves(Search *search)
{
	HybridLookupLimits limits = {.eps = HYBRID_TRUTHS_SURE};
	HybridFrontier *frontier = &search->frontier;
	int count = frontier->scorer->tree.height == 0, i, j;

	(void) hybrid_frontier_open(frontier);
	hybrid_frontier_begin(frontier, &limits);
	hybrid_frontier_open_all(frontier);
	for (i = 0; i < frontier->inner.count; i++)
		count += frontier->inner.items[i]->count;
	search->leaves = MemoryContextAllocHuge(CurrentMemoryContext, Max(count, 1) * sizeof(Leaf));
	if (frontier->scorer->tree.height == 0)
		add_leaf(search, &frontier->scorer->tree.root);
	for (i = 0; i < frontier->inner.count; i++)
	{
		const HybridInner *inner = frontier->inner.items[i];

		for (j = 0; j < inner->count; j++)
		{
			Leaf *leaf = add_leaf(search, &inner->below[j]);

			leaf->above = inner;
			leaf->entry = j;
		}
	}
}

static Leaf *
add_leaf(Search *search, const HybridLink *link)
{
	Leaf *leaf = &search->leaves[search->leaves_count++];

	memset(leaf, 0, sizeof(*leaf));
	leaf->link = *link;
	return leaf;
}

/*
 * answer: find the nearest rows of a query, without its own row `self`. Returns the number of rows
 * found.
 */
static int
answer(Search *search, int query, int64 self, HybridGroundTruth *neighbors)
{
	int count = 0, i;

	CHECK_FOR_INTERRUPTS();
	if (!rescore_kept(search, query))
		look_up(search, query);
	else
		qsort(search->found, search->found_count, sizeof(ScoredRow), compare_found);
	search->found_count = Min(search->found_count, search->k);
	for (i = 0; i < search->found_count && count < search->k - 1; i++)
	{
		const ScoredRow *scored = &search->found[i];

		if (scored->position == self)
			continue;
		neighbors[count].position = scored->position;
		neighbors[count++].distance = scored->distance;
	}
	return count;
}

/*
 * rescore_kept: read vectors until no other kept row can be nearer. Returns false if a row that was not
 * kept may be nearer.
 */
static bool
rescore_kept(Search *search, int query)
{
	HyTopK *kept = &search->kept[query];
	int sampled = Min(search->leaves_count, SAMPLED), first, i;

	for (i = 0; i < sampled; i++)
		hybrid_scorer_sample(&search->scorers[query],
		                     &search->leaves[(int64) search->leaves_count * i / sampled].link);
	hy_topk_sort(kept);
	hy_topk_init(&search->nearest, search->nearest.items, search->k);
	search->found_count = 0;
	search->widest = 0;
	for (first = 0; first < kept->count; first += TOGETHER)
	{
		int count = Min(kept->count - first, TOGETHER);
		Row rows[TOGETHER];

		if (!((float) kept->items[first].distance < worst(search, query)))
			return true;
		find_places(search, kept->items + first, count, rows);
		for (i = 0; i < count; i++)
		{
			/* rows read before this one may have lowered the limit */
			if (!(rows[i].lower < worst(search, query)))
				return true;
			rescore(search, query, &rows[i]);
		}
	}
	return kept->count < HYBRID_TRUTHS_KEPT;
}

/* find_places: find where the vectors of these rows are stored, and prefetch them. */
static void
find_places(Search *search, const HyNeighbor *kept, int count, Row *rows)
{
	const HybridLayout *layout = &search->open->layout;
	const HybridScorer *scorer = search->frontier.scorer;
	int i;

	for (i = 0; i < count; i++)
	{
		const Gathered *gathered = &search->gathered[kept[i].row / HY_CODE_ROWS];
		int row = (int) (kept[i].row % HY_CODE_ROWS);
		Buffer buffer = hybrid_list_read(
			search->index, layout, &search->leaves[gathered->leaf].link, 0, gathered->page, NULL);
		Page page = BufferGetPage(buffer);
		const HybridBlock *block =
			hybrid_block(&layout->leaf, page, gathered->first / HY_CODE_ROWS);

		rows[i].lower = (float) kept[i].distance;
		rows[i].leaf = gathered->leaf;
		rows[i].position = hybrid_position(&block->tid[row]);
		rows[i].at = hybrid_scorer_position(scorer, page, gathered->page, 0, gathered->first + row);
		UnlockReleaseBuffer(buffer);
		hybrid_scorer_expect(scorer, rows[i].at);
	}
}

/* rescore: compute the distance of a row from its stored vector. */
static void
rescore(Search *search, int query, const Row *row)
{
	ScoredRow *scored = &search->found[search->found_count++];
	float width;

	scored->distance = hybrid_scorer_row(&search->scorers[query], &search->leaves[row->leaf].link,
	                                     row->at, &width);
	/* a row without a distance comes last, as in a sort */
	if (isnan(scored->distance))
		scored->distance = INFINITY;
	if (isfinite(width))
		search->widest = Max(search->widest, width);
	scored->position = row->position;
	(void) hy_topk_push(&search->nearest, scored->distance, scored->position);
}

/*
 * worst: return the k-th best distance, in the unit of the estimates, or infinity while there are fewer
 * than k rows. Adds an allowance for the rounding of the stored vectors, because bounds from codes do
 * not allow for this rounding.
 */
static float
worst(const Search *search, int query)
{
	return search->nearest.count < search->nearest.k
	           ? INFINITY
	           : hybrid_scorer_unit(&search->scorers[query],
	                                search->nearest.items[0].distance + search->widest,
	                                HYBRID_TRUTHS_SURE);
}

static int
compare_found(const void *a, const void *b)
{
	const ScoredRow *x = a, *y = b;

	if (x->distance != y->distance)
		return x->distance < y->distance ? -1 : 1;
	return (x->position > y->position) - (x->position < y->position);
}

/* look_up: find the nearest rows by a normal search, which examines all lists, the nearest first. */
static void
look_up(Search *search, int query)
{
	HybridLookupLimits limits = {.eps = HYBRID_TRUTHS_SURE, .probes = INT_MAX};
	const HybridFoundRow *found;
	HybridLookupWork work;
	int count, i;

	if (search->lookup == NULL)
		search->lookup = hybrid_lookup_new(search->index, search->open, NULL);
	(void) hybrid_lookup_query(search->lookup, &search->probes[query], &work);
	hybrid_lookup_limit(search->lookup, &limits);
	found = hybrid_lookup_next(search->lookup, search->k, -INFINITY, &count);
	search->found_count = Min(count, search->k);
	for (i = 0; i < search->found_count; i++)
	{
		search->found[i].distance = found[i].distance;
		search->found[i].position = found[i].position;
	}
}
