/*
 * build.h
 *		Declarations shared by the files of CREATE INDEX.
 */
#ifndef HYBRID_INDEX_BUILD_H
#define HYBRID_INDEX_BUILD_H

#include "access/genam.h"
#include "executor/tuptable.h"
#include "nodes/execnodes.h"
#include "port/atomics.h"
#include "storage/bufmgr.h"
#include "utils/tuplesort.h"

#include "index/page/new_list.h"
#include "index/build/team.h"

/*
 * Phases of pg_stat_progress_create_index, after PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE, which is
 * 1.
 */
#define HYBRID_PHASE_SAMPLE 2
#define HYBRID_PHASE_CLUSTER 3
#define HYBRID_PHASE_ASSIGN 4
#define HYBRID_PHASE_SORT 5
#define HYBRID_PHASE_WRITE 6
#define HYBRID_PHASE_LOG 7
#define HYBRID_PHASE_MEASURE 8
#define HYBRID_PHASE_READ 9

/* HybridSampleChunk: consecutive rows of the sample that one process holds. */
typedef struct HybridSampleChunk
{
	int number;
	int64 first;           /* number of the chunk's first row in this process */
	int64 number_of_first; /* number of the chunk's first row in the whole sample */
} HybridSampleChunk;

/* HybridSample: random rows of the table, distributed over the processes. */
typedef struct HybridSample
{
	float *center;    /* mean of the sample; dims numbers */
	float *places;    /* places of the rows, relative to the center; rows * dims numbers */
	int64 *positions; /* heap position of each row: server/position.h */
	int64 rows;
	int64 total; /* number of rows of all processes */
	/*
	 * rows of the table, estimated from the sample because the table's statistics may be stale or missing
	 */
	double tuples;
	double grid; /* grid to which places are rounded, so that sums are exact */
	HybridSampleChunk *chunk;
	int chunks;
	int chunks_allocated;
} HybridSample;

/*
 * hybrid_sample_plan: plan the size of the sample, the maximum number of lists, the number of queries,
 * and the blocks to sample.
 */
extern void hybrid_sample_plan(const struct HybridBuild *build, HybridBuildPlan *plan);

/*
 * hybrid_sample_table: sample random rows of the table, limited to half of the memory. The places are
 * relative to the center, which is the mean of the sample. Index expressions and predicates are applied.
 */
extern void hybrid_sample_table(struct HybridBuild *build, HybridSample *sample);

/*
 * hybrid_sample_find: return the number, within this process, of row `number` of the whole sample, or -1
 * if another process holds it. *chunk is 0 on the first call. Later calls with ascending numbers continue
 * from *chunk.
 */
extern int64 hybrid_sample_find(const HybridSample *sample, int64 number, int *chunk);

/*
 * hybrid_sample_query: return the number, in the sample, of query number `query`. Queries are evenly
 * spaced. hybrid_sample_is_query: test whether a row of the sample is a query. The result is false for
 * all rows unless fewer than half of them are queries.
 */
static inline int64
hybrid_sample_query(const HybridSample *sample, int queries, int query)
{
	return query * sample->total / queries;
}

static inline bool
hybrid_sample_is_query(const HybridSample *sample, int queries, int64 number)
{
	int query = (int) ((number * queries + sample->total - 1) / sample->total);

	return queries * 2 < sample->total && query < queries &&
	       hybrid_sample_query(sample, queries, query) == number;
}

/* hybrid_sample_largest: return the largest magnitude of any coordinate of this process's rows. */
extern float hybrid_sample_largest(const HybridSample *sample, int dims);

#define HYBRID_LISTS_A_LIST 1.6 /* lists of a new index per list_size rows */

/* HybridCentroids: centroids of the planned lists. Neighboring centroids form groups. */
typedef struct HybridCentroids
{
	int dims;
	int count;
	float *places; /* count * dims numbers, group by group */
	int groups;
	float *group_places; /* centroids of the groups; groups * dims numbers */
	int *group_begin;    /* first centroid of each group, and the end; groups + 1 numbers */
} HybridCentroids;

/*
 * HybridAppender: a sink that extends the file. List pages are placed together, several at a time,
 * because searches read many of them and few other pages.
 */
typedef struct HybridAppender
{
	HybridSink sink; /* must be first: callers see only this */
	Relation index;
	BlockNumber reserved;
	BlockNumber extent; /* next page of the extent of list pages */
	BlockNumber extent_end;
	BlockNumber written;
	BlockNumber highest;           /* highest block that was reserved */
	BufferAccessStrategy strategy; /* NULL if the file fits in shared buffers */
} HybridAppender;

/* HybridRowSort: sorts rows by list, and within a list by heap position. */
typedef struct HybridRowSort
{
	const HybridLayout *layout;
	Tuplesortstate *state;
	TupleTableSlot *given;
	TupleTableSlot *taken;
	bytea *payload;
} HybridRowSort;

/* minimum number of queries to measure recall with, if the index has as many rows */
#define HYBRID_QUERIES_LEAST 100

/* HybridQueries: queries to measure recall with: rows of an index, or queries of a user. */
typedef struct HybridQueries
{
	int kept;
	/* number of queries that are searched for, evenly spaced among those kept */
	int count;
	const float *center; /* vector that the places are relative to */
	float *places;       /* places of the queries; kept * dims numbers */
	/* heap positions of the rows; NULL if the queries are not rows of the index */
	int64 *positions;
} HybridQueries;

/* HybridBuild: an index being built, as one process sees it. */
typedef struct HybridBuild
{
	Relation heap;
	Relation index;
	IndexInfo *info;
	HybridIndex definition;
	HybridFrame frame;
	/* centroids of the planned lists; if there are none, there is one list */
	HybridCentroids centroids;
	int64 *list_rows; /* number of rows of each planned list */
	double stored;    /* number of rows in all lists */
	bool kept;        /* true if the rows are in memory, in team->kept */
	double heap_tuples;
	HybridRowSort sort;
	HybridTeam *team;
	/* batch of rows to be assigned to lists */
	MemoryContext row_context; /* reset for every row */
	int batch_rows;
	int batch_size;
	HybridEntry *batch;
	float *batch_places;
	int *batch_lists;
	float *widened; /* space for one vector */
	/* used by the process that writes */
	HybridAppender appender;
	HybridQueries queries; /* rows to measure recall with at the end */
} HybridBuild;

/* build.c */

/* hybrid_build_as_worker: do a worker's part of the build. */
extern void hybrid_build_as_worker(HybridBuild *build);

/* build_file.c */

extern void hybrid_appender_init(HybridAppender *appender, Relation index, double blocks);

/* hybrid_appender_put: append a page that belongs to no list. Returns its block. */
extern BlockNumber hybrid_appender_put(HybridAppender *appender, HybridPageKind kind, Page image);

extern void hybrid_appender_finish(HybridAppender *appender);

/*
 * hybrid_appender_place: write a page at any position of a file that has, or will have, this number of
 * blocks. Several processes may write to the file at the same time.
 */
extern void
hybrid_appender_place(HybridAppender *appender, BlockNumber blocks, BlockNumber block, Page image);

/* build_keep.c */

/* HybridKeptRow: a row in memory; the vector has layout.stride bytes. */
typedef struct HybridKeptRow
{
	int64 position; /* heap position of the row: server/position.h */
	HybridStored stored;
	char vector[FLEXIBLE_ARRAY_MEMBER];
} HybridKeptRow;

static inline Size
hybrid_kept_row_bytes(const HybridLayout *layout)
{
	return MAXALIGN(offsetof(HybridKeptRow, vector) + layout->stride);
}

/*
 * hybrid_kept_row, hybrid_kept_lists: return a row of a chunk, or the list numbers of the chunk's rows.
 * `rows` is the address of the chunk in this process.
 */
static inline const HybridKeptRow *
hybrid_kept_row(const HybridLayout *layout, const char *rows, int number)
{
	return (const HybridKeptRow *) (const void *) (rows + number * hybrid_kept_row_bytes(layout));
}

static inline int32 *
hybrid_kept_lists(const HybridLayout *layout, const HybridKeptChunk *chunk, const char *rows)
{
	return (int32 *) (uintptr_t) (rows + chunk->count * hybrid_kept_row_bytes(layout));
}

/*
 * hybrid_keep_plan: decide, from the estimates of hybrid_sample_plan, whether to keep all rows in memory.
 */
extern void hybrid_keep_plan(const HybridBuild *build, HybridBuildPlan *plan);

/* hybrid_keep_report_no_memory: report, at level DEBUG1, that there is no memory to keep rows. */
extern void hybrid_keep_report_no_memory(const HybridBuild *build);

/* hybrid_keep_rows: read the table into memory, with all processes. Returns false if no rows are kept. */
extern bool hybrid_keep_rows(HybridBuild *build);

/*
 * hybrid_keep_assign: assign the kept rows to lists, with all processes. Afterwards shared->order has the
 * rows list by list.
 */
extern void hybrid_keep_assign(HybridBuild *build);

/* hybrid_kept_place: compute the place of a kept row. */
extern void hybrid_kept_place(HybridBuild *build, const HybridFrame *frame,
                              const HybridKeptRow *row, float *place);

/* hybrid_keep_end: wait for all processes, and then free the kept rows. */
extern void hybrid_keep_end(HybridBuild *build);

/* hybrid_keep_give_up: free the kept rows before they are written. The table is then read again. */
extern void hybrid_keep_give_up(HybridBuild *build);

/* build_write_kept.c */

/*
 * hybrid_build_write_kept: write the lists of the kept rows, with all processes. meta is NULL in workers.
 * Returns false, without having written anything, if memory does not suffice to record the written lists.
 */
extern bool hybrid_build_write_kept(HybridBuild *build, HybridMeta *meta);

/* build_sort.c */

/*
 * hybrid_row_sort_begin: begin a sort with this much memory. coordinate is as for tuplesort_begin_heap;
 * NULL means that the sort is not parallel.
 */
extern void hybrid_row_sort_begin(HybridRowSort *sort, const HybridLayout *layout, int kilobytes,
                                  SortCoordinate coordinate);
extern void hybrid_row_sort_put(HybridRowSort *sort, int list, const HybridEntry *entry);

/* hybrid_row_sort_next: get the next row in sorted order. vector has layout.stride bytes. */
extern void
hybrid_row_sort_next(HybridRowSort *sort, int64 *position, HybridStored *stored, void *vector);
extern void hybrid_row_sort_end(HybridRowSort *sort);

/* build_rows.c */

/*
 * hybrid_build_begin_rows, hybrid_build_end_rows: begin and end a table scan. `share` is the number of
 * processes that divide the memory.
 */
extern void hybrid_build_begin_rows(HybridBuild *build, int share, SortCoordinate coordinate);
extern void hybrid_build_end_rows(HybridBuild *build);

/* hybrid_build_add_row: callback of the table scan that adds a row. */
extern void hybrid_build_add_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
                                 bool alive, void *arg);

/* build_parallel.c */

/*
 * hybrid_build_scan: scan the table with all processes, assign the rows to lists, and sort them into
 * build->sort. The leader merges the sorts. hybrid_build_scan_end: end the sort, after the sorted rows
 * have been read.
 */
extern void hybrid_build_scan(HybridBuild *build);
extern void hybrid_build_scan_end(HybridBuild *build);

/* hybrid_build_add_up: add up the row counts of all processes. */
extern void hybrid_build_add_up(HybridBuild *build);

/* build_write.c */

/* HybridBuiltLists: the lists of one level. */
typedef struct HybridBuiltLists
{
	bool central; /* there is only one list, and its centroid is the center */
	int count;
	int allocated;
	HybridLink *links;
	float *places; /* places of the centroids, not yet rounded; count * dims numbers */
	float *radii;
} HybridBuiltLists;

/* HybridLoadedRows: rows of one list in memory. */
typedef struct HybridLoadedRows
{
	int count;
	int allocated;
	int64 *positions;
	HybridStored *stored;
	char *vectors;
	float *places;
} HybridLoadedRows;

/*
 * hybrid_load_most: return the maximum number of rows of a list that are loaded at a time.
 * hybrid_load_few: return the number of rows that each of `share` processes may load while the others
 * load, too. The result may be 0.
 */
extern int hybrid_load_most(const HybridBuild *build);
extern int hybrid_load_few(const HybridBuild *build, int share);

/* hybrid_load_begin: empty `rows` and allocate memory for `most` rows. */
extern void hybrid_load_begin(const HybridBuild *build, HybridLoadedRows *rows, int most);

/* hybrid_load_end: free the rows. */
extern void hybrid_load_end(HybridLoadedRows *rows);

/*
 * hybrid_load_cut: cut the rows of a list that is too long into parts. order[i] is set to the number of
 * the i-th row, part by part, and *sizes to the sizes of the parts. Returns the number of parts.
 */
extern int
hybrid_load_cut(const HybridBuild *build, const HybridLoadedRows *rows, int *order, int **sizes);

/* HybridWrittenLeaf: a leaf list that was written. */
typedef struct HybridWrittenLeaf
{
	HybridLink link;
	float radius;
	float mean[FLEXIBLE_ARRAY_MEMBER]; /* mean of the list's rows; dims numbers */
} HybridWrittenLeaf;

/* hybrid_written_leaf_bytes: return the aligned size of a HybridWrittenLeaf. */
static inline Size
hybrid_written_leaf_bytes(int dims)
{
	return MAXALIGN(offsetof(HybridWrittenLeaf, mean) + dims * sizeof(float));
}

/* hybrid_write_leaf: write the rows with these numbers as a list, and set `written`. */
extern void
hybrid_write_leaf(HybridBuild *build, HybridSink *sink, HybridLoadedRows *rows, const int *order,
                  int count, bool central, HybridWrittenLeaf *written);

/* hybrid_built_lists_add: add a list to a level. */
extern void hybrid_built_lists_add(HybridBuild *build, HybridBuiltLists *lists, HybridLink link,
                                   const float *place, float radius);

/*
 * hybrid_write_levels: write inner lists, level by level, up to the root. Then set the tree in the meta
 * page. Frees `lists`.
 */
extern void hybrid_write_levels(HybridBuild *build, HybridBuiltLists *lists, HybridMeta *meta);

/*
 * hybrid_build_write: write the leaves from the sort, and the inner lists above them. Then set the tree
 * in the meta page.
 */
extern void hybrid_build_write(HybridBuild *build, HybridMeta *meta);

/* build_cluster.c */

/*
 * hybrid_cluster: compute build->centroids from the sample, with all processes, so that few lists are
 * longer than list_size. Computes no centroids if one list is enough.
 */
extern void hybrid_cluster(HybridBuild *build, const HybridSample *sample);

/*
 * hybrid_cluster_rows: compute centroids like hybrid_cluster, for rows that this process holds. The
 * `rows` places represent `tuples` rows. `queries` of them, evenly spaced, are not used. The centroids
 * are in the current memory context.
 */
extern void hybrid_cluster_rows(HybridCentroids *centroids, const HybridIndex *open, float *places,
                                int64 rows, double tuples, int queries);

/* maximum number of centroids that are searched without groups */
#define HYBRID_FEW_CENTROIDS 2048

/*
 * hybrid_cut_rows: cut `count` rows into lists. `order` is set to the numbers of the rows, list by list.
 * *sizes, in the current memory context, is set to the sizes of the lists, which may be 0. Returns the
 * number of lists. Rows too alike to be separated are distributed evenly over several lists, because a
 * list that is too long would be split.
 */
extern int
hybrid_cut_rows(const float *places, int count, int dims, int list_size, int *order, int **sizes);

/*
 * hybrid_group: put centroids into at most `groups` groups and reorder them by group. If `order` is not
 * NULL, order[i] is set to the old number of centroid i.
 */
extern void hybrid_group(HybridCentroids *centroids, int groups, int *order, MemoryContext context);

/* hybrid_mean: compute the mean of the rows with these numbers. */
extern void hybrid_mean(const float *places, const int *rows, int count, int dims, float *mean);

/* build_assign.c */

extern HyMatrix hybrid_places_matrix(const float *places, int64_t rows, int dims);

/*
 * hybrid_assign: for each of `rows` places, set nearest[i] to the number of the centroid nearest to place
 * i.
 */
extern void
hybrid_assign(const HybridCentroids *centroids, const float *places, int64 rows, int *nearest);

/* calibrate.c */

/* hybrid_calibrate_bytes: return the size of team->measured for this number of queries. */
extern Size hybrid_calibrate_bytes(int queries);

/*
 * hybrid_calibrate_begin: initialize team->measured. One process calls it before the other processes call
 * hybrid_calibrate.
 */
extern void hybrid_calibrate_begin(HybridTeam *team);

/*
 * hybrid_calibrate: measure the recall curve of a written index with `rows` rows. All processes search
 * the index for the queries. The curve has no points if there are too few rows to measure it.
 */
extern void hybrid_calibrate(HybridCurve *curve, Relation index, const HybridIndex *open,
                             HybridTeam *team, const HybridQueries *queries, double rows);

/*
 * hybrid_calibrate_queries: return the number of queries to use for an index of this many rows. Their
 * memory is limited, and their number is at most `most`.
 */
extern int hybrid_calibrate_queries(double rows, int dims, int64 most);

/* callbacks of IndexAmRoutine */
extern IndexBuildResult *hybridbuild(Relation heap, Relation index, IndexInfo *info);
extern void hybridbuildempty(Relation index);
extern char *hybridbuildphasename(int64 phase);

#endif
