/*
 * byte_order_test.c
 *		Bytes change their order and nothing else; a number that is not finite is found.
 */
#include "unit.h"

#include "core/byte_order.h"

/* Every byte goes to its place and no other, at any alignment. */
static void
test_order(void)
{
	static const size_t widths[] = {2, 4};
	unsigned char from[4 * 40 + 2];
	unsigned char to[4 * 40 + 2];
	unsigned char back[4 * 40];
	size_t i;
	int w;
	int32_t n;

	for (i = 0; i < sizeof(from); i++)
		from[i] = (unsigned char) (i * 37 + 11);
	for (w = 0; w < 2; w++)
	{
		size_t width = widths[w];

		for (n = 0; n <= 40; n++)
		{
			memset(to, 0xee, sizeof(to));
			hy_network_order(width, to + 1, from + 1, n);
			CHECK_INT(to[0], 0xee);
			CHECK_INT(to[1 + width * (size_t) n], 0xee);
			for (i = 0; i < width * (size_t) n; i++)
				CHECK_INT(to[1 + i], from[1 + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
				                                   ? i
				                                   : i / width * width + (width - 1 - i % width))]);
			hy_network_order(width, back, to + 1, n);
			CHECK(memcmp(back, from + 1, width * (size_t) n) == 0);
		}
	}
}

static void
test_one_in_network_order(void)
{
	const unsigned char one[4] = {0x3f, 0x80, 0, 0};
	const unsigned char half[2] = {0x3c, 0};
	float single;
	uint16_t bits;

	hy_network_order(4, &single, one, 1);
	hy_network_order(2, &bits, half, 1);
	CHECK_SAME_F32(single, 1.0);
	CHECK_INT(bits, 0x3c00);
}

static void
test_first_not_finite(void)
{
	static const uint32_t strange[] = {0x7f800000u, 0xff800000u, 0x7fc00000u, 0x7f800001u,
	                                   0xffffffffu};
	static const uint32_t numbers[] = {0,           0x80000000u, 1,          0x7f7fffffu,
	                                   0xff7fffffu, 0x00800000u, 0x7f000000u};
	uint32_t singles[50];
	uint16_t halves[50];
	int at;
	int s;
	int i;

	for (at = 0; at <= 50; at++)
	{
		for (s = 0; s < 5; s++)
		{
			for (i = 0; i < 50; i++)
			{
				singles[i] = i < at ? numbers[i % 7] : strange[s];
				halves[i] = (uint16_t) (numbers[i % 7] >> 16 & 0xfbffu);
			}
			for (i = at; i < 50; i++)
				halves[i] = s == 0   ? 0x7c00
				            : s == 1 ? 0xfc00
				            : s == 2 ? 0x7e00
				            : s == 3 ? 0x7c01
				                     : 0xffff;
			CHECK_INT(hy_first_not_finite(HY_F32, singles, 50), at);
			CHECK_INT(hy_first_not_finite(HY_F16, halves, 50), at);
		}
	}
	CHECK_INT(hy_first_not_finite(HY_F32, singles, 0), 0);
}

int
main(void)
{
	UNIT_RUN(test_order);
	UNIT_RUN(test_one_in_network_order);
	UNIT_RUN(test_first_not_finite);
	return unit_finish();
}
