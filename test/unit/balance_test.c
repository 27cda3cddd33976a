/*
 * balance_test.c
 *		Shares of a bulk job: all participants end together, and one that would be late does not
 *		take part.
 */
#include "dispatch/model/balance.h"
#include "unit.h"

static void
test_known_cases(void)
{
	HyBalanceLane lanes[3] = {{0, 0, 10}, {0, 0, 10}, {0, 0, 10}};
	double level;

	CHECK_NEAR(hy_balance_level(lanes, 1, 100), 1000, 1e-9);
	CHECK_NEAR(hy_balance_level(lanes, 2, 100), 500, 1e-9);
	lanes[1] = (HyBalanceLane){300, 0, 10};
	level = hy_balance_level(lanes, 2, 100);
	CHECK_NEAR(level, 650, 1e-9);
	CHECK_NEAR(hy_balance_rows(&lanes[0], level), 65, 1e-9);
	CHECK_NEAR(hy_balance_rows(&lanes[1], level), 35, 1e-9);
	lanes[1].free_ns = 1200; /* later than the first would be done */
	level = hy_balance_level(lanes, 2, 100);
	CHECK_NEAR(level, 1000, 1e-9);
	CHECK(hy_balance_rows(&lanes[1], level) == 0);
	lanes[1] = (HyBalanceLane){0, 500, 1}; /* dear to start, then fast */
	level = hy_balance_level(lanes, 2, 1000);
	CHECK_NEAR(hy_balance_rows(&lanes[0], level) + hy_balance_rows(&lanes[1], level), 1000, 1e-6);
	CHECK(level < 1500);
}

static void
test_any_lanes(void)
{
	UnitRandom random = {5};
	int round;

	for (round = 0; round < 20000; round++)
	{
		HyBalanceLane lane[8];
		int lanes = 1 + (int) unit_random_below(&random, 8);
		double rows = 1 + 1e6 * unit_random_unit(&random);
		double level;
		double sum = 0;
		int i;

		for (i = 0; i < lanes; i++)
			lane[i] = (HyBalanceLane){1e6 * unit_random_unit(&random),
			                          unit_random_below(&random, 2) ? 1e5 : 0,
			                          0.1 + 100 * unit_random_unit(&random)};
		level = hy_balance_level(lane, lanes, rows);
		for (i = 0; i < lanes; i++)
			sum += hy_balance_rows(&lane[i], level);
		CHECK_NEAR(sum, rows, 1e-6 * rows);
	}
}

int
main(void)
{
	UNIT_RUN(test_known_cases);
	UNIT_RUN(test_any_lanes);
	return unit_finish();
}
