/*
 * number_text_test.c
 *		Every number is read as strtof reads it, and refusals are distinguished.
 */
#include "unit.h"

#include "core/number_text.h"

/*
 * check_number: check that the number is read as by strtof, to the bit, with different text after
 * it each time.
 */
static void
check_number(const char *number)
{
	static const char *const after[] = {"", ",1", "]", "}", " ", "\n,", ":", "/", "]1"};
	static unsigned calls;
	char text[512];
	float expected = strtof(number, NULL);
	float value = -1.0f;
	const char *end = NULL;
	HyTextError error;

	snprintf(text, sizeof(text), "%s%s", number, after[calls++ % 9]);
	error = hy_number_parse(text, &value, &end);
	if (isinf(expected))
	{
		CHECK_MSG(error == HY_TEXT_OUT_OF_RANGE, "%s: error %d", text, error);
		return;
	}
	CHECK_MSG((error == HY_TEXT_OK || (error == HY_TEXT_TOO_SMALL && expected == 0)) &&
	              memcmp(&value, &expected, 4) == 0,
	          "%s: error %d, %a, expected %a", text, error, (double) value, (double) expected);
	CHECK_MSG(end == text + strlen(number), "%s: ends at %d", text, (int) (end - text));
}

static float
random_finite(UnitRandom *random)
{
	float value;

	do
	{
		uint32_t bits = (uint32_t) (unit_random(random) >> 32);

		memcpy(&value, &bits, sizeof(value));
	} while (!isfinite(value));
	return value;
}

static void
test_random_floats_as_strtof(void)
{
	UnitRandom random = {31};
	char number[64];
	int i;

	for (i = 0; i < 400000; i++)
	{
		float value = i % 2 ? random_finite(&random) : unit_random_float(&random);

		snprintf(number, sizeof(number), i % 3 ? "%.*g" : "%.*e",
		         1 + (int) unit_random_below(&random, 17), (double) value);
		check_number(number);
	}
}

static void
test_random_digits_as_strtof(void)
{
	UnitRandom random = {32};
	char number[128];
	int i;

	for (i = 0; i < 600000; i++)
	{
		int digits = 1 + (int) unit_random_below(&random, 20);
		int point = (int) unit_random_below(&random, (uint64_t) digits + 4);
		int length = 0;
		int d;

		if (unit_random_below(&random, 3) == 0)
			number[length++] = i & 1 ? '-' : '+';
		for (d = 0; d < digits; d++)
		{
			if (d == point)
				number[length++] = '.';
			number[length++] = (char) ('0' + unit_random_below(&random, 10));
		}
		number[length] = '\0';
		if (unit_random_below(&random, 2) == 0)
			snprintf(number + length, sizeof(number) - (size_t) length, "%c%d", i & 2 ? 'e' : 'E',
			         (int) unit_random_below(&random, 120) - 60);
		check_number(number);
	}
}

/*
 * The output of programs that compute in double precision: 16 or more digits, zeros after the
 * point.
 */
static void
test_random_doubles_as_strtof(void)
{
	UnitRandom random = {34};
	char number[512];
	int i;

	for (i = 0; i < 400000; i++)
	{
		double value = unit_random_unit(&random) - 0.5;

		value = ldexp(value, (int) unit_random_below(&random, i % 4 == 0 ? 260 : 20) -
		                         (i % 4 == 0 ? 130 : 15));
		snprintf(number, sizeof(number), i & 1 ? "%.*g" : "%.*f",
		         15 + (int) unit_random_below(&random, 8), value);
		check_number(number);
	}
}

/*
 * Cases in which double rounding would matter: decimals of 15 digits at and around the middle
 * between two floats.
 */
static void
test_middles_as_strtof(void)
{
	UnitRandom random = {33};
	char number[128];
	int i;

	for (i = 0; i < 200000; i++)
	{
		float low = ldexpf(1.0f + (float) unit_random_unit(&random),
		                   (int) unit_random_below(&random, 60) - 30);
		double middle = ((double) low + (double) nextafterf(low, INFINITY)) / 2;

		snprintf(number, sizeof(number), "%.*g", 9 + (int) unit_random_below(&random, 15), middle);
		check_number(number);
		/* beside the middle by a few units of the last digit, of which a double has no notion */
		if (i % 4 == 0)
		{
			double digits = ldexp(middle, (int) unit_random_below(&random, 20));
			unsigned long long whole = digits < 1e18 ? (unsigned long long) (digits * 10) : 1;

			snprintf(number, sizeof(number), "%llu.%de-%d",
			         whole - 3 + unit_random_below(&random, 7),
			         (int) unit_random_below(&random, 1000), (int) unit_random_below(&random, 40));
			check_number(number);
		}
	}
	/* Integers whose double lies on a middle: 2^24 + 1 + 2n and such. */
	for (i = 0; i < 100000; i++)
	{
		uint64_t integer = (UINT64_C(1) << 24) + 1 + 2 * unit_random_below(&random, 1 << 23);
		int shift = (int) unit_random_below(&random, 24);

		snprintf(number, sizeof(number), "%llu", (unsigned long long) (integer << shift));
		check_number(number);
		snprintf(number, sizeof(number), "%llu.0000000000000001",
		         (unsigned long long) (integer << shift));
		check_number(number);
	}
}

static void
test_edges_as_strtof(void)
{
	static const char *const numbers[] = {"0",
	                                      "-0",
	                                      "0.0",
	                                      "-0e5",
	                                      "0e9999",
	                                      "0e-9999",
	                                      "1e22",
	                                      "1e23",
	                                      "1e-22",
	                                      "1e-23",
	                                      "9007199254740993",
	                                      "999999999999999e22",
	                                      "999999999999999e-22",
	                                      "1.17549435e-38",
	                                      "1.17549421e-38",
	                                      "1.40129846e-45",
	                                      "7.0064923e-46",
	                                      "7.006493e-46",
	                                      "3.4028235e38",
	                                      "3.4028236e38",
	                                      "16777217",
	                                      "16777217.0000001",
	                                      "16777216.9999999",
	                                      "00000000000000000000000000000000000001",
	                                      "0.000000000000000000000000000000000001",
	                                      "1e00000000000000000000001",
	                                      "1e-00000000000000000000001",
	                                      "0x1.8p3",
	                                      "18446744073709551615",
	                                      "18446744073709551616.0",
	                                      "18446744073709551616.01",
	                                      "18446744073709551616",
	                                      "9999999999999999999e19",
	                                      "9999999999999999999e18",
	                                      "3402823466385288598e20",
	                                      "3402823567797336616e20",
	                                      "1e-37",
	                                      "1e-38",
	                                      "11754943508222875e-54",
	                                      "0.00000000000000000000000000000000000001",
	                                      "0.0000000000000000000000000000000000001",
	                                      ".0",
	                                      ".05",
	                                      "0.",
	                                      "-.00000000000000000000000000",
	                                      "16777217.000000000000",
	                                      "16777216.999999999999",
	                                      "16777217.000000000001",
	                                      "0x.1p-120",
	                                      "123456789012345678901234567890e-20",
	                                      "1e99999999999999999999",
	                                      "1e-99999999999999999999"};
	size_t i;

	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		check_number(numbers[i]);
}

static void
check_error(const char *text, HyTextError expected)
{
	float value;
	const char *end;
	HyTextError error = hy_number_parse(text, &value, &end);

	CHECK_MSG(error == expected, "\"%s\": error %d, expected %d", text, error, expected);
}

static void
test_errors(void)
{
	check_error("", HY_TEXT_SYNTAX);
	check_error("x", HY_TEXT_SYNTAX);
	check_error("-", HY_TEXT_SYNTAX);
	check_error(".", HY_TEXT_SYNTAX);
	check_error("}", HY_TEXT_SYNTAX);
	check_error("nan", HY_TEXT_NAN);
	check_error("-NaN,", HY_TEXT_NAN);
	check_error("inf", HY_TEXT_INFINITE);
	check_error("-Infinity}", HY_TEXT_INFINITE);
	check_error("3.5e38", HY_TEXT_OUT_OF_RANGE);
	check_error("-1e400", HY_TEXT_OUT_OF_RANGE);
	/* The middle between zero and the least float is the last that is zero. */
	check_error("7.006492321624085e-46", HY_TEXT_TOO_SMALL);
	check_error("7.006492321624086e-46", HY_TEXT_OK);
	check_error("-1e-400", HY_TEXT_TOO_SMALL);
	check_error("0x1p-200}", HY_TEXT_TOO_SMALL);
	check_error("0e-400", HY_TEXT_OK);
	check_error("1e-45", HY_TEXT_OK);
}

int
main(void)
{
	UNIT_RUN(test_random_floats_as_strtof);
	UNIT_RUN(test_random_digits_as_strtof);
	UNIT_RUN(test_random_doubles_as_strtof);
	UNIT_RUN(test_middles_as_strtof);
	UNIT_RUN(test_edges_as_strtof);
	UNIT_RUN(test_errors);
	return unit_finish();
}
