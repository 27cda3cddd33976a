/*
 * team.h
 *		The processes that build an index: the leader, and parallel workers if there are any.
 *
 * All processes take the same steps. The work of a step is divided into pieces, and each process takes
 * the next free piece. At the end of a step the processes wait for each other at a barrier. A leader
 * without workers is a team of one. The result does not depend on the number of processes.
 */
#ifndef HYBRID_INDEX_TEAM_H
#define HYBRID_INDEX_TEAM_H

#include "access/parallel.h"
#include "access/tableam.h"
#include "executor/instrument.h"
#include "port/atomics.h"
#include "storage/condition_variable.h"
#include "storage/spin.h"
#include "utils/tuplesort.h"

#include "index/page/index.h"

#define HYBRID_STRIPES 64 /* number of spinlocks for shared sums */

/* HybridBuildPlan: decisions that the leader makes before the work begins. */
typedef struct HybridBuildPlan
{
	BlockNumber blocks;  /* number of blocks of the table */
	BlockNumber sampled; /* number of blocks from which rows are sampled */
	int chunk_blocks;    /* number of sampled blocks that are read at a time */
	int chunks;
	int64 room;    /* maximum number of rows of the sample */
	double share;  /* share of the rows of the sampled blocks that is taken */
	double tuples; /* estimated number of rows of the table */
	int lists;     /* maximum number of lists; 0: one list of all rows */
	int window;    /* number of lists whose sums fit in memory at a time */
	int queries;   /* number of rows of the sample that are queries of the recall measurement */
} HybridBuildPlan;

/* HybridTeamShared: the data that all processes share. */
typedef struct HybridTeamShared
{
	/* set by the leader at the beginning */
	Oid heap;
	Oid index;
	bool concurrent;
	int share; /* number of processes that divide maintenance_work_mem */
	uint64 query_id;
	HybridBuildPlan plan;
	/* protected by mutex */
	slock_t mutex;
	int participants; /* number of processes; 0 until the leader knows it */
	int arrived;      /* number of processes that wait at the current barrier */
	uint64 barriers;
	bool broken_hot_chain;
	double heap_tuples;
	int64 stored;
	uint32 largest; /* largest magnitude in the sample, as the bits of a float */
	/* progress of the current step */
	pg_atomic_uint64 next;
	pg_atomic_uint64 done;
	ConditionVariable changed;
	/* number of rows sampled so far */
	pg_atomic_uint64 sampled;
	/* set by the leader before a barrier */
	int lists;
	int groups;
	int queries;
	double rows; /* number of rows of the index */
	slock_t stripes[HYBRID_STRIPES];
} HybridTeamShared;

/* HybridTeam: the team as one process sees it. All processes share the arrays. */
typedef struct HybridTeam
{
	HybridTeamShared *shared;
	int me; /* number of this process; 0 is the leader */
	int participants;
	int32 *chunk_rows; /* number of rows sampled from each chunk; plan.chunks numbers */
	float *places;     /* centroids of the planned lists; plan.lists * dims numbers */
	/*
	 * centroids of the groups of lists, dims numbers each, followed by the number of the first list of
	 * each group
	 */
	float *groups;
	/*
	 * sums of the rows of lists; plan.window * dims numbers. Before that, the sum of the sample; dims
	 * numbers
	 */
	double *sums;
	int64 *sum_rows; /* number of rows summed for each list; plan.lists numbers */
	/* number of rows of each list that each process read; Max(plan.lists, 1) numbers per process */
	int64 *list_rows;
	float *queries;   /* queries minus the center; plan.queries * dims numbers */
	int64 *positions; /* heap positions of the queries; plan.queries numbers */
	void *measured;   /* results of calibration; hybrid_calibrate_bytes(plan.queries) bytes */
	Sharedsort *sort; /* state of the parallel sort; NULL without workers */
	ParallelTableScanDesc scan;
	/* used by the leader only */
	ParallelContext *context;
	Snapshot snapshot;
	WalUsage *wal;
	BufferUsage *buffers;
} HybridTeam;

struct HybridBuild;

/*
 * hybrid_team_begin: form a team with as many workers as PostgreSQL grants. The workers begin at
 * once.
 */
extern HybridTeam *hybrid_team_begin(const struct HybridBuild *build, const HybridBuildPlan *plan);

/*
 * hybrid_team_alone: return a team of one for a step outside a build. The caller allocates the arrays
 * that the step needs; the others are NULL.
 */
extern HybridTeam *hybrid_team_alone(void);

/* hybrid_team_end: wait for the workers to finish and leave parallel mode. */
extern void hybrid_team_end(HybridTeam *team);

/*
 * hybrid_team_barrier: wait until all processes have called this function. Everything that they wrote
 * before the call is then visible to all of them. The count of pieces starts from 0 again. An error of
 * a worker is raised in the leader.
 */
extern void hybrid_team_barrier(HybridTeam *team);

/* hybrid_team_next: take the next free piece of this step. Returns its number. */
extern int64 hybrid_team_next(HybridTeam *team);

/*
 * hybrid_team_add: add this process's numbers to shared sums, which the spinlock protects. Holds the
 * spinlock for a few numbers at a time, because a process that waits for a spinlock does nothing else.
 * The sums are exact, so the order of additions does not matter.
 */
extern void hybrid_team_add(slock_t *lock, double *sums, const double *ours, int count);

/*
 * hybrid_team_expect: report the number of rows after which this step will be done, or 0 if the number
 * is unknown.
 */
extern void hybrid_team_expect(HybridTeam *team, int64 rows);

/* hybrid_team_done: report that this many further rows, or other units of this step, are done. */
extern void hybrid_team_done(HybridTeam *team, int64 rows);

#endif
