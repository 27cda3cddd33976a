/*
 * shared_table_test.c
 *		The table of several processes: sums, sets, rings, and writers that die at any moment.
 */
#define _GNU_SOURCE

#include "dispatch/shared_table.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "unit.h"

#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#endif

static const HyTableLimits limits = {.devices = 3, .models = 16, .events = 8, .contexts = 4};
static const HyTableLock no_lock = {NULL, NULL, NULL};

/* Arena: what the processes of a test share; the lock is given back when its holder dies. */
typedef struct Arena
{
	pthread_mutex_t mutex;
	uint64_t progress;
	uint64_t stop;
} Arena;

static Arena *arena;
static HySharedTable *table;
static size_t table_bytes;
static HyTableLock lock;

static void
arena_acquire(void *arg)
{
	Arena *a = arg;

	if (pthread_mutex_lock(&a->mutex) == EOWNERDEAD)
		pthread_mutex_consistent(&a->mutex);
}

static void
arena_release(void *arg)
{
	Arena *a = arg;

	pthread_mutex_unlock(&a->mutex);
}

static void
arena_begin(void)
{
	pthread_mutexattr_t attributes;

	arena = mmap(NULL, sizeof(Arena), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&arena->mutex, &attributes);
	table_bytes = hy_table_size(&limits);
	table = mmap(NULL, table_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	hy_table_init(table, &limits);
	lock = (HyTableLock){arena_acquire, arena_release, arena};
}

static void
arena_end(void)
{
	munmap(table, table_bytes);
	munmap(arena, sizeof(Arena));
}

static HyTableDevice
device_called(const char *backend, int32_t number)
{
	HyTableDevice device = {.number = number};

	snprintf(device.backend, sizeof(device.backend), "%s", backend);
	return device;
}

/* one_call: what a call of so many items adds; every field follows from items. */
static HyCounters
one_call(int64_t items)
{
	HyCounters delta = {.calls = 1, .items = items};

	delta.total_ns = (uint64_t) items * 2;
	delta.by_status[HY_OK] = 1;
	delta.latency[3] = 1;
	delta.bytes_down = (uint64_t) items * 3;
	return delta;
}

/* whole: whether counters are a sum of what one_call gives, so not torn. */
static bool
whole(const HyCounters *c)
{
	return c->by_status[HY_OK] == c->calls && c->latency[3] == c->calls &&
	       c->total_ns == (uint64_t) c->items * 2 && c->bytes_down == (uint64_t) c->items * 3;
}

static HyTableEvent
event_number(int64_t i)
{
	HyTableEvent event;

	memset(&event, 0, sizeof(event));
	event.origin.pid = (int32_t) i;
	event.wall_us = i;
	event.decision.items = i;
	event.decision.bytes_available = (uint64_t) i;
	return event;
}

static bool
event_whole(const HyTableEvent *event)
{
	return event->origin.pid == event->wall_us && event->decision.items == event->wall_us &&
	       event->decision.bytes_available == (uint64_t) event->wall_us;
}

static HyTableModel
model_number(uint32_t number, uint64_t value)
{
	HyTableModel model;
	int i;

	memset(&model, 0, sizeof(model));
	model.device = 1;
	model.number = number;
	model.samples = 1;
	model.state.weight = (double) value;
	for (i = 0; i < 6; i++)
		model.state.information[i] = (double) value;
	model.state.response[2] = (double) value;
	return model;
}

static bool
model_whole(const HyTableModel *model)
{
	int i;

	for (i = 0; i < 6; i++)
	{
		if (model->state.information[i] != model->state.weight)
			return false;
	}
	return model->state.response[2] == model->state.weight;
}

static void
test_devices(void)
{
	HyTableDevice cpu = device_called("cpu", 0);
	HyTableDevice second = device_called("cuda", 1);
	HyTablePlace place[4];
	HyTablePlace others[4];
	int i;
	HyTableDevice key;

	arena_begin();
	CHECK(hy_table_size(&limits) % 64 == 0);
	hy_table_begin(table, &no_lock);
	CHECK_INT(hy_table_register(table, &cpu), 0);
	CHECK_INT(hy_table_register(table, &second), 1);
	CHECK_INT(hy_table_register(table, &cpu), 0);
	second.virtual_time = 1;
	CHECK_INT(hy_table_register(table, &second), 2);
	/* full: a new one has no place, an old one keeps its own */
	second.number = 7;
	CHECK_INT(hy_table_register(table, &second), HY_TABLE_NO_DEVICE);
	CHECK_INT(hy_table_register(table, &cpu), 0);
	CHECK_INT(hy_table_devices(table), 3);
	hy_table_device(table, 1, &key);
	CHECK_STR(key.backend, "cuda");
	CHECK_INT(key.number, 1);

	CHECK(hy_table_take_context(table, 1, 2, &place[0]));
	CHECK(hy_table_take_context(table, 1, 2, &place[1]));
	CHECK(!hy_table_take_context(table, 1, 2, &place[2]));
	CHECK(place[2].word == NULL);
	CHECK(hy_table_take_context(table, 2, 2, &place[3]));
	CHECK(hy_table_take_context(table, 1, 0, &place[2]));
	CHECK_INT(hy_table_contexts(table, 1), 3);
	hy_table_give_context(&place[0]);
	hy_table_give_context(&place[0]);
	hy_table_give_context(&place[1]);
	CHECK_INT(hy_table_contexts(table, 1), 1);
	/* one that its holder has given up itself is another's soon, and is not given again */
	*place[2].word = 0;
	CHECK_INT(hy_table_contexts(table, 1), 0);
	for (i = 0; i < 4; i++)
		CHECK(hy_table_take_context(table, 1, 0, &others[i]));
	hy_table_give_context(&place[2]);
	CHECK_INT(hy_table_contexts(table, 1), 4);
	/* no more are counted, and none of another device's */
	CHECK(!hy_table_take_context(table, 1, 0, &place[2]));
	for (i = 0; i < 4; i++)
		hy_table_give_context(&others[i]);
	CHECK_INT(hy_table_contexts(table, 1), 0);
	CHECK_INT(hy_table_contexts(table, 2), 1);
	CHECK_INT(hy_table_contexts(table, 0), 0);
	hy_table_end(table, &no_lock);
	CHECK(hy_table_new_session(table) == 1 && hy_table_new_session(table) == 2);
	arena_end();
}

static void
test_counters_add_up(void)
{
	HyTableDevice cpu = device_called("cpu", 0);
	HyCounters delta = one_call(10);
	HyCounters sum;

	arena_begin();
	hy_table_begin(table, &no_lock);
	hy_table_register(table, &cpu);
	hy_table_count(table, 0, HY_OP_TOPK, &delta);
	delta = one_call(32);
	hy_table_count(table, 0, HY_OP_TOPK, &delta);
	hy_table_end(table, &no_lock);
	hy_table_counters(table, &no_lock, 0, HY_OP_TOPK, &sum);
	CHECK_INT(sum.calls, 2);
	CHECK_INT(sum.items, 42);
	CHECK_INT(sum.latency[3], 2);
	CHECK(whole(&sum));
	hy_table_counters(table, &no_lock, 0, HY_OP_DISTANCE, &sum);
	CHECK_INT(sum.calls, 0);
	/* at the end of what a number holds it stays there */
	delta = (HyCounters){.items = INT64_MAX};
	hy_table_count(table, 0, HY_OP_TOPK, &delta);
	hy_table_counters(table, &no_lock, 0, HY_OP_TOPK, &sum);
	CHECK(sum.items == INT64_MAX);
	arena_end();
}

static void
test_models_give_way(void)
{
	HyTableModel model;
	uint32_t number;
	int found = 0;
	int i;

	arena_begin();
	CHECK(!hy_table_find_model(table, &no_lock, 1, 5, &model));
	model = model_number(5, 50);
	hy_table_put_model(table, &model);
	model = model_number(5, 51);
	model.samples = 6;
	hy_table_put_model(table, &model);
	CHECK(hy_table_find_model(table, &no_lock, 1, 5, &model));
	CHECK_INT(model.state.weight, 51);
	CHECK_INT(model.samples, 7);
	CHECK(!hy_table_find_model(table, &no_lock, 2, 5, &model));
	/* 1,000 more than fit: the newest is always there, and none is there twice */
	for (number = 100; number < 1100; number++)
	{
		model = model_number(number, number);
		hy_table_put_model(table, &model);
		CHECK(hy_table_find_model(table, &no_lock, 1, number, &model));
		CHECK(model_whole(&model) && model.state.weight == number);
		/* used all the time, so never the oldest */
		model = model_number(99, 99);
		hy_table_put_model(table, &model);
	}
	CHECK(hy_table_find_model(table, &no_lock, 1, 99, &model));
	CHECK_INT(model.samples, 1000);
	for (i = 0; i < hy_table_models(table); i++)
		found += hy_table_model(table, &no_lock, i, &model);
	CHECK_INT(found, 16);
	arena_end();
}

static void
test_events_ring(void)
{
	HyTableEvent events[8];
	HyTableEvent event;
	int i;

	arena_begin();
	CHECK_INT(hy_table_events(table, events, 8), 0);
	for (i = 1; i <= 3; i++)
	{
		event = event_number(i);
		hy_table_put_event(table, &event);
	}
	CHECK_INT(hy_table_events(table, events, 8), 3);
	CHECK(events[0].wall_us == 1 && events[2].wall_us == 3);
	CHECK_INT(hy_table_events(table, events, 2), 2);
	CHECK(events[0].wall_us == 2);
	for (i = 4; i <= 100; i++)
	{
		event = event_number(i);
		hy_table_put_event(table, &event);
	}
	CHECK_INT(hy_table_events(table, events, 8), 8);
	CHECK(events[0].wall_us == 93 && events[7].wall_us == 100);
	hy_table_reset(table);
	CHECK_INT(hy_table_events(table, events, 8), 0);
	event = event_number(101);
	hy_table_put_event(table, &event);
	CHECK_INT(hy_table_events(table, events, 8), 1);
	CHECK(events[0].wall_us == 101);
	arena_end();
}

static void
test_reset(void)
{
	HyTablePlace place;
	HyTableDevice cpu = device_called("cpu", 0);
	HyCounters delta = one_call(5);
	HyTableModel model = model_number(5, 50);
	HyBreaker breaker;
	uint64_t epoch;
	uint64_t transitions;

	arena_begin();
	hy_table_begin(table, &no_lock);
	hy_table_register(table, &cpu);
	hy_table_count(table, 0, HY_OP_SPREAD, &delta);
	hy_table_put_model(table, &model);
	transitions = hy_table_transitions(table);
	memset(&breaker, 0, sizeof(breaker));
	breaker.state = HY_BREAKER_OPEN;
	hy_table_put_breaker(table, 0, HY_OP_SPREAD, &breaker, false);
	CHECK(hy_table_transitions(table) == transitions);
	hy_table_put_breaker(table, 0, HY_OP_SPREAD, &breaker, true);
	CHECK(hy_table_transitions(table) == transitions + 1);
	hy_table_breaker(table, &no_lock, 0, HY_OP_SPREAD, &breaker);
	CHECK_INT(breaker.state, HY_BREAKER_OPEN);
	hy_table_take_context(table, 0, 0, &place);

	epoch = hy_table_epoch(table);
	hy_table_reset(table);
	hy_table_end(table, &no_lock);
	CHECK(hy_table_epoch(table) == epoch + 1);
	CHECK(hy_table_transitions(table) != transitions + 1);
	hy_table_counters(table, &no_lock, 0, HY_OP_SPREAD, &delta);
	CHECK_INT(delta.calls, 0);
	hy_table_breaker(table, &no_lock, 0, HY_OP_SPREAD, &breaker);
	CHECK_INT(breaker.state, HY_BREAKER_CLOSED);
	CHECK(!hy_table_find_model(table, &no_lock, 1, 5, &model));
	/* what is there stays there */
	CHECK_INT(hy_table_devices(table), 1);
	CHECK_INT(hy_table_contexts(table, 0), 1);
	arena_end();
}

/* A table for nothing but counters is a table. */
static void
test_no_room(void)
{
	static const HyTableLimits small = {.devices = 1};
	HySharedTable *t = malloc(hy_table_size(&small));
	HyTableModel model = model_number(1, 1);
	HyTableEvent event = event_number(1);

	hy_table_init(t, &small);
	hy_table_put_model(t, &model);
	CHECK(!hy_table_find_model(t, &no_lock, 1, 1, &model));
	hy_table_put_event(t, &event);
	CHECK_INT(hy_table_events(t, &event, 1), 0);
	hy_table_reset(t);
	free(t);
}

/* write_some: one round of a writer, all of it checkable. */
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

/* read_some: whether all that a reader sees is whole. */
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

/* Under the thread sanitizer this shows that nothing is read or written without order. */
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

/* Writers in processes of their own, killed at any moment, and a reader who never sees it. */
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

/* fenced: runs write in a process that dies when it touches the table at or beyond offset. */
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

/* Dying in the middle of an event or a reset, at a place that is chosen: the next one mends it. */
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
	UNIT_RUN(test_devices);
	UNIT_RUN(test_counters_add_up);
	UNIT_RUN(test_models_give_way);
	UNIT_RUN(test_events_ring);
	UNIT_RUN(test_reset);
	UNIT_RUN(test_no_room);
	UNIT_RUN(test_threads_hammer);
#ifndef UNDER_TSAN
	UNIT_RUN(test_killed_writers);
	UNIT_RUN(test_half_written);
#endif
	return unit_finish();
}
