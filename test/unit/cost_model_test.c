/*
 * cost_model_test.c
 *		The regression: whether it finds the law, and whether it stays sane if there is none.
 */
#include "dispatch/model/cost_model.h"
#include "unit.h"

static const HyModelState nothing = {.weight = 0};
static const HyCoefficients law = {.launch_ns = 20000, .work_ns = 0.001, .byte_ns = 0.04};

static HyCostTerms
terms_of(int64_t queries, int64_t targets)
{
	HyShape shape = {.op = HY_OP_DISTANCE, .dims = 768, .queries = queries, .targets = targets};
	HyCostTerms terms = hy_cost_terms(&shape, false);

	terms.serial = 0; /* rows of one length cannot be told from the launch */
	return terms;
}

static void
test_terms(void)
{
	HyShape shape = {.op = HY_OP_DISTANCE, .dims = 10, .queries = 3, .targets = 100};
	HyCostTerms t = hy_cost_terms(&shape, true);

	CHECK(t.work == 3000);
	CHECK(t.bytes == 3 * 10 * 4 + 100 * 10 * 4 + 300 * 8);
	CHECK(t.serial == 300);
	CHECK(hy_cost_terms(&shape, false).serial == 10);
	shape.dtype = HY_F16;
	CHECK(hy_cost_terms(&shape, true).bytes == 3 * 10 * 4 + 100 * 10 * 2 + 300 * 8);
	shape.resident = true;
	CHECK(hy_cost_terms(&shape, true).bytes == 3 * 10 * 4 + 300 * 8);
	shape.op = HY_OP_TOPK;
	shape.k = 5;
	CHECK(hy_cost_terms(&shape, true).bytes == 3 * 10 * 4 + 3 * 5 * 16);
	CHECK_NEAR(hy_cost_terms(&shape, true).serial, 300 + 3 * 3 * 5 * (1 + log(20)), 1e-6);
	CHECK(hy_cost_terms(&shape, false).serial == 10);
	shape.targets = 4; /* all of them enter */
	CHECK(hy_cost_terms(&shape, true).serial == 12 + 3 * 12);
	shape = (HyShape){.op = HY_OP_SPREAD, .queries = 2, .targets = 1000};
	t = hy_cost_terms(&shape, true);
	CHECK(t.work == 2000);
	CHECK(t.bytes == 8000 + 8000);
	CHECK(t.serial == 0);
	shape.resident = true;
	CHECK(hy_cost_terms(&shape, false).bytes == 8000);
	/* of what is assigned the rows may lie there: queries */
	shape = (HyShape){.op = HY_OP_ASSIGN, .dims = 10, .queries = 3000, .targets = 20};
	CHECK(hy_cost_terms(&shape, false).bytes == 3000 * 10 * 4 + 3000 * 4 + 20 * 10 * 4);
	shape.resident = true;
	CHECK(hy_cost_terms(&shape, false).bytes == 3000 * 4 + 20 * 10 * 4);
	shape.queries = -1;
	CHECK(hy_cost_terms(&shape, true).work == 0);
}

/* noise: return a factor evenly distributed in 1 +- share. */
static double
noise(UnitRandom *random, double share)
{
	return 1 + share * (2 * unit_random_unit(random) - 1);
}

static void
test_finds_the_law(void)
{
	HyModelState state = nothing;
	HyCoefficients found;
	UnitRandom random = {7};
	int i;

	for (i = 0; i < 400; i++)
	{
		HyCostTerms t =
			terms_of(INT64_C(1) << (i % 3 * 3), INT64_C(1) << unit_random_below(&random, 20));

		hy_model_observe(&state, t, hy_cost_predict(&law, t) * noise(&random, 0.1), 1, 100);
	}
	CHECK(hy_model_solve(&state, HY_LAUNCH_UNKNOWN, &found));
	CHECK_NEAR(found.launch_ns / law.launch_ns, 1, 0.05);
	CHECK_NEAR(found.work_ns / law.work_ns, 1, 0.1);
	CHECK_NEAR(found.byte_ns / law.byte_ns, 1, 0.05);
	CHECK(state.weight <= 100 && state.weight > 90);
}

static void
test_exact_from_three(void)
{
	HyModelState state = nothing;
	HyCoefficients found;
	int i;

	/* The first is wrong by far and is set aside. */
	CHECK(!hy_model_observe(&state, terms_of(1, 10), 1e9, 1, 100));
	CHECK(state.weight == 0);
	for (i = 0; i < 30; i++)
	{
		static const int64_t sizes[3][2] = {{1, 10}, {1, 10000}, {64, 1000}};
		HyCostTerms t = terms_of(sizes[i % 3][0], sizes[i % 3][1]);

		CHECK(hy_model_observe(&state, t, hy_cost_predict(&law, t), 1, 100));
	}
	CHECK(hy_model_solve(&state, HY_LAUNCH_UNKNOWN, &found));
	CHECK_NEAR(found.launch_ns / law.launch_ns, 1, 5e-3);
	CHECK_NEAR(found.work_ns / law.work_ns, 1, 5e-3);
	CHECK_NEAR(found.byte_ns / law.byte_ns, 1, 5e-3);
}

static void
test_first_speaks_while_alone(void)
{
	HyModelState state = nothing;
	HyCoefficients found;

	CHECK(!hy_model_solve(&state, HY_LAUNCH_UNKNOWN, &found));
	CHECK(found.launch_ns == 0 && found.work_ns == 0 && found.byte_ns == 0);
	hy_model_observe(&state, terms_of(1, 1000), 5e6, 1, 100);
	CHECK(hy_model_solve(&state, HY_LAUNCH_UNKNOWN, &found));
	CHECK_NEAR(hy_cost_predict(&found, terms_of(1, 1000)), 5e6, 5);
	/* several at once: all but the first count */
	state = nothing;
	CHECK(hy_model_observe(&state, terms_of(1, 1000), 5e6, 3, 100));
	CHECK(state.weight > 1.9 && state.weight <= 2);
	CHECK(!hy_model_observe(&state, terms_of(1, 1000), 5e6, 0, 100));
}

static void
test_one_size_says_little_of_others(void)
{
	HyModelState state = nothing;
	HyCoefficients found;
	HyCostTerms here = terms_of(1, 1000);
	HyCostTerms there = terms_of(1, 100000);
	double ns;
	int i;

	for (i = 0; i < 10; i++)
		hy_model_observe(&state, here, 1e6, 1, 100);
	CHECK(hy_model_solve(&state, HY_LAUNCH_NONE, &found));
	CHECK_NEAR(hy_cost_predict(&found, here), 1e6, 20000);
	/* the CPU: in proportion */
	CHECK_NEAR(hy_cost_predict(&found, there), 1e8, 5e6);
	/* a device: something between nothing but launch and nothing but work */
	CHECK(hy_model_solve(&state, HY_LAUNCH_UNKNOWN, &found));
	ns = hy_cost_predict(&found, there);
	CHECK_NEAR(hy_cost_predict(&found, here), 1e6, 10);
	CHECK(ns > 5e6 && ns < 9e7);
}

static void
test_two_alike_are_no_law(void)
{
	HyModelState state = nothing;
	HyCoefficients found;

	hy_model_observe(&state, terms_of(1, 100), 1e6, 1, 100);
	hy_model_observe(&state, terms_of(1, 100), 1e6, 1, 100);
	hy_model_observe(&state, terms_of(1, 500), 1e6, 1, 100);
	CHECK(hy_model_solve(&state, HY_LAUNCH_UNKNOWN, &found));
	CHECK_NEAR(hy_cost_predict(&found, terms_of(1, 300)), 1e6, 1.5e5);
	CHECK(hy_cost_predict(&found, terms_of(1, 1000000)) > 5e6);
}

static void
test_never_negative(void)
{
	UnitRandom random = {11};
	int round;

	for (round = 0; round < 500; round++)
	{
		HyModelState state = nothing;
		HyCoefficients found;
		int i;

		/* times that have nothing to do with the size, or fall with it */
		for (i = 0; i < 50; i++)
		{
			HyCostTerms t = terms_of(1 + (int64_t) unit_random_below(&random, 64),
			                         1 + (int64_t) unit_random_below(&random, 100000));
			double ns = round % 2 ? 1e12 / (1 + t.work) : exp(20 * unit_random_unit(&random));

			hy_model_observe(&state, t, ns, 1, 20);
		}
		CHECK(hy_model_solve(&state, round % 3 == 0 ? HY_LAUNCH_NONE : HY_LAUNCH_UNKNOWN, &found));
		CHECK(found.launch_ns >= 0 && found.work_ns >= 0 && found.byte_ns >= 0);
		CHECK(isfinite(hy_cost_predict(&found, terms_of(1, 1))));
	}
}

/* The best non-negative fit is found: no small feasible step away from it is better. */
static double
square_error(const HyCostTerms *t, const double *ns, int n, HyCoefficients c)
{
	double sum = 0;
	int i;

	for (i = 0; i < n; i++)
	{
		double off = (c.launch_ns + c.work_ns * t[i].work + c.byte_ns * t[i].bytes) / ns[i] - 1;

		sum += off * off;
	}
	return sum;
}

static void
test_active_set_is_optimal(void)
{
	UnitRandom random = {13};
	int round;

	for (round = 0; round < 200; round++)
	{
		HyModelState state = nothing;
		HyCostTerms t[12];
		double ns[12];
		HyCoefficients c;
		double least;
		int i;

		hy_model_observe(&state, terms_of(1, 1), 1, 1, 1000000);
		for (i = 0; i < 12; i++)
		{
			t[i] = terms_of(1 + (int64_t) unit_random_below(&random, 64),
			                1 + (int64_t) unit_random_below(&random, 5000));
			ns[i] = 1000 + 1e7 * unit_random_unit(&random);
			hy_model_observe(&state, t[i], ns[i], 1, 1000000);
		}
		CHECK(hy_model_solve(&state, HY_LAUNCH_UNKNOWN, &c));
		least = square_error(t, ns, 12, c);
		for (i = 0; i < 60; i++)
		{
			HyCoefficients other = c;
			double step = (i % 2 ? 1e-3 : 0.1) * (i / 2 % 2 ? 1 : -1);

			if (i % 3 == 0)
				other.launch_ns = fmax(0, c.launch_ns + step * 1e5);
			else if (i % 3 == 1)
				other.work_ns = fmax(0, c.work_ns + step * 0.1);
			else
				other.byte_ns = fmax(0, c.byte_ns + step);
			CHECK(square_error(t, ns, 12, other) >= least - 1e-4);
		}
	}
}

static void
test_extreme_sizes(void)
{
	static const int64_t sizes[] = {1, 1000, 1000000, 1000000000, 1000000000000};
	HyModelState state = nothing;
	HyCoefficients found;
	int i;

	for (i = 0; i < 2000; i++)
	{
		HyShape shape = {.op = HY_OP_TOPK, .dims = 16000, .queries = i % 2 ? 1 : 1000, .k = 10};
		HyCostTerms t;

		shape.targets = sizes[i % 5];
		t = hy_cost_terms(&shape, true);
		hy_model_observe(&state, t, hy_cost_predict(&law, t), 1, 100);
	}
	CHECK(hy_model_solve(&state, HY_LAUNCH_UNKNOWN, &found));
	for (i = 0; i < 5; i++)
	{
		HyCostTerms t = terms_of(1, sizes[i]);

		CHECK_NEAR(hy_cost_predict(&found, t) / hy_cost_predict(&law, t), 1, 0.02);
	}
	/* beyond what can be: still numbers */
	hy_model_observe(&state, (HyCostTerms){1e300, INFINITY, INFINITY}, 1e300, 1, 100);
	hy_model_observe(&state, (HyCostTerms){NAN, -5, NAN}, NAN, 1, 100);
	hy_model_observe(&state, (HyCostTerms){0, 0, 0}, 0, 100, 1);
	CHECK(hy_model_solve(&state, HY_LAUNCH_UNKNOWN, &found));
	CHECK(isfinite(found.launch_ns) && isfinite(found.work_ns) && isfinite(found.byte_ns));
	CHECK(hy_cost_predict(&found, (HyCostTerms){1e300, 1e300, 1e300}) <= 1e18);
	CHECK(hy_cost_predict(&(HyCoefficients){0}, (HyCostTerms){5, 5, 5}) == 1);
}

static void
test_follows_a_change_of_speed(void)
{
	HyModelState state = nothing;
	HyCoefficients found;
	HyCostTerms t;
	int i;

	for (i = 0; i < 1000; i++)
	{
		t = terms_of(1, INT64_C(1) << (i % 20));
		hy_model_observe(&state, t, hy_cost_predict(&law, t), 1, 20);
	}
	for (i = 0; i < 200; i++)
	{
		t = terms_of(1, INT64_C(1) << (i % 20));
		hy_model_observe(&state, t, 3 * hy_cost_predict(&law, t), 1, 20);
	}
	CHECK(hy_model_solve(&state, HY_LAUNCH_UNKNOWN, &found));
	CHECK_NEAR(hy_cost_predict(&found, terms_of(1, 1)) / hy_cost_predict(&law, terms_of(1, 1)), 3,
	           0.05);
	CHECK_NEAR(found.launch_ns / law.launch_ns, 3, 0.2);
}

static void
test_a_monotonous_load_unlearns_nothing(void)
{
	HyModelState state = nothing;
	HyCoefficients found;
	HyCostTerms t;
	int i;

	for (i = 0; i < 200; i++)
	{
		t = terms_of(i % 2 ? 1 : 8, INT64_C(1) << (i % 17));
		hy_model_observe(&state, t, hy_cost_predict(&law, t), 1, 50);
	}
	/* a week of nothing but one large shape; ordinary forgetting would leave 10^-8700 of the launch */
	for (i = 0; i < 1000000; i++)
		hy_model_observe(&state, terms_of(1, 65536), hy_cost_predict(&law, terms_of(1, 65536)), 1,
		                 50);
	CHECK(hy_model_solve(&state, HY_LAUNCH_UNKNOWN, &found));
	CHECK_NEAR(found.launch_ns / law.launch_ns, 1, 0.02);
	CHECK_NEAR(hy_cost_predict(&found, terms_of(1, 65536)) /
	               hy_cost_predict(&law, terms_of(1, 65536)),
	           1, 0.001);
	CHECK(state.information[0] > 0 && isfinite(state.information[5]));
}

static void
test_many_at_once_are_many(void)
{
	HyModelState singly = nothing;
	HyModelState at_once = nothing;
	HyCoefficients a;
	HyCoefficients b;
	int i;
	int j;

	for (i = 0; i < 20; i++)
	{
		HyCostTerms t = terms_of(i % 2 ? 1 : 16, INT64_C(1) << i);
		double ns = hy_cost_predict(&law, t) * (i % 3 == 0 ? 1.1 : 0.95);

		for (j = 0; j < 64; j++)
			hy_model_observe(&singly, t, ns, 1, 100);
		hy_model_observe(&at_once, t, ns, 64, 100);
	}
	CHECK(hy_model_solve(&singly, HY_LAUNCH_UNKNOWN, &a) &&
	      hy_model_solve(&at_once, HY_LAUNCH_UNKNOWN, &b));
	CHECK_NEAR(a.launch_ns / b.launch_ns, 1, 0.01);
	CHECK_NEAR(a.work_ns / b.work_ns, 1, 0.01);
	CHECK_NEAR(a.byte_ns / b.byte_ns, 1, 0.01);
}

static void
test_merge(void)
{
	HyModelState small = nothing;
	HyModelState large = nothing;
	HyModelState all = nothing;
	HyModelState broken = nothing;
	HyCoefficients found;
	int i;

	/* one process saw small tasks, one saw large ones; together they know the law */
	for (i = 0; i < 40; i++)
	{
		HyCostTerms t = terms_of(1, 1 + i);

		hy_model_observe(&small, t, hy_cost_predict(&law, t), 1, 100);
		t = terms_of(1 + i % 64, 100000);
		hy_model_observe(&large, t, hy_cost_predict(&law, t), 1, 100);
	}
	hy_model_merge(&all, &small, 1e9);
	hy_model_merge(&all, &large, 1e9);
	CHECK(hy_model_solve(&all, HY_LAUNCH_UNKNOWN, &found));
	CHECK_NEAR(found.launch_ns / law.launch_ns, 1, 0.01);
	CHECK_NEAR(found.work_ns / law.work_ns, 1, 0.01);
	CHECK_NEAR(found.byte_ns / law.byte_ns, 1, 0.01);
	CHECK_NEAR(all.weight, small.weight + large.weight, 1e-9);
	/* no more than it may count for */
	all = nothing;
	hy_model_merge(&all, &large, 5);
	CHECK_NEAR(all.weight, 5, 1e-9);
	CHECK_NEAR(all.response[0], large.response[0] * 5 / large.weight, 1e-12);
	/* what was stored may have been tampered with */
	broken.weight = 5;
	broken.information[2] = NAN;
	hy_model_merge(&all, &broken, 5);
	broken.information[2] = 0;
	broken.information[0] = -1;
	hy_model_merge(&all, &broken, 5);
	CHECK_NEAR(all.weight, 5, 1e-9);
	CHECK_INT(HY_MODEL_NUMBERS, 19);
}

static void
test_counting_forgets_nothing(void)
{
	HyModelState state = nothing;
	HyCoefficients found;
	int i;

	for (i = 0; i < 500; i++)
	{
		HyCostTerms t = terms_of(i % 2 ? 1 : 64, INT64_C(1) << (i % 20));

		hy_model_count(&state, t, hy_cost_predict(&law, t), 2);
	}
	CHECK(state.weight == 1000);
	CHECK(state.first_ns == 0);
	CHECK(hy_model_solve(&state, HY_LAUNCH_UNKNOWN, &found));
	CHECK_NEAR(found.launch_ns / law.launch_ns, 1, 5e-3);
	CHECK_NEAR(found.work_ns / law.work_ns, 1, 5e-3);
	/* what was merged in does not make the next first observation a warm one */
	hy_model_observe(&state, terms_of(1, 1), 1e12, 1, 100);
	CHECK(state.weight == 1000);
}

static void
test_regularizing_toward_like_tasks(void)
{
	HyModelState like = nothing;
	HyModelState own = nothing;
	HyModelState before;
	HyCoefficients found;
	UnitRandom random = {3};
	int i;

	for (i = 0; i < 200; i++)
	{
		HyCostTerms t = terms_of(i % 2 ? 1 : 16, INT64_C(1) << (i % 20));

		hy_model_observe(&like, t, hy_cost_predict(&law, t) * noise(&random, 0.1), 1, 100);
	}
	/* a launch a hundred times as long, so that small tasks do not tell what work takes */
	for (i = 0; i < 8; i++)
		hy_model_observe(&own, terms_of(1, 10 + 20 * i), 100 * law.launch_ns * noise(&random, 0.1),
		                 1, 100);
	before = own;
	hy_model_regularize(&own, &nothing, HY_LAUNCH_UNKNOWN);
	CHECK_INT(memcmp(&own, &before, sizeof(own)), 0);
	hy_model_regularize(&own, &like, HY_LAUNCH_UNKNOWN);
	CHECK(hy_model_solve(&own, HY_LAUNCH_UNKNOWN, &found));
	CHECK_NEAR(found.launch_ns / (100 * law.launch_ns), 1, 0.1);
	CHECK_NEAR(hy_cost_predict(&found, terms_of(1, 10000000)) /
	               hy_cost_predict(&law, terms_of(1, 10000000)),
	           1, 0.2);
	/* what the kind has seen itself counts for more */
	own = nothing;
	for (i = 0; i < 30; i++)
		hy_model_observe(&own, terms_of(i % 2 ? 1 : 64, 100000 + 1000 * i),
		                 5 * hy_cost_predict(&law, terms_of(i % 2 ? 1 : 64, 100000 + 1000 * i)), 1,
		                 100);
	hy_model_regularize(&own, &like, HY_LAUNCH_UNKNOWN);
	CHECK(hy_model_solve(&own, HY_LAUNCH_UNKNOWN, &found));
	CHECK_NEAR(hy_cost_predict(&found, terms_of(64, 110000)) /
	               hy_cost_predict(&law, terms_of(64, 110000)),
	           5, 0.3);
	CHECK_NEAR(hy_cost_predict(&found, terms_of(1, 110000)) /
	               hy_cost_predict(&law, terms_of(1, 110000)),
	           5, 0.3);
}

static int64_t asked_from;
static int asked;

static bool
at_least(void *arg, int64_t targets)
{
	(void) arg;
	asked++;
	return targets >= asked_from;
}

static void
test_break_even(void)
{
	static const int64_t points[] = {1, 2, 3, 64, 65, 1000, 4097, 999999, 1000000};
	size_t i;

	for (i = 0; i < sizeof(points) / sizeof(points[0]); i++)
	{
		asked_from = points[i];
		asked = 0;
		CHECK_INT(hy_cost_break_even(at_least, NULL, 1000000), points[i]);
		CHECK(asked < 60);
	}
	asked_from = 1000001;
	CHECK_INT(hy_cost_break_even(at_least, NULL, 1000000), -1);
	CHECK_INT(hy_cost_break_even(at_least, NULL, 0), -1);
	asked_from = INT64_MAX / 3;
	CHECK_INT(hy_cost_break_even(at_least, NULL, INT64_MAX), INT64_MAX / 3);
}

/*
 * A CPU whose results cost as much as 100 of their dims, and a device that takes at least the time
 * of one row.
 */
static void
test_finds_what_more_cores_do_not_shorten(void)
{
	static const int32_t dims[] = {64, 80, 100, 127};
	int cpu;

	for (cpu = 0; cpu < 2; cpu++)
	{
		HyCoefficients true_law = {.launch_ns = cpu ? 0 : 5000,
		                           .work_ns = cpu ? 0.03 : 0.0005,
		                           .byte_ns = cpu ? 0 : 0.04,
		                           .serial_ns = cpu ? 3 : 300};
		HyModelState state = nothing;
		HyCoefficients found;
		UnitRandom random = {11};
		int i;

		for (i = 0; i < 2000; i++)
		{
			HyShape shape = {.op = HY_OP_TOPK, .k = 10};
			HyCostTerms t;

			shape.dims = dims[unit_random_below(&random, 4)];
			shape.queries = 1 + (int64_t) unit_random_below(&random, 32);
			shape.targets = 1 + (INT64_C(1) << unit_random_below(&random, 16));
			t = hy_cost_terms(&shape, cpu);
			hy_model_observe(&state, t, hy_cost_predict(&true_law, t) * noise(&random, 0.1), 1,
			                 1000);
		}
		CHECK(hy_model_solve(&state, cpu ? HY_LAUNCH_NONE : HY_LAUNCH_UNKNOWN, &found));
		CHECK_NEAR(found.serial_ns / true_law.serial_ns, 1, 0.2);
		CHECK_NEAR(found.work_ns / true_law.work_ns, 1, 0.2);
	}
}

static void
test_what_a_launch_is_believed_to_take(void)
{
	HyModelState own = nothing;
	HyCoefficients even;
	HyCoefficients launch;
	int i;

	/* small tasks that took alike: is it the launch, or what there is to do? */
	for (i = 0; i < 3; i++)
		hy_model_observe(&own, terms_of(1, 100 + i), 300000, 1, 100);
	CHECK(hy_model_solve(&own, HY_LAUNCH_UNKNOWN, &even));
	CHECK(hy_model_solve(&own, 300000, &launch));
	CHECK_NEAR(hy_cost_predict(&launch, terms_of(1, 101)), 300000, 3000);
	CHECK(hy_cost_predict(&even, terms_of(1, 1000000)) > 3e8);
	CHECK(hy_cost_predict(&launch, terms_of(1, 1000000)) < 3e7);

	/* large ones that took alike by chance: no launch is as long as that */
	own = nothing;
	for (i = 0; i < 7; i++)
		hy_model_observe(&own, terms_of(1, 100000 + 1000 * i), 2.4e7 - 1e5 * i, 1, 100);
	hy_model_regularize(&own, &nothing, HY_LAUNCH_UNKNOWN);
	CHECK(hy_model_solve(&own, HY_LAUNCH_UNKNOWN, &even));
	hy_model_regularize(&own, &nothing, 300000);
	CHECK(hy_model_solve(&own, HY_LAUNCH_UNKNOWN, &launch)); /* by what it leans on alone */
	CHECK(launch.launch_ns < 3e6);
	CHECK(hy_model_solve(&own, 300000, &launch));
	CHECK(even.launch_ns > 3e6);
	CHECK(launch.launch_ns < 3e6);
	CHECK(hy_cost_predict(&launch, terms_of(1, 1000000)) > 1e8);
}

int
main(void)
{
	UNIT_RUN(test_terms);
	UNIT_RUN(test_finds_the_law);
	UNIT_RUN(test_exact_from_three);
	UNIT_RUN(test_first_speaks_while_alone);
	UNIT_RUN(test_one_size_says_little_of_others);
	UNIT_RUN(test_two_alike_are_no_law);
	UNIT_RUN(test_never_negative);
	UNIT_RUN(test_active_set_is_optimal);
	UNIT_RUN(test_extreme_sizes);
	UNIT_RUN(test_follows_a_change_of_speed);
	UNIT_RUN(test_a_monotonous_load_unlearns_nothing);
	UNIT_RUN(test_many_at_once_are_many);
	UNIT_RUN(test_merge);
	UNIT_RUN(test_counting_forgets_nothing);
	UNIT_RUN(test_regularizing_toward_like_tasks);
	UNIT_RUN(test_finds_what_more_cores_do_not_shorten);
	UNIT_RUN(test_what_a_launch_is_believed_to_take);
	UNIT_RUN(test_break_even);
	return unit_finish();
}
