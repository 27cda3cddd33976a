/*
 * shared_table_test.c
 *		The table shared by several processes: sums, sets, rings.
 */
#include "shared_table_stage.h"

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
	CHECK(!hy_table_find_model(t, &no_lock, 1, 1, &model));
	hy_table_put_event(t, &event);
	CHECK_INT(hy_table_events(t, &event, 1), 0);
	hy_table_reset(t);
	free(t);
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
	return unit_finish();
}
