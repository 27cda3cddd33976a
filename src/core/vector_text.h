/*
 * vector_text.h
 *		Parsing a vector from text: '[1, 2.5, -3e4]'.
 *
 * The grammar, the rounding and the errors are the same as for pgvector's vector and halfvec types.
 * A number is rounded to float as strtof does.  For halfvec, that float is then rounded to
 * binary16.
 */
#ifndef HY_VECTOR_TEXT_H
#define HY_VECTOR_TEXT_H

#include <stdint.h>

#include "core/batch.h"
#include "core/number_text.h"

/*
 * hy_vector_parse: read at most max_dims elements from NUL-terminated text into out, an array of
 * dtype, and set *dims to their number.  On error, *where is the position in text where the error
 * was found.
 */
extern HyTextError hy_vector_parse(const char *text, HyDtype dtype, void *out, int32_t max_dims,
                                   int32_t *dims, const char **where);

#endif
