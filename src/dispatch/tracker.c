/*
 * tracker.c
 *		A windowed mean a shape class and device: see tracker.h.
 *
 * Classes live in a fixed array found through an open-addressed index; a class costs a few hundred
 * bytes, and its ring of observations is allocated when the device is first seen to run it, so
 * that calls on known ground allocate nothing.  When memory is short an observation is dropped:
 * history is a help, never a need.
 *
 * Sums are integers (whole nanoseconds), so adding the newest and taking away the oldest for ever
 * leaves no drift to correct.
 *
 * Outliers: once a mean rests on at least CLIP_FROM observations, a new one enters as no more than
 * half as much again and no less than half.  A device whose speed really changed still moves the
 * mean by up to half in every window.
 */
#include "dispatch/tracker.h"

#include <string.h>

#define INDEX_SIZE 2048 /* slots of the index, a power of two, four times HY_TRACKER_CLASSES */
#define CLIP_FROM 5
#define CLIP_FLOOR_NS 100 /* below this the clock's grain is larger than half of the mean */
#define LONGEST_NS (UINT64_C(1) << 52) /* 52 days; 1,000 of them still fit a sum */

/* Layout of a class number: one bit that says 'used', the kind, then log2 of the items. */
#define ITEM_BITS 6
#define ITEM_MASK ((UINT32_C(1) << ITEM_BITS) - 1)
#define CLASS_USED (UINT32_C(1) << 31)

typedef struct Side
{
	uint64_t *ring;   /* capacity observations; NULL: never seen */
	int32_t capacity; /* the window when it was allocated */
	int32_t count;
	int32_t next;
	bool waiting; /* first_ns is all there is */
	uint64_t first_ns;
	uint64_t sum; /* of the count observations in the ring */
} Side;

typedef struct Class
{
	uint32_t number; /* 0: free */
	uint64_t last_used;
	Side sides[HY_TRACKER_DEVICES];
} Class;

struct HyTracker
{
	const HyAllocator *allocator;
	int32_t window;
	int32_t used;
	uint64_t serial;
	/* which sizes were ever seen, so that looking for a neighbour costs nothing where none is */
	uint64_t sizes[HY_TRACKER_DEVICES][HY_OP_COUNT];
	int16_t index[INDEX_SIZE]; /* class + 1; 0: empty */
	Class classes[HY_TRACKER_CLASSES];
};

static int log2_floor(uint64_t n);
static uint32_t index_slot(uint32_t number);
static const Class *find_class(const HyTracker *tracker, uint32_t number);
static Class *claim_class(HyTracker *tracker, uint32_t number);
static void rebuild_index(HyTracker *tracker);
static void forget_class(Class *class);
static void side_record(const HyTracker *tracker, Side *side, uint64_t ns);
static uint64_t clipped(const Side *side, uint64_t ns);
static bool side_fit(const HyTracker *tracker, Side *side);
static void side_trim(Side *side, int32_t window);
static double side_mean(const Side *side);

HyTracker *
hy_tracker_create(const HyAllocator *allocator, int32_t window)
{
	HyTracker *tracker = hy_alloc_zero(allocator, sizeof(HyTracker));

	if (tracker == NULL)
		return NULL;
	tracker->allocator = allocator;
	hy_tracker_set_window(tracker, window);
	return tracker;
}

void
hy_tracker_destroy(HyTracker *tracker)
{
	const HyAllocator *allocator;
	int i;
	int d;

	if (tracker == NULL)
		return;
	allocator = tracker->allocator;
	for (i = 0; i < HY_TRACKER_CLASSES; i++)
	{
		for (d = 0; d < HY_TRACKER_DEVICES; d++)
			hy_free(allocator, tracker->classes[i].sides[d].ring);
	}
	hy_free(allocator, tracker);
}

void
hy_tracker_set_window(HyTracker *tracker, int32_t window)
{
	int i;
	int d;

	if (window < 1)
		window = 1;
	if (window > HY_TRACKER_MAX_WINDOW)
		window = HY_TRACKER_MAX_WINDOW;
	if (window == tracker->window)
		return;
	tracker->window = window;
	/* A larger window finds its memory when the next observation comes. */
	for (i = 0; i < tracker->used; i++)
	{
		for (d = 0; d < HY_TRACKER_DEVICES; d++)
			side_trim(&tracker->classes[i].sides[d], window);
	}
}

void
hy_tracker_reset(HyTracker *tracker)
{
	int i;

	for (i = 0; i < HY_TRACKER_CLASSES; i++)
		forget_class(&tracker->classes[i]);
	memset(tracker->index, 0, sizeof(tracker->index));
	memset(tracker->sizes, 0, sizeof(tracker->sizes));
	tracker->used = 0;
}

void
hy_tracker_record(HyTracker *tracker, const HyShape *shape, int32_t device, uint64_t ns)
{
	uint32_t number = hy_shape_class(shape);
	Class *class;

	if (device < 0 || device >= HY_TRACKER_DEVICES)
		return;
	class = (Class *) find_class(tracker, number);
	if (class == NULL)
		class = claim_class(tracker, number);
	class->last_used = ++tracker->serial;
	tracker->sizes[device][shape->op] |= UINT64_C(1) << (number & ITEM_MASK);
	side_record(tracker, &class->sides[device], ns < LONGEST_NS ? ns : LONGEST_NS);
}

double
hy_tracker_predict(const HyTracker *tracker, const HyShape *shape, int32_t device)
{
	return hy_tracker_forecast(tracker, shape, device).ns;
}

int32_t
hy_tracker_samples(const HyTracker *tracker, const HyShape *shape, int32_t device)
{
	const Class *class = find_class(tracker, hy_shape_class(shape));

	if (class == NULL || device < 0 || device >= HY_TRACKER_DEVICES)
		return 0;
	return class->sides[device].count;
}

double
hy_tracker_speedup(const HyTracker *tracker, const HyShape *shape, int32_t device)
{
	double cpu = hy_tracker_predict(tracker, shape, 0);
	double other = hy_tracker_predict(tracker, shape, device);

	if (cpu < 0 || other < 0)
		return -1;
	/* A side that takes no time at all is a clock that stood still. */
	return cpu / (other > 1 ? other : 1);
}

HyForecast
hy_tracker_forecast(const HyTracker *tracker, const HyShape *shape, int32_t device)
{
	HyForecast forecast = {.ns = -1};
	uint32_t number = hy_shape_class(shape);
	uint32_t kind = number & ~ITEM_MASK;
	int size = (int) (number & ITEM_MASK);
	uint64_t sizes;
	int away;

	if (device < 0 || device >= HY_TRACKER_DEVICES)
		return forecast;
	sizes = tracker->sizes[device][shape->op];
	for (away = 0; away < 64 && sizes != 0; away++)
	{
		int turn;

		/* Smaller first: at the same distance it is the one seen more often. */
		for (turn = 0; turn < (away == 0 ? 1 : 2); turn++)
		{
			int other = turn == 0 ? size - away : size + away;
			const Class *class;
			const Side *side;

			if (other < 0 || other > 63 || !(sizes >> other & 1))
				continue;
			sizes &= ~(UINT64_C(1) << other);
			class = find_class(tracker, kind | (uint32_t) other);
			if (class == NULL)
				continue;
			side = &class->sides[device];
			if (side->count == 0 && !side->waiting)
				continue;
			forecast.steps = size - other;
			forecast.ns = side_mean(side);
			if (forecast.steps >= 0)
				forecast.ns *= (double) (UINT64_C(1) << forecast.steps);
			else
				forecast.ns /= (double) (UINT64_C(1) << -forecast.steps);
			forecast.samples = away == 0 ? side->count : 0;
			forecast.cold = side->count == 0;
			return forecast;
		}
	}
	return forecast;
}

uint32_t
hy_shape_class(const HyShape *shape)
{
	int64_t items = hy_shape_items(shape);
	uint32_t kind;

	kind = (uint32_t) shape->op;
	kind = kind << 1 | (uint32_t) shape->dtype;
	kind = kind << 2 | (uint32_t) shape->metric;
	kind = kind << 5 | (uint32_t) (shape->dims > 0 ? 1 + log2_floor((uint64_t) shape->dims) : 0);
	kind = kind << 1 | (uint32_t) shape->resident;
	return CLASS_USED | kind << ITEM_BITS |
	       (uint32_t) (items > 0 ? log2_floor((uint64_t) items) : 0);
}

static int
log2_floor(uint64_t n)
{
	return 63 - __builtin_clzll(n);
}

static uint32_t
index_slot(uint32_t number)
{
	/* Fibonacci hashing: the classes in use differ in a few low bits. */
	return (number * UINT32_C(2654435769)) >> 21;
}

static const Class *
find_class(const HyTracker *tracker, uint32_t number)
{
	uint32_t slot = index_slot(number);

	for (; tracker->index[slot] != 0; slot = (slot + 1) % INDEX_SIZE)
	{
		const Class *class = &tracker->classes[tracker->index[slot] - 1];

		if (class->number == number)
			return class;
	}
	return NULL;
}

/* claim_class: a class for number, which has none; the least recently used gives way. */
static Class *
claim_class(HyTracker *tracker, uint32_t number)
{
	int chosen = tracker->used;
	int i;

	if (tracker->used < HY_TRACKER_CLASSES)
		tracker->used++;
	else
	{
		chosen = 0;
		for (i = 1; i < HY_TRACKER_CLASSES; i++)
		{
			if (tracker->classes[i].last_used < tracker->classes[chosen].last_used)
				chosen = i;
		}
		forget_class(&tracker->classes[chosen]);
	}
	tracker->classes[chosen].number = number;
	rebuild_index(tracker);
	return &tracker->classes[chosen];
}

/* rebuild_index: taking one entry out of a probe sequence is subtler than a rare rebuild. */
static void
rebuild_index(HyTracker *tracker)
{
	int i;

	memset(tracker->index, 0, sizeof(tracker->index));
	for (i = 0; i < tracker->used; i++)
	{
		uint32_t slot = index_slot(tracker->classes[i].number);

		while (tracker->index[slot] != 0)
			slot = (slot + 1) % INDEX_SIZE;
		tracker->index[slot] = (int16_t) (i + 1);
	}
}

/* forget_class: rings stay allocated, for the class that comes next. */
static void
forget_class(Class *class)
{
	int d;

	class->number = 0;
	class->last_used = 0;
	for (d = 0; d < HY_TRACKER_DEVICES; d++)
	{
		Side *side = &class->sides[d];

		side->count = 0;
		side->next = 0;
		side->sum = 0;
		side->waiting = false;
	}
}

static void
side_record(const HyTracker *tracker, Side *side, uint64_t ns)
{
	int32_t window = tracker->window;

	if (side->count == 0 && !side->waiting)
	{
		side->waiting = true;
		side->first_ns = ns;
		return;
	}
	if (side->capacity < window && !side_fit(tracker, side))
	{
		if (side->capacity == 0)
			return;
		window = side->capacity;
	}
	side->waiting = false;
	if (side->count >= CLIP_FROM)
		ns = clipped(side, ns);
	if (side->count >= window)
		side_trim(side, window - 1);
	side->ring[side->next] = ns;
	side->next = side->next + 1 == side->capacity ? 0 : side->next + 1;
	side->count++;
	side->sum += ns;
}

/* clipped: ns, or the end of the band around the mean that it lies outside of. */
static uint64_t
clipped(const Side *side, uint64_t ns)
{
	uint64_t total = ns * (uint64_t) side->count;
	uint64_t mean;
	uint64_t half;

	/* A division takes longer than all the rest, and most observations need none. */
	if (2 * total >= side->sum && 2 * total <= 3 * side->sum)
		return ns;
	mean = side->sum / (uint64_t) side->count;
	half = mean / 2 > CLIP_FLOOR_NS ? mean / 2 : CLIP_FLOOR_NS;
	if (ns > mean + half)
		return mean + half;
	if (ns + half < mean)
		return mean - half;
	return ns;
}

/* side_fit: makes the ring hold the tracker's window; false when there is no memory for it. */
static bool
side_fit(const HyTracker *tracker, Side *side)
{
	uint64_t *ring = hy_alloc_array(tracker->allocator, (size_t) tracker->window, sizeof(*ring));
	int32_t i;

	if (ring == NULL)
		return false;
	for (i = 0; i < side->count; i++)
		ring[i] = side->ring[(side->next - side->count + i + side->capacity) % side->capacity];
	hy_free(tracker->allocator, side->ring);
	side->ring = ring;
	side->capacity = tracker->window;
	side->next = side->count;
	return true;
}

/* side_trim: keeps the newest window observations. */
static void
side_trim(Side *side, int32_t window)
{
	for (; side->count > window; side->count--)
	{
		int32_t oldest = side->next - side->count;

		side->sum -= side->ring[oldest < 0 ? oldest + side->capacity : oldest];
	}
}

static double
side_mean(const Side *side)
{
	if (side->count == 0)
		return (double) side->first_ns;
	return (double) side->sum / side->count;
}
