/*
 * threads.c
 *		How many threads a task may use, within limits over all sessions.
 *
 * A process uses at most as many threads as it has cores, and 1 + max_parallel_workers_per_gather, its main
 * thread included.  A process of a parallel query or a parallel build uses its main thread only, because there
 * are already as many processes as the settings allow.  So does a process of autovacuum, which must not
 * disturb others.
 *
 * Over all sessions there are at most max_parallel_workers threads, main threads not counted.  PostgreSQL's
 * count of parallel workers is private, so our threads are counted separately.  If the library is preloaded,
 * a counter in shared memory counts them.  Otherwise each thread needs one of max_parallel_workers advisory
 * locks.  Their fourth field differs from that of the locks that SQL functions take, so no user can hold one.
 *
 * However a process ends, its locks are released.  A session can end between hybrid_threads_take and
 * hybrid_threads_give: if a background worker sets no handler for SIGTERM, PostgreSQL's handler ends it at
 * once.  The exit hook therefore ends the threads and corrects the counter.  After a crash the postmaster
 * creates shared memory again.
 */
#include "postgres.h"

#include <math.h>

#include "access/xact.h"
#include "core/threads.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "port/atomics.h"
#include "server/compat.h"
#include "server/load.h"
#include "server/shared.h"
#include "server/threads.h"
#include "storage/ipc.h"
#include "storage/lock.h"

#define LOCK_KEY 0x68796272 /* second field of our locks */
#define LOCK_CLASS 26745    /* fourth field; those of SQL functions have 1 or 2 */

int hybrid_threads;

static int taken;                     /* threads taken, the main thread not counted */
static uint32 slots[HY_THREADS_MOST]; /* numbers of the locks held, if not preloaded */

static int limit_of(const HyTask *task);
static double work_of(const HyTask *task);
static int take_counted(pg_atomic_uint32 *running, int wanted);
static int take_slots(int wanted);
static LOCKTAG slot_tag(uint32 slot);
static void stop_at_exit(int code, Datum arg);

void
hybrid_threads_take(const HyTask *task)
{
	static bool hooked = false;
	pg_atomic_uint32 *running = hybrid_shared_threads();
	int wanted;

	Assert(taken == 0);
	hy_threads_allow(limit_of(task));
	wanted = hy_threads_for(work_of(task)) - 1;
	/* the locks below may raise an error */
	hy_threads_allow(1);
	if (likely(wanted <= 0))
		return;
	if (!hooked)
	{
		before_shmem_exit(stop_at_exit, (Datum) 0);
		hooked = true;
	}
	taken = running != NULL ? take_counted(running, wanted) : take_slots(wanted);
	hy_threads_allow(1 + taken);
}

void
hybrid_threads_give(void)
{
	pg_atomic_uint32 *running = hybrid_shared_threads();
	int i;

	hy_threads_allow(1);
	if (likely(taken == 0))
		return;
	if (running != NULL)
		pg_atomic_fetch_sub_u32(running, taken);
	for (i = 0; i < taken && running == NULL; i++)
	{
		LOCKTAG tag = slot_tag(slots[i]);

		LockRelease(&tag, ExclusiveLock, false);
	}
	taken = 0;
}

/* limit_of: return the maximum number of threads for a task, the main thread included. */
static int
limit_of(const HyTask *task)
{
	/* only the maintenance of indexes assigns rows and scores codes in batches */
	bool maintenance = task != NULL && (task->op == HY_OP_ASSIGN || task->op == HY_OP_SCORE_CODES);
	int workers = maintenance ? max_parallel_maintenance_workers : max_parallel_workers_per_gather;

	if (!IsUnderPostmaster || IsInParallelMode() || AmAutoVacuumWorkerProcess())
		return 1;
	workers = Min(workers, max_parallel_workers);
	if (hybrid_threads > 0)
		workers = Min(workers, hybrid_threads - 1);
	return workers <= 0 ? 1 : Min(1 + workers, hybrid_cores());
}

/* work_of: return at least as many multiplications as a task takes; 0 if it runs on one thread anyway. */
static double
work_of(const HyTask *task)
{
	HyShape shape;

	if (task == NULL)
		return INFINITY;
	shape = hy_task_shape(task);
	/* the dimensions of spreading are 0 */
	return (double) shape.queries * (double) shape.targets * shape.dims;
}

static int
take_counted(pg_atomic_uint32 *running, int wanted)
{
	uint32 most = (uint32) max_parallel_workers;
	uint32 there = pg_atomic_read_u32(running);

	while (there < most)
	{
		uint32 more = Min((uint32) wanted, most - there);

		if (pg_atomic_compare_exchange_u32(running, &there, there + more))
			return (int) more;
	}
	return 0;
}

/* take_slots: take free locks.  Processes begin at different locks, so that few attempts fail. */
static int
take_slots(int wanted)
{
	uint32 most = (uint32) max_parallel_workers;
	int count = 0;
	uint32 i;

	for (i = 0; i < most && count < wanted; i++)
	{
		uint32 slot = ((uint32) MyProcPid + i) % most;
		LOCKTAG tag = slot_tag(slot);

		/* without room in the lock table, the task uses fewer threads */
		if (LockAcquireExtended(&tag, ExclusiveLock, false, true, false, NULL, false) ==
		    LOCKACQUIRE_OK)
			slots[count++] = slot;
	}
	return count;
}

static LOCKTAG
slot_tag(uint32 slot)
{
	LOCKTAG tag;

	SET_LOCKTAG_ADVISORY(tag, InvalidOid, LOCK_KEY, slot, LOCK_CLASS);
	return tag;
}

static void
stop_at_exit(int code, Datum arg)
{
	pg_atomic_uint32 *running = hybrid_shared_threads();

	(void) code;
	(void) arg;
	hy_threads_stop();
	if (running != NULL)
		pg_atomic_fetch_sub_u32(running, taken);
	taken = 0;
}
