/*
 * team.h
 *		Who builds an index: the leader, and workers where there are any.
 *
 * All of them take the same steps.  What a step has to do comes in pieces, each of which somebody takes
 * first, and at its end they meet.  A leader without workers is a team, too, and meets nobody; what
 * comes out does not depend on how many there are.
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

#define HYBRID_STRIPES 64 /* locks of sums */

/* HybridBuildPlan: what the leader decides before anybody begins. */
typedef struct HybridBuildPlan
{
	BlockNumber blocks;  /* of the table */
	BlockNumber sampled; /* of them, from which rows are taken */
	int chunk_blocks;    /* of those, that are read at a time */
	int chunks;
	int64 room;    /* of the sample: rows, at most */
	double share;  /* of the rows of those blocks, that are taken */
	double tuples; /* of the table, about */
	int lists;     /* to be, at most; 0: one, of all rows */
	int window;    /* lists whose sums there is room for */
	int queries;   /* of the sample, that will be searched for */
	/* rows that are kept in memory */
	Size keep_bytes; /* at most; 0: none */
	int keep_blocks; /* of the table, that are read at a time */
	int keep_chunks;
} HybridBuildPlan;

/* HybridKeptChunk: rows of some blocks of the table; where they lie in the memory that all share. */
typedef struct HybridKeptChunk
{
	uint64 rows; /* hybrid_team_memory */
	int32 count;
	int32 unused;
} HybridKeptChunk;

/* HybridTeamShared: what all know. */
typedef struct HybridTeamShared
{
	/* told by the leader, at the beginning */
	Oid heap;
	Oid index;
	bool concurrent;
	int share; /* who divides maintenance_work_mem */
	uint64 query_id;
	HybridBuildPlan plan;
	/* with mutex */
	slock_t mutex;
	int participants; /* 0: the leader does not know yet */
	int arrived;      /* at the next meeting */
	uint64 meetings;
	bool broken_hot_chain;
	double heap_tuples;
	double stored;
	uint32 largest; /* of the sample's numbers: bits of a float */
	/* of the step under way */
	pg_atomic_uint64 next;
	pg_atomic_uint64 done;
	ConditionVariable changed;
	/* of the sample */
	pg_atomic_uint64 sampled;
	/* of kept rows */
	dsa_handle area;
	Size area_bytes;       /* at most; the leader's */
	pg_atomic_uint64 kept; /* bytes */
	pg_atomic_uint32 over; /* there are more than may be kept */
	bool disorder;         /* of their positions; with mutex */
	bool cut;              /* a list was, with mutex */
	bool turn;             /* somebody's, with mutex */
	uint64 order;          /* rows, list by list: hybrid_team_memory */
	uint64 leaves;         /* lists that are written: hybrid_team_memory */
	BlockNumber first;     /* of lists */
	/* told by the leader, before a meeting */
	int lists;
	int groups;
	int queries;
	double rows; /* of the index */
	slock_t stripes[HYBRID_STRIPES];
} HybridTeamShared;

/* HybridTeam: of one process; the arrays are everybody's. */
typedef struct HybridTeam
{
	HybridTeamShared *shared;
	int me; /* 0: the leader */
	int participants;
	int32 *chunk_rows;     /* plan.chunks or plan.keep_chunks: rows of the sample */
	HybridKeptChunk *kept; /* plan.keep_chunks */
	float *places;         /* plan.lists * dims: of the lists to be */
	float *groups;         /* dims of each group of lists; then where each begins */
	double *sums;          /* plan.window * dims; of the centre: dims */
	int64 *sum_rows;       /* plan.lists */
	int64 *list_rows;      /* participants * lists, Max(plan.lists, 1) apart */
	float *queries;        /* plan.queries * dims */
	int64 *positions;      /* plan.queries: where these are */
	void *measured;        /* hybrid_calibrate_bytes(plan.queries) */
	Sharedsort *sort;      /* NULL: alone */
	dsa_area *area;        /* NULL: alone, or nothing is kept */
	ResourceOwner owner;   /* of what hybrid_team_attempt took; NULL: nothing */
	ParallelTableScanDesc scan;
	/* of the leader */
	ParallelContext *context;
	Snapshot snapshot;
	WalUsage *wal;
	BufferUsage *buffers;
} HybridTeam;

struct HybridBuild;

/* hybrid_team_begin: of as many workers as PostgreSQL grants, which begin at once. */
extern HybridTeam *hybrid_team_begin(const struct HybridBuild *build, const HybridBuildPlan *plan);

/* hybrid_team_alone: for a step without a build; its arrays are not there. */
extern HybridTeam *hybrid_team_alone(void);

/* hybrid_team_end: waits for the workers. */
extern void hybrid_team_end(HybridTeam *team);

/*
 * hybrid_team_meet: until all have come here; what they did before is seen by all then.  Pieces are
 * counted from 0 again.  An error of a worker becomes the leader's.
 */
extern void hybrid_team_meet(HybridTeam *team);

/* build_memory.c */

/*
 * hybrid_team_attempt: take(arg), which may need shared memory; false where the system has too little of
 * that, or of what goes with it.  Nothing else may be under way: no light-weight lock outlives it then.
 */
extern bool hybrid_team_attempt(HybridTeam *team, void (*take)(void *arg), void *arg);

/*
 * hybrid_team_share: by the leader, before the others come: there will be memory that all share, of so
 * many bytes; false: there is no room.  hybrid_team_expand: of so many bytes more.
 */
extern bool hybrid_team_share(HybridTeam *team, Size bytes);
extern void hybrid_team_expand(HybridTeam *team, Size bytes);

/*
 * hybrid_team_allocate: memory that all share, from the current context where we are alone; 0 where there
 * is none.
 */
extern uint64 hybrid_team_allocate(HybridTeam *team, Size bytes);

/* hybrid_team_memory: where it is in this process. */
static inline void *
hybrid_team_memory(const HybridTeam *team, uint64 memory)
{
	return team->area != NULL ? dsa_get_address(team->area, (dsa_pointer) memory)
	                          : (void *) (uintptr_t) memory;
}

/* hybrid_team_forget: all of that memory, once nobody looks at it. */
extern void hybrid_team_forget(HybridTeam *team);

/*
 * hybrid_team_give_back: what was freed goes back to the system, after a step that took much.  The C
 * library would keep it, in each process, while others need theirs.
 */
extern void hybrid_team_give_back(void);

/* hybrid_team_disown: what attempts have left, once nothing that they took is needed. */
extern void hybrid_team_disown(HybridTeam *team);

/* build_team.c */

/*
 * hybrid_team_turn: waits until nobody else does what one of the team does at a time.
 * hybrid_team_turn_over: that is done.
 */
extern void hybrid_team_turn(HybridTeam *team);
extern void hybrid_team_turn_over(HybridTeam *team);

/* hybrid_team_next: a piece of this step that nobody has taken. */
extern int64 hybrid_team_next(HybridTeam *team);

/*
 * hybrid_team_add: numbers of ours to those that all add to, some at a time: who waits for a spinlock
 * does nothing else.  Sums are exact, so it does not matter who comes between.
 */
extern void hybrid_team_add(slock_t *lock, double *sums, const double *ours, int count);

/* hybrid_team_expect: what hybrid_team_done will count up to; 0: unknown. */
extern void hybrid_team_expect(HybridTeam *team, int64 rows);

/* hybrid_team_done: so many rows more, or what else the progress of this step counts. */
extern void hybrid_team_done(HybridTeam *team, int64 rows);

#endif
