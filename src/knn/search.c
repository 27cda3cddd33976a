/*
 * search.c
 *		Finds the nearest of a stream of rows: see search.h.
 */
#include "postgres.h"

#include <math.h>

#include "knn/search.h"
#include "miscadmin.h"
#include "server/executor.h"
#include "server/position.h"
#include "server/threads.h"
#include "utils/memutils.h"

#define FIRST_BYTES (256 * 1024)

/* PlaceAndRow: a row of the batch, and the position by which it is sorted. */
typedef struct PlaceAndRow
{
	int64 position; /* must be first, for hybrid_compare_positions */
	int64 row;
} PlaceAndRow;

static void make_room(HybridSearch *search, int64 wanted);
static void resize(HybridSearch *search, int64 rows);
static void make_room_ahead(HybridSearch *search);
static void make_room_for_found(HybridSearch *search, int64 each);
static void order_batch(HybridSearch *search);
static int compare_neighbors(const void *a, const void *b);
static void flush_batch(HybridSearch *search, HyFlush cause);
static void search_batch(HybridSearch *search, HyFlush cause);
static bool read_some_ahead(void *arg);
static HyFlush take_ahead(HybridSearch *search);
static HyFlush count_rows(HybridSearch *search, int64 rows);
static HyTask task_over(const HybridSearch *search, int64 rows);
static void take_found(HybridSearch *search, const HyTask *task, const int64 *positions);

void
hybrid_search_begin(HybridSearch *search, MemoryContext context, HyShape shape, bool with_norms,
                    const HybridQueries *queries, HyTopK *best)
{
	MemoryContext before = MemoryContextSwitchTo(context);
	int i;

	shape.op = HY_OP_TOPK;
	shape.dims = queries->dims;
	shape.queries = queries->count;
	memset(search, 0, sizeof(*search));
	search->metric = shape.metric;
	search->dtype = shape.dtype;
	search->stride = queries->dims * hy_dtype_size(shape.dtype);
	search->queries = queries;
	search->k = shape.k;
	search->best = best;
	search->context = context;
	search->with_norms = with_norms;
	search->row_bytes = sizeof(int64) + search->stride + (with_norms ? sizeof(float) : 0);
	search->counts = palloc(sizeof(int32) * queries->count);
	search->limits = palloc(sizeof(double) * queries->count);
	for (i = 0; i < queries->count; i++)
		search->limits[i] = INFINITY;
	hy_accumulator_begin(&search->gathered, hybrid_executor(), &shape, search->row_bytes,
	                     (uint64) work_mem * 1024 / 2);
	MemoryContextSwitchTo(before);
}

void
hybrid_search_read_ahead(HybridSearch *search, bool (*read_ahead)(void *arg), void *arg)
{
	HyShape shape = search->gathered.shape;

	Assert(!search->with_norms);
	if (hybrid_threads_limit() == 1)
		return;
	search->read_ahead = read_ahead;
	search->read_arg = arg;
	/* half of the memory is for rows read ahead */
	hy_accumulator_begin(&search->gathered, hybrid_executor(), &shape, search->row_bytes,
	                     search->gathered.memory / 2);
}

bool
hybrid_search_ahead(HybridSearch *search, const void *vector, int64 position)
{
	memcpy(search->ahead_vectors + search->ahead_count * search->stride, vector, search->stride);
	search->ahead_positions[search->ahead_count] = position;
	search->ahead_count++;
	return search->ahead_count < search->ahead_capacity;
}

void
hybrid_search_add(HybridSearch *search, const void *vector, int64 position)
{
	int64 row;

	(void) hybrid_search_room(search, 1);
	row = search->gathered.count;
	memcpy(search->vectors + row * search->stride, vector, search->stride);
	search->positions[row] = position;
	hybrid_search_took(search, 1);
}

int
hybrid_search_room(HybridSearch *search, int most)
{
	const HyAccumulator *gathered = &search->gathered;
	int64 room;

	if (hy_accumulator_full(gathered, search->row_bytes) != HY_FLUSH_NONE)
		flush_batch(search, HY_FLUSH_MEMORY);
	room =
		(int64) ((gathered->memory - Min(gathered->bytes, gathered->memory)) / search->row_bytes);
	room = Min(room, gathered->size - gathered->count);
	room = Max(Min(room, most), 1);
	if (gathered->count + room > search->capacity)
		make_room(search, gathered->count + room);
	return (int) room;
}

void
hybrid_search_took(HybridSearch *search, int rows)
{
	HyFlush cause = count_rows(search, rows);

	/* the rows read ahead come directly after this batch, so a full batch is flushed before another row joins */
	if (cause == HY_FLUSH_NONE && search->read_ahead != NULL)
		cause = hy_accumulator_full(&search->gathered, search->row_bytes);
	if (cause != HY_FLUSH_NONE)
		flush_batch(search, cause);
}

int64
hybrid_search_piece(const HybridSearch *search)
{
	return Max(1,
	           (int64) (search->gathered.memory / 2 / (search->row_bytes + sizeof(PlaceAndRow))));
}

void
hybrid_search_stage(HybridSearch *search, int64 rows)
{
	flush_batch(search, HY_FLUSH_END);
	/* the memory may have space for more or fewer rows than will be staged */
	if (rows != search->capacity)
		resize(search, rows);
}

void
hybrid_search_staged(HybridSearch *search, int64 rows)
{
	int64 i;

	search->gathered.count = rows;
	search->gathered.bytes = rows * search->row_bytes;
	search->ordered = true;
	for (i = 1; i < rows && search->ordered; i++)
		search->ordered = search->positions[i - 1] < search->positions[i];
	if (!search->ordered)
		order_batch(search);
	search->ordered = true;
}

void
hybrid_search_discard(HybridSearch *search)
{
	search->gathered.count = 0;
	search->gathered.bytes = 0;
}

HyShape
hybrid_search_shape(const HybridSearch *search, int64 rows)
{
	HyTask task = task_over(search, rows);

	return hy_task_shape(&task);
}

bool
hybrid_search_resident(HybridSearch *search, HyResident *resident, const int64 *positions)
{
	MemoryContext before = MemoryContextSwitchTo(search->context);
	int64 rows = hy_unit_rows(resident->unit);
	HyTask task;
	bool done;

	make_room_for_found(search, Min(search->k, rows));
	task = task_over(search, rows);
	done = hybrid_run_resident(&task, resident, "find nearest rows");
	if (done)
		take_found(search, &task, positions);
	if (done && search->batch_done != NULL)
		search->batch_done(search->batch_done_arg);
	MemoryContextSwitchTo(before);
	return done;
}

void
hybrid_search_end(HybridSearch *search)
{
	flush_batch(search, HY_FLUSH_END);
}

void
hybrid_sort_answers(HyTopK *best)
{
	qsort(best->items, best->count, sizeof(HyNeighbor), compare_neighbors);
}

static int
compare_neighbors(const void *a, const void *b)
{
	CHECK_FOR_INTERRUPTS();
	return hy_neighbor_compare((const HyNeighbor *) a, (const HyNeighbor *) b);
}

/*
 * make_room: allocate memory for at least `wanted` rows. Doubles the capacity, beginning with FIRST_BYTES,
 * up to the planned batch size or the memory limit.
 */
static void
make_room(HybridSearch *search, int64 wanted)
{
	int64 rows = Max(search->capacity * 2, FIRST_BYTES / (int64) search->stride);

	rows = Min(rows, search->gathered.size);
	rows = Min(rows, (int64) (search->gathered.memory / search->stride));
	resize(search, Max(rows, wanted));
}

static void
resize(HybridSearch *search, int64 rows)
{
	MemoryContext before = MemoryContextSwitchTo(search->context);

	if (search->capacity == 0)
	{
		search->vectors = MemoryContextAllocHuge(CurrentMemoryContext, rows * search->stride);
		search->positions = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(int64) * rows);
		if (search->with_norms)
			search->norms = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(float) * rows);
	}
	else
	{
		search->vectors = repalloc_huge(search->vectors, rows * search->stride);
		search->positions = repalloc_huge(search->positions, sizeof(int64) * rows);
		if (search->with_norms)
			search->norms = repalloc_huge(search->norms, sizeof(float) * rows);
	}
	make_room_for_found(search, Min(search->k, rows));
	search->capacity = rows;
	MemoryContextSwitchTo(before);
}

/* make_room_ahead: allocate memory to read ahead as many rows as the batch has. */
static void
make_room_ahead(HybridSearch *search)
{
	int64 rows = search->gathered.count;

	search->ahead_vectors = MemoryContextAllocHuge(search->context, rows * search->stride);
	search->ahead_positions = MemoryContextAllocHuge(search->context, sizeof(int64) * rows);
	search->ahead_capacity = rows;
}

static void
make_room_for_found(HybridSearch *search, int64 each)
{
	if (search->found_each >= each)
		return;
	if (search->found != NULL)
		pfree(search->found);
	search->found_each = 0;
	search->found = NULL;
	search->found =
		MemoryContextAllocHuge(search->context, sizeof(HyNeighbor) * search->queries->count * each);
	search->found_each = each;
}

/*
 * order_batch: sort the batch by position. Among rows at equal distances, a search keeps the first
 * ones. Sorting makes this choice independent of the order in which the rows were added.
 */
static void
order_batch(HybridSearch *search)
{
	int64 count = search->gathered.count;
	Size width = search->stride;
	PlaceAndRow *order = MemoryContextAllocHuge(search->context, count * sizeof(PlaceAndRow));
	char *spare = MemoryContextAlloc(search->context, width);
	int64 i;

	for (i = 0; i < count; i++)
	{
		order[i].position = search->positions[i];
		order[i].row = i;
	}
	qsort(order, count, sizeof(PlaceAndRow), hybrid_compare_positions);

	/* move the rows along each cycle of the permutation, with one row of the cycle in spare */
	for (i = 0; i < count; i++)
	{
		int64 place = i;
		float norm = 0;

		search->positions[i] = order[i].position;
		if (order[i].row == i)
			continue;
		memcpy(spare, search->vectors + i * width, width);
		if (search->with_norms)
			norm = search->norms[i];
		while (order[place].row != i)
		{
			int64 from = order[place].row;

			memcpy(search->vectors + place * width, search->vectors + from * width, width);
			if (search->with_norms)
				search->norms[place] = search->norms[from];
			order[place].row = place;
			place = from;
		}
		memcpy(search->vectors + place * width, spare, width);
		if (search->with_norms)
			search->norms[place] = norm;
		order[place].row = place;
	}
	pfree(spare);
	pfree(order);
}

/*
 * flush_batch: search the batch. Repeats this as long as the rows that were read ahead meanwhile fill the
 * next batch.
 */
static void
flush_batch(HybridSearch *search, HyFlush cause)
{
	MemoryContext before = MemoryContextSwitchTo(search->context);

	while (cause != HY_FLUSH_NONE && search->gathered.count > 0)
	{
		search_batch(search, cause);
		cause = take_ahead(search);
	}
	MemoryContextSwitchTo(before);
}

static void
search_batch(HybridSearch *search, HyFlush cause)
{
	HyTask task = task_over(search, search->gathered.count);

	if (!search->ordered)
		order_batch(search);
	task.u.topk.targets.data = search->vectors;
	task.u.topk.targets.norms = search->norms;
	if (search->read_ahead == NULL || cause == HY_FLUSH_END)
		hybrid_run(&task, "find nearest rows");
	else
	{
		if (search->ahead_vectors == NULL)
			make_room_ahead(search);
		hybrid_run_with_main_thread_work(&task, "find nearest rows", read_some_ahead, search);
	}
	take_found(search, &task, search->positions);
	hy_accumulator_flushed(&search->gathered, hybrid_executor(), cause);
	if (search->batch_done != NULL)
		search->batch_done(search->batch_done_arg);
}

/* read_some_ahead: read some rows ahead. Returns false if no more can be read now. */
static bool
read_some_ahead(void *arg)
{
	HybridSearch *search = (HybridSearch *) arg;

	return search->ahead_count < search->ahead_capacity && search->read_ahead(search->read_arg);
}

/*
 * take_ahead: make the rows that were read ahead the next batch. Returns the reason why this batch must be
 * flushed now, or HY_FLUSH_NONE.
 */
static HyFlush
take_ahead(HybridSearch *search)
{
	char *vectors = search->vectors;
	int64 *positions = search->positions;
	int64 capacity = search->capacity;
	int64 rows = search->ahead_count;
	HyFlush cause;

	if (rows == 0)
		return HY_FLUSH_NONE;
	search->vectors = search->ahead_vectors;
	search->positions = search->ahead_positions;
	search->capacity = search->ahead_capacity;
	search->ahead_vectors = vectors;
	search->ahead_positions = positions;
	search->ahead_capacity = capacity;
	search->ahead_count = 0;
	cause = count_rows(search, rows);
	if (cause == HY_FLUSH_NONE)
		cause = hy_accumulator_full(&search->gathered, search->row_bytes);
	return cause;
}

/*
 * count_rows: count the rows that were stored after the current rows of the batch. Returns the reason why
 * the batch must be flushed now, or HY_FLUSH_NONE. All of the rows join the batch, even if it is full
 * before the last of them.
 */
static HyFlush
count_rows(HybridSearch *search, int64 rows)
{
	int64 first = search->gathered.count;
	HyFlush cause = HY_FLUSH_NONE;
	int64 i;

	for (i = first; i < first + rows; i++)
	{
		HyFlush full = hy_accumulator_add(&search->gathered, search->row_bytes);

		search->ordered =
			i == 0 || (search->ordered && search->positions[i - 1] < search->positions[i]);
		if (cause == HY_FLUSH_NONE)
			cause = full;
	}
	return cause;
}

/* task_over: return a search task over this many rows, without their data. */
static HyTask
task_over(const HybridSearch *search, int64 rows)
{
	HyTask task = {.op = HY_OP_TOPK, .numeric_class = HY_CLASS_EXACT};
	HyTopKTask *work = &task.u.topk;
	const HybridQueries *queries = search->queries;

	work->metric = search->metric;
	work->queries.dtype = HY_F32;
	work->queries.dims = queries->dims;
	work->queries.rows = queries->count;
	work->queries.stride = queries->dims * sizeof(float);
	work->queries.data = queries->x;
	work->targets.dtype = search->dtype;
	work->targets.dims = queries->dims;
	work->targets.rows = rows;
	work->targets.stride = search->stride;
	work->k = (int32) Min(search->k, rows);
	work->out = search->found;
	work->counts = search->counts;
	work->limits = search->limits;
	return task;
}

/*
 * take_found: push the task's results into the heaps. positions[n] is the position of row n of the
 * task.
 */
static void
take_found(HybridSearch *search, const HyTask *task, const int64 *positions)
{
	int i;
	int32 n;

	for (i = 0; i < search->queries->count; i++)
	{
		const HyNeighbor *found = search->found + (Size) i * task->u.topk.k;
		HyTopK *best = &search->best[i];

		CHECK_FOR_INTERRUPTS();
		for (n = 0; n < search->counts[i]; n++)
			(void) hy_topk_push(best, found[n].distance, positions[found[n].row]);
		if (best->count == best->k)
			search->limits[i] = best->items[0].distance;
	}
}
