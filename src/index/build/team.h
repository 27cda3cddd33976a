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
#include "utils/dsa.h"
#include "utils/resowner.h"
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
	double share;  /* share of the rows that is taken from the sampled blocks */
	double tuples; /* estimated number of rows of the table */
	int lists;     /* maximum number of lists; 0: one list of all rows */
	int window;    /* number of lists whose sums fit in memory at a time */
	int queries;   /* number of rows of the sample that are used as queries */
	/* limits for the rows that are kept in memory */
	Size keep_bytes; /* maximum number of bytes; 0: rows are not kept */
	int keep_blocks; /* number of blocks of the table that are read at a time */
	int keep_chunks;
} HybridBuildPlan;

/* HybridKeptChunk: rows of some blocks of the table, and their location in shared memory. */
typedef struct HybridKeptChunk
{
	uint64 rows; /* address of the rows, for hybrid_team_memory */
	int32 count;
	int32 unused;
} HybridKeptChunk;

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
	uint64 meetings;
	bool broken_hot_chain;
	double heap_tuples;
	double stored;
	uint32 largest; /* largest magnitude in the sample, as the bits of a float */
	/* progress of the current step */
	pg_atomic_uint64 next;
	pg_atomic_uint64 done;
	ConditionVariable changed;
	/* number of rows sampled so far */
	pg_atomic_uint64 sampled;
	/* state of the kept rows */
	dsa_handle area;
	Size area_bytes;       /* size limit of the area; used by the leader only */
	pg_atomic_uint64 kept; /* bytes kept so far */
	pg_atomic_uint32 over; /* reason why no rows are kept (build_keep.c), or 0 */
	bool disorder;         /* positions are not ascending within some chunk; protected by mutex */
	bool cut;              /* a list was cut into parts; protected by mutex */
	bool turn;             /* a process has the turn; protected by mutex */
	uint64 order;          /* array of the rows, list by list; address for hybrid_team_memory */
	uint64 leaves;         /* array of the lists to be written; address for hybrid_team_memory */
	BlockNumber first;     /* first block of the lists */
	/* set by the leader before a barrier */
	int lists;
	int groups;
	int queries;
	double rows; /* number of rows of the index */
	slock_t stripes[HYBRID_STRIPES];
} HybridTeamShared;

/* HybridTeam: one process's view; the arrays are shared by all. */
typedef struct HybridTeam
{
	HybridTeamShared *shared;
	int me; /* number of this process; 0 is the leader */
	int participants;
	int32 *chunk_rows;     /* sampled rows of each of plan.chunks or plan.keep_chunks chunks */
	HybridKeptChunk *kept; /* kept rows of each of plan.keep_chunks chunks */
	float *places;         /* centroids of the planned lists; plan.lists * dims numbers */
	/*
	 * centroids of the groups of lists, dims numbers each, followed by the index at which each group
	 * begins
	 */
	float *groups;
	double *sums;    /* sums of places; plan.window * dims numbers, or dims for the center */
	int64 *sum_rows; /* number of rows in each sum; plan.lists numbers */
	/* rows of each list, counted by each process; Max(plan.lists, 1) numbers per process */
	int64 *list_rows;
	float *queries;      /* places of the queries; plan.queries * dims numbers */
	int64 *positions;    /* positions of the queries; plan.queries numbers */
	void *measured;      /* results of calibration; hybrid_calibrate_bytes(plan.queries) bytes */
	Sharedsort *sort;    /* state of the parallel sort; NULL without workers */
	dsa_area *area;      /* shared area; NULL without workers, or if no rows are kept */
	ResourceOwner owner; /* owner of the resources that hybrid_team_attempt took, or NULL */
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

/* hybrid_team_alone: return a team of one for a step outside a build. It has no arrays. */
extern HybridTeam *hybrid_team_alone(void);

/* hybrid_team_end: wait for the workers to finish and leave parallel mode. */
extern void hybrid_team_end(HybridTeam *team);

/*
 * hybrid_team_meet: wait until all processes have called this function. All of their earlier writes are
 * then visible to every process. The count of pieces starts from 0 again. An error of a worker is raised
 * in the leader.
 */
extern void hybrid_team_meet(HybridTeam *team);

/* build_memory.c */

/*
 * hybrid_team_attempt: call take(arg), which may need shared memory. Returns false if the system lacks
 * shared memory or a related resource. The caller must hold no lightweight lock, because a failure
 * releases all of them.
 */
extern bool hybrid_team_attempt(HybridTeam *team, void (*take)(void *arg), void *arg);

/*
 * hybrid_team_share: create shared memory of up to this many bytes. The leader calls it before the
 * workers start. Returns false if the system lacks the memory. hybrid_team_expand: raise the limit by
 * this many bytes.
 */
extern bool hybrid_team_share(HybridTeam *team, Size bytes);
extern void hybrid_team_expand(HybridTeam *team, Size bytes);

/*
 * hybrid_team_allocate: allocate memory that all processes share. Without a shared area, the memory comes
 * from the current memory context. Returns 0 if there is not enough memory.
 */
extern uint64 hybrid_team_allocate(HybridTeam *team, Size bytes);

/* hybrid_team_memory: return the address in this process of memory from hybrid_team_allocate. */
static inline void *
hybrid_team_memory(const HybridTeam *team, uint64 memory)
{
	return team->area != NULL ? dsa_get_address(team->area, (dsa_pointer) memory)
	                          : (void *) (uintptr_t) memory;
}

/* hybrid_team_detach: detach the shared area, once this process no longer uses it. */
extern void hybrid_team_detach(HybridTeam *team);

/*
 * hybrid_team_trim_heap: return freed memory to the system, after a step that used much memory. Otherwise
 * the C library would keep the memory in each process while other processes need memory.
 */
extern void hybrid_team_trim_heap(void);

/*
 * hybrid_team_release_owner: release the resources that hybrid_team_attempt took, once none of them is
 * needed.
 */
extern void hybrid_team_release_owner(HybridTeam *team);

/* build_team.c */

/*
 * hybrid_team_turn: wait for the turn, which one process has at a time, and take it.
 * hybrid_team_turn_over: end the turn.
 */
extern void hybrid_team_turn(HybridTeam *team);
extern void hybrid_team_turn_over(HybridTeam *team);

/* hybrid_team_next: take the next free piece of this step. Returns its number. */
extern int64 hybrid_team_next(HybridTeam *team);

/*
 * hybrid_team_add: add this process's numbers to shared sums. A few numbers are added at a time, because
 * a process that waits for a spinlock does nothing else. The sums are exact, so the order of additions
 * does not matter.
 */
extern void hybrid_team_add(slock_t *lock, double *sums, const double *ours, int count);

/* hybrid_team_expect: set the total that hybrid_team_done counts up to; 0 if it is unknown. */
extern void hybrid_team_expect(HybridTeam *team, int64 rows);

/* hybrid_team_done: add rows, or other units of this step, to the reported progress. */
extern void hybrid_team_done(HybridTeam *team, int64 rows);

#endif
