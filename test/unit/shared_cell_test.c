/*
 * shared_cell_test.c
 *		What readers of the shared table see while threads write it, and while processes that may
 *		die at any moment write it.
 */
#include "shared_table_stage.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#endif

/* write_some: do one round of a writer, all of it verifiable. */
static void
write_some(uint64_t round)
{
	HyCounters delta = one_call((int64_t) (round % 1000));
	HyTableEvent event = event_number((int64_t) (round % 100000));
	HyTableModel model = model_number(1 + (uint32_t) (round % 40), round);
	HyBreaker breaker;

	memset(&breaker, 0, sizeof(breaker));
	breaker.opened = (int64_t) round;
	breaker.open_until_ns = round;
	hy_table_begin(table, &lock);
	hy_table_count(table, 0, HY_OP_TOPK, &delta);
	hy_table_put_event(table, &event);
	hy_table_put_model(table, &model);
	hy_table_put_breaker(table, 0, HY_OP_TOPK, &breaker, round % 2 == 0);
	hy_table_end(table, &lock);
}

/* read_some: return whether everything that a reader sees is consistent. */
static bool
read_some(void)
{
	HyTableEvent events[8];
	HyCounters counters;
	HyTableModel model;
	HyBreaker breaker;
	int n = hy_table_events(table, events, 8);
	int i;

	for (i = 0; i < n; i++)
	{
		if (!event_whole(&events[i]))
			return false;
	}
	hy_table_counters(table, &lock, 0, HY_OP_TOPK, &counters);
	hy_table_breaker(table, &lock, 0, HY_OP_TOPK, &breaker);
	if (!whole(&counters) || breaker.open_until_ns != (uint64_t) breaker.opened)
		return false;
	for (i = 0; i < hy_table_models(table); i++)
	{
		if (hy_table_model(table, &lock, i, &model) && !model_whole(&model))
			return false;
	}
	return true;
}

static void *
writer_thread(void *arg)
{
	uint64_t round;

	(void) arg;
	for (round = 0; round < 5000; round++)
		write_some(round);
	return NULL;
}

static void *
reader_thread(void *arg)
{
	int *torn = arg;

	while (__atomic_load_n(&arena->stop, __ATOMIC_ACQUIRE) == 0)
		*torn += !read_some();
	return NULL;
}

/* Under the thread sanitizer this shows that there are no unordered reads or writes. */
static void
test_threads_hammer(void)
{
	HyTableDevice cpu = device_called("cpu", 0);
	pthread_t writers[3];
	pthread_t readers[2];
	int torn[2] = {0, 0};
	HyCounters sum;
	int i;

	arena_begin();
	hy_table_register(table, &cpu);
	for (i = 0; i < 2; i++)
		pthread_create(&readers[i], NULL, reader_thread, &torn[i]);
	for (i = 0; i < 3; i++)
		pthread_create(&writers[i], NULL, writer_thread, NULL);
	for (i = 0; i < 3; i++)
		pthread_join(writers[i], NULL);
	__atomic_store_n(&arena->stop, 1, __ATOMIC_RELEASE);
	for (i = 0; i < 2; i++)
		pthread_join(readers[i], NULL);
	CHECK_INT(torn[0] + torn[1], 0);
	hy_table_counters(table, &lock, 0, HY_OP_TOPK, &sum);
	CHECK_INT(sum.calls, 15000);
	/* 0 .. 999, fifteen times */
	CHECK_INT(sum.items, 15 * 499500);
	arena_end();
}

#ifndef UNDER_TSAN

/* Writers in processes of their own are killed at any moment, and a reader never notices it. */
static void
test_killed_writers(void)
{
	HyTableDevice cpu = device_called("cpu", 0);
	UnitRandom random = {4711};
	HyCounters before = {0};
	HyCounters after;
	int torn = 0;
	int i;

	arena_begin();
	hy_table_register(table, &cpu);
	for (i = 0; i < 150; i++)
	{
		pid_t writers[2];
		struct timespec pause = {0, 100000 + (long) unit_random_below(&random, 900000)};
		int w;

		for (w = 0; w < 2; w++)
		{
			writers[w] = fork();
			if (writers[w] == 0)
			{
				uint64_t round;

				for (round = (uint64_t) i;; round++)
				{
					write_some(round);
					__atomic_add_fetch(&arena->progress, 1, __ATOMIC_RELAXED);
				}
			}
		}
		nanosleep(&pause, NULL);
		torn += !read_some();
		for (w = 0; w < 2; w++)
		{
			kill(writers[w], SIGKILL);
			waitpid(writers[w], NULL, 0);
		}
		torn += !read_some();
		/* counters only grow, and the next writer finds its way */
		hy_table_counters(table, &lock, 0, HY_OP_TOPK, &after);
		CHECK(after.calls >= before.calls && after.items >= before.items);
		write_some(1);
		hy_table_counters(table, &lock, 0, HY_OP_TOPK, &before);
		CHECK_INT(before.calls, after.calls + 1);
	}
	CHECK_INT(torn, 0);
	/* what a killed writer had finished is counted; at most the round under way is missing */
	CHECK(before.calls >= (int64_t) arena->progress);
	CHECK(before.calls <= (int64_t) arena->progress + 150 * 3);
	CHECK(arena->progress > 0);
	arena_end();
}

/*
 * fenced: run write in a process that dies when it touches the table at or beyond offset.  Returns
 * whether it did.
 */
static bool
fenced(void (*write)(void), size_t offset)
{
	size_t page = (size_t) sysconf(_SC_PAGESIZE);
	pid_t child = fork();
	int status;

	if (child == 0)
	{
		/* no report of a sanitizer: dying is what it is for */
		signal(SIGSEGV, SIG_DFL);
		signal(SIGBUS, SIG_DFL);
		mprotect((char *) table + offset / page * page, page, PROT_READ);
		write();
		_exit(0);
	}
	waitpid(child, &status, 0);
	return WIFSIGNALED(status);
}

static void
write_event_77(void)
{
	HyTableEvent event = event_number(77);

	hy_table_begin(table, &lock);
	hy_table_put_event(table, &event);
	hy_table_end(table, &lock);
}

static void
write_reset(void)
{
	hy_table_begin(table, &lock);
	hy_table_reset(table);
	hy_table_end(table, &lock);
}

/*
 * A writer dies in the middle of an event or a reset, at a chosen place: the next writer repairs
 * it.
 */
static void
test_half_written(void)
{
	HyTableDevice devices[2] = {device_called("cpu", 0), device_called("cuda", 0)};
	HyCounters delta = one_call(9);
	HyTableEvent events[8];
	HyTableEvent event;
	HyTableModel model;
	HyCounters sum;
	uint64_t epoch;
	size_t page = (size_t) sysconf(_SC_PAGESIZE);
	size_t offset;
	int died = 0;
	int i;

	arena_begin();
	hy_table_register(table, &devices[0]);
	hy_table_register(table, &devices[1]);
	for (i = 1; i <= 8; i++)
	{
		event = event_number(i);
		hy_table_put_event(table, &event);
	}
	/* every page of the table in turn; the header is the first */
	for (offset = page; offset < table_bytes; offset += page)
	{
		bool dead = fenced(write_event_77, offset);
		int n = hy_table_events(table, events, 8);

		died += dead;
		for (i = 0; i < n; i++)
			CHECK(event_whole(&events[i]));
		CHECK(dead ? n == 7 || n == 8 : n == 8);
		/* the writer that comes next */
		event = event_number(78);
		hy_table_begin(table, &lock);
		hy_table_put_event(table, &event);
		hy_table_end(table, &lock);
		n = hy_table_events(table, events, 8);
		CHECK_INT(n, 8);
		CHECK_INT(events[7].wall_us, 78);
	}
	CHECK(died >= 1);

	died = 0;
	for (offset = page; offset < table_bytes; offset += page)
	{
		hy_table_begin(table, &lock);
		hy_table_count(table, 0, HY_OP_DISTANCE, &delta);
		hy_table_count(table, 1, HY_OP_SPREAD, &delta);
		model = model_number(3, 3);
		hy_table_put_model(table, &model);
		hy_table_end(table, &lock);
		epoch = hy_table_epoch(table);
		if (!fenced(write_reset, offset))
			continue;
		died++;
		CHECK(hy_table_epoch(table) == epoch);
		hy_table_begin(table, &lock);
		hy_table_count(table, 1, HY_OP_SPREAD, &delta);
		hy_table_end(table, &lock);
		CHECK(hy_table_epoch(table) == epoch + 1);
		hy_table_counters(table, &lock, 0, HY_OP_DISTANCE, &sum);
		CHECK_INT(sum.calls, 0);
		hy_table_counters(table, &lock, 1, HY_OP_SPREAD, &sum);
		CHECK_INT(sum.calls, 1);
		CHECK(!hy_table_find_model(table, &lock, 1, 3, &model));
		CHECK_INT(hy_table_events(table, events, 8), 0);
		write_event_77();
		CHECK_INT(hy_table_events(table, events, 8), 1);
		write_reset();
	}
	CHECK(died >= 3);
	arena_end();
}

#endif

int
main(void)
{
	UNIT_RUN(test_threads_hammer);
#ifndef UNDER_TSAN
	UNIT_RUN(test_killed_writers);
	UNIT_RUN(test_half_written);
#endif
	return unit_finish();
}
