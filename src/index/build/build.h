/*
 * build.h
 *		What the parts of CREATE INDEX share.
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

/* Phases of pg_stat_progress_create_index, after PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE, which is 1. */
#define HYBRID_PHASE_SAMPLE 2
#define HYBRID_PHASE_CLUSTER 3
#define HYBRID_PHASE_ASSIGN 4
#define HYBRID_PHASE_SORT 5
#define HYBRID_PHASE_WRITE 6
#define HYBRID_PHASE_LOG 7
#define HYBRID_PHASE_MEASURE 8
#define HYBRID_PHASE_READ 9

/* HybridSampleChunk: rows of the sample that one process has, one after the other. */
typedef struct HybridSampleChunk
{
	int number;
	int64 first;           /* among the process's */
	int64 number_of_first; /* among all */
} HybridSampleChunk;

/* HybridSample: random rows of the table, of which each process has some. */
typedef struct HybridSample
{
	float *centre;    /* dims: the mean of all */
	float *places;    /* rows * dims: relative to the centre */
	int64 *positions; /* rows: server/position.h */
	int64 rows;
	int64 total;   /* rows, of all processes */
	double tuples; /* of the table, by these: its statistics may be of another table, or none */
	double grid;   /* for sums of places */
	HybridSampleChunk *chunk;
	int chunks;
	int chunks_allocated;
} HybridSample;

/* hybrid_sample_plan: how many rows, and how many lists there will be; room for the queries. */
extern void hybrid_sample_plan(const struct HybridBuild *build, HybridBuildPlan *plan);

/*
 * hybrid_sample_table: random rows of the table, at most as many as fit half of the memory, with the
 * centre in their mean.  Index expressions and predicates are heeded.
 */
extern void hybrid_sample_table(struct HybridBuild *build, HybridSample *sample);

/*
 * hybrid_sample_find: which of this process's rows is that number of all; -1: somebody else's.  *chunk
 * is 0 at first and for larger and larger numbers from there on.
 */
extern int64 hybrid_sample_find(const HybridSample *sample, int64 number, int *chunk);

/*
 * hybrid_sample_query: the number in the sample of a query, of so many, evenly spaced.
 * hybrid_sample_is_query: whether a number is one of those, where queries are less than half of the rows.
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

/* hybrid_sample_largest: of the magnitudes of all numbers of this process's rows. */
extern float hybrid_sample_largest(const HybridSample *sample, int dims);

#define HYBRID_LISTS_A_LIST 1.6 /* for as many rows as one may have, at first */

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
	BlockNumber highest;           /* that was reserved */
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

#define HYBRID_QUERIES_LEAST 100 /* that recall is measured by, where there are so many */

/* HybridQueries: rows of an index, or queries of a user, that are searched for in it. */
typedef struct HybridQueries
{
	int kept;
	int count;           /* of them that are searched for, evenly spaced */
	const float *centre; /* that places are relative to */
	float *places;       /* kept * dims */
	int64 *positions;    /* of the rows; NULL: these are not rows of the index */
} HybridQueries;

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
	bool kept;                 /* they are in memory: team->kept */
	double heap_tuples;
	HybridRowSort sort;
	HybridTeam *team;
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
	HybridQueries queries; /* rows to be searched for in the end */
} HybridBuild;

/* build.c */

/* hybrid_build_help: what a worker does. */
extern void hybrid_build_help(HybridBuild *build);

/* build_file.c */

extern void hybrid_appender_init(HybridAppender *appender, Relation index, double blocks);

/* hybrid_appender_put: a page that belongs to no list; its number. */
extern BlockNumber hybrid_appender_put(HybridAppender *appender, HybridPageKind kind, Page image);

extern void hybrid_appender_finish(HybridAppender *appender);

/*
 * hybrid_appender_place: a page anywhere in a file that has or will have so many, by one of several who
 * write it.
 */
extern void
hybrid_appender_place(HybridAppender *appender, BlockNumber blocks, BlockNumber block, Page image);

/* build_keep.c */

/* HybridKeptRow: a row in memory; the vector has layout.stride bytes. */
typedef struct HybridKeptRow
{
	int64 position; /* server/position.h */
	HybridStored stored;
	char vector[FLEXIBLE_ARRAY_MEMBER];
} HybridKeptRow;

static inline Size
hybrid_kept_row_bytes(const HybridLayout *layout)
{
	return MAXALIGN(offsetof(HybridKeptRow, vector) + layout->stride);
}

/* hybrid_kept_row, hybrid_kept_lists: of a chunk, whose rows are there. */
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

/* hybrid_keep_plan: whether rows are to be kept, by what hybrid_sample_plan expects. */
extern void hybrid_keep_plan(const HybridBuild *build, HybridBuildPlan *plan);

/* hybrid_keep_no_room: that it is so is told. */
extern void hybrid_keep_no_room(const HybridBuild *build);

/* hybrid_keep_rows: reads the table, by all of the team; false: nothing is kept. */
extern bool hybrid_keep_rows(HybridBuild *build);

/*
 * hybrid_keep_assign: kept rows find their lists, by all of the team; then shared->order has them list by
 * list.
 */
extern void hybrid_keep_assign(HybridBuild *build);

/* hybrid_kept_place: of a kept row. */
extern void hybrid_kept_place(HybridBuild *build, const HybridFrame *frame,
                              const HybridKeptRow *row, float *place);

/* hybrid_keep_end: forgets them, once all have come here. */
extern void hybrid_keep_end(HybridBuild *build);

/* hybrid_keep_give_up: the same before they are written: the table is read again. */
extern void hybrid_keep_give_up(HybridBuild *build);

/* build_lay.c */

/*
 * hybrid_build_lay: lists of kept rows, written by all of the team; meta is the leader's, else NULL.  false:
 * there was no room to say where they are, and nothing is written.
 */
extern bool hybrid_build_lay(HybridBuild *build, HybridMeta *meta);

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
 * hybrid_build_scan: all rows of the table go to build->sort, by whoever of the team comes first, and
 * are sorted by the leader.  hybrid_build_scan_end: once they are read.
 */
extern void hybrid_build_scan(HybridBuild *build);
extern void hybrid_build_scan_end(HybridBuild *build);

/* hybrid_build_add_up: what all have found becomes the build's. */
extern void hybrid_build_add_up(HybridBuild *build);

/* build_write.c */

/* HybridBuiltLists: the lists of one level. */
typedef struct HybridBuiltLists
{
	bool central; /* the centre is the centroid of the only one */
	int count;
	int allocated;
	HybridLink *links;
	float *places; /* as they are stored: count * dims */
	float *radii;
} HybridBuiltLists;

/* HybridLoadedRows: rows of one list, in memory. */
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
 * hybrid_load_most: how many rows of a list are loaded at a time.  hybrid_load_few: how many one of so many
 * processes may load while others do; perhaps none.
 */
extern int hybrid_load_most(const HybridBuild *build);
extern int hybrid_load_few(const HybridBuild *build, int share);

/* hybrid_load_begin: none are loaded, and there is room for so many. */
extern void hybrid_load_begin(const HybridBuild *build, HybridLoadedRows *rows, int most);

/* hybrid_load_end: forgets all of them. */
extern void hybrid_load_end(HybridLoadedRows *rows);

/*
 * hybrid_load_cut: order[i], which row is number i, part by part, of a list that needs parts; *sizes
 * becomes how many each has; returns how many parts there are.
 */
extern int
hybrid_load_cut(const HybridBuild *build, const HybridLoadedRows *rows, int *order, int **sizes);

/* hybrid_write_leaf: the rows with these numbers become a list; its mean, and its radius. */
extern HybridLink
hybrid_write_leaf(HybridBuild *build, HybridSink *sink, HybridLoadedRows *rows, const int *order,
                  int count, bool central, float *mean, float *radius);

/* hybrid_keep_list: one more of a level. */
extern void hybrid_keep_list(HybridBuild *build, HybridBuiltLists *lists, HybridLink link,
                             const float *place, float radius);

/*
 * hybrid_write_levels: lists of lists, until there is one; and what the meta page says of it all.  Forgets
 * these.
 */
extern void hybrid_write_levels(HybridBuild *build, HybridBuiltLists *lists, HybridMeta *meta);

/* hybrid_build_write: lists from the sort, and the lists above; what the meta page says of them. */
extern void hybrid_build_write(HybridBuild *build, HybridMeta *meta);

/* build_cluster.c */

/*
 * hybrid_cluster: build->centroids, for lists that seldom have more rows than they may, from the sample,
 * by all of the team; none when that is one list.
 */
extern void hybrid_cluster(HybridBuild *build, const HybridSample *sample);

/*
 * hybrid_cluster_rows: the same for rows that this process has: places, of which there are `tuples` in all,
 * and so many `queries`, evenly spaced, that have no part in it; centroids in the current memory context.
 */
extern void hybrid_cluster_rows(HybridCentroids *centroids, const HybridIndex *open, float *places,
                                int64 rows, double tuples, int queries);

#define HYBRID_FEW_CENTROIDS 2048 /* that need no groups to be assigned to */

/*
 * hybrid_cut_rows: which of so many rows make which list: order becomes their numbers, list by list, and
 * *sizes, in the current memory context, how many each has, maybe none; returns how many lists there are.
 * Rows that cannot be told apart become several, evenly: their list would be too long to be split.
 */
extern int
hybrid_cut_rows(const float *places, int count, int dims, int list_size, int *order, int **sizes);

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

/* calibrate.c */

/* hybrid_calibrate_bytes: of team->measured, for so many queries. */
extern Size hybrid_calibrate_bytes(int queries);

/* hybrid_calibrate_begin: by one of the team, before the others come to hybrid_calibrate. */
extern void hybrid_calibrate_begin(HybridTeam *team);

/*
 * hybrid_calibrate: the curve of an index that is written and has so many rows, by searching for these rows or queries in it, by
 * all of the team.  Returns how many points it has, 0: too few rows to learn from.
 */
extern int hybrid_calibrate(HybridCurvePoint *curve, Relation index, const HybridIndex *open,
                            HybridTeam *team, const HybridQueries *queries, double rows);

/*
 * hybrid_calibrate_queries: how many queries to search for in an index of so many rows, as far as memory goes;
 * `most` at most.
 */
extern int hybrid_calibrate_queries(double rows, int dims, int64 most);

/* Callbacks of IndexAmRoutine. */
extern IndexBuildResult *hybridbuild(Relation heap, Relation index, IndexInfo *info);
extern void hybridbuildempty(Relation index);
extern char *hybridbuildphasename(int64 phase);

#endif
