/*
 * threads.c
 *		A pool of threads.
 *
 * A call of hy_threads_run describes its computation in a Team, on the stack of the caller.  It
 * publishes the team in the pool, wakes the threads and starts to take parts.  A thread joins the
 * team if there are parts left.  When the caller finds no part left, it closes the team, so a
 * thread that wakes up late does not join and is not awaited.  Then the caller waits until the
 * threads that have joined are done.  Meanwhile the caller wakes up from time to time to poll the
 * cancel, because no other thread may.
 *
 * After hy_threads_run_soon, a thread that finds no part spins before it sleeps.  It watches the
 * number of teams that have been published.  The caller also spins before it sleeps.  In such runs
 * all threads spin to lock the mutex, too, because each holds it only briefly.
 *
 * Two threads are 1.71 to 1.97 times as fast as one in searches, distances and assignments.  The
 * cores themselves allowed a factor of 1.82 to 2.01 (bench/threads.c).
 *
 * The mutex protects the pool and the members `open`, `joined` and `running` of the team.  No part
 * runs while the mutex is held.  The mutex records its owner, because a signal handler that ends
 * the process may call hy_threads_stop while the interrupted code holds the mutex.
 */
#define _POSIX_C_SOURCE 200809L

#include "core/threads.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES (512 * 1024)
#define IDLE_NS INT64_C(5000000000) /* a thread that waits this long ends */
#define POLL_NS INT64_C(1000000)    /* time between two polls of a waiting caller */
#define SPIN_NS UINT64_C(200000)    /* time to spin before sleeping */
#define SPINS 64                    /* pauses between two readings of the clock */
#define LEAST_WORK 2e6              /* least work of a thread: 100 to 200 microseconds */

typedef struct Team
{
	HyPart run;
	void *arg;
	int64_t parts;
	int64_t next;           /* atomic; the next part */
	int stop;               /* atomic; not 0: start no part */
	int status;             /* atomic; a HyStatus: HY_OK, or the first failure */
	const HyCancel *cancel; /* cancel of the caller */
	int open;               /* workers that may still join; 0: the team is closed */
	int joined;             /* threads that have joined */
	int running;            /* atomic; threads that have joined and are not done */
	bool soon;              /* spin before sleeping */
} Team;

/* Spin: a wait without sleeping. */
typedef struct Spin
{
	uint64_t end; /* end of the wait, in the time of now() */
	int pauses;
} Spin;

typedef enum SlotState
{
	SLOT_FREE = 0,
	SLOT_TAKEN, /* taken by a thread that works or waits for work */
	SLOT_LEFT   /* taken by a thread that has ended, or is about to, and is not joined yet */
} SlotState;

typedef struct ThreadSlot
{
	SlotState state;
	pthread_t thread;
} ThreadSlot;

typedef struct Pool
{
	pid_t process; /* the process that the threads belong to; 0: not initialized */
	pthread_mutex_t mutex;
	pthread_cond_t work; /* a team has been published, or the threads have to end */
	pthread_cond_t done; /* no thread runs for the team any more */
	bool closing;
	unsigned published; /* atomic; number of teams published and of requests to end, so far */
	Team *team;
	ThreadSlot slots[HY_THREADS_MOST - 1];
} Pool;

static Pool pool;
static int allowed = 1;
static double least_work = LEAST_WORK;
static const HyMainThreadWork *main_thread_work; /* NULL: none, or all of it is done */
static uint64_t main_thread_work_ns;
static bool main_thread_work_paused;

static HyStatus run_team(Team *team, int threads);
static void lock_for(const Team *team);
static void lock_soon(void);
static void spin_for_end(Team *team);
static bool spin_for_team(uint64_t end);
static bool spins(Spin *spin);
static int running_of(const Team *team);
static HyStatus run_alone(int64_t parts, HyPart run, void *arg, const HyCancel *cancel);
static bool open_pool(void);
static bool new_mutex(pthread_mutex_t *mutex);
static bool new_condition(pthread_cond_t *condition);
static void start_threads(int count);
static bool start_thread(ThreadSlot *slot);
static void *thread_main(void *arg);
static bool may_join(const Team *team);
static bool has_parts(const Team *team);
static void do_main_thread_work(Team *team);
static void take_parts(Team *team, int worker, const HyCancel *cancel);
static void fail(Team *team, HyStatus status);
static bool caller_must_stop(void *arg);
static bool thread_must_stop(void *arg);
static struct timespec from_now(int64_t ns);
static uint64_t now(void);

void
hy_threads_allow(int threads)
{
	allowed = threads < 1 ? 1 : threads > HY_THREADS_MOST ? HY_THREADS_MOST : threads;
}

int
hy_threads_allowed(void)
{
	return allowed;
}

int
hy_threads_for(double work)
{
	double threads = work / least_work;

	if (allowed == 1 || !(threads >= 2))
		return 1;
	return threads < allowed ? (int) threads : allowed;
}

bool
hy_threads_worth(double work)
{
	return work / least_work >= 2;
}

void
hy_threads_set_least(double work)
{
	least_work = work > 0 ? work : LEAST_WORK;
}

void
hy_threads_set_main_thread_work(const HyMainThreadWork *given)
{
	main_thread_work = given;
	main_thread_work_ns = 0;
}

void
hy_threads_pause_main_thread_work(bool paused)
{
	main_thread_work_paused = paused;
}

uint64_t
hy_threads_main_thread_work_ns(void)
{
	return main_thread_work_ns;
}

HyStatus
hy_threads_run(int threads, int64_t parts, HyPart run, void *arg, const HyCancel *cancel)
{
	Team team = {.run = run, .arg = arg, .parts = parts, .status = HY_OK, .cancel = cancel};

	return run_team(&team, threads);
}

HyStatus
hy_threads_run_soon(int threads, int64_t parts, HyPart run, void *arg, const HyCancel *cancel)
{
	Team team = {
		.run = run, .arg = arg, .parts = parts, .status = HY_OK, .cancel = cancel, .soon = true};

	return run_team(&team, threads);
}

void
hy_threads_stop(void)
{
	int i;

	if (pool.process != getpid())
		return;
	/* If the interrupted code holds the mutex, this call fails, and the unlock below succeeds. */
	(void) pthread_mutex_lock(&pool.mutex);
	pool.closing = true;
	if (pool.team != NULL)
		__atomic_store_n(&pool.team->stop, 1, __ATOMIC_RELAXED);
	(void) __atomic_fetch_add(&pool.published, 1, __ATOMIC_RELAXED);
	pthread_cond_broadcast(&pool.work);
	pthread_mutex_unlock(&pool.mutex);
	for (i = 0; i < HY_THREADS_MOST - 1; i++)
	{
		ThreadSlot *slot = &pool.slots[i];
		bool there;

		pthread_mutex_lock(&pool.mutex);
		there = slot->state != SLOT_FREE;
		pthread_mutex_unlock(&pool.mutex);
		if (there)
			pthread_join(slot->thread, NULL);
		slot->state = SLOT_FREE;
	}
	pool.closing = false;
}

static HyStatus
run_team(Team *team, int threads)
{
	HyCancel polled = {caller_must_stop, team};
	HyStatus status;

	if (threads > team->parts)
		threads = (int) team->parts;
	if (threads > HY_THREADS_MOST)
		threads = HY_THREADS_MOST;
	if (threads <= 1 || !open_pool() || pool.team != NULL)
		return run_alone(team->parts, team->run, team->arg, team->cancel);
	/* the other threads may take all parts, and then the caller would never poll */
	if (hy_cancelled(team->cancel))
		return HY_CANCELLED;

	team->open = threads - 1;
	lock_for(team);
	start_threads(threads - 1);
	pool.team = team;
	(void) __atomic_fetch_add(&pool.published, 1, __ATOMIC_RELAXED);
	pthread_cond_broadcast(&pool.work);
	pthread_mutex_unlock(&pool.mutex);

	do_main_thread_work(team);
	take_parts(team, 0, &polled);

	lock_for(team);
	team->open = 0;
	if (team->soon)
		spin_for_end(team);
	while (running_of(team) > 0)
	{
		struct timespec until = from_now(POLL_NS);

		(void) pthread_cond_timedwait(&pool.done, &pool.mutex, &until);
		(void) caller_must_stop(team);
	}
	pool.team = NULL;
	pthread_mutex_unlock(&pool.mutex);

	status = (HyStatus) __atomic_load_n(&team->status, __ATOMIC_RELAXED);
	if (status == HY_OK && __atomic_load_n(&team->stop, __ATOMIC_RELAXED) != 0)
		return HY_CANCELLED;
	return status;
}

/* lock_for: lock the mutex for a team.  If another run will soon follow, lock it by spinning. */
static void
lock_for(const Team *team)
{
	if (team->soon)
		lock_soon();
	else
		pthread_mutex_lock(&pool.mutex);
}

/* lock_soon: lock the mutex by spinning.  Sleeps only if another thread holds it for long. */
static void
lock_soon(void)
{
	Spin spin = {now() + SPIN_NS, 0};

	do
	{
		if (pthread_mutex_trylock(&pool.mutex) == 0)
			return;
	} while (spins(&spin));
	pthread_mutex_lock(&pool.mutex);
}

/*
 * spin_for_end: spin until the threads of a closed team are done, for at most SPIN_NS.  The caller
 * holds the mutex, which is released meanwhile.
 */
static void
spin_for_end(Team *team)
{
	Spin spin = {now() + SPIN_NS, 0};

	pthread_mutex_unlock(&pool.mutex);
	while (running_of(team) > 0 && spins(&spin))
		;
	lock_soon();
}

/*
 * spin_for_team: spin until the next team is published or the threads must end, but not beyond the time
 * `end`.  Returns whether either happened.  The caller holds the mutex, which is released meanwhile.
 */
static bool
spin_for_team(uint64_t end)
{
	unsigned seen = __atomic_load_n(&pool.published, __ATOMIC_RELAXED);
	Spin spin = {end, 0};
	bool came;

	pthread_mutex_unlock(&pool.mutex);
	while (!(came = __atomic_load_n(&pool.published, __ATOMIC_RELAXED) != seen) && spins(&spin))
		;
	lock_soon();
	return came;
}

/* spins: pause for some cycles.  Returns false once the end of the wait is reached. */
static bool
spins(Spin *spin)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#endif
	return ++spin->pauses % SPINS != 0 || now() < spin->end;
}

static int
running_of(const Team *team)
{
	return __atomic_load_n(&team->running, __ATOMIC_RELAXED);
}

static HyStatus
run_alone(int64_t parts, HyPart run, void *arg, const HyCancel *cancel)
{
	HyStatus status = HY_OK;
	int64_t part;

	for (part = 0; part < parts && status == HY_OK; part++)
		status = run(arg, part, 0, cancel);
	return status;
}

/*
 * open_pool: initialize the pool of this process.  A process that was forked has a copy of the
 * parent's pool, whose mutex may be locked, and none of its threads.
 */
static bool
open_pool(void)
{
	pid_t process = getpid();

	if (pool.process == process)
		return true;
	memset(&pool, 0, sizeof(pool));
	if (!new_mutex(&pool.mutex) || !new_condition(&pool.work) || !new_condition(&pool.done))
		return false;
	pool.process = process;
	return true;
}

/* new_mutex: initialize a mutex that its owner cannot lock again: the second call fails at once. */
static bool
new_mutex(pthread_mutex_t *mutex)
{
	pthread_mutexattr_t attributes;
	bool done;

	if (pthread_mutexattr_init(&attributes) != 0)
		return false;
	done = pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK) == 0 &&
	       pthread_mutex_init(mutex, &attributes) == 0;
	pthread_mutexattr_destroy(&attributes);
	return done;
}

/* new_condition: initialize a condition whose timeouts follow the monotonic clock. */
static bool
new_condition(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;
	bool done;

	if (pthread_condattr_init(&attributes) != 0)
		return false;
	done = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
	       pthread_cond_init(condition, &attributes) == 0;
	pthread_condattr_destroy(&attributes);
	return done;
}

/*
 * start_threads: start threads until there are `count`, or until one fails to start.  The caller
 * holds the mutex.
 */
static void
start_threads(int count)
{
	int there = 0;
	int i;

	for (i = 0; i < HY_THREADS_MOST - 1; i++)
	{
		ThreadSlot *slot = &pool.slots[i];

		/*
		 * This join cannot deadlock.  The thread set SLOT_LEFT just before it released the mutex
		 * for the last time.
		 */
		if (slot->state == SLOT_LEFT)
		{
			pthread_join(slot->thread, NULL);
			slot->state = SLOT_FREE;
		}
		if (slot->state == SLOT_TAKEN)
			there++;
	}
	for (i = 0; there < count && i < HY_THREADS_MOST - 1; i++)
	{
		if (pool.slots[i].state != SLOT_FREE)
			continue;
		if (!start_thread(&pool.slots[i]))
			return;
		there++;
	}
}

static bool
start_thread(ThreadSlot *slot)
{
	pthread_attr_t attributes;
	sigset_t all;
	sigset_t before;
	bool started = false;

	if (pthread_attr_init(&attributes) != 0)
		return false;
	sigfillset(&all);
	/* a thread inherits the mask of the thread that starts it */
	if (pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0 &&
	    pthread_sigmask(SIG_SETMASK, &all, &before) == 0)
	{
		slot->state = SLOT_TAKEN;
		started = pthread_create(&slot->thread, &attributes, thread_main, slot) == 0;
		if (!started)
			slot->state = SLOT_FREE;
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	pthread_attr_destroy(&attributes);
	return started;
}

static void *
thread_main(void *arg)
{
	ThreadSlot *slot = arg;
	int waited = 0;
	uint64_t spin_end = 0; /* 0: do not spin */

	pthread_mutex_lock(&pool.mutex);
	while (!pool.closing)
	{
		Team *team = pool.team;
		struct timespec until;

		if (team != NULL && may_join(team))
		{
			HyCancel polled = {thread_must_stop, team};
			int worker = ++team->joined;

			team->open--;
			(void) __atomic_fetch_add(&team->running, 1, __ATOMIC_RELAXED);
			pthread_mutex_unlock(&pool.mutex);
			take_parts(team, worker, &polled);
			/* teams that this thread cannot join do not prolong its spinning */
			spin_end = team->soon ? now() + SPIN_NS : 0;
			lock_for(team);
			/* The team may be gone as soon as the mutex is released. */
			if (__atomic_sub_fetch(&team->running, 1, __ATOMIC_RELAXED) == 0)
				pthread_cond_signal(&pool.done);
			waited = 0;
			continue;
		}
		if (spin_end != 0)
		{
			if (!spin_for_team(spin_end))
				spin_end = 0;
			continue;
		}
		if (waited == ETIMEDOUT)
			break;
		until = from_now(IDLE_NS);
		waited = pthread_cond_timedwait(&pool.work, &pool.mutex, &until);
	}
	slot->state = SLOT_LEFT;
	pthread_mutex_unlock(&pool.mutex);
	return NULL;
}

static bool
may_join(const Team *team)
{
	return team->open > 0 && has_parts(team);
}

/* has_parts: return whether a worker can take a part. */
static bool
has_parts(const Team *team)
{
	return __atomic_load_n(&team->stop, __ATOMIC_RELAXED) == 0 &&
	       __atomic_load_n(&team->next, __ATOMIC_RELAXED) < team->parts;
}

static void
do_main_thread_work(Team *team)
{
	uint64_t since;

	if (main_thread_work == NULL || main_thread_work_paused)
		return;
	since = now();
	while (main_thread_work != NULL && !caller_must_stop(team) && has_parts(team))
	{
		bool more = false;
		HyStatus status = main_thread_work->work(main_thread_work->arg, &more);

		if (status != HY_OK || !more)
			main_thread_work = NULL;
		if (status != HY_OK)
			fail(team, status);
	}
	main_thread_work_ns += now() - since;
}

static void
take_parts(Team *team, int worker, const HyCancel *cancel)
{
	while (__atomic_load_n(&team->stop, __ATOMIC_RELAXED) == 0)
	{
		int64_t part = __atomic_fetch_add(&team->next, 1, __ATOMIC_RELAXED);
		HyStatus status;

		if (part >= team->parts)
			return;
		status = team->run(team->arg, part, worker, cancel);
		if (status != HY_OK)
			fail(team, status);
	}
}

/* fail: start no new part, and keep the first status. */
static void
fail(Team *team, HyStatus status)
{
	int ok = HY_OK;

	(void) __atomic_compare_exchange_n(&team->status, &ok, (int) status, false, __ATOMIC_RELAXED,
	                                   __ATOMIC_RELAXED);
	__atomic_store_n(&team->stop, 1, __ATOMIC_RELAXED);
}

static bool
caller_must_stop(void *arg)
{
	Team *team = arg;

	if (hy_cancelled(team->cancel))
		__atomic_store_n(&team->stop, 1, __ATOMIC_RELAXED);
	return thread_must_stop(team);
}

static bool
thread_must_stop(void *arg)
{
	return __atomic_load_n(&((Team *) arg)->stop, __ATOMIC_RELAXED) != 0;
}

static struct timespec
from_now(int64_t ns)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	ns += time.tv_nsec;
	time.tv_sec += (time_t) (ns / 1000000000);
	time.tv_nsec = (long) (ns % 1000000000);
	return time;
}

static uint64_t
now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t) time.tv_sec * UINT64_C(1000000000) + (uint64_t) time.tv_nsec;
}
