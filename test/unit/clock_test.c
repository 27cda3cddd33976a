/*
 * clock_test.c
 *		The clock whose origin moves.
 */
#include "core/clock.h"
#include "unit.h"

static void
test_shifted(void)
{
	HyShiftedClock shifted;
	const HyClock *clock = &shifted.clock;
	uint64_t before;
	uint64_t passed;

	CHECK(hy_monotonic_clock.skip == NULL);
	hy_shifted_clock_init(&shifted);
	before = clock->now(clock->arg);
	/* no shift: the monotonic clock itself */
	CHECK(before <= hy_monotonic_clock.now(hy_monotonic_clock.arg));
	clock->skip(clock->arg, INT64_C(3600000000000));
	passed = clock->now(clock->arg) - before;
	CHECK(passed >= UINT64_C(3600000000000) && passed < UINT64_C(5000000000000));
	clock->skip(clock->arg, INT64_C(-3600000000000));
	passed = clock->now(clock->arg) - before;
	CHECK(passed < UINT64_C(1000000000000));
	before = clock->now(clock->arg);
	clock->wait(clock->arg, 2000000);
	CHECK(clock->now(clock->arg) - before >= 2000000);
}

int
main(void)
{
	UNIT_RUN(test_shifted);
	return unit_finish();
}
