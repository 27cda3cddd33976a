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
/* the width of a list is computed with its squared distance plus this share of its squared radius */
#define RADIAL 0.1f
#define LOG_2 0.69314718f
#define STEEPEST 1e30f /* maximum inverse width, as of a list whose rows are all equal */
/*
 * With a fixed number of lists, a key computed from a code is lowered by this number of standard deviations, so that the
 * list's centroid is read in time. (117,000 glosses of WordNet: 20 lists take 97 us with 0, 106 us with .5 and 118 us
 * with 1, for the same recall. Rows of two scales in 48 dimensions: 5 lists have a recall of .28, .37 and .37.)
 */
#define LOWERED 0.5f
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
static bool may_have(const HybridFrontier *frontier, const HybridInner *inner, int entry);
static int open_next(HybridFrontier *frontier);
static bool open_more(HybridFrontier *frontier, bool by_distance);
static bool has_leaf(const HybridFrontier *frontier);
static double beyond(HybridFrontier *frontier, HybridSlots *slots, int first);
static double rows_per_list(const HybridFrontier *frontier);
static void count_rows(HybridFrontier *frontier);
static void add_lists(HybridFrontier *frontier, HybridSlots *slots, const HybridInner *inner,
                      const HybridReach *reach);
static void allocate(HybridFrontier *frontier, HybridSlots *slots, int count);
static void make_blocks(HybridFrontier *frontier);
static void
describe(HybridFrontier *frontier, HybridSlots *slots, const HybridInner *inner, int block);
static void leave_out(HybridSlots *slots, int slot);
static void describe_lists(const HybridFrontier *frontier, HybridSlots *slots,
                           const float *restrict radii, int at);
static inline float nearest_u(float rows, float dims);
static inline float width_of(float reach_squared, float radius);
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
		leave_out(leaves, slot);
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
		*inverse = 1 / width_of(list->reach.base, list->radius);
	}
	*middle = *middle <= FLT_MAX ? *middle : -INFINITY;
	*inverse = *inverse <= STEEPEST ? Max(*inverse, FLT_MIN) : STEEPEST;
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
		add_lists(frontier, level == 1 ? &frontier->leaves : &frontier->closed, inner, reach);
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
	leave_out(closed, slot);
	add_lists(frontier, &frontier->leaves, add_inner(frontier, &origin->inner->below[i], 1),
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

/* may_have: test whether rows below an entry of an inner list may satisfy the conditions. */
static bool
may_have(const HybridFrontier *frontier, const HybridInner *inner, int entry)
{
	return inner->bounds == NULL ||
	       hybrid_bounds_may_have(&inner->bounds[entry], frontier->conditions,
	                              frontier->conditions_count);
}

/* add_lists: add the lists that an inner list names. Their distances from the query are estimated from their codes. */
static void
add_lists(HybridFrontier *frontier, HybridSlots *slots, const HybridInner *inner,
          const HybridReach *reach)
{
	int first = slots->count, block;

	allocate(frontier, slots, first + inner->blocks * HY_CODE_ROWS);
	hybrid_inner_score(frontier->scorer, inner, reach, frontier->limits.eps, slots->middle + first,
	                   slots->keys + first);
	for (block = 0; block < inner->blocks; block++)
	{
		slots->origins[slots->count / HY_CODE_ROWS].inner = inner;
		slots->origins[slots->count / HY_CODE_ROWS].first = block * HY_CODE_ROWS;
		describe(frontier, slots, inner, block);
		slots->count += HY_CODE_ROWS;
	}
}

/* allocate: provide memory for this number of slots. */
static void
allocate(HybridFrontier *frontier, HybridSlots *slots, int count)
{
	MemoryContext context = frontier->context;
	Size size;

	if (count <= slots->allocated)
		return;
	slots->allocated = Max(slots->allocated * 2, count);
	size = slots->allocated * sizeof(float);
	slots->keys = hybrid_enlarge(context, slots->keys, size);
	slots->middle = hybrid_enlarge(context, slots->middle, size);
	slots->inverse = hybrid_enlarge(context, slots->inverse, size);
	slots->doubt = hybrid_enlarge(context, slots->doubt, size);
	slots->size = hybrid_enlarge(context, slots->size, size);
	slots->origins = hybrid_enlarge(context, slots->origins,
	                                slots->allocated / HY_CODE_ROWS * sizeof(HybridBlockOrigin));
	if (slots == &frontier->closed)
		return;
	frontier->which = hybrid_enlarge(context, frontier->which, slots->allocated * sizeof(int));
	frontier->blocks = hybrid_enlarge(context, frontier->blocks,
	                                  slots->allocated / HY_CODE_ROWS * sizeof(HyHeapItem));
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

/*
 * describe: fill in the next block of slots. On entry, `middle` has the base of each list (squared distance of its
 * centroid, or negated inner product) as estimated from the code, and `keys` has the lower bound of the base.
 */
static void
describe(HybridFrontier *frontier, HybridSlots *slots, const HybridInner *inner, int block)
{
	int count = Min(inner->count - block * HY_CODE_ROWS, HY_CODE_ROWS), at = slots->count, i;
	float *restrict keys = slots->keys + at;
	double sizes = 0;

	memcpy(slots->size + at, inner->rows + block * HY_CODE_ROWS, HY_CODE_ROWS * sizeof(float));
	describe_lists(frontier, slots, inner->radii + block * HY_CODE_ROWS, at);
	for (i = 0; i < HY_CODE_ROWS; i++)
	{
		/* a key above FLT_MAX becomes FLT_MAX; NaN becomes -INFINITY, so that the list is examined first */
		keys[i] = keys[i] > FLT_MAX ? FLT_MAX : keys[i];
		keys[i] = keys[i] == keys[i] ? keys[i] : -INFINITY;
	}
	for (i = 0; i < HY_CODE_ROWS; i++)
	{
		if (i >= count || !may_have(frontier, inner, block * HY_CODE_ROWS + i))
			leave_out(slots, at + i);
		sizes += slots->size[at + i];
		frontier->closed_count += slots == &frontier->closed && keys[i] < INFINITY;
	}
	if (slots == &frontier->closed)
	{
		frontier->closed_lists += sizes;
		return;
	}
	frontier->opened_rows += sizes;
	memset(frontier->which + at, -1, HY_CODE_ROWS * sizeof(int));
}

/* leave_out: mark a slot as one without a list. */
static void
leave_out(HybridSlots *slots, int slot)
{
	slots->keys[slot] = INFINITY;
	slots->middle[slot] = INFINITY;
	slots->inverse[slot] = 1;
	slots->doubt[slot] = 0;
	slots->size[slot] = 0;
}

/*
 * describe_lists: do the arithmetic of describe for all 32 lists of a block. Each loop is one that compilers vectorize.
 * (117,000 glosses of WordNet in 990 lists, target .7: 96 us per query with a single loop of three divisions, 92 us with
 * these.)
 */
static void
describe_lists(const HybridFrontier *frontier, HybridSlots *slots, const float *restrict radii,
               int at)
{
	float *restrict keys = slots->keys + at, *restrict middle = slots->middle + at;
	float *restrict inverse = slots->inverse + at, *restrict doubt = slots->doubt + at;
	const float *restrict sizes = slots->size + at;
	const bool products = frontier->scorer->open.metric == HY_METRIC_IP;
	const float length = frontier->scorer->length, deviations = 1 / frontier->limits.eps;
	const float dims = (float) frontier->scorer->open.layout.dims, root = sqrtf(dims);
	int i;

	for (i = 0; i < HY_CODE_ROWS; i++)
		doubt[i] = (middle[i] - keys[i]) * deviations;
	if (products)
	{
		for (i = 0; i < HY_CODE_ROWS; i++)
			inverse[i] = length * radii[i];
	}
	else
	{
		for (i = 0; i < HY_CODE_ROWS; i++)
			inverse[i] = width_of(middle[i], radii[i]);
	}
	if (frontier->limits.probes > 0)
	{
		for (i = 0; i < HY_CODE_ROWS; i++)
			keys[i] = middle[i] - LOWERED * doubt[i] + (products ? 0 : radii[i] * radii[i]) -
			          nearest_u(sizes[i], dims) * inverse[i];
	}
	/* treat a narrow list as wider if the distance of its centroid is uncertain */
	for (i = 0; i < HY_CODE_ROWS; i++)
		inverse[i] = inverse[i] > root * doubt[i] ? inverse[i] : root * doubt[i];
	for (i = 0; i < HY_CODE_ROWS; i++)
	{
		float steep = 1 / inverse[i], base, error;

		steep = steep <= STEEPEST ? steep : STEEPEST;
		inverse[i] = steep >= FLT_MIN ? steep : FLT_MIN;
		error = doubt[i] * inverse[i];
		doubt[i] = error <= FLT_MAX ? error : 0;
		base = products ? middle[i] : middle[i] + radii[i] * radii[i];
		middle[i] = base <= FLT_MAX ? base : -INFINITY;
	}
}

/*
 * nearest_u: return the u expected of the nearest of `rows` rows in random directions, about sqrt(2 ln(rows) / dims).
 * Between powers of 2, the logarithm is interpolated linearly.
 */
static inline float
nearest_u(float rows, float dims)
{
	int32 bits;

	rows = rows > 1 ? rows : 1;
	memcpy(&bits, &rows, sizeof(bits));
	return sqrtf((float) (bits - (127 << 23)) * (2 * LOG_2 / (1 << 23)) / dims);
}

/* width_of: return the width of a list whose centroid is at this squared distance. */
static inline float
width_of(float reach_squared, float radius)
{
	float squared = (reach_squared > 0 ? reach_squared : 0) + RADIAL * radius * radius;

	return 2 * radius * sqrtf(squared);
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
		key = leaves->middle[slot] - nearest_u(leaves->size[slot], dims) / leaves->inverse[slot];
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
