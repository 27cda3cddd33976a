/*
 * vector_text.c
 *		The text form of a vector.
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
#include "core/vector_text.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/distance.h"

#define MAX_EXACT_DIGITS 15
#define MAX_EXACT_POWER 22

static bool is_space(char c);
static bool is_digit(char c);
static const char *skip_spaces(const char *p);
static bool parse_short_decimal(const char *text, float *value, const char **end);
static bool round_decimal(uint64_t digits, int power, bool negative, float *value);
static bool store(HyDtype dtype, void *out, int32_t i, float value);

HyTextError
hy_vector_parse(const char *text, HyDtype dtype, void *out, int32_t max_dims, int32_t *dims,
                const char **where)
{
	const char *p = skip_spaces(text);
	int32_t n = 0;

	*dims = 0;
	*where = p;
	if (*p != '[')
		return HY_TEXT_NO_BRACKET;
	p = skip_spaces(p + 1);
	*where = p;
	if (*p == ']')
		return HY_TEXT_EMPTY;

	for (;;)
	{
		const char *end;
		float value;

		*where = p;
		if (n == max_dims)
			return HY_TEXT_TOO_MANY;
		if (!parse_short_decimal(p, &value, &end))
		{
			char *stop;

			errno = 0;
			value = strtof(p, &stop);
			if (stop == p)
				return HY_TEXT_SYNTAX;
			/* A number too small for a float is its nearest, zero or a subnormal. */
			if (errno == ERANGE && isinf(value))
				return HY_TEXT_OUT_OF_RANGE;
			if (isnan(value))
				return HY_TEXT_NAN;
			if (isinf(value))
				return HY_TEXT_INFINITE;
			end = stop;
		}
		if (!store(dtype, out, n, value))
			return HY_TEXT_OUT_OF_RANGE;
		n++;

		p = skip_spaces(end);
		*where = p;
		if (*p == ']')
			break;
		if (*p != ',')
			return HY_TEXT_SYNTAX;
		p = skip_spaces(p + 1);
	}

	p = skip_spaces(p + 1);
	*where = p;
	if (*p != '\0')
		return HY_TEXT_JUNK;
	*dims = n;
	return HY_TEXT_OK;
}

/* is_space: what strtof skips in the C locale. */
static bool
is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static const char *
skip_spaces(const char *p)
{
	while (is_space(*p))
		p++;
	return p;
}

/* parse_short_decimal: reads a decimal where that is exact; false leaves it to strtof. */
static bool
parse_short_decimal(const char *text, float *value, const char **end)
{
	const char *p = text;
	uint64_t digits = 0;
	int significant = 0;
	int power = 0;
	bool negative = false;
	bool any = false;

	if (*p == '-' || *p == '+')
		negative = *p++ == '-';
	for (; is_digit(*p); p++)
	{
		any = true;
		digits = digits * 10 + (uint64_t) (*p - '0');
		if (digits != 0 && ++significant > MAX_EXACT_DIGITS)
			return false;
	}
	if (*p == '.')
	{
		for (p++; is_digit(*p); p++)
		{
			any = true;
			digits = digits * 10 + (uint64_t) (*p - '0');
			if (digits != 0 && ++significant > MAX_EXACT_DIGITS)
				return false;
			if (--power < -1000)
				return false;
		}
	}
	if (!any)
		return false;
	if (*p == 'e' || *p == 'E')
	{
		bool down = false;
		int exponent = 0;

		p++;
		if (*p == '-' || *p == '+')
			down = *p++ == '-';
		if (!is_digit(*p))
			return false;
		for (; is_digit(*p); p++)
		{
			exponent = exponent * 10 + (*p - '0');
			if (exponent > 1000)
				return false;
		}
		power += down ? -exponent : exponent;
	}

	/* Anything else here may belong to a form that only strtof knows. */
	if (*p != ',' && *p != ']' && !is_space(*p))
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

/* store: out[i] = value, which is finite; false where it is not once it is rounded to dtype. */
static bool
store(HyDtype dtype, void *out, int32_t i, float value)
{
	uint16_t half;

	if (dtype == HY_F32)
	{
		((float *) out)[i] = value;
		return true;
	}
	half = hy_float_to_half(value);
	((uint16_t *) out)[i] = half;
	return (half & 0x7c00u) != 0x7c00u;
}
