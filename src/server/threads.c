/*
 * threads.c
 *		How many threads a task may use, within limits over all sessions.
 *
 * A process uses at most as many threads as it has cores, its main thread included, and at most 1 +
 * max_parallel_workers_per_gather (in CREATE INDEX and VACUUM, 1 + max_parallel_maintenance_workers). hybrid.threads
 * can lower this limit. A process of a parallel query or a parallel build uses its main thread only, because there
 * are already as many processes as the settings allow. An autovacuum worker also uses its main thread only, so as
 * not to disturb others.
 *
 * Over all sessions there are at most max_parallel_workers threads, main threads not counted. PostgreSQL's count of
 * parallel workers is private, so our threads are counted separately. If the library is preloaded, a counter in
 * shared memory counts them. Otherwise each thread needs one of max_parallel_workers advisory locks. Their fourth
 * field differs from that of the locks that SQL functions take, so no user can hold one.
 *
 * The CPU backend takes threads when it is about to run a task. A task of a device takes threads only to copy data
 * in host memory, and gives them back after each run of copies. So no task holds threads while it waits for a
 * device. (A thread that was given back may still spin for up to 0.2 ms before it sleeps; see core/threads.h.)
 *
 * Pure code calls the functions that take threads, so they must not raise an error. They keep the error until the
 * dispatcher has returned. The same holds for work that the main thread does while other threads compute.
 *
 * However a process ends, its locks are released. A session can end while threads are taken: during work of the main
 * thread, or anywhere in a background worker that sets no handler for SIGTERM, because PostgreSQL's default handler
 * ends the worker at once. The exit hook therefore ends the threads and corrects the counter. After a crash the
 * postmaster creates shared memory again.
 */
#include "postgres.h"

#include "access/xact.h"
#include "core/spread.h"
#include "core/threads.h"
#include "dispatch/run/backend_cpu.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "port/atomics.h"
#include "server/compat.h"
#include "server/load.h"
#include "server/shared.h"
#include "server/threads.h"
#include "storage/ipc.h"
#include "storage/lock.h"
#include "utils/memutils.h"

#define LOCK_KEY 0x68796272 /* second field of our locks */
#define LOCK_CLASS 26745    /* fourth field; those of SQL functions have 1 or 2 */
/* argument of the exit hook that is set only while the main thread has other work */
#define MAIN_THREAD_WORK_HOOK ((Datum) 1)

int hybrid_threads;

static int taken;                     /* threads taken, the main thread not counted */
static uint32 slots[HY_THREADS_MOST]; /* numbers of the locks held, if not preloaded */

static ErrorData *failed;                   /* an error to be raised later; NULL: none */
static bool failed_twice;                   /* there was no memory for the copy of an error */
static bool (*main_thread_work)(void *arg); /* work of the main thread */

static int32_t expect(void *arg, const HyShape *shape);
static bool lend(void *arg, const HyTask *task);
static bool lend_for(int limit, double work);
static void give_lent(void *arg);
static HyStatus run_main_thread_work(void *arg, bool *more);
static void keep_error(MemoryContext context);
static void take(int limit, double work);
static int limit_of(bool maintenance);
static int limit_for(HyOp op);
static double work_of(const HyShape *shape);
static int take_counted(pg_atomic_uint32 *running, int wanted);
static int take_slots(int wanted);
static LOCKTAG slot_tag(uint32 slot);
static void stop_at_exit(int code, Datum arg);

void
hybrid_threads_lend(void)
{
	static const HyLender lender = {expect, lend, give_lent, NULL};
	static bool hooked = false;

	if (!hooked)
	{
		before_shmem_exit(stop_at_exit, (Datum) 0);
		hooked = true;
	}
	hy_backend_cpu_lend(&lender);
}

void
hybrid_threads_check(void)
{
	ErrorData *error = failed;
	bool lost = failed_twice;

	if (likely(error == NULL && !lost))
		return;
	failed = NULL;
	failed_twice = false;
	if (lost)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	ReThrowError(error);
}

void
hybrid_threads_set_main_thread_work(bool (*work)(void *arg), void *arg)
{
	static HyMainThreadWork current;
	bool was_set = main_thread_work != NULL;

	main_thread_work = work;
	current = (HyMainThreadWork){run_main_thread_work, arg};
	hy_threads_set_main_thread_work(work != NULL ? &current : NULL);
	/*
	 * Hooks run in reverse order. This hook must run before the hook that drops temporary tables, because that hook
	 * also frees the memory of the task.
	 */
	if (work != NULL && !was_set)
		before_shmem_exit(stop_at_exit, MAIN_THREAD_WORK_HOOK);
	else if (work == NULL && was_set)
		cancel_before_shmem_exit(stop_at_exit, MAIN_THREAD_WORK_HOOK);
}

HyStatus
hybrid_threads_run(void *arg, HyOp op, double work, int64_t parts, HyPart part, void *part_arg)
{
	int limit = limit_for(op);
	bool lends = limit > 1 && taken == 0;
	HyStatus status;

	(void) arg;
	if (lends)
		(void) lend_for(limit, work);
	/* pause the other work of the main thread: it could call the device, which is busy with this task */
	hy_threads_pause_main_thread_work(true);
	status = hy_threads_run_soon(hy_threads_allowed(), parts, part, part_arg, NULL);
	hy_threads_pause_main_thread_work(false);
	if (lends)
		hybrid_threads_give();
	return status;
}

int
hybrid_threads_limit(void)
{
	return limit_of(false);
}

void
hybrid_threads_take(double work, uint64 most)
{
	int limit = limit_of(false);

	hybrid_threads_lend();
	take(most < (uint64) limit ? 1 + (int) most : limit, work);
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

/* expect: return how many threads a task of this shape would get now. */
static int32_t
expect(void *arg, const HyShape *shape)
{
	pg_atomic_uint32 *running = hybrid_shared_threads();
	int limit = limit_for(shape->op);
	int threads;

	(void) arg;
	if (limit == 1)
		return 1;
	hy_threads_allow(limit);
	threads = hy_threads_for(work_of(shape));
	hy_threads_allow(1);
	if (threads > 1 && running != NULL)
	{
		int others = (int) Min(pg_atomic_read_u32(running), (uint32) max_parallel_workers);

		threads = Min(threads, 1 + max_parallel_workers - others);
	}
	return threads;
}

/* lend: take threads for a task.  Pure code calls it, so it must not raise. */
static bool
lend(void *arg, const HyTask *task)
{
	int limit = limit_for(task->op);
	HyShape shape;

	(void) arg;
	if (limit == 1)
		return true;
	shape = hy_task_shape(task);
	if (lend_for(limit, work_of(&shape)))
		return true;
	/* lend_for also returns false if an earlier error is still kept; it may then have taken threads */
	hybrid_threads_give();
	return false;
}

/* lend_for: take threads within a limit.  Does not raise; returns false if an error is kept. */
static bool
lend_for(int limit, double work)
{
	MemoryContext before = CurrentMemoryContext;

	PG_TRY();
	{
		take(limit, work);
	}
	PG_CATCH();
	{
		keep_error(before);
	}
	PG_END_TRY();
	return failed == NULL && !failed_twice;
}

static void
give_lent(void *arg)
{
	(void) arg;
	hybrid_threads_give();
}

/*
 * run_main_thread_work: do some work of the main thread.  Pure code calls it, so it must not raise.  If the
 * process ends here, stop_at_exit ends the other threads, before any other hook.
 */
static HyStatus
run_main_thread_work(void *arg, bool *more)
{
	MemoryContext before = CurrentMemoryContext;

	PG_TRY();
	{
		*more = main_thread_work(arg);
	}
	PG_CATCH();
	{
		keep_error(before);
	}
	PG_END_TRY();
	return failed == NULL && !failed_twice ? HY_OK : HY_CANCELLED;
}

/* keep_error: keep the current error in a context, for hybrid_threads_check.  Must not raise, either. */
static void
keep_error(MemoryContext context)
{
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		failed = CopyErrorData();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		failed_twice = true;
	}
	PG_END_TRY();
	FlushErrorState();
}

/* take: allow threads within a limit.  May raise if the library is not preloaded. */
static void
take(int limit, double work)
{
	pg_atomic_uint32 *running = hybrid_shared_threads();
	int wanted;

	Assert(taken == 0);
	hy_threads_allow(limit);
	wanted = hy_threads_for(work) - 1;
	/* the locks below may raise an error */
	hy_threads_allow(1);
	if (likely(wanted <= 0))
		return;
	taken = running != NULL ? take_counted(running, wanted) : take_slots(wanted);
	hy_threads_allow(1 + taken);
}

/* limit_of: return the maximum number of threads for a computation, the main thread included. */
static int
limit_of(bool maintenance)
{
	int workers = maintenance ? max_parallel_maintenance_workers : max_parallel_workers_per_gather;

	if (!IsUnderPostmaster || IsInParallelMode() || AmAutoVacuumWorkerProcess())
		return 1;
	workers = Min(workers, max_parallel_workers);
	if (hybrid_threads > 0)
		workers = Min(workers, hybrid_threads - 1);
	return workers <= 0 ? 1 : Min(Min(1 + workers, hybrid_cores()), HY_THREADS_MOST);
}

/* limit_for: return the limit for a task of the dispatcher. */
static int
limit_for(HyOp op)
{
	/* only the maintenance of indexes assigns rows and scores codes in batches */
	return limit_of(op == HY_OP_ASSIGN || op == HY_OP_SCORE_CODES);
}

/* work_of: return the size of a task in multiplications, as hy_threads_for expects it. */
static double
work_of(const HyShape *shape)
{
	if (shape->op == HY_OP_SPREAD)
		return hy_spread_work(0, shape->targets) * (double) shape->queries;
	return (double) shape->queries * (double) shape->targets * shape->dims;
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
