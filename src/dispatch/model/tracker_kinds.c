/*
 * tracker_kinds.c
 *		The tracker's table of kinds: see tracker_state.h.
 *
 * It also numbers kinds of tasks, for this table and for others.
 */
#include "dispatch/model/tracker_state.h"

#include <string.h>

/* Layout of a kind's number: the bit KIND_USED, the parts of the kind, SIZE_BITS bits for a size. */
#define SIZE_BITS 6
#define THREADS_SHIFT 24 /* position of the thread class in a result of hy_shape_model */
#define KIND_USED (UINT32_C(1) << 31)

static uint32_t index_slot(uint32_t number);
static HyTrackerKind *claim_kind(HyTracker *tracker, const HyShape *shape);
static void rebuild_index(HyTracker *tracker);

uint32_t
hy_shape_kind(const HyShape *shape)
{
	uint32_t kind;

	kind = (uint32_t) shape->op;
	kind = kind << 1 | (uint32_t) shape->dtype;
	kind = kind << 2 | (uint32_t) shape->metric;
	kind = kind << 5 | (uint32_t) (shape->dims > 0 ? 1 + hy_log2_floor(shape->dims) : 0);
	kind = kind << 1 | (uint32_t) shape->resident;
	return KIND_USED | kind << SIZE_BITS;
}

uint32_t
hy_shape_model(const HyShape *shape, int32_t device)
{
	int32_t side = hy_tracker_side_of(shape, device);
	uint32_t threads = side < HY_TRACKER_DEVICES ? 0 : (uint32_t) (side - HY_TRACKER_DEVICES + 1);

	return hy_shape_kind(shape) | threads << THREADS_SHIFT;
}

uint32_t
hy_shape_class(const HyShape *shape)
{
	return hy_shape_kind(shape) | (uint32_t) hy_log2_floor((double) hy_shape_items(shape));
}

int32_t
hy_tracker_side_of(const HyShape *shape, int32_t device)
{
	int32_t number;

	if (device != 0 || shape->threads < 2)
		return device;
	number = hy_log2_floor(shape->threads) - 1;
	return HY_TRACKER_DEVICES +
	       (number < HY_TRACKER_THREAD_CLASSES ? number : HY_TRACKER_THREAD_CLASSES - 1);
}

int32_t
hy_tracker_device_of(int32_t side)
{
	return side < HY_TRACKER_DEVICES ? side : 0;
}

int32_t
hy_tracker_threads_of(int32_t side)
{
	return side == 0 ? 1 : INT32_C(2) << (side - HY_TRACKER_DEVICES);
}

const HyTrackerKind *
hy_tracker_find_kind(const HyTracker *tracker, uint32_t number)
{
	uint32_t slot = index_slot(number);

	for (; tracker->index[slot] != 0; slot = (slot + 1) % HY_TRACKER_SLOTS)
	{
		const HyTrackerKind *kind = &tracker->kinds[tracker->index[slot] - 1];

		if (kind->number == number)
			return kind;
	}
	return NULL;
}

const HyTrackerSide *
hy_tracker_find_side(const HyTracker *tracker, const HyShape *shape, int32_t device)
{
	const HyTrackerKind *kind;

	if (device < 0 || device >= HY_TRACKER_DEVICES)
		return NULL;
	kind = hy_tracker_find_kind(tracker, hy_shape_kind(shape));
	return kind != NULL ? kind->sides[hy_tracker_side_of(shape, device)] : NULL;
}

HyTrackerSide *
hy_tracker_claim_side(HyTracker *tracker, const HyShape *shape, int32_t device)
{
	HyTrackerKind *kind;
	int32_t number = hy_tracker_side_of(shape, device);

	if (device < 0 || device >= HY_TRACKER_DEVICES)
		return NULL;
	kind = (HyTrackerKind *) hy_tracker_find_kind(tracker, hy_shape_kind(shape));
	if (kind == NULL)
		kind = claim_kind(tracker, shape);
	if (kind->sides[number] == NULL)
	{
		kind->sides[number] = hy_alloc_zero(tracker->allocator, sizeof(HyTrackerSide));
		if (kind->sides[number] != NULL)
			kind->sides[number]->last = kind->tasks;
	}
	return kind->sides[number];
}

/*
 * claim_kind: create the kind of shape, which does not exist yet.  If the array is full, the new
 * kind replaces the least recently used kind.
 */
static HyTrackerKind *
claim_kind(HyTracker *tracker, const HyShape *shape)
{
	int chosen = tracker->used;
	int i;

	if (tracker->used < HY_TRACKER_KINDS)
		tracker->used++;
	else
	{
		chosen = 0;
		for (i = 1; i < HY_TRACKER_KINDS; i++)
		{
			if (tracker->kinds[i].last_used < tracker->kinds[chosen].last_used)
				chosen = i;
		}
		hy_tracker_forget_kind(tracker, &tracker->kinds[chosen]);
	}
	tracker->kinds[chosen].number = hy_shape_kind(shape);
	tracker->kinds[chosen].shape = *shape;
	tracker->kinds[chosen].last_used = ++tracker->serial;
	rebuild_index(tracker);
	return &tracker->kinds[chosen];
}

/*
 * rebuild_index: rebuild the whole index.  Removing one entry from a probe sequence would be more
 * difficult, and new kinds are rare.
 */
static void
rebuild_index(HyTracker *tracker)
{
	int i;

	memset(tracker->index, 0, sizeof(tracker->index));
	for (i = 0; i < tracker->used; i++)
	{
		uint32_t slot = index_slot(tracker->kinds[i].number);

		while (tracker->index[slot] != 0)
			slot = (slot + 1) % HY_TRACKER_SLOTS;
		tracker->index[slot] = (int16_t) (i + 1);
	}
}

void
hy_tracker_forget_kind(const HyTracker *tracker, HyTrackerKind *kind)
{
	int d;

	for (d = 0; d < HY_TRACKER_SIDES; d++)
		hy_free(tracker->allocator, kind->sides[d]);
	memset(kind, 0, sizeof(*kind));
}

static uint32_t
index_slot(uint32_t number)
{
	/* Fibonacci hashing, because the kinds in use differ in only a few bits */
	return (number * UINT32_C(2654435769)) >> 23;
}
