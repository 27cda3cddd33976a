/*
 * share_stage.h
 *		Three executors that share a table, for the tests of share.c.
 *
 * Each stands for a process of its own; stage.executor is the one whose turn it is.
 */
#ifndef SHARE_STAGE_H
#define SHARE_STAGE_H

#include "dispatch_stage.h"

#define PARTIES 3

static const HyTableLimits limits = {.devices = 4, .models = 64, .events = 512, .contexts = 8};

typedef struct Party
{
	HyExecutor *executor;
	UnitClock clock;
	HyClock shared_clock;
	HyShareHost host;
	HyOrigin origin;
} Party;

static Party parties[PARTIES];
static HySharedTable *table;
static int locks;
static void (*before_lock)(void); /* what another process does just before the lock is taken */
static bool locked;

static void
acquire(void *arg)
{
	(void) arg;
	if (before_lock != NULL)
		before_lock();
	CHECK(!locked);
	locked = true;
	locks++;
}

static void
release(void *arg)
{
	(void) arg;
	CHECK(locked);
	locked = false;
}

static void
origin_of(void *arg, HyOrigin *origin, int64_t *wall_us)
{
	Party *party = arg;

	*origin = party->origin;
	*wall_us = (int64_t) (stage.clock.time / 1000) + 1000000000;
}

/* A clock that runs with the stage's, from another origin. */
static UNIT_UNUSED uint64_t
later_now(void *arg)
{
	(void) arg;
	return stage.clock.time + UINT64_C(5000000000000);
}

static void
share(Party *party, int i)
{
	party->host = (HyShareHost){.lock = {acquire, release, NULL},
	                            .clock = &party->shared_clock,
	                            .origin = origin_of,
	                            .arg = party};
	party->shared_clock = stage.clock.clock;
	party->origin = (HyOrigin){.session = hy_table_new_session(table), .pid = 100 + i, .role = 10};
	hy_executor_share(party->executor, table, &party->host);
}

static UNIT_UNUSED void
turn(int i)
{
	stage.executor = parties[i].executor;
}

/* begin: a stage with three executors of the same device, that share a table. */
static void
begin(void)
{
	static const HyLog log = {stage_log, NULL};
	int i;

	stage_begin(1);
	table = malloc(hy_table_size(&limits));
	hy_table_init(table, &limits);
	locks = 0;
	parties[0].executor = stage.executor;
	for (i = 1; i < PARTIES; i++)
	{
		CHECK_INT(hy_executor_create(&stage.memory.allocator, &stage.clock.clock, &log,
		                             &parties[i].executor),
		          HY_OK);
		parties[i].executor->member[0].backend = &stage_cpu;
		CHECK_INT(hy_executor_add_backend(parties[i].executor, &stage_backend), HY_OK);
	}
	for (i = 0; i < PARTIES; i++)
		share(&parties[i], i);
}

static void
end(void)
{
	int i;

	for (i = 1; i < PARTIES; i++)
		hy_executor_destroy(parties[i].executor);
	turn(0);
	stage_end();
	free(table);
	CHECK(!locked);
}

static UNIT_UNUSED HyCounters
shared_counters(int32_t device)
{
	HyCounters counters;

	hy_table_counters(table, device, HY_OP_DISTANCE, &counters);
	return counters;
}

#endif
