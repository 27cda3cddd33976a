/*
 * tracker.c
 *		Keeps the history of tasks by kind and device: see tracker.h.
 *
 * If memory cannot be allocated, the observation is dropped: history improves decisions but is
 * never required.
 */
#include "dispatch/model/tracker.h"

#include <math.h>
#include <string.h>

#include "dispatch/model/tracker_state.h"

#define CLIP_FROM 5    /* minimum observations of a size for clipping around its mean */
#define CLIP_WEIGHT 20 /* minimum observations of all sizes for clipping around the regression */
#define CLIP 0.5
#define CLIP_WIDE 1.0
/*
 * The clock's resolution is limited.  So if the band would reach less than this from the expected
 * time, times are clipped only above, at the expected time plus this.
 */
#define CLIP_FLOOR_NS 100
#define LONGEST_NS 4e15 /* 46 days */
#define MOVED 0.02      /* relative change that makes a prediction count as changed */
#define LEAPED 0.25
/* minimum observations of a size before its mean can become the smallest time of the device */
#define LEAST_FROM 2

static double
clipped(const HyTrackerSide *side, const HySize *size, const HyTrackerCase *task, double ns);

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
	for (i = 0; i < HY_TRACKER_KINDS; i++)
	{
		for (d = 0; d < HY_SIDES; d++)
			hy_free(allocator, tracker->kinds[i].sides[d]);
	}
	hy_free(allocator, tracker);
}

void
hy_tracker_set_window(HyTracker *tracker, int32_t window)
{
	if (window < 1)
		window = 1;
	if (window > HY_TRACKER_MAX_WINDOW)
		window = HY_TRACKER_MAX_WINDOW;
	/*
	 * Means over more observations than the new window holds are kept.  From now on, they change at
	 * the rate of the new window.
	 */
	tracker->window = window;
}

void
hy_tracker_reset(HyTracker *tracker)
{
	int i;

	for (i = 0; i < HY_TRACKER_KINDS; i++)
		hy_tracker_forget_kind(tracker, &tracker->kinds[i]);
	memset(tracker->index, 0, sizeof(tracker->index));
	memset(tracker->pools, 0, sizeof(tracker->pools));
	memset(tracker->least_ns, 0, sizeof(tracker->least_ns));
	tracker->used = 0;
	tracker->generation++;
	tracker->leaps++;
}

void
hy_tracker_record(HyTracker *tracker, const HyShape *shape, int32_t device, uint64_t ns)
{
	hy_tracker_record_many(tracker, shape, device, (double) ns, 1);
}

void
hy_tracker_record_many(HyTracker *tracker, const HyShape *shape, int32_t device, double ns,
                       int32_t count)
{
	HyTrackerCase task = hy_tracker_case(shape, device);
	HyTrackerSide *side = hy_tracker_claim_side(tracker, &task, shape);
	HyCostTerms terms = task.terms;
	HyTrackerKind *kind;
	HySize *size;
	double before;
	double after;

	if (side == NULL || count < 1)
		return;
	if (!(ns >= 1))
		ns = 1;
	if (ns > LONGEST_NS)
		ns = LONGEST_NS;
	kind = side->kind;
	kind->last_used = ++tracker->serial;
	kind->tasks += count;
	kind->shape = *shape;
	side->last = kind->tasks;
	side->observations += count;
	if (side->least == 0 || terms.work < side->least)
		side->least = terms.work;
	before = side->known ? hy_tracker_expect(side, &task) : -1;

	if (side->model.first_ns == 0)
	{
		(void) hy_model_observe(&side->model, terms, ns, 1, tracker->window);
		count--;
	}
	if (count > 0)
	{
		size = hy_sizes_claim(&side->sizes, task.size, tracker->serial);
		ns = clipped(side, size, &task, ns);
		(void) hy_model_observe(&side->model, terms, ns, count, tracker->window);
		hy_model_count(&side->fresh, terms, ns, count);
		(void) hy_model_observe(&tracker->pools[task.side][task.op][task.resident], terms, ns,
		                        count, tracker->window);
		hy_size_observe(size, terms, ns, count, tracker->window);
		if (size->samples >= LEAST_FROM &&
		    (tracker->least_ns[task.side] == 0 || size->ns < tracker->least_ns[task.side]))
			tracker->least_ns[task.side] = size->ns;
		if (side->largest == 0 || terms.work < side->smallest)
			side->smallest = terms.work;
		if (terms.work > side->largest)
			side->largest = terms.work;
	}
	hy_tracker_refit(tracker, side, &task);
	after = hy_tracker_expect(side, &task);
	if (!(fabs(after - before) <= MOVED * before))
		tracker->generation++;
	if (!(fabs(after - before) <= LEAPED * before))
		tracker->leaps++;
}

uint32_t
hy_tracker_generation(const HyTracker *tracker)
{
	return tracker->generation;
}

uint32_t
hy_tracker_leaps(const HyTracker *tracker)
{
	return tracker->leaps;
}

bool
hy_tracker_row(const HyTracker *tracker, int32_t i, HyTrackerRow *row)
{
	int k;
	int32_t d;

	for (k = 0; k < tracker->used; k++)
	{
		const HyTrackerKind *kind = &tracker->kinds[k];

		for (d = 0; d < HY_SIDES; d++)
		{
			const HyTrackerSide *side = kind->sides[d];

			if (kind->number == 0 || side == NULL || i-- > 0)
				continue;
			memset(row, 0, sizeof(*row));
			row->shape = kind->shape;
			if (kind->shape.dims > 0)
			{
				row->dims_low = INT32_C(1) << hy_log2_floor(kind->shape.dims);
				row->dims_high = 2 * row->dims_low - 1;
			}
			row->device = hy_side_device(d);
			if (row->device == 0)
				row->shape.threads = hy_side_threads(d);
			row->observations = side->observations;
			row->unseen = kind->tasks - side->last;
			row->samples = side->model.weight;
			row->cold = side->known && !(side->model.weight > 0);
			row->known = side->known;
			row->prior = side->prior;
			row->fit = side->fit;
			row->model = side->model;
			return true;
		}
	}
	return false;
}

bool
hy_tracker_import(HyTracker *tracker, const HyShape *shape, int32_t device,
                  const HyModelState *model)
{
	HyTrackerCase task = hy_tracker_case(shape, device);
	HyTrackerSide *side = hy_tracker_claim_side(tracker, &task, shape);
	double before;

	if (side == NULL)
		return false;
	before = side->model.weight;
	hy_model_merge(&side->model, model, HY_TRACKER_PRIOR);
	hy_tracker_refit(tracker, side, &task);
	tracker->generation++;
	tracker->leaps++;
	return side->model.weight > before;
}

bool
hy_tracker_import_prior(HyTracker *tracker, const HyShape *shape, int32_t device,
                        const HyModelState *model)
{
	HyTrackerCase task = hy_tracker_case(shape, device);
	HyTrackerSide *side = (HyTrackerSide *) hy_tracker_find_side(tracker, &task);

	/* a calibration replaces an earlier calibration if there are no real observations yet */
	if (side != NULL && side->prior && side->observations == 0 && model->weight > 0)
	{
		memset(&side->model, 0, sizeof(side->model));
		memset(&side->sizes, 0, sizeof(side->sizes));
		side->smallest = side->largest = 0;
	}
	if (!hy_tracker_import(tracker, shape, device, model))
		return false;
	((HyTrackerSide *) hy_tracker_find_side(tracker, &task))->prior = true;
	return true;
}

bool
hy_tracker_import_size(HyTracker *tracker, const HyShape *shape, int32_t device, double ns)
{
	HyTrackerCase task = hy_tracker_case(shape, device);
	HyTrackerSide *side = hy_tracker_claim_side(tracker, &task, shape);
	HyCostTerms terms = task.terms;
	HySize *size;

	if (side == NULL || !(ns >= 1 && ns <= LONGEST_NS))
		return false;
	size = hy_sizes_claim(&side->sizes, task.size, ++tracker->serial);
	if (size->samples > 0)
		return false;
	hy_size_observe(size, terms, ns, HY_TRACKER_SIZE_PRIOR, tracker->window);
	if (side->largest == 0 || terms.work < side->smallest)
		side->smallest = terms.work;
	if (terms.work > side->largest)
		side->largest = terms.work;
	tracker->generation++;
	tracker->leaps++;
	return true;
}

bool
hy_tracker_take(HyTracker *tracker, uint32_t devices, int32_t *position, HyTrackerNews *news)
{
	for (; *position < tracker->used * HY_SIDES; ++*position)
	{
		const HyTrackerKind *kind = &tracker->kinds[*position / HY_SIDES];
		int32_t number = *position % HY_SIDES;
		int32_t device = hy_side_device(number);
		HyTrackerSide *side = kind->sides[number];

		if (side == NULL || !(devices >> device & 1) || !(side->fresh.weight > 0))
			continue;
		news->shape = kind->shape;
		news->device = device;
		if (device == 0)
			news->shape.threads = hy_side_threads(number);
		news->model = side->fresh;
		memset(&side->fresh, 0, sizeof(side->fresh));
		return true;
	}
	return false;
}

/*
 * clipped: return ns, clipped to a band around the expected time.  For a size with fewer than
 * CLIP_FROM observations, the expected time comes from the regression.  The band is then wider,
 * because the regression may be wrong for this size until more observations correct it.  If the
 * regression rests on fewer than CLIP_WEIGHT observations, ns is not clipped.
 */
static double
clipped(const HyTrackerSide *side, const HySize *size, const HyTrackerCase *task, double ns)
{
	double expected;
	double band;
	double low;

	if (size->samples >= CLIP_FROM)
	{
		expected = size->ns * hy_cost_predict(&side->fit, task->terms) /
		           hy_cost_predict(&side->fit, size->means);
		band = CLIP;
	}
	else if (side->model.weight >= CLIP_WEIGHT)
	{
		expected = hy_tracker_expect(side, task);
		band = CLIP_WIDE;
	}
	else
		return ns;
	if (band * expected < CLIP_FLOOR_NS)
		return ns < expected + CLIP_FLOOR_NS ? ns : expected + CLIP_FLOOR_NS;
	if (ns > (1 + band) * expected)
		return (1 + band) * expected;
	low = band < 1 ? (1 - band) * expected : expected / (1 + band);
	return ns > low ? ns : low;
}
