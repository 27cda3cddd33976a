/*
 * budget_test.c
 *		Rule 7: the device memory that a task may take, alone and beside other processes.
 *
 * Each party stands for a process; stage.executor is the party whose turn it is.
 */
#include "dispatch_stage.h"

#define PARTIES 4
#define GB UINT64_C(1000000000)

static const HyTableLimits limits = {.devices = 4, .models = 64, .events = 16, .contexts = 8};

static HyExecutor *parties[PARTIES];
static HySharedTable *table;
static HyShareHost host;

static void
origin_of(void *arg, HyOrigin *origin, int64_t *wall_us)
{
	(void) arg;
	*origin = (HyOrigin){.session = 1};
	*wall_us = 0;
}

/*
 * begin: create four executors of one device with 'memory' bytes, all free. shared: they have a
 * table.
 */
static void
begin(uint64_t memory, bool shared)
{
	static const HyLog log = {stage_log, NULL};
	int i;

	stage_begin(0);
	stage.devices = 1;
	stage.free_bytes = memory;
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	table = malloc(hy_table_size(&limits));
	hy_table_init(table, &limits);
	host = (HyShareHost){.clock = &stage.clock.clock, .origin = origin_of};
	parties[0] = stage.executor;
	for (i = 0; i < PARTIES; i++)
	{
		if (i > 0)
			CHECK_INT(
				hy_executor_create(&stage.memory.allocator, &stage.clock.clock, &log, &parties[i]),
				HY_OK);
		parties[i]->member[0].backend = &stage_cpu;
		CHECK_INT(hy_executor_add_backend(parties[i], &stage_backend), HY_OK);
		if (shared)
			hy_executor_share(parties[i], table, &host);
	}
}

static void
end(void)
{
	int i;

	for (i = 1; i < PARTIES; i++)
		hy_executor_destroy(parties[i]);
	stage.executor = parties[0];
	stage_end();
	free(table);
}

static uint64_t
budget(int i)
{
	hy_executor_configure(parties[i], &stage.config);
	return hy_member_budget(parties[i], &parties[i]->member[1], stage.clock.time);
}

/* dispatch: dispatch rows items by party i. */
static HyDecision
dispatch(int i, int64_t rows)
{
	HyDecision decision;

	stage.executor = parties[i];
	CHECK_INT(stage_dispatch(rows, &decision), HY_OK);
	return decision;
}

static void
test_quota_is_divided_by_contexts(void)
{
	begin(10 * GB, true);
	CHECK_INT(budget(0), 8 * GB);
	dispatch(0, 100);
	CHECK_INT(hy_table_contexts(table, 1), 1);
	CHECK_INT(budget(0), 8 * GB);
	/* one that is not open yet would be the second */
	CHECK_INT(budget(1), 4 * GB);
	dispatch(1, 100);
	CHECK_INT(budget(0), 4 * GB);
	CHECK_INT(budget(1), 4 * GB);
	dispatch(2, 100);
	dispatch(3, 100);
	CHECK_INT(budget(0), 2 * GB);
	CHECK_INT(budget(3), 2 * GB);
	/* whoever leaves makes room */
	hy_executor_close_devices(parties[1]);
	hy_executor_close_devices(parties[2]);
	CHECK_INT(budget(0), 4 * GB);
	CHECK_INT(budget(3), 4 * GB);
	end();
}

static void
test_limit_is_the_quota(void)
{
	int i;

	begin(10 * GB, true);
	stage.config.memory_limit = 3 * GB;
	for (i = 0; i < 3; i++)
	{
		CHECK_INT(budget(i), 3 * GB / (uint64_t) (i + 1));
		dispatch(i, 100);
	}
	CHECK_INT(budget(0), GB);
	/* a limit above what there is gives nobody more than is free */
	stage.config.memory_limit = 90 * GB;
	for (i = 0; i < 3; i++)
		dispatch(i, 100); /* a new limit opens them again */
	CHECK_INT(hy_table_contexts(table, 1), 3);
	CHECK_INT(budget(0), 8 * GB);
	end();
}

static void
test_what_is_free_counts_as_well(void)
{
	begin(10 * GB, true);
	dispatch(0, 100);
	dispatch(1, 100);
	CHECK_INT(budget(0), 4 * GB);
	parties[0]->member[1].free_bytes = 4 * GB; /* another program has the rest */
	CHECK_INT(budget(0), (uint64_t) (0.8 * 4e9));
	parties[0]->member[1].free_bytes = 6 * GB;
	CHECK_INT(budget(0), 4 * GB);
	end();
}

static void
test_alone_without_a_table(void)
{
	int i;

	begin(10 * GB, false);
	for (i = 0; i < PARTIES; i++)
		dispatch(i, 100);
	CHECK_INT(budget(0), 8 * GB);
	stage.config.memory_limit = 3 * GB;
	CHECK_INT(budget(0), 3 * GB);
	end();
}

static void
test_memory_that_nobody_knows(void)
{
	begin(0, true);
	CHECK(budget(0) == UINT64_MAX);
	stage.config.memory_limit = GB;
	CHECK_INT(budget(0), GB);
	end();
}

/* A change of free memory takes effect at the next look, whether or not the context is open. */
static void
test_memory_that_changes(void)
{
	begin(10 * GB, false);
	CHECK_INT(budget(0), 8 * GB);
	stage.free_bytes = 5 * GB;
	CHECK_INT(budget(0), 8 * GB);
	CHECK(hy_executor_reprobe(parties[0]));
	CHECK_INT(budget(0), 4 * GB);
	dispatch(0, 100);
	CHECK_INT(budget(0), 4 * GB);
	parties[0]->member[1].cap_bytes = 1000; /* something was too much for it */
	CHECK_INT(budget(0), 1000);
	stage.free_bytes = 20 * GB;
	CHECK(hy_executor_reprobe(parties[0]));
	CHECK_INT(budget(0), 16 * GB);
	CHECK_INT(dispatch(0, 100).device, 1);
	stage.devices = 2;
	CHECK(!hy_executor_reprobe(parties[0]));
	stage.devices = 1;
	CHECK(hy_executor_reprobe(parties[0]));
	end();
}

static void
test_a_context_that_is_granted(void)
{
	begin(10 * GB, true);
	stage.config.max_contexts = 1;
	CHECK_INT(budget(0), 8 * GB);
	CHECK_INT(budget(1), 8 * GB);
	CHECK_INT(dispatch(0, 100).device, 1);
	CHECK(dispatch(1, 100).fallback);
	CHECK_INT(dispatch(1, 100).reason, HY_REASON_NOT_OPEN);
	/* not only when the second is over for which it was put off */
	stage.config.max_contexts = 2;
	hy_executor_configure(parties[1], &stage.config);
	CHECK_INT(dispatch(1, 100).device, 1);
	CHECK_INT(hy_table_contexts(table, 1), 2);
	end();
}

/* A full table has no number for the device, so its contexts are not counted. */
static void
test_device_without_a_slot(void)
{
	begin(10 * GB, true);
	dispatch(1, 100);
	parties[0]->share.slot[1] = HY_TABLE_NO_DEVICE;
	CHECK_INT(budget(0), 8 * GB);
	end();
}

/* Tasks of 8,000 bytes with a quota of 8,000: whole, then in pieces, then not at all. */
static void
test_smaller_shares_make_more_pieces(void)
{
	HyDecision decision;

	begin(10 * GB, true);
	stage.config.memory_limit = 8000;
	decision = dispatch(0, 1000);
	CHECK_INT(decision.device, 1);
	CHECK_INT(decision.pieces, 0);
	CHECK_INT(decision.bytes_available, 8000);
	decision = dispatch(1, 1000);
	CHECK_INT(decision.bytes_available, 4000);
	CHECK_INT(decision.pieces, 4); /* two at once in 4,000 bytes */
	dispatch(2, 1000);
	dispatch(3, 1000);
	decision = dispatch(0, 1000);
	CHECK_INT(decision.bytes_available, 2000);
	CHECK_INT(decision.pieces, 8);
	/* of items that take 3,000 bytes each a share of 2,000 has room for none */
	stage.item_bytes = 3000;
	decision = dispatch(0, 1000);
	CHECK_INT(decision.device, 0);
	CHECK_INT(decision.reason, HY_REASON_MEMORY);
	end();
}

static int64_t most_before, most_beside, most_after;

/* sharing_submit: another process has a context from the 10th piece to the 30th. */
static HyStatus
sharing_submit(HyDevice *device, const HyTask *task, HyTicket *ticket)
{
	static HyTablePlace place;
	HyShape shape = hy_task_shape(task);
	int64_t items = hy_shape_items(&shape);
	int64_t *most = stage.submits < 10   ? &most_before
	                : stage.submits < 30 ? &most_beside
	                                     : &most_after;

	if (stage.submits == 9)
		CHECK(hy_table_take_context(table, 1, 0, &place));
	if (stage.submits == 29)
		hy_table_give_context(&place);
	*most = items > *most ? items : *most;
	return stage_submit(device, task, ticket);
}

/* what_is_left: free memory is that which no piece in flight holds. */
static HyStatus
what_is_left(HyDevice *device, uint64_t *free_bytes, uint64_t *total_bytes)
{
	HyStatus st = stage_mem_info(device, free_bytes, total_bytes);
	StageTicket *slot;

	for (slot = stage.tickets; slot < stage.tickets + STAGE_TICKETS; slot++)
	{
		HyShape shape = hy_task_shape(&slot->task);

		if (slot->number != 0)
			*free_bytes -= (uint64_t) hy_shape_items(&shape) * stage.item_bytes;
	}
	return st;
}

/*
 * A bulk job adapts: its next piece fits the current share.  The memory that the job itself holds
 * on the device does not count against it at the next look.
 */
static void
test_share_changes_while_a_job_runs(void)
{
	HyBackend backend = stage_backend;
	HyDecision decision;

	begin(10 * GB, true);
	backend.submit = sharing_submit;
	backend.mem_info = what_is_left;
	parties[0]->member[1].backend = &backend;
	stage.free_bytes = 20500;
	stage.config.memory_limit = 16000; /* 2,000 items; two pieces at once */
	stage.config.queue_depth = 2;
	stage_teach(parties[0], 1);
	decision = dispatch(0, 60000);
	CHECK_INT(decision.device, 1);
	CHECK_INT(decision.status, HY_OK);
	CHECK_INT(most_before, 1000);
	CHECK_INT(most_beside, 500);
	CHECK_INT(most_after, 1000);
	end();
}

/*
 * However small the cap becomes, it recovers in steps of the size that was refused; the steps of an
 * earlier cap are forgotten.
 */
static void
test_steps_of_a_cap(void)
{
	HyMember *member;

	begin(GB, false);
	member = &parties[0]->member[1];
	hy_member_refused(member, 1, stage.clock.time); /* a byte cannot be halved */
	CHECK_INT(member->cap_bytes, 0);
	hy_member_refused(member, 80000, stage.clock.time);
	CHECK_INT(budget(0), 40000);
	hy_member_refused(member, 800, stage.clock.time);
	CHECK_INT(budget(0), 400);
	stage.clock.time += 999999999;
	CHECK_INT(budget(0), 400);
	stage.clock.time += 1;
	CHECK_INT(budget(0), 400 + 5001);
	stage.clock.time += 2 * GB;
	CHECK_INT(budget(0), 400 + 3 * 5001);
	/* what was wanted later may be more */
	hy_member_refused(member, 800000, stage.clock.time);
	stage.clock.time += GB;
	CHECK_INT(budget(0), 400000 + 50001);
	/* until it binds no more: then nothing is left of it */
	stage.clock.time += 20000 * GB;
	CHECK_INT(budget(0), 800000000);
	hy_member_refused(member, 800, stage.clock.time);
	stage.clock.time += GB;
	CHECK_INT(budget(0), 400 + 51);
	end();
}

/* refuse: a quota of 12,800 bytes of which all were refused; half of it is left. */
static void
refuse(void)
{
	begin(10 * GB, false);
	stage.config.memory_limit = 12800;
	CHECK_INT(budget(0), 12800);
	hy_member_refused(&parties[0]->member[1], 12800, stage.clock.time);
	CHECK_INT(budget(0), 6400);
}

/* A task near the cap that fits raises it; a task far below it does not. */
static void
test_what_fits_raises_the_cap(void)
{
	uint64_t before;
	int i;

	refuse();
	CHECK_INT(dispatch(0, 400).device, 1); /* 3,200 bytes: half of it is not near */
	CHECK_INT(budget(0), 6400);
	CHECK_INT(dispatch(0, 401).device, 1);
	CHECK_NEAR((double) budget(0), 6400 + 800, 1);
	for (i = 2; i <= 7; i++)
	{
		CHECK_INT(dispatch(0, 790).pieces, 0);
		CHECK_NEAR((double) budget(0), 6400 + 800 * i, i);
	}
	/* after eight of them it no longer binds, and is gone for good */
	CHECK_INT(dispatch(0, 1000).pieces, 0);
	CHECK_INT(budget(0), 12800);
	CHECK_INT(parties[0]->member[1].cap_bytes, 0);
	end();

	/* time does the same */
	refuse();
	stage.clock.time += 999999999;
	CHECK_INT(budget(0), 6400);
	stage.clock.time += 1;
	CHECK_NEAR((double) budget(0), 6400 + 800, 1);
	stage.clock.time += UINT64_C(6000000000);
	CHECK_NEAR((double) budget(0), 6400 + 800 * 7, 7);
	stage.clock.time += UINT64_C(1000000000);
	CHECK_INT(budget(0), 12800);
	CHECK_INT(parties[0]->member[1].cap_bytes, 0);
	end();

	/* and so does a job in pieces, once, by what it had in flight */
	refuse();
	before = budget(0);
	CHECK(dispatch(0, 5000).pieces > 1);
	CHECK_NEAR((double) budget(0), (double) before + 800, 1);
	end();
}

static uint64_t left_beside;

/* crowded_submit: the other process takes its memory at once. */
static HyStatus
crowded_submit(HyDevice *device, const HyTask *task, HyTicket *ticket)
{
	if (stage.submits == 9)
		stage.free_bytes = left_beside;
	return sharing_submit(device, task, ticket);
}

/*
 * The free memory is read again together with the number of contexts, not taken from an earlier
 * look.
 */
static void
test_memory_goes_with_a_context(void)
{
	HyBackend backend = stage_backend;

	begin(10 * GB, true);
	backend.submit = crowded_submit;
	backend.mem_info = what_is_left;
	parties[0]->member[1].backend = &backend;
	stage.free_bytes = 1000000;
	left_beside = 9000; /* 7,200 of them for two pieces of 450 items, where the share is 500 */
	stage.config.memory_limit = 16000;
	stage_teach(parties[0], 1);
	most_before = most_beside = most_after = 0;
	CHECK_INT(dispatch(0, 15000).device, 1);
	CHECK_INT(most_before, 1000);
	CHECK_MSG(most_beside > 225 && most_beside <= 450, "%lld items", (long long) most_beside);
	end();
}

int
main(void)
{
	UNIT_RUN(test_quota_is_divided_by_contexts);
	UNIT_RUN(test_limit_is_the_quota);
	UNIT_RUN(test_what_is_free_counts_as_well);
	UNIT_RUN(test_alone_without_a_table);
	UNIT_RUN(test_memory_that_nobody_knows);
	UNIT_RUN(test_memory_that_changes);
	UNIT_RUN(test_a_context_that_is_granted);
	UNIT_RUN(test_device_without_a_slot);
	UNIT_RUN(test_smaller_shares_make_more_pieces);
	UNIT_RUN(test_share_changes_while_a_job_runs);
	UNIT_RUN(test_steps_of_a_cap);
	UNIT_RUN(test_what_fits_raises_the_cap);
	UNIT_RUN(test_memory_goes_with_a_context);
	return unit_finish();
}
