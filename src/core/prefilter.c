/*
 * prefilter.c
 *		The search of prefilter.h, which compares panels of queries with blocks of targets.
 *
 * A block of targets is rounded once and stays in the second-level cache while it is compared with
 * all queries of a group, one panel at a time.  Rows whose bound reaches a query's threshold become
 * candidates.  Their canonical distances are computed before the next block.  The candidate with
 * the best bound is examined first, so that the threshold soon excludes the rest.
 *
 * Several threads share the rounded queries, the thresholds and the heaps of a group.  A part of
 * the work is one block of targets, compared with all panels of the group or with a slice of them.
 * A heap's lock is held only while one distance is offered to the heap.  A thread may read a
 * threshold that another thread is about to raise.  At worst, the thread computes a canonical
 * distance in vain.
 */
#include "core/prefilter.h"

#include <math.h>
#include <string.h>

#include "core/distance.h"
#include "core/distance_blocks.h"
#include "core/min_heap.h"
#include "core/prefilter_rows.h"
#include "core/threads.h"
#include "core/tile.h"
#include "core/topk.h"

#define BLOCK_BYTES (256 * 1024)
#define BLOCK_ROWS 1024
#define GROUP_BYTES (8 * 1024 * 1024)
#define MIDDLE_ROWS 256
#define POLL_ELEMENTS (4 << 20)
#define SETTLED_ELEMENTS 8 /* tile elements that take as long as one canonical element */
#define PARTS_PER_THREAD 4 /* several, so that no thread waits long for the others */
/* minimum number of queries in a slice, because a block is rounded again for each slice */
#define SLICE_QUERIES 64
#define LOADED_PANELS 16 /* panels of queries that are rounded as one part */

/*
 * Costs in units of a canonical distance (bench/filter.sh).  QUERY_PRICE is the cost of rounding a
 * query, and target_price is the cost of rounding a target.  PRODUCT_PRICE is the cost of one
 * product.  CANDIDATE_PRICE is the cost of examining a row that was among the k nearest rows so
 * far.
 */
#define QUERY_PRICE 25.0
#define PRODUCT_PRICE 0.15
#define CANDIDATE_PRICE 1.1
#define FEW_DIMS 8

static const double target_price[HY_METRIC_COUNT] = {
	[HY_METRIC_L2] = 6.5, [HY_METRIC_IP] = 4.5, [HY_METRIC_COSINE] = 3.5};

/*
 * For L2, t and v contain squared lengths.  This bounds the error of their arithmetic, relative to
 * the squares.
 */
#define SQUARE_SLACK 4e-6

/* Worker: the memory of one thread. */
typedef struct Worker
{
	HyPrefilterRows *target;
	float *factor; /* f, u and v of prefilter.h, for each target of the block */
	float *reach;
	float *shift;
	float *dots; /* products of one tile */
	/*
	 * lists of `block` candidates per query of a panel; a candidate is a row of the block whose
	 * bound reached the threshold at the time of the test; its key is the negated bound, so the
	 * best bound is the smallest key
	 */
	HyHeapItem *found;
	int *found_count;
	int64_t work; /* tile elements since the last poll */
} Worker;

typedef struct Search
{
	HyNearest nearest;
	const HyPairKernels *pair;
	const HyTileKernels *tiles;
	int threads; /* number of workers whose memory is allocated */
	int group;   /* queries rounded at a time, a multiple of the panel width */
	int block;   /* targets per block, a multiple of the panel width */
	Worker workers[HY_THREADS_MOST];
	HyTopKLocks locks; /* locks of the heaps; a panel's heaps share one; unused with one thread */

	float *middle;
	HyPrefilterRows *query;
	float *weight;            /* w of prefilter.h, for each query of the group */
	float *threshold;         /* t of prefilter.h; atomic */
	HyPrefilterExtent extent; /* extent of the group's queries */

	int64_t first_query; /* first query of the current group, and the number of its queries */
	int queries;
	int slices; /* slices of the group's queries */
	int slice;  /* queries per slice, a multiple of the panel width */
} Search;

static bool filter_allowed = true;

static HyStatus begin(Search *search, const HyAllocator *allocator);
static bool begin_worker(Search *search, Worker *worker, const HyAllocator *allocator);
static void end(Search *search, const HyAllocator *allocator);
static void end_worker(Worker *worker, const HyAllocator *allocator);
static int first_block(const Search *search);
static int64_t find_block(const Search *search, int64_t number, int64_t *first, int *n);
static void find_middle(Search *search);
static HyStatus search_group(Search *search, int64_t first, int count, const HyCancel *cancel);
static HyStatus load_some_queries(void *arg, int64_t part, int number, const HyCancel *cancel);
static void set_threshold(Search *search, int64_t query, int i);
static float threshold_of(const Search *search, int i);
static HyStatus search_part(void *arg, int64_t part, int number, const HyCancel *cancel);
static void load_targets(Search *search, Worker *worker, int64_t first, int n);
static HyStatus search_block(Search *search, Worker *worker, int slice, int64_t first, int n,
                             const HyCancel *cancel);
static void propose(Search *search, Worker *worker, int panel, int queries, int n);
static void settle(Search *search, Worker *worker, int i, int64_t first, HyHeapItem *found, int n);
static double
canonical_distance(const Search *search, const Worker *worker, int i, int64_t first, int32_t row);

void
hy_prefilter_allow(bool allowed)
{
	filter_allowed = allowed;
}

bool
hy_prefilter_allowed(void)
{
	return filter_allowed;
}

/*
 * hy_prefilter_pays: estimate and compare the costs.  If the rows come in random order, the n-th
 * row is among the k nearest so far with a probability of k / n.  In the first block, of 2 k rows,
 * all rows may be candidates.  Of the remaining rows, about k ln(targets / 2 k) are candidates.
 */
bool
hy_prefilter_pays(HyMetric metric, int64_t queries, int64_t targets, int32_t dims, int32_t k)
{
	double q = (double) queries;
	double n = (double) targets;
	double candidates;

	if (!filter_allowed || metric == HY_METRIC_L1 || dims < FEW_DIMS || n < 2.0 * k)
		return false;
	candidates = k * (2 + log(n / (2.0 * k)));
	return q * n * (1 - PRODUCT_PRICE) >
	       n * target_price[metric] + q * (QUERY_PRICE + CANDIDATE_PRICE * candidates);
}

HyStatus
hy_prefilter_search(const HyNearest *nearest, const HyAllocator *allocator, const HyCancel *cancel)
{
	const HyMatrix *queries = nearest->queries;
	const HyMatrix *targets = nearest->targets;
	Search search = {.nearest = *nearest};
	double work = (double) queries->rows * (double) targets->rows * PRODUCT_PRICE * queries->dims;
	HyStatus status;
	int64_t group;
	int64_t q;

	if (nearest->metric == HY_METRIC_L1)
		return HY_UNSUPPORTED;
	if (nearest->k < 1 || !hy_shapes_agree(nearest->metric, queries, targets))
		return HY_INVALID;
	for (q = 0; q < queries->rows; q++)
		nearest->counts[q] = 0;
	if (queries->rows == 0 || targets->rows == 0)
		return HY_OK;

	search.threads = hy_threads_for(work);
	status = begin(&search, allocator);
	for (group = 0; status == HY_OK && group < queries->rows; group += search.group)
	{
		int64_t left = queries->rows - group;

		status =
			search_group(&search, group, left < search.group ? (int) left : search.group, cancel);
	}
	end(&search, allocator);
	if (status != HY_OK)
		return status;
	return hy_topk_sort_all(nearest->out, nearest->counts, nearest->k, queries->rows, cancel);
}

HyStatus
hy_nearest_search(const HyNearest *nearest, const HyAllocator *allocator, const HyCancel *cancel)
{
	const HyMatrix *targets = nearest->targets;
	HyStatus status = HY_NOMEM;

	if (allocator != NULL && hy_prefilter_pays(nearest->metric, nearest->queries->rows,
	                                           targets->rows, targets->dims, nearest->k))
		status = hy_prefilter_search(nearest, allocator, cancel);
	if (status == HY_NOMEM)
		status = hy_topk_search(nearest->metric, nearest->queries, targets, nearest->k,
		                        nearest->out, nearest->counts, cancel);
	return status;
}

static HyStatus
begin(Search *search, const HyAllocator *allocator)
{
	const HyTileKernels *tiles = hy_tile_kernels();
	int dims = search->nearest.queries->dims;
	int64_t group = GROUP_BYTES / ((int64_t) dims * 2) / tiles->queries;
	int64_t block = BLOCK_BYTES / ((int64_t) dims * 2) / tiles->targets;
	int64_t panels = (search->nearest.queries->rows + tiles->queries - 1) / tiles->queries;
	int64_t rows = (search->nearest.targets->rows + tiles->targets - 1) / tiles->targets;
	int i;

	search->pair = &hy_kernels()->pair[search->nearest.targets->dtype];
	search->tiles = tiles;
	if (group > panels)
		group = panels;
	if (block > BLOCK_ROWS / tiles->targets)
		block = BLOCK_ROWS / tiles->targets;
	if (block > rows)
		block = rows;
	search->group = (int) (group > 0 ? group : 1) * tiles->queries;
	search->block = (int) (block > 0 ? block : 1) * tiles->targets;

	search->query = hy_prefilter_rows_create(allocator, search->nearest.metric, tiles, dims,
	                                         HY_PANEL_QUERIES, search->group);
	search->weight = hy_alloc_array(allocator, (size_t) search->group, sizeof(float));
	search->threshold = hy_alloc_array(allocator, (size_t) search->group, sizeof(float));
	if (search->query == NULL || search->weight == NULL || search->threshold == NULL ||
	    !begin_worker(search, &search->workers[0], allocator))
		return HY_NOMEM;
	if (search->nearest.metric == HY_METRIC_L2)
	{
		search->middle = hy_alloc_array(allocator, (size_t) dims, sizeof(float));
		if (search->middle == NULL)
			return HY_NOMEM;
		find_middle(search);
		search->query->middle = search->middle;
		search->workers[0].target->middle = search->middle;
	}
	/* If the memory of a thread cannot be allocated, the search goes on with fewer threads. */
	for (i = 1; i < search->threads && begin_worker(search, &search->workers[i], allocator); i++)
		search->workers[i].target->middle = search->middle;
	if (i < search->threads)
	{
		end_worker(&search->workers[i], allocator);
		search->threads = i;
	}
	hy_topk_locks_init(&search->locks, search->threads);
	return HY_OK;
}

/* begin_worker: allocate the memory of a worker.  Returns false when out of memory. */
static bool
begin_worker(Search *search, Worker *worker, const HyAllocator *allocator)
{
	const HyTileKernels *tiles = search->tiles;
	size_t block = (size_t) search->block;

	worker->target =
		hy_prefilter_rows_create(allocator, search->nearest.metric, tiles,
	                             search->nearest.queries->dims, HY_PANEL_TARGETS, search->block);
	worker->factor = hy_alloc_array(allocator, block, sizeof(float));
	worker->reach = hy_alloc_array(allocator, block, sizeof(float));
	worker->shift = hy_alloc_array(allocator, block, sizeof(float));
	worker->dots =
		hy_alloc_array(allocator, (size_t) tiles->queries, (size_t) tiles->targets * sizeof(float));
	worker->found = hy_alloc_array(allocator, (size_t) tiles->queries, block * sizeof(HyHeapItem));
	worker->found_count = hy_alloc_array(allocator, (size_t) tiles->queries, sizeof(int));
	return worker->target != NULL && worker->factor != NULL && worker->reach != NULL &&
	       worker->shift != NULL && worker->dots != NULL && worker->found != NULL &&
	       worker->found_count != NULL;
}

static void
end(Search *search, const HyAllocator *allocator)
{
	int i;

	hy_prefilter_rows_free(allocator, search->query);
	hy_free(allocator, search->middle);
	hy_free(allocator, search->weight);
	hy_free(allocator, search->threshold);
	for (i = 0; i < search->threads; i++)
		end_worker(&search->workers[i], allocator);
	hy_topk_locks_destroy(&search->locks);
}

static void
end_worker(Worker *worker, const HyAllocator *allocator)
{
	hy_prefilter_rows_free(allocator, worker->target);
	hy_free(allocator, worker->factor);
	hy_free(allocator, worker->reach);
	hy_free(allocator, worker->shift);
	hy_free(allocator, worker->dots);
	hy_free(allocator, worker->found);
	hy_free(allocator, worker->found_count);
	memset(worker, 0, sizeof(*worker));
}

/*
 * first_block: return the number of rows in the first block: 2 k rows, rounded up to whole panels,
 * or a full block if that is smaller.  Unless there are limits, nearly every row of this block is a
 * candidate.  The next blocks double in size, which keeps the lists of candidates short.
 */
static int
first_block(const Search *search)
{
	int width = search->tiles->targets;
	int64_t rows = (2 * (int64_t) search->nearest.k + width - 1) / width * width;

	return rows < search->block ? (int) rows : search->block;
}

/*
 * find_block: set *first and *n to the first row and the number of rows of a block of targets.
 * Returns the number of blocks.
 */
static int64_t
find_block(const Search *search, int64_t number, int64_t *first, int *n)
{
	int64_t rows = search->nearest.targets->rows;
	int64_t size = first_block(search);
	int64_t blocks = 0;
	int64_t at = 0;

	*first = 0;
	*n = 0;
	while (at < rows)
	{
		int64_t equal = size < search->block ? 1 : (rows - at + size - 1) / size;

		if (number >= blocks && number < blocks + equal)
		{
			*first = at + (number - blocks) * size;
			*n = rows - *first < size ? (int) (rows - *first) : (int) size;
		}
		blocks += equal;
		at += equal * size;
		size = 2 * size < search->block ? 2 * size : search->block;
	}
	return blocks;
}

/*
 * find_middle: compute the mean of an evenly spaced sample of the targets.  Bounds are valid
 * relative to any point.  They are tight if the vectors relative to the point are short.
 */
static void
find_middle(Search *search)
{
	const HyMatrix *targets = search->nearest.targets;
	int64_t step = (targets->rows + MIDDLE_ROWS - 1) / MIDDLE_ROWS;
	float *row = search->workers[0].target->row;
	int dims = targets->dims;
	int64_t t;
	int taken = 0;
	int i;

	memset(search->middle, 0, (size_t) dims * sizeof(float));
	for (t = 0; t < targets->rows; t += step)
	{
		const float *x = hy_matrix_row(targets, t);

		if (targets->dtype != HY_F32)
		{
			hy_kernels()->widen_f16(row, hy_matrix_row(targets, t), dims);
			x = row;
		}
		hy_add_scaled(search->middle, search->middle, x, 1, dims);
		taken++;
	}
	for (i = 0; i < dims; i++)
	{
		search->middle[i] /= (float) taken;
		if (!isfinite(search->middle[i]))
			search->middle[i] = 0.0f;
	}
}

/* search_group: search the targets of `count` queries, starting at query `first`. */
static HyStatus
search_group(Search *search, int64_t first, int count, const HyCancel *cancel)
{
	int wide = search->tiles->queries;
	int load = LOADED_PANELS * wide;
	int64_t blocks;
	int64_t none;
	HyStatus status;
	int slices = 1;
	int n;

	search->first_query = first;
	search->queries = count;
	status = hy_threads_run(search->threads, (count + load - 1) / load, load_some_queries, search,
	                        cancel);
	if (status != HY_OK)
		return status;
	hy_prefilter_rows_extent(search->query, count, &search->extent);
	blocks = find_block(search, 0, &none, &n);
	if (search->threads > 1 && blocks < (int64_t) search->threads * PARTS_PER_THREAD)
	{
		slices = (int) ((search->threads * PARTS_PER_THREAD + blocks - 1) / blocks);
		if (slices > count / SLICE_QUERIES)
			slices = count / SLICE_QUERIES > 0 ? count / SLICE_QUERIES : 1;
	}
	search->slice = ((count + slices - 1) / slices + wide - 1) / wide * wide;
	search->slices = (count + search->slice - 1) / search->slice;
	return hy_threads_run(search->threads, blocks * search->slices, search_part, search, cancel);
}

/*
 * load_some_queries: round LOADED_PANELS panels of queries, and set their weights and thresholds.
 */
static HyStatus
load_some_queries(void *arg, int64_t part, int number, const HyCancel *cancel)
{
	Search *search = arg;
	int load = LOADED_PANELS * search->tiles->queries;
	int from = (int) part * load;
	int to = search->queries - from < load ? search->queries : from + load;
	HyPrefilterRows some =
		hy_prefilter_rows_from(search->query, from, search->workers[number].target);
	int i;

	if (hy_cancelled(cancel))
		return HY_CANCELLED;
	hy_prefilter_rows_load(&some, search->nearest.queries, search->first_query + from, to - from);
	for (i = from; i < to; i++)
	{
		const HyPrefilterRows *query = search->query;

		search->weight[i] = 0.0f;
		if (query->kind[i] == HY_ROW_BOUNDED && query->length[i] > 0 &&
		    search->nearest.metric == HY_METRIC_L2)
			search->weight[i] = (float) (1 / (double) query->scale[i]);
		set_threshold(search, search->first_query + i, i);
	}
	return HY_OK;
}

/*
 * set_threshold: compute t of prefilter.h, rounded down, from the worst distance that still counts.
 */
static void
set_threshold(Search *search, int64_t query, int i)
{
	const HyPrefilterRows *rows = search->query;
	double scale = rows->scale[i];
	double length = rows->length[i];
	double limit = search->nearest.limits != NULL ? search->nearest.limits[query] : INFINITY;
	double t;
	float rounded;

	if (search->nearest.counts[query] == search->nearest.k &&
	    search->nearest.out[query * search->nearest.k].distance < limit)
		limit = search->nearest.out[query * search->nearest.k].distance;
	if (rows->kind[i] == HY_ROW_NEVER)
		t = INFINITY;
	else if (rows->kind[i] == HY_ROW_UNBOUNDED || !(length > 0) || !(limit < INFINITY))
		t = -INFINITY;
	else if (search->nearest.metric == HY_METRIC_IP)
		t = -limit / scale;
	else if (search->nearest.metric == HY_METRIC_COSINE)
		t = (1 - limit) / scale;
	else
		t = (length * length * (1 - SQUARE_SLACK) - limit * limit * (1 + SQUARE_SLACK)) /
		    (2 * scale);
	/*
	 * Do not round an infinity.  If the k-th best distance is -infinity, other rows at that
	 * distance are still compared, because the lower row numbers win.
	 */
	rounded = isinf(t) ? (float) t : (float) (t - fabs(t) * 1e-6);
	__atomic_store(&search->threshold[i], &rounded, __ATOMIC_RELAXED);
}

static float
threshold_of(const Search *search, int i)
{
	float threshold;

	__atomic_load(&search->threshold[i], &threshold, __ATOMIC_RELAXED);
	return threshold;
}

/* search_part: compare a block of targets with a slice of the group's queries. */
static HyStatus
search_part(void *arg, int64_t part, int number, const HyCancel *cancel)
{
	Search *search = arg;
	Worker *worker = &search->workers[number];
	int64_t first;
	int n;

	(void) find_block(search, part / search->slices, &first, &n);
	load_targets(search, worker, first, n);
	return search_block(search, worker, (int) (part % search->slices), first, n, cancel);
}

static void
load_targets(Search *search, Worker *worker, int64_t first, int n)
{
	HyPrefilterRows *target = worker->target;
	int padded = (n + target->width - 1) / target->width * target->width;
	int i;

	hy_prefilter_rows_load(target, search->nearest.targets, first, n);
	hy_prefilter_rows_reach(target, n, &search->extent, worker->factor, worker->reach);
	for (i = 0; i < padded; i++)
	{
		double length = i < n ? (double) target->length[i] : 0.0;

		worker->shift[i] = 0.0f;
		if (search->nearest.metric == HY_METRIC_L2)
			worker->shift[i] = (float) (-length * length / 2 * (1 - SQUARE_SLACK));
	}
}

/*
 * search_block: compare the loaded block with the panels of a slice.  Each worker begins with a
 * different panel, so that workers seldom need the same heaps.
 */
static HyStatus
search_block(Search *search, Worker *worker, int slice, int64_t first, int n,
             const HyCancel *cancel)
{
	int wide = search->tiles->queries;
	int start = slice * search->slice;
	int queries = search->queries - start < search->slice ? search->queries - start : search->slice;
	int panels = (queries + wide - 1) / wide;
	int shift = (int) ((int64_t) panels * (worker - search->workers) / search->threads);
	int p;

	for (p = 0; p < panels; p++)
	{
		int panel = start + (p + shift) % panels * wide;
		int count = search->queries - panel < wide ? search->queries - panel : wide;
		int i;

		propose(search, worker, panel, count, n);
		for (i = 0; i < count; i++)
		{
			if (worker->found_count[i] > 0)
				settle(search, worker, panel + i, first,
				       worker->found + (size_t) i * (size_t) search->block, worker->found_count[i]);
			worker->work +=
				(int64_t) worker->found_count[i] * search->nearest.targets->dims * SETTLED_ELEMENTS;
		}
		worker->work += (int64_t) n * search->nearest.targets->dims * wide;
		if (worker->work >= POLL_ELEMENTS)
		{
			if (hy_cancelled(cancel))
				return HY_CANCELLED;
			worker->work = 0;
		}
	}
	return HY_OK;
}

/*
 * propose: collect the candidates for each query of a panel.  A candidate is a row of the block
 * whose bound reaches the query's threshold.  The block has n rows.
 */
static void
propose(Search *search, Worker *worker, int panel, int queries, int n)
{
	const HyTileKernels *tiles = search->tiles;
	const int16_t *left = hy_prefilter_rows_panel(search->query, panel);
	int pairs = search->query->padded / 2;
	int width = tiles->targets;
	int t;
	int i;

	for (i = 0; i < queries; i++)
		worker->found_count[i] = 0;
	if (tiles->begin != NULL)
		tiles->begin();
	for (t = 0; t < n; t += width)
	{
		HyTileTargets rows = {worker->factor + t, worker->reach + t, worker->shift + t};
		uint32_t there = n - t < width ? (UINT32_C(1) << (n - t)) - 1 : UINT32_MAX;

		tiles->dots(left, hy_prefilter_rows_panel(worker->target, t), pairs, worker->dots);
		for (i = 0; i < queries; i++)
		{
			const float *dots = worker->dots + i * width;
			float weight = search->weight[panel + i];
			uint32_t bits =
				tiles->reaching(dots, &rows, weight, threshold_of(search, panel + i)) & there;

			while (bits != 0)
			{
				int j = __builtin_ctz(bits);
				HyHeapItem *candidate =
					worker->found + (size_t) i * (size_t) search->block + worker->found_count[i]++;

				candidate->which = t + j;
				candidate->key =
					-(rows.factor[j] * dots[j] + rows.reach[j] + rows.shift[j] * weight);
				bits &= bits - 1;
			}
		}
	}
	if (tiles->end != NULL)
		tiles->end();
}

/*
 * settle: compute canonical distances for the candidates of query i of the group.  The block begins
 * at row first.
 */
static void
settle(Search *search, Worker *worker, int i, int64_t first, HyHeapItem *found, int n)
{
	int64_t query = search->first_query + i;
	int64_t panel = i / search->tiles->queries;

	/*
	 * Use a heap, because few of many candidates are taken before the threshold excludes the rest.
	 */
	hy_heap_make(found, n);
	while (n > 0 && -found[0].key >= threshold_of(search, i))
	{
		int32_t row = hy_heap_take(found, &n).which;
		double distance = canonical_distance(search, worker, i, first, row);
		HyTopK topk;

		hy_topk_lock(&search->locks, panel);
		topk = (HyTopK){search->nearest.out + query * search->nearest.k, search->nearest.k,
		                search->nearest.counts[query]};
		if (hy_topk_push(&topk, distance, first + row))
		{
			search->nearest.counts[query] = topk.count;
			set_threshold(search, query, i);
		}
		hy_topk_unlock(&search->locks, panel);
	}
}

static double
canonical_distance(const Search *search, const Worker *worker, int i, int64_t first, int32_t row)
{
	const float *a = hy_matrix_row(search->nearest.queries, search->first_query + i);
	const void *b = hy_matrix_row(search->nearest.targets, first + row);
	int dims = search->nearest.queries->dims;
	float aa = 0.0f;
	float bb = 0.0f;
	float sum;

	if (search->nearest.metric == HY_METRIC_L2)
		sum = search->pair->l2sq(a, b, dims);
	else
		sum = search->pair->ip(a, b, dims);
	if (search->nearest.metric == HY_METRIC_COSINE)
	{
		aa = search->query->norm[i];
		bb = worker->target->norm[row];
	}
	return hy_distance_from_sums(search->nearest.metric, sum, aa, bb);
}
