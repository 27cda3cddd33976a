/*
 * vector_text.c
 *		The text form of a vector.
 */
#include "core/vector_text.h"

#include "core/distance.h"

static bool store(HyDtype dtype, void *out, int32_t i, float value);

HyTextError
hy_vector_parse(const char *text, HyDtype dtype, void *out, int32_t max_dims, int32_t *dims,
                const char **where)
{
	const char *p = hy_skip_spaces(text);
	int32_t n = 0;

	*dims = 0;
	*where = p;
	if (*p != '[')
		return HY_TEXT_NO_BRACKET;
	p = hy_skip_spaces(p + 1);
	*where = p;
	if (*p == ']')
		return HY_TEXT_EMPTY;

	for (;;)
	{
		const char *end;
		float value;
		HyTextError error;

		*where = p;
		if (n == max_dims)
			return HY_TEXT_TOO_MANY;
		error = hy_number_parse(p, &value, &end);
		/* A number too small for a float rounds to zero. */
		if (error != HY_TEXT_OK && error != HY_TEXT_TOO_SMALL)
			return error;
		if (!store(dtype, out, n, value))
			return HY_TEXT_OUT_OF_RANGE;
		n++;

		p = hy_skip_spaces(end);
		*where = p;
		if (*p == ']')
			break;
		if (*p != ',')
			return HY_TEXT_SYNTAX;
		p = hy_skip_spaces(p + 1);
	}

	p = hy_skip_spaces(p + 1);
	*where = p;
	if (*p != '\0')
		return HY_TEXT_JUNK;
	*dims = n;
	return HY_TEXT_OK;
}

/*
 * store: store the finite number value in out[i].  Returns false if rounding to dtype makes it
 * infinite.
 */
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
