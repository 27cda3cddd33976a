/*
 * taxicab_test.c
 *		Predictions of Euclidean distances from taxicab distances.
 */
#include "unit.h"

#include "core/taxicab.h"

#define DIMS 64

/* measure: add rows at taxicab distances around `middle`, whose Euclidean distances are `of(a)` with an error. */
static void
measure(HyTaxicab *taxicab, UnitRandom *random, int rows, double power, double error)
{
	int i;

	for (i = 0; i < rows; i++)
	{
		double a = 8 * exp(0.3 * unit_random_gaussian(random));
		double e = 0.4 * pow(a, power) * exp(error * unit_random_gaussian(random));

		hy_taxicab_add(taxicab, a, e * e);
	}
}

/* The line is found, whatever its slope, and the deviation of the error is that of the rows. */
static void
test_line(void)
{
	static const double powers[] = {1, 0.7, 1.2};
	UnitRandom random = {1};
	size_t i;

	for (i = 0; i < sizeof(powers) / sizeof(powers[0]); i++)
	{
		HyTaxicab taxicab;
		double exact = 0.16 * pow(11, 2 * powers[i]), slope = 1 - powers[i], spread;

		hy_taxicab_clear(&taxicab, DIMS);
		measure(&taxicab, &random, 4000, powers[i], 0.05);
		spread = sqrt(0.0025 + 0.09 * slope * slope);
		CHECK_NEAR(hy_taxicab_square(&taxicab, 11, 0) / exact, 1, 0.02);
		CHECK_NEAR(hy_taxicab_square(&taxicab, 11, 2) / exact, exp(4 * spread), 0.06);
		CHECK(hy_taxicab_square(&taxicab, 11, -2) < exact);
	}
}

/* A few rows give a wider prediction than many, and one far from them a wider one than among them. */
static void
test_few_rows(void)
{
	UnitRandom random = {2};
	HyTaxicab few, many;
	double here, there;

	hy_taxicab_clear(&few, DIMS);
	hy_taxicab_clear(&many, DIMS);
	measure(&few, &random, 8, 1, 0.02);
	measure(&many, &random, 800, 1, 0.02);
	CHECK(hy_taxicab_square(&few, 8, 3) / hy_taxicab_square(&few, 8, 0) >
	      1.1 * hy_taxicab_square(&many, 8, 3) / hy_taxicab_square(&many, 8, 0));
	here = hy_taxicab_square(&few, 8, 3) / hy_taxicab_square(&few, 8, 0);
	there = hy_taxicab_square(&few, 2, 3) / hy_taxicab_square(&few, 2, 0);
	CHECK(there > here * 1.1);
}

/* The bounds of all vectors hold for any deviation: a / sqrt(d) <= e <= a. */
static void
test_bounds(void)
{
	UnitRandom random = {3};
	HyTaxicab taxicab;

	hy_taxicab_clear(&taxicab, DIMS);
	measure(&taxicab, &random, 20, 1, 0.3);
	CHECK_NEAR(hy_taxicab_square(&taxicab, 10, 1000), 100, 1e-9);
	CHECK_NEAR(hy_taxicab_square(&taxicab, 10, -1000), 100.0 / DIMS, 1e-9);
}

/* Rows that are equal to the query say nothing about the ratio, but they are rows. */
static void
test_equal_rows(void)
{
	HyTaxicab taxicab;
	int i;

	hy_taxicab_clear(&taxicab, DIMS);
	for (i = 0; i < 7; i++)
		hy_taxicab_add(&taxicab, 0, 0);
	CHECK(!hy_taxicab_known(&taxicab));
	hy_taxicab_add(&taxicab, 0, 0);
	CHECK(hy_taxicab_known(&taxicab));
	CHECK_SAME_F64(hy_taxicab_square(&taxicab, 0, 3), 0.0);
	CHECK_SAME_F64(hy_taxicab_square(&taxicab, 3, 0), 9.0);
	hy_taxicab_add(&taxicab, 4, 4);
	CHECK_NEAR(hy_taxicab_square(&taxicab, 4, 0), 4, 1e-9);
}

/* No number that rows can have leads to one that is no distance. */
static void
test_extremes(void)
{
	static const double distances[] = {0, 1e-300, 1e-45, 1, 1e38, 1e200, INFINITY, NAN};
	HyTaxicab taxicab;
	size_t i, j, k;

	for (i = 0; i < sizeof(distances) / sizeof(distances[0]); i++)
	{
		hy_taxicab_clear(&taxicab, DIMS);
		for (j = 0; j < sizeof(distances) / sizeof(distances[0]); j++)
		{
			hy_taxicab_add(&taxicab, distances[j], distances[i]);
			hy_taxicab_add(&taxicab, distances[i], distances[j]);
		}
		for (k = 0; k + 1 < sizeof(distances) / sizeof(distances[0]); k++)
			CHECK_MSG(hy_taxicab_square(&taxicab, distances[k], 2) >= 0, "%g after %g",
			          distances[k], distances[i]);
	}
}

int
main(void)
{
	UNIT_RUN(test_line);
	UNIT_RUN(test_few_rows);
	UNIT_RUN(test_bounds);
	UNIT_RUN(test_equal_rows);
	UNIT_RUN(test_extremes);
	return unit_finish();
}
