/*
 * leaves.c
 *		Turns rows into leaves: assigns rows to lists, sorts them by list, and writes list by list.
 *
 * Many rows are assigned at a time, because the dispatcher compares many rows with many centroids fastest.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "server/position.h"

#include "index/build/leaves.h"

#define BATCH_ROWS 8192 /* maximum number of rows that are assigned together */
#define BATCH_LEAST 64
/* bytes of a batch when rows go straight to the sort */
#define BATCH_BYTES (4 * 1024 * 1024)
#define SORT_SHARE 2      /* divisor of the memory, for the sort */
#define ROWS_SHARE 4      /* divisor of the memory, for a batch and for the rows of one list */
#define LOADED_MOST 65536 /* maximum number of rows of a list that are loaded at a time */

/* Stream: state of next_of_stream. */
typedef struct Stream
{
	HybridLeaves *leaves;
	HybridStored stored;
	char *vector;
} Stream;

static int load_most(const HybridLeaves *leaves);
static bool write_rows(HybridLeaves *leaves, int count, HybridSink *sink, bool central,
                       HybridLeafDone done, void *arg);
static void load_rows(HybridLeaves *leaves, HybridContents *rows, int count);
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
	leaves->widened = palloc(open->layout.floats * sizeof(float));
	leaves->context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid leaves", ALLOCSET_DEFAULT_SIZES);
}

void
hybrid_leaves_begin_rows(HybridLeaves *leaves, int spare, SortCoordinate coordinate)
{
	const HybridLayout *layout = &leaves->open->layout;
	bool assign = leaves->centroids->count > 0;
	Size row = layout->stride + sizeof(HybridEntry);
	MemoryContext old;
	int allocated, i;

	hybrid_row_sort_begin(&leaves->sort, layout, (int) (leaves->memory / 1024 / SORT_SHARE),
	                      coordinate);
	if (assign)
	{
		/* an assignment needs the same amount of memory again */
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
		leaves->batch[i].vector = palloc(layout->stride);
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
		hybrid_widen_vector(layout->storage, &entry->stored, entry->vector, layout->dims,
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
	int lists = Max(leaves->centroids->count, 1), most = load_most(leaves), list;

	central = central && lists == 1 && leaves->rows <= most;
	/* a tree has at least one leaf */
	if (leaves->rows == 0)
		return write_rows(leaves, 0, sink, central, done, arg);
	for (list = 0; list < lists; list++)
	{
		int64 left = leaves->list_rows[list];

		while (left > 0)
		{
			int count = (int) Min(left, most);

			central = write_rows(leaves, count, sink, central, done, arg);
			left -= count;
		}
	}
	return central;
}

/* load_most: return the maximum number of rows of a list that are loaded at a time. */
static int
load_most(const HybridLeaves *leaves)
{
	const HybridLayout *layout = &leaves->open->layout;
	/* cutting the rows makes a copy of their places */
	Size row = layout->stride + 2 * layout->dims * sizeof(float) + 64;

	return Max((int) Min(leaves->memory / ROWS_SHARE / row, LOADED_MOST),
	           leaves->open->list_size * 2);
}

/*
 * write_rows: load the next `count` rows of the sort, which are of one list. Write them as one leaf, or as
 * several leaves if they are too many for one. Returns whether the centroid of a single leaf is the center.
 */
static bool
write_rows(HybridLeaves *leaves, int count, HybridSink *sink, bool central, HybridLeafDone done,
           void *arg)
{
	const HybridIndex *open = leaves->open;
	int dims = open->layout.dims, *order, *sizes, parts, part;
	MemoryContext old = MemoryContextSwitchTo(leaves->context);
	HybridContents rows;
	float *mean;

	load_rows(leaves, &rows, count);
	order = palloc(Max(count, 1) * sizeof(int));
	parts = hybrid_cut_rows(rows.places, count, dims, open->list_size, order, &sizes);
	mean = palloc(dims * sizeof(float));
	central = central && parts == 1;
	for (part = 0; part < parts; order += sizes[part++])
	{
		HybridCopy leaf;

		CHECK_FOR_INTERRUPTS();
		if (sizes[part] == 0 && parts > 1)
			continue;
		hybrid_mean(rows.places, order, sizes[part], dims, mean);
		hybrid_copy_make(open, &rows, order, sizes[part], mean, &leaf);
		hybrid_copy_write(sink, leaves->frame, 0, &leaf, central);
		MemoryContextSwitchTo(old);
		done(arg, &leaf);
		MemoryContextSwitchTo(leaves->context);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(leaves->context);
	return central;
}

/* load_rows: load the next rows of the sort. */
static void
load_rows(HybridLeaves *leaves, HybridContents *rows, int count)
{
	const HybridLayout *layout = &leaves->open->layout;
	Size room = Max(count, 1);
	int i;

	rows->count = count;
	rows->tids = palloc(room * sizeof(ItemPointerData));
	rows->stored = palloc(room * sizeof(HybridStored));
	rows->radii = palloc0(room * sizeof(float));
	rows->vectors = MemoryContextAllocHuge(CurrentMemoryContext, room * layout->stride);
	rows->places =
		MemoryContextAllocHuge(CurrentMemoryContext, room * layout->dims * sizeof(float));
	for (i = 0; i < count; i++)
	{
		char *vector = rows->vectors + i * layout->stride;
		int64 position;

		hybrid_row_sort_next(&leaves->sort, &position, &rows->stored[i], vector);
		rows->tids[i] = hybrid_position_tid(position);
		hybrid_widen_vector(layout->storage, &rows->stored[i], vector, layout->dims,
		                    leaves->widened);
		hybrid_frame_place(leaves->frame, leaves->widened, rows->stored[i].norm,
		                   rows->places + (Size) i * layout->dims);
	}
}

HybridLink
hybrid_leaves_write_stream(HybridLeaves *leaves, HybridSink *sink)
{
	HybridLink link;
	Stream stream;
	HybridNewEntries entries = {leaves->rows, next_of_stream, &stream};
	float radius;

	stream.leaves = leaves;
	stream.vector = palloc(leaves->open->layout.stride);
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
