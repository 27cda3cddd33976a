/*
 * frontier_slots.c
 *		The slots of a frontier: the lists that a search may take, with the numbers that determine their order.
 *
 * frontier.c explains these numbers, and takes the lists.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "server/memory.h"

#include "index/scan/frontier.h"
#include "index/tree/tree.h"

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

static void allocate(HybridFrontier *frontier, HybridSlots *slots, int count);
static void
describe(HybridFrontier *frontier, HybridSlots *slots, const HybridInner *inner, int block);
static void describe_lists(const HybridFrontier *frontier, HybridSlots *slots,
                           const float *restrict radii, int at);
static inline float width_of(float reach_squared, float radius);

void
hybrid_slots_add(HybridFrontier *frontier, HybridSlots *slots, const HybridInner *inner,
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
		if (i >= count || !hybrid_slots_may_have(frontier, inner, block * HY_CODE_ROWS + i))
			hybrid_slots_leave_out(slots, at + i);
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

bool
hybrid_slots_may_have(const HybridFrontier *frontier, const HybridInner *inner, int entry)
{
	return inner->bounds == NULL ||
	       hybrid_bounds_may_have(&inner->bounds[entry], frontier->conditions,
	                              frontier->conditions_count);
}

void
hybrid_slots_leave_out(HybridSlots *slots, int slot)
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
			          hybrid_slots_nearest_u(sizes[i], dims) * inverse[i];
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

float
hybrid_slots_nearest_u(float rows, float dims)
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
