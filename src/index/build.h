/*
 * build.h
 *		What the parts of CREATE INDEX share.
 */
#ifndef HYBRID_INDEX_BUILD_H
#define HYBRID_INDEX_BUILD_H

#include "access/genam.h"
#include "executor/tuptable.h"
#include "port/atomics.h"
#include "storage/bufmgr.h"
#include "utils/tuplesort.h"

#include "index/compose.h"

/* Phases of pg_stat_progress_create_index, after PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE, which is 1. */
#define HYBRID_PHASE_SAMPLE 2
#define HYBRID_PHASE_CLUSTER 3
#define HYBRID_PHASE_ASSIGN 4
#define HYBRID_PHASE_SORT 5
#define HYBRID_PHASE_WRITE 6
#define HYBRID_PHASE_LOG 7
#define HYBRID_PHASE_MEASURE 8

/* HybridSample: places of rows, relative to the centre that they gave. */
typedef struct HybridSample
{
	float *centre;    /* dims */
	float *places;    /* rows * dims */
	int64 *positions; /* rows: server/position.h */
	int64 rows;
	double stands_for; /* rows of the table for each */
} HybridSample;

/*
 * hybrid_sample_table: random rows of the table, at most as many as fit `bytes`, with the centre in
 * their mean.  Index expressions and predicates are heeded.
 */
extern void hybrid_sample_table(HybridSample *sample, Relation heap, Relation index,
                                IndexInfo *info, const HybridIndex *definition, Size bytes);

/* HybridCentroids: of lists to be, and neighbouring ones in groups. */
typedef struct HybridCentroids
{
	int dims;
	int count;
	float *places; /* count * dims, those of one group after those of another */
	int groups;
	float *group_places; /* groups * dims */
	int *group_begin;    /* groups + 1: first centroid of each */
} HybridCentroids;

/*
 * HybridAppender: a sink that makes the file longer.  List pages lie together, some at a time, since
 * searches go through many of them and few others.
 */
typedef struct HybridAppender
{
	HybridSink sink; /* first: it is what others see */
	Relation index;
	BlockNumber reserved;
	BlockNumber extent; /* of list pages: the next */
	BlockNumber extent_end;
	BlockNumber written;
	BufferAccessStrategy strategy; /* NULL: the file fits in shared buffers */
} HybridAppender;

/* HybridRowSort: rows of the table, by list, and within a list by heap position. */
typedef struct HybridRowSort
{
	const HybridLayout *layout;
	Tuplesortstate *state;
	TupleTableSlot *given;
	TupleTableSlot *taken;
	bytea *payload;
} HybridRowSort;

/* HybridBuild: an index being built, by whoever scans the table for it. */
typedef struct HybridBuild
{
	Relation heap;
	Relation index;
	IndexInfo *info;
	HybridIndex definition;
	HybridFrame frame;
	HybridCentroids centroids; /* of lists to be; none: one list */
	int64 *list_rows;          /* of each list to be */
	double stored;             /* rows, of all lists */
	double heap_tuples;
	HybridRowSort sort;
	struct HybridTeam *team;    /* who scans with us, or NULL */
	pg_atomic_uint64 *assigned; /* rows so far, of all who scan; NULL: we are alone */
	/* rows waiting to be assigned */
	MemoryContext row_context; /* reset for every row */
	int batch_rows;
	int batch_size;
	HybridEntry *batch;
	float *batch_places;
	int *batch_lists;
	float *widened; /* room for one vector */
	/* of who writes */
	HybridAppender appender;
	HybridSample queries; /* rows to be searched for in the end */
} HybridBuild;

/* build_file.c */

extern void hybrid_appender_init(HybridAppender *appender, Relation index, double blocks);

/* hybrid_appender_put: a page that belongs to no list; its number. */
extern BlockNumber hybrid_appender_put(HybridAppender *appender, HybridPageKind kind, Page image);

extern void hybrid_appender_finish(HybridAppender *appender);

/* build_sort.c */

/* hybrid_row_sort_begin: with so many kB; coordinate as of tuplesort_begin_heap, NULL: alone. */
extern void hybrid_row_sort_begin(HybridRowSort *sort, const HybridLayout *layout, int kilobytes,
                                  SortCoordinate coordinate);
extern void hybrid_row_sort_put(HybridRowSort *sort, int list, const HybridEntry *entry);

/* hybrid_row_sort_next: the next row, once all are put and sorted; vector has layout.stride bytes. */
extern void
hybrid_row_sort_next(HybridRowSort *sort, int64 *position, HybridStored *stored, void *vector);
extern void hybrid_row_sort_end(HybridRowSort *sort);

/* build_rows.c */

/* hybrid_build_begin_rows, hybrid_build_end_rows: around a scan; `share` of them share the memory. */
extern void hybrid_build_begin_rows(HybridBuild *build, int share, SortCoordinate coordinate);
extern void hybrid_build_end_rows(HybridBuild *build);

/* hybrid_build_add_row: the callback of the scan. */
extern void hybrid_build_add_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
                                 bool alive, void *arg);

/* build_parallel.c */

/*
 * hybrid_build_scan: all rows of the table go to build->sort, by whoever of the workers that there may
 * be comes first, and are sorted.  hybrid_build_scan_end: once they are read.
 */
extern void hybrid_build_scan(HybridBuild *build);
extern void hybrid_build_scan_end(HybridBuild *build);

/* build_write.c */

/* hybrid_build_write: lists from the sort, and the lists above; what the meta page says of them. */
extern void hybrid_build_write(HybridBuild *build, HybridMeta *meta);

/* build_cluster.c */

/*
 * hybrid_cluster: centroids for lists that seldom have more than `list_size` rows, from the sample; none
 * when that is one list.
 */
extern void hybrid_cluster(HybridCentroids *centroids, const HybridSample *sample, int dims,
                           int list_size, MemoryContext context);

#define HYBRID_FEW_CENTROIDS 256 /* that need no groups to be assigned to */

/*
 * hybrid_cut: centroids for the parts of a list of so many rows, none of which is to have more than
 * list_size, unless they cannot be told apart.
 */
extern void hybrid_cut(HybridCentroids *centroids, const float *places, int count, int dims,
                       int list_size, MemoryContext context);

/*
 * hybrid_group: puts centroids in at most `groups` groups, and in their order; order[i], unless NULL,
 * is which one it was that is number i now.
 */
extern void hybrid_group(HybridCentroids *centroids, int groups, int *order, MemoryContext context);

/* hybrid_mean: of the rows with these numbers. */
extern void hybrid_mean(const float *places, const int *rows, int count, int dims, float *mean);

/* build_assign.c */

extern HyMatrix hybrid_places_matrix(const float *places, int64_t rows, int dims);

/* hybrid_assign: nearest[i], the centroid nearest to place i, for `rows` of them. */
extern void
hybrid_assign(const HybridCentroids *centroids, const float *places, int64 rows, int *nearest);

/*
 * hybrid_measure: the curve of an index that is written, which has so many rows, by searching
 * for `queries` rows of the sample in it, or fewer.  Returns how many points it has, 0: too few rows to learn from.
 */
extern int hybrid_measure(HybridCurvePoint *curve, Relation index, const HybridIndex *open,
                          const HybridSample *sample, double rows, int queries);

#endif
