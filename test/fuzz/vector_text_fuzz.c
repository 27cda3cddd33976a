/*
 * vector_text_fuzz.c
 *		Arbitrary text, as a vector and as a halfvec: no crash, no write beyond max_dims, and the
 *		same verdict and bits as a plain reader made of strtof.
 *
 * The first byte of the input chooses the element type and max_dims, and the rest is the text.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/distance.h"
#include "core/vector_text.h"

#define MAX_DIMS 64

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void
require(int condition)
{
	if (!condition)
		abort();
}

static const char *
skip(const char *p)
{
	return p + strspn(p, " \t\n\v\f\r");
}

/* reference: the grammar of vector_text.h, written down a second time. */
static HyTextError
reference(const char *text, HyDtype dtype, float *out, int32_t max_dims, int32_t *dims)
{
	const char *p = skip(text);

	*dims = 0;
	if (*p++ != '[')
		return HY_TEXT_NO_BRACKET;
	if (*skip(p) == ']')
		return HY_TEXT_EMPTY;
	do
	{
		char *end;
		float value;

		if (*dims == max_dims)
			return HY_TEXT_TOO_MANY;
		errno = 0;
		value = strtof(p, &end);
		if (end == p)
			return HY_TEXT_SYNTAX;
		if (isinf(value))
			return errno == ERANGE ? HY_TEXT_OUT_OF_RANGE : HY_TEXT_INFINITE;
		if (isnan(value))
			return HY_TEXT_NAN;
		/* from here on the nearest half would be 2^16, which is none */
		if (dtype == HY_F16 && fabsf(value) >= 65520.0f)
			return HY_TEXT_OUT_OF_RANGE;
		out[(*dims)++] = value;
		p = skip(end);
	} while (*p++ == ',');
	if (p[-1] != ']')
		return HY_TEXT_SYNTAX;
	return *skip(p) == '\0' ? HY_TEXT_OK : HY_TEXT_JUNK;
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	int32_t max_dims;
	int32_t dims = -1;
	int32_t expected_dims;
	float expected[MAX_DIMS];
	HyDtype dtype;
	size_t width;
	char *out;
	char *text;
	const char *where = NULL;
	HyTextError error;

	if (size == 0)
		return 0;
	max_dims = data[0] % MAX_DIMS + 1;
	dtype = data[0] & 0x80 ? HY_F16 : HY_F32;
	width = hy_dtype_size(dtype);
	/* Both at the exact size, so that the sanitizer sees a byte too far. */
	text = malloc(size);
	out = malloc((size_t) max_dims * width);
	require(text != NULL && out != NULL);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';

	error = hy_vector_parse(text, dtype, out, max_dims, &dims, &where);
	require(where >= text && where <= text + strlen(text));
	require(error == reference(text, dtype, expected, max_dims, &expected_dims));
	if (error == HY_TEXT_OK)
	{
		int32_t i;

		require(dims == expected_dims && dims >= 1 && dims <= max_dims && *where == '\0');
		for (i = 0; i < dims; i++)
		{
			uint16_t half = hy_float_to_half(expected[i]);
			const void *element = dtype == HY_F16 ? (const void *) &half : &expected[i];

			require(isfinite(dtype == HY_F16 ? hy_half_to_float(half) : expected[i]));
			require(memcmp(out + (size_t) i * width, element, width) == 0);
		}
	}
	free(text);
	free(out);
	return 0;
}
