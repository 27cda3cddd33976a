/*
 * share_breaker_test.c
 *		Breakers of executors that share a table: judged there, once, whoever fails or succeeds.
 */
#include "share_stage.h"

/* breaker_of: return the copy of the breaker that party i has. */
static HyBreaker *
breaker_of(int i)
{
	return &parties[i].executor->member[1].breakers[HY_OP_DISTANCE];
}

static bool
allow(int i)
{
	return hy_share_allow(&parties[i].executor->share, 1, HY_OP_DISTANCE, breaker_of(i),
	                      stage.clock.time);
}

static bool
record(int i, bool success)
{
	HyExecutor *executor = parties[i].executor;

	return hy_share_report(&executor->share, 1, HY_OP_DISTANCE, breaker_of(i), stage.clock.time,
	                       success ? HY_OUTCOME_SUCCESS : HY_OUTCOME_FAILURE,
	                       executor->config.success_threshold);
}

static void
abandon(int i)
{
	(void) hy_share_report(&parties[i].executor->share, 1, HY_OP_DISTANCE, breaker_of(i),
	                       stage.clock.time, HY_OUTCOME_NONE, 0);
}

static HyBreaker
shared_breaker(void)
{
	HyBreaker breaker;

	hy_table_breaker(table, 1, HY_OP_DISTANCE, &breaker);
	return breaker;
}

static HyBreakerState
shared_state(void)
{
	return shared_breaker().state;
}

static void
test_breaker_is_one(void)
{
	HyDecision decision;
	int i;

	begin();
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	stage.script[0] = HY_TRANSIENT;
	stage.always_fail = true;
	/* three failures in a row, by two of them: each is told at once */
	turn(0);
	stage_dispatch(100, NULL);
	stage_dispatch(100, NULL);
	CHECK_INT(shared_state(), HY_BREAKER_CLOSED);
	turn(1);
	stage_dispatch(100, NULL);
	CHECK_INT(shared_state(), HY_BREAKER_OPEN);
	CHECK_INT(stage_logged("is left alone"), 1);
	/* the others hear of it when they look at the table, and are logged no more */
	turn(2);
	hy_executor_follow(stage.executor);
	i = stage.submits;
	stage_dispatch(100, &decision);
	CHECK_INT(decision.reason, HY_REASON_UNRELIABLE);
	CHECK_INT(stage.submits, i);
	hy_executor_flush(parties[0].executor);
	CHECK_INT(stage_logged("is left alone"), 1);

	/* a second later one of them may try; while it does, nobody else */
	stage.clock.time += 1100000000;
	CHECK(allow(0));
	CHECK_INT(shared_state(), HY_BREAKER_HALF_OPEN);
	stage.always_fail = false;
	stage.scripted = STAGE_SCRIPT;
	turn(1);
	stage_dispatch(100, &decision);
	CHECK_INT(stage.submits, i);
	CHECK(decision.fallback && decision.status == HY_BUSY);
	CHECK_INT(hy_executor_counters(stage.executor, 1, HY_OP_DISTANCE)->by_cause[HY_BUSY], 1);
	CHECK_INT(hy_executor_counters(stage.executor, 1, HY_OP_DISTANCE)->by_status[HY_BUSY], 0);
	/* nor does it ask at once again */
	locks = 0;
	stage_dispatch(100, &decision);
	CHECK_INT(decision.reason, HY_REASON_UNRELIABLE);
	CHECK_INT(locks, 0);
	abandon(0);
	stage.clock.time += 100000000;

	/* three successes, whosever they are, close it for all */
	for (i = 0; i < PARTIES; i++)
	{
		turn(i);
		hy_executor_flush(stage.executor);
		stage_dispatch(100, &decision);
		CHECK_INT(decision.device, 1);
		CHECK(!decision.fallback);
	}
	CHECK_INT(shared_state(), HY_BREAKER_CLOSED);
	CHECK_INT(stage_logged("is trusted again"), 1);
	hy_executor_flush(parties[0].executor);
	CHECK_INT(parties[0].executor->member[1].breakers[HY_OP_DISTANCE].state, HY_BREAKER_CLOSED);
	end();
}

/* Successes that wait for a flush count for the rate when a failure is judged. */
static void
test_successes_count(void)
{
	int i;

	begin();
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	for (i = 0; i < 30; i++)
		stage_dispatch(100, NULL);
	stage.scripted = 0;
	stage.script[0] = HY_TRANSIENT;
	stage_dispatch(100, NULL);
	CHECK_INT(shared_breaker().count, 31);
	CHECK_INT(shared_breaker().successes, 30);
	turn(1);
	for (i = 0; i < 10; i++)
		stage_dispatch(100, NULL);
	hy_executor_flush(stage.executor);
	CHECK_INT(shared_breaker().count, 41);
	end();
}

/* half_open: the first party opens the breaker, and a second later its probe is in flight. */
static void
half_open(void)
{
	int i;

	for (i = 0; i < 3; i++)
		(void) record(0, false);
	CHECK_INT(shared_state(), HY_BREAKER_OPEN);
	stage.clock.time += HY_BREAKER_FIRST_NS;
	CHECK(allow(0));
	CHECK_INT(shared_state(), HY_BREAKER_HALF_OPEN);
}

/*
 * Another party's probe is awaited for 100 ms; then the table is read again, not only after a
 * minute.
 */
static void
test_the_probe_of_another_is_asked_for_again(void)
{
	bool adopted;

	for (adopted = false;; adopted = true)
	{
		const HyBreaker *copy;

		begin();
		hy_executor_configure(parties[1].executor, &stage.config);
		half_open();
		copy = breaker_of(1);
		/* heard of by looking at the table, or by asking for a probe of one's own */
		hy_executor_follow(parties[1].executor);
		if (!adopted)
		{
			stage.clock.time += 100000000;
			CHECK(!allow(1));
		}
		CHECK_INT(copy->state, HY_BREAKER_HALF_OPEN);
		CHECK(!hy_breaker_would_allow(copy, stage.clock.time));
		CHECK(!hy_breaker_would_allow(copy, stage.clock.time + 99999999));
		CHECK(hy_breaker_would_allow(copy, stage.clock.time + 100000000));
		/* it is still out */
		stage.clock.time += 100000000;
		CHECK(!allow(1));
		abandon(0);
		stage.clock.time += 100000000;
		CHECK(allow(1));
		end();
		if (adopted)
			break;
	}
}

/*
 * Successes from before a breaker opened are not probes, whether they are flushed or judged with a
 * failure.
 */
static void
test_successes_from_before_are_no_probes(void)
{
	int i;

	begin();
	hy_executor_configure(parties[1].executor, &stage.config);
	for (i = 0; i < 5; i++)
		CHECK(!record(1, true));
	half_open();
	stage.scripted = STAGE_SCRIPT;
	turn(1);
	stage.config.force_cpu = true;
	stage_dispatch(100, NULL); /* so that there is something to flush */
	hy_executor_flush(parties[1].executor);
	CHECK_INT(shared_state(), HY_BREAKER_HALF_OPEN);
	CHECK_INT(shared_breaker().probes, 0);
	CHECK_INT(shared_breaker().count, 3);
	end();

	begin();
	for (i = 0; i < 5; i++)
		CHECK(!record(1, true));
	half_open();
	CHECK(record(1, false));
	CHECK_INT(shared_state(), HY_BREAKER_OPEN);
	CHECK_INT(shared_breaker().count, 4);
	CHECK_INT(shared_breaker().opened, 2);
	end();
}

/* A success is reported once. */
static void
test_successes_are_flushed_once(void)
{
	int i;

	begin();
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	for (i = 1; i <= 4; i++)
	{
		stage_dispatch(100, NULL);
		hy_executor_flush(stage.executor);
		CHECK_INT(shared_breaker().count, i);
		CHECK_INT(shared_breaker().successes, i);
	}
	end();
}

int
main(void)
{
	UNIT_RUN(test_breaker_is_one);
	UNIT_RUN(test_successes_count);
	UNIT_RUN(test_the_probe_of_another_is_asked_for_again);
	UNIT_RUN(test_successes_from_before_are_no_probes);
	UNIT_RUN(test_successes_are_flushed_once);
	return unit_finish();
}
