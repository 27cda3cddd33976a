/*
 * breaker_test.c
 *		Every transition of the circuit breaker, at given times.
 */
#include "dispatch/model/breaker.h"
#include "unit.h"

#define S UINT64_C(1000000000)

static void
test_closed_at_first(void)
{
	HyBreaker b;
	bool probe = true;

	hy_breaker_init(&b);
	CHECK_INT(b.state, HY_BREAKER_CLOSED);
	CHECK(hy_breaker_rate(&b) == 1.0);
	CHECK(hy_breaker_allow(&b, 0, &probe));
	CHECK(!probe);
}

static void
test_streak_opens(void)
{
	HyBreaker b;

	hy_breaker_init(&b);
	CHECK(!hy_breaker_record(&b, 5, false, 0.95));
	CHECK(!hy_breaker_record(&b, 5, false, 0.95));
	CHECK(!hy_breaker_record(&b, 5, true, 0.95));
	CHECK(!hy_breaker_record(&b, 5, false, 0.95));
	CHECK(!hy_breaker_record(&b, 5, false, 0.95));
	CHECK(hy_breaker_record(&b, 5, false, 0.95));
	CHECK_INT(b.state, HY_BREAKER_OPEN);
	CHECK_INT(b.opened, 1);
	CHECK_INT(b.open_until_ns, 5 + S);
}

static void
test_rate_opens_from_20_on(void)
{
	HyBreaker b;
	int i;

	/* one failure in four never makes a streak; the rate counts from the 20th attempt on */
	hy_breaker_init(&b);
	for (i = 1; i <= 19; i++)
		CHECK(!hy_breaker_record(&b, 0, i % 4 != 0, 0.95));
	CHECK_INT(b.state, HY_BREAKER_CLOSED);
	CHECK(hy_breaker_record(&b, 0, false, 0.95));
	CHECK_INT(b.state, HY_BREAKER_OPEN);

	/* exactly at the threshold it stays closed */
	hy_breaker_init(&b);
	for (i = 1; i <= 100; i++)
		CHECK(!hy_breaker_record(&b, 0, i % 20 != 0, 0.95));
	CHECK_INT(b.state, HY_BREAKER_CLOSED);
	CHECK_NEAR(hy_breaker_rate(&b), 0.95, 1e-12);
}

static void
test_window_forgets(void)
{
	HyBreaker b;
	int i;

	hy_breaker_init(&b);
	hy_breaker_record(&b, 0, false, 0.95);
	hy_breaker_record(&b, 0, false, 0.95);
	for (i = 0; i < 98; i++)
		hy_breaker_record(&b, 0, true, 0.95);
	CHECK_NEAR(hy_breaker_rate(&b), 0.98, 1e-12);
	hy_breaker_record(&b, 0, true, 0.95);
	CHECK_NEAR(hy_breaker_rate(&b), 0.99, 1e-12);
	hy_breaker_record(&b, 0, true, 0.95);
	CHECK(hy_breaker_rate(&b) == 1.0);
	CHECK_INT(b.count, HY_BREAKER_WINDOW);
}

/* successes leave the window, too */
static void
test_window_forgets_successes(void)
{
	HyBreaker b;
	int i;

	hy_breaker_init(&b);
	for (i = 0; i < 3 * HY_BREAKER_WINDOW; i++)
		CHECK(!hy_breaker_record(&b, 0, true, 0.95));
	CHECK(hy_breaker_rate(&b) == 1.0);
	/* two failures, a success, and so on: never a streak; the 6th failure makes it 94% */
	for (i = 1; i <= 7; i++)
		CHECK(!hy_breaker_record(&b, 0, i % 3 == 0, 0.95));
	CHECK_NEAR(hy_breaker_rate(&b), 0.95, 1e-12);
	CHECK(hy_breaker_record(&b, 0, false, 0.95));
	CHECK_INT(b.state, HY_BREAKER_OPEN);
}

static void
trip(HyBreaker *b, uint64_t now)
{
	int i;

	for (i = 0; i < HY_BREAKER_STREAK; i++)
		hy_breaker_record(b, now, false, 0.95);
}

static void
test_open_to_half_open_to_closed(void)
{
	HyBreaker b;
	bool probe;
	int i;

	hy_breaker_init(&b);
	trip(&b, 0);
	CHECK(!hy_breaker_would_allow(&b, S - 1));
	CHECK(!hy_breaker_allow(&b, S - 1, &probe));
	CHECK_INT(b.state, HY_BREAKER_OPEN);
	CHECK(hy_breaker_would_allow(&b, S));
	CHECK_INT(b.state, HY_BREAKER_OPEN);
	for (i = 0; i < HY_BREAKER_PROBES; i++)
	{
		CHECK(hy_breaker_allow(&b, S, &probe));
		CHECK(probe);
		CHECK_INT(b.state, HY_BREAKER_HALF_OPEN);
		/* one at a time */
		CHECK(!hy_breaker_allow(&b, S, &probe));
		CHECK_INT(hy_breaker_record(&b, S, true, 0.95), i == HY_BREAKER_PROBES - 1);
	}
	CHECK_INT(b.state, HY_BREAKER_CLOSED);
	CHECK_INT(b.count, 0);
	CHECK_INT(b.opened, 1);
	/* what opened it is forgotten: two failures do not open it again */
	CHECK(!hy_breaker_record(&b, S, false, 0.95));
	CHECK(!hy_breaker_record(&b, S, false, 0.95));
	CHECK_INT(b.state, HY_BREAKER_CLOSED);
}

/* three consecutive successes close it, not three in total */
static void
test_successes_before_it_reopened_do_not_count(void)
{
	HyBreaker b;
	bool probe;
	int i;

	hy_breaker_init(&b);
	trip(&b, 0);
	for (i = 1; i <= 3; i++)
	{
		CHECK(hy_breaker_allow(&b, S, &probe));
		CHECK_INT(hy_breaker_record(&b, S, i < 3, 0.95), i == 3);
	}
	CHECK_INT(b.state, HY_BREAKER_OPEN);
	for (i = 1; i <= 3; i++)
	{
		CHECK(hy_breaker_allow(&b, 3 * S, &probe));
		CHECK_INT(hy_breaker_record(&b, 3 * S, true, 0.95), i == 3);
	}
	CHECK_INT(b.state, HY_BREAKER_CLOSED);
}

static void
test_reopening_doubles_to_five_minutes(void)
{
	HyBreaker b;
	uint64_t now = 0;
	uint64_t wait = S;
	bool probe;
	int i;

	hy_breaker_init(&b);
	trip(&b, now);
	for (i = 0; i < 12; i++)
	{
		CHECK_INT(b.open_until_ns - now, wait);
		now += wait;
		CHECK(!hy_breaker_would_allow(&b, now - 1));
		CHECK(hy_breaker_allow(&b, now, &probe));
		CHECK(hy_breaker_record(&b, now, false, 0.95));
		CHECK_INT(b.state, HY_BREAKER_OPEN);
		wait = wait * 2 < 300 * S ? wait * 2 : 300 * S;
	}
	CHECK_INT(b.open_for_ns, 300 * S);
}

static void
test_probe_that_never_reports(void)
{
	HyBreaker b;
	bool probe;

	hy_breaker_init(&b);
	trip(&b, 0);
	CHECK(hy_breaker_allow(&b, S, &probe));
	CHECK(!hy_breaker_allow(&b, S + HY_BREAKER_PROBE_TIMEOUT_NS - 1, &probe));
	CHECK(hy_breaker_allow(&b, S + HY_BREAKER_PROBE_TIMEOUT_NS, &probe));
	CHECK(probe);
}

static void
test_abandoned_probe_counts_for_nothing(void)
{
	HyBreaker b;
	bool probe;

	hy_breaker_init(&b);
	trip(&b, 0);
	CHECK(hy_breaker_allow(&b, S, &probe));
	hy_breaker_abandon(&b);
	CHECK_INT(b.state, HY_BREAKER_HALF_OPEN);
	CHECK_INT(b.probes, 0);
	CHECK(hy_breaker_allow(&b, S, &probe));
	CHECK(probe);
}

static void
test_late_report_while_open(void)
{
	HyBreaker b;

	hy_breaker_init(&b);
	trip(&b, 0);
	CHECK(!hy_breaker_record(&b, 1, true, 0.95));
	CHECK(!hy_breaker_record(&b, 1, false, 0.95));
	CHECK_INT(b.state, HY_BREAKER_OPEN);
	CHECK_INT(b.open_until_ns, S);
}

static void
test_names(void)
{
	CHECK_STR(hy_breaker_state_name(HY_BREAKER_CLOSED), "closed");
	CHECK_STR(hy_breaker_state_name(HY_BREAKER_OPEN), "open");
	CHECK_STR(hy_breaker_state_name(HY_BREAKER_HALF_OPEN), "half-open");
}

int
main(void)
{
	UNIT_RUN(test_closed_at_first);
	UNIT_RUN(test_streak_opens);
	UNIT_RUN(test_rate_opens_from_20_on);
	UNIT_RUN(test_window_forgets);
	UNIT_RUN(test_window_forgets_successes);
	UNIT_RUN(test_open_to_half_open_to_closed);
	UNIT_RUN(test_successes_before_it_reopened_do_not_count);
	UNIT_RUN(test_reopening_doubles_to_five_minutes);
	UNIT_RUN(test_probe_that_never_reports);
	UNIT_RUN(test_abandoned_probe_counts_for_nothing);
	UNIT_RUN(test_late_report_while_open);
	UNIT_RUN(test_names);
	return unit_finish();
}
