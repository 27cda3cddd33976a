/*
 * tracker.c
 *		Keeps the history of tasks by kind and device: see tracker.h.
 *
 * Kinds are in a fixed array, found through an open-addressed index.  The data of a device is
 * allocated when the device first runs the kind, so later calls allocate nothing.  When memory is
 * short, an observation is dropped: history helps but is never required.
 *
 * A time is predicted by the regression of the kind, corrected by similar sizes.  If the kind has
 * little history, other kinds of the operation are used too.
 */
#include "dispatch/model/tracker.h"

#include <math.h>
#include <string.h>

#include "dispatch/model/sizes.h"

#define INDEX_SLOTS 512 /* slots of the index, a power of two, four times HY_TRACKER_KINDS */
#define CLIP_FROM 5     /* minimum observations of a size for clipping around its mean */
#define CLIP_WEIGHT 20  /* minimum observations of all sizes for clipping around the regression */
#define CLIP 0.5
#define CLIP_WIDE 1.0
/* minimum width of the band above the expected time, because the clock's resolution is limited */
#define CLIP_FLOOR_NS 100
#define LONGEST_NS 4e15 /* 46 days */
#define MOVED 0.02      /* relative change that makes a prediction count as changed */
#define LEAPED 0.25
/* minimum observations of a size before its mean can become the device's smallest time */
#define LEAST_FROM 2

/* Layout of a kind's number: the bit KIND_USED, the parts of the kind, SIZE_BITS bits for a size. */
#define SIZE_BITS 6
#define THREADS_SHIFT 24 /* position of the thread class in a result of hy_shape_model */
#define KIND_USED (UINT32_C(1) << 31)

/* Sides: the devices, then the CPU with 2 to 3, 4 to 7, ... threads. */
#define THREAD_CLASSES 5
#define SIDES (HY_TRACKER_DEVICES + THREAD_CLASSES)

#define POOL_UNTIL 30 /* observations of the kind; with more, the pool hardly matters */

/* HyTrackerSide: the history of a kind of task on a device, or on a class of threads. */
typedef struct HyTrackerSide
{
	HyModelState model;
	HyModelState fresh; /* observations since the last hy_tracker_take */
	HyCoefficients fit;
	bool known; /* fit is valid */
	bool prior; /* model includes results of a calibration */
	int64_t observations;
	int64_t last;    /* HyTrackerKind.tasks at the last task on this device */
	double smallest; /* smallest work observed, without the observation set aside; 0: none */
	double largest;
	double least; /* smallest work of all observations, including the observation set aside */
	HySizes sizes;
} HyTrackerSide;

/* HyTrackerKind: a kind of task, and its sides; NULL: never seen there. */
typedef struct HyTrackerKind
{
	uint32_t number; /* 0: free */
	uint64_t last_used;
	int64_t tasks;
	HyShape shape;
	HyTrackerSide *sides[SIDES];
} HyTrackerKind;

struct HyTracker
{
	const HyAllocator *allocator;
	int32_t window;
	int32_t used;
	uint32_t generation;
	uint32_t leaps;
	uint64_t serial;
	/* models of all kinds of an operation together; last index: HyShape.resident */
	HyModelState pools[SIDES][HY_OP_COUNT][2];
	double least_ns[SIDES];     /* smallest mean time of a size; 0: none */
	int16_t index[INDEX_SLOTS]; /* kind + 1; 0: empty */
	HyTrackerKind kinds[HY_TRACKER_KINDS];
};

/* Contest: a device to compare with the CPU at various numbers of targets, for the break-even. */
typedef struct Contest
{
	const HyTracker *tracker;
	HyShape shape;
	int32_t device;
} Contest;

static int32_t side_of(const HyShape *shape, int32_t device);
static int32_t device_of(int32_t side);
static int32_t threads_of(int32_t side);
static HyForecast divided(const HyTracker *tracker, const HyShape *shape);
static const HyTrackerKind *find_kind(const HyTracker *tracker, uint32_t number);
static const HyTrackerSide *
find_side(const HyTracker *tracker, const HyShape *shape, int32_t device);
static void refit(HyTracker *tracker, HyTrackerSide *side, const HyShape *shape, int32_t device);
static double expect(const HyTrackerSide *side, const HyShape *shape, HyCostTerms terms);
static double borrowed(const HyTracker *tracker, const HyShape *shape, int32_t device);
static double launch_belief(const HyTracker *tracker, int32_t device);
static bool device_wins(void *arg, int64_t targets);
static uint32_t index_slot(uint32_t number);
static HyTrackerKind *claim_kind(HyTracker *tracker, const HyShape *shape);
static void rebuild_index(HyTracker *tracker);
static void forget_kind(const HyTracker *tracker, HyTrackerKind *kind);
static HyTrackerSide *claim_side(HyTracker *tracker, const HyShape *shape, int32_t device);
static double clipped(const HyTrackerSide *side, const HySize *size, const HyShape *shape,
                      HyCostTerms terms, double ns);

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
		for (d = 0; d < SIDES; d++)
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
	 * Means over more observations than the new window allows are kept.  They adapt at the rate of
	 * the new window from now on.
	 */
	tracker->window = window;
}

void
hy_tracker_reset(HyTracker *tracker)
{
	int i;

	for (i = 0; i < HY_TRACKER_KINDS; i++)
		forget_kind(tracker, &tracker->kinds[i]);
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
	HyTrackerSide *side = claim_side(tracker, shape, device);
	int32_t number = side_of(shape, device);
	HyCostTerms terms = hy_cost_terms(shape, device == 0);
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
	kind = (HyTrackerKind *) find_kind(tracker, hy_shape_kind(shape));
	kind->last_used = ++tracker->serial;
	kind->tasks += count;
	kind->shape = *shape;
	side->last = kind->tasks;
	side->observations += count;
	if (side->least == 0 || terms.work < side->least)
		side->least = terms.work;
	before = side->known ? expect(side, shape, terms) : -1;

	if (side->model.first_ns == 0)
	{
		(void) hy_model_learn(&side->model, terms, ns, 1, tracker->window);
		count--;
	}
	if (count > 0)
	{
		size = hy_sizes_claim(&side->sizes, shape, terms.work, tracker->serial);
		ns = clipped(side, size, shape, terms, ns);
		(void) hy_model_learn(&side->model, terms, ns, count, tracker->window);
		hy_model_count(&side->fresh, terms, ns, count);
		(void) hy_model_learn(&tracker->pools[number][shape->op][shape->resident], terms, ns, count,
		                      tracker->window);
		hy_size_observe(size, terms, ns, count, tracker->window);
		if (size->samples >= LEAST_FROM &&
		    (tracker->least_ns[number] == 0 || size->ns < tracker->least_ns[number]))
			tracker->least_ns[number] = size->ns;
		if (side->largest == 0 || terms.work < side->smallest)
			side->smallest = terms.work;
		if (terms.work > side->largest)
			side->largest = terms.work;
	}
	refit(tracker, side, shape, device);
	after = expect(side, shape, terms);
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

		for (d = 0; d < SIDES; d++)
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
			row->device = device_of(d);
			if (row->device == 0)
				row->shape.threads = threads_of(d);
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
	HyTrackerSide *side = claim_side(tracker, shape, device);
	double before;

	if (side == NULL)
		return false;
	before = side->model.weight;
	hy_model_merge(&side->model, model, HY_TRACKER_PRIOR);
	refit(tracker, side, shape, device);
	tracker->generation++;
	tracker->leaps++;
	return side->model.weight > before;
}

bool
hy_tracker_import_prior(HyTracker *tracker, const HyShape *shape, int32_t device,
                        const HyModelState *model)
{
	HyTrackerSide *side = (HyTrackerSide *) find_side(tracker, shape, device);

	/* a later calibration replaces an earlier calibration if there are no real observations yet */
	if (side != NULL && side->prior && side->observations == 0 && model->weight > 0)
	{
		memset(&side->model, 0, sizeof(side->model));
		memset(&side->sizes, 0, sizeof(side->sizes));
		side->smallest = side->largest = 0;
	}
	if (!hy_tracker_import(tracker, shape, device, model))
		return false;
	((HyTrackerSide *) find_side(tracker, shape, device))->prior = true;
	return true;
}

bool
hy_tracker_import_size(HyTracker *tracker, const HyShape *shape, int32_t device, double ns)
{
	HyTrackerSide *side = claim_side(tracker, shape, device);
	HyCostTerms terms = hy_cost_terms(shape, device == 0);
	HySize *size;

	if (side == NULL || !(ns >= 1 && ns <= LONGEST_NS))
		return false;
	size = hy_sizes_claim(&side->sizes, shape, terms.work, ++tracker->serial);
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
	for (; *position < tracker->used * SIDES; ++*position)
	{
		const HyTrackerKind *kind = &tracker->kinds[*position / SIDES];
		int32_t number = *position % SIDES;
		int32_t device = device_of(number);
		HyTrackerSide *side = kind->sides[number];

		if (side == NULL || !(devices >> device & 1) || !(side->fresh.weight > 0))
			continue;
		news->shape = kind->shape;
		news->device = device;
		if (device == 0)
			news->shape.threads = threads_of(number);
		news->model = side->fresh;
		memset(&side->fresh, 0, sizeof(side->fresh));
		return true;
	}
	return false;
}

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
	int32_t side = side_of(shape, device);
	uint32_t threads = side < HY_TRACKER_DEVICES ? 0 : (uint32_t) (side - HY_TRACKER_DEVICES + 1);

	return hy_shape_kind(shape) | threads << THREADS_SHIFT;
}

uint32_t
hy_shape_class(const HyShape *shape)
{
	return hy_shape_kind(shape) | (uint32_t) hy_log2_floor((double) hy_shape_items(shape));
}

static uint32_t
index_slot(uint32_t number)
{
	/* Fibonacci hashing, because the kinds in use differ in only a few bits */
	return (number * UINT32_C(2654435769)) >> 23;
}

double
hy_tracker_predict(const HyTracker *tracker, const HyShape *shape, int32_t device)
{
	return hy_tracker_forecast(tracker, shape, device).ns;
}

bool
hy_tracker_knows(const HyTracker *tracker, const HyShape *shape, int32_t device)
{
	const HyTrackerSide *side = find_side(tracker, shape, device);

	return side != NULL && side->model.weight > 0;
}

double
hy_tracker_speedup(const HyTracker *tracker, const HyShape *shape, int32_t device)
{
	double cpu = hy_tracker_predict(tracker, shape, 0);
	double other = hy_tracker_predict(tracker, shape, device);

	if (cpu < 0 || other < 0)
		return -1;
	return cpu / other;
}

int64_t
hy_tracker_break_even(const HyTracker *tracker, const HyShape *shape, int32_t device, int64_t limit)
{
	Contest contest = {.tracker = tracker, .shape = *shape, .device = device};

	if (hy_tracker_speedup(tracker, shape, device) < 0)
		return -1;
	return hy_cost_break_even(device_wins, &contest, limit);
}

HyForecast
hy_tracker_forecast(const HyTracker *tracker, const HyShape *shape, int32_t device)
{
	HyForecast forecast = {.ns = -1, .hint_ns = -1};
	HyCostTerms terms = hy_cost_terms(shape, device == 0);
	const HyTrackerSide *side = find_side(tracker, shape, device);
	const HyTrackerKind *kind;
	const HySize *size;

	kind = find_kind(tracker, hy_shape_kind(shape));
	if (side == NULL || !side->known)
	{
		if (device == 0 && shape->threads > 1)
			return divided(tracker, shape);
		forecast.hint_ns = borrowed(tracker, shape, device);
		forecast.unseen = kind != NULL ? kind->tasks : 0;
		return forecast;
	}
	/* The pool may have grown since the last fit. */
	if (side->model.weight > 0 && side->model.weight < POOL_UNTIL)
		refit((HyTracker *) tracker, (HyTrackerSide *) side, shape, device);
	forecast.ns = expect(side, shape, terms);
	forecast.weight = side->model.weight;
	forecast.cold = !(side->model.weight > 0);
	forecast.unseen = kind->tasks - side->last;
	forecast.above = hy_log2_floor(terms.work) - hy_log2_floor(side->least);
	size = hy_sizes_find(&side->sizes, shape, terms.work);
	if (size != NULL)
		forecast.samples = (int32_t) size->samples;
	if (side->largest > 0)
	{
		HyCostTerms largest = terms;

		forecast.span = hy_log2_floor(side->largest) - hy_log2_floor(side->smallest);
		if (terms.work > side->largest)
		{
			forecast.steps = hy_log2_floor(terms.work) - hy_log2_floor(side->largest);
			largest.work = side->largest;
			/*
			 * Scale the other terms likewise, since the predicted increase over the largest task may
			 * be too high.
			 */
			largest.bytes = terms.bytes * (side->largest / terms.work);
			largest.serial = terms.serial * (side->largest / terms.work);
			forecast.largest_ns = hy_cost_predict(&side->fit, largest);
		}
		else if (terms.work < side->smallest)
			forecast.steps = hy_log2_floor(terms.work) - hy_log2_floor(side->smallest);
	}
	return forecast;
}

/* side_of: return the number of the side for a shape on a device, which may be out of range. */
static int32_t
side_of(const HyShape *shape, int32_t device)
{
	int32_t number;

	if (device != 0 || shape->threads < 2)
		return device;
	number = hy_log2_floor(shape->threads) - 1;
	return HY_TRACKER_DEVICES + (number < THREAD_CLASSES ? number : THREAD_CLASSES - 1);
}

static int32_t
device_of(int32_t side)
{
	return side < HY_TRACKER_DEVICES ? side : 0;
}

/* threads_of: return the least number of threads of a side of the CPU. */
static int32_t
threads_of(int32_t side)
{
	return side == 0 ? 1 : INT32_C(2) << (side - HY_TRACKER_DEVICES);
}

/*
 * divided: predict the time on several threads that have no history, as the time on one thread
 * divided by their number.
 */
static HyForecast
divided(const HyTracker *tracker, const HyShape *shape)
{
	HyShape alone = *shape;
	double hint_ns = borrowed(tracker, shape, 0);
	HyForecast forecast;

	alone.threads = 1;
	forecast = hy_tracker_forecast(tracker, &alone, 0);
	if (forecast.ns >= 0)
		forecast.ns = fmax(forecast.ns / shape->threads, 1);
	/* other kinds on as many threads say more than other kinds on one */
	if (hint_ns >= 0 && forecast.ns < 0)
		forecast.hint_ns = hint_ns;
	else if (forecast.hint_ns >= 0)
		forecast.hint_ns /= shape->threads;
	forecast.largest_ns /= shape->threads;
	return forecast;
}

/* find_kind: return the kind with a number from hy_shape_kind, or NULL if it was never seen. */
static const HyTrackerKind *
find_kind(const HyTracker *tracker, uint32_t number)
{
	uint32_t slot = index_slot(number);

	for (; tracker->index[slot] != 0; slot = (slot + 1) % INDEX_SLOTS)
	{
		const HyTrackerKind *kind = &tracker->kinds[tracker->index[slot] - 1];

		if (kind->number == number)
			return kind;
	}
	return NULL;
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
		forget_kind(tracker, &tracker->kinds[chosen]);
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
			slot = (slot + 1) % INDEX_SLOTS;
		tracker->index[slot] = (int16_t) (i + 1);
	}
}

static void
forget_kind(const HyTracker *tracker, HyTrackerKind *kind)
{
	int d;

	for (d = 0; d < SIDES; d++)
		hy_free(tracker->allocator, kind->sides[d]);
	memset(kind, 0, sizeof(*kind));
}

static HyTrackerSide *
claim_side(HyTracker *tracker, const HyShape *shape, int32_t device)
{
	HyTrackerKind *kind;
	int32_t number = side_of(shape, device);

	if (device < 0 || device >= HY_TRACKER_DEVICES)
		return NULL;
	kind = (HyTrackerKind *) find_kind(tracker, hy_shape_kind(shape));
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

/* find_side: return the history of a shape's kind on a device, or NULL if there is none. */
static const HyTrackerSide *
find_side(const HyTracker *tracker, const HyShape *shape, int32_t device)
{
	const HyTrackerKind *kind;

	if (device < 0 || device >= HY_TRACKER_DEVICES)
		return NULL;
	kind = find_kind(tracker, hy_shape_kind(shape));
	return kind != NULL ? kind->sides[side_of(shape, device)] : NULL;
}

/*
 * clipped: return ns, clipped to a band around the expected time.  The expected time of a size with
 * few observations comes from the regression, if the regression rests on CLIP_WEIGHT observations.
 * The band is then wider, since the next observations of the size will show the true time.
 */
static double
clipped(const HyTrackerSide *side, const HySize *size, const HyShape *shape, HyCostTerms terms,
        double ns)
{
	double expected;
	double band;
	double low;

	if (size->samples >= CLIP_FROM)
	{
		expected = size->ns * hy_cost_predict(&side->fit, terms) /
		           hy_cost_predict(&side->fit, size->means);
		band = CLIP;
	}
	else if (side->model.weight >= CLIP_WEIGHT)
	{
		expected = expect(side, shape, terms);
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

/*
 * refit: recompute the coefficients.  The pool affects the coefficients that the kind's own
 * observations determine poorly.
 */
static void
refit(HyTracker *tracker, HyTrackerSide *side, const HyShape *shape, int32_t device)
{
	HyModelState both = side->model;
	double launch = launch_belief(tracker, device);

	if (both.weight > 0)
		hy_model_lean(&both, &tracker->pools[side_of(shape, device)][shape->op][shape->resident],
		              launch);
	side->known = hy_model_solve(&both, launch, &side->fit);
}

/* expect: return the regression's prediction, times the correction for the size. */
static double
expect(const HyTrackerSide *side, const HyShape *shape, HyCostTerms terms)
{
	return hy_cost_predict(&side->fit, terms) *
	       hy_sizes_correction(&side->sizes, &side->fit, shape, terms.work);
}

/*
 * borrowed: return the prediction by other kinds of the same operation and residency, < 0 if there
 * is none.
 */
static double
borrowed(const HyTracker *tracker, const HyShape *shape, int32_t device)
{
	HyCoefficients fit;

	if (device < 0 || device >= HY_TRACKER_DEVICES ||
	    !hy_model_solve(&tracker->pools[side_of(shape, device)][shape->op][shape->resident],
	                    launch_belief(tracker, device), &fit))
		return -1;
	return hy_cost_predict(&fit, hy_cost_terms(shape, device == 0));
}

/*
 * launch_belief: return the assumed launch time.  For a device, it is the smallest mean time of any
 * size class, since a launch cannot take much longer than the shortest task.
 */
static double
launch_belief(const HyTracker *tracker, int32_t device)
{
	if (device == 0)
		return HY_LAUNCH_NONE;
	return tracker->least_ns[device] > 0 ? tracker->least_ns[device] : HY_LAUNCH_UNKNOWN;
}

static bool
device_wins(void *arg, int64_t targets)
{
	Contest *contest = arg;

	contest->shape.targets = targets;
	return hy_tracker_predict(contest->tracker, &contest->shape, contest->device) <=
	       hy_tracker_predict(contest->tracker, &contest->shape, 0);
}
