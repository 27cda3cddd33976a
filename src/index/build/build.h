/*
 * build.h
 *		Declarations shared by the files of CREATE INDEX.
 */
#ifndef HYBRID_INDEX_BUILD_H
#define HYBRID_INDEX_BUILD_H

#include "access/genam.h"
#include "nodes/execnodes.h"
#include "port/atomics.h"
#include "storage/bufmgr.h"

#include "index/build/leaves.h"
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
#define HYBRID_PHASE_SEGMENTS 7
#define HYBRID_PHASE_LOG 8
#define HYBRID_PHASE_MEASURE 9

/* minimum number of queries with which the recall is measured; an index with fewer rows has fewer */
#define HYBRID_QUERIES_LEAST 100

/*
 * HybridQueries: queries with which the recall is measured. They are rows of an index, or queries of a
 * user.
 */
typedef struct HybridQueries
{
	int kept;
	/* number of queries that are run; they are evenly spaced among the `kept` queries */
	int count;
	const float *center; /* vector that was subtracted from each query */
	float *places;       /* the queries minus `center`; kept * dims numbers */
	/* heap positions of the rows; NULL if the queries are not rows of the index */
	int64 *positions;
} HybridQueries;

/* HybridSampleChunk: consecutive rows of the sample, all held by one process. */
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
	float *places;    /* the rows minus the center; rows * dims numbers */
	int64 *positions; /* heap position of each row: server/position.h */
	int64 rows;
	int64 total; /* number of rows of all processes */
	/*
	 * estimated number of rows of the table; computed from the sample, because the table's statistics
	 * may be stale or missing
	 */
	double tuples;
	/* coordinates are rounded to multiples of this before they are summed, so that sums are exact */
	double grid;
	HybridSampleChunk *chunk;
	int chunks;
	int chunks_allocated;
} HybridSample;

/*
 * hybrid_sample_plan: plan the number of rows and blocks of the sample, the maximum number of lists,
 * and the number of queries.
 */
extern void hybrid_sample_plan(const struct HybridBuild *build, HybridBuildPlan *plan);

/*
 * hybrid_sample_table: sample random rows of the table, in at most half of maintenance_work_mem.
 * Computes the center of the index, which is the mean of the sample, and subtracts it from each row.
 * Applies index expressions and predicates.
 */
extern void hybrid_sample_table(struct HybridBuild *build, HybridSample *sample);

/*
 * hybrid_sample_find: return the index in sample->places of row `number` of the whole sample, or -1 if
 * another process holds that row. *chunk is 0 on the first call. Later calls with ascending numbers
 * continue from *chunk.
 */
extern int64 hybrid_sample_find(const HybridSample *sample, int64 number, int *chunk);

/*
 * hybrid_sample_query: return the number of the sample's row that is query number `query`. Queries are
 * evenly spaced.
 */
static inline int64
hybrid_sample_query(const HybridSample *sample, int queries, int query)
{
	return query * sample->total / queries;
}

/*
 * hybrid_sample_is_query: test whether row `number` of the sample is a query, which does not contribute
 * to centroids. Returns false for all rows if half of the sample or more are queries.
 */
static inline bool
hybrid_sample_is_query(const HybridSample *sample, int queries, int64 number)
{
	int query = (int) ((number * queries + sample->total - 1) / sample->total);

	return queries * 2 < sample->total && query < queries &&
	       hybrid_sample_query(sample, queries, query) == number;
}

/*
 * hybrid_sample_take_queries: copy queries->kept evenly spaced rows of the sample to the arrays of
 * `queries`. The caller has allocated the arrays. Each process of a team copies the rows that it holds.
 */
extern void
hybrid_sample_take_queries(const HybridSample *sample, Size dims, HybridQueries *queries);

/* hybrid_sample_largest: return the largest absolute value of a coordinate of this process's rows. */
extern float hybrid_sample_largest(const HybridSample *sample, int dims);

/*
 * HybridAppender: a sink that extends the file. It reserves list pages in runs of adjacent blocks,
 * because searches read many list pages and few other pages.
 */
typedef struct HybridAppender
{
	HybridSink sink; /* must be first: it is cast to HybridAppender */
	Relation index;
	BlockNumber reserved;
	BlockNumber extent; /* next free block of the current run of list pages */
	BlockNumber extent_end;
	BlockNumber written;
	BufferAccessStrategy strategy; /* NULL if the file takes at most half of shared buffers */
} HybridAppender;

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
	HybridLeaves leaves; /* rows that are being assigned to leaves and sorted */
	double heap_tuples;
	HybridTeam *team;
	float *widened; /* space for one vector */
	/* used by the leader, which writes the file */
	HybridAppender appender;
	HybridQueries queries; /* rows that are the queries of the recall measurement at the end */
} HybridBuild;

/* build.c */

/* hybrid_build_as_worker: do a worker's part of the build. */
extern void hybrid_build_as_worker(HybridBuild *build);

/* build_file.c */

extern void hybrid_appender_init(HybridAppender *appender, Relation index, double blocks);

/* hybrid_appender_put: append a page that belongs to no list. Returns its block. */
extern BlockNumber hybrid_appender_put(HybridAppender *appender, HybridPageKind kind, Page image);

extern void hybrid_appender_finish(HybridAppender *appender);

/* build_rows.c */

/*
 * hybrid_build_scan: scan the table with all processes, assign the rows to lists, and sort them in
 * build->leaves. The leader merges the sorts.
 */
extern void hybrid_build_scan(HybridBuild *build);

/* build_write.c */

/*
 * hybrid_build_write: write the leaves in the order of the sort, and the inner lists above them. Then
 * set the root, height and number of leaves in the meta page. Only the leader calls it.
 */
extern void hybrid_build_write(HybridBuild *build, HybridMeta *meta);

/* build_cluster.c */

/*
 * hybrid_cluster: compute build->centroids from the sample, with all processes, so that few lists are
 * longer than list_size. Computes no centroids if the table is estimated to have at most list_size
 * rows.
 */
extern void hybrid_cluster(HybridBuild *build, const HybridSample *sample);

/*
 * hybrid_cluster_rows: compute centroids like hybrid_cluster, from a sample that this process took
 * alone. `queries` evenly spaced rows do not contribute, unless they are half of the sample or more.
 * The centroids are in the current memory context.
 */
extern void hybrid_cluster_rows(HybridCentroids *centroids, const HybridIndex *open,
                                HybridSample *sample, int queries);

/* calibrate.c */

/* hybrid_calibrate_bytes: return the size in bytes of team->measured for this number of queries. */
extern Size hybrid_calibrate_bytes(int queries);

/*
 * hybrid_calibrate_begin: initialize team->measured. One process calls it before the other processes call
 * hybrid_calibrate.
 */
extern void hybrid_calibrate_begin(HybridTeam *team);

/*
 * hybrid_calibrate: measure the recall curve of a written index with `rows` rows. All processes of the
 * team search the index for the queries. The curve has no points if there are no queries, or if no
 * query has a neighbor.
 */
extern void hybrid_calibrate(HybridCurve *curve, Relation index, const HybridIndex *open,
                             HybridTeam *team, const HybridQueries *queries, double rows);

/*
 * hybrid_calibrate_queries: return the number of queries for an index with this many rows, at most
 * `most`. Above HYBRID_QUERIES_LEAST, their memory and the number of rows that they score are limited,
 * too.
 */
extern int hybrid_calibrate_queries(double rows, int dims, int64 most);

/* callbacks of IndexAmRoutine */
extern IndexBuildResult *hybridbuild(Relation heap, Relation index, IndexInfo *info);
extern void hybridbuildempty(Relation index);
extern char *hybridbuildphasename(int64 phase);

#endif
