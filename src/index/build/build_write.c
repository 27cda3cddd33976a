/*
 * build_write.c
 *		CREATE INDEX: writes the leaves from the sorted rows, and the inner lists above them,
 *		level by level.
 */
#include "postgres.h"

#include <math.h>

#include "commands/progress.h"
#include "miscadmin.h"
#include "utils/backend_progress.h"
#include "utils/memutils.h"

#include "server/position.h"

#include "index/build/build.h"

#define INNER_FILL 0.5

/* RowSource, ListSource: state of next_row and next_list. */
typedef struct RowSource
{
	HybridBuild *build;
	HybridLoadedRows *rows;
	const int *order;
	int next;
} RowSource;

typedef struct ListSource
{
	HybridBuild *build;
	const HybridBuiltLists *below;
	const int *order;
	int next;
	HybridStored stored;
	char *vector;
	float *place;
} ListSource;

static void write_leaves(HybridBuild *build, HybridBuiltLists *leaves);
static void write_stream(HybridBuild *build, HybridBuiltLists *leaves);
static void stream_row(void *arg, HybridNewEntry *entry);
static void load_row(HybridBuild *build, HybridLoadedRows *rows);
static void write_loaded(HybridBuild *build, HybridBuiltLists *leaves, HybridLoadedRows *rows);
static void write_part(HybridBuild *build, HybridBuiltLists *leaves, HybridLoadedRows *rows,
                       const int *order, int count);
static void next_row(void *arg, HybridNewEntry *entry);
static void write_inner(HybridBuild *build, const HybridBuiltLists *below, const int *order,
                        int count, int level, bool root, HybridBuiltLists *above);
static void next_list(void *arg, HybridNewEntry *entry);
static void forget_lists(HybridBuiltLists *lists);
static void round_place(HybridBuild *build, const float *place, HybridStored *stored, void *vector,
                        float *back);

void
hybrid_build_write(HybridBuild *build, HybridMeta *meta)
{
	HybridBuiltLists leaves;

	memset(&leaves, 0, sizeof(leaves));
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_TOTAL, (int64) build->stored);
	write_leaves(build, &leaves);
	hybrid_write_levels(build, &leaves, meta);
}

/* write_leaves: load the rows of each list, as many as memory allows, and write them. */
static void
write_leaves(HybridBuild *build, HybridBuiltLists *leaves)
{
	int most = hybrid_load_most(build), lists = Max(build->centroids.count, 1), list;
	HybridLoadedRows rows;
	int64 written = 0;

	memset(&rows, 0, sizeof(rows));
	/* a single list is the root, and its centroid is the center */
	leaves->central = lists == 1 && build->stored <= most;
	if (!build->definition.coded)
	{
		write_stream(build, leaves);
		return;
	}
	for (list = 0; list < lists; list++)
	{
		int64 left = build->list_rows[list];

		written += left;
		pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, written);

		while (left > 0)
		{
			CHECK_FOR_INTERRUPTS();
			hybrid_load_begin(build, &rows, (int) Min(left, most));
			while (left > 0 && rows.count < most)
			{
				load_row(build, &rows);
				left--;
			}
			write_loaded(build, leaves, &rows);
		}
	}
	if (leaves->count == 0)
		write_loaded(build, leaves, &rows);
	hybrid_load_end(&rows);
}

int
hybrid_load_most(const HybridBuild *build)
{
	return Max(hybrid_load_few(build, 1), build->definition.list_size * 2);
}

int
hybrid_load_few(const HybridBuild *build, int share)
{
	const HybridLayout *layout = &build->definition.layout;
	/* cutting the rows makes a copy of their places */
	Size row_bytes = layout->stride + 2 * layout->floats * sizeof(float) + 64;

	return (int) Min((Size) maintenance_work_mem * 1024 / 4 / row_bytes, 65536) / share;
}

/* write_stream: write all rows as one list, regardless of their number. */
static void
write_stream(HybridBuild *build, HybridBuiltLists *leaves)
{
	HybridLoadedRows rows;
	RowSource source;
	HybridNewEntries entries = {(int64) build->stored, stream_row, &source};
	HybridLink link;
	float radius;
	int first = 0;

	memset(&rows, 0, sizeof(rows));
	source.build = build;
	source.rows = &rows;
	source.order = &first;
	link = hybrid_new_list(&build->frame, &build->appender.sink, 0, NULL, &entries, &radius);
	leaves->central = true;
	hybrid_built_lists_add(build, leaves, link, build->widened, 0);
	hybrid_load_end(&rows);
}

static void
stream_row(void *arg, HybridNewEntry *entry)
{
	RowSource *source = (RowSource *) arg;

	source->next = 0;
	hybrid_load_begin(source->build, source->rows, 1);
	load_row(source->build, source->rows);
	next_row(source, entry);
}

/* load_row: append the next row of the sort to `rows`. */
static void
load_row(HybridBuild *build, HybridLoadedRows *rows)
{
	const HybridLayout *layout = &build->definition.layout;
	int i = rows->count++;

	hybrid_row_sort_next(&build->sort, &rows->positions[i], &rows->stored[i],
	                     rows->vectors + i * layout->stride);
	if (!build->definition.coded)
		return;
	hybrid_widen_vector(layout->storage, &rows->stored[i], rows->vectors + i * layout->stride,
	                    layout->dims, build->widened);
	hybrid_frame_place(&build->frame, build->widened, rows->stored[i].norm,
	                   rows->places + (Size) i * layout->dims);
}

void
hybrid_load_begin(const HybridBuild *build, HybridLoadedRows *rows, int most)
{
	const HybridLayout *layout = &build->definition.layout;
	MemoryContext context = CurrentMemoryContext;

	rows->count = 0;
	if (most <= rows->allocated)
		return;
	/* free the old rows first, because they are not needed and memory may not suffice for both */
	hybrid_load_end(rows);
	rows->allocated = most;
	rows->positions = MemoryContextAllocHuge(context, most * sizeof(int64));
	rows->stored = MemoryContextAllocHuge(context, most * sizeof(HybridStored));
	rows->vectors = MemoryContextAllocHuge(context, most * layout->stride);
	rows->places = MemoryContextAllocHuge(context, most * layout->floats * sizeof(float));
}

void
hybrid_load_end(HybridLoadedRows *rows)
{
	if (rows->allocated == 0)
		return;
	pfree(rows->positions);
	pfree(rows->stored);
	pfree(rows->vectors);
	pfree(rows->places);
	rows->allocated = 0;
}

/* write_loaded: write the loaded rows as one list, or as several lists if they are too many for one. */
static void
write_loaded(HybridBuild *build, HybridBuiltLists *leaves, HybridLoadedRows *rows)
{
	int *order = palloc(Max(rows->count, 1) * sizeof(int)), *sizes, part, begin = 0;
	int parts = hybrid_load_cut(build, rows, order, &sizes);

	if (parts > 1)
		leaves->central = false;
	for (part = 0; part < parts; part++)
	{
		if (sizes[part] > 0 || parts == 1)
			write_part(build, leaves, rows, order + begin, sizes[part]);
		begin += sizes[part];
	}
	pfree(sizes);
	pfree(order);
}

int
hybrid_load_cut(const HybridBuild *build, const HybridLoadedRows *rows, int *order, int **sizes)
{
	int i;

	if (build->definition.coded && rows->count > build->definition.list_size)
		return hybrid_cut_rows(rows->places, rows->count, build->definition.layout.dims,
		                       build->definition.list_size, order, sizes);
	for (i = 0; i < rows->count; i++)
		order[i] = i;
	*sizes = palloc(sizeof(int));
	(*sizes)[0] = rows->count;
	return 1;
}

/* write_part: write the rows with these numbers as a list. */
static void
write_part(HybridBuild *build, HybridBuiltLists *leaves, HybridLoadedRows *rows, const int *order,
           int count)
{
	HybridWrittenLeaf *leaf = palloc(hybrid_written_leaf_bytes(build->definition.layout.dims));

	hybrid_write_leaf(build, &build->appender.sink, rows, order, count, leaves->central, leaf);
	hybrid_built_lists_add(build, leaves, leaf->link, leaf->mean, leaf->radius);
	pfree(leaf);
}

void
hybrid_write_leaf(HybridBuild *build, HybridSink *sink, HybridLoadedRows *rows, const int *order,
                  int count, bool central, HybridWrittenLeaf *written)
{
	int dims = build->definition.layout.dims;
	float *centroid = palloc(dims * sizeof(float));
	void *vector = palloc(build->definition.layout.stride);
	HybridStored stored;
	RowSource source;
	HybridNewEntries entries = {count, next_row, &source};

	hybrid_mean(rows->places, order, count, dims, written->mean);
	/* the list must use its centroid as the parent list stores it, after rounding */
	round_place(build, written->mean, &stored, vector, centroid);

	source.build = build;
	source.rows = rows;
	source.order = order;
	source.next = 0;
	written->link = hybrid_new_list(&build->frame, sink, 0, central ? NULL : centroid, &entries,
	                                &written->radius);
	pfree(centroid);
	pfree(vector);
}

static void
next_row(void *arg, HybridNewEntry *entry)
{
	RowSource *source = (RowSource *) arg;
	const HybridLayout *layout = &source->build->definition.layout;
	int i = source->order[source->next++];

	entry->tid = hybrid_position_tid(source->rows->positions[i]);
	entry->stored = &source->rows->stored[i];
	entry->vector = source->rows->vectors + i * layout->stride;
	entry->place = source->rows->places + (Size) i * layout->dims;
	entry->radius = 0;
}

void
hybrid_write_levels(HybridBuild *build, HybridBuiltLists *lists, HybridMeta *meta)
{
	int level = 0;
	HybridBuiltLists below = *lists;

	meta->leaves = below.count;
	while (below.count > 1 || !below.central)
	{
		HybridBuiltLists above;
		int i, *order = palloc(below.count * sizeof(int));

		level++;
		memset(&above, 0, sizeof(above));
		for (i = 0; i < below.count; i++)
			order[i] = i;
		if (below.count <= HYBRID_INNER_SIZE)
			write_inner(build, &below, order, below.count, level, true, &above);
		else
		{
			int dims = build->definition.layout.dims, g;
			Size bytes = (Size) below.count * dims * sizeof(float);
			HybridCentroids centroids;

			memset(&centroids, 0, sizeof(centroids));
			centroids.dims = dims;
			centroids.count = below.count;
			centroids.places = MemoryContextAllocHuge(CurrentMemoryContext, bytes);
			memcpy(centroids.places, below.places, bytes);
			hybrid_group(&centroids, (int) ceil(below.count / (HYBRID_INNER_SIZE * INNER_FILL)),
			             order, CurrentMemoryContext);
			for (g = 0; g < centroids.groups; g++)
			{
				int begin = centroids.group_begin[g], end = centroids.group_begin[g + 1];

				if (end > begin)
					write_inner(build, &below, order + begin, end - begin, level, false, &above);
			}
			pfree(centroids.places);
			pfree(centroids.group_places);
			pfree(centroids.group_begin);
		}
		pfree(order);
		forget_lists(&below);
		below = above;
	}
	meta->root = below.links[0].head;
	meta->root_generation = below.links[0].generation;
	meta->height = (uint16) level;
	forget_lists(&below);
}

/*
 * write_inner: write an inner list that names the lists with these numbers. The centroid of the root is
 * the center.
 */
static void
write_inner(HybridBuild *build, const HybridBuiltLists *below, const int *order, int count,
            int level, bool root, HybridBuiltLists *above)
{
	const HybridLayout *layout = &build->definition.layout;
	int dims = layout->dims;
	float *mean = palloc(dims * sizeof(float)), *centroid = palloc(dims * sizeof(float));
	ListSource source;
	HybridNewEntries entries = {count, next_list, &source};
	HybridLink link;
	float radius;

	source.build = build;
	source.below = below;
	source.order = order;
	source.next = 0;
	source.vector = palloc(layout->stride);
	source.place = palloc(dims * sizeof(float));
	hybrid_mean(below->places, order, count, dims, mean);
	round_place(build, mean, &source.stored, source.vector, centroid);
	link = hybrid_new_list(&build->frame, &build->appender.sink, level, root ? NULL : centroid,
	                       &entries, &radius);
	hybrid_built_lists_add(build, above, link, mean, radius);
	above->central = root;
	pfree(source.vector);
	pfree(source.place);
	pfree(mean);
	pfree(centroid);
}

static void
next_list(void *arg, HybridNewEntry *entry)
{
	ListSource *source = (ListSource *) arg;
	int i = source->order[source->next++];

	round_place(source->build,
	            source->below->places + (Size) i * source->build->definition.layout.dims,
	            &source->stored, source->vector, source->place);
	entry->tid = hybrid_link_tid(source->below->links[i]);
	entry->stored = &source->stored;
	entry->vector = source->vector;
	entry->place = source->place;
	entry->radius = source->below->radii[i];
}

void
hybrid_built_lists_add(HybridBuild *build, HybridBuiltLists *lists, HybridLink link,
                       const float *place, float radius)
{
	int dims = build->definition.layout.floats;

	if (lists->count == lists->allocated)
	{
		int allocated = Max(64, lists->allocated * 2);
		Size bytes = (Size) allocated * dims * sizeof(float);

		if (lists->allocated == 0)
		{
			lists->links = palloc(allocated * sizeof(HybridLink));
			lists->radii = palloc(allocated * sizeof(float));
			lists->places = MemoryContextAllocHuge(CurrentMemoryContext, bytes);
		}
		else
		{
			lists->links = repalloc_huge(lists->links, allocated * sizeof(HybridLink));
			lists->radii = repalloc_huge(lists->radii, allocated * sizeof(float));
			lists->places = repalloc_huge(lists->places, bytes);
		}
		lists->allocated = allocated;
	}
	lists->links[lists->count] = link;
	lists->radii[lists->count] = radius;
	memcpy(lists->places + (Size) lists->count++ * dims, place, dims * sizeof(float));
}

static void
forget_lists(HybridBuiltLists *lists)
{
	pfree(lists->links);
	pfree(lists->radii);
	pfree(lists->places);
}

/*
 * round_place: store a centroid as the parent list does. `back` is set to the rounded place, which all
 * code uses.
 */
static void
round_place(HybridBuild *build, const float *place, HybridStored *stored, void *vector, float *back)
{
	const HybridLayout *layout = &build->definition.layout;

	hybrid_store_vector(layout->storage, place, layout->dims, vector, stored);
	hybrid_widen_vector(layout->storage, stored, vector, layout->dims, back);
}
