/*
 * shared_table_test.c
 *		The table shared by several processes: sums, sets, rings, and threads that read and write it
 *		at once.
 *
 * Values are such that a part of them shows whether the whole is there.
 */
#include "dispatch/share/shared_table.h"

#include <pthread.h>

#include "unit.h"

static const HyTableLimits limits = {.devices = 3, .models = 16, .events = 8, .contexts = 4};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static HySharedTable *table;
static int stop;

static void
acquire(void *arg)
{
	pthread_mutex_lock(arg);
}

static void
release(void *arg)
{
	pthread_mutex_unlock(arg);
}

static const HyLock lock = {acquire, release, &mutex};

static void
begin(void)
{
	table = malloc(hy_table_size(&limits));
	hy_table_init(table, &limits);
}

static void
end(void)
{
	free(table);
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

	begin();
	CHECK(hy_table_size(&limits) % 64 == 0);
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
	CHECK(hy_table_new_session(table) == 1 && hy_table_new_session(table) == 2);
	end();
}

static void
test_counters_add_up(void)
{
	HyTableDevice cpu = device_called("cpu", 0);
	HyCounters delta = one_call(10);
	HyCounters sum;

	begin();
	hy_table_register(table, &cpu);
	hy_table_count(table, 0, HY_OP_TOPK, &delta);
	delta = one_call(32);
	hy_table_count(table, 0, HY_OP_TOPK, &delta);
	hy_table_counters(table, 0, HY_OP_TOPK, &sum);
	CHECK_INT(sum.calls, 2);
	CHECK_INT(sum.items, 42);
	CHECK_INT(sum.latency[3], 2);
	CHECK(whole(&sum));
	hy_table_counters(table, 0, HY_OP_DISTANCE, &sum);
	CHECK_INT(sum.calls, 0);
	/* at the end of what a number holds it stays there */
	delta = (HyCounters){.items = INT64_MAX};
	hy_table_count(table, 0, HY_OP_TOPK, &delta);
	hy_table_counters(table, 0, HY_OP_TOPK, &sum);
	CHECK(sum.items == INT64_MAX);
	end();
}

static void
test_models_give_way(void)
{
	HyTableModel model;
	uint32_t number;
	int found = 0;
	int i;

	begin();
	CHECK(!hy_table_find_model(table, 1, 5, &model));
	model = model_number(5, 50);
	hy_table_put_model(table, &model);
	model = model_number(5, 51);
	model.samples = 6;
	hy_table_put_model(table, &model);
	CHECK(hy_table_find_model(table, 1, 5, &model));
	CHECK_INT(model.state.weight, 51);
	CHECK_INT(model.samples, 7);
	CHECK(!hy_table_find_model(table, 2, 5, &model));
	/* 1,000 more than fit: the newest is always there, and none is there twice */
	for (number = 100; number < 1100; number++)
	{
		model = model_number(number, number);
		hy_table_put_model(table, &model);
		CHECK(hy_table_find_model(table, 1, number, &model));
		CHECK(model_whole(&model) && model.state.weight == number);
		/* used all the time, so never the oldest */
		model = model_number(99, 99);
		hy_table_put_model(table, &model);
	}
	CHECK(hy_table_find_model(table, 1, 99, &model));
	CHECK_INT(model.samples, 1000);
	for (i = 0; i < hy_table_models(table); i++)
		found += hy_table_model(table, i, &model);
	CHECK_INT(found, 16);
	end();
}

static void
test_events_ring(void)
{
	HyTableEvent events[8];
	HyTableEvent event;
	int i;

	begin();
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
	end();
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

	begin();
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
	hy_table_breaker(table, 0, HY_OP_SPREAD, &breaker);
	CHECK_INT(breaker.state, HY_BREAKER_OPEN);
	hy_table_take_context(table, 0, 0, &place);

	epoch = hy_table_epoch(table);
	hy_table_reset(table);
	CHECK(hy_table_epoch(table) == epoch + 1);
	CHECK(hy_table_transitions(table) != transitions + 1);
	hy_table_counters(table, 0, HY_OP_SPREAD, &delta);
	CHECK_INT(delta.calls, 0);
	hy_table_breaker(table, 0, HY_OP_SPREAD, &breaker);
	CHECK_INT(breaker.state, HY_BREAKER_CLOSED);
	CHECK(!hy_table_find_model(table, 1, 5, &model));
	/* what is there stays there */
	CHECK_INT(hy_table_devices(table), 1);
	CHECK_INT(hy_table_contexts(table, 0), 1);
	end();
}

/* A table with room only for counters is valid. */
static void
test_no_room(void)
{
	static const HyTableLimits small = {.devices = 1};
	HySharedTable *t = malloc(hy_table_size(&small));
	HyTableModel model = model_number(1, 1);
	HyTableEvent event = event_number(1);

	hy_table_init(t, &small);
	hy_table_put_model(t, &model);
	CHECK(!hy_table_find_model(t, 1, 1, &model));
	hy_table_put_event(t, &event);
	CHECK_INT(hy_table_events(t, &event, 1), 0);
	hy_table_reset(t);
	free(t);
}

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
	hy_lock(&lock);
	hy_table_count(table, 0, HY_OP_TOPK, &delta);
	hy_table_put_event(table, &event);
	hy_table_put_model(table, &model);
	hy_table_put_breaker(table, 0, HY_OP_TOPK, &breaker, round % 2 == 0);
	hy_unlock(&lock);
}

/* read_some: return whether everything that a reader sees is consistent. */
static bool
read_some(void)
{
	HyTableEvent events[8];
	HyTableModel models[16];
	HyCounters counters;
	HyBreaker breaker;
	bool there[16];
	int n;
	int i;

	hy_lock(&lock);
	n = hy_table_events(table, events, 8);
	hy_table_counters(table, 0, HY_OP_TOPK, &counters);
	hy_table_breaker(table, 0, HY_OP_TOPK, &breaker);
	for (i = 0; i < hy_table_models(table); i++)
		there[i] = hy_table_model(table, i, &models[i]);
	hy_unlock(&lock);
	for (i = 0; i < n; i++)
	{
		if (!event_whole(&events[i]))
			return false;
	}
	if (!whole(&counters) || breaker.open_until_ns != (uint64_t) breaker.opened)
		return false;
	for (i = 0; i < hy_table_models(table); i++)
	{
		if (there[i] && !model_whole(&models[i]))
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

	while (__atomic_load_n(&stop, __ATOMIC_ACQUIRE) == 0)
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

	begin();
	hy_table_register(table, &cpu);
	for (i = 0; i < 2; i++)
		pthread_create(&readers[i], NULL, reader_thread, &torn[i]);
	for (i = 0; i < 3; i++)
		pthread_create(&writers[i], NULL, writer_thread, NULL);
	for (i = 0; i < 3; i++)
		pthread_join(writers[i], NULL);
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	for (i = 0; i < 2; i++)
		pthread_join(readers[i], NULL);
	CHECK_INT(torn[0] + torn[1], 0);
	hy_table_counters(table, 0, HY_OP_TOPK, &sum);
	CHECK_INT(sum.calls, 15000);
	/* 0 .. 999, fifteen times */
	CHECK_INT(sum.items, 15 * 499500);
	end();
}

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
	return unit_finish();
}
