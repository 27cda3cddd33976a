/*
 * build_write.c
 *		CREATE INDEX: writes the tree: the leaves from the sorted rows, and the inner lists above
 *		them, level by level.
 */
#include "postgres.h"

#include <math.h>

#include "commands/progress.h"
#include "miscadmin.h"
#include "utils/backend_progress.h"
#include "utils/memutils.h"

#include "index/build/build.h"
#include "index/build/parent_entries.h"
#include "index/write/segments.h"

/* share of an inner list that is filled, so that it can grow before it splits */
#define INNER_FILL 0.5

/* Writing: state of leaf_done. */
typedef struct Writing
{
	HybridParentEntries leaves;
	int64 rows; /* number of rows written so far */
} Writing;

static void leaf_done(void *arg, const HybridCopy *leaf);
static void write_level(HybridBuild *build, HybridParentEntries *below, HybridParentEntries *above);
static void
group(HybridBuild *build, const HybridParentEntries *below, int *order, HybridCentroids *centroids);
static void set_root(HybridMeta *meta, HybridLink root, int leaves, int level);

void
hybrid_build_write(HybridBuild *build, HybridMeta *meta)
{
	HybridSink *sink = &build->appender.sink;
	HybridParentEntries below;
	Writing writing;
	bool central;
	int leaves;

	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_TOTAL, build->leaves.rows);
	if (!build->definition.coded)
	{
		HybridLink root = hybrid_leaves_write_stream(&build->leaves, sink);

		set_root(meta, root, 1, 0);
		if (build->definition.layout.packed)
		{
			pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, HYBRID_PHASE_SEGMENTS);
			hybrid_segments_make(build->index, &build->definition, root, sink, false);
		}
		return;
	}
	hybrid_parent_entries_init(&writing.leaves, &build->definition, 0);
	writing.rows = 0;
	/* a single leaf is the root, and its centroid is the center of the index */
	central = hybrid_leaves_write(&build->leaves, sink, true, leaf_done, &writing);
	below = writing.leaves;
	leaves = below.lists.count;
	while (below.lists.count > 1 || !central)
	{
		HybridParentEntries above;

		hybrid_parent_entries_init(&above, &build->definition, below.level + 1);
		central = below.lists.count <= HYBRID_INNER_SIZE;
		write_level(build, &below, &above);
		hybrid_parent_entries_end(&below);
		below = above;
	}
	set_root(meta, hybrid_tid_link(&below.lists.tids[0]), leaves, below.level);
	hybrid_parent_entries_end(&below);
}

/* leaf_done: keep the entry for a leaf, and report progress; a HybridLeafDone. */
static void
leaf_done(void *arg, const HybridCopy *leaf)
{
	Writing *writing = (Writing *) arg;

	hybrid_parent_entries_add(&writing->leaves, leaf);
	writing->rows += leaf->count;
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, writing->rows);
}

/*
 * write_level: write inner lists that name the lists in `below`, and add these inner lists to `above`.
 * If one inner list is enough, it becomes the root.
 */
static void
write_level(HybridBuild *build, HybridParentEntries *below, HybridParentEntries *above)
{
	int count = below->lists.count, i, g;
	int *order = palloc(count * sizeof(int));
	HybridSink *sink = &build->appender.sink;
	HybridCentroids centroids;

	for (i = 0; i < count; i++)
		order[i] = i;
	if (build->definition.layout.bounds > 0)
		hybrid_parent_entries_by_key(below, order, below->level == 0);
	if (count <= HYBRID_INNER_SIZE)
	{
		hybrid_parent_entries_write(below, order, count, true, &build->frame, sink, above);
		pfree(order);
		return;
	}
	group(build, below, order, &centroids);
	for (g = 0; g < centroids.groups; g++)
	{
		int begin = centroids.group_begin[g], end = centroids.group_begin[g + 1];

		if (end > begin)
			hybrid_parent_entries_write(below, order + begin, end - begin, false, &build->frame,
			                            sink, above);
	}
	pfree(centroids.group_begin);
	pfree(order);
}

/*
 * group: group neighboring lists for the inner lists above them. Sets the groups of `centroids`, and
 * `order` to the numbers of the lists, group by group. In an index with keys, the caller has sorted
 * `order` by key, and it is not changed.
 */
static void
group(HybridBuild *build, const HybridParentEntries *below, int *order, HybridCentroids *centroids)
{
	int dims = build->definition.layout.dims, count = below->lists.count, i;
	int groups = (int) ceil(count / (HYBRID_INNER_SIZE * INNER_FILL));

	memset(centroids, 0, sizeof(*centroids));
	if (build->definition.layout.bounds > 0)
	{
		centroids->groups = groups;
		centroids->group_begin = palloc((groups + 1) * sizeof(int));
		for (i = 0; i <= groups; i++)
			centroids->group_begin[i] = (int) ((int64) count * i / groups);
		return;
	}
	centroids->dims = dims;
	centroids->count = count;
	centroids->places =
		MemoryContextAllocHuge(CurrentMemoryContext, (Size) count * dims * sizeof(float));
	for (i = 0; i < count; i++)
		hybrid_parent_entries_place(below, i, centroids->places + (Size) i * dims);
	hybrid_group(centroids, groups, order, CurrentMemoryContext);
	pfree(centroids->places);
	pfree(centroids->group_places);
}

/* set_root: set the root, the height and the number of leaves in the meta page. */
static void
set_root(HybridMeta *meta, HybridLink root, int leaves, int level)
{
	meta->leaves = leaves;
	meta->root = root.head;
	meta->root_generation = root.generation;
	meta->height = (uint16) level;
}
