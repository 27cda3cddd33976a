/*
 * number_text.c
 *		The text form of one element of a vector.
 *
 * Most elements are short decimals.  With at most 15 digits and a power of ten up to 22, both the
 * digits and the power are exact doubles, so one multiplication or division gives the correctly
 * rounded double d (W. D. Clinger, "How to read floating point numbers accurately", 1990).
 * Rounding d once more, to float, is right unless d lies on the middle between two floats: every
 * such middle is a double, and rounding is monotonic, so a d beside it is on the exact value's
 * side.  Those, and all that is not a short plain decimal, are strtof's.
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
#define MAX_EXACT_DIGITS UINT64_C(999999999999999)
#define MAX_EXACT_POWER 22

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
		first = ++p;
		for (; hy_is_digit(*p); p++)
			digits = digits * 10 + (uint64_t) (*p - '0');
		places = p - first;
		count += places;
	}
	/* With more digits, zeros in front included, the number may have wrapped around. */
	if (count == 0 || count > MAX_DIGITS || digits > MAX_EXACT_DIGITS)
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
	double d;
	uint64_t bits;

	if (power < -MAX_EXACT_POWER || power > MAX_EXACT_POWER)
		return false;
	d = (double) digits;
	if (power < 0)
		d /= powers[-power];
	else
		d *= powers[power];

	/*
	 * Zero, or between 1e-22 and 1e37: never a subnormal float, never out of range.  A float has
	 * 29 bits of fraction less than a double.
	 */
	memcpy(&bits, &d, sizeof(bits));
	if ((bits & 0x1fffffffu) == 0x10000000u)
		return false;
	*value = negative ? -(float) d : (float) d;
	return true;
}
