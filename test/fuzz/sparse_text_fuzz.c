/*
 * sparse_text_fuzz.c
 *		Arbitrary text: no crash, no write beyond the end, and the same verdict and elements as a
 *		plain reader made of strtol and strtof.
 *
 * The first byte of the input chooses the maximum number of elements, and the rest is the text.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/sparse.h"
#include "core/sparse_text.h"

#define MAX_ELEMENTS 64

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

/* insert: insert an element; out stays in ascending order. */
static void
insert(HySparseElement *out, int32_t n, int32_t index, float value)
{
	int32_t i = n;

	for (; i > 0 && out[i - 1].index > index; i--)
		out[i] = out[i - 1];
	out[i].index = index;
	out[i].value = value;
}

static int32_t
clamp(long value, long least)
{
	return (int32_t) (value < least ? least : value > INT32_MAX ? INT32_MAX : value);
}

/* reference: the grammar of sparse_text.h, written down a second time. */
static HyTextError
reference(const char *text, HySparseElement *out, int32_t max, int32_t *count, int32_t *dims)
{
	const char *p = skip(text);
	char *end;
	int32_t read = 0;

	*count = 0;
	if (*p++ != '{')
		return HY_TEXT_NO_BRACKET;
	if (*skip(p) == '}')
		p = skip(p) + 1;
	else
	{
		do
		{
			long index;
			float value;

			if (read++ == max)
				return HY_TEXT_TOO_MANY;
			index = strtol(p, &end, 10);
			if (end == p || *skip(end) != ':')
				return HY_TEXT_SYNTAX;
			p = skip(end) + 1;
			errno = 0;
			value = strtof(p, &end);
			if (end == p)
				return HY_TEXT_SYNTAX;
			if (errno == ERANGE && (value == 0 || isinf(value)))
				return HY_TEXT_OUT_OF_RANGE;
			if (isnan(value))
				return HY_TEXT_NAN;
			if (isinf(value))
				return HY_TEXT_INFINITE;
			if (value != 0)
				insert(out, (*count)++, clamp(index, 0) - 1, value);
			p = skip(end);
		} while (*p++ == ',');
		if (p[-1] != '}')
			return HY_TEXT_SYNTAX;
	}
	p = skip(p);
	if (*p++ != '/')
		return HY_TEXT_CUT;
	*dims = clamp(strtol(p, &end, 10), INT32_MIN);
	if (end == p)
		return HY_TEXT_SYNTAX;
	return *skip(end) == '\0' ? HY_TEXT_OK : HY_TEXT_JUNK;
}

/*
 * same_elements: compare the elements.  Elements with the same index are refused later, so their
 * order does not matter.
 */
static int
same_elements(const HySparseElement *a, const HySparseElement *b, int32_t n)
{
	int32_t i;

	for (i = 0; i < n; i++)
	{
		if (a[i].index != b[i].index)
			return 0;
		if ((i == 0 || a[i - 1].index < a[i].index) &&
		    (i == n - 1 || a[i].index < a[i + 1].index) &&
		    memcmp(&a[i].value, &b[i].value, sizeof(float)) != 0)
			return 0;
	}
	return 1;
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	int32_t max;
	int32_t count = -1;
	int32_t dims = -1;
	int32_t expected_count = 0;
	int32_t expected_dims = 0;
	HySparseElement expected[MAX_ELEMENTS];
	HySparseElement *out;
	char *text;
	const char *where = NULL;
	HyTextError error;

	if (size == 0)
		return 0;
	max = data[0] % MAX_ELEMENTS + 1;
	/* Both at the exact size, so that the sanitizer sees a byte too far. */
	text = malloc(size);
	out = malloc((size_t) max * sizeof(HySparseElement));
	require(text != NULL && out != NULL);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';

	error = hy_sparse_parse(text, out, max, &count, &dims, &where);
	require(where >= text && where <= text + strlen(text));
	require(error == reference(text, expected, max, &expected_count, &expected_dims));
	if (error == HY_TEXT_OK)
	{
		int32_t indices[MAX_ELEMENTS];
		int32_t i;

		require(count == expected_count && count >= 0 && count <= max && *where == '\0');
		require(dims == expected_dims);
		require(same_elements(out, expected, count));
		for (i = 0; i < count; i++)
		{
			indices[i] = out[i].index;
			require(isfinite(out[i].value) && out[i].value != 0);
		}
		/* Sorted is never found to be out of order. */
		require(hy_sparse_check_indices(indices, count, dims) != HY_SPARSE_UNORDERED);
	}
	free(text);
	free(out);
	return 0;
}
