/*
 * bulk_rows_test.c
 *		The rows that no one works on yet: who may take which ones and from where, and that none
 *		is lost or given out twice.
 */
#include "dispatch/run/bulk_rows.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

static const HyRowsFor any_device = {.fresh = true, .failed = true};
static const HyRowsFor device = {.fresh = true};
static const HyRowsFor cpu = {.cpu = true, .fresh = true, .failed = true};
static const HyRowsFor rescuer = {.cpu = true, .failed = true};

static HyRows rows;

static void
begin(int64_t count, int64_t boundary)
{
	memset(&rows, 0, sizeof(rows));
	rows.back = count;
	rows.boundary = boundary;
}

static void
check_take(const HyRowsFor *who, int64_t count, int64_t first, bool failed)
{
	HyRowRange taken = hy_rows_take(&rows, who, count);

	CHECK_INT(taken.first, first);
	CHECK_INT(taken.count, count);
	CHECK_INT(taken.failed, failed);
}

static void
test_from_both_ends(void)
{
	begin(100, -1);
	CHECK_INT(hy_rows_left(&rows, &device), 100);
	check_take(&device, 30, 0, false);
	check_take(&cpu, 20, 80, false);
	CHECK_INT(hy_rows_left(&rows, &device), 50);
	CHECK_INT(hy_rows_left(&rows, &cpu), 50);
	CHECK_INT(hy_rows_left(&rows, &rescuer), 0);
	check_take(&device, 50, 30, false);
	CHECK(hy_rows_none(&rows));
	CHECK_INT(hy_rows_left(&rows, &cpu), 0);
}

static void
test_a_boundary(void)
{
	HyRowsFor alone = cpu;

	alone.beyond = true;
	begin(100, 40);
	CHECK_INT(hy_rows_left(&rows, &device), 40);
	CHECK_INT(hy_rows_left(&rows, &cpu), 60);
	check_take(&device, 40, 0, false);
	CHECK_INT(hy_rows_left(&rows, &device), 0);
	check_take(&cpu, 60, 40, false);
	CHECK(hy_rows_none(&rows));
	begin(100, 40);
	check_take(&cpu, 60, 40, false);
	CHECK_INT(hy_rows_left(&rows, &cpu), 0);
	CHECK_INT(hy_rows_left(&rows, &alone), 40);
}

static void
test_what_comes_back(void)
{
	begin(100, -1);
	check_take(&device, 10, 0, false);
	check_take(&device, 10, 10, false);
	check_take(&device, 10, 20, false);
	/* next to the fresh ones it is fresh again */
	CHECK(hy_rows_give_back(&rows, (HyRowRange){20, 10, false}));
	CHECK_INT(rows.ranges, 0);
	CHECK_INT(rows.front, 20);
	CHECK(hy_rows_give_back(&rows, (HyRowRange){0, 10, false}));
	CHECK_INT(hy_rows_left(&rows, &device), 10);
	check_take(&device, 4, 0, false);
	check_take(&cpu, 4, 6, false);
	CHECK_INT(hy_rows_left(&rows, &device), 2);
	check_take(&device, 2, 4, false);
	CHECK_INT(rows.ranges, 0);
	/* neighbours of a kind become one */
	CHECK(hy_rows_give_back(&rows, (HyRowRange){4, 2, false}));
	CHECK(hy_rows_give_back(&rows, (HyRowRange){6, 4, false}));
	CHECK(hy_rows_give_back(&rows, (HyRowRange){0, 4, false}));
	CHECK_INT(rows.ranges, 1);
	CHECK_INT(hy_rows_left(&rows, &device), 10);
	CHECK(hy_rows_give_back(&rows, (HyRowRange){10, 10, true}));
	CHECK_INT(rows.ranges, 2);
}

static void
test_what_failed(void)
{
	begin(100, -1);
	check_take(&device, 10, 0, false);
	check_take(&device, 10, 10, false);
	CHECK(hy_rows_give_back(&rows, (HyRowRange){0, 10, true}));
	CHECK(hy_rows_give_back(&rows, (HyRowRange){10, 10, true}));
	/* for the CPU, first of all; other devices have better to do */
	CHECK_INT(hy_rows_left(&rows, &device), 80);
	CHECK_INT(hy_rows_left(&rows, &rescuer), 20);
	check_take(&cpu, 5, 15, true);
	check_take(&device, 80, 20, false);
	CHECK(hy_rows_give_back(&rows, (HyRowRange){85, 10, false}));
	/* where the CPU has no part, devices take it, after what came back from others */
	CHECK_INT(hy_rows_left(&rows, &any_device), 10);
	check_take(&any_device, 10, 85, false);
	check_take(&any_device, 15, 0, true);
	CHECK(hy_rows_none(&rows));
}

static void
test_no_room_to_remember(void)
{
	int i;

	begin(100000, -1);
	check_take(&device, 100000, 0, false);
	for (i = 0; i < HY_ROW_RANGES; i++)
		CHECK(hy_rows_give_back(&rows, (HyRowRange){3 * i, 1, false}));
	CHECK(!hy_rows_give_back(&rows, (HyRowRange){3 * i, 1, false}));
	CHECK(hy_rows_give_back(&rows, (HyRowRange){1, 1, false}));
	CHECK_INT(rows.ranges, HY_ROW_RANGES);
}

/* Whoever takes rows and fails, every row is held exactly once. */
static void
test_no_row_is_lost(void)
{
	static char owner[500];
	UnitRandom random = {7};
	int round;

	for (round = 0; round < 300; round++)
	{
		HyRowRange in_flight[8];
		int flights = 0;
		int64_t done = 0;

		begin(500, round % 3 == 0 ? (int64_t) unit_random_below(&random, 501) : -1);
		memset(owner, 0, sizeof(owner));
		while (done < 500)
		{
			HyRowsFor who = unit_random_below(&random, 2) != 0 ? cpu : any_device;
			int64_t left = hy_rows_left(&rows, &who);
			int64_t i;

			if (flights < 8 && left > 0)
			{
				HyRowRange got = hy_rows_take(
					&rows, &who, 1 + (int64_t) unit_random_below(&random, (uint64_t) left));

				for (i = 0; i < got.count; i++)
					CHECK_INT(owner[got.first + i]++, 0);
				if (rows.boundary >= 0 && !got.failed)
					CHECK(who.cpu ? got.first >= rows.boundary
					              : got.first + got.count <= rows.boundary);
				in_flight[flights] = got;
				/* what is the CPU's is done at once */
				if (who.cpu)
					done += got.count;
				else
					flights++;
			}
			else if (flights > 0)
			{
				HyRowRange *one = &in_flight[unit_random_below(&random, (uint64_t) flights)];
				uint64_t fate = unit_random_below(&random, 4);

				if (fate >= 2)
					done += one->count;
				else
				{
					memset(owner + one->first, 0, (size_t) one->count);
					one->failed = fate == 1;
					CHECK(hy_rows_give_back(&rows, *one));
				}
				*one = in_flight[--flights];
			}
		}
		CHECK(hy_rows_none(&rows));
		CHECK_INT(flights, 0);
	}
}

int
main(void)
{
	UNIT_RUN(test_from_both_ends);
	UNIT_RUN(test_a_boundary);
	UNIT_RUN(test_what_comes_back);
	UNIT_RUN(test_what_failed);
	UNIT_RUN(test_no_room_to_remember);
	UNIT_RUN(test_no_row_is_lost);
	return unit_finish();
}
