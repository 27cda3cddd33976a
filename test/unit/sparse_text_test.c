/*
 * sparse_text_test.c
 *		The grammar, the refusals, omitted zeros, sorting.
 */
#include "unit.h"

#include "core/sparse_text.h"

static void
check_error(const char *text, HyTextError expected, int at)
{
	HySparseElement out[4];
	int32_t count;
	int32_t dims;
	const char *where;
	HyTextError error = hy_sparse_parse(text, out, 4, &count, &dims, &where);

	CHECK_MSG(error == expected, "\"%s\": error %d, expected %d", text, error, expected);
	if (expected != HY_TEXT_OK)
		CHECK_MSG(where - text == at, "\"%s\": noticed at %d, expected %d", text,
		          (int) (where - text), at);
}

static void
test_accepts(void)
{
	static const char *const texts[] = {
		"{1:1.5,3:-2}/5",
		" { 1 : 1.5 , 3 : -2 } / 5 ",
		"\t{\n1\v:\f1.5\r,\n3:-2\n}\n/\n5\n",
		"{3:-2,1:1.5}/5",
		"{+1:+1.5,03:-2.}/+5",
		"{2:0,3:-2e0,1:15e-1,4:-0}/5",
		"{2:0.0,1:0x1.8p0,3:-2}/0005",
	};
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
	{
		HySparseElement out[4];
		int32_t count = -1;
		int32_t dims = -1;
		const char *where;

		CHECK_INT(hy_sparse_parse(texts[i], out, 4, &count, &dims, &where), HY_TEXT_OK);
		CHECK_INT(count, 2);
		CHECK_INT(dims, 5);
		CHECK_INT(out[0].index, 0);
		CHECK_SAME_F32(out[0].value, 1.5);
		CHECK_INT(out[1].index, 2);
		CHECK_SAME_F32(out[1].value, -2.0);
		CHECK(*where == '\0');
	}
}

static void
test_refuses(void)
{
	check_error("", HY_TEXT_NO_BRACKET, 0);
	check_error("  ", HY_TEXT_NO_BRACKET, 2);
	check_error("[1:2]/3", HY_TEXT_NO_BRACKET, 0);
	check_error("1:2}/3", HY_TEXT_NO_BRACKET, 0);
	check_error("{", HY_TEXT_SYNTAX, 1);
	check_error("{ ", HY_TEXT_SYNTAX, 2);
	check_error("{,", HY_TEXT_SYNTAX, 1);
	check_error("{:}/1", HY_TEXT_SYNTAX, 1);
	check_error("{:1}/1", HY_TEXT_SYNTAX, 1);
	check_error("{1}/1", HY_TEXT_SYNTAX, 2);
	check_error("{1,}/1", HY_TEXT_SYNTAX, 2);
	check_error("{1:}/1", HY_TEXT_SYNTAX, 3);
	check_error("{1:,2:1}/2", HY_TEXT_SYNTAX, 3);
	check_error("{1a:1}/1", HY_TEXT_SYNTAX, 2);
	check_error("{1:1a}/1", HY_TEXT_SYNTAX, 4);
	check_error("{1:1,}/1", HY_TEXT_SYNTAX, 5);
	check_error("{1:1 2:1}/2", HY_TEXT_SYNTAX, 5);
	check_error("{1.5:1}/2", HY_TEXT_SYNTAX, 2);
	check_error("{1 2:1}/2", HY_TEXT_SYNTAX, 3);
	check_error("{- 1:1}/2", HY_TEXT_SYNTAX, 1);
	check_error("{--1:1}/2", HY_TEXT_SYNTAX, 1);
	check_error("{0x1:1}/2", HY_TEXT_SYNTAX, 2);
	check_error("{1:x}/2", HY_TEXT_SYNTAX, 3);
	check_error("{1:1", HY_TEXT_SYNTAX, 4);
	check_error("{1:1]/1", HY_TEXT_SYNTAX, 4);
	check_error("{}", HY_TEXT_CUT, 2);
	check_error("{1:1} ", HY_TEXT_CUT, 6);
	check_error("{}5", HY_TEXT_CUT, 2);
	check_error("{}/", HY_TEXT_SYNTAX, 3);
	check_error("{}/ ", HY_TEXT_SYNTAX, 4);
	check_error("{}/x", HY_TEXT_SYNTAX, 3);
	check_error("{}/-", HY_TEXT_SYNTAX, 3);
	check_error("{}/1a", HY_TEXT_JUNK, 4);
	check_error("{}/1.5", HY_TEXT_JUNK, 4);
	check_error("{}/1}", HY_TEXT_JUNK, 4);
	check_error("{}/1 1", HY_TEXT_JUNK, 5);
	check_error("{1:nan}/1", HY_TEXT_NAN, 3);
	check_error("{1: -NaN}/1", HY_TEXT_NAN, 4);
	check_error("{1:inf}/1", HY_TEXT_INFINITE, 3);
	check_error("{1:-Infinity}/1", HY_TEXT_INFINITE, 3);
	check_error("{1:4e38}/1", HY_TEXT_OUT_OF_RANGE, 3);
	check_error("{1:1,2: -1e400}/1", HY_TEXT_OUT_OF_RANGE, 8);
	check_error("{1:1e-46}/1", HY_TEXT_OUT_OF_RANGE, 3);
	check_error("{1:-1e-400}/1", HY_TEXT_OUT_OF_RANGE, 3);
	check_error("{1:1e-45}/1", HY_TEXT_OK, 0);
	check_error("{1:0e-400}/1", HY_TEXT_OK, 0);
	/* A zero takes a place too: how many there are must be known before they are read. */
	check_error("{1:1,2:1,3:1,4:1}/9", HY_TEXT_OK, 0);
	check_error("{1:1,2:1,3:1,4:1,5:1}/9", HY_TEXT_TOO_MANY, 17);
	check_error("{1:0,2:0,3:0,4:0,5:0}/9", HY_TEXT_TOO_MANY, 17);
}

static void
check_ends(const char *index, int32_t expected_index, const char *dims_text, int32_t expected_dims)
{
	HySparseElement out[1];
	char text[128];
	int32_t count;
	int32_t dims;
	const char *where;

	snprintf(text, sizeof(text), "{%s:1}/%s", index, dims_text);
	CHECK_INT(hy_sparse_parse(text, out, 1, &count, &dims, &where), HY_TEXT_OK);
	CHECK_INT(count, 1);
	CHECK_INT(out[0].index, expected_index);
	CHECK_INT(dims, expected_dims);
}

static void
test_ends_of_the_range(void)
{
	check_ends("2147483646", 2147483645, "2147483646", 2147483646);
	check_ends("2147483647", 2147483646, "2147483647", 2147483647);
	check_ends("2147483648", 2147483646, "2147483648", 2147483647);
	check_ends("99999999999999999999999", 2147483646, "99999999999999999999999", 2147483647);
	/* 2^64 + 1 */
	check_ends("18446744073709551617", 2147483646, "18446744073709551617", 2147483647);
	check_ends("0", -1, "0", 0);
	check_ends("-0", -1, "-0", 0);
	check_ends("-1", -1, "-1", -1);
	check_ends("-2147483647", -1, "-2147483647", -2147483647);
	check_ends("-2147483648", -1, "-2147483648", INT32_MIN);
	check_ends("-99999999999999999999999", -1, "-99999999999999999999999", INT32_MIN);
	check_ends("00000000000000000000000000001", 0, "0000000000000000000000001", 1);
}

/* Any order in, ascending order out, with the value of each index. */
static void
test_order(void)
{
	UnitRandom random = {1};
	int round;

	for (round = 0; round < 300; round++)
	{
		static HySparseElement out[300];
		static char text[300 * 32];
		int32_t indices[300];
		int32_t n = 1 + (int32_t) unit_random_below(&random, 300);
		int32_t count;
		int32_t dims;
		const char *where;
		size_t length = 0;
		int32_t i;

		for (i = 0; i < n; i++)
			indices[i] = i;
		for (i = n - 1; i > 0 && round % 2; i--)
		{
			int32_t j = (int32_t) unit_random_below(&random, (uint64_t) i + 1);
			int32_t other = indices[j];

			indices[j] = indices[i];
			indices[i] = other;
		}
		for (i = 0; i < n; i++)
			length += (size_t) sprintf(text + length, "%c%d:%d", i == 0 ? '{' : ',',
			                           (int) indices[i] * 3 + 1, (int) indices[i] + 1);
		sprintf(text + length, "}/1000");
		CHECK_INT(hy_sparse_parse(text, out, n, &count, &dims, &where), HY_TEXT_OK);
		CHECK_INT(count, n);
		for (i = 0; i < n; i++)
		{
			CHECK_INT(out[i].index, i * 3);
			CHECK_SAME_F32(out[i].value, (double) i + 1);
		}
	}
}

int
main(void)
{
	UNIT_RUN(test_accepts);
	UNIT_RUN(test_refuses);
	UNIT_RUN(test_ends_of_the_range);
	UNIT_RUN(test_order);
	return unit_finish();
}
