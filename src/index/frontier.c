/*
 * frontier.c
 *		The lists that a search may look into, in the order in which it would.
 *
 * When a list is looked into is a guess.  Let c be its centroid, d = |q - c|, R the root mean square
 * distance of its rows from c.  A row at distance R from c is nearer than t when the cosine of its angle
 * with q - c is above (d^2 + R^2 - t^2) / (2 d R), which says that how improbable such a row is grows with
 *
 *		promise = (d^2 + 3/4 R^2 - t^2) / (R S)			S: the mean R of all lists
 *
 * (With d instead of S in it, lists near the query would be thought worse than they are: their rows do
 * not lie in random directions from q - c.  The form and the 3/4 were found by counting, for texts
 * and for clustered points, the rows of lists above a threshold.)  A list's key is the t where its
 * promise is the threshold.  For inner products, -<q,x> = -<q,c> - |q| r cos a, and
 * promise = (-<q,c> - t) / (|q| R).  Which threshold gives which recall, the index has measured.
 *
 * The more lists promise as much, the less is true of it: a query that is far from everything sees hundreds
 * of lists at nearly one distance, and finds in hardly any of them what it is promised.  So a search tires: with
 * each doubling of the lists that it has looked into, beyond the first, its threshold is lower by TIRED; by
 * less from ALERT on, where so much is asked that all those lists are what it takes, and by nothing from
 * AWAKE on.  (Counted: for a recall of .95 about half as many rows are looked at, and a fifth by the slowest of
 * a hundred searches.)
 *
 * Lists that nobody has looked at wait as numbers in the order of the inner lists, 32 to a block, and
 * the blocks in a heap, each by its least: most of them are never asked for.  A list that is there has
 * a key that is finite or -INFINITY, also where distances are beyond the range of single precision.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "index/frontier.h"

#define SPREAD 0.75f    /* of the square of a list's radius, in its promise */
#define NARROWEST 0.02f /* a list's radius, as a share of the mean */
#define LANES 8         /* keys of a block that are compared at a time */
#define TIRED 0.2f      /* of the threshold, less with each doubling of lists */
#define FRESH 8         /* lists that are looked into before that */
#define ALERT 1.4f      /* thresholds */
#define AWAKE 2.2f
#define PRODUCTS                                                                                   \
	0.35f /* all three are so much for inner products, by their thresholds for the same recall */

static int take(HybridFrontier *frontier);
static void know(HybridFrontier *frontier, const int *which, int count);
static float list_key(const HybridFrontier *frontier, int which);
static void
expand(HybridFrontier *frontier, const HybridLink *list, const HybridReach *reach, int level);
static void add_keys(HybridFrontier *frontier, const HybridInner *inner, const HybridReach *reach);
static void put_in_order(HybridFrontier *frontier);
static void
make_keys(const HybridFrontier *frontier, const float *restrict radii, float *restrict keys);
static void make_comparable(float *keys, int count);
static float least_of(const float *keys);
static inline float width_of(const HybridFrontier *frontier, float radius);
static inline float spread_of(const HybridFrontier *frontier, float radius);
static float tired(double lists);
static float unit_of(HyMetric metric);
static void wake(HybridFrontier *frontier);
static inline float fresh_key(const HybridFrontier *frontier);
static int take_from_block(HybridFrontier *frontier);
static int place_of(const float *keys, float least);
static int add_list(HybridFrontier *frontier);
static void *room(HybridFrontier *frontier, void *array, int count, Size size);

void
hybrid_frontier_init(HybridFrontier *frontier, HybridScorer *scorer, MemoryContext context)
{
	memset(frontier, 0, sizeof(*frontier));
	frontier->context = context;
	frontier->scorer = scorer;
	hybrid_inner_set_init(&frontier->inner, context);
	hybrid_inner_set_init(&frontier->upper, context);
}

void
hybrid_frontier_clear(HybridFrontier *frontier)
{
	hybrid_inner_set_clear(&frontier->inner);
	hybrid_inner_set_clear(&frontier->upper);
	frontier->keys_count = 0;
	frontier->blocks_count = 0;
	frontier->lists_count = 0;
	frontier->waiting = 0;
	frontier->tired = 0;
}

void
hybrid_frontier_begin(HybridFrontier *frontier, const HybridLookupLimits *limits)
{
	const HybridTree *tree = &frontier->scorer->tree;
	HybridReach reach = hybrid_scorer_root(frontier->scorer);

	hybrid_frontier_clear(frontier);
	frontier->limits = *limits;
	expand(frontier, &tree->root, &reach, tree->height);
	put_in_order(frontier);
}

float
hybrid_frontier_next(const HybridFrontier *frontier)
{
	float fresh = frontier->blocks_count > 0 ? fresh_key(frontier) : INFINITY;
	float old = frontier->waiting > 0 ? frontier->order[0].key : INFINITY;

	return Min(fresh, old);
}

void
hybrid_frontier_put(HybridFrontier *frontier, int which, float key)
{
	hybrid_order_add(frontier->order, &frontier->waiting, key, which);
}

int
hybrid_frontier_choose(HybridFrontier *frontier, float limit, int *chosen, int most)
{
	int count = 0, kept = 0, i;

	while (kept == 0 && hybrid_frontier_next(frontier) < limit)
	{
		count = 0;
		while (count < most && hybrid_frontier_next(frontier) < limit)
			chosen[count++] = take(frontier);
		know(frontier, chosen, count);
		for (i = 0; i < count; i++)
		{
			HybridWaiting *list = &frontier->lists[chosen[i]];
			/* one that was looked into waits at what was seen of it */
			float key = isinf(list->seen) ? list_key(frontier, chosen[i]) : list->seen;

			if (!(key < limit))
			{
				hybrid_frontier_put(frontier, chosen[i], key);
				continue;
			}
			chosen[kept++] = chosen[i];
		}
	}
	return kept;
}

int
hybrid_frontier_choose_nearest(HybridFrontier *frontier, int64 looked_into, int *chosen, int most)
{
	int64 more = frontier->limits.probes - looked_into;
	int count = 0;

	while (count < most && hybrid_frontier_next(frontier) < INFINITY)
	{
		int which = take(frontier);
		HybridWaiting *list = &frontier->lists[which];

		if (isinf(list->seen) && more <= 0)
			break;
		if (list->known)
		{
			chosen[count++] = which;
			more -= isinf(list->seen) ? 1 : 0;
		}
		else
		{
			know(frontier, &which, 1);
			hybrid_frontier_put(frontier, which, list_key(frontier, which));
		}
	}
	return count;
}

void
hybrid_frontier_tire(HybridFrontier *frontier, double lists)
{
	float unit = unit_of(frontier->scorer->open.metric), before = frontier->tired, share;

	if (frontier->limits.probes > 0)
		return;
	share = (AWAKE - frontier->limits.threshold / unit) / (AWAKE - ALERT);
	share = Max(Min(share, 1), 0);
	frontier->tired = share * tired(lists) * unit * frontier->width;
	/* beyond the range of single precision nothing short of all lists will do */
	if (!isfinite(frontier->tired))
		frontier->tired = 0;
	if (frontier->tired < before)
		wake(frontier);
}

float
hybrid_frontier_threshold(HyMetric metric, float promise, double lists)
{
	float unit = unit_of(metric), steep = tired(lists) / (AWAKE - ALERT);

	promise /= unit;
	if (promise + tired(lists) <= ALERT)
		return (promise + tired(lists)) * unit;
	return Max(promise, (promise + steep * AWAKE) / (1 + steep)) * unit;
}

float
hybrid_frontier_awake(HyMetric metric)
{
	return AWAKE * unit_of(metric);
}

float
hybrid_frontier_promise(const HybridFrontier *frontier, int which, float distance)
{
	const HybridWaiting *list = &frontier->lists[which];

	return hybrid_frontier_promise_of(frontier, list->reach.base, list->radius, distance);
}

float
hybrid_frontier_promise_of(const HybridFrontier *frontier, float base, float radius, float distance)
{
	return (base + spread_of(frontier, radius) - distance) / (width_of(frontier, radius) + FLT_MIN);
}

Size
hybrid_frontier_memory(const HybridFrontier *frontier)
{
	return frontier->keys_count * sizeof(float) +
	       frontier->lists_count * (sizeof(HybridWaiting) + sizeof(HybridOrdered));
}

/* take: the next list, which there is: a number in frontier->lists; it waits no more. */
static int
take(HybridFrontier *frontier)
{
	if (frontier->blocks_count == 0 ||
	    (frontier->waiting > 0 && frontier->order[0].key <= fresh_key(frontier)))
		return hybrid_order_take(frontier->order, &frontier->waiting).which;
	return take_from_block(frontier);
}

/* know: reads the centroids of those that are known by their codes. */
static void
know(HybridFrontier *frontier, const int *which, int count)
{
	HybridScorer *scorer = frontier->scorer;
	int i;

	for (i = 0; i < count; i++)
	{
		HybridWaiting *list = &frontier->lists[which[i]];

		if (i == 0 && !list->known)
			hybrid_inner_expect(scorer, list->above, list->entry);
		if (i + 1 < count && !frontier->lists[which[i + 1]].known)
			hybrid_inner_expect(scorer, frontier->lists[which[i + 1]].above,
			                    frontier->lists[which[i + 1]].entry);
		if (list->known)
			continue;
		list->reach = hybrid_inner_reach(scorer, list->above, 1, list->entry, NULL);
		list->known = true;
	}
}

/* list_key: of a list that was taken, by what is known of it now. */
static float
list_key(const HybridFrontier *frontier, int which)
{
	const HybridWaiting *list = &frontier->lists[which];
	float key = list->reach.base;

	if (frontier->limits.probes == 0)
		key += spread_of(frontier, list->radius) -
		       frontier->limits.threshold * width_of(frontier, list->radius) + frontier->tired;
	return isnan(key) ? -INFINITY : Min(key, FLT_MAX);
}

/* expand: the bounds of the leaf lists below a list become keys. */
static void
expand(HybridFrontier *frontier, const HybridLink *list, const HybridReach *reach, int level)
{
	HybridScorer *scorer = frontier->scorer;
	const HybridInner *inner;
	int i;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	if (level == 0)
	{
		/* the root is a leaf */
		int which = add_list(frontier);
		HybridWaiting *root = &frontier->lists[which];

		memset(root, 0, sizeof(*root));
		root->link = *list;
		root->reach = *reach;
		root->seen = -INFINITY;
		root->known = true;
		hybrid_frontier_put(frontier, which, -INFINITY);
	}
	else if (level == 1)
		add_keys(frontier, hybrid_inner_set_add(&frontier->inner, scorer, list, level), reach);
	else
	{
		/* lists of lists: their place is taken by what is below them */
		inner = hybrid_inner_set_add(&frontier->upper, scorer, list, level);
		for (i = 0; i < inner->count; i++)
		{
			HybridReach below = hybrid_inner_reach(scorer, inner, level, i, NULL);

			expand(frontier, &inner->below[i], &below, level - 1);
		}
	}
}

/* add_keys: of what is below an inner list; bounds of how far it is, for now. */
static void
add_keys(HybridFrontier *frontier, const HybridInner *inner, const HybridReach *reach)
{
	int count = frontier->keys_count + inner->blocks * HY_CODE_ROWS;
	float *lowers;

	if (count > frontier->keys_allocated)
	{
		int allocated = Max(frontier->keys_allocated * 2, count);

		frontier->keys = room(frontier, frontier->keys, allocated, sizeof(float));
		frontier->blocks =
			room(frontier, frontier->blocks, allocated / HY_CODE_ROWS, sizeof(HybridOrdered));
		frontier->fresh =
			room(frontier, frontier->fresh, allocated / HY_CODE_ROWS, sizeof(HybridFresh));
		frontier->keys_allocated = allocated;
	}
	lowers = frontier->keys + frontier->keys_count;
	hybrid_inner_score(frontier->scorer, inner, reach, frontier->limits.eps, lowers);
	frontier->keys_count = count;
}

/* put_in_order: bounds become the distances at which lists are looked into, and blocks of them a heap. */
static void
put_in_order(HybridFrontier *frontier)
{
	double radii = 0;
	int count = 0, list, block;
	float *key = frontier->keys;

	for (list = 0; list < frontier->inner.count; list++)
	{
		radii += frontier->inner.items[list]->radii_sum;
		count += frontier->inner.items[list]->count;
	}
	frontier->scale = 1;
	if (frontier->scorer->open.metric == HY_METRIC_IP)
		frontier->scale = frontier->scorer->length;
	else if (radii > 0)
		frontier->scale = (float) (radii / count);
	frontier->width = width_of(frontier, (float) (radii / Max(count, 1)));
	frontier->blocks_count = 0;
	for (list = 0; list < frontier->inner.count; list++)
	{
		const HybridInner *inner = frontier->inner.items[list];

		for (block = 0; block < inner->blocks; block++)
		{
			HybridOrdered *order = &frontier->blocks[frontier->blocks_count];

			if (frontier->limits.probes == 0)
				make_keys(frontier, inner->radii + block * HY_CODE_ROWS, key);
			make_comparable(key, Min(inner->count - block * HY_CODE_ROWS, HY_CODE_ROWS));
			order->key = least_of(key);
			order->which = frontier->blocks_count;
			frontier->fresh[frontier->blocks_count].inner = inner;
			frontier->fresh[frontier->blocks_count++].first = block * HY_CODE_ROWS;
			key += HY_CODE_ROWS;
		}
	}
	hybrid_order_make(frontier->blocks, frontier->blocks_count);
}

/* make_keys: a block of bounds becomes keys, with width_of and spread_of. */
static void
make_keys(const HybridFrontier *frontier, const float *restrict radii, float *restrict keys)
{
	const float least = NARROWEST * frontier->scale, scale = frontier->scale;
	const float spread = spread_of(frontier, 1), threshold = frontier->limits.threshold;
	float width;
	int i;

	for (i = 0; i < HY_CODE_ROWS; i++)
	{
		width = radii[i] > least ? radii[i] : least;
		keys[i] += spread * radii[i] * radii[i] - threshold * (width * scale);
	}
}

/* make_comparable: a block of keys of which `count` are lists': what is no number is below all. */
static void
make_comparable(float *keys, int count)
{
	int i;

	for (i = 0; i < HY_CODE_ROWS; i++)
	{
		keys[i] = keys[i] > FLT_MAX ? FLT_MAX : keys[i];
		keys[i] = keys[i] == keys[i] ? keys[i] : -INFINITY;
	}
	for (i = count; i < HY_CODE_ROWS; i++)
		keys[i] = INFINITY;
}

/* least_of: of a block of keys. */
static float
least_of(const float *keys)
{
	float least[LANES];
	int i, j;

	memcpy(least, keys, sizeof(least));
	for (i = LANES; i < HY_CODE_ROWS; i += LANES)
	{
		for (j = 0; j < LANES; j++)
			least[j] = keys[i + j] < least[j] ? keys[i + j] : least[j];
	}
	for (j = 1; j < LANES; j++)
		least[0] = least[j] < least[0] ? least[j] : least[0];
	return least[0];
}

/* width_of: what a promise is measured in. */
static inline float
width_of(const HybridFrontier *frontier, float radius)
{
	float least = NARROWEST * frontier->scale;

	return (radius > least ? radius : least) * frontier->scale;
}

/* spread_of: what its rows' distances from the centroid add to a list's key. */
static inline float
spread_of(const HybridFrontier *frontier, float radius)
{
	return frontier->scorer->open.metric == HY_METRIC_IP ? 0 : SPREAD * radius * radius;
}

/* tired: after so many lists. */
static float
tired(double lists)
{
	return lists > FRESH ? TIRED * (float) log2(lists / FRESH) : 0;
}

/* unit_of: of thresholds. */
static float
unit_of(HyMetric metric)
{
	return metric == HY_METRIC_IP ? PRODUCTS : 1;
}

/* wake: lists that were put back do not wait longer than it takes by now. */
static void
wake(HybridFrontier *frontier)
{
	int i;

	for (i = 0; i < frontier->waiting; i++)
	{
		HybridOrdered *order = &frontier->order[i];
		const HybridWaiting *list = &frontier->lists[order->which];

		if (list->known && list->above != NULL && isinf(list->seen))
			order->key = list_key(frontier, order->which);
	}
	hybrid_order_make(frontier->order, frontier->waiting);
}

/* fresh_key: the least of those that nobody has looked at; infinite when there is none left. */
static inline float
fresh_key(const HybridFrontier *frontier)
{
	float key = frontier->blocks[0].key;

	return key <= FLT_MAX ? Min(key + frontier->tired, FLT_MAX) : key;
}

/* take_from_block: the list with the least key of those that were not looked at becomes one that was. */
static int
take_from_block(HybridFrontier *frontier)
{
	HybridOrdered *block = &frontier->blocks[0];
	const HybridFresh *fresh = &frontier->fresh[block->which];
	float *keys = frontier->keys + block->which * HY_CODE_ROWS;
	int at = place_of(keys, block->key), which = add_list(frontier);

	keys[at] = INFINITY;
	block->key = least_of(keys);
	hybrid_order_sink(frontier->blocks, frontier->blocks_count, 0);
	frontier->lists[which] = (HybridWaiting){.radius = fresh->inner->radii[fresh->first + at],
	                                         .seen = -INFINITY,
	                                         .link = fresh->inner->below[fresh->first + at],
	                                         .above = fresh->inner,
	                                         .entry = fresh->first + at};
	return which;
}

/* place_of: where a block of keys has its least, the first of several. */
static int
place_of(const float *keys, float least)
{
	int before[LANES], most = 1, i, j;

	for (j = 0; j < LANES; j++)
		before[j] = 1;
	for (i = HY_CODE_ROWS - LANES; i >= 0; i -= LANES)
	{
		for (j = 0; j < LANES; j++)
			before[j] = keys[i + j] == least ? HY_CODE_ROWS - i - j : before[j];
	}
	for (j = 0; j < LANES; j++)
		most = before[j] > most ? before[j] : most;
	return HY_CODE_ROWS - most;
}

/* add_list: room for one that is looked at. */
static int
add_list(HybridFrontier *frontier)
{
	if (frontier->lists_count == frontier->lists_allocated)
	{
		frontier->lists_allocated = Max(256, frontier->lists_allocated * 2);
		frontier->lists =
			room(frontier, frontier->lists, frontier->lists_allocated, sizeof(HybridWaiting));
		frontier->order =
			room(frontier, frontier->order, frontier->lists_allocated, sizeof(HybridOrdered));
	}
	return frontier->lists_count++;
}

/* room: an array of the frontier's, made longer. */
static void *
room(HybridFrontier *frontier, void *array, int count, Size size)
{
	return array == NULL ? MemoryContextAllocHuge(frontier->context, count * size)
	                     : repalloc_huge(array, count * size);
}
