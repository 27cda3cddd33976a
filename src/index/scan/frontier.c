/*
 * frontier.c
 *		The leaf lists that a search may examine, in the order of examination.
 *
 * Let c be the centroid of a list, d = |q - c|, and R the root mean square distance of its rows from c,
 * without outliers (new_list.c). A row at distance r from c, whose direction from c has the cosine u with
 * the direction of the query, is at
 *
 *		|x - q|^2 = d^2 + r^2 - 2 d r u
 *
 * With m = d^2 + R^2, a row of a list is therefore nearer than t if u > (m - t^2) / (2 d R). This u is
 * not exactly the cosine, because it also includes the difference between r and R. Unless the query is
 * close to a list, the distribution of u is nearly the same in every list. The rows that a search has
 * scored are a sample of it, and stopping.c fits its tail. (The difference between r and R does not
 * vanish with d, so the width is 2 R sqrt(d^2 + R^2 / 10).) For inner products, -<q,x> = -<q,c> - |q| r
 * u, so that m = -<q,c> and the width is |q| R.
 *
 * Lists that were not taken are numbered in the order of the inner lists, 32 to a block. The blocks are
 * in a heap, ordered by the smallest key of each, because most lists are never taken. The distances of
 * lists are estimated from codes. A centroid is read only when its list is about to be taken. The key of
 * a list that was not taken is finite or -INFINITY. If its distance is out of the range of single
 * precision, the key is -INFINITY, so that the list is examined.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "miscadmin.h"
#include "server/memory.h"

#include "index/scan/frontier.h"
#include "index/tree/tree.h"

#define LANES 8 /* number of keys of a block that are compared at a time */
/* share of the squared radius of a list that is added to its squared distance to compute the width */
#define RADIAL 0.1f
#define STEEPEST 1e30f /* inverse width of a list whose rows are all equal */

static const HybridInner *add_inner(HybridFrontier *frontier, const HybridLink *list, int level);
static void add_only_leaf(HybridFrontier *frontier, const HybridReach *reach);
static void
expand(HybridFrontier *frontier, const HybridInner *inner, const HybridReach *reach, int level);
static bool may_have(const HybridFrontier *frontier, const HybridInner *inner, int entry);
static void leave_out(HybridFrontier *frontier, int slot);
static void add_keys(HybridFrontier *frontier, const HybridInner *inner, const HybridReach *reach);
static void make_blocks(HybridFrontier *frontier);
static void describe(HybridFrontier *frontier, const HybridInner *inner, int block, int at);
static void describe_lists(const HybridFrontier *frontier, const float *radii, int at);
static inline float inverse_of(float reach_squared, float radius);
static float least_of(const float *keys);
static int slot_of(const HybridFrontier *frontier);
static void know(HybridFrontier *frontier, int slot);
static void settle(HybridFrontier *frontier, int slot, float key);
static int add_list(HybridFrontier *frontier);

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
	frontier->root = NULL;
	frontier->keys_count = 0;
	frontier->rows = 0;
	frontier->blocks_count = 0;
	frontier->lists_count = 0;
	frontier->waiting = 0;
	frontier->expecting = false;
}

const HybridInner *
hybrid_frontier_open(HybridFrontier *frontier)
{
	const HybridTree *tree = &frontier->scorer->tree;

	hybrid_frontier_clear(frontier);
	if (tree->height > 0)
		frontier->root = add_inner(frontier, &tree->root, tree->height);
	return frontier->root;
}

void
hybrid_frontier_begin(HybridFrontier *frontier, const HybridLookupLimits *limits)
{
	const HybridTree *tree = &frontier->scorer->tree;
	HybridReach reach = hybrid_scorer_root(frontier->scorer);
	int list, block;

	frontier->limits = *limits;
	if (frontier->root == NULL)
		add_only_leaf(frontier, &reach);
	else
		expand(frontier, frontier->root, &reach, tree->height);
	for (list = 0; list < frontier->inner.count; list++)
	{
		const HybridInner *inner = frontier->inner.items[list];

		for (block = 0; block < inner->blocks; block++)
		{
			describe(frontier, inner, block, frontier->blocks_count * HY_CODE_ROWS);
			frontier->origins[frontier->blocks_count].inner = inner;
			frontier->origins[frontier->blocks_count++].first = block * HY_CODE_ROWS;
		}
	}
	make_blocks(frontier);
}

bool
hybrid_frontier_has_more(const HybridFrontier *frontier)
{
	return frontier->waiting > 0 ||
	       (frontier->blocks_count > 0 && frontier->blocks[0].key < INFINITY);
}

void
hybrid_frontier_put(HybridFrontier *frontier, int which, float distance)
{
	hy_heap_add(frontier->order, &frontier->waiting, distance, which);
}

double
hybrid_frontier_expect(HybridFrontier *frontier, const HyTail *tail, float limit)
{
	HyTailGroups groups = {frontier->middle, frontier->inverse, frontier->doubt, frontier->size,
	                       frontier->keys_count};
	double rows = hy_tail_beyond(tail, &groups, limit, frontier->keys);

	frontier->expecting = true;
	frontier->limit = limit;
	make_blocks(frontier);
	return rows;
}

int
hybrid_frontier_take(HybridFrontier *frontier, int most, const HyTail *tail, double enough,
                     double *expected, int *taken)
{
	int count = 0;

	while (count < most && frontier->blocks_count > 0 && frontier->blocks[0].key < INFINITY)
	{
		int slot = slot_of(frontier);

		/* this key is a lower bound from the code; the centroid gives the exact key */
		if (frontier->which[slot] < 0)
		{
			CHECK_FOR_INTERRUPTS();
			know(frontier, slot);
			continue;
		}
		if (tail != NULL && count > 0 && *expected <= enough)
			break;
		if (tail != NULL)
			*expected -= frontier->size[slot] * hy_tail_at(tail, frontier->blocks[0].key);
		taken[count++] = frontier->which[slot];
		frontier->middle[slot] = INFINITY;
		settle(frontier, slot, INFINITY);
	}
	return count;
}

int
hybrid_frontier_take_again(HybridFrontier *frontier, float limit, int most, int *taken)
{
	int count = 0;

	while (count < most && frontier->waiting > 0 && frontier->order[0].key < limit)
		taken[count++] = hy_heap_take(frontier->order, &frontier->waiting).which;
	return count;
}

void
hybrid_frontier_u_scale(const HybridFrontier *frontier, int which, float *middle, float *inverse)
{
	const HybridLeafCandidate *list = &frontier->lists[which];

	if (frontier->scorer->open.metric == HY_METRIC_IP)
	{
		*middle = list->reach.base;
		*inverse = 1 / (frontier->scorer->length * list->radius);
	}
	else
	{
		*middle = list->reach.base + list->radius * list->radius;
		*inverse = inverse_of(list->reach.base, list->radius);
	}
	*middle = *middle <= FLT_MAX ? *middle : -INFINITY;
	*inverse = *inverse <= STEEPEST ? Max(*inverse, FLT_MIN) : STEEPEST;
}

Size
hybrid_frontier_memory(const HybridFrontier *frontier)
{
	return frontier->keys_count * (5 * sizeof(float) + sizeof(int)) +
	       frontier->lists_count * (sizeof(HybridLeafCandidate) + sizeof(HyHeapItem));
}

/* add_inner: look up an inner list of this level. */
static const HybridInner *
add_inner(HybridFrontier *frontier, const HybridLink *list, int level)
{
	return hybrid_inner_set_add(level == 1 ? &frontier->inner : &frontier->upper, frontier->scorer,
	                            list, level);
}

/* add_only_leaf: let the root, which is the only leaf, wait to be examined. */
static void
add_only_leaf(HybridFrontier *frontier, const HybridReach *reach)
{
	int which = add_list(frontier);
	HybridLeafCandidate *root = &frontier->lists[which];

	memset(root, 0, sizeof(*root));
	root->link = frontier->scorer->tree.root;
	root->reach = *reach;
	root->seen = -INFINITY;
	root->last = -1;
	hybrid_frontier_put(frontier, which, -INFINITY);
}

/* expand: add keys for the leaf lists below an inner list. */
static void
expand(HybridFrontier *frontier, const HybridInner *inner, const HybridReach *reach, int level)
{
	int i;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	if (level == 1)
	{
		add_keys(frontier, inner, reach);
		return;
	}
	/* this list names inner lists: go on to the lists below each of them */
	for (i = 0; i < inner->count; i++)
	{
		HybridReach below;

		if (!may_have(frontier, inner, i))
			continue;
		below = hybrid_inner_reach(frontier->scorer, inner, level, i, NULL);
		expand(frontier, add_inner(frontier, &inner->below[i], level - 1), &below, level - 1);
	}
}

/* may_have: test whether rows below an entry of an inner list may satisfy the conditions. */
static bool
may_have(const HybridFrontier *frontier, const HybridInner *inner, int entry)
{
	return inner->bounds == NULL ||
	       hybrid_bounds_may_have(&inner->bounds[entry], frontier->conditions,
	                              frontier->conditions_count);
}

/* add_keys: estimate the distances of the lists below an inner list from their codes. */
static void
add_keys(HybridFrontier *frontier, const HybridInner *inner, const HybridReach *reach)
{
	int count = frontier->keys_count + inner->blocks * HY_CODE_ROWS;

	if (count > frontier->keys_allocated)
	{
		int allocated = Max(frontier->keys_allocated * 2, count);

		frontier->keys =
			hybrid_enlarge(frontier->context, frontier->keys, allocated * sizeof(float));
		frontier->middle =
			hybrid_enlarge(frontier->context, frontier->middle, allocated * sizeof(float));
		frontier->inverse =
			hybrid_enlarge(frontier->context, frontier->inverse, allocated * sizeof(float));
		frontier->doubt =
			hybrid_enlarge(frontier->context, frontier->doubt, allocated * sizeof(float));
		frontier->size =
			hybrid_enlarge(frontier->context, frontier->size, allocated * sizeof(float));
		frontier->which =
			hybrid_enlarge(frontier->context, frontier->which, allocated * sizeof(int));
		frontier->blocks = hybrid_enlarge(frontier->context, frontier->blocks,
		                                  allocated / HY_CODE_ROWS * sizeof(HyHeapItem));
		frontier->origins = hybrid_enlarge(frontier->context, frontier->origins,
		                                   allocated / HY_CODE_ROWS * sizeof(HybridBlockOrigin));
		frontier->keys_allocated = allocated;
	}
	hybrid_inner_score(frontier->scorer, inner, reach, frontier->limits.eps,
	                   frontier->middle + frontier->keys_count,
	                   frontier->keys + frontier->keys_count);
	frontier->keys_count = count;
}

/* make_blocks: make the heap of blocks, ordered by the smallest key of each block. */
static void
make_blocks(HybridFrontier *frontier)
{
	int block;

	for (block = 0; block < frontier->blocks_count; block++)
	{
		frontier->blocks[block].key = least_of(frontier->keys + block * HY_CODE_ROWS);
		frontier->blocks[block].which = block;
	}
	hy_heap_make(frontier->blocks, frontier->blocks_count);
}

/*
 * describe: fill in a block of lists. On entry, `middle` has the estimates of the lists' bases and `keys`
 * has their lower bounds.
 */
static void
describe(HybridFrontier *frontier, const HybridInner *inner, int block, int at)
{
	int count = Min(inner->count - block * HY_CODE_ROWS, HY_CODE_ROWS), i;
	float *keys = frontier->keys + at;

	describe_lists(frontier, inner->radii + block * HY_CODE_ROWS, at);
	memcpy(frontier->size + at, inner->rows + block * HY_CODE_ROWS, HY_CODE_ROWS * sizeof(float));
	for (i = 0; i < HY_CODE_ROWS; i++)
	{
		frontier->which[at + i] = -1;
		if (i >= count || !may_have(frontier, inner, block * HY_CODE_ROWS + i))
		{
			leave_out(frontier, at + i);
			continue;
		}
		/* a key is finite, or -INFINITY if it is NaN */
		keys[i] = keys[i] > FLT_MAX ? FLT_MAX : keys[i];
		keys[i] = keys[i] == keys[i] ? keys[i] : -INFINITY;
		frontier->rows += frontier->size[at + i];
	}
}

/* leave_out: let a slot have no list. */
static void
leave_out(HybridFrontier *frontier, int slot)
{
	frontier->keys[slot] = INFINITY;
	frontier->middle[slot] = INFINITY;
	frontier->inverse[slot] = 1;
	frontier->doubt[slot] = 0;
	frontier->size[slot] = 0;
}

/* describe_lists: do the arithmetic of describe for all 32 lists of a block. */
static void
describe_lists(const HybridFrontier *frontier, const float *radii, int at)
{
	const float *restrict keys = frontier->keys + at;
	float *restrict middle = frontier->middle + at, *restrict inverse = frontier->inverse + at;
	float *restrict doubt = frontier->doubt + at;
	const bool products = frontier->scorer->open.metric == HY_METRIC_IP;
	const float length = frontier->scorer->length, eps = frontier->limits.eps;
	const float root = sqrtf((float) frontier->scorer->open.layout.dims);
	int i;

	for (i = 0; i < HY_CODE_ROWS; i++)
	{
		float base = middle[i], radius = radii[i];
		float steep = products ? 1 / (length * radius) : inverse_of(base, radius);
		float error = (base - keys[i]) / eps, most = 1 / (root * error);

		/* uncertainty about the list's distance widens a narrow list */
		steep = steep < most ? steep : most;
		inverse[i] = steep <= STEEPEST ? steep : STEEPEST;
		inverse[i] = inverse[i] >= FLT_MIN ? inverse[i] : FLT_MIN;
		error *= inverse[i];
		doubt[i] = error <= FLT_MAX ? error : 0;
		base = products ? base : base + radius * radius;
		middle[i] = base <= FLT_MAX ? base : -INFINITY;
	}
}

/* inverse_of: return the inverse width of a list whose centroid is at this squared distance. */
static inline float
inverse_of(float reach_squared, float radius)
{
	float squared = (reach_squared > 0 ? reach_squared : 0) + RADIAL * radius * radius;

	return 1 / (2 * radius * sqrtf(squared));
}

/* least_of: return the smallest key of a block. */
static float
least_of(const float *keys)
{
	float least[LANES];
	int i, j;

	memcpy(least, keys, sizeof(least));
	for (i = LANES; i < HY_CODE_ROWS; i += LANES)
	{
		const float *some = keys + i;

		for (j = 0; j < LANES; j++)
			least[j] = some[j] < least[j] ? some[j] : least[j];
	}
	for (j = 1; j < LANES; j++)
		least[0] = least[j] < least[0] ? least[j] : least[0];
	return least[0];
}

/* slot_of: return the slot of the list with the smallest key. If several keys are equal, returns the first. */
static int
slot_of(const HybridFrontier *frontier)
{
	const HyHeapItem *block = &frontier->blocks[0];
	const float *keys = frontier->keys + block->which * HY_CODE_ROWS;
	int place = HY_CODE_ROWS - 1, i;

	for (i = 0; i < HY_CODE_ROWS; i++)
	{
		int here = keys[i] == block->key ? i : HY_CODE_ROWS - 1;

		place = here < place ? here : place;
	}
	return block->which * HY_CODE_ROWS + place;
}

/*
 * know: read the centroid of the list with the smallest key, and replace the key from the code by the
 * exact key.
 */
static void
know(HybridFrontier *frontier, int slot)
{
	const HybridBlockOrigin *origin = &frontier->origins[slot / HY_CODE_ROWS];
	int entry = origin->first + slot % HY_CODE_ROWS, which = add_list(frontier);
	HybridLeafCandidate *list = &frontier->lists[which];
	float key;

	list->radius = origin->inner->radii[entry];
	list->rows = origin->inner->rows[entry];
	list->seen = -INFINITY;
	list->link = origin->inner->below[entry];
	list->sampled = 0;
	list->last = -1;
	list->reach = hybrid_inner_reach(frontier->scorer, origin->inner, 1, entry, NULL);
	frontier->which[slot] = which;
	frontier->doubt[slot] = 0;
	hybrid_frontier_u_scale(frontier, which, &frontier->middle[slot], &frontier->inverse[slot]);
	key = frontier->expecting ? (frontier->middle[slot] - frontier->limit) * frontier->inverse[slot]
	                          : list->reach.base;
	settle(frontier, slot, isnan(key) ? -INFINITY : Min(key, FLT_MAX));
}

/* settle: change the key of the list with the smallest key, and restore the heap. */
static void
settle(HybridFrontier *frontier, int slot, float key)
{
	HyHeapItem *block = &frontier->blocks[0];

	frontier->keys[slot] = key;
	block->key = least_of(frontier->keys + block->which * HY_CODE_ROWS);
	hy_heap_sink(frontier->blocks, frontier->blocks_count, 0);
}

/* add_list: allocate an entry for a list whose centroid is read. Returns its number. */
static int
add_list(HybridFrontier *frontier)
{
	if (frontier->lists_count == frontier->lists_allocated)
	{
		frontier->lists_allocated = Max(256, frontier->lists_allocated * 2);
		frontier->lists = hybrid_enlarge(frontier->context, frontier->lists,
		                                 frontier->lists_allocated * sizeof(HybridLeafCandidate));
		frontier->order = hybrid_enlarge(frontier->context, frontier->order,
		                                 frontier->lists_allocated * sizeof(HyHeapItem));
	}
	return frontier->lists_count++;
}
