/*
 * vector_text_test.c
 *		The grammar, the refusals, and that every number is read as strtof reads it and, for a
 *		halfvec, rounded from there.
 */
#include "unit.h"

#include "core/distance.h"
#include "core/vector_text.h"

static void
check_parse(const char *text, HyTextError expected, int at)
{
	float out[4];
	int32_t dims;
	const char *where;
	HyTextError error = hy_vector_parse(text, HY_F32, out, 4, &dims, &where);

	CHECK_MSG(error == expected, "\"%s\": error %d, expected %d", text, error, expected);
	if (expected != HY_TEXT_OK)
		CHECK_MSG(where - text == at, "\"%s\": noticed at %d, expected %d", text,
		          (int) (where - text), at);
}

static void
test_accepts(void)
{
	static const char *const texts[] = {
		"[1,2,3]",          " [ 1 , 2 , 3 ] ",      "\t\n\v\f\r[1,\n2\t,3]\n",      "[1.,+2.0,3e0]",
		"[0x1,0X2p0,.3e1]", "[100e-2,0.2E1,30E-1]", "[1.000000000000000000,2,0003]"};
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
	{
		float out[3] = {0};
		int32_t dims = 0;
		const char *where;

		CHECK_INT(hy_vector_parse(texts[i], HY_F32, out, 3, &dims, &where), HY_TEXT_OK);
		CHECK_INT(dims, 3);
		CHECK_SAME_F32(out[0], 1.0);
		CHECK_SAME_F32(out[1], 2.0);
		CHECK_SAME_F32(out[2], 3.0);
	}
}

static void
test_refuses(void)
{
	check_parse("", HY_TEXT_NO_BRACKET, 0);
	check_parse("  ", HY_TEXT_NO_BRACKET, 2);
	check_parse("1,2", HY_TEXT_NO_BRACKET, 0);
	check_parse("{1,2}", HY_TEXT_NO_BRACKET, 0);
	check_parse("[]", HY_TEXT_EMPTY, 1);
	check_parse("[ ]", HY_TEXT_EMPTY, 2);
	check_parse("[]x", HY_TEXT_EMPTY, 1);
	check_parse("[", HY_TEXT_SYNTAX, 1);
	check_parse("[ ", HY_TEXT_SYNTAX, 2);
	check_parse("[,", HY_TEXT_SYNTAX, 1);
	check_parse("[1", HY_TEXT_SYNTAX, 2);
	check_parse("[1,", HY_TEXT_SYNTAX, 3);
	check_parse("[1,]", HY_TEXT_SYNTAX, 3);
	check_parse("[1,,2]", HY_TEXT_SYNTAX, 3);
	check_parse("[1 2]", HY_TEXT_SYNTAX, 3);
	check_parse("[1e]", HY_TEXT_SYNTAX, 2);
	check_parse("[1e+]", HY_TEXT_SYNTAX, 2);
	check_parse("[.]", HY_TEXT_SYNTAX, 1);
	check_parse("[-]", HY_TEXT_SYNTAX, 1);
	check_parse("[- 1]", HY_TEXT_SYNTAX, 1);
	check_parse("[--1]", HY_TEXT_SYNTAX, 1);
	check_parse("[1.2.3]", HY_TEXT_SYNTAX, 4);
	check_parse("[1a]", HY_TEXT_SYNTAX, 2);
	check_parse("[hello, \"world]", HY_TEXT_SYNTAX, 1);
	check_parse("[1,2}", HY_TEXT_SYNTAX, 4);
	check_parse("[[1]]", HY_TEXT_SYNTAX, 1);
	check_parse("[1]]", HY_TEXT_JUNK, 3);
	check_parse("[1] 2", HY_TEXT_JUNK, 4);
	check_parse("[1,2,3,4]", HY_TEXT_OK, 0);
	check_parse("[1,2,3,4,5]", HY_TEXT_TOO_MANY, 9);
	check_parse("[1,2,3,4,]", HY_TEXT_TOO_MANY, 9);
	check_parse("[nan]", HY_TEXT_NAN, 1);
	check_parse("[1, NaN]", HY_TEXT_NAN, 4);
	check_parse("[inf]", HY_TEXT_INFINITE, 1);
	check_parse("[1,-Infinity]", HY_TEXT_INFINITE, 3);
	check_parse("[1e400]", HY_TEXT_OUT_OF_RANGE, 1);
	check_parse("[1, -4e38]", HY_TEXT_OUT_OF_RANGE, 4);
	check_parse("[3.5e38]", HY_TEXT_OUT_OF_RANGE, 1);
	/* The edge of the range: the middle between the largest float and 2^128, and below. */
	check_parse("[340282356779733661637539395458142568447]", HY_TEXT_OK, 0);
	check_parse("[340282356779733661637539395458142568448]", HY_TEXT_OUT_OF_RANGE, 1);
	check_parse("[3.4028235677973367e38]", HY_TEXT_OUT_OF_RANGE, 1);
	check_parse("[3.40282356e38]", HY_TEXT_OK, 0);
	/* Too small is the nearest float, as strtof has it. */
	check_parse("[1e-400]", HY_TEXT_OK, 0);
	check_parse("[1e-46,-1e-45]", HY_TEXT_OK, 0);
}

/* check_number: as strtof, to the bit, alone and among others. */
static void
check_number(const char *number)
{
	char text[512];
	float out[3] = {0};
	float expected = strtof(number, NULL);
	int32_t dims;
	const char *where;
	HyTextError error;

	snprintf(text, sizeof(text), "[%s,%s ,%s]", number, number, number);
	error = hy_vector_parse(text, HY_F32, out, 3, &dims, &where);
	if (isinf(expected))
	{
		CHECK_MSG(error == HY_TEXT_OUT_OF_RANGE, "%s: error %d", number, error);
		return;
	}
	CHECK_MSG(error == HY_TEXT_OK && memcmp(&out[0], &expected, 4) == 0 &&
	              memcmp(&out[1], &expected, 4) == 0 && memcmp(&out[2], &expected, 4) == 0,
	          "%s: error %d, %a, expected %a", number, error, (double) out[0], (double) expected);
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
 * Where double rounding would bite: decimals of 15 digits at and around the middle between two
 * floats.
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
	                                      "0x.1p-120",
	                                      "123456789012345678901234567890e-20",
	                                      "1e99999999999999999999",
	                                      "1e-99999999999999999999"};
	size_t i;

	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		check_number(numbers[i]);
}

static void
test_long_input(void)
{
	int count = 16000;
	char *text = malloc((size_t) count * 8 + 8);
	float *out = malloc((size_t) count * sizeof(float));
	int32_t dims;
	const char *where;
	size_t length = 0;
	int i;

	text[length++] = '[';
	for (i = 0; i < count; i++)
		length += (size_t) sprintf(text + length, i == 0 ? "%d" : ",%d", i);
	text[length] = ']';
	text[length + 1] = '\0';
	CHECK_INT(hy_vector_parse(text, HY_F32, out, count, &dims, &where), HY_TEXT_OK);
	CHECK_INT(dims, count);
	for (i = 0; i < count; i++)
		CHECK_SAME_F32(out[i], (double) i);
	/* Nothing is written beyond max_dims. */
	out[99] = -1.0f;
	CHECK_INT(hy_vector_parse(text, HY_F32, out, 99, &dims, &where), HY_TEXT_TOO_MANY);
	CHECK_SAME_F32(out[99], -1.0);
	free(text);
	free(out);
}

static HyTextError
parse_half(const char *text, uint16_t *half, int *at)
{
	int32_t dims;
	const char *where;
	HyTextError error = hy_vector_parse(text, HY_F16, half, 1, &dims, &where);

	*at = (int) (where - text);
	return error;
}

/* Each of the 65,536 halves, by the decimals of its float. */
static void
test_every_half(void)
{
	uint32_t bits;

	for (bits = 0; bits < 0x10000u; bits++)
	{
		char text[64];
		uint16_t half = 0;
		int at;
		float value = hy_half_to_float((uint16_t) bits);
		HyTextError error;

		snprintf(text, sizeof(text), "[%.9g]", (double) value);
		error = parse_half(text, &half, &at);
		if (isnan(value))
			CHECK_INT(error, HY_TEXT_NAN);
		else if (isinf(value))
			CHECK_INT(error, HY_TEXT_INFINITE);
		else
			CHECK_MSG(error == HY_TEXT_OK && half == bits, "%s: error %d, %x, expected %x", text,
			          error, half, bits);
	}
}

static void
test_halves_are_rounded_from_floats(void)
{
	UnitRandom random = {31};
	int i;

	for (i = 0; i < 200000; i++)
	{
		char text[64];
		double value = (double) unit_random_float(&random) * pow(10.0, (double) (i % 16) - 10.0);
		uint16_t half = 0;
		uint16_t expected;
		int at;
		HyTextError error;

		snprintf(text, sizeof(text), "[%.*g]", i % 12 + 1, value);
		expected = hy_float_to_half(strtof(text + 1, NULL));
		error = parse_half(text, &half, &at);
		if ((expected & 0x7c00u) == 0x7c00u)
			CHECK_INT(error, HY_TEXT_OUT_OF_RANGE);
		else
			CHECK_MSG(error == HY_TEXT_OK && half == expected, "%s: error %d, %x, expected %x",
			          text, error, half, expected);
	}
}

static void
test_range_of_halves(void)
{
	static const struct
	{
		const char *text;
		HyTextError error;
		int at;
		unsigned int bits;
	} cases[] = {
		{"[65519]", HY_TEXT_OK, 0, 0x7bff},
		{"[-65519.996]", HY_TEXT_OK, 0, 0xfbff},
		{"[65520]", HY_TEXT_OUT_OF_RANGE, 1, 0},
		{"[ -65520]", HY_TEXT_OUT_OF_RANGE, 2, 0},
		{"[65519.9999]", HY_TEXT_OUT_OF_RANGE, 1, 0}, /* as a float it is 65,520 */
		{"[4e38]", HY_TEXT_OUT_OF_RANGE, 1, 0},
		{"[6e-8]", HY_TEXT_OK, 0, 0x0001},
		{"[1e-8]", HY_TEXT_OK, 0, 0x0000},
		{"[-1e-46]", HY_TEXT_OK, 0, 0x8000},
		{"[65520,x]", HY_TEXT_OUT_OF_RANGE, 1, 0},
		{"[x,65520]", HY_TEXT_SYNTAX, 1, 0},
		{"[1,65520]", HY_TEXT_TOO_MANY, 3, 0},
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		uint16_t out[2] = {0, 0xabcd};
		int at;
		HyTextError error = parse_half(cases[i].text, out, &at);

		CHECK_MSG(error == cases[i].error, "\"%s\": error %d, expected %d", cases[i].text, error,
		          cases[i].error);
		if (error == HY_TEXT_OK)
			CHECK_INT(out[0], cases[i].bits);
		else
			CHECK_INT(at, cases[i].at);
		CHECK_INT(out[1], 0xabcd);
	}
}

int
main(void)
{
	UNIT_RUN(test_accepts);
	UNIT_RUN(test_refuses);
	UNIT_RUN(test_random_floats_as_strtof);
	UNIT_RUN(test_random_digits_as_strtof);
	UNIT_RUN(test_middles_as_strtof);
	UNIT_RUN(test_edges_as_strtof);
	UNIT_RUN(test_long_input);
	UNIT_RUN(test_every_half);
	UNIT_RUN(test_halves_are_rounded_from_floats);
	UNIT_RUN(test_range_of_halves);
	return unit_finish();
}
