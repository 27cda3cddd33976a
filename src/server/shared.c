/*
 * shared.c
 *		The table that all backends share, their queue for devices and the count of their threads, when the
 *		library is preloaded.
 *
 * The postmaster requests the segment once, with a fixed size.  If a backend ends without running its exit hooks,
 * the postmaster restarts all backends and creates the shared memory again.  So nothing outlives a backend that was
 * killed while it wrote to the table or to the queue, and plain data under an LWLock suffices for both.
 */
#include "postgres.h"

#include "dispatch/run/executor.h"
#include "miscadmin.h"
#include "server/shared.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/timestamp.h"

#define NAME "hybrid"

/* about 1 MB; contexts is set to MaxBackends */
static HyTableLimits limits = {.devices = 32, .models = 1024, .events = 1024};

static HySharedTable *table;
static LWLock *table_lock;
static HyQueue *queue;
static LWLock *queue_lock;
static pg_atomic_uint32 *threads;
static HyQueueSeat seat;
static int32_t seat_numbers[HY_MAX_DEVICES];
static uint64 session;
static shmem_request_hook_type previous_request_hook;
static shmem_startup_hook_type previous_startup_hook;

static void request_memory(void);
static void start_memory(void);
static void acquire(void *arg);
static void release(void *arg);
static void acquire_queue(void *arg);
static void release_queue(void *arg);
static void origin_of(void *arg, HyOrigin *origin, int64_t *wall_us);

static const HyShareHost host = {.lock = {acquire, release, NULL},
                                 .clock = &hy_monotonic_clock,
                                 .origin = origin_of,
                                 .arg = NULL};

void
hybrid_shared_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	previous_request_hook = shmem_request_hook;
	shmem_request_hook = request_memory;
	previous_startup_hook = shmem_startup_hook;
	shmem_startup_hook = start_memory;
}

HySharedTable *
hybrid_shared_table(void)
{
	return table;
}

const HyShareHost *
hybrid_shared_host(void)
{
	return &host;
}

const HyQueueSeat *
hybrid_shared_seat(const HyExecutor *executor, Oid role)
{
	int32 device;

	for (device = 0; device < HY_MAX_DEVICES; device++)
	{
		int32 number = HY_TABLE_NO_DEVICE;

		if (device < hy_executor_devices(executor))
			number = hy_executor_table_device(executor, device);
		seat_numbers[device] = number == HY_TABLE_NO_DEVICE ? device : number;
	}
	seat.queue = queue;
	seat.lock = (HyLock){acquire_queue, release_queue, NULL};
	seat.client = MyProcPid;
	seat.role = (int32_t) role;
	seat.numbers = seat_numbers;
	seat.clock = &hy_monotonic_clock;
	return &seat;
}

void
hybrid_leave_queue(void)
{
	if (seat.queue != NULL)
		hy_queue_forget(&seat, seat.client);
}

pg_atomic_uint32 *
hybrid_shared_threads(void)
{
	return threads;
}

uint64
hybrid_shared_session(void)
{
	if (session == 0 && table != NULL)
		session = hy_table_new_session(table);
	return session;
}

static void
request_memory(void)
{
	if (previous_request_hook != NULL)
		previous_request_hook();
	limits.contexts = MaxBackends;
	RequestAddinShmemSpace(add_size(hy_table_size(&limits), sizeof(HyQueue)));
	RequestAddinShmemSpace(sizeof(pg_atomic_uint32));
	RequestNamedLWLockTranche(NAME, 2);
}

static void
start_memory(void)
{
	bool found;
	void *memory;

	if (previous_startup_hook != NULL)
		previous_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	memory = ShmemInitStruct(NAME, hy_table_size(&limits), &found);
	if (!found)
		hy_table_init(memory, &limits);
	table = memory;
	table_lock = &GetNamedLWLockTranche(NAME)[0].lock;
	queue = ShmemInitStruct(NAME " queue", sizeof(HyQueue), &found);
	if (!found)
		hy_queue_init(queue);
	queue_lock = &GetNamedLWLockTranche(NAME)[1].lock;
	threads = ShmemInitStruct(NAME " threads", sizeof(pg_atomic_uint32), &found);
	if (!found)
		pg_atomic_init_u32(threads, 0);
	session = 0;
	LWLockRelease(AddinShmemInitLock);
}

static void
acquire(void *arg)
{
	(void) arg;
	LWLockAcquire(table_lock, LW_EXCLUSIVE);
}

static void
release(void *arg)
{
	(void) arg;
	LWLockRelease(table_lock);
}

static void
acquire_queue(void *arg)
{
	(void) arg;
	LWLockAcquire(queue_lock, LW_EXCLUSIVE);
}

static void
release_queue(void *arg)
{
	(void) arg;
	LWLockRelease(queue_lock);
}

static void
origin_of(void *arg, HyOrigin *origin, int64_t *wall_us)
{
	(void) arg;
	origin->session = hybrid_shared_session();
	origin->pid = MyProcPid;
	origin->role = GetSessionUserId();
	*wall_us = GetCurrentTimestamp();
}
