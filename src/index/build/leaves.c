/*
 * leaves.c
 *		Turns rows into leaves: assigns rows to lists, sorts them by list, and writes list by list.
 *
 * Rows are assigned in batches, because the dispatcher is fastest when it compares many rows with many
 * centroids.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "core/distance.h"
#include "server/position.h"

#include "index/build/leaves_writing.h"

#define BATCH_ROWS 8192 /* maximum number of rows that are assigned together */
#define BATCH_LEAST 64
/* maximum bytes of a batch if rows are not assigned to lists, but only sorted */
#define BATCH_BYTES (4 * 1024 * 1024)
#define SORT_SHARE 2 /* the sort takes at most 1/SORT_SHARE of the memory */
/* a batch takes at most 1/ROWS_SHARE of the memory, and so do the rows of a list */
#define ROWS_SHARE 4
#define LOADED_MOST 65536 /* maximum number of rows loaded at once, unless 2 * list_size is more */

/*
 * Outliers of a list go to lists of their own. They are rows that are far from the centroid, or from
 * the nearest other row, compared with the rest of the list. A search does not expect rows as far from
 * the centroid as the outliers of an ordinary list, so it would miss them. In a list of outliers, most
 * rows are far from the centroid, and the search expects them there. A distance is an outlier if it is
 * more than FENCE times the interquartile range above the third quartile (the outer fence of J. Tukey,
 * "Exploratory Data Analysis", 1977; about one normally distributed number in a million is beyond it).
 *
 * A list of outliers may be as wide as the table. A search for a row that is only a little outside a
 * narrow list would often not find the row in such a wide list. So a row that is an outlier only by its
 * distance from the centroid stays in its list, unless the row is more probable in a wider list
 * (least_distance).
 */
#define FENCE 3.0f
#define OTHERS 32 /* maximum number of rows with which a row is compared */
/*
 * if more than 1/OUTLIERS_MOST of the rows of a list are beyond the fence by one of the two distances,
 * none of them counts as an outlier by that distance; SET_ASIDE in regroup.c depends on this
 */
#define OUTLIERS_MOST 8
/*
 * a sort of outliers takes at most 1/OUTLIERS_SORT of the memory; there are at most two such sorts at a
 * time
 */
#define OUTLIERS_SORT 16
/*
 * the target size of lists of outliers is list_size / OUTLIERS_CUT, because their rows are not near
 * each other
 */
#define OUTLIERS_CUT 4
/* lists of outliers may have outliers, too; the last of PASSES passes leaves them in their lists */
#define PASSES 3

/* Stream: state of next_of_stream. */
typedef struct Stream
{
	HybridLeaves *leaves;
	HybridStored stored;
	char *vector;
} Stream;

static double spread_of(const HybridCentroids *centroids);
static void write_outliers(HybridLeaves *leaves, HybridWriting *writing);
static void begin_outliers(const HybridLeaves *leaves, HybridWriting *writing, HybridRowSort *sort);
static void write_list(HybridLeaves *leaves, HybridWriting *writing, HybridRowSort *from,
                       int64 rows, int list_size);
static void write_rows(HybridLeaves *leaves, HybridWriting *writing, HybridRowSort *from, int count,
                       int list_size);
static int set_aside(const HybridLeaves *leaves, HybridWriting *writing, const HybridContents *rows,
                     int *order, int count, const float *mean);
static const float *place_of(const HybridContents *rows, int row, int dims);
static float least_distance(const HybridLeaves *leaves, const float *distances, int count);
static void mark_outliers(const float *distances, int count, bool *outliers);
static void next_of_stream(void *arg, HybridNewEntry *entry);

void
hybrid_leaves_init(HybridLeaves *leaves, const HybridIndex *open, HybridFrame *frame,
                   const HybridCentroids *centroids, Size memory)
{
	memset(leaves, 0, sizeof(*leaves));
	leaves->open = open;
	leaves->frame = frame;
	leaves->centroids = centroids;
	leaves->memory = memory;
	leaves->list_rows = palloc0(Max(centroids->count, 1) * sizeof(int64));
	leaves->spread = spread_of(centroids);
	leaves->widened = palloc(open->layout.floats * sizeof(float));
	leaves->context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid leaves", ALLOCSET_DEFAULT_SIZES);
}

/*
 * spread_of: return the root mean square distance of the centroids from the center of the index, which
 * was subtracted from them.
 */
static double
spread_of(const HybridCentroids *centroids)
{
	double sum = 0;
	int i;

	for (i = 0; i < centroids->count; i++)
		sum += hy_norm_sq(HY_F32, centroids->places + (Size) i * centroids->dims, centroids->dims);
	return sqrt(sum / Max(centroids->count, 1));
}

void
hybrid_leaves_begin_rows(HybridLeaves *leaves, int spare, SortCoordinate coordinate)
{
	const HybridLayout *layout = &leaves->open->layout;
	bool assign = leaves->centroids->count > 0;
	Size row = layout->leaf.carried + sizeof(HybridEntry);
	MemoryContext old;
	int allocated, i;

	hybrid_row_sort_begin(&leaves->sort, layout, (int) (leaves->memory / 1024 / SORT_SHARE),
	                      coordinate);
	if (assign)
	{
		/*
		 * each row takes the space of its vector minus the center, and as much again during the
		 * assignment
		 */
		row += 2 * layout->dims * sizeof(float);
		leaves->batch_size =
			(int) Min(Max(leaves->memory / ROWS_SHARE / row, BATCH_LEAST), BATCH_ROWS);
	}
	else
		leaves->batch_size = (int) Max(Min(BATCH_BYTES / row, BATCH_ROWS), 1);
	allocated = leaves->batch_size + spare;
	leaves->batch_context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid leaves batch", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(leaves->batch_context);
	if (assign)
		leaves->batch_places = MemoryContextAllocHuge(
			leaves->batch_context, (Size) allocated * layout->dims * sizeof(float));
	leaves->batch = palloc(allocated * sizeof(HybridEntry));
	for (i = 0; i < allocated; i++)
		leaves->batch[i].vector = palloc(layout->leaf.carried);
	leaves->batch_lists = palloc0(allocated * sizeof(int));
	MemoryContextSwitchTo(old);
}

void
hybrid_leaves_add(HybridLeaves *leaves)
{
	const HybridLayout *layout = &leaves->open->layout;
	const HybridEntry *entry = &leaves->batch[leaves->batch_rows];

	if (leaves->centroids->count > 0)
	{
		hybrid_widen_vector(layout->leaf.storage, &entry->stored, entry->vector, layout->dims,
		                    leaves->widened);
		hybrid_frame_place(leaves->frame, leaves->widened, entry->stored.norm,
		                   leaves->batch_places + (Size) leaves->batch_rows * layout->dims);
	}
	leaves->batch_rows++;
}

int
hybrid_leaves_assign(HybridLeaves *leaves)
{
	int rows = leaves->batch_rows, i;

	if (leaves->centroids->count > 0 && rows > 0)
	{
		MemoryContext old = MemoryContextSwitchTo(leaves->context);

		hybrid_assign(leaves->centroids, leaves->batch_places, rows, leaves->batch_lists);
		MemoryContextSwitchTo(old);
		MemoryContextReset(leaves->context);
	}
	for (i = 0; i < rows; i++)
	{
		if (i % 256 == 0)
			CHECK_FOR_INTERRUPTS();
		hybrid_row_sort_put(&leaves->sort, leaves->batch_lists[i], &leaves->batch[i]);
		leaves->list_rows[leaves->batch_lists[i]]++;
	}
	leaves->rows += rows;
	leaves->batch_rows = 0;
	return rows;
}

void
hybrid_leaves_end_rows(HybridLeaves *leaves)
{
	(void) hybrid_leaves_assign(leaves);
	MemoryContextDelete(leaves->batch_context);
	tuplesort_performsort(leaves->sort.state);
}

void
hybrid_leaves_merge(HybridLeaves *leaves, SortCoordinate coordinate)
{
	hybrid_row_sort_begin(&leaves->sort, &leaves->open->layout,
	                      (int) (leaves->memory / 1024 / SORT_SHARE), coordinate);
	tuplesort_performsort(leaves->sort.state);
}

bool
hybrid_leaves_write(HybridLeaves *leaves, HybridSink *sink, bool central, HybridLeafDone done,
                    void *arg)
{
	int lists = Max(leaves->centroids->count, 1), list_size = leaves->open->list_size, list;
	HybridWriting writing = {sink,
	                         central && lists == 1 &&
	                             leaves->rows <= hybrid_leaves_load_most(leaves),
	                         done,
	                         arg,
	                         CurrentMemoryContext,
	                         NULL,
	                         0};
	HybridRowSort outliers;

	/* a tree has at least one leaf */
	if (leaves->rows == 0)
		write_rows(leaves, &writing, &leaves->sort, 0, list_size);
	if (leaves->open->layout.bounds > 0)
	{
		hybrid_leaves_write_by_key(leaves, &writing);
		return writing.central;
	}
	/* by inner product, the longest rows are the answers, and the radius of a list includes them */
	if (lists > 1 && leaves->open->metric != HY_METRIC_IP)
		begin_outliers(leaves, &writing, &outliers);
	for (list = 0; list < lists; list++)
		write_list(leaves, &writing, &leaves->sort, leaves->list_rows[list], list_size);
	if (writing.outliers != NULL)
		write_outliers(leaves, &writing);
	return writing.central;
}

/* write_outliers: write the outliers that were set aside as lists of their own, and end their sort. */
static void
write_outliers(HybridLeaves *leaves, HybridWriting *writing)
{
	HybridRowSort sorts[2];
	int pass;

	sorts[0] = *writing->outliers;
	for (pass = 1; pass <= PASSES; pass++)
	{
		HybridRowSort *from = &sorts[(pass + 1) % 2];
		int64 rows = writing->outlier_rows;

		writing->outliers = NULL;
		tuplesort_performsort(from->state);
		if (pass < PASSES && rows > 0)
			begin_outliers(leaves, writing, &sorts[pass % 2]);
		write_list(leaves, writing, from, rows, Max(leaves->open->list_size / OUTLIERS_CUT, 1));
		hybrid_row_sort_end(from);
		if (writing->outliers == NULL)
			break;
	}
}

/* begin_outliers: begin this sort for the outliers of the lists that are written next. */
static void
begin_outliers(const HybridLeaves *leaves, HybridWriting *writing, HybridRowSort *sort)
{
	hybrid_row_sort_begin(sort, &leaves->open->layout,
	                      (int) (leaves->memory / 1024 / OUTLIERS_SORT), NULL);
	writing->outliers = sort;
	writing->outlier_rows = 0;
}

/* write_list: write the next rows of a sort. They belong to one list. */
static void
write_list(HybridLeaves *leaves, HybridWriting *writing, HybridRowSort *from, int64 rows,
           int list_size)
{
	int most = hybrid_leaves_load_most(leaves);

	while (rows > 0)
	{
		int count = (int) Min(rows, most);

		write_rows(leaves, writing, from, count, list_size);
		rows -= count;
	}
}

int
hybrid_leaves_load_most(const HybridLeaves *leaves)
{
	const HybridLayout *layout = &leaves->open->layout;
	/* cutting the rows makes a second copy of their centered vectors */
	Size row = layout->leaf.carried + 2 * layout->dims * sizeof(float) + 64;

	return Max((int) Min(leaves->memory / ROWS_SHARE / row, LOADED_MOST),
	           leaves->open->list_size * 2);
}

/*
 * write_rows: load the next `count` rows of a sort, which belong to one list. Write them as one leaf, or
 * as several leaves if they are too many for one.
 */
static void
write_rows(HybridLeaves *leaves, HybridWriting *writing, HybridRowSort *from, int count,
           int list_size)
{
	MemoryContext old = MemoryContextSwitchTo(leaves->context);
	HybridContents rows;
	int i;

	hybrid_leaves_allocate(leaves, &rows, count);
	for (i = 0; i < count; i++)
		hybrid_leaves_load(leaves, from, &rows);
	hybrid_leaves_write_rows(leaves, writing, &rows, count, list_size);
	MemoryContextSwitchTo(old);
	MemoryContextReset(leaves->context);
}

void
hybrid_leaves_write_rows(HybridLeaves *leaves, HybridWriting *writing, const HybridContents *rows,
                         int count, int list_size)
{
	const HybridIndex *open = leaves->open;
	int dims = open->layout.dims, *order = palloc(Max(count, 1) * sizeof(int)), *sizes, part;
	int parts = hybrid_cut_rows(rows->places, count, dims, list_size, order, &sizes);
	float *mean = palloc(dims * sizeof(float));

	writing->central = writing->central && parts == 1;
	for (part = 0; part < parts; order += sizes[part++])
	{
		int kept = sizes[part];
		HybridCopy leaf;
		MemoryContext old;

		CHECK_FOR_INTERRUPTS();
		if (sizes[part] == 0 && parts > 1)
			continue;
		hybrid_mean(rows->places, order, kept, dims, mean);
		if (writing->outliers != NULL)
			kept = set_aside(leaves, writing, rows, order, kept, mean);
		if (kept < sizes[part])
			hybrid_mean(rows->places, order, kept, dims, mean);
		hybrid_copy_make(open, rows, order, kept, mean, &leaf);
		hybrid_copy_write(writing->sink, leaves->frame, 0, &leaf, writing->central);
		old = MemoryContextSwitchTo(writing->context);
		writing->done(writing->arg, &leaf);
		MemoryContextSwitchTo(old);
	}
}

/*
 * set_aside: move the outliers among these rows of a list to the sort of outliers. Moves the other rows
 * to the beginning of `order`, and returns their number.
 */
static int
set_aside(const HybridLeaves *leaves, HybridWriting *writing, const HybridContents *rows,
          int *order, int count, const float *mean)
{
	const HybridLayout *layout = &leaves->open->layout;
	float *distances = palloc(Max(count, 1) * sizeof(float));
	bool *outliers = palloc0(Max(count, 1) * sizeof(bool));
	int dims = layout->dims, step = (count + OTHERS - 1) / OTHERS, kept = 0, i, j;
	float within;

	for (i = 0; i < count; i++)
		distances[i] =
			sqrtf((float) hy_l2_squared(mean, HY_F32, place_of(rows, order[i], dims), dims));
	mark_outliers(distances, count, outliers);
	within = least_distance(leaves, distances, count);
	for (i = 0; i < count; i++)
		outliers[i] = outliers[i] && distances[i] > within;
	for (i = 0; i < count; i++)
	{
		const float *place = place_of(rows, order[i], dims);
		double least = INFINITY;

		CHECK_FOR_INTERRUPTS();
		for (j = 0; j < count; j += step)
		{
			if (j != i)
				least =
					Min(least, hy_l2_squared(place, HY_F32, place_of(rows, order[j], dims), dims));
		}
		distances[i] = sqrtf((float) least);
	}
	mark_outliers(distances, count, outliers);
	for (i = 0; i < count; i++)
	{
		HybridEntry entry;

		if (!outliers[i])
		{
			order[kept++] = order[i];
			continue;
		}
		entry.tid = rows->tids[order[i]];
		entry.stored = rows->stored[order[i]];
		entry.vector = rows->vectors + (Size) order[i] * layout->leaf.carried;
		hybrid_row_sort_put(writing->outliers, 0, &entry);
		writing->outlier_rows++;
	}
	return kept;
}

static const float *
place_of(const HybridContents *rows, int row, int dims)
{
	return rows->places + (Size) row * dims;
}

/*
 * least_distance: return the distance from the centroid beyond which a row is more probable in a wider
 * list. The rows of a list are assumed to be normally distributed (improbability in leaf.c). The radius
 * of the list of outliers that the row would go to is not known yet. The geometric mean of the radius
 * of this list and the spread of the centroids is used instead. If the spread is not greater than the
 * radius, returns the radius.
 */
static float
least_distance(const HybridLeaves *leaves, const float *distances, int count)
{
	double sum = 0, radius;
	int i;

	for (i = 0; i < count; i++)
		sum += (double) distances[i] * distances[i];
	radius = sqrt(sum / Max(count, 1));
	if (!(leaves->spread > radius && radius > 0))
		return (float) radius;
	return (float) (radius * sqrt(1 + log(leaves->spread / radius)));
}

/*
 * mark_outliers: also mark the rows whose distance is beyond the fence, unless they are too many
 * (OUTLIERS_MOST). Rows that are marked stay marked.
 */
static void
mark_outliers(const float *distances, int count, bool *outliers)
{
	float *sorted = palloc(Max(count, 1) * sizeof(float)), most;
	int i;

	memcpy(sorted, distances, count * sizeof(float));
	qsort(sorted, count, sizeof(float), hybrid_compare_floats);
	most = sorted[count * 3 / 4] + FENCE * (sorted[count * 3 / 4] - sorted[count / 4]);
	for (i = 0; i < count && sorted[count - 1 - count / OUTLIERS_MOST] <= most; i++)
		outliers[i] = outliers[i] || distances[i] > most;
}

void
hybrid_leaves_allocate(const HybridLeaves *leaves, HybridContents *rows, int most)
{
	const HybridLayout *layout = &leaves->open->layout;
	Size room = Max(most, 1);

	memset(rows, 0, sizeof(*rows));
	rows->tids = palloc(room * sizeof(ItemPointerData));
	rows->stored = palloc(room * sizeof(HybridStored));
	rows->radii = palloc0(room * sizeof(float));
	rows->vectors = MemoryContextAllocHuge(CurrentMemoryContext, room * layout->leaf.carried);
	rows->places =
		MemoryContextAllocHuge(CurrentMemoryContext, room * layout->dims * sizeof(float));
}

void
hybrid_leaves_load(HybridLeaves *leaves, HybridRowSort *from, HybridContents *rows)
{
	const HybridLayout *layout = &leaves->open->layout;
	Size i = rows->count++;
	char *vector = rows->vectors + i * layout->leaf.carried;
	int64 position;

	hybrid_row_sort_next(from, &position, &rows->stored[i], vector);
	rows->tids[i] = hybrid_position_tid(position);
	hybrid_widen_vector(layout->leaf.storage, &rows->stored[i], vector, layout->dims,
	                    leaves->widened);
	hybrid_frame_place(leaves->frame, leaves->widened, rows->stored[i].norm,
	                   rows->places + i * layout->dims);
}

HybridLink
hybrid_leaves_write_stream(HybridLeaves *leaves, HybridSink *sink)
{
	HybridLink link;
	Stream stream;
	HybridNewEntries entries = {leaves->rows, next_of_stream, &stream};
	float radius;

	stream.leaves = leaves;
	stream.vector = palloc(leaves->open->layout.leaf.carried);
	link = hybrid_new_list(leaves->frame, sink, 0, NULL, &entries, &radius);
	pfree(stream.vector);
	return link;
}

/* next_of_stream: return the next row of the sort as an entry, for HybridNewEntries. */
static void
next_of_stream(void *arg, HybridNewEntry *entry)
{
	Stream *stream = (Stream *) arg;
	int64 position;

	hybrid_row_sort_next(&stream->leaves->sort, &position, &stream->stored, stream->vector);
	memset(entry, 0, sizeof(*entry));
	entry->tid = hybrid_position_tid(position);
	entry->stored = &stream->stored;
	entry->vector = stream->vector;
}

void
hybrid_leaves_end(HybridLeaves *leaves)
{
	hybrid_row_sort_end(&leaves->sort);
}
