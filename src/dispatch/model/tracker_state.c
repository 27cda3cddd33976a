/*
 * tracker_state.c
 *		Manages the tracker's table: see tracker_state.h.
 */
#include "dispatch/model/tracker_state.h"

#include <string.h>

static uint32_t index_slot(uint32_t number);
static HyTrackerKind *claim_kind(HyTracker *tracker, uint32_t number, const HyShape *shape);
static void rebuild_index(HyTracker *tracker);

HyTrackerCase
hy_tracker_case(const HyShape *shape, int32_t device)
{
	HyTrackerCase task = {
		.kind = hy_shape_kind(shape),
		.device = device,
		.side = device < 0 || device >= HY_MAX_DEVICES ? -1 : hy_side_of(shape, device),
		.op = shape->op,
		.resident = shape->resident,
		.terms = hy_cost_terms(shape, device == 0)};

	task.size = hy_shape_size(shape, task.terms.work);
	return task;
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
hy_tracker_find_side(const HyTracker *tracker, const HyTrackerCase *task)
{
	const HyTrackerKind *kind;

	if (task->side < 0)
		return NULL;
	kind = hy_tracker_find_kind(tracker, task->kind);
	return kind != NULL ? kind->sides[task->side] : NULL;
}

HyTrackerSide *
hy_tracker_claim_side(HyTracker *tracker, const HyTrackerCase *task, const HyShape *shape)
{
	HyTrackerKind *kind;
	HyTrackerSide *side;

	if (task->side < 0)
		return NULL;
	kind = (HyTrackerKind *) hy_tracker_find_kind(tracker, task->kind);
	if (kind == NULL)
		kind = claim_kind(tracker, task->kind, shape);
	side = kind->sides[task->side];
	if (side == NULL)
	{
		side = kind->sides[task->side] = hy_alloc_zero(tracker->allocator, sizeof(HyTrackerSide));
		if (side != NULL)
		{
			side->kind = kind;
			side->last = kind->tasks;
		}
	}
	return side;
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
hy_tracker_refit(HyTracker *tracker, HyTrackerSide *side, const HyTrackerCase *task)
{
	HyModelState both = side->model;
	double launch = hy_tracker_launch(tracker, task->device);

	if (both.weight > 0)
		hy_model_regularize(&both, &tracker->pools[task->side][task->op][task->resident], launch);
	side->known = hy_model_solve(&both, launch, &side->fit);
}

double
hy_tracker_expect(const HyTrackerSide *side, const HyTrackerCase *task)
{
	return hy_cost_predict(&side->fit, task->terms) *
	       hy_sizes_correction(&side->sizes, &side->fit, task->size);
}

double
hy_tracker_launch(const HyTracker *tracker, int32_t device)
{
	if (device == 0)
		return HY_LAUNCH_NONE;
	return tracker->least_ns[device] > 0 ? tracker->least_ns[device] : HY_LAUNCH_UNKNOWN;
}

/*
 * claim_kind: create a kind with this number, which must not exist yet.  If the array is full, the
 * new kind replaces the least recently used one.
 */
static HyTrackerKind *
claim_kind(HyTracker *tracker, uint32_t number, const HyShape *shape)
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
	tracker->kinds[chosen].number = number;
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
