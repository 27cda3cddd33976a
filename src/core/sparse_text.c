/*
 * sparse_text.c
 *		The text form of a sparse vector.
 */
#include "core/sparse_text.h"

#include <stdlib.h>

static HyTextError parse_element(const char *p, HySparseElement *element, const char **where);
static bool parse_integer(const char *text, int32_t *value, const char **end);
static void sort(HySparseElement *elements, int32_t n);
static int compare_indices(const void *a, const void *b);

HyTextError
hy_sparse_parse(const char *text, HySparseElement *out, int32_t max, int32_t *count, int32_t *dims,
                const char **where)
{
	const char *p = hy_skip_spaces(text);
	int32_t read = 0;
	int32_t n = 0;

	*count = 0;
	*dims = 0;
	*where = p;
	if (*p != '{')
		return HY_TEXT_NO_BRACKET;
	p = hy_skip_spaces(p + 1);
	if (*p != '}')
	{
		for (;;)
		{
			HySparseElement element;
			HyTextError error;

			*where = p;
			if (read++ == max)
				return HY_TEXT_TOO_MANY;
			error = parse_element(p, &element, where);
			if (error != HY_TEXT_OK)
				return error;
			if (element.value != 0)
				out[n++] = element;

			p = *where;
			if (*p == '}')
				break;
			if (*p != ',')
				return HY_TEXT_SYNTAX;
			p = hy_skip_spaces(p + 1);
		}
	}

	p = hy_skip_spaces(p + 1);
	*where = p;
	if (*p != '/')
		return HY_TEXT_CUT;
	p = hy_skip_spaces(p + 1);
	*where = p;
	if (!parse_integer(p, dims, &p))
		return HY_TEXT_SYNTAX;
	p = hy_skip_spaces(p);
	*where = p;
	if (*p != '\0')
		return HY_TEXT_JUNK;
	sort(out, n);
	*count = n;
	return HY_TEXT_OK;
}

/*
 * parse_element: read index:value.  *where becomes the next character after spaces, or the position
 * of an error.  For an error in the value, this position is the start of the value.
 */
static HyTextError
parse_element(const char *p, HySparseElement *element, const char **where)
{
	int32_t index;
	HyTextError error;

	if (!parse_integer(p, &index, &p))
		return HY_TEXT_SYNTAX;
	/* The lowest integer has no predecessor.  Any negative index is equally invalid. */
	element->index = index < 1 ? -1 : index - 1;

	p = hy_skip_spaces(p);
	*where = p;
	if (*p != ':')
		return HY_TEXT_SYNTAX;
	p = hy_skip_spaces(p + 1);
	*where = p;
	error = hy_number_parse(p, &element->value, &p);
	/* Zeros are left out, but a number that only rounds to zero is an error. */
	if (error == HY_TEXT_TOO_SMALL)
		return HY_TEXT_OUT_OF_RANGE;
	if (error != HY_TEXT_OK)
		return error;
	*where = hy_skip_spaces(p);
	return HY_TEXT_OK;
}

/*
 * parse_integer: read a decimal, clamped to the range of int32_t.  Returns false if there is none.
 */
static bool
parse_integer(const char *text, int32_t *value, const char **end)
{
	const char *p = text;
	int64_t magnitude = 0;
	bool negative = false;

	if (*p == '-' || *p == '+')
		negative = *p++ == '-';
	if (!hy_is_digit(*p))
		return false;
	for (; hy_is_digit(*p); p++)
	{
		if (magnitude <= INT32_MAX)
			magnitude = magnitude * 10 + (*p - '0');
	}
	if (magnitude > INT32_MAX)
		*value = negative ? INT32_MIN : INT32_MAX;
	else
		*value = (int32_t) (negative ? -magnitude : magnitude);
	*end = p;
	return true;
}

/* sort: sort the elements by index.  The text of our own output function is already in order. */
static void
sort(HySparseElement *elements, int32_t n)
{
	int32_t i;

	for (i = 1; i < n; i++)
	{
		if (elements[i].index <= elements[i - 1].index)
		{
			qsort(elements, (size_t) n, sizeof(HySparseElement), compare_indices);
			return;
		}
	}
}

static int
compare_indices(const void *a, const void *b)
{
	int32_t left = ((const HySparseElement *) a)->index;
	int32_t right = ((const HySparseElement *) b)->index;

	return (left > right) - (left < right);
}
