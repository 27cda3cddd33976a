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

/* minimum number of queries to measure recall with, if the index has as many rows */
#define HYBRID_QUERIES_LEAST 100

/* HybridQueries: queries to measure recall with: rows of an index, or queries of a user. */
typedef struct HybridQueries
{
	int kept;
	/* number of queries that are run; they are evenly spaced among the kept queries */
	int count;
	const float *center; /* vector that the places are relative to */
	float *places;       /* places of the queries; kept * dims numbers */
	/* heap positions of the rows; NULL if the queries are not rows of the index */
	int64 *positions;
} HybridQueries;

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
 * hybrid_sample_query: return which row of the sample is query number `query`. Queries are evenly spaced.
 */
static inline int64
hybrid_sample_query(const HybridSample *sample, int queries, int query)
{
	return query * sample->total / queries;
}

/*
 * hybrid_sample_is_query: test whether row `number` of the sample is a query. If half of the sample or
 * more are queries, no row counts as one.
 */
static inline bool
hybrid_sample_is_query(const HybridSample *sample, int queries, int64 number)
{
	int query = (int) ((number * queries + sample->total - 1) / sample->total);

	return queries * 2 < sample->total && query < queries &&
	       hybrid_sample_query(sample, queries, query) == number;
}

/*
 * hybrid_sample_take_queries: copy queries->kept evenly spaced rows of the sample as queries. The caller has
 * allocated the arrays. Each process of a team copies its own rows.
 */
extern void
hybrid_sample_take_queries(const HybridSample *sample, Size dims, HybridQueries *queries);

/* hybrid_sample_largest: return the largest magnitude of any coordinate of this process's rows. */
extern float hybrid_sample_largest(const HybridSample *sample, int dims);

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
	BufferAccessStrategy strategy; /* NULL if the file fits in shared buffers */
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
	HybridLeaves leaves; /* rows on their way into leaves */
	double heap_tuples;
	HybridTeam *team;
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

/* build_rows.c */

/*
 * hybrid_build_scan: scan the table with all processes, assign the rows to lists, and sort them into
 * build->leaves. The leader merges the sorts.
 */
extern void hybrid_build_scan(HybridBuild *build);

/* build_write.c */

/*
 * hybrid_build_write: write the leaves from the sort, and the inner lists above them. Then set the tree
 * in the meta page. Only the leader calls it.
 */
extern void hybrid_build_write(HybridBuild *build, HybridMeta *meta);

/* build_cluster.c */

/*
 * hybrid_cluster: compute build->centroids from the sample, with all processes, so that few lists are
 * longer than list_size. Computes no centroids if one list is enough.
 */
extern void hybrid_cluster(HybridBuild *build, const HybridSample *sample);

/*
 * hybrid_cluster_rows: compute centroids like hybrid_cluster, from a sample that this process took alone.
 * `queries` rows of it, evenly spaced, are not used. The centroids are in the current memory context.
 */
extern void hybrid_cluster_rows(HybridCentroids *centroids, const HybridIndex *open,
                                HybridSample *sample, int queries);

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
