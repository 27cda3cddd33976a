/*
 * batch_size_test.c
 *		The size of a batch: from a cold start, for laws of several forms, within its limits.
 */
#include "dispatch/model/batch_size.h"
#include "unit.h"

typedef double (*Law)(double items);

/* A launch cost that only large batches amortize. */
static double
launch(double n)
{
	return 20000 + 3 * n;
}

/* The size makes no difference. */
static double
flat(double n)
{
	return 50 * n;
}

/* Beyond 4,096 items a cache is too small. */
static double
cache(double n)
{
	return 500 + 10 * n + (n > 4096 ? 15 * (n - 4096) : 0);
}

/* A device that works in waves of 3,000. */
static double
waves(double n)
{
	return 5000 + 9000 * ceil(n / 3000);
}

/* The CPU until a device is worth using, which is from 8,192 items on. */
static double
two_sides(double n)
{
	return n < 8192 ? 40 * n : 60000 + 2 * n;
}

static double
forecast_two_sides(void *arg, int64_t n)
{
	(*(int *) arg)++;
	return two_sides((double) n) * 1.2;
}

/* feed: process this many items in batches of the chosen sizes.  Returns the ns per item. */
static double
feed(HyBatchSize *size, Law law, int64_t most, uint64_t items, double noise,
     HyBatchForecast forecast, void *arg)
{
	UnitRandom random = {99};
	uint64_t fed = 0;
	double spent = 0;

	while (fed < items)
	{
		int64_t n = hy_batch_size_choose(size, most, forecast, arg);
		double ns = law((double) n);

		CHECK(n >= 1 && n <= most);
		if (noise > 0)
			ns *= 1 + noise * unit_random_float(&random);
		hy_batch_size_learn(size, n, (uint64_t) ns);
		spent += ns;
		fed += (uint64_t) n;
	}
	return spent / (double) fed;
}

/* best_rate: return the ns per item at the best power of two in [64, most]. */
static double
best_rate(Law law, int64_t most)
{
	double best = law(64) / 64;
	int64_t n;

	for (n = 128; n <= most; n *= 2)
		best = fmin(best, law((double) n) / (double) n);
	return best;
}

static void
check_law(Law law, double noise)
{
	int64_t most = 1 << 17;
	HyBatchSize size;
	double rate;

	hy_batch_size_begin(&size, 1);
	feed(&size, law, most, UINT64_C(40000000), noise, NULL, NULL);
	rate = feed(&size, law, most, UINT64_C(40000000), noise, NULL, NULL);
	CHECK_MSG(best_rate(law, most) >= 0.9 * rate, "an item takes %.2f ns, at the best size %.2f",
	          rate, best_rate(law, most));
}

static void
it_settles_within_a_tenth_of_the_best(void)
{
	check_law(launch, 0);
	check_law(flat, 0);
	check_law(cache, 0);
	check_law(waves, 0);
	check_law(two_sides, 0);
}

static void
noise_does_not_lead_it_astray(void)
{
	/* unit_random_float is in [-1, 1]: up to a quarter more or less */
	check_law(launch, 0.25);
	check_law(flat, 0.25);
	check_law(cache, 0.25);
	check_law(waves, 0.25);
	check_law(two_sides, 0.25);
}

static void
a_forecast_shows_what_lies_far_off(void)
{
	HyBatchSize size;
	int asked = 0;
	int batches;

	hy_batch_size_begin(&size, 1);
	for (batches = 0; batches < 4; batches++)
	{
		int64_t n = hy_batch_size_choose(&size, 1 << 17, forecast_two_sides, &asked);

		CHECK(n >= 1 << 16);
		hy_batch_size_learn(&size, n, (uint64_t) two_sides((double) n));
	}
	CHECK(asked > 0);
}

static double
forecast_lies(void *arg, int64_t n)
{
	(void) arg;
	return n == 1 << 16 ? 1.0 : 1e12;
}

static void
a_forecast_that_lies_is_found_out(void)
{
	HyBatchSize size;
	double spent;

	hy_batch_size_begin(&size, 1);
	feed(&size, cache, 1 << 17, 40000000, 0, forecast_lies, NULL);
	spent = feed(&size, cache, 1 << 17, 10000000, 0, forecast_lies, NULL);
	CHECK_MSG(best_rate(cache, 1 << 17) >= 0.9 * spent, "an item takes %.2f ns", spent);
}

static void
a_new_law_is_noticed(void)
{
	HyBatchSize size;
	double rate;

	hy_batch_size_begin(&size, 1);
	feed(&size, launch, 1 << 17, 40000000, 0, NULL, NULL);
	feed(&size, cache, 1 << 17, UINT64_C(400000000), 0, NULL, NULL);
	rate = feed(&size, cache, 1 << 17, 40000000, 0, NULL, NULL);
	CHECK_MSG(best_rate(cache, 1 << 17) >= 0.9 * rate, "an item takes %.2f ns", rate);
}

static void
sizes_are_powers_of_two_within_the_limits(void)
{
	HyBatchSize size;
	int64_t most;

	for (most = 1; most < 5000; most += most < 130 ? 1 : 997)
	{
		int i;

		hy_batch_size_begin(&size, 1);
		for (i = 0; i < 50; i++)
		{
			int64_t n = hy_batch_size_choose(&size, most, NULL, NULL);

			if (most <= HY_BATCH_LEAST)
				CHECK_INT(n, most);
			else
				CHECK(n >= HY_BATCH_LEAST && n <= most && (n & (n - 1)) == 0);
			hy_batch_size_learn(&size, n, (uint64_t) launch((double) n));
		}
	}
	hy_batch_size_begin(&size, 1);
	CHECK_INT(hy_batch_size_choose(&size, INT64_MAX, NULL, NULL), HY_BATCH_START);
	feed(&size, launch, INT64_MAX, UINT64_C(1) << 30, 0, NULL, NULL);
	CHECK(hy_batch_size_choose(&size, INT64_MAX, NULL, NULL) < INT64_C(1) << HY_BATCH_SIZES);
}

static void
batches_that_were_cut_short_teach_nothing(void)
{
	HyBatchSize size;
	int i;

	hy_batch_size_begin(&size, 1);
	for (i = 0; i < 10; i++)
		hy_batch_size_learn(&size, 1000, 1);
	CHECK_INT(hy_batch_size_choose(&size, 1 << 17, NULL, NULL), HY_BATCH_START);
	hy_batch_size_learn(&size, INT64_C(1) << 40, 1); /* beyond the largest: no more than counted */
	CHECK_NEAR(size.spent_ns, 11, 0);
}

static void
the_first_batch_of_a_size_is_a_warm_up(void)
{
	HyBatchSize size;

	hy_batch_size_begin(&size, 1);
	hy_batch_size_learn(&size, 1024, 1000000000);
	CHECK_INT(hy_batch_size_choose(&size, 1 << 17, NULL, NULL), 1024);
	hy_batch_size_learn(&size, 1024, 1024);
	CHECK_NEAR(size.item_ns[10], 1.0, 1e-9);
}

/* A batch that takes a hundred times as long counts as one and a half times the mean. */
static void
what_took_far_too_long_is_clipped(void)
{
	HyBatchSize size;
	int i;

	hy_batch_size_begin(&size, 1);
	for (i = 0; i < 3; i++)
		hy_batch_size_learn(&size, 64, 6400);
	hy_batch_size_learn(&size, 64, 640000);
	CHECK_NEAR(size.item_ns[6], 100 + 50.0 / 3, 1e-9);
	/* what is less is believed */
	hy_batch_size_learn(&size, 64, 0);
	CHECK_NEAR(size.item_ns[6], (100 + 50.0 / 3) * 3 / 4, 1e-9);
}

int
main(void)
{
	UNIT_RUN(it_settles_within_a_tenth_of_the_best);
	UNIT_RUN(noise_does_not_lead_it_astray);
	UNIT_RUN(a_forecast_shows_what_lies_far_off);
	UNIT_RUN(a_forecast_that_lies_is_found_out);
	UNIT_RUN(a_new_law_is_noticed);
	UNIT_RUN(sizes_are_powers_of_two_within_the_limits);
	UNIT_RUN(batches_that_were_cut_short_teach_nothing);
	UNIT_RUN(the_first_batch_of_a_size_is_a_warm_up);
	UNIT_RUN(what_took_far_too_long_is_clipped);
	return unit_finish();
}
