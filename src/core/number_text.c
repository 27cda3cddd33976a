/*
 * number_text.c
 *		The text form of one vector element.
 *
 * Most elements are decimals.  An integer of up to 19 digits and a power of ten with an exponent up
 * to 22 represent such a decimal well enough.  The power is an exact double, and so is an integer
 * up to 2^53.  One multiplication or division then gives the correctly rounded double d (W. D.
 * Clinger, "How to read floating point numbers accurately", 1990).  A larger integer is rounded
 * first, and digits after the 19th are dropped.  This changes d by less than two units in its last
 * place.
 *
 * Rounding d once more, to float, is correct unless a midpoint between two floats may lie between d
 * and the exact value.  Every such midpoint is a double, and rounding is monotonic.  Numbers near a
 * midpoint, powers of ten beyond 22, and everything that is not a plain decimal are left to strtof.
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

#define MAX_DIGITS 19 /* digits that 64 bits can hold */
#define MAX_EXACT_DIGITS (UINT64_C(1) << 53)
#define MAX_EXACT_POWER 22

#define MIDDLE 0x10000000u /* lowest 29 bits of a double that is a midpoint between floats */

static bool parse_decimal(const char *text, float *value, const char **end);
static uint64_t first_digits(const char *p, const char *end, int *power);
static bool round_decimal(uint64_t digits, int power, uint32_t error, bool negative, float *value);

HyTextError
hy_number_parse(const char *text, float *value, const char **end)
{
	char *stop;
	float read;

	if (parse_decimal(text, value, end))
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

/*
 * parse_decimal: parse a decimal if the result is certain to be correct.  Returns false if strtof
 * must parse the text.
 */
static bool
parse_decimal(const char *text, float *value, const char **end)
{
	const char *p = text;
	const char *begin;
	const char *first;
	uint64_t digits = 0;
	ptrdiff_t count;
	ptrdiff_t places = 0;
	int power;
	bool negative = false;

	if (*p == '-' || *p == '+')
		negative = *p++ == '-';
	begin = p;
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
	if (count == 0)
		return false;
	power = -(int) places;
	/* More than MAX_DIGITS digits, not counting leading zeros, may have overflowed `digits`. */
	if (count > MAX_DIGITS)
	{
		for (first = begin; *first == '0' || *first == '.'; first++)
			count -= *first == '0';
		if (count > MAX_DIGITS)
			digits = first_digits(begin, p, &power);
	}
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

	/* Any other character here may belong to a form that only strtof knows. */
	if (*p != ',' && *p != ']' && *p != '}' && !hy_is_space(*p))
		return false;
	*end = p;
	return round_decimal(digits, power, count > MAX_DIGITS || digits > MAX_EXACT_DIGITS ? 4 : 0,
	                     negative, value);
}

/*
 * first_digits: return the first MAX_DIGITS digits after the leading zeros.  Sets *power to the
 * power of ten of the last digit returned.
 */
static uint64_t
first_digits(const char *p, const char *end, int *power)
{
	uint64_t digits = 0;
	int taken = 0;
	bool fraction = false;

	*power = 0;
	for (; p < end; p++)
	{
		if (*p == '.')
			fraction = true;
		else if (taken == MAX_DIGITS)
			*power += !fraction;
		else
		{
			digits = digits * 10 + (uint64_t) (*p - '0');
			taken += digits != 0;
			*power -= fraction;
		}
	}
	return digits;
}

/*
 * round_decimal: compute digits * 10^power as a float.  Returns false if this method cannot prove
 * the result correct.  error bounds the error of the double, in units of its last place.  It is 0
 * if both factors are exact.
 */
static bool
round_decimal(uint64_t digits, int power, uint32_t error, bool negative, float *value)
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

	/* d is zero or at least 1e-22, so it never becomes a subnormal float. */
	memcpy(&bits, &d, sizeof(bits));
	if (d >= 0x1p127 || ((uint32_t) bits & (2 * MIDDLE - 1)) - (MIDDLE - error) <= 2 * error)
		return false;
	*value = negative ? -(float) d : (float) d;
	return true;
}
