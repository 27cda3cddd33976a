/*
 * number_text.h
 *		Parsing one vector element from text, and the possible errors.
 */
#ifndef HY_NUMBER_TEXT_H
#define HY_NUMBER_TEXT_H

#include <stdbool.h>

typedef enum HyTextError
{
	HY_TEXT_OK = 0,
	HY_TEXT_NO_BRACKET,   /* does not start with the opening bracket */
	HY_TEXT_SYNTAX,       /* malformed */
	HY_TEXT_JUNK,         /* characters after the end */
	HY_TEXT_CUT,          /* required text after the closing bracket is missing */
	HY_TEXT_EMPTY,        /* no elements */
	HY_TEXT_TOO_MANY,     /* too many elements */
	HY_TEXT_OUT_OF_RANGE, /* an element does not fit its type; *where points at it */
	HY_TEXT_TOO_SMALL,    /* an element is not zero, but its nearest float4 is zero */
	HY_TEXT_NAN,          /* an element is NaN */
	HY_TEXT_INFINITE      /* an element is infinite */
} HyTextError;

/*
 * hy_number_parse: read the number at the start of NUL-terminated text as strtof does.  Other text
 * may follow.  With HY_TEXT_OK and HY_TEXT_TOO_SMALL, sets *value to the number, and *end to the
 * first character after it.  Otherwise returns HY_TEXT_SYNTAX, HY_TEXT_OUT_OF_RANGE, HY_TEXT_NAN or
 * HY_TEXT_INFINITE.
 */
extern HyTextError hy_number_parse(const char *text, float *value, const char **end);

/* hy_is_space: test whether strtof skips the character in the C locale. */
static inline bool
hy_is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline bool
hy_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* hy_skip_spaces: return the first character at or after p that is not a space. */
static inline const char *
hy_skip_spaces(const char *p)
{
	while (hy_is_space(*p))
		p++;
	return p;
}

#endif
