/*
 * look_ahead_test.c
 *		Predictions for address patterns as scans leave them, and for none.
 */
#include "unit.h"

#include "core/look_ahead.h"

#define PAGE 8192
#define ROWS 1000

/* Walk: the number of right and wrong predictions, after the first tenth of the values. */
typedef struct Walk
{
	HyLookAhead ahead;
	uintptr_t expected;
	int values;
	int right;
	int wrong;
} Walk;

static void
visit(Walk *walk, uintptr_t at)
{
	if (walk->values++ > ROWS / 10 && walk->expected != 0)
	{
		if (walk->expected == at)
			walk->right++;
		else
			walk->wrong++;
	}
	walk->expected = hy_look_ahead(&walk->ahead, (const void *) at);
}

/* walk_pages: visit rows of one size from each page's end downwards; page_at gives the pages. */
static void
walk_pages(Walk *walk, int rows_a_page, uintptr_t (*page_at)(int number))
{
	uintptr_t size = PAGE / (uintptr_t) rows_a_page & ~(uintptr_t) 7;
	int i;

	for (i = 0; i < ROWS; i++)
		visit(walk, page_at(i / rows_a_page) + PAGE - size * (uintptr_t) (i % rows_a_page + 1));
}

static uintptr_t
in_order(int number)
{
	return 0x100000000u + (uintptr_t) number * PAGE;
}

static uintptr_t
with_gaps(int number)
{
	return in_order(number + number / 10 * 7);
}

static uintptr_t
anywhere(int number)
{
	UnitRandom random = {(uint64_t) number + 1};

	unit_random(&random);
	return 0x100000000u + unit_random_below(&random, 1 << 20) * PAGE;
}

static void
test_pages_in_order(void)
{
	int rows_a_page;

	for (rows_a_page = 1; rows_a_page <= 8; rows_a_page++)
	{
		Walk walk = {.values = 0};

		walk_pages(&walk, rows_a_page, in_order);
		CHECK_INT(walk.right, ROWS - ROWS / 10 - 1);
		CHECK_INT(walk.wrong, 0);
	}
}

/* If pages are anywhere, the rows of a page are still predicted, except the first of each. */
static void
test_pages_anywhere(void)
{
	int rows_a_page;

	for (rows_a_page = 2; rows_a_page <= 8; rows_a_page++)
	{
		Walk walk = {.values = 0};

		walk_pages(&walk, rows_a_page, anywhere);
		CHECK_MSG(walk.right >= ROWS * 9 / 10 * (rows_a_page - 1) / rows_a_page - rows_a_page,
		          "%d: %d right", rows_a_page, walk.right);
		CHECK_INT(walk.wrong, 0);
	}
}

/* A gap after every tenth page, as when another table's pages lie between. */
static void
test_gaps(void)
{
	Walk walk = {.values = 0};

	walk_pages(&walk, 2, with_gaps);
	CHECK_MSG(walk.right >= ROWS * 9 / 10 - ROWS / 20, "%d right", walk.right);
	CHECK_MSG(walk.wrong <= ROWS / 20, "%d wrong", walk.wrong);
}

/* Rows of all sizes, one below the other: at most a few addresses recur by chance. */
static void
test_sizes_that_vary(void)
{
	UnitRandom random = {7};
	Walk walk = {.values = 0};
	uintptr_t at = in_order(1000);

	while (walk.values < ROWS)
	{
		at -= 1000 + unit_random_below(&random, 300) * 8;
		visit(&walk, at);
	}
	CHECK_MSG(walk.right + walk.wrong <= ROWS / 100, "%d expected", walk.right + walk.wrong);
}

/* One row per page in no order: nothing is predicted, so nothing is fetched in vain. */
static void
test_no_pattern(void)
{
	Walk walk = {.values = 0};

	walk_pages(&walk, 1, anywhere);
	CHECK_INT(walk.right, 0);
	CHECK_INT(walk.wrong, 0);
}

/* A new scan of other rows is learned like the first one. */
static void
test_another_pattern(void)
{
	Walk walk = {.values = 0};
	int right;

	walk_pages(&walk, 2, in_order);
	walk_pages(&walk, 1, anywhere);
	right = walk.right;
	walk_pages(&walk, 2, in_order);
	CHECK_MSG(walk.right - right >= ROWS - 20, "%d right", walk.right - right);
}

static void
test_value_that_stays(void)
{
	HyLookAhead ahead = {0};
	int i;

	for (i = 1; i < 20; i++)
		hy_look_ahead(&ahead, (const void *) ((uintptr_t) i * PAGE));
	CHECK(hy_look_ahead(&ahead, (const void *) ((uintptr_t) 20 * PAGE)) == (uintptr_t) 21 * PAGE);
	CHECK(hy_look_ahead(&ahead, (const void *) ((uintptr_t) 20 * PAGE)) == 0);
	CHECK(hy_look_ahead(&ahead, (const void *) ((uintptr_t) 21 * PAGE)) == (uintptr_t) 22 * PAGE);
}

/* Fetching is harmless at unmapped and unreadable addresses. */
static void
test_fetch_of_nothing(void)
{
	hy_fetch(0, 4096);
	hy_fetch(UINTPTR_MAX - 100, 4096);
	hy_fetch(0x10, 0);
	CHECK(true);
}

int
main(void)
{
	UNIT_RUN(test_pages_in_order);
	UNIT_RUN(test_pages_anywhere);
	UNIT_RUN(test_gaps);
	UNIT_RUN(test_sizes_that_vary);
	UNIT_RUN(test_no_pattern);
	UNIT_RUN(test_another_pattern);
	UNIT_RUN(test_value_that_stays);
	UNIT_RUN(test_fetch_of_nothing);
	return unit_finish();
}
