/*
 * shared.c
 *		Shared memory of all backends, when the library is preloaded: the table, the queue for devices and
 *		the count of threads.
 *
 * The postmaster requests the segment once, with a fixed size.  If a backend ends without running its exit hooks,
 * the postmaster restarts all backends and creates the shared memory again.  So a table or queue that a killed
 * backend left half-written does not survive, and plain data under an LWLock suffices for both.
 */
#include "postgres.h"

#include "dispatch/run/executor.h"
#include "miscadmin.h"
#include "server/shared.h"
#include "server/shared_memory.h"
#include "storage/lwlock.h"
#include "utils/timestamp.h"

/* about 1 MB; contexts is set to MaxBackends */
static HyTableLimits limits = {.devices = 32, .models = 1024, .events = 1024};

static HySharedTable *table;
static LWLock *table_lock;
static HyQueue *queue;
static LWLock *queue_lock;
static pg_atomic_uint32 *threads;
static HyQueueClient queue_client;
static int32_t queue_numbers[HY_MAX_DEVICES];
static uint64 session;

static Size table_bytes(void);
static Size queue_bytes(void);
static Size threads_bytes(void);
static void start_table(void *memory, LWLockPadded *locks, bool is_new);
static void start_queue(void *memory, LWLockPadded *locks, bool is_new);
static void start_threads(void *memory, LWLockPadded *locks, bool is_new);
static void acquire(void *arg);
static void release(void *arg);
static void origin_of(void *arg, HyOrigin *origin, int64_t *wall_us);

static const HyShareHost host = {.lock = {acquire, release, &table_lock},
                                 .clock = &hy_monotonic_clock,
                                 .origin = origin_of,
                                 .arg = NULL};

void
hybrid_shared_init(void)
{
	static const HybridSharedPart parts[] = {{"hybrid", 1, table_bytes, start_table},
	                                         {"hybrid queue", 1, queue_bytes, start_queue},
	                                         {"hybrid threads", 0, threads_bytes, start_threads}};
	size_t i;

	for (i = 0; i < lengthof(parts); i++)
		hybrid_request_shared(&parts[i]);
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

const HyQueueClient *
hybrid_shared_queue_client(const HyExecutor *executor, Oid role)
{
	int32 device;

	for (device = 0; device < HY_MAX_DEVICES; device++)
	{
		int32 number = HY_TABLE_NO_DEVICE;

		if (device < hy_executor_devices(executor))
			number = hy_executor_table_device(executor, device);
		queue_numbers[device] = number == HY_TABLE_NO_DEVICE ? device : number;
	}
	queue_client.queue = queue;
	queue_client.lock = (HyLock){acquire, release, &queue_lock};
	queue_client.id = MyProcPid;
	queue_client.role = (int32_t) role;
	queue_client.numbers = queue_numbers;
	queue_client.clock = &hy_monotonic_clock;
	return &queue_client;
}

void
hybrid_leave_queue(void)
{
	if (queue_client.queue != NULL)
		hy_queue_forget(&queue_client, queue_client.id);
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

static Size
table_bytes(void)
{
	limits.contexts = MaxBackends;
	return hy_table_size(&limits);
}

static Size
queue_bytes(void)
{
	return sizeof(HyQueue);
}

static Size
threads_bytes(void)
{
	return sizeof(pg_atomic_uint32);
}

static void
start_table(void *memory, LWLockPadded *locks, bool is_new)
{
	table = memory;
	table_lock = &locks[0].lock;
	if (is_new)
		hy_table_init(memory, &limits);
	session = 0;
}

static void
start_queue(void *memory, LWLockPadded *locks, bool is_new)
{
	queue = memory;
	queue_lock = &locks[0].lock;
	if (is_new)
		hy_queue_init(queue);
}

static void
start_threads(void *memory, LWLockPadded *locks, bool is_new)
{
	(void) locks;
	threads = memory;
	if (is_new)
		pg_atomic_init_u32(threads, 0);
}

/* acquire: acquire a lock. arg is the address of the pointer to the lock. */
static void
acquire(void *arg)
{
	LWLockAcquire(*(LWLock **) arg, LW_EXCLUSIVE);
}

static void
release(void *arg)
{
	LWLockRelease(*(LWLock **) arg);
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
