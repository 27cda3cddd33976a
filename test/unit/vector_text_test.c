/*
 * vector_text_test.c
 *		The grammar, the refusals, and that a number of a halfvec is rounded from the float.
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

/* Each of the 65,536 halves, from the decimals of its float. */
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
	UNIT_RUN(test_long_input);
	UNIT_RUN(test_every_half);
	UNIT_RUN(test_halves_are_rounded_from_floats);
	UNIT_RUN(test_range_of_halves);
	return unit_finish();
}
