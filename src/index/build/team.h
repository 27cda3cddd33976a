/*
 * team.h
 *		The processes that build an index: the leader, and parallel workers if there are any.
 *
 * All processes take the same steps. The work of a step is divided into pieces, and each process
 * takes the next free piece. At the end of a step the processes meet (a barrier). A leader without
 * workers is a team of one. The result does not depend on the number of processes.
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

#define HYBRID_STRIPES 64 /* locks for sums */

/* HybridBuildPlan: what the leader decides before the work begins. */
typedef struct HybridBuildPlan
{
	BlockNumber blocks;  /* blocks of the table */
	BlockNumber sampled; /* blocks from which rows are sampled */
	int chunk_blocks;    /* sampled blocks that are read at a time */
	int chunks;
	int64 room;    /* maximum number of rows of the sample */
	double share;  /* share of the rows of those blocks that are taken */
	double tuples; /* estimated rows of the table */
	int lists;     /* maximum number of lists; 0: one list of all rows */
	int window;    /* lists whose sums fit in memory at a time */
	int queries;   /* rows of the sample that are used as queries */
	/* rows that are kept in memory */
	Size keep_bytes; /* maximum number of bytes; 0: rows are not kept */
	int keep_blocks; /* blocks of the table that are read at a time */
	int keep_chunks;
} HybridBuildPlan;

/* HybridKeptChunk: rows of some blocks of the table, and their location in shared memory. */
typedef struct HybridKeptChunk
{
	uint64 rows; /* address for hybrid_team_memory */
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
	int share; /* processes that divide maintenance_work_mem */
	uint64 query_id;
	HybridBuildPlan plan;
	/* protected by mutex */
	slock_t mutex;
	int participants; /* 0: the leader does not know the number yet */
	int arrived;      /* processes waiting at the next meeting */
	uint64 meetings;
	bool broken_hot_chain;
	double heap_tuples;
	double stored;
	uint32 largest; /* largest magnitude in the sample: bits of a float */
	/* of the current step */
	pg_atomic_uint64 next;
	pg_atomic_uint64 done;
	ConditionVariable changed;
	/* rows sampled so far */
	pg_atomic_uint64 sampled;
	/* of kept rows */
	dsa_handle area;
	Size area_bytes;       /* size limit of the area; used by the leader only */
	pg_atomic_uint64 kept; /* bytes kept so far */
	pg_atomic_uint32 over; /* not 0: nothing is kept; why is in build_keep.c */
	bool disorder;         /* positions within a chunk do not ascend; protected by mutex */
	bool cut;              /* a list was cut into parts; protected by mutex */
	bool turn;             /* taken by hybrid_team_turn; protected by mutex */
	uint64 order;          /* rows, list by list: hybrid_team_memory */
	uint64 leaves;         /* lists that are written: hybrid_team_memory */
	BlockNumber first;     /* first block of the lists */
	/* set by the leader before a meeting */
	int lists;
	int groups;
	int queries;
	double rows; /* rows of the index */
	slock_t stripes[HYBRID_STRIPES];
} HybridTeamShared;

/* HybridTeam: one process's view; the arrays are shared by all. */
typedef struct HybridTeam
{
	HybridTeamShared *shared;
	int me; /* number of this process; 0: the leader */
	int participants;
	int32 *chunk_rows;     /* plan.chunks or plan.keep_chunks: sampled rows per chunk */
	HybridKeptChunk *kept; /* plan.keep_chunks */
	float *places;         /* plan.lists * dims: centroids of the planned lists */
	/* centroid of each group of lists, dims each; then where each group begins */
	float *groups;
	double *sums;        /* plan.window * dims; dims for the center */
	int64 *sum_rows;     /* plan.lists: rows in each sum */
	int64 *list_rows;    /* per process, rows of each list; Max(plan.lists, 1) apart */
	float *queries;      /* plan.queries * dims */
	int64 *positions;    /* plan.queries: positions of the queries */
	void *measured;      /* hybrid_calibrate_bytes(plan.queries) */
	Sharedsort *sort;    /* NULL: no workers */
	dsa_area *area;      /* NULL: no workers, or nothing is kept */
	ResourceOwner owner; /* owner of what hybrid_team_attempt took; NULL: nothing */
	ParallelTableScanDesc scan;
	/* of the leader */
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
 * hybrid_team_meet: wait until all processes have come here. Everything that they did before is
 * then visible to all. Pieces are counted from 0 again. An error of a worker is raised in the
 * leader.
 */
extern void hybrid_team_meet(HybridTeam *team);

/* build_memory.c */

/*
 * hybrid_team_attempt: call take(arg), which may need shared memory. Returns false if the system
 * has not enough of that or of a related resource. The caller must hold no lightweight lock: after
 * a failure, all are released.
 */
extern bool hybrid_team_attempt(HybridTeam *team, void (*take)(void *arg), void *arg);

/*
 * hybrid_team_share: create shared memory of up to this many bytes. The leader calls it before the
 * workers start. Returns false if there is no room. hybrid_team_expand: raise the limit by this
 * many bytes.
 */
extern bool hybrid_team_share(HybridTeam *team, Size bytes);
extern void hybrid_team_expand(HybridTeam *team, Size bytes);

/*
 * hybrid_team_allocate: allocate memory that all processes share. Without a shared area, it comes
 * from the current memory context. Returns 0 if there is not enough.
 */
extern uint64 hybrid_team_allocate(HybridTeam *team, Size bytes);

/* hybrid_team_memory: return the address of such memory in this process. */
static inline void *
hybrid_team_memory(const HybridTeam *team, uint64 memory)
{
	return team->area != NULL ? dsa_get_address(team->area, (dsa_pointer) memory)
	                          : (void *) (uintptr_t) memory;
}

/* hybrid_team_detach: detach the shared area, once this process no longer uses it. */
extern void hybrid_team_detach(HybridTeam *team);

/*
 * hybrid_team_trim_heap: return freed memory to the system, after a step that used much. Otherwise
 * the C library would keep it in each process while others need memory.
 */
extern void hybrid_team_trim_heap(void);

/*
 * hybrid_team_release_owner: release what hybrid_team_attempt left behind, once nothing that it took is
 * needed.
 */
extern void hybrid_team_release_owner(HybridTeam *team);

/* build_team.c */

/*
 * hybrid_team_turn: wait until it is this process's turn. Used for work that only one process may do
 * at a time.
 * hybrid_team_turn_over: end the turn.
 */
extern void hybrid_team_turn(HybridTeam *team);
extern void hybrid_team_turn_over(HybridTeam *team);

/* hybrid_team_next: take the next free piece of this step. Returns its number. */
extern int64 hybrid_team_next(HybridTeam *team);

/*
 * hybrid_team_add: add this process's numbers to shared sums, a few at a time, because a process
 * that waits for a spinlock does nothing else. The sums are exact, so their order does not matter.
 */
extern void hybrid_team_add(slock_t *lock, double *sums, const double *ours, int count);

/* hybrid_team_expect: set the total that hybrid_team_done counts up to; 0: unknown. */
extern void hybrid_team_expect(HybridTeam *team, int64 rows);

/* hybrid_team_done: add rows, or other units of this step, to the progress. */
extern void hybrid_team_done(HybridTeam *team, int64 rows);

#endif
