/*
 * frontier.c
 *		The leaf lists that a search may examine, in the order of examination.
 *
 * Let q be the query, c the centroid of a list, d = |q - c|, and R the root mean square distance of the
 * list's rows from c, without outliers (new_list.c). Let x be a row at distance r from c, and let u be
 * the cosine of the angle between x - c and q - c. Then
 *
 *		|x - q|^2 = d^2 + r^2 - 2 d r u
 *
 * With m = d^2 + R^2, a row of a list is therefore nearer than t if u > (m - t^2) / (2 d R). This u is
 * not exactly the cosine, because it also includes the difference between r and R. Unless the query is
 * close to a list, the distribution of u is nearly the same in every list. The rows that a search has
 * scored are a sample of this distribution, and stopping.c fits its tail. The divisor 2 d R is the
 * "width" of the list. (The difference between r and R does not vanish with d, so the code uses the width
 * 2 R sqrt(d^2 + R^2 / 10).) For inner products, -<q,x> = -<q,c> - |q| r u, so m = -<q,c> and the width
 * is |q| R.
 *
 * The lists not taken yet have slots, in the order of the inner lists that name them, 32 slots to a block.
 * Since most lists are never taken, there is no heap of lists, but a heap of blocks, ordered by the
 * smallest key of each block. At first, the key of a list is its distance, estimated from its code. Later
 * it is the u above which the list's rows are near enough. If the number of lists is fixed, the key is the
 * distance expected of the list's nearest row: m less the width times the greatest u of n rows in random
 * directions, which is about sqrt(2 ln(n) / dimensions). A centroid is read only when its list is about
 * to be taken. INFINITY is the key of a slot without a list, so other keys are at most FLT_MAX. If a key
 * is NaN, or if m is out of the range of single precision, the value becomes -INFINITY, so that the list
 * is examined.
 *
 * In a large index, most lists are far from the query. The search opens the nearest inner lists, until they
 * name HYBRID_LISTS_OPENED leaves. All rows below a closed inner list count as rows of one list that has the
 * inner list's centroid and radius. While more than a few near rows are expected below closed inner lists,
 * the one with the smallest key is opened. A split below an inner list updates the radius and the number of
 * lists that the entry of the inner list records (link.c).
 *
 * (Recall of a fixed number of lists: the first number if lists are taken by the expected distance of their nearest
 * rows, the second if they are taken by their own distance. 117,000 glosses of WordNet: 20 lists .954 and .940, with 35%
 * fewer rows; 40 lists .972 and .957, with 4% fewer rows. 20,000 rows of lognormal lengths, inner product, random
 * queries: 40 lists .87 and .72. 30 clusters: 5 lists .96 and .99. Documents of six vectors in an index with a key and
 * no condition on it, three tables, LIMIT 10: .97 to 1.00, and .76 to .90, since lists that several small keys share
 * are wide.)
 *
 * (8,000,000 rows of 128 dimensions in 62,819 lists, LIMIT 10: a search takes 4.4 ms if it opens all inner lists, and
 * 2.3 to 3.4 ms if it opens those of 8,192 lists. 600,000 rows in clusters by Zipf's law, in 28,000 lists: recall and
 * the lists examined do not change.)
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "miscadmin.h"
#include "server/memory.h"

#include "index/scan/frontier.h"
#include "index/tree/tree.h"

#define LANES 8 /* number of keys of a block that are compared at a time */
/*
 * Inner lists stay closed while the rows expected below them are at most CLOSED_SHARE of the rows expected in the lists
 * below opened inner lists, or of the number that may be missed if this is greater.
 */
#define CLOSED_SHARE 0.1
/* while lists are ordered by distance, minimum number of leaves below opened inner lists per centroid that was read */
#define OPENED_PER_LIST 16

static const HybridInner *add_inner(HybridFrontier *frontier, const HybridLink *list, int level);
static void add_only_leaf(HybridFrontier *frontier, const HybridReach *reach);
static void
expand(HybridFrontier *frontier, const HybridInner *inner, const HybridReach *reach, int level);
static int open_next(HybridFrontier *frontier);
static bool open_more(HybridFrontier *frontier, bool by_distance);
static bool has_leaf(const HybridFrontier *frontier);
static double beyond(HybridFrontier *frontier, HybridSlots *slots, int first);
static double rows_per_list(const HybridFrontier *frontier);
static void count_rows(HybridFrontier *frontier);
static void make_blocks(HybridFrontier *frontier);
static float least_of(const float *keys);
static int slot_of(const HybridFrontier *frontier);
static void know(HybridFrontier *frontier, int slot);
static void settle(HybridFrontier *frontier, int slot, float key);
static int add_leaf(HybridFrontier *frontier, int slot);
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
	frontier->leaves.count = frontier->closed.count = 0;
	frontier->closed_count = 0;
	frontier->closed_lists = frontier->opened_lists = frontier->opened_rows = 0;
	frontier->rows = 0;
	frontier->blocks_count = 0;
	frontier->lists_count = 0;
	frontier->waiting = 0;
	frontier->tail = NULL;
	frontier->passed = 0;
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

	frontier->limits = *limits;
	if (frontier->root == NULL)
		add_only_leaf(frontier, &reach);
	else
		expand(frontier, frontier->root, &reach, tree->height);
	while (frontier->leaves.count < HYBRID_LISTS_OPENED && frontier->closed_count > 0)
		open_next(frontier);
	count_rows(frontier);
	make_blocks(frontier);
}

void
hybrid_frontier_open_all(HybridFrontier *frontier)
{
	while (frontier->closed_count > 0)
		open_next(frontier);
	count_rows(frontier);
	make_blocks(frontier);
}

bool
hybrid_frontier_has_more(const HybridFrontier *frontier)
{
	bool rest = frontier->passed > 0 && frontier->passed < frontier->leaves.count;

	return frontier->waiting > 0 || frontier->closed_count > 0 || rest || has_leaf(frontier);
}

void
hybrid_frontier_put(HybridFrontier *frontier, int which, float distance)
{
	hy_heap_add(frontier->order, &frontier->waiting, distance, which);
}

double
hybrid_frontier_expect(HybridFrontier *frontier, const HyTail *tail, float limit, double enough)
{
	double rows, closed;

	frontier->tail = tail;
	frontier->limit = limit;
	rows = beyond(frontier, &frontier->leaves, 0);
	closed = beyond(frontier, &frontier->closed, 0) * rows_per_list(frontier);
	while (frontier->closed_count > 0 && closed > CLOSED_SHARE * Max(rows, enough))
	{
		int first = open_next(frontier);

		rows += beyond(frontier, &frontier->leaves, first);
		closed = beyond(frontier, &frontier->closed, 0) * rows_per_list(frontier);
	}
	count_rows(frontier);
	make_blocks(frontier);
	return rows + closed;
}

int
hybrid_frontier_take(HybridFrontier *frontier, int most, const HyTail *tail, double enough,
                     double *expected, int *taken)
{
	int count = 0;

	while (count < most && open_more(frontier, tail == NULL))
	{
		int slot = slot_of(frontier);

		/* the key of this list comes from its code; read its centroid for the exact key */
		if (frontier->which[slot] < 0)
		{
			CHECK_FOR_INTERRUPTS();
			know(frontier, slot);
			continue;
		}
		if (tail != NULL && count > 0 && *expected <= enough)
			break;
		if (tail != NULL)
			*expected -= frontier->leaves.size[slot] * hy_tail_at(tail, frontier->blocks[0].key);
		taken[count++] = frontier->which[slot];
		frontier->leaves.middle[slot] = INFINITY;
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

int
hybrid_frontier_take_rest(HybridFrontier *frontier, int most, int *taken)
{
	HybridSlots *leaves = &frontier->leaves;
	int count = 0;

	while (frontier->closed_count > 0)
		(void) open_next(frontier);
	count_rows(frontier);
	for (; frontier->passed < leaves->count && count < most; frontier->passed++)
	{
		int slot = frontier->passed;

		if (!(leaves->middle[slot] < INFINITY))
			continue;
		taken[count++] =
			frontier->which[slot] < 0 ? add_leaf(frontier, slot) : frontier->which[slot];
		hybrid_slots_leave_out(leaves, slot);
	}
	/* the heap of blocks is outdated, because its keys include lists that were taken here */
	frontier->blocks_count = 0;
	return count;
}

void
hybrid_frontier_reach(HybridFrontier *frontier, int which)
{
	HybridLeafCandidate *list = &frontier->lists[which];

	if (list->inner == NULL)
		return;
	list->reach = hybrid_inner_reach(frontier->scorer, list->inner, 1, list->entry, NULL);
	list->inner = NULL;
}

Size
hybrid_frontier_memory(const HybridFrontier *frontier)
{
	return (Size) (frontier->leaves.count + frontier->closed.count) *
	           (5 * sizeof(float) + sizeof(int)) +
	       frontier->lists_count * (sizeof(HybridLeafCandidate) + sizeof(HyHeapItem));
}

/* add_inner: look up an inner list of this level, and add it to the set of its level. */
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

/*
 * expand: add the lists below an inner list of this level. Below level 1, these are leaves. Otherwise they are the
 * inner lists of level 1, which stay closed.
 */
static void
expand(HybridFrontier *frontier, const HybridInner *inner, const HybridReach *reach, int level)
{
	int i;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	if (level <= 2)
	{
		hybrid_slots_add(frontier, level == 1 ? &frontier->leaves : &frontier->closed, inner,
		                 reach);
		return;
	}
	/* this list names inner lists: go on to the lists below each of them */
	for (i = 0; i < inner->count; i++)
	{
		HybridReach below;

		if (!hybrid_slots_may_have(frontier, inner, i))
			continue;
		below = hybrid_inner_reach(frontier->scorer, inner, level, i, NULL);
		expand(frontier, add_inner(frontier, &inner->below[i], level - 1), &below, level - 1);
	}
}

/* open_next: open the closed inner list with the smallest key. Returns the slot of its first leaf. */
static int
open_next(HybridFrontier *frontier)
{
	HybridSlots *closed = &frontier->closed;
	int first = frontier->leaves.count, slot = -1, i;
	const HybridBlockOrigin *origin;
	HybridReach reach;

	CHECK_FOR_INTERRUPTS();
	for (i = 0; i < closed->count; i++)
	{
		if (closed->middle[i] < INFINITY && (slot < 0 || closed->keys[i] < closed->keys[slot]))
			slot = i;
	}
	origin = &closed->origins[slot / HY_CODE_ROWS];
	i = origin->first + slot % HY_CODE_ROWS;
	reach = hybrid_inner_reach(frontier->scorer, origin->inner, 2, i, NULL);
	frontier->opened_lists += closed->size[slot];
	frontier->closed_lists -= closed->size[slot];
	frontier->closed_count--;
	hybrid_slots_leave_out(closed, slot);
	hybrid_slots_add(frontier, &frontier->leaves, add_inner(frontier, &origin->inner->below[i], 1),
	                 &reach);
	return first;
}

/*
 * open_more: open inner lists until there is a leaf that was not taken. If leaves are ordered by distance, also open
 * inner lists until there are OPENED_PER_LIST leaves per leaf whose centroid was read. Returns false if no leaf is left.
 */
static bool
open_more(HybridFrontier *frontier, bool by_distance)
{
	int first = frontier->leaves.count;

	while (frontier->closed_count > 0 &&
	       (!has_leaf(frontier) ||
	        (by_distance && frontier->leaves.count < OPENED_PER_LIST * frontier->lists_count)))
	{
		int block = open_next(frontier) / HY_CODE_ROWS;

		if (frontier->tail != NULL)
			(void) beyond(frontier, &frontier->leaves, block * HY_CODE_ROWS);
		for (; block < frontier->leaves.count / HY_CODE_ROWS; block++)
			hy_heap_add(frontier->blocks, &frontier->blocks_count,
			            least_of(frontier->leaves.keys + block * HY_CODE_ROWS), block);
	}
	if (frontier->leaves.count > first)
		count_rows(frontier);
	return has_leaf(frontier);
}

/* has_leaf: test whether any leaf below the opened inner lists was not taken. */
static bool
has_leaf(const HybridFrontier *frontier)
{
	return frontier->blocks_count > 0 && frontier->blocks[0].key < INFINITY;
}

/*
 * beyond: compute the keys of the lists in slots `first` and later from the frontier's tail. Returns the sum of their
 * sizes, each multiplied by the share of the list's rows that is expected to be nearer than the limit.
 */
static double
beyond(HybridFrontier *frontier, HybridSlots *slots, int first)
{
	HyTailGroups groups = {slots->middle + first, slots->inverse + first, slots->doubt + first,
	                       slots->size + first, slots->count - first};

	return hy_tail_beyond(frontier->tail, &groups, frontier->limit, slots->keys + first);
}

/* rows_per_list: return the mean number of rows of a leaf below the opened inner lists. */
static double
rows_per_list(const HybridFrontier *frontier)
{
	return frontier->opened_lists > 0 ? frontier->opened_rows / frontier->opened_lists : 0;
}

/* count_rows: estimate the number of rows of all lists. Leaves below closed inner lists count with the mean size. */
static void
count_rows(HybridFrontier *frontier)
{
	frontier->rows = frontier->opened_rows + frontier->closed_lists * rows_per_list(frontier);
}

/* make_blocks: make the heap of blocks, ordered by the smallest key of each block. */
static void
make_blocks(HybridFrontier *frontier)
{
	int block;

	frontier->blocks_count = frontier->leaves.count / HY_CODE_ROWS;
	for (block = 0; block < frontier->blocks_count; block++)
	{
		frontier->blocks[block].key = least_of(frontier->leaves.keys + block * HY_CODE_ROWS);
		frontier->blocks[block].which = block;
	}
	hy_heap_make(frontier->blocks, frontier->blocks_count);
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

/* slot_of: return the slot of the list with the smallest key; if there are several, the first in the block. */
static int
slot_of(const HybridFrontier *frontier)
{
	const HyHeapItem *block = &frontier->blocks[0];
	const float *keys = frontier->leaves.keys + block->which * HY_CODE_ROWS;
	int place = HY_CODE_ROWS - 1, i;

	for (i = 0; i < HY_CODE_ROWS; i++)
	{
		int here = keys[i] == block->key ? i : HY_CODE_ROWS - 1;

		place = here < place ? here : place;
	}
	return block->which * HY_CODE_ROWS + place;
}

/*
 * know: read the centroid of the list with the smallest key. The exact key replaces the one that was
 * computed from the code.
 */
static void
know(HybridFrontier *frontier, int slot)
{
	HybridSlots *leaves = &frontier->leaves;
	int which = add_leaf(frontier, slot);
	float dims = (float) frontier->scorer->open.layout.dims, key;

	hybrid_frontier_reach(frontier, which);
	frontier->which[slot] = which;
	leaves->doubt[slot] = 0;
	hybrid_frontier_u_scale(frontier, which, &leaves->middle[slot], &leaves->inverse[slot]);
	if (frontier->tail != NULL)
		key = (leaves->middle[slot] - frontier->limit) * leaves->inverse[slot];
	else if (frontier->limits.probes > 0)
		key = leaves->middle[slot] -
		      hybrid_slots_nearest_u(leaves->size[slot], dims) / leaves->inverse[slot];
	else
		key = frontier->lists[which].reach.base;
	settle(frontier, slot, isnan(key) ? -INFINITY : Min(key, FLT_MAX));
}

/* settle: change the key of the list with the smallest key, and restore the heap. */
static void
settle(HybridFrontier *frontier, int slot, float key)
{
	HyHeapItem *block = &frontier->blocks[0];

	frontier->leaves.keys[slot] = key;
	block->key = least_of(frontier->leaves.keys + block->which * HY_CODE_ROWS);
	hy_heap_sink(frontier->blocks, frontier->blocks_count, 0);
}

/* add_leaf: add the list of a slot to frontier->lists, without reading its centroid. Returns its number there. */
static int
add_leaf(HybridFrontier *frontier, int slot)
{
	const HybridBlockOrigin *origin = &frontier->leaves.origins[slot / HY_CODE_ROWS];
	int entry = origin->first + slot % HY_CODE_ROWS, which = add_list(frontier);
	HybridLeafCandidate *list = &frontier->lists[which];

	list->radius = origin->inner->radii[entry];
	list->rows = origin->inner->rows[entry];
	list->seen = -INFINITY;
	list->link = origin->inner->below[entry];
	list->inner = origin->inner;
	list->entry = entry;
	list->sampled = 0;
	list->last = -1;
	return which;
}

/* add_list: allocate an element of frontier->lists. Returns its number. */
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
