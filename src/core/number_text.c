/*
 * number_text.c
 *		The text form of one element of a vector.
 *
 * Most elements are decimals of at most 19 digits, which fit 64 bits, times a power of ten up to
 * 22, which is an exact double.  With digits below 2^53 one multiplication or division gives the
 * correctly rounded double d (W. D. Clinger, "How to read floating point numbers accurately",
 * 1990); with more digits, or with a second division, at most three roundings make an error of
 * less than four units in its last place.  Rounding d once more, to float, is right unless d lies
 * on the middle between two floats, or so near to it that the exact value may be on the other side:
 * every such middle is a double, and rounding is monotonic.  Those, and all that is not a plain
 * decimal, are strtof's.
 *
 * strtof obeys LC_NUMERIC, which PostgreSQL keeps at C.
 */
#include "core/number_text.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DIGITS 19
#define MAX_EXACT_DIGITS (UINT64_C(1) << 53)
#define MAX_EXACT_POWER 22
#define MIN_POWER (-37)       /* below, the result may be subnormal as a float */
#define MAX_RESULT 3e38       /* above, it may be out of range */
#define MAX_ERROR UINT64_C(4) /* in the last place of a double */

static bool parse_short_decimal(const char *text, float *value, const char **end);
static bool round_decimal(uint64_t digits, int power, bool negative, float *value);

HyTextError
hy_number_parse(const char *text, float *value, const char **end)
{
	char *stop;
	float read;

	if (parse_short_decimal(text, value, end))
		return HY_TEXT_OK;

	errno = 0;
	read = strtof(text, &stop);
	if (stop == text)
		return HY_TEXT_SYNTAX;
	if (isnan(read))
		return HY_TEXT_NAN;
	if (isinf(read))
		return errno == ERANGE ? HY_TEXT_OUT_OF_RANGE : HY_TEXT_INFINITE;
	*value = read;
	*end = stop;
	return errno == ERANGE && read == 0 ? HY_TEXT_TOO_SMALL : HY_TEXT_OK;
}

/* parse_short_decimal: reads a decimal where that is exact; false leaves it to strtof. */
static bool
parse_short_decimal(const char *text, float *value, const char **end)
{
	const char *p = text;
	const char *first;
	uint64_t digits = 0;
	ptrdiff_t count;
	ptrdiff_t places = 0;
	int power;
	bool negative = false;

	if (*p == '-' || *p == '+')
		negative = *p++ == '-';
	first = p;
	for (; hy_is_digit(*p); p++)
		digits = digits * 10 + (uint64_t) (*p - '0');
	count = p - first;
	if (*p == '.')
	{
		const char *point = p++;

		first = p;
		/* Zeros in front of all other digits are places, not digits. */
		if (*p == '0' && digits == 0 && count <= MAX_DIGITS)
		{
			while (*p == '0')
				p++;
			count = count > 0 || p > first;
			first = p;
		}
		for (; hy_is_digit(*p); p++)
			digits = digits * 10 + (uint64_t) (*p - '0');
		count += p - first;
		places = p - point - 1;
	}
	/* With more digits, zeros in front of the point included, the number may have wrapped around. */
	if (count == 0 || count > MAX_DIGITS || places > -MIN_POWER)
		return false;
	power = -(int) places;
	if (*p == 'e' || *p == 'E')
	{
		bool down = false;
		int exponent = 0;

		p++;
		if (*p == '-' || *p == '+')
			down = *p++ == '-';
		if (!hy_is_digit(*p))
			return false;
		for (; hy_is_digit(*p); p++)
		{
			exponent = exponent * 10 + (*p - '0');
			if (exponent > 1000)
				return false;
		}
		power += down ? -exponent : exponent;
	}

	/* Anything else here may belong to a form that only strtof knows. */
	if (*p != ',' && *p != ']' && *p != '}' && !hy_is_space(*p))
		return false;
	*end = p;
	return round_decimal(digits, power, negative, value);
}

/* round_decimal: digits * 10^power as a float, false where this way does not prove it right. */
static bool
round_decimal(uint64_t digits, int power, bool negative, float *value)
{
	static const double powers[MAX_EXACT_POWER + 1] = {
		1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
		1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
	double d = (double) digits;
	uint64_t error = digits <= MAX_EXACT_DIGITS ? 0 : MAX_ERROR;
	uint64_t bits;

	if (power < MIN_POWER || power > MAX_EXACT_POWER)
		return false;
	if (power < -MAX_EXACT_POWER)
	{
		d /= powers[-power - MAX_EXACT_POWER];
		power = -MAX_EXACT_POWER;
		error = MAX_ERROR;
	}
	if (power < 0)
		d /= powers[-power];
	else
		d *= powers[power];
	if (d > MAX_RESULT)
		return false;

	/* A float has 29 bits of fraction less than a double: the middle is where they are 100... */
	memcpy(&bits, &d, sizeof(bits));
	if ((bits & 0x1fffffffu) - (0x10000000u - error) <= 2 * error)
		return false;
	*value = negative ? -(float) d : (float) d;
	return true;
}
