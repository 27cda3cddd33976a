/*
 * byte_order.c
 *		Byte order, and the check for elements that are not finite.
 */
#include "core/byte_order.h"

#include <string.h>

/* These loops only swap bytes, so compilers can vectorize them. */
void
hy_network_order(size_t width, void *to, const void *from, int32_t n)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	memcpy(to, from, width * (size_t) n);
#else
	const char *source = from;
	char *target = to;
	int32_t i;

	if (width == sizeof(uint32_t))
	{
		for (i = 0; i < n; i++)
		{
			uint32_t bits;

			memcpy(&bits, source + sizeof(bits) * (size_t) i, sizeof(bits));
			bits = __builtin_bswap32(bits);
			memcpy(target + sizeof(bits) * (size_t) i, &bits, sizeof(bits));
		}
		return;
	}
	for (i = 0; i < n; i++)
	{
		uint16_t bits;

		memcpy(&bits, source + sizeof(bits) * (size_t) i, sizeof(bits));
		bits = __builtin_bswap16(bits);
		memcpy(target + sizeof(bits) * (size_t) i, &bits, sizeof(bits));
	}
#endif
}

int32_t
hy_first_not_finite(HyDtype dtype, const void *elements, int32_t n)
{
	const char *source = elements;
	uint32_t single;
	uint16_t half;
	int32_t i = 0;

	if (dtype == HY_F32)
	{
		for (; i < n; i++)
		{
			memcpy(&single, source + sizeof(single) * (size_t) i, sizeof(single));
			if ((single & 0x7f800000u) == 0x7f800000u)
				break;
		}
		return i;
	}
	for (; i < n; i++)
	{
		memcpy(&half, source + sizeof(half) * (size_t) i, sizeof(half));
		if ((half & 0x7c00u) == 0x7c00u)
			break;
	}
	return i;
}
