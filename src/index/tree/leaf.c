/*
 * leaf.c
 *		Find the leaf list that a row belongs in.
 *
 * The search for a leaf descends from the root and keeps the few nearest lists of each level. It first
 * compares the codes of the centroids below these lists. If the codes do not decide, it compares the
 * centroids exactly.
 *
 * In an index with keys, a row may only go to a leaf whose bounds include its key. There always is such a leaf, because
 * the bounds of all leaves together cover all words. But there may be none below the few nearest lists of a level,
 * whose bounds may be wider than those of the leaves below them. Then the search keeps all lists of each level.
 *
 * A row is an outlier of a list if its distance from the centroid is more than twice the list's radius. A scan may miss
 * the outliers of a list, because it expects few near rows so far from the centroid. A build therefore makes lists of
 * outliers (leaves.c). So if a row is an outlier of its nearest list, the search for a leaf considers the other leaves
 * that it has scored. From these it takes the most probable leaf of which the row is not an outlier.
 */
#include "postgres.h"

#include <math.h>

#include "utils/memutils.h"
#include "utils/rel.h"

#include "index/tree/leaf.h"
#include "index/page/distance_bound.h"

#define BEAM 4 /* number of lists kept per level during the search for the nearest leaf */
#define SURE 4 /* standard deviations by which estimates may be wrong, so that no list is missed */
#define OUTSIDE 4.0f /* 2 squared; as in stopping.c */

/* Near: one of the nearest lists of a level. */
typedef struct Near
{
	HybridReach reach;
	HybridLink link;
	HybridLink above;
	HybridVectorPosition at;
	float radius; /* encoded by hybrid_radius */
} Near;

static bool descend(HybridLeafSearch *search, int width, Near *found);
static int nearest_below(HybridLeafSearch *search, const Near *lists, int count, int level,
                         int wanted, Near **found);
static inline bool may_get(const HybridLeafSearch *search, const HybridInner *inner, int entry);
static inline bool is_outlier(float squared, float radius);
static void most_probable(HybridLeafSearch *search, Near *found);
static float improbability(float squared, float radius);
static Near near_at(HybridLeafSearch *search, int entry, int level);
static int score_below(HybridLeafSearch *search, const Near *lists, int count, int level);
static void make_room(HybridLeafSearch *search, int rows);

void
hybrid_leaf_init(HybridLeafSearch *search, Relation index, const HybridIndex *open)
{
	memset(search, 0, sizeof(*search));
	search->context = CurrentMemoryContext;
	hybrid_scorer_init(&search->scorer, index, open);
	hybrid_inner_set_init(&search->inner, CurrentMemoryContext);
	search->centroid = palloc(open->layout.dims * sizeof(float));
}

void
hybrid_leaf_find(HybridLeafSearch *search, const HybridProbe *vector, uint64 key, HybridLeaf *leaf)
{
	HybridScorer *scorer = &search->scorer;
	Near found;

	hybrid_scorer_query(scorer, vector);
	search->key = key;
	if (!descend(search, BEAM, &found) &&
	    (scorer->open.layout.bounds == 0 || !descend(search, PG_INT32_MAX, &found)))
		ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
		                scorer->open.layout.bounds == 0
		                    ? errmsg("index \"%s\" has an inner list without entries",
		                             RelationGetRelationName(scorer->index))
		                    : errmsg("index \"%s\" has no list whose bounds include a key",
		                             RelationGetRelationName(scorer->index)),
		                errhint("REINDEX it.")));
	/* for inner products, no row is an outlier, because the radius of a list includes its longest rows */
	if (scorer->tree.height > 0 && scorer->open.metric != HY_METRIC_IP &&
	    is_outlier(found.reach.reach * found.reach.reach, found.radius))
		most_probable(search, &found);
	hybrid_inner_set_clear(&search->inner);

	leaf->link = found.link;
	leaf->above = found.above;
	leaf->radius = found.radius;
	leaf->central = scorer->tree.height == 0;
	leaf->place = scorer->place;
	leaf->rotated = scorer->rotated;
	leaf->frame = &scorer->frame;
	leaf->centroid = NULL;
	if (!leaf->central)
	{
		HybridStored stored;

		leaf->centroid = search->centroid;
		hybrid_scorer_read(scorer, &leaf->above, 1, found.at, &stored, scorer->vector);
		(void) hybrid_scorer_reach(scorer, &stored, scorer->vector, leaf->centroid);
	}
}

/*
 * descend: find the nearest leaf, keeping `width` lists of each level. Returns false if the row may go to no list
 * below those kept.
 */
static bool
descend(HybridLeafSearch *search, int width, Near *found)
{
	HybridScorer *scorer = &search->scorer;
	Near root, *kept = &root;
	int count = 1, level;

	memset(&root, 0, sizeof(root));
	root.link = scorer->tree.root;
	root.reach = hybrid_scorer_root(scorer);
	root.above.head = InvalidBlockNumber;
	for (level = scorer->tree.height; level > 0 && count > 0; level--)
	{
		Near *below;

		count = nearest_below(search, kept, count, level, level > 1 ? width : 1, &below);
		if (kept != &root)
			pfree(kept);
		kept = below;
	}
	if (count > 0)
		*found = kept[0];
	if (kept != &root)
		pfree(kept);
	return count > 0;
}

/*
 * nearest_below: find the `wanted` nearest lists below the given lists, and allocate *result with them, nearest first.
 * Returns the number found.
 */
static int
nearest_below(HybridLeafSearch *search, const Near *lists, int count, int level, int wanted,
              Near **result)
{
	HybridScorer *scorer = &search->scorer;
	int waiting = score_below(search, lists, count, level), kept = 0, i;
	Near *found = palloc(Max(Min(wanted, waiting), 1) * sizeof(Near));

	*result = found;
	hy_heap_make(search->order, waiting);
	while (waiting > 0)
	{
		HyHeapItem next = hy_heap_take(search->order, &waiting);
		Near near;

		/* for inner products, the key is no bound of `reach`, so all lists are compared */
		if (scorer->open.metric != HY_METRIC_IP && kept == wanted &&
		    next.key > found[kept - 1].reach.reach * found[kept - 1].reach.reach)
			break;
		near = near_at(search, next.which, level);
		if (kept < wanted)
			kept++;
		else if (near.reach.reach >= found[kept - 1].reach.reach)
			continue;
		for (i = kept - 1; i > 0 && found[i - 1].reach.reach > near.reach.reach; i--)
			found[i] = found[i - 1];
		found[i] = near;
	}
	return kept;
}

/* may_get: test whether the bounds of an entry of an inner list include the key. */
static inline bool
may_get(const HybridLeafSearch *search, const HybridInner *inner, int entry)
{
	return inner->bounds == NULL ||
	       (inner->bounds[entry].least <= search->key && search->key <= inner->bounds[entry].most);
}

/* near_at: describe the list whose lower bound is number `entry` in search->lowers. */
static Near
near_at(HybridLeafSearch *search, int entry, int level)
{
	const HybridInner *inner;
	Near near;
	int i;

	for (i = 0; entry >= search->inner.items[i]->blocks * HY_CODE_ROWS; i++)
		entry -= search->inner.items[i]->blocks * HY_CODE_ROWS;
	inner = search->inner.items[i];
	near.link = inner->below[entry];
	near.above = inner->link;
	near.at = inner->at[entry];
	near.radius = inner->radii[entry];
	near.reach = hybrid_inner_reach(&search->scorer, inner, level, entry, NULL);
	return near;
}

/*
 * is_outlier: test whether a row at this squared distance from the centroid of a list is an outlier of
 * the list.
 */
static inline bool
is_outlier(float squared, float radius)
{
	return squared > OUTSIDE * radius * radius;
}

/*
 * most_probable: replace the nearest leaf in *found, because the row is an outlier of it. Among the leaves
 * below search->inner of which the row is not an outlier, take the most probable one. If there is no such
 * leaf, keep the nearest.
 */
static void
most_probable(HybridLeafSearch *search, Near *found)
{
	float least = INFINITY;
	int waiting = 0, rows = 0, list, i;

	for (list = 0; list < search->inner.count; list++)
	{
		const HybridInner *inner = search->inner.items[list];

		for (i = 0; i < inner->count; i++)
		{
			float lower = Max(search->lowers[rows + i], 0), radius = inner->radii[i];

			/* the radius of a list of equal rows is 0, or so small that its square is 0 (hybrid_radius) */
			if (!may_get(search, inner, i) || !(radius * radius > 0) || is_outlier(lower, radius))
				continue;
			search->order[waiting].key = improbability(lower, radius);
			search->order[waiting++].which = rows + i;
		}
		rows += inner->blocks * HY_CODE_ROWS;
	}
	hy_heap_make(search->order, waiting);
	while (waiting > 0 && search->order[0].key < least)
	{
		Near near = near_at(search, hy_heap_take(search->order, &waiting).which, 1);
		float squared = near.reach.reach * near.reach.reach;

		if (is_outlier(squared, near.radius) || improbability(squared, near.radius) >= least)
			continue;
		least = improbability(squared, near.radius);
		*found = near;
	}
}

/*
 * improbability: return a number that grows as the density of a list's rows at this squared distance from
 * the centroid falls: the negative logarithm of the density, up to a factor and a constant. This assumes
 * that the rows are normally distributed, with the same variance in all dimensions.
 */
static float
improbability(float squared, float radius)
{
	return squared / (radius * radius) + 2 * logf(radius);
}

/*
 * score_below: find those lists below the given lists that may get the row, and put them into search->order, which is
 * not a heap yet. Returns their number.
 */
static int
score_below(HybridLeafSearch *search, const Near *lists, int count, int level)
{
	int rows = 0, found = 0, list, i;

	hybrid_inner_set_clear(&search->inner);
	for (list = 0; list < count; list++)
		rows += hybrid_inner_set_add(&search->inner, &search->scorer, &lists[list].link, level)
		            ->blocks *
		        HY_CODE_ROWS;
	make_room(search, rows);
	rows = 0;
	for (list = 0; list < count; list++)
	{
		const HybridInner *inner = search->inner.items[list];

		hybrid_inner_score(&search->scorer, inner, &lists[list].reach, SURE, NULL,
		                   search->lowers + rows);
		for (i = 0; i < inner->count; i++)
		{
			if (!may_get(search, inner, i))
				continue;
			search->order[found].key = search->lowers[rows + i];
			search->order[found++].which = rows + i;
		}
		rows += inner->blocks * HY_CODE_ROWS;
	}
	return found;
}

static void
make_room(HybridLeafSearch *search, int rows)
{
	if (rows <= search->allocated)
		return;
	if (search->allocated > 0)
	{
		pfree(search->lowers);
		pfree(search->order);
	}
	search->allocated = rows * 2;
	search->lowers = MemoryContextAllocHuge(search->context, search->allocated * sizeof(float));
	search->order = MemoryContextAllocHuge(search->context, search->allocated * sizeof(HyHeapItem));
}
