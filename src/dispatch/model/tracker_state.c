/*
 * tracker_state.c
 *		The tracker's table: see tracker_state.h.
 */
#include "dispatch/model/tracker_state.h"

#include <string.h>

static uint32_t index_slot(uint32_t number);
static HyTrackerKind *claim_kind(HyTracker *tracker, const HyShape *shape);
static void rebuild_index(HyTracker *tracker);

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

	if (device < 0 || device >= HY_MAX_DEVICES)
		return NULL;
	kind = hy_tracker_find_kind(tracker, hy_shape_kind(shape));
	return kind != NULL ? kind->sides[hy_side_of(shape, device)] : NULL;
}

HyTrackerSide *
hy_tracker_claim_side(HyTracker *tracker, const HyShape *shape, int32_t device)
{
	HyTrackerKind *kind;
	int32_t number = hy_side_of(shape, device);

	if (device < 0 || device >= HY_MAX_DEVICES)
		return NULL;
	kind = (HyTrackerKind *) hy_tracker_find_kind(tracker, hy_shape_kind(shape));
	if (kind == NULL)
		kind = claim_kind(tracker, shape);
	if (kind->sides[number] == NULL)
	{
		kind->sides[number] = hy_alloc_zero(tracker->allocator, sizeof(HyTrackerSide));
		if (kind->sides[number] != NULL)
		{
			kind->sides[number]->kind = kind;
			kind->sides[number]->last = kind->tasks;
		}
	}
	return kind->sides[number];
}

void
hy_tracker_forget_kind(const HyTracker *tracker, HyTrackerKind *kind)
{
	int d;

	for (d = 0; d < HY_SIDES; d++)
		hy_free(tracker->allocator, kind->sides[d]);
	memset(kind, 0, sizeof(*kind));
}

void
hy_tracker_refit(HyTracker *tracker, HyTrackerSide *side, const HyShape *shape, int32_t device)
{
	HyModelState both = side->model;
	double launch = hy_tracker_launch(tracker, device);

	if (both.weight > 0)
		hy_model_lean(&both, &tracker->pools[hy_side_of(shape, device)][shape->op][shape->resident],
		              launch);
	side->known = hy_model_solve(&both, launch, &side->fit);
}

double
hy_tracker_expect(const HyTrackerSide *side, const HyShape *shape, HyCostTerms terms)
{
	return hy_cost_predict(&side->fit, terms) *
	       hy_sizes_correction(&side->sizes, &side->fit, shape, terms.work);
}

double
hy_tracker_launch(const HyTracker *tracker, int32_t device)
{
	if (device == 0)
		return HY_LAUNCH_NONE;
	return tracker->least_ns[device] > 0 ? tracker->least_ns[device] : HY_LAUNCH_UNKNOWN;
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

static uint32_t
index_slot(uint32_t number)
{
	/* Fibonacci hashing, because the kinds in use differ in only a few bits */
	return (number * UINT32_C(2654435769)) >> 23;
}
